//! Kernels of finite networks and twin runs on a GPU against those on the CPU (`cargo xtask test-cuda`).
//!
//! Bug class: rows that meet the wrong columns where blocks or outputs change, a gradient that is not the sample's own.

use polariscope_diff::Device;
use polariscope_empirical::{Float, MEMORY, Outputs, among, between};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_kernels::symmetry::{Run, distance, train};
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_train::{BatchSize, Config, Length};

const GPU: Device = Device::Cuda(0);

fn network(name: &str, input: &str, outputs: usize) -> Graph {
    let options = ZooOptions {
        input: Some(input.parse().unwrap()),
        outputs: Some(outputs),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

fn normal<T: Float>(n: usize) -> Vec<T> {
    let mut x = vec![0.0_f32; n];
    Stream::new(3, 0, "x").normal(1.0, &mut x);
    x.into_iter().map(|x| T::from_f64(f64::from(x))).collect()
}

/// Among n samples, and between the first third of them and the others.
fn kernels<T: Float>(graph: &Graph, n: usize, outputs: Outputs, device: Device) -> [Vec<f64>; 2] {
    let network = Network::<T>::on(graph.clone(), device);
    let weights = Weights::draw(graph, 0, 2);
    let x = normal::<T>(n * graph.input().len());
    let (left, right) = x.split_at(n / 3 * graph.input().len());
    [
        among(&network, &weights, &x, outputs, MEMORY).unwrap(),
        between(&network, &weights, left, right, outputs, MEMORY).unwrap(),
    ]
}

#[track_caller]
fn close(name: &str, found: [Vec<f64>; 2], want: &[Vec<f64>; 2], tolerance: f64) {
    for (found, want) in found.iter().zip(want) {
        assert_eq!(found.len(), want.len());
        let largest = want.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert!(largest > 0.0);
        for (i, (a, b)) in found.iter().zip(want).enumerate() {
            let error = (a - b).abs() / largest;
            assert!(error <= tolerance, "{name}, number {i}: {a} for {b}");
        }
    }
}

/// Convolutions, batch norm, attention, locally connected layers, and more samples than a block takes.
#[test]
#[ignore = "needs a GPU"]
fn tangent_kernels() {
    for (name, input, outputs, n) in [
        ("lenet", "1x32x32", 3, 14),
        ("resnet18", "3x8x8", 2, 7),
        ("vit", "3x16x16", 2, 7),
        ("lcn", "3x6x6", 2, 9),
        ("mlp-2x8", "1x3x3", 2, 1200),
    ] {
        let graph = network(name, input, outputs);
        for outputs in [Outputs::Mean, Outputs::All] {
            let want = kernels::<f64>(&graph, n, outputs, Device::Cpu);
            close(name, kernels::<f64>(&graph, n, outputs, GPU), &want, 1e-11);
            close(name, kernels::<f32>(&graph, n, outputs, GPU), &want, 1e-5);
        }
    }
}

/// Runs of `symmetry` end at the same predictions.
#[test]
#[ignore = "needs a GPU"]
fn runs() {
    let graph = network("cnn-vec", "3x6x6", 3);
    let x = normal::<f64>(12 * graph.input().len());
    let labels: Vec<u32> = (0..12).map(|i| i % 3).collect();
    let config = Config {
        batch_size: BatchSize::Of(5),
        length: Length::Steps(20),
        ..Config::default()
    };
    let start = Weights::<f64>::draw(&graph, 2, 0);
    let [cpu, gpu] = [Device::Cpu, GPU].map(|device| {
        let run = Run {
            x: &x,
            labels: &labels,
            config: &config,
            device,
        };
        train(&graph, start.clone(), run).unwrap()
    });
    let network = Network::on(graph.clone(), GPU);
    let moved = distance(&network, (&start, &x), (&cpu, &x)).unwrap();
    let apart = distance(&network, (&cpu, &x), (&gpu, &x)).unwrap();
    assert!(moved > 1e-3, "{moved}");
    assert!(apart <= 1e-10, "{apart}");
}
