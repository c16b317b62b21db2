//! The dipole gradient as expressions, for devices that run whole programs.
//!
//! A layer holds the base point's map and, for each of the 2D samples, the window of it that the sample's pixel changes:
//! (p / divide) + plus for pixel p, of one size for all. A convolution reads the base's map with the change of the window
//! pasted in. Where windows are no longer worth it, or an op is not local, they are pasted into whole maps.

use polariscope_diff::{Conv, Crop, Id, Origin, Trace, Window};
use polariscope_graph::{self as graph, Activation, Graph, Node, Op, Padding, Shape};

use crate::Scalar;
use crate::lower::{Lowering, Mode};

/// A window is worth it up to this part of the map.
const WORTH: f64 = 0.7;

/// Central differences as expressions: leaf 0 is the base point, leaf i + 1 parameter i, constants follow.
#[derive(Clone, Debug)]
pub struct Differences {
    /// The expressions.
    pub trace: Trace,
    /// The D differences.
    pub output: Id,
    /// What the last leaves hold.
    pub constants: Vec<Vec<f64>>,
}

/// What the samples make of a layer.
#[derive(Clone, Copy)]
enum Moved {
    /// Maps, N × layer.
    Whole(Id),
    /// Windows, N × channels × size.
    Window {
        patch: Patch,
        origin: Origin,
        size: [usize; 2],
    },
}

/// What is in a window.
#[derive(Clone, Copy)]
enum Patch {
    /// The samples' numbers.
    Value(Id),
    /// Their difference from the base point's.
    Change(Id),
}

/// (f(x + h eᵢ) − f(x − h eᵢ)) / 2h for every i.
pub fn differences(graph: &Graph, h: f64, scalar: Scalar) -> Differences {
    let graph = &pooled_first(graph);
    let inputs = graph.input().len();
    let samples = 2 * inputs;
    let (lowering, x) = Lowering::new(graph, 1, Mode::Evaluate);
    let mut maker = Maker {
        lowering,
        samples,
        grid: map(graph.input()).unwrap_or([1, 1]),
        constants: Vec::new(),
    };
    let steps = maker.steps(h);
    maker.constants.push(steps);
    let mut base: Vec<Id> = Vec::with_capacity(graph.nodes.len());
    let mut moved: Vec<Moved> = Vec::with_capacity(graph.nodes.len());
    let start = maker.input(x);
    for node in &graph.nodes {
        let inputs: Vec<Id> = node.inputs.iter().map(|i| base[i.0]).collect();
        let from: Vec<Moved> = node.inputs.iter().map(|i| moved[i.0]).collect();
        let shapes: Vec<Shape> = node.inputs.iter().map(|i| graph.nodes[i.0].shape).collect();
        maker.lowering.batch = 1;
        base.push(maker.lowering.node(node, x, &inputs));
        maker.lowering.batch = samples;
        moved.push(match inputs.is_empty() {
            true => start,
            false => maker.node(node, &inputs, &from, &shapes),
        });
    }
    let last = graph.nodes.len() - 1;
    let output = maker.whole(base[last], moved[last], graph.nodes[last].shape);
    let outputs = graph.output().len();
    let t = &mut maker.lowering.t;
    let rows = t.reshape(output, &[samples, outputs]);
    let value = match scalar {
        Scalar::Logit(k) => t.slice(rows, 1, k, 1),
        Scalar::Mean => {
            let sum = t.sum(rows, &[1]);
            t.scale(sum, 1.0 / outputs as f64)
        }
    };
    let up = t.slice(value, 0, 0, inputs);
    let down = t.slice(value, 0, inputs, inputs);
    let change = t.sub(up, down);
    let output = t.scale(change, 0.5 / h);
    Differences {
        trace: maker.lowering.t,
        output,
        constants: maker.constants,
    }
}

/// The same function with max-pools before the biases and rising activations that they commute with: there is less to do
/// behind them.
fn pooled_first(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    let mut readers = vec![0; graph.nodes.len()];
    for input in graph.nodes.iter().flat_map(|node| &node.inputs) {
        readers[input.0] += 1;
    }
    for pool in 0..graph.nodes.len() {
        let mut at = pool;
        while let (Op::MaxPool(_), &[before]) = (&graph.nodes[at].op, &graph.nodes[at].inputs[..]) {
            let rises = match graph.nodes[before.0].op {
                Op::Bias { .. } => true,
                Op::Activation(a) => matches!(a, Activation::Relu | Activation::Tanh),
                _ => false,
            };
            if !rises || readers[before.0] != 1 {
                break;
            }
            // The two change places: the pool is now where its input was.
            let shape = graph.nodes[at].shape;
            let op = std::mem::replace(&mut graph.nodes[at].op, Op::Flatten);
            graph.nodes[at].op = std::mem::replace(&mut graph.nodes[before.0].op, op);
            graph.nodes[before.0].shape = shape;
            at = before.0;
        }
    }
    graph
}

/// Height and width of a layer that has them.
fn map(shape: Shape) -> Option<[usize; 2]> {
    match shape {
        Shape::Image { height, width, .. } => Some([height, width]),
        Shape::Signal { length, .. } => Some([1, length]),
        Shape::Vector { .. } | Shape::Tokens { .. } => None,
    }
}

/// What a window that slides over a map sees of a change.
struct Seen {
    /// Windows of the result.
    origin: Origin,
    size: [usize; 2],
    /// Windows that they read.
    read: Origin,
    reads: [usize; 2],
    /// The window on those, without padding.
    window: Window,
}

struct Maker<'a> {
    lowering: Lowering<'a>,
    /// 2D.
    samples: usize,
    /// Pixels of the input.
    grid: [usize; 2],
    constants: Vec<Vec<f64>>,
}

impl Maker<'_> {
    /// ±h where a sample differs from the base point: for a map a number a channel, otherwise a number an input.
    fn steps(&self, h: f64) -> Vec<f64> {
        let inputs = self.samples / 2;
        let pixels = self.grid[0] * self.grid[1];
        let channels = inputs / pixels;
        let mut steps = vec![0.0; self.samples * channels];
        for (n, row) in steps.chunks_exact_mut(channels).enumerate() {
            let sign = if n < inputs { h } else { -h };
            row[n % inputs / pixels] = sign;
        }
        steps
    }

    /// The samples: the base point and their steps.
    fn input(&mut self, x: Id) -> Moved {
        let shape = self.lowering.graph.input();
        let channels = self.samples / 2 / (self.grid[0] * self.grid[1]);
        if map(shape).is_none() {
            let t = &mut self.lowering.t;
            let wide = [self.samples, channels];
            let steps = t.leaf(&wide);
            let flat = t.reshape(x, &[1, channels]);
            let all = t.expand(flat, &wide);
            let moved = t.add(all, steps);
            let dims = crate::lower::dims(self.samples, shape);
            return Moved::Whole(t.reshape(moved, &dims));
        }
        let origin = Origin {
            divide: 1,
            times: 1,
            plus: [0, 0],
        };
        let size = [1, 1];
        let pixel = self.crop(x, Origin::MAP, origin, self.grid, size);
        let t = &mut self.lowering.t;
        let steps = t.leaf(&[self.samples, channels, 1, 1]);
        Moved::Window {
            patch: Patch::Value(t.add(pixel, steps)),
            origin,
            size,
        }
    }

    fn crop(&mut self, x: Id, from: Origin, to: Origin, map: [usize; 2], size: [usize; 2]) -> Id {
        let crop = Crop {
            grid: self.grid,
            map,
            from,
            to,
        };
        self.lowering.t.crop(x, crop, self.samples, size)
    }

    /// What the samples make of a node.
    fn node(&mut self, node: &Node, base: &[Id], moved: &[Moved], shapes: &[Shape]) -> Moved {
        if let Some(local) = self.local(node, base, moved, shapes) {
            return local;
        }
        let inputs: Vec<Id> = (0..base.len())
            .map(|i| self.whole(base[i], moved[i], shapes[i]))
            .collect();
        Moved::Whole(self.lowering.node(node, inputs[0], &inputs))
    }

    /// The same on windows, where that is possible and worth it.
    fn local(
        &mut self,
        node: &Node,
        base: &[Id],
        moved: &[Moved],
        shapes: &[Shape],
    ) -> Option<Moved> {
        let (Moved::Window { origin, size, .. }, Some(_)) = (moved[0], map(node.shape)) else {
            return None;
        };
        match node.op {
            Op::Bias { .. }
                if matches!(
                    moved[0],
                    Moved::Window {
                        patch: Patch::Change(_),
                        ..
                    }
                ) =>
            {
                Some(moved[0])
            }
            Op::Bias { .. }
            | Op::Scale { .. }
            | Op::Dropout { .. }
            | Op::Activation(_)
            | Op::BatchNorm { .. } => {
                let patch = self.windows(base[0], moved[0], shapes[0], origin, size)?;
                Some(self.pointwise(node, &[patch], origin, size))
            }
            Op::Add | Op::Concat => {
                let (origin, size) = common(moved)?;
                let inputs: Vec<Id> = (0..base.len())
                    .map(|i| self.windows(base[i], moved[i], shapes[i], origin, size))
                    .collect::<Option<_>>()?;
                Some(self.pointwise(node, &inputs, origin, size))
            }
            Op::Conv {
                weight,
                scale,
                window,
                groups,
            } => {
                let conv = |l: &mut Lowering, x: Id, window: Window| {
                    let w = l.kernel(weight);
                    let y = l.t.conv(x, w, Conv::new(window, groups));
                    l.t.scale(y, scale)
                };
                let taps = window.kernel[0] * window.kernel[1];
                let few = size[0] * size[1] < taps && window.stride == [1, 1] && groups == 1;
                match few {
                    true => self.change(node, base, moved, shapes, window, conv),
                    false => self.sliding(node, base, moved, shapes, window, conv),
                }
            }
            Op::AvgPool(window) => {
                self.sliding(node, base, moved, shapes, window, |l, x, window| {
                    let taps = window.kernel[0] * window.kernel[1];
                    let y = l.t.sum_pool(x, window);
                    l.t.scale(y, 1.0 / taps as f64)
                })
            }
            Op::MaxPool(window) if window.padding == Padding::Valid => {
                self.sliding(node, base, moved, shapes, window, |l, x, window| {
                    l.t.max_pool(x, window)
                })
            }
            _ => None,
        }
    }

    /// An op that treats every position alike.
    fn pointwise(&mut self, node: &Node, inputs: &[Id], origin: Origin, size: [usize; 2]) -> Moved {
        let [height, width] = size;
        let shape = match node.shape {
            Shape::Signal { channels, .. } | Shape::Image { channels, .. } => Shape::Image {
                channels,
                height,
                width,
            },
            other => other,
        };
        let node = Node {
            shape,
            ..node.clone()
        };
        Moved::Window {
            patch: Patch::Value(self.lowering.node(&node, inputs[0], inputs)),
            origin,
            size,
        }
    }

    /// An op whose window slides over the map: positions that see the window of the input are the window of the result.
    fn sliding(
        &mut self,
        node: &Node,
        base: &[Id],
        moved: &[Moved],
        shapes: &[Shape],
        window: graph::Window,
        op: impl FnOnce(&mut Lowering, Id, Window) -> Id,
    ) -> Option<Moved> {
        let seen = self.seen(node, base, moved, shapes, window)?;
        let wide = self.windows(base[0], moved[0], shapes[0], seen.read, seen.reads)?;
        Some(Moved::Window {
            patch: Patch::Value(op(&mut self.lowering, wide, seen.window)),
            origin: seen.origin,
            size: seen.size,
        })
    }

    /// A convolution whose input has changed in fewer places than it has taps: what the change contributes is a product
    /// with one matrix, the convolution of maps that are one in one place.
    fn change(
        &mut self,
        node: &Node,
        base: &[Id],
        moved: &[Moved],
        shapes: &[Shape],
        window: graph::Window,
        conv: impl FnOnce(&mut Lowering, Id, Window) -> Id,
    ) -> Option<Moved> {
        let seen = self.seen(node, base, moved, shapes, window)?;
        let Moved::Window { origin, size, .. } = moved[0] else {
            return None;
        };
        let change = self.changed(base[0], moved[0], map(shapes[0])?)?;
        let channels = self.lowering.t.shape(change)[1];
        let numbers = channels * size[0] * size[1];
        // Map number i is one in place i of the window, within what the convolution reads.
        let [height, width] = seen.reads;
        let mut ones = vec![0.0; numbers * channels * height * width];
        for (i, map) in ones.chunks_exact_mut(channels * height * width).enumerate() {
            let (c, place) = (i / (size[0] * size[1]), i % (size[0] * size[1]));
            let at = [place / size[1], place % size[1]];
            let [y, x] =
                [0, 1].map(|axis| at[axis] + (origin.plus[axis] - seen.read.plus[axis]) as usize);
            map[(c * height + y) * width + x] = 1.0;
        }
        self.constants.push(ones);
        let ones = self.lowering.t.leaf(&[numbers, channels, height, width]);
        let each = conv(&mut self.lowering, ones, seen.window);
        let t = &mut self.lowering.t;
        let mut shape = t.shape(each).to_vec();
        let change = t.reshape(change, &[1, self.samples, numbers]);
        let each = t.reshape(each, &[1, numbers, shape[1] * shape[2] * shape[3]]);
        let product = t.matmul(change, each, false, false);
        shape[0] = self.samples;
        Some(Moved::Window {
            patch: Patch::Change(t.reshape(product, &shape)),
            origin: seen.origin,
            size: seen.size,
        })
    }

    /// The windows of a sliding op, if they are worth it.
    fn seen(
        &mut self,
        node: &Node,
        base: &[Id],
        moved: &[Moved],
        shapes: &[Shape],
        window: graph::Window,
    ) -> Option<Seen> {
        let (Moved::Window { origin, size, .. }, Some(to)) = (moved[0], map(node.shape)) else {
            return None;
        };
        let square = window.stride[0] == window.stride[1] || self.grid[0] == 1;
        if window.padding == Padding::Circular || !square {
            return None;
        }
        let (_, padded) = self.lowering.window(base[0], window, shapes[0]);
        let seen = Seen::new(padded, origin, size);
        let worth = WORTH * (to[0] * to[1]) as f64;
        ((seen.size[0] * seen.size[1]) as f64 <= worth).then_some(seen)
    }

    /// The numbers in windows: the base's and the change of the samples.
    fn windows(
        &mut self,
        base: Id,
        moved: Moved,
        shape: Shape,
        to: Origin,
        size: [usize; 2],
    ) -> Option<Id> {
        match moved {
            Moved::Window {
                patch: Patch::Value(id),
                origin,
                size: from,
            } if (origin, from) == (to, size) => Some(id),
            Moved::Window { origin, .. } => {
                let map = map(shape)?;
                let change = match moved {
                    Moved::Window {
                        patch: Patch::Change(id),
                        ..
                    } => id,
                    _ => self.changed(base, moved, map)?,
                };
                Some(self.paste(change, base, [origin, to], map, false, size))
            }
            Moved::Whole(_) => None,
        }
    }

    /// The change of the samples in their windows, zero outside of the map.
    fn changed(&mut self, base: Id, moved: Moved, map: [usize; 2]) -> Option<Id> {
        match moved {
            Moved::Window {
                patch: Patch::Value(id),
                origin,
                size,
            } => Some(self.paste(id, base, [origin; 2], map, true, size)),
            Moved::Window {
                patch: Patch::Change(id),
                origin,
                size,
            } => Some(self.crop(id, origin, origin, map, size)),
            Moved::Whole(_) => None,
        }
    }

    fn paste(
        &mut self,
        x: Id,
        base: Id,
        [from, to]: [Origin; 2],
        map: [usize; 2],
        minus: bool,
        size: [usize; 2],
    ) -> Id {
        let crop = Crop {
            grid: self.grid,
            map,
            from,
            to,
        };
        self.lowering.t.paste(x, base, crop, minus, size)
    }

    /// Whole maps.
    fn whole(&mut self, base: Id, moved: Moved, shape: Shape) -> Id {
        let window =
            map(shape).and_then(|size| self.windows(base, moved, shape, Origin::MAP, size));
        match (moved, window) {
            (Moved::Whole(id), _) | (_, Some(id)) => id,
            (Moved::Window { .. }, None) => unreachable!("windows are of maps"),
        }
    }
}

impl Seen {
    /// Of a change in these windows.
    ///
    /// Result o reads o·s − pad … o·s − pad + (k − 1)d. With q = p / divide = s·Q + e and e < s, what has changed begins at
    /// q + plus: the first result that sees it is that of e = 0, the last one that of e = s − 1.
    fn new(window: Window, origin: Origin, size: [usize; 2]) -> Self {
        let (mut plus, mut sizes, mut reads, mut read) = ([0; 2], [0; 2], [0; 2], [0; 2]);
        for axis in [0, 1] {
            let s = window.stride[axis] as isize;
            let extent = ((window.kernel[axis] - 1) * window.dilation[axis]) as isize;
            let (pad, from) = (window.pad[axis].0 as isize, origin.plus[axis]);
            let first = -(-(from + pad - extent)).div_euclid(s);
            let last = (s - 1 + from + size[axis] as isize - 1 + pad).div_euclid(s);
            plus[axis] = first;
            sizes[axis] = (last - first + 1) as usize;
            read[axis] = s * first - pad;
            reads[axis] = ((last - first) * s + extent + 1) as usize;
        }
        let divide = origin.divide * window.stride[1];
        Seen {
            origin: Origin {
                divide,
                times: 1,
                plus,
            },
            size: sizes,
            read: Origin {
                divide,
                times: window.stride[1],
                plus: read,
            },
            reads,
            window: Window {
                pad: [(0, 0); 2],
                ..window
            },
        }
    }
}

/// The smallest window that contains all.
fn common(moved: &[Moved]) -> Option<(Origin, [usize; 2])> {
    let mut all: Option<(Origin, [usize; 2])> = None;
    for one in moved {
        let Moved::Window { origin, size, .. } = *one else {
            return None;
        };
        let Some((so_far, extent)) = &mut all else {
            all = Some((origin, size));
            continue;
        };
        if so_far.divide != origin.divide {
            return None;
        }
        for axis in [0, 1] {
            let first = so_far.plus[axis].min(origin.plus[axis]);
            let end = |plus: isize, size: usize| plus + size as isize;
            let last = end(so_far.plus[axis], extent[axis]).max(end(origin.plus[axis], size[axis]));
            so_far.plus[axis] = first;
            extent[axis] = (last - first) as usize;
        }
    }
    all
}
