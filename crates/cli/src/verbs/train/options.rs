//! From what was typed to the settings of a run.

use clap::{Args, ValueEnum};
use polariscope_learning::train::{FlowRun, Method};
use polariscope_train::{
    Augment, BatchSize, Config, FlowConfig, Length, Loss, Optimiser, Origin, Schedule,
};

use crate::args::{Common, count, seed};
use crate::error::CliError;

/// Too long for one line of help.
const LOSS: &str = "cross-entropy, mse, sse, hinge[:POWER,MARGIN], soft-hinge[:BETA,MARGIN]\n\
                    [default: cross-entropy, flow soft-hinge:20,1]";

/// Update rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rule {
    /// (Stochastic) gradient descent.
    Sgd,
    /// Adam.
    Adam,
    /// Gradient flow.
    Flow,
}

impl Rule {
    fn name(self) -> &'static str {
        match self {
            Rule::Sgd => "sgd",
            Rule::Adam => "adam",
            Rule::Flow => "flow",
        }
    }
}

/// How the learning rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RateSchedule {
    /// Not at all.
    Constant,
    /// To 0, linearly.
    LinearDecay,
    /// To 0, along half a period of a cosine.
    Cosine,
}

/// How to train.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// sgd, adam or flow (gradient flow) [default: sgd]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub optimiser: Option<Rule>,
    /// Loss of a sample
    #[arg(long, value_name = "NAME", help = LOSS)]
    pub loss: Option<Loss>,
    /// Passes over the training set [default: 10]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub epochs: Option<usize>,
    /// Updates, in place of --epochs (flow: at most) [default: flow 100000]
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "epochs", allow_negative_numbers = true)]
    pub steps: Option<usize>,
    /// Samples an update, or `full` for the whole set [default: 64]
    #[arg(long, value_name = "N|full", allow_negative_numbers = true)]
    pub batch_size: Option<BatchSize>,
    /// Learning rate at the first step [default: 0.03, adam 0.001]
    #[arg(long, alias = "lr", value_name = "X", allow_negative_numbers = true)]
    pub learning_rate: Option<f64>,
    /// constant, linear-decay or cosine [default: linear-decay]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub schedule: Option<RateSchedule>,
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
    /// Training images: pad by K zeros, cut back at a random place
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true)]
    pub crop: Option<usize>,
    /// Training images: mirror each, left to right, with probability 1/2
    #[arg(long)]
    pub flip: bool,
    /// Fraction of the training labels that are made wrong [default: 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub label_noise: Option<f64>,
    /// Seed of the initial weights [default: --seed]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub init_seed: Option<u64>,
    /// Seed of batches, crops, flips, dropout, noise [default: --seed]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub batch_seed: Option<u64>,
    /// Epochs (flow: steps) a row of the history [default: 1, flow 10]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub row_every: Option<usize>,
    /// Of gradient flow.
    #[command(flatten)]
    pub flow: FlowArgs,
}

/// What gradient flow takes beside.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Gradient flow (--optimiser flow)")]
pub struct FlowArgs {
    /// F = α (f − f₀) is trained, its loss divided by α² [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub alpha: Option<f64>,
    /// f₀: zero, or initial for f at initialisation [default: zero]
    #[arg(long, value_name = "NAME", value_parser = origin)]
    pub origin: Option<Origin>,
    /// Stop when every y F is above this [default: 1, mse and sse inf]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub margin: Option<f64>,
    /// Stop at this flow time [default: inf]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub max_time: Option<f64>,
    /// Length of the first step tried [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub first_dt: Option<f64>,
    /// Largest change of F in a step [default: 0.1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub max_output_change: Option<f64>,
    /// Largest relative change of the gradient in a step [default: 0.0001]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub max_gradient_change: Option<f64>,
}

impl TrainingArgs {
    /// The settings with their defaults filled in.
    pub fn method(&self, common: &Common) -> Result<Method, CliError> {
        let rule = self.optimiser.unwrap_or(Rule::Sgd);
        self.refuse_strangers(rule)?;
        Ok(match rule {
            Rule::Flow => {
                let init_seed = self.init_seed.unwrap_or(common.seed);
                Method::Flow(FlowRun::new(self.flow_config(), init_seed))
            }
            Rule::Sgd => Method::Descent(self.config(Config::default(), common)),
            Rule::Adam => Method::Descent(self.config(Config::adam(), common)),
        })
    }

    /// Refuses options that the rule does not read.
    fn refuse_strangers(&self, rule: Rule) -> Result<(), CliError> {
        use Rule::{Adam, Flow, Sgd};
        let descent: &[Rule] = &[Sgd, Adam];
        let flow = &self.flow;
        let owners = [
            ("--epochs", self.epochs.is_some(), descent),
            ("--batch-size", self.batch_size.is_some(), descent),
            ("--learning-rate", self.learning_rate.is_some(), descent),
            ("--schedule", self.schedule.is_some(), descent),
            ("--momentum", self.momentum.is_some(), &[Sgd]),
            ("--weight-decay", self.weight_decay.is_some(), descent),
            ("--beta1", self.beta1.is_some(), &[Adam]),
            ("--beta2", self.beta2.is_some(), &[Adam]),
            ("--eps", self.eps.is_some(), &[Adam]),
            ("--clip", self.clip.is_some(), descent),
            ("--crop", self.crop.is_some(), descent),
            ("--flip", self.flip, descent),
            ("--label-noise", self.label_noise.is_some(), descent),
            ("--batch-seed", self.batch_seed.is_some(), descent),
            ("--alpha", flow.alpha.is_some(), &[Flow]),
            ("--origin", flow.origin.is_some(), &[Flow]),
            ("--margin", flow.margin.is_some(), &[Flow]),
            ("--max-time", flow.max_time.is_some(), &[Flow]),
            ("--first-dt", flow.first_dt.is_some(), &[Flow]),
            (
                "--max-output-change",
                flow.max_output_change.is_some(),
                &[Flow],
            ),
            (
                "--max-gradient-change",
                flow.max_gradient_change.is_some(),
                &[Flow],
            ),
        ];
        let stranger = owners
            .into_iter()
            .find(|(_, given, rules)| *given && !rules.contains(&rule));
        match stranger {
            None => Ok(()),
            Some((option, _, rules)) => {
                let rules: Vec<&str> = rules.iter().map(|r| r.name()).collect();
                Err(CliError::Usage(format!(
                    "{option} belongs to --optimiser {}; this run uses {}",
                    rules.join(" or "),
                    rule.name()
                )))
            }
        }
    }

    /// What is not given is as in `default`.
    fn config(&self, default: Config, common: &Common) -> Config {
        let length = match (self.epochs, self.steps) {
            (_, Some(steps)) => Length::Steps(steps as u64),
            (Some(epochs), None) => Length::Epochs(epochs as u64),
            (None, None) => default.length,
        };
        let schedule = match self.schedule {
            None => default.schedule,
            Some(RateSchedule::Constant) => Schedule::Constant,
            Some(RateSchedule::LinearDecay) => Schedule::LinearDecay,
            Some(RateSchedule::Cosine) => Schedule::Cosine,
        };
        Config {
            loss: self.loss.unwrap_or(default.loss),
            optimiser: self.optimiser(default.optimiser),
            learning_rate: self.learning_rate.unwrap_or(default.learning_rate),
            schedule,
            clip: self.clip,
            batch_size: self.batch_size.unwrap_or(default.batch_size),
            length,
            row_every: self.row_every.map_or(default.row_every, |n| n as u64),
            init_seed: self.init_seed.unwrap_or(common.seed),
            batch_seed: self.batch_seed.unwrap_or(common.seed),
            label_noise: self.label_noise.unwrap_or(default.label_noise),
            augment: Augment {
                crop: self.crop.unwrap_or(default.augment.crop),
                flip: self.flip || default.augment.flip,
            },
        }
    }

    /// What is not given is as in `default`.
    fn optimiser(&self, mut default: Optimiser) -> Optimiser {
        let set = |to: &mut f64, given: Option<f64>| *to = given.unwrap_or(*to);
        match &mut default {
            Optimiser::Sgd {
                momentum,
                weight_decay,
            } => {
                set(momentum, self.momentum);
                set(weight_decay, self.weight_decay);
            }
            Optimiser::Adam {
                beta1,
                beta2,
                eps,
                weight_decay,
            } => {
                set(beta1, self.beta1);
                set(beta2, self.beta2);
                set(eps, self.eps);
                set(weight_decay, self.weight_decay);
            }
        }
        default
    }

    fn flow_config(&self) -> FlowConfig {
        let FlowArgs {
            alpha,
            origin,
            margin,
            max_time,
            first_dt,
            max_output_change,
            max_gradient_change,
        } = self.flow;
        let default = self.loss.map_or_else(FlowConfig::default, FlowConfig::of);
        FlowConfig {
            loss: default.loss,
            alpha: alpha.unwrap_or(default.alpha),
            origin: origin.unwrap_or(default.origin),
            first_dt: first_dt.unwrap_or(default.first_dt),
            max_output_change: max_output_change.unwrap_or(default.max_output_change),
            max_gradient_change: max_gradient_change.unwrap_or(default.max_gradient_change),
            margin: margin.unwrap_or(default.margin),
            max_time: max_time.unwrap_or(default.max_time),
            max_steps: self.steps.map_or(default.max_steps, |n| n as u64),
            row_every: self.row_every.map_or(default.row_every, |n| n as u64),
        }
    }
}

fn origin(text: &str) -> Result<Origin, String> {
    match text {
        "zero" => Ok(Origin::Zero),
        "initial" => Ok(Origin::Initial),
        _ => Err("it is zero or initial".into()),
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
        let says = |option: &str, value: String| {
            let start = help.find(&format!("{option} "));
            let rest = &help[start.unwrap_or_else(|| panic!("{option}"))..];
            let text = rest.split("\n      --").next().unwrap_or(rest);
            assert!(text.contains(&format!("[default: {value}")), "{text}");
        };
        let (default, flow) = (Config::default(), FlowConfig::default());
        says(
            "--learning-rate",
            format!("{}, adam {}]", default.learning_rate, Config::ADAM_RATE),
        );
        says("--loss", format!("{}, flow {}]", default.loss, flow.loss));
        says("--batch-size", format!("{}]", default.batch_size));
        says(
            "--row-every",
            format!("{}, flow {}]", default.row_every, flow.row_every),
        );
        says("--steps", format!("flow {}]", flow.max_steps));
        let Length::Epochs(epochs) = default.length else {
            panic!("the default length is in epochs");
        };
        says("--epochs", format!("{epochs}]"));
        let Optimiser::Sgd {
            momentum,
            weight_decay,
        } = default.optimiser
        else {
            panic!("the default optimiser is sgd");
        };
        says("--momentum", format!("{momentum}]"));
        says("--weight-decay", format!("{weight_decay}, adam 0]"));
        assert_eq!(default.schedule, Schedule::LinearDecay);
        says("--schedule", "linear-decay]".into());
        says("--beta1", "0.9]".into());
        says("--beta2", "0.999]".into());
        says("--eps", "1e-8]".into());
        assert_eq!(
            Optimiser::ADAM,
            Optimiser::Adam {
                beta1: 0.9,
                beta2: 0.999,
                eps: 1e-8,
                weight_decay: 0.0
            }
        );
        says("--alpha", format!("{}]", flow.alpha));
        assert_eq!(flow.origin, Origin::Zero);
        says("--origin", "zero]".into());
        says("--margin", format!("{}, mse and sse inf]", flow.margin));
        says("--max-time", format!("{}]", flow.max_time));
        says("--first-dt", format!("{}]", flow.first_dt));
        says(
            "--max-output-change",
            format!("{}]", flow.max_output_change),
        );
        says(
            "--max-gradient-change",
            format!("{}]", flow.max_gradient_change),
        );
    }
}
