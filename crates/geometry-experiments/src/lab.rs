//! What every experiment is given: an architecture, a scale, seeds, images.

use std::path::PathBuf;

use polariscope_data::{Dataset, Split};
use polariscope_diff::{Device, Place};
use polariscope_experiment::{Cell, Row, Size as Scale};
use polariscope_graph::{Graph, Shape, ZooOptions, zoo};

use crate::GeometryExperimentsError;
use crate::lens::{Directions, Lens};

/// Multiplications of a network that keeps all threads busy by itself: more than LeNet's 0.4 million.
const LARGE: usize = 5_000_000;
/// Side of the images.
pub(crate) const SIDE: usize = 32;

/// The settings of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Lab {
    /// A name of the zoo.
    pub architecture: String,
    /// How large.
    pub scale: Scale,
    /// Runs; `None` takes the experiment's own number.
    pub runs: Option<u64>,
    /// Seed of weights, samples and batches.
    pub seed: u64,
    /// Where networks are sampled and trained.
    pub place: Place,
    /// Directory of CIFAR-10.
    pub cifar: Option<PathBuf>,
    /// σ of D(v), where the experiment leaves a choice.
    pub sigma: Option<f64>,
    /// Rows that were measured before, on another machine say.
    pub known: Vec<Row>,
}

impl Lab {
    /// One of two values.
    pub fn pick<T>(&self, small: T, paper: T) -> T {
        match self.scale {
            Scale::Small => small,
            Scale::Paper => paper,
        }
    }

    /// Runs as asked, or the experiment's own numbers.
    pub fn runs(&self, small: u64, paper: u64) -> u64 {
        self.runs.unwrap_or(self.pick(small, paper))
    }

    /// The accuracy of a network that was trained before.
    pub(crate) fn known(&self, cell: &Cell) -> Option<f64> {
        let same = |row: &&Row| row.run == cell.run && row.levels == cell.levels;
        self.known.iter().find(same).map(|row| row.values[0])
    }

    /// A network of the zoo on images of `channels` channels.
    pub fn network(
        &self,
        name: &str,
        channels: usize,
        outputs: usize,
    ) -> Result<Graph, GeometryExperimentsError> {
        let options = ZooOptions {
            input: Some(shape(channels)),
            outputs: Some(outputs),
            ..ZooOptions::default()
        };
        Ok(zoo(name, &options)?)
    }

    /// The architecture with one output on images of one channel: what synthetic problems are learnt with.
    pub fn binary(&self) -> Result<Graph, GeometryExperimentsError> {
        self.network(&self.architecture, 1, 1)
    }

    /// The NADs of the architecture: central differences with a radius of 100 (Algorithm 1).
    pub(crate) fn nads(&self) -> Result<Directions, GeometryExperimentsError> {
        let networks = self.pick(2000, 10_000);
        Lens::Dipole { networks }.directions(&self.architecture, self.seed, self.place)
    }

    /// The directions of G as the GIH paper has it.
    pub(crate) fn directions(&self, name: &str) -> Result<Directions, GeometryExperimentsError> {
        let networks = self.pick(2000, 10_000);
        Lens::Gelu { networks }.directions(name, self.seed, self.place)
    }

    /// Cells side by side: one a thread, unless the network keeps all threads busy by itself; one on a GPU.
    pub fn together(&self) -> usize {
        if self.place.device != Device::Cpu {
            return 1;
        }
        let large = self
            .binary()
            .is_ok_and(|graph| polariscope_network::multiplications(&graph) > LARGE);
        if large {
            1
        } else {
            rayon::current_num_threads()
        }
    }

    /// CIFAR-10 or, with `name` cifar2, animals against the rest; `options` as in a data specification.
    pub fn images(
        &self,
        (experiment, name): (&'static str, &str),
        [train, test]: [usize; 2],
        options: &str,
    ) -> Result<[Split; 2], GeometryExperimentsError> {
        let directory = self.cifar.as_ref();
        let directory = directory.ok_or(GeometryExperimentsError::NoData { name: experiment })?;
        let spec = format!("{name}:{}?balanced{options}", directory.display());
        let data = Dataset::load(&format!("{spec}&train={train}&test={test}"))?;
        for (part, wanted, there) in [
            ("training", train, data.train.len()),
            ("test", test, data.test.len()),
        ] {
            if there < wanted {
                return Err(GeometryExperimentsError::Samples {
                    part,
                    wanted,
                    there,
                });
            }
        }
        Ok([data.train, data.test])
    }
}

/// Images of `channels` channels.
pub(crate) fn shape(channels: usize) -> Shape {
    Shape::Image {
        channels,
        height: SIDE,
        width: SIDE,
    }
}
