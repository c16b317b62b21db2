//! Which networks, which patterns.

use std::fmt;

use polariscope_data::{Dataset, Labels, Split};
use polariscope_graph::{Activation, Graph, Shape};
use polariscope_random::Stream;

use crate::machine::machine;
use crate::{Lab, LandscapeExperimentsError};

/// Networks that differ in their width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Hidden dense layers.
    Mlp {
        /// How many.
        depth: usize,
    },
    /// A name of the zoo that leaves its width open.
    Named {
        /// As it is typed.
        name: String,
    },
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Family::Mlp { depth } => write!(f, "mlp-{depth}"),
            Family::Named { name } => f.write_str(name),
        }
    }
}

impl Family {
    /// That of an architecture; of `mlp-LxN` also the one with a layer more.
    pub fn of(architecture: &str) -> Result<Vec<Self>, LandscapeExperimentsError> {
        let depth = architecture.strip_prefix("mlp-");
        let depth = depth.and_then(|rest| rest.split_once('x')?.0.parse().ok());
        if let Some(depth) = depth {
            return Ok(vec![
                Family::Mlp { depth },
                Family::Mlp { depth: depth + 1 },
            ]);
        }
        let family = Family::Named {
            name: architecture.to_string(),
        };
        // Whether there is such a width, whatever the data will be.
        let image = Shape::Image {
            channels: 3,
            height: 32,
            width: 32,
        };
        family.graph(1, image, Activation::Relu)?;
        Ok(vec![family])
    }

    /// Of a width, for two classes.
    pub fn graph(
        &self,
        width: usize,
        input: Shape,
        activation: Activation,
    ) -> Result<Graph, LandscapeExperimentsError> {
        match self {
            Family::Mlp { depth } => {
                machine((&format!("mlp-{depth}x{width}"), None), input, activation)
            }
            Family::Named { name } => machine((name, Some(width)), input, activation),
        }
    }

    /// About the width of so many weights.
    pub fn width(&self, weights: f64) -> usize {
        let layers = match self {
            Family::Mlp { depth } => *depth as f64,
            Family::Named { .. } => 2.0,
        };
        (weights / layers).sqrt().round().max(1.0) as usize
    }
}

/// As many dimensions as units.
pub(super) fn dimensions(width: usize) -> Shape {
    Shape::Vector { features: width }
}

/// Random labels on random points of as many dimensions as units.
pub(super) fn sphere(
    width: usize,
    patterns: usize,
    (seed, run): (u64, u64),
) -> Result<(Shape, Split), LandscapeExperimentsError> {
    let seed = seed.wrapping_add(run);
    let spec = format!("random?shape={width}&train={patterns}&test=0&seed={seed}");
    Ok((dimensions(width), Dataset::load(&spec)?.train))
}

/// The samples that runs choose from.
pub(super) struct Pool {
    data: Dataset,
}

impl Pool {
    /// The data of a lab, which must have two classes and so many samples.
    pub fn new(lab: &Lab, patterns: usize) -> Result<Self, LandscapeExperimentsError> {
        let data = lab.samples()?;
        let wrong = |what: String| Err(LandscapeExperimentsError::Question(what));
        if data.classes != 2 {
            return wrong(format!(
                "‹data {}› has {} classes: jamming-point wants two, such as `group=A,B` makes",
                lab.data, data.classes
            ));
        }
        if data.train.len() < patterns {
            return wrong(format!(
                "‹data {}› has {} training samples: jamming-point wants {patterns} or more",
                lab.data,
                data.train.len()
            ));
        }
        Ok(Pool { data })
    }

    pub fn shape(&self) -> Shape {
        self.data.shape
    }

    /// The first of the samples in the order of a run; with labels that halve them at random where `random`.
    pub fn choose(
        &self,
        patterns: usize,
        (seed, run): (u64, u64),
        random: bool,
    ) -> Result<(Shape, Split), LandscapeExperimentsError> {
        let order = |name, n| Stream::new(seed, run, name).cursor().permutation(n);
        let rows = order("jamming-point.rows", self.data.train.len());
        let dim = self.data.shape.len();
        let mut split = self.data.train.select(dim, &rows[..patterns]);
        if random {
            let halves = order("jamming-point.labels", patterns);
            split.y = Labels::Classes(halves.into_iter().map(|i| i as u32 % 2).collect());
        }
        Ok((self.data.shape, split))
    }
}
