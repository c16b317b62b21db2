//! `eval`: f(x), ∇ₓ of logit 0, and its tangent d/dε ∇ₓ f at weights + εv, for every sample.
//!
//! ```
//! use polariscope_graph::{ZooOptions, zoo};
//! use polariscope_learning::eval::{self, Question, Subject};
//! use polariscope_learning::{Inputs, weights::Weights};
//! use polariscope_lens::Quiet;
//!
//! let graph = zoo("logreg", &ZooOptions { input: Some("2".parse()?), outputs: Some(1), ..ZooOptions::default() })?;
//! let mut weights = Weights::<f64>::zeros(&graph);
//! weights.values[0] = vec![3.0, 4.0];
//! let x = Inputs { dims: vec![1, 2], shape: graph.input(), numbers: vec![1.0, 1.0], fingerprint: String::new() };
//! let question = Question { gradient: true, ..Question::default() };
//! let answer = eval::answer(Subject { graph, weights, tangent: None }, &x, &question, &mut Quiet)?;
//! assert_eq!((answer.output[0], answer.summary.gradient_norm.unwrap().mean), (7.0, 5.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod diagnosis;
mod job;
mod page;
mod spread;

use polariscope_data::npy;
use polariscope_graph::Graph;
use polariscope_lens::Setup;
use polariscope_network::Weights;
use serde::{Deserialize, Serialize};

pub use answer::{Answer, Summary};
pub use job::{Job, answer};
pub use page::page;
pub use spread::Spread;

/// A number type that networks are evaluated in.
pub trait Number: polariscope_diff::Number + npy::Element {}

impl<T: polariscope_diff::Number + npy::Element> Number for T {}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Seed, precision, device.
    pub setup: Setup,
    /// Which of the networks that the seed draws; none where weights are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Also the gradient of logit 0 in the input.
    pub gradient: bool,
}

impl Question {
    /// The weights that the seed draws.
    pub fn draw<T: Number>(&self, graph: &Graph) -> Weights<T> {
        Weights::draw(graph, self.setup.seed, self.index.unwrap_or(0))
    }
}

/// A network with its numbers.
#[derive(Clone, Debug)]
pub struct Subject<T> {
    /// The architecture.
    pub graph: Graph,
    /// Its weights.
    pub weights: Weights<T>,
    /// A direction in weight space: the tangent of the gradient along it is asked for.
    pub tangent: Option<Weights<T>>,
}
