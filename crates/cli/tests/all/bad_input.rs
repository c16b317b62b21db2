//! Damaged, missing and unfit files: exit 2 and one line that names the file and what is wrong with it.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use polariscope_data::npy;

const NET: &str = "input = [2]\nlayers = [ { op = \"dense\", features = 2, name = \"a\" },\n { op = \"dense\", features = 1, name = \"b\" } ]\n";

fn save(dir: &Path, name: &str, shape: &[usize], values: &[f32]) {
    fs::write(dir.join(name), npy::encode(shape, values)).unwrap();
}

/// A safetensors file with a tensor of zeros for each name and shape.
fn tensors(dir: &Path, name: &str, list: &[(&str, &[usize])]) {
    let (mut header, mut end) = (Vec::new(), 0);
    for (tensor, shape) in list {
        let start = end;
        end += 4 * shape.iter().product::<usize>();
        let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
        header.push(format!(
            r#""{tensor}":{{"dtype":"F32","shape":[{}],"data_offsets":[{start},{end}]}}"#,
            dims.join(",")
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + end, 0);
    fs::write(dir.join(name), bytes).unwrap();
}

/// The line of an `eval` with these files must mention all of `mentions`, and leave no run behind.
fn eval_refused(dir: &Path, weights: &str, x: &str, mentions: &[&str]) {
    let args = [
        "eval",
        "net.toml",
        "--weights",
        weights,
        "--x",
        x,
        "--out",
        "run",
    ];
    let line = refused(dir, &args);
    for mention in mentions {
        assert!(line.contains(mention), "should mention {mention}: {line}");
    }
    assert!(!dir.join("run").exists(), "a refused run left a directory");
}

#[test]
fn weights_files() {
    let dir = directory("bad-weights");
    fs::write(dir.join("net.toml"), NET).unwrap();
    save(&dir, "x.npy", &[1, 2], &[1.0, 2.0]);
    let (a, b): (&[usize], &[usize]) = (&[2, 2], &[1, 2]);
    let good = [
        ("a.weight", a),
        ("a.bias", &[2]),
        ("b.weight", b),
        ("b.bias", &[1]),
    ];
    tensors(&dir, "good", &good);
    let counted = [&good[..], &[("a.num_batches_tracked", &[])]].concat();
    tensors(&dir, "counted", &counted);
    for (weights, out) in [("good", "r1"), ("counted", "r2")] {
        let args = [
            "eval",
            "net.toml",
            "--weights",
            weights,
            "--x",
            "x.npy",
            "--out",
            out,
        ];
        succeed(&dir, &args);
    }
    tensors(&dir, "missing", &good[..3]);
    eval_refused(
        &dir,
        "missing",
        "x.npy",
        &["missing:", "'b.bias'", "shape 1"],
    );
    tensors(&dir, "extra", &[&good[..], &[("b.wieght", b)]].concat());
    eval_refused(
        &dir,
        "extra",
        "x.npy",
        &["extra:", "'b.wieght'", "'b.weight'"],
    );
    let mut wrong = good;
    wrong[0].1 = &[2, 3];
    tensors(&dir, "wrong", &wrong);
    eval_refused(
        &dir,
        "wrong",
        "x.npy",
        &["wrong:", "'a.weight'", "2x3", "2x2"],
    );

    let bytes = fs::read(dir.join("good")).unwrap();
    for length in [0, 7, 20, bytes.len() - 1] {
        fs::write(dir.join("cut"), &bytes[..length]).unwrap();
        eval_refused(&dir, "cut", "x.npy", &["cut:", "safetensors"]);
    }
    let mut damaged = bytes.clone();
    let at = damaged.len() - 4;
    damaged[at..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(dir.join("nan"), damaged).unwrap();
    eval_refused(&dir, "nan", "x.npy", &["nan:", "NaN", "'b.bias'"]);
    fs::write(dir.join("text"), "these are no weights at all").unwrap();
    eval_refused(&dir, "text", "x.npy", &["text:", "safetensors"]);
    eval_refused(&dir, "nowhere", "x.npy", &["nowhere:"]);
    eval_refused(&dir, ".", "x.npy", &[".:"]);

    let tangent = [
        "eval",
        "net.toml",
        "--weights",
        "good",
        "--x",
        "x.npy",
        "--tangent",
        "missing",
        "--out",
        "run",
    ];
    assert!(refused(&dir, &tangent).contains("'b.bias'"));
}

#[test]
fn inputs() {
    let dir = directory("bad-inputs");
    fs::write(dir.join("net.toml"), NET).unwrap();
    tensors(
        &dir,
        "w",
        &[
            ("a.weight", &[2, 2]),
            ("a.bias", &[2]),
            ("b.weight", &[1, 2]),
            ("b.bias", &[1]),
        ],
    );
    let check = |x: &str, mentions: &[&str]| eval_refused(&dir, "w", x, mentions);
    save(&dir, "nan.npy", &[2, 2], &[0.0, 1.0, 2.0, f32::NAN]);
    check("nan.npy", &["nan.npy:", "NaN", "[1, 1]"]);
    save(
        &dir,
        "inf.npy",
        &[3, 2],
        &[0.0, 1.0, 2.0, 3.0, f32::NEG_INFINITY, 0.0],
    );
    check("inf.npy", &["inf.npy:", "-inf", "[2, 0]"]);
    fs::write(dir.join("wide.npy"), npy::encode(&[1, 2], &[1.0, 1e300])).unwrap();
    check("wide.npy", &["wide.npy:", "[0, 1]", "f32"]);
    save(&dir, "empty.npy", &[0, 2], &[]);
    check("empty.npy", &["empty.npy:", "no samples"]);
    save(&dir, "flat.npy", &[2], &[1.0, 2.0]);
    check("flat.npy", &["flat.npy:", "samples x features"]);
    save(&dir, "five.npy", &[1, 1, 1, 1, 2], &[1.0, 2.0]);
    check("five.npy", &["five.npy:", "samples x"]);
    save(&dir, "long.npy", &[1, 3], &[1.0, 2.0, 3.0]);
    check("long.npy", &["net.toml", "input of 2", "samples of 3"]);
    save(&dir, "image.npy", &[1, 2, 4, 4], &[1.0; 32]);
    check("image.npy", &["net.toml", "2x4x4"]);
    save(&dir, "x.npy", &[1, 2], &[1.0, 2.0]);
    let bytes = fs::read(dir.join("x.npy")).unwrap();
    for length in [0, 5, 9, 40, bytes.len() - 1] {
        fs::write(dir.join("cut.npy"), &bytes[..length]).unwrap();
        check("cut.npy", &["cut.npy:"]);
    }
    check("nowhere.npy", &["nowhere.npy:"]);

    let eval = [
        "eval",
        "net.toml",
        "--weights",
        "w",
        "--x",
        "x.npy",
        "--out",
        "run",
    ];
    let with = |more: &[&str]| refused(&dir, &[&eval[..], more].concat());
    let line = with(&["--input", "3"]);
    assert!(
        line.contains("x.npy:") && line.contains("--input says 3"),
        "{line}"
    );
    assert!(with(&["--input", "3x32"]).contains("--input 3x32"));
    assert!(with(&["--index", "1"]).contains("--weights"));
    assert!(refused(&dir, &["eval", "net.toml"]).contains("--x"));
    assert!(refused(&dir, &["eval", "resnet81", "--x", "x.npy"]).contains("resnet18"));
    fs::write(dir.join("file"), "").unwrap();
    let into = [
        "eval",
        "net.toml",
        "--weights",
        "w",
        "--x",
        "x.npy",
        "--out",
        "file/run",
    ];
    assert!(refused(&dir, &into).contains("file/run"));
}

#[test]
fn architecture_files() {
    let dir = directory("bad-architecture");
    save(&dir, "x.npy", &[1, 3, 8, 8], &[0.5; 192]);
    let text = "input = [3, 8, 8]\nlayers = [\n  { op = \"conv\", channles = 4, kernel = 3 },\n]\n";
    fs::write(dir.join("net.toml"), text).unwrap();
    for args in [
        &["eval", "net.toml", "--x", "x.npy"][..],
        &["init", "net.toml"],
    ] {
        let line = refused(&dir, args);
        assert!(
            line.contains("net.toml:3") && line.contains("channels"),
            "{line}"
        );
    }
}
