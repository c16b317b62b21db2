//! G from the kernel of the infinitely wide network.
//!
//! K(x, x') = E[f(x) f(x')] of one output is the NNGP kernel, so
//!
//! ```text
//! G(x) = E[∇f(x) ∇f(x)ᵀ] = ∂x ∂x' K(x, x')   at x' = x,
//! ```
//!
//! and the coherent geometry is the average of ∂x ∂x' K(x, x') over independent x and x':
//! exactly at infinite width: slopes and weights are correlated as they are, not taken independent as the mean field
//! takes them. The recursion of one pair is written down as expressions ([`recursion`]) with only the pairs of
//! positions that later layers read ([`need`]); one reverse sweep gives ∂x'K, and a forward sweep of it along each
//! eᵢ gives row i of G. Several rows share the values of one run.

mod activate;
mod activation;
mod fields;
mod need;
mod pairs;
mod recursion;
mod refusal;
mod value;

pub use refusal::KernelRefusal;

use std::sync::Arc;

use polariscope_diff::{Id, Program, Session, jvp, vjp};
use polariscope_graph::Graph;
use rayon::prelude::*;

use crate::closed::{pairs, points};
use crate::{GeometryError, Gradient, Kron, Output, Probe};
use fields::At;
use recursion::Recursion;
use value::{Block, Field, Law};

/// Rows of G found in one run: values are computed once for all of them.
const ROWS: usize = 8;
/// Bytes up to which runs go side by side; each row is the same however many do.
const MEMORY: usize = 1 << 30;

/// G at infinite width, averaged over `probes` points of the probing law, for the coherent one over as many pairs of
/// neighbours in their ring. `progress` hears how many rows of how many are done.
///
/// ```
/// use polariscope_geometry::{Gradient, Output, Probe, kernel};
/// use polariscope_graph::{ZooOptions, zoo};
/// // One hidden layer of relu, w_std = √2, K = (|x||x'|/D)·2κ: G is isotropic, w_std⁴ / 2D.
/// let options = ZooOptions {
///     input: Some("4".parse()?),
///     depth: Some(1),
///     parametrisation: Some("ntk".parse()?),
///     ..ZooOptions::default()
/// };
/// let (graph, probe) = (zoo("fcn", &options)?, Probe::Gauss { sigma: 1.0 });
/// let g = kernel(&graph, Gradient::Local, (&probe, 1), Output::Logit(0), 0, |_, _| {})?;
/// assert!((g.factor[0] - 1.0 / 8.0).abs() < 1e-15 && g.factor[1].abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kernel(
    graph: &Graph,
    gradient: Gradient,
    (probe, probes): (&Probe, usize),
    output: Output,
    seed: u64,
    mut progress: impl FnMut(u64, u64),
) -> Result<Kron, GeometryError> {
    let dim = graph.input().len();
    let pairs = match (gradient, probe) {
        (Gradient::Dipole { .. }, _) => {
            return Err(GeometryError::Question(
                "a dipole has no kernel: use ‹method sample›".into(),
            ));
        }
        (Gradient::Coherent, Probe::Gauss { .. } | Probe::Points { .. }) => {
            pairs(dim, probe, probes, seed)?
        }
        (Gradient::Coherent | Gradient::Local, _) => {
            let points = points(dim, probe, probes, seed)?.into_iter();
            points.map(|x| [x.clone(), x]).collect()
        }
    };
    if pairs.is_empty() {
        return Err(GeometryError::Question(
            "there must be at least one probe".into(),
        ));
    }
    let total = (pairs.len() * dim) as u64;
    let mut sum = vec![0.0; dim * dim];
    for (i, [x, y]) in pairs.iter().enumerate() {
        let done = (i * dim) as u64;
        at_points(graph, [x, y], output, &mut sum, |rows| {
            progress(done + rows as u64, total);
        })?;
    }
    // Rounding leaves G(x) symmetric to its last digits only, and two inputs can be exchanged.
    let half = 0.5 / pairs.len() as f64;
    let g = (0..dim * dim).map(|i| half * (sum[i] + sum[i % dim * dim + i / dim]));
    Ok(Kron::dense(g.collect(), dim))
}

/// Bytes that [`kernel`] takes beside G; refuses a network that has no kernel, with the reason.
pub fn kernel_memory(graph: &Graph, output: Output) -> Result<f64, KernelRefusal> {
    let (program, _, masks) = rows_program(graph, output, At::Nowhere)?;
    let buffers = 8.0 * program.buffers.iter().sum::<usize>() as f64;
    let together = (MEMORY as f64 / buffers).clamp(1.0, rayon::current_num_threads() as f64);
    Ok(together * buffers + 8.0 * masks as f64)
}

/// Adds ∂x∂x'K to `sum`, D × D.
fn at_points(
    graph: &Graph,
    both: [&[f64]; 2],
    output: Output,
    sum: &mut [f64],
    mut progress: impl FnMut(usize),
) -> Result<(), KernelRefusal> {
    let (program, leaves, _) = rows_program(graph, output, At::Points(both))?;
    let bytes = 8 * program.buffers.iter().sum::<usize>();
    let together = (MEMORY / bytes.max(1)).clamp(1, rayon::current_num_threads());
    let program = Arc::new(program);
    let session = |_| Session::<f64>::new(Arc::clone(&program));
    let mut sessions: Vec<Session<f64>> = (0..together).map(session).collect();
    let dim = both[0].len();
    for (wave, rows) in sum.chunks_mut(together * ROWS * dim).enumerate() {
        let first = wave * together * ROWS;
        let batches = rows.par_chunks_mut(ROWS * dim).zip(&mut sessions);
        batches
            .enumerate()
            .try_for_each(|(batch, (rows, session))| {
                add_rows(session, &leaves, first + batch * ROWS, rows, dim)
            })?;
        progress((first + together * ROWS).min(dim));
    }
    Ok(())
}

/// Adds rows `first`… of ∂x∂x'K to `rows`.
fn add_rows(
    session: &mut Session<f64>,
    leaves: &[Vec<f64>],
    first: usize,
    rows: &mut [f64],
    dim: usize,
) -> Result<(), KernelRefusal> {
    let mut directions = vec![vec![0.0; dim]; ROWS];
    for (i, direction) in (first..dim).zip(&mut directions) {
        direction[i] = 1.0;
    }
    let leaves: Vec<&[f64]> = leaves
        .iter()
        .chain(&directions)
        .map(Vec::as_slice)
        .collect();
    session.run(&leaves);
    for (i, row) in rows.chunks_exact_mut(dim).enumerate() {
        for (sum, &g) in row.iter_mut().zip(session.output(i)) {
            if !g.is_finite() {
                return Err(KernelRefusal::NotFinite);
            }
            *sum += g;
        }
    }
    Ok(())
}

/// The program of [`ROWS`] rows of G, its leaves before the directions, and how many numbers leaves hold.
fn rows_program(
    graph: &Graph,
    output: Output,
    at: At,
) -> Result<(Program, Vec<Vec<f64>>, usize), KernelRefusal> {
    let mut recursion = Recursion::new(graph, at)?;
    let k = scalar(&mut recursion, output)?;
    let Recursion {
        mut trace,
        inputs: [x, x2],
        leaves,
        ..
    } = recursion;
    let one = trace.constant_like(1.0, k);
    let gradient = vjp(&mut trace, &[(k, one)], &[x2]);
    let shape = trace.shape(x).to_vec();
    let directions = [(); ROWS].map(|()| trace.leaf(&shape));
    let rows = directions.map(|v| jvp(&mut trace, &gradient, &[(x, v)])[0]);
    let program = Program::new(&trace, &rows);
    let numbers = program.leaves.iter().sum();
    Ok((program, leaves, numbers))
}

/// The kernel of the scalar that is differentiated.
fn scalar(recursion: &mut Recursion, output: Output) -> Result<Id, KernelRefusal> {
    let t = &mut recursion.trace;
    let size = |block: &Block| block.channels * block.grid[0] * block.grid[1];
    let outputs: usize = recursion.output.iter().map(size).sum();
    let mut parts: Vec<Id> = Vec::new();
    let mut first = 0;
    for block in &recursion.output {
        let variances = match block.fields[0] {
            Field::Equal(id) => id,
            Field::Pairs(_) | Field::Nothing => continue,
        };
        let positions = block.grid[0] * block.grid[1];
        match output {
            Output::Logit(k) => {
                if (first..first + size(block)).contains(&k) {
                    parts.push(t.slice(variances, 0, (k - first) % positions, 1));
                }
            }
            Output::All => {
                let sum = t.sum(variances, &[0]);
                parts.push(t.scale(sum, block.channels as f64));
            }
            // Outputs are uncorrelated where each has weights of its own.
            Output::Mean if block.law == Law::Gaussian && positions == 1 => {
                let square = (outputs as f64).powi(2);
                parts.push(t.scale(variances, block.channels as f64 / square));
            }
            Output::Mean => {
                return Err(KernelRefusal::Bare {
                    what: "a mean over outputs that",
                });
            }
        }
        first += size(block);
    }
    let sum = parts.into_iter().reduce(|a, b| t.add(a, b));
    sum.ok_or(match output {
        Output::Logit(k) => KernelRefusal::Logit { k, outputs },
        Output::Mean | Output::All => KernelRefusal::Bare {
            what: "an output that",
        },
    })
}
