//! Which geometry is shown and how it was found. What may be said of it follows from that.

use polariscope_graph::Graph;
use polariscope_meanfield::{ExactProbe, exact_applies, mean_field_applies};
use polariscope_report::{counted, grouped, pretty};
use serde::{Deserialize, Serialize};

use super::answer::Numbers;
use super::resolved::Resolved;
use crate::{Gradient, Method, Probe, Readouts};

/// The inputs at which gradients were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// The network is linear: its gradient is the same everywhere.
    Any,
    /// x = 0 alone.
    Zero,
    /// N(0, σ²).
    Gauss(f64),
    /// Samples of a file or of a data set.
    Points(String),
}

/// Where the weights came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// From the initial distribution.
    Drawn,
    /// From files.
    Given,
}

/// Which geometry, by which method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Whose gradients are multiplied.
    pub gradient: Gradient,
    /// The method that ran.
    pub method: Method,
    /// Where.
    pub inputs: Inputs,
    /// Of which networks.
    pub weights: Origin,
    /// Whether trainings have shown that its order goes with what is learnt: in networks that the mean field carries it
    /// does, for a network with attention no geometry was found to.
    pub predicts: bool,
    /// Networks sampled.
    pub networks: u64,
    /// Inputs for each of them.
    pub probes: usize,
    /// Last layers for each of them; `None` where they were integrated out.
    pub readouts: Option<usize>,
    /// Standard error of G over its norm, where there is one.
    pub error: Option<f64>,
}

/// How a geometry is spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// What all inputs share before training: it predicts which linear rules are learnt.
    Coherent,
    /// What all inputs share before training, in networks where it was not found to go with what is learnt.
    Shared,
    /// Sensitivity before training, without a claim about learning.
    Sensitivity,
    /// Sensitivity of weights that were given.
    Given,
}

impl Provenance {
    /// How to speak of it.
    pub fn voice(&self) -> Voice {
        match (self.weights, self.gradient, &self.inputs, self.method) {
            (Origin::Given, ..) => Voice::Given,
            // At one point there is nothing to share.
            (_, _, Inputs::Zero, _) | (_, _, _, Method::Mixed) => Voice::Sensitivity,
            (Origin::Drawn, Gradient::Coherent, ..) if !self.predicts => Voice::Shared,
            (Origin::Drawn, Gradient::Coherent, ..) => Voice::Coherent,
            // One gradient for all inputs: all of it is shared.
            (Origin::Drawn, Gradient::Local, Inputs::Any, _) => Voice::Coherent,
            (Origin::Drawn, Gradient::Local | Gradient::Dipole { .. }, ..) => Voice::Sensitivity,
        }
    }

    /// Whether the numbers carry sampling noise.
    pub fn sampled(&self) -> bool {
        matches!(self.method, Method::Sample | Method::Mixed)
    }

    /// Gradients behind it that are independent of each other.
    pub fn gradients(&self) -> u64 {
        match self.gradient {
            // A network has one mean gradient, however many inputs it is taken over.
            Gradient::Coherent => self.networks,
            Gradient::Local | Gradient::Dipole { .. } => self.networks * self.probes as u64,
        }
    }

    /// Whether a zero is a zero for every input: a closed form that is averaged over all of them, or more gradients than
    /// directions.
    pub fn is_conclusive(&self, dim: usize) -> bool {
        if self.sampled() {
            return self.weights == Origin::Drawn
                && self.inputs != Inputs::Zero
                && self.gradients() > dim as u64;
        }
        match (self.method, &self.inputs) {
            (_, Inputs::Any) => true,
            (Method::MeanField, Inputs::Gauss(_)) => self.gradient == Gradient::Coherent,
            _ => false,
        }
    }

    /// Geometry, method and inputs in one line.
    pub fn line(&self) -> String {
        format!("{}, {}, {}", self.geometry(), self.how(), self.place())
    }

    /// Which geometry, without the method.
    pub fn geometry(&self) -> String {
        if self.method == Method::Mixed {
            return "Geometry of the mixed derivative by weights and input".into();
        }
        let name = match self.gradient {
            Gradient::Dipole { h } => return format!("Geometry of differences over ±{h}"),
            // Where there is one gradient the two are the same.
            _ if self.inputs == Inputs::Zero => "Geometry at one point",
            Gradient::Coherent => "Coherent geometry",
            Gradient::Local => "Local geometry",
        };
        match (self.voice(), self.gradient) {
            (Voice::Given, _) => format!("{name} of given weights"),
            (Voice::Coherent, _) => format!("{name} (what predicts learning)"),
            (Voice::Sensitivity, Gradient::Local) if self.inputs != Inputs::Zero => {
                format!("{name} (sensitivity at single inputs)")
            }
            (Voice::Sensitivity | Voice::Shared, _) => name.to_string(),
        }
    }

    /// The method.
    pub fn how(&self) -> String {
        match self.method {
            Method::Exact => "exact closed form".into(),
            Method::MeanField => "closed form at infinite width".into(),
            Method::Kernel => "from the kernel at infinite width".into(),
            Method::Mixed => format!("sampled from {}", counted(self.networks, "network")),
            Method::Sample => format!(
                "{} {} with {} each",
                match self.weights {
                    Origin::Drawn => "sampled from",
                    Origin::Given => "from",
                },
                counted(self.networks, "network"),
                counted(self.probes as u64, "input")
            ),
        }
    }

    /// Where gradients were taken.
    fn place(&self) -> String {
        match &self.inputs {
            Inputs::Any => "the same at every input".into(),
            Inputs::Zero => "at the input 0".into(),
            Inputs::Gauss(1.0) => "inputs N(0, 1)".into(),
            Inputs::Gauss(sigma) => format!("inputs N(0, {sigma}²)"),
            Inputs::Points(source) => format!("inputs from {source}"),
        }
    }

    /// What a sample of fewer gradients than directions cannot show.
    pub fn few(&self, dim: usize) -> Option<String> {
        let count = self.gradients() * self.readouts? as u64;
        (self.sampled() && count < dim as u64).then(|| {
            format!(
                "It was seen through {}: no more than {} of its {} directions can show.",
                counted(count, "gradient"),
                grouped(count),
                grouped(dim as u64)
            )
        })
    }
}

impl Resolved {
    /// Which geometry it is, once its numbers are known.
    pub(super) fn source(&self, graph: &Graph, numbers: &Numbers) -> Provenance {
        let is_linear = exact_applies(graph, ExactProbe::Anywhere, self.output.into()).is_ok();
        Provenance {
            gradient: self.gradient,
            method: self.method,
            inputs: match &self.probe {
                _ if is_linear => Inputs::Any,
                Probe::Zero => Inputs::Zero,
                Probe::Gauss { sigma } => Inputs::Gauss(*sigma),
                Probe::Points { source, .. } => Inputs::Points(source.clone()),
            },
            weights: match self.weights.is_empty() {
                true => Origin::Drawn,
                false => Origin::Given,
            },
            predicts: mean_field_applies(graph, self.output.into()).is_ok(),
            networks: numbers.networks.unwrap_or(0),
            probes: self.points(graph),
            readouts: match numbers.readouts {
                Some(Readouts::Drawn(k)) => Some(k),
                Some(Readouts::Every) => None,
                Some(Readouts::Own) | None => Some(1),
            },
            error: numbers.relative_error,
        }
    }

    /// How G was found.
    pub(super) fn sentence(&self, graph: &Graph, numbers: &Numbers) -> String {
        let networks = grouped(numbers.networks.unwrap_or(0));
        let error = numbers.relative_error.map_or(String::new(), |e| {
            format!(" The standard error of G is {} of its norm.", pretty(e))
        });
        let readouts = match numbers.readouts {
            Some(Readouts::Drawn(k)) if k > 1 => {
                format!(
                    " Each trunk served {k} read-outs drawn from the distribution of the last layer."
                )
            }
            Some(Readouts::Every) => " The last layer was integrated out.".to_string(),
            _ => String::new(),
        };
        let probes = counted(self.points(graph) as u64, "probe");
        match self.method {
            Method::Exact => "Exact: the network is linear around the probe, so the covariance of its gradient was carried \
                              back layer by layer in closed form. No network was drawn."
                .to_string(),
            Method::MeanField if self.is_averaged_over_inputs() => {
                "Mean field: the infinite-width covariance of the gradients at two independent inputs, with the expectation \
                 over the distribution of the inputs in it. No network and no input was drawn for it."
                    .to_string()
            }
            Method::MeanField => format!(
                "Mean field: the infinite-width covariance of the gradient, averaged over {probes}. No network was drawn for it."
            ),
            Method::Kernel => format!(
                "Kernel: the second derivative of the kernel of the infinitely wide network, exact there, averaged over \
                 {probes}. No network was drawn for it."
            ),
            Method::Sample => {
                let pairs = match self.gradient {
                    Gradient::Coherent => " Only gradients at different inputs are multiplied.",
                    Gradient::Local | Gradient::Dipole { .. } => "",
                };
                format!("Sampled: {networks} networks, {probes} each.{pairs}{readouts}{error}")
            }
            Method::Mixed => format!(
                "Sampled: E[MᵀM] of the mixed second derivative M = ∇²f by parameters and input, {networks} networks.{error}"
            ),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The default for most networks.
    pub fn closed() -> Provenance {
        Provenance {
            gradient: Gradient::Coherent,
            method: Method::MeanField,
            inputs: Inputs::Gauss(1.0),
            weights: Origin::Drawn,
            predicts: true,
            networks: 0,
            probes: 16,
            readouts: Some(1),
            error: None,
        }
    }

    /// A sample of T networks.
    pub fn sampled(networks: u64, error: Option<f64>) -> Provenance {
        Provenance {
            method: Method::Sample,
            networks,
            error,
            ..closed()
        }
    }

    #[test]
    fn every_geometry_has_its_line() {
        let closed = closed();
        assert_eq!(
            closed.line(),
            "Coherent geometry (what predicts learning), closed form at infinite width, inputs N(0, 1)"
        );
        let local = Provenance {
            gradient: Gradient::Local,
            inputs: Inputs::Gauss(3.0),
            ..sampled(600, Some(0.1))
        };
        assert_eq!(
            local.line(),
            "Local geometry (sensitivity at single inputs), sampled from 600 networks with 16 inputs each, inputs N(0, 3²)"
        );
        let zero = Provenance {
            method: Method::Exact,
            inputs: Inputs::Zero,
            ..closed.clone()
        };
        assert_eq!(
            zero.line(),
            "Geometry at one point, exact closed form, at the input 0"
        );
        let linear = Provenance {
            method: Method::Exact,
            inputs: Inputs::Any,
            ..closed.clone()
        };
        assert!(linear.line().ends_with("the same at every input"));
        let given = Provenance {
            gradient: Gradient::Local,
            weights: Origin::Given,
            inputs: Inputs::Points("data:mnist".into()),
            ..sampled(1, None)
        };
        assert_eq!(
            given.line(),
            "Local geometry of given weights, from 1 network with 16 inputs each, inputs from data:mnist"
        );
        let dipole = Provenance {
            gradient: Gradient::Dipole { h: 100.0 },
            ..sampled(9, None)
        };
        assert!(
            dipole
                .line()
                .starts_with("Geometry of differences over ±100, sampled from 9 networks")
        );
        let attention = Provenance {
            predicts: false,
            ..sampled(600, Some(0.3))
        };
        assert_eq!(
            attention.line(),
            "Coherent geometry, sampled from 600 networks with 16 inputs each, inputs N(0, 1)"
        );
        assert_eq!(attention.voice(), Voice::Shared);
        let kernel = Provenance {
            method: Method::Kernel,
            ..closed.clone()
        };
        assert!(kernel.line().contains("from the kernel at infinite width"));
        let mixed = Provenance {
            method: Method::Mixed,
            ..sampled(7, None)
        };
        assert!(mixed.line().contains("mixed derivative"));
    }

    /// A zero of one point, of few gradients or of given weights says nothing about the architecture.
    #[test]
    fn zeros_that_conclude() {
        assert!(closed().is_conclusive(1024));
        let with = |change: &dyn Fn(&mut Provenance)| {
            let mut source = closed();
            change(&mut source);
            source.is_conclusive(1024)
        };
        assert!(!with(&|s| s.inputs = Inputs::Zero));
        assert!(!with(&|s| s.inputs = Inputs::Points("x".into())));
        assert!(!with(&|s| s.gradient = Gradient::Local));
        assert!(!with(&|s| s.method = Method::Kernel));
        assert!(with(
            &|s| (s.method, s.inputs) = (Method::Exact, Inputs::Any)
        ));
        assert!(sampled(1025, Some(0.1)).is_conclusive(1024));
        assert!(!sampled(1024, Some(0.1)).is_conclusive(1024));
        let given = Provenance {
            weights: Origin::Given,
            ..sampled(5000, None)
        };
        assert!(!given.is_conclusive(1024));
    }

    #[test]
    fn few_gradients_are_named() {
        let said = sampled(16, Some(0.1)).few(1024).unwrap();
        assert_eq!(
            said,
            "It was seen through 16 gradients: no more than 16 of its 1,024 directions can show."
        );
        assert_eq!(sampled(1024, Some(0.1)).few(1024), None);
        assert_eq!(closed().few(1024), None);
        // Many last layers on few trunks.
        let served = |readouts| Provenance {
            readouts,
            ..sampled(16, Some(0.1))
        };
        assert_eq!(served(Some(64)).few(1024), None);
        assert_eq!(served(None).few(1024), None);
    }
}
