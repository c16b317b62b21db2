//! The kernels of a graph.

use polariscope_diff::Device;
use polariscope_diff::cuda::Gpu;
use polariscope_graph::Graph;
use rayon::prelude::*;

use crate::gpu::{self, Place};
use crate::gram::{Square, Squared};
use crate::plan::{StagePlan, StepSource};
use crate::run::{Columns, Own, Pairs, Row, Tangent, Work, numbers};
use crate::simd::SimdNumber;
use crate::symmetry::mirror;
use crate::tiles::Part;
use crate::{Float, NngpError, Values, Wanted, not_finite};

/// Numbers that a field of small grids should have, so that loops are long.
const FIELD: usize = 128;

/// The kernels of one graph.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_nngp::{Kernel, Wanted};
///
/// let input = Some("2".parse()?);
/// let graph = zoo("fcn", &ZooOptions { input, depth: Some(1), ..ZooOptions::default() })?;
/// let kernel = Kernel::new(&graph)?;
/// // ReLU of orthogonal inputs of variance ½: E[φφ'] = ½/2π, and Θ adds ½·0 for the first layer.
/// let values = kernel.between(Wanted::Both, &[1.0, 0.0], &[0.0, 1.0])?;
/// assert!((values.nngp[0] - 0.25 / std::f64::consts::PI).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) plan: StagePlan,
    /// The GPU, or none for the processor.
    place: Option<Place>,
}

impl Kernel {
    /// Plans the propagation; refuses what has no kernel, with the reason.
    pub fn new(graph: &Graph) -> Result<Self, NngpError> {
        Ok(Kernel {
            plan: StagePlan::new(graph)?,
            place: None,
        })
    }

    /// The same on a device. On a GPU numbers differ from those of the processor by their rounding.
    pub fn on(graph: &Graph, device: Device) -> Result<Self, NngpError> {
        let kernel = Self::new(graph)?;
        match device {
            Device::Cpu => Ok(kernel),
            Device::Cuda(ordinal) => {
                if let Some(op) = kernel.plan.on_processor_only() {
                    return Err(NngpError::Processor { op });
                }
                let place = Some(Place(Gpu::open(ordinal)?));
                Ok(Kernel { place, ..kernel })
            }
        }
    }

    /// What is approximate beyond infinite width, in words; empty where the kernels are exact.
    pub fn approximations(&self) -> &[String] {
        &self.plan.approximations
    }

    /// Numbers in one sample.
    pub fn inputs(&self) -> usize {
        self.plan.input.iter().product()
    }

    /// Arithmetic operations for one pair of samples, roughly, in the time that the processor takes for them: what blocks
    /// are cut by.
    pub fn operations(&self) -> f64 {
        match self.place {
            None => self.arithmetic(),
            Some(_) => self.arithmetic() / gpu::FASTER,
        }
    }

    fn arithmetic(&self) -> f64 {
        let gram = match self.plan.gram {
            true => 2.0 * self.inputs() as f64,
            false => 0.0,
        };
        let stages = self.plan.stages.iter().map(|stage| {
            let all = stage.displacements.len() as f64;
            let steps = stage.steps.iter().map(|step| {
                let positions = (step.grid[0] * step.grid[1]) as f64;
                let taps = match &step.source {
                    StepSource::Conv { window, .. } => {
                        2.0 * (window.kernel[0] + window.kernel[1]) as f64
                    }
                    _ => 4.0,
                };
                let activations = step.chain.iter().filter(|link| link.is_nonlinear());
                let times = if step.off_diagonal { all } else { 1.0 };
                times * positions * (taps + 60.0 * activations.count() as f64)
            });
            steps.sum::<f64>()
        });
        gram + stages.sum::<f64>()
    }

    /// Bytes of scratch memory of one worker.
    pub fn bytes<T: Float>(&self) -> usize {
        let batch = self.batch::<T>(usize::MAX);
        numbers(&self.plan) * batch * size_of::<T>()
    }

    /// Kernels between every sample of `x1` (n1 × inputs) and every one of `x2` (n2 × inputs): n1 × n2.
    pub fn between<T: Float>(
        &self,
        wanted: Wanted,
        x1: &[T],
        x2: &[T],
    ) -> Result<Values<T>, NngpError> {
        let (x1, x2) = (self.check("x1", x1)?, self.check("x2", x2)?);
        let n2 = x2.count;
        let mut values = Values::zeros(wanted, x1.count * n2);
        if let Some(place) = &self.place {
            place.fill(self, wanted, [&x1, &x2], gpu::Pairs::All, &mut values)?;
            return values.finite(n2);
        }
        match self.fill(wanted, &x1, &x2, Part::All, &mut values) {
            true => Ok(values),
            false => values.finite(n2),
        }
    }

    /// Kernels among the samples of `x`, n × n, each pair computed once.
    pub fn among<T: Float>(&self, wanted: Wanted, x: &[T]) -> Result<Values<T>, NngpError> {
        let x = self.check("x", x)?;
        let n = x.count;
        let mut values = Values::zeros(wanted, n * n);
        let finite = match &self.place {
            None => self.fill(wanted, &x, &x, Part::Upper, &mut values),
            Some(place) => {
                place.fill(self, wanted, [&x, &x], gpu::Pairs::Upper, &mut values)?;
                false
            }
        };
        mirror(&mut values.nngp, n);
        if let Some(ntk) = &mut values.ntk {
            mirror(ntk, n);
        }
        match finite {
            true => Ok(values),
            false => values.finite(n),
        }
    }

    /// Kernels of every sample with itself: n numbers.
    pub fn diagonal<T: Float>(&self, wanted: Wanted, x: &[T]) -> Result<Values<T>, NngpError> {
        let x = self.check("x", x)?;
        let (n, inputs) = (x.count, self.inputs());
        let mut values = Values::zeros(wanted, n);
        if let Some(place) = &self.place {
            place.fill(self, wanted, [&x, &x], gpu::Pairs::Diagonal, &mut values)?;
            return values.finite(1);
        }
        let batch = self.batch::<T>(n);
        let ntk = values
            .ntk
            .as_mut()
            .map_or(Vec::new(), |v| v.chunks_mut(batch).collect());
        let mut ntk: Vec<Option<&mut [T]>> = ntk.into_iter().map(Some).collect();
        ntk.resize_with(n.div_ceil(batch), || None);
        let outputs = values.nngp.par_chunks_mut(batch).zip(ntk);
        outputs.enumerate().for_each_init(
            || Work::new(&self.plan, batch),
            |work, (at, (nngp, ntk))| {
                let samples = at * batch..at * batch + nngp.len();
                let samples = x.squared().part(samples, inputs);
                let columns = Columns::new(&self.plan, samples, Own::Here, work);
                self.run(wanted, Row::Columns, &columns, work);
                copy_out(work, nngp, ntk);
            },
        );
        values.finite(1)
    }

    /// The samples, if all is well with them.
    fn check<'a, T: Float>(
        &self,
        array: &'static str,
        x: &'a [T],
    ) -> Result<Samples<'a, T>, NngpError> {
        let inputs = self.inputs();
        if inputs == 0 || !x.len().is_multiple_of(inputs) {
            return Err(NngpError::Length {
                array,
                numbers: x.len(),
                inputs,
            });
        }
        let squares = match self.plan.gram {
            true => x.par_chunks(inputs).map(|x| T::square(Square(x))).collect(),
            false => Vec::new(),
        };
        // Where all squares are finite the numbers are, and need not be read again.
        let known = self.plan.gram && not_finite(&squares).is_none();
        let bad = if known { None } else { not_finite(x) };
        match bad {
            Some(at) => Err(NngpError::NotFinite {
                array,
                sample: at / inputs,
                value: x[at].into(),
            }),
            None => Ok(Samples {
                count: x.len() / inputs,
                x,
                squares,
            }),
        }
    }

    /// Columns side by side.
    pub(crate) fn batch<T: SimdNumber>(&self, columns: usize) -> usize {
        let positions = self
            .plan
            .stages
            .iter()
            .map(|s| s.positions)
            .max()
            .unwrap_or(1);
        let wide = (FIELD / positions).next_multiple_of(T::LANES);
        wide.min(columns.clamp(1, FIELD).next_multiple_of(T::LANES))
            .max(T::LANES)
    }

    pub(crate) fn run<T: Float>(
        &self,
        wanted: Wanted,
        row: Row<T>,
        columns: &Columns<T>,
        work: &mut Work<T>,
    ) {
        T::pairs(Pairs {
            plan: &self.plan,
            row,
            columns,
            stages: 0..self.plan.stages.len(),
            tangent: match wanted {
                Wanted::Nngp => Tangent::Left,
                Wanted::Both => Tangent::Carried,
            },
            work,
        });
    }

    /// Batches of samples with their variances; `stores` has those that stages left of all samples, if they are known.
    pub(crate) fn columns<T: Float>(
        &self,
        x: Squared<T>,
        batch: usize,
        stores: Option<&[Vec<T>]>,
    ) -> Vec<Columns<T>> {
        let (inputs, n) = (self.inputs(), x.x.len() / self.inputs());
        let starts = (0..n.div_ceil(batch)).into_par_iter().map(|at| at * batch);
        let batches = starts.map_init(
            || Work::new(&self.plan, batch),
            |work, at| {
                let samples = x.part(at..(at + batch).min(n), inputs);
                let own = stores.map_or(Own::Here, |stores| Own::Given(stores, at));
                Columns::new(&self.plan, samples, own, work)
            },
        );
        batches.collect()
    }
}

/// Samples that have been checked.
pub(crate) struct Samples<'a, T> {
    pub count: usize,
    x: &'a [T],
    /// |x|², where a Gram matrix is needed.
    squares: Vec<T>,
}

impl<T> Samples<'_, T> {
    /// All of them.
    pub fn squared(&self) -> Squared<'_, T> {
        Squared {
            x: self.x,
            squares: &self.squares,
        }
    }
}

/// The kernels that the last stage left.
pub(crate) fn copy_out<T: SimdNumber>(work: &Work<T>, nngp: &mut [T], ntk: Option<&mut [T]>) {
    if let Some(store) = work.stores.last() {
        nngp.copy_from_slice(&store.k.all()[..nngp.len()]);
        if let Some(ntk) = ntk {
            ntk.copy_from_slice(&store.t.all()[..ntk.len()]);
        }
    }
}
