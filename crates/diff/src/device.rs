//! Where programs run.
//!
//! A plan ([`Program`]) is the same for every device. A [`Session`] is a plan with its memory on the processor, where
//! nothing can fail; [`Loaded`] is a plan on any [`Device`].

use std::sync::Arc;

use crate::cpu::{self, Number};
use crate::cuda::{self, CudaError, Gpu};
use crate::program::Program;

/// A device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// The processor, with the threads of the current pool.
    #[default]
    Cpu,
    /// A GPU, by number.
    Cuda(usize),
}

/// How products of f32 are made on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Each to 2⁻²¹ or better; sums in f32.
    #[default]
    Full,
    /// With factors of 11 bits (TF32).
    Fast,
}

/// A device and how it multiplies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Where.
    pub device: Device,
    /// How precisely; the CPU knows full precision alone.
    pub precision: Precision,
}

impl std::fmt::Display for Device {
    /// As on the command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

impl std::str::FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "cpu" => Some(Device::Cpu),
            None if text == "cuda" => Some(Device::Cuda(0)),
            Some(("cuda", n)) => n.parse().ok().map(Device::Cuda),
            _ => None,
        }
        .ok_or_else(|| "unknown device; it is cpu or cuda[:n]".to_string())
    }
}

impl std::fmt::Display for Precision {
    /// As on the command line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Precision::Full => "full",
            Precision::Fast => "fast",
        })
    }
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Precision::Full),
            "fast" => Ok(Precision::Fast),
            _ => Err("it is full or fast".to_string()),
        }
    }
}

/// A program on the processor.
///
/// ```
/// use std::sync::Arc;
/// use polariscope_diff::{Program, Session, Trace};
/// let mut t = Trace::new();
/// let x = t.leaf(&[2]);
/// let y = t.scale(x, 3.0);
/// let mut session = Session::new(Arc::new(Program::new(&t, &[y])));
/// session.run(&[&[1.0_f32, 2.0]]);
/// assert_eq!(session.output(0), &[3.0, 6.0]);
/// ```
pub struct Session<T> {
    program: Arc<Program>,
    workspace: cpu::Workspace<T>,
}

impl<T: Number> Session<T> {
    /// Takes the memory that `program` needs.
    pub fn new(program: Arc<Program>) -> Self {
        let workspace = cpu::Workspace::new(&program);
        Session { program, workspace }
    }

    /// Runs the program on its inputs; those that no output needs may be empty.
    pub fn run(&mut self, leaves: &[&[T]]) {
        check(&self.program, leaves);
        T::run(&mut self.workspace, &self.program, leaves);
    }

    /// Output number i of the last run.
    pub fn output(&self, i: usize) -> &[T] {
        let (buffer, length) = self.program.outputs[i];
        &self.workspace.buffer(buffer)[..length]
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.program.outputs.len()
    }
}

fn check<T>(program: &Program, leaves: &[&[T]]) {
    for (i, (&want, leaf)) in program.leaves.iter().zip(leaves).enumerate() {
        assert!(
            want == 0 || want == leaf.len(),
            "input {i} has {} numbers instead of {want}",
            leaf.len()
        );
    }
}

/// A program loaded on a device.
pub enum Loaded<T> {
    /// On the processor.
    Cpu(Session<T>),
    /// On a GPU.
    Cuda(Arc<Program>, Box<cuda::Workspace<T>>),
}

impl<T: Number> Loaded<T> {
    /// Compiles what must be compiled, and takes the memory that `program` needs on `device`.
    pub fn new(program: Arc<Program>, device: Device) -> Result<Self, CudaError> {
        match device {
            Device::Cpu => Ok(Loaded::Cpu(Session::new(program))),
            Device::Cuda(ordinal) => {
                let workspace =
                    cuda::Workspace::new(Gpu::open(ordinal)?, &program, Precision::Full)?;
                Ok(Loaded::Cuda(program, Box::new(workspace)))
            }
        }
    }

    /// Runs the program on its inputs; those that no output needs may be empty.
    pub fn run(&mut self, leaves: &[&[T]]) -> Result<(), CudaError> {
        match self {
            Loaded::Cpu(session) => {
                session.run(leaves);
                Ok(())
            }
            Loaded::Cuda(program, workspace) => {
                check(program, leaves);
                workspace.run(program, leaves)
            }
        }
    }

    /// Output number i of the last run.
    pub fn output(&self, i: usize) -> &[T] {
        match self {
            Loaded::Cpu(session) => session.output(i),
            Loaded::Cuda(_, workspace) => workspace.output(i),
        }
    }
}

impl Program {
    /// Runs once on the CPU and returns the outputs.
    pub fn evaluate<T: Number>(&self, leaves: &[&[T]]) -> Vec<Vec<T>> {
        let mut session = Session::new(Arc::new(self.clone()));
        session.run(leaves);
        (0..session.outputs())
            .map(|i| session.output(i).to_vec())
            .collect()
    }
}
