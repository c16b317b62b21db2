//! What is asked: how many networks, which predictor, when training ends.

use polariscope_graph::{Activation, Graph, Op, Projection};
use polariscope_lens::{Dtype, Precision, Setup};
use polariscope_train::Loss;
use serde::{Deserialize, Serialize};

use crate::LandscapeError;

/// Sharpness of the softened hinge.
const BETA: f64 = 20.0;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// Seed, precision, device.
    pub setup: Setup,
    /// Networks that differ in their initial weights alone.
    pub networks: usize,
    /// α of the predictor F = α (f − f₀).
    pub alpha: f64,
    /// Training ends when every y F is at least this.
    pub margin: f64,
    /// Learning rate of Adam, where gradient flow is of no use.
    pub rate: f64,
    /// Most steps of a network; by default 5000, fewer where a step takes long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            setup: Setup {
                dtype: Dtype::F64,
                ..Setup::default()
            },
            networks: 5,
            alpha: 1.0,
            margin: 1.0,
            rate: 1e-3,
            steps: None,
        }
    }
}

/// How networks are trained, and why so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum Dynamics {
    /// Gradient flow.
    Flow,
    /// Full-batch Adam.
    Adam {
        /// Why not by gradient flow.
        reason: String,
    },
}

impl Dynamics {
    /// Gradient flow where the gradient is continuous and samples do not see each other.
    pub fn of(graph: &Graph) -> Self {
        let obstacle = graph.nodes.iter().find_map(|node| {
            let what = match node.op {
                Op::MaxPool(_)
                | Op::GroupPool {
                    by: Projection::Max,
                    ..
                } => "jumps where another number becomes the largest",
                Op::Activation(activation) if kinked(activation) => "has a kink, where it stalls",
                Op::BatchNorm { .. } => "makes samples depend on each other",
                _ => return None,
            };
            Some(format!("{} ({}) {what}", node.layer, node.op.name()))
        });
        match obstacle {
            None => Dynamics::Flow,
            Some(reason) => Dynamics::Adam { reason },
        }
    }

    /// `gradient flow`.
    pub fn name(&self) -> &'static str {
        match self {
            Dynamics::Flow => "gradient flow",
            Dynamics::Adam { .. } => "full-batch Adam",
        }
    }
}

/// Whether φ′ jumps.
fn kinked(activation: Activation) -> bool {
    match activation {
        Activation::Relu | Activation::Abs | Activation::HardSigmoid | Activation::HardSwish => {
            true
        }
        Activation::LeakyRelu { .. } => !activation.is_identity(),
        Activation::Identity
        | Activation::Gelu
        | Activation::Tanh
        | Activation::Erf
        | Activation::Sin
        | Activation::Sigmoid
        | Activation::Silu
        | Activation::Softplus { .. } => false,
    }
}

impl Question {
    /// ℓ: a hinge that is smooth, so that the flow does not stall at its corner.
    pub fn loss(&self) -> Loss {
        Loss::SoftHinge {
            beta: BETA,
            margin: self.margin,
        }
    }

    /// Refuses what is out of range.
    pub fn check(&self) -> Result<(), LandscapeError> {
        let refuse = |message: String| Err(LandscapeError::Question(message));
        if self.networks < 2 {
            return refuse(format!(
                "‹networks {}›: what differs between networks needs two of them at least",
                self.networks
            ));
        }
        let positive = [
            ("alpha", self.alpha),
            ("margin", self.margin),
            ("rate", self.rate),
        ];
        if let Some((name, value)) = positive
            .into_iter()
            .find(|(_, value)| !(value.is_finite() && *value > 0.0))
        {
            return refuse(format!("‹{name} {value}› must be a finite number above 0"));
        }
        if self.setup.precision == Precision::Fast {
            return refuse("‹precision fast›: this lens works in f64; leave it out".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;

    #[test]
    fn questions_go_through_serde() {
        let asked = Question {
            networks: 3,
            alpha: 0.5,
            ..Question::default()
        };
        for question in [asked, Question::default()] {
            let text = toml::to_string(&question).unwrap();
            assert_eq!(
                toml::from_str::<Question>(&text).unwrap(),
                question,
                "{text}"
            );
        }
        assert_eq!(Question::default().setup.dtype, Dtype::F64);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let refused = |change: fn(&mut Question)| {
            let mut question = Question::default();
            change(&mut question);
            question.check().unwrap_err().to_string()
        };
        assert!(Question::default().check().is_ok());
        assert!(refused(|q| q.networks = 1).contains("‹networks 1›"));
        assert!(refused(|q| q.alpha = 0.0).contains("‹alpha 0›"));
        assert!(refused(|q| q.margin = f64::NAN).contains("‹margin NaN›"));
        assert!(refused(|q| q.setup.precision = Precision::Fast).contains("‹precision fast›"));
    }

    #[test]
    fn flow_is_for_smooth_networks() {
        let of = |name: &str, activation: Option<Activation>| {
            let options = ZooOptions {
                activation: activation.map(Into::into),
                ..ZooOptions::default()
            };
            Dynamics::of(&zoo(name, &options).unwrap())
        };
        let softplus = Some(Activation::Softplus { beta: 5.0 });
        assert_eq!(of("mlp-2x10", softplus), Dynamics::Flow);
        let why = |dynamics| match dynamics {
            Dynamics::Adam { reason } => reason,
            Dynamics::Flow => panic!("flows"),
        };
        assert!(why(of("mlp-2x10", None)).contains("(relu) has a kink"));
        // Its max-pools have kinks even where its activations have none.
        assert!(why(of("lenet", Some(Activation::Tanh))).contains("max-pool"));
        assert!(why(of("resnet18", None)).contains("batch-norm"));
    }
}
