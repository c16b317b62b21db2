//! Variances of what a step reads.

use polariscope_graph::Window;

use super::super::conv::Taps;
use super::super::work::Work;
use super::Columns;
use crate::plan::{Read, StagePlan, Step, StepSource, View};
use crate::simd::SimdNumber;

impl<T: SimdNumber> Columns<T> {
    /// A variance at one position, for all columns.
    fn add_to(&self, sum: &mut [T], view: View, position: usize, times: f64) {
        let first = (self.offsets[view.side] + position) * self.batch;
        let values = &self.sides.all()[first..first + self.batch];
        let (gain, shift) = (T::of(view.gain * times), T::of(view.shift * times));
        for (sum, v) in sum.iter_mut().zip(values) {
            *sum += *v * gain + shift;
        }
    }

    /// Variances of what a step reads: [position][column].
    pub(super) fn source(
        &self,
        plan: &StagePlan,
        steps: &[Step],
        step: &Step,
        squares: &[T],
        work: &Work<T>,
    ) -> Vec<T> {
        let (batch, positions) = (self.batch, step.grid[0] * step.grid[1]);
        let mut out = vec![T::of(0.0); positions * batch];
        match &step.source {
            StepSource::Input => {
                for x in self.x.all().chunks_exact(positions * batch) {
                    for (sum, x) in out.iter_mut().zip(x) {
                        *sum += *x * *x;
                    }
                }
            }
            StepSource::Gram { weights, factor } => {
                let last = squares.len() - 1;
                for (column, out) in out.iter_mut().enumerate() {
                    *out = T::of(weights.variance * factor) * squares[column.min(last)];
                }
            }
            StepSource::Stored { stage, block } => {
                let from = block * plan.stages[*stage].slots() * batch;
                out.copy_from_slice(&work.stores[*stage].k.all()[from..from + positions * batch]);
            }
            StepSource::Conv {
                reads,
                weights,
                window,
                ..
            } => {
                for read in reads {
                    self.convolve(&steps[read.from], read, window, step.grid, &mut out);
                }
                let v = T::of(weights.variance);
                out.iter_mut().for_each(|p| *p *= v);
            }
            StepSource::Total { reads, weights } => {
                for read in reads {
                    let from = &steps[read.from];
                    for position in 0..from.grid[0] * from.grid[1] {
                        self.add_to(&mut out, from.variance_out, position, read.channels);
                    }
                }
                let v = T::of(weights.variance);
                out.iter_mut().for_each(|p| *p *= v);
            }
            StepSource::Sum { reads } => {
                for read in reads {
                    let view = steps[read.from].variance_out;
                    for (position, out) in out.chunks_exact_mut(batch).enumerate() {
                        self.add_to(out, view, position, read.channels);
                    }
                }
            }
            StepSource::Converted { .. } => {}
        }
        out
    }

    fn convolve(&self, from: &Step, read: &Read, window: &Window, grid: [usize; 2], out: &mut [T]) {
        let taps = [0, 1].map(|a| Taps::new(window, a, from.grid[a]));
        let find = |a: usize, o: usize, tap: usize| {
            let taps: &Taps = &taps[a];
            taps.tap(o, o, tap * taps.dilation).left
        };
        for (position, out) in out.chunks_exact_mut(self.batch).enumerate() {
            let (y, x) = (position / grid[1], position % grid[1]);
            for row in (0..taps[0].count).filter_map(|tap| find(0, y, tap)) {
                for column in (0..taps[1].count).filter_map(|tap| find(1, x, tap)) {
                    let at = row * from.grid[1] + column;
                    self.add_to(out, from.variance_out, at, read.channels);
                }
            }
        }
    }
}
