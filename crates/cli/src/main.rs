//! The `polariscope` command.
fn main() {}
