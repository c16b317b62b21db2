//! What runs together, and where its results lie.
//!
//! Small steps cost more to start than to run. Steps whose numbers are made one by one are put into one kernel where
//! the arrays can be cut into rows such that each step reads of the others' results only its own row: the pixels of an
//! activation, the rows of a softmax, the planes of a pool. Values that nobody reads outside of a kernel that works
//! number by number are never stored. A value whose numbers one other step reads, each at most once, is made where it is
//! read: what is pasted into an image, pooled and cropped again never sees memory.

use super::Place;
use super::lazy::{Read, readers, reads};
use super::maxima::Maximum;
use super::pools::{Made, Pools};
use super::source::{self, Code, Lazy, MapStep, Member, Then, Variable};
use crate::program::{Kernel, Pool, Program, Step, Value};
use crate::real::Dtype;
use crate::trace::{Op, size};

/// Steps that are looked at for a group, after its first.
const WINDOW: usize = 16;
/// Numbers of a row, at most.
const WIDTH: usize = 1024;
/// Numbers of steps that take less time to run than to start: larger ones share nothing but single numbers that they read
/// of each other.
const SMALL: usize = 1 << 16;
/// Rows from which on there are enough to share, unless rows are short.
const ROWS: usize = 64;
const SHORT: usize = 64;
/// Arrays that a kernel is given.
const ARRAYS: usize = 24;

/// The calls of a program.
pub struct LaunchPlan {
    /// In order.
    pub groups: Vec<Group>,
    /// Length of each buffer.
    pub buffers: Vec<usize>,
    /// Where the result of each step lies; nowhere if it is never stored.
    places: Vec<Option<usize>>,
    /// What each argument of each step is.
    sources: Vec<Vec<ValueSource>>,
    /// The step whose result each output is.
    outputs: Vec<usize>,
    /// The step that makes the numbers of each step as it reads them.
    readers: Vec<Option<usize>>,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSource {
    /// A leaf.
    Leaf(usize),
    /// The result of a step.
    Step(usize),
}

/// Steps that run in one kernel, or one step alone.
#[derive(Clone, Debug)]
pub struct Group {
    pub steps: Vec<usize>,
    /// Rows of all of them.
    pub rows: usize,
    /// Whether a row is one number.
    pub single: bool,
    /// The pool that a convolution, the first of the steps, makes of its result.
    pub pool: Option<Made>,
}

impl LaunchPlan {
    /// Groups the steps of a program for which `is_elements` holds. Of max-pools that nobody differentiates the first part
    /// is left out, and the second reads the image alone.
    pub fn new(
        program: &Program,
        is_elements: &[bool],
        maxima: &[Option<Maximum>],
        dtype: Dtype,
    ) -> Self {
        let (mut sources, outputs) = sources(program);
        let mut left = Vec::new();
        for (step, maximum) in maxima.iter().enumerate() {
            if *maximum != Some(Maximum::Place) {
                left.push(step);
            }
            if *maximum == Some(Maximum::Value) {
                sources[step][0] = sources[step][1];
            }
        }
        let mut readers = readers(program, &sources, &outputs, is_elements, maxima);
        let Pools { mut made, spread } = Pools::new(program, &sources, &outputs, maxima, dtype);
        for pool in made.iter_mut().flatten() {
            // What another step makes as it reads it, nobody else does.
            pool.after = pool.after.filter(|&after| readers[after].is_none());
            readers[pool.value] = None;
        }
        for (step, by) in spread.into_iter().enumerate() {
            readers[step] = readers[step].or(by);
        }
        left.retain(|&step| readers[step].is_none());
        let reads: Vec<Vec<Read>> = (0..sources.len())
            .map(|step| reads(&sources, &readers, step))
            .collect();
        let mut groups = Vec::new();
        while let Some(&first) = left.first() {
            let group = match (is_elements[first], made[first]) {
                (true, _) => Grouping::new(program, &reads, first).fill(&left[1..], is_elements),
                (false, pool) => Group::of(first, pool),
            };
            left.retain(|step| !group.steps.contains(step));
            groups.push(group);
        }
        let mut plan = LaunchPlan {
            groups,
            buffers: Vec::new(),
            places: vec![None; program.steps.len()],
            sources,
            outputs,
            readers,
        };
        plan.assign(program);
        plan
    }

    /// Where the result of a step lies.
    pub fn result(&self, step: usize) -> Place {
        let Some(buffer) = self.places[step] else {
            unreachable!("what others read is stored");
        };
        Place::Buffer(buffer)
    }

    /// Where an argument of a step lies.
    pub fn argument(&self, step: usize, argument: usize) -> Place {
        match self.sources[step][argument] {
            ValueSource::Leaf(leaf) => Place::Leaf(leaf),
            ValueSource::Step(from) => self.result(from),
        }
    }

    /// Where an argument of what a step makes as it reads it, its argument `through`, lies.
    pub fn argument_through(&self, step: usize, through: usize, argument: usize) -> Place {
        match self.sources[step][through] {
            ValueSource::Step(from) => self.argument(from, argument),
            ValueSource::Leaf(_) => unreachable!("leaves are not made"),
        }
    }

    /// The first argument that a step makes as it reads it.
    pub fn made_argument(&self, step: usize) -> Option<usize> {
        let is_made =
            |s: &ValueSource| matches!(*s, ValueSource::Step(from) if self.readers[from].is_some());
        self.sources[step].iter().position(is_made)
    }

    /// What a group writes.
    pub fn stored(&self, group: &Group) -> Vec<Place> {
        let places = group.steps.iter().filter_map(|&step| self.places[step]);
        places.map(Place::Buffer).collect()
    }

    /// Buffers of the outputs.
    pub fn results(&self) -> Vec<usize> {
        let place = |&step: &usize| self.places[step];
        self.outputs.iter().filter_map(place).collect()
    }

    /// The kernel of a group and the arrays that it is given.
    pub fn kernel(
        &self,
        program: &Program,
        group: &Group,
        maxima: &[Option<Maximum>],
        dtype: Dtype,
    ) -> (Code, Vec<Place>) {
        let mut arrays: Vec<Place> = Vec::new();
        let mut array = |place: Place| {
            let known = arrays.iter().position(|&p| p == place);
            Variable::Array(known.unwrap_or_else(|| {
                arrays.push(place);
                arrays.len() - 1
            }))
        };
        let max = |step: usize| maxima[step] == Some(Maximum::Value);
        let elements = |step: usize| {
            source::elements(&program.steps[step], dtype, max(step)).unwrap_or_else(|| {
                unreachable!("groups are of steps that are made number by number");
            })
        };
        let mut variable = |source: ValueSource| match source {
            ValueSource::Leaf(leaf) => array(Place::Leaf(leaf)),
            ValueSource::Step(from) if self.readers[from].is_some() => Variable::Lazy(from),
            ValueSource::Step(from) => match self.places[from] {
                Some(buffer) => array(Place::Buffer(buffer)),
                None => Variable::Held(from),
            },
        };
        let mut members = Vec::with_capacity(group.steps.len());
        let mut touched = group.steps.clone();
        for &step in &group.steps {
            let mut variables = vec![variable(ValueSource::Step(step))];
            variables.extend(self.sources[step].iter().map(|&source| variable(source)));
            // In the order of the program: what a step reads comes before it.
            let inside: Vec<usize> = (0..step).filter(|&s| self.is_inside(s, step)).collect();
            let lazies = inside.iter().map(|&step| Lazy {
                step,
                elements: elements(step),
                variables: self.sources[step]
                    .iter()
                    .map(|&source| variable(source))
                    .collect(),
            });
            members.push(Member {
                elements: elements(step),
                variables,
                lazies: lazies.collect(),
                width: size(&program.steps[step].shape) / group.rows.max(1),
            });
            touched.extend(inside);
        }
        let largest = source::largest(touched.iter().map(|&s| &program.steps[s]));
        if let ([step], [member]) = (&group.steps[..], &members[..]) {
            let on_map = |at: usize, arguments: &[Variable]| MapStep {
                at,
                step: &program.steps[at],
                max: max(at),
                arguments: arguments.to_vec(),
            };
            let lazies = member.lazies.iter();
            let lazies: Vec<MapStep> = lazies.map(|l| on_map(l.step, &l.variables)).collect();
            let last = on_map(*step, &member.variables[1..]);
            if !lazies.is_empty()
                && let Some(code) = source::maps(&lazies, &last, arrays.len(), largest, dtype)
            {
                return (code, arrays);
            }
        }
        let code = source::group(&members, group.rows, arrays.len(), largest);
        (code, arrays)
    }

    /// The kernel of a convolution that pools its result, and the arrays that it is given.
    pub fn pooled(
        &self,
        program: &Program,
        made: Made,
        conv: usize,
        dtype: Dtype,
    ) -> (Code, Vec<Place>) {
        let mut arrays = vec![self.argument(conv, 0), self.argument(conv, 1)];
        let mut array = |place: Place| {
            arrays.push(place);
            arrays.len() - 1
        };
        let place = made.place.and_then(|place| self.places[place]);
        let place = place.map(|buffer| array(Place::Buffer(buffer)));
        let then = match made.after {
            None => Then::Kept(array(self.result(made.value))),
            Some(after) => {
                let step = &program.steps[after];
                let Some(elements) = source::elements(step, dtype, false) else {
                    unreachable!("fused steps are made number by number");
                };
                let mut variables = vec![Variable::Array(array(self.result(after)))];
                variables.extend(self.sources[after].iter().map(|&source| match source {
                    ValueSource::Leaf(leaf) => Variable::Array(array(Place::Leaf(leaf))),
                    ValueSource::Step(from) => Variable::Held(from),
                }));
                Then::Member(Member {
                    elements,
                    variables,
                    lazies: Vec::new(),
                    width: 1,
                })
            }
        };
        let pool = source::Pool {
            place,
            value: made.value,
            then,
        };
        let Some(code) = source::pooled(&program.steps[conv], dtype, arrays.len(), &pool) else {
            unreachable!("convolutions that can pool were chosen");
        };
        (code, arrays)
    }

    /// Whether a step is made within another one.
    fn is_inside(&self, step: usize, other: usize) -> bool {
        let reader = |&step: &usize| self.readers[step];
        std::iter::successors(reader(&step), reader).any(|reader| reader == other)
    }

    /// Buffers for results.
    fn assign(&mut self, program: &Program) {
        let n = program.steps.len();
        let mut group_of = vec![None; n];
        for (g, group) in self.groups.iter().enumerate() {
            group
                .steps
                .iter()
                .for_each(|&step| group_of[step] = Some(g));
        }
        let mut last = vec![0; n];
        let mut stored = vec![false; n];
        for (g, group) in self.groups.iter().enumerate() {
            for &step in &group.steps {
                last[step] = last[step].max(g);
                for read in reads(&self.sources, &self.readers, step) {
                    let ValueSource::Step(from) = read.source else {
                        continue;
                    };
                    last[from] = last[from].max(g);
                    // What is made as it is read looks into memory.
                    stored[from] |= group_of[from] != Some(g) || read.through.len() > 1;
                }
            }
        }
        for &step in &self.outputs {
            (last[step], stored[step]) = (usize::MAX, true);
        }
        let mut pool = Pool::default();
        for (g, group) in self.groups.iter().enumerate() {
            for &step in &group.steps {
                if stored[step] || !group.single {
                    let length = size(&program.steps[step].shape);
                    self.places[step] = Some(pool.take(length));
                }
            }
            // Not before: what a group reads, none of its steps may overwrite.
            let done = (0..n).filter(|&step| last[step] == g && group_of[step].is_some());
            done.filter_map(|step| self.places[step])
                .for_each(|buffer| pool.give(buffer));
        }
        self.buffers = pool.lengths;
    }
}

impl Group {
    /// A step alone, or a convolution with its pool.
    fn of(step: usize, pool: Option<Made>) -> Self {
        let mut steps = vec![step];
        if let Some(Made {
            place,
            value,
            after,
        }) = pool
        {
            steps.extend(place.into_iter().chain([value]).chain(after));
        }
        Group {
            steps,
            rows: 1,
            single: pool.is_some(),
            pool,
        }
    }
}

/// Which step made what each argument and each output is.
fn sources(program: &Program) -> (Vec<Vec<ValueSource>>, Vec<usize>) {
    let mut holder = vec![0; program.buffers.len()];
    let mut all = Vec::with_capacity(program.steps.len());
    for (at, step) in program.steps.iter().enumerate() {
        let source = |value: Value| match value {
            Value::Leaf(leaf) => ValueSource::Leaf(leaf),
            Value::Buffer(buffer) => ValueSource::Step(holder[buffer]),
        };
        all.push(step.args.iter().map(|a| source(a.value)).collect());
        holder[step.out] = at;
    }
    let outputs = program.outputs.iter().map(|&(buffer, _)| holder[buffer]);
    (all, outputs.collect())
}

/// A group in the making.
struct Grouping<'a> {
    program: &'a Program,
    reads: &'a [Vec<Read>],
    steps: Vec<usize>,
    /// Numbers of rows that would do, from the largest.
    rows: Vec<usize>,
}

/// Products of the first dimensions of a shape, from the longest.
fn prefixes(shape: &[usize]) -> Vec<usize> {
    let mut products: Vec<usize> = vec![1];
    for &n in shape {
        products.push(products[products.len() - 1] * n);
    }
    products.reverse();
    products.dedup();
    products
}

impl<'a> Grouping<'a> {
    fn new(program: &'a Program, reads: &'a [Vec<Read>], first: usize) -> Self {
        Grouping {
            program,
            reads,
            steps: vec![first],
            rows: prefixes(&program.steps[first].shape),
        }
    }

    /// Takes what fits of the next steps.
    fn fill(mut self, next: &[usize], is_elements: &[bool]) -> Group {
        let mut passed: Vec<usize> = Vec::new();
        for &step in next.iter().take(WINDOW) {
            let waits = |r: &Read| matches!(r.source, ValueSource::Step(s) if passed.contains(&s));
            let waits = self.reads[step].iter().any(waits);
            if waits || !is_elements[step] || !self.join(step) {
                passed.push(step);
            }
        }
        let rows = self.rows[0];
        let single = |&step: &usize| size(&self.program.steps[step].shape) == rows;
        Group {
            rows,
            single: self.steps.len() > 1 && self.steps.iter().all(single),
            steps: self.steps,
            pool: None,
        }
    }

    fn join(&mut self, at: usize) -> bool {
        let step = &self.program.steps[at];
        let is_inside =
            |r: &&Read| matches!(r.source, ValueSource::Step(s) if self.steps.contains(&s));
        let inside: Vec<&Read> = self.reads[at].iter().filter(is_inside).collect();
        let sizes = self
            .steps
            .iter()
            .map(|&s| size(&self.program.steps[s].shape));
        let largest = sizes.max().unwrap_or(0).max(size(&step.shape));
        if inside.is_empty() && largest > SMALL {
            return false;
        }
        let fits = |&rows: &usize| {
            let local = |&(by, argument): &(usize, usize)| {
                is_local(&self.program.steps[by], argument, rows)
            };
            let row_by_row = inside.iter().all(|read| read.through.iter().all(local));
            let width = largest / rows.max(1);
            let short = width <= WIDTH && (rows >= ROWS || width <= SHORT);
            let shared = width == 1 || largest <= SMALL && short;
            prefixes(&step.shape).contains(&rows) && row_by_row && shared
        };
        let rows: Vec<usize> = self.rows.iter().copied().filter(fits).collect();
        let mut arrays: Vec<ValueSource> = Vec::new();
        for &s in self.steps.iter().chain([&at]) {
            let read = self.reads[s].iter().map(|read| read.source);
            for source in read.chain([ValueSource::Step(s)]) {
                if !arrays.contains(&source) {
                    arrays.push(source);
                }
            }
        }
        if rows.is_empty() || arrays.len() > ARRAYS {
            return false;
        }
        self.rows = rows;
        self.steps.push(at);
        true
    }
}

/// Whether a row of the result, of so many, needs of an argument its own row alone.
fn is_local(step: &Step, argument: usize, rows: usize) -> bool {
    let from = &step.args[argument].shape;
    let same = |axes: usize| {
        let prefix = &step.shape[..axes];
        size(prefix) == rows && from.get(..axes) == Some(prefix)
    };
    let most = match &step.kernel {
        Kernel::Fused(_) | Kernel::Op(Op::Sum | Op::RowMax) => step.shape.len(),
        Kernel::Op(Op::Pick(_)) if argument == 0 => step.shape.len(),
        Kernel::Op(
            Op::ArgMax(_) | Op::Pick(_) | Op::Place(_) | Op::SumPool(_) | Op::SumPoolTranspose(_),
        ) => 2,
        _ => return false,
    };
    (0..=most).any(same)
}

#[cfg(test)]
mod tests;
