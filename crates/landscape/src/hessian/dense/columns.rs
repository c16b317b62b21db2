//! H_p of any network, column by column: forward over reverse with ℓ′ as it is, several columns at once.

use std::sync::Arc;

use polariscope_diff::{Id, Program, Session, jvp, vjp, vmap};
use polariscope_graph::Graph;
use polariscope_lens::Observer;
use polariscope_network::{Lowered, Mode, Weights, lower, samples_a_task};
use polariscope_train::LossHessian;
use rayon::prelude::*;

use super::Active;
use crate::LandscapeError;

/// Columns of a task.
const COLUMNS: usize = 8;
/// Tasks between two looks at the observer.
const TASKS: usize = 16;

/// Adds H_p.
pub(super) fn add(
    curvature: &mut [f64],
    hessian: &LossHessian<f64>,
    weights: &Weights<f64>,
    active: &Active,
    observer: &mut dyn Observer,
) -> Result<(), LandscapeError> {
    let graph = hessian.graph();
    let n = graph.parameter_count();
    if active.count() == 0 {
        return Ok(());
    }
    let samples = samples_a_task(graph).min(active.count());
    let program = Arc::new(compile(graph, samples));
    let starts: Vec<usize> = (0..n).step_by(COLUMNS).collect();
    for starts in starts.chunks(TASKS) {
        let task = |&first: &usize| columns(graph, &program, weights, active, [first, samples]);
        let done: Vec<Vec<f64>> = starts.par_iter().map(task).collect();
        for (&first, columns) in starts.iter().zip(&done) {
            for (k, column) in columns.chunks_exact(n).enumerate() {
                let c = first + k;
                for (r, &value) in column.iter().enumerate().filter(|_| c < n) {
                    // H_p is symmetric to rounding: each half gives its half.
                    curvature[r * n + c] += 0.5 * value;
                    curvature[c * n + r] += 0.5 * value;
                }
            }
        }
        let last = starts.last().map_or(0, |s| (s + COLUMNS).min(n));
        observer.advance(last as u64, &|| None)?;
    }
    Ok(())
}

/// Columns from `first` on, one after the other; those beyond the last parameter are 0.
fn columns(
    graph: &Graph,
    program: &Arc<Program>,
    weights: &Weights<f64>,
    active: &Active,
    [first, samples]: [usize; 2],
) -> Vec<f64> {
    let n = graph.parameter_count();
    let mut directions: Vec<Vec<f64>> = Vec::new();
    let mut offset = 0;
    for i in graph.trainable() {
        let length = graph.params[i].len();
        let mut units = vec![0.0; COLUMNS * length];
        for k in 0..COLUMNS {
            let at = (first + k).checked_sub(offset).filter(|&at| at < length);
            if let Some(at) = at {
                units[k * length + at] = 1.0;
            }
        }
        directions.push(units);
        offset += length;
    }
    let mut session = Session::new(program.clone());
    let mut sum = vec![0.0; COLUMNS * n];
    for start in (0..active.count()).step_by(samples) {
        let end = (start + samples).min(active.count());
        let filled = |from: &[f64], width: usize| {
            let mut all = from[start * width..end * width].to_vec();
            all.resize(samples * width, 0.0);
            all
        };
        // Samples that are missing have no slope and add nothing.
        let (x, slope) = (
            filled(&active.x, active.sample),
            filled(&active.slope, active.outputs),
        );
        let mut leaves: Vec<&[f64]> = vec![&x];
        leaves.extend(weights.values.iter().map(Vec::as_slice));
        leaves.push(&slope);
        leaves.extend(directions.iter().map(Vec::as_slice));
        session.run(&leaves);
        let mut offset = 0;
        for (k, i) in graph.trainable().enumerate() {
            let length = graph.params[i].len();
            for (c, part) in session.output(k).chunks_exact(length).enumerate() {
                let sum = &mut sum[c * n + offset..][..length];
                sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
            }
            offset += length;
        }
    }
    sum
}

/// Leaves are inputs, parameters, ℓ′, then the columns' directions in the trainable parameters.
fn compile(graph: &Graph, samples: usize) -> Program {
    let Lowered {
        trace: mut t,
        params,
        output,
        ..
    } = lower(graph, samples, Mode::Evaluate);
    let trainable: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
    let shape = t.shape(output).to_vec();
    let slope = t.leaf(&shape);
    let mut direction = Vec::with_capacity(trainable.len());
    for &p in &trainable {
        let shape = t.shape(p).to_vec();
        direction.push((p, t.leaf(&shape)));
    }
    let gradient = vjp(&mut t, &[(output, slope)], &trainable);
    let product = jvp(&mut t, &gradient, &direction);
    let many: Vec<Id> = direction.iter().map(|d| d.1).collect();
    let (all, columns) = vmap(&t, &product, &many, COLUMNS);
    Program::new(&all, &columns)
}
