//! The sampler against closed forms, and against itself cut into pieces. Catches wrong factors (probes, read-outs,
//! outputs), biased errors, and sums that depend on order.

use polariscope_diff::{Device, Place};
use polariscope_geometry::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampled, Sampler,
    Shard, Spectrum, State, TopSampler,
};
use polariscope_graph::{BiasRule, Graph, ZooOptions, zoo};
use polariscope_network::Weights;

fn config(output: Output, readouts: Readouts) -> SampleConfig {
    SampleConfig {
        seed: 7,
        method: Method::Sample,
        gradient: Gradient::Local,
        probe: Probe::Gauss { sigma: 1.0 },
        probes: 2,
        output,
        readouts,
        centring: Centring::None,
        place: Place::default(),
    }
}

fn network(name: &str, input: &str, outputs: usize) -> Graph {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        outputs: Some(outputs),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

fn run(graph: &Graph, config: SampleConfig, networks: u64) -> Sampled {
    let limit = Limit::Networks(networks);
    let sampler = Sampler::<f32>::new(graph, config, Vec::new(), limit, Shard::WHOLE).unwrap();
    let mut state = sampler.start();
    while !sampler.done(&state) {
        sampler.advance(&mut state).unwrap();
    }
    sampler.finish(state).unwrap()
}

/// A bias-symmetric ReLU network of L hidden layers has G = c I with tr G = 3^-(L+1) 2^-L for one logit of PyTorch's
/// init, 1/C of that for the mean of C logits and C times it for all of them; whatever stands for the last layer.
#[test]
fn mlp_traces() {
    let graph = network("mlp-2x12", "1x5x5", 4);
    let one = 1.0 / 108.0;
    for (output, factor) in [
        (Output::Logit(2), 1.0),
        (Output::Mean, 0.25),
        (Output::All, 4.0),
    ] {
        for readouts in [Readouts::Own, Readouts::Drawn(3)] {
            let sampled = run(&graph, config(output, readouts), 2000);
            let trace = sampled.trace();
            let z = (trace.value - factor * one) / trace.standard_error;
            assert!(z.abs() < 4.0, "{output} {readouts:?}: {z}");
            // At 12 features every one is taken: less noise than with the network's own last layer.
            assert!(trace.standard_error < 0.1 * trace.value);
        }
    }
}

/// Drawn read-outs of a last layer wider than 16, against the closed form.
#[test]
fn drawn_readouts_keep_the_mean() {
    let graph = network("mlp-1x40", "1x4x4", 1);
    let sampled = run(&graph, config(Output::Logit(0), Readouts::Drawn(4)), 3000);
    let trace = sampled.trace();
    let z = (trace.value - 1.0 / 18.0) / trace.standard_error;
    assert!(z.abs() < 4.0, "{z}");
}

/// Mixed second derivative of a linear model f = θᵀx: M = I, so E[MᵀM] = I.
#[test]
fn mixed_of_a_linear_model_is_the_identity() {
    let graph = network("logreg", "1x4x4", 1);
    let config = SampleConfig {
        method: Method::Mixed,
        probes: 1,
        ..config(Output::Logit(0), Readouts::Own)
    };
    let sampled = run(&graph, config, 4000);
    let matrix = sampled.matrix();
    for i in 0..16 {
        for j in 0..16 {
            let want = if i == j { 1.0 } else { 0.0 };
            // Entries of a Wishart matrix: standard deviation √(1 + δ)/√T = 0.022 at most.
            assert!((matrix.factor[i * 16 + j] - want).abs() < 0.1, "{i} {j}");
        }
    }
}

/// Dipole of a linear model is its gradient whatever the radius; centred with divisor T − 1: σ² = 1/(3·16).
#[test]
fn dipole_and_centring_of_a_linear_model() {
    let graph = network("logreg", "1x4x4", 1);
    let config = SampleConfig {
        gradient: Gradient::Dipole { h: 100.0 },
        probes: 1,
        centring: Centring::Mean,
        ..config(Output::Logit(0), Readouts::Own)
    };
    let sampled = run(&graph, config, 4000);
    // tr of the covariance: 16 σ² = 1/3; var of U² is 4/45 b⁴, so the trace has deviation √(16·4/45)/16/√T.
    let z = (sampled.matrix().trace() - 1.0 / 3.0) / (0.0745 / 4000f64.sqrt());
    assert!(z.abs() < 4.0, "{z}");
}

/// Unbiased where the plug-in is not: true G is isotropic with D = 64 directions, T = 100 networks.
#[test]
fn participation_ratio_without_bias() {
    let graph = network("mlp-1x12", "1x8x8", 1);
    let mut misses = Vec::new();
    for seed in 0..12 {
        let config = SampleConfig {
            seed,
            probes: 1,
            ..config(Output::Logit(0), Readouts::Own)
        };
        let sampled = run(&graph, config, 100);
        let spectrum = Spectrum::of(&sampled.matrix()).unwrap();
        let summary = sampled.summary(&spectrum, 1.0, Device::Cpu).unwrap();
        let plugged: f64 = spectrum.values.iter().map(|v| v * v).sum();
        assert!(
            summary.trace.powi(2) / plugged < 40.0,
            "the plug-in is far off"
        );
        misses.push(1.0 / summary.participation_ratio - 1.0 / 64.0);
        assert!(!spectrum.errors.is_empty() || sampled.networks() == 100);
    }
    // tr G² is the unbiased one, so 1/PR averages to 1/64: twelve runs of 100 networks leave an error of some per cent.
    let mean = misses.iter().sum::<f64>() / 12.0;
    assert!(mean.abs() < 0.1 / 64.0, "{mean}");
}

/// The relative error says how far two independent samples lie apart: ‖Ĝ₁ − Ĝ₂‖²/‖G‖² averages to twice its square.
#[test]
fn the_error_is_honest() {
    let graph = network("lenet", "1x16x16", 1);
    let (mut said, mut found) = (0.0, 0.0);
    for pair in 0..6 {
        let [a, b] = [0, 1].map(|i| {
            let config = SampleConfig {
                seed: 2 * pair + i,
                ..config(Output::Logit(0), Readouts::Drawn(2))
            };
            run(&graph, config, 300)
        });
        said += a.relative_error().unwrap().powi(2) + b.relative_error().unwrap().powi(2);
        let (a, b) = (a.matrix().factor, b.matrix().factor);
        let apart: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
        let square: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        found += apart / square;
    }
    let ratio = found / said;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

/// A stop rule stops when the error is there and not much later.
#[test]
fn stops_on_the_standard_error() {
    let graph = network("mlp-2x12", "1x4x4", 1);
    let config = config(Output::Logit(0), Readouts::Drawn(1));
    let sampler =
        Sampler::<f32>::new(&graph, config, Vec::new(), Limit::Error(0.1), Shard::WHOLE).unwrap();
    let mut state = sampler.start();
    while !sampler.done(&state) {
        sampler.advance(&mut state).unwrap();
    }
    let sampled = sampler.finish(state).unwrap();
    let error = sampled.relative_error().unwrap();
    assert!(error <= 0.1 && error > 0.02, "{error}");
}

/// Interrupted, cut into shards, on other threads: the same bits.
#[test]
fn pieces_add_to_the_same_bits() {
    let graph = network("lenet", "1x16x16", 1);
    let config = config(Output::Logit(0), Readouts::Drawn(3));
    let limit = Limit::Networks(150);
    let sampler =
        |shard| Sampler::<f32>::new(&graph, config.clone(), Vec::new(), limit, shard).unwrap();
    let finish = |sampler: &Sampler<f32>, mut state: State| {
        while !sampler.done(&state) {
            sampler.advance(&mut state).unwrap();
            state = sampler.restore(&state.to_bytes()).unwrap();
        }
        state
    };
    let whole = sampler(Shard::WHOLE);
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let state = threads.install(|| finish(&whole, whole.start()));
    assert_eq!(state.networks(), 150);
    let mut parts = (0..3).map(|index| {
        let part = sampler(Shard { index, count: 3 });
        finish(&part, part.start())
    });
    let mut merged = parts.next().unwrap();
    parts.for_each(|part| merged.merge(&part).unwrap());
    let [a, b] = [state, merged].map(|s| whole.finish(s).unwrap().matrix());
    assert_eq!(a, b);
}

#[test]
fn damaged_checkpoints_are_refused() {
    let graph = network("logreg", "1x3x3", 1);
    let config = config(Output::Logit(0), Readouts::Own);
    let sampler = Sampler::<f32>::new(
        &graph,
        config,
        Vec::new(),
        Limit::Networks(20),
        Shard::WHOLE,
    )
    .unwrap();
    let bytes = sampler.start().to_bytes();
    assert!(sampler.restore(&bytes).is_ok());
    for (at, bit) in [(0, 1), (9, 1), (30, 64), (bytes.len() - 1, 128)] {
        let mut bad = bytes.clone();
        bad[at] ^= bit;
        assert!(sampler.restore(&bad).is_err(), "{at}");
    }
    assert!(sampler.restore(&bytes[..bytes.len() - 8]).is_err() && sampler.restore(&[]).is_err());
}

/// Given weights in place of drawn ones: f = w·x has G = w wᵀ, and two files average.
#[test]
fn given_weights() {
    let graph = network("logreg", "1x1x2", 1);
    let weights = |a: f64, b: f64| {
        let mut w = Weights::<f64>::zeros(&graph);
        w.values[0] = vec![a, b];
        w
    };
    let config = config(Output::Logit(0), Readouts::Drawn(5));
    let given = vec![weights(1.0, 2.0), weights(3.0, -1.0)];
    let sampler =
        Sampler::<f64>::new(&graph, config, given, Limit::Error(0.5), Shard::WHOLE).unwrap();
    let mut state = sampler.start();
    while !sampler.done(&state) {
        sampler.advance(&mut state).unwrap();
    }
    let matrix = sampler.finish(state).unwrap().matrix();
    // ([1 2; 2 4] + [9 −3; −3 1])/2
    for (found, want) in matrix.factor.iter().zip([5.0, -0.5, -0.5, 2.5]) {
        assert!((found - want).abs() < 1e-11, "{found} {want}");
    }
}

#[test]
fn questions_that_make_no_sense() {
    let graph = network("mlp-2x12", "1x4x4", 3);
    let refuse = |config: SampleConfig, limit, shard, word: &str| {
        let error = Sampler::<f32>::new(&graph, config, Vec::new(), limit, shard)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(word), "{error}");
    };
    let good = config(Output::Logit(0), Readouts::Own);
    let ten = Limit::Networks(10);
    refuse(
        config(Output::Logit(3), Readouts::Own),
        ten,
        Shard::WHOLE,
        "3 outputs",
    );
    refuse(
        good.clone(),
        Limit::Error(0.1),
        Shard { index: 0, count: 2 },
        "‹networks›",
    );
    refuse(
        good.clone(),
        Limit::Networks(0),
        Shard::WHOLE,
        "at least one",
    );
    let points = Probe::Points {
        source: "x.npy".into(),
        x: vec![0.0; 17].into(),
    };
    refuse(
        SampleConfig {
            probe: points,
            ..good.clone()
        },
        ten,
        Shard::WHOLE,
        "x.npy",
    );
    let all = SampleConfig {
        gradient: Gradient::Dipole { h: 1.0 },
        output: Output::All,
        ..good.clone()
    };
    refuse(all, ten, Shard::WHOLE, "one output");
    // Without biases a ReLU network has gradient 0 at 0.
    let options = ZooOptions {
        input: Some("1x4x4".parse().unwrap()),
        bias: BiasRule::Zero,
        ..ZooOptions::default()
    };
    let dead = zoo("mlp-1x8", &options).unwrap();
    let zero = SampleConfig {
        probe: Probe::Zero,
        ..good
    };
    let error = Sampler::<f32>::new(&dead, zero, Vec::new(), ten, Shard::WHOLE)
        .err()
        .unwrap();
    assert!(error.to_string().contains("gauss"), "{error}");
}

/// Matrix-free against the whole matrix of the same networks. λ₃₂/λ₁ is about 0.16 and λ₃₂/λ₈ about 0.4 here, so the
/// eigenvalues miss a share of order 0.16⁵ = 1e-4 to 0.4⁵ = 1e-2.
#[test]
fn top_directions_without_the_matrix() {
    let graph = network("lenet-gap", "1x16x16", 1);
    let config = config(Output::Logit(0), Readouts::Own);
    let whole = run(&graph, config.clone(), 200);
    let spectrum = Spectrum::of(&whole.matrix()).unwrap();
    let sampler = TopSampler::<f32>::new(&graph, config.clone(), Vec::new(), 200, 8).unwrap();
    let top = sampler.run(|done, total| assert!(done <= total)).unwrap();
    assert!((top.trace.value / whole.trace().value - 1.0).abs() < 1e-6);
    for (k, value) in top.values.iter().enumerate() {
        let ratio = value / spectrum.values[k];
        assert!((0.97..1.0001).contains(&ratio), "{k}: {ratio}");
        assert!(k > 0 || ratio > 0.999, "{ratio}");
    }
    let dot = |k: usize| -> f64 {
        let pairs = top.vectors[k * 256..]
            .iter()
            .zip(&spectrum.vectors[k * 256..][..256]);
        pairs.map(|(a, b)| a * b).sum()
    };
    assert!(
        dot(0).abs() > 0.999 && dot(1).abs() > 0.99,
        "{} {}",
        dot(0),
        dot(1)
    );
    assert!(TopSampler::<f32>::new(&graph, config, Vec::new(), 3, 8).is_err());
}
