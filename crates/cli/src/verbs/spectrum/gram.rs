//! The Gram spectrum of any architecture on the user's samples.

use polariscope_data::{Dataset, npy, symmetric_eigenvalues};
use polariscope_graph::Graph;
use polariscope_infinite::{Kernel, Wanted};
use polariscope_lens::afford;
use polariscope_report::{Align, Table, counted, fill, grouped, pretty};
use serde::{Deserialize, Serialize};

use super::{KindArg, SpectrumArgs, page};
use crate::args::Common;
use crate::error::CliError;
use crate::output;
use crate::run::{self, Opened, Shown, fingerprint};
use crate::samples::Inputs;
use crate::verbs::geometry::command;
use crate::verbs::subject::fitted;

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gram {
    /// The finding.
    pub words: String,
    /// The architecture.
    pub name: String,
    /// NNGP or NTK.
    pub kernel: String,
    /// Samples.
    pub samples: usize,
    /// Σ λ = mean of K(x, x).
    pub trace: f64,
    /// (Σλ)²/Σλ²: how many directions share the kernel.
    pub effective: f64,
    /// Directions that hold half, 90 % and 99 % of the trace.
    pub directions: [usize; 3],
    /// The largest over the smallest eigenvalue, where that is above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<f64>,
    /// What is approximate beyond infinite width.
    #[serde(default)]
    pub approximations: Vec<String>,
}

/// Samples and the network that takes them.
struct Subject {
    graph: Graph,
    x: Vec<f64>,
    configuration: toml::Table,
}

/// Eigenvalues of the Gram matrix.
pub fn run(args: &SpectrumArgs, common: &Common) -> Result<(), CliError> {
    refuse(args)?;
    let Subject {
        graph,
        x,
        mut configuration,
    } = subject(args)?;
    let kernel = Kernel::on(&graph, common.device)?;
    let m = x.len() / graph.input().len();
    if m < 2 {
        return Err(CliError::Usage(format!(
            "{}: a spectrum needs at least 2",
            counted(m as u64, "sample")
        )));
    }
    let bits = fingerprint(x.iter().map(|x| x.to_bits()));
    configuration.insert("samples".into(), toml::Value::Integer(m as i64));
    configuration.insert("samples_fingerprint".into(), bits.into());
    let (wanted, name) = match args.kind {
        KindArg::Nngp => (Wanted::Nngp, "nngp"),
        KindArg::Ntk | KindArg::Exp => (Wanted::Both, "ntk"),
    };
    configuration.insert("kind".into(), name.into());
    let request = run::request("spectrum", &graph.name, configuration, common);
    afford(5.0 * 8.0 * (m as f64).powi(2), "give fewer --samples")?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Gram>(&path, &record, common),
    };
    let values = kernel.among(wanted, &x)?;
    let mut gram = match args.kind {
        KindArg::Nngp => values.nngp,
        KindArg::Ntk | KindArg::Exp => values.ntk.unwrap_or_default(),
    };
    gram.iter_mut().for_each(|k| *k /= m as f64);
    let eigenvalues =
        symmetric_eigenvalues(&gram, m).map_err(|e| CliError::Failed(e.to_string()))?;
    let approximations = kernel.approximations().to_vec();
    let result = Gram::new(&graph.name, name, &eigenvalues, approximations);
    directory.write("eigenvalues.npy", &npy::encode(&[m], &eigenvalues))?;
    directory.write_page(&page::gram(
        &result,
        &eigenvalues,
        &command(&request),
        request.settings(),
    ))?;
    run::finish(directory, &result, common)
}

fn refuse(args: &SpectrumArgs) -> Result<(), CliError> {
    let given = [
        ("--p", args.p.is_some()),
        ("--d0", args.d0.is_some()),
        ("--s", args.s.is_some()),
        ("--order", args.order.is_some()),
        ("--train", args.train.is_some()),
        ("--kind exp", args.kind == KindArg::Exp),
    ];
    match given.iter().find(|g| g.1) {
        None => Ok(()),
        Some((name, _)) => Err(CliError::Usage(format!(
            "{name} belongs to fcn, vec and gap on spheres; with samples it has no meaning"
        ))),
    }
}

fn subject(args: &SpectrumArgs) -> Result<Subject, CliError> {
    let mut architecture = args.options.of(&args.architecture);
    let mut x = match (&args.x1, &args.data) {
        (Some(path), _) => {
            let inputs = Inputs::<f64>::read(path, architecture.options.input)?;
            architecture.options.input = Some(inputs.shape);
            inputs.numbers
        }
        (None, spec) => {
            let data = Dataset::load(spec.as_deref().unwrap_or_default())?;
            architecture = fitted(&architecture, &data)?;
            data.train.x.iter().map(|&x| f64::from(x)).collect()
        }
    };
    let graph = architecture.graph()?;
    x.truncate(args.samples.saturating_mul(graph.input().len()));
    let configuration = architecture.configuration(&graph)?;
    Ok(Subject {
        graph,
        x,
        configuration,
    })
}

impl Gram {
    fn new(name: &str, kind: &str, eigenvalues: &[f64], approximations: Vec<String>) -> Self {
        let trace: f64 = eigenvalues.iter().sum();
        let squares: f64 = eigenvalues.iter().map(|l| l * l).sum();
        let holding = |share: f64| {
            let mut sum = 0.0;
            let enough = |l: &f64| {
                sum += l;
                sum >= share * trace
            };
            eigenvalues
                .iter()
                .position(enough)
                .map_or(eigenvalues.len(), |i| i + 1)
        };
        let (first, last) = (eigenvalues[0], eigenvalues[eigenvalues.len() - 1]);
        let mut found = Self {
            words: String::new(),
            name: name.to_string(),
            kernel: kind.to_uppercase(),
            samples: eigenvalues.len(),
            trace,
            effective: trace * trace / squares,
            directions: [0.5, 0.9, 0.99].map(holding),
            condition: (last > 0.0).then(|| first / last),
            approximations,
        };
        found.words = found.say(first);
        found
    }

    fn say(&self, first: f64) -> String {
        let [half, most, all] = self.directions;
        let mut text = format!(
            "Of the {} of {} on {}, {} hold half of the trace, {} hold 90 % and {} hold 99 %. Gradient flow at rate η finds the \
             first after ηt = {}; a direction of eigenvalue λ takes 1/λ.",
            self.kernel,
            self.name,
            counted(self.samples as u64, "sample"),
            counted(half as u64, "direction"),
            grouped(most as u64),
            grouped(all as u64),
            pretty(1.0 / first)
        );
        if 10 * all > 9 * self.samples {
            text += " The spectrum reaches to the last sample: more samples would show more directions.";
        }
        if !self.approximations.is_empty() {
            text += &format!("\n\nApproximate: {}.", self.approximations.join("; "));
        }
        text
    }

    /// The numbers.
    pub fn table(&self) -> Table {
        let mut table = Table::new([("quantity", Align::Left), ("value", Align::Right)]);
        let [half, most, all] = self.directions;
        table.push(["trace, mean of K(x, x)".into(), self.trace.into()]);
        table.push([
            "effective number of directions".into(),
            self.effective.into(),
        ]);
        table.push(["directions with 50 % of the trace".into(), half.into()]);
        table.push(["with 90 %".into(), most.into()]);
        table.push(["with 99 %".into(), all.into()]);
        table.push(["condition number".into(), self.condition.into()]);
        table
    }
}

impl Shown for Gram {
    fn text(&self, directory: &str) -> String {
        let mut text = self.table().to_text(output::WIDTH);
        for paragraph in self.words.split("\n\n") {
            text.push('\n');
            text += &fill(paragraph);
        }
        text + &format!("\neigenvalues.npy and report.html in {directory}\n")
    }
}
