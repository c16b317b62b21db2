//! From what was typed to the settings of a run.

use clap::{Args, ValueEnum};
use polariscope_train::{BatchSize, Config, Length, Loss, Optimiser, Schedule};

use crate::args::{Common, count, seed};
use crate::error::CliError;

/// The learning rate of Adam where none is given; its steps have a size of their own.
const ADAM_RATE: f64 = 1e-3;

/// Update rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rule {
    /// (Stochastic) gradient descent.
    Sgd,
    /// Adam.
    Adam,
}

/// How the learning rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decay {
    /// Not at all.
    Constant,
    /// To 0, linearly.
    LinearDecay,
}

/// How to train.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// Passes over the training set [default: 10]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub epochs: Option<usize>,
    /// Updates, in place of --epochs
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "epochs", allow_negative_numbers = true)]
    pub steps: Option<usize>,
    /// cross-entropy, mse, sse, hinge[:POWER,MARGIN], soft-hinge[:BETA,MARGIN]
    #[arg(long, value_name = "NAME")]
    pub loss: Option<Loss>,
    /// sgd or adam [default: sgd]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub optimiser: Option<Rule>,
    /// Learning rate at the first step [default: 0.03, adam 0.001]
    #[arg(long, alias = "lr", value_name = "X", allow_negative_numbers = true)]
    pub learning_rate: Option<f64>,
    /// constant or linear-decay, to 0 at the end [default: linear-decay]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub schedule: Option<Decay>,
    /// Momentum of sgd [default: 0.9]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub momentum: Option<f64>,
    /// Weight decay [default: 0.0005, adam 0]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub weight_decay: Option<f64>,
    /// First moment of adam [default: 0.9]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub beta1: Option<f64>,
    /// Second moment of adam [default: 0.999]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub beta2: Option<f64>,
    /// Constant in the denominator of adam [default: 1e-8]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub eps: Option<f64>,
    /// Largest norm of a gradient; longer ones are shortened to it
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub clip: Option<f64>,
    /// Samples an update, or `full` for the whole set [default: 64]
    #[arg(long, value_name = "N|full", allow_negative_numbers = true)]
    pub batch_size: Option<BatchSize>,
    /// Fraction of the training labels that are made wrong [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub label_noise: Option<f64>,
    /// Seed of the initial weights [default: --seed]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub init_seed: Option<u64>,
    /// Seed of batches, dropout and label noise [default: --seed]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub batch_seed: Option<u64>,
    /// Epochs a row of the history [default: 1]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub row_every: Option<usize>,
}

impl TrainingArgs {
    /// The settings with their defaults filled in, checked.
    pub fn config(&self, common: &Common) -> Result<Config, CliError> {
        let default = Config::default();
        let (optimiser, rate) = self.optimiser(&default)?;
        let length = match (self.epochs, self.steps) {
            (_, Some(steps)) => Length::Steps(steps as u64),
            (Some(epochs), None) => Length::Epochs(epochs as u64),
            (None, None) => default.length,
        };
        let schedule = match self.schedule {
            None => default.schedule,
            Some(Decay::Constant) => Schedule::Constant,
            Some(Decay::LinearDecay) => Schedule::LinearDecay,
        };
        let config = Config {
            loss: self.loss.unwrap_or(default.loss),
            optimiser,
            learning_rate: self.learning_rate.unwrap_or(rate),
            schedule,
            clip: self.clip,
            batch_size: self.batch_size.unwrap_or(default.batch_size),
            length,
            row_every: self.row_every.map_or(default.row_every, |n| n as u64),
            init_seed: self.init_seed.unwrap_or(common.seed),
            batch_seed: self.batch_seed.unwrap_or(common.seed),
            label_noise: self.label_noise.unwrap_or(default.label_noise),
        };
        config.check()?;
        Ok(config)
    }

    /// The update rule and the learning rate that suits it.
    fn optimiser(&self, default: &Config) -> Result<(Optimiser, f64), CliError> {
        let refuse = |given: [(&str, Option<f64>); 3], owner: &str, rule: &str| match given
            .iter()
            .find(|(_, value)| value.is_some())
        {
            None => Ok(()),
            Some((option, _)) => Err(CliError::Usage(format!(
                "{option} belongs to --optimiser {owner}; this run uses {rule}"
            ))),
        };
        match self.optimiser.unwrap_or(Rule::Sgd) {
            Rule::Sgd => {
                let adam = [
                    ("--beta1", self.beta1),
                    ("--beta2", self.beta2),
                    ("--eps", self.eps),
                ];
                refuse(adam, "adam", "sgd")?;
                let own = match default.optimiser {
                    Optimiser::Sgd {
                        momentum,
                        weight_decay,
                    } => (momentum, weight_decay),
                    Optimiser::Adam { .. } => (0.0, 0.0),
                };
                let optimiser = Optimiser::Sgd {
                    momentum: self.momentum.unwrap_or(own.0),
                    weight_decay: self.weight_decay.unwrap_or(own.1),
                };
                Ok((optimiser, default.learning_rate))
            }
            Rule::Adam => {
                refuse(
                    [("--momentum", self.momentum), ("", None), ("", None)],
                    "sgd",
                    "adam",
                )?;
                let optimiser = Optimiser::Adam {
                    beta1: self.beta1.unwrap_or(0.9),
                    beta2: self.beta2.unwrap_or(0.999),
                    eps: self.eps.unwrap_or(1e-8),
                    weight_decay: self.weight_decay.unwrap_or(0.0),
                };
                Ok((optimiser, ADAM_RATE))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    use crate::args::Cli;

    /// The help speaks of defaults that live elsewhere.
    #[test]
    fn the_help_states_the_defaults() {
        let mut cli = Cli::command();
        let train = cli.find_subcommand_mut("train").unwrap();
        let help = train.render_help().to_string();
        let line = |option: &str| {
            let found = help.lines().find(|l| l.trim_start().starts_with(option));
            found.unwrap_or_else(|| panic!("{option}")).to_string()
        };
        let default = Config::default();
        let says = |option: &str, value: String| {
            let line = line(option);
            assert!(line.contains(&format!("[default: {value}")), "{line}");
        };
        says(
            "--learning-rate",
            format!("{}, adam {ADAM_RATE}]", default.learning_rate),
        );
        says("--batch-size", default.batch_size.to_string());
        says("--row-every", default.row_every.to_string());
        let Length::Epochs(epochs) = default.length else {
            panic!("the default length is in epochs");
        };
        says("--epochs", epochs.to_string());
        let Optimiser::Sgd {
            momentum,
            weight_decay,
        } = default.optimiser
        else {
            panic!("the default optimiser is sgd");
        };
        says("--momentum", momentum.to_string());
        says("--weight-decay", weight_decay.to_string());
        assert_eq!(default.schedule, Schedule::LinearDecay);
        says("--schedule", "linear-decay".into());
    }
}
