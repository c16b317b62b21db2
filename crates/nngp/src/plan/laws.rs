//! Variances of parameters.

use polariscope_graph::{Graph, Law, ParamId};

use super::Weights;
use crate::NngpError;

fn refuse(graph: &Graph, id: ParamId, scale: f64, wanted: &'static str) -> NngpError {
    let param = graph.param(id);
    NngpError::Law {
        param: param.name.clone(),
        problem: format!("{:?} times {scale}", param.law),
        wanted,
    }
}

/// Weights of mean 0 and a positive variance.
pub(super) fn weights(graph: &Graph, id: ParamId, scale: f64) -> Result<Weights, NngpError> {
    let wanted = "weights must have mean 0 and a finite standard deviation above 0 (check w_std)";
    let of_one = graph.param(id).variance().unwrap_or(0.0);
    let of_product = of_one * scale * scale;
    let usable = |v: f64| v.is_finite() && v > 0.0;
    match usable(of_one) && usable(of_product) && usable(of_one.recip()) {
        true => Ok(Weights {
            variance: of_product,
            own: of_one.recip(),
        }),
        false => Err(refuse(graph, id, scale, wanted)),
    }
}

/// (Var of scale · b, scale²): what a bias adds to K and to Θ.
pub(super) fn bias(graph: &Graph, id: ParamId, scale: f64) -> Result<[f64; 2], NngpError> {
    let wanted = "biases must have mean 0 and a finite standard deviation (check b_std)";
    let of_one = graph.param(id).variance();
    let both = of_one.map(|v| [v * scale * scale, scale * scale]);
    both.filter(|both| both.iter().all(|v| v.is_finite()))
        .ok_or_else(|| refuse(graph, id, scale, wanted))
}

/// γ² of a norm, the same constant for all; its square is a divisor of Θ.
pub(super) fn gamma_square(graph: &Graph, id: ParamId) -> Result<f64, NngpError> {
    match graph.param(id).law {
        Law::Constant(gamma) if (gamma * gamma).is_normal() => Ok(gamma * gamma),
        Law::Constant(_) | Law::Uniform { .. } | Law::Normal { .. } | Law::Orthogonal { .. } => {
            let wanted = "the γ of a norm must start at one finite constant other than 0";
            Err(refuse(graph, id, 1.0, wanted))
        }
    }
}
