//! Kernels of small networks beside neural-tangents, in f64 and f32: rectangular and symmetric blocks.
//!
//! A fixture is an architecture file and what neural-tangents makes of it; `bench/kernel_fixtures` interprets the same
//! file with a reader of its own, so shapes, defaults, paddings and laws are compared too.
//!
//! Bug class: a rule of the recursion, or a setting of an op (a stride that leaves a rest, an even window, a wrapped edge,
//! windows that overlap), that is self-consistent but is not the kernel of the network described.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_nngp::{Float, Kernel, Values, Wanted};

/// In f64, relative to the largest entry: two recursions in different orders of summation.
const TOLERANCE: f64 = 1e-10;

/// In f32: some tens of roundings of 6e-8.
const TOLERANCE_F32: f64 = 1e-5;

/// On the diagonal: the angle of a sample with itself, arccos(1 - 1e-16), is good to 1e-8 over there.
const TOLERANCE_DIAGONAL: f64 = 1e-6;

/// Samples of x1.
const N: usize = 3;

struct Fixture {
    name: String,
    graph: Graph,
    arrays: BTreeMap<String, Vec<f64>>,
}

fn fixtures() -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|e| e == "toml"));
    let fixtures: Vec<Fixture> = files.map(read).collect();
    assert!(fixtures.len() >= 45, "only {} fixtures", fixtures.len());
    fixtures
}

fn read(path: PathBuf) -> Fixture {
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let file = std::fs::read_to_string(&path).unwrap();
    let graph = parse_file(&file, &name, &ZooOptions::default());
    let text = std::fs::read_to_string(path.with_extension("txt")).unwrap();
    let arrays = text.lines().map(|line| {
        let (name, values) = line.split_once(' ').unwrap();
        let values = values.split(' ').map(|value| value.parse().unwrap());
        (name.to_owned(), values.collect())
    });
    Fixture {
        graph: graph.unwrap_or_else(|error| panic!("{error}")),
        arrays: arrays.collect(),
        name,
    }
}

impl Fixture {
    /// Compares every block, computed in T, with the peer's; says what is wrong.
    fn check<T: Float + Into<f64>>(
        &self,
        narrow: fn(f64) -> T,
        tolerance: f64,
    ) -> Result<(), Box<dyn Error>> {
        let [x1, x2] = ["x1", "x2"].map(|x| {
            self.arrays[x]
                .iter()
                .map(|&v| narrow(v))
                .collect::<Vec<T>>()
        });
        let kernel = Kernel::new(&self.graph)?;
        // The norms of neural-tangents have no weights: the NTK is another.
        let (exact, kinds) = match self.name.starts_with("norm") {
            true => (false, vec!["nngp"]),
            false => (true, vec!["nngp", "ntk"]),
        };
        if kernel.approximations().is_empty() != exact {
            return Err(format!("approximations: {:?}", kernel.approximations()).into());
        }
        let between = kernel.between(Wanted::Both, &x1, &x2)?;
        let among = kernel.among(Wanted::Both, &x1)?;
        let itself = kernel.diagonal(Wanted::Both, &x1)?;

        let all = |_: usize| true;
        let on_diagonal = |i: usize| i.is_multiple_of(N + 1);
        for kind in kinds {
            let [between, among, itself] = [&between, &among, &itself].map(|v| of(v, kind));
            let symmetric = &self.arrays[&format!("{kind}11")];
            compare(kind, &between, &self.arrays[kind], all, tolerance)?;
            compare(kind, &among, symmetric, |i| !on_diagonal(i), tolerance)?;
            let loose = tolerance.max(TOLERANCE_DIAGONAL);
            compare(kind, &among, symmetric, on_diagonal, loose)?;
            let diagonal: Vec<f64> = symmetric.iter().step_by(N + 1).copied().collect();
            compare(kind, &itself, &diagonal, all, loose)?;
        }
        Ok(())
    }
}

/// One of the kernels, widened.
fn of<T: Float + Into<f64>>(values: &Values<T>, kind: &str) -> Vec<f64> {
    let values = match kind {
        "nngp" => &values.nngp,
        _ => values.ntk.as_ref().unwrap(),
    };
    values.iter().map(|&v| v.into()).collect()
}

/// The chosen entries, relative to the largest of all.
fn compare(
    kind: &str,
    values: &[f64],
    expected: &[f64],
    chosen: impl Fn(usize) -> bool,
    tolerance: f64,
) -> Result<(), String> {
    assert_eq!(values.len(), expected.len());
    let largest = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    for i in (0..expected.len()).filter(|&i| chosen(i)) {
        let error = (values[i] - expected[i]).abs() / largest;
        if error.is_nan() || error > tolerance {
            let (value, expected) = (values[i], expected[i]);
            return Err(format!(
                "{kind} {i} is {value}, not {expected}, {error:.1e}"
            ));
        }
    }
    Ok(())
}

/// Checks all fixtures and names every one that fails.
fn check_all<T: Float + Into<f64>>(narrow: fn(f64) -> T, tolerance: f64) {
    let fixtures = fixtures();
    let failure = |f: &Fixture| Some(format!("{}: {}", f.name, f.check(narrow, tolerance).err()?));
    let failures: Vec<String> = fixtures.iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn kernels_are_those_of_neural_tangents() {
    check_all::<f64>(|v| v, TOLERANCE);
}

#[test]
fn kernels_in_f32_are_those_of_neural_tangents() {
    check_all::<f32>(|v| v as f32, TOLERANCE_F32);
}
