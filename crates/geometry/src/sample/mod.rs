//! G by sampling: T random networks, a few gradients each, streamed into sums of fixed size.
//!
//! Networks are dealt to [`GROUPS`] groups (network i to group i mod 16); a group's networks are cut into blocks, and
//! blocks are what is computed, added, checkpointed and shared out to shards. Sums are whole numbers ([`sum`]), so the
//! result has the same bits for any number of threads, after any interruption and from any shards.
//!
//! The groups are independent samples of G. Between them lie the standard errors ([`statistics`]) and the stop rule:
//! the relative standard error of the matrix, √(E‖Ĝ − G‖²)/‖G‖ in the Frobenius norm, never "it stopped moving".

mod codec;
mod gram;
mod pairs;
mod pilot;
mod readout;
mod source;
mod statistics;
mod sum;
mod tiles;
mod top;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use polariscope_diff::Device;
use polariscope_graph::Graph;
pub use polariscope_lens::Shard;
use polariscope_network::Weights;
use serde::{Deserialize, Serialize};

pub(crate) use pilot::{PILOT_PROBES, PILOT_READOUTS};
pub use pilot::{best_probes, best_readouts};
pub use readout::Readouts;
pub(crate) use source::PILOTS;
pub use source::{Centring, Config};
pub use statistics::Sampled;
pub use sum::Float;
pub use top::{Top, TopSampler};

use crate::{GeometryError, Output};
use gram::Gram;
use source::RowSource;
use statistics::error_so_far;
use sum::{Sum, mean_quantum, quantum};

/// Independent groups of networks.
pub const GROUPS: usize = 16;
/// Rows that make adding a block cheap beside computing it.
const ROWS: usize = 256;
/// Multiplications for each entry of G that do the same.
const WORK: f64 = 300.0;
/// Networks of a block on a GPU.
const ON_A_GPU: usize = 16;
/// How long a GPU sums before its sums are fetched, at least, and how many times as long as that takes.
const LOOK: Duration = Duration::from_millis(500);
const LOOKS: u32 = 4;
/// No stop rule asks for more networks.
pub const MOST: u64 = 1 << 20;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// After this many networks.
    Networks(u64),
    /// When the relative standard error of the matrix is at most this, or after [`MOST`] networks.
    Error(f64),
}

impl Limit {
    fn networks(self) -> u64 {
        match self {
            Limit::Networks(n) => n,
            Limit::Error(_) => MOST,
        }
    }
}

/// How far a run is: everything that a checkpoint holds.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Waves that are done; a wave is a block of every group.
    waves: u64,
    quantum: f64,
    dim: usize,
    sums: Vec<Sum>,
}

impl State {
    /// Networks added so far.
    pub fn networks(&self) -> u64 {
        self.sums.iter().map(|s| s.count).sum()
    }

    /// Adds another shard's part.
    pub fn merge(&mut self, other: &State) -> Result<(), GeometryError> {
        if (self.dim, self.quantum) != (other.dim, other.quantum) {
            return Err(GeometryError::Checkpoint(
                "the parts are not of one run: their inputs or scales differ".into(),
            ));
        }
        let pairs = self.sums.iter_mut().zip(&other.sums);
        pairs.into_iter().try_for_each(|(a, b)| a.merge(b))
    }
}

/// A planned run.
///
/// ```
/// use polariscope_diff::Place;
/// use polariscope_geometry::{Gradient, Limit, Method, Output, Probe, Sampler};
/// use polariscope_geometry::{Centring, Readouts, SampleConfig, Shard};
/// use polariscope_graph::{ZooOptions, zoo};
/// let input = Some("1x8x8".parse()?);
/// let graph = zoo("mlp-2x16", &ZooOptions { input, ..ZooOptions::default() })?;
/// let config = SampleConfig {
///     seed: 0,
///     method: Method::Sample,
///     gradient: Gradient::Local,
///     probe: Probe::Gauss { sigma: 1.0 },
///     probes: 4,
///     output: Output::Logit(0),
///     readouts: Readouts::Drawn(1),
///     centring: Centring::None,
///     place: Place::default(),
/// };
/// let sampler = Sampler::<f32>::new(&graph, config, Vec::new(), Limit::Networks(500), Shard::WHOLE)?;
/// let mut state = sampler.start();
/// while !sampler.done(&state) {
///     sampler.advance(&mut state)?;
/// }
/// let sampled = sampler.finish(state)?;
/// // L = 2 hidden layers: tr G = 3⁻³ 2⁻².
/// let trace = sampled.trace();
/// assert!((trace.value - 1.0 / 108.0).abs() < 4.0 * trace.standard_error);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sampler<T> {
    source: RowSource<T>,
    limit: Limit,
    shard: Shard,
    quantum: f64,
    /// Networks of a block.
    block: u64,
    /// Sums on a GPU.
    gram: Option<Mutex<Gram<T>>>,
    /// Rows of a wave that is not added yet.
    ahead: Mutex<Option<(u64, Vec<T>)>>,
}

impl<T: Float> Sampler<T> {
    /// Plans a run over random networks, or over the `given` ones: network i is the i-th of them, again from the
    /// first after the last, each time at other probes.
    pub fn new(
        graph: &Graph,
        config: Config,
        given: Vec<Weights<T>>,
        limit: Limit,
        shard: Shard,
    ) -> Result<Self, GeometryError> {
        if limit == Limit::Networks(0) || shard.index >= shard.count {
            return Err(GeometryError::Question(
                "there must be at least one network, and a shard is i/n with i from 1 to n".into(),
            ));
        }
        if matches!(limit, Limit::Error(_)) && shard != Shard::WHOLE {
            return Err(GeometryError::Question(
                "shards cannot see each other's error: give ‹networks› in place of ‹error›".into(),
            ));
        }
        let source = RowSource::new(graph, config, given)?;
        let dim = source.dim() as f64;
        let enough = match source.config().place.device {
            Device::Cpu => (WORK * dim * dim / source.work()).ceil() as usize,
            // Sums are made while the GPU waits.
            Device::Cuda(_) => ON_A_GPU,
        };
        let block = match source.block_on_a_gpu() {
            Some(block) => block,
            None => enough.clamp(1, (ROWS / source.rows_a_network()).max(1)),
        } as u64;
        let quantum = quantum(source.largest()?, limit.networks(), block);
        let gram = source.gram(GROUPS, quantum)?;
        Ok(Self {
            source,
            limit,
            shard,
            quantum,
            block,
            gram: gram.map(Mutex::new),
            ahead: Mutex::default(),
        })
    }

    /// The question as resolved.
    pub fn config(&self) -> &Config {
        self.source.config()
    }

    /// Networks of a wave, after which a run can be interrupted.
    fn wave(&self) -> u64 {
        self.block * GROUPS as u64
    }

    /// Networks at which the run ends, as far as is known.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Numbers in an input.
    pub fn dim(&self) -> usize {
        self.source.dim()
    }

    /// Bytes that a run over inputs of `dim` numbers takes: the sums, the matrix and its decomposition, a wave of rows.
    pub fn memory(dim: usize) -> f64 {
        let square = (dim * dim) as f64;
        8.0 * (0.5 * GROUPS as f64 + 6.0) * square + (GROUPS * ROWS * dim * size_of::<T>()) as f64
    }

    /// Nothing done.
    pub fn start(&self) -> State {
        let dim = self.source.dim();
        let mean = match self.config().centring {
            Centring::None if !self.source.is_given() => 0,
            Centring::None | Centring::Mean => dim,
        };
        State {
            waves: 0,
            quantum: self.quantum,
            dim,
            sums: vec![Sum::zero(dim, mean); GROUPS],
        }
    }

    /// Whether the run has reached its limit.
    pub fn done(&self, state: &State) -> bool {
        match self.limit {
            Limit::Networks(n) => state.waves * self.wave() >= n,
            Limit::Error(e) => {
                let networks = state.networks();
                networks >= MOST
                    || due(state.waves) && error_so_far(state).is_some_and(|found| found <= e)
            }
        }
    }

    /// Networks at which the run will end, as far as what is there can tell.
    pub fn expected(&self, state: &State) -> Option<u64> {
        match self.limit {
            Limit::Networks(n) => Some(n),
            Limit::Error(e) => {
                let found = error_so_far(state)?;
                let networks = state.networks() as f64 * (found / e).powi(2);
                Some((networks.ceil() as u64).min(MOST))
            }
        }
    }

    /// Computes one wave, the next block of every group; on a GPU that sums by itself, those of half a second or more.
    pub fn advance(&self, state: &mut State) -> Result<(), GeometryError> {
        if let Some(gram) = &self.gram {
            let mut gram = gram.lock().unwrap_or_else(PoisonError::into_inner);
            let (started, mut waves) = (Instant::now(), state.waves);
            let look = LOOK.max(LOOKS * gram.looking());
            loop {
                for (group, networks) in self.blocks(waves).iter().enumerate() {
                    if !networks.is_empty() {
                        self.source.add_to(&mut gram, group, networks)?;
                    }
                }
                gram.settle()?;
                waves += 1;
                let over = waves * self.wave() >= self.limit.networks();
                let asked = matches!(self.limit, Limit::Error(_)) && due(waves);
                if over || asked || started.elapsed() > look {
                    gram.take(&mut state.sums)?;
                    state.waves = waves;
                    return Ok(());
                }
            }
        }
        let wave = state.waves;
        let kept = self.ahead().take().filter(|(kept, _)| *kept == wave);
        let rows = match kept {
            Some((_, rows)) => rows,
            None => self.rows(wave)?,
        };
        match self.config().place.device {
            Device::Cpu => self.add(state, &rows)?,
            // The GPU goes on with the next wave meanwhile; if it fails, that wave is where it is told.
            Device::Cuda(_) => {
                let more = (wave + 1) * self.wave() < self.limit.networks();
                let next = || more.then(|| self.rows(wave + 1).ok()).flatten();
                let (added, next) = rayon::join(|| self.add(state, &rows), next);
                *self.ahead() = next.map(|rows| (wave + 1, rows));
                added?;
            }
        }
        state.waves += 1;
        Ok(())
    }

    fn ahead(&self) -> MutexGuard<'_, Option<(u64, Vec<T>)>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The networks of a wave that this shard computes, by group.
    fn blocks(&self, wave: u64) -> Vec<Vec<u64>> {
        let first = wave * self.wave();
        let last = (first + self.wave()).min(self.limit.networks());
        let block = |g: u64| {
            let number = wave * GROUPS as u64 + g;
            let ours = number % self.shard.count == self.shard.index;
            let networks = (first + g..last).step_by(GROUPS);
            networks.filter(|_| ours).collect()
        };
        (0..GROUPS as u64).map(block).collect()
    }

    /// The rows of a wave.
    fn rows(&self, wave: u64) -> Result<Vec<T>, GeometryError> {
        let networks = self.blocks(wave).concat();
        let row = self.source.rows_a_network() * self.source.dim();
        let mut rows = vec![T::ZERO; networks.len() * row];
        self.source.rows(&networks, &mut rows)?;
        Ok(rows)
    }

    /// Adds the rows of the wave that comes next.
    fn add(&self, state: &mut State, rows: &[T]) -> Result<(), GeometryError> {
        let row = self.source.rows_a_network() * self.source.dim();
        let mut at = 0;
        for (sum, block) in state.sums.iter_mut().zip(self.blocks(state.waves)) {
            let part = &rows[at * row..][..block.len() * row];
            sum.add(part, block.len(), self.source.pairs(), self.quantum)?;
            at += block.len();
        }
        Ok(())
    }

    /// The mean gradient of given networks, ḡ; none for random ones, or where several outputs are differentiated.
    pub fn mean_gradient(&self, state: &State) -> Option<Vec<f64>> {
        let one = !matches!(self.config().output, Output::All);
        let rows = state.networks() as f64 * self.source.rows_a_network() as f64;
        (self.source.is_given() && one && rows > 0.0).then(|| {
            // Rows are scaled.
            let scale = mean_quantum(self.quantum) / (rows * self.source.scale());
            let total = |d: usize| -> i128 {
                let sums = state.sums.iter();
                sums.map(|sum| i128::from(sum.mean[d])).sum()
            };
            (0..self.dim()).map(|d| total(d) as f64 * scale).collect()
        })
    }

    /// What has been found.
    pub fn finish(&self, state: State) -> Result<Sampled, GeometryError> {
        if state.networks() == 0 {
            return Err(GeometryError::Question(
                "this shard has no network: use fewer shards or more ‹networks›".into(),
            ));
        }
        Ok(Sampled::new(state, self.config().centring))
    }

    /// Reads a checkpoint of this very run.
    pub fn restore(&self, bytes: &[u8]) -> Result<State, GeometryError> {
        let state = State::from_bytes(bytes)?;
        if (state.dim, state.quantum) != (self.source.dim(), self.quantum) {
            return Err(GeometryError::Checkpoint(
                "the checkpoint belongs to another run".into(),
            ));
        }
        Ok(state)
    }
}

/// Waves after which the error is looked at: every one at first, then every time a quarter more is there.
fn due(waves: u64) -> bool {
    let step = (waves / 4).max(1).next_power_of_two();
    waves > 0 && waves.is_multiple_of(step)
}
