//! Closed forms, exactness on the diagonal and near it, symmetry, tails, refusals.

use std::f64::consts::PI;

use crate::common::{graph, numbers, reference};
use polariscope_diff::Device;
use polariscope_graph::{Activation, Graph, Parametrisation, ZooOptions, zoo};
use polariscope_nngp::{Kernel, NngpError, Wanted};

fn net(name: &str, input: &str, depth: usize, activation: Activation) -> Graph {
    let w_std = 2f64.sqrt();
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        outputs: Some(1),
        activation: Some(activation.into()),
        parametrisation: Some(Parametrisation::Ntk { w_std, b_std: 0.0 }),
        depth: Some(depth),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

/// Bits of both kernels.
fn bits(kernel: &Kernel, x: &[f64], y: &[f64]) -> (Vec<u64>, Vec<u64>) {
    let values = kernel.between(Wanted::Both, x, y).unwrap();
    let bits = |v: Vec<f64>| v.iter().map(|v| v.to_bits()).collect();
    (bits(values.nngp), bits(values.ntk.unwrap()))
}

/// Depth 3, weights of variance 2/n: κ1(κ1(κ1(ρ))), and Θ = κ1^{(3)} + κ0 Θ below, with arccos written as atan2.
#[test]
fn relu_of_depth_three() {
    let kernel = Kernel::new(&net("fcn", "7", 3, Activation::Relu)).unwrap();
    let (x, y) = (numbers(7, 3), numbers(7, 4));
    let dot = |a: &[f64], b: &[f64]| 2.0 / 7.0 * a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (dot(&x, &x) * dot(&y, &y)).sqrt();
    let mut rho = dot(&x, &y) / scale;
    let mut theta = rho;
    for _ in 0..3 {
        let angle = ((1.0 - rho) * (1.0 + rho)).sqrt().atan2(rho);
        let kappa0 = (PI - angle) / PI;
        rho = (angle.sin() + (PI - angle) * rho) / PI;
        theta = rho + kappa0 * theta;
    }
    let values = kernel.between(Wanted::Both, &x, &y).unwrap();
    assert!((values.nngp[0] / scale - rho).abs() < 4e-15);
    assert!((values.ntk.unwrap()[0] / scale - theta).abs() < 8e-15);
}

/// A normalised activation keeps the diagonal of the NNGP kernel at 1 through any depth, at inputs of mean square 1.
#[test]
fn normalised_activations_keep_the_diagonal() {
    for name in ["softplus:5", "relu", "tanh", "erf", "gelu", "silu", "abs"] {
        let diagonal = |activation: String| {
            let options = ZooOptions {
                input: Some("4".parse().unwrap()),
                activation: Some(activation.parse().unwrap()),
                depth: Some(3),
                ..ZooOptions::default()
            };
            let x = [1.0f64, -1.0, 1.0, 1.0];
            let kernel = Kernel::new(&zoo("fcn", &options).unwrap()).unwrap();
            kernel.between(Wanted::Nngp, &x, &x).unwrap().nngp[0]
        };
        let found = diagonal(format!("normalised:{name}"));
        assert!((found - 1.0).abs() < 1e-8, "{name}: {found}");
        // abs is normalised as it is.
        assert!((diagonal(name.to_owned()) - 1.0).abs() > 0.1 || name == "abs");
    }
}

#[test]
fn every_activation() {
    for op in [
        r#"{ op = "identity" }"#,
        r#"{ op = "relu" }"#,
        r#"{ op = "leaky-relu", slope = 0.2 }"#,
        r#"{ op = "abs" }"#,
        r#"{ op = "erf" }"#,
        r#"{ op = "gelu" }"#,
        r#"{ op = "sin" }"#,
        r#"{ op = "tanh" }"#,
        r#"{ op = "sigmoid" }"#,
        r#"{ op = "silu" }"#,
        r#"{ op = "softplus", beta = 1.5 }"#,
    ] {
        let dense = r#"{ op = "dense", features = 5 }"#;
        let graph = graph("[4]", &format!("{dense}, {op}, {dense}, {op}, {dense}"));
        let kernel = Kernel::new(&graph).unwrap();
        let (x, y) = (numbers(4, 5), numbers(4, 6));
        let (k, t) = reference(&graph, &x, &y);
        let values = kernel.between(Wanted::Both, &x, &y).unwrap();
        assert!(
            (values.nngp[0] - k).abs() < 2e-15,
            "{op}: {} {k}",
            values.nngp[0]
        );
        let theta = values.ntk.unwrap()[0];
        assert!((theta - t).abs() < 1e-14, "{op}: {theta} {t}");
    }
}

/// One hidden layer: with u the angle between x and x', Θ = (2/n)|x||x'|(κ1 + ρ κ0)/…, whose slope at u = 0 is −2/π;
/// to second order in u, Θ/scale = 2 − 2u/π − u².
#[test]
fn nearly_equal_inputs_lose_nothing() {
    let n = 6;
    let kernel = Kernel::new(&net("fcn", "6", 1, Activation::Relu)).unwrap();
    // x along the first axis, x' turned by u: both of length 1, so K₁ = 2/n.
    for u in [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9f64] {
        let mut x = vec![0.0; n];
        let mut y = vec![0.0; n];
        x[0] = 1.0;
        (y[0], y[1]) = (u.cos(), u.sin());
        let theta = kernel.between(Wanted::Both, &x, &y).unwrap().ntk.unwrap()[0];
        let want = 2.0 / n as f64 * (2.0 - u / PI - u * u);
        // κ1 = 1 − u²/2 + u³/3π, ρκ0 = (1 − u²/2)(1 − u/π): the sum to third order.
        let third = 2.0 / n as f64 * (u.powi(3) / (3.0 * PI) + u.powi(3) / (2.0 * PI));
        assert!((theta - want - third).abs() < 1e-14, "{u}: {theta} {want}");
    }
}

#[test]
fn exact_on_the_diagonal() {
    for (name, input) in [
        ("fcn", "40"),
        ("cnn-vec", "3x5x5"),
        ("cnn-gap", "2x4x4"),
        ("cnn-lap4", "1x8x8"),
        ("lcn", "2x4x4"),
    ] {
        let kernel = Kernel::new(&net(name, input, 2, Activation::Relu)).unwrap();
        let n = kernel.inputs();
        let x = numbers(n, 7);
        let copy = x.clone();
        let diagonal = kernel.diagonal(Wanted::Both, &x).unwrap();
        let (k, t) = bits(&kernel, &x, &copy);
        assert_eq!(k[0], diagonal.nngp[0].to_bits(), "{name}");
        assert_eq!(t[0], diagonal.ntk.unwrap()[0].to_bits(), "{name}");
        // With variance 2 and relu the square is kept from layer to layer: FCN has K = (2/n)|x|²·…
        if name == "fcn" {
            let want = 2.0 / n as f64 * x.iter().map(|x| x * x).sum::<f64>();
            assert!((f64::from_bits(k[0]) - want).abs() < 1e-15);
        }
    }
}

/// A block, its transpose and its parts agree to the last bit: tails of lanes are no different.
#[test]
fn symmetric_blocks_and_tails() {
    for (name, input) in [("fcn", "30"), ("cnn-vec", "2x4x4"), ("cnn-gap", "2x3x3")] {
        let kernel = Kernel::new(&net(name, input, 2, Activation::Relu)).unwrap();
        let n = kernel.inputs();
        for count in [1, 7, 8, 9, 17] {
            let x = numbers(count * n, 8);
            let (k, t) = bits(&kernel, &x, &x);
            let among = kernel.among(Wanted::Both, &x).unwrap();
            let ntk = among.ntk.unwrap();
            let diagonal = kernel.diagonal(Wanted::Nngp, &x).unwrap().nngp;
            for i in 0..count {
                for j in 0..count {
                    let at = i.min(j) * count + i.max(j);
                    assert_eq!(among.nngp[i * count + j].to_bits(), k[at]);
                    assert_eq!(ntk[i * count + j].to_bits(), t[at]);
                }
                let error = (among.nngp[i * count + i] - diagonal[i]).abs();
                assert!(error <= 1e-15 * diagonal[i], "{name}: {error}");
            }
        }
    }
}

/// Work is cut by shape: the bits do not depend on the number of threads.
#[test]
fn threads_change_nothing() {
    for (name, input, count) in [("fcn", "30", 600), ("cnn-gap", "2x4x4", 40)] {
        let kernel = Kernel::new(&net(name, input, 2, Activation::Relu)).unwrap();
        let x = numbers(count * kernel.inputs(), 11);
        let [one, three] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| kernel.among(Wanted::Both, &x).unwrap())
        });
        assert_eq!(one, three, "{name}");
    }
}

#[test]
fn without_shared_weights_flattened_nets_are_the_same() {
    let nets = ["cnn-vec", "lcn"].map(|name| net(name, "3x6x6", 2, Activation::Relu));
    let [shared, local] = nets.map(|g| Kernel::new(&g).unwrap());
    let (x, y) = (numbers(4 * 108, 9), numbers(3 * 108, 10));
    let a = shared.between(Wanted::Both, &x, &y).unwrap();
    let b = local.between(Wanted::Both, &x, &y).unwrap();
    let (a_ntk, b_ntk) = (a.ntk.unwrap(), b.ntk.unwrap());
    for (a, b) in a.nngp.iter().zip(&b.nngp).chain(a_ntk.iter().zip(&b_ntk)) {
        assert!((a - b).abs() <= 1e-12 * a.abs());
    }
}

#[test]
fn refusals_say_what_would_work() {
    let refused = |input: &str, layers: &str| Kernel::new(&graph(input, layers)).unwrap_err();
    let out = r#"{ op = "dense", features = 1 }"#;
    let text = |e: NngpError| e.to_string();
    let pool = refused(
        "[1, 4, 4]",
        &format!(
            r#"{{ op = "conv", channels = 2, kernel = 3 }}, {{ op = "max-pool", size = 2 }}, {{ op = "flatten" }}, {out}"#
        ),
    );
    assert!(text(pool).contains("use avg-pool"));
    let gate = refused(
        "[4]",
        &format!(
            r#"{{ op = "dense", features = 4 }}, {{ op = "gate", branch = [ {{ op = "sigmoid" }} ] }}, {out}"#
        ),
    );
    assert!(text(gate).contains("a product of two random numbers is not Gaussian"));
    // Its dual is computed on the processor; there is no GPU to look for.
    let hard = graph(
        "[4]",
        &format!(r#"{{ op = "dense", features = 4 }}, {{ op = "hard-swish" }}, {out}"#),
    );
    let gpu = Kernel::on(&hard, Device::Cuda(0)).unwrap_err();
    assert!(text(gpu).contains("hard-swish has a kernel on the processor only"));
    let bare = refused("[4]", &format!(r#"{{ op = "relu" }}, {out}"#));
    assert!(text(bare).contains("reads the input"));
    let twice = refused(
        "[4]",
        &format!(r#"{out}, {{ op = "relu" }}, {{ op = "abs" }}, {out}"#),
    );
    assert!(text(twice).contains("what another activation made"));
    let dense = r#"{ op = "dense", features = 4 }"#;
    let mean = refused(
        "[4]",
        &format!(r#"{dense}, {{ op = "relu" }}, {{ op = "layer-norm" }}, {out}"#),
    );
    assert!(text(mean).contains("or use rms-norm"));
    let parts = refused(
        "[4]",
        &format!(
            r#"{{ op = "concat", branches = [ [ {dense} ], [ {dense} ] ] }}, {{ op = "rms-norm" }}, {out}"#
        ),
    );
    assert!(text(parts).contains("before the concatenation"));
    let groups = refused(
        "[2, 4, 4]",
        &format!(
            r#"{{ op = "conv", channels = 4, kernel = 3, groups = 2 }}, {{ op = "flatten" }}, {out}"#
        ),
    );
    assert!(text(groups).contains("use groups = 1"));
    // Kept for all pairs of 64 × 64 positions: 2²⁴ pairs of two numbers.
    let conv = |padding: &str| {
        format!(r#"{{ op = "conv", channels = 4, kernel = 3, padding = "{padding}" }}"#)
    };
    let large = refused(
        "[2, 64, 64]",
        &format!(
            r#"{}, {}, {{ op = "global-avg-pool" }}, {out}"#,
            conv("same"),
            conv("circular")
        ),
    );
    assert!(matches!(
        large,
        NngpError::Memory {
            mebibytes: 256,
            limit: 64,
            ..
        }
    ));
    let image = refused("[1, 4, 4]", r#"{ op = "conv", channels = 2, kernel = 3 }"#);
    assert!(text(image).contains("the kernel is that of one number"));
}

#[test]
fn bad_numbers_are_named() {
    let kernel = Kernel::new(&net("fcn", "3", 1, Activation::Relu)).unwrap();
    let short = kernel.among(Wanted::Both, &[1.0f64; 4]).unwrap_err();
    assert!(matches!(
        short,
        NngpError::Length {
            numbers: 4,
            inputs: 3,
            ..
        }
    ));
    let mut x = [1.0f64; 6];
    x[4] = f64::NAN;
    let nan = kernel.between(Wanted::Both, &[1.0; 3], &x).unwrap_err();
    assert!(matches!(
        nan,
        NngpError::NotFinite {
            array: "x2",
            sample: 1,
            ..
        }
    ));
    let large = kernel.among(Wanted::Both, &[1e30f32; 3]).unwrap_err();
    assert!(matches!(
        large,
        NngpError::Overflow {
            first: 0,
            second: 0,
            precision: "f32"
        }
    ));
    assert!(
        kernel
            .among(Wanted::Both, &[0.0f64; 0])
            .unwrap()
            .nngp
            .is_empty()
    );
}

/// A pool adds a million pairs of positions: in f32 one running sum loses 4e-5 of it.
#[test]
fn large_pools_in_single_precision() {
    let kernel = Kernel::new(&net("cnn-gap", "3x32x32", 1, Activation::Relu)).unwrap();
    let x = numbers(2 * kernel.inputs(), 11);
    let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let (x, single) = (
        kernel.among(Wanted::Both, &x).unwrap(),
        kernel.among(Wanted::Both, &single).unwrap(),
    );
    for (a, b) in x.nngp.iter().zip(&single.nngp) {
        assert!((a - f64::from(*b)).abs() < 2e-6 * a, "{a} {b}");
    }
}

/// E[φ(0)φ(v)] = 0, whatever is rounded on the way.
#[test]
fn nothing_correlates_with_zero() {
    let kernel = Kernel::new(&net("fcn", "7", 3, Activation::Relu)).unwrap();
    let y: Vec<f32> = numbers(5 * 7, 12).iter().map(|y| *y as f32).collect();
    let values = kernel.between(Wanted::Both, &[0.0; 7], &y).unwrap();
    assert_eq!(values.nngp, [0.0; 5]);
    assert_eq!(values.ntk.unwrap(), [0.0; 5]);
}
