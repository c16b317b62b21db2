//! The chain of a step on the numbers k and t of one pair of positions, `at` on the left and `to` on the right.

use std::f64::consts::FRAC_2_PI;

use polariscope_graph::Activation;

use super::{Kind, number, variance};
use crate::plan::{Form, Link, Shared, Step, View};

/// Both variances under one view.
pub(super) fn variances(view: View, offsets: &[usize]) -> String {
    format!(
        "const T vp = {}, vq = {};\n",
        variance('p', view, offsets, "at"),
        variance('q', view, offsets, "to")
    )
}

/// From a gap to a covariance or back.
pub(super) fn exchange(view: View, to: Form, offsets: &[usize]) -> String {
    let made = match to {
        Form::Covariance => "(vp + vq - k) * HALF",
        Form::Gap => "vp + vq - (k + k)",
    };
    format!("{{ {}k = {made}; }}\n", variances(view, offsets))
}

/// t + factor · c, where k is a gap.
pub(super) fn add_covariance(view: View, factor: f64, offsets: &[usize]) -> String {
    format!(
        "{{ {}t += {} * (vp + vq - k); }}\n",
        variances(view, offsets),
        number(0.5 * factor)
    )
}

/// The pointwise operations, in order.
pub(super) fn chain(step: &Step, kind: Kind, offsets: &[usize]) -> String {
    let mut text = String::new();
    for link in &step.chain {
        text += &one(step, link, kind, offsets);
    }
    if step.form_in == Form::Gap && step.form_out == Form::Covariance {
        text += &exchange(step.variance_out, Form::Covariance, offsets);
    }
    text
}

fn one(step: &Step, link: &Link, kind: Kind, offsets: &[usize]) -> String {
    match link {
        Link::Bias { variance, ntk } => {
            let shift = match step.form_in {
                Form::Covariance => format!("k += {};\n", number(*variance)),
                Form::Gap => String::new(),
            };
            shift + &kind.theta(format!("t += {};\n", number(*ntk)))
        }
        Link::Embedding { variance, ntk } => {
            let shift = match step.form_in {
                Form::Covariance => format!("if (same) k += {};\n", number(*variance)),
                Form::Gap => format!("if (!same) k += {};\n", number(2.0 * variance)),
            };
            shift + &kind.theta(format!("if (same) t += {};\n", number(*ntk)))
        }
        Link::Scale { square } => {
            let by = number(*square);
            format!("k *= {by};\n") + &kind.theta(format!("t *= {by};\n"))
        }
        Link::Kink { kink, p } => {
            let [gain, bend, one, still] = [
                kink.gain(),
                -kink.beta * kink.beta * FRAC_2_PI,
                kink.at_zero * kink.alpha,
                kink.at_zero * kink.at_zero,
            ]
            .map(number);
            let before = match step.left_to_kink() {
                0.0 => String::new(),
                own => kind.theta(format!("t += {} * (vp + vq - k);\n", number(0.5 * own))),
            };
            let after = kind.theta("t *= slope;\n");
            format!(
                "{{ {}T slope;\n{before}kinked(k, slope, vp, vq, {gain}, {bend}, {one}, {still});\n{after}}}\n",
                variances(*p, offsets)
            )
        }
        Link::Smooth { activation, p, .. } => {
            let (name, more) = dual(*activation);
            let after = kind.theta("t *= slope;\n");
            format!(
                "{{ {}T left, right, value, slope;\n{name}(0, left, slope, vp, vp{more});\n\
                 {name}(0, right, slope, vq, vq{more});\n{name}(k, value, slope, vp, vq{more});\n\
                 k = left + right - (value + value);\n{after}}}\n",
                variances(*p, offsets)
            )
        }
        Link::Norm {
            gamma_square,
            p,
            root,
            ..
        } => {
            let (gamma, first) = (number(*gamma_square), offsets[*root]);
            let after = kind.theta(format!("t *= {gamma} * both;\n"));
            format!(
                "{{ {}const T a = p[{first} + at], b = q[{first} + to], both = a * b;\n\
                 k = {gamma} * (both * k + (a - b) * (a * vp - b * vq));\n{after}}}\n",
                variances(*p, offsets)
            )
        }
        Link::Gamma { own, shared, p } => {
            let add = add_covariance(*p, *own, offsets);
            kind.theta(match shared {
                Shared::Yes => add,
                Shared::No => format!("if (same) {add}"),
            })
        }
    }
}

/// The function of a smooth activation, and its last argument if it has one more than others.
fn dual(activation: Activation) -> (&'static str, String) {
    let name = match activation {
        Activation::Erf => "erf_dual",
        Activation::Gelu => "gelu_dual",
        Activation::Sin => "sin_dual",
        Activation::Tanh => "tanh_dual",
        Activation::Sigmoid => "sigmoid_dual",
        Activation::Silu => "silu_dual",
        Activation::Softplus { beta } => {
            return ("softplus_dual", format!(", {}", number(beta * beta)));
        }
        Activation::HardSigmoid | Activation::HardSwish => {
            unreachable!("refused before there is a text")
        }
        Activation::Identity
        | Activation::Relu
        | Activation::LeakyRelu { .. }
        | Activation::Abs => unreachable!("lines with a kink at most have a link of their own"),
    };
    (name, String::new())
}
