//! The executable that tests start as agent, controller or sandbox: a process of its own each time.

fn main() -> std::process::ExitCode {
    curfew_sandbox::main(std::env::args_os())
}
