//! A network as steps from input to output, what repeats written once.
//!
//! A step is a layer with what works number by number behind it: `conv 64, 3x3 · batch-norm · relu`. Steps that repeat
//! (the same words, reading from as far back) are folded: the first of them stand for all.

use crate::{Graph, Node, Op, Support};

use super::words;

/// Most steps of a block that is looked for again behind itself.
const BLOCK: usize = 32;

/// A network in few steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// In the order of computation; the first is the input.
    pub steps: Vec<OutlineStep>,
    /// What stands for several.
    pub repeats: Vec<Repeat>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineStep {
    /// What it computes.
    pub words: String,
    /// Shape of its output; where the step stands for several of different shapes, the first and the last.
    pub shape: String,
    /// The steps that it reads.
    pub reads: Vec<usize>,
}

/// Steps in a row that come several times.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// The first of them.
    pub first: usize,
    /// The last of them.
    pub last: usize,
    /// How often they come.
    pub times: usize,
    /// What the names of the layers of the first time begin with, such as `layer1.0`; none where those of the last time
    /// begin so too.
    pub from: Option<String>,
}

/// A step before folding.
struct Draft<'g> {
    words: Vec<String>,
    nodes: Vec<&'g Node>,
    /// How far back it reads.
    back: Vec<usize>,
}

impl Draft<'_> {
    fn is_like(&self, other: &Self) -> bool {
        self.words == other.words && self.back == other.back
    }

    fn shape(&self) -> String {
        let dims = self.nodes.last().map(|node| node.shape.dims());
        let dims: Vec<String> = dims.iter().flatten().map(usize::to_string).collect();
        dims.join("x")
    }
}

impl Outline {
    /// The steps of a network.
    pub fn of(graph: &Graph) -> Self {
        let drafts = drafts(graph);
        let mut outline = Outline {
            steps: Vec::new(),
            repeats: Vec::new(),
        };
        // Where each draft is drawn.
        let mut drawn: Vec<usize> = Vec::with_capacity(drafts.len());
        for block in blocks(&drafts, 0) {
            let Block {
                start,
                period,
                times,
            } = block;
            let first = outline.steps.len();
            drawn.extend((0..period * times).map(|k| first + k % period));
            for k in start..start + period {
                let step = &drafts[k];
                let reads = step.back.iter().map(|back| drawn[k - back]);
                let last = &drafts[k + period * (times - 1)];
                let (shape, end) = (step.shape(), last.shape());
                outline.steps.push(OutlineStep {
                    words: step.words.join(" · "),
                    shape: match shape == end {
                        true => shape,
                        false => format!("{shape} to {end}"),
                    },
                    reads: reads.collect(),
                });
            }
            if times > 1 {
                let time = |k: usize| &drafts[start + k * period..][..period];
                outline.repeats.push(Repeat {
                    first,
                    last: first + period - 1,
                    times,
                    from: own_name(time(0), time(times - 1)),
                });
            }
        }
        outline
    }
}

/// The nodes of the graph as steps.
fn drafts(graph: &Graph) -> Vec<Draft<'_>> {
    let mut readers = vec![0; graph.nodes.len()];
    for input in graph.nodes.iter().flat_map(|node| &node.inputs) {
        readers[input.0] += 1;
    }
    let mut drafts: Vec<Draft> = Vec::new();
    // The step of each node.
    let mut step: Vec<usize> = Vec::with_capacity(graph.nodes.len());
    for (i, node) in graph.nodes.iter().enumerate() {
        let goes_on = i > 1
            && node.inputs.iter().map(|n| n.0).eq([i - 1])
            && readers[i - 1] == 1
            && node.op.facts().support == Support::Same
            && !matches!(node.op, Op::GroupPool { .. })
            // What sums or joins is followed by a norm only at the end of a stage: there it must look like the others.
            && (graph.nodes[i - 1].inputs.len() < 2 || matches!(node.op, Op::Activation(_)));
        if !goes_on {
            let here = drafts.len();
            let mut back: Vec<usize> = node.inputs.iter().map(|n| here - step[n.0]).collect();
            back.sort_unstable();
            back.dedup();
            drafts.push(Draft {
                words: Vec::new(),
                nodes: Vec::new(),
                back,
            });
        }
        step.push(drafts.len() - 1);
        if let Some(draft) = drafts.last_mut() {
            draft.nodes.push(node);
            if !matches!(node.op, Op::Bias { .. }) {
                draft.words.push(plain(&words::op(graph, node)));
            }
        }
    }
    drafts
}

/// Words without the padding, which the shapes tell.
fn plain(words: &str) -> String {
    let parts = words.split(", ").filter(|p| !p.starts_with("padding"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Steps in a row that come so often, one time after the other.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    period: usize,
    times: usize,
}

impl Block {
    fn saves(self) -> usize {
        self.period * (self.times - 1)
    }
}

/// The steps in blocks: the one that saves most, then those before and after it. `offset` is the number of the first step.
fn blocks(drafts: &[Draft], offset: usize) -> Vec<Block> {
    let mut best = None;
    let mut start = 0;
    while start < drafts.len() {
        let (period, times) = repetition(&drafts[start..]);
        let block = Block {
            start,
            period,
            times,
        };
        if block.saves() > best.map_or(0, Block::saves) {
            best = Some(block);
        }
        // What begins within a repetition saves less of it.
        start += block.saves().max(1);
    }
    let Some(best) = best else {
        let single = |k: usize| Block {
            start: offset + k,
            period: 1,
            times: 1,
        };
        return (0..drafts.len()).map(single).collect();
    };
    let end = best.start + best.period * best.times;
    let mut all = blocks(&drafts[..best.start], offset);
    all.push(Block {
        start: offset + best.start,
        ..best
    });
    all.extend(blocks(&drafts[end..], offset + end));
    all
}

/// How many of the first steps come again at once, and how often: what saves most.
fn repetition(drafts: &[Draft]) -> (usize, usize) {
    let mut best = (1, 1);
    for period in 1..=BLOCK.min(drafts.len() / 2) {
        let block = &drafts[..period];
        let is_again = |next: &&[Draft]| {
            next.len() == period && next.iter().zip(block).all(|(a, b)| a.is_like(b))
        };
        let times = 1 + drafts[period..].chunks(period).take_while(is_again).count();
        if period * (times - 1) > best.0 * (best.1 - 1) {
            best = (period, times);
        }
    }
    best
}

/// What the names of the layers of a block begin with, and those of another do not.
fn own_name(block: &[Draft], other: &[Draft]) -> Option<String> {
    let name = common(block);
    (name != common(other) && !name.is_empty()).then_some(name)
}

fn common(block: &[Draft]) -> String {
    let mut layers = block.iter().flat_map(|d| &d.nodes).map(|n| &n.layer);
    let start: Vec<&str> = layers.next().map_or(Vec::new(), |l| l.split('.').collect());
    let shared = layers.fold(start.len(), |shared, layer| {
        let same = layer.split('.').zip(&start).take_while(|(a, b)| a == *b);
        same.count().min(shared)
    });
    start[..shared].join(".")
}
