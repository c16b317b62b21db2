//! The training loop: batches, updates, history.

use std::time::{Duration, Instant};

use polariscope_diff::{Device, Number, Place};
use polariscope_graph::Graph;
use polariscope_network::Card;

use crate::augment::Frame;
use crate::cuda::Fleet;
use crate::local::Local;
use crate::{Config, Labels, Row, Samples, State, TrainError, label_noise};

/// How long a GPU works between two looks at it.
const LOOK: Duration = Duration::from_millis(500);
/// Updates before the first look.
const FIRST: u64 = 16;

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Yes.
    Continue,
    /// No: the run returns after the step that it has done.
    Stop,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Finished,
    /// The observer stopped it.
    Stopped,
}

/// Watches a run; every state it sees can be saved and continued from.
pub trait Observer<T> {
    /// After updates, `state.step` of `total` are done: after every one on the processor, after those of half a second on a
    /// GPU.
    fn on_step(&mut self, _state: &State<T>, _total: u64) -> Control {
        Control::Continue
    }

    /// After every row of the history.
    fn on_epoch(&mut self, _row: &Row, _state: &State<T>) -> Control {
        Control::Continue
    }
}

/// Watches nothing.
pub struct Quiet;

impl<T> Observer<T> for Quiet {}

/// Sizes of the batches of an epoch, `batch` at a time: that, and that of the last one where it is smaller.
pub(crate) fn parts(samples: usize, batch: usize) -> impl Iterator<Item = usize> {
    [batch, samples % batch]
        .into_iter()
        .filter(|&size| size > 0)
}

/// Samples and targets, checked.
pub(crate) struct Problem<'a, T> {
    pub train: Samples<'a>,
    pub test: Option<Samples<'a>>,
    /// Training classes, with label noise.
    pub classes: Option<Vec<u32>>,
    /// Training targets, with label noise.
    pub targets: Vec<T>,
    /// Training images that are changed.
    pub frame: Option<Frame>,
}

impl<'a, T: Number> Problem<'a, T> {
    /// Checks samples against a network and a configuration.
    pub fn new(
        graph: &Graph,
        config: &Config,
        train: Samples<'a>,
        test: Option<Samples<'a>>,
    ) -> Result<Self, TrainError> {
        config.check()?;
        train.check(graph, "training")?;
        test.map_or(Ok(()), |test| test.check(graph, "test"))?;
        let frame = config.augment.frame(graph.input())?;
        let outputs = graph.output().len();
        let classes = match train.y {
            Labels::Classes(y) => Some(label_noise(
                y,
                outputs,
                config.label_noise,
                config.batch_seed,
            )),
            Labels::Targets { .. } if config.label_noise > 0.0 => {
                return Err(TrainError::Unfit {
                    what: "label noise needs classes, and the training set has real targets"
                        .to_owned(),
                    wanted: "set it to 0",
                });
            }
            Labels::Targets { .. } => None,
        };
        let noisy = Samples {
            y: classes.as_deref().map_or(train.y, Labels::Classes),
            ..train
        };
        let targets = noisy.targets(config.loss, outputs);
        Ok(Problem {
            train,
            test,
            classes,
            targets,
            frame,
        })
    }
}

/// A run: a network, its data and its state.
pub struct Trainer<'a, T> {
    config: &'a Config,
    samples: usize,
    side: Side<'a, T>,
}

/// Where it runs.
enum Side<'a, T> {
    Cpu(Box<Local<'a, T>>),
    Cuda(Box<Fleet<'a, T>>),
}

impl<'a, T: Number> Trainer<'a, T> {
    /// A run on the processor. Checks everything and plans the gradients; `state` is fresh or a checkpoint's.
    pub fn new(
        graph: &'a Graph,
        config: &'a Config,
        train: Samples<'a>,
        test: Option<Samples<'a>>,
        state: State<T>,
    ) -> Result<Self, TrainError> {
        Self::on(Place::default(), graph, config, (train, test), state)
    }

    /// A run on any device.
    pub fn on(
        place: Place,
        graph: &'a Graph,
        config: &'a Config,
        (train, test): (Samples<'a>, Option<Samples<'a>>),
        state: State<T>,
    ) -> Result<Self, TrainError> {
        let problem = Problem::new(graph, config, train, test)?;
        state.check(graph, config)?;
        let samples = train.len();
        let side = match place.device {
            Device::Cpu => Side::Cpu(Box::new(Local::new(graph, config, problem, state)?)),
            Device::Cuda(ordinal) => {
                let card = Card {
                    ordinal,
                    precision: place.precision,
                };
                let fleet = Fleet::new(graph, config, &problem, vec![state], card)?;
                Side::Cuda(Box::new(fleet))
            }
        };
        Ok(Trainer {
            config,
            samples,
            side,
        })
    }

    /// Where the run stands.
    pub fn state(&self) -> &State<T> {
        match &self.side {
            Side::Cpu(local) => &local.state,
            Side::Cuda(fleet) => &fleet.states[0],
        }
    }

    /// Ends the run.
    pub fn into_state(self) -> State<T> {
        match self.side {
            Side::Cpu(local) => local.state,
            Side::Cuda(mut fleet) => fleet.states.swap_remove(0),
        }
    }

    /// Updates of the whole run.
    pub fn total_steps(&self) -> u64 {
        self.config.total_steps(self.samples)
    }

    /// Runs to the end, or until the observer stops it. After an error the state is the last good one.
    pub fn run(&mut self, observer: &mut dyn Observer<T>) -> Result<Outcome, TrainError> {
        let total = self.total_steps();
        let mut several = FIRST;
        while self.state().step < total {
            let rows = self.state().history.len();
            let started = Instant::now();
            self.advance(several)?;
            if started.elapsed() < LOOK / 2 {
                several = several.saturating_mul(2);
            }
            let state = self.state();
            let mut control = observer.on_step(state, total);
            if let Some(row) = state.history.get(rows)
                && observer.on_epoch(row, state) == Control::Stop
            {
                control = Control::Stop;
            }
            if control == Control::Stop && state.step < total {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// One update.
    pub fn step(&mut self) -> Result<(), TrainError> {
        self.advance(1)
    }

    /// One update on the processor, up to `several` on a GPU, none of them beyond the end of a row.
    fn advance(&mut self, several: u64) -> Result<(), TrainError> {
        match &mut self.side {
            Side::Cpu(local) => local.step(),
            Side::Cuda(fleet) => match fleet.advance(several)?.swap_remove(0) {
                None => Ok(()),
                Some(error) => Err(error),
            },
        }
    }
}
