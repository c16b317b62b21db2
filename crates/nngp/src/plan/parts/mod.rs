//! A graph as parts and mixings.
//!
//! The input's channels are not exchangeable, so its block carries the sum over them (`summed`); so does whatever is
//! made of it until a weight reads it.

mod mixed;
mod node;
mod pointwise;
mod weighted;

use polariscope_graph::{Graph, Node, Shape};

use super::{End, Link, Read, StepSource};
use crate::NngpError;

/// One block of one node, or of several that only do pointwise things to it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub source: StepSource,
    pub chain: Vec<Link>,
    pub grid: [usize; 2],
    pub layer: String,
    /// Whether more than one node reads it, so that its chain is closed.
    closed: bool,
}

/// A node that mixes positions.
#[derive(Clone, Debug)]
pub(super) struct Mixing {
    pub end: End,
    pub from: Vec<usize>,
    pub grid: [usize; 2],
    pub grid_out: [usize; 2],
    pub layer: String,
}

/// A graph in parts.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub input: [usize; 3],
    pub parts: Vec<Part>,
    /// In order; the last one is the output.
    pub mixings: Vec<Mixing>,
    pub approximations: Vec<String>,
}

/// Channels of a node that have one law.
#[derive(Clone, Copy, Debug)]
struct Block {
    part: usize,
    channels: usize,
    /// Whether the part holds the sum over the channels.
    summed: bool,
}

impl Block {
    /// All channels.
    fn read(&self) -> Read {
        Read {
            from: self.part,
            channels: match self.summed {
                true => 1.0,
                false => self.channels as f64,
            },
        }
    }

    /// Channels in one field.
    fn held(&self) -> f64 {
        match self.summed {
            true => self.channels as f64,
            false => 1.0,
        }
    }
}

/// Positions of a shape.
fn grid(shape: Shape) -> [usize; 2] {
    match shape {
        Shape::Vector { .. } => [1, 1],
        Shape::Signal { length, .. } => [1, length],
        Shape::Image { height, width, .. } => [height, width],
        Shape::Tokens { count, .. } => [1, count],
    }
}

fn channels(shape: Shape) -> usize {
    match shape {
        Shape::Vector { features } => features,
        Shape::Signal { channels, .. } | Shape::Image { channels, .. } => channels,
        Shape::Tokens { width, .. } => width,
    }
}

/// Breaks a graph, already checked, into parts.
pub(super) fn parts(graph: &Graph) -> Result<Parts, NngpError> {
    let live = graph.live();
    let mut readers = vec![0; graph.nodes.len()];
    for (node, _) in graph.nodes.iter().zip(&live).filter(|(_, live)| **live) {
        node.inputs.iter().for_each(|i| readers[i.0] += 1);
    }
    let [height, width] = grid(graph.input());
    let mut making = Making {
        graph,
        made: Parts {
            input: [channels(graph.input()), height, width],
            parts: Vec::new(),
            mixings: Vec::new(),
            approximations: Vec::new(),
        },
        values: Vec::with_capacity(graph.nodes.len()),
    };
    for (i, node) in graph.nodes.iter().enumerate() {
        let blocks = match live[i] {
            true => making.node(node)?,
            false => Vec::new(),
        };
        if readers[i] > 1 {
            for block in &blocks {
                making.made.parts[block.part].closed = true;
            }
        }
        making.values.push(blocks);
    }
    making.output()
}

/// The work in progress.
struct Making<'a> {
    graph: &'a Graph,
    made: Parts,
    values: Vec<Vec<Block>>,
}

impl Making<'_> {
    /// A part of its own for a block of a node.
    fn part(
        &mut self,
        node: &Node,
        source: StepSource,
        grid: [usize; 2],
        channels: usize,
    ) -> Block {
        self.made.parts.push(Part {
            source,
            chain: Vec::new(),
            grid,
            layer: node.layer.clone(),
            closed: false,
        });
        Block {
            part: self.made.parts.len() - 1,
            channels,
            summed: false,
        }
    }

    fn unsupported(&self, node: &Node, reason: &'static str, instead: &'static str) -> NngpError {
        NngpError::Unsupported {
            op: node.op.name(),
            layer: node.layer.clone(),
            reason,
            instead,
        }
    }

    /// Names an approximation once, with the layers that make it.
    fn approximate(&mut self, what: &str, node: &Node) {
        let all = &mut self.made.approximations;
        match all.iter_mut().find(|known| known.starts_with(what)) {
            Some(known) => {
                known.truncate(known.len() - 1);
                known.push_str(&format!(", {})", node.layer));
            }
            None => all.push(format!("{what} ({})", node.layer)),
        }
    }

    fn output(mut self) -> Result<Parts, NngpError> {
        let problem = match self.values.last().map(|blocks| &blocks[..]) {
            Some([block]) if block.summed => "is the bare input",
            Some([block]) if self.made.parts[block.part].grid != [1, 1] => {
                "is flattened, its numbers have different distributions"
            }
            Some([block]) => {
                let part = block.part;
                self.made.mixings.push(Mixing {
                    end: End::Output,
                    from: vec![part],
                    grid: [1, 1],
                    grid_out: [1, 1],
                    layer: self.made.parts[part].layer.clone(),
                });
                return Ok(self.made);
            }
            _ => "is a concatenation, its numbers have different distributions",
        };
        let problem = problem.to_owned();
        Err(NngpError::Output { problem })
    }
}
