//! `evolution`: where does the geometry begin to move when training starts?

use clap::Args;
use polariscope_data::{Dataset, Spec};
use polariscope_geometry::{
    EvolutionQuestion, GROUPS, Moved, Output, evolution_page, movement, movement_memory,
};
use polariscope_lens::afford;
use polariscope_report::fill;
use polariscope_train::Loss;

use super::geometry::command;
use super::geometry::options::{ProbeArg, networks};
use super::subject::Subject;
use crate::args::{ArchitectureArgs, Common, count};
use crate::error::CliError;
use crate::looker::Looker;
use crate::output;
use crate::run::{self, Opened, Shown, fingerprint};

/// Training samples where the data specification names no number.
const SAMPLES: usize = 256;

/// What `evolution` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`polariscope list data` names the data sets and their parameters.")]
pub struct EvolutionArgs {
    /// The network.
    #[command(flatten)]
    pub architecture: ArchitectureArgs,
    /// Data set; its first 256 training samples, or as many as its train=N says
    #[arg(long, value_name = "SPEC", help_heading = "Evolution")]
    pub data: String,
    /// Networks to sample, at least 16
    #[arg(long, value_name = "T", value_parser = enough, default_value_t = 2048, help_heading = "Evolution", allow_negative_numbers = true)]
    pub samples: u64,
    /// sse or cross-entropy
    #[arg(long, value_name = "NAME", value_parser = loss, default_value = "sse", help_heading = "Evolution")]
    pub loss: Loss,
    /// zero, gauss:SIGMA, file:X.npy or data:SPEC
    #[arg(
        long,
        value_name = "POINTS",
        default_value = "gauss:1",
        help_heading = "Evolution"
    )]
    pub probe: ProbeArg,
    /// Points for each network
    #[arg(long, value_name = "M", value_parser = count, default_value_t = 16, help_heading = "Evolution", allow_negative_numbers = true)]
    pub probes: usize,
    /// The output whose geometry moves: its number, mean, or all
    #[arg(
        long,
        value_name = "K|mean|all",
        default_value = "0",
        help_heading = "Evolution",
        allow_negative_numbers = true
    )]
    pub logit: Output,
}

/// Measures, or shows what an earlier run of the same command found.
pub fn run(args: &EvolutionArgs, common: &Common) -> Result<(), CliError> {
    let subject = Subject::new(&args.architecture, data(&args.data)?)?;
    let problem = &subject.problem;
    let question = EvolutionQuestion {
        networks: args.samples,
        probes: args.probes,
        probe: args.probe.load(problem.graph.input())?,
        output: args.logit,
        loss: args.loss,
        setup: common.setup(),
    };
    let mut configuration = subject.architecture.configuration(&problem.graph)?;
    subject.configure(&mut configuration);
    configuration.insert("evolution".into(), toml::Value::Table(table(&question)));
    let request = run::request("evolution", &problem.graph.name, configuration, common);
    afford(
        movement_memory(problem),
        "choose data of fewer numbers a sample",
    )?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Moved>(&path, &record, common),
    };
    let mut looker = Looker::new(&mut directory, common);
    let found = movement(problem, &question, &mut looker);
    let found = looker.settle(found)?;
    for (name, content) in found.files() {
        directory.write(&name, &content)?;
    }
    let page = evolution_page(
        &found,
        &problem.data,
        &command(&request),
        request.settings(),
    );
    directory.write_page(&page)?;
    run::finish(directory, &found.result, common)
}

impl Shown for Moved {
    fn text(&self, directory: &str) -> String {
        let mut text = format!("{}\n", self.table().to_text(output::WIDTH));
        for paragraph in self.words.split("\n\n") {
            text += &fill(paragraph);
            text.push('\n');
        }
        text + &format!("delta.npy, geometry.npy and report.html in {directory}\n")
    }
}

/// The data, cut to the first samples where their specification names no number.
fn data(text: &str) -> Result<Dataset, CliError> {
    let named = Spec::parse(text)?.train.is_some();
    let mut data = Dataset::load(text)?;
    if !named && data.train.len() > SAMPLES {
        let first: Vec<usize> = (0..SAMPLES).collect();
        data.train = data.train.select(data.shape.len(), &first);
    }
    Ok(data)
}

/// The question for `run.toml`.
fn table(question: &EvolutionQuestion) -> toml::Table {
    let mut table = toml::Table::new();
    let mut set = |key: &str, value: toml::Value| table.insert(key.to_string(), value);
    set("samples", toml::Value::Integer(question.networks as i64));
    set("probe", question.probe.to_string().into());
    set("probes", toml::Value::Integer(question.probes as i64));
    set("output_differentiated", question.output.to_string().into());
    set("loss", question.loss.to_string().into());
    if let Some(bits) = question.probe.bits() {
        set("probe_fingerprint", fingerprint(bits).into());
    }
    table
}

/// As many networks as there are groups, for the errors.
fn enough(text: &str) -> Result<u64, String> {
    let least = GROUPS as u64;
    networks(text)
        .ok()
        .filter(|n| *n >= least)
        .ok_or_else(|| format!("must be a whole number of at least {least}"))
}

fn loss(text: &str) -> Result<Loss, String> {
    match text {
        "sse" => Ok(Loss::Sse),
        "cross-entropy" => Ok(Loss::CrossEntropy),
        _ => Err("it is sse or cross-entropy".to_string()),
    }
}
