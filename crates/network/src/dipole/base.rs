//! The base point, once for each network: the value of every node of the regional part, and the weights in the form
//! that changes are multiplied with.

use polariscope_diff::Number;
use polariscope_graph::Graph;

use super::class::{Class, Join, classify};
use super::plan::DipolePlan;
use super::programs::{ProgramId, Programs, Sessions, leaves};
use super::stage::transpose;
use crate::Weights;

/// How a node's value is found from those before it.
pub enum Step {
    /// The base point.
    Input,
    /// Several values joined.
    Join(Join),
    /// An op of one value.
    Op(ProgramId),
}

/// The steps of nodes 0..=cut.
pub fn steps(graph: &Graph, cut: usize, programs: &mut Programs) -> Vec<Step> {
    let step = |node: &polariscope_graph::Node| match classify(&node.op) {
        Class::Input => Step::Input,
        Class::Join(join) => Step::Join(join),
        Class::Elementwise(_)
        | Class::Conv(_)
        | Class::Pool(..)
        | Class::Dense { .. }
        | Class::Flatten
        | Class::Global => {
            let shapes = [graph.nodes[node.inputs[0].0].shape, node.shape];
            let op = std::slice::from_ref(&node.op);
            Step::Op(programs.sequence(graph, shapes, op, 1))
        }
    };
    graph.nodes[..=cut].iter().map(step).collect()
}

/// What stages need to know of the base point under some weights; all of it by node.
pub struct Base<T> {
    /// Values in memory order.
    pub nodes: Vec<Vec<T>>,
    /// The same position by position, of nodes that stages read.
    pub positions: Vec<Vec<T>>,
    /// Weights for changes, of the last nodes of stages that multiply them.
    pub packed: Vec<Vec<T>>,
    sessions: Sessions<T>,
}

impl<T: Number> Base<T> {
    /// Memory for a plan.
    pub fn new(plan: &DipolePlan) -> Self {
        let nodes = plan.cut + 1;
        Base {
            sessions: Sessions::new(&plan.programs),
            nodes: vec![Vec::new(); nodes],
            positions: vec![Vec::new(); nodes],
            packed: vec![Vec::new(); nodes],
        }
    }

    /// Computes everything for a network.
    pub fn run(&mut self, graph: &Graph, plan: &DipolePlan, x: &[T], weights: &Weights<T>) {
        for (i, step) in plan.steps.iter().enumerate() {
            let mut out = std::mem::take(&mut self.nodes[i]);
            out.clear();
            let mut inputs = graph.nodes[i].inputs.iter().map(|i| &self.nodes[i.0]);
            match step {
                Step::Input => out.extend_from_slice(x),
                Step::Op(program) => {
                    let input = inputs.next().map_or(x, |v| v);
                    let y = self.sessions.run(*program, &leaves(input, weights));
                    out.extend_from_slice(y);
                }
                Step::Join(Join::Concat) => inputs.for_each(|v| out.extend_from_slice(v)),
                Step::Join(Join::Add) => {
                    out.resize(graph.nodes[i].shape.len(), T::ZERO);
                    for input in inputs {
                        out.iter_mut().zip(input).for_each(|(y, &v)| *y += v);
                    }
                }
            }
            self.nodes[i] = out;
        }
        for stage in &plan.stages {
            if let Some(linear) = stage.make.linear() {
                linear.pack(weights, &mut self.packed[stage.end]);
            }
        }
        for &(node, channels) in &plan.read {
            let (from, to) = (&self.nodes[node], &mut self.positions[node]);
            to.resize(from.len(), T::ZERO);
            transpose(from, channels, to);
        }
    }
}
