//! What `bench/emulate` asks: the kernels of a program, numbers to run them on, and the processor's answer.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use polariscope_diff::cuda::{Called, listing};
use polariscope_diff::{Id, Program, vjp, vmap};
use polariscope_network::{Lowered, Mode, Scalar, differences, lower};
use polariscope_train::Loss;

use crate::Failure;
use crate::device::network;

/// Writes `listing.json`, the texts of the kernels, `leaves` and `wanted` (f64).
pub fn write(
    folder: &Path,
    architecture: &str,
    input: &str,
    batch: usize,
    what: &str,
) -> Result<(), Failure> {
    let program = program(architecture, input, batch, what)?;
    let list = listing::<f64>(&program);
    let mut calls = Vec::new();
    for (i, call) in list.calls.iter().enumerate() {
        let arrays: Vec<String> = call.arrays.iter().map(|a| format!("\"{a}\"")).collect();
        let mut text = format!("{{\"arrays\": [{}]", arrays.join(", "));
        match &call.what {
            Called::Kernel(kernel, blocks) => {
                fs::write(folder.join(format!("kernel{i}")), kernel)?;
                write!(text, ", \"file\": \"kernel{i}\", \"blocks\": {blocks:?}")?;
            }
            Called::Product([b, m, n, k], [ta, tb]) => {
                let [ta, tb] = [ta, tb].map(|t| u8::from(*t));
                write!(text, ", \"product\": [{b}, {m}, {n}, {k}, {ta}, {tb}]")?;
            }
        }
        calls.push(text + "}");
    }
    let outputs: Vec<usize> = program.outputs.iter().map(|o| o.1).collect();
    let text = format!(
        "{{\"calls\": [{}], \"buffers\": {:?}, \"scratch\": {}, \"results\": {:?}, \"leaves\": {:?}, \
         \"outputs\": {outputs:?}}}",
        calls.join(",\n"),
        list.buffers,
        list.scratch,
        list.results,
        program.leaves,
    );
    fs::write(folder.join("listing.json"), text)?;
    let leaf = |(l, &n): (usize, &usize)| -> Vec<f64> {
        let number = |i: usize| 0.3 * (0.7 * (37 * i + 11 * l) as f64).sin();
        (0..n).map(number).collect()
    };
    let leaves: Vec<Vec<f64>> = program.leaves.iter().enumerate().map(leaf).collect();
    let slices: Vec<&[f64]> = leaves.iter().map(Vec::as_slice).collect();
    let bytes = |numbers: Vec<Vec<f64>>| -> Vec<u8> {
        let numbers = numbers.iter().flatten();
        numbers.flat_map(|x| x.to_le_bytes()).collect()
    };
    fs::write(folder.join("wanted"), bytes(program.evaluate(&slices)))?;
    fs::write(folder.join("leaves"), bytes(leaves))?;
    Ok(())
}

fn program(architecture: &str, input: &str, batch: usize, what: &str) -> Result<Program, Failure> {
    let graph = network(architecture, input)?;
    if what == "dipole" {
        let d = differences(&graph, 100.0, Scalar::Logit(0));
        let own: Vec<Id> = d.trace.leaves().take(1 + graph.params.len()).collect();
        let (many, outputs) = vmap(&d.trace, &[d.output], &own, batch);
        return Ok(Program::new(&many, &outputs));
    }
    let networks = what
        .strip_prefix("train:")
        .ok_or("neither train:N nor dipole")?;
    let Lowered {
        trace: mut t,
        x,
        params,
        output,
        statistics,
        ..
    } = lower(&graph, batch, Mode::Train);
    let mut of: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
    of.push(x);
    let y = t.leaf(&[batch, graph.output().len()]);
    let loss = Loss::CrossEntropy.expression(&mut t, output, y, batch);
    let one = t.constant(1.0, &[1]);
    let mut outputs = vec![loss, output];
    outputs.extend(vjp(&mut t, &[(loss, one)], &of));
    outputs.extend(statistics.iter().flat_map(|s| [s.mean, s.variance]));
    let (many, outputs) = vmap(&t, &outputs, &params, networks.parse()?);
    Ok(Program::new(&many, &outputs))
}
