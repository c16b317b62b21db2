//! From a graph to the stages of its regional part and the program of the rest.

use std::sync::Arc;

use polariscope_diff::{Program, Trace};
use polariscope_graph::{Graph, Op, Padding, ParamId, Shape};

use super::base::{Step, steps};
use super::class::{Class, Conv, classify};
use super::gather::{Gather, Region};
use super::linear::{Factor, Linear, Scatter, Sizes};
use super::programs::{ProgramId, Programs};
use super::stage::{Make, Stage, StageSource};
use super::survey::{Draft, How, Survey, suffix};

/// Most and fewest samples of a task: many share the reading of large weights.
const TASK: [usize; 2] = [128, 32];
/// Numbers of the widest map after the cut that a task may hold.
const TASK_NUMBERS: usize = 1 << 22;
/// Fewest samples of a part.
const PART: usize = 16;
/// Numbers that a stage of a part may hold: a quarter of L2 in f32.
const PART_NUMBERS: usize = 1 << 16;

/// The plan of a graph.
pub struct DipolePlan {
    /// Everything that runs.
    pub programs: Programs,
    /// Last node of the regional part.
    pub cut: usize,
    /// The base point, nodes 0..=cut.
    pub steps: Vec<Step>,
    /// Nodes whose base is read position by position, with their channels.
    pub read: Vec<(usize, usize)>,
    /// Regional stages in order.
    pub stages: Vec<Stage>,
    /// Number of patch buffers.
    pub slots: usize,
    /// The input's patches, if a stage reads them.
    pub entrance: Option<Entrance>,
    /// Everything after the cut, on whole maps.
    pub suffix: ProgramId,
    /// Numbers of such a map.
    pub map: usize,
    /// How many samples go together.
    pub batch: Batch,
}

/// The patches of the input.
pub struct Entrance {
    /// Where they lie.
    pub region: Arc<Region>,
    /// Their buffer.
    pub slot: usize,
}

/// How many samples go together.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// After the cut.
    pub task: usize,
    /// Through the stages; divides the task.
    pub part: usize,
}

impl DipolePlan {
    /// Plans `samples` moved inputs.
    pub fn new(graph: &Graph, samples: usize) -> Self {
        let survey = Survey::new(graph);
        let (cut, drafts) = survey.cut();
        let suffix = suffix(graph, cut);
        let batch = batch(&survey, &drafts, &suffix, samples);
        let mut builder = Builder {
            slots: slots(&survey, &drafts, cut),
            survey: &survey,
            part: batch.part,
            programs: Programs::default(),
        };
        let stages: Vec<Stage> = drafts.iter().map(|draft| builder.stage(draft)).collect();
        let Builder {
            slots,
            mut programs,
            ..
        } = builder;
        let mut read: Vec<usize> = Vec::new();
        for stage in &stages {
            read.extend(stage.make.linear().map(|_| stage.base));
            read.extend(stage.make.sources().iter().map(|source| source.node));
        }
        read.sort_unstable();
        read.dedup();
        let entrance = (read.first() == Some(&0)).then(|| Entrance {
            region: survey.patches(0).clone(),
            slot: slots[0],
        });
        let channels = |&node: &usize| (node, survey.patches(node).channels);
        DipolePlan {
            steps: steps(graph, cut, &mut programs),
            read: read.iter().map(channels).collect(),
            stages,
            slots: slots[0] + 1,
            entrance,
            suffix: programs.graph(&suffix, batch.task),
            map: suffix.input().len(),
            batch,
            cut,
            programs,
        }
    }
}

/// Batches for a number of samples.
fn batch(survey: &Survey, drafts: &[Draft], suffix: &Graph, samples: usize) -> Batch {
    let widest = suffix.nodes.iter().map(|node| node.shape.len()).max();
    let most = (TASK_NUMBERS / widest.unwrap_or(1).max(1)).clamp(TASK[1], TASK[0]);
    let held = drafts.iter().filter_map(|d| survey.costs[d.node]);
    let held = held.map(|cost| cost.held).max().unwrap_or(1);
    let part = (PART_NUMBERS / held.max(1)).max(PART);
    // Equal shares: a short last one would be filled up.
    let task = samples.div_ceil(samples.div_ceil(most));
    let parts = task.div_ceil(part);
    let part = task.div_ceil(parts);
    Batch {
        task: part * parts,
        part,
    }
}

/// A buffer for each node's patches: one whose patches nobody reads any more, if there is one. The input has the
/// last.
fn slots(survey: &Survey, drafts: &[Draft], cut: usize) -> Vec<usize> {
    let last_reader = |node: usize| {
        let reads = |d: &Draft| survey.inputs(d.node).any(|i| i == node);
        match drafts.iter().rposition(reads) {
            Some(reader) if node != cut => reader,
            _ => usize::MAX,
        }
    };
    let mut slots = vec![0; cut + 1];
    let mut busy_until: Vec<usize> = Vec::new();
    for (now, draft) in drafts.iter().enumerate() {
        let free = busy_until.iter().position(|&until| until < now);
        let slot = free.unwrap_or(busy_until.len());
        busy_until.resize(busy_until.len().max(slot + 1), 0);
        busy_until[slot] = last_reader(draft.end());
        slots[draft.end()] = slot;
    }
    slots[0] = busy_until.len();
    slots
}

/// Makes stages of drafts.
struct Builder<'a> {
    survey: &'a Survey<'a>,
    slots: Vec<usize>,
    part: usize,
    programs: Programs,
}

impl Builder<'_> {
    fn stage(&mut self, draft: &Draft) -> Stage {
        let survey = self.survey;
        let to = survey.patches(draft.node);
        let first = survey.graph.nodes[draft.node].inputs[0].0;
        let source = |node: usize| StageSource {
            node,
            slot: self.slots[node],
            region: survey.patches(node).clone(),
        };
        let make = match classify(survey.op(draft.node)) {
            Class::Dense { weight, scale } => {
                let shape = &survey.graph.param(weight).shape;
                let sizes = Sizes {
                    o: shape[0],
                    c: shape[1],
                    kernel: [1, 1],
                };
                Make::Column(self.linear(draft, weight, scale, sizes))
            }
            Class::Conv(conv) => {
                let source = source(first);
                self.conv(draft, conv, source)
            }
            Class::Pool(window, pool) => Make::Pool {
                gather: survey.crop(draft.node, window),
                source: source(first),
                window,
                pool,
            },
            Class::Join(join) => {
                let read = |i: usize| (source(i), Gather::patch(survey.patches(i), to));
                Make::Join(join, survey.inputs(draft.node).map(read).collect())
            }
            Class::Elementwise(_) | Class::Input | Class::Flatten | Class::Global => {
                Make::Same(source(first))
            }
        };
        // How much of the chain is done already.
        let done = match make {
            Make::Column(_) | Make::Entry(..) | Make::Change { .. } => self.affine(draft).count(),
            Make::Whole { .. } => draft.chain.len(),
            Make::Pool { .. } | Make::Join(..) | Make::Same(_) => 0,
        };
        let own = matches!(make, Make::Same(_)).then_some(draft.node);
        let rest = own.iter().chain(&draft.chain[done..]);
        let rest: Vec<Op> = rest.map(|&n| survey.op(n).clone()).collect();
        let shape = Shape::Vector {
            features: to.channels,
        };
        let rest = (!rest.is_empty()).then(|| {
            let batch = self.part * to.positions();
            self.programs
                .sequence(survey.graph, [shape; 2], &rest, batch)
        });
        let base = done.checked_sub(1).map_or(draft.node, |i| draft.chain[i]);
        Stage {
            make,
            base,
            end: draft.end(),
            slot: self.slots[draft.end()],
            region: to.clone(),
            rest,
        }
    }

    /// Derivatives of the affine ops that begin a chain.
    fn affine<'d>(&'d self, draft: &'d Draft) -> impl Iterator<Item = Factor> + 'd {
        let factor = |&node: &usize| match classify(self.survey.op(node)) {
            Class::Elementwise(factor) => factor,
            _ => None,
        };
        draft.chain.iter().map_while(factor)
    }

    fn linear(&self, draft: &Draft, weight: ParamId, scale: f64, sizes: Sizes) -> Linear {
        let factors = std::iter::once(Factor::Constant(scale)).chain(self.affine(draft));
        Linear {
            weight,
            sizes,
            factors: factors.collect(),
        }
    }

    fn conv(&mut self, draft: &Draft, conv: Conv, source: StageSource) -> Make {
        let survey = self.survey;
        let (to, sizes) = (survey.patches(draft.node), survey.sizes(conv));
        let linear = || self.linear(draft, conv.weight, conv.scale, sizes);
        let taps = survey.taps(draft.node, conv.window);
        let scatter = || Scatter::new(&source.region, to, &taps, sizes);
        match survey.costs[draft.node].map(|cost| cost.how) {
            Some(How::Entry) => Make::Entry(linear(), scatter()),
            Some(How::Change) => Make::Change {
                linear: linear(),
                scatter: scatter(),
                product: self
                    .programs
                    .add(product(self.part * source.region.positions(), sizes)),
                source,
            },
            Some(How::Whole) | None => {
                let gather = survey.crop(draft.node, conv.window);
                let image = |channels, [height, width]: [usize; 2]| Shape::Image {
                    channels,
                    height,
                    width,
                };
                let shapes = [
                    image(source.region.channels, gather.size),
                    image(to.channels, [to.rows.length, to.cols.length]),
                ];
                let mut ops = vec![survey.op(draft.node).clone()];
                if let Op::Conv { window, .. } = &mut ops[0] {
                    window.padding = Padding::Valid;
                }
                ops.extend(draft.chain.iter().map(|&n| survey.op(n).clone()));
                Make::Whole {
                    gather,
                    source,
                    program: self
                        .programs
                        .sequence(survey.graph, shapes, &ops, self.part),
                }
            }
        }
    }
}

/// rows × C times C × (tap, O).
fn product(rows: usize, sizes: Sizes) -> Program {
    let mut t = Trace::new();
    let x = t.leaf(&[1, rows, sizes.c]);
    let w = t.leaf(&[1, sizes.c, sizes.row()]);
    let y = t.matmul(x, w, false, false);
    Program::new(&t, &[y])
}
