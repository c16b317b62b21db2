//! Δ against the definition on a linear network, against finite steps on a convolutional one.

use polariscope_diff::Number;
use polariscope_geometry::{
    Evolution, EvolutionConfig, GeometryError, Kron, Output, Probe, evolution, finite_steps,
};
use polariscope_graph::{ZooOptions, parse_file, zoo};
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_train::{Labels, Loss, Samples};

const D: usize = 5;
const N: usize = 4;

fn normal(name: &str, count: usize) -> Vec<f32> {
    let mut numbers = vec![0.0; count];
    Stream::new(3, 0, name).normal(1.0, &mut numbers);
    numbers
}

fn config(networks: u64, output: Output, loss: Loss) -> EvolutionConfig {
    EvolutionConfig {
        seed: 7,
        networks,
        probes: 2,
        probe: Probe::Gauss { sigma: 1.0 },
        output,
        loss,
    }
}

fn linear(outputs: usize) -> Network<f64> {
    let options = ZooOptions {
        input: Some("5".parse().unwrap()),
        outputs: Some(outputs),
        ..ZooOptions::default()
    };
    Network::new(zoo("logreg", &options).unwrap())
}

fn run<T: Number>(
    network: &Network<T>,
    config: &EvolutionConfig,
    samples: Samples<'_>,
) -> Result<Evolution, GeometryError> {
    evolution(network, config, samples, None, &mut |_, _| {})
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    (difference / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

/// f = Wx + b with ∇f_k = w_k, θ̇ of w_k = Σ_μ u_μk x_μ for u = −∂L/∂f: Δ and G by loops, over every network and
/// its mirror image.
fn by_loops(
    networks: u64,
    outputs: usize,
    x: &[f32],
    u: impl Fn(&[f64], usize) -> Vec<f64>,
) -> (Vec<f64>, Vec<f64>) {
    let network = linear(outputs);
    let (mut delta, mut geometry) = (vec![0.0; D * D], vec![0.0; D * D]);
    for (index, sign) in (0..networks).flat_map(|index| [(index, 1.0), (index, -1.0)]) {
        let weights = Weights::<f64>::draw(network.graph(), 7, index).map(|w| sign * w);
        let (w, b) = (&weights.values[0], &weights.values[1]);
        for k in 0..outputs {
            let g = &w[k * D..][..D];
            let mut d = [0.0; D];
            for (mu, x) in x.chunks(D).enumerate() {
                let f = |k: usize| -> f64 {
                    let terms = w[k * D..][..D].iter().zip(x);
                    b[k] + terms.map(|(w, &x)| w * f64::from(x)).sum::<f64>()
                };
                let f: Vec<f64> = (0..outputs).map(f).collect();
                let u = u(&f, mu)[k];
                d.iter_mut()
                    .zip(x)
                    .for_each(|(d, &x)| *d += u * f64::from(x));
            }
            for at in 0..D * D {
                let (i, j) = (at / D, at % D);
                delta[at] += (d[i] * g[j] + g[i] * d[j]) / (2 * networks) as f64;
                geometry[at] += g[i] * g[j] / (2 * networks) as f64;
            }
        }
    }
    (delta, geometry)
}

/// Squared error, one output; 37 networks make groups of 2 and 3.
#[test]
fn squared_error_by_loops() {
    let (x, y) = (normal("x", N * D), normal("y", N));
    let samples = Samples {
        x: &x,
        y: Labels::Targets {
            values: &y,
            width: 1,
        },
    };
    let found = run(
        &linear(1),
        &config(37, Output::Logit(0), Loss::Sse),
        samples,
    )
    .unwrap();
    let (delta, geometry) = by_loops(37, 1, &x, |f, mu| vec![f64::from(y[mu]) - f[0]]);
    assert!(distance(&found.delta, &delta) < 1e-12);
    assert!(distance(&found.geometry, &geometry) < 1e-12);
    assert_eq!((found.dim, found.networks), (D, 37));
}

/// A kernel of two taps without a read-out to mirror: g = (w₁, w₁+w₂, …)/4 on five inputs, and the labels stay in.
#[test]
fn without_a_read_out() {
    let text = r#"
        input = [1, 5]
        layers = [ { op = "conv", channels = 1, kernel = 2, bias = false }, { op = "global-avg-pool" } ]
    "#;
    let graph = parse_file(text, "test", &ZooOptions::default()).unwrap();
    let network = Network::<f64>::new(graph);
    let (x, y) = (normal("x", N * D), normal("y", N));
    let samples = Samples {
        x: &x,
        y: Labels::Targets {
            values: &y,
            width: 1,
        },
    };
    let networks = 20;
    let config = config(networks, Output::Logit(0), Loss::Sse);
    let found = run(&network, &config, samples).unwrap();
    let lay = |w: &[f64]| [w[0], w[0] + w[1], w[0] + w[1], w[0] + w[1], w[1]].map(|g| g / 4.0);
    let mut delta = vec![0.0; D * D];
    for index in 0..networks {
        let weights = Weights::<f64>::draw(network.graph(), 7, index);
        let g = lay(&weights.values[0]);
        let mut velocity = [0.0; 2];
        for (x, y) in x.chunks(D).zip(&y) {
            let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let f: f64 = g.iter().zip(&x).map(|(g, x)| g * x).sum();
            let u = f64::from(*y) - f;
            velocity[0] += u * x[..4].iter().sum::<f64>() / 4.0;
            velocity[1] += u * x[1..].iter().sum::<f64>() / 4.0;
        }
        let d = lay(&velocity);
        for (at, delta) in delta.iter_mut().enumerate() {
            let (i, j) = (at / D, at % D);
            *delta += (d[i] * g[j] + g[i] * d[j]) / networks as f64;
        }
    }
    assert!(distance(&found.delta, &delta) < 1e-12);
}

/// Cross-entropy, three outputs: u = (onehot − softmax)/N, and `all` sums over the outputs.
#[test]
fn cross_entropy_by_loops() {
    let x = normal("x", N * D);
    let classes = [0, 2, 1, 2];
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&classes),
    };
    let config = config(16, Output::All, Loss::CrossEntropy);
    let found = run(&linear(3), &config, samples).unwrap();
    let (delta, geometry) = by_loops(16, 3, &x, |f, mu| {
        let total: f64 = f.iter().map(|f| f.exp()).sum();
        let residual = |(k, f): (usize, &f64)| {
            let hot = f64::from(u8::from(classes[mu] as usize == k));
            (hot - f.exp() / total) / N as f64
        };
        f.iter().enumerate().map(residual).collect()
    });
    assert!(distance(&found.delta, &delta) < 1e-12);
    assert!(distance(&found.geometry, &geometry) < 1e-12);
}

fn small_conv() -> Network<f64> {
    let options = ZooOptions {
        input: Some("1x6x6".parse().unwrap()),
        outputs: Some(1),
        activation: Some("gelu".parse().unwrap()),
        depth: Some(2),
        width: Some(6),
        ..ZooOptions::default()
    };
    Network::new(zoo("cnn-gap", &options).unwrap())
}

fn images() -> Vec<f32> {
    normal("images", 6 * 36)
}

/// The error of a finite step halves with the step.
#[test]
fn finite_steps_converge() {
    let x = images();
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&[0, 1, 1, 0, 1, 0]),
    };
    let config = config(16, Output::Logit(0), Loss::Sse);
    let steps = finite_steps(&small_conv(), &config, samples, 3, &[2e-3, 1e-3, 5e-4]).unwrap();
    assert!(steps[2].error < 0.01, "{steps:?}");
    for pair in steps.windows(2) {
        assert!(
            (pair[0].error / pair[1].error - 2.0).abs() < 0.02,
            "{steps:?}"
        );
    }
}

/// The same bits on one thread and on three, progress to the end, and a given geometry taken.
#[test]
fn threads_and_progress() {
    let x = images();
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&[0, 1, 1, 0, 1, 0]),
    };
    let config = config(40, Output::Mean, Loss::Sse);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut heard = Vec::new();
            let mut progress = |done, total| heard.push((done, total));
            let found = evolution(&small_conv(), &config, samples, None, &mut progress).unwrap();
            assert_eq!(heard.last(), Some(&(40, 40)));
            assert!(heard.is_sorted());
            found
        })
    };
    let (one, three) = (on(1), on(3));
    assert_eq!((&one.delta, &one.geometry), (&three.delta, &three.geometry));
    assert_eq!((one.corr_s, one.corr_gsg), (three.corr_s, three.corr_gsg));
    assert_eq!(one.delta_error, three.delta_error);
    // With GSG from G = I the target is S.
    let identity = Kron {
        channels: 36,
        n: 1,
        factor: vec![1.0],
    };
    let network = small_conv();
    let given = evolution(&network, &config, samples, Some(&identity), &mut |_, _| {}).unwrap();
    let (gsg, s) = (given.corr_gsg.unwrap(), given.corr_s.unwrap());
    assert!((gsg.value - s.value).abs() < 1e-12);
}

/// The standard error of Δ falls as 1/√T.
#[test]
fn errors_fall_with_networks() {
    let x = images();
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&[0, 1, 1, 0, 1, 0]),
    };
    let error = |networks| {
        let config = config(networks, Output::Logit(0), Loss::Sse);
        let found = run(&small_conv(), &config, samples).unwrap();
        (found.delta_error, found.geometry_error)
    };
    let (few, many) = (error(64), error(64 * 16));
    // Four times smaller; sixteen groups know an error to 1/√(2·15) = 18 % at best, both together to 26 %.
    assert!((few.0 / many.0 / 4.0).ln().abs() < 0.7, "{few:?} {many:?}");
    assert!((few.1 / many.1 / 4.0).ln().abs() < 0.7, "{few:?} {many:?}");
}

/// Probes from a list: every network sees all points, or as many as asked.
#[test]
fn probes_from_a_list() {
    let x = images();
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&[0, 1, 1, 0, 1, 0]),
    };
    let with = |probes| EvolutionConfig {
        probes,
        probe: Probe::Points {
            source: "list".to_string(),
            x: x[..3 * 36].iter().map(|&x| f64::from(x)).collect(),
        },
        ..config(16, Output::Logit(0), Loss::Sse)
    };
    let all = run(&small_conv(), &with(3), samples).unwrap();
    assert_eq!(
        all.delta,
        run(&small_conv(), &with(9), samples).unwrap().delta
    );
    assert_ne!(
        all.delta,
        run(&small_conv(), &with(2), samples).unwrap().delta
    );
}

#[test]
fn what_is_refused() {
    let x = normal("x", N * D);
    let classes = Labels::Classes(&[0, 1, 0, 1]);
    let question = |config: &EvolutionConfig, x: &[f32], y| {
        let refused = run(&linear(1), config, Samples { x, y });
        matches!(refused, Err(GeometryError::Question(_)))
    };
    let good = config(16, Output::Logit(0), Loss::Sse);
    assert!(!question(&good, &x, classes));
    assert!(question(
        &config(15, Output::Logit(0), Loss::Sse),
        &x,
        classes
    ));
    assert!(question(
        &config(16, Output::Logit(1), Loss::Sse),
        &x,
        classes
    ));
    assert!(question(&good, &x[1..], classes));
    assert!(question(&good, &[], Labels::Classes(&[])));
    assert!(question(&good, &x, Labels::Classes(&[0, 1, 2, 1])));
    let wide = Labels::Targets {
        values: &[0.0; 8],
        width: 2,
    };
    assert!(question(&good, &x, wide));
    let samples = Samples { x: &x, y: classes };
    let wrong = Kron::dense(vec![1.0], 1);
    let refused = evolution(&linear(1), &good, samples, Some(&wrong), &mut |_, _| {});
    assert!(matches!(refused, Err(GeometryError::Size { .. })));
    let huge = [f32::INFINITY; N * D];
    let samples = Samples {
        x: &huge,
        y: classes,
    };
    assert!(matches!(
        run(&linear(1), &good, samples),
        Err(GeometryError::NotFinite { network: 0 })
    ));
}
