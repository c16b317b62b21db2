//! Weights: the numbers of a network, tensor by tensor.
//!
//! Network `index`'s tensor depends on (seed, index, name) alone. Draws are in f32 whatever the number
//! type, so an f64 network holds exactly the weights of the f32 one.
//!
//! **Orthogonal law.** A normal matrix, viewed as first dimension × rest, has A = QR with Q uniform over
//! the orthonormal frames once every diagonal entry of R is made positive. Householder reflections in
//! f64, rounded to f32 at the end; rows are orthonormal if there are at most as many rows as columns,
//! otherwise columns are.

use polariscope_diff::Real;
use polariscope_graph::{Graph, Law, Param};
use polariscope_random::Stream;
use rayon::prelude::*;

/// Numbers drawn by one task: fixed, so that nothing depends on the number of threads.
const BLOCK: usize = 1 << 16;
/// Numbers drawn into a buffer on the stack before they are widened.
const BUFFER: usize = 1 << 10;
/// Below this many numbers a Householder update runs on one thread.
const PARALLEL_UPDATE: usize = 1 << 15;

/// The values of all parameters and buffers, in the order of [`Graph::params`].
#[derive(Clone, Debug, PartialEq)]
pub struct Weights<T> {
    /// One vector a tensor, in memory order.
    pub values: Vec<Vec<T>>,
}

impl<T: Real> Weights<T> {
    /// The initial weights of network `index`.
    pub fn draw(graph: &Graph, seed: u64, index: u64) -> Self {
        let mut weights = Weights::zeros(graph);
        weights.redraw(graph, seed, index);
        weights
    }

    /// [`Weights::draw`] in place: no allocation, for loops over many networks.
    pub fn redraw(&mut self, graph: &Graph, seed: u64, index: u64) {
        let tensors = self.values.par_iter_mut().zip(&graph.params);
        tensors.for_each(|(values, param)| {
            draw_tensor(param, Stream::new(seed, index, &param.name), values);
        });
    }

    /// All zero.
    pub fn zeros(graph: &Graph) -> Self {
        let zeros = |param: &Param| vec![T::ZERO; param.len()];
        Weights {
            values: graph.params.iter().map(zeros).collect(),
        }
    }

    /// Applies a function to every number.
    pub fn map<U: Real>(&self, f: impl Fn(T) -> U) -> Weights<U> {
        let tensor = |values: &Vec<T>| values.iter().map(|&x| f(x)).collect();
        Weights {
            values: self.values.iter().map(tensor).collect(),
        }
    }

    /// The same numbers in another type.
    pub fn convert<U: Real>(&self) -> Weights<U> {
        self.map(|x| U::from_f64(x.to_f64()))
    }
}

/// The numbers of a tensor.
pub(crate) fn tensor<T: Real>(param: &Param, stream: Stream) -> Vec<T> {
    let mut values = vec![T::ZERO; param.len()];
    draw_tensor(param, stream, &mut values);
    values
}

fn draw_tensor<T: Real>(param: &Param, stream: Stream, values: &mut [T]) {
    match param.law {
        Law::Constant(c) => values.fill(widen(c as f32)),
        Law::Uniform { bound } => fill(values, |first, out| {
            stream.uniform_from(first, bound as f32, out);
        }),
        Law::Normal { std } => fill(values, |first, out| {
            stream.normal_from(first, std as f32, out);
        }),
        Law::Orthogonal { gain } => {
            let rows = param.shape.first().copied().unwrap_or(1);
            let q = orthogonal(&stream, rows, values.len() / rows.max(1));
            for (x, q) in values.iter_mut().zip(q) {
                *x = widen((gain * q) as f32);
            }
        }
    }
}

fn widen<T: Real>(x: f32) -> T {
    T::from_f64(f64::from(x))
}

/// Fills in parallel blocks; `draw(first, out)` writes elements first, first + 1, …
fn fill<T: Real>(values: &mut [T], draw: impl Fn(u64, &mut [f32]) + Sync) {
    let blocks = values.par_chunks_mut(BLOCK).enumerate();
    blocks.for_each(|(block, values)| {
        let mut buffer = [0.0; BUFFER];
        let mut first = (block * BLOCK) as u64;
        for values in values.chunks_mut(BUFFER) {
            let draws = &mut buffer[..values.len()];
            draw(first, draws);
            for (x, &draw) in values.iter_mut().zip(draws.iter()) {
                *x = widen(draw);
            }
            first += values.len() as u64;
        }
    });
}

/// A uniformly distributed rows × cols matrix with orthonormal rows (or columns, if fewer), row by row.
fn orthogonal(stream: &Stream, rows: usize, cols: usize) -> Vec<f64> {
    let mut normal = vec![0.0_f32; rows * cols];
    fill(&mut normal, |first, out| {
        stream.normal_from(first, 1.0, out)
    });
    if rows == 0 || cols == 0 {
        return Vec::new();
    }
    let frame: Vec<Vec<f64>> = if rows <= cols {
        let row = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect();
        normal.chunks_exact(cols).map(row).collect()
    } else {
        let column = |j: usize| normal.iter().skip(j).step_by(cols);
        let column = |j: usize| column(j).map(|&x| f64::from(x)).collect();
        (0..cols).map(column).collect()
    };
    let frame = orthonormalise(frame);
    if rows <= cols {
        frame.concat()
    } else {
        (0..rows)
            .flat_map(|i| frame.iter().map(move |v| v[i]))
            .collect()
    }
}

/// One reflection 1 − β v vᵀ (v starts at its own index), and the sign of R's diagonal entry.
struct Reflection {
    v: Vec<f64>,
    beta: f64,
    sign: f64,
}

impl Reflection {
    fn apply(&self, x: &mut [f64]) {
        let factor = self.beta * dot(&self.v, x);
        for (x, v) in x.iter_mut().zip(&self.v) {
            *x -= factor * v;
        }
    }
}

/// The columns of Q in A = QR with R's diagonal positive; `frame` holds A's columns.
fn orthonormalise(mut frame: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = frame.len();
    let length = frame.first().map_or(0, Vec::len);
    let mut reflections = Vec::with_capacity(n);
    for k in 0..n {
        let (done, rest) = frame.split_at_mut(k + 1);
        let reflection = reflect(&done[k][k..]);
        let update = |x: &mut Vec<f64>| reflection.apply(&mut x[k..]);
        if rest.len() * (length - k) > PARALLEL_UPDATE {
            rest.par_iter_mut().for_each(update);
        } else {
            rest.iter_mut().for_each(update);
        }
        reflections.push(reflection);
    }
    let column = |j: usize| {
        let mut q = vec![0.0; length];
        q[j] = reflections[j].sign;
        for (k, reflection) in reflections[..=j].iter().enumerate().rev() {
            reflection.apply(&mut q[k..]);
        }
        q
    };
    (0..n).into_par_iter().map(column).collect()
}

/// The reflection that maps x to R_kk e₁, R_kk = −sign(x₁)‖x‖ (no cancellation in v₁).
fn reflect(x: &[f64]) -> Reflection {
    let norm = dot(x, x).sqrt();
    let mut v = x.to_vec();
    let sign = if x[0] > 0.0 { -1.0 } else { 1.0 };
    v[0] -= sign * norm;
    let square = dot(&v, &v);
    let beta = if square > 0.0 { 2.0 / square } else { 0.0 };
    Reflection { v, beta, sign }
}

/// Eight partial sums in a fixed order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (a, b) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use polariscope_graph::{Node, Op, Parametrisation, Role, Shape};

    fn graph(params: &[(&str, &[usize], Law)]) -> Graph {
        let param = |&(name, shape, law): &(&str, &[usize], Law)| Param {
            name: name.into(),
            shape: shape.to_vec(),
            law,
            role: Role::Trainable,
        };
        Graph {
            name: "test".into(),
            nodes: vec![Node {
                layer: "input".into(),
                op: Op::Input,
                inputs: vec![],
                shape: Shape::Vector { features: 1 },
            }],
            params: params.iter().map(param).collect(),
            parametrisation: Parametrisation::Pytorch,
        }
    }

    /// QQᵀ = 1 to f32 rounding of the entries, for wide, tall, square and convolution shapes.
    #[test]
    fn orthogonal_frames() {
        let shapes: [&[usize]; 6] = [&[5, 40], &[40, 5], &[33, 33], &[16, 8, 3, 3], &[1, 7], &[7]];
        for shape in shapes {
            let gain = 1.5;
            let g = graph(&[("w", shape, Law::Orthogonal { gain })]);
            let w = Weights::<f64>::draw(&g, 1, 2).values.remove(0);
            let (rows, cols) = (shape[0], w.len() / shape[0]);
            let at = |i: usize, k: usize| {
                if rows <= cols {
                    w[i * cols + k]
                } else {
                    w[k * cols + i]
                }
            };
            let (n, m) = (rows.min(cols), rows.max(cols));
            for i in 0..n {
                for j in 0..n {
                    let inner: f64 = (0..m).map(|k| at(i, k) * at(j, k)).sum();
                    let want = if i == j { gain * gain } else { 0.0 };
                    assert!((inner - want).abs() < 3e-7, "{shape:?} {i} {j}: {inner}");
                }
            }
        }
    }

    /// The Haar measure: E Q_ij² = 1/n and E Q_11⁴ = 3/(n(n+2)) over many draws of the 3 × 3 group; without
    /// the sign fix the first entry would always be negative.
    #[test]
    fn orthogonal_is_uniform() {
        let g = graph(&[("w", &[3, 3], Law::Orthogonal { gain: 1.0 })]);
        let draws = 20_000;
        let (mut first, mut fourth, mut determinant) = (0.0, 0.0, 0.0);
        for index in 0..draws {
            let w = Weights::<f64>::draw(&g, 0, index).values.remove(0);
            first += w[0];
            fourth += w[0].powi(4);
            determinant += w[0] * (w[4] * w[8] - w[5] * w[7]) - w[1] * (w[3] * w[8] - w[5] * w[6])
                + w[2] * (w[3] * w[7] - w[4] * w[6]);
        }
        let n = draws as f64;
        // Standard deviations: √(1/3), √(1/9 − 1/25), 1.
        assert!((first / n).abs() < 4.5 * (1.0 / 3.0 / n).sqrt());
        assert!((fourth / n - 0.2).abs() < 4.5 * (0.0711 / n).sqrt());
        assert!((determinant / n).abs() < 4.5 / n.sqrt());
    }

    #[test]
    fn f64_widens_the_f32_draws() {
        let g = graph(&[
            ("u", &[70_000], Law::Uniform { bound: 0.1 }),
            ("n", &[300, 3, 7], Law::Normal { std: 0.3 }),
            ("o", &[6, 9], Law::Orthogonal { gain: 2.0 }),
            ("c", &[3], Law::Constant(0.1)),
        ]);
        let (single, double) = (
            Weights::<f32>::draw(&g, 5, 6),
            Weights::<f64>::draw(&g, 5, 6),
        );
        assert_eq!(single.convert::<f64>(), double);
        assert_eq!(double.convert::<f32>(), single);
        let (bound, far) = (
            0.1_f32,
            single.values[0].iter().fold(0.0_f32, |m, x| m.max(x.abs())),
        );
        assert!(far < bound && far > 0.0999);
        assert_eq!(single.values[3], [0.1; 3]);
    }

    /// Blocks and threads leave no trace; neither does what else is in the network.
    #[test]
    fn a_tensor_depends_on_its_name_alone() {
        let law = Law::Normal { std: 1.0 };
        let shape: &[usize] = &[BLOCK * 2 + 77];
        let both = graph(&[("a", &[5], law), ("b", shape, law)]);
        let one = graph(&[("b", shape, law)]);
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        let b = threads
            .install(|| Weights::<f32>::draw(&both, 9, 1))
            .values
            .remove(1);
        assert_eq!(b, Weights::<f32>::draw(&one, 9, 1).values.remove(0));
        let mut whole = vec![0.0; shape[0]];
        Stream::new(9, 1, "b").normal(1.0, &mut whole);
        assert_eq!(b, whole);
        assert_ne!(b, Weights::<f32>::draw(&one, 9, 2).values[0]);
        assert_ne!(b, Weights::<f32>::draw(&one, 8, 1).values[0]);
    }
}
