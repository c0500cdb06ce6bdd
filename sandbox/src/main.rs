//! The program is the library's, so that tests can be it too.

fn main() -> std::process::ExitCode {
    curfew_sandbox::main(std::env::args_os())
}
