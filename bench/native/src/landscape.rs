//! What `bench/landscape` asks: training steps, Hessians, their products and tangent kernels, in f64.

use std::path::Path;
use std::sync::Arc;

use polariscope_diff::{Program, Session, Trace};
use polariscope_graph::Graph;
use polariscope_landscape::hessian::dense;
use polariscope_landscape::tangent::Tangent;
use polariscope_lens::Quiet;
use polariscope_network::Weights;
use polariscope_train::{Batch, BatchGradient, Loss, LossHessian, Moments, Optimiser};

use crate::Failure;
use crate::tasks::{mlp, named};

/// The loss of the small networks.
const HINGE: Loss = Loss::Hinge {
    power: 2.0,
    margin: 0.5,
};
/// Steps between two looks at the clock: one alone is too short for it.
const STEPS: usize = 20;
const RATE: f64 = 0.01;
const SIDE: usize = 512;

/// One thing to time.
pub enum Landscape {
    /// [`STEPS`] full-batch steps of gradient descent.
    Step {
        graph: Graph,
        weights: Weights<f64>,
        gradient: BatchGradient<f64>,
        x: Vec<f64>,
        y: Vec<f64>,
    },
    /// The Hessian.
    Dense {
        hessian: LossHessian<f64>,
        weights: Weights<f64>,
    },
    /// The Hessian times a vector.
    Product {
        hessian: LossHessian<f64>,
        weights: Weights<f64>,
        v: Weights<f64>,
    },
    /// The tangent kernel, its mean over outputs.
    Kernel {
        graph: Graph,
        weights: Weights<f64>,
        x: Vec<f64>,
    },
    /// The square of a [`SIDE`] × [`SIDE`] matrix.
    Matrices { session: Session<f64>, a: Vec<f64> },
}

/// Numbers in (−1, 1) that need no generator.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| f64::from((i as f64).sin() as f32)).collect()
}

/// +1 and −1 in turn.
fn signs(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.0 - 2.0 * (i % 2) as f64).collect()
}

impl Landscape {
    /// Sets `step-ACTIVATION-WIDTH-SAMPLES`, `dense`, `product`, `kernel` or `matrices` up, nothing for other names. Writes inputs,
    /// trainable parameters, a vector as long and their names to `x.f64`, `w.f64`, `v.f64` and `names`.
    pub fn prepare(name: &str, dir: &str) -> Result<Option<Self>, Failure> {
        if name == "matrices" {
            return Ok(Some(Landscape::matrices()));
        }
        let words: Vec<&str> = name.split('-').collect();
        let (graph, samples) = match words[..] {
            ["step", activation, width, samples] => {
                let width = width.parse()?;
                (mlp([10, width, width, 1], activation)?, samples.parse()?)
            }
            ["dense"] => (mlp([18, 18, 18, 1], "relu")?, 1800),
            ["product"] => (named("resnet18", "3x32x32", 10)?, 16),
            ["kernel"] => (mlp([784, 100, 100, 10], "relu")?, 500),
            _ => return Ok(None),
        };
        let weights = Weights::<f64>::draw(&graph, 0, 0);
        let x = numbers(samples * graph.input().len());
        let y = signs(samples);
        let v = numbers(graph.parameter_count());
        let parameters: Vec<f64> = graph
            .trainable()
            .flat_map(|i| weights.values[i].clone())
            .collect();
        let dir = Path::new(dir);
        for (file, numbers) in [("x.f64", &x), ("w.f64", &parameters), ("v.f64", &v)] {
            let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
            std::fs::write(dir.join(file), bytes)?;
        }
        let names: Vec<&str> = graph
            .trainable()
            .map(|i| graph.params[i].name.as_str())
            .collect();
        std::fs::write(dir.join("names"), names.join("\n"))?;
        Ok(Some(match words[0] {
            "step" => Landscape::Step {
                gradient: BatchGradient::new(&graph, HINGE.into(), samples)?,
                graph,
                weights,
                x,
                y,
            },
            "dense" => Landscape::Dense {
                hessian: LossHessian::new(&graph, HINGE, &x, &y)?,
                weights,
            },
            "product" => {
                let mut targets = vec![0.0; samples * 10];
                (0..samples).for_each(|i| targets[i * 10 + i % 10] = 1.0);
                let mut direction = Weights::zeros(&graph);
                let mut rest = v.into_iter();
                for i in graph.trainable() {
                    let values = direction.values[i].iter_mut().zip(&mut rest);
                    values.for_each(|(v, x)| *v = x);
                }
                Landscape::Product {
                    hessian: LossHessian::new(&graph, Loss::CrossEntropy, &x, &targets)?,
                    weights,
                    v: direction,
                }
            }
            _ => Landscape::Kernel { graph, weights, x },
        }))
    }

    fn matrices() -> Self {
        let mut t = Trace::new();
        let a = t.leaf(&[1, SIDE, SIDE]);
        let square = t.matmul(a, a, false, false);
        Landscape::Matrices {
            session: Session::new(Arc::new(Program::new(&t, &[square]))),
            a: numbers(SIDE * SIDE),
        }
    }

    /// One run.
    pub fn run(&mut self) -> Result<(), Failure> {
        self.check().map(drop)
    }

    /// The result of a run: the Hessian, the product of trainable parameters, the kernel, or the weights, which a step moves on.
    pub fn check(&mut self) -> Result<Vec<f64>, Failure> {
        Ok(match self {
            Landscape::Step {
                graph,
                weights,
                gradient,
                x,
                y,
            } => {
                let rule = Optimiser::GRADIENT_DESCENT;
                let mut moments = Moments::new(graph, rule);
                for step in 1..=STEPS as u64 {
                    let batch = Batch {
                        x,
                        y,
                        origin: &[],
                        seed: 0,
                        step,
                    };
                    gradient.run(weights, batch)?;
                    for (i, weights) in weights.values.iter_mut().enumerate() {
                        let g = (gradient.gradient(i), 1.0);
                        rule.update((step, RATE), &mut moments, i, weights, g);
                    }
                }
                weights.values.concat()
            }
            Landscape::Dense { hessian, weights } => dense(hessian, weights, &mut Quiet)?.hessian(),
            Landscape::Product {
                hessian,
                weights,
                v,
            } => {
                let product = hessian.product(weights, v)?;
                let trainable = hessian.graph().trainable();
                trainable.flat_map(|i| product.values[i].clone()).collect()
            }
            Landscape::Kernel { graph, weights, x } => {
                let [kernel, _] = Tangent::new(graph, weights).kernels(x, &[]);
                kernel
            }
            Landscape::Matrices { session, a } => {
                session.run(&[a]);
                Vec::new()
            }
        })
    }
}
