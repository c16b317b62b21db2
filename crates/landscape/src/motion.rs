//! How far training moves a network: its tangent kernel, its weights, and the kernel's alignment with the labels.

use polariscope_diff::Device;
use polariscope_empirical::{Float, Follower, MEMORY, Outputs, among, change};
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_train::Samples;
use serde::{Deserialize, Serialize};

use crate::LandscapeError;

/// Samples that kernels are looked at on, at most.
pub const POINTS: usize = 60;

/// What training moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// ‖Θ − Θ₀‖/‖Θ₀‖ on the first test samples.
    pub kernel: f64,
    /// ‖w − w₀‖/‖w₀‖ over all that is trained.
    pub weights: f64,
    /// The same of every layer, by name; infinite where a layer starts at 0.
    pub layers: Vec<(String, f64)>,
    /// Cosine between Θ and the products of the labels on the first training samples, before and after.
    pub alignment: [f64; 2],
}

/// A network before it is trained: what [`Motion`] is measured from.
pub struct Start<T> {
    network: Network<T>,
    weights: Weights<T>,
    /// First test samples, and Θ₀ on them.
    x: Vec<T>,
    kernel: Vec<f64>,
    follower: Follower<T>,
    alignment: f64,
}

impl<T: Float> Start<T> {
    /// Keeps the weights, the kernel on the first `points` test samples, and its alignment on as many training samples.
    pub fn new(
        device: Device,
        graph: &Graph,
        weights: &Weights<T>,
        (train, test): (Samples<'_>, Samples<'_>),
        points: usize,
    ) -> Result<Self, LandscapeError> {
        let network = Network::on(graph.clone(), device);
        let x = test.x[..points.clamp(1, test.len()) * graph.input().len()].iter();
        let x: Vec<T> = x.map(|&x| T::from_f64(f64::from(x))).collect();
        let follower = Follower::new(device, graph, weights, train, points)?;
        Ok(Start {
            kernel: among(&network, weights, &x, Outputs::Mean, MEMORY)?,
            alignment: follower.first().alignment,
            weights: weights.clone(),
            network,
            x,
            follower,
        })
    }

    /// What has moved.
    pub fn motion(&self, weights: &Weights<T>) -> Result<Motion, LandscapeError> {
        let kernel = among(&self.network, weights, &self.x, Outputs::Mean, MEMORY)?;
        let (all, layers) = moved(self.network.graph(), &self.weights, weights);
        Ok(Motion {
            kernel: change(&kernel, &self.kernel),
            weights: all,
            layers,
            alignment: [self.alignment, self.follower.look(weights, 0)?.alignment],
        })
    }
}

/// ‖w − w₀‖/‖w₀‖ of all that is trained, and layer by layer; infinite where a layer starts at 0.
pub fn moved<T: Float>(
    graph: &Graph,
    start: &Weights<T>,
    end: &Weights<T>,
) -> (f64, Vec<(String, f64)>) {
    let mut all = Moved::default();
    let mut layers: Vec<(&str, Moved)> = Vec::new();
    for i in graph.trainable() {
        let moved = Moved::of(&start.values[i], &end.values[i]);
        let name = graph.params[i].name.as_str();
        let layer = name.rsplit_once('.').map_or(name, |(layer, _)| layer);
        all.add(moved);
        match layers.last_mut() {
            Some((last, sum)) if *last == layer => sum.add(moved),
            _ => layers.push((layer, moved)),
        }
    }
    let layers = layers.into_iter();
    (
        all.relative(),
        layers.map(|(l, m)| (l.to_string(), m.relative())).collect(),
    )
}

/// Sums of squares: of the change, and of the start.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    change: f64,
    start: f64,
}

impl Moved {
    fn of<T: Float>(start: &[T], end: &[T]) -> Self {
        let square = |x: T| x.to_f64().powi(2);
        let pairs = start.iter().zip(end);
        Moved {
            change: pairs
                .map(|(&a, &b)| (b.to_f64() - a.to_f64()).powi(2))
                .sum(),
            start: start.iter().map(|&a| square(a)).sum(),
        }
    }

    fn add(&mut self, other: Moved) {
        self.change += other.change;
        self.start += other.start;
    }

    fn relative(self) -> f64 {
        match self.change {
            // Nothing moved, from wherever it started.
            0.0 => 0.0,
            change => (change / self.start).sqrt(),
        }
    }
}
