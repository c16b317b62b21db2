//! Networks on a GPU against those on the CPU (`cargo xtask test-cuda`): weights to the last bit, gradients within
//! rounding.

use polariscope_diff::{Number, Precision};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_network::{Card, Dipole, GpuNetworks, Network, Scalar, Weights};

const CARD: Card = Card {
    ordinal: 0,
    precision: Precision::Full,
};

fn network(name: &str, input: &str) -> Graph {
    let input = Some(input.parse().unwrap());
    let options = ZooOptions {
        input,
        ..ZooOptions::default()
    };
    zoo(name, &options).unwrap()
}

/// The answer of GPU networks for network 5 of seed 3, which is not alone.
fn answer<T: Number>(mut gpu_networks: GpuNetworks<T>, x: &[T], u: Option<&[T]>) -> Vec<T> {
    let networks = &[9, 5][..gpu_networks.together().min(2)];
    let networks = match networks {
        [_] => &[5],
        both => both,
    };
    let mut answers = gpu_networks.answers(3).unwrap();
    gpu_networks.draw(3, networks).unwrap();
    gpu_networks.set_points(x.repeat(networks.len())).unwrap();
    for slot in 0..networks.len() {
        if let Some(u) = u {
            gpu_networks.set_cotangents(slot, u).unwrap();
        }
    }
    let places = (0..networks.len()).map(|slot| 3 - networks.len() + slot);
    gpu_networks.answer(&mut answers, places).unwrap();
    let mut out = vec![T::ZERO; 3 * gpu_networks.length()];
    gpu_networks.fetch(&answers, &mut out).unwrap();
    out.split_off(2 * gpu_networks.length())
}

fn point<T: Number>(n: usize) -> Vec<T> {
    (0..n)
        .map(|i| T::from_f64((2.3 * i as f64 + 0.1).cos()))
        .collect()
}

#[track_caller]
fn close<T: Number>(found: &[T], want: &[T], tolerance: f64) {
    assert_eq!(found.len(), want.len());
    let largest = want.iter().fold(0.0, |m: f64, x| m.max(x.to_f64().abs()));
    assert!(largest > 0.0);
    for (i, (a, b)) in found.iter().zip(want).enumerate() {
        let error = (a.to_f64() - b.to_f64()).abs() / largest;
        assert!(error <= tolerance, "number {i}: {a} for {b}");
    }
}

/// The gradient of a linear map of one output is its weights, times one and added to zeros: bits stay.
fn weights_bit_for_bit<T: Number>() {
    for (name, parametrisation) in [("logreg", "pytorch"), ("logreg", "he")] {
        let graph = zoo(
            name,
            &ZooOptions {
                input: Some("3x37x41".parse().unwrap()),
                outputs: Some(1),
                parametrisation: Some(parametrisation.parse().unwrap()),
                ..ZooOptions::default()
            },
        )
        .unwrap();
        let gpu_networks = GpuNetworks::<T>::input_vjp(&graph, 1, CARD).unwrap();
        let found = answer(gpu_networks, &point(graph.input().len()), Some(&[T::ONE]));
        let want = Weights::<T>::draw(&graph, 3, 5);
        assert_eq!(found, want.values[0], "{parametrisation}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn weights() {
    weights_bit_for_bit::<f32>();
    weights_bit_for_bit::<f64>();
}

/// f64: sums in another order. f32: relu and max-pool may choose otherwise within rounding, which few inputs see.
#[test]
#[ignore = "needs a GPU"]
fn dipoles() {
    for (name, input) in [
        ("lenet", "1x32x32"),
        ("resnet18", "1x16x16"),
        ("densenet121", "1x16x16"),
        ("mlp-2x64", "1x8x8"),
        ("p4m-cnn", "1x12x12"),
    ] {
        let graph = network(name, input);
        let n = graph.input().len();
        let scalar = Scalar::Logit(0);
        let weights = Weights::<f64>::draw(&graph, 3, 5);
        let dipole = Dipole::<f64>::new(&graph, 100.0, scalar).unwrap();
        let want = dipole.gradient(&weights, &point(n)).unwrap();
        let there = GpuNetworks::dipole(&graph, 100.0, scalar, CARD).unwrap();
        close(&answer::<f64>(there, &point(n), None), &want, 1e-11);
        let there = GpuNetworks::dipole(&graph, 100.0, scalar, CARD).unwrap();
        let single: Vec<f64> = answer::<f32>(there, &point(n), None)
            .iter()
            .map(|&x| f64::from(x))
            .collect();
        close(&single, &want, 1e-4);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn input_gradients() {
    for (name, input) in [
        ("lenet", "3x32x32"),
        ("resnet18", "3x32x32"),
        ("vit", "3x32x32"),
        ("p4-cnn", "3x32x32"),
        ("p4m-cnn", "1x28x28"),
    ] {
        let graph = network(name, input);
        let (n, outputs) = (graph.input().len(), graph.output().len());
        let rows = 6;
        let (x, u) = (point::<f64>(rows * n), point::<f64>(rows * outputs));
        let weights = Weights::<f64>::draw(&graph, 3, 5);
        let want = Network::new(graph.clone())
            .input_vjp(&weights, &x, &u)
            .unwrap();
        let there = GpuNetworks::input_vjp(&graph, rows, CARD).unwrap();
        close(&answer(there, &x, Some(&u)), &want, 1e-11);
    }
}
