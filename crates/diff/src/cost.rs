//! What a step costs at least, for roofs.

use crate::program::{Kernel, Step};
use crate::trace::{Op, size};

/// Arithmetic and memory of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// What it does, and on which shape: `conv 64×32×3×3`.
    pub name: String,
    /// Multiplications and additions.
    pub operations: f64,
    /// Numbers that are read and written, each once.
    pub numbers: f64,
}

impl Step {
    /// What this step costs at least.
    pub fn cost(&self) -> Cost {
        let out = size(&self.shape) as f64;
        let read: usize = self.args.iter().map(|a| size(&a.shape)).sum();
        let (name, operations) = match &self.kernel {
            Kernel::Fused(fused) => (
                "elementwise".to_owned(),
                out * fused.instructions.len() as f64,
            ),
            Kernel::Op(op) => (name(op).to_owned(), self.operations(op)),
        };
        let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        Cost {
            name: format!("{name} {}", shape.join("×")),
            operations,
            numbers: out + read as f64,
        }
    }

    fn operations(&self, op: &Op) -> f64 {
        let shape = |i: usize| self.args[i].shape.as_slice();
        let out = size(&self.shape) as f64;
        match op {
            // Every number of y times the weights that reach it.
            Op::ConvForward(_) => 2.0 * out * size(&shape(1)[1..]) as f64,
            Op::ConvInput(_) => 2.0 * size(shape(0)) as f64 * size(&shape(1)[1..]) as f64,
            Op::ConvWeight(_) => 2.0 * size(shape(1)) as f64 * size(&self.shape[1..]) as f64,
            Op::MatMul { ta, .. } => 2.0 * out * shape(0)[if *ta { 1 } else { 2 }] as f64,
            _ => out.max(size(shape(0)) as f64),
        }
    }
}

fn name(op: &Op) -> &'static str {
    match op {
        Op::ConvForward(_) => "conv",
        Op::ConvInput(_) => "conv, input gradient",
        Op::ConvWeight(_) => "conv, weight gradient",
        Op::MatMul { .. } => "product",
        Op::Sum | Op::RowMax => "reduction",
        Op::SumPool(_) | Op::SumPoolTranspose(_) | Op::ArgMax(_) | Op::Pick(_) | Op::Place(_) => {
            "pool"
        }
        _ => "layout",
    }
}
