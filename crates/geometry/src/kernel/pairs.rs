//! Windows sliding over covariances between positions, as tensor expressions.
//!
//! A covariance over pairs is P × P, one over equal positions P numbers. Tap β of a window reads s·o + d·β − pad:
//!
//! | | pairs | equal positions |
//! |---|---|---|
//! | weights shared by positions | Σ_β C[s·o + dβ, s·o' + dβ], rows and columns one after the other | Σ_β C[s·o + dβ] |
//! | average of k numbers | Σ_β Σ_β' C[s·o + dβ, s·o' + dβ'] / k² | from the pairs |

use polariscope_diff::{Id, Trace, Window};
use polariscope_graph::{self as graph, Padding};

/// A window with its padding in numbers.
#[derive(Clone, Copy)]
pub(super) struct Taps {
    /// Kernel, stride, dilation; the padding is in `amounts`.
    window: Window,
    amounts: [(usize, usize); 2],
    padding: Padding,
    input: [usize; 2],
}

impl Taps {
    /// The taps of `window` over a grid; a signal has one row and no padding there.
    pub fn new(window: &graph::Window, input: [usize; 2]) -> Self {
        let amounts = [0, 1].map(|axis| {
            let extent = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
            if axis == 0 && input[0] == 1 && extent == 1 {
                return (0, 0);
            }
            window
                .padding
                .amounts(input[axis], extent, window.stride[axis])
        });
        Taps {
            window: Window {
                kernel: window.kernel,
                stride: window.stride,
                dilation: window.dilation,
                pad: amounts,
            },
            amounts,
            padding: window.padding,
            input,
        }
    }

    /// The grid of window positions.
    pub fn output(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.window.positions(axis, self.input[axis]))
    }

    /// Numbers in a window.
    pub fn count(&self) -> f64 {
        (self.window.kernel[0] * self.window.kernel[1]) as f64
    }

    /// The image ready to be read by the window returned with it.
    fn bordered(&self, t: &mut Trace, x: Id) -> (Id, Window) {
        match self.padding {
            Padding::Circular => {
                let window = Window {
                    pad: [(0, 0); 2],
                    ..self.window
                };
                (t.wrap(x, self.amounts), window)
            }
            Padding::Same | Padding::Valid | Padding::Zeros(_) => (x, self.window),
        }
    }

    /// Patches of N×C×H×W as columns, N × taps × positions.
    pub fn patches(&self, t: &mut Trace, x: Id) -> Id {
        let (x, window) = self.bordered(t, x);
        t.unfold(x, window)
    }

    /// Sum of every window of N×C×H×W.
    pub fn sums(&self, t: &mut Trace, x: Id) -> Id {
        let (x, window) = self.bordered(t, x);
        t.sum_pool(x, window)
    }

    /// Variances (P numbers) under shared or separate weights.
    pub fn slide_equal(&self, t: &mut Trace, v: Id) -> Id {
        let [height, width] = self.input;
        let image = t.reshape(v, &[1, 1, height, width]);
        let sums = self.sums(t, image);
        let [rows, columns] = self.output();
        t.reshape(sums, &[rows * columns])
    }

    /// Pairs under weights that positions share: the same tap on both sides.
    pub fn slide_pairs(&self, t: &mut Trace, c: Id) -> Id {
        let [height, width] = self.input;
        let mut c = t.reshape(c, &[height, width, height, width]);
        for axis in [0, 1] {
            c = self.along(t, c, axis);
        }
        let [rows, columns] = self.output();
        t.reshape(c, &[rows * columns, rows * columns])
    }

    /// Pairs under a sum over the window on each side.
    pub fn pool_pairs(&self, t: &mut Trace, c: Id) -> Id {
        let [height, width] = self.input;
        let [rows, columns] = self.output();
        let (from, to) = (height * width, rows * columns);
        let mut c = c;
        for left in [from, to] {
            let images = t.reshape(c, &[1, left, height, width]);
            let sums = self.sums(t, images);
            let sums = t.reshape(sums, &[left, to]);
            c = t.permute(sums, &[1, 0]);
        }
        c
    }

    /// Sums the taps of one axis over both of its copies, `axis` and `axis + 2`.
    fn along(&self, t: &mut Trace, c: Id, axis: usize) -> Id {
        let Window {
            kernel,
            stride,
            dilation,
            ..
        } = self.window;
        let (taps, stride, dilation) = (kernel[axis], stride[axis], dilation[axis]);
        let (n, m) = (self.input[axis], self.output()[axis]);
        if (taps, stride) == (1, 1) && self.amounts[axis] == (0, 0) {
            return c;
        }
        // The last tap's run of whole strides must fit.
        let wanted = (taps - 1) * dilation + stride * m;
        let c = self.border(t, c, axis, axis, wanted.max(n));
        let c = self.border(t, c, axis + 2, axis, wanted.max(n));
        let tap = |t: &mut Trace, beta: usize| {
            let part = every(t, c, axis, beta * dilation, stride, m);
            every(t, part, axis + 2, beta * dilation, stride, m)
        };
        let first = tap(t, 0);
        (1..taps).fold(first, |sum, beta| {
            let part = tap(t, beta);
            t.add(sum, part)
        })
    }

    /// Padding of one axis of the pair tensor, and zeros behind up to `length`.
    fn border(&self, t: &mut Trace, c: Id, axis: usize, of: usize, length: usize) -> Id {
        let (before, after) = self.amounts[of];
        let n = self.input[of];
        match self.padding {
            Padding::Circular => {
                let head = (before > 0).then(|| t.slice(c, axis, n - before, before));
                let tail = (after > 0).then(|| t.slice(c, axis, 0, after));
                let parts: Vec<Id> = head.into_iter().chain([c]).chain(tail).collect();
                let c = t.concat(&parts, axis);
                let length = length.max(before + n + after);
                t.embed(c, axis, 0, length)
            }
            Padding::Same | Padding::Valid | Padding::Zeros(_) => {
                t.embed(c, axis, before, length.max(before + n + after))
            }
        }
    }
}

/// Entries start, start + stride, … of an axis, `count` of them.
fn every(t: &mut Trace, x: Id, axis: usize, start: usize, stride: usize, count: usize) -> Id {
    let run = t.slice(x, axis, start, stride * count);
    if stride == 1 {
        return run;
    }
    let mut shape = t.shape(run).to_vec();
    shape[axis] = count;
    let kept = shape.clone();
    shape.insert(axis + 1, stride);
    let split = t.reshape(run, &shape);
    let first = t.slice(split, axis + 1, 0, 1);
    t.reshape(first, &kept)
}
