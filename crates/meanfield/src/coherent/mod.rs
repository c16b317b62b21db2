//! The coherent geometry: products of gradients at two independent inputs.
//!
//! G = E_θ[∇f(x) ∇f(x')ᵀ] is carried back as the local one is, with one change: at an activation B[α,α'] is multiplied
//! by E[φ'(u)φ'(v)], u at position α of x, v at position α' of x'. Their covariance Q(x,x') comes forward from the
//! inputs by the rules of [`crate::forward`]; variances and means of u and v are those of each input alone.
//!
//! For x, x' ~ N(0, σ²I) the moments are averaged over the inputs as well: Q(x,x) starts as σ²I, Q(x,x') as 0, and one
//! walk is enough; x and x' can be exchanged, so all matrices are symmetric. Two given inputs start as x xᵀ, x' x'ᵀ and
//! x x'ᵀ.
//!
//! A max pool sees differences inside its window only ([`maximum`]). Increasing activations commute with it, so one
//! that a max pool alone reads is taken behind it: the slope is that of the largest number.

mod maximum;
mod meet;

use std::collections::HashMap;

use polariscope_graph::{Activation, Graph, Node, Op};

use crate::backward::{Slope, backward};
use crate::blocks::{Block, Blocks};
use crate::chain::{Arguments, Chain, chains};
use crate::forward::{Means, ahead, probe, readers, step, walk};
use crate::layout::{Layout, layouts, white};
use crate::matrix::Matrix;
use crate::paths::{self, read_unweighted};
use crate::{Covariance, Method, Readout, Refusal, approximation};
use maximum::{Pooled, pool_pair, pooled};
use meet::{activate_pair, skip_pair};

/// The two inputs.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// Independent ones from N(0, σ²I), averaged over.
    White {
        /// σ.
        sigma: f64,
    },
    /// These, flattened C,H,W.
    Given([&'a [f64]; 2]),
}

/// E_θ[∇f(x) ∇f(x')ᵀ] at infinite width for two independent inputs; of given ones it is not symmetric.
///
/// ```
/// use polariscope_graph::{ZooOptions, parse_file};
/// use polariscope_meanfield::{Inputs, Readout, coherent, mean_field};
///
/// // A hidden layer of relus without biases: masks of two independent inputs are both on in a quarter of the cases,
/// // those of one input in half of them.
/// let text = r#"
///     input = [6]
///     layers = [ { op = "dense", features = 9, bias = false }, { op = "relu" }, { op = "dense", features = 1 } ]
/// "#;
/// let graph = parse_file(text, "example.toml", &ZooOptions::default())?;
/// let g = coherent(&graph, Inputs::White { sigma: 1.0 }, Readout::Logit(0))?;
/// let local = mean_field(&graph, &[1.0; 6], Readout::Logit(0))?;
/// assert!((g.get(2, 2) - local.get(2, 2) / 2.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn coherent(graph: &Graph, inputs: Inputs, readout: Readout) -> Result<Covariance, Refusal> {
    if let Inputs::Given(both) = inputs
        && let Some(x) = both.iter().find(|x| x.len() != graph.input().len())
    {
        return Err(Refusal::Probe {
            length: x.len(),
            wanted: graph.input().len(),
        });
    }
    let walker = Walker::new(graph, readout)?;
    let layout = &walker.layouts[0];
    let slopes = match inputs {
        Inputs::White { sigma } => {
            let (own, _) = walker.own(white(layout, sigma * sigma))?;
            walker.between(white(layout, 0.0), [&own, &own])?
        }
        Inputs::Given([x, y]) => {
            let (first, _) = walker.own(probe(layout, x))?;
            let (second, _) = walker.own(probe(layout, y))?;
            walker.between(both(layout, [x, y]), [&first, &second])?
        }
    };
    walker.backward(slopes, readout)
}

/// The coherent and the local geometry for inputs from N(0, σ²I), both averaged over the inputs.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_meanfield::{Readout, coherent_and_local};
/// let options = ZooOptions { input: Some("1x8x8".parse()?), ..ZooOptions::default() };
/// let [coherent, local] = coherent_and_local(&zoo("mlp-2x100", &options)?, 1.0, Readout::Logit(0))?;
/// assert!(coherent.get(0, 0) < local.get(0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn coherent_and_local(
    graph: &Graph,
    sigma: f64,
    readout: Readout,
) -> Result<[Covariance; 2], Refusal> {
    let walker = Walker::new(graph, readout)?;
    let layout = &walker.layouts[0];
    let (own, local) = walker.own(white(layout, sigma * sigma))?;
    let coherent = walker.between(white(layout, 0.0), [&own, &own])?;
    Ok([
        walker.backward(coherent, readout)?,
        walker.backward(local, readout)?,
    ])
}

/// x_c x'_cᵀ for every channel.
fn both(layout: &Layout, [x, y]: [&[f64]; 2]) -> Blocks {
    let mut blocks = Blocks::default();
    let grid = layout[0].grid;
    let positions = (grid[0] * grid[1]).max(1);
    for (x, y) in x.chunks_exact(positions).zip(y.chunks_exact(positions)) {
        blocks.push(Block {
            mean: Some([x, y].concat().into()),
            ..Block::new(1, 1.0, Matrix::outer_of(grid, x, y))
        });
    }
    blocks
}

/// The activations that are taken behind the max pools that read them, by node: increasing ones (gelu and silu but for
/// a shallow dip) that nothing else reads.
pub(crate) fn postponed(graph: &Graph, live: &[bool]) -> Vec<Option<Activation>> {
    let mut others = vec![0; graph.nodes.len()];
    let mut pools = vec![0; graph.nodes.len()];
    for (node, _) in graph.nodes.iter().zip(live).filter(|(_, live)| **live) {
        let counts = match node.op {
            Op::MaxPool(_) => &mut pools,
            _ => &mut others,
        };
        node.inputs.iter().for_each(|i| counts[i.0] += 1);
    }
    let of = |(i, node): (usize, &Node)| match node.op {
        Op::Activation(activation) if pools[i] > 0 && others[i] == 0 => {
            Some(activation).filter(|a| a.increases() && !a.is_identity())
        }
        _ => None,
    };
    graph.nodes.iter().enumerate().map(of).collect()
}

struct Walker<'a> {
    graph: &'a Graph,
    layouts: Vec<Layout>,
    live: Vec<bool>,
    chains: Vec<Chain>,
    with_mean: Vec<bool>,
    postponed: Vec<Option<Activation>>,
}

/// What one input alone says of the numbers that activations and max pools read, by node.
#[derive(Default)]
struct Own {
    arguments: HashMap<usize, Arguments>,
    pools: HashMap<usize, Vec<Pooled>>,
}

impl<'a> Walker<'a> {
    fn new(graph: &'a Graph, readout: Readout) -> Result<Self, Refusal> {
        let live = graph.live();
        approximation::check(graph, &live)?;
        paths::check(graph, &live, readout)?;
        Ok(Walker {
            graph,
            layouts: layouts(graph, Method::MeanField)?,
            chains: chains(graph, &readers(graph, &live))?,
            with_mean: read_unweighted(graph),
            postponed: postponed(graph, &live),
            live,
        })
    }

    fn backward(&self, slopes: Vec<Slope>, readout: Readout) -> Result<Covariance, Refusal> {
        backward(
            self.graph,
            &self.layouts,
            slopes,
            readout,
            Method::MeanField,
        )
    }

    /// No slope for any node yet.
    fn slopes(&self) -> Vec<Slope> {
        let nodes = self.graph.nodes.iter();
        nodes.map(|_| Slope::Constant(1.0)).collect()
    }

    /// The activation that a max pool is followed by in place of being preceded.
    fn behind(&self, node: &Node) -> Option<Activation> {
        self.postponed[node.inputs[0].0]
    }

    /// Moments of one input, and E[φ'φ'] there.
    fn own(&self, first: Blocks) -> Result<(Own, Vec<Slope>), Refusal> {
        let (mut own, mut slopes) = (Own::default(), self.slopes());
        walk(self.graph, &self.live, |i, node, inputs| {
            let means = Means::follow(self.with_mean[i]);
            match (&node.op, &inputs[..]) {
                (Op::Input, _) => Ok(first.clone()),
                (Op::Activation(_), [q]) if self.postponed[i].is_some() => Ok(q.clone()),
                (Op::Activation(activation), [q]) if !activation.is_identity() => {
                    let arguments = self.arguments(i, Arguments::new(*activation, q), &own);
                    let parts = [arguments.parts(); 2];
                    let (values, field) = activate_pair(*activation, q, parts, means);
                    own.arguments.insert(i, arguments);
                    slopes[i] = Slope::Field(field);
                    Ok(values)
                }
                (Op::MaxPool(window), [q]) => {
                    let axes = ahead(window, &self.layouts[node.inputs[0].0], node);
                    let windows = pooled(q, &axes);
                    let (largest, apart, same) = pool_pair(q, &axes, [&windows, &windows]);
                    own.pools.insert(i, windows);
                    let Some(activation) = self.behind(node) else {
                        slopes[i] = Slope::Winners { apart, same };
                        return Ok(largest.with_means(means));
                    };
                    let arguments = Arguments::new(activation, &largest);
                    let parts = [arguments.parts(); 2];
                    let (values, field) = activate_pair(activation, &largest, parts, means);
                    own.arguments.insert(i, arguments);
                    slopes[i] = Slope::Winners {
                        apart: apart.times(&field),
                        same: same.times(&field),
                    };
                    Ok(values)
                }
                _ => step(self.graph, node, &self.layouts, inputs),
            }
        })?;
        for chain in &self.chains {
            let both = [chain.first, chain.second].map(|i| own.arguments.get(&i));
            if let [Some(first), Some(second)] = both {
                slopes[chain.sum].add_side(chain.side, second.after(first, chain.gain));
            }
        }
        Ok((own, slopes))
    }

    /// What an activation reads, behind a skip if one leads there.
    fn arguments(&self, node: usize, mut arguments: Arguments, own: &Own) -> Arguments {
        let mut skips = self.chains.iter().filter(|chain| chain.second == node);
        if let (Some(chain), None) = (skips.next(), skips.next())
            && let Some(first) = own.arguments.get(&chain.first)
        {
            arguments.behind_skip(first, chain.gain);
        }
        arguments
    }

    /// E[φ'φ'] between the two inputs.
    fn between(&self, first: Blocks, own: [&Own; 2]) -> Result<Vec<Slope>, Refusal> {
        let mut slopes = self.slopes();
        walk(self.graph, &self.live, |i, node, inputs| {
            let means = Means::follow(self.with_mean[i]);
            let arguments =
                || own.map(|own| own.arguments.get(&i).map_or(&[][..], Arguments::parts));
            match (&node.op, &inputs[..]) {
                (Op::Input, _) => Ok(first.clone()),
                (Op::Activation(_), [q]) if self.postponed[i].is_some() => Ok(q.clone()),
                (Op::Activation(activation), [q]) if !activation.is_identity() => {
                    let (values, field) = activate_pair(*activation, q, arguments(), means);
                    slopes[i] = Slope::Field(field);
                    Ok(values)
                }
                (Op::MaxPool(window), [q]) => {
                    let axes = ahead(window, &self.layouts[node.inputs[0].0], node);
                    let windows = own.map(|own| own.pools.get(&i).map_or(&[][..], |p| p));
                    let (largest, mut apart, mut same) = pool_pair(q, &axes, windows);
                    let values = match self.behind(node) {
                        None => largest.with_means(means),
                        Some(activation) => {
                            let (values, field) =
                                activate_pair(activation, &largest, arguments(), means);
                            (apart, same) = (apart.times(&field), same.times(&field));
                            values
                        }
                    };
                    slopes[i] = Slope::Winners { apart, same };
                    Ok(values)
                }
                _ => step(self.graph, node, &self.layouts, inputs),
            }
        })?;
        for chain in &self.chains {
            let skip = |own: &Own| {
                let second = own.arguments.get(&chain.second)?;
                Some(second.skip(own.arguments.get(&chain.first)?, chain.gain))
            };
            let factor = match (&slopes[chain.second], own.map(skip)) {
                (Slope::Field(field), [Some(a), Some(b)]) => skip_pair(field, [&a, &b]),
                _ => continue,
            };
            slopes[chain.sum].add_side(chain.side, factor);
        }
        Ok(slopes)
    }
}
