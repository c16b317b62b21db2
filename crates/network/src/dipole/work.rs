//! A task: its samples pass through the stages part by part, then through the rest of the network together.

use polariscope_diff::Number;

use super::base::Base;
use super::gather::Region;
use super::plan::{DipolePlan, Entrance};
use super::programs::leaves;
use super::stage::{Context, Memory, Sample, copy_base};
use crate::Weights;

/// The memory of a task.
pub struct Work<T> {
    memory: Memory<T>,
    /// Whole maps of all samples at the cut.
    maps: Vec<T>,
}

impl<T: Number> Work<T> {
    /// Memory for a plan.
    pub fn new(plan: &DipolePlan) -> Self {
        Work {
            memory: Memory::new(plan.slots, &plan.programs),
            maps: vec![T::ZERO; plan.batch.task * plan.map],
        }
    }

    /// The outputs of as many samples as a task has.
    pub fn run(
        &mut self,
        plan: &DipolePlan,
        base: &Base<T>,
        weights: &Weights<T>,
        samples: &[Sample<T>],
    ) -> &[T] {
        let parts = self.maps.chunks_mut(plan.batch.part * plan.map);
        for (samples, maps) in samples.chunks(plan.batch.part).zip(parts) {
            let context = Context {
                base,
                weights,
                samples,
            };
            enter(plan, context, &mut self.memory);
            for stage in &plan.stages {
                stage.run(context, &mut self.memory);
            }
            let maps = maps.chunks_exact_mut(plan.map);
            match plan.stages.iter().find(|stage| stage.end == plan.cut) {
                None => {
                    for (sample, map) in samples.iter().zip(maps) {
                        map.copy_from_slice(&base.nodes[0]);
                        map[sample.index] += sample.delta;
                    }
                }
                Some(last) => {
                    let patches = self.memory.patches[last.slot].chunks_exact(last.region.len());
                    for ((sample, map), patch) in samples.iter().zip(maps).zip(patches) {
                        map.copy_from_slice(&base.nodes[last.end]);
                        paste(&last.region, sample, patch, map);
                    }
                }
            }
        }
        let sessions = &mut self.memory.sessions;
        sessions.run(plan.suffix, &leaves(&self.maps, weights))
    }
}

/// The input's own patches: one pixel with all its channels.
fn enter<T: Number>(plan: &DipolePlan, context: Context<T>, memory: &mut Memory<T>) {
    let Some(Entrance { region, slot }) = &plan.entrance else {
        return;
    };
    let out = &mut memory.patches[*slot];
    out.resize(context.samples.len() * region.channels, T::ZERO);
    let pixels = out.chunks_exact_mut(region.channels);
    for (sample, pixel) in context.samples.iter().zip(pixels) {
        copy_base(region, sample, &context.base.positions[0], pixel);
        pixel[sample.channel] += sample.delta;
    }
}

/// Writes a sample's patch into a map in memory order.
fn paste<T: Number>(region: &Region, sample: &Sample<T>, patch: &[T], map: &mut [T]) {
    let [row, col] = sample.pixel;
    let plane = region.rows.n * region.cols.n;
    let mut positions = patch.chunks_exact(region.channels);
    for row in region.rows.positions(row) {
        for (col, values) in region.cols.positions(col).zip(&mut positions) {
            let to = map[row * region.cols.n + col..].iter_mut().step_by(plane);
            to.zip(values).for_each(|(y, &v)| *y = v);
        }
    }
}
