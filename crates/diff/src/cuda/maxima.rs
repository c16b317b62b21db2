//! Max-pools that nobody differentiates.

use crate::program::{Kernel, Program, Value};
use crate::trace::Op;

/// A part of a max-pool that nobody differentiates: its value is found at once, and its place is not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maximum {
    /// Where it is.
    Place,
    /// What it is.
    Value,
}

/// The steps of such pools.
pub fn maxima(program: &Program) -> Vec<Option<Maximum>> {
    let steps = &program.steps;
    let mut found = vec![None; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        let Kernel::Op(Op::ArgMax(window)) = step.kernel else {
            continue;
        };
        // Until the buffer holds something else.
        let rest = &steps[at + 1..];
        let end = rest.iter().position(|s| s.out == step.out);
        let places = Value::Buffer(step.out);
        let mut readers = (at + 1..)
            .zip(&rest[..end.unwrap_or(rest.len())])
            .filter(|(_, s)| s.args.iter().any(|a| a.value == places));
        let (Some((value, pick)), None) = (readers.next(), readers.next()) else {
            continue;
        };
        let is_output = program
            .outputs
            .iter()
            .any(|&(buffer, _)| buffer == step.out);
        let same = matches!(pick.kernel, Kernel::Op(Op::Pick(w)) if w == window)
            && pick.args[1].value == step.args[0].value;
        if same && !is_output {
            found[at] = Some(Maximum::Place);
            found[value] = Some(Maximum::Value);
        }
    }
    found
}
