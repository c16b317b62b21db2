//! The `polariscope` command.
#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: polariscope_allocator::LargePages = polariscope_allocator::LargePages;

fn main() -> std::process::ExitCode {
    polariscope::main(std::env::args_os())
}
