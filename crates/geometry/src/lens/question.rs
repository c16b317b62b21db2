//! What is asked of a geometry; what is left open is chosen for the network.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use polariscope_graph::{Graph, Op};
use polariscope_lens::{Dtype, Observer, Quiet, Setup};
use polariscope_meanfield::{ExactProbe, approximations, exact_applies, mean_field_applies};
use polariscope_network::multiplications;
use polariscope_random::Stream;
use serde::{Deserialize, Serialize};

use super::resolved::{Integrate, Resolved};
use crate::sample::{Float, PILOT_PROBES, PILOTS};
use crate::{Centring, GROUPS, GeometryError, Gradient, Limit, Method, Output, Probe, best_probes};

/// Relative standard error at which sampling stops where nothing else is said: Corr(Ĝ, G) is about 0.995.
pub(super) const ERROR: f64 = 0.1;
/// The same for networks whose gradients take long.
const COARSE_ERROR: f64 = 0.3;
/// Multiplications of a forward pass up to which sampling takes seconds.
const CHEAP: usize = 30_000_000;
/// Points for each network, and of closed forms at infinite width, where nothing is said.
const PROBES: usize = 16;
/// Inputs where nothing is said.
const GAUSS: Probe = Probe::Gauss { sigma: 1.0 };

/// What is asked. The default asks for the geometry that predicts learning, by the best method there is.
///
/// ```
/// use polariscope_geometry::{Gradient, Method, Question};
/// use polariscope_graph::{ZooOptions, zoo};
/// let input = Some("1x16x16".parse()?);
/// let lenet = zoo("lenet-avg", &ZooOptions { input, ..ZooOptions::default() })?;
/// let resolved = Question::default().resolve(&lenet)?;
/// assert_eq!((resolved.gradient, resolved.method), (Gradient::Coherent, Method::MeanField));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    /// Which geometry.
    pub gradient: Option<Gradient>,
    /// By which method.
    pub method: Option<Method>,
    /// Where gradients are taken.
    pub probe: Option<Probe>,
    /// Points for each network.
    pub probes: Option<usize>,
    /// Which scalar is differentiated.
    pub output: Option<Output>,
    /// When sampling stops.
    pub limit: Option<Limit>,
    /// The conventions of released code.
    pub compat: Option<Compat>,
    /// Weights in place of random ones: safetensors files.
    pub weights: Vec<PathBuf>,
    /// Seed, numbers, device.
    pub setup: Setup,
}

/// The conventions of released code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compat {
    /// Neural anisotropy directions: dipole of 100 at one normal point, mean removed.
    Nad,
    /// Geometric inductive biases: mean of the outputs at 128 points of σ = 0.001, divided by 128.
    Gih,
}

impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compat::Nad => "nad",
            Compat::Gih => "gih",
        })
    }
}

impl FromStr for Compat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "nad" => Ok(Compat::Nad),
            "gih" => Ok(Compat::Gih),
            _ => Err("it is nad or gih".into()),
        }
    }
}

/// What of the geometry is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// The matrix, which must fit into memory.
    Matrix,
    /// Its first directions.
    First,
}

impl Question {
    /// Chooses what was left open, and refuses what this network has no answer to, or not in this memory.
    pub fn resolve(&self, graph: &Graph) -> Result<Resolved, GeometryError> {
        self.resolve_observed(graph, &mut Quiet)
    }

    /// The same while somebody looks on: a pilot may take seconds.
    pub fn resolve_observed(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<Resolved, GeometryError> {
        let resolved = self.settle(graph, Wanted::Matrix, observer)?;
        resolved.check(graph)?;
        Ok(resolved)
    }

    /// The same for the first directions alone, without the matrix.
    pub fn resolve_first(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<Resolved, GeometryError> {
        self.settle(graph, Wanted::First, observer)
    }

    fn settle(
        &self,
        graph: &Graph,
        wanted: Wanted,
        observer: &mut dyn Observer,
    ) -> Result<Resolved, GeometryError> {
        let mut resolved = self.choose(graph)?;
        let drawn = resolved.method == Method::Sample && self.weights.is_empty();
        if drawn && self.probes.is_none() && self.compat.is_none() {
            // Before the pilot, which would run into what is refused.
            match wanted {
                Wanted::Matrix => resolved.check(graph)?,
                Wanted::First => resolved.check_question(graph)?,
            }
            let words = "a pilot for the number of probes";
            resolved.foretell_networks(graph, words, (PILOTS, PILOT_PROBES), observer);
            resolved.probes = match self.setup.dtype {
                Dtype::F32 => pilot::<f32>(graph, &resolved)?,
                Dtype::F64 => pilot::<f64>(graph, &resolved)?,
            };
            observer.end();
        }
        Ok(resolved)
    }

    fn choose(&self, graph: &Graph) -> Result<Resolved, GeometryError> {
        let mut resolved = Resolved {
            method: Method::Sample,
            probe: Probe::Zero,
            probes: 1,
            batches: 1,
            output: self.output.unwrap_or(Output::Logit(0)),
            gradient: match (self.gradient, self.weights.is_empty(), self.method) {
                (Some(asked), _, _) => asked,
                // One network has one mean gradient, a geometry of rank one; Mixed has a derivative of its own.
                (None, false, _) | (None, _, Some(Method::Mixed)) => Gradient::Local,
                (None, true, _) => Gradient::Coherent,
            },
            centring: Centring::None,
            limit: match self.limit {
                Some(limit) => limit,
                None if multiplications(graph) < CHEAP => Limit::Error(ERROR),
                None => Limit::Error(COARSE_ERROR),
            },
            integrate: Integrate::LastLayer,
            scale: 1.0,
            compat: self.compat,
            weights: self.weights.clone(),
            setup: self.setup,
        };
        if let Some(compat) = self.compat {
            return self.preset(resolved, compat, graph);
        }
        let probe = self.probe.clone();
        let sampled = !self.weights.is_empty()
            || self.limit.is_some()
            || matches!(resolved.gradient, Gradient::Dipole { .. });
        resolved.method = match self.method {
            Some(method) => method,
            None if sampled => Method::Sample,
            None => best_method(graph, resolved.gradient, probe.as_ref(), resolved.output),
        };
        self.refuse_idle(&resolved)?;
        resolved.probe = probe.unwrap_or(match resolved.method {
            Method::Exact => Probe::Zero,
            Method::MeanField | Method::Kernel | Method::Sample | Method::Mixed => GAUSS,
        });
        resolved.probes = match (&resolved.probe, self.probes) {
            (Probe::Zero, Some(m)) if m > 1 => {
                return Err(GeometryError::Question(
                    "‹probes›: with ‹probe zero› there is one point, 0".into(),
                ));
            }
            (_, Some(m)) => m,
            (Probe::Zero, None) => 1,
            (Probe::Gauss { .. } | Probe::Points { .. }, None) => PROBES,
        };
        if !self.weights.is_empty() {
            // Twice as many gradients as directions, in batches whose scatter is the error: one for each group at least.
            let points = match (&resolved.probe, self.probes) {
                (Probe::Zero, _) => 1,
                (_, Some(m)) => m,
                (_, None) => 2 * graph.input().len(),
            };
            resolved.probes = (points / GROUPS).clamp(1, PROBES);
            resolved.batches = points.div_ceil(resolved.probes) as u64;
            resolved.limit = Limit::Networks(self.weights.len() as u64 * resolved.batches);
        }
        Ok(resolved)
    }

    /// Settings that a method has no use for.
    fn refuse_idle(&self, resolved: &Resolved) -> Result<(), GeometryError> {
        let method = resolved.method;
        if matches!(method, Method::Sample | Method::Mixed) {
            return Ok(());
        }
        let dipole = matches!(resolved.gradient, Gradient::Dipole { .. });
        let idle = [
            ("‹networks›", matches!(self.limit, Some(Limit::Networks(_)))),
            ("‹error›", matches!(self.limit, Some(Limit::Error(_)))),
            ("‹gradient dipole›", dipole),
            ("‹weights›", !self.weights.is_empty()),
        ];
        match idle.iter().find(|(_, set)| *set) {
            None => Ok(()),
            Some((setting, _)) => Err(GeometryError::Question(format!(
                "{setting} belongs to ‹method sample›; {method} draws no networks"
            ))),
        }
    }

    /// The conventions of released code; what they fix cannot be given beside.
    fn preset(
        &self,
        resolved: Resolved,
        compat: Compat,
        graph: &Graph,
    ) -> Result<Resolved, GeometryError> {
        let fixed = [
            ("‹method›", self.method.is_some_and(|m| m != Method::Sample)),
            ("‹gradient›", self.gradient.is_some()),
            ("‹probes›", self.probes.is_some()),
            ("‹probe›", self.probe.is_some() && compat == Compat::Nad),
            ("‹output›", self.output.is_some() && compat == Compat::Gih),
        ];
        if compat == Compat::Nad && self.method == Some(Method::Mixed) {
            return Err(GeometryError::Question(
                "‹compat nad› ‹method mixed›: as printed, Algorithm 2 averages the mixed derivative over networks first, \
                 which leaves noise for weights of mean 0; ‹method mixed› alone takes E[MᵀM]"
                    .into(),
            ));
        }
        if let Some((setting, _)) = fixed.iter().find(|(_, set)| *set) {
            return Err(GeometryError::Question(format!(
                "{setting} is fixed by ‹compat›; leave one of the two out"
            )));
        }
        let resolved = Resolved {
            integrate: Integrate::Nothing,
            ..resolved
        };
        Ok(match compat {
            Compat::Nad => {
                let mut x = vec![0f32; graph.input().len()];
                Stream::new(self.setup.seed, 0, "evaluation point").normal(1.0, &mut x);
                Resolved {
                    probe: Probe::Points {
                        source: "one point of N(0, I)".into(),
                        x: x.into_iter().map(f64::from).collect(),
                    },
                    gradient: Gradient::Dipole { h: 100.0 },
                    centring: Centring::Mean,
                    ..resolved
                }
            }
            Compat::Gih => Resolved {
                probe: self.probe.clone().unwrap_or(Probe::Gauss { sigma: 1e-3 }),
                probes: 128,
                gradient: Gradient::Local,
                output: Output::Mean,
                scale: 1.0 / 128.0,
                ..resolved
            },
        })
    }
}

/// How many probes a network should have.
fn pilot<T: Float>(graph: &Graph, resolved: &Resolved) -> Result<usize, GeometryError> {
    let mut config = resolved.sample_config();
    // Counted, not timed: the place changes nothing but the place of the pilot.
    config.place = Default::default();
    best_probes::<T>(graph, &config)
}

/// The best method for a network. Coherent: a closed form wherever there is one. Local: a closed form that holds, then
/// sampling where it takes seconds, then a closed form that approximates.
fn best_method(graph: &Graph, gradient: Gradient, probe: Option<&Probe>, output: Output) -> Method {
    // Where nothing is said a coherent geometry is that of Gaussian inputs.
    let probe = match gradient {
        Gradient::Coherent => Some(probe.unwrap_or(&GAUSS)),
        Gradient::Local | Gradient::Dipole { .. } => probe,
    };
    let cheap = multiplications(graph) < CHEAP;
    match closed_form(graph, probe, output) {
        Some(Method::Exact) => Method::Exact,
        Some(Method::MeanField)
            if gradient == Gradient::Coherent
                || approximations(graph).is_empty()
                || !(cheap || pools_by_maximum(graph)) =>
        {
            Method::MeanField
        }
        _ => Method::Sample,
    }
}

/// Max-pool taken as average pool is too far off to be shown unasked.
fn pools_by_maximum(graph: &Graph) -> bool {
    graph
        .nodes
        .iter()
        .any(|node| matches!(node.op, Op::MaxPool(_)))
}

/// The closed form that answers the question, if one does.
pub(super) fn closed_form(graph: &Graph, probe: Option<&Probe>, output: Output) -> Option<Method> {
    if exact_applies(graph, place(probe), output.into()).is_ok() {
        Some(Method::Exact)
    } else if mean_field_applies(graph, output.into()).is_ok() {
        Some(Method::MeanField)
    } else {
        None
    }
}

/// Where an exact geometry would be taken.
pub(super) fn place(probe: Option<&Probe>) -> ExactProbe {
    match probe {
        None | Some(Probe::Zero) => ExactProbe::Zero,
        Some(Probe::Gauss { .. } | Probe::Points { .. }) => ExactProbe::Anywhere,
    }
}
