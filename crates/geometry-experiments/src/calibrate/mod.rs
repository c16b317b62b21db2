//! δ of [`Predictor`] from trainings at directions that the geometry picks.
//!
//! Candidates are the half of the directions that is nearest to eigenvectors of G, ordered by uᵀGu. The others lend
//! much of their weight elsewhere (frequencies near Nyquist to the low ones that a pool cannot tell from them), and
//! whether a trained network does the same is what the formula knows least about.
//!
//! The first training is at their median, or at the purest direction near it; while its accuracy says little about δ
//! (below 60 %, above 97 %, or out of reach of any δ) the next one halves the ranks that are left, towards larger uᵀGu
//! where too little was learnt and towards smaller where too much. Further directions lie a ninth of those ranks to
//! either side: of all ranks they are in the middle third.

mod candidates;

pub use candidates::{Candidates, FrequencyMap};

use polariscope_geometry::{LinearProblem, Measured, PredictError, Predictor, Ridge};
use polariscope_graph::Graph;
use polariscope_train::Observer;
use serde::{Deserialize, Serialize};

use crate::linear::{Sizes, accuracy_watched};
use crate::{GeometryExperimentsError, Lab};

/// Accuracies that tell δ.
pub const TELLING: (f64, f64) = (0.60, 0.97);
/// Weights that differ by less than this part are equal.
const EQUAL: f64 = 1e-9;
/// Further directions lie this part of the ranks away.
const ASIDE: usize = 9;
/// Directions up to this part of the ranks away may stand for a rank.
const NEAR: isize = 24;
/// Purities that differ by less are equal.
const AS_PURE: f64 = 1e-6;
/// Most directions that are combined.
pub const MOST: usize = 3;

/// A trained network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Which of the candidates.
    pub candidate: usize,
    /// uᵀGu with tr G = D.
    pub weight: f64,
    /// On test samples; not a number where training diverged.
    pub accuracy: f64,
    /// What it says about δ, if something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ridge: Option<Ridge>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Train at this candidate.
    Train(usize),
    /// Enough is known.
    Done(Ridge),
}

/// Finds δ, training by training: the list of those that are done is all its state.
pub struct Calibrator<'a> {
    /// Seed and place.
    pub lab: &'a Lab,
    /// The network to train: two outputs.
    pub graph: &'a Graph,
    /// Its geometry.
    pub predictor: &'a Predictor,
    /// Where it may be trained.
    pub candidates: &'a Candidates,
    /// σ.
    pub sigma: f64,
    /// How many samples, how long.
    pub sizes: Sizes,
    /// Directions to combine, 1 to [`MOST`].
    pub directions: usize,
}

/// What an accuracy says.
enum Said {
    TooLittle,
    TooMuch,
    Delta(Ridge),
}

/// Ranks between which a direction is looked for, both excluded.
#[derive(Clone, Copy)]
struct Between {
    low: isize,
    high: isize,
}

impl Calibrator<'_> {
    /// What to do after some trainings.
    pub fn next(&self, done: &[Training]) -> Result<Step, GeometryExperimentsError> {
        let all = Between {
            low: -1,
            high: self.candidates.ranks() as isize,
        };
        let (middle, left, ridge) = match self.search(done, (all.high - 1) / 2, all)? {
            Search::Train(candidate) => return Ok(Step::Train(candidate)),
            Search::Nothing => return Err(self.hopeless(done)),
            Search::Found(rank, between, ridge) => (rank, between, ridge),
        };
        let aside = ((left.high - left.low) / ASIDE as isize).max(1);
        let mut found = vec![ridge];
        for side in [1, -1].into_iter().take(self.directions.saturating_sub(1)) {
            let between = match side {
                1 => Between {
                    low: middle,
                    ..left
                },
                _ => Between {
                    high: middle,
                    ..left
                },
            };
            let start = middle + side * aside;
            match self.search(done, start, between)? {
                Search::Train(candidate) => return Ok(Step::Train(candidate)),
                Search::Found(_, _, ridge) => found.push(ridge),
                // Fewer directions than asked for are there.
                Search::Nothing => {}
            }
        }
        Ridge::mean(&found)
            .map(Step::Done)
            .ok_or_else(|| self.hopeless(done))
    }

    /// Trains at a candidate.
    pub fn train(
        &self,
        candidate: usize,
        observer: &mut dyn Observer<f32>,
    ) -> Result<Training, GeometryExperimentsError> {
        let direction = self.candidates.direction(candidate);
        let problem = (direction, self.sigma);
        let accuracy = accuracy_watched(self.lab, self.graph, problem, self.sizes, 0, observer)?;
        let ridge = match self.say(candidate, accuracy)? {
            Said::Delta(ridge) => Some(ridge),
            Said::TooLittle | Said::TooMuch => None,
        };
        Ok(Training {
            candidate,
            weight: self.candidates.expansion().weights()[candidate],
            accuracy,
            ridge,
        })
    }

    /// The problem that is learnt.
    pub fn problem(&self) -> LinearProblem {
        LinearProblem {
            train: self.sizes.train,
            sigma: self.sigma,
        }
    }

    fn say(&self, candidate: usize, accuracy: f64) -> Result<Said, GeometryExperimentsError> {
        if accuracy.is_nan() || accuracy < TELLING.0 {
            return Ok(Said::TooLittle);
        }
        if accuracy > TELLING.1 {
            return Ok(Said::TooMuch);
        }
        let measured = Measured {
            accuracy,
            error: (accuracy * (1.0 - accuracy) / self.sizes.test as f64).sqrt(),
        };
        let expansion = self.candidates.expansion();
        match self
            .predictor
            .ridge(self.problem(), expansion, candidate, measured)
        {
            Ok(ridge) => Ok(Said::Delta(ridge)),
            Err(PredictError::Below { .. }) => Ok(Said::TooLittle),
            Err(PredictError::Above { .. }) => Ok(Said::TooMuch),
            Err(other) => Err(other.into()),
        }
    }

    /// A direction between two ranks, from `start` on by halves.
    fn search(
        &self,
        done: &[Training],
        start: isize,
        mut between: Between,
    ) -> Result<Search, GeometryExperimentsError> {
        let weight = |rank: isize| {
            let candidate = self.candidates.ranked(rank as usize);
            self.candidates.expansion().weights()[candidate]
        };
        let mut wanted = start;
        while between.low < wanted && wanted < between.high {
            let rank = self.purest(wanted, between);
            let candidate = self.candidates.ranked(rank as usize);
            let Some(training) = done.iter().find(|t| t.candidate == candidate) else {
                return Ok(Search::Train(candidate));
            };
            let end = match self.say(candidate, training.accuracy)? {
                Said::Delta(ridge) => return Ok(Search::Found(rank, between, ridge)),
                Said::TooMuch => between.low + 1,
                Said::TooLittle => between.high - 1,
            };
            // Where all that is left weighs the same, another direction says no more.
            if (weight(end) - weight(rank)).abs() <= EQUAL * weight(rank).abs() {
                break;
            }
            match end < rank {
                true => between.high = rank,
                false => between.low = rank,
            }
            wanted = (between.low + between.high) / 2;
        }
        Ok(Search::Nothing)
    }

    /// The rank near a wanted one whose direction is nearest to an eigenvector; the nearest rank of equal ones.
    fn purest(&self, wanted: isize, between: Between) -> isize {
        let purity = |rank: isize| {
            let candidate = self.candidates.ranked(rank as usize);
            self.candidates.expansion().purities()[candidate]
        };
        let reach = (between.high - between.low) / NEAR;
        let around = (1..=reach).flat_map(|d| [wanted - d, wanted + d]);
        let inside = around.filter(|rank| between.low < *rank && *rank < between.high);
        inside.fold(wanted, |best, rank| {
            match purity(rank) > purity(best) + AS_PURE {
                true => rank,
                false => best,
            }
        })
    }

    /// Why there is no δ.
    fn hopeless(&self, done: &[Training]) -> GeometryExperimentsError {
        let accuracies = || done.iter().map(|t| t.accuracy);
        GeometryExperimentsError::Uncalibrated {
            trainings: done.len(),
            least: 100.0 * accuracies().fold(f64::INFINITY, f64::min),
            most: 100.0 * accuracies().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Where a search stands.
enum Search {
    Train(usize),
    Found(isize, Between, Ridge),
    Nothing,
}
