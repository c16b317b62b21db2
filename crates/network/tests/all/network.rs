//! Every question to a network: against finite differences, against the other questions, and against itself in
//! other batches, on other numbers of threads and in the other number type.
//!
//! Bug class: a product that drops a term (a path of a residual, a derivative of a norm), rows that land on the
//! wrong sample when a batch is cut into tasks, sums whose order depends on threads, input that panics.

use polariscope_diff::Number;
use polariscope_graph::{Graph, Role, ZooOptions, parse_file};
use polariscope_network::{Network, NetworkError, Rows, Scalar, Weights, samples_a_task};

const CONV: &str = r#"
input = [2, 6, 5]
layers = [
  { op = "conv", channels = 4, kernel = 3, padding = "same" },
  { op = "tanh" },
  { op = "avg-pool", size = [2, 1] },
  { op = "conv", channels = 3, kernel = 2 },
  { op = "gelu" },
  { op = "flatten" },
  { op = "dense", features = 3 },
]"#;

const RESIDUAL: &str = r#"
input = [2, 6, 6]
layers = [
  { op = "conv", channels = 4, kernel = 3, padding = 1, bias = false },
  { op = "batch-norm" },
  { op = "silu" },
  { op = "residual", branch = [
    { op = "conv", channels = 6, kernel = 3, stride = 2, padding = 1, bias = false },
    { op = "batch-norm" },
    { op = "tanh" },
    { op = "conv", channels = 6, kernel = 3, padding = 1, bias = false },
    { op = "batch-norm" },
  ], skip = [
    { op = "conv", channels = 6, kernel = 1, stride = 2, bias = false },
    { op = "batch-norm" },
  ] },
  { op = "silu" },
  { op = "global-avg-pool" },
  { op = "dense", features = 3 },
]"#;

/// Squeeze and excite, a gate of the same shape, and one of a single position.
const GATED: &str = r#"
input = [2, 5, 4]
layers = [
  { op = "conv", channels = 4, kernel = 3, padding = 1 },
  { op = "tanh" },
  { op = "gate", branch = [
    { op = "global-avg-pool" },
    { op = "dense", features = 3 },
    { op = "silu" },
    { op = "dense", features = 4 },
    { op = "sigmoid" },
  ] },
  { op = "gate", branch = [ { op = "conv", channels = 4, kernel = 3, padding = 1 } ], skip = [ { op = "gelu" } ] },
  { op = "gate", branch = [ { op = "conv", channels = 4, kernel = [5, 4] } ] },
  { op = "flatten" },
  { op = "dense", features = 3 },
]"#;

/// Lifted, over the group and out of it, by both projections.
const OVER_A_GROUP: &str = r#"
input = [2, 4, 4]
layers = [
  { op = "p4-conv", channels = 3, kernel = 3, padding = 1 },
  { op = "batch-norm" },
  { op = "tanh" },
  { op = "p4-conv", channels = 2, kernel = 3, padding = "circular" },
  { op = "silu" },
  { op = "avg-pool", size = 2 },
  { op = "group-pool", by = "mean" },
  { op = "p4m-conv", channels = 2, kernel = 2, bias = false },
  { op = "sin" },
  { op = "p4m-conv", channels = 2, kernel = 1 },
  { op = "group-pool", by = "max" },
  { op = "flatten" },
  { op = "dense", features = 3 },
]"#;

/// Pre-activations on all three pieces of both, none near an edge.
const HARD: &str = r#"
input = [5]
layers = [
  { op = "dense", features = 9 },
  { op = "scale", by = 3.0 },
  { op = "hard-swish" },
  { op = "dense", features = 8 },
  { op = "scale", by = 2.0 },
  { op = "hard-sigmoid" },
  { op = "dense", features = 3 },
]"#;

const ATTENTION: &str = r#"
input = [2, 4, 6]
layers = [
  { op = "patch-embed", size = 2, width = 6 },
  { op = "class-token" },
  { op = "position" },
  { op = "residual", branch = [ { op = "layer-norm" }, { op = "attention", heads = 2 } ] },
  { op = "residual", branch = [
    { op = "layer-norm" },
    { op = "dense", features = 8 },
    { op = "gelu" },
    { op = "dense", features = 6 },
  ] },
  { op = "layer-norm" },
  { op = "take-token" },
  { op = "dense", features = 3 },
]"#;

/// So many activations a sample that a task takes 8 samples.
const TASKS: &str = r#"
input = [1, 32, 32]
layers = [
  { op = "conv", channels = 16, kernel = 3, padding = 1 },
  { op = "tanh" },
  { op = "max-pool", size = 2 },
  { op = "conv", channels = 8, kernel = 3, padding = 1 },
  { op = "silu" },
  { op = "global-avg-pool" },
  { op = "dense", features = 3 },
]"#;

/// No reuse of weights within a sample: a task takes 256 samples.
const DENSE: &str = r#"
input = [40]
layers = [
  { op = "dense", features = 50 },
  { op = "tanh" },
  { op = "dense", features = 3 },
]"#;

fn graph(text: &str) -> Graph {
    parse_file(text, "net", &ZooOptions::default()).unwrap()
}

/// Numbers in ±1/2, the same at every call.
fn noise(length: usize, draw: usize) -> Vec<f64> {
    let number = |i: usize| 0.5 * (((i * i + 31 * i + 101 * draw) % 1009) as f64).sin();
    (0..length).map(number).collect()
}

/// Noise in every tensor, so that no γ is 1 and no β is 0; variances are positive.
fn noisy(graph: &Graph, draw: usize) -> Weights<f64> {
    let mut weights = Weights::zeros(graph);
    for (k, (param, values)) in graph.params.iter().zip(&mut weights.values).enumerate() {
        *values = noise(param.len(), draw + 7 * k);
        if param.name.ends_with("running_var") {
            values.iter_mut().for_each(|v| *v += 1.0);
        }
    }
    weights
}

/// A network, weights, two directions, samples and two cotangents.
struct Case<T> {
    network: Network<T>,
    w: Weights<T>,
    a: Weights<T>,
    b: Weights<T>,
    x: Vec<T>,
    u: Vec<T>,
    t: Vec<T>,
    samples: usize,
}

impl<T: Number> Case<T> {
    fn new(text: &str, samples: usize) -> Self {
        let network = Network::new(graph(text));
        let graph = network.graph();
        let [w, a, b] = [0, 1, 2].map(|draw| noisy(graph, draw).convert());
        let numbers = |length: usize, draw: usize, by: f64| -> Vec<T> {
            let numbers = noise(length, draw).into_iter();
            numbers.map(|x| T::from_f64(by * x)).collect()
        };
        let outputs = samples * graph.output().len();
        Case {
            x: numbers(samples * graph.input().len(), 3, 2.0),
            u: numbers(outputs, 4, 1.0),
            t: numbers(outputs, 5, 1.0),
            network,
            w,
            a,
            b,
            samples,
        }
    }

    /// Every question once, each as one vector.
    fn answers(&self) -> Vec<(&'static str, Vec<T>)> {
        let Case { w, a, x, u, .. } = self;
        let n = &self.network;
        let (logit, mean) = (Scalar::Logit(1), Scalar::Mean);
        vec![
            ("output", n.output(w, x).unwrap()),
            ("gradient", n.input_gradient(w, x, logit).unwrap()),
            ("mean gradient", n.input_gradient(w, x, mean).unwrap()),
            (
                "gradient tangent",
                n.input_gradient_tangent(w, a, x, logit).unwrap(),
            ),
            ("jvp", n.parameter_jvp(w, a, x).unwrap()),
            ("vjp", n.parameter_vjp(w, x, u).unwrap().values.concat()),
            ("ntk", n.ntk_product(w, x, u).unwrap()),
            (
                "gauss-newton",
                n.gauss_newton_product(w, a, x, u).unwrap().values.concat(),
            ),
            (
                "curvature",
                n.curvature_product(w, a, x, u).unwrap().values.concat(),
            ),
            (
                "sample gradients",
                n.sample_gradients(w, x, logit).unwrap().concat(),
            ),
        ]
    }
}

fn smooth() -> [(&'static str, Case<f64>); 6] {
    let texts = [
        ("conv", CONV),
        ("residual", RESIDUAL),
        ("gated", GATED),
        ("over a group", OVER_A_GROUP),
        ("hard", HARD),
        ("attention", ATTENTION),
    ];
    texts.map(|(name, text)| (name, Case::new(text, 4)))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// ‖found − expected‖ ≤ tolerance ‖expected‖.
fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let difference: Vec<f64> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    let (error, size) = (norm(&difference), norm(expected));
    assert!(size > 0.0, "{what} is 0");
    let right = error <= tolerance * size;
    assert!(right, "{what}: off by {:e} of the norm", error / size);
}

/// The scalar products agree to rounding.
fn same_product(what: &str, found: f64, expected: f64, scale: f64) {
    let error = (found - expected).abs() / scale;
    assert!(error < 1e-13, "{what}: {found} and {expected}");
}

/// Trainable tensors one after the other.
fn trainable(graph: &Graph, weights: &Weights<f64>) -> Vec<f64> {
    let params = graph.params.iter().zip(&weights.values);
    let trained = params.filter(|(p, _)| p.role == Role::Trainable);
    trained.flat_map(|(_, v)| v.iter().copied()).collect()
}

/// w + εv in the trainable tensors; buffers stay.
fn moved(graph: &Graph, w: &Weights<f64>, v: &Weights<f64>, by: f64) -> Weights<f64> {
    let mut result = w.clone();
    for ((param, values), v) in graph.params.iter().zip(&mut result.values).zip(&v.values) {
        if param.role == Role::Trainable {
            values.iter_mut().zip(v).for_each(|(x, v)| *x += by * v);
        }
    }
    result
}

/// f′(0) by the five-point rule: with h = 1e-3 truncation h⁴f⁗′/30 and rounding ε/h are both near 1e-12.
fn derivative(f: impl Fn(f64) -> Vec<f64>) -> Vec<f64> {
    let h = 1e-3;
    let [far_left, left, right, far_right] = [-2.0, -1.0, 1.0, 2.0].map(|k| f(k * h));
    (0..left.len())
        .map(|i| (8.0 * (right[i] - left[i]) - (far_right[i] - far_left[i])) / (12.0 * h))
        .collect()
}

/// What [`derivative`] is trusted to, relative to a vector's norm.
const DIFFERENCES: f64 = 1e-8;
/// Two ways to the same number, in f64.
const ROUNDING: f64 = 1e-12;

#[test]
fn first_derivatives_are_those_of_the_output() {
    for (name, case) in smooth() {
        let Case { w, a, x, u, .. } = &case;
        let (n, graph) = (&case.network, case.network.graph());
        let jvp = n.parameter_jvp(w, a, x).unwrap();
        let expected = derivative(|e| n.output(&moved(graph, w, a, e), x).unwrap());
        close(&format!("{name}: J v"), &jvp, &expected, DIFFERENCES);

        // ⟨u, J v⟩ = ⟨Jᵀu, v⟩
        let vjp = n.parameter_vjp(w, x, u).unwrap();
        let (vjp, v) = (trainable(graph, &vjp), trainable(graph, a));
        let scale = norm(u) * norm(&jvp);
        same_product(name, dot(&vjp, &v), dot(u, &jvp), scale);

        // Input gradients along a direction z of all samples at once; samples do not see each other.
        let z = noise(x.len(), 6);
        let along = |e: f64| -> Vec<f64> { x.iter().zip(&z).map(|(x, z)| x + e * z).collect() };
        let change = derivative(|e| n.output(w, &along(e)).unwrap());
        let outputs = graph.output().len();
        for (scalar, weight) in [
            (Scalar::Logit(2), [0.0, 0.0, 1.0]),
            (Scalar::Mean, [1.0 / 3.0; 3]),
        ] {
            let gradient = n.input_gradient(w, x, scalar).unwrap();
            let rows = gradient.chunks(graph.input().len());
            let found: Vec<f64> = rows
                .zip(z.chunks(graph.input().len()))
                .map(|(g, z)| dot(g, z))
                .collect();
            let rows = change.chunks(outputs);
            let expected: Vec<f64> = rows.map(|row| dot(row, &weight)).collect();
            let what = format!("{name}: ∇ₓ {scalar:?}");
            close(&what, &found, &expected, DIFFERENCES);

            let tangent = n.input_gradient_tangent(w, a, x, scalar).unwrap();
            let expected =
                derivative(|e| n.input_gradient(&moved(graph, w, a, e), x, scalar).unwrap());
            close(&format!("{what} tangent"), &tangent, &expected, DIFFERENCES);
        }
    }
}

#[test]
fn second_derivatives_are_those_of_the_gradient() {
    for (name, case) in smooth() {
        let Case {
            w, a, b, x, u, t, ..
        } = &case;
        let (n, graph) = (&case.network, case.network.graph());
        let curvature = |v: &Weights<f64>, u: &[f64]| -> Vec<f64> {
            trainable(graph, &n.curvature_product(w, v, x, u).unwrap())
        };
        let gradient = |w: &Weights<f64>, u: &[f64]| -> Vec<f64> {
            trainable(graph, &n.parameter_vjp(w, x, u).unwrap())
        };
        let expected = derivative(|e| gradient(&moved(graph, w, a, e), u));
        let what = format!("{name}: Σ u ∇²f v");
        close(&what, &curvature(a, u), &expected, DIFFERENCES);
        let (ha, hb) = (curvature(a, u), curvature(b, u));
        let (va, vb) = (trainable(graph, a), trainable(graph, b));
        same_product(
            &what,
            dot(&vb, &ha),
            dot(&va, &hb),
            norm(&va) * norm(&hb) + norm(&vb) * norm(&ha),
        );

        // The Hessian of ½‖f − t‖²: Jᵀ J v + Σ (f − t) ∇²f v.
        let residual = |w: &Weights<f64>| -> Vec<f64> {
            let output = n.output(w, x).unwrap();
            output.iter().zip(t).map(|(f, t)| f - t).collect()
        };
        let ones = vec![1.0; t.len()];
        let square = n.gauss_newton_product(w, a, x, &ones).unwrap();
        let square = trainable(graph, &square);
        let rest = curvature(a, &residual(w));
        let hessian: Vec<f64> = square.iter().zip(rest).map(|(g, c)| g + c).collect();
        let expected = derivative(|e| {
            let w = moved(graph, w, a, e);
            gradient(&w, &residual(&w))
        });
        let what = format!("{name}: Hessian of a loss");
        close(&what, &hessian, &expected, DIFFERENCES);
    }
}

#[test]
fn products_are_made_of_the_jacobian() {
    for (name, case) in smooth() {
        let Case { w, a, x, u, t, .. } = &case;
        let (n, graph) = (&case.network, case.network.graph());
        let outputs = graph.output().len();
        // Row (sample, k) of J.
        let by_logit: Vec<Vec<Vec<f64>>> = (0..outputs)
            .map(|k| n.sample_gradients(w, x, Scalar::Logit(k)).unwrap())
            .collect();
        let rows: Vec<&Vec<f64>> = (0..case.samples)
            .flat_map(|i| by_logit.iter().map(move |rows| &rows[i]))
            .collect();
        let apply = |v: &[f64]| -> Vec<f64> { rows.iter().map(|row| dot(row, v)).collect() };
        let transpose = |u: &[f64]| -> Vec<f64> {
            let mut sum = vec![0.0; graph.parameter_count()];
            for (row, u) in rows.iter().zip(u) {
                sum.iter_mut().zip(*row).for_each(|(s, r)| *s += u * r);
            }
            sum
        };
        let v = trainable(graph, a);
        let vjp = trainable(graph, &n.parameter_vjp(w, x, u).unwrap());
        close(&format!("{name}: Jᵀu"), &vjp, &transpose(u), ROUNDING);
        let jvp = n.parameter_jvp(w, a, x).unwrap();
        close(&format!("{name}: J v"), &jvp, &apply(&v), ROUNDING);
        let ntk = n.ntk_product(w, x, u).unwrap();
        let expected = apply(&transpose(u));
        close(&format!("{name}: J Jᵀu"), &ntk, &expected, ROUNDING);
        let product = n.gauss_newton_product(w, a, x, t).unwrap();
        let weighted: Vec<f64> = apply(&v).iter().zip(t).map(|(j, d)| j * d).collect();
        let expected = transpose(&weighted);
        let what = format!("{name}: Jᵀ D J v");
        close(&what, &trainable(graph, &product), &expected, ROUNDING);

        let mean = n.sample_gradients(w, x, Scalar::Mean).unwrap();
        let expected: Vec<f64> = rows
            .chunks(outputs)
            .flat_map(|rows| {
                (0..v.len()).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / outputs as f64)
            })
            .collect();
        let what = format!("{name}: gradients of the mean");
        close(&what, &mean.concat(), &expected, ROUNDING);
    }
}

/// A tangent covers parameters only; what it holds for a buffer is ignored, and products leave buffers at 0.
#[test]
fn buffers_are_constants() {
    let case = Case::<f64>::new(RESIDUAL, 3);
    let (n, graph) = (&case.network, case.network.graph());
    let mut cleared = case.a.clone();
    let buffers = |i: &usize| graph.params[*i].role == Role::Buffer;
    let buffers: Vec<usize> = (0..graph.params.len()).filter(buffers).collect();
    assert_eq!(buffers.len(), 8);
    for &i in &buffers {
        cleared.values[i].fill(f64::NAN);
    }
    let Case { w, a, x, u, .. } = &case;
    let logit = Scalar::Logit(0);
    assert_eq!(
        n.input_gradient_tangent(w, a, x, logit).unwrap(),
        n.input_gradient_tangent(w, &cleared, x, logit).unwrap()
    );
    assert_eq!(
        n.parameter_jvp(w, a, x).unwrap(),
        n.parameter_jvp(w, &cleared, x).unwrap()
    );
    for product in [
        n.parameter_vjp(w, x, u).unwrap(),
        n.gauss_newton_product(w, &cleared, x, u).unwrap(),
        n.curvature_product(w, &cleared, x, u).unwrap(),
    ] {
        for &i in &buffers {
            assert!(product.values[i].iter().all(|&v| v == 0.0));
        }
    }
}

/// A layer without parameters, and one that is its own input.
#[test]
fn networks_without_parameters_answer() {
    let text = "input = [3]\nlayers = [ { op = \"identity\" } ]";
    let case = Case::<f64>::new(text, 2);
    let (n, w, x) = (&case.network, &case.w, &case.x);
    assert_eq!(n.output(w, x).unwrap(), *x);
    let gradient = n.input_gradient(w, x, Scalar::Logit(1)).unwrap();
    assert_eq!(gradient, [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    let nothing = [0.0; 6];
    assert_eq!(n.parameter_jvp(w, w, x).unwrap(), nothing);
    assert_eq!(n.ntk_product(w, x, &case.u).unwrap(), nothing);
    let rows = Rows { x, u: &case.u };
    assert_eq!(n.gradient_products(w, rows, None).unwrap(), [0.0; 4]);
    assert!(
        n.curvature_product(w, w, x, &case.u)
            .unwrap()
            .values
            .is_empty()
    );
    let gradients = n.sample_gradients(w, x, Scalar::Mean).unwrap();
    assert_eq!(gradients, [[0.0; 0]; 2]);
}

#[test]
fn a_batch_is_its_tasks() {
    fn check<T: Number>(text: &str, samples: usize, task: usize, rounding: f64) {
        let whole = Case::<T>::new(text, samples);
        let graph = whole.network.graph();
        assert_eq!(samples_a_task(graph), task);
        assert!(samples > 2 * task);
        let (sample, outputs) = (graph.input().len(), graph.output().len());
        let wide = |x: &[T]| -> Vec<f64> { x.iter().map(|x| x.to_f64()).collect() };
        let expected = whole.answers();
        // Batches that align with tasks repeat every bit, others round elsewhere.
        for size in [task, task - 3] {
            let inputs = whole.x.chunks(size * sample);
            let batches: Vec<_> = inputs
                .zip(whole.u.chunks(size * outputs))
                .map(|(x, u)| {
                    let part = Case {
                        x: x.to_vec(),
                        u: u.to_vec(),
                        samples: x.len() / sample,
                        ..Case::new(text, 1)
                    };
                    part.answers()
                })
                .collect();
            for (i, (name, whole)) in expected.iter().enumerate() {
                let parts = batches.iter().map(|answers| &answers[i].1);
                let joined: Vec<T> = match *name {
                    // The kernel couples all samples.
                    "ntk" => continue,
                    "vjp" | "gauss-newton" | "curvature" => {
                        let mut sum = vec![T::ZERO; whole.len()];
                        for part in parts {
                            sum.iter_mut().zip(part).for_each(|(s, &p)| *s += p);
                        }
                        sum
                    }
                    _ => parts.flatten().copied().collect(),
                };
                let what = format!("{name} in batches of {size}");
                if size == task {
                    assert!(*whole == joined, "{what}");
                }
                close(&what, &wide(&joined), &wide(whole), rounding);
            }
        }
    }
    check::<f64>(TASKS, 27, 8, 1e-13);
    check::<f32>(TASKS, 27, 8, 1e-5);
    check::<f64>(DENSE, 600, 256, 1e-13);
    check::<f32>(DENSE, 600, 256, 1e-5);
}

/// Also with one large sample, where the kernels themselves are split.
#[test]
fn threads_do_not_change_a_bit() {
    fn check<T: Number>() {
        for (text, samples) in [(TASKS, 19), (TASKS, 1), (DENSE, 600), (ATTENTION, 70)] {
            let [one, two] = [1, 2].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let pool = pool.build().unwrap();
                pool.install(|| Case::<T>::new(text, samples).answers())
            });
            for ((name, one), (_, two)) in one.iter().zip(&two) {
                assert!(one == two, "{name} of {samples} samples");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn f32_follows_f64() {
    for text in [CONV, RESIDUAL, ATTENTION] {
        let single = Case::<f32>::new(text, 4).answers();
        let double = Case::<f64>::new(text, 4).answers();
        for ((name, single), (_, double)) in single.iter().zip(&double) {
            let single: Vec<f64> = single.iter().map(|&x| f64::from(x)).collect();
            close(name, &single, double, 1e-5);
        }
    }
}

/// Jᵀu in the input is the sum of the outputs' gradients weighted by u, sample by sample, over several tasks.
#[test]
fn input_products_are_sums_of_gradients() {
    for text in [CONV, TASKS] {
        let Case {
            network, w, x, u, ..
        } = &Case::<f64>::new(text, 19);
        let found = network.input_vjp(w, x, u).unwrap();
        let mut want = vec![0.0; x.len()];
        let sample = x.len() / 19;
        for k in 0..3 {
            let g = network.input_gradient(w, x, Scalar::Logit(k)).unwrap();
            for (i, (want, g)) in want.iter_mut().zip(g).enumerate() {
                *want += u[i / sample * 3 + k] * g;
            }
        }
        close("input_vjp", &found, &want, 1e-12);
    }
}

/// Products of gradients are those of the rows of J, over several blocks, among one list and between two.
#[test]
fn products_of_gradients() {
    // Some weights come in several stretches, with a rest.
    let wide = "input = [300]\nlayers = [ { op = \"dense\", features = 450 }, { op = \"tanh\" }, \
                { op = \"dense\", features = 2 } ]";
    let cases = [
        (CONV, 4),
        (RESIDUAL, 4),
        (ATTENTION, 4),
        (TASKS, 19),
        (wide, 5),
    ];
    for (text, samples) in cases {
        let Case {
            network, w, x, u, ..
        } = &Case::<f64>::new(text, samples);
        let (sample, outputs) = (x.len() / samples, u.len() / samples);
        let pairs = x.chunks(sample).zip(u.chunks(outputs));
        let gradients: Vec<Vec<f64>> = pairs
            .map(|(x, u)| trainable(network.graph(), &network.parameter_vjp(w, x, u).unwrap()))
            .collect();
        let (first, others) = x.split_at(3 * sample);
        let (first_u, others_u) = u.split_at(3 * outputs);
        let left = Rows {
            x: first,
            u: first_u,
        };
        let right = Rows {
            x: others,
            u: others_u,
        };
        for (what, (left, of_left), (right, of_right)) in [
            (
                "among",
                (Rows { x, u }, &gradients[..]),
                (None, &gradients[..]),
            ),
            (
                "between",
                (left, &gradients[..3]),
                (Some(right), &gradients[3..]),
            ),
            (
                "back",
                (right, &gradients[3..]),
                (Some(left), &gradients[..3]),
            ),
        ] {
            let found = network.gradient_products(w, left, right).unwrap();
            let want: Vec<f64> = of_left
                .iter()
                .flat_map(|a| of_right.iter().map(|b| dot(a, b)))
                .collect();
            close(what, &found, &want, ROUNDING);
        }
    }
}

/// An image of one row is padded above and below like any other.
#[test]
fn images_of_one_row_are_padded() {
    let text = r#"
        input = [1, 1, 3]
        layers = [
          { op = "conv", channels = 2, kernel = [1, 2], padding = 1 },
          { op = "global-avg-pool" },
        ]"#;
    let graph = parse_file(text, "net", &ZooOptions::default()).unwrap();
    let mut w = Weights::<f64>::zeros(&graph);
    // Both kernels add their two taps, the biases are 1 and 2.
    w.values = vec![vec![1.0; 4], vec![1.0, 2.0]];
    let f = Network::new(graph).output(&w, &[1.0, 2.0, 3.0]).unwrap();
    // 3 × 4 positions, the middle row sees 1, 3, 5, 3.
    assert_eq!(f, [2.0, 3.0]);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let case = Case::<f64>::new(RESIDUAL, 2);
    let Case { w, a, x, u, .. } = &case;
    let n = &case.network;
    let (logit, missing) = (Scalar::Logit(0), Scalar::Logit(3));

    let mut cut = w.clone();
    cut.values[0].pop();
    let mut fewer = w.clone();
    fewer.values.pop();
    let every = |w: &Weights<f64>, v: &Weights<f64>, x: &[f64], u: &[f64], s: Scalar| {
        // Whether the question takes w, v, x, u and s.
        [
            ("wx", n.output(w, x).err()),
            ("wxs", n.input_gradient(w, x, s).err()),
            ("wvxs", n.input_gradient_tangent(w, v, x, s).err()),
            ("wvx", n.parameter_jvp(w, v, x).err()),
            ("wxu", n.input_vjp(w, x, u).err()),
            ("wxu", n.parameter_vjp(w, x, u).err()),
            ("wxu", n.ntk_product(w, x, u).err()),
            ("wvxu", n.gauss_newton_product(w, v, x, u).err()),
            ("wvxu", n.curvature_product(w, v, x, u).err()),
            ("wxs", n.sample_gradients(w, x, s).err()),
            ("wxu", n.gradient_products(w, Rows { x, u }, None).err()),
        ]
    };
    let check = |answers: [(&str, Option<NetworkError>); 11], key: char, right: &str| {
        for (i, (takes, error)) in answers.into_iter().enumerate() {
            match error {
                Some(error) => {
                    assert!(takes.contains(key), "question {i}: {error}");
                    assert_eq!(error.to_string(), right);
                }
                None => assert!(!takes.contains(key), "question {i} took it"),
            }
        }
    };
    check(every(w, a, x, u, logit), '-', "");
    let wrong = "the weights do not belong to net: draw or load them with its graph";
    for bad in [&cut, &fewer] {
        check(every(bad, a, x, u, logit), 'w', wrong);
        check(every(w, bad, x, u, logit), 'v', wrong);
    }
    for length in [0, 71, 73] {
        let wrong =
            format!("the input has {length} numbers, which is no whole number of 2x6x6 samples");
        check(every(w, a, &x[..length], u, logit), 'x', &wrong);
    }
    for length in [0, 5, 3] {
        let wrong = format!("the cotangent has {length} numbers; 2 samples with 3 outputs want 6");
        check(every(w, a, x, &u[..length], logit), 'u', &wrong);
    }
    let wrong = "there is no output 3: the network has 3, counted from 0";
    check(every(w, a, x, u, missing), 's', wrong);
}
