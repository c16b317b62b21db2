//! Ops that change every position alike: activations, norms, sums.

use polariscope_graph::{Activation, Affine, Node, Passage, Shape};

use super::super::{End, Link, Over, Read, Shared, StepSource, View, laws};
use super::{Block, Making};
use crate::NngpError;
use crate::simd::Kink;

impl Making<'_> {
    /// Appends a link to every block.
    pub(super) fn each(
        &mut self,
        node: &Node,
        blocks: Vec<Block>,
        link: impl Fn(&Block) -> Link,
    ) -> Vec<Block> {
        let append = |block: Block| {
            let mut own = block;
            if self.made.parts[block.part].closed {
                let reads = vec![Read {
                    from: block.part,
                    channels: 1.0,
                }];
                let grid = self.made.parts[block.part].grid;
                own.part = self
                    .part(node, StepSource::Sum { reads }, grid, block.channels)
                    .part;
            }
            self.made.parts[own.part].chain.push(link(&block));
            own
        };
        blocks.into_iter().map(append).collect()
    }

    /// φ of every block.
    ///
    /// The γ of a norm adds E[ûû' φ'φ'] to Θ, with û of the same channel as φ'. For φ = αu + β|u| that reads y = γû,
    /// uφ'(u) = φ(u), so it is E[φφ']/γ²: the link moves behind the kink. Elsewhere E[ûû'] E[φ'φ'] stands for it.
    pub(super) fn activation(
        &mut self,
        node: &Node,
        blocks: Vec<Block>,
        activation: Activation,
    ) -> Vec<Block> {
        let mut later = Vec::new();
        for block in &blocks {
            let part = &mut self.made.parts[block.part];
            let link = Link::of(activation);
            let exact = matches!(link, Link::Kink { .. }) && !part.closed;
            later.push(match exact {
                true => take_gamma(&mut part.chain),
                false => None,
            });
            if self.carries_gamma(block.part) {
                self.approximate(
                    "the γ of a norm taken independent of the activation that reads it",
                    node,
                );
            }
        }
        let made = self.each(node, blocks, |_| Link::of(activation));
        for (block, gamma) in made.iter().zip(later) {
            self.made.parts[block.part].chain.extend(gamma);
        }
        made
    }

    /// Whether the γ of a norm reaches the end of a part with no weight between.
    fn carries_gamma(&self, part: usize) -> bool {
        let part = &self.made.parts[part];
        let own = |link: &Link| matches!(link, Link::Gamma { .. });
        part.chain.iter().any(own)
            || match &part.source {
                StepSource::Sum { reads } => reads.iter().any(|read| self.carries_gamma(read.from)),
                StepSource::Stored { stage, .. } => {
                    let mixing = &self.made.mixings[*stage];
                    !matches!(mixing.end, End::Attention { .. })
                        && mixing.from.iter().any(|&from| self.carries_gamma(from))
                }
                StepSource::Input
                | StepSource::Gram { .. }
                | StepSource::Conv { .. }
                | StepSource::Total { .. }
                | StepSource::Converted { .. } => false,
            }
    }

    /// Division by the expected square, γ, β.
    pub(super) fn norm(
        &mut self,
        node: &Node,
        blocks: Vec<Block>,
    ) -> Result<Vec<Block>, NngpError> {
        let Passage::Norm(norm) = node.op.facts().passage else {
            return Ok(blocks);
        };
        if blocks.len() > 1 {
            return Err(self.unsupported(
                node,
                "it reads channels of different distributions (a concatenation)",
                "put it before the concatenation",
            ));
        }
        let gamma_square = laws::gamma_square(self.graph, norm.weight)?;
        self.approximate("norms divide by the expected square", node);
        let over = match node.shape {
            Shape::Tokens { .. } => Over::Position,
            Shape::Vector { .. } | Shape::Image { .. } | Shape::Signal { .. } => Over::Positions,
        };
        let shared = match (norm.affine, over) {
            (Affine::Channels, _) | (_, Over::Position) => Shared::Yes,
            (Affine::Numbers, Over::Positions) => Shared::No,
        };
        let made = self.each(node, blocks, |_| Link::Norm {
            eps: norm.eps,
            gamma_square,
            over,
            p: View::default(),
            root: 0,
            out: 0,
        });
        let made = self.each(node, made, |_| Link::Gamma {
            own: gamma_square.recip(),
            shared,
            p: View::default(),
        });
        let Some(bias) = norm.bias else {
            return Ok(made);
        };
        let [variance, ntk] = laws::bias(self.graph, bias, 1.0)?;
        Ok(self.each(node, made, |_| match shared {
            Shared::Yes => Link::Bias { variance, ntk },
            Shared::No => Link::Embedding { variance, ntk },
        }))
    }

    /// The sum of all inputs, block by block.
    pub(super) fn sum(&mut self, node: &Node) -> Result<Vec<Block>, NngpError> {
        let inputs: Vec<Vec<Block>> = node
            .inputs
            .iter()
            .map(|i| self.values[i.0].clone())
            .collect();
        let layout = |blocks: &[Block]| -> Vec<(usize, [usize; 2])> {
            let of = |b: &Block| (b.channels, self.made.parts[b.part].grid);
            blocks.iter().map(of).collect()
        };
        let layouts: Vec<_> = inputs.iter().map(|blocks| layout(blocks)).collect();
        if layouts.iter().any(|other| *other != layouts[0]) {
            return Err(self.unsupported(
                node,
                "its paths put channels of different distributions on each other",
                "put a weight after the concatenation or flatten",
            ));
        }
        let mut made = Vec::new();
        for (k, &(channels, grid)) in layouts[0].iter().enumerate() {
            let summed = inputs.iter().any(|blocks| blocks[k].summed);
            let read = |blocks: &Vec<Block>| match summed {
                true => blocks[k].read(),
                false => Read {
                    from: blocks[k].part,
                    channels: 1.0,
                },
            };
            let reads = inputs.iter().map(read).collect();
            made.push(Block {
                summed,
                ..self.part(node, StepSource::Sum { reads }, grid, channels)
            });
        }
        Ok(made)
    }
}

/// Takes the γ off a chain that ends with γû times a constant.
fn take_gamma(chain: &mut Vec<Link>) -> Option<Link> {
    let at = chain
        .iter()
        .rposition(|link| matches!(link, Link::Gamma { .. }))?;
    let plain = |link: &Link| match link {
        Link::Scale { .. } => true,
        Link::Bias { variance, .. } | Link::Embedding { variance, .. } => *variance == 0.0,
        Link::Kink { .. } | Link::Smooth { .. } | Link::Norm { .. } | Link::Gamma { .. } => false,
    };
    chain[at + 1..].iter().all(plain).then(|| chain.remove(at))
}

impl Link {
    /// What an activation does.
    pub(super) fn of(activation: Activation) -> Self {
        let kink = |alpha, beta, at_zero| Link::Kink {
            kink: Kink {
                alpha,
                beta,
                at_zero,
            },
            p: View::default(),
        };
        match activation {
            Activation::Relu => kink(0.5, 0.5, 0.0),
            Activation::LeakyRelu { slope } => {
                kink(0.5 * (1.0 + slope), 0.5 * (1.0 - slope), slope)
            }
            Activation::Abs => kink(0.0, 1.0, 0.0),
            Activation::Identity
            | Activation::Gelu
            | Activation::Tanh
            | Activation::Erf
            | Activation::Sin
            | Activation::Sigmoid
            | Activation::Silu
            | Activation::HardSigmoid
            | Activation::HardSwish
            | Activation::Softplus { .. } => Link::Smooth {
                activation,
                p: View::default(),
                out: 0,
            },
        }
    }
}
