//! The dipole gradient as expressions, for devices that run whole programs.
//!
//! A layer holds the base point's map and, for each of the 2D samples, the window of it that the sample's pixel changes:
//! (p / divide) + plus for pixel p, of one size for all. A convolution reads the base's map with the change of the window
//! pasted in. Where windows are no longer worth it, or an op is not local, they are pasted into whole maps.

mod order;
mod window;

use polariscope_diff::{Conv, Crop, Id, Origin, Trace, Window};
use polariscope_graph::{self as graph, Graph, Node, Padding, Passage, Shape};

use crate::Scalar;
use crate::lower::{Lowering, Mode, dims};
use window::{Seen, Windows, map};

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

/// A layer: what the base point and the samples make of it.
#[derive(Clone, Copy)]
struct Layer {
    base: Id,
    shape: Shape,
    moved: Moved,
}

#[derive(Clone, Copy)]
enum Moved {
    /// Maps, N × layer.
    Whole(Id),
    /// The samples' numbers in windows, N × channels × size.
    Values(Id, Windows),
    /// Their differences from the base point's.
    Change(Id, Windows),
}

impl Layer {
    /// The windows that have changed; nothing for whole maps.
    fn windows(&self) -> Option<Windows> {
        match self.moved {
            Moved::Whole(_) => None,
            Moved::Values(_, windows) | Moved::Change(_, windows) => Some(windows),
        }
    }
}

/// (f(x + h eᵢ) − f(x − h eᵢ)) / 2h for every i.
pub fn differences(graph: &Graph, h: f64, scalar: Scalar) -> Differences {
    let graph = &order::pooled_first(graph);
    let inputs = graph.input().len();
    let (lowering, x) = Lowering::new(graph, 1, Mode::Evaluate);
    let mut maker = Maker {
        lowering,
        samples: 2 * inputs,
        grid: map(graph.input()).unwrap_or([1, 1]),
        constants: Vec::new(),
    };
    let start = maker.input(x, h);
    let mut layers: Vec<Layer> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let inputs: Vec<Layer> = node.inputs.iter().map(|i| layers[i.0]).collect();
        layers.push(match inputs.is_empty() {
            true => start,
            false => maker.node(node, &inputs),
        });
    }
    let outputs = graph.output().len();
    let rows = maker.whole(&layers[layers.len() - 1]);
    let t = &mut maker.lowering.t;
    let rows = t.reshape(rows, &[2 * inputs, outputs]);
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

struct Maker<'a> {
    lowering: Lowering<'a>,
    /// 2D: all x + h eᵢ, then all x − h eᵢ.
    samples: usize,
    /// Pixels of the input.
    grid: [usize; 2],
    constants: Vec<Vec<f64>>,
}

impl Maker<'_> {
    fn constant(&mut self, shape: &[usize], values: Vec<f64>) -> Id {
        self.constants.push(values);
        self.lowering.t.leaf(shape)
    }

    /// The samples: the base point and their steps.
    fn input(&mut self, x: Id, h: f64) -> Layer {
        let shape = self.lowering.graph.input();
        let (inputs, pixels) = (self.samples / 2, self.grid[0] * self.grid[1]);
        let channels = inputs / pixels;
        let mut steps = vec![0.0; self.samples * channels];
        for (n, row) in steps.chunks_exact_mut(channels).enumerate() {
            row[n % inputs / pixels] = if n < inputs { h } else { -h };
        }
        let moved = match map(shape) {
            Some(map) => {
                let steps = self.constant(&[self.samples, channels, 1, 1], steps);
                let pixel = self.crop(map, Origin::MAP, Windows::PIXEL.origin);
                let t = &mut self.lowering.t;
                let pixel = t.crop(x, pixel, self.samples, [1, 1]);
                Moved::Values(t.add(pixel, steps), Windows::PIXEL)
            }
            None => {
                let wide = [self.samples, channels];
                let steps = self.constant(&wide, steps);
                let t = &mut self.lowering.t;
                let flat = t.reshape(x, &[1, channels]);
                let all = t.expand(flat, &wide);
                let moved = t.add(all, steps);
                Moved::Whole(t.reshape(moved, &dims(self.samples, shape)))
            }
        };
        Layer {
            base: x,
            shape,
            moved,
        }
    }

    /// What a node makes of its inputs.
    fn node(&mut self, node: &Node, inputs: &[Layer]) -> Layer {
        let base: Vec<Id> = inputs.iter().map(|layer| layer.base).collect();
        self.lowering.batch = 1;
        let base = self.lowering.node(node, base[0], &base);
        self.lowering.batch = self.samples;
        let moved = self.local(node, inputs).unwrap_or_else(|| {
            let inputs: Vec<Id> = inputs.iter().map(|layer| self.whole(layer)).collect();
            Moved::Whole(self.lowering.node(node, inputs[0], &inputs))
        });
        Layer {
            base,
            shape: node.shape,
            moved,
        }
    }

    /// A node on windows, where that is possible and worth it.
    fn local(&mut self, node: &Node, inputs: &[Layer]) -> Option<Moved> {
        let input = &inputs[0];
        let changed = input.windows()?;
        match node.op.facts().passage {
            // The same is added to the base point's.
            Passage::Bias { .. } if matches!(input.moved, Moved::Change(..)) => Some(input.moved),
            Passage::Bias { .. }
            | Passage::Scale { .. }
            | Passage::Same
            | Passage::Activation(_)
            | Passage::BatchNorm { .. }
            | Passage::Add
            | Passage::Concat => {
                let windows = inputs[1..]
                    .iter()
                    .try_fold(changed, |all, layer| all.with(layer.windows()?))?;
                self.pointwise(node, inputs, windows)
            }
            Passage::Conv {
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
                match changed.area() < taps && window.stride == [1, 1] && groups == 1 {
                    true => self.change(node, input, *window, conv),
                    false => self.sliding(node, input, *window, conv),
                }
            }
            Passage::AvgPool(window) => self.sliding(node, input, *window, |l, x, window| {
                let taps = window.kernel[0] * window.kernel[1];
                let y = l.t.sum_pool(x, window);
                l.t.scale(y, 1.0 / taps as f64)
            }),
            Passage::MaxPool(window) if window.padding == Padding::Valid => {
                self.sliding(node, input, *window, |l, x, window| l.t.max_pool(x, window))
            }
            Passage::Input
            | Passage::Dense { .. }
            | Passage::Local { .. }
            | Passage::Flatten
            | Passage::MaxPool(_)
            | Passage::GlobalAvgPool
            | Passage::Norm(_)
            | Passage::Other(_) => None,
        }
    }

    /// An op that treats every position alike.
    fn pointwise(&mut self, node: &Node, inputs: &[Layer], windows: Windows) -> Option<Moved> {
        let [height, width] = windows.size;
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
        let inputs: Vec<Id> = inputs
            .iter()
            .map(|layer| self.values(layer, windows))
            .collect::<Option<_>>()?;
        let values = self.lowering.node(&node, inputs[0], &inputs);
        Some(Moved::Values(values, windows))
    }

    /// An op whose window slides over the map: positions that see what has changed are the windows of the result.
    fn sliding(
        &mut self,
        node: &Node,
        input: &Layer,
        window: graph::Window,
        op: impl FnOnce(&mut Lowering, Id, Window) -> Id,
    ) -> Option<Moved> {
        let seen = self.seen(node, input, window)?;
        let wide = self.values(input, seen.read)?;
        let values = op(&mut self.lowering, wide, seen.window);
        Some(Moved::Values(values, seen.result))
    }

    /// A convolution whose input has changed in fewer places than it has taps: what the change contributes is a product
    /// with one matrix, the convolution of maps that are one in one place.
    fn change(
        &mut self,
        node: &Node,
        input: &Layer,
        window: graph::Window,
        conv: impl FnOnce(&mut Lowering, Id, Window) -> Id,
    ) -> Option<Moved> {
        let seen = self.seen(node, input, window)?;
        let changed = input.windows()?;
        let change = self.changed(input)?;
        let channels = self.lowering.t.shape(change)[1];
        let (area, [height, width]) = (changed.area(), seen.read.size);
        let numbers = channels * area;
        // Map number i is one in place i of the window, within what the convolution reads.
        let mut ones = vec![0.0; numbers * channels * height * width];
        for (i, map) in ones.chunks_exact_mut(channels * height * width).enumerate() {
            let place = [i % area / changed.size[1], i % area % changed.size[1]];
            let [y, x] = [0, 1].map(|axis| {
                let offset = changed.origin.plus[axis] - seen.read.origin.plus[axis];
                place[axis] + offset as usize
            });
            map[(i / area * height + y) * width + x] = 1.0;
        }
        let ones = self.constant(&[numbers, channels, height, width], ones);
        let each = conv(&mut self.lowering, ones, seen.window);
        let t = &mut self.lowering.t;
        let mut shape = t.shape(each).to_vec();
        let change = t.reshape(change, &[1, self.samples, numbers]);
        let each = t.reshape(each, &[1, numbers, shape[1] * shape[2] * shape[3]]);
        let product = t.matmul(change, each, false, false);
        shape[0] = self.samples;
        Some(Moved::Change(t.reshape(product, &shape), seen.result))
    }

    /// What a sliding window sees, if windows are worth it.
    fn seen(&mut self, node: &Node, input: &Layer, window: graph::Window) -> Option<Seen> {
        let to = map(node.shape)?;
        let square = window.stride[0] == window.stride[1] || self.grid[0] == 1;
        if window.padding == Padding::Circular || !square {
            return None;
        }
        let (_, padded) = self.lowering.window(input.base, window, input.shape);
        let seen = Seen::new(padded, input.windows()?);
        let worth = WORTH * (to[0] * to[1]) as f64;
        (seen.result.area() as f64 <= worth).then_some(seen)
    }

    /// The samples' numbers in windows: the base's and the change.
    fn values(&mut self, layer: &Layer, windows: Windows) -> Option<Id> {
        let (change, from) = match layer.moved {
            Moved::Values(id, own) if own == windows => return Some(id),
            Moved::Values(_, own) => (self.changed(layer)?, own),
            Moved::Change(id, own) => (id, own),
            Moved::Whole(_) => return None,
        };
        let crop = self.crop(map(layer.shape)?, from.origin, windows.origin);
        let t = &mut self.lowering.t;
        Some(t.paste(change, layer.base, crop, false, windows.size))
    }

    /// The change of the samples in their windows, zero outside of the map.
    fn changed(&mut self, layer: &Layer) -> Option<Id> {
        let Windows { origin, size } = layer.windows()?;
        let crop = self.crop(map(layer.shape)?, origin, origin);
        let t = &mut self.lowering.t;
        match layer.moved {
            Moved::Values(id, _) => Some(t.paste(id, layer.base, crop, true, size)),
            Moved::Change(id, _) => Some(t.crop(id, crop, self.samples, size)),
            Moved::Whole(_) => None,
        }
    }

    /// Whole maps.
    fn whole(&mut self, layer: &Layer) -> Id {
        let windows = map(layer.shape).map(Windows::map);
        match (layer.moved, windows.and_then(|w| self.values(layer, w))) {
            (Moved::Whole(id), _) | (_, Some(id)) => id,
            (_, None) => unreachable!("windows are of maps"),
        }
    }

    fn crop(&self, map: [usize; 2], from: Origin, to: Origin) -> Crop {
        Crop {
            grid: self.grid,
            map,
            from,
            to,
        }
    }
}
