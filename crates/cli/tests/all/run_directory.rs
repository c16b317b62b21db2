//! The rules of the run directory, through the real program.
//!
//! Bug class: results lost, mixed with those of another run, or half written.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, run, succeed};

const SHOW: [&str; 4] = ["show", "lenet", "--out", "run"];

fn record(dir: &Path) -> toml::Table {
    toml::from_str(&fs::read_to_string(dir.join("run/run.toml")).unwrap()).unwrap()
}

/// Turns a finished run into one that was killed.
fn interrupt(dir: &Path) {
    let text = fs::read_to_string(dir.join("run/run.toml")).unwrap();
    let text = text.replace("status = \"finished\"", "status = \"unfinished\"");
    fs::write(dir.join("run/run.toml"), text).unwrap();
}

#[test]
fn a_run_leaves_record_table_report_and_figure() {
    let dir = directory("rd-files");
    succeed(&dir, &SHOW);
    let record = record(&dir);
    assert_eq!(record["status"].as_str(), Some("finished"));
    assert_eq!(record["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    assert!(record["wall_seconds"].as_float().unwrap() > 0.0);
    assert_eq!(record["result"]["parameters"].as_integer(), Some(62_006));
    let configuration = record["configuration"].as_table().unwrap();
    for key in [
        "verb",
        "architecture",
        "input",
        "seed",
        "device",
        "dtype",
        "parametrisation",
    ] {
        assert!(configuration.contains_key(key), "{key}");
    }
    for file in ["layers.csv", "report.html", "figures/lenet-parameters.svg"] {
        assert!(dir.join("run").join(file).is_file(), "{file}");
        assert!(
            record["files"]
                .as_array()
                .unwrap()
                .iter()
                .any(|f| f.as_str() == Some(file))
        );
    }
    assert!(!dir.join("run/partial").exists());
    let left = fs::read_dir(dir.join("run")).unwrap().flatten();
    let names: Vec<_> = left.map(|e| e.file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|n| !n.ends_with(".tmp")), "{names:?}");
}

#[test]
fn a_finished_run_is_left_alone_and_shown() {
    let dir = directory("rd-finished");
    let first = succeed(&dir, &SHOW);
    let stamp = || {
        fs::metadata(dir.join("run/run.toml"))
            .unwrap()
            .modified()
            .unwrap()
    };
    let (before, time) = (record(&dir), stamp());
    fs::remove_file(dir.join("run/layers.csv")).unwrap();
    let second = succeed(&dir, &SHOW);
    assert_eq!(first, second);
    assert_eq!((record(&dir), stamp()), (before, time));
    assert!(
        !dir.join("run/layers.csv").exists(),
        "a finished run was run again"
    );
    // Threads change no result, so they are no other configuration.
    succeed(&dir, &["show", "lenet", "--out", "run", "--threads", "1"]);
}

/// Width and height of a PNG file.
fn size(path: &Path) -> [u32; 2] {
    let png = fs::read(path).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n", "{}", path.display());
    [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()))
}

/// PNG beside every SVG, from the start or later: a finished run is not computed again for them.
#[test]
fn figures_are_drawn_in_pixels_on_demand() {
    let dir = directory("rd-png");
    let png = |more: &[&'static str]| [&SHOW[..], &["--figures", "png"], more].concat();
    succeed(&dir, &SHOW);
    let figures = dir.join("run/figures");
    let parameters = figures.join("lenet-parameters.png");
    assert!(!parameters.exists());
    fs::remove_file(dir.join("run/layers.csv")).unwrap();
    let seconds = record(&dir)["wall_seconds"].clone();
    succeed(&dir, &png(&["--size", "300"]));
    assert_eq!(size(&parameters)[0], 300);
    assert!(size(&figures.join("lenet-diagram.png"))[1] > 200);
    assert!(!dir.join("run/layers.csv").exists(), "it was run again");
    assert_eq!(record(&dir)["wall_seconds"], seconds);
    let late = fs::read(&parameters).unwrap();

    succeed(&dir, &png(&["--size", "300", "--force"]));
    assert!(fs::read(&parameters).unwrap() == late);
    succeed(&dir, &png(&["--force"]));
    assert_eq!(size(&parameters)[0], 1600);
    let files = record(&dir)["files"].as_array().unwrap().clone();
    assert!(
        files
            .iter()
            .any(|f| f.as_str() == Some("figures/lenet-parameters.png"))
    );
    // Another start knows of them.
    succeed(&dir, &[&SHOW[..], &["--force"]].concat());
    assert!(!parameters.exists() && figures.join("lenet-parameters.svg").exists());
}

#[test]
fn pixels_are_asked_for_where_there_are_figures() {
    let dir = directory("rd-png-refused");
    for (args, word) in [
        (
            &["show", "lenet", "--out", "run", "--size", "300"][..],
            "--figures png",
        ),
        (&["show", "lenet", "--figures", "png"], "--out"),
        (&["list", "--figures", "png"], "no figures"),
        (
            &["show", "lenet", "--out", "run", "--figures", "gif"],
            "png",
        ),
        (
            &[
                "show",
                "lenet",
                "--out",
                "run",
                "--figures",
                "png",
                "--size",
                "3",
            ],
            "64",
        ),
    ] {
        let line = refused(&dir, args);
        assert!(line.contains(word), "{line}");
    }
    assert!(!dir.join("run").exists());
}

#[test]
fn an_unfinished_run_is_resumed() {
    let dir = directory("rd-unfinished");
    succeed(&dir, &SHOW);
    let csv = fs::read(dir.join("run/layers.csv")).unwrap();
    fs::remove_file(dir.join("run/layers.csv")).unwrap();
    interrupt(&dir);
    let output = run(&dir, &SHOW);
    assert_eq!(output.status.code(), Some(0));
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(note.contains("resuming"), "{note}");
    assert_eq!(record(&dir)["status"].as_str(), Some("finished"));
    assert_eq!(fs::read(dir.join("run/layers.csv")).unwrap(), csv);
}

#[test]
fn another_configuration_in_the_way_is_refused_unless_forced() {
    let dir = directory("rd-other");
    succeed(&dir, &SHOW);
    fs::write(dir.join("run/notes.txt"), "mine").unwrap();
    let other = ["show", "lenet", "--outputs", "3", "--out", "run"];
    let before = record(&dir);
    let line = refused(&dir, &other);
    assert!(
        line.contains("--force") && line.contains("output"),
        "{line}"
    );
    assert_eq!(record(&dir), before);
    interrupt(&dir);
    refused(&dir, &other);
    refused(&dir, &["show", "lenet", "--seed", "7", "--out", "run"]);

    let forced = [&other[..], &["--force"]].concat();
    succeed(&dir, &forced);
    assert_eq!(record(&dir)["configuration"]["output"].as_str(), Some("3"));
    assert_eq!(
        fs::read_to_string(dir.join("run/notes.txt")).unwrap(),
        "mine"
    );
}

#[test]
fn a_changed_architecture_file_is_another_configuration() {
    let dir = directory("rd-changed");
    let net = |n: u32| {
        format!("input = [10]\nlayers = [ {{ op = \"dense\", features = 3, name = \"l{n}\" }} ]\n")
    };
    fs::write(dir.join("net.toml"), net(1)).unwrap();
    let show = ["show", "net.toml", "--out", "run"];
    succeed(&dir, &show);
    succeed(&dir, &show);
    fs::write(dir.join("net.toml"), net(2)).unwrap();
    assert!(refused(&dir, &show).contains("architecture_text"));
}

#[test]
fn force_removes_only_what_the_run_wrote() {
    let dir = directory("rd-force");
    succeed(&dir, &SHOW);
    fs::write(dir.join("precious"), "mine").unwrap();
    let text = fs::read_to_string(dir.join("run/run.toml")).unwrap();
    let text = text.replacen("files = [", "files = [\"../precious\", \"stale.npy\", ", 1);
    assert!(text.contains("precious"));
    fs::write(dir.join("run/run.toml"), text).unwrap();
    fs::write(dir.join("run/stale.npy"), "old").unwrap();
    succeed(&dir, &["show", "lenet", "--out", "run", "--force"]);
    assert!(!dir.join("run/stale.npy").exists());
    assert!(dir.join("precious").exists());
}

#[test]
fn a_record_that_cannot_be_read_is_refused_unless_forced() {
    let dir = directory("rd-garbage");
    fs::create_dir(dir.join("run")).unwrap();
    for garbage in ["not = [toml", "status = \"finished\"\n", ""] {
        fs::write(dir.join("run/run.toml"), garbage).unwrap();
        let line = refused(&dir, &SHOW);
        assert!(
            line.contains("run.toml") && line.contains("--force"),
            "{line}"
        );
    }
    succeed(&dir, &["show", "lenet", "--out", "run", "--force"]);
}

#[test]
fn an_unfinished_run_of_another_version_is_refused() {
    let dir = directory("rd-version");
    succeed(&dir, &SHOW);
    interrupt(&dir);
    let text = fs::read_to_string(dir.join("run/run.toml")).unwrap();
    let own = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    fs::write(
        dir.join("run/run.toml"),
        text.replace(&own, "version = \"0.0.1\""),
    )
    .unwrap();
    assert!(refused(&dir, &SHOW).contains("version 0.0.1"));
}

#[test]
fn unwritable_places_are_refused() {
    let dir = directory("rd-unwritable");
    fs::write(dir.join("file"), "").unwrap();
    for out in ["file", "file/below", "", "\0"] {
        if out == "\0" {
            // The system refuses such an argument before the program starts.
            continue;
        }
        let line = refused(&dir, &["show", "lenet", "--out", out]);
        assert!(line.contains("--out") || line.contains("cannot"), "{line}");
    }
    #[cfg(target_os = "linux")]
    refused(&dir, &["show", "lenet", "--out", "/proc/no-such-place"]);
}

#[test]
fn a_folder_that_is_no_run_is_left_alone() {
    let dir = directory("rd-folder");
    fs::create_dir(dir.join("run")).unwrap();
    fs::write(dir.join("run/thesis.tex"), "mine").unwrap();
    for more in [&[][..], &["--force"]] {
        let line = refused(&dir, &[&SHOW[..], more].concat());
        for mention in ["thesis.tex", "--out", "run/show-lenet"] {
            assert!(line.contains(mention), "{line}");
        }
    }
    assert_eq!(fs::read_dir(dir.join("run")).unwrap().count(), 1);
    succeed(&dir, &["show", "lenet", "--out", "run/show-lenet"]);
    // An empty folder is a place for a run.
    fs::create_dir(dir.join("empty")).unwrap();
    succeed(&dir, &["show", "lenet", "--out", "empty"]);
}

#[test]
fn a_directory_in_use_is_refused() {
    let dir = directory("rd-lock");
    fs::create_dir_all(dir.join("run/partial")).unwrap();
    let lock = fs::File::create(dir.join("run/partial/lock")).unwrap();
    lock.lock().unwrap();
    let line = refused(&dir, &SHOW);
    assert!(line.contains("another process"), "{line}");
    refused(&dir, &["show", "lenet", "--out", "run", "--force"]);
    lock.unlock().unwrap();
    succeed(&dir, &SHOW);
}
