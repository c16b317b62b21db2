//! Exact facts of the Hessian and its parts.

use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_landscape::hessian::{Dense, Operator, Split, dense};
use polariscope_lens::Quiet;
use polariscope_linalg::Wanted;
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_stats::Estimate;
use polariscope_train::{Loss, LossHessian, Matrix, Objective, Origin};

fn graph(text: &str) -> Graph {
    parse_file(text, "net", &ZooOptions::default()).unwrap()
}

fn normal(name: &str, n: usize) -> Vec<f64> {
    let mut draws = vec![0.0_f32; n];
    Stream::new(5, 0, name).normal(1.0, &mut draws);
    draws.into_iter().map(f64::from).collect()
}

fn targets(loss: Loss, samples: usize, outputs: usize) -> Vec<f64> {
    let mut y = vec![0.0; samples * outputs];
    for (i, row) in y.chunks_mut(outputs).enumerate() {
        loss.targets((i % outputs.max(2)) as u32, row);
    }
    y
}

fn found(graph: &Graph, loss: Loss, samples: usize) -> (LossHessian<f64>, Weights<f64>, Dense) {
    let x = normal("x", samples * graph.input().len());
    let y = targets(loss, samples, graph.output().len());
    let hessian = LossHessian::new(graph, loss, &x, &y).unwrap();
    let weights = Weights::draw(graph, 2, 0);
    let matrices = dense(&hessian, &weights, &mut Quiet).unwrap();
    (hessian, weights, matrices)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Every matrix, column by column, against products: dense layers by units, everything else by columns, with scales,
/// skips and several chunks of samples.
#[test]
fn matrices_are_their_products() {
    let squared = Loss::Hinge {
        power: 2.0,
        margin: 0.5,
    };
    for (text, loss) in [
        (
            "input = [5]\nparametrisation = \"ntk\"\nb_std = 0.3\nlayers = [{ op = \"dense\", features = 4 }, { op = \"tanh\" }, { op = \"dense\", features = 3 }, \
             { op = \"relu\" }, { op = \"dense\", features = 2 }]",
            Loss::CrossEntropy,
        ),
        (
            "input = [5]\nlayers = [{ op = \"dense\", features = 4, bias = false }, { op = \"relu\" }, { op = \"residual\", \
             branch = [{ op = \"dense\", features = 4 }, { op = \"gelu\" }] }, { op = \"dense\", features = 1, bias = false }]",
            squared,
        ),
        (
            "input = [1, 6, 6]\nlayers = [{ op = \"conv\", channels = 2, kernel = 3 }, { op = \"tanh\" }, { op = \"max-pool\", size = 2 }, \
             { op = \"flatten\" }, { op = \"batch-norm\" }, { op = \"dense\", features = 3 }]",
            Loss::CrossEntropy,
        ),
    ] {
        let graph = graph(text);
        let (hessian, weights, found) = found(&graph, loss, 300);
        let n = found.parameters;
        for (which, matrix) in [
            (Matrix::Hessian, &found.hessian()),
            (Matrix::GaussNewton, &found.gauss_newton),
            (Matrix::Curvature, &found.curvature),
            (Matrix::Fisher, &found.fisher),
        ] {
            let scale = largest(matrix);
            assert!(scale > 0.0, "{which:?}");
            let mut column = 0;
            for i in graph.trainable() {
                for k in 0..graph.params[i].len() {
                    let mut v = Weights::zeros(&graph);
                    v.values[i][k] = 1.0;
                    let product = hessian.apply(which, &weights, &v).unwrap();
                    let product = graph.trainable().flat_map(|i| product.values[i].clone());
                    for (row, value) in product.enumerate() {
                        let entry = matrix[row * n + column];
                        assert!(
                            (entry - value).abs() < 1e-12 * scale,
                            "{which:?}[{row}, {column}]: {entry} for {value} in {text}"
                        );
                        assert_eq!(entry, matrix[column * n + row]);
                    }
                    column += 1;
                }
            }
        }
    }
}

/// L(w) = (1/α²) ℓ(α (f − f₀)): with α small the slopes are those at f = f₀, and ℓ″ does not see α.
#[test]
fn the_alpha_model_has_its_own_slopes() {
    let graph = graph(
        "input = [5]\nlayers = [{ op = \"dense\", features = 4 }, { op = \"tanh\" }, { op = \"dense\", features = 1 }]",
    );
    let (x, y) = (normal("x", 50), targets(Loss::Mse, 10, 1));
    let weights = Weights::draw(&graph, 2, 0);
    let alpha = 0.25;
    let objective = Objective {
        loss: Loss::Mse,
        alpha,
        origin: Origin::Initial,
    };
    let f0 = normal("f0", 10);
    let device = polariscope_lens::Device::Cpu;
    let lazy = LossHessian::<f64>::on(device, &graph, objective, [&x, &y, &f0]).unwrap();
    let plain = LossHessian::new(&graph, Loss::Mse, &x, &y).unwrap();
    let (a, b) = (
        lazy.local(&weights).unwrap(),
        plain.local(&weights).unwrap(),
    );
    // (1/α²)(α(f − f₀) − y)²/n: slope 2 (α(f − f₀) − y)/(α n), curvature 2/n.
    for (k, slope) in a.slope.iter().enumerate() {
        let wanted = 2.0 * (alpha * (a.outputs[k] - f0[k]) - y[k]) / (alpha * 10.0);
        assert!((slope - wanted).abs() < 1e-13 * wanted.abs().max(1.0));
        assert!((a.curvature[k] - 0.2).abs() < 1e-15 && b.curvature[k] == a.curvature[k]);
    }
    let lazy = dense(&lazy, &weights, &mut Quiet).unwrap();
    let plain = dense(&plain, &weights, &mut Quiet).unwrap();
    let scale = largest(&plain.gauss_newton);
    let pairs = lazy.gauss_newton.iter().zip(&plain.gauss_newton);
    pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-13 * scale));
    assert!(LossHessian::<f64>::on(device, &graph, objective, [&x, &y, &[]]).is_err());
}

/// w·x, (w·x − y)² and logistic losses: H in closed form, and no curvature of the outputs.
#[test]
fn linear_models_in_closed_form() {
    let graph = graph("input = [3]\nlayers = [{ op = \"dense\", features = 1 }]");
    let samples = 20;
    let x = normal("x", samples * 3);
    for loss in [Loss::Mse, Loss::CrossEntropy] {
        let (_, weights, found) = found(&graph, loss, samples);
        let mut expected = vec![0.0; 16];
        for x in x.chunks(3) {
            let a = [x[0], x[1], x[2], 1.0];
            let f: f64 = a[..3]
                .iter()
                .zip(&weights.values[0])
                .map(|(a, w)| a * w)
                .sum();
            let p = 1.0 / (1.0 + (-f - weights.values[1][0]).exp());
            let curvature = match loss {
                Loss::Mse => 2.0,
                _ => p * (1.0 - p),
            };
            for (at, e) in expected.iter_mut().enumerate() {
                *e += curvature * a[at / 4] * a[at % 4] / samples as f64;
            }
        }
        for (h, e) in found.hessian().iter().zip(&expected) {
            assert!((h - e).abs() < 1e-10, "{loss}: {h} for {e}");
        }
        assert!(found.curvature.iter().all(|&h| h == 0.0));
        assert_eq!(found.constraints, samples);
    }
}

/// Softmax regression: blocks p_k (δ_kl − p_l) a aᵀ; every sample has one constraint less than classes.
#[test]
fn softmax_regression_in_closed_form() {
    let graph = graph("input = [3]\nlayers = [{ op = \"dense\", features = 4, bias = false }]");
    let samples = 15;
    let x = normal("x", samples * 3);
    let (_, weights, found) = found(&graph, Loss::CrossEntropy, samples);
    let mut expected = vec![0.0; 144];
    for x in x.chunks(3) {
        let rows = weights.values[0].chunks(3);
        let e: Vec<f64> = rows
            .map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>().exp())
            .collect();
        let total: f64 = e.iter().sum();
        for (at, h) in expected.iter_mut().enumerate() {
            let ((k, i), (l, j)) = ((at / 12 / 3, at / 12 % 3), (at % 12 / 3, at % 12 % 3));
            let (p, q) = (e[k] / total, e[l] / total);
            let delta = if k == l { 1.0 } else { 0.0 };
            *h += p * (delta - q) * x[i] * x[j] / samples as f64;
        }
    }
    for (h, e) in found.hessian().iter().zip(&expected) {
        assert!((h - e).abs() < 1e-10, "{h} for {e}");
    }
    assert_eq!(found.constraints, 3 * samples);
}

fn perceptron(widths: &[usize], activation: &str) -> Graph {
    let hidden: Vec<String> = widths
        .iter()
        .map(|w| format!("{{ op = \"dense\", features = {w} }}, {{ op = \"{activation}\" }}"))
        .collect();
    graph(&format!(
        "input = [8]\nparametrisation = \"he\"\nlayers = [{}, {{ op = \"dense\", features = 1 }}]",
        hidden.join(", ")
    ))
}

/// The bounds, which hold at any weights, and what is exact for relu.
#[test]
fn counts_obey_their_bounds() {
    let loss = Loss::Hinge {
        power: 2.0,
        margin: 0.5,
    };
    // More and fewer constraints than parameters.
    for samples in [60, 1200] {
        for activation in ["relu", "tanh"] {
            let graph = perceptron(&[14, 14], activation);
            let (_, _, matrices) = found(&graph, loss, samples);
            let split = Split::of(&matrices).unwrap();
            let n = split.parameters;
            assert!(split.constraints > 0 && split.constraints < samples);
            for spectrum in [
                &split.hessian,
                &split.gauss_newton,
                &split.curvature,
                &split.fisher,
            ] {
                assert_eq!(spectrum.counts.all(), n);
                let sum: f64 = spectrum.eigenvalues.iter().sum();
                assert!((sum - spectrum.trace).abs() < 1e-12 * spectrum.eigenvalues[0]);
            }
            let (h, h0, hp) = (
                split.hessian.counts,
                split.gauss_newton.counts,
                split.curvature.counts,
            );
            assert_eq!(h0.negative, 0);
            assert!(split.rank() <= split.constraints.min(n));
            assert!(h.negative <= hp.negative && hp.negative <= h.negative + split.rank());
            assert!(hp.negative > 0);
            if samples < n {
                // Random inputs and no pattern whose units are off: no gradient is a combination of the others.
                assert_eq!(
                    (split.rank(), split.further_zero_modes()),
                    (split.constraints, 0)
                );
            }
            match activation {
                "relu" => assert_eq!(split.curvature.trace, 0.0),
                _ => assert!(split.curvature.trace.abs() > 1e-6),
            }
        }
    }
}

/// One hidden layer of relu: H_p joins the first layer with the second alone, so λ comes with −λ.
#[test]
fn one_hidden_layer_is_symmetric() {
    for (widths, activation, symmetric) in [
        (&[9][..], "relu", true),
        (&[9], "tanh", false),
        (&[9, 7], "relu", false),
    ] {
        let graph = perceptron(widths, activation);
        let (_, _, matrices) = found(&graph, Loss::CrossEntropy, 60);
        let eigenvalues = Split::of(&matrices).unwrap().curvature.eigenvalues;
        let pairs = eigenvalues.iter().zip(eigenvalues.iter().rev());
        let off = pairs.fold(0.0, |m: f64, (a, b)| m.max((a + b).abs()));
        match symmetric {
            true => assert!(off < 1e-14 * eigenvalues[0], "{off}"),
            false => assert!(off > 1e-4 * eigenvalues[0], "{off}"),
        }
    }
}

/// Nothing is wrong: no slope, no curvature, no eigenvalue but 0.
#[test]
fn satisfied_patterns_leave_nothing() {
    let graph = perceptron(&[6], "relu");
    let (_, _, matrices) = found(
        &graph,
        Loss::Hinge {
            power: 2.0,
            margin: -1e6,
        },
        20,
    );
    let split = Split::of(&matrices).unwrap();
    assert_eq!((split.loss, split.constraints, split.rank()), (0.0, 0, 0));
    assert_eq!(split.hessian.counts.zero, split.parameters);
    assert_eq!((split.hessian.gap(), split.collapse()), (None, None));
}

/// Products against the matrix: ends, trace and density of the Hessian of a network that has both.
#[test]
fn products_see_the_spectrum() {
    let graph = perceptron(&[14, 14], "tanh");
    let (hessian, weights, matrices) = found(&graph, Loss::CrossEntropy, 300);
    let exact = Split::of(&matrices).unwrap();
    for (matrix, spectrum, smallest) in [
        (Matrix::Hessian, &exact.hessian, 3),
        (Matrix::Curvature, &exact.curvature, 3),
        // Its smallest are hundreds close to 0.
        (Matrix::GaussNewton, &exact.gauss_newton, 0),
    ] {
        let operator = Operator {
            hessian: &hessian,
            weights: &weights,
            matrix,
        };
        let wanted = Wanted {
            largest: 5,
            smallest,
            basis: 40,
            tolerance: 1e-9,
            products: 2000,
        };
        let ends = operator.ends(wanted, 0, &mut Quiet).unwrap();
        assert!(ends.converged, "{matrix:?}: {ends:?}");
        let scale = spectrum.eigenvalues[0];
        let high = ends.largest.iter().zip(&spectrum.eigenvalues);
        let low = ends.smallest.iter().zip(spectrum.eigenvalues.iter().rev());
        for (found, exact) in high.chain(low) {
            assert!(
                (found.value - exact).abs() < 1e-8 * scale,
                "{matrix:?}: {found:?} for {exact}"
            );
        }
        let sampled = operator.sampled(60, 60, 0, &mut Quiet).unwrap();
        // Four standard errors; what a single eigenvalue gives is skewed, which takes many probes to even out.
        let near = |e: Estimate, exact: f64, rounding: f64| {
            let off = (e.value - exact).abs();
            assert!(
                off <= 4.0 * e.standard_error + rounding,
                "{matrix:?}: {e} for {exact}"
            );
        };
        near(sampled.trace().unwrap(), spectrum.trace, 1e-9);
        let n = spectrum.eigenvalues.len() as f64;
        let width = 0.02 * scale;
        let mut seen = 0;
        for k in -10..=50 {
            let at = 0.02 * f64::from(k) * scale;
            let kernel = |l: f64| (-0.5 * ((l - at) / width).powi(2)).exp();
            let sum: f64 = spectrum.eigenvalues.iter().map(|&l| kernel(l)).sum();
            let density = sum / (n * width * (2.0 * std::f64::consts::PI).sqrt());
            let found = sampled.density(at, width).unwrap();
            near(found, density, 1e-3 / scale);
            seen += usize::from(density > 10.0 * found.standard_error);
        }
        assert!(seen > 5, "{matrix:?}: {seen} places with a density");
        let bound = -0.05 * scale;
        let below = spectrum.eigenvalues.iter().filter(|&&l| l < bound).count();
        near(sampled.below(bound).unwrap(), below as f64 / n, 0.01);
    }
}
