//! Tensor expressions: a list of nodes, each an op on earlier nodes.
//!
//! The op set is closed under differentiation: the derivative of a node, in reverse ([`crate::vjp`])
//! or forward mode ([`crate::jvp`]), is again a few nodes of the set. Derivatives of any order and
//! their compositions are repeated application. Equal nodes are stored once, and constants fold,
//! so what repeats or vanishes costs nothing. [`crate::Program`] turns the outputs wanted into a plan.

use std::collections::HashMap;

use crate::function::{Bits, Function};

/// A node of a [`Trace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) usize);

/// Geometry of a sliding window over the last two axes of N×C×H×W.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Taps along height and width.
    pub kernel: [usize; 2],
    /// Steps.
    pub stride: [usize; 2],
    /// Distance between taps.
    pub dilation: [usize; 2],
    /// Padding before and after, along height and width.
    pub pad: [(usize, usize); 2],
}

impl Window {
    /// Number of window positions along `axis` over `n` inputs.
    pub fn positions(&self, axis: usize, n: usize) -> usize {
        let extent = (self.kernel[axis] - 1) * self.dilation[axis] + 1;
        let padded = n + self.pad[axis].0 + self.pad[axis].1;
        assert!(
            padded >= extent,
            "window {extent} does not fit {padded} positions"
        );
        (padded - extent) / self.stride[axis] + 1
    }

    /// Whether no place lies in two windows.
    pub(crate) fn is_partition(&self) -> bool {
        (0..2).all(|axis| {
            let extent = (self.kernel[axis] - 1) * self.dilation[axis] + 1;
            extent <= self.stride[axis]
        })
    }
}

/// A convolution's loop nest: `y[n,o,p] = Σ x[n,c,s·p+d·t−pad] w[o,c,t]` within each channel group.
///
/// Weights of several networks lie one after the other, and so do their samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Kernel, stride, dilation, padding.
    pub window: Window,
    /// Channel groups.
    pub groups: usize,
    /// Sets of weights.
    pub networks: usize,
}

impl Conv {
    /// Of one network.
    pub fn new(window: Window, groups: usize) -> Self {
        Conv {
            window,
            groups,
            networks: 1,
        }
    }
}

/// Where a window of a map begins, for the samples of a grid of pixels: at (p / divide)·times + plus along each axis, for
/// pixel p.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Pixels that share a window.
    pub divide: usize,
    /// From one window to the next.
    pub times: usize,
    /// Along height and width.
    pub plus: [isize; 2],
}

impl Origin {
    /// The whole map.
    pub const MAP: Origin = Origin {
        divide: 1,
        times: 0,
        plus: [0, 0],
    };

    /// Where it begins along an axis for pixel p.
    pub fn at(&self, axis: usize, p: usize) -> isize {
        (p / self.divide * self.times) as isize + self.plus[axis]
    }
}

/// One window of a map after another, zeros outside of the argument's window and of the map.
///
/// Sample n belongs to pixel n of the grid, which is walked again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Crop {
    /// Rows and columns of pixels.
    pub grid: [usize; 2],
    /// Height and width of the map.
    pub map: [usize; 2],
    /// The argument's windows.
    pub from: Origin,
    /// The result's.
    pub to: Origin,
}

impl Crop {
    /// From whole maps to the result's windows.
    pub fn of_maps(self) -> Crop {
        Crop {
            from: Origin::MAP,
            ..self
        }
    }

    /// From the result's windows to the argument's.
    pub fn transposed(self) -> Crop {
        Crop {
            from: self.to,
            to: self.from,
            ..self
        }
    }

    /// Pixel of a sample.
    pub fn pixel(&self, sample: usize) -> [usize; 2] {
        let pixel = sample % (self.grid[0] * self.grid[1]);
        [pixel / self.grid[1], pixel % self.grid[1]]
    }
}

/// One operation. Shapes are those of the nodes; `Leaf`s are the inputs of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Input number i of the program.
    Leaf(usize),
    /// The same number everywhere.
    Constant(Bits),
    /// f(a), elementwise.
    Map(Function),
    /// a + b, elementwise.
    Add,
    /// a − b, elementwise.
    Sub,
    /// a · b, elementwise.
    Mul,
    /// a / b, elementwise.
    Div,
    /// Sum over the axes that have length 1 in the node's shape.
    Sum,
    /// Repeats along the axes that have length 1 in the argument's shape; transpose of `Sum`.
    Expand,
    /// The same numbers under another shape.
    Reshape,
    /// Axis i of the result is axis `.0[i]` of the argument.
    Permute(Vec<usize>),
    /// Batched product over rank-3 arguments B×m×k and B×k×n; an argument is stored transposed where its flag says so.
    MatMul {
        /// a is stored B×k×m.
        ta: bool,
        /// b is stored B×n×k.
        tb: bool,
    },
    /// F(x, w) = y.
    ConvForward(Conv),
    /// X(dy, w) = dx: transpose of F in x.
    ConvInput(Conv),
    /// W(x, dy) = dw: transpose of F in w.
    ConvWeight(Conv),
    /// Sum of each window.
    SumPool(Window),
    /// Transpose of `SumPool`.
    SumPoolTranspose(Window),
    /// Which tap of each window is the largest (as a number; padding never is).
    ArgMax(Window),
    /// (i, x): the value of each window's chosen tap.
    Pick(Window),
    /// (i, g): transpose of `Pick` in its second argument.
    Place(Window),
    /// Patches as columns: N×C×H×W to N × C·kh·kw × positions.
    Unfold(Window),
    /// Transpose of `Unfold`.
    Fold(Window),
    /// Periodic extension of the last two axes by (before, after).
    Wrap([(usize, usize); 2]),
    /// Transpose of `Wrap`.
    Unwrap([(usize, usize); 2]),
    /// Part of an axis, from `start`, of the node's length.
    Slice {
        /// Which axis.
        axis: usize,
        /// First index.
        start: usize,
    },
    /// Transpose of `Slice`: zeros elsewhere.
    Embed {
        /// Which axis.
        axis: usize,
        /// First index.
        start: usize,
    },
    /// The part of each sample in another window; where there are fewer samples, each stands for as many neighbours.
    Crop(Crop),
    /// (x, b): the part of each sample in another window, plus or minus that of the maps b.
    Paste {
        /// Windows of x and of the result.
        crop: Crop,
        /// Whether the maps are subtracted.
        minus: bool,
    },
    /// Arguments one after the other along an axis.
    Concat {
        /// Which axis.
        axis: usize,
    },
    /// Largest value along the last axis, kept with length 1; a constant to every derivative
    /// (it only ever shifts exponentials, where its derivative cancels exactly).
    RowMax,
}

/// An op, its arguments and its shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// From what.
    pub args: Vec<Id>,
    /// Dimensions.
    pub shape: Vec<usize>,
}

/// Expressions under construction.
///
/// ```
/// use polariscope_diff::{Function, Trace};
/// let mut t = Trace::new();
/// let x = t.leaf(&[3]);
/// let y = t.map(Function::Sin, x);
/// let one = t.constant(1.0, &[3]);
/// let dy = polariscope_diff::vjp(&mut t, &[(y, one)], &[x])[0];      // cos x
/// let program = polariscope_diff::Program::new(&t, &[dy]);
/// let out = program.evaluate::<f64>(&[&[0.0, 1.0, 2.0]]);
/// assert_eq!(out[0][1], 1.0_f64.cos());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trace {
    nodes: Vec<Node>,
    known: HashMap<Node, Id>,
    leaves: usize,
}

/// Numbers in a shape.
pub(crate) fn size(shape: &[usize]) -> usize {
    shape.iter().product()
}

impl Trace {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// The node behind an id.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0]
    }

    /// Dimensions of a node.
    pub fn shape(&self, id: Id) -> &[usize] {
        &self.nodes[id.0].shape
    }

    /// Number of nodes so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The leaves, in order.
    pub fn leaves(&self) -> impl Iterator<Item = Id> + '_ {
        (0..self.len())
            .map(Id)
            .filter(|&id| matches!(self.node(id).op, Op::Leaf(_)))
    }

    /// Whether nothing has been traced.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn push(&mut self, op: Op, args: &[Id], shape: &[usize]) -> Id {
        let node = Node {
            op,
            args: args.to_vec(),
            shape: shape.to_vec(),
        };
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let id = Id(self.nodes.len());
        self.known.insert(node.clone(), id);
        self.nodes.push(node);
        id
    }

    /// The number a node holds everywhere, if it is a constant.
    pub fn constant_value(&self, id: Id) -> Option<f64> {
        match self.node(id).op {
            Op::Constant(c) => Some(c.get()),
            _ => None,
        }
    }

    fn is_zero(&self, id: Id) -> bool {
        self.constant_value(id) == Some(0.0)
    }

    /// The next input of the program.
    pub fn leaf(&mut self, shape: &[usize]) -> Id {
        self.leaves += 1;
        self.push(Op::Leaf(self.leaves - 1), &[], shape)
    }

    /// The number c everywhere.
    pub fn constant(&mut self, c: f64, shape: &[usize]) -> Id {
        self.push(Op::Constant(c.into()), &[], shape)
    }

    /// A constant of x's shape.
    pub fn constant_like(&mut self, c: f64, x: Id) -> Id {
        let shape = self.shape(x).to_vec();
        self.constant(c, &shape)
    }

    /// f(x), elementwise.
    pub fn map(&mut self, f: Function, x: Id) -> Id {
        let shape = self.shape(x).to_vec();
        if let Some(c) = self.constant_value(x) {
            return self.constant(crate::cpu::functions::value(f, c), &shape);
        }
        match f {
            Function::Pow(p) if p.get() == 1.0 => x,
            Function::Pow(p) if p.get() == 0.0 => self.constant(1.0, &shape),
            _ => self.push(Op::Map(f), &[x], &shape),
        }
    }

    fn binary(&mut self, op: Op, a: Id, b: Id) -> Id {
        let shape = self.shape(a).to_vec();
        assert_eq!(shape, self.shape(b), "{op:?} of unequal shapes");
        if let (Some(x), Some(y)) = (self.constant_value(a), self.constant_value(b)) {
            let value = match op {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                _ => x / y,
            };
            return self.constant(value, &shape);
        }
        self.push(op, &[a, b], &shape)
    }

    /// a + b.
    pub fn add(&mut self, a: Id, b: Id) -> Id {
        match (self.is_zero(a), self.is_zero(b)) {
            (true, _) => b,
            (_, true) => a,
            _ => self.binary(Op::Add, a, b),
        }
    }

    /// a − b.
    pub fn sub(&mut self, a: Id, b: Id) -> Id {
        match (self.is_zero(a), self.is_zero(b)) {
            (_, true) => a,
            (true, _) => self.scale(b, -1.0),
            _ => self.binary(Op::Sub, a, b),
        }
    }

    /// a · b.
    pub fn mul(&mut self, a: Id, b: Id) -> Id {
        match (self.constant_value(a), self.constant_value(b)) {
            (Some(1.0), _) => b,
            (_, Some(1.0)) => a,
            (Some(0.0), _) => a,
            (_, Some(0.0)) => b,
            _ => self.binary(Op::Mul, a, b),
        }
    }

    /// a / b.
    pub fn div(&mut self, a: Id, b: Id) -> Id {
        match (self.constant_value(a), self.constant_value(b)) {
            (_, Some(1.0)) => a,
            (Some(0.0), _) => a,
            _ => self.binary(Op::Div, a, b),
        }
    }

    /// c · x.
    pub fn scale(&mut self, x: Id, c: f64) -> Id {
        // (x · c₁) · c = x · (c₁ c): scales met one after the other become one.
        if let Node {
            op: Op::Mul, args, ..
        } = self.node(x)
        {
            let (a, b) = (args[0], args[1]);
            if let Some(c1) = self.constant_value(b) {
                return self.scale(a, c1 * c);
            }
        }
        let c = self.constant_like(c, x);
        self.mul(x, c)
    }

    /// x + c.
    pub fn shift(&mut self, x: Id, c: f64) -> Id {
        let c = self.constant_like(c, x);
        self.add(x, c)
    }

    /// Sum over `axes`, which stay with length 1.
    pub fn sum(&mut self, x: Id, axes: &[usize]) -> Id {
        let mut shape = self.shape(x).to_vec();
        for &axis in axes {
            shape[axis] = 1;
        }
        self.sum_to(x, &shape)
    }

    /// Sum over the axes that have length 1 in `shape`.
    pub fn sum_to(&mut self, x: Id, shape: &[usize]) -> Id {
        if self.shape(x) == shape {
            return x;
        }
        let count = size(self.shape(x)) / size(shape).max(1);
        if let Some(c) = self.constant_value(x) {
            return self.constant(c * count as f64, shape);
        }
        self.push(Op::Sum, &[x], shape)
    }

    /// Sum of everything, shape `[1]`.
    pub fn total(&mut self, x: Id) -> Id {
        let n = size(self.shape(x));
        let flat = self.reshape(x, &[n]);
        self.sum(flat, &[0])
    }

    /// Repeats the axes of length 1 to `shape`.
    pub fn expand(&mut self, x: Id, shape: &[usize]) -> Id {
        let from = self.shape(x);
        if from == shape {
            return x;
        }
        let fits =
            from.len() == shape.len() && from.iter().zip(shape).all(|(&a, &b)| a == b || a == 1);
        assert!(fits, "{from:?} does not expand to {shape:?}");
        if let Some(c) = self.constant_value(x) {
            return self.constant(c, shape);
        }
        self.push(Op::Expand, &[x], shape)
    }

    /// The same numbers under another shape.
    pub fn reshape(&mut self, x: Id, shape: &[usize]) -> Id {
        assert_eq!(size(self.shape(x)), size(shape), "reshape to {shape:?}");
        if self.shape(x) == shape {
            return x;
        }
        if let Some(c) = self.constant_value(x) {
            return self.constant(c, shape);
        }
        if self.node(x).op == Op::Reshape {
            let inner = self.node(x).args[0];
            return self.reshape(inner, shape);
        }
        self.push(Op::Reshape, &[x], shape)
    }

    /// Reorders axes: axis i of the result is axis `order[i]` of x.
    pub fn permute(&mut self, x: Id, order: &[usize]) -> Id {
        let shape: Vec<usize> = order.iter().map(|&i| self.shape(x)[i]).collect();
        if let Some(c) = self.constant_value(x) {
            return self.constant(c, &shape);
        }
        if order.iter().enumerate().all(|(i, &o)| i == o) {
            return x;
        }
        self.push(Op::Permute(order.to_vec()), &[x], &shape)
    }

    /// Batched matrix product of rank-3 arguments (B×m×k, B×k×n); `ta`, `tb` say which are stored transposed.
    pub fn matmul(&mut self, a: Id, b: Id, ta: bool, tb: bool) -> Id {
        let (sa, sb) = (self.shape(a).to_vec(), self.shape(b).to_vec());
        assert!(
            sa.len() == 3 && sb.len() == 3 && sa[0] == sb[0],
            "matmul of {sa:?} and {sb:?}"
        );
        let (m, ka) = if ta { (sa[2], sa[1]) } else { (sa[1], sa[2]) };
        let (kb, n) = if tb { (sb[2], sb[1]) } else { (sb[1], sb[2]) };
        assert_eq!(ka, kb, "matmul of {sa:?} and {sb:?}, transposed {ta}, {tb}");
        self.bilinear(Op::MatMul { ta, tb }, a, b, &[sa[0], m, n])
    }

    /// An op that is zero where either argument is.
    fn bilinear(&mut self, op: Op, a: Id, b: Id, shape: &[usize]) -> Id {
        if self.is_zero(a) || self.is_zero(b) {
            return self.constant(0.0, shape);
        }
        self.push(op, &[a, b], shape)
    }

    /// A linear op that is zero where its argument is.
    fn linear(&mut self, op: Op, x: Id, shape: &[usize]) -> Id {
        if self.is_zero(x) {
            return self.constant(0.0, shape);
        }
        self.push(op, &[x], shape)
    }

    fn pooled(&self, x: Id, window: Window) -> Vec<usize> {
        let s = self.shape(x);
        vec![
            s[0],
            s[1],
            window.positions(0, s[2]),
            window.positions(1, s[3]),
        ]
    }

    /// y = F(x, w): x N×C×H×W, w O×C/g×kh×kw.
    pub fn conv(&mut self, x: Id, w: Id, conv: Conv) -> Id {
        let mut shape = self.pooled(x, conv.window);
        let (c, sw) = (shape[1], self.shape(w));
        assert!(
            sw[1] * conv.groups == c
                && sw[0] % (conv.groups * conv.networks) == 0
                && shape[0].is_multiple_of(conv.networks)
                && sw[2..] == conv.window.kernel,
            "conv of {c} channels with {sw:?}"
        );
        shape[1] = sw[0] / conv.networks;
        self.bilinear(Op::ConvForward(conv), x, w, &shape)
    }

    /// dx = X(dy, w), of the shape given.
    pub fn conv_input(&mut self, dy: Id, w: Id, conv: Conv, shape: &[usize]) -> Id {
        self.bilinear(Op::ConvInput(conv), dy, w, shape)
    }

    /// dw = W(x, dy), of the shape given.
    pub fn conv_weight(&mut self, x: Id, dy: Id, conv: Conv, shape: &[usize]) -> Id {
        self.bilinear(Op::ConvWeight(conv), x, dy, shape)
    }

    /// Sum of each window.
    pub fn sum_pool(&mut self, x: Id, window: Window) -> Id {
        let shape = self.pooled(x, window);
        self.linear(Op::SumPool(window), x, &shape)
    }

    /// Windows of height × width of samples; where there are fewer, each stands for as many neighbours.
    pub fn crop(&mut self, x: Id, crop: Crop, samples: usize, size: [usize; 2]) -> Id {
        let &[n, c, ..] = self.shape(x) else {
            panic!("crop of {:?}", self.shape(x));
        };
        assert!(
            samples.is_multiple_of(n),
            "crop of {n} samples to {samples}"
        );
        self.linear(Op::Crop(crop), x, &[samples, c, size[0], size[1]])
    }

    /// Windows of samples, plus or minus those of maps: crop(x) ± crop(b). Each map stands for as many neighbours.
    pub fn paste(&mut self, x: Id, b: Id, crop: Crop, minus: bool, size: [usize; 2]) -> Id {
        let (&[n, c, ..], &[maps, ..]) = (self.shape(x), self.shape(b)) else {
            panic!("paste of {:?} to {:?}", self.shape(x), self.shape(b));
        };
        assert!(n.is_multiple_of(maps), "paste of {n} samples to {maps}");
        self.push(
            Op::Paste { crop, minus },
            &[x, b],
            &[n, c, size[0], size[1]],
        )
    }

    /// Transpose of [`Trace::sum_pool`], to the shape given.
    pub fn sum_pool_transpose(&mut self, g: Id, window: Window, shape: &[usize]) -> Id {
        self.linear(Op::SumPoolTranspose(window), g, shape)
    }

    /// Largest value of each window.
    ///
    /// What rises with its argument, and is the same function all over a plane, commutes with the maximum:
    /// a relu or a channel's bias in front is moved behind, where there is less to do. Where a relu makes
    /// values equal it makes them 0, and there its derivative is 0 whichever of them is chosen.
    pub fn max_pool(&mut self, x: Id, window: Window) -> Id {
        let shape = self.pooled(x, window);
        match *self.node(x) {
            Node {
                op: Op::Map(Function::Relu),
                ref args,
                ..
            } => {
                let inner = args[0];
                let y = self.max_pool(inner, window);
                return self.map(Function::Relu, y);
            }
            Node {
                op: Op::Add,
                ref args,
                ..
            } => {
                let (inner, bias) = (args[0], self.node(args[1]));
                if bias.op == Op::Expand && self.shape(bias.args[0])[2..] == [1, 1] {
                    let bias = bias.args[0];
                    let y = self.max_pool(inner, window);
                    let bias = self.expand(bias, &shape);
                    return self.add(y, bias);
                }
            }
            _ => {}
        }
        let i = self.push(Op::ArgMax(window), &[x], &shape);
        self.pick(i, x, window)
    }

    /// Value of the tap that `i` chose in each window.
    pub fn pick(&mut self, i: Id, x: Id, window: Window) -> Id {
        let shape = self.shape(i).to_vec();
        self.bilinear(Op::Pick(window), i, x, &shape)
    }

    /// Transpose of [`Trace::pick`], to the shape given.
    pub fn place(&mut self, i: Id, g: Id, window: Window, shape: &[usize]) -> Id {
        self.bilinear(Op::Place(window), i, g, shape)
    }

    /// Patches as columns: N × C·kh·kw × positions.
    pub fn unfold(&mut self, x: Id, window: Window) -> Id {
        let s = self.pooled(x, window);
        let shape = [s[0], s[1] * size(&window.kernel), s[2] * s[3]];
        self.linear(Op::Unfold(window), x, &shape)
    }

    /// Transpose of [`Trace::unfold`], to the shape given.
    pub fn fold(&mut self, g: Id, window: Window, shape: &[usize]) -> Id {
        self.linear(Op::Fold(window), g, shape)
    }

    /// Periodic extension of the last two axes.
    pub fn wrap(&mut self, x: Id, pad: [(usize, usize); 2]) -> Id {
        let s = self.shape(x);
        let shape = [
            s[0],
            s[1],
            s[2] + pad[0].0 + pad[0].1,
            s[3] + pad[1].0 + pad[1].1,
        ];
        self.linear(Op::Wrap(pad), x, &shape)
    }

    /// Transpose of [`Trace::wrap`].
    pub fn unwrap(&mut self, g: Id, pad: [(usize, usize); 2]) -> Id {
        let s = self.shape(g);
        let shape = [
            s[0],
            s[1],
            s[2] - pad[0].0 - pad[0].1,
            s[3] - pad[1].0 - pad[1].1,
        ];
        self.linear(Op::Unwrap(pad), g, &shape)
    }

    /// `length` entries of an axis from `start`.
    pub fn slice(&mut self, x: Id, axis: usize, start: usize, length: usize) -> Id {
        let mut shape = self.shape(x).to_vec();
        assert!(
            start + length <= shape[axis],
            "slice {start}+{length} of {shape:?} along {axis}"
        );
        shape[axis] = length;
        if shape == self.shape(x) {
            return x;
        }
        if let Some(c) = self.constant_value(x) {
            return self.constant(c, &shape);
        }
        self.push(Op::Slice { axis, start }, &[x], &shape)
    }

    /// Transpose of [`Trace::slice`]: an axis of `length` with x from `start` and zeros elsewhere.
    pub fn embed(&mut self, x: Id, axis: usize, start: usize, length: usize) -> Id {
        let mut shape = self.shape(x).to_vec();
        if shape[axis] == length {
            return x;
        }
        shape[axis] = length;
        self.linear(Op::Embed { axis, start }, x, &shape)
    }

    /// Arguments one after the other along an axis.
    pub fn concat(&mut self, parts: &[Id], axis: usize) -> Id {
        if let [one] = parts {
            return *one;
        }
        let mut shape = self.shape(parts[0]).to_vec();
        shape[axis] = parts.iter().map(|&p| self.shape(p)[axis]).sum();
        if parts.iter().all(|&p| self.is_zero(p)) {
            return self.constant(0.0, &shape);
        }
        self.push(Op::Concat { axis }, parts, &shape)
    }

    /// Largest value along the last axis, as a constant to every derivative.
    pub fn row_max(&mut self, x: Id) -> Id {
        let mut shape = self.shape(x).to_vec();
        if let Some(last) = shape.last_mut() {
            *last = 1;
        }
        self.push(Op::RowMax, &[x], &shape)
    }

    /// ln Σ e^x along the last axis, kept with length 1.
    pub fn log_sum_exp(&mut self, x: Id) -> Id {
        let shape = self.shape(x).to_vec();
        let m = self.row_max(x);
        let wide = self.expand(m, &shape);
        let shifted = self.sub(x, wide);
        let e = self.map(Function::Exp, shifted);
        let s = self.sum(e, &[shape.len() - 1]);
        let log = self.map(Function::Log, s);
        self.add(log, m)
    }

    /// e^x / Σ e^x along the last axis.
    pub fn softmax(&mut self, x: Id) -> Id {
        let shape = self.shape(x).to_vec();
        let m = self.row_max(x);
        let m = self.expand(m, &shape);
        let shifted = self.sub(x, m);
        let e = self.map(Function::Exp, shifted);
        let s = self.sum(e, &[shape.len() - 1]);
        let s = self.expand(s, &shape);
        self.div(e, s)
    }
}
