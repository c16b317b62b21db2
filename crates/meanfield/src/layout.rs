//! How the numbers of a node fall into channels and positions.
//!
//! An image or signal is one segment: C channels over a grid. The features of a vector are channels with a
//! single position, except that flattening keeps channels and grid, for it only renames the numbers.

use polariscope_graph::{Graph, Passage, Shape};

use crate::blocks::{Block, Blocks};
use crate::matrix::Matrix;
use crate::refusal::unsupported;
use crate::window::grid;
use crate::{Method, Readout, Refusal};

/// Most positions of a covariance: a matrix of 2 GiB.
pub(crate) const MAX_POSITIONS: usize = 1 << 14;

/// Channels over a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub channels: usize,
    pub grid: [usize; 2],
}

/// The segments of a node, in memory order.
pub(crate) type Layout = Vec<Segment>;

/// Number of channels.
pub(crate) fn channels(layout: &[Segment]) -> usize {
    layout.iter().map(|s| s.channels).sum()
}

/// Layouts of all nodes.
pub(crate) fn layouts(graph: &Graph, method: Method) -> Result<Vec<Layout>, Refusal> {
    let mut layouts: Vec<Layout> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let inputs: Vec<&Layout> = node.inputs.iter().map(|i| &layouts[i.0]).collect();
        let own = match (node.shape, grid(node.shape)) {
            (Shape::Tokens { .. }, _) => return Err(unsupported(method, node)),
            (Shape::Image { channels, .. } | Shape::Signal { channels, .. }, Some(grid)) => {
                vec![Segment { channels, grid }]
            }
            (shape, _) => match node.op.facts().passage {
                Passage::Bias { .. }
                | Passage::Scale { .. }
                | Passage::Same
                | Passage::Activation(_)
                | Passage::BatchNorm { .. }
                | Passage::Flatten => inputs[0].clone(),
                Passage::Add if inputs.iter().any(|l| *l != inputs[0]) => {
                    let layer = node.layer.clone();
                    return Err(Refusal::Layout { layer });
                }
                Passage::Add => inputs[0].clone(),
                Passage::Concat => inputs.into_iter().flatten().copied().collect(),
                Passage::Input
                | Passage::Dense { .. }
                | Passage::Conv { .. }
                | Passage::Local { .. }
                | Passage::MaxPool(_)
                | Passage::AvgPool(_)
                | Passage::GlobalAvgPool => vec![Segment {
                    channels: shape.len(),
                    grid: [1, 1],
                }],
                Passage::Norm(_) | Passage::Other(_) => return Err(unsupported(method, node)),
            },
        };
        let largest = own.iter().map(|s| s.grid[0] * s.grid[1]).max();
        if let Some(positions) = largest.filter(|&p| p > MAX_POSITIONS) {
            return Err(Refusal::TooLarge {
                layer: node.layer.clone(),
                positions,
                limit: MAX_POSITIONS,
            });
        }
        layouts.push(own);
    }
    Ok(layouts)
}

/// Uncorrelated numbers of one variance.
pub(crate) fn white(layout: &[Segment], variance: f64) -> Blocks {
    let mut blocks = Blocks::default();
    for segment in layout {
        let ones = vec![1.0; segment.grid[0] * segment.grid[1]];
        let identity = Matrix::diagonal(segment.grid, &ones);
        blocks.push(Block::new(segment.channels, variance, identity));
    }
    blocks
}

/// Outer product of the derivative of the read-out by the outputs (Σ over outputs for [`Readout::All`]).
/// Correlations between channels are left out: the first weight on the way back removes them.
pub(crate) fn readout_blocks(layout: &[Segment], readout: Readout) -> Result<Blocks, Refusal> {
    let outputs = layout.iter().map(|s| s.channels * s.grid[0] * s.grid[1]);
    let outputs: usize = outputs.sum();
    match readout {
        Readout::All => Ok(white(layout, 1.0)),
        Readout::Mean => {
            let scale = (outputs as f64).powi(-2);
            let mut blocks = Blocks::default();
            for segment in layout {
                let ones = Matrix::constant(segment.grid, 1.0);
                blocks.push(Block::new(segment.channels, scale, ones));
            }
            Ok(blocks)
        }
        Readout::Logit(k) if k >= outputs => Err(Refusal::Logit { k, outputs }),
        Readout::Logit(k) => {
            let mut blocks = Blocks::default();
            let mut first = 0;
            for segment in layout {
                let positions = segment.grid[0] * segment.grid[1];
                let zero = Block::new(0, 0.0, Matrix::constant(segment.grid, 0.0));
                let rest = |channels| Block {
                    channels,
                    ..zero.clone()
                };
                let last = first + segment.channels * positions;
                if (first..last).contains(&k) {
                    let (channel, position) = ((k - first) / positions, (k - first) % positions);
                    let mut one = vec![0.0; positions];
                    one[position] = 1.0;
                    blocks.push(rest(channel));
                    blocks.push(Block::new(1, 1.0, Matrix::diagonal(segment.grid, &one)));
                    blocks.push(rest(segment.channels - channel - 1));
                } else {
                    blocks.push(rest(segment.channels));
                }
                first = last;
            }
            Ok(blocks)
        }
    }
}
