//! How far training moves a network, by hand.

use polariscope_diff::Device;
use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_landscape::Start;
use polariscope_network::Weights;
use polariscope_train::{Labels, Samples};

/// f = v w x.
fn graph() -> Graph {
    let text = "input = [1]\nparametrisation = \"ntk\"\nlayers = [{ op = \"dense\", features = 1, bias = false }, { op = \"dense\", features = 1, bias = false }]";
    parse_file(text, "test.toml", &ZooOptions::default()).unwrap()
}

fn weights(w: f64, v: f64) -> Weights<f64> {
    Weights {
        values: vec![vec![w], vec![v]],
    }
}

fn samples(x: &[f32]) -> Samples<'_> {
    Samples {
        x,
        y: Labels::Classes(&[1, 0, 1, 0][..x.len()]),
    }
}

/// Θ(x, x′) = (v² + w²) x x′ goes from 2 x x′ to 5 x x′, w not at all and v from 1 to 2. With x = ±1 as the labels are,
/// Θ and YYᵀ are one matrix but for a factor.
#[test]
fn a_chain_of_two_weights() {
    let graph = graph();
    let sets = (samples(&[1.0, -1.0, 1.0, -1.0]), samples(&[3.0, 0.5]));
    let start = Start::new(Device::Cpu, &graph, &weights(1.0, 1.0), sets, 60).unwrap();
    let motion = start.motion(&weights(1.0, 2.0)).unwrap();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-14;
    assert!(near(motion.kernel, 1.5), "{}", motion.kernel);
    assert!(near(motion.weights, 0.5_f64.sqrt()));
    let names: Vec<&str> = motion
        .layers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!((motion.layers[0].1, motion.layers[1].1), (0.0, 1.0));
    assert!(near(motion.alignment[0], 1.0) && near(motion.alignment[1], 1.0));
    // Looked at where it started, nothing has moved.
    let still = start.motion(&weights(1.0, 1.0)).unwrap();
    assert_eq!((still.kernel, still.weights), (0.0, 0.0));
}

/// Only the first test samples count: the kernel of x = 3 and 0.5 and that of x = 3 alone change alike here, those of
/// labels x = (1, −1, 2, −2) and of their first two do not: alignment is 1 on two, 9/10 on four.
#[test]
fn on_the_first_samples() {
    let graph = graph();
    let train = samples(&[1.0, -1.0, 2.0, -2.0]);
    let aligned = |points| {
        let start = Start::new(
            Device::Cpu,
            &graph,
            &weights(1.0, 1.0),
            (train, train),
            points,
        );
        start.unwrap().motion(&weights(1.0, 1.0)).unwrap().alignment[0]
    };
    assert!((aligned(2) - 1.0).abs() < 1e-14);
    // cos = (x·y)²/(‖x‖² ‖y‖²) = 36/(10 · 4).
    assert!((aligned(4) - 0.9).abs() < 1e-14);
}
