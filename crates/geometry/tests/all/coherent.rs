//! The sampled coherent geometry against pairs of gradients by hand, closed forms, and itself cut into pieces. Catches
//! the diagonal pairs left in (the bias that makes it local), wrong divisors, and what takes it for positive.

use polariscope_diff::{Device, Place};
use polariscope_geometry::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampled, Sampler,
    Shard, Spectrum, State, TopSampler, best_probes, best_readouts, exact,
};
use polariscope_graph::{BiasRule, Graph, ZooOptions, zoo};
use polariscope_network::{Network, Scalar, Weights};

fn config(probes: usize, readouts: Readouts) -> SampleConfig {
    SampleConfig {
        seed: 5,
        method: Method::Sample,
        gradient: Gradient::Coherent,
        probe: Probe::Gauss { sigma: 1.0 },
        probes,
        output: Output::Logit(0),
        readouts,
        centring: Centring::None,
        place: Place::default(),
    }
}

fn local(config: &SampleConfig) -> SampleConfig {
    SampleConfig {
        gradient: Gradient::Local,
        ..config.clone()
    }
}

/// A network of the zoo with biases 0.
fn network(name: &str, input: &str, outputs: usize, activation: &str) -> Graph {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        outputs: Some(outputs),
        activation: Some(activation.parse().unwrap()),
        bias: BiasRule::Zero,
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

fn run(graph: &Graph, config: &SampleConfig, networks: u64) -> Sampled {
    let limit = Limit::Networks(networks);
    let sampler = Sampler::<f32>::new(graph, config.clone(), Vec::new(), limit, Shard::WHOLE);
    complete(&sampler.unwrap())
}

fn complete<T: polariscope_geometry::Float>(sampler: &Sampler<T>) -> Sampled {
    let mut state = sampler.start();
    while !sampler.done(&state) {
        sampler.advance(&mut state).unwrap();
    }
    sampler.finish(state).unwrap()
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Five points in eighths, which f32 holds.
fn points(count: usize, dim: usize) -> Vec<f64> {
    let number = |i: usize| ((i * 37 + i / dim * 11) % 29) as f64 / 8.0 - 1.75;
    (0..count * dim).map(number).collect()
}

/// The mean of g_a g_bᵀ over ordered pairs a ≠ b, by hand. Sums are rounded to 2⁻³⁹ of about the largest entry.
#[test]
fn pairs_by_hand() {
    let graph = network("lenet-nopool", "1x12x12", 3, "relu");
    let (dim, probes, networks) = (144, 5, 3);
    let x = points(probes, dim);
    let given: Vec<Weights<f64>> = (0..networks)
        .map(|index| Weights::draw(&graph, 1, index))
        .collect();
    let net = Network::<f64>::new(graph.clone());
    for (output, scalars) in [
        (Output::Logit(1), vec![Scalar::Logit(1)]),
        (Output::Mean, vec![Scalar::Mean]),
        (Output::All, (0..3).map(Scalar::Logit).collect()),
    ] {
        let mut want = vec![0.0; dim * dim];
        let pairs = (probes * (probes - 1)) as f64 * networks as f64;
        for weights in &given {
            for &scalar in &scalars {
                let g = net.input_gradient(weights, &x, scalar).unwrap();
                let g: Vec<&[f64]> = g.chunks_exact(dim).collect();
                for (a, b) in (0..probes).flat_map(|a| (0..probes).map(move |b| (a, b))) {
                    if a != b {
                        for (at, want) in want.iter_mut().enumerate() {
                            *want += g[a][at / dim] * g[b][at % dim] / pairs;
                        }
                    }
                }
            }
        }
        let config = SampleConfig {
            probe: Probe::Points {
                source: "x.npy".into(),
                x: x.clone().into(),
            },
            output,
            ..config(probes, Readouts::Own)
        };
        let limit = Limit::Networks(networks);
        let sampler =
            Sampler::<f64>::new(&graph, config, given.clone(), limit, Shard::WHOLE).unwrap();
        let sampled = complete(&sampler);
        let found = sampled.matrix().factor;
        let scale = largest(&want);
        for (at, (found, want)) in found.iter().zip(&want).enumerate() {
            assert!((found - want).abs() < 1e-10 * scale, "{output} {at}");
        }
        let trace: f64 = want.iter().step_by(dim + 1).sum();
        let miss = sampled.trace().value - trace;
        assert!(miss.abs() < 1e-10 * dim as f64 * scale, "{output} {miss}");
    }
}

/// f = Σ aᵢ relu(wᵢ·x) without biases: a mask is on with probability 1/2, at two points independently. So ḡ = ½ Σ aᵢwᵢ
/// and tr G = (n/4) Var(a) Var(w) D = 1/36 with PyTorch's variances 1/3n and 1/3D, where the local one is n/2: 1/18.
#[test]
fn half_of_the_local_one_for_one_hidden_layer() {
    let graph = network("mlp-1x24", "1x6x6", 4, "relu");
    for readouts in [Readouts::Own, Readouts::Drawn(3)] {
        for (config, want) in [
            (config(4, readouts), 1.0 / 36.0),
            (local(&config(4, readouts)), 1.0 / 18.0),
        ] {
            let sampled = run(&graph, &config, 3000);
            let trace = sampled.trace();
            let z = (trace.value - want) / trace.standard_error;
            assert!(z.abs() < 4.0, "{readouts:?} {}: {z}", config.gradient);
            assert!(trace.standard_error < 0.05 * want, "{trace:?}");
        }
    }
}

/// All gradients of a linear network are one: with any number of probes A is g gᵀ, and G is the closed form.
#[test]
fn linear_networks() {
    let graph = network("lenet-avg", "1x16x16", 1, "identity");
    let config = config(3, Readouts::Own);
    let limit = Limit::Networks(16);
    let [a, b] = [config.clone(), local(&config)].map(|config| {
        let sampler = Sampler::<f64>::new(&graph, config, Vec::new(), limit, Shard::WHOLE);
        complete(&sampler.unwrap()).matrix().factor
    });
    let scale = largest(&b);
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / scale);
    // The quantum: 2⁻³⁹ of the largest entry of a network.
    assert!(apart.fold(0.0, f64::max) < 1e-10);

    let sampled = run(&graph, &config, 1500);
    let want = exact(&graph, &Probe::Zero, Output::Logit(0)).unwrap();
    let trace = sampled.trace();
    let z = (trace.value - want.trace()) / trace.standard_error;
    assert!(z.abs() < 4.0, "{z}");
    let (found, want) = (sampled.matrix().factor, want.to_dense());
    let square = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>();
    let apart = square(&mut found.iter().zip(&want).map(|(a, b)| a - b));
    let distance = (apart / square(&mut want.iter().copied())).sqrt();
    let error = sampled.relative_error().unwrap();
    assert!(
        (0.5..2.0).contains(&(distance / error)),
        "{distance} {error}"
    );
}

/// On other threads, interrupted, cut into shards: the same bits, sums below 0 included.
#[test]
fn pieces_add_to_the_same_bits() {
    let graph = network("lenet", "1x16x16", 1, "relu");
    let config = config(4, Readouts::Drawn(2));
    let sampler = |shard| {
        let limit = Limit::Networks(300);
        Sampler::<f32>::new(&graph, config.clone(), Vec::new(), limit, shard).unwrap()
    };
    let finish = |sampler: &Sampler<f32>, threads: usize, interrupted: bool| -> State {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut state = sampler.start();
        pool.build().unwrap().install(|| {
            while !sampler.done(&state) {
                sampler.advance(&mut state).unwrap();
                if interrupted {
                    state = sampler.restore(&state.to_bytes()).unwrap();
                }
            }
        });
        state
    };
    let whole = sampler(Shard::WHOLE);
    let one = finish(&whole, 1, false);
    assert_eq!(one.networks(), 300);
    assert_eq!(one, finish(&whole, 2, false));
    assert_eq!(one, finish(&whole, 2, true));
    let mut parts = (0..2).map(|index| finish(&sampler(Shard { index, count: 2 }), 2, false));
    let mut merged = parts.next().unwrap();
    parts.for_each(|part| merged.merge(&part).unwrap());
    let [a, b] = [one, merged].map(|state| whole.finish(state).unwrap());
    assert_eq!(a.matrix(), b.matrix());
    assert_eq!(a.trace(), b.trace());
    let last = *Spectrum::of(&a.matrix()).unwrap().values.last().unwrap();
    assert!(last < 0.0, "{last}");
}

/// The number of probes moves no mean. With the pairs a = b left in, m = 2 would add half the local trace.
#[test]
fn any_number_of_probes_has_the_same_mean() {
    let graph = network("lenet", "1x16x16", 1, "relu");
    let few = run(&graph, &config(2, Readouts::Drawn(4)), 1500).trace();
    let many = run(&graph, &config(16, Readouts::Drawn(4)), 500).trace();
    let apart = few.standard_error.hypot(many.standard_error);
    let z = (few.value - many.value) / apart;
    assert!(z.abs() < 4.0, "{few:?} {many:?}");
    let local = run(&graph, &local(&config(1, Readouts::Drawn(4))), 300).trace();
    assert!(0.5 * local.value > 8.0 * apart, "{local:?} {apart}");
}

/// A handful of networks of which noise is the most part: eigenvalues below 0, and numbers that still mean something.
#[test]
fn far_from_converged() {
    let graph = network("lenet", "1x16x16", 1, "relu");
    let sampled = run(&graph, &config(2, Readouts::Own), 32);
    let spectrum = Spectrum::of(&sampled.matrix()).unwrap();
    assert!(spectrum.values[255] < -0.1 * spectrum.values[0]);
    let summary = sampled.summary(&spectrum, 1.0, Device::Cpu).unwrap();
    assert!(
        (1.0..=256.0).contains(&summary.effective_rank),
        "{summary:?}"
    );
    assert!((0.0..=1.0).contains(&summary.top10_share), "{summary:?}");
    assert!(summary.participation_ratio > 0.0, "{summary:?}");
    let errors = [
        summary.trace_error,
        summary.participation_ratio_error,
        summary.effective_rank_error,
        summary.top10_share_error,
    ];
    assert!(errors.iter().all(|e| e.unwrap().is_finite()), "{summary:?}");
}

/// The stop rule asks for what the matrix is worth: two samples that reached an error lie √2 of it apart.
#[test]
fn stops_on_the_standard_error() {
    let graph = network("lenet-gap", "1x16x16", 1, "relu");
    let [a, b] = [1, 2].map(|seed| {
        let config = SampleConfig {
            seed,
            ..config(4, Readouts::Drawn(2))
        };
        let limit = Limit::Error(0.1);
        let sampler = Sampler::<f32>::new(&graph, config, Vec::new(), limit, Shard::WHOLE);
        let sampled = complete(&sampler.unwrap());
        let error = sampled.relative_error().unwrap();
        assert!(error <= 0.1 && error > 0.02, "{error}");
        (sampled.matrix().factor, error)
    });
    let pairs = || a.0.iter().zip(&b.0);
    let apart: f64 = pairs().map(|(a, b)| (a - b).powi(2)).sum();
    let square: f64 = pairs().map(|(a, b)| a * b).sum();
    let ratio = (apart / square).sqrt() / a.1.hypot(b.1);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// Matrix-free against the whole matrix of the same networks.
#[test]
fn top_directions_without_the_matrix() {
    let graph = network("lenet-gap", "1x16x16", 1, "relu");
    let config = config(4, Readouts::Own);
    let whole = run(&graph, &config, 300);
    let spectrum = Spectrum::of(&whole.matrix()).unwrap();
    let sampler = TopSampler::<f32>::new(&graph, config, Vec::new(), 300, 4).unwrap();
    let top = sampler.run(|done, total| assert!(done <= total)).unwrap();
    assert!((top.trace.value / whole.trace().value - 1.0).abs() < 1e-6);
    let decided = spectrum.values[1] / spectrum.values[0];
    assert!(decided < 0.9, "{decided}");
    // ℓ = 24: an error of order (λ₂₄/λ₁)⁴.
    let allowed = 10.0 * (spectrum.values[24] / spectrum.values[0]).powi(4) + 1e-5;
    let ratio = top.values[0] / spectrum.values[0];
    assert!((ratio - 1.0).abs() < allowed, "{ratio} {allowed}");
    let dot: f64 = top.vectors[..256]
        .iter()
        .zip(&spectrum.vectors)
        .map(|(a, b)| a * b)
        .sum();
    assert!(dot.abs() > 0.999, "{dot}");
}

#[test]
fn questions_that_make_no_sense() {
    let graph = network("mlp-2x12", "1x4x4", 3, "relu");
    let limit = Limit::Networks(20);
    let refuse = |config: SampleConfig, word: &str| {
        let error = Sampler::<f32>::new(&graph, config, Vec::new(), limit, Shard::WHOLE)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(word) && !error.contains('\n'), "{error}");
    };
    let good = config(2, Readouts::Own);
    let list = |count: usize| Probe::Points {
        source: "x.npy".into(),
        x: points(count, 16).into(),
    };
    refuse(config(1, Readouts::Own), "‹probes 2›");
    refuse(
        SampleConfig {
            probe: list(1),
            ..good.clone()
        },
        "‹gradient local›",
    );
    refuse(
        SampleConfig {
            centring: Centring::Mean,
            ..good.clone()
        },
        "‹gradient local›",
    );
    refuse(
        SampleConfig {
            method: Method::Mixed,
            ..good.clone()
        },
        "‹gradient",
    );
    // At one point there is no other: coherent and local are the same.
    let options = ZooOptions {
        input: Some("1x4x4".parse().unwrap()),
        ..ZooOptions::default()
    };
    let graph = zoo("mlp-1x8", &options).unwrap();
    let zero = SampleConfig {
        probe: Probe::Zero,
        ..config(1, Readouts::Drawn(2))
    };
    let [a, b] = [zero.clone(), local(&zero)].map(|c| run(&graph, &c, 20).matrix());
    assert_eq!(a, b);
    // A list of fewer points than asked for gives them all.
    let few = SampleConfig {
        probe: list(3),
        ..config(8, Readouts::Own)
    };
    assert!(best_probes::<f32>(&graph, &few).unwrap() <= 3);
}

/// One network, the same every time, at two of three points: the mean over its three pairs. Taken with replacement, a
/// third of the pairs would be of a point with itself.
#[test]
fn points_of_a_list_are_distinct() {
    let graph = network("mlp-2x12", "1x4x4", 1, "relu");
    let x = points(3, 16);
    let weights = Weights::<f64>::draw(&graph, 3, 0);
    let g = Network::<f64>::new(graph.clone())
        .input_gradient(&weights, &x, Scalar::Logit(0))
        .unwrap();
    let g: Vec<&[f64]> = g.chunks_exact(16).collect();
    let dot = |a: usize, b: usize| -> f64 { g[a].iter().zip(g[b]).map(|(a, b)| a * b).sum() };
    let (pairs, own) = (
        (dot(0, 1) + dot(0, 2) + dot(1, 2)) / 3.0,
        (dot(0, 0) + dot(1, 1) + dot(2, 2)) / 3.0,
    );
    let config = SampleConfig {
        probe: Probe::Points {
            source: "x.npy".into(),
            x: x.into(),
        },
        ..config(2, Readouts::Own)
    };
    let given = vec![weights; 600];
    let limit = Limit::Networks(600);
    let sampler = Sampler::<f64>::new(&graph, config, given, limit, Shard::WHOLE).unwrap();
    let trace = complete(&sampler).trace();
    let z = (trace.value - pairs) / trace.standard_error;
    assert!(z.abs() < 4.0, "{z}");
    // What the wrong choice would add is far outside.
    assert!(
        (own - pairs) / 3.0 > 8.0 * trace.standard_error,
        "{own} {pairs} {trace:?}"
    );
}

/// One hidden layer has ρ = tr G_loc/tr G_coh − 1 = 1, and drawing a weight costs 70/3 of its share in a gradient: the
/// best m is ½ + √(¼ + 2·70/3) = 7.3, and 5 to 10 for ρ from ½ to 2. LeNet's ρ is about 25.
#[test]
fn probes_from_a_pilot() {
    let shallow = network("mlp-1x40", "1x8x8", 1, "relu");
    let m = best_probes::<f32>(&shallow, &config(2, Readouts::Own)).unwrap();
    assert!((5..=10).contains(&m), "{m}");
    let lenet = network("lenet", "1x32x32", 1, "relu");
    let question = config(2, Readouts::Drawn(1));
    let m = best_probes::<f32>(&lenet, &question).unwrap();
    assert!((15..=50).contains(&m), "{m}");
    let asked = local(&config(3, Readouts::Own));
    assert_eq!(best_probes::<f32>(&shallow, &asked).unwrap(), 3);
    // The pilot of read-outs has one probe and is not refused for it; at 30 probes and more a read-out costs many times
    // what the weights do, and few are worth it.
    let readouts = best_readouts::<f32>(&lenet, &config(m, Readouts::Own)).unwrap();
    assert!(matches!(readouts, Readouts::Drawn(1..=4)), "{readouts:?}");
}
