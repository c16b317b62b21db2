//! Training with a frozen kernel against its closed form, against networks that are linear in their weights, and against
//! networks that hardly move.

use polariscope_data::Dataset;
use polariscope_diff::Device;
use polariscope_graph::{
    Activation, BiasRule, Graph, Parametrisation, ZooOptions, parse_file, zoo,
};
use polariscope_landscape::{Frozen, Kernels, flow};
use polariscope_linalg::symmetric_eigen;
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{Control, FlowConfig, Labels, Loss, Origin, Samples, StopReason};

const N: usize = 6;
const NEW: usize = 3;

/// Kernels Z Zᵀ of normal features, and targets.
fn kernels() -> (Kernels, Vec<f32>) {
    let features = 9;
    let mut z = vec![0.0_f32; (N + NEW) * features];
    Stream::new(3, 0, "features").normal(0.5, &mut z);
    let row = |i: usize| &z[i * features..(i + 1) * features];
    let entry = |i, j| {
        row(i)
            .iter()
            .zip(row(j))
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum::<f64>()
    };
    let of = |first: usize, rows: usize| {
        let all = (0..rows * N).map(|k| entry(first + k / N, k % N));
        all.collect()
    };
    let kernels = Kernels {
        train: of(0, N),
        test: of(N, NEW),
    };
    (kernels, vec![1.0, -0.5, 2.0, 0.3, -1.2, 0.7])
}

/// Largest error of both outputs at a time: F = V (1 − e^{−Λt}) Vᵀ y, and c = V Λ⁻¹ (1 − e^{−Λt}) Vᵀ y elsewhere.
fn error(time: f64, bound: f64) -> (f64, Frozen) {
    let (kernels, y) = kernels();
    let config = FlowConfig {
        max_time: time,
        max_gradient_change: bound,
        ..FlowConfig::of(Loss::Sse)
    };
    let labels = Labels::Targets {
        values: &y,
        width: 1,
    };
    let found = kernels.train(labels, 1, &config).unwrap();
    let eigen = symmetric_eigen(&kernels.train, N).unwrap();
    let mut coefficients = [0.0; N];
    let mut train = [0.0; N];
    for (value, vector) in eigen.values.iter().zip(eigen.vectors.chunks(N)) {
        let along: f64 = vector.iter().zip(&y).map(|(v, &y)| v * f64::from(y)).sum();
        let grown = 1.0 - (-value * time).exp();
        for i in 0..N {
            train[i] += vector[i] * grown * along;
            coefficients[i] += vector[i] * grown / value * along;
        }
    }
    let test = kernels.test.chunks(N);
    let test = test.map(|row| row.iter().zip(&coefficients).map(|(k, c)| k * c).sum());
    let want: Vec<f64> = train.into_iter().chain(test).collect();
    let found_all = found.train.iter().chain(&found.test);
    let pairs = found_all.zip(&want).map(|(a, b)| (a - b).abs());
    (pairs.fold(0.0, f64::max), found)
}

/// As for the flow of a network: the bound on the gradient lets λ dt reach √1e-4, and Euler's error is of first order.
#[test]
fn follows_the_matrix_exponential() {
    for time in [0.2, 1.0, 5.0] {
        let (coarse, found) = error(time, 1e-4);
        assert!(coarse < 0.02, "t = {time}: {coarse}");
        assert_eq!((found.stop, found.time), (StopReason::Time, time));
        let (fine, more) = error(time, 1e-6);
        assert!(fine < 0.15 * coarse, "t = {time}: {fine} {coarse}");
        assert!(more.steps > 5 * found.steps);
    }
}

/// The loss ½ Σ (F − y)² of one sample with Θ = 1 is e^{−2t}/2: half of it is left at t = ln 2/2.
#[test]
fn knows_when_the_loss_had_halved() {
    let one = Kernels {
        train: vec![1.0],
        test: vec![2.0],
    };
    let config = FlowConfig {
        max_time: 3.0,
        max_gradient_change: 1e-8,
        ..FlowConfig::of(Loss::Sse)
    };
    let labels = Labels::Targets {
        values: &[1.0],
        width: 1,
    };
    let found = one.train(labels, 1, &config).unwrap();
    let half = found.half.unwrap();
    assert!((half - 2.0_f64.ln() / 2.0).abs() < 1e-4, "{half}");
    assert!((found.test[0] - 2.0 * found.train[0]).abs() < 1e-12);
}

fn dense(outputs: usize) -> Graph {
    let text =
        format!("input = [4]\nlayers = [{{ op = \"dense\", features = {outputs}, bias = false }}]");
    parse_file(&text, "test.toml", &ZooOptions::default()).unwrap()
}

/// A network that is linear in its weights has a kernel that does not move: both flows make the same steps, whatever α,
/// the loss and the number of outputs.
#[test]
fn a_linear_network_is_its_kernel() {
    let mut x = vec![0.0_f32; 4 * (N + NEW)];
    Stream::new(5, 0, "inputs").normal(1.0, &mut x);
    let losses = ["mse", "soft-hinge", "hinge:2,1", "cross-entropy"];
    for (loss, outputs) in losses.into_iter().flat_map(|l| [(l, 1), (l, 3)]) {
        let classes: Vec<u32> = (0..N + NEW).map(|i| (i % outputs.max(2)) as u32).collect();
        let set = |range: std::ops::Range<usize>| Samples {
            x: &x[4 * range.start..4 * range.end],
            y: Labels::Classes(&classes[range]),
        };
        let (train, test) = (set(0..N), set(N..N + NEW));
        let graph = dense(outputs);
        let config = FlowConfig {
            alpha: 7.0,
            origin: Origin::Initial,
            max_steps: 400,
            ..FlowConfig::of(loss.parse().unwrap())
        };
        let weights = Weights::<f64>::draw(&graph, 0, 0);
        let kernels = Kernels::of(Device::Cpu, &graph, &weights, (train, test)).unwrap();
        let frozen = kernels.train(train.y, outputs, &config).unwrap();
        let net = flow(Device::Cpu, &graph, &config, (train, test), weights, |_| {
            Control::Continue
        })
        .unwrap();
        let name = format!("{loss}, {outputs} outputs");
        assert_eq!(
            (frozen.stop, frozen.steps, frozen.rejected),
            (net.stop, net.steps, net.rejected),
            "{name}"
        );
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
        assert!(
            near(frozen.time, net.time) && near(frozen.loss, net.loss),
            "{name}"
        );
        assert_eq!(frozen.half.is_some(), net.half.is_some(), "{name}");
        assert!(
            frozen.half.zip(net.half).is_none_or(|(a, b)| near(a, b)),
            "{name}"
        );
        let pairs = frozen.train.iter().chain(&frozen.test);
        for (a, b) in pairs.zip(net.train.iter().chain(&net.test)) {
            assert!(near(*a, *b), "{name}: {a} {b}");
        }
    }
}

/// At large α a network differs from its frozen kernel by the next order of the expansion: ten times less at ten times α.
#[test]
fn a_lazy_network_is_nearly_its_kernel() {
    let data = Dataset::load("stripe?shape=3&train=12&test=8&seed=1").unwrap();
    let options = ZooOptions {
        outputs: Some(1),
        activation: Some(Activation::Softplus { beta: 5.0 }.into()),
        parametrisation: Some(Parametrisation::Ntk {
            w_std: 1.0,
            b_std: 0.0,
        }),
        bias: BiasRule::Zero,
        depth: Some(2),
        width: Some(16),
        ..ZooOptions::with_input(data.shape)
    };
    let graph = zoo("fcn", &options).unwrap();
    let problem = polariscope_train::Problem { graph, data };
    let (train, test) = (problem.train(), problem.test().unwrap());
    let weights = Weights::<f64>::draw(&problem.graph, 0, 0);
    let sets = (train, test);
    let kernels = Kernels::of(Device::Cpu, &problem.graph, &weights, sets).unwrap();
    let until = FlowConfig {
        origin: Origin::Initial,
        ..FlowConfig::default()
    };
    let frozen = kernels.train(train.y, 1, &until).unwrap();
    assert_eq!(frozen.stop, StopReason::Margin);
    let gap = |alpha: f64| {
        let config = FlowConfig {
            alpha,
            margin: f64::INFINITY,
            max_time: frozen.time,
            ..until.clone()
        };
        let net = flow(
            Device::Cpu,
            &problem.graph,
            &config,
            sets,
            weights.clone(),
            |_| Control::Continue,
        )
        .unwrap();
        let all = net.train.iter().chain(&net.test);
        let pairs = all.zip(frozen.train.iter().chain(&frozen.test));
        pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()))
    };
    let gaps = [1e3, 1e4, 1e5].map(gap);
    assert!(gaps[0] < 0.5, "{gaps:?}");
    for (large, small) in [(gaps[0], gaps[1]), (gaps[1], gaps[2])] {
        let ratio = large / small;
        assert!((8.0..12.0).contains(&ratio), "{gaps:?}");
    }
}

/// Kernels that do not go with the targets, or that hold NaN, are refused.
#[test]
fn refusals() {
    let (mut kernels, y) = kernels();
    let labels = Labels::Targets {
        values: &y[..N - 1],
        width: 1,
    };
    let config = FlowConfig::of(Loss::Mse);
    let refused = kernels.train(labels, 1, &config).unwrap_err();
    assert!(
        refused.to_string().contains("25 and a multiple of 5"),
        "{refused}"
    );
    kernels.train[7] = f64::NAN;
    let labels = Labels::Targets {
        values: &y,
        width: 1,
    };
    let refused = kernels.train(labels, 1, &config).unwrap_err();
    assert!(refused.to_string().contains("not finite"), "{refused}");
    // A hinge has a kink: where a sample crosses it the slope jumps, and no step is short enough.
    let kink = FlowConfig::of("hinge:1,1".parse().unwrap());
    let two = Kernels {
        train: vec![2.0, 0.0, 0.0, 1.0],
        test: Vec::new(),
    };
    let stalled = two.train(Labels::Classes(&[1, 0]), 1, &kink).unwrap_err();
    assert!(stalled.to_string().contains("stalled"), "{stalled}");
    assert!(!stalled.is_usage());
}
