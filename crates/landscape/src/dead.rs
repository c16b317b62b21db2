//! Signals that die: a pattern for which every ReLU of a layer is off is told apart from no other one by what follows, and
//! no weight below learns from it. A unit that is off on every pattern learns from none.
//!
//! Networks without ReLU have neither.

use polariscope_diff::{Device, Id, Loaded, Number, Program, Real};
use polariscope_graph::{Activation, Graph, Node, Op, Shape};
use polariscope_network::{Mode, NetworkError, Weights, lower, samples_a_task};
use serde::{Deserialize, Serialize};

use crate::LandscapeError;

/// What died.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    /// Patterns that do not reach the output by any way, in order.
    pub patterns: Vec<usize>,
    /// Every layer of ReLUs.
    pub layers: Vec<Layer>,
}

/// A layer of ReLUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// Patterns for which all units are off. Where a skip leads around the layer they still reach the output.
    pub patterns: Vec<usize>,
    /// Units that are off on every pattern, in order.
    pub units: Vec<usize>,
    /// Units in all.
    pub width: usize,
}

/// The ReLUs of a graph, as (place of the node, node).
fn relus(graph: &Graph) -> impl Iterator<Item = (usize, &Node)> {
    let relu = |(_, node): &(usize, &Node)| matches!(node.op, Op::Activation(Activation::Relu));
    graph.nodes.iter().enumerate().filter(relu)
}

impl Dead {
    /// Of a network on `x`, N × sample.
    pub fn of<T: Number>(
        device: Device,
        graph: &Graph,
        weights: &Weights<T>,
        x: &[f32],
    ) -> Result<Self, LandscapeError> {
        let sample = graph.input().len();
        let layer = |(_, node): (usize, &Node)| Layer {
            name: node.layer.clone(),
            patterns: Vec::new(),
            units: (0..node.shape.len()).collect(),
            width: node.shape.len(),
        };
        let mut dead = Dead {
            patterns: Vec::new(),
            layers: relus(graph).map(layer).collect(),
        };
        if dead.layers.is_empty() {
            return Ok(dead);
        }
        check(graph, weights, x)?;
        let chunk = samples_a_task(graph);
        let mut plan: Option<(usize, Loaded<T>)> = None;
        for (c, x) in x.chunks(chunk * sample).enumerate() {
            let n = x.len() / sample;
            let (_, session) = match &mut plan {
                Some(open) if open.0 == n => open,
                other => other.insert((n, load(graph, n, device)?)),
            };
            let x: Vec<T> = x.iter().map(|&x| T::from_f64(f64::from(x))).collect();
            let weights = weights.values.iter().map(Vec::as_slice);
            let leaves: Vec<&[T]> = std::iter::once(x.as_slice()).chain(weights).collect();
            session.run(&leaves).map_err(NetworkError::from)?;
            for i in 0..n {
                dead.add(graph, c * chunk + i, |k, width| {
                    &session.output(k)[i * width..(i + 1) * width]
                });
            }
        }
        Ok(dead)
    }

    /// Layers with units that are off on every pattern, and which; of images and signals whole channels.
    pub fn units(&self, graph: &Graph) -> Vec<(String, Vec<usize>)> {
        let layers = self.layers.iter().zip(relus(graph));
        let named = layers.map(|(layer, (_, node))| {
            let channels = match node.shape {
                Shape::Vector { features } => features,
                Shape::Signal { channels, .. } | Shape::Image { channels, .. } => channels,
                Shape::Tokens { .. } => layer.width,
            };
            let positions = layer.width / channels.max(1);
            let mut off = vec![0; channels];
            (layer.units.iter()).for_each(|unit| off[unit / positions] += 1);
            let dead = (0..channels).filter(|&channel| off[channel] == positions);
            (layer.name.clone(), dead.collect::<Vec<usize>>())
        });
        named.filter(|(_, dead)| !dead.is_empty()).collect()
    }

    /// Adds a pattern; `units` tells the numbers that a layer makes of it.
    fn add<'a, T: Real>(
        &mut self,
        graph: &Graph,
        pattern: usize,
        units: impl Fn(usize, usize) -> &'a [T],
    ) {
        let mut layers = self.layers.iter_mut().enumerate();
        let mut reaches: Vec<bool> = Vec::with_capacity(graph.nodes.len());
        for node in &graph.nodes {
            let before = node.inputs.is_empty() || node.inputs.iter().any(|i| reaches[i.0]);
            let layer = match node.op {
                Op::Activation(Activation::Relu) => layers.next(),
                _ => None,
            };
            let passes = layer.is_none_or(|(k, layer)| {
                let values = units(k, layer.width);
                layer.units.retain(|&unit| values[unit] <= T::ZERO);
                let off = values.iter().all(|&value| value <= T::ZERO);
                if off {
                    layer.patterns.push(pattern);
                }
                !off
            });
            reaches.push(before && passes);
        }
        if reaches.last() == Some(&false) {
            self.patterns.push(pattern);
        }
    }
}

/// The outputs of every layer of ReLUs.
fn load<T: Number>(
    graph: &Graph,
    samples: usize,
    device: Device,
) -> Result<Loaded<T>, NetworkError> {
    let lowered = lower(graph, samples, Mode::Evaluate);
    let outputs: Vec<Id> = relus(graph).map(|(i, _)| lowered.nodes[i]).collect();
    let program = Program::new(&lowered.trace, &outputs);
    Ok(Loaded::new(program.into(), device)?)
}

fn check<T: Number>(graph: &Graph, weights: &Weights<T>, x: &[f32]) -> Result<(), NetworkError> {
    let sizes = graph.params.iter().map(|p| p.len());
    if !weights.values.iter().map(Vec::len).eq(sizes) {
        let network = graph.name.clone();
        return Err(NetworkError::Weights { network });
    }
    match x.len().is_multiple_of(graph.input().len()) {
        true => Ok(()),
        false => Err(NetworkError::Input {
            length: x.len(),
            shape: graph.input(),
        }),
    }
}
