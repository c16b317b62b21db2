//! The CUDA device: runs a [`Program`] in f32 or f64 on a GPU.
//!
//! The driver and its libraries are loaded when a device is first asked for; without them everything else works, and
//! asking is an error of one line.

mod driver;
mod error;
mod source;

use std::sync::Arc;

pub use driver::{Argument, Array, Gpu, Kernel, Source, Stored};
pub use error::CudaError;

use crate::cpu::Number;
use crate::program::{Program, Value};
use source::{Call, Memory, Product};

/// A program on a GPU: its kernels and its buffers.
pub struct Workspace<T> {
    gpu: Arc<Gpu>,
    leaves: Vec<Array<T>>,
    buffers: Vec<Array<T>>,
    scratch: Array<T>,
    calls: Vec<Planned>,
    /// What the last run left, by output.
    outputs: Vec<Vec<T>>,
}

/// A call with the places of what it writes and, after that, reads.
struct Planned {
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
    pub fn new(gpu: Arc<Gpu>, program: &Program) -> Result<Self, CudaError> {
        let calls: Vec<_> = program
            .steps
            .iter()
            .flat_map(|step| {
                let calls = source::calls(step, T::DTYPE);
                calls.into_iter().map(move |call| (step, call))
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
        for (step, call) in calls {
            let out = Place::Value(Value::Buffer(step.out));
            let args = step.args.iter().map(|a| Place::Value(a.value));
            let mut places: Vec<Place> = std::iter::once(out).chain(args).collect();
            let what = match call {
                Call::Product(product) => Ready::Product(product),
                Call::Kernel(code) => {
                    match code.memory {
                        Memory::Step => {}
                        Memory::Scratch(numbers) => {
                            scratch = scratch.max(numbers);
                            places[0] = Place::Scratch;
                        }
                        Memory::Result => places = vec![out, Place::Scratch],
                    }
                    let Some(kernel) = kernels.next() else {
                        unreachable!("every code was compiled");
                    };
                    Ready::Kernel(kernel, code.blocks)
                }
            };
            planned.push(Planned { what, places });
        }
        let arrays = |lengths: &[usize]| -> Result<Vec<Array<T>>, CudaError> {
            lengths.iter().map(|&n| gpu.zeros(n)).collect()
        };
        Ok(Workspace {
            leaves: arrays(&program.leaves)?,
            buffers: arrays(&program.buffers)?,
            scratch: gpu.zeros(scratch)?,
            calls: planned,
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
        let wanted = program.leaves.iter().zip(leaves).zip(&mut self.leaves);
        for ((_, from), to) in wanted.filter(|((n, _), _)| **n > 0) {
            self.gpu.upload(from, to)?;
        }
        let array = |place: &Place| match *place {
            Place::Value(Value::Leaf(l)) => &self.leaves[l],
            Place::Value(Value::Buffer(b)) => &self.buffers[b],
            Place::Scratch => &self.scratch,
        };
        for call in &self.calls {
            let arrays: Vec<_> = call.places.iter().map(array).collect();
            match &call.what {
                Ready::Kernel(kernel, blocks) => self.gpu.perform(kernel, *blocks, &arrays)?,
                Ready::Product(product) => self.gpu.multiply(product, &arrays)?,
            }
        }
        for (&(buffer, _), to) in program.outputs.iter().zip(&mut self.outputs) {
            self.gpu.download(&self.buffers[buffer], to)?;
        }
        Ok(())
    }

    /// Output number i of the last run.
    pub fn output(&self, i: usize) -> &[T] {
        &self.outputs[i]
    }
}
