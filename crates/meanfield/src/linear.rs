//! Whether a network is linear around the probe, and with which slopes.
//!
//! At x = 0 every value is 0 in every draw until something moves it: a bias, a batch norm's shift, an
//! activation with φ(0) ≠ 0. An activation that reads 0 has the slope φ'(0); one that reads anything else,
//! or has a kink at 0, has a random slope and is refused. Networks without activations are linear anywhere.

use std::f64::consts::FRAC_2_SQRT_PI;

use polariscope_graph::{Activation, Graph, Passage};

use crate::laws::is_zero;
use crate::refusal::{Cause, unsupported};
use crate::{ExactProbe, Method, Refusal};

/// φ'(0), and whether φ(0) = 0; nothing where φ has a kink.
fn at_zero(activation: Activation) -> Option<(f64, bool)> {
    Some(match activation {
        Activation::Identity | Activation::Tanh | Activation::Sin => (1.0, true),
        Activation::Erf => (FRAC_2_SQRT_PI, true),
        Activation::Gelu | Activation::Silu | Activation::HardSwish => (0.5, true),
        Activation::Sigmoid => (0.25, false),
        Activation::HardSigmoid => (1.0 / 6.0, false),
        Activation::Softplus { .. } => (0.5, false),
        Activation::LeakyRelu { slope: 1.0 } => (1.0, true),
        Activation::Relu | Activation::LeakyRelu { .. } | Activation::Abs => return None,
    })
}

/// φ'² for every activation that leads to the output, 1 elsewhere.
pub(crate) fn slopes(graph: &Graph, live: &[bool], probe: ExactProbe) -> Result<Vec<f64>, Refusal> {
    let mut slopes = vec![1.0; graph.nodes.len()];
    let mut moved: Vec<Option<Cause>> = Vec::with_capacity(graph.nodes.len());
    for (i, node) in graph.nodes.iter().enumerate() {
        let layer = || node.layer.clone();
        let above = node.inputs.iter().find_map(|input| moved[input.0].clone());
        let by = |cause: Cause, still: bool| above.clone().or((!still).then_some(cause));
        let own = match node.op.facts().passage {
            _ if !live[i] => None,
            Passage::Bias { bias, scale } => {
                by(Cause::Bias { layer: layer() }, is_zero(graph, bias, scale))
            }
            Passage::BatchNorm {
                bias, running_mean, ..
            } => {
                let still = is_zero(graph, bias, 1.0) && is_zero(graph, running_mean, 1.0);
                by(Cause::Shift { layer: layer() }, still)
            }
            Passage::Activation(activation) if activation.is_identity() => above,
            Passage::Activation(activation) => {
                let op = activation.name();
                if probe == ExactProbe::Anywhere {
                    return Err(Refusal::Nonlinear { op, layer: layer() });
                }
                let Some((slope, still)) = at_zero(activation) else {
                    return Err(Refusal::Kink { op, layer: layer() });
                };
                if let Some(cause) = above {
                    return Err(Refusal::Moved {
                        instead: cause.instead(),
                        cause,
                        op,
                        layer: layer(),
                    });
                }
                slopes[i] = slope * slope;
                by(Cause::Offset { op, layer: layer() }, still)
            }
            Passage::Input => None,
            Passage::Dense { .. }
            | Passage::Conv { .. }
            | Passage::Local { .. }
            | Passage::Scale { .. }
            | Passage::Same
            | Passage::AvgPool(_)
            | Passage::GlobalAvgPool
            | Passage::Flatten
            | Passage::Add
            | Passage::Concat => above,
            Passage::MaxPool(_) | Passage::Norm(_) | Passage::Other(_) => {
                return Err(unsupported(Method::Exact, node));
            }
        };
        moved.push(own);
    }
    Ok(slopes)
}
