//! Steps on maps N×C×H×W that are made where they are read, place by place.
//!
//! Where a number lies on its map is the same for all channels: a thread works it out once and then walks along them.

use super::group::{Variable, held};
use super::{BLOCKS, Code, THREADS, fused, index, layout, window};
use crate::program::{Access, Kernel, Step};
use crate::real::Dtype;
use crate::trace::{Op, size};

/// Channels of a thread, at most.
const CHANNELS: usize = 16;
/// Threads that keep a GPU busy.
const BUSY: usize = 1 << 17;

/// A step, and what its arguments are.
pub struct MapStep<'a> {
    /// Its number in the program.
    pub at: usize,
    pub step: &'a Step,
    /// Whether it picks the largest number of each window without being told which it is.
    pub max: bool,
    pub arguments: Vec<Variable>,
}

/// Channels, height and width: the last three axes.
pub fn map(shape: &[usize]) -> Option<[usize; 3]> {
    shape.last_chunk().copied()
}

/// A number of an array of maps, as text.
pub fn element(array: &str, [c, h, w]: [usize; 3], [n, channel, y, x]: [&str; 4]) -> String {
    format!(
        "{array}[(({n}) * {c} + {channel}) * {} + ({y}) * {w} + {x}]",
        h * w
    )
}

impl MapStep<'_> {
    /// Statements that set `value` to number (n, c, y, x) of the result; nothing for steps that are not of maps.
    fn statements(&self, dtype: Dtype) -> Option<String> {
        let to = self.step.shape.as_slice();
        let shape = |i: usize| self.step.args[i].shape.as_slice();
        let read = |argument: usize, at: [&str; 4]| match self.arguments[argument] {
            Variable::Lazy(_) => format!("a{argument}.at({})", at.join(", ")),
            Variable::Array(_) | Variable::Held(_) => {
                let map = map(shape(argument)).unwrap_or([1; 3]);
                // Through the cache for what nobody writes.
                format!("__ldg(&{})", element(&format!("a{argument}"), map, at))
            }
        };
        match &self.step.kernel {
            Kernel::Fused(f) => fused::on_maps(f, dtype, map(to)?, read),
            Kernel::Op(Op::Crop(crop)) => Some(layout::crop(crop, shape(0), to, None, read)),
            Kernel::Op(Op::Paste { crop, minus }) => {
                let maps = Some((shape(1)[0], *minus));
                Some(layout::crop(crop, shape(0), to, maps, read))
            }
            Kernel::Op(Op::Pick(w)) if self.max => Some(window::max(w, shape(1), read)),
            Kernel::Op(_) => None,
        }
    }

    /// Whether its arguments are maps like those that it makes, or like its result where it reads them in that order: a
    /// result that others see in another shape is none.
    fn fits(&self, lazies: &[MapStep]) -> bool {
        let like = |a: &[usize], b: &[usize]| map(a) == map(b);
        self.arguments.iter().enumerate().all(|(i, variable)| {
            let shape = &self.step.args[i].shape;
            let lazy = match *variable {
                Variable::Lazy(at) => lazies.iter().find(|lazy| lazy.at == at),
                Variable::Array(_) | Variable::Held(_) => None,
            };
            let full = match &self.step.kernel {
                Kernel::Fused(f) => f.access[i] == Access::Full,
                Kernel::Op(_) => false,
            };
            lazy.is_none_or(|lazy| like(&lazy.step.shape, shape))
                && (!full || like(shape, &self.step.shape))
        })
    }

    /// The names of its arguments: fields of a structure or variables.
    fn fields(&self, each: impl Fn(usize, String, String) -> String) -> String {
        let fields = self.arguments.iter().enumerate();
        let fields = fields.map(|(i, variable)| match *variable {
            Variable::Array(k) => each(i, "const T*".to_owned(), format!("p{k}")),
            Variable::Lazy(step) => each(i, format!("Lazy{step}"), format!("lazy{step}")),
            Variable::Held(_) => held(),
        });
        fields.collect()
    }
}

/// The kernel of a step that makes others as it reads them, each after what it reads; its result is the first of so many
/// arrays, and the largest that it touches has `largest` numbers. Nothing where one of them is not on maps.
pub fn maps(
    lazies: &[MapStep],
    last: &MapStep,
    arrays: usize,
    largest: usize,
    dtype: Dtype,
) -> Option<Code> {
    let [c, h, w] = map(&last.step.shape)?;
    if !lazies.iter().chain([last]).all(|step| step.fits(lazies)) {
        return None;
    }
    let mut body = String::new();
    for lazy in lazies {
        body += &format!(
            "struct Lazy{at} {{\n{fields}\n\
             __device__ __forceinline__ T at(I n, int c, int y, int x) const {{\n{statements}return value;\n}}\n}};\n\
             const Lazy{at} lazy{at} = {{{values}}};\n",
            at = lazy.at,
            fields = lazy.fields(|i, kind, _| format!("{kind} a{i}; ")),
            statements = lazy.statements(dtype)?,
            values = lazy.fields(|_, _, value| format!("{value}, ")),
        );
    }
    body += &last.fields(|i, kind, value| format!("{kind} const a{i} = {value};\n"));
    let places = size(&last.step.shape) / c;
    let channels = (1..=c.min(CHANNELS)).rev();
    let channels = channels
        .filter(|each| c.is_multiple_of(*each))
        .find(|each| places * (c / each) >= BUSY)
        .unwrap_or(1);
    let (parts, threads) = (c / channels, places * (c / channels));
    let parameters: Vec<String> = (0..arrays)
        .map(|k| format!("T* __restrict__ p{k}"))
        .collect();
    let text = format!(
        "({parameters}) {{\n\
         typedef {index} I;\n\
         {body}\
         for (I t = blockIdx.x * (I){THREADS} + threadIdx.x; t < {threads}; t += gridDim.x * (I){THREADS}) {{\n\
         const I n = t / {all};\n\
         const int x = t % {w}, y = t / {w} % {h}, first = t / {plane} % {parts} * {channels};\n\
         #pragma unroll 4\n\
         for (int c = first; c < first + {channels}; ++c) {{\n\
         {statements}{out} = value;\n}}\n}}\n}}",
        parameters = parameters.join(", "),
        index = index(largest),
        plane = h * w,
        all = parts * h * w,
        statements = last.statements(dtype)?,
        out = element("p0", [c, h, w], ["n", "c", "y", "x"]),
    );
    Some(Code {
        text,
        blocks: [threads.div_ceil(THREADS).clamp(1, BLOCKS), 1, 1],
        shared: 0,
        operands: Vec::new(),
        scratch: 0,
    })
}

#[cfg(test)]
mod tests {
    use crate::cuda::{Called, listing};
    use crate::{Program, Trace};

    /// A sum that its reader makes, and sees in another shape, is found by its number and not by a place on a map.
    #[test]
    fn another_shape_is_no_map() {
        let mut t = Trace::new();
        let (x, y) = (t.leaf(&[1, 3, 400]), t.leaf(&[1, 3, 400]));
        let mask = t.leaf(&[3, 16, 5, 5]);
        let sum = t.add(x, y);
        let image = t.reshape(sum, &[3, 16, 5, 5]);
        let masked = t.mul(image, mask);
        let list = listing::<f64>(&Program::new(&t, &[masked]));
        let [call] = &list.calls[..] else {
            panic!("one kernel")
        };
        let Called::Kernel(text, _) = &call.what else {
            panic!("no product")
        };
        assert!(text.contains("struct Lazy") && !text.contains(".at("));
    }
}
