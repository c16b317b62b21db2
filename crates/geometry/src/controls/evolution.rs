//! Δ at initialisation.

use polariscope_graph::{ZooOptions, zoo};
use polariscope_lens::Fault;
use polariscope_network::Network;
use polariscope_random::Stream;
use polariscope_train::{Labels, Loss, Samples};

use crate::theory::{conv, labels, linear, mlp};
use crate::{EvolutionConfig, Output, Probe, finite_steps};

pub fn linear() -> Result<f64, Fault> {
    Ok(linear::linear_model(16 * 4096)?.1.excess.value)
}

/// The error of a step is of the order of the step.
pub fn finite() -> Result<f64, Fault> {
    let options = ZooOptions {
        input: Some("1x16x16".parse()?),
        outputs: Some(1),
        activation: Some("gelu".parse()?),
        ..ZooOptions::default()
    };
    let network = Network::<f64>::new(zoo("lenet-gap", &options)?);
    let mut x = vec![0.0; 8 * 256];
    Stream::new(1, 0, "finite").normal(1.0, &mut x);
    let samples = Samples {
        x: &x,
        y: Labels::Classes(&[0, 1, 0, 1, 0, 1, 0, 1]),
    };
    let config = EvolutionConfig {
        seed: 0,
        networks: 4,
        probes: 1,
        probe: Probe::Gauss { sigma: 1.0 },
        output: Output::Logit(0),
        loss: Loss::Sse,
    };
    let steps = finite_steps(&network, &config, samples, 4, &[1e-3, 5e-4])?;
    Ok(steps[0].error / steps[1].error)
}

pub fn hidden() -> Result<f64, Fault> {
    Ok(mlp::measured(32, 128, 16 * 2048)?.delta.excess.value)
}

pub fn hidden_corr() -> Result<f64, Fault> {
    let found = mlp::measured(64, 256, 16 * 512)?;
    Ok(found.corr.ok_or("Δ is lost in its noise")?.value - found.expected)
}

pub fn hidden_rate() -> Result<f64, Fault> {
    let fit = mlp::rate(&[1 << 16, 1 << 17, 1 << 18], 10.0);
    Ok(fit.ok_or("no fit")?.exponent)
}

pub fn pooled() -> Result<f64, Fault> {
    Ok(conv::measured(16, 16 * 4096)?.1.delta.excess.value)
}

pub fn pooled_corr() -> Result<f64, Fault> {
    let found = conv::measured(4, 16 * 4096)?.1;
    Ok(found.corr.ok_or("Δ is lost in its noise")?.value - found.expected)
}

pub fn pooled_rate() -> Result<f64, Fault> {
    let fit = conv::rate(&[1 << 12, 1 << 13, 1 << 14]);
    Ok(fit.ok_or("no fit")?.exponent)
}

pub fn labels() -> Result<f64, Fault> {
    Ok(labels::antithetic()?)
}
