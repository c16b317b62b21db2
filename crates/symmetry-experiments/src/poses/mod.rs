//! Train pose × test pose: networks that have seen images in one pose, asked about images in another.
//!
//! A pose is a group of transformations: every image is moved by an element of its own, drawn by (seed, run). In a run all
//! networks learn the same images. A network is trained once and asked in all poses.
//!
//! Whether an architecture has the symmetry of a pose built in is looked up before anything is trained: with random weights,
//! in f64, its outputs do not change.

mod learn;
mod pose;
mod settings;
#[cfg(test)]
mod tests;
mod view;

use polariscope_data::{Dataset, Split};
use polariscope_diff::Place;
use polariscope_experiment::grid::grid;
use polariscope_experiment::{Cell, Claim, Design, Experiment, Memo, Scale, Select, Test, Wanted};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_random::Stream;

use crate::SymmetryExperimentsError;
use crate::samples::first;
use learn::{accuracies, built_in};
pub use pose::Pose;
pub(crate) use settings::ENTRY;
pub use settings::Sizes;

/// Differences of accuracies up to this one are none.
const NONE: f64 = 0.005;

/// The experiment.
pub struct Poses {
    data: Dataset,
    networks: Vec<Learner>,
    /// Upright first.
    poses: Vec<Pose>,
    sizes: Sizes,
    seed: u64,
    place: Place,
    /// By architecture, train pose and run: accuracies in all poses; nothing where training diverged.
    found: Memo<(String, String, u64), Option<Vec<f64>>>,
}

/// An architecture.
struct Learner {
    name: String,
    graph: Graph,
    /// Pose by pose.
    built_in: Vec<bool>,
}

impl Poses {
    /// With architectures of the zoo and poses beside upright.
    pub fn new(
        data: Dataset,
        architectures: &[String],
        poses: &[Pose],
        sizes: Sizes,
        (seed, place): (u64, Place),
    ) -> Result<Self, SymmetryExperimentsError> {
        let others = poses.iter().copied().filter(|pose| *pose != Pose::Upright);
        let poses: Vec<Pose> = [Pose::Upright].into_iter().chain(others).collect();
        let learner = |name: &String| {
            let options = ZooOptions {
                outputs: Some(data.classes),
                ..ZooOptions::with_input(data.shape)
            };
            let graph = zoo(name, &options)?;
            let built_in = poses
                .iter()
                .map(|pose| built_in(&graph, data.shape, *pose, seed));
            Ok::<_, SymmetryExperimentsError>(Learner {
                name: name.clone(),
                built_in: built_in.collect::<Result<_, _>>()?,
                graph,
            })
        };
        Ok(Poses {
            networks: architectures
                .iter()
                .map(learner)
                .collect::<Result<_, _>>()?,
            data,
            poses,
            sizes,
            seed,
            place,
            found: Memo::default(),
        })
    }

    /// Names of the poses.
    fn names(&self) -> Vec<String> {
        self.poses.iter().map(Pose::to_string).collect()
    }

    /// Poses beside upright, with whether an architecture has them built in.
    fn others<'a>(&'a self, learner: &'a Learner) -> impl Iterator<Item = (String, bool)> + 'a {
        let all = self.poses.iter().map(Pose::to_string);
        all.zip(learner.built_in.iter().copied()).skip(1)
    }

    fn learner(&self, name: &str) -> Option<&Learner> {
        self.networks.iter().find(|n| n.name == name)
    }

    /// Trains an architecture in one pose and asks it in all; nothing where training diverges.
    fn learn(
        &self,
        architecture: &str,
        train: &str,
        run: u64,
    ) -> Result<Option<Vec<f64>>, SymmetryExperimentsError> {
        let pose = self.poses.iter().find(|pose| pose.to_string() == train);
        let Some((learner, pose)) = self.learner(architecture).zip(pose) else {
            return Ok(None);
        };
        let shape = self.data.shape;
        let [learnt, asked] = self.run(run);
        let learnt = pose.seen(shape, &learnt, (self.seed, run, "poses.train.moves"))?;
        let tests = self
            .poses
            .iter()
            .map(|pose| pose.seen(shape, &asked, (self.seed, run, "poses.test.moves")));
        let tests: Vec<Split> = tests.collect::<Result<_, _>>()?;
        let how = (self.place, self.sizes.epochs);
        accuracies(&learner.graph, how, (self.seed, run), &learnt, &tests)
    }

    /// The samples of a run, those to learn from and those to be asked about.
    fn run(&self, run: u64) -> [Split; 2] {
        let chosen = |split, name, count| {
            let stream = Stream::new(self.seed, run, name);
            first(split, self.data.shape.len(), stream, count)
        };
        [
            chosen(&self.data.train, "poses.train", self.sizes.train),
            chosen(&self.data.test, "poses.test", self.sizes.test),
        ]
    }
}

/// The rows of an architecture, trained in one pose and asked in another.
fn at(architecture: &str, train: &str, test: &str) -> Select {
    Select::of(&[
        ("architecture", architecture),
        ("train", train),
        ("test", test),
    ])
}

impl Experiment for Poses {
    type Error = SymmetryExperimentsError;

    fn design(&self) -> Design {
        let architectures: Vec<String> = self.networks.iter().map(|n| n.name.clone()).collect();
        let poses = self.names();
        let factors = [
            ("architecture", &architectures[..]),
            ("train", &poses),
            ("test", &poses),
        ];
        grid(&factors, self.sizes.runs, &["accuracy"])
    }

    fn claims(&self) -> Vec<Claim> {
        let upright = &Pose::Upright.to_string();
        let above = |upper, lower| Test::Above {
            measure: "accuracy",
            upper,
            lower,
        };
        let mut claims = Vec::new();
        for learner in &self.networks {
            let name = &learner.name;
            let seen = |train: &str, test: &str| at(name, train, test);
            for (pose, built_in) in self.others(learner) {
                if built_in {
                    let words = format!(
                        "{name}, trained {upright}, is as good on {pose}, within half a point"
                    );
                    let terms = vec![(1.0, seen(upright, upright)), (-1.0, seen(upright, &pose))];
                    let test = Test::Contrast {
                        measure: "accuracy",
                        scale: Scale::Linear,
                        terms,
                        wanted: Wanted::Near {
                            value: 0.0,
                            tolerance: NONE,
                        },
                    };
                    claims.push(Claim::new(words, test));
                    continue;
                }
                claims.push(Claim::new(
                    format!("{name}, trained {upright}, is worse on {pose}"),
                    above(seen(upright, upright), seen(upright, &pose)),
                ));
                claims.push(Claim::new(
                    format!("{name} is better on {pose} when it is trained on {pose}"),
                    above(seen(&pose, &pose), seen(upright, &pose)),
                ));
            }
        }
        claims
    }

    fn measure(&self, cell: &Cell) -> Result<Vec<f64>, SymmetryExperimentsError> {
        let [architecture, train, test] = ["architecture", "train", "test"].map(|f| cell.level(f));
        let key = (architecture.to_string(), train.to_string(), cell.run);
        let make = || self.learn(architecture, train, cell.run);
        let found = self.found.get(key, make)?;
        let asked = self.poses.iter().position(|pose| pose.to_string() == test);
        let accuracy = found
            .as_ref()
            .as_ref()
            .zip(asked)
            .map(|(found, i)| found[i]);
        Ok(vec![accuracy.unwrap_or(f64::NAN)])
    }

    fn cost(&self, cell: &Cell) -> f64 {
        let learner = self.learner(cell.level("architecture"));
        let work = learner.map_or(1, |n| polariscope_network::multiplications(&n.graph));
        // The first pose pays for the training.
        match cell.level("test") == Pose::Upright.to_string() {
            true => (self.sizes.epochs as usize * self.sizes.train * work) as f64,
            false => work as f64,
        }
    }
}
