//! Samples in the memory of a GPU, and passes over them.

use std::sync::Arc;

use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu, Kernel, Workspace};
use polariscope_diff::{Number, Precision, Program};

use super::kernels::{self, Sizes, THREADS};

/// Most blocks that bring samples together.
const BLOCKS: usize = 1 << 12;

/// A set of samples.
pub struct Set<T> {
    x: Array<f32>,
    y: Array<T>,
    pub classes: Array<u32>,
    /// Which row comes when.
    pub order: Array<u32>,
    pub samples: usize,
    pub labelled: bool,
}

impl<T: Number> Set<T> {
    /// Copies samples and their targets, in their own order.
    pub fn new(
        gpu: &Gpu,
        x: &[f32],
        classes: Option<&[u32]>,
        targets: &[T],
        samples: usize,
    ) -> Result<Self, CudaError> {
        let set = Set {
            x: gpu.zeros(x.len())?,
            y: gpu.zeros(targets.len())?,
            classes: gpu.zeros(samples)?,
            order: gpu.zeros(samples)?,
            samples,
            labelled: classes.is_some(),
        };
        gpu.upload(x, 0, &set.x)?;
        gpu.upload(targets, 0, &set.y)?;
        if let Some(classes) = classes {
            gpu.upload(classes, 0, &set.classes)?;
        }
        let n = samples;
        let rows: Vec<u32> = (0..n as u32).collect();
        gpu.upload(&rows, 0, &set.order)?;
        Ok(set)
    }
}

/// A program that is run on some samples of a set.
pub struct Pass<T> {
    pub workspace: Workspace<T>,
    pub sizes: Sizes,
    gather: Kernel,
    x: Arc<Array<T>>,
    y: Arc<Array<T>>,
}

impl<T: Number> Pass<T> {
    /// Loads a program whose leaf 0 is the inputs and leaf `targets` the targets.
    pub fn new(
        gpu: &Arc<Gpu>,
        program: &Program,
        precision: Precision,
        sizes: Sizes,
        targets: usize,
        given: impl Fn(usize) -> Option<Arc<Array<T>>>,
    ) -> Result<Self, CudaError> {
        let x = Arc::new(gpu.zeros(sizes.samples * sizes.input)?);
        let y = Arc::new(gpu.zeros(sizes.samples * sizes.outputs)?);
        let leaf = |leaf| match leaf {
            0 => Some(x.clone()),
            leaf if leaf == targets => Some(y.clone()),
            leaf => given(leaf),
        };
        let workspace = Workspace::with(gpu.clone(), program, precision, leaf)?;
        // Kernels of libraries are loaded by their first call, which a recording forbids.
        workspace.start()?;
        let mut kernels = gpu.compile(&[kernels::gather(T::DTYPE, sizes)])?;
        Ok(Pass {
            workspace,
            sizes,
            gather: kernels.remove(0),
            x,
            y,
        })
    }

    /// Brings the samples of the pass that `clock` tells together.
    pub fn gather(&self, gpu: &Gpu, set: &Set<T>, clock: &Array<i64>) -> Result<(), CudaError> {
        let Sizes {
            samples,
            input,
            outputs,
            ..
        } = self.sizes;
        let blocks = (samples * input).div_ceil(THREADS).clamp(1, BLOCKS);
        let arguments = [
            T::argument(&self.x, samples * input),
            T::argument(&self.y, samples * outputs),
            Argument::F32(&set.x, set.samples * input),
            T::argument(&set.y, set.samples * outputs),
            Argument::U32(&set.order, set.samples),
            Argument::I64(clock, 1),
        ];
        gpu.start(&self.gather, [blocks, 1, 1], &arguments)
    }
}
