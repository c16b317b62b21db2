//! The engine against recursions and symmetries.

use std::f64::consts::PI;

use polariscope_graph::{ZooOptions, zoo};
use polariscope_lens::{Fault, farthest};
use polariscope_nngp::{Kernel, Values, Wanted};

use super::{image_network, normal};
use crate::symmetry::{Element, Group, kernel_deviation};

/// Hidden layers of the recursion.
const LAYERS: usize = 3;

fn fcn(layers: usize, inputs: usize) -> Result<Kernel, Fault> {
    let options = ZooOptions {
        input: Some(inputs.to_string().parse()?),
        depth: Some(layers),
        parametrisation: Some("ntk:1.4142135623730951,0".parse()?),
        ..ZooOptions::default()
    };
    Ok(Kernel::new(&zoo("fcn", &options)?)?)
}

/// (K, Θ) of two samples of |x|² = 1 in the plane at an angle, w_std² = 2: every variance is 1, and with θ = acos ρ
/// ρ ← (sin θ + (π − θ)ρ)/π, Θ ← ρ + Θ(π − θ)/π (Cho and Saul 2009; Jacot et al. 2018).
fn recursion(angle: f64) -> [f64; 2] {
    let (mut rho, mut theta) = (angle.cos(), angle.cos());
    for _ in 0..LAYERS {
        let angle = rho.acos();
        let slope = (PI - angle) / PI;
        rho = (angle.sin() + (PI - angle) * rho) / PI;
        theta = rho + slope * theta;
    }
    [rho, theta]
}

fn beside_recursion(kind: usize) -> Result<f64, Fault> {
    let kernel = fcn(LAYERS, 2)?;
    let (mut found, mut want) = (Vec::new(), Vec::new());
    for degrees in [10, 30, 60, 90, 120, 170] {
        let angle = f64::from(degrees).to_radians();
        let values = kernel.between(Wanted::Both, &[1.0, 0.0], &[angle.cos(), angle.sin()])?;
        found.push([values.nngp[0], values.ntk.unwrap_or_default()[0]][kind]);
        want.push(recursion(angle)[kind]);
    }
    Ok(farthest(&found, &want))
}

/// K of three hidden layers.
pub fn recursion_nngp() -> Result<f64, Fault> {
    beside_recursion(0)
}

/// Θ of three hidden layers.
pub fn recursion_ntk() -> Result<f64, Fault> {
    beside_recursion(1)
}

/// Θ of one hidden layer at a small angle ε is (sin ε + 2(π − ε) cos ε)/π = 2 − ε/π − ε² + O(ε³).
pub fn nearly_equal() -> Result<f64, Fault> {
    let kernel = fcn(1, 2)?;
    let angle = 1e-7f64;
    let values = kernel.between(Wanted::Both, &[1.0, 0.0], &[angle.cos(), angle.sin()])?;
    let want = 2.0 - angle / PI - angle * angle;
    Ok((values.ntk.unwrap_or_default()[0] - want).abs())
}

/// The largest difference between kernels of samples with copies of themselves and their diagonal.
pub fn copies() -> Result<f64, Fault> {
    let kernel = Kernel::new(&image_network("cnn-gap")?)?;
    let x = normal("copies", 3 * 108);
    let own: Values<f64> = kernel.diagonal(Wanted::Both, &x)?;
    let pairs = kernel.between(Wanted::Both, &x, &x.clone())?;
    let diagonal: Vec<f64> = pairs.nngp.iter().step_by(4).copied().collect();
    Ok(farthest(&diagonal, &own.nngp))
}

/// LCN_∞ = VEC_∞.
pub fn local_is_shared() -> Result<f64, Fault> {
    let x = normal("local", 4 * 108);
    let [a, b] = ["lcn", "cnn-vec"].map(|name| -> Result<Values<f64>, Fault> {
        Ok(Kernel::new(&image_network(name)?)?.among(Wanted::Both, &x)?)
    });
    let (a, b) = (a?, b?);
    let all = |v: &Values<f64>| [&v.nngp[..], v.ntk.as_deref().unwrap_or_default()].concat();
    Ok(farthest(&all(&a), &all(&b)))
}

fn deviation(name: &str, group: Group) -> Result<f64, Fault> {
    let graph = image_network(name)?;
    let tau = Element::draw(group, graph.input(), 0, 0)?;
    let x = normal(name, 4 * 108);
    Ok(kernel_deviation(&Kernel::new(&graph)?, &x, &tau)?.largest())
}

/// Rotations of all inputs.
pub fn fcn_group() -> Result<f64, Fault> {
    deviation("fcn", Group::ALL)
}

/// Rotations of the channels, another at every position.
pub fn vec_group() -> Result<f64, Fault> {
    deviation("cnn-vec", Group::EACH_POSITION)
}

/// One rotation of the channels.
pub fn gap_group() -> Result<f64, Fault> {
    deviation("cnn-gap", Group::CHANNELS)
}
