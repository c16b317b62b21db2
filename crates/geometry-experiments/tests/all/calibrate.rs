//! Where a network is trained to find δ, and what is found.
//!
//! Bug class: a search that moves the wrong way, trains the same direction twice or does not end.

use polariscope_diff::Place;
use polariscope_geometry::{Form, Kron, LinearProblem, Predictor, Spectrum};
use polariscope_geometry_experiments::{
    Calibrator, Candidates, GeometryExperimentsError, Lab, Scale, Sizes, Step, Training,
};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_train::Quiet;

const DIM: usize = 64;
const PROBLEM: LinearProblem = LinearProblem {
    train: 500,
    sigma: 5.0,
};

fn lab() -> Lab {
    Lab {
        architecture: "mlp-1x8".into(),
        scale: Scale::Small,
        runs: None,
        seed: 0,
        place: Place::default(),
        cifar: None,
        sigma: None,
        known: Vec::new(),
    }
}

fn network(dim: usize) -> Graph {
    let options = ZooOptions {
        input: Some(dim.to_string().parse().unwrap()),
        outputs: Some(2),
        ..ZooOptions::default()
    };
    zoo("mlp-1x8", &options).unwrap()
}

/// Eigenvalues on the diagonal.
fn geometry(value: impl Fn(usize) -> f64, dim: usize) -> (Predictor, Candidates) {
    let mut factor = vec![0.0; dim * dim];
    (0..dim).for_each(|i| factor[i * dim + i] = value(i));
    let spectrum = Spectrum::of(&Kron::dense(factor, dim)).unwrap();
    let predictor = Predictor::new(&spectrum, Form::Inverse).unwrap();
    let shape = dim.to_string().parse().unwrap();
    let candidates = Candidates::new(&predictor, &spectrum, shape).unwrap();
    (predictor, candidates)
}

fn falling(i: usize) -> f64 {
    (1.0 + i as f64).powf(-1.5)
}

/// Follows the search with networks that do what ridge regression with `delta` would.
fn search(
    (predictor, candidates): &(Predictor, Candidates),
    delta: f64,
    directions: usize,
) -> (Result<Step, GeometryExperimentsError>, Vec<Training>) {
    let (lab, graph) = (lab(), network(DIM));
    let calibrator = Calibrator {
        lab: &lab,
        graph: &graph,
        predictor,
        candidates,
        sigma: PROBLEM.sigma,
        sizes: Sizes {
            train: PROBLEM.train,
            test: 1000,
            epochs: 1,
        },
        directions,
    };
    let expansion = candidates.expansion();
    let truth = predictor.accuracies(PROBLEM, delta, expansion).unwrap();
    let mut done: Vec<Training> = Vec::new();
    loop {
        match calibrator.next(&done) {
            Ok(Step::Train(candidate)) => {
                assert!(done.iter().all(|t| t.candidate != candidate), "{done:?}");
                done.push(Training {
                    candidate,
                    weight: expansion.weights()[candidate],
                    accuracy: truth[candidate],
                    ridge: None,
                });
            }
            end => return (end, done),
        }
    }
}

/// δ comes out whether the median direction tells it or not, after at most as many trainings as halves there are.
#[test]
fn the_ridge_is_found_from_the_median_on() {
    let space = geometry(falling, DIM);
    let (mut up, mut down) = (0, 0);
    for delta in [50.0, 300.0, 2e3, 1e4, 1e5] {
        let (end, done) = search(&space, delta, 1);
        let Ok(Step::Done(ridge)) = end else {
            panic!("{delta}: {end:?} after {done:?}");
        };
        assert!(
            (ridge.delta / delta - 1.0).abs() < 1e-4,
            "{delta}: {ridge:?}"
        );
        assert!(ridge.log_error > 0.0 && ridge.log_spread.is_none());
        assert!(done.len() <= 6, "{done:?}");
        let (first, last) = (&done[0], &done[done.len() - 1]);
        // Rank 31 of 64 from below is direction 32.
        assert_eq!(first.candidate, 32);
        assert!((0.6..=0.97).contains(&last.accuracy));
        // Too much learnt: on to what is seen less, and the other way round.
        up += usize::from(last.weight > first.weight);
        down += usize::from(last.weight < first.weight);
    }
    assert!(up >= 1 && down >= 1, "{up} up, {down} down");
}

#[test]
fn three_directions_agree_on_what_made_them() {
    let space = geometry(falling, DIM);
    let (end, done) = search(&space, 2e3, 3);
    let Ok(Step::Done(ridge)) = end else {
        panic!("{end:?}");
    };
    assert!(done.len() >= 3, "{done:?}");
    assert!((ridge.delta / 2e3 - 1.0).abs() < 1e-4, "{ridge:?}");
    assert!(ridge.log_spread.unwrap() < 1e-4, "{ridge:?}");
}

#[test]
fn networks_that_learn_all_or_nothing_are_refused() {
    let space = geometry(falling, DIM);
    let (end, _) = search(&space, 1e-9, 1);
    let said = end.unwrap_err().to_string();
    assert!(said.contains("larger ‹sigma›"), "{said}");
    // Nothing can be gained elsewhere where all directions are alike.
    let flat = geometry(|_| 1.0, DIM);
    let (end, done) = search(&flat, 1e-9, 1);
    assert!(end.is_err());
    assert_eq!(done.len(), 1);
    let (end, done) = search(&flat, 1e9, 1);
    let said = end.unwrap_err().to_string();
    assert!(said.contains("smaller ‹sigma›"), "{said}");
    assert_eq!(done.len(), 1);
}

/// The same training twice, and what it says about δ.
#[test]
fn a_small_network_is_trained() {
    let dim = 6;
    let (lab, graph) = (lab(), network(dim));
    let (predictor, candidates) = geometry(|_| 1.0, dim);
    let calibrator = Calibrator {
        lab: &lab,
        graph: &graph,
        predictor: &predictor,
        candidates: &candidates,
        sigma: 2.0,
        sizes: Sizes {
            train: 200,
            test: 500,
            epochs: 2,
        },
        directions: 1,
    };
    let train = || calibrator.train(3, &mut Quiet).unwrap();
    let training = train();
    assert_eq!(training, train());
    assert!((training.weight - 1.0).abs() < 1e-12);
    assert!((0.4..=1.0).contains(&training.accuracy), "{training:?}");
}

/// A wave is shown where it oscillates, and its conjugate too.
#[test]
fn the_map_has_zero_frequency_in_the_middle() {
    let spectrum = Spectrum::of(&Kron {
        channels: 2 * 4 * 6,
        n: 1,
        factor: vec![1.0],
    });
    let spectrum = spectrum.unwrap();
    let predictor = Predictor::new(&spectrum, Form::Inverse).unwrap();
    let shape = "2x4x6".parse().unwrap();
    let candidates = Candidates::new(&predictor, &spectrum, shape).unwrap();
    assert_eq!(candidates.expansion().len(), 48);
    let frequencies = polariscope_data::dft_frequencies(4, 6);
    let there = |f: &polariscope_data::Frequency| (f.a, f.b) == (1, 2);
    let values: Vec<f64> = (0..48)
        .map(|k| f64::from(u8::from(there(&frequencies[k % 24]))))
        .collect();
    let map = candidates.map(&values).unwrap();
    assert_eq!((map.height, map.width), (4, 6));
    for (k, value) in map.values.iter().enumerate() {
        let (a, b) = ((k / 6) as isize - 2, (k % 6) as isize - 3);
        let wave = (a, b) == (1, 2) || (a, b) == (-1, -2);
        assert_eq!(*value, f64::from(u8::from(wave)), "{a} {b}");
    }
}
