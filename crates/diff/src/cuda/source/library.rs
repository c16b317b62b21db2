//! Convolutions that cuDNN may take: large ones without groups, whose padding is the same on both sides.

use super::conv::Sizes;
use crate::program::{Kernel, Step};
use crate::trace::{Conv, Op, Window};

/// Operations of a network that are worth the kernels which cuDNN starts for it.
const OPERATIONS: usize = 1 << 28;
/// Channels from which on it is better.
const CHANNELS: usize = 16;

/// Which of the three contractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contraction {
    /// y from x and w.
    Forward,
    /// dx from dy and w.
    Input,
    /// dw from x and dy.
    Weight,
}

/// A convolution of each of the networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    pub contraction: Contraction,
    pub networks: usize,
    pub window: Window,
    /// Shapes of x, w and y of one network.
    pub x: [usize; 4],
    pub w: [usize; 4],
    pub y: [usize; 4],
}

impl Convolution {
    /// The step, if it is one of these.
    pub fn new(step: &Step) -> Option<Self> {
        let shape = |i: usize| step.args[i].shape.as_slice();
        let Kernel::Op(op) = &step.kernel else {
            return None;
        };
        let (conv, contraction, x, w): (&Conv, _, _, _) = match op {
            Op::ConvForward(c) => (c, Contraction::Forward, shape(0), shape(1)),
            Op::ConvInput(c) => (c, Contraction::Input, &step.shape[..], shape(1)),
            Op::ConvWeight(c) => (c, Contraction::Weight, shape(0), &step.shape[..]),
            _ => return None,
        };
        let s = Sizes::new(conv, x, w);
        let [kh, kw] = conv.window.kernel;
        let operations = 2 * s.n * s.o * s.oh * s.ow * s.c * s.taps;
        let even = conv
            .window
            .pad
            .iter()
            .all(|(before, after)| before == after);
        let large = s.c >= CHANNELS && s.o >= CHANNELS && operations >= OPERATIONS;
        (conv.groups == 1 && even && large && s.are_small()).then_some(Convolution {
            contraction,
            networks: conv.networks,
            window: conv.window,
            x: [s.n, s.c, s.h, s.w],
            w: [s.o, s.c, kh, kw],
            y: [s.n, s.o, s.oh, s.ow],
        })
    }
}
