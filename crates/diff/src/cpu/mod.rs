//! The CPU device: runs a [`Program`] in f32 or f64.
//!
//! Work is split by shape, never by the number of threads, so a result does not depend on it.

use std::cell::RefCell;

use rayon::prelude::*;

mod channels;
mod conv;
pub mod functions;
mod fused;
pub mod gemm;
mod image;
mod layout;
mod pool;
mod reduce;
pub(crate) mod simd;
mod winograd;

use crate::cuda::Stored;
use crate::program::{Argument, Kernel, Program, Step, Value};
use crate::trace::Op;
use functions::Elementary;
use gemm::{ColumnMajor, Into, Packing, RowMajor, Strided, gemm};

/// A number type that the devices compute with.
pub trait Number: Elementary + simd::HasKernels + Stored {
    /// This thread's scratch for packed operands.
    fn with_packing<R>(f: impl FnOnce(&mut Packing<Self>) -> R) -> R;

    /// Runs a program. A method of each type rather than a generic function: the kernels are compiled here, once,
    /// and not again in every crate that runs programs.
    fn run(workspace: &mut Workspace<Self>, program: &Program, leaves: &[&[Self]]);
}

macro_rules! number {
    ($t:ty) => {
        impl Number for $t {
            fn with_packing<R>(f: impl FnOnce(&mut Packing<Self>) -> R) -> R {
                thread_local!(static PACKING: RefCell<Packing<$t>> = RefCell::default());
                PACKING.with_borrow_mut(f)
            }

            fn run(workspace: &mut Workspace<Self>, program: &Program, leaves: &[&[Self]]) {
                run(workspace, program, leaves);
            }
        }
    };
}

number!(f32);
number!(f64);

/// The buffers of a program, kept between runs.
pub struct Workspace<T> {
    buffers: Vec<Vec<T>>,
    registers: Vec<T>,
}

impl<T: Number> Workspace<T> {
    /// Buffers for `program`.
    pub fn new(program: &Program) -> Self {
        let buffers = program.buffers.iter().map(|&n| vec![T::ZERO; n]).collect();
        Workspace {
            buffers,
            registers: Vec::new(),
        }
    }

    /// What a buffer holds.
    pub fn buffer(&self, i: usize) -> &[T] {
        &self.buffers[i]
    }
}

/// Runs `program` on this thread; large steps split over the pool.
fn run<T: Number>(workspace: &mut Workspace<T>, program: &Program, leaves: &[&[T]]) {
    for step in &program.steps {
        let mut out = std::mem::take(&mut workspace.buffers[step.out]);
        let n = step.shape.iter().product();
        let args = step
            .args
            .iter()
            .map(|a| fetch(a, leaves, &workspace.buffers));
        let args: Vec<&[T]> = args.collect();
        match &step.kernel {
            Kernel::Fused(f) => fused::run(f, &args, &mut out[..n], &mut workspace.registers),
            Kernel::Op(op) => execute(op, step, &args, &mut out[..n]),
        }
        workspace.buffers[step.out] = out;
    }
}

fn fetch<'a, T>(argument: &Argument, leaves: &[&'a [T]], buffers: &'a [Vec<T>]) -> &'a [T] {
    let n = argument.shape.iter().product();
    match argument.value {
        Value::Leaf(l) => leaves[l],
        Value::Buffer(b) => &buffers[b][..n],
    }
}

/// The parts of two arguments and a result that belong to each of some networks.
fn each<T>(networks: usize, args: &[&[T]], out: &mut [T], f: impl Fn(&[T], &[T], &mut [T])) {
    let share = |x: &[T]| x.len() / networks;
    let (a, b, y) = (share(args[0]), share(args[1]), share(out));
    for (i, out) in out.chunks_exact_mut(y.max(1)).enumerate() {
        f(&args[0][i * a..][..a], &args[1][i * b..][..b], out);
    }
}

fn execute<T: Number>(op: &Op, step: &Step, args: &[&[T]], out: &mut [T]) {
    let shape = |i: usize| step.args[i].shape.as_slice();
    match op {
        Op::Sum => reduce::sum(args[0], shape(0), out, &step.shape),
        Op::Permute(order) => layout::permute(order, args[0], shape(0), out),
        Op::MatMul { ta, tb } => matmul(args, (shape(0), *ta), (shape(1), *tb), out),
        Op::ConvForward(c) => {
            let sizes = conv::Sizes::new(*c, shape(0), shape(1));
            each(c.networks, args, out, |x, w, y| {
                conv::forward(&sizes, x, w, y)
            });
        }
        Op::ConvInput(c) => {
            let sizes = conv::Sizes::new(*c, &step.shape, shape(1));
            each(c.networks, args, out, |dy, w, dx| {
                conv::input(&sizes, dy, w, dx)
            });
        }
        Op::ConvWeight(c) => {
            let sizes = conv::Sizes::new(*c, shape(0), &step.shape);
            each(c.networks, args, out, |x, dy, dw| {
                conv::weight(&sizes, x, dy, dw)
            });
        }
        Op::SumPool(w) => pool::sum_pool(*w, args[0], shape(0), out),
        Op::SumPoolTranspose(w) => pool::sum_pool_transpose(*w, args[0], out, &step.shape),
        Op::ArgMax(w) => pool::arg_max(*w, args[0], shape(0), out),
        Op::Pick(w) => pool::pick(*w, args[0], args[1], shape(1), out),
        Op::Place(w) => pool::place(*w, args[0], args[1], out, &step.shape),
        Op::Unfold(w) => pool::unfold(*w, args[0], shape(0), out),
        Op::Fold(w) => pool::fold(*w, args[0], out, &step.shape),
        Op::Wrap(pad) => pool::wrap(*pad, args[0], shape(0), out),
        Op::Unwrap(pad) => pool::unwrap(*pad, args[0], out, &step.shape),
        Op::Slice { axis, start } => {
            layout::slice(*axis, *start, args[0], shape(0), out, &step.shape)
        }
        Op::Embed { axis, start } => {
            layout::embed(*axis, *start, args[0], shape(0), out, &step.shape)
        }
        Op::Crop(crop) => {
            layout::crop(crop, args[0], shape(0), out, &step.shape, |out, x| *out = x);
        }
        Op::Paste { crop, minus } => {
            let (maps, b) = (crop.of_maps(), args[1]);
            layout::crop(crop, args[0], shape(0), out, &step.shape, |out, x| *out = x);
            match minus {
                true => layout::crop(&maps, b, shape(1), out, &step.shape, |out, b| *out -= b),
                false => layout::crop(&maps, b, shape(1), out, &step.shape, |out, b| *out += b),
            }
        }
        Op::Concat { axis } => {
            let parts: Vec<_> = args
                .iter()
                .zip(&step.args)
                .map(|(&x, a)| (x, a.shape.as_slice()))
                .collect();
            layout::concat(*axis, &parts, out, &step.shape);
        }
        Op::RowMax => reduce::row_max(args[0], shape(0)[shape(0).len() - 1], out),
        Op::Leaf(_) | Op::Constant(_) | Op::Reshape | Op::Expand => {
            unreachable!("planned as values")
        }
        Op::Map(_) | Op::Add | Op::Sub | Op::Mul | Op::Div => {
            unreachable!("planned as fused steps")
        }
    }
}

/// Rows of a product computed by one task.
const ROWS: usize = 128;

fn matmul<T: Number>(
    args: &[&[T]],
    (sa, ta): (&[usize], bool),
    (sb, tb): (&[usize], bool),
    out: &mut [T],
) {
    let (m, k) = if ta { (sa[2], sa[1]) } else { (sa[1], sa[2]) };
    let n = if tb { sb[1] } else { sb[2] };
    let (row_a, col_a) = if ta { (1, m) } else { (k, 1) };
    let (row_b, col_b) = if tb { (1, k) } else { (n, 1) };
    let small = m * n * k < 1 << 21;
    let product = |(batch, c): (usize, &mut [T])| {
        let b = Strided {
            data: &args[1][batch * k * n..(batch + 1) * k * n],
            row: row_b,
            col: col_b,
        };
        let rows = |(i, c): (usize, &mut [T])| {
            let a = &args[0][batch * m * k + i * ROWS * row_a..(batch + 1) * m * k];
            let a = Strided {
                data: a,
                row: row_a,
                col: col_a,
            };
            let m = c.len() / n;
            T::with_packing(|packing| {
                if tb && !ta && m <= n {
                    // Both operands run along k: the smaller one is packed, C comes out transposed.
                    let (b, a) = (
                        Strided {
                            row: col_b,
                            col: row_b,
                            ..b
                        },
                        Strided {
                            row: col_a,
                            col: row_a,
                            ..a
                        },
                    );
                    gemm(
                        n,
                        m,
                        k,
                        &b,
                        &a,
                        &mut ColumnMajor { c, col: n },
                        Into::Replace,
                        packing,
                    );
                } else {
                    gemm(
                        m,
                        n,
                        k,
                        &a,
                        &b,
                        &mut RowMajor { c, row: n },
                        Into::Replace,
                        packing,
                    );
                }
            });
        };
        if small || m <= ROWS {
            rows((0, c));
        } else {
            c.par_chunks_mut(ROWS * n).enumerate().for_each(rows);
        }
    };
    if sa[0] > 1 && sa[0] * m * n * k >= 1 << 21 {
        out.par_chunks_mut(m * n).enumerate().for_each(product);
    } else {
        out.chunks_mut(m * n).enumerate().for_each(product);
    }
}
