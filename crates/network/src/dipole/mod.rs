//! The dipole gradient: central differences at a large step around one base point,
//!
//!   d_i = (f(x + h e_i) − f(x − h e_i)) / 2h,  i = 1…D
//!
//! (neural anisotropy directions, Algorithm 1: h = 100). The 2D inputs differ from x in one number each, so only what
//! that number changes is computed. While maps are local, a sample is a patch (`region`); outside it the value is the
//! base point's, which is computed once a network (`base`). A layer makes new patches from old ones (`plan`):
//!
//! - a convolution adds what the change of the patch contributes to the base's output (`linear`), or convolves all
//!   that the new patch sees, whichever takes fewer products;
//! - a pool, a sum, a concatenation read base and patch (`gather`); elementwise ops act on the patch alone.
//!
//! Where locality is lost, or patches have grown so large that they do not pay, patches are written into whole maps and
//! the rest of the network runs on batches of them.

mod base;
mod class;
mod expressions;
mod gather;
mod linear;
mod plan;
mod programs;
mod region;
mod stage;
mod survey;
mod work;

use std::sync::{Mutex, PoisonError};

use polariscope_diff::Number;
use polariscope_graph::Graph;
use rayon::prelude::*;

use crate::{NetworkError, Scalar, Weights};
use base::Base;
pub use expressions::{Differences, differences};
use plan::DipolePlan;
use stage::Sample;
use work::Work;

/// Central differences of one output, planned once for any weights and base points.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_network::{Dipole, Scalar, Weights};
/// // A linear model: every difference is a weight, whatever the step.
/// let input = Some("1x4x4".parse().unwrap());
/// let graph = zoo("logreg", &ZooOptions { input, ..ZooOptions::default() }).unwrap();
/// let dipole = Dipole::<f64>::new(&graph, 100.0, Scalar::Logit(0)).unwrap();
/// let weights = Weights::draw(&graph, 0, 0);
/// let d = dipole.gradient(&weights, &[0.1; 16]).unwrap();
/// assert!(d.iter().zip(&weights.values[0]).all(|(d, w)| (d - w).abs() < 1e-14));
/// ```
pub struct Dipole<T> {
    graph: Graph,
    h: f64,
    scalar: Scalar,
    plan: DipolePlan,
    bases: Idle<Base<T>>,
    works: Idle<Work<T>>,
}

impl<T: Number> Dipole<T> {
    /// Plans differences with step `h`.
    pub fn new(graph: &Graph, h: f64, scalar: Scalar) -> Result<Self, NetworkError> {
        let outputs = graph.output().len();
        let step = T::from_f64(h);
        if !step.is_finite() || step == T::ZERO {
            return Err(NetworkError::Step { h });
        }
        if let Scalar::Logit(k) = scalar
            && k >= outputs
        {
            return Err(NetworkError::Logit { k, outputs });
        }
        Ok(Dipole {
            plan: DipolePlan::new(graph, 2 * graph.input().len()),
            graph: graph.clone(),
            h,
            scalar,
            bases: Idle(Mutex::default()),
            works: Idle(Mutex::default()),
        })
    }

    /// x + h e_1, x − h e_1, x + h e_2, …
    fn samples(&self, x: &[T]) -> Vec<Sample<T>> {
        let step = T::from_f64(self.h);
        let [_, height, width] = class::view(self.graph.input()).unwrap_or([x.len(), 1, 1]);
        let sample = |(index, &value): (usize, &T)| {
            let (channel, rest) = (index / (height * width), index % (height * width));
            [step, -step].map(|step| Sample {
                index,
                channel,
                pixel: [rest / width, rest % width],
                delta: (value + step) - value,
            })
        };
        x.iter().enumerate().flat_map(sample).collect()
    }

    /// d_1 … d_D at `x` for some weights.
    pub fn gradient(&self, weights: &Weights<T>, x: &[T]) -> Result<Vec<T>, NetworkError> {
        if x.len() != self.graph.input().len() {
            return Err(NetworkError::Point {
                length: x.len(),
                shape: self.graph.input(),
            });
        }
        let fits = weights.values.len() == self.graph.params.len()
            && weights
                .values
                .iter()
                .zip(&self.graph.params)
                .all(|(v, p)| v.len() == p.len());
        if !fits {
            return Err(NetworkError::Weights {
                network: self.graph.name.clone(),
            });
        }
        let base = self.bases.take();
        let mut base = base.unwrap_or_else(|| Base::new(&self.plan));
        base.run(&self.graph, &self.plan, x, weights);
        let samples = self.samples(x);
        let values: Vec<Vec<T>> = samples
            .par_chunks(self.plan.batch.task)
            .map(|samples| self.values(&base, weights, samples))
            .collect();
        self.bases.give(base);
        let (values, twice) = (values.concat(), T::from_f64(2.0 * self.h));
        let (pairs, _) = values.as_chunks::<2>();
        Ok(pairs
            .iter()
            .map(|[up, down]| (*up - *down) / twice)
            .collect())
    }

    /// The scalar of some samples.
    fn values(&self, base: &Base<T>, weights: &Weights<T>, samples: &[Sample<T>]) -> Vec<T> {
        let work = self.works.take();
        let mut work = work.unwrap_or_else(|| Work::new(&self.plan));
        // A last task that is not full repeats a sample.
        let mut full = samples.to_vec();
        full.resize(self.plan.batch.task, samples[0]);
        let scalar = |row: &[T]| match self.scalar {
            Scalar::Logit(k) => row[k],
            Scalar::Mean => row.iter().copied().sum::<T>() / T::from_f64(row.len() as f64),
        };
        let outputs = work.run(&self.plan, base, weights, &full);
        let rows = outputs.chunks_exact(self.graph.output().len());
        let values = rows.take(samples.len()).map(scalar).collect();
        self.works.give(work);
        values
    }
}

/// Memory that waits for the next network.
struct Idle<M>(Mutex<Vec<M>>);

impl<M> Idle<M> {
    fn take(&self) -> Option<M> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give(&self, memory: M) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(memory);
    }
}
