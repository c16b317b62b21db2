//! How much of each measurement is made: what would take too long is left out, with the reason.

use polariscope_diff::Device;
use polariscope_report::{counted, grouped};
use polariscope_train::Problem;

use super::{Question, budget, curvature};
use crate::POINTS;
use crate::effective::{LARGEST, Parameters};
use crate::tangent::Tangent;

/// Steps of training with a frozen kernel, about.
const FROZEN_STEPS: f64 = 5000.0;

/// How much is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Most steps.
    pub steps: u64,
    /// Samples of kernels before and after training.
    pub points: Option<usize>,
    /// Networks with frozen kernels: the first ones.
    pub frozen: usize,
    /// Samples of the Hessian.
    pub hessian: Option<usize>,
    /// Networks whose rank is found: the first ones.
    pub ranks: usize,
}

impl Plan {
    /// What there is time for, with so many samples to learn and to judge by; `missing` hears of the rest.
    pub fn new(
        problem: &Problem,
        question: &Question,
        (n, m): (usize, usize),
        missing: &mut Vec<String>,
    ) -> Self {
        let (graph, device, all) = (&problem.graph, question.setup.device, question.networks);
        let large = || {
            format!(
                "{} of {} parameters",
                counted(graph.output().len() as u64, "output"),
                grouped(graph.parameter_count() as u64)
            )
        };

        // Before and after, on test samples and on training samples.
        let kernels = 4.0 * all as f64 * Tangent::cost(graph, POINTS.min(n), 0).0;
        let points = (budget::pieces(device, budget::POINTS, kernels) > 0).then_some(POINTS);
        if points.is_none() {
            missing.push(format!(
                "How the tangent kernel moves, and its alignment with the labels: gradients of {} take too long here.",
                large()
            ));
        }

        let formed = budget::pieces(device, budget::FROZEN, 2.0 * Tangent::cost(graph, n, m).0);
        let step = (n * n * graph.output().len()) as f64;
        let trained = budget::pieces(Device::Cpu, budget::FROZEN, 2.0 * FROZEN_STEPS * step);
        let frozen = formed.min(trained);
        // One has no error.
        let frozen = if frozen < 2 { 0 } else { frozen.min(all) };
        if frozen == 0 {
            missing.push(format!(
                "Test errors of frozen kernels: those of {} take too long here; fewer samples take less.",
                large()
            ));
        } else if frozen < all {
            missing.push(format!(
                "Test errors of frozen kernels of all networks but the first {frozen}, for the time that they take."
            ));
        }

        let hessian = curvature::samples(device, graph, n, all);
        if hessian.is_none() {
            missing.push("The Hessian: products with it take too long here.".into());
        }

        let steps = question.steps;
        Self {
            steps: steps.unwrap_or_else(|| budget::steps(device, graph, n, all)),
            points,
            frozen,
            hessian,
            ranks: ranks(problem, n + m, all, missing),
        }
    }
}

/// Networks whose rank is found.
fn ranks(problem: &Problem, samples: usize, all: usize, missing: &mut Vec<String>) -> usize {
    let graph = &problem.graph;
    let parameters = graph.parameter_count();
    let vectors = samples * (graph.input().len() + 1) * graph.output().len();
    let reason = if parameters > LARGEST {
        format!("the rank of more than {LARGEST} takes too long")
    } else if vectors < 2 * parameters {
        "there are too few samples to tell".to_string()
    } else {
        // Singular values of twice to four times as many rows.
        let one = 8.0 * (parameters as f64).powi(3);
        return budget::pieces(Device::Cpu, budget::RANKS, one).clamp(1, all);
    };
    let bound = match Parameters::of(graph).scalable {
        0 => "",
        _ => "; the bound in its place is exact where no unit is dead or always on",
    };
    missing.push(format!(
        "The effective number of parameters: {reason}{bound}."
    ));
    0
}
