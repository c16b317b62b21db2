//! What is timed.

use polariscope_graph::{Graph, ZooOptions, parse_file, zoo};
use polariscope_network::{Network, Scalar, Weights};
use polariscope_train::{Batch, BatchGradient, Loss, Moments, Optimiser};

use crate::Failure;

/// One thing to time.
pub enum Task {
    /// ∇ₓ of logit 0 for a batch.
    Gradient {
        network: Network<f32>,
        weights: Weights<f32>,
        x: Vec<f32>,
    },
    /// A training step in place.
    Step(Box<Step>),
    /// Fresh weights.
    Init {
        graph: Graph,
        weights: Weights<f32>,
        index: u64,
    },
}

/// A training step: gradient and update.
pub struct Step {
    initial: Weights<f32>,
    weights: Weights<f32>,
    gradient: BatchGradient<f32>,
    optimiser: Optimiser,
    moments: Moments<f32>,
    rate: f64,
    x: Vec<f32>,
    y: Vec<f32>,
    t: u64,
}

impl Step {
    fn run(&mut self) {
        self.t += 1;
        let batch = Batch {
            x: &self.x,
            y: &self.y,
            origin: &[],
            seed: 0,
            step: self.t,
        };
        self.gradient.run(&self.weights, batch);
        for (i, weights) in self.weights.values.iter_mut().enumerate() {
            let gradient = (self.gradient.gradient(i), 1.0);
            self.optimiser
                .update((self.t, self.rate), &mut self.moments, i, weights, gradient);
        }
    }
}

/// Numbers in (−1, 1) that both sides make: sin(index), which needs no generator.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i as f64).sin() as f32).collect()
}

fn named(name: &str, input: &str, outputs: usize) -> Result<Graph, Failure> {
    let options = ZooOptions {
        input: Some(input.parse()?),
        outputs: Some(outputs),
        ..ZooOptions::default()
    };
    Ok(zoo(name, &options)?)
}

/// A ReLU MLP with layers named `0`, `2`, `4`.
fn mlp(sizes: [usize; 4]) -> Result<Graph, Failure> {
    let [input, a, b, output] = sizes;
    let text = format!(
        "input = [{input}]\nlayers = [{{ op = \"dense\", features = {a} }}, {{ op = \"relu\" }}, \
         {{ op = \"dense\", features = {b} }}, {{ op = \"relu\" }}, {{ op = \"dense\", features = {output} }}]"
    );
    Ok(parse_file(&text, "mlp", &ZooOptions::default())?)
}

impl Task {
    /// Sets a task up; writes `w.safetensors` and `x.f32` where the other side needs them.
    pub fn prepare(name: &str, dir: &str) -> Result<Self, Failure> {
        let (graph, batch) = match name {
            "lenet-grad" => (named("lenet", "1x32x32", 1)?, 128),
            "lenet-step" => (named("lenet", "3x32x32", 10)?, 128),
            "resnet18-grad" => (named("resnet18", "3x32x32", 10)?, 16),
            "mlp-grad" => (mlp([3072, 512, 512, 1])?, 256),
            "tiny-step" => (mlp([10, 30, 30, 1])?, 100),
            "init" => (named("resnet18", "3x32x32", 10)?, 0),
            _ => return Err(format!("there is no task {name}").into()),
        };
        let weights = Weights::draw(&graph, 0, 0);
        let x = numbers(batch * graph.input().len());
        weights.write(&graph, &std::path::Path::new(dir).join("w.safetensors"))?;
        std::fs::write(
            format!("{dir}/x.f32"),
            x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>(),
        )?;
        Ok(match name {
            "init" => Task::Init {
                graph,
                weights,
                index: 0,
            },
            "lenet-step" | "tiny-step" => {
                let (loss, momentum) = if name == "tiny-step" {
                    (Loss::Mse, 0.0)
                } else {
                    (Loss::CrossEntropy, 0.9)
                };
                let optimiser = Optimiser::Sgd {
                    momentum,
                    weight_decay: 0.0,
                };
                let outputs = graph.output().len();
                let mut y = numbers(batch * outputs);
                if loss == Loss::CrossEntropy {
                    y.fill(0.0);
                    (0..batch).for_each(|i| y[i * outputs + i % outputs] = 1.0);
                }
                Task::Step(Box::new(Step {
                    initial: weights.clone(),
                    weights,
                    gradient: BatchGradient::new(&graph, loss.into(), batch)?,
                    moments: Moments::new(&graph, optimiser),
                    optimiser,
                    rate: 0.01,
                    x,
                    y,
                    t: 0,
                }))
            }
            _ => Task::Gradient {
                network: Network::new(graph),
                weights,
                x,
            },
        })
    }

    /// One run.
    pub fn run(&mut self) -> Result<(), Failure> {
        match self {
            Task::Gradient {
                network,
                weights,
                x,
            } => {
                network.input_gradient(weights, x, Scalar::Logit(0))?;
            }
            Task::Step(step) => step.run(),
            Task::Init {
                graph,
                weights,
                index,
            } => {
                *index += 1;
                weights.redraw(graph, 0, *index);
            }
        }
        Ok(())
    }

    /// The result of one run from the start: gradients, or the weights after three steps.
    pub fn check(&mut self) -> Result<Vec<f32>, Failure> {
        Ok(match self {
            Task::Gradient {
                network,
                weights,
                x,
            } => network.input_gradient(weights, x, Scalar::Logit(0))?,
            Task::Step(step) => {
                step.weights = step.initial.clone();
                (0..3).for_each(|_| step.run());
                step.weights.values.concat()
            }
            Task::Init { weights, .. } => weights.values.concat(),
        })
    }
}
