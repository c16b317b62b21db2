//! A network at its first weights, and what became of it.

use polariscope_data::{self as data, Dataset, Split};
use polariscope_diff::Number;
use polariscope_graph::{Graph, Shape};
use polariscope_lens::{Observer, Setup, Work};
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_report::counted;
use polariscope_train::{self as train, Config, Control, Problem, Row, State, Trainer};
use serde::{Deserialize, Serialize};

use crate::SymmetryError;
use crate::maps::with_statistics;

/// Images that batch norm takes its statistics from, at first weights.
const BATCH: usize = 256;

/// A network and what it is shown.
pub struct Subject<T> {
    /// The network and the data.
    pub problem: Problem,
    /// What it has learnt.
    pub learnt: Learnt<T>,
}

/// What a network has learnt.
pub enum Learnt<T> {
    /// Nothing: its first weights alone are looked at.
    Nothing,
    /// The weights of a file.
    Given(Weights<T>),
    /// What training of this kind leaves.
    Train(Config),
}

/// Where weights come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Drawn.
    Initial,
    /// Of a file.
    Given,
    /// Of a training that has just been made.
    Trained,
}

impl Origin {
    /// To be read after "weights".
    pub fn words(self) -> &'static str {
        match self {
            Origin::Initial => "initial",
            Origin::Given => "given",
            Origin::Trained => "trained",
        }
    }
}

/// Images that a network is shown.
#[derive(Clone, Debug)]
pub struct Images<'a> {
    /// Shape of one.
    pub shape: Shape,
    /// Image after image.
    pub x: &'a [f32],
    /// Their classes, where they have any.
    pub classes: Option<&'a [u32]>,
}

impl<'a> Images<'a> {
    /// The first `wanted` test samples, or training samples where there is no test sample.
    pub fn of(data: &'a Dataset, wanted: usize) -> Result<Self, SymmetryError> {
        let split = match data.test.is_empty() {
            true => &data.train,
            false => &data.test,
        };
        let count = split.len().min(wanted);
        if count < 2 {
            return Err(SymmetryError::Question(format!(
                "data '{}' has {} to look at, and distances between images need two or more",
                data.name,
                counted(count as u64, "image")
            )));
        }
        Ok(Images {
            shape: data.shape,
            x: &split.x[..count * data.shape.len()],
            classes: match &split.y {
                data::Labels::Classes(y) => Some(&y[..count]),
                data::Labels::Targets { .. } => None,
            },
        })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.x.len() / self.shape.len().max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
}

/// Samples of independent normal numbers, to show a network where there are no data.
pub fn noise(shape: Shape, count: usize, seed: u64) -> Dataset {
    let empty = |count: usize, x: Vec<f32>| Split {
        x,
        y: data::Labels::Targets {
            values: vec![0.0; count],
            width: 1,
        },
    };
    let mut x = vec![0.0; count * shape.len()];
    Stream::new(seed, 0, "symmetry.noise").normal(1.0, &mut x);
    Dataset {
        name: "normal numbers".into(),
        shape,
        classes: 0,
        class_names: Vec::new(),
        train: empty(0, Vec::new()),
        test: empty(count, x),
    }
}

/// Weights and where they come from.
pub(crate) struct Known<T> {
    pub origin: Origin,
    pub weights: Weights<T>,
}

impl<T: Number> Subject<T> {
    /// The first weights, with the statistics of batch norm from the images; then what was learnt.
    pub(crate) fn known(
        &self,
        images: &Images<'_>,
        setup: &Setup,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Known<T>>, SymmetryError> {
        let graph = &self.problem.graph;
        let drawn = Weights::draw(graph, setup.seed, 0);
        let batch = images.len().min(BATCH) * images.shape.len();
        let x: Vec<T> = widen(&images.x[..batch]);
        let mut known = vec![Known {
            origin: Origin::Initial,
            weights: with_statistics(setup.device, graph, &drawn, &x)?,
        }];
        match &self.learnt {
            Learnt::Nothing => {}
            Learnt::Given(weights) => known.push(Known {
                origin: Origin::Given,
                weights: weights.clone(),
            }),
            Learnt::Train(config) => known.push(Known {
                origin: Origin::Trained,
                weights: self.train(config, setup, observer)?,
            }),
        }
        Ok(known)
    }

    fn train(
        &self,
        config: &Config,
        setup: &Setup,
        observer: &mut dyn Observer,
    ) -> Result<Weights<T>, SymmetryError> {
        let (graph, samples) = (&self.problem.graph, self.problem.train());
        let state = match observer.state()? {
            Some(bytes) => State::from_bytes(graph, config, &bytes)?,
            None => State::new(graph, config, 0),
        };
        let total = config.total_steps(samples.len());
        observer.begin(Work {
            unit: "steps".into(),
            first: state.step,
            total,
            words: format!("training, {}", counted(total, "step")),
            bytes: self
                .problem
                .memory(size_of::<T>(), 4, config.batch_size.on(samples.len())),
        });
        let sets = (samples, self.problem.test());
        let mut trainer = Trainer::on(setup.place(), graph, config, sets, state)?;
        let mut watch = Watch {
            observer,
            stopped: None,
        };
        trainer.run(&mut watch)?;
        if let Some(stopped) = watch.stopped {
            return Err(stopped.into());
        }
        observer.end();
        Ok(trainer.into_state().weights)
    }
}

/// Passes on how far training is.
struct Watch<'a> {
    observer: &'a mut dyn Observer,
    stopped: Option<polariscope_lens::Stopped>,
}

impl<T: Number> train::Observer<T> for Watch<'_> {
    fn on_step(&mut self, state: &State<T>, _total: u64) -> Control {
        match self
            .observer
            .advance(state.step, &|| Some(state.to_bytes()))
        {
            Ok(()) => Control::Continue,
            Err(stopped) => {
                self.stopped = Some(stopped);
                Control::Stop
            }
        }
    }

    fn on_epoch(&mut self, _row: &Row, _state: &State<T>) -> Control {
        Control::Continue
    }
}

/// The same numbers in the precision of the network.
pub(crate) fn widen<T: Number>(x: &[f32]) -> Vec<T> {
    x.iter().map(|&x| T::from_f64(f64::from(x))).collect()
}

/// Refuses networks that read no images.
pub(crate) fn need_images(graph: &Graph) -> Result<(), SymmetryError> {
    match graph.input() {
        Shape::Image { .. } => Ok(()),
        other => Err(SymmetryError::Question(format!(
            "{} reads samples of {other}, and only images CxHxW are deformed and moved: give data of images",
            graph.name
        ))),
    }
}
