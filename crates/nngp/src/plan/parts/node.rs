//! Blocks of every op.

use polariscope_graph::{Node, Op};

use super::super::{End, Link, Read, Shared, StepSource, laws};
use super::{Block, Making, channels, grid};
use crate::NngpError;

impl Making<'_> {
    /// The blocks of a node.
    pub(super) fn node(&mut self, node: &Node) -> Result<Vec<Block>, NngpError> {
        let graph = self.graph;
        let blocks = match node.inputs.first() {
            Some(input) => self.values[input.0].clone(),
            None => Vec::new(),
        };
        Ok(match &node.op {
            Op::Input => vec![Block {
                summed: true,
                ..self.part(
                    node,
                    StepSource::Input,
                    grid(node.shape),
                    channels(node.shape),
                )
            }],
            Op::Dense { weight, scale } => {
                let weights = laws::weights(graph, *weight, *scale)?;
                self.dense(node, &blocks, weights)
            }
            Op::Conv {
                weight,
                scale,
                window,
                groups,
            } => {
                let source = StepSource::Conv {
                    reads: self.channels_of_groups(node, &blocks, *groups)?,
                    weights: laws::weights(graph, *weight, *scale)?,
                    window: *window,
                    shared: Shared::Yes,
                };
                vec![self.part(node, source, grid(node.shape), channels(node.shape))]
            }
            Op::Local {
                weight,
                scale,
                window,
            } => {
                let source = StepSource::Conv {
                    reads: blocks.iter().map(Block::read).collect::<Vec<Read>>(),
                    weights: laws::weights(graph, *weight, *scale)?,
                    window: *window,
                    shared: Shared::No,
                };
                vec![self.part(node, source, grid(node.shape), channels(node.shape))]
            }
            Op::Bias { bias, scale } => {
                let [variance, ntk] = laws::bias(graph, *bias, *scale)?;
                self.each(node, blocks, |block| Link::Bias {
                    variance: variance * block.held(),
                    ntk: ntk * block.held(),
                })
            }
            Op::Position { embedding } => {
                let [variance, ntk] = laws::bias(graph, *embedding, 1.0)?;
                self.each(node, blocks, |block| Link::Embedding {
                    variance: variance * block.held(),
                    ntk: ntk * block.held(),
                })
            }
            Op::Scale { by } => self.each(node, blocks, |_| Link::Scale { square: by * by }),
            Op::Activation(activation) if activation.is_identity() => blocks,
            Op::Activation(activation) => self.activation(node, blocks, *activation),
            Op::Dropout { .. } | Op::Flatten => blocks,
            Op::Add => self.sum(node)?,
            Op::Concat => {
                let inputs = node.inputs.iter();
                inputs.flat_map(|i| self.values[i.0].clone()).collect()
            }
            Op::AvgPool(window) => self.mixing(node, blocks, End::Pool { window: *window }),
            Op::GlobalAvgPool => self.mixing(node, blocks, End::GlobalPool),
            Op::LayerNorm { .. } | Op::GroupNorm { .. } | Op::RmsNorm { .. } => {
                self.norm(node, blocks)?
            }
            Op::ToTokens => self.mixing(node, blocks, End::Regrid { before: Vec::new() }),
            Op::ClassToken { token } => {
                let own = laws::bias(graph, *token, 1.0)?;
                let of = |block: &Block| own.map(|v| v * block.held());
                let before = blocks.iter().map(of).collect();
                self.mixing(node, blocks, End::Regrid { before })
            }
            Op::TakeToken { index } => self.mixing(node, blocks, End::Take { index: *index }),
            Op::Attention { .. } => self.attention(node, &blocks)?,
            Op::GroupConv { .. }
            | Op::GroupPool { .. }
            | Op::MaxPool(_)
            | Op::BatchNorm { .. }
            | Op::Gate
            | Op::LayerScale { .. }
            | Op::ToImage => {
                return Err(self.unsupported(node, "it has no closed form", "remove it"));
            }
        })
    }
}
