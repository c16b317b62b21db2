//! Dense layers and channel groups.

use polariscope_graph::{Node, Padding, Shape, Window};

use super::super::{Link, Read, Shared, StepSource, Weights};
use super::{Block, Making, channels, grid};
use crate::NngpError;

/// A window of one position.
pub(super) const POINT: Window = Window {
    kernel: [1, 1],
    stride: [1, 1],
    dilation: [1, 1],
    padding: Padding::Valid,
};

impl Making<'_> {
    /// A dense layer: on each token, on the flattened input, or the sum over positions.
    pub(super) fn dense(&mut self, node: &Node, blocks: &[Block], weights: Weights) -> Vec<Block> {
        let reads: Vec<Read> = blocks.iter().map(Block::read).collect();
        let source = match (node.shape, &reads[..]) {
            (Shape::Tokens { .. }, _) => StepSource::Conv {
                reads,
                weights,
                window: POINT,
                shared: Shared::Yes,
            },
            (_, &[read]) => match self.scaled_input(read.from) {
                Some(factor) => StepSource::Gram { weights, factor },
                None => StepSource::Total { reads, weights },
            },
            _ => StepSource::Total { reads, weights },
        };
        vec![self.part(node, source, grid(node.shape), channels(node.shape))]
    }

    /// Σ x² of the flattened input times what, if that is what a part holds.
    fn scaled_input(&self, part: usize) -> Option<f64> {
        let part = &self.made.parts[part];
        if !matches!(part.source, StepSource::Input) {
            return None;
        }
        part.chain.iter().try_fold(1.0, |factor, link| match link {
            Link::Scale { square } => Some(factor * square),
            _ => None,
        })
    }

    /// What one output of a convolution reads.
    pub(super) fn channels_of_groups(
        &mut self,
        node: &Node,
        blocks: &[Block],
        groups: usize,
    ) -> Result<Vec<Read>, NngpError> {
        if groups == 1 {
            return Ok(blocks.iter().map(Block::read).collect());
        }
        match blocks {
            [block] if !block.summed => {
                self.approximate("channels of a group taken as many", node);
                let channels = (block.channels / groups) as f64;
                Ok(vec![Read {
                    from: block.part,
                    channels,
                }])
            }
            _ => Err(self.unsupported(
                node,
                "its groups read channels of different distributions (the input's, or a concatenation's)",
                "use groups = 1 there",
            )),
        }
    }
}
