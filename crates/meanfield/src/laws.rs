//! Variances of parameters.

use polariscope_graph::{Graph, Law, ParamId};

use crate::Refusal;

/// Var of scale · w.
pub(crate) fn weight_variance(graph: &Graph, id: ParamId, scale: f64) -> Result<f64, Refusal> {
    let wanted = "weights must have mean 0 (uniform, normal, orthogonal)";
    variance(graph, id, scale, wanted)
}

/// Var of scale · b.
pub(crate) fn bias_variance(graph: &Graph, id: ParamId, scale: f64) -> Result<f64, Refusal> {
    let wanted = "biases must have mean 0 (0, uniform, normal)";
    variance(graph, id, scale, wanted)
}

fn variance(graph: &Graph, id: ParamId, scale: f64, wanted: &'static str) -> Result<f64, Refusal> {
    let param = graph.param(id);
    match param.variance() {
        Some(variance) => Ok(variance * scale * scale),
        None => Err(Refusal::Law {
            param: param.name.clone(),
            problem: "a constant initial value",
            wanted,
        }),
    }
}

/// Whether scale · b is 0 in every draw.
pub(crate) fn is_zero(graph: &Graph, id: ParamId, scale: f64) -> bool {
    scale == 0.0 || graph.param(id).law == Law::Constant(0.0)
}

/// What batch norm outside training multiplies by.
pub(crate) struct Gain {
    /// γ/√(running variance + ε), for means.
    pub factor: f64,
    /// Its square, for covariances.
    pub square: f64,
}

/// The gain of a batch norm.
pub(crate) fn batch_norm_gain(
    graph: &Graph,
    weight: ParamId,
    running_var: ParamId,
    eps: f64,
) -> Result<Gain, Refusal> {
    let constant = |id: ParamId| match graph.param(id).law {
        Law::Constant(value) => Ok(value),
        Law::Uniform { .. } | Law::Normal { .. } | Law::Orthogonal { .. } => Err(Refusal::Law {
            param: graph.param(id).name.clone(),
            problem: "random initial values",
            wanted: "batch norm must start at one constant for all channels",
        }),
    };
    let (gamma, variance) = (constant(weight)?, constant(running_var)? + eps);
    Ok(Gain {
        factor: gamma / variance.sqrt(),
        square: gamma * gamma / variance,
    })
}
