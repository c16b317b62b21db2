//! The computation: a Gram matrix and its eigenvalues.

use std::time::Instant;

use polariscope_graph::Graph;
use polariscope_lens::{Observer, afford, fingerprint, foretell_cubic};
use polariscope_linalg::symmetric_eigenvalues;
use polariscope_nngp::{Kernel, Wanted};
use polariscope_report::{counted, grouped};

use super::{Answer, Question, Summary};
use crate::kernel::Kind;
use crate::{KernelsError, Samples};

/// Bytes of an entry of the Gram matrix, in all the matrices that its eigenvalues take.
const BYTES: f64 = 5.0 * 8.0;
/// Samples whose entries are timed to estimate the rest.
const PILOT: usize = 16;

/// The eigenvalues of the Gram matrix of samples, one after the other in `x`.
pub fn answer(
    graph: &Graph,
    x: &[f64],
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, KernelsError> {
    Job::new(graph, x, question)?.answer(observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a> {
    name: String,
    kernel: Kernel,
    x: &'a [f64],
    question: Question,
}

impl<'a> Job<'a> {
    /// Checks the question.
    pub fn new(graph: &Graph, x: &'a [f64], question: &Question) -> Result<Self, KernelsError> {
        let kernel = Kernel::on(graph, question.setup.device)?;
        let inputs = graph.input().len();
        let samples = question.samples.min(Samples::from(x).count("x", inputs)?);
        if samples < 2 {
            return Err(KernelsError::Data(format!(
                "{}: a spectrum needs at least 2",
                counted(samples as u64, "sample")
            )));
        }
        afford(BYTES * (samples as f64).powi(2), "give fewer ‹samples›")?;
        Ok(Self {
            name: graph.name.clone(),
            kernel,
            x: &x[..samples * inputs],
            question: Question {
                samples,
                ..question.clone()
            },
        })
    }

    /// The question with the number of samples that there are.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Names the samples.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.x.iter().map(|x| x.to_bits()))
    }

    /// Seconds that the entries of a few samples take.
    fn pilot(&self, wanted: Wanted) -> Result<f64, KernelsError> {
        let x = &self.x[..self.x.len().min(PILOT * self.kernel.inputs())];
        let started = Instant::now();
        self.kernel.among(wanted, x)?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Computes.
    pub fn answer(&self, observer: &mut dyn Observer) -> Result<Answer, KernelsError> {
        let (m, kind) = (self.question.samples, self.question.kind);
        let wanted = match kind {
            Kind::Nngp => Wanted::Nngp,
            Kind::Ntk => Wanted::Both,
        };
        let pilot = self.pilot(wanted)?;
        let pairs = (m * (m + 1)) as f64 / (PILOT * (PILOT + 1)) as f64;
        observer.expect(
            &format!("{} kernel entries", grouped((m * m) as u64)),
            pilot * pairs,
            BYTES * (m * m) as f64,
        );
        let values = self.kernel.among(wanted, self.x)?;
        let mut gram = match kind {
            Kind::Nngp => values.nngp,
            Kind::Ntk => values.ntk.unwrap_or_default(),
        };
        gram.iter_mut().for_each(|k| *k /= m as f64);
        foretell_cubic(observer, "eigenvalues", (&gram, m), 5.0, |block, rows| {
            // What the pilot finds is of no interest, and what is wrong shows again.
            let _ = symmetric_eigenvalues(block, rows);
        });
        let eigenvalues = symmetric_eigenvalues(&gram, m);
        observer.end();
        let eigenvalues = eigenvalues.map_err(|e| KernelsError::Eigen(e.to_string()))?;
        let approximations = self.kernel.approximations().to_vec();
        let summary = Summary::new(&self.name, kind.name(), &eigenvalues, approximations);
        Ok(Answer {
            summary,
            eigenvalues,
        })
    }
}
