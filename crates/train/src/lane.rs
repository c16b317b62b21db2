//! Chunks of a batch, one after the other in one session.

use std::sync::Arc;

use polariscope_diff::cuda::CudaError;
use polariscope_diff::{Loaded, Number, Program};
use polariscope_network::Weights;
use polariscope_random::Stream;

use crate::expressions::{GRADIENT, LOSS, OUTPUT};
use crate::{Batch, Origin};

/// The plan of a chunk.
pub(crate) struct Compiled {
    pub program: Arc<Program>,
    /// Numbers a sample and rate of each dropout mask.
    pub masks: Vec<(usize, f64)>,
}

/// Samples that are evaluated together.
pub(crate) struct Chunk {
    pub plan: usize,
    pub first: usize,
    pub samples: usize,
}

/// Chunks that are evaluated one after the other.
pub(crate) struct Lane<T> {
    pub chunks: Vec<Chunk>,
    /// One for each plan that the chunks use.
    pub sessions: Vec<Option<Loaded<T>>>,
    pub masks: Vec<Vec<T>>,
    pub loss: f64,
    pub f: Vec<T>,
    /// The gradient, where there is more than one chunk.
    pub sum: Vec<Vec<T>>,
}

/// What every lane reads.
pub(crate) struct Shared<'a, T> {
    pub plans: &'a [Compiled],
    pub mask_names: &'a [String],
    pub sample: usize,
    pub outputs: usize,
    pub origin: Origin,
    pub weights: &'a Weights<T>,
    pub batch: Batch<'a, T>,
}

impl<T: Number> Lane<T> {
    /// Evaluates every chunk.
    pub fn run(&mut self, shared: &Shared<T>) -> Result<(), CudaError> {
        self.loss = 0.0;
        self.f.clear();
        for c in 0..self.chunks.len() {
            self.run_chunk(c, shared)?;
            let plan = self.chunks[c].plan;
            let Some(session) = &self.sessions[plan] else {
                continue;
            };
            let output = |i| session.output(i);
            self.loss += output(LOSS)[0].to_f64();
            self.f.extend_from_slice(output(OUTPUT));
            for (i, sum) in self.sum.iter_mut().enumerate() {
                match c {
                    0 => sum.copy_from_slice(output(GRADIENT + i)),
                    _ => sum
                        .iter_mut()
                        .zip(output(GRADIENT + i))
                        .for_each(|(s, &g)| *s += g),
                }
            }
        }
        Ok(())
    }

    fn run_chunk(&mut self, c: usize, shared: &Shared<T>) -> Result<(), CudaError> {
        let Chunk {
            plan,
            first,
            samples,
        } = self.chunks[c];
        let (compiled, batch) = (&shared.plans[plan], &shared.batch);
        let masks = self
            .masks
            .iter_mut()
            .zip(shared.mask_names)
            .zip(&compiled.masks);
        for ((mask, name), &(length, rate)) in masks {
            mask.resize(samples * length, T::ZERO);
            draw_mask(
                &Stream::new(batch.seed, batch.step, name),
                first * length,
                rate,
                mask,
            );
        }
        let rows = |width: usize| first * width..(first + samples) * width;
        let mut leaves: Vec<&[T]> = Vec::with_capacity(compiled.program.leaves.len());
        leaves.push(&batch.x[rows(shared.sample)]);
        leaves.extend(shared.weights.values.iter().map(Vec::as_slice));
        leaves.extend(self.masks.iter().map(Vec::as_slice));
        leaves.push(&batch.y[rows(shared.outputs)]);
        if shared.origin == Origin::Initial {
            leaves.push(&batch.origin[rows(shared.outputs)]);
        }
        match &mut self.sessions[plan] {
            Some(session) => session.run(&leaves),
            None => Ok(()),
        }
    }

    /// Output `i` of the last chunk of a plan.
    pub fn output(&self, plan: usize, i: usize) -> &[T] {
        self.sessions[plan]
            .as_ref()
            .map_or(&[], |session| session.output(i))
    }

    /// The lane's gradient in trainable parameter `i`.
    pub fn gradient(&self, i: usize) -> &[T] {
        match self.chunks.as_slice() {
            [chunk] => self.output(chunk.plan, GRADIENT + i),
            _ => &self.sum[i],
        }
    }
}

/// Elements first, … of a mask: 0 with probability `rate`, otherwise 1/(1−rate).
fn draw_mask<T: Number>(stream: &Stream, first: usize, rate: f64, mask: &mut [T]) {
    let keep = T::from_f64(1.0 / (1.0 - rate));
    let threshold = (2.0 * rate - 1.0) as f32;
    let mut draws = [0.0_f32; 1024];
    for (i, mask) in mask.chunks_mut(draws.len()).enumerate() {
        let draws = &mut draws[..mask.len()];
        stream.uniform_from((first + i * 1024) as u64, 1.0, draws);
        for (m, &u) in mask.iter_mut().zip(draws.iter()) {
            *m = if u < threshold { T::ZERO } else { keep };
        }
    }
}
