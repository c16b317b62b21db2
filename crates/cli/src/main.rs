//! The `polariscope` command.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    polariscope::main(std::env::args_os())
}
