//! Scratch memory of one worker.

use super::conv::Segment;
use crate::gram::Gaps;
use crate::plan::{StagePlan, StepSource};
use crate::simd::{Buffer, SimdNumber};

/// D (or c) and Θ of one field.
#[derive(Clone, Debug)]
pub(crate) struct Field<T> {
    /// The gap or the covariance.
    pub k: Buffer<T>,
    /// The NTK.
    pub t: Buffer<T>,
}

impl<T: SimdNumber> Field<T> {
    fn zeros(len: usize) -> Self {
        Field {
            k: Buffer::zeros(len),
            t: Buffer::zeros(len),
        }
    }

    /// No memory at all.
    pub fn empty() -> Self {
        Field {
            k: Buffer::empty(),
            t: Buffer::empty(),
        }
    }
}

/// Fields, stores and a row of sums.
#[derive(Clone, Debug)]
pub(crate) struct Work<T> {
    /// Columns in a batch.
    pub batch: usize,
    /// By buffer.
    pub fields: Vec<Field<T>>,
    /// By stage: [block][slot][column].
    pub stores: Vec<Field<T>>,
    /// Sums over the rows of a window.
    pub sums: Field<T>,
    /// Columns under the windows of a row.
    pub segments: Vec<Segment>,
    /// Gaps of the inputs, one a column.
    pub gram: Buffer<T>,
    /// Those of a tile.
    pub gaps: Gaps<T>,
}

impl<T: SimdNumber> Work<T> {
    /// Memory for a plan and a batch of columns.
    pub fn new(plan: &StagePlan, batch: usize) -> Self {
        let buffers = plan.stages.iter().map(|s| s.buffers).max().unwrap_or(0);
        let positions = plan.stages.iter().map(|s| s.positions).max().unwrap_or(1);
        let stores = plan.stages.iter().map(|s| s.slots() * s.last.len() * batch);
        Work {
            batch,
            fields: vec![Field::zeros(positions * batch); buffers],
            stores: stores.map(Field::zeros).collect(),
            sums: Field::zeros(sums(plan) * batch),
            segments: Vec::new(),
            gram: Buffer::zeros(batch),
            gaps: Gaps::new(),
        }
    }
}

/// Numbers in memory for a batch of one.
pub(crate) fn numbers(plan: &StagePlan) -> usize {
    let buffers = plan.stages.iter().map(|s| s.buffers).max().unwrap_or(0);
    let positions = plan.stages.iter().map(|s| s.positions).max().unwrap_or(1);
    let stores: usize = plan.stages.iter().map(|s| s.slots() * s.last.len()).sum();
    2 * (positions * buffers + stores + sums(plan)) + 1
}

/// Columns under the widest window.
fn sums(plan: &StagePlan) -> usize {
    let steps = plan.stages.iter().flat_map(|s| &s.steps);
    let widths = steps.map(|step| match &step.source {
        StepSource::Conv { window, .. } => {
            (step.grid[1] - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1] + 1
        }
        _ => 0,
    });
    widths.max().unwrap_or(0)
}
