//! Accuracy before training: a question in, an answer out.
//!
//! ```no_run
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_lens::Quiet;
//! use polariscope_geometry_experiments::predict::{Networks, Question, answer};
//! let network = |outputs| {
//!     let input = Some("1x32x32".parse()?);
//!     zoo("lenet", &ZooOptions { input, outputs: Some(outputs), ..ZooOptions::default() })
//! };
//! let networks = Networks { scalar: network(1)?, classifier: network(2)? };
//! // Trains one network.
//! let found = answer(&networks, &Question::default(), &mut Quiet)?;
//! println!("{}", found.result.words);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod calibration;
mod curve;
mod geometry;
mod page;
mod words;

use polariscope_geometry::{Form, LinearProblem, PredictError, Predictor, Ridge, Spectrum};
use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Observer, Setup, afford};
use serde::{Deserialize, Serialize};

pub use answer::{Predicted, Prediction, Range, Tried};
pub use curve::Line;
pub use page::page;

use crate::{Candidates, GeometryExperimentsError};

/// D × D matrices alive at the same time.
const MATRICES: f64 = 8.0;

/// What is asked: the linear family x = yv + σw, and the directions v.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// n and σ.
    pub problem: LinearProblem,
    /// Which directions.
    pub target: Target,
    /// Directions that are trained to find δ, 1 to [`MOST`](crate::MOST).
    pub calibrate: usize,
    /// δ, where it is known: then no network is trained.
    pub delta: Option<f64>,
    /// Seed and device; networks are trained in f32.
    pub setup: Setup,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            problem: LinearProblem {
                train: 10_000,
                sigma: 1.0,
            },
            target: Target::All,
            calibrate: 1,
            delta: None,
            setup: Setup::default(),
        }
    }
}

/// Which directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Those at which networks are calibrated: all spatial frequencies, or the eigenvectors of G.
    All,
    /// Vectors over the input, one after the other.
    Rows(Vec<f64>),
    /// That of a data set.
    Data {
        /// As typed.
        spec: String,
        /// v.
        direction: Vec<f64>,
    },
}

/// The two forms of a network.
#[derive(Clone, Debug)]
pub struct Networks {
    /// With one output: it has the geometry.
    pub scalar: Graph,
    /// With two outputs: it is trained.
    pub classifier: Graph,
}

impl Question {
    /// Refuses what has no answer, before anything is trained.
    pub fn check(&self, networks: &Networks) -> Result<(), GeometryExperimentsError> {
        if self.setup.dtype == Dtype::F64 {
            return Err(GeometryExperimentsError::Question(
                "‹dtype f64›: networks are trained in f32; leave it out".into(),
            ));
        }
        let dim = networks.scalar.input().len();
        if let Target::Rows(rows) = &self.target {
            let mut each = rows.chunks_exact(dim);
            if let Some(row) = each.position(|v| v.iter().all(|x| *x == 0.0)) {
                return Err(PredictError::Direction { row }.into());
            }
        }
        afford(
            MATRICES * 8.0 * (dim as f64).powi(2),
            "use a smaller ‹input›; the geometry is a matrix over inputs",
        )?;
        Ok(())
    }
}

/// Predicts. A finished training is kept at once, and so is a sampled geometry: neither is done twice.
pub fn answer(
    networks: &Networks,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Prediction, GeometryExperimentsError> {
    question.check(networks)?;
    let found = geometry::find(networks, question, observer)?;
    let form = match found.error {
        None => Form::Inverse,
        Some(_) => Form::Quadratic,
    };
    let spectrum = Spectrum::on(question.setup.device, &found.g)?;
    let predictor = Predictor::new(&spectrum, form)?;
    let candidates = Candidates::new(&predictor, &spectrum, networks.scalar.input())?;
    let ways = (&predictor, &candidates);
    let (ridge, trainings) = match question.delta {
        Some(delta) => (Ridge::given(delta), Vec::new()),
        None => calibration::calibrate(networks, question, ways, observer)?,
    };
    let name = &networks.classifier.name;
    Ok(Prediction::new(
        name, question, &found, ways, ridge, &trainings,
    )?)
}
