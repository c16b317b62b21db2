//! Runs the real program.

#[cfg(target_os = "linux")]
pub mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fresh directory of this test's own.
pub fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The program, to be run in `directory`.
pub fn program(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polariscope"));
    command.args(args).current_dir(directory);
    command
}

/// Runs the program in `directory` and waits.
pub fn run(directory: &Path, args: &[&str]) -> Output {
    program(directory, args).output().unwrap()
}

/// Standard output of a run that must succeed.
pub fn succeed(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one line of a run that must be refused as bad usage.
pub fn refused(directory: &Path, args: &[&str]) -> String {
    one_line(directory, args, 2)
}

/// The one line of a run that must fail with `status`.
pub fn one_line(directory: &Path, args: &[&str], status: i32) -> String {
    let output = run(directory, args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{args:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    assert!(
        stderr.ends_with('\n') && stderr.starts_with("error: "),
        "{args:?}: {stderr}"
    );
    assert!(
        output.stdout.is_empty(),
        "{args:?}: something on standard output"
    );
    stderr
}
