//! Kernels of finite networks. Catches wrong blocks or normalisation (against J Jᵀ by hand and `ntk_product`), a kernel
//! that does not move as theory says, and a width limit that is not the analytic kernel.

use polariscope_empirical::{Outputs, among, between, convergence, evolution};
use polariscope_graph::{
    Activation, BiasRule, Builder, Graph, HasBias, Parametrisation, Shape, ZooOptions, zoo,
};
use polariscope_network::{Network, Weights};
use polariscope_nngp::{Kernel, Wanted};
use polariscope_random::Stream;
use polariscope_train::{BatchSize, Config, Labels, Length, Loss, Optimiser, Samples, Schedule};

const MEMORY: usize = 1 << 26;
/// Networks of each width: enough for a standard error of the exponent of about half of what it may be off by.
const NETWORKS: u64 = 40;

fn normal(n: usize) -> Vec<f64> {
    let mut x = vec![0.0_f32; n];
    Stream::new(3, 0, "x").normal(1.0, &mut x);
    x.into_iter().map(f64::from).collect()
}

fn of(name: &str, width: usize, outputs: usize) -> Graph {
    let options = ZooOptions {
        input: Some("3x4x4".parse().unwrap()),
        outputs: Some(outputs),
        width: Some(width),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

/// f = w·x with scale 1/√D: ∇f = x/√D, so Θ̂ = x·x′/D, whatever the weights and for each of the outputs.
#[test]
fn a_linear_network_by_hand() {
    let ntk = Parametrisation::Ntk {
        w_std: 1.0,
        b_std: 0.0,
    };
    let input = Shape::Vector { features: 4 };
    let mut b = Builder::new("linear", input, ntk, BiasRule::default()).unwrap();
    b.dense(Builder::INPUT, "out", 2, HasBias::No).unwrap();
    let network = Network::<f64>::new(b.finish());
    let weights = Weights::draw(network.graph(), 0, 0);
    let x = [1.0, 2.0, 0.0, -1.0, 0.0, 1.0, 1.0, 1.0];
    let mean = among(&network, &weights, &x, Outputs::Mean, MEMORY).unwrap();
    assert_eq!(mean, [1.5, 0.25, 0.25, 0.75]);
    // Outputs have weights of their own: blocks 1.5·I, 0.25·I, 0.75·I.
    let all = among(&network, &weights, &x, Outputs::All, MEMORY).unwrap();
    let wanted = [
        [1.5, 0.0, 0.25, 0.0],
        [0.0, 1.5, 0.0, 0.25],
        [0.25, 0.0, 0.75, 0.0],
        [0.0, 0.25, 0.0, 0.75],
    ];
    assert_eq!(all, wanted.concat());
}

/// Against J Jᵀ u by automatic differentiation forth and back; block sizes and number types leave no trace.
#[test]
fn blocks_are_the_kernel() {
    let graph = of("cnn-gap", 5, 3);
    let network = Network::<f64>::new(graph.clone());
    let weights = Weights::<f64>::draw(&graph, 1, 0);
    let (n, classes) = (7, 3);
    let x = normal(n * 48);
    let all = among(&network, &weights, &x, Outputs::All, MEMORY).unwrap();
    for column in [0, 4, 20] {
        let mut u = vec![0.0; n * classes];
        u[column] = 1.0;
        let wanted = network.ntk_product(&weights, &x, &u).unwrap();
        for (row, wanted) in wanted.iter().enumerate() {
            assert!((all[row * n * classes + column] - wanted).abs() < 1e-13);
        }
    }
    let mean = among(&network, &weights, &x, Outputs::Mean, MEMORY).unwrap();
    for i in 0..n {
        for j in 0..n {
            let at = |c: usize| all[(i * classes + c) * n * classes + j * classes + c];
            let traced = (0..classes).map(at).sum::<f64>() / classes as f64;
            assert!((mean[i * n + j] - traced).abs() < 1e-13);
        }
    }
    // One to three samples at a time.
    let small = among(
        &network,
        &weights,
        &x,
        Outputs::Mean,
        8 * 3 * 2 * graph.parameter_count(),
    )
    .unwrap();
    let square = between(&network, &weights, &x, &x, Outputs::Mean, 1).unwrap();
    let single = Network::<f32>::new(graph.clone());
    let x32: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let rough = among(&single, &weights.convert(), &x32, Outputs::Mean, MEMORY).unwrap();
    for k in 0..n * n {
        assert!((small[k] - mean[k]).abs() < 1e-13 && (square[k] - mean[k]).abs() < 1e-13);
        assert!((rough[k] - mean[k]).abs() < 1e-5 * mean[0]);
    }
    let part = between(&network, &weights, &x[..2 * 48], &x, Outputs::All, MEMORY).unwrap();
    assert_eq!(part.len(), 2 * classes * n * classes);
    assert!((part[5] - all[5]).abs() < 1e-13);
}

/// Θ of the ReLU network with two hidden layers, N(0, 1) weights over √fan_in: κ₁ and κ₀ by arccosines.
fn fcn(x: &[f64], dim: usize) -> Vec<f64> {
    let n = x.len() / dim;
    let row = |i: usize| &x[i * dim..(i + 1) * dim];
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / dim as f64;
    let entry = |i: usize, j: usize| {
        let (mut p, mut c, mut q) = (
            dot(row(i), row(i)),
            dot(row(i), row(j)),
            dot(row(j), row(j)),
        );
        let mut theta = c;
        for _ in 0..2 {
            let rho = (c / (p * q).sqrt()).clamp(-1.0, 1.0);
            let angle = std::f64::consts::PI - rho.acos();
            let slope = angle / (2.0 * std::f64::consts::PI);
            c = (p * q).sqrt() * ((1.0 - rho * rho).sqrt() + rho * angle)
                / (2.0 * std::f64::consts::PI);
            theta = c + slope * theta;
            (p, q) = (0.5 * p, 0.5 * q);
        }
        theta
    };
    (0..n * n).map(|k| entry(k / n, k % n)).collect()
}

/// Eq. 8: the exponent is −½, against a recursion written here for FCN and the engine for all three.
#[test]
fn wide_networks_converge() {
    let x = normal(5 * 48);
    for (name, widths) in [
        ("fcn", [32, 64, 128, 256, 512]),
        ("cnn-vec", [16, 32, 64, 128, 192]),
        ("cnn-gap", [16, 32, 64, 128, 192]),
    ] {
        let graph = of(name, 8, 1);
        let kernel = Kernel::new(&graph).unwrap();
        let analytic = kernel.among(Wanted::Both, &x).unwrap().ntk.unwrap();
        if name == "fcn" {
            let by_hand = fcn(&x, 48);
            let pairs = analytic.iter().zip(&by_hand);
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12 * by_hand[0]));
        }
        let build = |width: usize| {
            let options = ZooOptions {
                input: Some("3x4x4".parse()?),
                outputs: Some(1),
                width: Some(width),
                ..ZooOptions::default()
            };
            zoo(name, &options)
        };
        let found = convergence(build, &widths, (0, NETWORKS), &x, &analytic).unwrap();
        let fit = found.fit.unwrap();
        println!("{name}: exponent {:.3} ± {:.3}", fit.exponent, fit.error);
        assert!(
            (fit.exponent + 0.5).abs() < 0.1,
            "{name}: {} ± {}",
            fit.exponent,
            fit.error
        );
        assert!(fit.error < 0.06, "{name}: {}", fit.error);
    }
}

/// A wide network in the NTK parametrisation keeps its kernel, a narrow one does not, and a linear one has none to move.
#[test]
fn training_moves_narrow_networks() {
    let (n, dim) = (12, 48);
    let x: Vec<f32> = normal(n * dim).into_iter().map(|x| x as f32).collect();
    let labels: Vec<u32> = (0..n as u32).map(|i| i % 2).collect();
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&labels),
    };
    let config = Config {
        loss: Loss::Mse,
        optimiser: Optimiser::GRADIENT_DESCENT,
        learning_rate: 0.5,
        schedule: Schedule::Constant,
        batch_size: BatchSize::Full,
        length: Length::Steps(100),
        ..Config::default()
    };
    let change = |graph: &Graph| {
        let seen = evolution::<f64>(graph, &config, samples, 0, n, &[10, 100, 500]).unwrap();
        assert_eq!(
            seen.iter().map(|s| s.step).collect::<Vec<_>>(),
            [0, 10, 100]
        );
        assert_eq!(seen[0].change, 0.0);
        assert!(seen.iter().all(|s| s.alignment.abs() <= 1.0));
        (
            seen[1].change,
            seen[2].change,
            seen[2].alignment - seen[0].alignment,
        )
    };
    let (_, narrow, gained) = change(&of("fcn", 16, 1));
    let (_, wide, _) = change(&of("fcn", 512, 1));
    // The change falls as 1/√n at least: a factor of √32 ≈ 5.7 between these widths; half of it is asked for.
    assert!(wide < narrow / 2.8, "{narrow} {wide}");
    assert!(gained > 0.0, "{gained}");
    let options = ZooOptions {
        input: Some("3x4x4".parse().unwrap()),
        outputs: Some(1),
        activation: Some(Activation::Identity.into()),
        ..ZooOptions::default()
    };
    let (_, moved, _) = change(&zoo("logreg", &options).unwrap());
    assert!(moved < 1e-14, "{moved}");
}
