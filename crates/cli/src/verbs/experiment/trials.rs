//! The experiments that train networks to test what their geometry predicted.

use std::fs;
use std::path::PathBuf;

use polariscope_data::{Source, Spec};
use polariscope_experiment::{Design, Row, Table as Measured};
use polariscope_trials::{Entry, Lab, Scale as Size, TRIALS, Trial, TrialError};

use super::answer::Answer;
use super::runner::{conduct, request};
use super::{ExperimentArgs, Scale};
use crate::args::Common;
use crate::error::{CliError, flags};
use crate::output;
use crate::run::{find, fingerprint_bytes};

/// Memory of a trained network with its samples, about.
const BYTES: f64 = 1e9;

/// Runs one.
pub fn run(entry: &Entry, args: &ExperimentArgs, common: &Common) -> Result<Answer, CliError> {
    let mut lab = lab(entry, args, common)?;
    let mut configuration = configuration(&lab);
    if !args.accuracies.is_empty() {
        let trial: Box<dyn Trial> = (entry.make)(&lab)?;
        let (known, names) = known(&args.accuracies, &trial.design())?;
        lab.known = known;
        configuration.insert("accuracies".into(), names.into());
    }
    let trial: Box<dyn Trial> = (entry.make)(&lab)?;
    conduct(&*trial, &*trial, configuration, BYTES, (args, common))
}

/// The rows of tables that were measured before, and what names them.
fn known(paths: &[PathBuf], design: &Design) -> Result<(Vec<Row>, Vec<String>), CliError> {
    let mut table = Measured::new(design);
    let mut names = Vec::new();
    for path in paths {
        let wrong = |e: &dyn std::fmt::Display| {
            CliError::Usage(format!("--accuracies {}: {e}", path.display()))
        };
        let text = fs::read_to_string(path).map_err(|e| wrong(&e))?;
        table.read_csv(&text).map_err(|e| wrong(&e))?;
        names.push(fingerprint_bytes(text.as_bytes()));
    }
    Ok((table.rows, names))
}

/// The settings.
fn lab(entry: &Entry, args: &ExperimentArgs, common: &Common) -> Result<Lab, CliError> {
    let cifar = match (&args.data, entry.images) {
        (Some(spec), true) => Some(directory(spec)?),
        (Some(_), false) => {
            return Err(CliError::Usage(format!(
                "--data: {} draws its own samples; leave it out",
                entry.name
            )));
        }
        (None, true) => return Err(TrialError::NoData { name: entry.name }.into()),
        (None, false) => None,
    };
    let lab = Lab {
        architecture: args
            .architecture
            .as_deref()
            .unwrap_or(entry.architecture)
            .into(),
        scale: match args.scale {
            Scale::Small => Size::Small,
            Scale::Paper => Size::Paper,
        },
        runs: args.runs.map(|r| r as u64),
        seed: common.seed,
        place: common.place(),
        cifar,
        sigma: args.sigma,
        known: Vec::new(),
    };
    // A name that does not exist is refused before anything is written.
    lab.binary()?;
    Ok(lab)
}

/// The directory of `cifar10:DIR`.
pub fn directory(spec: &str) -> Result<PathBuf, CliError> {
    match Spec::parse(spec)?.source {
        Source::Cifar10(path) if !spec.contains('?') => Ok(path),
        _ => Err(CliError::Usage(format!(
            "--data '{spec}': this takes CIFAR-10 as it is, --data cifar10:DIR"
        ))),
    }
}

fn configuration(lab: &Lab) -> toml::Table {
    let mut table = toml::Table::new();
    let mut set = |key: &str, value: toml::Value| table.insert(key.into(), value);
    set("architecture", lab.architecture.as_str().into());
    set("scale", lab.pick("small", "paper").into());
    if let Some(runs) = lab.runs {
        set("runs", toml::Value::Integer(runs as i64));
    }
    if let Some(sigma) = lab.sigma {
        set("sigma", sigma.into());
    }
    if let Some(cifar) = &lab.cifar {
        set("data", format!("cifar10:{}", cifar.display()).into());
    }
    table
}

/// Names every experiment.
pub fn list(common: &Common) -> Result<(), CliError> {
    common.refuse_out("experiment list")?;
    if common.json {
        return output::print_json(&TRIALS);
    }
    let line = |name: &str, minutes: f64, status: &str, line: &str, source: &str| {
        format!("{name:17} {minutes:>4} min  {status}\n    {line} ({source})\n")
    };
    let mut text = String::new();
    for entry in &TRIALS {
        let data = if entry.images { ", needs --data" } else { "" };
        let source = format!("{}, {}{data}", entry.source, entry.architecture);
        let status = if finished(entry, common)? {
            "finished"
        } else {
            ""
        };
        text += &line(entry.name, entry.minutes, status, entry.line, &source);
    }
    for (name, words, source, minutes) in KERNELS {
        text += &line(name, minutes, "", words, source);
    }
    output::print(&text)
}

/// Whether an experiment without data was run at the small scale, where runs without `--out` go.
fn finished(entry: &Entry, common: &Common) -> Result<bool, CliError> {
    let lab = Lab {
        architecture: entry.architecture.into(),
        scale: Size::Small,
        runs: None,
        seed: common.seed,
        place: common.place(),
        cifar: None,
        sigma: None,
        known: Vec::new(),
    };
    let trial: Box<dyn Trial> = (entry.make)(&lab)?;
    let request = request(&*trial, configuration(&lab), common);
    Ok(find(&request, None).is_some())
}

/// The experiments on kernels: name, line, source, minutes.
const KERNELS: [(&str, &str, &str, f64); 4] = [
    (
        "rotations",
        "accuracy of FCN, LCN, VEC, LAP and GAP under six groups (needs --data)",
        "symmetry Fig 1",
        3.0,
    ),
    (
        "symmetry-breaking",
        "VEC_n between GAP_n and VEC_∞ along a geodesic and with its width (needs --data)",
        "symmetry Fig 2",
        1.0,
    ),
    (
        "dide",
        "learning curves, and whether they bend (needs --data)",
        "symmetry Fig 3",
        5.0,
    ),
    (
        "spectra",
        "eigenvalue decay on products of spheres",
        "symmetry Fig 5",
        1.0,
    ),
];

impl From<TrialError> for CliError {
    fn from(e: TrialError) -> Self {
        match e {
            TrialError::Graph(e) => e.into(),
            TrialError::Geometry(e) => (*e).into(),
            TrialError::Data(e) => e.into(),
            TrialError::Train(e) => e.into(),
            TrialError::Predict(e) => e.into(),
            TrialError::Memory(e) => e.into(),
            TrialError::Question(_)
            | TrialError::NoData { .. }
            | TrialError::Samples { .. }
            | TrialError::Uncalibrated { .. } => CliError::Usage(flags(&e.to_string())),
            TrialError::Unprepared | TrialError::Checkpoint(_) | TrialError::Stopped(_) => {
                CliError::Failed(flags(&e.to_string()))
            }
        }
    }
}
