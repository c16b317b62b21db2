//! Controls of the lenses on symmetry.

use polariscope_data::Action;
use polariscope_graph::{ZooOptions, zoo};
use polariscope_lens::{
    Comparison, Control, Device, Fault, Group, Quiet, Setup, comparison, control,
};
use polariscope_train::Problem;

use crate::equivariance::{self, Cell};
use crate::stability::{self, Network};
use crate::{Learnt, Subject, noise};

/// Those of the lenses.
pub const CONTROLS: Group = Group {
    name: "symmetry",
    controls: TABLE,
};

/// The table. Nothing here is sampled; what is left is rounding.
#[rustfmt::skip]
const TABLE: &[Control] = &[
    control("linear network: power of G in the size of the noise", 2.0, 1e-10, linear),
    control("p4-cnn: change of the outputs by a quarter turn, over their norm", 0.0, 1e-13, || outputs("p4-cnn", "turn:90")),
    control("p4m-cnn: change by a flip", 0.0, 1e-13, || outputs("p4m-cnn", "flip")),
    control("cnn-gap: change by a cyclic shift", 0.0, 1e-13, || outputs("cnn-gap", "cyclic:5")),
    control("lenet: error of the first pool under a shift by 2, inside", 0.0, 1e-12, interior),
];

/// With a GPU.
pub const COMPARISONS: &[Comparison] = &[comparison(
    "lenet: R on a GPU less R on the processor",
    1e-9,
    device,
)];

fn subject(network: &str, input: &str) -> Result<Subject<f64>, Fault> {
    let input = input.parse()?;
    let graph = zoo(network, &ZooOptions::with_input(input))?;
    let data = noise(input, 24, 0);
    Ok(Subject {
        problem: Problem { graph, data },
        learnt: Learnt::Nothing,
    })
}

fn stable(network: &str, device: Device) -> Result<Network, Fault> {
    let question = stability::Question {
        setup: Setup {
            device,
            ..Setup::default()
        },
        images: 24,
        ..stability::Question::default()
    };
    let found = stability::answer(&subject(network, "1x16x16")?, &question, &mut Quiet)?;
    let network = found.summary.networks.into_iter().next();
    network.ok_or_else(|| "no network was looked at".into())
}

fn linear() -> Result<f64, Fault> {
    let network = stable("logreg", Device::Cpu)?;
    let [first, .., last] = &network.sweep[..] else {
        return Err("one displacement has no power".into());
    };
    Ok((last.noise.value / first.noise.value).ln() / (last.radius / first.radius).ln())
}

fn device(number: usize) -> Result<f64, Fault> {
    let [cpu, gpu] = [Device::Cpu, Device::Cuda(number)].map(|device| stable("lenet", device));
    Ok(gpu?.asked().relative.value - cpu?.asked().relative.value)
}

/// The layers of a network under a transformation, the outputs last.
fn cells(network: &str, input: &str, action: &str) -> Result<Vec<Cell>, Fault> {
    let action: Action = action.parse()?;
    let question = equivariance::Question {
        images: 24,
        under: vec![action],
        ..equivariance::Question::default()
    };
    let found = equivariance::answer(&subject(network, input)?, &question, &mut Quiet)?;
    let under = found.summary.networks.into_iter().flat_map(|n| n.under);
    Ok(under.flat_map(|u| u.layers).flatten().collect())
}

fn outputs(network: &str, action: &str) -> Result<f64, Fault> {
    let cells = cells(network, "1x12x12", action)?;
    cells
        .last()
        .map(|c| c.of_norm)
        .ok_or_else(|| "no layer was looked at".into())
}

fn interior() -> Result<f64, Fault> {
    let cells = cells("lenet", "3x32x32", "shift:2")?;
    let pool = cells.iter().rfind(|c| c.positions == 14 * 14);
    let error = pool.and_then(|c| c.interior);
    error.ok_or_else(|| "no map of 14x14".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_passes() {
        for control in TABLE {
            let found = (control.measure)().unwrap();
            let off = (found - control.expected).abs();
            assert!(off <= control.tolerance, "{}: {found}", control.claim);
        }
    }
}
