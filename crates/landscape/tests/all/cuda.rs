//! Descents on a GPU against those of the processor (`cargo xtask test-cuda`).

use polariscope_diff::Device;
use polariscope_graph::{Graph, Shape, ZooOptions, zoo};
use polariscope_landscape::descent::{Descent, Fitted, Stop, descend};
use polariscope_landscape::gaps::{Gaps, signs};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{Control, Evaluator, Labels, Loss, Origin, Samples};

const DIMENSIONS: usize = 8;

fn network(name: &str, activation: &str, outputs: usize) -> Graph {
    let options = ZooOptions {
        input: Some(Shape::Vector {
            features: DIMENSIONS,
        }),
        outputs: Some(outputs),
        activation: Some(activation.parse().unwrap()),
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

fn patterns(count: usize, classes: u32) -> (Vec<f32>, Vec<u32>) {
    let mut x = vec![0.0; count * DIMENSIONS];
    Stream::new(5, 0, "x").normal(1.0, &mut x);
    let y = (0..count as u32).map(|i| i * 7 % 5 % classes).collect();
    (x, y)
}

fn both(graph: &Graph, descent: &Descent, train: Samples) -> [(Fitted<f64>, Vec<u64>); 2] {
    [Device::Cpu, Device::Cuda(0)].map(|device| {
        let weights = Weights::draw(graph, 2, 0);
        let mut seen = Vec::new();
        let fitted = descend(device, graph, descent, train, weights, |s| {
            seen.push(s.step);
            Control::Continue
        });
        (fitted.unwrap(), seen)
    })
}

fn difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
}

/// The same steps at the same falling rate, with three classes and outputs that are measured from the start.
#[test]
#[ignore = "needs a GPU"]
fn descents_make_the_same_steps() {
    let graph = network("mlp-2x12", "tanh", 3);
    let (x, y) = patterns(60, 3);
    let train = Samples {
        x: &x,
        y: Labels::Classes(&y),
    };
    let descent = Descent {
        alpha: 2.0,
        origin: Origin::Initial,
        rate: 3e-3,
        decay_every: Some(60),
        floor: 1e-4,
        max_steps: 150,
        ..Descent::default()
    };
    let [(cpu, _), (gpu, seen)] = both(&graph, &descent, train);
    let found = difference(&gpu.weights.values, &cpu.weights.values);
    println!(
        "{} steps, {:?}, loss {} and {}, weights differ by {found:.1e}",
        gpu.steps, gpu.gaps, gpu.loss, cpu.loss
    );
    assert_eq!((gpu.steps, gpu.stop), (150, Stop::Steps));
    assert_eq!(cpu.steps, gpu.steps);
    assert_eq!(gpu.gaps, cpu.gaps);
    assert!((gpu.loss - cpu.loss).abs() <= 1e-9 * cpu.loss);
    assert!(found <= 1e-8);
    assert!(difference(&[gpu.outputs], &[cpu.outputs]) <= 1e-8);
    assert_eq!(seen, [0, 150]);
}

/// It stops by itself between two looks, where every margin is met and a step before was not: near where the processor stops.
#[test]
#[ignore = "needs a GPU"]
fn a_descent_stops_at_the_margin() {
    let graph = network("mlp-2x24", "relu", 1);
    let (x, y) = patterns(100, 2);
    let train = Samples {
        x: &x,
        y: Labels::Classes(&y),
    };
    let descent = Descent::default();
    let [(cpu, _), (gpu, _)] = both(&graph, &descent, train);
    println!("{} and {} steps, loss {:e}", gpu.steps, cpu.steps, gpu.loss);
    assert_eq!((gpu.stop, cpu.stop), (Stop::Margin, Stop::Margin));
    let apart = gpu.steps.abs_diff(cpu.steps) as f64;
    assert!(apart <= 0.05 * cpu.steps as f64);
    let evaluator = Evaluator::<f64>::new(&graph, descent.loss);
    let f = evaluator.outputs(&gpu.weights, &x).unwrap();
    let gaps = Gaps::of(descent.margin, 1, &f, &signs(&train, 1));
    assert_eq!((gaps, gpu.gaps.unsatisfied), (gpu.gaps, 0));
    assert_eq!(gpu.gaps.misclassified, 0);
}

/// What is no number is told.
#[test]
#[ignore = "needs a GPU"]
fn a_descent_that_diverges() {
    let graph = network("mlp-2x12", "relu", 1);
    let (x, y) = patterns(20, 2);
    let train = Samples {
        x: &x,
        y: Labels::Classes(&y),
    };
    let descent = Descent {
        rate: 1e200,
        loss: Loss::Hinge {
            power: 2.0,
            margin: 0.5,
        },
        ..Descent::default()
    };
    let ends = [Device::Cpu, Device::Cuda(0)].map(|device| {
        let weights = Weights::<f64>::draw(&graph, 2, 0);
        let end = descend(device, &graph, &descent, train, weights, |_| {
            Control::Continue
        });
        end.map(|fitted| fitted.steps).map_err(|e| e.to_string())
    });
    println!("{ends:?}");
    assert!(ends[0].is_err() && ends[1].is_err());
}
