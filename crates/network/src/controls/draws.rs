//! Random numbers follow their laws and depend on nothing but their names.

use polariscope_graph::ZooOptions;
use polariscope_lens::Fault;
use polariscope_random::Stream;

use super::named;
use crate::Weights;

/// Numbers behind each moment.
pub const COUNT: usize = 1 << 20;

/// Mean of `f` over the first draws of a law.
fn moment(draw: fn(&Stream, &mut [f32]), f: fn(f64) -> f64) -> f64 {
    let mut numbers = vec![0.0; COUNT];
    draw(&Stream::new(0, 0, "control"), &mut numbers);
    numbers.iter().map(|&x| f(f64::from(x))).sum::<f64>() / COUNT as f64
}

pub fn normal_variance() -> Result<f64, Fault> {
    Ok(moment(|stream, out| stream.normal(1.0, out), |z| z * z))
}

pub fn normal_kurtosis() -> Result<f64, Fault> {
    Ok(moment(|stream, out| stream.normal(1.0, out), |z| z.powi(4)))
}

pub fn uniform_variance() -> Result<f64, Fault> {
    Ok(moment(|stream, out| stream.uniform(1.0, out), |u| u * u))
}

/// Draws network 3 first and last.
pub fn order() -> Result<f64, Fault> {
    let graph = named("lenet", ZooOptions::default())?;
    let alone = Weights::<f32>::draw(&graph, 7, 3);
    let mut after = Weights::<f32>::zeros(&graph);
    for index in 0..=3 {
        after.redraw(&graph, 7, index);
    }
    let pairs = alone
        .values
        .iter()
        .flatten()
        .zip(after.values.iter().flatten());
    Ok(pairs.filter(|(a, b)| a.to_bits() != b.to_bits()).count() as f64)
}
