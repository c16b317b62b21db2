//! Kernels on a GPU against those of the processor in f64 (`cargo xtask test-cuda`).
//!
//! Bug class: a text of a kernel that is not the plan that the processor follows, at borders, strides, walls, where
//! variances vanish and where samples nearly agree.

use crate::common::{graph, numbers};
use polariscope_diff::Device;
use polariscope_graph::{Activation, Graph, Parametrisation, ZooOptions, parse_file, zoo};
use polariscope_nngp::{Float, Kernel, Values, Wanted};

const GPU: Device = Device::Cuda(0);
/// Relative to √(K K'), with their order of summation.
const DOUBLE: f64 = 1e-11;
const SINGLE: f64 = 1e-5;

macro_rules! fixture {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../fixtures/", $name, ".toml")))),*]
    };
}

/// Kernels of samples in a type, on a device: x against y, among x, of x with itself.
fn kernels<T: Float>(graph: &Graph, device: Device, x: &[f64], y: &[f64]) -> [Values<f64>; 3] {
    let kernel = Kernel::on(graph, device).unwrap();
    let narrow = |v: &[f64]| -> Vec<T> { v.iter().map(|&v| T::from_f64(v)).collect() };
    let widen = |v: Vec<T>| -> Vec<f64> { v.into_iter().map(T::to_f64).collect() };
    let (x, y) = (narrow(x), narrow(y));
    let all = [
        kernel.between(Wanted::Both, &x, &y),
        kernel.among(Wanted::Both, &x),
        kernel.diagonal(Wanted::Both, &x),
    ];
    let all = all.map(|values| values.unwrap());
    // The same bits again.
    assert_eq!(all[0], kernel.between(Wanted::Both, &x, &y).unwrap());
    all.map(|values| Values {
        nngp: widen(values.nngp),
        ntk: values.ntk.map(widen),
    })
}

/// Compares all blocks; the largest error, in units of the tolerance.
fn compare<T: Float>(name: &str, graph: &Graph, x: &[f64], y: &[f64], tolerance: f64) {
    let here = kernels::<f64>(graph, Device::Cpu, x, y);
    let there = kernels::<T>(graph, GPU, x, y);
    let n = here[2].nngp.len();
    let own = Kernel::new(graph)
        .unwrap()
        .diagonal(Wanted::Both, y)
        .unwrap();
    for (block, (here, there)) in here.iter().zip(&there).enumerate() {
        let kinds = [
            (&here.nngp, &there.nngp, &own.nngp),
            (
                here.ntk.as_ref().unwrap(),
                there.ntk.as_ref().unwrap(),
                own.ntk.as_ref().unwrap(),
            ),
        ];
        for (kind, (here, there, own)) in kinds.into_iter().enumerate() {
            let scale = own.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            assert_eq!(here.len(), there.len());
            for (i, (a, b)) in here.iter().zip(there).enumerate() {
                let error = (a - b).abs() / scale.max(a.abs()).max(f64::MIN_POSITIVE);
                assert!(
                    error <= tolerance,
                    "{name}, {}, block {block} of {n}, kind {kind}, entry {i}: {a} here, {b} on the GPU",
                    T::NAME
                );
            }
        }
    }
}

fn check(name: &str, graph: &Graph) {
    let inputs = Kernel::new(graph).unwrap().inputs();
    let (x, y) = (numbers(4 * inputs, 1), numbers(3 * inputs, 2));
    compare::<f64>(name, graph, &x, &y, DOUBLE);
    compare::<f32>(name, graph, &x, &y, SINGLE);
}

fn net(name: &str, input: &str, depth: usize, b_std: f64) -> Graph {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        parametrisation: Some(Parametrisation::Ntk {
            w_std: 2f64.sqrt(),
            b_std,
        }),
        depth: Some(depth),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

#[test]
#[ignore = "needs a GPU"]
fn every_op() {
    for (name, file) in fixture!(
        "bias-large",
        "concat",
        "concat-vec",
        "deep-gap",
        "deep-vec",
        "even-kernels",
        "even-kernels-circular",
        "fcn-abs",
        "fcn-erf",
        "fcn-gelu",
        "fcn-identity",
        "fcn-leaky-relu",
        "fcn-relu",
        "fcn-sin",
        "gap-abs",
        "gap-erf",
        "gap-gelu",
        "gap-identity",
        "gap-leaky-relu",
        "gap-sin",
        "he",
        "lap",
        "lap-same",
        "local-gap",
        "local-valid",
        "local-vec",
        "mixed-padding-vec",
        "norm-fcn",
        "norm-gap",
        "number-padding",
        "pool-middle",
        "pool-middle-circular",
        "pool-overlapping",
        "pool-padded",
        "pytorch",
        "residual",
        "residual-gelu-circular",
        "residual-projection",
        "signal-gap",
        "signal-pool",
        "strided-circular-gap",
        "strided-circular-rest-vec",
        "strided-same-gap",
        "strided-valid-gap",
        "strided-valid-vec"
    ) {
        check(
            name,
            &parse_file(file, name, &ZooOptions::default()).unwrap(),
        );
    }
}

#[test]
#[ignore = "needs a GPU"]
fn tokens() {
    let attention = r#"
        { op = "patch-embed", size = 2, width = 6 }, { op = "class-token" }, { op = "position" },
        { op = "attention", heads = 1 }, { op = "take-token" }, { op = "dense", features = 2 }"#;
    check("tokens", &graph("[2, 4, 4]", attention));
}

/// Maps in registers, in all shapes: modulo the grid and with walls, with idle lanes, with biases, with other kinks.
#[test]
#[ignore = "needs a GPU"]
fn maps() {
    let gap = r#"{ op = "global-avg-pool" }, { op = "dense", features = 2 }"#;
    for (input, padding) in [
        ("[3, 32, 32]", "circular"),
        ("[2, 7, 18]", "circular"),
        ("[3, 32, 32]", "same"),
        ("[1, 9, 17]", "same"),
        ("[1, 1, 16]", "same"),
    ] {
        for activation in [
            r#"{ op = "relu" }"#,
            r#"{ op = "leaky-relu", slope = 0.2 }"#,
        ] {
            let one = format!(
                r#"{{ op = "conv", channels = 4, kernel = 3, padding = "{padding}" }}, {activation}"#
            );
            let net = graph(input, &format!("{one}, {one}, {one}, {gap}"));
            check(&format!("{input} {padding}"), &net);
        }
    }
    check("deep", &net("cnn-gap", "3x32x32", 21, 0.0));
}

/// Samples that are 0 in places, and samples that nearly agree.
#[test]
#[ignore = "needs a GPU"]
fn zeros_and_neighbours() {
    let nets = [
        ("fcn", net("fcn", "300", 3, 0.0)),
        ("vec", net("cnn-vec", "1x20x20", 3, 0.0)),
        ("gap", net("cnn-gap", "1x20x20", 3, 0.0)),
        ("small gap", net("cnn-gap", "1x9x9", 3, 0.0)),
    ];
    for (name, net) in &nets {
        let inputs = Kernel::new(net).unwrap().inputs();
        let mut x = numbers(4 * inputs, 5);
        x[..inputs / 2].fill(0.0);
        x[3 * inputs..].fill(0.0);
        let step = numbers(inputs, 6);
        let mut y = x[..3 * inputs].to_vec();
        for (i, y) in y.iter_mut().enumerate() {
            *y = f64::from((*y + 1e-3 * step[i % inputs]) as f32);
        }
        x.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        compare::<f64>(name, net, &x, &y, DOUBLE);
        compare::<f32>(name, net, &x, &y, SINGLE);
    }
}

/// More pairs than a warp, and a Gram matrix that a product makes.
#[test]
#[ignore = "needs a GPU"]
fn many_pairs() {
    let graph = net("fcn", "3x8x8", 4, 0.1);
    let (x, y) = (numbers(300 * 192, 7), numbers(77 * 192, 8));
    compare::<f64>("many", &graph, &x, &y, DOUBLE);
    compare::<f32>("many", &graph, &x, &y, SINGLE);
}

/// Fields that do not fit into the memory of a block.
#[test]
#[ignore = "needs a GPU"]
fn large_fields() {
    check("large", &net("cnn-vec", "1x120x100", 2, 0.1));
}

/// Without Θ the NNGP is the same, but for roundings.
#[test]
#[ignore = "needs a GPU"]
fn the_nngp_alone() {
    for (name, input) in [
        ("fcn", "300"),
        ("cnn-gap", "1x20x20"),
        ("cnn-lap4", "1x8x8"),
    ] {
        let graph = net(name, input, 3, 0.1);
        let kernel = Kernel::on(&graph, GPU).unwrap();
        let x = numbers(5 * kernel.inputs(), 9);
        let both = kernel.among(Wanted::Both, &x).unwrap();
        let alone = kernel.among(Wanted::Nngp, &x).unwrap();
        assert!(alone.ntk.is_none());
        for (a, b) in alone.nngp.iter().zip(&both.nngp) {
            assert!((a - b).abs() <= 1e-12 * a.abs(), "{name}: {a} {b}");
        }
    }
}

/// Means over noise: tanh, sigmoid, silu, softplus, each alone and under a pool.
#[test]
#[ignore = "needs a GPU"]
fn logistic() {
    for activation in [
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::Silu,
        Activation::Softplus { beta: 1.0 },
        Activation::Softplus { beta: 3.0 },
    ] {
        for (name, input) in [("fcn", "5"), ("cnn-gap", "2x5x4")] {
            let options = ZooOptions {
                activation: Some(activation.into()),
                input: Some(input.parse().unwrap()),
                ..ZooOptions::default()
            };
            check(
                &format!("{name} {activation}"),
                &zoo(name, &options).unwrap(),
            );
        }
    }
}
