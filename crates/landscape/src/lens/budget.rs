//! What takes long is cut to seconds: by the size of the work alone, so that the same question has the same answer on
//! every machine.

use polariscope_diff::Device;
use polariscope_graph::{Graph, multiplications};

/// Seconds of training for all networks, where steps are not asked for.
const TRAINING: f64 = 180.0;
/// Most steps of a network then, and fewest.
const STEPS: (f64, f64) = (50.0, 5000.0);
/// Seconds of frozen kernels, of kernels on a few points, of products with Hessians, of ranks.
pub(super) const FROZEN: f64 = 100.0;
pub(super) const POINTS: f64 = 60.0;
pub(super) const PRODUCTS: f64 = 60.0;
pub(super) const RANKS: f64 = 60.0;

/// Multiplications in f64 a second, roughly: of two cores, of a GPU in a data centre.
fn speed(device: Device) -> f64 {
    match device {
        Device::Cpu => 1e10,
        Device::Cuda(_) => 1e12,
    }
}

/// How many pieces of so many multiplications go into some seconds.
pub(super) fn pieces(device: Device, seconds: f64, one: f64) -> usize {
    (speed(device) * seconds / one.max(1.0)) as usize
}

/// Steps of each network: forwards, and twice that backwards, for every sample.
pub(super) fn steps(device: Device, graph: &Graph, samples: usize, networks: usize) -> u64 {
    let step = 3.0 * multiplications(graph) as f64 * samples as f64;
    let afforded = pieces(device, TRAINING, step * networks as f64);
    (afforded as f64).clamp(STEPS.0, STEPS.1) as u64
}
