//! The sandbox's executable once more, so that tests find it built.

use std::process::ExitCode;

fn main() -> ExitCode {
    curfew_sandbox::main(std::env::args_os())
}
