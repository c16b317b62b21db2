//! A batch of pairs through all stages.

use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu};

use super::Run;
use super::panel::Panel;
use super::programs::{First, OfStage, Programs};
use super::text::THREADS;
use crate::kernel::Kernel;
use crate::plan::StagePlan;
use crate::{Float, Values, Wanted};

/// Bytes of all that is kept of a batch.
const MEMORY: usize = 2 << 30;
/// Pairs of a batch, at most.
const MOST: usize = 1 << 18;
/// Blocks of one start, at most; they go over what is left.
const BLOCKS: usize = 1 << 20;
/// Blocks whose fields lie in the memory of the GPU.
const AREAS: usize = 1 << 10;

/// Memory of a batch on the GPU.
pub(super) struct Batch<'a, T> {
    pub gpu: &'a Gpu,
    pub programs: &'a Programs,
    plan: &'a StagePlan,
    wanted: Wanted,
    most: usize,
    pairs: Array<u32>,
    /// x·x' of a panel of rows and one of columns.
    gram: Array<T>,
    store: [Array<T>; 2],
    made: [Array<T>; 2],
    out: [Array<T>; 2],
    area: Array<T>,
}

impl<'a, T: Float> Batch<'a, T> {
    /// Takes the memory.
    pub fn new(
        gpu: &'a Gpu,
        kernel: &'a Kernel,
        programs: &'a Programs,
        wanted: Wanted,
        pairs: usize,
    ) -> Result<Self, CudaError> {
        let plan = &kernel.plan;
        let stored: usize = plan.stages.iter().map(|s| s.slots() * s.last.len()).sum();
        let made = programs.stages.iter().map(|s| s.made).max().unwrap_or(0);
        let of_pair = 2 * size_of::<T>() * (stored + made + 1);
        let most = (MEMORY / of_pair).clamp(1, pairs.clamp(1, MOST));
        let area = programs.stages.iter().map(|stage| match &stage.first {
            First::Fields { area, .. } => area * AREAS,
            First::Pooled { .. } => 0,
        });
        let theta = match wanted {
            Wanted::Nngp => 0,
            Wanted::Both => most,
        };
        let twice = |numbers: usize| Ok([gpu.zeros(numbers * most)?, gpu.zeros(numbers * theta)?]);
        Ok(Batch {
            gpu,
            plan,
            programs,
            wanted,
            most,
            pairs: gpu.zeros(most)?,
            gram: gpu.zeros(0)?,
            store: twice(stored)?,
            made: twice(made)?,
            out: twice(1)?,
            area: gpu.zeros(area.max().unwrap_or(0))?,
        })
    }

    /// Pairs of a batch.
    pub fn pairs(&self) -> usize {
        self.most
    }

    /// Multiplies the samples of two panels, where a stage reads that.
    pub fn panels(&mut self, [left, right]: [&Panel<T>; 2]) -> Result<(), CudaError> {
        if !self.plan.gram {
            return Ok(());
        }
        let inputs = self.plan.input.iter().product();
        let needed = left.count * right.count;
        if self.gram.len() < needed {
            self.gram = self.gpu.zeros(needed)?;
        }
        let sizes = [left.count, right.count, inputs];
        self.gpu.product(sizes, &left.x, &right.x, &mut self.gram)
    }

    /// Kernels of pairs of two panels, run by run.
    pub fn run(&mut self, panels: [&Panel<T>; 2], runs: &[Run]) -> Result<Values<T>, CudaError> {
        let mut pairs = Vec::new();
        for Run { row, columns } in runs {
            pairs.extend(columns.clone().map(|column| pair(*row, column)));
        }
        self.gpu.upload(&pairs, 0, &self.pairs)?;
        for (s, stage) in self.programs.stages.iter().enumerate() {
            self.stage(s, stage, panels, pairs.len())?;
        }
        let mut values = Values::zeros(self.wanted, pairs.len());
        self.gpu.download(&self.out[0], &mut values.nngp)?;
        if let Some(ntk) = &mut values.ntk {
            self.gpu.download(&self.out[1], ntk)?;
        }
        Ok(values)
    }

    /// What stage s leaves of every sample with itself, at positions paired with themselves: [sample][block][position].
    pub fn own(&mut self, panel: &Panel<T>, s: usize) -> Result<Vec<T>, CudaError> {
        self.panels([panel, panel])?;
        let Some((kernel, each)) = &self.programs.stages[s].own else {
            return Ok(Vec::new());
        };
        let mut values = vec![T::ZERO; panel.count * each];
        for first in (0..panel.count).step_by(self.most) {
            let end = (first + self.most).min(panel.count);
            let pairs: Vec<u32> = (first..end).map(|i| pair(i, i)).collect();
            self.gpu.upload(&pairs, 0, &self.pairs)?;
            for (s, stage) in self.programs.stages[..=s].iter().enumerate() {
                self.stage(s, stage, [panel, panel], pairs.len())?;
            }
            let numbers = pairs.len() * each;
            let arguments = [
                Argument::Int(pairs.len() as i32),
                whole(&self.store[0]),
                T::argument(&self.made[0], numbers),
            ];
            let blocks = numbers.div_ceil(THREADS).min(BLOCKS);
            self.gpu.start(kernel, [blocks, 1, 1], &arguments)?;
            let to = &mut values[first * each..end * each];
            self.gpu.download(&self.made[0], to)?;
        }
        Ok(values)
    }

    /// Both kernels of stage s.
    fn stage(
        &self,
        s: usize,
        stage: &OfStage,
        [left, right]: [&Panel<T>; 2],
        count: usize,
    ) -> Result<(), CudaError> {
        let all = [
            Argument::U32(&self.pairs, count),
            Argument::Int(count as i32),
            whole(&left.x),
            whole(&right.x),
            whole(&left.sides),
            whole(&right.sides),
            whole(&self.gram),
            Argument::Int(right.count as i32),
            whole(&self.store[0]),
            whole(&self.store[1]),
            whole(&self.made[0]),
            whole(&self.made[1]),
            whole(&self.out[0]),
            whole(&self.out[1]),
            whole(&self.area),
        ];
        match &stage.first {
            First::Fields {
                kernel,
                displacements: [each, group],
                area,
            } => {
                let groups = (count * each).div_ceil(*group);
                let most = if *area > 0 { AREAS } else { BLOCKS };
                self.gpu.start(kernel, [groups.min(most), 1, 1], &all)?;
            }
            First::Pooled { maps, kernel, .. } => {
                let (Some(l), Some(r)) = (&left.maps[s], &right.maps[s]) else {
                    unreachable!("every panel has the sides of every map");
                };
                let arguments = [
                    Argument::U32(&self.pairs, count),
                    whole(&left.x),
                    whole(&right.x),
                    whole(&l[0]),
                    whole(&r[0]),
                    whole(&l[1]),
                    whole(&r[1]),
                    whole(&self.made[0]),
                    whole(&self.made[1]),
                ];
                let blocks = maps.displacements().div_ceil(THREADS / 32) * count;
                self.gpu.start(kernel, [blocks, 1, 1], &arguments)?;
            }
        }
        let [size, threads_each] = stage.gathered;
        let blocks = (count * size * threads_each).div_ceil(THREADS);
        self.gpu
            .start(&stage.gather, [blocks.min(BLOCKS), 1, 1], &all)
    }
}

/// As kernels read it.
fn pair(row: usize, column: usize) -> u32 {
    (row << 16 | column) as u32
}

fn whole<T: Float>(array: &Array<T>) -> Argument<'_> {
    T::argument(array, array.len())
}
