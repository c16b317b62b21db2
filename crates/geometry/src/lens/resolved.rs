//! A question about a network, every choice made.

use std::sync::Arc;

use polariscope_graph::Graph;
use polariscope_lens::{Setup, afford, fingerprint};
use polariscope_meanfield::{exact_applies, mean_field_applies};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::question::{Compat, closed_form, place};
use crate::{
    Centring, GeometryError, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig,
    Sampler, kernel_memory,
};

/// A question about a network, every choice made.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// By which method.
    pub method: Method,
    /// Where.
    pub probe: Probe,
    /// Points for each network, or for a closed form at infinite width; of given weights, for each batch.
    pub probes: usize,
    /// Batches of points for each network: more than one for given weights.
    pub batches: u64,
    /// Which scalar.
    pub output: Output,
    /// Which geometry.
    pub gradient: Gradient,
    /// Whether the mean is removed.
    pub centring: Centring,
    /// When sampling stops.
    pub limit: Limit,
    /// Whether the last layer may be integrated out.
    pub integrate: Integrate,
    /// Factor on G that the conventions ask for.
    pub scale: f64,
    /// The preset behind it.
    pub compat: Option<Compat>,
    /// Weights in place of random ones.
    pub weights: Vec<PathBuf>,
    /// Seed, numbers, device.
    pub setup: Setup,
}

/// Whether the last layer may be integrated out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrate {
    /// Where that pays.
    LastLayer,
    /// Every network has its own.
    Nothing,
}

/// A resolved question as a record: what the geometry depends on beside the network, the weights and the setup, points
/// by their fingerprint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// By which method.
    pub method: Method,
    /// Where.
    pub probe: String,
    /// Which points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_fingerprint: Option<String>,
    /// Points for each network, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<usize>,
    /// Which scalar.
    pub output_differentiated: String,
    /// Which geometry.
    pub gradient: Gradient,
    /// Networks, where that is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Relative error, where that is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Whether the mean gradient is removed, where networks are sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centred: Option<bool>,
    /// The preset behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// Factor on G, of a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
}

impl Resolved {
    /// The question as a record.
    pub fn record(&self) -> Record {
        let sampled = matches!(self.method, Method::Sample | Method::Mixed);
        let limit = sampled.then_some(self.limit);
        Record {
            method: self.method,
            probe: self.probe.to_string(),
            probe_fingerprint: self.probe.bits().map(fingerprint),
            probes: (!self.is_averaged_over_inputs()).then_some(self.probes),
            output_differentiated: self.output.to_string(),
            gradient: self.gradient,
            samples: limit.and_then(|limit| match limit {
                Limit::Networks(n) => Some(n),
                Limit::Error(_) => None,
            }),
            error: limit.and_then(|limit| match limit {
                Limit::Error(e) => Some(e),
                Limit::Networks(_) => None,
            }),
            centred: sampled.then_some(self.centring == Centring::Mean),
            compat: self.compat,
            scale: self.compat.map(|_| self.scale),
        }
    }

    /// The question of a sampled run from its record; points are not needed any more.
    pub fn restore(record: &Record, setup: Setup) -> Option<Self> {
        let probe = match record.probe.parse() {
            Ok(probe) => probe,
            Err(_) => Probe::Points {
                source: record.probe.clone(),
                x: Arc::from([]),
            },
        };
        Some(Self {
            method: record.method,
            probe,
            probes: record.probes?,
            batches: 1,
            output: record.output_differentiated.parse().ok()?,
            gradient: record.gradient,
            centring: match record.centred? {
                true => Centring::Mean,
                false => Centring::None,
            },
            limit: Limit::Networks(record.samples?),
            integrate: Integrate::Nothing,
            scale: record.scale.unwrap_or(1.0),
            compat: record.compat,
            weights: Vec::new(),
            setup,
        })
    }

    /// Whether the closed form needs no points: the exact one, and the coherent one of Gaussian inputs.
    pub fn is_averaged_over_inputs(&self) -> bool {
        matches!(
            (self.method, self.gradient, &self.probe),
            (Method::Exact, _, _) | (Method::MeanField, Gradient::Coherent, Probe::Gauss { .. })
        )
    }

    /// The sampler's part of the question, every network with its own last layer.
    pub fn sample_config(&self) -> SampleConfig {
        SampleConfig {
            seed: self.setup.seed,
            method: self.method,
            gradient: self.gradient,
            probe: self.probe.clone(),
            probes: self.probes,
            output: self.output,
            readouts: Readouts::Own,
            centring: self.centring,
            place: self.setup.place(),
        }
    }

    /// The closed form that answers the same question, if one does.
    pub fn closed_form(&self, graph: &Graph) -> Option<Method> {
        closed_form(graph, Some(&self.probe), self.output)
    }

    /// Inputs for each network, no more than there are.
    pub fn points(&self, graph: &Graph) -> usize {
        let batch = match &self.probe {
            // Merged shards have no points any more.
            Probe::Points { x, .. } if !x.is_empty() => {
                self.probes.min(x.len() / graph.input().len().max(1))
            }
            Probe::Points { .. } | Probe::Zero | Probe::Gauss { .. } => self.probes,
        };
        batch * self.batches as usize
    }

    /// Refuses a question that the network has no answer to, or none that fits into memory.
    pub(super) fn check(&self, graph: &Graph) -> Result<(), GeometryError> {
        self.check_question(graph)?;
        self.check_memory(graph)
    }

    /// Refuses a question that the network has no answer to.
    pub(super) fn check_question(&self, graph: &Graph) -> Result<(), GeometryError> {
        // Whatever the method, the output and the points must exist.
        let config = self.sample_config();
        match self.method {
            Method::Sample | Method::Mixed => config.check(graph)?,
            Method::Exact | Method::MeanField | Method::Kernel => config.check_place(graph)?,
        }
        match self.method {
            Method::Exact => exact_applies(graph, place(Some(&self.probe)), self.output.into())?,
            Method::MeanField => mean_field_applies(graph, self.output.into())?,
            Method::Kernel => drop(kernel_memory(graph, self.output)?),
            Method::Sample | Method::Mixed => {}
        }
        Ok(())
    }

    /// Refuses what does not fit into memory, saying how much it would take.
    fn check_memory(&self, graph: &Graph) -> Result<(), GeometryError> {
        let dim = graph.input().len();
        let square = 8.0 * (dim as f64).powi(2);
        let (bytes, advice) = match self.method {
            // G = I_C ⊗ B: a few matrices over positions.
            Method::Exact | Method::MeanField => {
                let channels = graph.input().dims()[0].max(1) as f64;
                (
                    9.0 * square / (channels * channels),
                    "use a smaller ‹input›, or ‹method sample› ‹top k›",
                )
            }
            Method::Kernel => (
                3.0 * square + kernel_memory(graph, self.output)?,
                "use a smaller ‹input›, or ‹method sample›",
            ),
            Method::Sample | Method::Mixed => (
                Sampler::<f32>::memory(dim),
                "‹top k› finds the first k directions without the matrix",
            ),
        };
        afford(bytes, advice).map_err(|source| GeometryError::Matrix {
            dim,
            bytes: square,
            source,
        })
    }

    /// What others choose differently, for the report.
    pub fn conventions(&self) -> Vec<(String, String)> {
        let mut out = vec![("probe".to_string(), self.probe.to_string())];
        let mut push = |name: &str, value: String| out.push((name.to_string(), value));
        push(
            "scalar",
            match self.output {
                Output::Logit(k) => format!("output {k}"),
                Output::Mean => "mean of the outputs".into(),
                Output::All => "every output, summed".into(),
            },
        );
        push(
            "geometry",
            match self.gradient {
                Gradient::Coherent => "coherent: gradients at two independent inputs".into(),
                Gradient::Local => "local: both gradients at the same input".into(),
                Gradient::Dipole { h } => format!("differences over ±{h} in place of gradients"),
            },
        );
        if matches!(self.method, Method::Sample | Method::Mixed) {
            push("points a network", self.probes.to_string());
            push(
                "mean gradient",
                match self.centring {
                    Centring::None => "kept: G = E[g gᵀ]".into(),
                    Centring::Mean => "removed: covariance with divisor T − 1".into(),
                },
            );
        }
        if self.scale != 1.0 {
            push(
                "factor",
                format!("G × {}, as the released code scales it", self.scale),
            );
        }
        out
    }
}
