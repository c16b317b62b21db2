//! The result: a covariance of input gradients.

use std::sync::Arc;

use polariscope_graph::Graph;

use crate::Refusal;
use crate::blocks::Blocks;
use crate::layout::MAX_POSITIONS;

/// G = E[∇ₓf ∇ₓfᵀ] as I_channels ⊗ factor, inputs flattened C,H,W.
///
/// A vector of D features is D channels with one position. Where input channels differ (a grouped first
/// convolution, unequal parts of a concatenation), `channels` is 1 and the factor is the whole D×D matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariance {
    /// Number of equal blocks on the diagonal.
    pub channels: usize,
    /// Rows of the factor.
    pub positions: usize,
    /// positions × positions, row by row.
    pub factor: Vec<f64>,
}

impl Covariance {
    /// Rows of G.
    pub fn dimension(&self) -> usize {
        self.channels * self.positions
    }

    /// G_ij for i, j below [`Covariance::dimension`].
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let p = self.positions;
        match i / p == j / p {
            true => self.factor[i % p * p + j % p],
            false => 0.0,
        }
    }

    pub(crate) fn from_blocks(graph: &Graph, blocks: &Blocks) -> Result<Self, Refusal> {
        let list: Vec<_> = blocks.iter().collect();
        if let [only] = list[..] {
            return Ok(Covariance {
                channels: only.channels,
                positions: only.matrix.positions(),
                factor: only.matrix.row_major(only.scale),
            });
        }
        let positions = graph.input().len();
        if positions > MAX_POSITIONS {
            return Err(Refusal::TooLarge {
                layer: graph.nodes[0].layer.clone(),
                positions,
                limit: MAX_POSITIONS,
            });
        }
        let mut factor = vec![0.0; positions * positions];
        let mut first = 0;
        for block in list {
            let matrix = Arc::clone(&block.matrix);
            let p = matrix.positions();
            let rows = matrix.row_major(block.scale);
            for _ in 0..block.channels {
                for (i, row) in rows.chunks_exact(p).enumerate() {
                    let start = (first + i) * positions + first;
                    factor[start..start + p].copy_from_slice(row);
                }
                first += p;
            }
        }
        Ok(Covariance {
            channels: 1,
            positions,
            factor,
        })
    }
}
