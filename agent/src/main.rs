//! `curfew-agent`.

use std::process::ExitCode;

fn main() -> ExitCode {
    curfew_agent::main(std::env::args_os())
}
