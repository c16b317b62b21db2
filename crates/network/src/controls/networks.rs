//! What whole networks must do, whatever their weights.

use polariscope_graph::{BiasRule, ZooOptions};
use polariscope_lens::Fault;

use super::{distance, drawn, named, normal, written};
use crate::{Scalar, Weights};

/// Weights and gradients of LeNet, in pools of one and two threads.
pub fn threads() -> Result<f64, Fault> {
    let compute = |threads| -> Result<Vec<f32>, Fault> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        pool.install(|| {
            let (network, weights) = drawn::<f32>(named("lenet", ZooOptions::default())?);
            let x = normal("threads", 40 * 3072);
            let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            let gradient = network.input_gradient(&weights, &x, Scalar::Logit(0))?;
            Ok(weights
                .values
                .into_iter()
                .flatten()
                .chain(gradient)
                .collect())
        })
    };
    let (one, two) = (compute(1)?, compute(2)?);
    let differ = one
        .iter()
        .zip(&two)
        .filter(|(a, b)| a.to_bits() != b.to_bits());
    Ok(differ.count() as f64)
}

/// f(x) = w₂ᵀ(W₁x + b₁) + b₂ has ∇f = W₁ᵀw₂.
pub fn linear() -> Result<f64, Fault> {
    const TEXT: &str = r#"
        input = [24]
        layers = [ { op = "dense", features = 40, name = "a" }, { op = "dense", features = 1, name = "b" } ]
    "#;
    let (network, weights) = drawn::<f64>(written(TEXT)?);
    let gradient = network.input_gradient(&weights, &normal("linear", 24), Scalar::Logit(0))?;
    let tensor = |name: &str| -> Result<&[f64], Fault> {
        let index = network.graph().params.iter().position(|p| p.name == name);
        let values = index.and_then(|i| weights.values.get(i));
        Ok(values.ok_or("a weight is missing")?)
    };
    let (first, second) = (tensor("a.weight")?, tensor("b.weight")?);
    let mut product = vec![0.0; 24];
    for (row, w) in first.chunks(24).zip(second) {
        product.iter_mut().zip(row).for_each(|(p, a)| *p += w * a);
    }
    Ok(distance(&gradient, &product))
}

/// max(0, 2z) = 2 max(0, z), layer by layer.
pub fn homogeneous() -> Result<f64, Fault> {
    let options = ZooOptions {
        input: Some("30".parse()?),
        bias: BiasRule::Zero,
        ..ZooOptions::default()
    };
    let (network, weights) = drawn::<f64>(named("mlp-3x50", options)?);
    let x = normal("homogeneous", 30);
    let double: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
    let (f, g) = (
        network.output(&weights, &x)?,
        network.output(&weights, &double)?,
    );
    Ok(g.iter().sum::<f64>() / f.iter().sum::<f64>())
}

/// Two steps in the input are one step in the output of a convolution with stride 2 on a circle.
pub fn equivariant() -> Result<f64, Fault> {
    const TEXT: &str = r#"
        input = [2, 6, 8]
        layers = [ { op = "conv", channels = 3, kernel = 3, stride = 2, padding = "circular" } ]
    "#;
    let (network, weights) = drawn::<f64>(written(TEXT)?);
    let shift = |x: &[f64], width: usize, by: usize| -> Vec<f64> {
        let rows = x.chunks(width).map(|row| {
            let (head, tail) = row.split_at(width - by);
            [tail, head].concat()
        });
        rows.flatten().collect()
    };
    let x = normal("equivariant", 2 * 6 * 8);
    let before = network.output(&weights, &shift(&x, 8, 2))?;
    let after = shift(&network.output(&weights, &x)?, 4, 1);
    Ok(distance(&before, &after))
}

/// Without position embedding, attention and a mean over tokens do not see the order of the patches.
pub fn permutation() -> Result<f64, Fault> {
    const TEXT: &str = r#"
        input = [1, 4, 4]
        layers = [
          { op = "patch-embed", size = 2, width = 12 },
          { op = "attention", heads = 3 }, { op = "gelu" }, { op = "attention", heads = 2 },
          { op = "global-avg-pool" }, { op = "dense", features = 5 },
        ]
    "#;
    let (network, weights) = drawn::<f64>(written(TEXT)?);
    let x = normal("permutation", 16);
    // The upper two patches change places with the lower two.
    let swapped = [&x[8..], &x[..8]].concat();
    Ok(distance(
        &network.output(&weights, &swapped)?,
        &network.output(&weights, &x)?,
    ))
}

/// The same weights in both precisions.
pub fn precisions() -> Result<f64, Fault> {
    // Smooth, so that no rounding can flip the side of a kink.
    let options = ZooOptions {
        input: Some("3x16x16".parse()?),
        activation: Some("gelu".parse()?),
        ..ZooOptions::default()
    };
    let (network, weights) = drawn::<f64>(named("resnet18", options.clone())?);
    let x = normal("precisions", 3 * 16 * 16);
    let double = network.input_gradient(&weights, &x, Scalar::Logit(0))?;
    let (network, _) = drawn::<f32>(named("resnet18", options)?);
    let single: Weights<f32> = weights.convert();
    let x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let gradient = network.input_gradient(&single, &x, Scalar::Logit(0))?;
    let gradient: Vec<f64> = gradient.into_iter().map(f64::from).collect();
    Ok(distance(&gradient, &double))
}
