//! The evolution of a geometry on a GPU against that on the CPU (`cargo xtask test-cuda`).
//!
//! Bug class: networks that share a session and see each other's weights, samples beyond the first that are taken at a
//! time, a tangent that misses a term on the GPU.

use polariscope_diff::Device;
use polariscope_geometry::{EvolutionConfig, Output, Probe, evolution, finite_steps};
use polariscope_graph::{ZooOptions, zoo};
use polariscope_network::Network;
use polariscope_random::Stream;
use polariscope_train::{Labels, Loss, Samples};

#[track_caller]
fn close(what: &str, found: &[f64], want: &[f64]) {
    assert_eq!(found.len(), want.len());
    let largest = want.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    assert!(largest > 0.0, "{what}");
    for (i, (a, b)) in found.iter().zip(want).enumerate() {
        let error = (a - b).abs() / largest;
        assert!(error <= 1e-10, "{what}, number {i}: {a} for {b}");
    }
}

fn agree(name: &str, input: &str, samples: usize, output: Output, loss: Loss) {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        ..ZooOptions::default()
    };
    let graph = zoo(name, &options).unwrap();
    let mut x = vec![0.0; samples * graph.input().len()];
    Stream::new(3, 0, "x").normal(1.0, &mut x);
    let outputs = graph.output().len() as u32;
    let y: Vec<u32> = (0..samples as u32).map(|i| i * 7 % outputs).collect();
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&y),
    };
    let config = EvolutionConfig {
        seed: 7,
        networks: 35,
        probes: 3,
        probe: Probe::Gauss { sigma: 1.0 },
        output,
        loss,
    };
    let [cpu, gpu] = [Device::Cpu, Device::Cuda(0)].map(|device| {
        let network = Network::<f64>::on(graph.clone(), device);
        let found = evolution(&network, &config, samples, None, &mut |_, _| {}).unwrap();
        // One after the other or together: nothing depends on who comes first.
        let again = evolution(&network, &config, samples, None, &mut |_, _| {}).unwrap();
        assert_eq!(found, again);
        let steps = finite_steps(&network, &config, samples, 2, &[1e-3]).unwrap();
        (found, steps[0].error)
    });
    close("Δ", &gpu.0.delta, &cpu.0.delta);
    close("G", &gpu.0.geometry, &cpu.0.geometry);
    assert!((gpu.1 - cpu.1).abs() <= 1e-6 * cpu.1);
}

#[test]
#[ignore = "needs a GPU"]
fn lenet() {
    agree("lenet", "1x32x32", 40, Output::Logit(0), Loss::Sse);
}

/// Batch norm in evaluation mode, and a loss that has no mirror image.
#[test]
#[ignore = "needs a GPU"]
fn resnet() {
    agree("resnet18", "3x8x8", 9, Output::Mean, Loss::CrossEntropy);
}

/// More samples than are taken at a time, every output.
#[test]
#[ignore = "needs a GPU"]
fn mlp() {
    agree("mlp-2x16", "1x4x4", 1500, Output::All, Loss::Sse);
}
