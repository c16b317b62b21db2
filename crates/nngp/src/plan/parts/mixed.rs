//! Ops that mix positions, and fields that are kept for all pairs of positions.

use polariscope_graph::{Node, Op, ParamId};

use super::super::{End, Layer, StepSource, laws};
use super::weighted::POINT;
use super::{Block, Making, Mixing, Part, Parts, channels, grid};
use crate::NngpError;

impl Making<'_> {
    /// Ends a stage.
    pub(super) fn mixing(&mut self, node: &Node, blocks: Vec<Block>, end: End) -> Vec<Block> {
        let from: Vec<usize> = blocks.iter().map(|b| b.part).collect();
        let before = from.first().map_or([1, 1], |&p| self.made.parts[p].grid);
        let stage = self.made.mixings.len();
        self.made.mixings.push(Mixing {
            end,
            from,
            grid: before,
            grid_out: grid(node.shape),
            layer: node.layer.clone(),
        });
        let mut made = Vec::new();
        for (k, old) in blocks.iter().enumerate() {
            let source = StepSource::Stored { stage, block: k };
            made.push(Block {
                summed: old.summed,
                ..self.part(node, source, grid(node.shape), old.channels)
            });
        }
        made
    }

    /// Attention with uniform weights.
    pub(super) fn attention(
        &mut self,
        node: &Node,
        blocks: &[Block],
    ) -> Result<Vec<Block>, NngpError> {
        let Op::Attention {
            in_weight,
            in_bias,
            out_weight,
            out_bias,
            scale,
            bias_scale,
            ..
        } = &node.op
        else {
            return Ok(Vec::new());
        };
        let graph = self.graph;
        let layer = |weight: &ParamId, bias: &Option<ParamId>| -> Result<Layer, NngpError> {
            let weights = laws::weights(graph, *weight, *scale)?;
            let bias = bias.map(|id| laws::bias(graph, id, *bias_scale));
            Ok(Layer {
                weights,
                bias: bias.transpose()?.unwrap_or_default(),
            })
        };
        let (value, output) = (layer(in_weight, in_bias)?, layer(out_weight, out_bias)?);
        self.approximate(
            "attention weights taken uniform, as at vanishing logits",
            node,
        );
        let features = channels(node.shape);
        let reads = blocks.iter().map(Block::read).collect();
        // The sum over all blocks first: attention reads them through one weight.
        let sum = self.part(node, StepSource::Sum { reads }, grid(node.shape), features);
        let end = End::Attention {
            value,
            output,
            channels: features as f64,
        };
        Ok(self.mixing(node, vec![sum], end))
    }
}

impl Parts {
    /// Keeps what a part reads for all pairs of positions: a stage that ends with a pool of one position.
    pub fn keep(&mut self, part: usize) {
        let first = |parts: &Parts| {
            let needs = |mixing: &Mixing| mixing.from.iter().any(|&p| parts.leads(part, p));
            parts.mixings.iter().position(needs)
        };
        let from: Vec<usize> = self.parts[part]
            .source
            .reads()
            .iter()
            .map(|r| r.from)
            .collect();
        let (Some(stage), Some(&one)) = (first(self), from.first()) else {
            return;
        };
        for part in &mut self.parts {
            if let StepSource::Stored { stage: other, .. } = &mut part.source
                && *other >= stage
            {
                *other += 1;
            }
        }
        let layer = self.parts[part].layer.clone();
        let grid = self.parts[one].grid;
        let made = self.parts.len();
        for block in 0..from.len() {
            self.parts.push(Part {
                source: StepSource::Stored { stage, block },
                chain: Vec::new(),
                grid,
                layer: layer.clone(),
                closed: true,
            });
        }
        if let StepSource::Conv { reads, .. } = &mut self.parts[part].source {
            for (block, read) in reads.iter_mut().enumerate() {
                read.from = made + block;
            }
        }
        let mixing = Mixing {
            end: End::Pool { window: POINT },
            from,
            grid,
            grid_out: grid,
            layer,
        };
        self.mixings.insert(stage, mixing);
    }

    /// Whether a part is read, within one stage, on the way to another.
    fn leads(&self, part: usize, to: usize) -> bool {
        let mut next = vec![to];
        let mut seen = vec![false; self.parts.len()];
        while let Some(at) = next.pop() {
            if at == part {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                next.extend(self.parts[at].source.reads().iter().map(|r| r.from));
            }
        }
        false
    }
}
