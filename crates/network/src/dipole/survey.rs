//! What patches every node has, what it costs, and where the regional part ends.
//!
//! Costs are counted in products a sample. The regional part ends at a node through which everything later passes,
//! where regional stages before it and whole maps after it cost least together.

use std::sync::Arc;

use polariscope_graph::{Graph, Node, Op, Padding, Shape, Window, multiplications};

use super::class::{Class, Conv, classify, view};
use super::gather::{Gather, Region};
use super::linear::Sizes;
use super::region::{Span, Taps};

/// What a number costs to move, in products.
const MOVE: usize = 16;
/// What Winograd's algorithm leaves of the products, and from how many channels on.
const WINOGRAD: (f64, usize) = (0.5, 32);

/// A stage before its batch is known.
pub struct Draft {
    /// Its first node.
    pub node: usize,
    /// Elementwise nodes that follow, each the only reader of the one before.
    pub chain: Vec<usize>,
}

impl Draft {
    /// The node that the stage computes.
    pub fn end(&self) -> usize {
        self.chain.last().copied().unwrap_or(self.node)
    }
}

/// How a convolution is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// From the one number that moved.
    Entry,
    /// From the change of its patch.
    Change,
    /// From all that its patch sees.
    Whole,
}

/// A convolution's way, and what a node with patches costs.
#[derive(Clone, Copy)]
pub struct Cost {
    /// The way.
    pub how: How,
    /// Products, and what moving numbers costs in them.
    pub products: usize,
    /// Numbers a sample that its stage holds.
    pub held: usize,
}

/// A graph with what its nodes' patches are and cost.
pub struct Survey<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// By node; nothing where everything may change.
    regions: Vec<Option<Arc<Region>>>,
    /// Edges that leave each node.
    readers: Vec<usize>,
    /// By node, for those with patches but the input.
    pub costs: Vec<Option<Cost>>,
}

impl<'a> Survey<'a> {
    /// Of a graph.
    pub fn new(graph: &'a Graph) -> Self {
        let mut readers = vec![0; graph.nodes.len()];
        for input in graph.nodes.iter().flat_map(|node| &node.inputs) {
            readers[input.0] += 1;
        }
        let mut survey = Survey {
            graph,
            regions: Vec::new(),
            readers,
            costs: Vec::new(),
        };
        for (i, node) in graph.nodes.iter().enumerate() {
            let region = survey.region(node).map(Arc::new);
            survey.regions.push(region);
            let local = i > 0 && survey.regions[i].is_some();
            survey.costs.push(local.then(|| survey.cost(i)));
        }
        survey
    }

    /// The patches of a node whose inputs have theirs; nothing where everything may change.
    fn region(&self, node: &Node) -> Option<Region> {
        let [channels, height, width] = view(node.shape)?;
        let inputs: Option<Vec<&Arc<Region>>> = node
            .inputs
            .iter()
            .map(|i| self.regions[i.0].as_ref())
            .collect();
        let (rows, cols) = match classify(&node.op) {
            // The numbers of a vector are no channels of one position here: each moves alone.
            Class::Input if matches!(node.shape, Shape::Vector { .. }) => return None,
            Class::Input => (Span::input(height), Span::input(width)),
            Class::Elementwise(_) => {
                let source = inputs?[0];
                (source.rows.clone(), source.cols.clone())
            }
            Class::Conv(Conv { window, .. }) | Class::Pool(window, _) => {
                let source = inputs?[0];
                let [rows, cols] = taps(window, source, node.shape);
                (source.rows.through(&rows), source.cols.through(&cols))
            }
            Class::Join(_) => {
                let inputs = inputs?;
                let rows: Vec<&Span> = inputs.iter().map(|r| &r.rows).collect();
                let cols: Vec<&Span> = inputs.iter().map(|r| &r.cols).collect();
                (Span::union(&rows), Span::union(&cols))
            }
            Class::Dense { .. } if self.is_flat_input(node.inputs[0].0) => {
                let [_, rows, cols] = view(self.graph.input())?;
                (Span::point(rows), Span::point(cols))
            }
            Class::Dense { .. } | Class::Flatten | Class::Global => return None,
        };
        Some(Region {
            channels,
            rows,
            cols,
        })
    }

    /// Whether a node is the input as a vector.
    fn is_flat_input(&self, node: usize) -> bool {
        let node = &self.graph.nodes[node];
        match classify(&node.op) {
            Class::Input => matches!(node.shape, Shape::Vector { .. }),
            Class::Flatten => node.inputs[0].0 == 0,
            _ => false,
        }
    }

    /// The cheapest end of the regional part and the stages before it.
    pub fn cut(&self) -> (usize, Vec<Draft>) {
        let mut best = (self.whole(0), 0);
        let mut prefix = 0;
        for cut in 1..self.graph.nodes.len() {
            let Some(cost) = self.costs[cut] else {
                if self.is_flat_input(cut) {
                    continue;
                }
                break;
            };
            prefix += cost.products;
            let later = &self.graph.nodes[cut + 1..];
            if later.iter().any(|n| n.inputs.iter().any(|i| i.0 < cut)) {
                continue;
            }
            let cost = prefix + self.whole(cut) + MOVE * self.graph.nodes[cut].shape.len();
            // Elementwise ops cost nothing here, and less on patches.
            if cost <= best.0 {
                best = (cost, cut);
            }
        }
        (best.1, self.drafts(best.1))
    }

    /// What whole maps cost after a node.
    fn whole(&self, cut: usize) -> usize {
        let length = |i: usize| self.graph.nodes[i].shape.len();
        let moved = |node: usize| match classify(self.op(node)) {
            Class::Pool(..) | Class::Join(_) => self.inputs(node).map(length).sum(),
            Class::Input
            | Class::Elementwise(_)
            | Class::Conv(_)
            | Class::Dense { .. }
            | Class::Flatten
            | Class::Global => 0,
        };
        let moved: usize = (cut + 1..self.graph.nodes.len()).map(moved).sum();
        multiplications(&suffix(self.graph, cut)) + MOVE * moved
    }

    /// The stages of nodes 1..=cut.
    fn drafts(&self, cut: usize) -> Vec<Draft> {
        let mut done = vec![false; cut + 1];
        let mut drafts = Vec::new();
        for node in 1..=cut {
            if done[node] || self.regions[node].is_none() {
                continue;
            }
            let mut draft = Draft {
                node,
                chain: Vec::new(),
            };
            while draft.end() != cut && self.readers[draft.end()] == 1 {
                let end = draft.end();
                let reader = (end + 1..=cut).find(|&n| self.inputs(n).any(|i| i == end));
                let Some(next) = reader.filter(|&n| self.is_elementwise(n)) else {
                    break;
                };
                done[next] = true;
                draft.chain.push(next);
            }
            drafts.push(draft);
        }
        drafts
    }

    /// A node's op.
    pub fn op(&self, node: usize) -> &Op {
        &self.graph.nodes[node].op
    }

    /// The nodes that a node reads.
    pub fn inputs(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.nodes[node].inputs.iter().map(|i| i.0)
    }

    fn is_elementwise(&self, node: usize) -> bool {
        matches!(classify(self.op(node)), Class::Elementwise(_))
    }

    /// The patches of a node that has some.
    pub fn patches(&self, node: usize) -> &Arc<Region> {
        self.regions[node]
            .as_ref()
            .expect("stages join nodes with patches")
    }

    /// The axes of a node's window.
    pub fn taps(&self, node: usize, window: Window) -> [Taps; 2] {
        let node = &self.graph.nodes[node];
        taps(window, self.patches(node.inputs[0].0), node.shape)
    }

    /// What a node's patches see through its window.
    pub fn crop(&self, node: usize, window: Window) -> Gather {
        let first = self.graph.nodes[node].inputs[0].0;
        Gather::crop(
            self.patches(first),
            self.patches(node),
            &self.taps(node, window),
        )
    }

    /// Sizes of a convolution's weights.
    pub fn sizes(&self, conv: Conv) -> Sizes {
        let shape = &self.graph.param(conv.weight).shape;
        Sizes {
            o: shape[0],
            c: shape[1],
            kernel: conv.window.kernel,
        }
    }

    /// What a node with patches costs.
    fn cost(&self, node: usize) -> Cost {
        let to = self.patches(node);
        let moved = |held: usize| Cost {
            how: How::Whole,
            products: MOVE * held,
            held,
        };
        match classify(self.op(node)) {
            Class::Conv(conv) => self.conv_cost(node, conv),
            Class::Pool(window, _) => {
                let crop = self.crop(node, window).positions();
                moved(crop * to.channels + to.len())
            }
            // What an elementwise op costs is the same on patches, and more on whole maps.
            Class::Elementwise(_) => Cost {
                products: 0,
                ..moved(to.len())
            },
            Class::Dense { .. }
            | Class::Join(_)
            | Class::Input
            | Class::Flatten
            | Class::Global => moved(to.len()),
        }
    }

    fn conv_cost(&self, node: usize, conv: Conv) -> Cost {
        let (to, sizes) = (self.patches(node), self.sizes(conv));
        let first = self.graph.nodes[node].inputs[0].0;
        if first == 0 && conv.groups == 1 {
            return Cost {
                how: How::Entry,
                products: 2 * MOVE * to.len(),
                held: to.len(),
            };
        }
        let from = self.patches(first);
        let held = self.crop(node, conv.window).positions() * from.channels + to.len();
        let whole = Cost {
            how: How::Whole,
            products: to.positions() * self.graph.param(conv.weight).len() + MOVE * held,
            held,
        };
        let held = from.positions() * sizes.row() + to.len();
        let change = Cost {
            how: How::Change,
            products: from.positions() * sizes.row() * sizes.c + MOVE * held,
            held,
        };
        let Window {
            kernel,
            stride,
            dilation,
            ..
        } = conv.window;
        let small = (kernel, stride, dilation) == ([3, 3], [1, 1], [1, 1]);
        let winograd = small && sizes.c.min(sizes.o) >= WINOGRAD.1;
        let factor = if winograd { WINOGRAD.0 } else { 1.0 };
        if conv.groups == 1 && (change.products as f64) < factor * whole.products as f64 {
            change
        } else {
            whole
        }
    }
}

/// The axes of a window whose outputs have a shape.
fn taps(window: Window, source: &Region, shape: Shape) -> [Taps; 2] {
    let [_, height, width] = view(shape).unwrap_or([1; 3]);
    // A signal has no rows of its own: nothing to pad.
    let padding = match shape {
        Shape::Signal { .. } => Padding::Valid,
        Shape::Vector { .. } | Shape::Image { .. } | Shape::Tokens { .. } => window.padding,
    };
    let rows = Window { padding, ..window };
    [
        Taps::new(rows, 0, source.rows.n, height),
        Taps::new(window, 1, source.cols.n, width),
    ]
}

/// What follows a node, with that node as the input.
pub fn suffix(graph: &Graph, cut: usize) -> Graph {
    let mut nodes = graph.nodes[cut..].to_vec();
    nodes[0].op = Op::Input;
    nodes[0].inputs.clear();
    let inputs = nodes.iter_mut().flat_map(|node| &mut node.inputs);
    inputs.for_each(|input| input.0 -= cut);
    Graph {
        nodes,
        ..graph.clone()
    }
}
