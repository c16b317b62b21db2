//! The `[result]` of `run.toml`, and the tables beside it.

use polariscope_data::npy;
use polariscope_geometry::{Alignment, Gradient, Match, Method, Probe, Verdict};
use polariscope_report::{Align, Table, fill, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::subject::Subject;
use super::words::{self, Finding, Hidden};
use super::{GEOMETRY, mean_sample};
use crate::error::CliError;
use crate::output;
use crate::run::{RunDirectory, Shown};
use crate::verbs::geometry::answer::Found;

/// A direction with less than this part of the isotropic weight is as good as unseen.
pub const UNSEEN: f64 = 0.1;
/// Cosines this close are equal.
const ROUNDING: f64 = 1e-9;

/// What was found, in numbers and words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Aligned {
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
#[derive(Clone, Copy, Debug)]
pub struct Energy {
    /// How many directions.
    pub count: usize,
    /// Share of the variance in the first ones of the architecture.
    pub share: f64,
    /// In the first ones of the data, the most that is possible.
    pub best: f64,
}

/// A direction that the data vary in and the architecture hardly sees.
#[derive(Clone, Debug)]
pub struct Unseen {
    /// Unit vector.
    pub direction: Vec<f64>,
    /// vᵀGv over tr G / D.
    pub weight: f64,
    /// vᵀS̄v over tr S̄.
    pub share: f64,
}

/// Everything that the report shows.
pub struct Outcome<'a> {
    /// Architecture and data.
    pub subject: &'a Subject,
    /// How it is said.
    pub result: Aligned,
    /// Score of every sample.
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

impl<'a> Outcome<'a> {
    /// Puts the numbers into words; `variances` are those of the data along their own axes.
    pub fn new(
        subject: &'a Subject,
        found: &Found,
        (probe, geometry): (&Probe, String),
        alignment: Alignment,
        variances: &[f64],
    ) -> Self {
        let data = &subject.problem.data.train;
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
        let edge = found.answer.relative_error.map_or(0.0, |error| {
            2.0 * error * (dim as f64 / found.answer.summary.participation_ratio).sqrt()
        });
        let mut order: Vec<usize> = (0..alignment.scores.len()).collect();
        order.sort_by(|&a, &b| alignment.scores[a].total_cmp(&alignment.scores[b]));
        let mut outcome = Self {
            subject,
            result: Aligned {
                verdict: alignment.verdict,
                words: String::new(),
                gradient: found.answer.gradient,
                method: found.answer.method,
                probe: probe.to_string(),
                geometry_error: found.answer.relative_error,
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
            geometry,
        };
        outcome.result.words = words::words(&outcome.finding());
        outcome
    }

    /// What the words are made of.
    pub fn finding(&self) -> Finding<'_> {
        Finding {
            name: self.name(),
            data: self.subject.data_name(),
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
        self.subject.problem.graph.input().len()
    }

    /// The architecture.
    pub fn name(&self) -> &str {
        &self.subject.problem.graph.name
    }

    /// Writes the arrays and tables.
    pub fn write(&self, directory: &mut RunDirectory) -> Result<(), CliError> {
        use Align::{Left, Right};
        let mut scores = Table::new([("index", Right), ("label", Left), ("score", Right)]);
        for (i, &score) in self.scores.iter().enumerate() {
            scores.push([i.into(), self.subject.label(i).into(), score.into()]);
        }
        directory.write("scores.csv", scores.to_csv().as_bytes())?;
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
        directory.write("energy.csv", energy.to_csv().as_bytes())?;
        let rows: Vec<f64> = self
            .unseen
            .iter()
            .flat_map(|u| u.direction.iter().copied())
            .collect();
        let shape = [self.unseen.len(), self.dim()];
        Ok(directory.write("unseen.npy", &npy::encode(&shape, &rows))?)
    }
}

impl Aligned {
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

impl Shown for Aligned {
    fn text(&self, directory: &str) -> String {
        let mut text = format!("{}\n", self.table().to_text(output::WIDTH));
        for paragraph in self.words.split("\n\n") {
            text += &fill(paragraph);
            text.push('\n');
        }
        text + &format!(
            "scores.csv, energy.csv, unseen.npy, report.html and {GEOMETRY}/ in {directory}\n"
        )
    }
}
