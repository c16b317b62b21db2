//! `symmetry`: what a learning system cannot tell apart; with images also what its first network follows, ignores and minds.

use clap::Args;
use polariscope_data::Dataset;
use polariscope_kernels::symmetry::{Question, Summary, answer, page};
use polariscope_lens::Observer;
use polariscope_report::{Page, Section, fill};
use polariscope_symmetry::{Learnt, Subject as Measured, SymmetryError, equivariance, stability};
use polariscope_train::Problem;
use serde::{Deserialize, Serialize};

use super::geometry::command;
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::{CliError, flags};
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown};

/// What `symmetry` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "The kernels and runs are always computed in f64.")]
pub struct SymmetryArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Check on cifar10:DIR, npy:X,Y or NAME?param=value [default: normal numbers]
    #[arg(long, value_name = "SPEC", help_heading = "Check")]
    pub data: Option<String>,
    /// Samples to transform
    #[arg(long, value_name = "N", default_value_t = Question::default().samples, value_parser = count, allow_negative_numbers = true, help_heading = "Check")]
    pub samples: usize,
    /// Updates of the training runs that are compared
    #[arg(long, value_name = "N", default_value_t = Question::default().steps, value_parser = count, allow_negative_numbers = true, help_heading = "Check")]
    pub steps: usize,
}

/// Deduces and checks, or shows what an earlier run of the same command found.
pub fn run(args: &SymmetryArgs, common: &Common) -> Result<(), CliError> {
    let question = Question {
        setup: common.setup(),
        samples: args.samples,
        steps: args.steps,
    };
    let (graph, mut configuration, data) = match &args.data {
        None => {
            let graph = args.architecture.graph()?;
            let configuration = args.architecture.configuration(&graph)?;
            (graph, configuration, None)
        }
        Some(spec) => {
            let subject = Subject::new(&args.architecture, Dataset::load(spec)?)?;
            let graph = subject.problem.graph.clone();
            let mut configuration = subject.architecture.configuration(&graph)?;
            subject.configure(&mut configuration);
            (graph, configuration, Some(subject.problem.data))
        }
    };
    configuration.extend(run::configuration(&question)?);
    let request = run::request("symmetry", &graph.name, configuration, common);
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Found>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let found = answer(&graph, data.as_ref(), &question, &mut looker);
    let mut group = looker.settle(found)?;
    group.summary.words = flags(&group.summary.words);
    let mut found = Found {
        group: group.summary.clone(),
        equivariance: None,
        stability: None,
    };
    let mut beside = Vec::new();
    if let Some(data) = data {
        let mut looker = Looker::new(&mut directory, common);
        let measured = measure(&mut found, Problem { graph, data }, common, &mut looker);
        beside = looker.settle(measured)?;
    }
    let page = page(&group, beside, &command(&request), request.settings());
    write(directory, &found, &page, common)
}

/// The sections of equivariance and stability of the first network; none where samples are no images that they look at.
fn measure(
    found: &mut Found,
    problem: Problem,
    common: &Common,
    observer: &mut dyn Observer,
) -> Result<Vec<Section>, SymmetryError> {
    let subject = Measured::<f32> {
        problem,
        learnt: Learnt::Nothing,
    };
    let setup = common.setup();
    let mut sections = Vec::new();
    let question = equivariance::Question {
        setup,
        ..equivariance::Question::default()
    };
    match equivariance::answer(&subject, &question, observer) {
        Ok(answer) => {
            sections.push(Section::new("Equivariance").prose(answer.summary.words.as_str()));
            sections.extend(equivariance::sections(&answer));
            found.equivariance = Some(answer.summary);
        }
        Err(e) if e.is_usage() => observer.note(&flags(&format!("equivariance is left out: {e}"))),
        Err(e) => return Err(e),
    }
    let question = stability::Question {
        setup,
        ..stability::Question::default()
    };
    match stability::answer(&subject, &question, observer) {
        Ok(answer) => {
            sections.push(Section::new("Stability").prose(answer.summary.words.as_str()));
            sections.extend(stability::sections(&answer));
            found.stability = Some(answer.summary);
        }
        Err(e) if e.is_usage() => observer.note(&flags(&format!("stability is left out: {e}"))),
        Err(e) => return Err(e),
    }
    Ok(sections)
}

fn write(
    mut directory: run::RunDirectory,
    found: &Found,
    page: &Page,
    common: &Common,
) -> Result<(), CliError> {
    directory.write("groups.csv", found.group.csv().as_bytes())?;
    directory.write("motions.csv", found.group.places_csv().as_bytes())?;
    if let Some(equivariance) = &found.equivariance {
        directory.write("equivariance.csv", equivariance.csv().as_bytes())?;
    }
    for (name, content) in found.stability.iter().flat_map(stability::Summary::files) {
        directory.write(name, &content)?;
    }
    directory.write_page(page)?;
    run::finish(directory, found, common)
}

/// The group of the learning system, and what its first network follows, ignores and minds.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    #[serde(flatten)]
    group: Summary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    equivariance: Option<equivariance::Summary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stability: Option<stability::Summary>,
}

impl Shown for Found {
    fn text(&self, directory: &str) -> String {
        let mut text = self.group.text(output::WIDTH);
        let words = [
            self.equivariance.as_ref().map(|e| &e.words),
            self.stability.as_ref().map(|s| &s.words),
        ];
        for words in words.into_iter().flatten() {
            for paragraph in words.split("\n\n") {
                text += &format!("\n{}", fill(paragraph));
            }
        }
        format!("{text}\ntables and report.html in {directory}\n")
    }
}
