//! Products with the Hessian of a loss. Catches a wrong weight of the loss, a chunk left out or
//! counted twice, a buffer that is differentiated.

use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{Batch, BatchGradient, Loss, LossHessian};

fn graph(text: &str) -> Graph {
    parse_file(text, "net", &ZooOptions::default()).unwrap()
}

fn normal(name: &str, n: usize) -> Vec<f64> {
    let mut draws = vec![0.0_f32; n];
    Stream::new(5, 0, name).normal(1.0, &mut draws);
    draws.into_iter().map(f64::from).collect()
}

fn dot(a: &Weights<f64>, b: &Weights<f64>) -> f64 {
    let tensors = a.values.iter().zip(&b.values);
    tensors
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>())
        .sum()
}

/// Several chunks with a remainder (a task is at most 256 samples), every loss with a curvature.
#[test]
fn products_equal_differences_of_the_gradient() {
    let graph = graph(
        "input = [6]\nlayers = [{ op = \"dense\", features = 5 }, { op = \"tanh\" }, { op = \"dense\", features = 3 }]",
    );
    let n = 600;
    let x = normal("x", n * 6);
    let weights = Weights::<f64>::draw(&graph, 1, 0);
    let (u, v) = (
        Weights::<f64>::draw(&graph, 1, 1),
        Weights::<f64>::draw(&graph, 1, 2),
    );
    for loss in [
        Loss::Sse,
        Loss::Mse,
        Loss::CrossEntropy,
        Loss::SoftHinge {
            beta: 2.0,
            margin: 1.0,
        },
    ] {
        let mut y = vec![0.0; n * 3];
        for (i, row) in y.chunks_mut(3).enumerate() {
            loss.targets((i % 3) as u32, row);
        }
        let hessian = LossHessian::new(&graph, loss, &x, &y).unwrap();
        let product = hessian.product(&weights, &v).unwrap();

        let mut gradient = BatchGradient::new(&graph, loss.into(), n).unwrap();
        let mut along = |h: f64| -> f64 {
            let mut moved = weights.clone();
            for (w, v) in moved
                .values
                .iter_mut()
                .flatten()
                .zip(v.values.iter().flatten())
            {
                *w += h * v;
            }
            gradient
                .run(
                    &moved,
                    Batch {
                        x: &x,
                        y: &y,
                        origin: &[],
                        seed: 0,
                        step: 0,
                    },
                )
                .unwrap();
            let slices = (0..u.values.len()).map(|i| gradient.gradient(i));
            slices
                .zip(&u.values)
                .map(|(g, u)| g.iter().zip(u).map(|(g, u)| g * u).sum::<f64>())
                .sum()
        };
        // Fourth-order differences: h⁴ times a fifth derivative of order 1, against a Hessian of the loss's size.
        let h = 1e-3;
        let difference =
            (along(-2.0 * h) - 8.0 * along(-h) + 8.0 * along(h) - along(2.0 * h)) / (12.0 * h);
        let exact = dot(&u, &product);
        assert!(
            (exact - difference).abs() < 1e-8 * (1.0 + exact.abs()),
            "{loss}: {exact} instead of {difference}"
        );
        // H is symmetric.
        let other = dot(&v, &hessian.product(&weights, &u).unwrap());
        assert!(
            (exact - other).abs() < 1e-12 * (1.0 + exact.abs()),
            "{loss}: {exact} and {other}"
        );
    }
}

#[test]
fn buffers_are_constants_and_misfits_are_refused() {
    let graph =
        graph("input = [4]\nlayers = [{ op = \"batch-norm\" }, { op = \"dense\", features = 1 }]");
    let (x, y) = (normal("x", 12), normal("y", 3));
    let hessian = LossHessian::new(&graph, Loss::Mse, &x, &y).unwrap();
    let (weights, mut v) = (
        Weights::<f64>::draw(&graph, 0, 0),
        Weights::<f64>::draw(&graph, 0, 1),
    );
    let before = hessian.product(&weights, &v).unwrap();
    for (values, param) in v.values.iter_mut().zip(&graph.params) {
        if param.name.contains("running") {
            values.fill(f64::NAN);
        }
    }
    assert_eq!(hessian.product(&weights, &v).unwrap(), before);
    assert!(LossHessian::new(&graph, Loss::Mse, &x[..11], &y).is_err());
    assert!(LossHessian::new(&graph, Loss::Mse, &x, &y[..2]).is_err());
    assert!(LossHessian::<f64>::new(&graph, Loss::Mse, &[], &[]).is_err());
    assert!(
        hessian
            .product(&Weights { values: Vec::new() }, &before)
            .is_err()
    );
}
