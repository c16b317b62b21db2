//! The CUDA device: runs a [`Program`] in f32 or f64 on a GPU.
//!
//! The driver and its libraries are loaded when a device is first asked for; without them everything else works, and
//! asking is an error of one line.

mod driver;
mod error;
mod lazy;
mod maxima;
mod plan;
mod pools;
mod source;

use std::sync::Arc;
use std::time::Instant;

use driver::Prepared;
pub use driver::{Argument, Array, CudaSource, Eigen, Gpu, Kernel, Recording, Stored};
pub use error::CudaError;

use crate::cpu::Number;
use crate::device::Precision;
use crate::program::{Program, Step};
use crate::real::Dtype;
use maxima::{Maximum, maxima};
use plan::LaunchPlan;
use source::{Call, Convolution, Operand, Product};

/// A program on a GPU: its kernels and its buffers.
pub struct Workspace<T> {
    gpu: Arc<Gpu>,
    leaves: Vec<Arc<Array<T>>>,
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
    /// Those of them that it writes.
    written: Vec<Place>,
}

enum Ready {
    /// A kernel of ours and its blocks.
    Kernel(Kernel, [usize; 3]),
    Product(Product),
    Convolution(Arc<Prepared>),
}

/// Where an array lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Leaf(usize),
    Buffer(usize),
    Scratch,
}

/// What runs for a program: of which step, what, on which arrays, and which of them it writes.
type Wanted = (usize, Call, Vec<Place>, Vec<Place>);

/// The calls of a program, of which `library` takes some convolutions.
fn calls<T: Number>(
    program: &Program,
    precision: Precision,
    library: impl Fn(&Step) -> Option<Prepared>,
) -> (LaunchPlan, Vec<Wanted>) {
    let maxima = maxima(program);
    let max = |at: usize| maxima[at] == Some(Maximum::Value);
    let elements = |at: usize| source::elements(&program.steps[at], T::DTYPE, max(at));
    let steps = 0..program.steps.len();
    let is_elements: Vec<bool> = steps.map(|at| elements(at).is_some()).collect();
    let plan = LaunchPlan::new(program, &is_elements, &maxima, T::DTYPE);
    let mut calls = Vec::new();
    for group in &plan.groups {
        let at = group.steps[0];
        let made = plan.made_argument(at);
        if let Some(pool) = group.pool {
            let (code, places) = plan.pooled(program, pool, at, T::DTYPE);
            calls.push((at, Call::Kernel(code), places, plan.stored(group)));
        } else if group.steps.len() == 1 && (made.is_none() || !is_elements[at]) {
            let step = &program.steps[at];
            let spread = made.and_then(|argument| source::of_spread(step, argument, T::DTYPE));
            let plain = || match library(step) {
                Some(prepared) => vec![Call::Convolution(Arc::new(prepared))],
                None => source::calls(step, T::DTYPE, precision, max(at)),
            };
            for call in spread.unwrap_or_else(plain) {
                let mut operands =
                    vec![Operand::Result, Operand::Argument(0), Operand::Argument(1)];
                match &call {
                    Call::Kernel(code) => operands = code.operands.clone(),
                    Call::Product(_) => {}
                    Call::Convolution(_) => operands.push(Operand::Scratch),
                }
                let places = operands.iter().map(|operand| match *operand {
                    Operand::Result => plan.result(at),
                    Operand::Argument(i) => plan.argument(at, i),
                    Operand::Through(i, j) => plan.argument_through(at, i, j),
                    Operand::Scratch => Place::Scratch,
                });
                let places: Vec<Place> = places.collect();
                let written = vec![places[0]];
                calls.push((at, call, places, written));
            }
        } else {
            let (code, places) = plan.kernel(program, group, &maxima, T::DTYPE);
            let written = plan.stored(group);
            calls.push((group.steps[0], Call::Kernel(code), places, written));
        }
    }
    (plan, calls)
}

impl<T: Number> Workspace<T> {
    /// Compiles the kernels of `program` and takes its memory.
    pub fn new(gpu: Arc<Gpu>, program: &Program, precision: Precision) -> Result<Self, CudaError> {
        Self::with(gpu, program, precision, |_| None)
    }

    /// Does so for leaves that may be there already: where `given` has one, it is shared.
    pub fn with(
        gpu: Arc<Gpu>,
        program: &Program,
        precision: Precision,
        given: impl Fn(usize) -> Option<Arc<Array<T>>>,
    ) -> Result<Self, CudaError> {
        // cuDNN's products are TF32.
        let library = |step: &Step| match (T::DTYPE, precision) {
            (Dtype::F32, Precision::Fast) => gpu.convolution(&Convolution::new(step)?),
            _ => None,
        };
        let (plan, calls) = calls::<T>(program, precision, library);
        let codes: Vec<_> = calls
            .iter()
            .filter_map(|(_, call, ..)| match call {
                Call::Kernel(code) => Some(code.source(T::DTYPE)),
                Call::Product(_) | Call::Convolution(_) => None,
            })
            .collect();
        let mut kernels = gpu.compile(&codes)?.into_iter();
        let mut scratch = 0;
        let mut planned = Vec::with_capacity(calls.len());
        for (step, call, places, written) in calls {
            let what = match call {
                Call::Product(product) => Ready::Product(product),
                Call::Convolution(prepared) => {
                    scratch = scratch.max(prepared.scratch.div_ceil(size_of::<T>()));
                    Ready::Convolution(prepared)
                }
                Call::Kernel(code) => {
                    scratch = scratch.max(code.scratch);
                    let Some(kernel) = kernels.next() else {
                        unreachable!("every code was compiled");
                    };
                    Ready::Kernel(kernel, code.blocks)
                }
            };
            planned.push(Planned {
                step,
                what,
                places,
                written,
            });
        }
        let leaf = |(leaf, &n): (usize, &usize)| match given(leaf) {
            Some(array) => {
                assert!(array.len() >= n, "leaf {leaf} has {} numbers", array.len());
                Ok(array)
            }
            None => gpu.zeros(n).map(Arc::new),
        };
        let leaves: Result<_, CudaError> = program.leaves.iter().enumerate().map(leaf).collect();
        let buffers: Result<_, CudaError> = plan.buffers.iter().map(|&n| gpu.zeros(n)).collect();
        let workspace = Workspace {
            leaves: leaves?,
            buffers: buffers?,
            scratch: gpu.zeros(scratch)?,
            calls: planned,
            results: plan.results(),
            outputs: program
                .outputs
                .iter()
                .map(|&(_, n)| vec![T::ZERO; n])
                .collect(),
            gpu,
        };
        // cuDNN loads its kernels when they are first needed, which a recording does not allow.
        for call in &workspace.calls {
            if matches!(call.what, Ready::Convolution(_)) {
                workspace.perform(call)?;
            }
        }
        Ok(workspace)
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
        self.gpu.upload(from, at, &self.leaves[leaf])
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
            Place::Leaf(l) => &self.leaves[l],
            Place::Buffer(b) => &self.buffers[b],
            Place::Scratch => &self.scratch,
        };
        let arrays: Vec<_> = call.places.iter().map(array).collect();
        match &call.what {
            Ready::Kernel(kernel, blocks) => {
                let written = |at: usize| call.written.contains(&call.places[at]);
                self.gpu.perform(kernel, *blocks, &arrays, written)
            }
            Ready::Product(product) => self.gpu.multiply(product, &arrays),
            Ready::Convolution(prepared) => self.gpu.convolve(prepared, &arrays),
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

/// What runs for a program, for those who want to read it or to run it elsewhere.
#[derive(Clone, Debug)]
pub struct Listing {
    /// In order.
    pub calls: Vec<Listed>,
    /// Length of each buffer.
    pub buffers: Vec<usize>,
    /// Numbers of memory between the kernels of a step.
    pub scratch: usize,
    /// Buffer of each output.
    pub results: Vec<usize>,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What is called.
    pub what: Called,
    /// What it is given: `leaf N`, `buffer N` or `scratch`.
    pub arrays: Vec<String>,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Called {
    /// CUDA C++ of a kernel named `k`, and its blocks.
    Kernel(String, [usize; 3]),
    /// A batched product: matrices, m, n, k, and whether A and B are transposed.
    Product([usize; 4], [bool; 2]),
}

/// Lists the calls of a program in full precision, without a GPU.
pub fn listing<T: Number>(program: &Program) -> Listing {
    let (plan, calls) = calls::<T>(program, Precision::Full, |_| None);
    let mut scratch = 0;
    let listed = calls.into_iter().map(|(_, call, places, _)| Listed {
        what: match call {
            Call::Kernel(code) => {
                scratch = scratch.max(code.scratch);
                Called::Kernel(code.source(T::DTYPE).text, code.blocks)
            }
            Call::Product(p) => Called::Product([p.batch, p.m, p.n, p.k], [p.ta, p.tb]),
            Call::Convolution(_) => unreachable!("no library was asked"),
        },
        arrays: places.iter().map(Place::to_string).collect(),
    });
    Listing {
        calls: listed.collect(),
        results: plan.results(),
        buffers: plan.buffers,
        scratch,
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Leaf(n) => write!(f, "leaf {n}"),
            Place::Buffer(n) => write!(f, "buffer {n}"),
            Place::Scratch => f.write_str("scratch"),
        }
    }
}
