//! What `bench/emulate` asks: the kernels of a program, numbers to run them on, and the processor's answer.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use polariscope_diff::cuda::{Called, listing};
use polariscope_network::Weights;

use crate::Failure;
use crate::programs::{network, program};

/// Writes `listing.json`, the texts of the kernels, `leaves` and `wanted` (f64).
pub fn write(
    folder: &Path,
    architecture: &str,
    input: &str,
    batch: usize,
    what: &str,
) -> Result<(), Failure> {
    let graph = network(architecture, input)?;
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
    // Inputs first, then the parameters of all networks, then what else there is.
    let leaf = |(l, &n): (usize, &usize)| -> Vec<f64> {
        let number = |i: usize| (0.7 * (37 * i + 11 * l) as f64).sin();
        match l.checked_sub(1).and_then(|at| graph.params.get(at)) {
            Some(param) => {
                let networks = 0..(n / param.len()) as u64;
                let drawn = networks.map(|i| Weights::draw(&graph, 0, i).values.swap_remove(l - 1));
                drawn.flatten().collect()
            }
            None => (0..n).map(number).collect(),
        }
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
