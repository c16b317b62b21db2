//! What a terminal shows while the program works.
//!
//! Bug class: verbs that are silent for long, bars that stand still, lines that run into each other, colours where they
//! are not wanted.

use std::fs;
use std::path::Path;

use crate::common::terminal::{OnTerminal, screen};
use crate::common::{directory, program, run, succeed};
use polariscope_data::npy;
use polariscope_random::Stream;

/// Seconds of processor time on one thread after which a verb has ended or says how long it will take.
const PATIENCE: f64 = 3.0;

/// Files that verbs need.
fn files(dir: &Path) {
    let mut x = vec![0.0_f32; 1200 * 64];
    Stream::new(1, 0, "samples").normal(1.0, &mut x);
    let y: Vec<i64> = (0..1200).map(|i| i % 2).collect();
    fs::write(dir.join("x.npy"), npy::encode(&[1200, 1, 8, 8], &x)).unwrap();
    fs::write(dir.join("y.npy"), npy::encode(&[1200], &y)).unwrap();
    fs::write(
        dir.join("few.npy"),
        npy::encode(&[4, 3, 32, 32], &x[..4 * 3072]),
    )
    .unwrap();
    for part in ["1/2", "2/2"] {
        let out = format!("part{}", &part[..1]);
        let args = [
            "geometry", "lenet", "--input", "1x16x16", "--shard", part, "--out", &out,
        ];
        let args = [
            &args[..],
            &["--samples", "64", "--method", "sample", "--quiet"],
        ]
        .concat();
        succeed(dir, &args);
    }
}

/// Bars that were drawn with an estimate of the time.
fn bars(text: &str) -> Vec<&str> {
    let drawn = text.split("\x1b[K").filter(|s| s.contains(['█', '─']));
    drawn
        .filter(|s| s.contains(" of about ") || s.contains(" left"))
        .collect()
}

#[test]
fn nothing_is_silent() {
    let dir = directory("terminal-silent");
    files(&dir);
    let data = "npy:x.npy,y.npy?test=200";
    let cases: &[&[&str]] = &[
        &["list"],
        &["list", "data"],
        &["show", "resnet18"],
        &["init", "resnet18"],
        &["eval", "lenet", "--x", "few.npy"],
        &["geometry", "resnet18"],
        &["geometry", "resnet18", "--input", "3x64x64"],
        &["geometry", "resnet18", "--input", "3x64x64", "--top", "16"],
        &["geometry", "vit"],
        &["compare", "lenet", "resnet18"],
        &["compare", "lenet", "vit"],
        &["align", "resnet18", "--data", data],
        &["predict", "lenet"],
        &["evolution", "resnet18", "--data", data],
        &["plan", "vit"],
        &["merge", "part1", "part2", "--out", "all"],
        &["kernel", "fcn", "--x1", "few.npy"],
        &["kernel", "cnn-gap", "--x1", "x.npy"],
        &["regress", "cnn-gap", "--data", data],
        &["spectrum", "vec"],
        &["spectrum", "gap", "--samples", "1000"],
        &["spectrum", "cnn-gap", "--data", data, "--samples", "1000"],
        &["symmetry", "resnet18"],
        &["experiment", "list"],
        &["experiment", "doughnut"],
        &["experiment", "nad-accuracy"],
        &["train", "mlp-2x100", "--data", data],
        &["deform", "--fields", "200000"],
        &["hessian", "mlp-2x20", "--data", data],
        &["landscape", "mlp-2x100", "--data", data],
        &["completions", "bash"],
        &["man"],
        &["check"],
    ];
    let silent = cases.iter().filter_map(|args| {
        let mut child = OnTerminal::start(&dir, args);
        let ended = child.until(|text, cpu| {
            let bars = bars(text);
            cpu > PATIENCE || bars.iter().any(|bar| *bar != bars[0])
        });
        let text = child.text();
        let moving = bars(&text).len() > 1;
        match ended {
            Some(status) if !status.success() => Some(format!("{args:?} failed: {text}")),
            None if !moving => Some(format!("{args:?} is silent: {text}")),
            _ => None,
        }
    });
    let silent: Vec<String> = silent.collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn lines_do_not_run_into_the_bar() {
    let dir = directory("terminal-lines");
    let args = ["symmetry", "lenet", "--out", "run"];
    let mut child = OnTerminal::start(&dir, &args);
    let status = child.until(|_, _| false).unwrap();
    let text = child.text();
    assert!(status.success(), "{text}");
    assert!(
        text.contains('─') && text.contains("checking"),
        "no bar was drawn: {text}"
    );
    let lines = screen(&text);
    let bar = lines
        .iter()
        .find(|line| line.contains(['█', '─']) && line.contains("groups"));
    assert_eq!(bar, None, "a bar stayed");
    for line in lines.iter().filter(|line| line.contains("checking")) {
        assert!(line.starts_with("checking "), "{line}");
    }
    // What follows the notes is what is printed without a terminal.
    let shown = String::from_utf8(run(&dir, &args).stdout).unwrap();
    let end = lines
        .iter()
        .map(|l| l.trim_end())
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        end.trim_end().ends_with(shown.trim_end()),
        "{end}\n---\n{shown}"
    );
}

#[test]
fn screens_are_read_as_terminals_show_them() {
    assert_eq!(screen("bar 10\rab\x1b[Kc\nnext"), ["abc", "next"]);
    assert_eq!(screen("\x1b[1;31mred\x1b[0m \x1b[?7lx\x1b[?7h"), ["red x"]);
    // A note written into a bar is seen as such.
    assert_eq!(screen("bar ─── 3 %checking"), ["bar ─── 3 %checking"]);
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let dir = directory("terminal-colours");
    let shown = |args: &[&str], environment: &[(&str, &str)]| {
        let mut child = OnTerminal::with(&dir, args, environment);
        child.until(|_, _| false);
        child.text()
    };
    for args in [
        &["--help"][..],
        &["geometry", "--help"],
        &["show", "no-such"],
    ] {
        assert!(shown(args, &[]).contains("\x1b["), "{args:?}");
        assert!(
            !shown(args, &[("NO_COLOR", "1")]).contains("\x1b["),
            "{args:?}"
        );
        assert!(
            !shown(args, &[("TERM", "dumb")]).contains("\x1b["),
            "{args:?}"
        );
        // An empty NO_COLOR is none.
        assert!(
            shown(args, &[("NO_COLOR", "")]).contains("\x1b["),
            "{args:?}"
        );
        let plain = program(&dir, args).output().unwrap();
        assert!(
            !plain.stdout.contains(&0x1b) && !plain.stderr.contains(&0x1b),
            "{args:?}"
        );
    }
}
