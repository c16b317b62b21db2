//! What takes long is cut to seconds: by the size of the work alone, so that the same question has the same answer on
//! every machine.

use polariscope_diff::Device;
use polariscope_graph::{Graph, multiplications};

/// Seconds of training for all networks, where steps are not asked for.
const TRAINING: f64 = 240.0;
/// Fewest steps of a network then, and most.
const STEPS: (f64, f64) = (50.0, 5000.0);
/// Seconds of frozen kernels.
pub(super) const FROZEN: f64 = 40.0;
/// Seconds of kernels on a few points.
pub(super) const POINTS: f64 = 30.0;
/// Seconds of products with Hessians.
pub(super) const PRODUCTS: f64 = 60.0;
/// Seconds of ranks.
pub(super) const RANKS: f64 = 20.0;

/// Multiplications in f64 a second, roughly: of two cores, of a GPU in a data centre.
fn speed(device: Device) -> f64 {
    match device {
        Device::Cpu => 3e10,
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

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;

    /// 3 · 300 passes of 317,400 and of 556 million multiplications, five networks of each.
    #[test]
    fn small_networks_have_all_steps_and_large_ones_some() {
        let of = |name: &str, device| {
            let options = ZooOptions {
                input: Some("3x32x32".parse().unwrap()),
                outputs: Some(10),
                ..ZooOptions::default()
            };
            steps(device, &zoo(name, &options).unwrap(), 300, 5)
        };
        assert_eq!(of("mlp-1x10", Device::Cpu), 5000);
        assert_eq!(of("resnet18", Device::Cpu), 50);
        let gpu = of("resnet18", Device::Cuda(0));
        assert!((60..150).contains(&gpu), "{gpu}");
        assert_eq!(pieces(Device::Cpu, 2.0, 1e10), 6);
    }
}
