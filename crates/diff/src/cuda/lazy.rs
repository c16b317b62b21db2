//! Values that are made where they are read.
//!
//! A step whose numbers one other step reads, each at most once, need not be stored: the reader makes them as it goes.

use super::maxima::Maximum;
use super::plan::ValueSource;
use crate::program::{Access, Kernel, Program, Step};
use crate::trace::{Op, size};

/// The step that makes the numbers of each step as it reads them: the only one that reads it, no number more than once.
pub fn readers(
    program: &Program,
    sources: &[Vec<ValueSource>],
    outputs: &[usize],
    is_elements: &[bool],
    maxima: &[Option<Maximum>],
) -> Vec<Option<usize>> {
    let n = program.steps.len();
    let readers = read_by(sources, maxima);
    let reader = |step: usize| {
        let &(reader, _) = readers[step].first()?;
        let once = |&(by, argument): &(usize, usize)| {
            let max = maxima[by] == Some(Maximum::Value);
            by == reader && reads_once(&program.steps[by], argument, max)
        };
        let lazy = is_elements[step]
            && is_elements[reader]
            && maxima[step] != Some(Maximum::Place)
            && !outputs.contains(&step);
        (lazy && readers[step].iter().all(once)).then_some(reader)
    };
    let mut found: Vec<Option<usize>> = Vec::with_capacity(n);
    for step in 0..n {
        // Where many results read nothing, their threads would wait for those that make what they read.
        let heavy = found.contains(&Some(step));
        let fits = |reader: &usize| {
            let numbers = |step: usize| size(&program.steps[step].shape);
            !heavy || numbers(*reader) <= numbers(step)
        };
        found.push(reader(step).filter(fits));
    }
    found
}

/// The steps that read each step, with the number of the argument.
pub fn read_by(
    sources: &[Vec<ValueSource>],
    maxima: &[Option<Maximum>],
) -> Vec<Vec<(usize, usize)>> {
    let mut readers = vec![Vec::new(); sources.len()];
    for (step, sources) in sources.iter().enumerate() {
        if maxima[step] == Some(Maximum::Place) {
            continue;
        }
        for (argument, source) in sources.iter().enumerate() {
            if let &ValueSource::Step(from) = source {
                readers[from].push((step, argument));
            }
        }
    }
    readers
}

/// Whether a step reads no number of an argument more than once, and neighbours side by side.
fn reads_once(step: &Step, argument: usize, max: bool) -> bool {
    match &step.kernel {
        Kernel::Fused(fused) => fused.access[argument] == Access::Full,
        Kernel::Op(Op::Slice { .. } | Op::Embed { .. } | Op::Concat { .. }) => true,
        Kernel::Op(Op::Crop(_) | Op::Paste { .. }) => {
            argument == 0 && step.args[0].shape[0] == step.shape[0]
        }
        Kernel::Op(Op::SumPool(w)) => w.is_partition(),
        Kernel::Op(Op::Pick(w)) => w.is_partition() && max,
        _ => false,
    }
}

/// An array that a step reads, itself or through steps that it makes as it reads them.
pub struct Read {
    pub source: ValueSource,
    /// The steps, each with the argument that leads on.
    pub through: Vec<(usize, usize)>,
}

/// The arrays that a step reads.
pub fn reads(sources: &[Vec<ValueSource>], readers: &[Option<usize>], step: usize) -> Vec<Read> {
    let mut all = Vec::new();
    for (argument, &source) in sources[step].iter().enumerate() {
        let through = vec![(step, argument)];
        match source {
            ValueSource::Step(from) if readers[from].is_some() => {
                all.extend(reads(sources, readers, from).into_iter().map(|read| Read {
                    through: [&through[..], &read.through].concat(),
                    ..read
                }));
            }
            _ => all.push(Read { source, through }),
        }
    }
    all
}
