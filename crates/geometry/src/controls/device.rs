//! A GPU against the CPU: sums over networks.

use polariscope_lens::{Comparison, Device, Fault, Place, comparison};
use polariscope_network::controls::device::{distance, network};

use crate::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampler, Shard,
};

/// Differences are in parts of the largest number.
pub const COMPARISONS: &[Comparison] =
    &[comparison("LeNet, G of 64 networks, f64", 1e-9, geometry)];

fn geometry(ordinal: usize) -> Result<f64, Fault> {
    let graph = network("lenet", "1x32x32")?;
    let sampled = |device| -> Result<Vec<f64>, Fault> {
        let config = SampleConfig {
            seed: 7,
            method: Method::Sample,
            gradient: Gradient::Local,
            probe: Probe::Gauss { sigma: 1.0 },
            probes: 2,
            output: Output::Logit(0),
            readouts: Readouts::Own,
            centring: Centring::None,
            place: Place {
                device,
                ..Place::default()
            },
        };
        let limit = Limit::Networks(64);
        let sampler = Sampler::<f64>::new(&graph, config, Vec::new(), limit, Shard::WHOLE)?;
        let mut state = sampler.start();
        while !sampler.done(&state) {
            sampler.advance(&mut state)?;
        }
        Ok(sampler.finish(state)?.matrix().to_dense())
    };
    Ok(distance(
        &sampled(Device::Cuda(ordinal))?,
        &sampled(Device::Cpu)?,
    ))
}
