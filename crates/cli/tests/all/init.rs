//! `init`: the file holds the draws that (seed, index, name) stand for, and nothing is overwritten by accident.

use std::fs;

use crate::common::{directory, refused, succeed};
use polariscope_graph::{ZooOptions, zoo};
use polariscope_network::{Contents, Weights};

#[test]
fn the_file_holds_the_draws() {
    let dir = directory("init-draws");
    let graph = zoo("lenet", &ZooOptions::default()).unwrap();
    let args = ["init", "lenet", "--seed", "5", "--index", "3"];
    let text = succeed(&dir, &[&args[..], &["--out", "w.safetensors"]].concat());
    assert!(
        text.contains("w.safetensors") && text.contains("62,006"),
        "{text}"
    );
    let path = dir.join("w.safetensors");
    let read = Weights::<f32>::read(&graph, &path, Contents::Weights).unwrap();
    assert_eq!(read, Weights::draw(&graph, 5, 3));
    // The name says which network it is.
    succeed(&dir, &args);
    let named = fs::read(dir.join("lenet-seed5-index3.safetensors")).unwrap();
    assert_eq!(named, fs::read(&path).unwrap());
    // f64 holds the same numbers in twice the room.
    let wide = [&args[..], &["--dtype", "f64", "--out", "wide"]].concat();
    succeed(&dir, &wide);
    let bytes = fs::read(dir.join("wide")).unwrap();
    let (single, double) = (4 * 62_006, 8 * 62_006);
    assert!(named.len() > single && named.len() < double && bytes.len() > double);
    let wide = Weights::<f64>::read(&graph, &dir.join("wide"), Contents::Weights).unwrap();
    assert_eq!(wide.convert::<f32>(), read);
}

#[test]
fn threads_change_nothing() {
    let dir = directory("init-threads");
    for threads in ["1", "2"] {
        let args = ["init", "mlp-2x300", "--threads", threads, "--out", threads];
        succeed(&dir, &args);
    }
    let read = |name: &str| fs::read(dir.join(name)).unwrap();
    assert!(read("1") == read("2"));
}

#[test]
fn json_says_what_was_written() {
    let dir = directory("init-json");
    let text = succeed(&dir, &["init", "logreg", "--json", "--out", "sub/w"]);
    let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(shown["parameters"], 30_730);
    assert_eq!(shown["tensors"], 2);
    assert_eq!(
        shown["bytes"].as_u64(),
        Some(fs::metadata(dir.join("sub/w")).unwrap().len())
    );
}

#[test]
fn other_content_is_replaced_only_by_force() {
    let dir = directory("init-force");
    let args = ["init", "logreg", "--out", "w"];
    fs::write(dir.join("w"), "mine").unwrap();
    let line = refused(&dir, &args);
    assert!(line.contains("--force") && line.contains("w"), "{line}");
    assert_eq!(fs::read(dir.join("w")).unwrap(), b"mine");
    succeed(&dir, &[&args[..], &["--force"]].concat());
    // The same again is no conflict.
    succeed(&dir, &args);
    refused(&dir, &["init", "logreg", "--seed", "1", "--out", "w"]);
    let left = fs::read_dir(&dir).unwrap().count();
    assert_eq!(left, 1, "a temporary file stayed behind");
}

#[test]
fn bad_input_is_one_line() {
    let dir = directory("init-bad");
    fs::write(dir.join("file"), "").unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["init", "resnet81"], &["resnet81", "resnet18"]),
        (&["init", "lenet", "--input", "3x32"], &["--input 3x32"]),
        (&["init", "lenet", "--input", "1x4x4"], &["conv1", "1x4x4"]),
        (&["init", "lenet", "--index", "-1"], &["--index -1"]),
        (&["init", "lenet", "--out", "."], &["--out", "directory"]),
        (&["init", "lenet", "--out", "file/w"], &["--out", "file/w"]),
        (&["init", "lenet", "--out", ""], &["--out"]),
    ];
    for (args, mentions) in cases {
        let line = refused(&dir, args);
        for mention in *mentions {
            assert!(line.contains(mention), "{args:?}: {line}");
        }
    }
    #[cfg(target_os = "linux")]
    refused(&dir, &["init", "lenet", "--out", "/proc/no-such-place"]);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
}
