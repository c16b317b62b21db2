//! Arguments, errors and exit codes of the real program.
//!
//! Bug class: errors that span lines, exit with the wrong code, panic, or do not say what would be right.

use std::fs;
use std::process::Stdio;

use crate::common::{directory, program, refused, run, succeed};

#[test]
fn help_and_version_succeed() {
    let dir = directory("help");
    for args in [
        &["--help"][..],
        &["-h"],
        &["show", "--help"],
        &["list", "--help"],
        &["init", "--help"],
        &["eval", "--help"],
        &["train", "--help"],
        &["check", "--help"],
        &["geometry", "--help"],
        &["compare", "--help"],
        &["plan", "--help"],
        &["merge", "--help"],
        &["align", "--help"],
        &["evolution", "--help"],
        &["kernel", "--help"],
        &["regress", "--help"],
        &["spectrum", "--help"],
        &["symmetry", "--help"],
        &["equivariance", "--help"],
        &["stability", "--help"],
        &["deform", "--help"],
        &["hessian", "--help"],
        &["landscape", "--help"],
        &["experiment", "--help"],
        &["predict", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
    ] {
        let text = succeed(&dir, args);
        assert!(text.contains("Usage: polariscope"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    }
    assert_eq!(
        succeed(&dir, &["--version"]),
        format!("polariscope {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn every_verb_shows_examples_of_itself() {
    let dir = directory("examples-of-verbs");
    let all = succeed(&dir, &["--help"]);
    let verbs = polariscope::help::command();
    for verb in verbs.get_subcommands().map(|c| c.get_name()) {
        let line = format!("\n  {verb} ");
        assert_eq!(all.matches(&line).count(), 1, "{verb} in {all}");
        let own = succeed(&dir, &[verb, "--help"]);
        let examples = own.split("Examples:\n").nth(1).unwrap_or_default();
        assert!(
            examples.starts_with(&format!("  polariscope {verb}")),
            "{own}"
        );
    }
}

#[test]
fn no_experiment_has_the_name_of_a_verb() {
    let command = polariscope::help::command();
    let verbs: Vec<&str> = command.get_subcommands().map(|c| c.get_name()).collect();
    for entry in polariscope::verbs::experiment::registry::entries() {
        assert!(
            !verbs.contains(&entry.about().name),
            "{}",
            entry.about().name
        );
    }
    assert!(verbs.contains(&"evolution"));
}

#[test]
fn completions_and_manual_pages_are_those_of_the_command() {
    let dir = directory("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = succeed(&dir, &["completions", shell]);
        assert!(
            script.contains("polariscope") && script.contains("geometry"),
            "{shell}"
        );
        assert!(script.contains("samples"), "{shell}");
    }
    let page = succeed(&dir, &["man"]);
    assert!(page.contains(".TH") && page.contains("geometry"), "{page}");
    let page = succeed(&dir, &["man", "geometry"]);
    assert!(
        page.contains("\\-\\-samples") && page.contains("\\-\\-seed"),
        "{page}"
    );
}

#[test]
fn bad_usage_is_one_line_that_helps() {
    let dir = directory("bad-usage");
    // (arguments, what the line must mention)
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["verb", "--help"]),
        (&["shwo", "lenet"], &["shwo", "show"]),
        (&["show"], &["<ARCH>", "polariscope show"]),
        (&["show", "lenet", "extra"], &["extra"]),
        (&["show", "lenet", "--sed", "1"], &["--sed", "--seed"]),
        (&["show", "lenet", "--seed"], &["--seed"]),
        (&["show", "lenet", "--seed", "-1"], &["--seed"]),
        (
            &["show", "lenet", "--seed", "x"],
            &["--seed x", "whole number"],
        ),
        (
            &["show", "lenet", "--threads", "0"],
            &["--threads 0", "at least 1"],
        ),
        (&["show", "lenet", "--dtype", "f16"], &["f16", "f32", "f64"]),
        (
            &["show", "lenet", "--device", "tpu"],
            &["--device tpu", "cpu", "cuda"],
        ),
        (
            &["show", "lenet", "--device", "cuda"],
            &["nothing for a GPU", "leave --device out"],
        ),
        (
            &["geometry", "lenet", "--precision", "fast"],
            &["--precision fast", "--device cuda"],
        ),
        (
            &["eval", "lenet", "--x", "x.npy", "--device", "cuda:999"],
            &["--device", "there is no"],
        ),
        (
            &["show", "lenet", "--input", "3x32"],
            &["--input 3x32", "1x3x32", "vector"],
        ),
        (&["show", "lenet", "--input", "0x32x32"], &["--input"]),
        (&["show", "lenet", "--input", "1x4x4"], &["conv1", "1x4x4"]),
        (
            &["show", "lenet", "--outputs", "0"],
            &["--outputs 0", "at least 1"],
        ),
        (
            &["show", "lenet", "--activation", "rleu"],
            &["--activation", "relu"],
        ),
        (
            &["show", "lenet", "--parametrisation", "nkt"],
            &["--parametrisation", "ntk"],
        ),
        (&["show", "lenet", "--bias", "one"], &["--bias", "zero"]),
        (
            &["show", "lenet", "--w-std", "2"],
            &["--w-std", "ntk", "pytorch"],
        ),
        (
            &["show", "fcn", "--w-std", "-2"],
            &["--w-std", "at least 0"],
        ),
        (&["show", "fcn", "--w-std", "nan"], &["--w-std", "finite"]),
        (&["show", "lenet", "--depth", "3"], &["lenet", "--depth"]),
        (&["show", "resnet81"], &["resnet81", "resnet18"]),
        (&["show", "no/such/file.toml"], &["no/such/file.toml"]),
        (&["show", "two\nlines"], &["two"]),
        (&["show", ""], &["architecture"]),
        (&["list", "--out", "x"], &["--out", "list"]),
        (&["completions", "fsh"], &["fsh", "fish"]),
        (&["completions"], &["<SHELL>"]),
        (&["man", "geometri"], &["geometri", "geometry"]),
    ];
    for (args, mentions) in cases {
        let line = refused(&dir, args);
        for mention in *mentions {
            assert!(
                line.contains(mention),
                "{args:?} should mention {mention}: {line}"
            );
        }
    }
    assert_eq!(
        fs::read_dir(&dir).unwrap().count(),
        0,
        "a refused command wrote files"
    );
}

#[test]
fn bad_architecture_files_are_one_line_with_the_place() {
    let dir = directory("bad-files");
    let cases = [
        (
            "input = [3, 8, 8]\nlayers = [\n  { op = \"conv\", channles = 4, kernel = 3 },\n]\n",
            "bad.toml:3",
        ),
        (
            "input = [3, 8, 8]\nlayers = [ { op = \"dense\", features = 2 } ]\n",
            "flatten",
        ),
        ("input = [3, 8, 8]\nlayers = [\n", "bad.toml:"),
        ("\u{0}\u{1}", "bad.toml"),
        ("", "bad.toml"),
    ];
    for (text, mention) in cases {
        fs::write(dir.join("bad.toml"), text).unwrap();
        let line = refused(&dir, &["show", "bad.toml"]);
        assert!(
            line.contains(mention),
            "{text:?} should mention {mention}: {line}"
        );
    }
    fs::write(dir.join("bad.toml"), [0xff, 0xfe, 0x00]).unwrap();
    refused(&dir, &["show", "bad.toml"]);
    refused(&dir, &["show", "."]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let dir = directory("pipe");
    let mut child = program(&dir, &["show", "resnet18"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let dir = directory("full");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = program(&dir, &["list"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn common_options_go_before_or_after_the_verb() {
    let dir = directory("order");
    let before = run(&dir, &["--json", "--threads", "1", "list"]);
    let after = run(&dir, &["list", "--json", "--threads", "1"]);
    assert_eq!(before.status.code(), Some(0));
    assert_eq!(before.stdout, after.stdout);
}
