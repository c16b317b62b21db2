//! The gradient of a batch: chunks, dropout, the α-model.

use polariscope_graph::{Graph, ZooOptions, parse_file, zoo};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{Batch, BatchGradient, Loss, Objective, Origin, TrainError};

fn graph(text: &str) -> Graph {
    parse_file(text, "test.toml", &ZooOptions::default()).unwrap()
}

fn normals(name: &str, n: usize) -> Vec<f64> {
    let mut x = vec![0.0; n];
    Stream::new(3, 0, name).normal(1.0, &mut x);
    x.iter().map(|&x| f64::from(x)).collect()
}

fn batch<'a>(x: &'a [f64], y: &'a [f64]) -> Batch<'a, f64> {
    Batch {
        x,
        y,
        origin: &[],
        seed: 1,
        step: 7,
    }
}

/// A batch that is cut into chunks (the last one smaller), one or several a lane, has the mean of its samples'
/// gradients.
#[test]
fn chunks_add_up() {
    let options = ZooOptions {
        input: Some("1x32x32".parse().unwrap()),
        outputs: Some(3),
        ..ZooOptions::default()
    };
    let graph = zoo("lenet", &options).unwrap();
    let weights = Weights::<f64>::draw(&graph, 0, 0);
    for n in [37, 600] {
        let (x, y) = (normals("x", n * 1024), normals("y", n * 3));
        let mut whole = BatchGradient::new(&graph, Loss::Mse.into(), n).unwrap();
        whole.run(&weights, batch(&x, &y)).unwrap();
        assert!(
            whole.outputs().count() > 1,
            "the batch is one chunk: the test shows nothing"
        );
        let mut one = BatchGradient::new(&graph, Loss::Mse.into(), 1).unwrap();
        let mut sum: Vec<Vec<f64>> = weights.values.iter().map(|v| vec![0.0; v.len()]).collect();
        let (mut loss, mut outputs) = (0.0, Vec::new());
        for (x, y) in x.chunks(1024).zip(y.chunks(3)) {
            one.run(&weights, batch(x, y)).unwrap();
            loss += one.loss() / n as f64;
            outputs.extend(one.outputs().flatten().copied());
            for (i, sum) in sum.iter_mut().enumerate() {
                sum.iter_mut()
                    .zip(one.gradient(i))
                    .for_each(|(s, g)| *s += g / n as f64);
            }
        }
        assert!((whole.loss() - loss).abs() < 1e-13 * loss);
        for (a, b) in whole.outputs().flatten().zip(&outputs) {
            assert!((a - b).abs() < 1e-13);
        }
        for (i, sum) in sum.iter().enumerate() {
            for (a, b) in whole.gradient(i).iter().zip(sum) {
                assert!((a - b).abs() < 1e-13, "{}: {a} {b}", graph.params[i].name);
            }
        }
    }
}

/// f = Σ mask over 2000 ones: mean 2000, variance 2000 r/(1−r) for every sample; another step, another mask.
#[test]
fn dropout_keeps_the_mean() {
    let graph = graph(
        "input = [2000]\nlayers = [{ op = \"dropout\", rate = 0.3 }, { op = \"dense\", features = 1, bias = false }]",
    );
    let weights = Weights {
        values: vec![vec![1.0; 2000]],
    };
    let n = 50;
    let (x, y) = (vec![1.0; n * 2000], vec![0.0; n]);
    let mut gradient = BatchGradient::new(&graph, Loss::Mse.into(), n).unwrap();
    assert!(gradient.is_random());
    let mut run = |step| {
        gradient
            .run(
                &weights,
                Batch {
                    step,
                    ..batch(&x, &y)
                },
            )
            .unwrap();
        gradient.outputs().flatten().copied().collect::<Vec<f64>>()
    };
    let (f, again, other) = (run(7), run(7), run(8));
    assert_eq!(f, again);
    assert_ne!(f, other);
    let variance = 2000.0 * 0.3 / 0.7;
    let mean = f.iter().sum::<f64>() / n as f64;
    assert!(
        (mean - 2000.0).abs() < 4.5 * (variance / n as f64).sqrt(),
        "{mean}"
    );
    let spread = f.iter().map(|f| (f - 2000.0).powi(2)).sum::<f64>() / n as f64;
    // A chi-square of n degrees: relative standard deviation √(2/n).
    assert!(
        (spread / variance - 1.0).abs() < 4.5 * (2.0 / n as f64).sqrt(),
        "{spread}"
    );
}

/// L = (1/α²) ℓ(α (f − f₀), y): the gradient is (1/α) Σ ℓ′ ∇f.
#[test]
fn alpha_model_by_hand() {
    let graph = graph("input = [1]\nlayers = [{ op = \"dense\", features = 1, bias = false }]");
    let weights = Weights {
        values: vec![vec![3.0]],
    };
    let objective = Objective {
        loss: Loss::Sse,
        alpha: 4.0,
        origin: Origin::Initial,
    };
    let mut gradient = BatchGradient::<f64>::new(&graph, objective, 1).unwrap();
    // f = 6, f₀ = 5, F = 4, y = 1: L = ½·9/16, dL/dw = (F − y) x/α.
    gradient
        .run(
            &weights,
            Batch {
                origin: &[5.0],
                ..batch(&[2.0], &[1.0])
            },
        )
        .unwrap();
    assert_eq!(gradient.loss(), 0.5 * 9.0 / 16.0);
    assert_eq!(gradient.gradient(0), [3.0 * 2.0 / 4.0]);
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let constant = graph(
        "input = [2]\nlayers = [{ op = \"residual\", branch = [{ op = \"dense\", features = 2 }, { op = \"scale\", by = 0.0 }] }]",
    );
    let result = BatchGradient::<f32>::new(&constant, Loss::Mse.into(), 3);
    assert!(matches!(
        result.err(),
        Some(TrainError::NothingToTrain { .. })
    ));
    let empty = graph("input = [2]\nlayers = [{ op = \"relu\" }]");
    let result = BatchGradient::<f32>::new(&empty, Loss::Mse.into(), 3);
    assert!(matches!(
        result.err(),
        Some(TrainError::NothingToTrain { .. })
    ));
    let norm =
        graph("input = [2]\nlayers = [{ op = \"batch-norm\" }, { op = \"dense\", features = 1 }]");
    let error = BatchGradient::<f32>::new(&norm, Loss::Mse.into(), 1)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("layer 0") && error.contains("batch of 1"),
        "{error}"
    );
}
