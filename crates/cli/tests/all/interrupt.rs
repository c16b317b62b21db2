//! Ctrl-C, and checkpoints and results that cannot be written.
//!
//! Bug class: work lost by an interruption that said it was kept, runs that end differently after one, runs that stop
//! for want of a checkpoint, results that are half written.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::common::{directory, program, run, succeed};

/// Seconds of sampling: long enough for a checkpoint.
const SAMPLED: [&str; 12] = [
    "geometry",
    "lenet",
    "--input",
    "1x16x16",
    "--method",
    "sample",
    "--samples",
    "12000",
    "--probes",
    "16",
    "--out",
    "run",
];

/// Starts it and presses Ctrl-C as soon as `now`.
fn interrupted(dir: &Path, args: &[&str], now: impl Fn() -> bool) -> Output {
    let mut child = program(dir, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !now() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(120));
        thread::sleep(Duration::from_millis(1));
    }
    press(&child);
    child.wait_with_output().unwrap()
}

fn press(child: &Child) {
    // Fails where the program has ended already, which its status tells.
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGINT);
}

/// The results of a run, byte for byte.
fn results(run: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(run).unwrap().flatten();
    let names = files.map(|e| e.file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|n| n.ends_with(".npy") || n.ends_with(".csv"))
        .collect();
    names.sort();
    assert!(names.len() >= 3, "{names:?}");
    let read = |name: String| {
        let content = fs::read(run.join(&name)).unwrap();
        (name, content)
    };
    names.into_iter().map(read).collect()
}

fn whole(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let args = [&SAMPLED[..11], &["whole"]].concat();
    succeed(dir, &args);
    results(&dir.join("whole"))
}

/// The one line of an interrupted run.
fn line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let last = text.lines().last().unwrap_or_default().to_string();
    assert!(last.starts_with("interrupted: "), "{text}");
    assert_eq!(text.matches("interrupted").count(), 1, "{text}");
    last
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bits() {
    let dir = directory("interrupt-moments");
    let whole = whole(&dir);
    let at = dir.join("run");
    let record = || fs::read_to_string(at.join("run.toml")).unwrap();

    // Before the first piece.
    let output = interrupted(&dir, &SAMPLED, || at.join("run.toml").exists());
    assert!(line(&output).contains("nothing is kept"), "{output:?}");
    assert!(output.stdout.is_empty() && record().contains("unfinished"));

    // In the middle.
    let state = at.join("partial/state");
    let output = interrupted(&dir, &SAMPLED, || state.exists());
    let said = line(&output);
    assert!(
        said.contains("kept in run") && said.contains("the same command"),
        "{said}"
    );
    assert!(output.stdout.is_empty() && record().contains("unfinished"));
    assert!(state.exists());

    // While the end is being written: it is written, and the run is whole.
    let first = at.join(&whole[0].0);
    let output = interrupted(&dir, &SAMPLED, || first.exists());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("resuming"), "{said}");
    assert!(matches!(output.status.code(), Some(0 | 130)), "{said}");
    assert!(record().contains("\"finished\""), "{said}");
    assert_eq!(results(&at), whole);
    assert!(!at.join("partial").exists());
}

#[test]
fn an_experiment_keeps_its_cells() {
    let dir = directory("interrupt-cells");
    let args = ["experiment", "pooling", "--out"];
    let cells = [&args[..], &["run"]].concat();
    let table = dir.join("run/partial/table.csv");
    let output = interrupted(&dir, &cells, || table.exists());
    assert!(line(&output).contains("kept in run"), "{output:?}");
    succeed(&dir, &cells);
    succeed(&dir, &[&args[..], &["whole"]].concat());
    let read = |run: &str| fs::read(dir.join(run).join("table.csv")).unwrap();
    assert_eq!(read("run"), read("whole"));
}

#[test]
fn training_goes_on_to_the_same_weights() {
    let dir = directory("interrupt-train");
    let data = "linear?shape=1x16x16&train=2000&test=100";
    let args = ["train", "lenet", "--data", data, "--epochs", "25", "--out"];
    let run = [&args[..], &["run"]].concat();
    let state = dir.join("run/partial/state");
    let output = interrupted(&dir, &run, || state.exists());
    assert!(line(&output).contains("kept in run"), "{output:?}");
    succeed(&dir, &run);
    succeed(&dir, &[&args[..], &["whole"]].concat());
    for file in ["history.csv", "weights.safetensors"] {
        let read = |run: &str| fs::read(dir.join(run).join(file)).unwrap();
        assert_eq!(read("run"), read("whole"), "{file}");
    }
}

#[test]
fn a_landscape_keeps_its_networks() {
    let dir = directory("interrupt-landscape");
    let data = "stripe?shape=5&train=120&test=200";
    let args = [
        "landscape",
        "mlp-2x24",
        "--data",
        data,
        "--networks",
        "3",
        "--out",
    ];
    let run = [&args[..], &["run"]].concat();
    let first = dir.join("run/partial/full-batch-Adam-0.toml");
    let output = interrupted(&dir, &run, || first.exists());
    assert!(line(&output).contains("kept in run"), "{output:?}");
    succeed(&dir, &run);
    succeed(&dir, &[&args[..], &["whole"]].concat());
    assert_eq!(results(&dir.join("run")), results(&dir.join("whole")));
}

#[test]
fn the_second_ends_at_once() {
    let dir = directory("interrupt-twice");
    // A wave of these takes seconds.
    let args = [
        "geometry",
        "resnet18",
        "--input",
        "3x64x64",
        "--top",
        "4",
        "--samples",
        "4096",
        "--out",
        "run",
    ];
    let mut child = program(&dir, &args).stderr(Stdio::null()).spawn().unwrap();
    while !dir.join("run/run.toml").exists() {
        assert!(child.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(200));
    press(&child);
    thread::sleep(Duration::from_millis(100));
    press(&child);
    let started = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn work_without_a_run_says_that_nothing_is_kept() {
    let dir = directory("interrupt-plan");
    let started = Instant::now();
    let late = || started.elapsed() > Duration::from_millis(300);
    let output = interrupted(&dir, &["plan", "vit"], late);
    assert!(line(&output).contains("nothing is kept"));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

/// Runs it where no file may have more than so many blocks (of 512 bytes or 1 KiB, as the shell has it).
fn limited(dir: &Path, blocks: u32, args: &[&str]) -> Output {
    let exec = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let program = program(dir, &[]);
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(exec)
        .arg(program.get_program())
        .args(args);
    shell.current_dir(dir).output().unwrap()
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_a_warning() {
    let dir = directory("limit-checkpoint");
    let whole = whole(&dir);
    // The state of 16 groups has many times the size of every result.
    let output = limited(&dir, 4096, &SAMPLED);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("warning: cannot write").count(), 1, "{said}");
    assert!(
        said.contains("partial") && said.contains("the work goes on"),
        "{said}"
    );
    assert_eq!(results(&dir.join("run")), whole);
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_and_the_run_goes_on_later() {
    let dir = directory("limit-result");
    let whole = whole(&dir);
    let output = limited(&dir, 64, &[&SAMPLED[..], &["--quiet"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("error: cannot write run/"), "{said}");
    let record = fs::read_to_string(dir.join("run/run.toml")).unwrap();
    assert!(record.contains("unfinished"), "{record}");
    let output = run(&dir, &SAMPLED);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("resuming"));
    assert_eq!(results(&dir.join("run")), whole);
    let left = fs::read_dir(dir.join("run")).unwrap().flatten();
    assert!(
        left.map(|e| e.file_name())
            .all(|n| !n.to_string_lossy().ends_with(".tmp"))
    );
}
