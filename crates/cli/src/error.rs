//! How a command fails: one line that says what was wrong, where, and what would be right.

use std::error::Error;
use std::fmt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use polariscope_data::DataError;
use polariscope_geometry::{GeometryError, PredictError};
use polariscope_geometry_experiments::GeometryExperimentsError;
use polariscope_graph::GraphError;
use polariscope_kernels::KernelsError;
use polariscope_landscape::LandscapeError;
use polariscope_learning::LearningError;
use polariscope_learning::weights::WeightsError;
use polariscope_lens::{Setting, TooLarge, render};
use polariscope_run::RunError;
use polariscope_symmetry::SymmetryError;

use crate::interrupt;

/// A failed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CliError {
    /// Bad usage or bad input: exit 2.
    Usage(String),
    /// Anything else: exit 1.
    Failed(String),
    /// Ctrl-C: exit 130. The message says what is kept; an empty one that nothing is.
    Interrupted(String),
}

impl CliError {
    /// Status of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_) => 2,
            CliError::Failed(_) => 1,
            CliError::Interrupted(_) => interrupt::STATUS,
        }
    }

    /// The same, with what it is about in front.
    pub fn about(self, what: &str) -> Self {
        match self {
            CliError::Usage(message) => CliError::Usage(format!("{what}: {message}")),
            CliError::Failed(message) => CliError::Failed(format!("{what}: {message}")),
            CliError::Interrupted(_) => self,
        }
    }
}

impl fmt::Display for CliError {
    /// Always a single line: what a user typed may hold line breaks, and they must not tear the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CliError::Usage(message) | CliError::Failed(message) | CliError::Interrupted(message)) =
            self;
        let message = match (self, message.as_str()) {
            (CliError::Interrupted(_), "") => "nothing is kept",
            (_, message) => message,
        };
        let words: Vec<&str> = message.split_whitespace().collect();
        for c in words.join(" ").chars() {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

impl Error for CliError {}

/// Settings that a message names, as flags.
pub fn flags(message: &str) -> String {
    render(message, |Setting { name, value }| {
        if (name.as_str(), value.as_str()) == ("outputs", "all") {
            return "--full".into();
        }
        let name = match name.as_str() {
            "networks" => "samples",
            "output" => "logit",
            name => name,
        };
        flag(name, value)
    })
}

fn flag(name: &str, value: &str) -> String {
    match value {
        "" => format!("--{name}"),
        value => format!("--{name} {value}"),
    }
}

impl CliError {
    /// A message of a library, its settings as flags.
    pub fn of(message: &dyn fmt::Display, is_usage: bool) -> Self {
        let message = flags(&message.to_string());
        match is_usage {
            true => CliError::Usage(message),
            false => CliError::Failed(message),
        }
    }
}

/// Errors of libraries that know whether another command would help.
macro_rules! told {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(e: $error) -> Self {
                CliError::of(&e, e.is_usage())
            }
        }
    )*};
}

told!(
    RunError,
    KernelsError,
    LearningError,
    SymmetryError,
    GeometryError,
    GeometryExperimentsError
);

impl From<LandscapeError> for CliError {
    /// The networks of a landscape are no samples.
    fn from(e: LandscapeError) -> Self {
        let named = render(&e.to_string(), |Setting { name, value }| flag(name, value));
        CliError::of(&named, e.is_usage())
    }
}

/// Errors that another command avoids.
macro_rules! usage {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(e: $error) -> Self {
                CliError::of(&e, true)
            }
        }
    )*};
}

usage!(TooLarge, GraphError, WeightsError, DataError, PredictError);

impl From<clap::Error> for CliError {
    fn from(e: clap::Error) -> Self {
        CliError::Usage(match e.kind() {
            ErrorKind::ValueValidation => validation(&e),
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                "a verb is missing: `polariscope list` shows the architectures, `polariscope --help` the verbs".into()
            }
            ErrorKind::MissingRequiredArgument => missing(&e),
            ErrorKind::UnknownArgument if e.get(ContextKind::SuggestedArg).is_none() => {
                format!("{}; the command goes `{}`", body(&e.render().to_string()), usage(&e))
            }
            _ => body(&e.render().to_string()),
        })
    }
}

/// `--input 3x32: …`, from the parser of the option itself.
fn validation(e: &clap::Error) -> String {
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    // `--input <CxHxW>` without its placeholder.
    let argument = context(ContextKind::InvalidArg);
    let option = argument.split(" <").next().unwrap_or(argument);
    let value = context(ContextKind::InvalidValue);
    match e.source() {
        Some(reason) => format!("{option} {value}: {reason}"),
        None => body(&e.render().to_string()),
    }
}

/// Names the missing arguments and how the command goes.
fn missing(e: &clap::Error) -> String {
    let names = match e.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(names)) => names.as_slice(),
        _ => &[],
    };
    let verb = if names.len() > 1 { "are" } else { "is" };
    format!(
        "{} {verb} missing; the command goes `{}`",
        names.join(" and "),
        usage(e)
    )
}

fn usage(e: &clap::Error) -> String {
    match e.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => {
            let usage = usage.to_string();
            usage.trim().trim_start_matches("Usage:").trim().to_string()
        }
        _ => "polariscope --help".to_string(),
    }
}

/// What clap wrote, without its advertisement of the help and usage below.
fn body(rendered: &str) -> String {
    let end = ["\n\nUsage:", "\n\nFor more information"]
        .iter()
        .filter_map(|mark| rendered.find(mark))
        .min()
        .unwrap_or(rendered.len());
    let body = rendered[..end].trim();
    let body = body.strip_prefix("error:").unwrap_or(body);
    // How to pass `--x` as a value is not what somebody who mistyped an option wants to know.
    let body = body.split("\n\n  tip: to pass").next().unwrap_or(body);
    body.replace("\n\n  tip:", ";").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line() {
        let e = CliError::Usage("bad\nvalue \u{1b}[31m  'x'\r\n".into());
        assert_eq!(e.to_string(), "bad value \\u{1b}[31m 'x'");
    }

    #[test]
    fn clap_prose_is_cut_down() {
        let rendered = "error: unexpected argument '--sed' found\n\n  tip: a similar argument exists: '--seed'\n\nUsage: polariscope show\n\nFor more information, try '--help'.\n";
        assert_eq!(
            body(rendered),
            "unexpected argument '--sed' found; a similar argument exists: '--seed'"
        );
    }
}
