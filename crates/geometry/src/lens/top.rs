//! The first directions of inputs too large for a matrix.

use polariscope_data::npy;
use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Observer, Stopped, Work, afford};
use polariscope_report::{Axis, Page, Plot, Section, Series, counted, pretty};
use serde::{Deserialize, Serialize};

use super::foretell::seconds;
use super::resolved::Resolved;
use crate::sample::{Float, PILOT_READOUTS, PILOTS};
use crate::{GeometryError, Gradient, Limit, Method, TopSampler};

/// Networks where nothing is said.
const NETWORKS: u64 = 256;

/// The first directions of a geometry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct First {
    /// The architecture.
    pub name: String,
    /// Its input.
    pub input: String,
    /// D.
    pub dim: usize,
    /// Which geometry.
    pub gradient: Gradient,
    /// Networks that were sampled.
    pub networks: u64,
    /// tr G.
    pub trace: f64,
    /// Its standard error.
    pub trace_error: f64,
    /// k eigenvalues, largest first.
    pub values: Vec<f64>,
    /// k eigenvectors, one a row of D numbers.
    pub vectors: Vec<f64>,
}

/// Work that was planned.
pub type Planned<'a> = Box<dyn FnOnce(&mut dyn Observer) -> Result<First, GeometryError> + 'a>;

impl Resolved {
    fn first_sampler<T: Float>(
        &self,
        graph: &Graph,
        k: usize,
    ) -> Result<TopSampler<T>, GeometryError> {
        let mut question = self.clone();
        if !matches!(question.method, Method::Sample | Method::Mixed) {
            question.method = Method::Sample;
        }
        let networks = match question.limit {
            Limit::Networks(n) => n,
            Limit::Error(_) => NETWORKS,
        };
        let config = question.sample_config_of::<T>(graph)?;
        let sampler = TopSampler::new(graph, config, question.given(graph)?, networks, k)?;
        afford(sampler.memory(), "ask for fewer directions")?;
        Ok(sampler)
    }

    /// Plans the first `k` directions, without the matrix; refuses those that cannot be had.
    pub fn first<'a>(
        &'a self,
        graph: &'a Graph,
        k: usize,
        observer: &mut dyn Observer,
    ) -> Result<Planned<'a>, GeometryError> {
        self.foretell_networks(graph, "planning", (PILOTS, PILOT_READOUTS), observer);
        Ok(match self.setup.dtype {
            Dtype::F32 => {
                let sampler = self.first_sampler::<f32>(graph, k)?;
                Box::new(move |observer| self.run_first(graph, &sampler, observer))
            }
            Dtype::F64 => {
                let sampler = self.first_sampler::<f64>(graph, k)?;
                Box::new(move |observer| self.run_first(graph, &sampler, observer))
            }
        })
    }

    fn run_first<T: Float>(
        &self,
        graph: &Graph,
        sampler: &TopSampler<T>,
        observer: &mut dyn Observer,
    ) -> Result<First, GeometryError> {
        let (total, probes) = (sampler.pieces(), sampler.config().probes);
        observer.foretell(seconds(graph, total, probes));
        observer.begin(Work {
            unit: "networks, three times each".into(),
            first: 0,
            total,
            words: counted(total / 3, "network"),
            bytes: sampler.memory(),
        });
        let mut stopped = None::<Stopped>;
        let top = sampler.run(|done, _| {
            stopped = stopped.or(observer.advance(done, &|| None).err());
        })?;
        observer.end();
        if let Some(stopped) = stopped {
            return Err(stopped.into());
        }
        Ok(First {
            name: graph.name.clone(),
            input: graph.input().to_string(),
            dim: graph.input().len(),
            gradient: self.gradient,
            networks: top.trace.samples,
            trace: top.trace.value,
            trace_error: top.trace.standard_error,
            values: top.values,
            vectors: top.vectors,
        })
    }
}

impl First {
    /// How many directions were found.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Share of the trace that they carry.
    pub fn share(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.trace
    }

    /// The arrays and the table, each with the name of its file.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let k = self.count();
        let mut csv = "index,eigenvalue,share\n".to_string();
        for (i, value) in self.values.iter().enumerate() {
            csv += &format!("{i},{value:e},{:e}\n", value / self.trace);
        }
        vec![
            ("eigenvalues.npy".into(), npy::encode(&[k], &self.values)),
            (
                "directions.npy".into(),
                npy::encode(&[k, self.dim], &self.vectors),
            ),
            ("spectrum.csv".into(), csv.into_bytes()),
        ]
    }

    /// The page.
    pub fn page(&self, command: &str, settings: Vec<(String, String)>) -> Page {
        let (k, name) = (self.count(), &self.name);
        let words = format!(
            "The first {k} of {} directions carry {} of the {} geometry of {name}, from {}.",
            self.dim,
            pretty(self.share()),
            self.gradient,
            counted(self.networks, "network")
        );
        let asked = format!(
            "Which {k} directions of its {} input does {name} see best?",
            self.input
        );
        let mut page = Page::new(format!("The first directions of {name}"), asked, words);
        let isotropic = self.trace / self.dim as f64;
        let points = |f: &dyn Fn(usize) -> f64| (0..k).map(|i| ((i + 1) as f64, f(i))).collect();
        let plot = Plot {
            title: "Eigenvalues".into(),
            x: Axis::log("direction"),
            y: Axis::log("eigenvalue"),
            series: vec![
                Series::line("found", points(&|i| self.values[i])),
                Series::line("isotropic", points(&|_| isotropic)),
            ],
        };
        page.push(Section::new("Spectrum").figure(
            "spectrum",
            plot.draw(),
            "Found without the matrix, by a randomised method that makes eigenvalues a little too small. The second line is \
             a network without preference.",
        ));
        page.push(Section::reproduce(command));
        page.configure(settings);
        page
    }
}
