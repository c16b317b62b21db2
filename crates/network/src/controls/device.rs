//! A GPU against the CPU: the same numbers, within the rounding of sums in another order.

use polariscope_diff::cuda::Gpu;
use polariscope_diff::{Device, Number, Precision, Real};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_lens::{Comparison, Fault, comparison, farthest};

use crate::{Card, Dipole, GpuNetworks, Network, Scalar, Weights};

/// Differences are in parts of the largest number.
#[rustfmt::skip]
pub const COMPARISONS: &[Comparison] = &[
    comparison("drawn weights that differ in a bit, f32", 0.0, weights::<f32>),
    comparison("drawn weights that differ in a bit, f64", 0.0, weights::<f64>),
    comparison("LeNet, input gradient, f64", 1e-11, |n| gradient::<f64>("lenet", n)),
    comparison("ResNet-18, input gradient, f64", 1e-11, |n| gradient::<f64>("resnet18", n)),
    comparison("DenseNet-121, input gradient, f64", 1e-11, |n| gradient::<f64>("densenet121", n)),
    comparison("ViT, input gradient, f64", 1e-11, |n| gradient::<f64>("vit", n)),
    comparison("MLP, input gradient, f32", 1e-5, |n| gradient::<f32>("mlp-2x64", n)),
    comparison("ViT, input gradient, f32", 1e-5, |n| gradient::<f32>("vit", n)),
    comparison("GELU MLP, second derivative along weights, f64", 1e-11, curvature),
    comparison("eigenvalues of a path of 300 nodes, f64", 1e-12, path),
    comparison("LeNet, dipole, f64", 1e-11, |n| dipole("lenet", n)),
    comparison("ResNet-18, dipole, f64", 1e-11, |n| dipole("resnet18", n)),
];

/// A network of the zoo on such inputs.
pub fn network(name: &str, input: &str) -> Result<Graph, Fault> {
    let input = Some(input.parse()?);
    let options = ZooOptions {
        input,
        ..ZooOptions::default()
    };
    Ok(zoo(name, &options)?)
}

/// Numbers from −1 to 1 without a pattern.
pub fn numbers<T: Real>(n: usize) -> Vec<T> {
    let number = |i: usize| T::from_f64((2.3 * i as f64 + 0.1).cos());
    (0..n).map(number).collect()
}

/// The largest difference, in parts of the largest number.
pub fn distance<T: Real>(found: &[T], want: &[T]) -> f64 {
    let [found, want] = [found, want].map(|x| x.iter().map(|x| x.to_f64()).collect::<Vec<f64>>());
    let largest = want.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    farthest(&found, &want) / largest
}

/// The gradient of a linear map with one output is its weights: how many of them are not the CPU's.
fn weights<T: Number>(ordinal: usize) -> Result<f64, Fault> {
    let options = ZooOptions {
        input: Some("3x32x32".parse()?),
        outputs: Some(1),
        ..ZooOptions::default()
    };
    let graph = zoo("logreg", &options)?;
    let card = Card {
        ordinal,
        precision: Precision::Full,
    };
    let mut networks = GpuNetworks::<T>::input_vjp(&graph, 1, card)?;
    networks.draw(7, &[3])?;
    networks.set_cotangents(0, &[T::ONE])?;
    let mut answers = networks.answers(1)?;
    networks.answer(&mut answers, [0].into_iter())?;
    let mut found = vec![T::ZERO; networks.length()];
    networks.fetch(&answers, &mut found)?;
    let want = Weights::<T>::draw(&graph, 7, 3);
    let differ = found.iter().zip(&want.values[0]).filter(|(a, b)| a != b);
    Ok(differ.count() as f64)
}

fn gradient<T: Number>(name: &str, ordinal: usize) -> Result<f64, Fault> {
    const SAMPLES: usize = 4;
    let graph = network(name, "3x32x32")?;
    let x = numbers::<T>(SAMPLES * graph.input().len());
    let u = numbers::<T>(SAMPLES * graph.output().len());
    let weights = Weights::draw(&graph, 7, 3);
    let [found, want] = [Device::Cuda(ordinal), Device::Cpu]
        .map(|device| Network::on(graph.clone(), device).input_vjp(&weights, &x, &u));
    Ok(distance(&found?, &want?))
}

fn curvature(ordinal: usize) -> Result<f64, Fault> {
    const SAMPLES: usize = 8;
    let options = ZooOptions {
        input: Some("1x8x8".parse()?),
        activation: Some(polariscope_graph::Activation::Gelu.into()),
        ..ZooOptions::default()
    };
    let graph = zoo("mlp-2x32", &options)?;
    let x = numbers::<f64>(SAMPLES * graph.input().len());
    let u = numbers::<f64>(SAMPLES * graph.output().len());
    let (weights, v) = (Weights::draw(&graph, 7, 3), Weights::draw(&graph, 8, 3));
    let [found, want] = [Device::Cuda(ordinal), Device::Cpu]
        .map(|device| Network::on(graph.clone(), device).curvature_product(&weights, &v, &x, &u));
    Ok(distance(&found?.values.concat(), &want?.values.concat()))
}

fn dipole(name: &str, ordinal: usize) -> Result<f64, Fault> {
    const STEP: f64 = 100.0;
    let graph = network(name, "1x16x16").or_else(|_| network(name, "1x32x32"))?;
    let x = numbers::<f64>(graph.input().len());
    let card = Card {
        ordinal,
        precision: Precision::Full,
    };
    let mut networks = GpuNetworks::<f64>::dipole(&graph, STEP, Scalar::Logit(0), card)?;
    networks.draw(7, &[3])?;
    networks.set_points(x.clone())?;
    let mut answers = networks.answers(1)?;
    networks.answer(&mut answers, [0].into_iter())?;
    let mut found = vec![0.0; networks.length()];
    networks.fetch(&answers, &mut found)?;
    let weights = Weights::draw(&graph, 7, 3);
    let want = Dipole::new(&graph, STEP, Scalar::Logit(0))?.gradient(&weights, &x)?;
    Ok(distance(&found, &want))
}

/// Eigenvalues 2 − 2 cos(kπ/(n + 1)) of the second difference, in parts of the largest.
fn path(ordinal: usize) -> Result<f64, Fault> {
    let n = 300;
    let entry = |at: usize| match (at / n).abs_diff(at % n) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    };
    let matrix: Vec<f64> = (0..n * n).map(entry).collect();
    let found = Gpu::open(ordinal)?.eigen(&matrix, n)?;
    let found = found.ok_or("cuSOLVER (libcusolver) is not there")?;
    let angle = |k: usize| std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64;
    let want: Vec<f64> = (0..n).map(|k| 2.0 - 2.0 * angle(k).cos()).collect();
    Ok(distance(&found.values, &want))
}
