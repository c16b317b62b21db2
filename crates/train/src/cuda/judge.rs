//! The test set on a GPU.

use std::sync::Arc;

use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu, Kernel};
use polariscope_diff::{Number, Precision};
use polariscope_graph::Graph;
use polariscope_network::{Lowered, Mode, lower};

use super::kernels::{self, SUMS, Sizes};
use super::many;
use super::set::{Pass, Set};
use crate::train::parts;
use crate::{Labels, Loss, Metrics, Samples, TrainError};

/// Samples that are taken together, of all networks.
const EVALUATED: usize = 1 << 13;

/// The test set, and passes over it.
pub struct Test<T> {
    set: Set<T>,
    passes: Vec<(Pass<T>, Kernel)>,
    sums: Array<f64>,
    clock: Array<i64>,
}

impl<T: Number> Test<T> {
    /// Loads samples for networks with these weights.
    pub fn new(
        gpu: &Arc<Gpu>,
        precision: Precision,
        graph: &Graph,
        loss: Loss,
        samples: &Samples,
        weights: &[Arc<Array<T>>],
        networks: usize,
    ) -> Result<Self, TrainError> {
        let outputs = graph.output().len();
        let n = samples.len();
        let classes = match samples.y {
            Labels::Classes(classes) => Some(classes),
            Labels::Targets { .. } => None,
        };
        let set = Set::new(gpu, samples.x, classes, &samples.targets(loss, outputs), n)?;
        let batch = (EVALUATED / networks).clamp(1, 1024).min(n);
        let mut passes = Vec::new();
        for size in parts(n, batch) {
            let Lowered {
                mut trace,
                params,
                output,
                ..
            } = lower(graph, size, Mode::Evaluate);
            let y = trace.leaf(&[size, outputs]);
            let targets = trace.leaves().count() - 1;
            let value = loss.expression(&mut trace, output, y, n);
            let program = many(&trace, &[value, output], &params, networks);
            let sizes = Sizes {
                samples: size,
                batch,
                passes: n.div_ceil(batch) as u64,
                input: graph.input().len(),
                outputs,
                classes: set.labelled,
                weight: 1.0,
                frame: None,
            };
            let given = |leaf: usize| weights.get(leaf.wrapping_sub(1)).cloned();
            let pass = Pass::new(gpu, &program, precision, sizes, targets, given)?;
            let mut count = gpu.compile(&[kernels::count(T::DTYPE, sizes)])?;
            passes.push((pass, count.remove(0)));
        }
        Ok(Test {
            set,
            passes,
            sums: gpu.zeros(networks * SUMS)?,
            clock: gpu.zeros(1)?,
        })
    }

    /// Judges the networks as they are.
    pub fn evaluate(
        &self,
        gpu: &Gpu,
        networks: usize,
    ) -> Result<impl Iterator<Item = Metrics>, CudaError> {
        let mut sums = vec![0.0; networks * SUMS];
        gpu.upload(&sums, 0, &self.sums)?;
        let n = self.set.samples;
        let batch = self.passes[0].0.sizes.batch;
        for (at, first) in (0..n).step_by(batch).enumerate() {
            let (pass, count) = &self.passes[usize::from(n - first < batch)];
            gpu.upload(&[at as i64], 0, &self.clock)?;
            pass.gather(gpu, &self.set, &self.clock)?;
            pass.workspace.start()?;
            let Sizes {
                samples, outputs, ..
            } = pass.sizes;
            let arguments = [
                Argument::I64(&self.clock, 1),
                T::argument(pass.workspace.result(0), networks),
                T::argument(pass.workspace.result(1), networks * samples * outputs),
                Argument::U32(&self.set.classes, n),
                Argument::U32(&self.set.order, n),
                Argument::F64(&self.sums, networks * SUMS),
            ];
            gpu.start(count, [networks, 1, 1], &arguments)?;
        }
        gpu.download(&self.sums, &mut sums)?;
        let labelled = self.set.labelled;
        Ok((0..networks).map(move |network| Metrics {
            loss: sums[network * SUMS],
            accuracy: labelled.then(|| sums[network * SUMS + 1] / n as f64),
        }))
    }
}
