//! Data laid over a geometry: numbers, words, tables.

use std::time::Instant;

use polariscope_data::npy;
use polariscope_graph::Shape;
use polariscope_lens::Observer;
use polariscope_linalg::{covariance, symmetric_eigenvalues};
use polariscope_report::{Align, Table, counted, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use polariscope_train::Problem;

use super::words::{self, Finding, Hidden};
use super::{Alignment, Match, Verdict, align};
use crate::{Answer, GeometryError, Gradient, Method, Resolved};

/// A direction with less than this part of the isotropic weight is as good as unseen.
pub const UNSEEN: f64 = 0.1;
/// Samples whose covariance is timed to estimate the rest.
const PILOT: usize = 512;
/// Rows of the eigenproblem that is timed.
const ROWS: usize = 256;
/// Eigenproblems of all dimensions.
const PROBLEMS: f64 = 2.0;
/// D × D matrices alive at the same time.
const MATRICES: f64 = 12.0;
/// Cosines this close are equal.
const ROUNDING: f64 = 1e-9;

/// What was found, in numbers and words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AlignedNumbers {
    /// From the centred match.
    pub verdict: Verdict,
    /// The finding.
    pub words: String,
    /// Which geometry.
    pub gradient: Gradient,
    /// How it was found.
    pub method: Method,
    /// Where gradients were taken.
    pub probe: String,
    /// Standard error of G over its norm, where it was sampled: Corr is known to at best about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry_error: Option<f64>,
    /// Samples compared.
    pub samples: usize,
    /// With S̄ = Σ (x − x̄)(x − x̄)ᵀ, what varies.
    pub centred: Measure,
    /// With S = Σ x xᵀ.
    pub uncentred: Measure,
    /// Unseen directions written.
    pub unseen: usize,
}

/// Corr and what it could be.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// The match.
    #[serde(flatten)]
    pub found: Match,
    /// 0 at chance, 1 at best, −1 at worst.
    pub share: f64,
}

impl From<Match> for Measure {
    fn from(found: Match) -> Self {
        // Where best and worst are the same but for rounding there is no way to go.
        let share = if found.best - found.worst > ROUNDING {
            found.share()
        } else {
            0.0
        };
        Self { found, share }
    }
}

/// Variance in the first directions.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Energy {
    /// How many directions.
    pub count: usize,
    /// Share of the variance in the first ones of the architecture.
    pub share: f64,
    /// In the first ones of the data, the most that is possible.
    pub best: f64,
}

/// A direction that the data vary in and the architecture hardly sees.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unseen {
    /// Unit vector.
    pub direction: Vec<f64>,
    /// vᵀGv over tr G / D.
    pub weight: f64,
    /// vᵀS̄v over tr S̄.
    pub share: f64,
}

/// Whether an architecture suits data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Aligned {
    /// The architecture.
    pub name: String,
    /// What people call the data.
    pub data: String,
    /// Shape of a sample.
    pub shape: Shape,
    /// How it is said.
    pub result: AlignedNumbers,
    /// The label of every sample, in words.
    pub labels: Vec<String>,
    /// Scores of every sample.
    pub scores: Vec<f64>,
    /// Samples, lowest score first.
    pub order: Vec<usize>,
    /// For 1, 2, 4, … and D directions.
    pub energy: Vec<Energy>,
    /// Most of the data for least of the geometry first.
    pub unseen: Vec<Unseen>,
    /// Whether there are more of them than were looked for.
    pub more: bool,
    /// Noise alone makes directions with this weight and less, where the geometry was sampled.
    pub noise_edge: f64,
    /// Which geometry and how it was found, in a line.
    pub geometry: String,
}

/// Lays the training samples of a problem over the geometry of its network, the answer to `question`.
pub fn aligned(
    problem: &Problem,
    question: &Resolved,
    geometry: &Answer,
    observer: &mut dyn Observer,
) -> Result<Aligned, GeometryError> {
    let x = &problem.data.train.x;
    let dim = problem.graph.input().len();
    foretell(x, dim, observer);
    let (alignment, variances) = rayon::join(
        || align(&geometry.matrix, &geometry.spectrum, x),
        || variances(x, dim),
    );
    let aligned = Aligned::new(problem, question, geometry, alignment?, &variances?);
    observer.end();
    Ok(aligned)
}

/// Bytes that [`aligned`] takes.
pub fn aligned_memory(problem: &Problem) -> f64 {
    MATRICES * 8.0 * (problem.graph.input().len() as f64).powi(2)
}

/// Variances of the data along their own axes, largest first, up to a factor: the eigenvalues of S̄.
fn variances(x: &[f32], dim: usize) -> Result<Vec<f64>, GeometryError> {
    let mean = mean_sample(x, dim);
    let n = (x.len() / dim) as f64;
    let mut s = covariance(x, dim);
    for (row, a) in s.chunks_exact_mut(dim).zip(&mean) {
        row.iter_mut().zip(&mean).for_each(|(s, b)| *s -= n * a * b);
    }
    Ok(symmetric_eigenvalues(&s, dim)?)
}

/// The mean sample.
fn mean_sample(x: &[f32], dim: usize) -> Vec<f64> {
    let mut mean = vec![0.0; dim];
    for sample in x.chunks_exact(dim) {
        mean.iter_mut()
            .zip(sample)
            .for_each(|(m, &x)| *m += f64::from(x));
    }
    let n = (x.len() / dim) as f64;
    mean.iter_mut().for_each(|m| *m /= n);
    mean
}

/// Says how long the comparison takes, where that is long.
fn foretell(x: &[f32], dim: usize, observer: &mut dyn Observer) {
    if dim < ROWS {
        return;
    }
    let samples = x.len() / dim;
    let pilot = PILOT.min(samples);
    let started = Instant::now();
    let pilot_covariance = covariance(&x[..pilot * dim], dim);
    // Of the samples as they are and of what varies.
    let sums = 2.0 * started.elapsed().as_secs_f64() * samples as f64 / pilot as f64;
    let rows = pilot_covariance.chunks_exact(dim).take(ROWS);
    let block: Vec<f64> = rows.flat_map(|row| &row[..ROWS]).copied().collect();
    let started = Instant::now();
    // Whether it can be solved is found out when all of it is.
    let _ = symmetric_eigenvalues(&block, ROWS);
    let cubes = (dim as f64 / ROWS as f64).powi(3);
    let problems = PROBLEMS * cubes * started.elapsed().as_secs_f64();
    observer.expect(
        &format!(
            "comparing with {} of {dim} numbers",
            counted(samples as u64, "sample")
        ),
        sums + problems,
        MATRICES * 8.0 * (dim as f64).powi(2),
    );
}

impl Aligned {
    /// Puts the numbers into words; `variances` are those of the data along their own axes.
    fn new(
        problem: &Problem,
        question: &Resolved,
        found: &Answer,
        alignment: Alignment,
        variances: &[f64],
    ) -> Self {
        let data = &problem.data.train;
        let dim = found.matrix.dim();
        let total: f64 = variances.iter().sum();
        let energy = alignment.energy.iter().map(|&(count, share)| Energy {
            count,
            share,
            best: variances[..count].iter().sum::<f64>() / total,
        });
        let mean = mean_sample(&data.x, dim);
        let spread: f64 = data
            .x
            .chunks_exact(dim)
            .flat_map(|x| x.iter().zip(&mean))
            .map(|(&x, m)| (f64::from(x) - m).powi(2))
            .sum();
        let isotropic = found.matrix.trace() / dim as f64;
        let unseen = &alignment.unseen;
        let rows = unseen.vectors.chunks_exact(dim).zip(&unseen.values);
        let unseen = rows.map(|(v, mu)| {
            // vᵀS̄v = μ (vᵀGv + ρ).
            let seen = found.matrix.quadratic(v);
            Unseen {
                direction: v.to_vec(),
                weight: seen / isotropic,
                share: mu * (seen + unseen.floor) / spread,
            }
        });
        let unseen: Vec<Unseen> = unseen.filter(|u| u.weight < UNSEEN).collect();
        let looked_for = alignment.unseen.values.len();
        // The eigenvalues of symmetric noise of norm ε‖G‖ reach 2ε√(D/PR) of the isotropic one.
        let edge = found.numbers.relative_error.map_or(0.0, |error| {
            2.0 * error * (dim as f64 / found.numbers.summary.participation_ratio).sqrt()
        });
        let mut order: Vec<usize> = (0..alignment.scores.len()).collect();
        order.sort_by(|&a, &b| alignment.scores[a].total_cmp(&alignment.scores[b]));
        let mut outcome = Self {
            name: problem.graph.name.clone(),
            data: problem.data_name().to_string(),
            shape: problem.data.shape,
            labels: (0..data.len()).map(|i| problem.label(i)).collect(),
            result: AlignedNumbers {
                verdict: alignment.verdict,
                words: String::new(),
                gradient: found.numbers.gradient,
                method: found.numbers.method,
                probe: question.probe.to_string(),
                geometry_error: found.numbers.relative_error,
                samples: data.len(),
                centred: alignment.centred.into(),
                uncentred: alignment.uncentred.into(),
                unseen: unseen.len(),
            },
            scores: alignment.scores,
            order,
            energy: energy.collect(),
            more: unseen.len() == looked_for && looked_for < dim,
            unseen,
            noise_edge: edge,
            geometry: found.source.line(),
        };
        outcome.result.words = words::words(&outcome.finding());
        outcome
    }

    /// What the words are made of.
    pub fn finding(&self) -> Finding<'_> {
        Finding {
            name: &self.name,
            data: &self.data,
            geometry: &self.geometry,
            result: &self.result,
            dim: self.dim(),
            energy: &self.energy,
            scores: &self.scores,
            order: &self.order,
            hidden: self.hidden(),
        }
    }

    /// What can be said of directions that the architecture hardly sees.
    pub fn hidden(&self) -> Hidden {
        match self.unseen.len() {
            _ if self.noise_edge > UNSEEN => Hidden::Noise,
            0 => Hidden::None,
            count => Hidden::Some {
                count,
                more: self.more,
                most: self.unseen.iter().map(|u| u.share).fold(0.0, f64::max),
            },
        }
    }

    /// D.
    pub fn dim(&self) -> usize {
        self.shape.len()
    }

    /// The arrays and tables, each with the name of its file.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        use Align::{Left, Right};
        let mut scores = Table::new([("index", Right), ("label", Left), ("score", Right)]);
        for (i, (&score, label)) in self.scores.iter().zip(&self.labels).enumerate() {
            scores.push([i.into(), label.as_str().into(), score.into()]);
        }
        let columns = ["directions", "share", "isotropic", "best"];
        let mut energy = Table::new(columns.map(|c| (c, Right)));
        for e in &self.energy {
            let isotropic = e.count as f64 / self.dim() as f64;
            energy.push([
                e.count.into(),
                e.share.into(),
                isotropic.into(),
                e.best.into(),
            ]);
        }
        let rows: Vec<f64> = self
            .unseen
            .iter()
            .flat_map(|u| u.direction.iter().copied())
            .collect();
        let shape = [self.unseen.len(), self.dim()];
        vec![
            ("scores.csv".into(), scores.to_csv().into_bytes()),
            ("energy.csv".into(), energy.to_csv().into_bytes()),
            ("unseen.npy".into(), npy::encode(&shape, &rows)),
        ]
    }
}

impl AlignedNumbers {
    /// Both matches.
    pub fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("quantity", Left),
            ("what varies", Right),
            ("raw samples", Right),
        ]);
        let both = [&self.centred, &self.uncentred];
        let mut row = |name: &str, value: &dyn Fn(&Measure) -> String| {
            let cells = both.map(|m| value(m).into());
            table.push([name.into()].into_iter().chain(cells));
        };
        row("Corr(G, S)", &|m| pretty(m.found.corr));
        row("by chance", &|m| chance(&m.found));
        row("best rotation", &|m| pretty(m.found.best));
        row("worst rotation", &|m| pretty(m.found.worst));
        row("share of the way", &|m| format!("{:+.2}", m.share));
        table
    }
}

/// The mean over rotations, with their standard deviation where there is one.
fn chance(found: &Match) -> String {
    if found.spread < ROUNDING {
        return pretty(found.chance);
    }
    Estimate {
        value: found.chance,
        standard_error: found.spread,
        samples: 0,
    }
    .pair()
}
