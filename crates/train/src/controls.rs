//! Training on a GPU against training on the CPU.

use polariscope_lens::{Comparison, Device, Fault, Place, comparison};
use polariscope_network::controls::device::{distance, network, numbers};

/// Controls of the networks that are trained.
pub use polariscope_network::controls as networks;

use crate::{BatchSize, Config, Labels, Length, Quiet, Samples, State, Trainer};

/// Differences are in parts of the largest number.
#[rustfmt::skip]
pub const COMPARISONS: &[Comparison] = &[
    comparison("LeNet, weights after 20 steps, f64", 1e-11, |n| training("lenet", 20, n)),
    // Its differences double with every step.
    comparison("ResNet-18, weights after 5 steps, f64", 1e-11, |n| training("resnet18", 5, n)),
];

/// SGD with momentum in batches of 8.
fn training(name: &str, steps: u64, ordinal: usize) -> Result<f64, Fault> {
    const SAMPLES: usize = 60;
    let graph = network(name, "1x32x32")?;
    let x = numbers::<f32>(SAMPLES * graph.input().len());
    let y: Vec<u32> = (0..SAMPLES as u32).map(|i| i * i % 10).collect();
    let config = Config {
        batch_size: BatchSize::Of(8),
        length: Length::Steps(steps),
        ..Config::default()
    };
    let trained = |device| -> Result<Vec<f64>, Fault> {
        let set = Samples {
            x: &x,
            y: Labels::Classes(&y),
        };
        let place = Place {
            device,
            ..Place::default()
        };
        let state = State::<f64>::new(&graph, &config, 3);
        let mut trainer = Trainer::on(place, &graph, &config, (set, None), state)?;
        trainer.run(&mut Quiet)?;
        Ok(trainer.into_state().weights.values.concat())
    };
    Ok(distance(
        &trained(Device::Cuda(ordinal))?,
        &trained(Device::Cpu)?,
    ))
}
