//! One update, as a recording.

use std::sync::Arc;

use polariscope_diff::cuda::{Argument, Array, CudaError, Gpu, Kernel, Recording};
use polariscope_diff::{Number, Precision};
use polariscope_graph::Graph;
use polariscope_network::Draws;

use super::kernels::{self, GROUP, Rule, SUMS, Sizes, Tensor, Update};
use super::set::{Pass, Set};
use super::{RATES, Tensors, many};
use crate::expressions::{Expressions, GRADIENT, LOSS, OUTPUT, mask_name};
use crate::{Config, TrainError};

/// A step of all networks on a batch of one size.
pub struct Step<T> {
    pub recording: Recording,
    pass: Pass<T>,
    draws: Draws,
    /// Leaf, numbers and rate of the masks.
    masks: Vec<(usize, usize, f64)>,
    seed: u64,
    /// Sums of squares, block by block.
    _partial: Array<f64>,
    /// Trainable tensors: which parameter, and how many numbers it has.
    trainable: Vec<(usize, usize)>,
}

/// A tensor that a step changes, with what its kernels read and write.
struct Changed<'a, T> {
    tensor: Tensor,
    /// Output of the program.
    from: usize,
    /// w, m and v.
    to: Vec<&'a Array<T>>,
}

impl<T: Number> Step<T> {
    /// Plans and records a step.
    pub fn new(
        (gpu, precision): (&Arc<Gpu>, Precision),
        graph: &Graph,
        config: &Config,
        tensors: &Tensors<T>,
        train: &Set<T>,
        (sizes, networks): (Sizes, usize),
    ) -> Result<Self, TrainError> {
        let samples = sizes.samples;
        let e = Expressions::new(graph, config.loss.into(), samples, samples)?;
        let program = many(&e.trace, &e.outputs, &e.params, networks);
        let first_mask = 1 + graph.params.len();
        let masks: Vec<_> = (first_mask..)
            .zip(&e.masks)
            .map(|(leaf, &(numbers, rate))| (leaf, numbers * samples, rate))
            .collect();
        let given = |leaf: usize| tensors.weights.get(leaf.wrapping_sub(1)).cloned();
        let pass = Pass::new(
            gpu,
            &program,
            precision,
            sizes,
            first_mask + masks.len(),
            given,
        )?;
        let trainable: Vec<usize> = graph.trainable().collect();
        let mut changed: Vec<Changed<T>> = Vec::new();
        for (i, &param) in trainable.iter().enumerate() {
            let mut to = vec![tensors.weights[param].as_ref()];
            let kept = [&tensors.first, &tensors.second];
            to.extend(kept.iter().filter_map(|m| m.get(i)).map(Arc::as_ref));
            changed.push(Changed {
                tensor: Tensor {
                    numbers: graph.params[param].len(),
                    rule: Rule::Descend,
                },
                from: GRADIENT + i,
                to,
            });
        }
        for (i, layer) in e.running.iter().enumerate() {
            for (k, param) in [layer.mean, layer.variance].into_iter().enumerate() {
                changed.push(Changed {
                    tensor: Tensor {
                        numbers: graph.params[param].len(),
                        rule: Rule::Follow(layer.momentum),
                    },
                    from: GRADIENT + trainable.len() + 2 * i + k,
                    to: vec![&tensors.weights[param]],
                });
            }
        }
        let draws = Draws::new::<T>(gpu.clone())?;
        let calls = Calls {
            gpu,
            networks,
            pass: &pass,
            changed: &changed,
            descending: trainable.len(),
        };
        let kernels = calls.compile(config)?;
        let partial = gpu.zeros(networks * calls.spans().1)?;
        let seed = config.batch_seed;
        let recording = gpu.record(|| {
            pass.gather(gpu, train, &tensors.clock)?;
            draw(&draws, &masks, &pass, &tensors.clock, seed)?;
            pass.workspace.start()?;
            calls.start(&kernels, &partial, tensors, train)
        })?;
        let length = |param: usize| (param, graph.params[param].len());
        Ok(Step {
            recording,
            trainable: trainable.into_iter().map(length).collect(),
            pass,
            draws,
            masks,
            seed,
            _partial: partial,
        })
    }

    /// Loss and gradient of a network, in its trainable parameters, at the step that `clock` tells.
    #[allow(clippy::type_complexity)]
    pub fn gradient(
        &self,
        gpu: &Gpu,
        train: &Set<T>,
        clock: &Array<i64>,
        network: usize,
    ) -> Result<(f64, Vec<(usize, Vec<T>)>), CudaError> {
        self.pass.gather(gpu, train, clock)?;
        draw(&self.draws, &self.masks, &self.pass, clock, self.seed)?;
        self.pass.workspace.start()?;
        let own = |output: usize, n: usize| -> Result<Vec<T>, CudaError> {
            let mut all = vec![T::ZERO; (network + 1) * n];
            gpu.download(self.pass.workspace.result(output), &mut all)?;
            Ok(all.split_off(network * n))
        };
        let loss = own(LOSS, 1)?[0].to_f64();
        let gradients = self.trainable.iter().enumerate();
        let gradients = gradients.map(|(i, &(param, n))| Ok((param, own(GRADIENT + i, n)?)));
        Ok((loss, gradients.collect::<Result<_, CudaError>>()?))
    }
}

/// Draws dropout masks, the same for all networks.
fn draw<T: Number>(
    draws: &Draws,
    masks: &[(usize, usize, f64)],
    pass: &Pass<T>,
    clock: &Array<i64>,
    seed: u64,
) -> Result<(), CudaError> {
    for (i, &(leaf, numbers, rate)) in masks.iter().enumerate() {
        let out = (pass.workspace.leaf(leaf), numbers);
        draws.mask(seed, &mask_name(i), rate, clock, out)?;
    }
    Ok(())
}

/// The kernels after the program.
struct Calls<'a, T> {
    gpu: &'a Gpu,
    networks: usize,
    pass: &'a Pass<T>,
    /// The first `descending` go against their gradient.
    changed: &'a [Changed<'a, T>],
    descending: usize,
}

impl<T: Number> Calls<'_, T> {
    fn tensors(changed: &[Changed<T>]) -> Vec<Tensor> {
        changed.iter().map(|c| c.tensor).collect()
    }

    fn descending(&self) -> &[Changed<'_, T>] {
        &self.changed[..self.descending]
    }

    /// Numbers of a block, and blocks of the survey.
    fn spans(&self) -> (usize, usize) {
        let all = Self::tensors(self.descending());
        let span = kernels::span(&all);
        (span, kernels::blocks(&all, span))
    }

    /// Surveys, then updates.
    fn compile(&self, config: &Config) -> Result<Vec<Kernel>, CudaError> {
        let (span, parts) = self.spans();
        let mut sources = Vec::new();
        let mut at = 0;
        for group in self.descending().chunks(GROUP) {
            let group = Self::tensors(group);
            sources.push(kernels::survey(T::DTYPE, &group, span, at, parts));
            at += kernels::blocks(&group, span);
        }
        let update = Update {
            optimiser: config.optimiser,
            clip: config.clip,
            parts,
            span,
        };
        let groups = self.changed.len().div_ceil(GROUP);
        for (i, group) in self.changed.chunks(GROUP).enumerate() {
            let group = Self::tensors(group);
            sources.push(update.source(T::DTYPE, &group, self.pass.sizes, i + 1 == groups));
        }
        self.gpu.compile(&sources)
    }

    fn start(
        &self,
        kernels: &[Kernel],
        partial: &Array<f64>,
        tensors: &Tensors<T>,
        train: &Set<T>,
    ) -> Result<(), CudaError> {
        let (span, parts) = self.spans();
        let mut kernels = kernels.iter();
        let networks = self.networks;
        let result = |c: &Changed<T>| {
            let n = networks * c.tensor.numbers;
            T::argument(self.pass.workspace.result(c.from), n)
        };
        let partial = Argument::F64(partial, networks * parts);
        let clock = Argument::I64(&tensors.clock, 1);
        for (group, kernel) in self.descending().chunks(GROUP).zip(&mut kernels) {
            let mut arguments = vec![partial, clock];
            arguments.extend(group.iter().map(result));
            let blocks = kernels::blocks(&Self::tensors(group), span);
            self.gpu.start(kernel, [blocks, networks, 1], &arguments)?;
        }
        let Sizes {
            samples, outputs, ..
        } = self.pass.sizes;
        let groups = self.changed.chunks(GROUP);
        let last = groups.len() - 1;
        for (i, (group, kernel)) in groups.zip(kernels).enumerate() {
            let workspace = &self.pass.workspace;
            let mut arguments = vec![
                partial,
                clock,
                Argument::F64(&tensors.rates, 2 * RATES),
                T::argument(workspace.result(LOSS), networks),
                T::argument(workspace.result(OUTPUT), networks * samples * outputs),
                Argument::U32(&train.classes, train.samples),
                Argument::U32(&train.order, train.samples),
                Argument::F64(&tensors.sums, networks * SUMS),
            ];
            for changed in group {
                let n = networks * changed.tensor.numbers;
                let mut own = changed.to.iter().map(|array| T::argument(array, n));
                arguments.extend(own.next());
                arguments.push(result(changed));
                arguments.extend(own);
            }
            let blocks = kernels::blocks(&Self::tensors(group), span) + usize::from(i == last);
            self.gpu.start(kernel, [blocks, networks, 1], &arguments)?;
        }
        Ok(())
    }
}
