//! The CUDA device: runs a [`Program`] in f32 or f64 on a GPU.
//!
//! The driver and its libraries are loaded when a device is first asked for; without them everything else works, and
//! asking is an error of one line.

mod driver;
mod error;
mod maxima;
mod source;

use std::sync::Arc;
use std::time::Instant;

pub use driver::{Argument, Array, Gpu, Kernel, Source, Stored};
pub use error::CudaError;

use crate::cpu::Number;
use crate::device::Precision;
use crate::program::{Program, Value};
use maxima::{Maximum, maxima};
use source::{Call, Operand, Product};

/// A program on a GPU: its kernels and its buffers.
pub struct Workspace<T> {
    gpu: Arc<Gpu>,
    leaves: Vec<Array<T>>,
    buffers: Vec<Array<T>>,
    scratch: Array<T>,
    calls: Vec<Planned>,
    /// Buffer of each output.
    results: Vec<usize>,
    /// What the last run left, by output.
    outputs: Vec<Vec<T>>,
}

/// A call with the places of what it writes and, after that, reads.
struct Planned {
    /// Of which step.
    step: usize,
    what: Ready,
    places: Vec<Place>,
}

enum Ready {
    /// A kernel of ours and its blocks.
    Kernel(Kernel, [usize; 3]),
    Product(Product),
}

#[derive(Clone, Copy)]
enum Place {
    Value(Value),
    Scratch,
}

impl<T: Number> Workspace<T> {
    /// Compiles the kernels of `program` and takes its memory.
    pub fn new(gpu: Arc<Gpu>, program: &Program, precision: Precision) -> Result<Self, CudaError> {
        let maxima = maxima(program);
        let steps = program.steps.iter().enumerate();
        let calls: Vec<_> = steps
            .flat_map(|(at, step)| {
                let calls = match maxima[at] {
                    None => source::calls(step, T::DTYPE, precision),
                    Some(Maximum::Place) => Vec::new(),
                    Some(Maximum::Value) => source::max(step),
                };
                calls.into_iter().map(move |call| (at, call))
            })
            .collect();
        let codes: Vec<_> = calls
            .iter()
            .filter_map(|(_, call)| match call {
                Call::Kernel(code) => Some(code.source(T::DTYPE)),
                Call::Product(_) => None,
            })
            .collect();
        let mut kernels = gpu.compile(&codes)?.into_iter();
        let mut scratch = 0;
        let mut planned = Vec::with_capacity(calls.len());
        for (at, call) in calls {
            let step = &program.steps[at];
            let place = |operand: &Operand| match *operand {
                Operand::Result => Place::Value(Value::Buffer(step.out)),
                Operand::Argument(i) => Place::Value(step.args[i].value),
                Operand::Scratch => Place::Scratch,
            };
            let (what, places) = match call {
                Call::Product(product) => {
                    let operands = [Operand::Result, Operand::Argument(0), Operand::Argument(1)];
                    let places = operands.iter().map(place).collect();
                    (Ready::Product(product), places)
                }
                Call::Kernel(code) => {
                    scratch = scratch.max(code.scratch);
                    let Some(kernel) = kernels.next() else {
                        unreachable!("every code was compiled");
                    };
                    let places = code.operands.iter().map(place).collect();
                    (Ready::Kernel(kernel, code.blocks), places)
                }
            };
            planned.push(Planned {
                step: at,
                what,
                places,
            });
        }
        let arrays = |lengths: &[usize]| -> Result<Vec<Array<T>>, CudaError> {
            lengths.iter().map(|&n| gpu.zeros(n)).collect()
        };
        Ok(Workspace {
            leaves: arrays(&program.leaves)?,
            buffers: arrays(&program.buffers)?,
            scratch: gpu.zeros(scratch)?,
            calls: planned,
            results: program.outputs.iter().map(|&(buffer, _)| buffer).collect(),
            outputs: program
                .outputs
                .iter()
                .map(|&(_, n)| vec![T::ZERO; n])
                .collect(),
            gpu,
        })
    }

    /// Runs the program on numbers of ours.
    pub fn run(&mut self, program: &Program, leaves: &[&[T]]) -> Result<(), CudaError> {
        for (leaf, from) in leaves.iter().enumerate() {
            if program.leaves.get(leaf).is_some_and(|&n| n > 0) {
                self.upload(leaf, 0, from)?;
            }
        }
        self.start()?;
        for (&buffer, to) in self.results.iter().zip(&mut self.outputs) {
            self.gpu.download(&self.buffers[buffer], to)?;
        }
        Ok(())
    }

    /// Gives a leaf its numbers, from number `at` on.
    pub fn upload(&mut self, leaf: usize, at: usize, from: &[T]) -> Result<(), CudaError> {
        self.gpu.upload(from, at, &mut self.leaves[leaf])
    }

    /// A leaf, for kernels that fill it.
    pub fn leaf(&self, leaf: usize) -> &Array<T> {
        &self.leaves[leaf]
    }

    /// Where output number i lies.
    pub fn result(&self, i: usize) -> &Array<T> {
        &self.buffers[self.results[i]]
    }

    /// Starts the program on what the leaves hold; results stay on the GPU.
    pub fn start(&self) -> Result<(), CudaError> {
        self.calls.iter().try_for_each(|call| self.perform(call))
    }

    fn perform(&self, call: &Planned) -> Result<(), CudaError> {
        let array = |place: &Place| match *place {
            Place::Value(Value::Leaf(l)) => &self.leaves[l],
            Place::Value(Value::Buffer(b)) => &self.buffers[b],
            Place::Scratch => &self.scratch,
        };
        let arrays: Vec<_> = call.places.iter().map(array).collect();
        match &call.what {
            Ready::Kernel(kernel, blocks) => self.gpu.perform(kernel, *blocks, &arrays),
            Ready::Product(product) => self.gpu.multiply(product, &arrays),
        }
    }

    /// Seconds of each step by the clock, alone on the GPU, as a mean over `repeats` runs of it.
    pub fn seconds(&self, steps: usize, repeats: u32) -> Result<Vec<f64>, CudaError> {
        let mut seconds = vec![0.0; steps];
        for call in &self.calls {
            self.gpu.wait()?;
            let start = Instant::now();
            for _ in 0..repeats {
                self.perform(call)?;
            }
            self.gpu.wait()?;
            seconds[call.step] += start.elapsed().as_secs_f64() / f64::from(repeats);
        }
        Ok(seconds)
    }

    /// Output number i of the last run.
    pub fn output(&self, i: usize) -> &[T] {
        &self.outputs[i]
    }
}
