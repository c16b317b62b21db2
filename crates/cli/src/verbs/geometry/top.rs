//! `geometry --top k`: the first directions of inputs too large for a matrix.

use polariscope_data::npy;
use polariscope_geometry::{Float, Limit, Method, TopSampler};
use polariscope_lens::afford;
use polariscope_report::{Align, Axis, Page, Plot, Section, Series, Table, counted, pretty};
use serde::{Deserialize, Serialize};

use super::{Job, command, compute};
use crate::args::Common;
use crate::error::CliError;
use crate::estimate::announce;

use crate::output;
use crate::progress::Progress;
use crate::run::{self, Opened, Shown};

/// Networks where nothing is said.
const NETWORKS: u64 = 256;

/// The `[result]` of `run.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    networks: u64,
    trace: f64,
    trace_error: f64,
    /// Share of the trace in the directions found.
    share: f64,
    directions: usize,
    seconds: f64,
}

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        let mut table = Table::new([("quantity", Align::Left), ("value", Align::Right)]);
        table.push([
            "trace".into(),
            format!("{} ± {}", pretty(self.trace), pretty(self.trace_error)).into(),
        ]);
        table.push([
            format!("share of the first {}", self.directions).into(),
            pretty(self.share).into(),
        ]);
        format!(
            "{}\n{}, matrix-free; eigenvalues.npy, directions.npy and report.html in {directory}\n",
            table.to_text(output::WIDTH),
            counted(self.networks, "network")
        )
    }
}

/// Finds the first `k` directions.
pub fn run<T: Float>(job: Job<T>, k: usize, common: &Common) -> Result<(), CliError> {
    let Job {
        graph,
        mut question,
        given,
        request,
    } = job;
    if !matches!(question.method, Method::Sample | Method::Mixed) {
        question.method = Method::Sample;
    }
    let networks = match question.limit {
        Limit::Networks(n) => n,
        Limit::Error(_) => NETWORKS,
    };
    let config = compute::sample_config::<T>(&graph, &question, &given, common)?;
    let sampler = TopSampler::new(&graph, config, given, networks, k)?;
    afford(sampler.memory(), "ask for fewer directions")?;
    let mut directory = match run::open(&request, common)? {
        Opened::Work(directory) => directory,
        Opened::Finished(path, record) => return run::show::<Answer>(&path, &record, common),
    };
    let started = std::time::Instant::now();
    let progress = Progress::new("networks, three times each", 3 * networks, 0, common);
    let mut done = 0;
    let mut said = false;
    let top = sampler.run(|now, total| {
        progress.advance(now - done);
        done = now;
        if !said && started.elapsed().as_secs() >= 1 {
            said = true;
            announce(
                common,
                &counted(networks, "network"),
                started.elapsed(),
                now as f64,
                (total - now) as f64,
                sampler.memory(),
            );
        }
    })?;
    drop(progress);
    let dim = graph.input().len();
    directory.write("eigenvalues.npy", &npy::encode(&[k], &top.values))?;
    directory.write("directions.npy", &npy::encode(&[k, dim], &top.vectors))?;
    let mut csv = "index,eigenvalue,share\n".to_string();
    for (i, value) in top.values.iter().enumerate() {
        csv += &format!("{i},{value:e},{:e}\n", value / top.trace.value);
    }
    directory.write("spectrum.csv", csv.as_bytes())?;
    let answer = Answer {
        networks: top.trace.samples,
        trace: top.trace.value,
        trace_error: top.trace.standard_error,
        share: top.values.iter().sum::<f64>() / top.trace.value,
        directions: k,
        seconds: started.elapsed().as_secs_f64(),
    };
    let words = format!(
        "The first {k} of {dim} directions carry {} of the {} geometry of {}, from {}.",
        pretty(answer.share),
        question.gradient,
        graph.name,
        counted(answer.networks, "network")
    );
    let asked = format!(
        "Which {k} directions of its {} input does {} see best?",
        graph.input(),
        graph.name
    );
    let mut page = Page::new(
        format!("The first directions of {}", graph.name),
        asked,
        words,
    );
    let isotropic = top.trace.value / dim as f64;
    let points = |f: &dyn Fn(usize) -> f64| (0..k).map(|i| ((i + 1) as f64, f(i))).collect();
    let plot = Plot {
        title: "Eigenvalues".into(),
        x: Axis::log("direction"),
        y: Axis::log("eigenvalue"),
        series: vec![
            Series::line("found", points(&|i| top.values[i])),
            Series::line("isotropic", points(&|_| isotropic)),
        ],
    };
    page.push(Section::new("Spectrum").figure(
        "spectrum",
        plot.draw(),
        "Found without the matrix, by a randomised method that makes eigenvalues a little too small. The second line is a network without preference.",
    ));
    page.push(Section::new("Reproduce").command(command(&request)));
    page.configure(request.settings());
    directory.write_page(&page)?;
    run::finish(directory, &answer, common)
}
