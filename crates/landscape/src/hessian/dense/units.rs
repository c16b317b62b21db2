//! All three matrices of a network of dense layers, by forward derivatives along its units.

use polariscope_lens::Observer;
use polariscope_linalg::transposed_product;
use polariscope_network::Weights;
use polariscope_train::LossHessian;
use rayon::prelude::*;

use super::programs::{Chunk, Programs};
use super::sites::Site;
use super::{Active, Dense};
use crate::LandscapeError;

/// Chunks that are held together.
const TOGETHER: usize = 8;

/// Columns of H_p: those of unit `unit` of site `from`, at the weights of site `to`.
struct Block {
    from: usize,
    to: usize,
    unit: usize,
    /// Weights of `to` × features of `from`.
    values: Vec<f64>,
}

/// Adds H₀ and the Fisher matrix below the diagonal, and all of H_p.
pub(super) fn add(
    found: &mut Dense,
    hessian: &LossHessian<f64>,
    weights: &Weights<f64>,
    sites: &[Site],
    active: &Active,
    observer: &mut dyn Observer,
) -> Result<(), LandscapeError> {
    let programs = Programs::new(hessian.graph(), sites, active.count());
    let mut blocks: Vec<Block> = Vec::new();
    for (from, site) in sites.iter().enumerate() {
        for to in from..sites.len() {
            let numbers = sites[to].units * sites[to].features() * site.features();
            blocks.extend((0..site.units).map(|unit| Block {
                from,
                to,
                unit,
                values: vec![0.0; numbers],
            }));
        }
    }
    let samples: Vec<usize> = (0..active.count()).step_by(programs.samples).collect();
    for starts in samples.chunks(TOGETHER) {
        let chunk = |&first: &usize| {
            let n = programs.samples.min(active.count() - first);
            let x = &active.x[first * active.sample..(first + n) * active.sample];
            let slope = &active.slope[first * active.outputs..(first + n) * active.outputs];
            programs.run(weights, sites, x, slope)
        };
        let chunks: Vec<Chunk> = starts.par_iter().map(chunk).collect();
        for (&first, chunk) in starts.iter().zip(&chunks) {
            let n = programs.samples.min(active.count() - first);
            let rows = jacobian(chunk, sites, [n, active.outputs, found.parameters]);
            found.add_rows(active, first, &rows);
        }
        blocks.par_iter_mut().for_each(|block| {
            for chunk in &chunks {
                block.add(chunk, sites, programs.samples);
            }
        });
        let done = starts.last().map_or(0, |s| s + programs.samples);
        observer.advance(done.min(active.count()) as u64, &|| None)?;
    }
    for block in &blocks {
        block.place(found, sites);
    }
    Ok(())
}

/// Rows of J of the first samples of a chunk, outputs of a sample together.
fn jacobian(chunk: &Chunk, sites: &[Site], [samples, outputs, parameters]: [usize; 3]) -> Vec<f64> {
    let mut rows = vec![0.0; samples * outputs * parameters];
    let of_sample = rows.par_chunks_exact_mut(outputs * parameters).enumerate();
    of_sample.for_each(|(s, rows)| {
        for (k, row) in rows.chunks_exact_mut(parameters).enumerate() {
            for ((site, features), gradients) in
                sites.iter().zip(&chunk.features).zip(&chunk.jacobian)
            {
                let all = gradients.len() / (outputs * site.units);
                let gradients = &gradients[(k * all + s) * site.units..][..site.units];
                let features = &features[s * site.features()..][..site.features()];
                for (i, gradient) in gradients.iter().enumerate() {
                    for (j, feature) in features.iter().enumerate() {
                        row[site.parameter(i, j)] = gradient * feature;
                    }
                }
            }
        }
    });
    rows
}

impl Block {
    /// Adds Σ over the samples of a chunk of (δ̇_i a_j + δ_i ȧ_j) a_q.
    fn add(&mut self, chunk: &Chunk, sites: &[Site], samples: usize) {
        let site = &sites[self.to];
        let (units, features) = (site.units, site.features());
        let part = |of: &[Vec<Vec<f64>>], width: usize| -> Option<Vec<f64>> {
            let all = &of[self.from][self.to];
            let one = samples * width;
            (!all.is_empty()).then(|| all[self.unit * one..][..one].to_vec())
        };
        let gradient_change = part(&chunk.gradient_changes, units);
        let feature_change = part(&chunk.feature_changes, site.width());
        // Features that change at all: in the layer above a single one does.
        let moved: Vec<usize> = match (&gradient_change, &feature_change) {
            (None, None) => return,
            (Some(_), _) => (0..features).collect(),
            (None, Some(change)) => {
                let column = |j: usize| change.iter().skip(j).step_by(site.width());
                let moves = |&j: &usize| column(j).any(|&c| c != 0.0);
                (0..site.width()).filter(moves).collect()
            }
        };
        if moved.is_empty() {
            return;
        }
        let (values, gradients) = (&chunk.features[self.to], &chunk.gradients[self.to]);
        let mut rows = Vec::with_capacity(samples * units * moved.len());
        for s in 0..samples {
            let change = |j: usize| match &feature_change {
                Some(change) if j < site.width() => change[s * site.width() + j],
                _ => 0.0,
            };
            for i in 0..units {
                let gradient = gradients[s * units + i];
                match &gradient_change {
                    None => rows.extend(moved.iter().map(|&j| gradient * change(j))),
                    Some(moves) => {
                        let moves = moves[s * units + i];
                        let value = |&j: &usize| moves * values[s * features + j];
                        rows.extend(moved.iter().map(|j| value(j) + gradient * change(*j)));
                    }
                }
            }
        }
        let (below, width) = (&chunk.features[self.from], sites[self.from].features());
        let product = transposed_product(&rows, below, samples, width);
        for (at, row) in product.chunks_exact(width).enumerate() {
            let (i, j) = (at / moved.len(), moved[at % moved.len()]);
            let sum = &mut self.values[(i * features + j) * width..][..width];
            sum.iter_mut().zip(row).for_each(|(s, r)| *s += r);
        }
    }

    /// Writes the block, and its mirror image.
    fn place(&self, found: &mut Dense, sites: &[Site]) {
        let (from, to, n) = (&sites[self.from], &sites[self.to], found.parameters);
        let width = from.features();
        for (at, row) in self.values.chunks_exact(width).enumerate() {
            let r = to.parameter(at / to.features(), at % to.features());
            for (q, &value) in row.iter().enumerate() {
                let c = from.parameter(self.unit, q);
                // Both halves of a layer with itself are here, equal to rounding: each gives its half.
                let share = if self.from == self.to {
                    0.5 * value
                } else {
                    value
                };
                found.curvature[r * n + c] += share;
                found.curvature[c * n + r] += share;
            }
        }
    }
}
