//! `predict`: one training, a map, numbers that agree with each other, what is refused.
//!
//! Bug class: a training done twice, a map that is turned, numbers that depend on how they were asked for.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, succeed};
use polariscope_data::{dft_frequencies, dft_vector, npy};
use serde_json::Value;

const SIDE: usize = 8;
const DIM: usize = SIDE * SIDE;
/// A small network that prefers low frequencies.
const NETWORK: &str = r#"
input = [1, 8, 8]
layers = [
  { op = "conv", channels = 16, kernel = 3, padding = "circular" },
  { op = "relu" },
  { op = "avg-pool", size = 2 },
  { op = "flatten" },
  { op = "dense", features = 2 },
]
"#;
/// Noise and samples at which it learns some frequencies and others not.
const HARD: [&str; 5] = ["predict", "net.toml", "--train=400", "--sigma=3", "--quiet"];

fn network(test: &str) -> std::path::PathBuf {
    let dir = directory(test);
    fs::write(dir.join("net.toml"), NETWORK).unwrap();
    dir
}

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [&HARD, args, &["--json"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn array(path: &Path) -> (Vec<usize>, Vec<f64>) {
    let array = npy::read(path).unwrap();
    (array.shape, array.numbers.to_f64())
}

/// The map, the rows of a file, the number for a data set: the same accuracies, from the δ of one run.
#[test]
fn one_training_predicts_every_direction() {
    let dir = network("predict-map");
    let found = json(&dir, &["--out", "map"]);
    let trainings = found["trainings"].as_array().unwrap();
    let last = number(&trainings.last().unwrap()["accuracy"]);
    assert!((0.6..=0.97).contains(&last), "{found}");
    let delta = number(&found["delta"]);
    let own = number(&trainings.last().unwrap()["delta"]);
    assert!((delta / own - 1.0).abs() < 1e-12, "{found}");
    let (shape, map) = array(&dir.join("map/map.npy"));
    assert_eq!(shape, [SIDE, SIDE]);
    assert!(map.iter().all(|a| (0.5..=1.0).contains(a)));
    // Row 4, column 4 is the constant, which an average pool sees best; (−4, −4) it sees least.
    assert!(map[4 * SIDE + 4] > map[0] + 0.1, "{map:?}");
    for file in [
        "report.html",
        "curve.csv",
        "figures/net-map.svg",
        "figures/net-curve.svg",
    ] {
        assert!(dir.join("map").join(file).is_file(), "{file}");
    }

    // Every Fourier direction as a row, of any length, with δ given.
    let rows: Vec<f64> = (0..DIM)
        .flat_map(|i| dft_vector(SIDE, SIDE, i).unwrap())
        .map(|x| 3.0 * x)
        .collect();
    fs::write(dir.join("rows.npy"), npy::encode(&[DIM, DIM], &rows)).unwrap();
    let text = delta.to_string();
    let given = [
        "--delta",
        &text,
        "--directions",
        "rows.npy",
        "--out",
        "rows",
    ];
    let rows = json(&dir, &given);
    assert_eq!(rows["trainings"].as_array().unwrap().len(), 0);
    let (shape, accuracy) = array(&dir.join("rows/accuracy.npy"));
    assert_eq!(shape, [DIM]);
    let frequencies = dft_frequencies(SIDE, SIDE);
    for (i, f) in frequencies.iter().enumerate() {
        let row = (f.a + 4).rem_euclid(8) as usize;
        let column = (f.b + 4).rem_euclid(8) as usize;
        let same = frequencies.iter().enumerate();
        let same = same.filter(|(_, g)| (g.a, g.b) == (f.a, f.b));
        let both: Vec<f64> = same.map(|(k, _)| accuracy[k]).collect();
        let mean = both.iter().sum::<f64>() / both.len() as f64;
        assert!((map[row * SIDE + column] - mean).abs() < 1e-9, "{i}");
    }
    let data = "linear?v=9&sigma=3&train=400&shape=1x8x8";
    let args = [
        "predict", "net.toml", "--delta", &text, "--data", data, "--json",
    ];
    let one: Value = serde_json::from_str(&succeed(&dir, &args)).unwrap();
    let median = number(&one["accuracy"]["median"]);
    assert!((median - accuracy[9]).abs() < 1e-9, "{one}");
}

/// A training that was finished before an interruption is not done again.
#[test]
fn finished_trainings_are_kept() {
    let dir = network("predict-resume");
    let found = json(&dir, &["--out", "run"]);
    let first = &found["trainings"][0];
    let run = dir.join("run");
    let record = fs::read_to_string(run.join("run.toml")).unwrap();
    assert!(record.contains("status = \"finished\""), "{record}");
    let record = record.replace("status = \"finished\"", "status = \"unfinished\"");
    fs::write(run.join("run.toml"), record).unwrap();
    // An accuracy that no training gives: it can only come from the checkpoint.
    let kept = format!(
        "[[training]]\ncandidate = {}\nweight = 1.0\naccuracy = 0.77125\n",
        first["candidate"]
    );
    fs::create_dir_all(run.join("partial")).unwrap();
    fs::write(run.join("partial/trainings.toml"), kept).unwrap();
    let again = json(&dir, &["--out", "run"]);
    assert_eq!(number(&again["trainings"][0]["accuracy"]), 0.77125);
    assert_eq!(again["trainings"].as_array().unwrap().len(), 1);
    // Finished again, it is shown.
    let text = succeed(&dir, &[&HARD[..], &["--out", "run"]].concat());
    assert!(text.contains("77.1") && text.contains("map.npy"), "{text}");
}

/// Several calibrating directions have a spread, and vectors have no frequencies.
#[test]
fn three_directions_of_a_vector() {
    let dir = directory("predict-vector");
    let net = "input = [12]\nlayers = [\n  { op = \"dense\", features = 3 },\n  { op = \"relu\" },\n  \
               { op = \"dense\", features = 2 },\n]\n";
    fs::write(dir.join("net.toml"), net).unwrap();
    let args = [
        "predict", "net.toml", "--train", "200", "--sigma", "3", "--json", "--out", "run",
    ];
    let found: Value = serde_json::from_str(&succeed(&dir, &args)).unwrap();
    let (shape, accuracy) = array(&dir.join("run/accuracy.npy"));
    assert_eq!(shape, [12]);
    // G is a multiple of the identity.
    assert!(
        accuracy.iter().all(|a| (a - accuracy[0]).abs() < 1e-6),
        "{accuracy:?}"
    );
    assert!(found["log_spread"].is_null());
    let args = [&args[..7], &["--calibrate", "3", "--out", "three"]].concat();
    let three: Value = serde_json::from_str(&succeed(&dir, &args)).unwrap();
    assert!(number(&three["log_spread"]) >= 0.0, "{three}");
    assert!(three["trainings"].as_array().unwrap().len() >= 3);
}

#[test]
fn what_is_refused() {
    let dir = network("predict-refused");
    let wrong = |args: &[&str], said: &str| {
        let line = refused(&dir, &[&["predict", "net.toml"], args].concat());
        assert!(line.contains(said), "{args:?}: {line}");
    };
    wrong(&["--outputs", "3"], "leave it out");
    wrong(&["--dtype", "f64"], "trained in f32");
    wrong(&["--sigma", "0"], "above 0");
    wrong(&["--calibrate", "4"], "from 1 to 3");
    wrong(&["--delta", "5", "--calibrate", "2"], "cannot be used with");
    wrong(&["--data", "stripe"], "only the linear family");
    wrong(&["--data", "linear?eps=2&shape=1x8x8"], "eps=1");
    wrong(&["--data", "linear?sigma=0&shape=1x8x8"], "above 0");
    wrong(
        &["--data", "linear?normalise&shape=1x8x8"],
        "leave transforms out",
    );
    wrong(&["--data", "linear?v=3"], "shape=1x8x8");
    wrong(&["--data", "linear?v=64&shape=1x8x8"], "64 DFT directions");
    let rows = |name: &str, width: usize, x: f64| {
        let bytes = npy::encode(&[2, width], &vec![x; 2 * width]);
        fs::write(dir.join(name), bytes).unwrap();
    };
    rows("short.npy", 10, 1.0);
    wrong(&["--directions", "short.npy"], "have 10 numbers");
    rows("zero.npy", DIM, 0.0);
    wrong(&["--delta", "9", "--directions", "zero.npy"], "direction 0");
    wrong(&["--directions", "none.npy"], "none.npy");
}
