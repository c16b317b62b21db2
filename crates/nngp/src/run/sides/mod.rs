//! What depends on one sample alone: variances at every position, for a batch of samples.

mod chain;
mod source;

pub use chain::Chain;

use rayon::prelude::*;

use super::pair::{Pairs, Tangent};
use super::work::Work;
use super::{Compiled, Row};
use crate::gram::Squared;
use crate::plan::{Form, Stage, StagePlan};
use crate::simd::{Buffer, SimdNumber};

/// A batch of samples side by side.
#[derive(Clone, Debug)]
pub(crate) struct Columns<T> {
    /// [channel · position][column]
    pub x: Buffer<T>,
    /// [side][position][column]
    pub sides: Buffer<T>,
    /// First position of every side.
    pub offsets: Vec<usize>,
    /// Columns.
    pub batch: usize,
}

/// Where variances behind a mixing of positions come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Own<'a, T> {
    /// The stages are run on (x, x) here.
    Here,
    /// For the first stages [sample][block][position], from these samples on; what reads later ones is left open.
    Given(&'a [Vec<T>], usize),
}

/// Sides of samples one after another.
#[derive(Clone, Debug)]
pub(crate) struct Sides<T> {
    values: Vec<T>,
    each: usize,
}

impl<T: SimdNumber> Sides<T> {
    /// The sides of one sample.
    pub fn of(&self, sample: usize) -> &[T] {
        &self.values[sample * self.each..][..self.each]
    }

    /// The sides of the first samples.
    pub fn first(&self, samples: usize) -> &[T] {
        &self.values[..samples * self.each]
    }

    /// Takes batches apart again.
    pub fn new(batches: &[Columns<T>], batch: usize) -> Self {
        let each = batches.first().map_or(0, |b| b.sides.all().len() / batch);
        let mut values = vec![T::of(0.0); each * batch * batches.len()];
        let taken = values.par_chunks_exact_mut((each * batch).max(1));
        batches.par_iter().zip(taken).for_each(|(columns, values)| {
            for (i, of_all) in columns.sides.all().chunks_exact(batch).enumerate() {
                for (sample, v) in of_all.iter().enumerate() {
                    values[sample * each + i] = *v;
                }
            }
        });
        Sides { values, each }
    }
}

/// Samples (each a slice of one length) side by side; the last one is repeated up to the batch.
fn transposed<T: SimdNumber>(samples: &[T], inputs: usize, batch: usize) -> Buffer<T> {
    let count = samples.len() / inputs;
    let mut out = Buffer::zeros(inputs * batch);
    let to = out.all_mut();
    // Eight numbers at a time: a line of every sample, a few lines of the result.
    for start in (0..inputs).step_by(8) {
        for column in 0..batch {
            let sample = &samples[column.min(count - 1) * inputs..][..inputs];
            for i in start..(start + 8).min(inputs) {
                to[i * batch + column] = sample[i];
            }
        }
    }
    out
}

/// Puts variances that a stage left where later ones read them.
fn give<T: SimdNumber>(
    stage: &Stage,
    values: &[T],
    first: usize,
    count: usize,
    work: &mut Work<T>,
    s: usize,
) {
    let positions = stage.grid_out[0] * stage.grid_out[1];
    let (batch, each) = (work.batch, stage.last.len() * positions);
    let store = work.stores[s].k.all_mut();
    for block in 0..stage.last.len() {
        for position in 0..positions {
            let to = (block * stage.slots() + position) * batch;
            for column in 0..batch {
                let sample = first + column.min(count - 1);
                store[to + column] = values[sample * each + block * positions + position];
            }
        }
    }
}

impl<T: SimdNumber> Columns<T> {
    /// Lays samples side by side and follows their variances.
    pub fn new(plan: &StagePlan, samples: Squared<T>, own: Own<T>, work: &mut Work<T>) -> Self
    where
        T: Compiled,
    {
        let inputs = plan.input.iter().product::<usize>();
        let batch = work.batch;
        let mut offsets = Vec::with_capacity(plan.sides.len());
        let mut total = 0;
        for positions in &plan.sides {
            offsets.push(total);
            total += positions;
        }
        let x = match plan.reads_input {
            true => transposed(samples.x, inputs, batch),
            false => Buffer::empty(),
        };
        let mut columns = Columns {
            x,
            sides: Buffer::zeros(total * batch),
            offsets,
            batch,
        };
        for (s, stage) in plan.stages.iter().enumerate() {
            for step in &stage.steps {
                if step.form_in == Form::Gap {
                    let made = columns.source(plan, &stage.steps, step, samples.squares, work);
                    columns.set(step.variance.side, &made);
                    T::chain(Chain {
                        step,
                        columns: &mut columns,
                    });
                }
            }
            if s >= plan.self_stages {
                continue;
            }
            match own {
                Own::Here => T::pairs(Pairs {
                    plan,
                    row: Row::Columns,
                    columns: &columns,
                    stages: s..s + 1,
                    tangent: Tangent::Left,
                    work,
                }),
                Own::Given(stores, first) => match stores.get(s) {
                    Some(values) => give(stage, values, first, samples.x.len() / inputs, work, s),
                    None => break,
                },
            }
        }
        columns
    }

    fn set(&mut self, side: usize, values: &[T]) {
        let first = self.offsets[side] * self.batch;
        self.sides.all_mut()[first..first + values.len()].copy_from_slice(values);
    }
}
