//! The kernels of an attempt after its program.

use polariscope_diff::Number;
use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu, Kernel};

use super::super::kernels::{GROUP, Tensor, blocks, span};
use super::kernels::{self, STATUS, SUMS};
use crate::{FlowConfig, Origin};

/// What an attempt reads and writes of a tensor.
pub struct Changed<'a, T> {
    pub tensor: Tensor,
    pub here: &'a Array<T>,
    /// Of what the program made: its gradient, or what it follows.
    pub there: &'a Array<T>,
    /// g and the trial, where it goes against its gradient.
    pub descends: Option<[&'a Array<T>; 2]>,
}

impl<'a, T: Number> Changed<'a, T> {
    fn arguments(
        &self,
        arrays: Vec<&'a Array<T>>,
        networks: usize,
    ) -> impl Iterator<Item = Argument<'a>> {
        let n = networks * self.tensor.numbers;
        arrays.into_iter().map(move |array| T::argument(array, n))
    }

    /// As the kernel `survey` has it.
    fn surveyed(&self) -> Vec<&'a Array<T>> {
        let rest = self.descends.map(|[gradient, _]| [gradient, self.there]);
        let rest = rest.into_iter().flatten();
        std::iter::once(self.here).chain(rest).collect()
    }

    /// As the kernel `advance` has it.
    fn advanced(&self) -> Vec<&'a Array<T>> {
        match self.descends {
            Some([gradient, trial]) => vec![self.here, gradient, self.there, trial],
            None => vec![self.here, self.there],
        }
    }
}

/// What a decision reads beside the tensors.
pub struct Read<'a, T> {
    pub partial: &'a Array<f64>,
    pub loss: &'a Array<T>,
    /// Outputs here, at the trial, at the start; targets.
    pub f: [&'a Array<T>; 3],
    pub y: &'a Array<T>,
}

/// Kernels, compiled.
pub struct Attempt {
    networks: usize,
    /// Outputs of a network.
    numbers: usize,
    span: usize,
    parts: usize,
    surveys: Vec<Kernel>,
    decide: Kernel,
    advances: Vec<Kernel>,
}

fn tensors<T>(changed: &[Changed<T>]) -> Vec<Tensor> {
    changed.iter().map(|c| c.tensor).collect()
}

impl Attempt {
    /// For tensors of which the last are the outputs: they move, but are not surveyed.
    pub fn new<T: Number>(
        gpu: &Gpu,
        origin: Origin,
        changed: &[Changed<T>],
        networks: usize,
    ) -> Result<Self, CudaError> {
        let all = tensors(changed);
        let Some((outputs, weights)) = all.split_last() else {
            unreachable!("a network has outputs");
        };
        let span = span(weights);
        let parts = blocks(weights, span);
        let mut sources = Vec::new();
        let mut at = 0;
        for group in weights.chunks(GROUP) {
            sources.push(kernels::survey(T::DTYPE, group, span, at, parts));
            at += blocks(group, span);
        }
        let surveys = sources.len();
        let initial = origin == Origin::Initial;
        sources.push(kernels::decide(T::DTYPE, outputs.numbers, initial, parts));
        for group in all.chunks(GROUP) {
            sources.push(kernels::advance(T::DTYPE, group, span));
        }
        let mut compiled = gpu.compile(&sources)?.into_iter();
        let surveys = compiled.by_ref().take(surveys).collect();
        let Some(decide) = compiled.next() else {
            unreachable!("every source was compiled");
        };
        Ok(Attempt {
            networks,
            numbers: outputs.numbers,
            span,
            parts,
            surveys,
            decide,
            advances: compiled.collect(),
        })
    }

    /// Numbers that the survey leaves.
    pub fn sums(&self) -> usize {
        self.networks * self.parts * SUMS
    }

    /// Starts them.
    pub fn start<T: Number>(
        &self,
        gpu: &Gpu,
        config: &FlowConfig,
        changed: &[Changed<T>],
        status: &Array<f64>,
        read: &Read<T>,
    ) -> Result<(), CudaError> {
        let networks = self.networks;
        let weights = &changed[..changed.len() - 1];
        for (kernel, group) in self.surveys.iter().zip(weights.chunks(GROUP)) {
            let mut arguments = vec![Argument::F64(read.partial, self.sums())];
            for c in group {
                arguments.extend(c.arguments(c.surveyed(), networks));
            }
            let blocks = blocks(&tensors(group), self.span);
            gpu.start(kernel, [blocks, networks, 1], &arguments)?;
        }
        let all = Argument::F64(status, networks * STATUS);
        let [f, there, f0] = read.f.map(|f| T::argument(f, networks * self.numbers));
        let arguments = [
            all,
            Argument::F64(read.partial, self.sums()),
            T::argument(read.loss, networks),
            f,
            there,
            f0,
            T::argument(read.y, self.numbers),
            Argument::Number(config.alpha),
            Argument::Number(config.max_output_change),
            Argument::Number(config.max_gradient_change),
            Argument::Number(config.margin),
            Argument::Number(config.max_time),
            Argument::Number(config.max_steps as f64),
        ];
        gpu.start(&self.decide, [networks, 1, 1], &arguments)?;
        for (kernel, group) in self.advances.iter().zip(changed.chunks(GROUP)) {
            let mut arguments = vec![all];
            for c in group {
                arguments.extend(c.arguments(c.advanced(), networks));
            }
            let blocks = blocks(&tensors(group), self.span);
            gpu.start(kernel, [blocks, networks, 1], &arguments)?;
        }
        Ok(())
    }
}
