//! `align`: verdicts that theory fixes, what a run leaves, what is refused.
//!
//! Bug class: a verdict with the wrong sign, directions or shares in the wrong order, a geometry computed twice.

use std::fs;
use std::path::Path;

use crate::common::{directory, refused, run, succeed};
use polariscope_data::npy;
use polariscope_random::Stream;
use serde_json::Value;

const SIDE: usize = 16;
const DIM: usize = SIDE * SIDE;
/// Directions that the samples span, and samples.
const SPAN: usize = 8;
const COUNT: usize = 64;
/// A network whose geometry has a closed form, the same in every run.
const CLOSED: [&str; 7] = [
    "lenet-gap",
    "--activation",
    "gelu",
    "--bias",
    "zero",
    "--method",
    "exact",
];

fn json(dir: &Path, args: &[&str]) -> Value {
    let args = [args, &["--json", "--quiet"]].concat();
    serde_json::from_str(&succeed(dir, &args)).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Rows of a table of numbers under its heading.
fn rows(path: &Path, heading: &str) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(heading));
    let row = |line: &str| line.split(',').map(|x| x.parse().unwrap()).collect();
    lines.map(row).collect()
}

/// Writes normal samples in the span of some directions, and labels; returns the specification.
fn samples(dir: &Path, name: &str, directions: &[f64]) -> String {
    let mut weights = vec![0f32; COUNT * SPAN];
    Stream::new(7, 0, "weights").normal(1.0, &mut weights);
    let mut x = vec![0f32; COUNT * DIM];
    for (x, weights) in x.chunks_exact_mut(DIM).zip(weights.chunks_exact(SPAN)) {
        for (weight, u) in weights.iter().zip(directions.chunks_exact(DIM)) {
            x.iter_mut()
                .zip(u)
                .for_each(|(x, &u)| *x += weight * u as f32);
        }
    }
    let y: Vec<i64> = (0..COUNT as i64).map(|i| i % 2).collect();
    fs::write(
        dir.join(format!("{name}.npy")),
        npy::encode(&[COUNT, 1, SIDE, SIDE], &x),
    )
    .unwrap();
    fs::write(dir.join("y.npy"), npy::encode(&[COUNT], &y)).unwrap();
    format!("npy:{name}.npy,y.npy")
}

/// f = θᵀx has G = σ²I: every sample scores 1, no rotation matters, nothing is unseen.
#[test]
fn a_linear_model_is_neutral() {
    let dir = directory("align-linear");
    let data = "linear?shape=1x6x6&train=300&test=10&eps=3";
    let args = ["align", "logreg", "--data", data, "--out", "run"];
    let text = succeed(&dir, &args);
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    for sentence in [
        "Coherent geometry (what predicts learning), exact closed form, the same at every input.",
        "logreg is neutral towards linear: its directions differ so little",
        "All 300 samples have the same Score",
        "No direction that the data vary in has less than",
    ] {
        assert!(words.contains(sentence), "{sentence}: {words}");
    }
    assert!(!words.contains("drop"), "{words}");
    let shown = json(&dir, &args);
    assert_eq!(shown["verdict"], "neutral");
    for kind in ["centred", "uncentred"] {
        let found = &shown[kind];
        let corr = number(&found["corr"]);
        for other in ["chance", "best", "worst"] {
            assert!((corr - number(&found[other])).abs() < 1e-9, "{found}");
        }
        assert_eq!(number(&found["share"]), 0.0);
    }
    let scores = rows(&dir.join("run/scores.csv"), "index,label,score");
    assert_eq!(scores.len(), 300);
    assert!(scores.iter().all(|row| (row[2] - 1.0).abs() < 1e-6));
    let unseen = npy::read(&dir.join("run/unseen.npy")).unwrap();
    assert_eq!(unseen.shape, [0, 36]);
    for file in [
        "report.html",
        "energy.csv",
        "figures/logreg-energy.svg",
        "figures/logreg-corr.svg",
        "geometry/geometry.npy",
        "geometry/report.html",
    ] {
        assert!(dir.join("run").join(file).is_file(), "{file}");
    }
    // The finished run is shown again.
    assert_eq!(succeed(&dir, &args), text);
}

/// Samples in the span of the first directions suit, in the span of the last ones they do not.
#[test]
fn first_directions_suit_and_last_ones_do_not() {
    let dir = directory("align-directions");
    let geometry = ["--input", "1x16x16", "--outputs", "1", "--out", "g"];
    let geometry = [&["geometry"], &CLOSED[..], &geometry].concat();
    succeed(&dir, &geometry);
    let directions = npy::read(&dir.join("g/directions.npy")).unwrap();
    let directions = directions.numbers.to_f64();
    let values = npy::read(&dir.join("g/eigenvalues.npy")).unwrap();
    let values = values.numbers.to_f64();
    let isotropic = values.iter().sum::<f64>() / DIM as f64;

    let first = samples(&dir, "first", &directions[..SPAN * DIM]);
    let aligned = |data: &str, out: &str| {
        let data = ["--data", data, "--out", out];
        json(&dir, &[&["align"], &CLOSED[..], &data].concat())
    };
    let shown = aligned(&first, "first");
    assert_eq!(shown["verdict"], "suits");
    assert!(number(&shown["centred"]["share"]) > 0.75, "{shown}");
    let words = shown["words"].as_str().unwrap();
    assert!(words.starts_with("Geometry at one point, exact closed form, at the input 0."));
    assert!(
        words.contains("lenet-gap suits npy: the data vary where its geometry has most weight.")
    );
    // All of the variance lies in eight directions, f32 samples aside.
    let heading = "directions,share,isotropic,best";
    let energy = rows(&dir.join("first/energy.csv"), heading);
    let at = |energy: &[Vec<f64>], count: usize| {
        let row = energy.iter().find(|row| row[0] == count as f64);
        row.unwrap_or_else(|| panic!("no row {count}")).clone()
    };
    let eight = at(&energy, SPAN);
    assert!((eight[1] - 1.0).abs() < 1e-5 && (eight[3] - 1.0).abs() < 1e-5);
    assert!((eight[2] - SPAN as f64 / DIM as f64).abs() < 1e-12);
    assert!(energy.iter().all(|row| row[1] <= row[3] + 1e-9));
    // A unit vector in their span has a quadratic form between the eighth and the first eigenvalue.
    let scores = rows(&dir.join("first/scores.csv"), "index,label,score");
    let range = values[SPAN - 1] / isotropic..=values[0] / isotropic;
    assert!(
        scores.iter().all(|row| range.contains(&row[2])),
        "{range:?}"
    );
    assert!(
        scores
            .iter()
            .enumerate()
            .all(|(i, row)| row[1] == (i % 2) as f64)
    );

    let last = samples(&dir, "last", &directions[(DIM - SPAN) * DIM..]);
    let shown = aligned(&last, "last");
    assert_eq!(shown["verdict"], "against");
    assert!(number(&shown["centred"]["share"]) < -0.75, "{shown}");
    let energy = rows(&dir.join("last/energy.csv"), heading);
    assert!(at(&energy, 128)[1] < 1e-5);
    // What the data have there is unseen, and it lies in the span of the last directions.
    let unseen = npy::read(&dir.join("last/unseen.npy")).unwrap();
    assert!(unseen.shape[0] >= 1);
    let v = &unseen.numbers.to_f64()[..DIM];
    let inside: f64 = directions[(DIM - SPAN) * DIM..]
        .chunks_exact(DIM)
        .map(|u| u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>().powi(2))
        .sum();
    assert!((inside - 1.0).abs() < 1e-3, "{inside}");
}

/// Sentences of the page outside of the answer: each where its numbers carry it, and not elsewhere.
#[test]
fn sentences_of_the_page_appear_and_do_not() {
    let dir = directory("align-page");
    let page = |name: &str, args: &[&str]| {
        succeed(&dir, &[&["align"], args, &["--out", name]].concat());
        fs::read_to_string(dir.join(name).join("report.html")).unwrap()
    };
    let bright: Vec<f32> = (0..20 * 36).map(|i| (i * i % 17) as f32).collect();
    fs::write(dir.join("bright.npy"), npy::encode(&[20, 1, 6, 6], &bright)).unwrap();
    let labels: Vec<i64> = (0..20).map(|i| i % 2).collect();
    fs::write(dir.join("bright-y.npy"), npy::encode(&[20], &labels)).unwrap();
    let [images, vectors, grey, colour, sampled] = [
        page(
            "images",
            &[
                "logreg",
                "--data",
                "linear?shape=1x6x6&train=40&test=4&eps=3",
            ],
        ),
        page(
            "vectors",
            &["logreg", "--data", "sphere?shape=4&train=40&test=4"],
        ),
        page("grey", &["logreg", "--data", "npy:bright.npy,bright-y.npy"]),
        page(
            "colour",
            &[
                &CLOSED[..],
                &["--data", "sphere?shape=3x16x16&train=60&test=4"],
            ]
            .concat(),
        ),
        page(
            "sampled",
            &[
                "lenet-gap",
                "--data",
                "sphere?shape=1x16x16&train=40&test=4",
                "--samples",
                "16",
            ],
        ),
    ];
    let all = [&images, &vectors, &grey, &colour, &sampled];
    let only = |sentence: &str, there: &[&String]| {
        for page in all {
            let expected = there.iter().any(|p| std::ptr::eq(*p, page));
            assert_eq!(page.contains(sentence), expected, "{sentence}");
        }
    };
    // 1. What stands by every figure.
    only(
        "No other directions hold more than the principal axes",
        &all,
    );
    only("it is “suits” from a quarter of the way to best on", &all);
    // 2. Scores: pictures for images, black and white at the ends of the data; else a table.
    only(
        "Under each its index, its label and its Score.",
        &[&images, &grey, &colour, &sampled],
    );
    only(
        "Black and white are the smallest and the largest number of the training set.",
        &[&images, &grey, &colour, &sampled],
    );
    only("<p>The lowest Scores.</p>", &[&vectors]);
    // 3. Directions of little weight: none, some, or too noisy to say.
    only(
        "None: every direction that the data vary in",
        &[&images, &vectors, &grey],
    );
    only(
        "Generalised eigenvectors of the data and the geometry",
        &[&colour],
    );
    only("Channels lie side by side.", &[&colour]);
    only("sampled too coarsely to name directions", &[&sampled]);
}

/// The geometry is a run of its own that is not computed twice; threads change no number.
#[test]
fn the_geometry_is_kept() {
    let dir = directory("align-kept");
    let data = "sphere?shape=1x16x16&train=100&test=10";
    let args = ["align", "lenet-gap", "--data", data, "--samples", "64"];
    let at = |out: &'static str, threads: &'static str| {
        [&args[..], &["--out", out, "--threads", threads]].concat()
    };
    succeed(&dir, &at("one", "1"));
    succeed(&dir, &at("two", "2"));
    let read = |name: &str| fs::read(dir.join(name)).unwrap();
    for file in ["scores.csv", "unseen.npy", "geometry/geometry.npy"] {
        assert!(
            read(&format!("one/{file}")) == read(&format!("two/{file}")),
            "{file}"
        );
    }
    // As after an interruption between the geometry and the comparison.
    let (scores, geometry) = (read("one/scores.csv"), read("one/geometry/run.toml"));
    let record = fs::read_to_string(dir.join("one/run.toml")).unwrap();
    let record = record.replace("status = \"finished\"", "status = \"unfinished\"");
    fs::write(dir.join("one/run.toml"), record).unwrap();
    fs::remove_file(dir.join("one/scores.csv")).unwrap();
    let output = run(&dir, &at("one", "1"));
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(
        note.contains("one/geometry holds this run, finished"),
        "{note}"
    );
    assert!(read("one/scores.csv") == scores);
    assert!(read("one/geometry/run.toml") == geometry);
    // Sampled geometries say how far to trust them.
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("The geometry was sampled"), "{text}");
}

#[test]
fn bad_input_is_one_line() {
    let dir = directory("align-bad");
    let sphere = "sphere?shape=1x16x16&train=20&test=5";
    let cases: &[(&[&str], &str)] = &[
        (&["logreg"], "--data"),
        (&["logreg", "--data", "mnits:x"], "mnist"),
        (
            &["logreg", "--data", sphere, "--input", "1x9x9"],
            "the data decide",
        ),
        (&["logerg", "--data", sphere], "logreg"),
        (
            &["logreg", "--data", sphere, "--samples", "0"],
            "--samples 0",
        ),
        (
            &["logreg", "--data", "sphere?shape=4&train=1&test=1"],
            "at least 2 samples",
        ),
    ];
    for (args, mention) in cases {
        let line = refused(&dir, &[&["align"], *args, &["--quiet"]].concat());
        assert!(line.contains(mention), "{args:?}: {line}");
    }
}
