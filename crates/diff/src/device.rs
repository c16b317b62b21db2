//! Where programs run.
//!
//! A plan ([`Program`]) is the same for every device; a [`Session`] is a plan on a device with the memory it
//! needs there. What is built on top passes a [`Device`] along and never looks inside.

use std::sync::Arc;

use crate::cpu::{self, Number};
use crate::program::Program;

/// A device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// The processor, with the threads of the current pool.
    #[default]
    Cpu,
}

/// A program loaded on a device.
///
/// ```
/// use std::sync::Arc;
/// use polariscope_diff::{Device, Program, Session, Trace};
/// let mut t = Trace::new();
/// let x = t.leaf(&[2]);
/// let y = t.scale(x, 3.0);
/// let mut session = Session::new(Arc::new(Program::new(&t, &[y])), Device::Cpu);
/// session.run(&[&[1.0_f32, 2.0]]);
/// assert_eq!(session.output(0), &[3.0, 6.0]);
/// ```
pub struct Session<T> {
    program: Arc<Program>,
    memory: Memory<T>,
}

/// The memory of a session, by device.
enum Memory<T> {
    Cpu(cpu::Workspace<T>),
}

impl<T: Number> Session<T> {
    /// Takes the memory that `program` needs on `device`.
    pub fn new(program: Arc<Program>, device: Device) -> Self {
        let memory = match device {
            Device::Cpu => Memory::Cpu(cpu::Workspace::new(&program)),
        };
        Session { program, memory }
    }

    /// Runs the program on its inputs; those that no output needs may be empty.
    pub fn run(&mut self, leaves: &[&[T]]) {
        for (i, (&want, leaf)) in self.program.leaves.iter().zip(leaves).enumerate() {
            assert!(
                want == 0 || want == leaf.len(),
                "input {i} has {} numbers instead of {want}",
                leaf.len()
            );
        }
        match &mut self.memory {
            Memory::Cpu(workspace) => T::run(workspace, &self.program, leaves),
        }
    }

    /// Output number i of the last run.
    pub fn output(&self, i: usize) -> &[T] {
        let (buffer, length) = self.program.outputs[i];
        match &self.memory {
            Memory::Cpu(workspace) => &workspace.buffer(buffer)[..length],
        }
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.program.outputs.len()
    }
}

impl Program {
    /// Runs once on the CPU and returns the outputs.
    pub fn evaluate<T: Number>(&self, leaves: &[&[T]]) -> Vec<Vec<T>> {
        let mut session = Session::new(Arc::new(self.clone()), Device::Cpu);
        session.run(leaves);
        (0..session.outputs())
            .map(|i| session.output(i).to_vec())
            .collect()
    }
}
