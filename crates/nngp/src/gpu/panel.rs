//! Samples on the GPU with their variances.

use std::ops::Range;

use polariscope_diff::cuda::{Argument, Array, CudaError};

use super::batch::Batch;
use super::programs::First;
use super::text::THREADS;
use crate::Float;
use crate::gram::Squared;
use crate::kernel::{Kernel, Samples};
use crate::run::Sides;

/// Blocks that go over many numbers, at most.
const BLOCKS: usize = 1 << 16;

/// Some samples.
pub(super) struct Panel<T> {
    pub count: usize,
    /// [sample][input]; empty where no kernel reads it.
    pub x: Array<T>,
    /// [sample][side][position]
    pub sides: Array<T>,
    /// Sides of the stages that are maps, by stage.
    pub maps: Vec<Option<[Array<T>; 2]>>,
}

impl<T: Float> Panel<T> {
    /// Follows the variances of samples and copies all to the GPU.
    ///
    /// Behind a mixing of positions they are what the GPU makes of (x, x): the processor's would differ by roundings, and
    /// p + q − 2c would not be 0 where samples agree.
    pub fn new(
        batch: &mut Batch<T>,
        kernel: &Kernel,
        samples: &Samples<T>,
        range: Range<usize>,
    ) -> Result<Self, CudaError> {
        let samples = samples.squared().part(range, kernel.inputs());
        let mut stores = Vec::new();
        loop {
            let panel = Self::with(batch, kernel, samples, &stores)?;
            if stores.len() == kernel.plan.self_stages {
                return Ok(panel);
            }
            let own = batch.own(&panel, stores.len())?;
            stores.push(own);
        }
    }

    fn with(
        batch: &Batch<T>,
        kernel: &Kernel,
        samples: Squared<T>,
        stores: &[Vec<T>],
    ) -> Result<Self, CudaError> {
        let (gpu, programs) = (batch.gpu, batch.programs);
        let count = samples.x.len() / kernel.inputs();
        let wide = kernel.batch::<T>(count);
        let sides = Sides::new(&kernel.columns(samples, wide, Some(stores)), wide);
        let reads = kernel.plan.reads_input || kernel.plan.gram;
        let copied = |from: &[T]| {
            let array = gpu.zeros(from.len())?;
            if !from.is_empty() {
                gpu.upload(from, 0, &array)?;
            }
            Ok(array)
        };
        let mut panel = Panel {
            count,
            x: copied(if reads { samples.x } else { &[] })?,
            sides: copied(sides.first(count))?,
            maps: Vec::new(),
        };
        for stage in &programs.stages {
            let made = match &stage.first {
                First::Fields { .. } => None,
                First::Pooled { maps, sides, .. } => {
                    let numbers = maps.numbers().map(|n| n * count);
                    let [roots, sums] = [gpu.zeros(numbers[0])?, gpu.zeros(numbers[1])?];
                    let blocks = (numbers[0] / 2).div_ceil(THREADS).clamp(1, BLOCKS);
                    let arguments = [
                        T::argument(&panel.sides, panel.sides.len()),
                        Argument::Int(count as i32),
                        T::argument(&roots, numbers[0]),
                        T::argument(&sums, numbers[1]),
                    ];
                    gpu.start(sides, [blocks, 1, 1], &arguments)?;
                    Some([roots, sums])
                }
            };
            panel.maps.push(made);
        }
        Ok(panel)
    }
}
