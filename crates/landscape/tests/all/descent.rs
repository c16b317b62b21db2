//! Full-batch Adam to the end. With a linear hinge and one pattern the gradient is constant, and every step of Adam is
//! exactly as long as the rate: step counts and weights are known in closed form.

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_graph::{Graph, Parametrisation, ZooOptions, parse_file, zoo};
use polariscope_landscape::LandscapeError;
use polariscope_landscape::descent::{Descent, Seen, Stop, descend};
use polariscope_landscape::gaps::{Gaps, signs};
use polariscope_network::{Network, Weights};
use polariscope_train::{Control, Labels, Loss, Origin, Samples};

/// f = w x.
fn line() -> Graph {
    let text = "input = [1]\nlayers = [{ op = \"dense\", features = 1, bias = false }]";
    parse_file(text, "line.toml", &ZooOptions::default()).unwrap()
}

fn at(w: f64) -> Weights<f64> {
    Weights {
        values: vec![vec![w]],
    }
}

/// x = 1 with y = 1.
const ONE: Samples = Samples {
    x: &[1.0],
    y: Labels::Classes(&[1]),
};

/// With the linear hinge.
fn linear(rate: f64) -> Descent {
    Descent {
        loss: Loss::Hinge {
            power: 1.0,
            margin: 1.0,
        },
        margin: 1.0,
        rate,
        decay_every: None,
        ..Descent::default()
    }
}

fn go_on(_: Seen<f64>) -> Control {
    Control::Continue
}

#[test]
fn every_step_is_as_long_as_the_rate() {
    // From −0.995 to 1 in steps of 0.01.
    let mut lost = Vec::new();
    let fitted = descend(
        Device::Cpu,
        &line(),
        &linear(0.01),
        ONE,
        at(-0.995),
        |seen| {
            lost.push(seen.gaps.misclassified);
            Control::Continue
        },
    )
    .unwrap();
    assert_eq!((fitted.steps, fitted.stop), (200, Stop::Margin));
    assert!((fitted.weights.values[0][0] - 1.005).abs() < 1e-6);
    assert_eq!(fitted.outputs, fitted.weights.values[0]);
    assert_eq!((fitted.loss, fitted.gaps.unsatisfied), (0.0, 0));
    // The sign changes at −0.995 + 100 · 0.01 = 0.005.
    assert_eq!((lost.len(), lost.iter().sum::<usize>()), (201, 100));
}

#[test]
fn the_rate_decays_when_said() {
    let descent = Descent {
        decay_every: Some(10),
        floor: 2e-4,
        max_steps: 35,
        ..linear(0.01)
    };
    let mut w = Vec::new();
    let fitted = descend(Device::Cpu, &line(), &descent, ONE, at(0.0), |seen| {
        w.push(seen.weights.values[0][0]);
        Control::Continue
    })
    .unwrap();
    assert_eq!((fitted.steps, fitted.stop), (35, Stop::Steps));
    for (step, pair) in w.windows(2).enumerate() {
        let rate = [0.01, 0.001, 2e-4, 2e-4][step / 10];
        assert!((pair[1] - pair[0] - rate).abs() < 1e-9, "step {step}");
        assert_eq!(descent.rate(step as u64), rate.max(2e-4));
    }
}

#[test]
fn the_alpha_model_starts_from_zero() {
    // F = α (w − w₀): whatever w₀, it takes margin/(α rate) steps.
    let descent = Descent {
        alpha: 4.0,
        origin: Origin::Initial,
        ..linear(0.01)
    };
    let mut first = None;
    let fitted = descend(Device::Cpu, &line(), &descent, ONE, at(-7.0), |seen| {
        first.get_or_insert((seen.loss, seen.gaps));
        Control::Continue
    })
    .unwrap();
    // F = 0 is on neither side. L = (1/α²) · 1.
    let gaps = Gaps {
        unsatisfied: 1,
        misclassified: 0,
        patterns: 1,
    };
    assert_eq!(first, Some((1.0 / 16.0, gaps)));
    // The 25th step may land a rounding short of the margin.
    assert!((25..=26).contains(&fitted.steps), "{}", fitted.steps);
}

/// Random labels on random points, in a network that fits them; enough work for several lanes.
fn random(patterns: usize) -> (Graph, Dataset) {
    let options = ZooOptions {
        input: Some("12".parse().unwrap()),
        outputs: Some(1),
        parametrisation: Some(Parametrisation::Orthogonal),
        ..ZooOptions::default()
    };
    let spec = format!("random?shape=12&train={patterns}&test=0");
    let data = Dataset::load(&spec).unwrap();
    (zoo("mlp-2x24", &options).unwrap(), data)
}

fn train(data: &Dataset) -> Samples<'_> {
    let polariscope_data::Labels::Classes(y) = &data.train.y else {
        panic!("classes")
    };
    Samples {
        x: &data.train.x,
        y: Labels::Classes(y),
    }
}

#[test]
fn a_small_problem_is_fitted() {
    let (graph, data) = random(100);
    let weights = Weights::<f64>::draw(&graph, 0, 0);
    let fitted = descend(
        Device::Cpu,
        &graph,
        &Descent::default(),
        train(&data),
        weights,
        go_on,
    )
    .unwrap();
    assert_eq!((fitted.stop, fitted.loss), (Stop::Margin, 0.0));
    // Outputs and gaps are those of the weights.
    let x: Vec<f64> = data.train.x.iter().map(|&x| f64::from(x)).collect();
    let f = Network::new(graph).output(&fitted.weights, &x).unwrap();
    let apart = f.iter().zip(&fitted.outputs).map(|(a, b)| (a - b).abs());
    assert!(apart.fold(0.0, f64::max) < 1e-12);
    let y: Vec<f64> = signs(&train(&data), 1);
    assert!(f.iter().zip(&y).all(|(f, y)| f * y >= 0.5 - 1e-12));
}

#[test]
fn a_watcher_has_it_stopped() {
    let (graph, data) = random(60);
    let weights = Weights::<f64>::draw(&graph, 0, 0);
    let mut last = None;
    let fitted = descend(
        Device::Cpu,
        &graph,
        &Descent::default(),
        train(&data),
        weights,
        |seen| {
            last = Some((seen.loss, seen.weights.clone()));
            match seen.step {
                7 => Control::Stop,
                _ => Control::Continue,
            }
        },
    )
    .unwrap();
    assert_eq!((fitted.steps, fitted.stop), (7, Stop::Watcher));
    assert_eq!(last, Some((fitted.loss, fitted.weights)));
}

#[test]
fn threads_change_no_bit() {
    let (graph, data) = random(2_000);
    let descent = Descent {
        max_steps: 20,
        ..Descent::default()
    };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let weights = Weights::<f64>::draw(&graph, 0, 0);
        let run = || descend(Device::Cpu, &graph, &descent, train(&data), weights, go_on).unwrap();
        let fitted = pool.build().unwrap().install(run);
        (fitted.weights, fitted.outputs, fitted.loss, fitted.gaps)
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(one.3.patterns, 2_000);
    assert_eq!(one, three);
}

#[test]
fn divergence_is_an_error() {
    // The first update takes w to about −1e300, and 1e20 times that is beyond f64.
    let descent = linear(1e300);
    let two = Samples {
        x: &[1e20, -1.0],
        y: Labels::Classes(&[0, 1]),
    };
    match descend(Device::Cpu, &line(), &descent, two, at(0.0), go_on) {
        Err(e @ LandscapeError::Diverged { step: 1, .. }) => assert!(!e.is_usage()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let of = |change: fn(&mut Descent)| {
        let mut descent = Descent::default();
        change(&mut descent);
        let found = descend(Device::Cpu, &line(), &descent, ONE, at(0.0), go_on);
        let error = found.unwrap_err();
        assert!(error.is_usage());
        error.to_string()
    };
    for (text, name) in [
        (of(|d| d.rate = 0.0), "‹rate 0›"),
        (of(|d| d.alpha = -1.0), "‹alpha -1›"),
        (of(|d| d.floor = f64::NAN), "‹floor NaN›"),
        (of(|d| d.margin = f64::INFINITY), "‹margin inf›"),
        (of(|d| d.decay_every = Some(0)), "‹decay-every 0›"),
    ] {
        assert!(text.contains(name), "{text}");
    }
    let dropout = "input = [1]\nlayers = [{ op = \"dropout\" }, { op = \"dense\", features = 1 }]";
    let graph = parse_file(dropout, "dropout.toml", &ZooOptions::default()).unwrap();
    let weights = Weights::<f64>::draw(&graph, 0, 0);
    let found = descend(
        Device::Cpu,
        &graph,
        &Descent::default(),
        ONE,
        weights,
        go_on,
    );
    assert!(found.unwrap_err().to_string().contains("dropout"));
}
