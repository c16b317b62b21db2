//! The tangent kernel, its mean over outputs, on a few samples: how far it moves, and how it lies to the labels.

use polariscope_diff::Device;
use polariscope_empirical::{MEMORY, Outputs, among, change};
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_train::Samples;

use super::network::KernelMotion;
use crate::LandscapeError;
use crate::tangent::Tangent;

/// The first samples, and the products of their labels.
pub(super) struct Few<'a> {
    device: Device,
    graph: &'a Graph,
    learnt: Vec<f64>,
    new: Vec<f64>,
    targets: Vec<f64>,
}

/// Kernels among new samples and among learnt ones.
pub(super) struct Pair {
    new: Vec<f64>,
    learnt: Vec<f64>,
}

impl<'a> Few<'a> {
    /// The first `points` of both sets; `classes` are those of the training samples.
    pub fn new(
        (device, graph): (Device, &'a Graph),
        (train, test): (Samples<'_>, Samples<'_>),
        classes: &[u32],
        points: usize,
    ) -> Self {
        let first = |samples: Samples<'_>| -> Vec<f64> {
            let count = points.min(samples.len()) * graph.input().len();
            samples.x[..count].iter().map(|&x| f64::from(x)).collect()
        };
        Self {
            device,
            graph,
            learnt: first(train),
            new: first(test),
            targets: products(&classes[..points.min(classes.len())]),
        }
    }

    /// The kernels of some weights.
    pub fn kernels(&self, weights: &Weights<f64>) -> Result<Pair, LandscapeError> {
        let kernel = |x: &[f64]| match self.device {
            Device::Cpu => {
                let [kernel, _] = Tangent::new(self.graph, weights).kernels(x, &[]);
                Ok::<_, LandscapeError>(kernel)
            }
            Device::Cuda(_) => {
                let network = Network::on(self.graph.clone(), self.device);
                Ok(among(&network, weights, x, Outputs::Mean, MEMORY)?)
            }
        };
        Ok(Pair {
            new: kernel(&self.new)?,
            learnt: kernel(&self.learnt)?,
        })
    }

    /// What lies between two of them.
    pub fn motion(&self, before: &Pair, after: &Pair) -> KernelMotion {
        KernelMotion {
            change: change(&after.new, &before.new),
            alignment: [before, after].map(|pair| cosine(&pair.learnt, &self.targets)),
        }
    }
}

/// YYᵀ with Y a one for the class of each sample, less the mean over samples.
fn products(classes: &[u32]) -> Vec<f64> {
    let n = classes.len() as f64;
    let share = |class: u32| classes.iter().filter(|c| **c == class).count() as f64 / n;
    let most = classes.iter().max().map_or(0, |c| c + 1);
    let constant: f64 = (0..most).map(|class| share(class).powi(2)).sum();
    let product = |a: u32, b: u32| f64::from(u8::from(a == b)) - share(a) - share(b) + constant;
    let rows = classes.iter();
    rows.flat_map(|&a| classes.iter().map(move |&b| product(a, b)))
        .collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    inner(a, b) / (inner(a, a) * inner(b, b)).sqrt()
}
