//! Mean field: where it is exact, how it is approached, and every step against dense matrices.

use crate::common::net;
use crate::common::sampled::{assert_agrees, difference};
use polariscope_graph::{ZooOptions, zoo};
use polariscope_meanfield::dual::{Pair, dual};
use polariscope_meanfield::{ExactProbe, Readout, exact, mean_field};
use polariscope_network::{Network, Scalar, Weights};

/// Fixed numbers of order 1.
fn probe(n: usize) -> Vec<f64> {
    (0..n).map(|i| (1.3 * i as f64 + 0.4).sin() + 0.3).collect()
}

/// PyTorch's laws, L hidden layers, mean of C outputs: tr G = 3^−(L+1) 2^−L / C, whatever x (peers' value 4.630e-3).
#[test]
fn relu_networks_of_dense_layers_are_isotropic() {
    for (name, layers, outputs) in [("mlp-2x100", 2, 2), ("mlp-3x7", 3, 5)] {
        let options = ZooOptions {
            outputs: Some(outputs),
            input: Some("1x4x4".parse().unwrap()),
            ..ZooOptions::default()
        };
        let graph = zoo(name, &options).unwrap();
        let g = mean_field(&graph, &probe(16), Readout::Mean).unwrap();
        let trace = 3f64.powi(-(layers + 1)) * 2f64.powi(-layers) / outputs as f64;
        for i in 0..16 {
            for j in 0..16 {
                let want = if i == j { trace / 16.0 } else { 0.0 };
                assert!((g.get(i, j) - want).abs() < 1e-14 * trace);
            }
        }
    }
}

/// Without shared weights and pools two-valued slopes are exact at any width, biases and all.
#[test]
fn narrow_networks_without_shared_weights_agree() {
    let dense = r#"{ op = "dense", features = 3 }, { op = "leaky-relu", slope = 0.3 }, { op = "dense", features = 4 }, { op = "abs" }, { op = "dense", features = 1 }"#;
    let local = r#"{ op = "local", channels = 2, kernel = 3, padding = 1, stride = 2 }, { op = "relu" }, { op = "local", channels = 2, kernel = 3, padding = "same" }, { op = "relu" },
        { op = "flatten" }, { op = "dense", features = 1 }"#;
    for (head, layers) in [("input = [5]", dense), ("input = [1, 5, 4]", local)] {
        let graph = net(head, layers);
        let x = probe(graph.input().len());
        let g = mean_field(&graph, &x, Readout::Logit(0)).unwrap();
        let d = difference(&graph, &g, &x, Scalar::Logit(0), 8000);
        println!("{d:?}");
        assert_agrees(head, &d);
    }
}

/// Two erf layers at infinite width (neural-tangents 0.6.5: first row of ∂x∂x'K at this probe): G = aI + b x xᵀ.
/// Mean field is the first term; it takes slopes as independent of the weights and misses the second.
#[test]
fn erf_layers_miss_only_the_term_along_x() {
    let x: [f64; 10] = [
        1.137870374245525,
        0.016021203599889625,
        0.47359957205452774,
        -1.33518837362512,
        0.6374177094326149,
        -0.03058346951326358,
        0.48466831595083715,
        1.6003561315936594,
        -2.280857756344364,
        0.26094817905342854,
    ];
    let row: [f64; 10] = [
        0.17979657335741311,
        -0.00028337544519486344,
        -0.008376804447823957,
        0.02361617823754706,
        -0.011274341909418197,
        0.0005409458930404145,
        -0.008572583136348094,
        -0.028306339684978907,
        0.04034272943979655,
        -0.004615527538303282,
    ];
    let b = row[8] / (x[0] * x[8]);
    for j in 1..10 {
        assert!((row[j] - b * x[0] * x[j]).abs() < 1e-14);
    }
    let layer = r#"{ op = "dense", features = 5 }, { op = "erf" },"#;
    let head = "input = [10]\nparametrisation = \"ntk\"\nw_std = 1.5\nb_std = 0.3";
    let graph = net(
        head,
        &format!(r#"{layer} {layer} {{ op = "dense", features = 1 }}"#),
    );
    let g = mean_field(&graph, &x, Readout::Logit(0)).unwrap();
    assert_eq!((g.channels, g.positions), (10, 1));
    assert!((g.factor[0] - (row[0] - b * x[0] * x[0])).abs() < 1e-14);
}

/// Smooth slopes: across x the covariance of dense networks is approached as 1/width (along x a term remains).
#[test]
fn width_approaches_the_limit() {
    let x = [1.5, 0.0, 0.0, 0.0, 0.0, 0.0];
    let excess = |width: usize, networks: u64| {
        let layer = format!(
            r#"{{ op = "dense", features = {width}, bias = false }}, {{ op = "sigmoid" }},"#
        );
        let head = "input = [6]\nparametrisation = \"ntk\"\nw_std = 6.0";
        let graph = net(
            head,
            &format!(r#"{layer} {layer} {{ op = "dense", features = 1, bias = false }}"#),
        );
        let limit = mean_field(&graph, &x, Readout::Logit(0)).unwrap().get(1, 1);
        let network = Network::<f64>::new(graph);
        let mut weights = Weights::zeros(network.graph());
        let (mut sum, mut squares) = (0.0, 0.0);
        for index in 0..networks {
            weights.redraw(network.graph(), 5, index);
            let g = network
                .input_gradient(&weights, &x, Scalar::Logit(0))
                .unwrap();
            let sample = g[1..].iter().map(|g| g * g).sum::<f64>() / 5.0 / limit - 1.0;
            sum += sample;
            squares += sample * sample;
        }
        let n = networks as f64;
        (sum / n, ((squares / n - (sum / n).powi(2)) / n).sqrt())
    };
    let (narrow, narrow_error) = excess(3, 50_000);
    let (wide, wide_error) = excess(12, 100_000);
    println!("{narrow} ± {narrow_error}, {wide} ± {wide_error}");
    // Four times the width: a quarter of the distance, up to errors.
    assert!(narrow.abs() > 8.0 * narrow_error && wide.abs() < 0.5 * narrow.abs());
    let error = (wide_error.powi(2) + (narrow_error / 4.0).powi(2)).sqrt();
    assert!((wide - narrow / 4.0).abs() < 4.0 * error);
}

type Dense = Vec<Vec<f64>>;

fn multiply(a: &Dense, b: &Dense) -> Dense {
    let row = |r: &Vec<f64>| {
        (0..b[0].len())
            .map(|j| r.iter().zip(b).map(|(x, b)| x * b[j]).sum())
            .collect()
    };
    a.iter().map(row).collect()
}

fn transposed(a: &Dense) -> Dense {
    (0..a[0].len())
        .map(|j| a.iter().map(|r| r[j]).collect())
        .collect()
}

fn zip(a: &Dense, b: &Dense, f: impl Fn(f64, f64) -> f64) -> Dense {
    let row = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect();
    a.iter().zip(b).map(row).collect()
}

/// S C Sᵀ
fn sandwich(s: &Dense, c: &Dense) -> Dense {
    multiply(&multiply(s, c), &transposed(s))
}

/// Outputs × inputs, 1 where tap β of a window reads.
fn selection(outputs: usize, inputs: usize, stride: usize, beta: usize, pad: usize) -> Dense {
    let one = |o: usize, i: usize| f64::from(u8::from(o * stride + beta == i + pad));
    (0..outputs)
        .map(|o| (0..inputs).map(|i| one(o, i)).collect())
        .collect()
}

/// Conv (stride 2), bias, relu, average pool, conv, bias, gelu, flatten, dense on a signal, written with matrices.
#[test]
fn every_step_against_dense_matrices() {
    let graph = net(
        "input = [2, 9]\nparametrisation = \"ntk\"\nw_std = 1.3\nb_std = 0.4",
        r#"{ op = "conv", channels = 5, kernel = 3, stride = 2, padding = 1 }, { op = "relu" }, { op = "avg-pool", size = 2, stride = 1 },
        { op = "conv", channels = 3, kernel = 2, padding = 1 }, { op = "scale", by = 2.0 }, { op = "gelu" }, { op = "flatten" }, { op = "bias" }, { op = "dense", features = 1 }"#,
    );
    let x = probe(18);
    let (w2, b2) = (1.69, 0.16);
    let outer = |x: &[f64]| -> Dense {
        x.iter()
            .map(|a| x.iter().map(|b| a * b).collect())
            .collect()
    };
    let sum = |parts: Vec<Dense>| {
        parts
            .into_iter()
            .reduce(|a, b| zip(&a, &b, |a, b| a + b))
            .unwrap()
    };
    let plus = |a: Dense, b: f64| -> Dense { zip(&a, &a, |a, _| a + b) };
    let times = |a: Dense, b: f64| -> Dense { zip(&a, &a, |a, _| a * b) };
    let taps = |m, n, s, k, p| -> Vec<Dense> { (0..k).map(|b| selection(m, n, s, b, p)).collect() };
    let apply = |activation: &str, q: &Dense| -> (Dense, Dense) {
        let activation = activation.parse().unwrap();
        let at = |i: usize, j: usize| {
            dual(
                activation,
                Pair {
                    q11: q[i][i],
                    q12: q[i][j],
                    q22: q[j][j],
                },
            )
        };
        let n = q.len();
        let grid = |f: &dyn Fn(usize, usize) -> f64| {
            (0..n).map(|i| (0..n).map(|j| f(i, j)).collect()).collect()
        };
        (grid(&|i, j| at(i, j).value), grid(&|i, j| at(i, j).slope))
    };

    let (first, second) = (taps(5, 9, 2, 3, 1), taps(5, 4, 1, 2, 1));
    let pool = times(sum(taps(4, 5, 1, 2, 0)), 0.5);
    // Forward.
    let q = sum(vec![outer(&x[..9]), outer(&x[9..])]);
    let q = plus(
        times(
            sum(first.iter().map(|s| sandwich(s, &q)).collect()),
            w2 / 6.0,
        ),
        b2,
    );
    let (q, slope1) = apply("relu", &q);
    let q = sandwich(&pool, &q);
    // Five channels over a fan-in of ten.
    let q = plus(
        times(
            sum(second.iter().map(|s| sandwich(s, &q)).collect()),
            w2 * 5.0 / 10.0,
        ),
        b2,
    );
    let (_, slope2) = apply("gelu", &times(q, 4.0));
    // Backward: the read-out sees 3·5 features.
    let b: Dense = (0..5)
        .map(|i| {
            (0..5)
                .map(|j| if i == j { w2 / 15.0 } else { 0.0 })
                .collect()
        })
        .collect();
    let b = times(zip(&b, &slope2, |b, s| b * s), 4.0);
    let back =
        |taps: &[Dense], b: &Dense| sum(taps.iter().map(|s| sandwich(&transposed(s), b)).collect());
    let b = times(back(&second, &b), w2 * 3.0 / 10.0);
    let b = sandwich(&transposed(&pool), &b);
    let b = zip(&b, &slope1, |b, s| b * s);
    let b = times(back(&first, &b), w2 * 5.0 / 6.0);

    let g = mean_field(&graph, &x, Readout::Logit(0)).unwrap();
    assert_eq!((g.channels, g.positions), (2, 9));
    for i in 0..9 {
        for j in 0..9 {
            assert!(
                (g.get(i, j) - b[i][j]).abs() < 1e-13 * b[4][4],
                "{i},{j}: {} {}",
                g.get(i, j),
                b[i][j]
            );
        }
    }
}

/// Depthwise channels have their own probe, hence their own slopes.
#[test]
fn depthwise_channels_differ() {
    let layers = |channels: usize| {
        format!(
            r#"{{ op = "conv", channels = {channels}, kernel = 3, groups = {channels}, bias = false }}, {{ op = "relu" }}, {{ op = "global-avg-pool" }}, {{ op = "dense", features = 1 }}"#
        )
    };
    let both = net("input = [2, 4, 4]", &layers(2));
    let x = probe(32);
    let g = mean_field(&both, &x, Readout::Logit(0)).unwrap();
    assert_eq!((g.channels, g.positions), (1, 32));
    let single = net("input = [1, 4, 4]", &layers(1));
    let blocks =
        [0, 1].map(|c| mean_field(&single, &x[16 * c..16 * (c + 1)], Readout::Logit(0)).unwrap());
    assert!(blocks[0].get(0, 5) != blocks[1].get(0, 5));
    for i in 0..32 {
        for j in 0..32 {
            // The read-out has two inputs instead of one.
            let want = if i / 16 == j / 16 {
                blocks[i / 16].get(i % 16, j % 16) / 2.0
            } else {
                0.0
            };
            assert!((g.get(i, j) - want).abs() <= 1e-15 * blocks[0].get(5, 5));
        }
    }
}

/// Linear networks: both methods are the same sum.
#[test]
fn without_activations_both_methods_agree() {
    let options = ZooOptions {
        activation: Some("identity".parse().unwrap()),
        input: Some("2x8x8".parse().unwrap()),
        ..ZooOptions::default()
    };
    for name in ["resnet18", "densenet121", "lcn", "vgg11-bn", "lenet-gap"] {
        let options = ZooOptions {
            input: Some(
                if name.starts_with("vgg") {
                    "2x32x32"
                } else if name == "lenet-gap" {
                    "2x16x16"
                } else {
                    "2x8x8"
                }
                .parse()
                .unwrap(),
            ),
            ..options.clone()
        };
        let graph = zoo(name, &options).unwrap();
        let x = probe(graph.input().len());
        let field = mean_field(&graph, &x, Readout::Logit(1)).unwrap();
        // Mean field takes max pools as average pools, `exact` refuses them.
        match exact(&graph, ExactProbe::Anywhere, Readout::Logit(1)) {
            Ok(exact) => assert_eq!(field, exact, "{name}"),
            Err(refusal) => {
                assert!(name.starts_with("vgg") && refusal.to_string().contains("max-pool"))
            }
        }
    }
}

/// The same bits on one thread and on four.
#[test]
fn threads_do_not_change_a_bit() {
    let options = ZooOptions {
        input: Some("1x16x16".parse().unwrap()),
        ..ZooOptions::default()
    };
    let graph = zoo("resnet18", &options).unwrap();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| mean_field(&graph, &probe(256), Readout::Mean).unwrap())
    };
    assert_eq!(on(1), on(4));
}
