//! From what was typed to what is computed.

use clap::ValueEnum;
use polariscope_infinite::Wanted;

use super::RegressArgs;
use crate::error::CliError;

/// Which kernel learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Θ: gradient descent on all parameters.
    Ntk,
    /// K: Bayesian inference.
    Nngp,
}

impl Kind {
    /// As typed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ntk => "ntk",
            Kind::Nngp => "nngp",
        }
    }

    /// What the engine must compute.
    pub fn wanted(self) -> Wanted {
        match self {
            Kind::Ntk => Wanted::Both,
            Kind::Nngp => Wanted::Nngp,
        }
    }
}

/// A checked question.
pub struct Plan {
    /// The specification of the data with the numbers of samples in it.
    pub data: String,
    /// Which kernel.
    pub kind: Kind,
    /// λ.
    pub ridge: f64,
    /// ηt in increasing order; empty for the limit of long training.
    pub times: Vec<f64>,
}

impl Plan {
    /// Refuses options that do not belong together.
    pub fn new(args: &RegressArgs) -> Result<Self, CliError> {
        if args.kind == Kind::Nngp && !args.time.is_empty() {
            return Err(CliError::Usage(
                "--time belongs to --kind ntk: the posterior of nngp is inferred, not trained for a time".into(),
            ));
        }
        let rate = args.rate.unwrap_or(1.0);
        let mut times: Vec<f64> = args.time.iter().map(|t| rate * t).collect();
        if let Some(i) = times.iter().position(|t| !(t.is_finite() && *t > 0.0)) {
            return Err(CliError::Usage(format!(
                "--time {} times --rate {rate} is out of range",
                args.time[i]
            )));
        }
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut data = args.data.clone();
        for (name, samples) in [("train", args.train), ("test", args.test)] {
            if let Some(samples) = samples {
                let join = if data.contains('?') { '&' } else { '?' };
                data += &format!("{join}{name}={samples}");
            }
        }
        Ok(Self {
            data,
            kind: args.kind,
            ridge: args.ridge,
            times,
        })
    }

    /// For `run.toml`, beside architecture and data.
    pub fn configure(&self, table: &mut toml::Table) {
        table.insert("kind".into(), self.kind.name().into());
        table.insert("ridge".into(), self.ridge.into());
        if !self.times.is_empty() {
            table.insert("time".into(), self.times.clone().into());
        }
    }
}

/// A finite number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    let number = number.filter(|x: &f64| x.is_finite() && *x > 0.0);
    number.ok_or_else(|| "must be a finite number above 0".to_string())
}

/// A finite number of at least 0.
pub fn ridge(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| "must be a finite number of at least 0".to_string())
}
