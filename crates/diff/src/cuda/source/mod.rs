//! CUDA C++ for the steps of a program.
//!
//! Shapes are written into the code, so index arithmetic is multiplications by constants. Every number of a result is
//! summed by one thread, or by one block in a fixed order: the same program gives the same bits again.

mod conv;
mod depthwise;
mod direct;
mod feature_maps;
mod fused;
mod gather;
mod group;
mod layout;
mod library;
mod reduce;
mod slim;
mod small;
mod stage;
mod tensor;
mod thin;
mod window;

use std::sync::Arc;

use super::driver::{CudaSource, Prepared};
use crate::device::Precision;
use crate::program::{Kernel, Step};
use crate::real::Dtype;
use crate::trace::{Op, size};
pub use feature_maps::{MapStep, maps};
use gather::Gather;
pub use group::{Lazy, Member, Pool, Then, Variable, group};
pub use library::{Contraction, Convolution};

/// Blocks of kernels whose threads make several numbers.
const BLOCKS: usize = 1 << 14;
/// Threads of a block.
pub const THREADS: usize = 256;

/// What runs for a step, in order.
#[derive(Clone, Debug)]
pub enum Call {
    /// A kernel of ours.
    Kernel(Code),
    /// A batched product by the vendor's library.
    Product(Product),
    /// A convolution by the vendor's library.
    Convolution(Arc<Prepared>),
}

/// A kernel without its name: `(T* out, const T* a0, …) { … }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Arguments and body.
    pub text: String,
    /// Blocks, up to three axes.
    pub blocks: [usize; 3],
    /// Bytes of a block's memory that the text does not declare itself.
    pub shared: usize,
    /// What its parameters are, the result first.
    pub operands: Vec<Operand>,
    /// Numbers of scratch that it touches.
    pub scratch: usize,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The result of the step.
    Result,
    /// An argument of the step.
    Argument(usize),
    /// Of an argument that the step makes as it reads it, an argument of that.
    Through(usize, usize),
    /// Memory between the kernels of a step.
    Scratch,
}

/// C = A·B of row-major matrices, one for each of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Matrices.
    pub batch: usize,
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Columns of A.
    pub k: usize,
    /// A is stored k×m.
    pub ta: bool,
    /// B is stored n×k.
    pub tb: bool,
}

/// The statements of a step whose numbers are made one by one; `max` is a step that picks the largest number of each
/// window without being told which it is.
pub fn elements(step: &Step, dtype: Dtype, max: bool) -> Option<Elements> {
    let shape = |i: usize| step.args[i].shape.as_slice();
    let to = step.shape.as_slice();
    let read = |a: usize, at: [&str; 4]| {
        let map = feature_maps::map(shape(a)).unwrap_or([1; 3]);
        feature_maps::element(&format!("a{a}"), map, at)
    };
    let op = match &step.kernel {
        Kernel::Fused(fused) => return Some(fused::elements(fused, dtype)),
        Kernel::Op(op) => op,
    };
    Some(match op {
        Op::Sum => return reduce::sum_alone(shape(0), to),
        Op::RowMax => reduce::row_max(shape(0)),
        Op::Permute(order) => layout::permute(order, shape(0)),
        Op::Slice { axis, start } => layout::slice(*axis, *start, shape(0), to),
        Op::Embed { axis, start } => layout::embed(*axis, *start, shape(0), to),
        Op::Concat { axis } => {
            let lengths: Vec<usize> = step.args.iter().map(|a| a.shape[*axis]).collect();
            layout::concat(*axis, &lengths, to)
        }
        Op::Crop(crop) => on_maps(to, layout::crop(crop, shape(0), to, None, read)),
        Op::Paste { crop, minus } => {
            let maps = Some((shape(1)[0], *minus));
            on_maps(to, layout::crop(crop, shape(0), to, maps, read))
        }
        Op::Wrap(pad) => layout::wrap(*pad, shape(0)),
        Op::Unwrap(pad) => layout::unwrap(*pad, to),
        Op::SumPool(w) => window::sum_pool(w, shape(0)),
        Op::SumPoolTranspose(w) => window::sum_pool_transpose(w, to),
        Op::ArgMax(w) => window::arg_max(w, shape(0)),
        Op::Pick(w) if max => on_maps(to, window::max(w, shape(1), read)),
        Op::Pick(w) => window::pick(w, shape(1)),
        Op::Place(w) => window::place(w, to),
        Op::Unfold(w) => window::unfold(w, shape(0)),
        Op::Fold(w) => window::fold(w, to),
        _ => return None,
    })
}

/// Statements that set `value` from the place (n, c, y, x) of a number, from its number.
fn on_maps(shape: &[usize], statements: String) -> Elements {
    let [c, h, w] = feature_maps::map(shape).unwrap_or([1; 3]);
    Elements(format!(
        "const I n = i / {};\n\
         const int c = i / {} % {c}, y = i / {w} % {h}, x = i % {w};\n\
         {statements}out[i] = value;\n",
        c * h * w,
        h * w
    ))
}

/// A convolution as a gathering of its image.
fn gather(step: &Step) -> Option<Gather> {
    let shape = |i: usize| step.args[i].shape.as_slice();
    match &step.kernel {
        Kernel::Op(Op::ConvForward(c)) => Gather::forward(c, shape(0), shape(1)),
        Kernel::Op(Op::ConvInput(c)) => Gather::input(c, &step.shape, shape(1)),
        _ => None,
    }
}

/// What runs for a step that spreads the gradient of a max-pool of two by two, its argument of that number.
pub fn of_spread(step: &Step, argument: usize, dtype: Dtype) -> Option<Vec<Call>> {
    match (&step.kernel, argument) {
        (Kernel::Op(Op::ConvWeight(c)), 1) => {
            slim::weight(c, &step.args[0].shape, &step.shape, dtype, true)
        }
        (_, 0) => direct::of_spread(&gather(step)?, dtype),
        _ => None,
    }
}

/// Whether there is such a thing.
pub fn can_spread(step: &Step, argument: usize, dtype: Dtype) -> bool {
    of_spread(step, argument, dtype).is_some()
}

/// The kernel of a convolution that pools its result, if it can: over so many arrays, of which the first two are its own.
pub fn pooled(step: &Step, dtype: Dtype, arrays: usize, pool: &Pool) -> Option<Code> {
    let parameters: Vec<String> = (0..arrays)
        .map(|k| format!("T* __restrict__ p{k}"))
        .collect();
    let mut code = direct::pooled(&gather(step)?, dtype, &group::pool(pool))?;
    code.text = format!(
        "({}) {{\nconst T* __restrict__ a0 = p0; const T* __restrict__ a1 = p1;\n{}",
        parameters.join(", "),
        code.text
    );
    Some(code)
}

/// Whether a step is a convolution that can.
pub fn can_pool(step: &Step, dtype: Dtype) -> bool {
    gather(step).is_some_and(|gather| direct::pooled(&gather, dtype, "").is_some())
}

/// What runs for a step.
pub fn calls(step: &Step, dtype: Dtype, precision: Precision, max: bool) -> Vec<Call> {
    let shape = |i: usize| step.args[i].shape.as_slice();
    let to = step.shape.as_slice();
    if let Some(elements) = elements(step, dtype, max) {
        let code = elements.code(step.args.len(), size(to), largest([step]));
        return vec![Call::Kernel(code)];
    }
    let gathered = |gather: &Gather| {
        let tensor = || tensor::gathered(gather, precision);
        let direct = direct::calls(gather, dtype);
        let thin = || thin::calls(gather);
        direct
            .or_else(thin)
            .or_else(|| (dtype == Dtype::F32).then(tensor).flatten())
    };
    let Kernel::Op(op) = &step.kernel else {
        unreachable!("fused steps are made number by number");
    };
    match op {
        Op::Sum => vec![reduce::sum_by_blocks(shape(0), to)],
        Op::MatMul { ta, tb } => {
            let (a, b) = (shape(0), shape(1));
            let (m, k) = if *ta { (a[2], a[1]) } else { (a[1], a[2]) };
            let product = Product {
                batch: a[0],
                m,
                n: if *tb { b[1] } else { b[2] },
                k,
                ta: *ta,
                tb: *tb,
            };
            let small = small::product(&product, dtype);
            vec![small.unwrap_or(Call::Product(product))]
        }
        Op::ConvForward(c) => gather(step)
            .and_then(|gather| gathered(&gather))
            .or_else(|| depthwise::forward(c, shape(0), shape(1)))
            .unwrap_or_else(|| conv::forward(c, shape(0), shape(1))),
        Op::ConvInput(c) => gather(step)
            .and_then(|gather| gathered(&gather))
            .or_else(|| depthwise::input(c, to, shape(1)))
            .unwrap_or_else(|| conv::input(c, to, shape(1))),
        Op::ConvWeight(c) => {
            let tensor = || match dtype {
                Dtype::F32 => tensor::weight(c, shape(0), to, precision),
                Dtype::F64 => None,
            };
            slim::weight(c, shape(0), to, dtype, false)
                .or_else(tensor)
                .or_else(|| depthwise::weight(c, shape(0), to))
                .unwrap_or_else(|| conv::weight(c, shape(0), to))
        }
        op => unreachable!("{op:?} is planned as a value, or made number by number"),
    }
}

/// Numbers of the largest array that steps touch.
pub fn largest<'s>(steps: impl IntoIterator<Item = &'s Step>) -> usize {
    let sizes = steps.into_iter().flat_map(|step| {
        let arguments = step.args.iter().map(|a| size(&a.shape));
        arguments.chain([size(&step.shape)])
    });
    sizes.max().unwrap_or(0)
}

impl Code {
    /// A whole program.
    pub fn source(&self, dtype: Dtype) -> CudaSource {
        let number = dtype.c_name();
        CudaSource {
            text: format!(
                "typedef {number} T;\nextern \"C\" __global__ void __launch_bounds__({THREADS}, 2) k{}\n",
                self.text
            ),
            name: "k",
            threads: THREADS,
            shared: self.shared,
        }
    }
}

/// A kernel in which each thread makes numbers of the result, number `i` of it at a time: the statements that do,
/// from `i` and `a0`, `a1`, … to `out[i]`. `I` is the type of indices.
pub struct Elements(String);

/// The type of indices into arrays of at most so many numbers: half of the range, so that the last step of a loop stays in
/// it.
fn index(largest: usize) -> &'static str {
    match largest < 1 << 30 {
        true => "unsigned",
        false => "unsigned long long",
    }
}

impl Elements {
    /// The kernel, for so many arguments and numbers of the result; the largest array that it touches has `largest`.
    fn code(self, arguments: usize, numbers: usize, largest: usize) -> Code {
        let index = index(largest);
        Code {
            text: format!(
                "({}) {{\ntypedef {index} I;\nfor (I i = blockIdx.x * (I){THREADS} + threadIdx.x; i < {numbers}; \
                 i += gridDim.x * (I){THREADS}) {{\n{}}}\n}}",
                parameters(arguments),
                self.0
            ),
            blocks: [numbers.div_ceil(THREADS).clamp(1, BLOCKS), 1, 1],
            shared: 0,
            operands: operands(arguments),
            scratch: 0,
        }
    }
}

/// The result and so many arguments of the step.
fn operands(arguments: usize) -> Vec<Operand> {
    let arguments = (0..arguments).map(Operand::Argument);
    std::iter::once(Operand::Result).chain(arguments).collect()
}

fn parameters(arguments: usize) -> String {
    let mut text = "T* __restrict__ out".to_owned();
    for i in 0..arguments {
        text += &format!(", const T* __restrict__ a{i}");
    }
    text
}
