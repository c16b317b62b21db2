//! Max-pools of two by two around convolutions of few channels.
//!
//! Such a convolution has whole windows of its result in registers, pools them, and goes on with the elementwise step
//! that follows; what was pooled is not stored. One whose argument is the gradient of a pool spreads it in shared
//! memory; what was spread is not stored either.

use super::lazy::read_by;
use super::maxima::Maximum;
use super::plan::ValueSource;
use super::source;
use crate::program::{Access, Kernel, Program};
use crate::real::Dtype;
use crate::trace::{Op, Window};

/// The steps that are part of a convolution.
pub struct Pools {
    /// By convolution.
    pub made: Vec<Option<Made>>,
    /// The first convolution that spreads a step itself, as do all others that read it.
    pub spread: Vec<Option<usize>>,
}

/// The pool of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// The step that says which number is the largest, where somebody asks.
    pub place: Option<usize>,
    /// The step that says how large it is.
    pub value: usize,
    /// The elementwise step that alone reads it.
    pub after: Option<usize>,
}

/// Whether windows of two by two cover images of this shape.
fn is_two_by_two(window: &Window, image: &[usize]) -> bool {
    let tiles = Window {
        kernel: [2, 2],
        stride: [2, 2],
        dilation: [1, 1],
        pad: [(0, 0); 2],
    };
    *window == tiles && image[2..].iter().all(|n| n.is_multiple_of(2))
}

impl Pools {
    /// Finds them.
    pub fn new(
        program: &Program,
        sources: &[Vec<ValueSource>],
        outputs: &[usize],
        maxima: &[Option<Maximum>],
        dtype: Dtype,
    ) -> Self {
        let read_by = read_by(sources, maxima);
        let find = Find {
            program,
            sources,
            outputs,
            maxima,
            read_by,
            dtype,
        };
        let steps = 0..program.steps.len();
        Pools {
            made: steps.clone().map(|step| find.made(step)).collect(),
            spread: steps.map(|step| find.spread(step)).collect(),
        }
    }
}

struct Find<'a> {
    program: &'a Program,
    sources: &'a [Vec<ValueSource>],
    outputs: &'a [usize],
    maxima: &'a [Option<Maximum>],
    /// Steps that read each step, with the number of the argument.
    read_by: Vec<Vec<(usize, usize)>>,
    dtype: Dtype,
}

impl Find<'_> {
    fn made(&self, conv: usize) -> Option<Made> {
        let step = &self.program.steps[conv];
        if self.outputs.contains(&conv) || !source::can_pool(step, self.dtype) {
            return None;
        }
        let mut found = [None; 2];
        for &(by, _) in &self.read_by[conv] {
            let which = match &self.program.steps[by].kernel {
                Kernel::Op(Op::ArgMax(w)) if is_two_by_two(w, &step.shape) => 0,
                Kernel::Op(Op::Pick(w)) if is_two_by_two(w, &step.shape) => 1,
                _ => return None,
            };
            if found[which].replace(by).is_some_and(|other| other != by) {
                return None;
            }
        }
        let [place, value] = found;
        let value = value?;
        // Its own place, or none.
        let own = match self.maxima[value] {
            Some(_) => place.is_none(),
            None => place.is_some_and(|p| self.sources[value][0] == ValueSource::Step(p)),
        };
        own.then(|| Made {
            place,
            value,
            after: self.after(value),
        })
    }

    fn after(&self, value: usize) -> Option<usize> {
        let [(by, argument)] = self.read_by[value][..] else {
            return None;
        };
        let Kernel::Fused(fused) = &self.program.steps[by].kernel else {
            return None;
        };
        // The others are there when the convolution runs.
        let early =
            |s: &ValueSource| matches!(s, ValueSource::Leaf(_)) || *s == ValueSource::Step(value);
        let fits = fused.access[argument] == Access::Full && self.sources[by].iter().all(early);
        (fits && !self.outputs.contains(&value)).then_some(by)
    }

    fn spread(&self, place: usize) -> Option<usize> {
        let step = &self.program.steps[place];
        let Kernel::Op(Op::Place(window)) = &step.kernel else {
            return None;
        };
        // A kernel that pools reads whole images.
        let spreads = |&(by, argument): &(usize, usize)| {
            source::can_spread(&self.program.steps[by], argument, self.dtype)
                && self.made(by).is_none()
        };
        let all = is_two_by_two(window, &step.shape) && self.read_by[place].iter().all(spreads);
        let &(first, _) = self.read_by[place].first()?;
        (all && !self.outputs.contains(&place)).then_some(first)
    }
}
