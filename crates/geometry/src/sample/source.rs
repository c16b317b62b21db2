//! Gradients of one network after the other: the rows g whose products average to G.
//!
//! Each row is scaled by 1/√(pairs of probes · read-outs), so that [`Pairs`] need only add up products.
//!
//! | quantity | row |
//! |---|---|
//! | [`Method::Sample`] | ∇ₓf, by autodiff or dipole |
//! | [`Method::Mixed`] | Mᵀz with z ~ N(0, I) over the parameters: E_z[Mᵀz zᵀM] = MᵀM, and M is never formed |

use std::sync::{Mutex, PoisonError};

use polariscope_diff::cuda::Gpu;
use polariscope_diff::{Device, Number, Place};
use polariscope_graph::Graph;
use polariscope_network::{Card, Dipole, GpuNetworks, Network, Scalar, Weights, multiplications};
use polariscope_random::Stream;
use rayon::prelude::*;

use super::GROUPS;
use super::gram::{self, Gram};
use super::pairs::Pairs;
use super::readout::{Readouts, Trunk};
use super::sum::{Float, largest};
use crate::question::PROBES;
use crate::{GeometryError, Gradient, Method, Output, Probe};

/// What is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Seed of weights, probes and read-outs.
    pub seed: u64,
    /// [`Method::Sample`] or [`Method::Mixed`].
    pub method: Method,
    /// By which derivative.
    pub gradient: Gradient,
    /// Where.
    pub probe: Probe,
    /// Points for each network.
    pub probes: usize,
    /// Which scalar.
    pub output: Output,
    /// What happens to the last layer.
    pub readouts: Readouts,
    /// Whether the mean gradient is removed, as PCA does.
    pub centring: Centring,
    /// Where it is computed.
    pub place: Place,
}

impl Config {
    /// Refuses an output or points that the network does not have.
    pub fn check_place(&self, graph: &Graph) -> Result<(), GeometryError> {
        let outputs = graph.output().len();
        if let Output::Logit(k) = self.output
            && k >= outputs
        {
            return Err(GeometryError::Question(format!(
                "‹output {k}›: the network has {outputs} outputs, counted from 0"
            )));
        }
        self.probe.check(graph.input().len())
    }

    /// Refuses a question that makes no sense for the network.
    pub fn check(&self, graph: &Graph) -> Result<(), GeometryError> {
        let wrong = |text: String| Err(GeometryError::Question(text));
        self.check_place(graph)?;
        if self.method == Method::Mixed && self.output == Output::All {
            return wrong(
                "mixed takes one output at a time: use ‹output k› or ‹output mean›".into(),
            );
        }
        if self.method == Method::Mixed && self.gradient != Gradient::Local {
            return wrong("mixed has its own exact derivative: leave ‹gradient› out".into());
        }
        let coherent = self.gradient == Gradient::Coherent && self.probe != Probe::Zero;
        if coherent && self.centring == Centring::Mean {
            return wrong(
                "the mean gradient is removed from local ones: use ‹gradient local›".into(),
            );
        }
        if coherent && self.probe.count(self.probes, graph.input().len()) < 2 {
            return wrong(
                "coherent compares the gradients at two points or more: use ‹probes 2› or more, or ‹gradient local›"
                    .into(),
            );
        }
        if self.centring == Centring::Mean && self.probes > 1 {
            return wrong(
                "the mean gradient is removed over networks with one probe each: use ‹probes 1›"
                    .into(),
            );
        }
        Ok(())
    }
}

/// Whether the mean gradient is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Centring {
    /// `G = E[g gᵀ]`.
    None,
    /// The covariance `E[g gᵀ] − E[g]E[g]ᵀ`, with the divisor T − 1.
    Mean,
}

/// Networks whose gradients set the scale and the numbers of read-outs and probes.
pub(crate) const PILOTS: u64 = 8;
/// What drawing a weight costs in multiplications.
const DRAW: f64 = 70.0;

/// Rows of networks that are taken together from which on their sums are made on the GPU: fewer are sooner fetched.
const SUMMED: usize = 16;
/// The part of its memory that these may take.
const SHARE: usize = 4;

/// Networks, drawn or given, as a source of rows.
pub(crate) struct RowSource<T> {
    config: Config,
    /// The network, or its trunk.
    network: Network<T>,
    trunk: Option<Trunk>,
    dipole: Option<Dipole<T>>,
    on_gpu: Option<Mutex<GpuNetworks<T>>>,
    /// Networks in place of random ones.
    given: Vec<Weights<T>>,
    /// Weights to draw into.
    idle: Mutex<Vec<Weights<T>>>,
}

impl<T: Number> RowSource<T> {
    /// Random networks, or the `given` ones.
    pub fn new(
        graph: &Graph,
        mut config: Config,
        given: Vec<Weights<T>>,
    ) -> Result<Self, GeometryError> {
        config.check(graph)?;
        config.probes = config.probe.count(config.probes, graph.input().len());
        let integrable = given.is_empty()
            && config.readouts != Readouts::Own
            && config.method == Method::Sample
            && matches!(config.gradient, Gradient::Coherent | Gradient::Local);
        let trunk = Trunk::of(graph).filter(|_| integrable);
        let dipole = match (config.gradient, config.output) {
            (Gradient::Coherent | Gradient::Local, _) => None,
            (Gradient::Dipole { .. }, Output::All) => {
                return Err(GeometryError::Question(
                    "a dipole takes one output at a time: use ‹output k› or ‹output mean›".into(),
                ));
            }
            (Gradient::Dipole { h }, Output::Logit(k)) => {
                Some(Dipole::new(graph, h, Scalar::Logit(k))?)
            }
            (Gradient::Dipole { h }, Output::Mean) => Some(Dipole::new(graph, h, Scalar::Mean)?),
        };
        config.readouts = match (&trunk, config.readouts) {
            (None, _) => Readouts::Own,
            (Some(trunk), _) if trunk.is_short() => Readouts::Every,
            (Some(_), readouts) => readouts,
        };
        let network = Network::new(trunk.as_ref().map_or(graph, |t| &t.graph).clone());
        let mut source = Self {
            config,
            network,
            trunk,
            dipole,
            on_gpu: None,
            given,
            idle: Mutex::default(),
        };
        if let Device::Cuda(ordinal) = source.config.place.device {
            source.on_gpu = Some(Mutex::new(source.settle(ordinal)?));
        }
        Ok(source)
    }

    /// The question as resolved: read-outs that apply, probes that exist.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Numbers in a row.
    pub fn dim(&self) -> usize {
        self.network.graph().input().len()
    }

    /// Rows of a network.
    pub fn rows_a_network(&self) -> usize {
        self.config.probes * self.cotangents_a_network()
    }

    /// Which of its rows are multiplied.
    pub fn pairs(&self) -> Pairs {
        Pairs::of(&self.config)
    }

    /// Rows of a network at one probe.
    fn cotangents_a_network(&self) -> usize {
        match (&self.trunk, self.config.readouts, self.config.output) {
            (Some(_), Readouts::Drawn(k), _) => k,
            (Some(trunk), _, _) => trunk.width,
            (None, _, Output::All) => self.network.graph().output().len(),
            (None, _, Output::Logit(_) | Output::Mean) => 1,
        }
    }

    /// Multiplications that a network takes: its draws, and its gradients.
    pub fn work(&self) -> f64 {
        let forward = multiplications(self.network.graph()) as f64;
        let gradients = match self.config.gradient {
            Gradient::Coherent | Gradient::Local => 3.0 * self.rows_a_network() as f64,
            Gradient::Dipole { .. } => (2 * self.dim() * self.rows_a_network()) as f64,
        };
        self.draws() + gradients * forward
    }

    /// Those of its draws.
    pub fn draws(&self) -> f64 {
        DRAW * self.network.graph().parameter_count() as f64
    }

    /// Writes the rows of some networks, one after the other.
    pub fn rows(&self, networks: &[u64], out: &mut [T]) -> Result<(), GeometryError> {
        if networks.is_empty() {
            return Ok(());
        }
        let row = self.rows_a_network() * self.dim();
        if let Some(on_gpu) = &self.on_gpu {
            let mut on_gpu = on_gpu.lock().unwrap_or_else(PoisonError::into_inner);
            self.gpu_rows(&mut on_gpu, networks, out)?;
        }
        let scale = T::from_f64(self.scale());
        let each = out.par_chunks_mut(row).zip(networks);
        each.try_for_each(|(out, &index)| {
            if self.on_gpu.is_none() {
                out.copy_from_slice(&self.drawn_rows(index)?);
            }
            for x in out {
                if !x.is_finite() {
                    return Err(GeometryError::NotFinite { network: index });
                }
                *x *= scale;
            }
            Ok(())
        })
    }

    /// What every row is multiplied with, so that the sum over the pairs of rows of a network is its A.
    pub fn scale(&self) -> f64 {
        let products = self.pairs().count() * self.cotangents_a_network();
        1.0 / (products as f64 / self.outer()).sqrt()
    }

    /// Sums on the GPU, where there is one and each network has rows enough: networks of a block, and the sums for
    /// a quantum.
    pub fn gram(&self, groups: usize, quantum: f64) -> Result<Option<Gram<T>>, GeometryError>
    where
        T: Float,
    {
        let Device::Cuda(ordinal) = self.config.place.device else {
            return Ok(None);
        };
        let Some(block) = self.block_on_a_gpu() else {
            return Ok(None);
        };
        let sizes = (groups, self.dim(), block);
        Ok(Some(Gram::new(
            ordinal,
            sizes,
            self.scale().powi(2),
            quantum,
        )?))
    }

    /// Networks of a block whose sums are made on the GPU; nothing if they are not made there.
    pub fn block_on_a_gpu(&self) -> Option<usize> {
        let Device::Cuda(ordinal) = self.config.place.device else {
            return None;
        };
        // There every row is multiplied with itself.
        let possible = self.config.centring == Centring::None
            && self.is_one_question()
            && matches!(self.pairs(), Pairs::Same { .. });
        let on_gpu = self.on_gpu.as_ref().filter(|_| possible)?;
        // Not of what is free: results do not depend on what else runs there.
        let memory = Gpu::open(ordinal).and_then(|gpu| gpu.memory()).ok()?;
        if gram::bytes(GROUPS, self.dim(), T::DTYPE) > memory / SHARE {
            return None;
        }
        let on_gpu = on_gpu.lock().unwrap_or_else(PoisonError::into_inner);
        let together = on_gpu.together();
        (self.rows_a_network() * together >= SUMMED).then_some(together)
    }

    /// Adds networks, at most a block of them, to a group of sums on the GPU.
    pub fn add_to(
        &self,
        gram: &mut Gram<T>,
        group: usize,
        networks: &[u64],
    ) -> Result<(), GeometryError>
    where
        T: Float,
    {
        let Some(on_gpu) = &self.on_gpu else {
            unreachable!("sums on a GPU are of networks there");
        };
        let mut on_gpu = on_gpu.lock().unwrap_or_else(PoisonError::into_inner);
        self.ask(&mut on_gpu, networks)?;
        let rows = on_gpu.run()?;
        gram.add(group, networks, rows, self.rows_a_network())
    }

    /// Whether networks are given, not drawn.
    pub fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    fn given_weights(&self, index: u64) -> Option<&Weights<T>> {
        let count = self.given.len().max(1) as u64;
        self.given.get((index % count) as usize)
    }

    /// Rows of network `index`, drawn or given.
    fn drawn_rows(&self, index: u64) -> Result<Vec<T>, GeometryError> {
        if let Some(weights) = self.given_weights(index) {
            return self.rows_of(weights, index);
        }
        let idle = self.lock().pop();
        let graph = self.network.graph();
        let mut weights = idle.unwrap_or_else(|| Weights::zeros(graph));
        weights.redraw(graph, self.config.seed, index);
        let rows = self.rows_of(&weights, index);
        self.lock().push(weights);
        rows
    }

    /// Rows that are summed, not averaged: the outputs under `all` where no read-out stands for them.
    fn outer(&self) -> f64 {
        match (&self.trunk, self.config.output) {
            (None, Output::All) => self.network.graph().output().len() as f64,
            _ => 1.0,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Weights<T>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows_of(&self, weights: &Weights<T>, index: u64) -> Result<Vec<T>, GeometryError> {
        let x = self.points(index);
        let dim = self.dim();
        if let Some(dipole) = &self.dipole {
            let rows = x.chunks_exact(dim).map(|x| dipole.gradient(weights, x));
            return Ok(rows.collect::<Result<Vec<_>, _>>()?.concat());
        }
        if self.config.method == Method::Mixed {
            let z = self.direction(index);
            return Ok(self
                .network
                .input_gradient_tangent(weights, &z, &x, self.scalar())?);
        }
        let x = self.repeated(x);
        let u = self.cotangents(index).repeat(self.config.probes);
        Ok(self.network.input_vjp(weights, &x, &u)?)
    }

    /// The one scalar of a dipole or of mixed derivatives.
    fn scalar(&self) -> Scalar {
        match self.config.output {
            Output::Logit(k) => Scalar::Logit(k),
            Output::Mean | Output::All => Scalar::Mean,
        }
    }

    /// Points once for each of their cotangents.
    fn repeated(&self, x: Vec<T>) -> Vec<T> {
        match self.cotangents_a_network() {
            1 => x,
            k => x
                .chunks_exact(self.dim())
                .flat_map(|x| x.repeat(k))
                .collect(),
        }
    }

    /// The probes of a network, probes × dim.
    fn points(&self, index: u64) -> Vec<T> {
        let Config {
            seed,
            probes,
            ref probe,
            ..
        } = self.config;
        let x = probe.points(probes, self.dim(), seed, index);
        x.into_iter().map(|x| T::from_f64(f64::from(x))).collect()
    }

    /// The scalars that are differentiated, as cotangents of the outputs or features, one a row.
    fn cotangents(&self, index: u64) -> Vec<T> {
        let Config {
            seed,
            readouts,
            output,
            ..
        } = self.config;
        let outputs = self.network.graph().output().len();
        let rows = match &self.trunk {
            Some(trunk) => trunk.cotangents(readouts, output, seed, index),
            None => match output {
                Output::Logit(k) => (0..outputs).map(|i| f64::from(u8::from(i == k))).collect(),
                Output::Mean => vec![1.0 / outputs as f64; outputs],
                Output::All => (0..outputs * outputs)
                    .map(|at| f64::from(u8::from(at % (outputs + 1) == 0)))
                    .collect(),
            },
        };
        rows.into_iter().map(T::from_f64).collect()
    }

    /// z ~ N(0, I) over the trainable parameters.
    fn direction(&self, index: u64) -> Weights<T> {
        let graph = self.network.graph();
        let mut z = Weights::<T>::zeros(graph);
        for i in graph.trainable() {
            let name = direction_name(&graph.params[i].name);
            let mut draws = vec![0f32; graph.params[i].len()];
            Stream::new(self.config.seed, index, &name).normal(1.0, &mut draws);
            for (z, draw) in z.values[i].iter_mut().zip(draws) {
                *z = T::from_f64(f64::from(draw));
            }
        }
        z
    }

    /// The question on a GPU.
    fn settle(&self, ordinal: usize) -> Result<GpuNetworks<T>, GeometryError> {
        let (graph, rows) = (self.network.graph(), self.rows_a_network());
        let card = Card {
            ordinal,
            precision: self.config.place.precision,
        };
        Ok(match (self.config.gradient, self.config.method) {
            (Gradient::Dipole { h }, _) => GpuNetworks::dipole(graph, h, self.scalar(), card)?,
            (_, Method::Mixed) => GpuNetworks::tangent(graph, rows, self.scalar(), card)?,
            _ => GpuNetworks::input_vjp(graph, rows, card)?,
        })
    }

    /// Whether all rows of a network come at once: a dipole takes one probe at a time.
    fn is_one_question(&self) -> bool {
        self.dipole.is_none() || self.config.probes == 1
    }

    /// [`Self::drawn_rows`] of some networks, on the GPU until the last one is done.
    fn gpu_rows(
        &self,
        on_gpu: &mut GpuNetworks<T>,
        networks: &[u64],
        out: &mut [T],
    ) -> Result<(), GeometryError> {
        let probes = match self.is_one_question() {
            true => 1,
            false => self.config.probes,
        };
        let mut answers = on_gpu.answers(networks.len() * probes)?;
        let together = on_gpu.together();
        for (part, networks) in networks.chunks(together).enumerate() {
            let first = part * together;
            if self.is_one_question() {
                self.ask(on_gpu, networks)?;
                on_gpu.answer(&mut answers, first..first + networks.len())?;
                continue;
            }
            self.set_weights(on_gpu, networks)?;
            let points: Vec<Vec<T>> = networks.iter().map(|&i| self.points(i)).collect();
            for probe in 0..probes {
                let own = |x: &Vec<T>| x[probe * self.dim()..][..self.dim()].to_vec();
                on_gpu.set_points(points.iter().flat_map(own).collect())?;
                let places = (first..first + networks.len()).map(|i| i * probes + probe);
                on_gpu.answer(&mut answers, places)?;
            }
        }
        Ok(on_gpu.fetch(&answers, out)?)
    }

    fn set_weights(
        &self,
        on_gpu: &mut GpuNetworks<T>,
        networks: &[u64],
    ) -> Result<(), GeometryError> {
        if self.given.is_empty() {
            on_gpu.draw(self.config.seed, networks)?;
        }
        for (slot, &index) in networks.iter().enumerate() {
            if let Some(weights) = self.given_weights(index) {
                on_gpu.load(slot, weights)?;
            }
        }
        Ok(())
    }

    /// Gives networks on a GPU their weights, points and cotangents.
    fn ask(&self, on_gpu: &mut GpuNetworks<T>, networks: &[u64]) -> Result<(), GeometryError> {
        self.set_weights(on_gpu, networks)?;
        let Config {
            seed,
            probes,
            ref probe,
            ..
        } = self.config;
        match probe {
            // Those of `points`, without the way through our memory.
            Probe::Gauss { sigma } if self.cotangents_a_network() == 1 => {
                on_gpu.draw_points(seed, networks, PROBES, *sigma)?;
            }
            _ => {
                let points = |&index: &u64| self.repeated(self.points(index));
                on_gpu.set_points(networks.iter().flat_map(points).collect())?;
            }
        }
        match self.config.method {
            Method::Mixed => on_gpu.draw_direction(seed, networks, direction_name)?,
            Method::Sample if self.dipole.is_some() => {}
            _ => {
                for (slot, &index) in networks.iter().enumerate() {
                    let u = self.cotangents(index).repeat(probes);
                    on_gpu.set_cotangents(slot, &u)?;
                }
            }
        }
        Ok(())
    }

    /// A few networks, to set the scale: a bound on the entries of their A.
    pub fn largest(&self) -> Result<f64, GeometryError> {
        let networks = match (self.given.len(), self.config.gradient) {
            (0, Gradient::Coherent | Gradient::Local) => PILOTS,
            // A dipole takes as long as hundreds of gradients.
            (0, Gradient::Dipole { .. }) => 1,
            (given, _) => given as u64,
        };
        let (dim, rows) = (self.dim(), self.rows_a_network());
        let mut bound = 0f64;
        let mut buffer = vec![T::ZERO; rows * dim];
        for index in 0..networks {
            self.rows(&[index], &mut buffer)?;
            let (x, _) = self.pairs().factors(&buffer, 1);
            bound = bound.max(largest(&x, dim));
        }
        if bound > 0.0 {
            Ok(bound)
        } else {
            Err(GeometryError::Vanishes)
        }
    }
}

/// The stream of z over a parameter.
fn direction_name(parameter: &str) -> String {
    format!("direction of {parameter}")
}
