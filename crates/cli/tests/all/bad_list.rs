//! Inputs that are wrong in one way each: exit 2, one line that says what, nothing written, no panic.
//!
//! A new way is a line of [`CASES`], and a file in [`files`] where it needs one.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused};
use polariscope_data::npy;

/// What is typed, and what the line must mention.
type Case = (&'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    // Names.
    (&["geometry", "resnet81"], &["resnet81", "resnet18"]),
    (
        &["geometry", "lenet", "--method", "exakt"],
        &["--method exakt", "exact"],
    ),
    (
        &["geometry", "lenet", "--gradient", "lokal"],
        &["--gradient lokal", "local"],
    ),
    (
        &["geometry", "lenet", "--compat", "nda"],
        &["--compat nda", "nad"],
    ),
    (
        &["geometry", "lenet", "--activation", "rellu"],
        &["rellu", "relu"],
    ),
    (
        &["geometry", "lenet", "--sample", "5"],
        &["--sample", "--samples"],
    ),
    (
        &["kernel", "lenet", "--x1", "good.npy", "--kind", "ntkk"],
        &["--kind ntkk", "ntk"],
    ),
    (
        &["train", "lenet", "--data", "stripee"],
        &["stripee", "stripe"],
    ),
    (
        &["train", "lenet", "--data", "stripe?trian=5"],
        &["trian", "train"],
    ),
    (
        &["train", "lenet", "--data", "stripe", "--optimiser", "sdg"],
        &["--optimiser", "sgd"],
    ),
    (&["experiment", "dougnut"], &["dougnut", "doughnut"]),
    (&["list", "dta"], &["dta", "data"]),
    (&["merge", "nowhere", "--out", "all"], &["nowhere"]),
    // Numbers out of range.
    (&["geometry", "lenet", "--samples", "0"], &["--samples 0"]),
    (
        &["geometry", "lenet", "--samples", "1e3"],
        &["--samples 1e3", "whole number"],
    ),
    (&["geometry", "lenet", "--error", "0"], &["--error 0"]),
    (&["geometry", "lenet", "--error", "-1"], &["--error -1"]),
    (
        &["geometry", "lenet", "--probes", "0"],
        &["--probes 0", "at least 1"],
    ),
    (&["geometry", "lenet", "--logit", "10"], &["10"]),
    (
        &["geometry", "lenet", "--top", "0"],
        &["--top 0", "at least 1"],
    ),
    (&["geometry", "lenet", "--shard", "3/2"], &["--shard 3/2"]),
    (
        &["geometry", "lenet", "--input", "99999999x99999x99999"],
        &["99999"],
    ),
    (
        &["geometry", "lenet", "--probe", "gauss:-1"],
        &["--probe gauss:-1"],
    ),
    (&["geometry", "mlp-2x100", "--input", "3x400x400"], &["GiB"]),
    (
        &["evolution", "lenet", "--data", "stripe", "--samples", "3"],
        &["--samples 3", "16"],
    ),
    (
        &["predict", "lenet", "--sigma", "inf"],
        &["--sigma inf", "finite"],
    ),
    (
        &["predict", "lenet", "--calibrate", "9"],
        &["--calibrate 9", "from 1 to"],
    ),
    (
        &["regress", "fcn", "--data", "stripe", "--ridge", "-0.5"],
        &["--ridge -0.5"],
    ),
    (
        &["regress", "fcn", "--data", "stripe", "--time", "1,nan"],
        &["--time", "finite"],
    ),
    (
        &["spectrum", "vec", "--samples", "99999999"],
        &["--samples", "GiB"],
    ),
    (
        &["symmetry", "lenet", "--steps", "0"],
        &["--steps 0", "at least 1"],
    ),
    (
        &["train", "lenet", "--data", "stripe", "--epochs", "-3"],
        &["--epochs -3"],
    ),
    (&["init", "lenet", "--index", "-1"], &["--index -1"]),
    // Options that do not go together.
    (
        &["geometry", "lenet", "--samples", "9", "--error", "0.1"],
        &["--samples", "--error"],
    ),
    (&["compare", "lenet"], &["<ARCH>"]),
    (&["compare", "lenet", "net.toml"], &["lenet", "--input"]),
    (&["spectrum", "lenet"], &["--data", "--x1"]),
    (&["spectrum", "vec", "--input", "8"], &["--input", "sphere"]),
    // Shapes.
    (
        &["kernel", "lenet", "--x1", "good.npy", "--x2", "small.npy"],
        &["small.npy", "3x8x8", "3x32x32"],
    ),
    (
        &["kernel", "lenet", "--x1", "good.npy", "--input", "3x8x8"],
        &["good.npy", "3x32x32", "--input"],
    ),
    (
        &["kernel", "lenet", "--x1", "long.npy"],
        &["long.npy", "samples x"],
    ),
    (
        &["kernel", "lenet", "--x1", "empty.npy"],
        &["empty.npy", "no samples"],
    ),
    (&["eval", "net.toml", "--x", "good.npy"], &["3x32x32"]),
    (
        &["geometry", "lenet", "--probe", "file:small.npy"],
        &["small.npy", "3x8x8", "--input"],
    ),
    (
        &["predict", "lenet", "--directions", "small.npy"],
        &["small.npy", "192", "1024"],
    ),
    (
        &["regress", "fcn", "--data", "npy:good.npy,few.npy"],
        &["few.npy", "4", "2"],
    ),
    (
        &[
            "align",
            "lenet",
            "--data",
            "npy:good.npy,y.npy",
            "--input",
            "1x8x8",
        ],
        &["3x32x32", "1x8x8"],
    ),
    // Files.
    (&["kernel", "lenet", "--x1", "cut.npy"], &["cut.npy"]),
    (
        &["kernel", "lenet", "--x1", "text.npy"],
        &["text.npy", "npy"],
    ),
    (
        &["kernel", "lenet", "--x1", "nan.npy"],
        &["nan.npy", "NaN", "finite"],
    ),
    (
        &["kernel", "lenet", "--x1", "nowhere.npy"],
        &["nowhere.npy"],
    ),
    (&["kernel", "lenet", "--x1", "."], &["."]),
    (
        &[
            "kernel",
            "lenet",
            "--x1",
            "good.npy",
            "--weights",
            "text.npy",
        ],
        &["text.npy", "safetensors"],
    ),
    (&["geometry", "bad.toml"], &["bad.toml:3", "channels"]),
    (&["geometry", "cut.toml"], &["cut.toml"]),
    (&["geometry", "good.npy"], &["good.npy"]),
    (&["train", "lenet", "--data", "mnist:."], &["MNIST", "IDX"]),
    (
        &["train", "lenet", "--data", "cifar10:nowhere"],
        &["nowhere"],
    ),
    (
        &["show", "lenet", "--out", "text.npy"],
        &["text.npy", "--out"],
    ),
    (
        &["show", "lenet", "--out", "text.npy/run"],
        &["text.npy", "--out"],
    ),
    (
        &["show", "lenet", "--out", "folder"],
        &["folder", "mine.txt", "--out"],
    ),
    (
        &[
            "geometry",
            "lenet",
            "--samples",
            "64",
            "--out",
            "folder",
            "--force",
        ],
        &["folder", "mine.txt"],
    ),
    (
        &["init", "lenet", "--out", "text.npy"],
        &["text.npy", "--force"],
    ),
    (
        &["init", "lenet", "--out", "folder"],
        &["folder", "directory"],
    ),
    // Layouts.
    (
        &["train", "lenet", "--data", "npy:last.npy,few.npy"],
        &["last.npy", "transpose(0, 3, 1, 2)"],
    ),
    (
        &["eval", "lenet", "--x", "last.npy"],
        &["last.npy", "transpose(0, 3, 1, 2)"],
    ),
    (
        &["kernel", "lenet", "--x1", "square.npy"],
        &["square.npy", "x[:, None]"],
    ),
    (
        &["kernel", "lenet", "--x1", "whole.npy"],
        &["whole.npy", "uint8"],
    ),
    (
        &["train", "net.toml", "--data", "stripe?shape=5"],
        &["net.toml", "input of 2", "samples of 5"],
    ),
    (
        &["eval", "net.toml", "--x", "good.npy"],
        &["net.toml", "input of 2", "3x32x32"],
    ),
    // Folders of images, and tables.
    (
        &["align", "lenet", "--data", "folder:nowhere"],
        &["nowhere"],
    ),
    (&["align", "lenet", "--data", "folder:folder"], &["folder"]),
    (
        &["landscape", "lenet", "--data", "folder:nowhere"],
        &["nowhere"],
    ),
    (
        &["landscape", "fcn", "--data", "csv:bad.csv"],
        &["bad.csv", "line 3", "oops"],
    ),
    (&["train", "lenet", "--data", "folder:broken"], &["bad.png"]),
    (&["train", "lenet", "--data", "folder:lone"], &["lone"]),
    (
        &["regress", "fcn", "--data", "csv:nowhere.csv"],
        &["nowhere.csv"],
    ),
    (
        &["regress", "fcn", "--data", "csv:bad.csv"],
        &["bad.csv", "line 3", "oops"],
    ),
    (
        &["regress", "fcn", "--data", "csv:hole.csv"],
        &["hole.csv", "line 2"],
    ),
    // Pictures.
    (
        &["geometry", "lenet", "--size", "800"],
        &["--size", "--figures png"],
    ),
    (
        &["geometry", "lenet", "--figures", "pdf"],
        &["--figures", "svg", "png"],
    ),
];

fn files(dir: &Path) {
    let save = |name: &str, shape: &[usize], values: &[f32]| {
        fs::write(dir.join(name), npy::encode(shape, values)).unwrap();
    };
    let image = vec![0.5; 4 * 3072];
    save("good.npy", &[4, 3, 32, 32], &image);
    save("small.npy", &[2, 3, 8, 8], &image[..384]);
    save("long.npy", &[1, 1, 3, 32, 32], &image[..3072]);
    save("empty.npy", &[0, 3, 32, 32], &[]);
    let mut nan = image[..3072].to_vec();
    nan[7] = f32::NAN;
    save("nan.npy", &[1, 3, 32, 32], &nan);
    let label = |name: &str, labels: &[i64]| {
        fs::write(dir.join(name), npy::encode(&[labels.len()], labels)).unwrap();
    };
    label("y.npy", &[0, 1, 0, 1]);
    label("few.npy", &[0, 1]);
    let good = fs::read(dir.join("good.npy")).unwrap();
    fs::write(dir.join("cut.npy"), &good[..good.len() / 2]).unwrap();
    fs::write(dir.join("text.npy"), "0.1 0.2 0.3\n").unwrap();
    let net = "input = [2]\nlayers = [ { op = \"dense\", features = 1 } ]\n";
    fs::write(dir.join("net.toml"), net).unwrap();
    let bad = "input = [3, 8, 8]\nlayers = [\n  { op = \"conv\", channles = 4, kernel = 3 },\n]\n";
    fs::write(dir.join("bad.toml"), bad).unwrap();
    fs::write(dir.join("cut.toml"), &bad[..40]).unwrap();
    save("square.npy", &[3, 32, 32], &image[..3072]);
    save("last.npy", &[2, 8, 8, 3], &image[..384]);
    let pixels: Vec<i64> = (0..3072).map(|i| i % 256).collect();
    fs::write(dir.join("whole.npy"), npy::encode(&[1, 3, 32, 32], &pixels)).unwrap();
    for (file, content) in [
        ("broken/a/bad.png", "\u{89}PNG, but no more"),
        ("broken/b/bad.png", "\u{89}PNG, but no more"),
        ("lone/only/one.png", ""),
        ("bad.csv", "x0,x1,label\n0.5,0.5,a\n0.5,oops,b\n"),
        ("hole.csv", "0.5,0.5,1\n0.5,,2\n"),
    ] {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    fs::create_dir(dir.join("folder")).unwrap();
    fs::write(dir.join("folder/mine.txt"), "mine").unwrap();
}

/// Every file below a directory with its size.
fn listing(dir: &Path) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all.extend(listing(&path)),
            false => all.push((path.display().to_string(), entry.metadata().unwrap().len())),
        }
    }
    all.sort();
    all
}

#[test]
fn every_one_is_a_line_that_helps() {
    let dir = directory("bad-list");
    files(&dir);
    let before = listing(&dir);
    for (args, mentions) in CASES {
        let line = refused(&dir, args);
        let missing: Vec<&&str> = mentions.iter().filter(|m| !line.contains(**m)).collect();
        assert!(
            missing.is_empty(),
            "{args:?} should mention {missing:?}: {line}"
        );
        assert!(!line.contains('‹'), "{line}");
        assert_eq!(listing(&dir), before, "{args:?} wrote something");
    }
}
