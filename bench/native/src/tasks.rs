//! What is timed.

use polariscope_diff::Place;
use polariscope_geometry::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampler, Shard, State,
};
use polariscope_graph::{Graph, ZooOptions, parse_file, zoo};
use polariscope_network::{Dipole, Network, Scalar, Weights};
use polariscope_train::{Batch, BatchGradient, Loss, Moments, Optimiser};

use crate::Failure;
use crate::deform::Deform;
use crate::landscape::Landscape;

/// One thing to time.
pub enum Task {
    /// ∇ₓ of logit 0 for a batch.
    Gradient {
        network: Network<f32>,
        weights: Weights<f32>,
        x: Vec<f32>,
    },
    /// A wave of networks of a sampled geometry.
    Sample(Box<Sample>),
    /// A training step in place.
    Step(Box<Step>),
    /// Fresh weights.
    Init {
        graph: Graph,
        weights: Weights<f32>,
        index: u64,
    },
    /// What `bench/landscape` asks.
    Landscape(Box<Landscape>),
    /// What `bench/deform` asks.
    Deform(Box<Deform>),
}

/// A sampled geometry, and the gradients of its first network at points that the peer knows.
pub struct Sample {
    graph: Graph,
    sampler: Sampler<f32>,
    state: State,
    gradient: Gradient,
    x: Vec<f32>,
}

impl Sample {
    fn new(graph: Graph, gradient: Gradient, x: Vec<f32>) -> Result<Self, Failure> {
        let (probe, probes, centring) = match gradient {
            Gradient::Coherent | Gradient::Local => {
                (Probe::Gauss { sigma: 1.0 }, 128, Centring::None)
            }
            Gradient::Dipole { .. } => {
                let source = "one point".to_owned();
                let x = x.iter().map(|&x| f64::from(x)).collect();
                (Probe::Points { source, x }, 1, Centring::Mean)
            }
        };
        let config = SampleConfig {
            seed: 0,
            method: Method::Sample,
            gradient,
            probe,
            probes,
            output: Output::Logit(0),
            readouts: Readouts::Own,
            centring,
            place: Place::default(),
        };
        // A large network takes long: an eighth of a wave will do.
        let count = if graph.parameter_count() > 1_000_000 {
            8
        } else {
            1
        };
        let shard = Shard { index: 0, count };
        let sampler = Sampler::new(&graph, config, Vec::new(), Limit::Networks(1 << 30), shard)?;
        let state = sampler.start();
        Ok(Sample {
            graph,
            sampler,
            state,
            gradient,
            x,
        })
    }

    fn check(&self) -> Result<Vec<f32>, Failure> {
        let weights = Weights::draw(&self.graph, 0, 0);
        Ok(match self.gradient {
            Gradient::Coherent | Gradient::Local => Network::new(self.graph.clone())
                .input_gradient(&weights, &self.x, Scalar::Logit(0))?,
            Gradient::Dipole { h } => {
                Dipole::new(&self.graph, h, Scalar::Logit(0))?.gradient(&weights, &self.x)?
            }
        })
    }
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
    fn run(&mut self) -> Result<(), Failure> {
        self.t += 1;
        let batch = Batch {
            x: &self.x,
            y: &self.y,
            origin: &[],
            seed: 0,
            step: self.t,
        };
        self.gradient.run(&self.weights, batch)?;
        for (i, weights) in self.weights.values.iter_mut().enumerate() {
            let gradient = (self.gradient.gradient(i), 1.0);
            self.optimiser
                .update((self.t, self.rate), &mut self.moments, i, weights, gradient);
        }
        Ok(())
    }
}

/// Numbers in (−1, 1) that both sides make: sin(index), which needs no generator.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i as f64).sin() as f32).collect()
}

pub fn named(name: &str, input: &str, outputs: usize) -> Result<Graph, Failure> {
    let options = ZooOptions {
        input: Some(input.parse()?),
        outputs: Some(outputs),
        ..ZooOptions::default()
    };
    Ok(zoo(name, &options)?)
}

/// An MLP with layers named `0`, `2`, `4`.
pub fn mlp(sizes: [usize; 4], activation: &str) -> Result<Graph, Failure> {
    let [input, a, b, output] = sizes;
    let text = format!(
        "input = [{input}]\nlayers = [{{ op = \"dense\", features = {a} }}, {{ op = \"{activation}\" }}, \
         {{ op = \"dense\", features = {b} }}, {{ op = \"{activation}\" }}, {{ op = \"dense\", features = {output} }}]"
    );
    Ok(parse_file(&text, "mlp", &ZooOptions::default())?)
}

impl Task {
    /// Sets a task up; writes `w.safetensors` and `x.f32` where the other side needs them.
    pub fn prepare(name: &str, dir: &str) -> Result<Self, Failure> {
        if let Some(task) = Landscape::prepare(name, dir)? {
            return Ok(Task::Landscape(Box::new(task)));
        }
        if let Some(task) = Deform::prepare(name, dir)? {
            return Ok(Task::Deform(Box::new(task)));
        }
        let (graph, batch) = match name {
            "lenet-grad" => (named("lenet", "1x32x32", 1)?, 128),
            "lenet-step" => (named("lenet", "3x32x32", 10)?, 128),
            "nad-lenet" => (named("lenet", "1x32x32", 1)?, 1),
            "nad-resnet18" => (named("resnet18", "1x32x32", 1)?, 1),
            "grad-lenet" => (named("lenet", "1x32x32", 1)?, 128),
            "grad-resnet18" => (named("resnet18", "1x32x32", 1)?, 128),
            "resnet18-grad" => (named("resnet18", "3x32x32", 10)?, 16),
            "mlp-grad" => (mlp([3072, 512, 512, 1], "relu")?, 256),
            "tiny-step" => (mlp([10, 30, 30, 1], "relu")?, 100),
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
            "nad-lenet" | "nad-resnet18" => {
                let dipole = Gradient::Dipole { h: 100.0 };
                Task::Sample(Box::new(Sample::new(graph, dipole, x)?))
            }
            "grad-lenet" | "grad-resnet18" => {
                Task::Sample(Box::new(Sample::new(graph, Gradient::Local, x)?))
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
            Task::Sample(sample) => sample.sampler.advance(&mut sample.state)?,
            Task::Step(step) => step.run()?,
            Task::Landscape(task) => task.run()?,
            Task::Deform(task) => task.run(),
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
    pub fn check(&mut self) -> Result<Vec<u8>, Failure> {
        let numbers = match self {
            Task::Landscape(task) => {
                let numbers = task.check()?.into_iter();
                return Ok(numbers.flat_map(f64::to_le_bytes).collect());
            }
            Task::Gradient {
                network,
                weights,
                x,
            } => network.input_gradient(weights, x, Scalar::Logit(0))?,
            Task::Sample(sample) => sample.check()?,
            Task::Deform(task) => task.check(),
            Task::Step(step) => {
                step.weights = step.initial.clone();
                (0..3).try_for_each(|_| step.run())?;
                step.weights.values.concat()
            }
            Task::Init { weights, .. } => weights.values.concat(),
        };
        Ok(numbers.into_iter().flat_map(f32::to_le_bytes).collect())
    }
}
