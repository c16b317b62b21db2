//! What is predicted, in numbers, tables and words.

use polariscope_data::npy;
use polariscope_geometry::{Expansion, Form, Matrix, PredictError, Predictor, Ridge};
use polariscope_report::{Align, Table, pretty};
use serde::{Deserialize, Serialize};

use super::curve::{self, Line};
use super::words::{self, Contrast, Reading};
use super::{Question, Target};
use crate::{Candidates, FrequencyMap, Training};

/// What was found, in numbers and words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// The finding.
    pub words: String,
    /// n.
    pub train: usize,
    /// σ.
    pub sigma: f64,
    /// δ with its errors.
    #[serde(flatten)]
    pub ridge: Ridge,
    /// How the geometry was found: closed, or sampled.
    pub geometry: String,
    /// Its standard error over its norm, where it was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry_error: Option<f64>,
    /// Networks that were sampled for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry_networks: Option<u64>,
    /// Directions that accuracies were predicted for.
    pub directions: usize,
    /// Over them.
    pub accuracy: Range,
    /// The array of accuracies, where there is more than one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The networks that were trained.
    pub trainings: Vec<Tried>,
}

/// Accuracies of many directions; all the same for one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// The median.
    pub median: f64,
    /// Its standard error, as far as it comes from δ.
    pub median_error: f64,
    /// The largest.
    pub most: f64,
}

/// A training as it is shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    /// Where.
    pub direction: String,
    /// Which of the candidates: for images the number of the Fourier direction.
    pub candidate: usize,
    /// uᵀGu with tr G = D.
    pub weight: f64,
    /// On test samples.
    pub accuracy: f64,
    /// δ by itself, where it tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
}

/// Accuracies before training.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prediction {
    /// The architecture.
    pub name: String,
    /// Which directions.
    pub target: Target,
    /// How it is said.
    pub result: Predicted,
    /// Accuracy along every direction.
    pub accuracies: Vec<f64>,
    /// The same over spatial frequencies, where all of them were asked for.
    pub map: Option<FrequencyMap>,
    /// Over n.
    pub lines: Vec<Line>,
}

impl Prediction {
    pub(super) fn new(
        name: &str,
        question: &Question,
        found: &Matrix,
        (predictor, candidates): (&Predictor, &Candidates),
        ridge: Ridge,
        trainings: &[Training],
    ) -> Result<Self, PredictError> {
        let own: Option<Expansion> = match &question.target {
            Target::All => None,
            Target::Rows(rows) => Some(predictor.expand(rows)?),
            Target::Data { direction, .. } => Some(predictor.expand(direction)?),
        };
        let directions = own.as_ref().unwrap_or_else(|| candidates.expansion());
        let problem = question.problem;
        let (accuracies, errors) = predictor.accuracies_with_errors(problem, &ridge, directions)?;
        let at = |side: f64| {
            let delta = ridge.delta * (side * ridge.log_error).exp();
            predictor.accuracies(problem, delta, directions)
        };
        let map = own.is_none().then(|| candidates.map(&accuracies)).flatten();
        let contrast = match &map {
            None => None,
            Some(map) => {
                let ends = [at(-1.0)?, at(1.0)?].map(|values| candidates.map(&values));
                Contrast::new(map, &ends.map(|m| m.unwrap_or_else(|| map.clone())))
            }
        };
        let mut order: Vec<usize> = (0..accuracies.len()).collect();
        order.sort_by(|&a, &b| accuracies[a].total_cmp(&accuracies[b]));
        let (first, last) = (order[0], order[order.len() - 1]);
        let middle = order[(order.len() - 1) / 2];
        let accuracy = Range {
            least: accuracies[first],
            median: accuracies[middle],
            median_error: errors[middle],
            most: accuracies[last],
        };
        let reading = Reading {
            name,
            target: &question.target,
            image: map.is_some(),
            problem,
            directions: accuracies.len(),
            accuracy,
            contrast,
            ridge,
            trainings: trainings.len(),
            form: predictor.form(),
        };
        let file = match (&question.target, &map) {
            (Target::Data { .. }, _) => None,
            (_, Some(_)) => Some("map.npy".to_string()),
            _ => Some("accuracy.npy".to_string()),
        };
        let result = Predicted {
            words: words::words(&reading),
            train: problem.train,
            sigma: problem.sigma,
            ridge,
            geometry: match predictor.form() {
                Form::Inverse => "closed".into(),
                Form::Quadratic => "sampled".into(),
            },
            geometry_error: found.error,
            geometry_networks: found.networks,
            directions: accuracies.len(),
            accuracy,
            file,
            trainings: trainings
                .iter()
                .map(|t| Tried {
                    direction: candidates.name(t.candidate),
                    candidate: t.candidate,
                    weight: t.weight,
                    accuracy: t.accuracy,
                    delta: t.ridge.map(|r| r.delta),
                })
                .collect(),
        };
        Ok(Self {
            name: name.to_string(),
            target: question.target.clone(),
            result,
            map,
            lines: curve::lines(predictor, problem, &ridge, directions)?,
            accuracies,
        })
    }

    /// The arrays and tables, each with the name of its file.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        if let Some(file) = &self.result.file {
            let array = match &self.map {
                Some(map) => npy::encode(&[map.height, map.width], &map.values),
                None => npy::encode(&[self.accuracies.len()], &self.accuracies),
            };
            files.push((file.clone(), array));
        }
        let curve = curve::table(&self.lines).to_csv();
        files.push(("curve.csv".into(), curve.into_bytes()));
        files
    }
}

impl Predicted {
    /// The trainings, one a row.
    pub fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("training along", Left),
            ("uᵀGu", Right),
            ("accuracy in %", Right),
            ("δ", Right),
        ]);
        for t in &self.trainings {
            table.push([
                t.direction.as_str().into(),
                pretty(t.weight).into(),
                format!("{:.1}", 100.0 * t.accuracy).into(),
                t.delta.map_or("–".to_string(), pretty).into(),
            ]);
        }
        table
    }
}
