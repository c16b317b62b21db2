//! Repository tasks. `cargo xtask test` checks everything, as the continuous integration does; `cargo xtask quick` leaves
//! out the slow tests and the documentation; `cargo xtask test-cuda` runs the tests that need a GPU.
#![forbid(unsafe_code)]

mod examples;
mod paths;
mod slow;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Runs one check from the root of the repository.
type Check = fn(&Path) -> Result<(), String>;

/// What a summary calls it, and the check.
type Step = (&'static str, Check);

const FORMAT: Step = ("format", |root| {
    cargo(root, &["fmt", "--all", "--check"], None)
});
const PATHS: Step = ("paths", paths::check);
const EXAMPLES: Step = ("examples", examples::check);
const CLIPPY: Step = ("clippy", |root| {
    let lint = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ];
    cargo(root, &lint, None)
});

const TEST: [Step; 7] = [
    FORMAT,
    PATHS,
    EXAMPLES,
    CLIPPY,
    // Benchmarks are built but not run: they measure, they do not test.
    ("build", |root| {
        cargo(
            root,
            &[
                "test",
                "--workspace",
                "--all-targets",
                "--no-run",
                "--locked",
            ],
            None,
        )
    }),
    ("tests", |root| {
        cargo(root, &["test", "--workspace", "--locked"], None)
    }),
    ("rustdoc", |root| {
        cargo(
            root,
            &["doc", "--workspace", "--no-deps", "--locked"],
            Some(("RUSTDOCFLAGS", "-D warnings")),
        )
    }),
];

const QUICK: [Step; 5] = [FORMAT, PATHS, EXAMPLES, CLIPPY, ("tests", slow::all_but)];

/// The modules `cuda` and `derivatives` of the integration tests: with the variable POLARISCOPE_CUDA derivatives are also
/// taken on the first GPU.
const CUDA: [Step; 1] = [("cuda", |root| {
    let tests = [
        "test",
        "-p",
        "polariscope-diff",
        "-p",
        "polariscope-network",
        "-p",
        "polariscope-nngp",
        "-p",
        "polariscope-train",
        "-p",
        "polariscope-geometry",
        "-p",
        "polariscope-kernels",
        "-p",
        "polariscope-landscape",
        "--test",
        "all",
        "--locked",
        "--",
        "--include-ignored",
        "cuda::",
        "derivatives::",
    ];
    cargo(root, &tests, Some(("POLARISCOPE_CUDA", "1")))
})];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let steps: &[Step] = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => &TEST,
        ["quick"] => &QUICK,
        ["test-cuda"] => &CUDA,
        _ => {
            eprintln!("usage: cargo xtask test | quick | test-cuda");
            return ExitCode::from(2);
        }
    };
    // The manifest of this crate lies one folder below the root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut times = Vec::new();
    for &(name, check) in steps {
        println!("── {name}");
        let started = Instant::now();
        let outcome = check(&root);
        times.push((name, started.elapsed()));
        if let Err(reason) = outcome {
            summarise(&times, Some(&reason));
            return ExitCode::FAILURE;
        }
    }
    summarise(&times, None);
    ExitCode::SUCCESS
}

/// Runs cargo and waits; its output goes straight to the terminal.
fn cargo(root: &Path, args: &[&str], variable: Option<(&str, &str)>) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(root);
    if let Some((name, value)) = variable {
        command.env(name, value);
    }
    let shown = format!("cargo {}", args.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(e) => Err(format!("cannot run `{shown}`: {e}")),
    }
}

fn summarise(times: &[(&str, Duration)], failure: Option<&str>) {
    println!("\n── summary");
    for (i, (name, time)) in times.iter().enumerate() {
        let failed = failure.is_some() && i + 1 == times.len();
        let verdict = if failed { "FAILED" } else { "ok" };
        println!("{name:<10} {verdict:<6} {:>7.1} s", time.as_secs_f64());
    }
    let total: Duration = times.iter().map(|t| t.1).sum();
    println!("{:<17} {:>7.1} s", "total", total.as_secs_f64());
    match failure {
        Some(reason) => println!("{reason}"),
        None => println!("all checks passed"),
    }
}
