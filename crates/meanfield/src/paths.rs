//! Where paths through a graph part and meet.
//!
//! The gradient is a sum over paths, and two paths are correlated only if they pass the same weights: weights
//! have mean 0 and are independent between layers. So the covariance at a node is the sum over its consumers
//! unless two paths without weights lead from one node to the two sides of a sum. Sides of a concatenation
//! stay apart, since the next weight reads them by different entries; only the mean over outputs, when it
//! follows with no weight between, adds them.

use polariscope_graph::{Graph, Op};

use crate::{Readout, Refusal};

/// Whether the input reaches each node with no weight between.
pub(crate) fn bare(graph: &Graph) -> Vec<bool> {
    let mut bare = vec![false; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        let above = node.inputs.iter().any(|input| bare[input.0]);
        bare[i] = match &node.op {
            Op::Input => true,
            op => above && !op.is_weighted(),
        };
    }
    bare
}

/// Whether a sum or an activation reads each node with no weight between: where its mean matters.
pub(crate) fn read_unweighted(graph: &Graph) -> Vec<bool> {
    let mut read = vec![false; graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        let reads = match &node.op {
            Op::Add | Op::Activation(_) => true,
            op => read[i] && !op.is_weighted(),
        };
        if reads {
            node.inputs.iter().for_each(|input| read[input.0] = true);
        }
    }
    read
}

/// Refuses graphs in which two paths are correlated.
pub(crate) fn check(graph: &Graph, live: &[bool], readout: Readout) -> Result<(), Refusal> {
    // Whether each node leads to the output with no weight between.
    let mut ends = vec![false; graph.nodes.len()];
    if let Some(last) = ends.last_mut() {
        *last = true;
    }
    for (i, node) in graph.nodes.iter().enumerate().rev() {
        if ends[i] && !node.op.is_weighted() {
            node.inputs.iter().for_each(|input| ends[input.0] = true);
        }
    }
    if readout == Readout::Mean && bare(graph).last() == Some(&true) {
        return Err(Refusal::Bare);
    }
    let mut origins: Vec<Set> = Vec::with_capacity(graph.nodes.len());
    for (i, node) in graph.nodes.iter().enumerate() {
        let mut own = Set::with(i);
        if !node.op.is_weighted() {
            let mixes = match &node.op {
                Op::Concat => readout == Readout::Mean && ends[i],
                _ => true,
            };
            for input in &node.inputs {
                let above = &origins[input.0];
                let meeting = own.last_common(above);
                if let Some(common) = meeting.filter(|_| mixes && live[i]) {
                    return Err(Refusal::Correlated {
                        join: node.op.name(),
                        layer: node.layer.clone(),
                        source_layer: graph.nodes[common].layer.clone(),
                    });
                }
                own.extend(above);
            }
        }
        origins.push(own);
    }
    Ok(())
}

/// Node indices as bits.
struct Set(Vec<u64>);

impl Set {
    fn with(i: usize) -> Self {
        let mut bits = vec![0; i / 64 + 1];
        bits[i / 64] |= 1 << (i % 64);
        Set(bits)
    }

    fn extend(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// The largest index in both.
    fn last_common(&self, other: &Set) -> Option<usize> {
        let words = self.0.iter().zip(&other.0).enumerate().rev();
        words
            .map(|(w, (a, b))| (w, a & b))
            .find(|(_, both)| *both != 0)
            .map(|(w, both)| w * 64 + 63 - both.leading_zeros() as usize)
    }
}
