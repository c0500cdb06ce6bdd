//! The program is the library's; the sandbox runs it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    curfew_controller::main()
}
