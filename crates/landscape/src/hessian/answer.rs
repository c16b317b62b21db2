//! What comes of it: spectra, in numbers and words.

use polariscope_data::npy;
use polariscope_linalg::Extremes;
use polariscope_report::{Align, Table, counted, fill, grouped, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{Counts, Sampled, Spectrum, Split, Which};

/// A density is seen through a Gaussian of this part of the range of the eigenvalues.
const WIDTH: f64 = 1.0 / 80.0;
/// Places where it is looked at, beyond the range at either end too.
const PLACES: i32 = 240;
const BEYOND: f64 = 4.0;
/// Eigenvalues within this part of the largest are not told from 0 by products.
const NEAR: f64 = 1e-3;

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// In a few numbers and words.
    pub summary: Summary,
    /// The spectra.
    pub found: Found,
}

/// The spectra, by either way.
#[derive(Clone, Debug)]
pub enum Found {
    /// Of the matrices.
    Matrices(Box<Split>),
    /// By products with one of them.
    Products(Probed),
}

/// What products tell.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Of which matrix.
    pub which: Which,
    /// Its ends.
    pub ends: Extremes,
    /// What lies between.
    pub sampled: Sampled,
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The architecture.
    pub network: String,
    /// Whose training samples.
    pub data: String,
    /// How many.
    pub samples: usize,
    /// N.
    pub parameters: usize,
    /// ℓ.
    pub loss_name: String,
    /// L.
    pub loss: f64,
    /// Whether the weights are initial ones.
    pub initial: bool,
    /// What of the network does not work as in training.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<String>,
}

/// The finding in words and a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The finding.
    pub words: String,
    /// What was looked at.
    #[serde(flatten)]
    pub about: About,
    /// Numbers of the matrices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrices: Option<Numbers>,
    /// Numbers from products.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub products: Option<Ends>,
}

/// The matrices in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// N_Δ: Σ over samples of the rank of ℓ″.
    pub constraints: usize,
    /// Parameters less the units whose scale is free.
    pub effective: usize,
    /// Zero modes of H₀ beyond those that it must have.
    pub further_zero_modes: i64,
    /// The smallest eigenvalue of H₀ above 0, over its largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// √(mean λ²) of H_p over √L.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapse: Option<f64>,
    /// H, H₀, H_p and the Fisher matrix.
    pub spectra: Vec<Row>,
}

/// A spectrum in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Of which matrix.
    pub matrix: Which,
    /// By sign.
    #[serde(flatten)]
    pub counts: Counts,
    /// Smallest and largest.
    pub ends: [f64; 2],
    /// Sum of the diagonal.
    pub trace: f64,
}

/// What products tell, in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// Of which matrix.
    pub matrix: Which,
    /// The ends, with residuals.
    #[serde(flatten)]
    pub ends: Extremes,
    /// tr.
    pub trace: Option<Estimate>,
    /// Part of the eigenvalues below −λ_max/1000, where there can be some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negative: Option<Estimate>,
    /// Part within λ_max/1000 of 0.
    pub near_zero: Option<Estimate>,
}

impl Split {
    /// The spectra with their names.
    pub fn all(&self) -> [(Which, &Spectrum); 4] {
        [
            (Which::Hessian, &self.hessian),
            (Which::GaussNewton, &self.gauss_newton),
            (Which::Curvature, &self.curvature),
            (Which::Fisher, &self.fisher),
        ]
    }
}

impl Summary {
    pub(super) fn new(about: About, found: &Found) -> Self {
        let mut summary = Summary {
            words: String::new(),
            about,
            matrices: None,
            products: None,
        };
        match found {
            Found::Matrices(split) => summary.matrices = Some(Numbers::of(split)),
            Found::Products(probed) => summary.products = Some(Ends::of(probed)),
        }
        summary.words = summary.say();
        summary
    }

    fn say(&self) -> String {
        let about = &self.about;
        let place = match about.initial {
            true => "at its initial weights",
            false => "at the given weights",
        };
        let mut text = format!(
            "Of {} {place}, on {} of {}, the {} loss is {}.",
            about.network,
            counted(about.samples as u64, "training sample"),
            about.data,
            about.loss_name,
            pretty(about.loss)
        );
        if let Some(matrices) = &self.matrices {
            text += &matrices.say(about.parameters);
        }
        if let Some(products) = &self.products {
            text += &products.say(about.parameters);
        }
        if !about.frozen.is_empty() {
            let frozen = about.frozen.join(", and ");
            text += &format!("\n\nAs in evaluation, {frozen}.");
        }
        if about.initial {
            text += "\n\nThese are initial weights, and training changes all of this: give the file that `train` leaves as ‹weights FILE›.";
        }
        text
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for table in self.tables() {
            text += &table.to_text(width);
            text.push('\n');
        }
        let paragraphs: Vec<String> = self.words.split("\n\n").map(fill).collect();
        text + &paragraphs.join("\n")
    }

    /// The numbers.
    pub(super) fn tables(&self) -> Vec<Table> {
        let matrices = self.matrices.iter();
        let products = self.products.iter();
        let matrices = matrices.flat_map(|m| [m.table(), m.bounds()]);
        matrices.chain(products.map(Ends::table)).collect()
    }
}

impl Numbers {
    fn of(split: &Split) -> Self {
        let row = |(matrix, spectrum): (Which, &Spectrum)| Row {
            matrix,
            counts: spectrum.counts,
            ends: [
                spectrum.eigenvalues.last().copied().unwrap_or_default(),
                spectrum.eigenvalues.first().copied().unwrap_or_default(),
            ],
            trace: spectrum.trace,
        };
        Numbers {
            constraints: split.constraints,
            effective: split.effective,
            further_zero_modes: split.further_zero_modes(),
            gap: split.gauss_newton.gap(),
            collapse: split.collapse(),
            spectra: split.all().map(row).to_vec(),
        }
    }

    fn row(&self, which: Which) -> Option<&Row> {
        self.spectra.iter().find(|row| row.matrix == which)
    }

    fn say(&self, parameters: usize) -> String {
        let Some([h, h0, hp]) = [Which::Hessian, Which::GaussNewton, Which::Curvature]
            .map(|which| self.row(which))
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .and_then(|rows| <[&Row; 3]>::try_from(rows).ok())
        else {
            return String::new();
        };
        let counts = |row: &Row| {
            let Counts {
                negative,
                zero,
                positive,
                ..
            } = row.counts;
            format!(
                "{} negative, {} zero, {} positive",
                grouped(negative as u64),
                grouped(zero as u64),
                grouped(positive as u64)
            )
        };
        let mut text = format!(
            " Of {} eigenvalues of its Hessian {} % are negative ({}); they lie between {} and {}.",
            grouped(parameters as u64),
            pretty(100.0 * h.counts.negative_fraction()),
            counts(h),
            pretty(h.ends[0]),
            pretty(h.ends[1])
        );
        text += &format!(
            " H₀, its Gauss–Newton part, has rank {} of at most {}: {}, {}{}.",
            grouped((h0.counts.positive + h0.counts.negative) as u64),
            grouped(self.constraints.min(self.effective) as u64),
            counted(self.constraints as u64, "constraint"),
            counted(parameters as u64, "parameter"),
            match parameters - self.effective {
                0 => String::new(),
                units => format!(
                    " less {} whose scale is free",
                    counted(units as u64, "unit")
                ),
            }
        );
        text += &match hp.counts.zero == parameters {
            true => " H_p, the curvature of the outputs, is 0.".to_string(),
            false => format!(" H_p, the curvature of the outputs, has {}.", counts(hp)),
        };
        if hp.trace == 0.0 && hp.counts.zero < parameters {
            text += " Its trace is exactly 0: the outputs are linear in every single weight.";
        }
        text
    }

    fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("matrix", Left),
            ("λ < 0", Right),
            ("λ = 0", Right),
            ("λ > 0", Right),
            ("smallest", Right),
            ("largest", Right),
            ("trace", Right),
            ("0 up to", Right),
        ]);
        for row in &self.spectra {
            table.push([
                row.matrix.symbol().into(),
                row.counts.negative.into(),
                row.counts.zero.into(),
                row.counts.positive.into(),
                row.ends[0].into(),
                row.ends[1].into(),
                row.trace.into(),
                row.counts.tolerance.into(),
            ]);
        }
        table
    }

    /// What must hold, with how much room there is.
    fn bounds(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([("must hold", Left), ("left", Right), ("right", Right)]);
        let of = |which: Which| self.row(which).map(|row| row.counts);
        let (Some(h), Some(h0), Some(hp)) = (
            of(Which::Hessian),
            of(Which::GaussNewton),
            of(Which::Curvature),
        ) else {
            return table;
        };
        let rank = h0.positive + h0.negative;
        table.push([
            "rank H₀ ≤ min(N_Δ, N less free scales)".into(),
            rank.into(),
            self.constraints.min(self.effective).into(),
        ]);
        table.push([
            "N₋(H) ≤ N₋(H_p)".into(),
            h.negative.into(),
            hp.negative.into(),
        ]);
        table.push([
            "N₋(H_p) ≤ N₋(H) + rank H₀".into(),
            hp.negative.into(),
            (h.negative + rank).into(),
        ]);
        table
    }
}

impl Ends {
    fn of(probed: &Probed) -> Self {
        let Probed {
            which,
            ends,
            sampled,
        } = probed;
        let scale = ends
            .largest
            .iter()
            .chain(&ends.smallest)
            .fold(0.0, |m: f64, r| m.max(r.value.abs()));
        Ends {
            matrix: *which,
            ends: ends.clone(),
            trace: sampled.trace(),
            negative: sampled
                .below(-NEAR * scale)
                .filter(|_| !which.is_semidefinite()),
            near_zero: sampled.mean(|l| f64::from(l.abs() <= NEAR * scale)),
        }
    }

    fn say(&self, parameters: usize) -> String {
        let what = match self.matrix {
            Which::Hessian => "its Hessian",
            Which::GaussNewton => "the Gauss–Newton part H₀ of its Hessian",
            Which::Curvature => {
                "the part H_p of its Hessian that the curvature of the outputs adds"
            }
            Which::Fisher => "the mean F of g gᵀ over the gradients g of single samples",
        };
        let mut text = format!(" Of {} eigenvalues of {what}", grouped(parameters as u64));
        if let Some(largest) = self.ends.largest.first() {
            text += &format!(", the largest is {}", pretty(largest.value));
        }
        if let Some(smallest) = self.ends.smallest.first() {
            text += &format!(", the smallest {}", pretty(smallest.value));
        }
        text.push('.');
        if let Some(near) = self.near_zero {
            text += &format!(
                " {} % of them are smaller in size than a thousandth of the largest.",
                percent(near).pair()
            );
        }
        // More than can be chance.
        if let Some(negative) = self
            .negative
            .filter(|n| n.value > 3.0 * n.standard_error && n.value > 0.0)
        {
            text += &format!(
                " {} % are negative and larger than that.",
                percent(negative).pair()
            );
        }
        if !self.ends.converged {
            text +=
                " The ends have not all converged: an eigenvalue lies within the residual of each.";
        }
        text
    }

    fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("eigenvalue", Left),
            ("value", Right),
            ("one lies within", Right),
        ]);
        for (name, ends) in [
            ("largest", &self.ends.largest),
            ("smallest", &self.ends.smallest),
        ] {
            for (i, ritz) in ends.iter().enumerate() {
                table.push([
                    format!("{name} {}", i + 1).into(),
                    ritz.value.into(),
                    ritz.residual.into(),
                ]);
            }
        }
        if let Some(trace) = self.trace {
            table.push([
                "trace".into(),
                trace.into(),
                polariscope_report::Cell::Empty,
            ]);
        }
        table
    }
}

fn percent(part: Estimate) -> Estimate {
    Estimate {
        value: 100.0 * part.value,
        standard_error: 100.0 * part.standard_error,
        ..part
    }
}

/// A place of a density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// λ.
    pub at: f64,
    /// Part of the eigenvalues per unit of λ.
    pub density: Estimate,
}

impl Probed {
    /// Standard deviation of the Gaussian that the density is seen through.
    pub fn width(&self) -> f64 {
        let (low, high) = self.sampled.range();
        ((high - low) * WIDTH).max(f64::MIN_POSITIVE)
    }

    /// The density over its range.
    pub fn density(&self) -> Vec<Place> {
        let (low, high) = self.sampled.range();
        let width = self.width();
        let (low, high) = (low - BEYOND * width, high + BEYOND * width);
        let place = |k: i32| {
            let at = low + (high - low) * f64::from(k) / f64::from(PLACES);
            let density = self.sampled.density(at, width)?;
            Some(Place { at, density })
        };
        (0..=PLACES).filter_map(place).collect()
    }
}

impl Answer {
    /// Arrays and tables, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        match &self.found {
            Found::Matrices(split) => {
                let all = split.all();
                let rows: Vec<f64> = all
                    .iter()
                    .flat_map(|(_, s)| s.eigenvalues.clone())
                    .collect();
                let names: Vec<&str> = Which::ALL.iter().map(|(name, _)| *name).collect();
                let mut csv = names.join(",") + "\n";
                for i in 0..split.parameters {
                    let line: Vec<String> = all
                        .iter()
                        .map(|(_, s)| s.eigenvalues[i].to_string())
                        .collect();
                    csv += &(line.join(",") + "\n");
                }
                let shape = [all.len(), split.parameters];
                vec![
                    ("eigenvalues.npy", npy::encode(&shape, &rows)),
                    ("eigenvalues.csv", csv.into_bytes()),
                ]
            }
            Found::Products(probed) => {
                let mut ends = "end,value,residual\n".to_string();
                for (name, list) in [
                    ("largest", &probed.ends.largest),
                    ("smallest", &probed.ends.smallest),
                ] {
                    for ritz in list {
                        ends += &format!("{name},{},{}\n", ritz.value, ritz.residual);
                    }
                }
                let mut density = "eigenvalue,density,standard_error\n".to_string();
                for Place { at, density: d } in probed.density() {
                    density += &format!("{at},{},{}\n", d.value, d.standard_error);
                }
                vec![
                    ("eigenvalues.csv", ends.into_bytes()),
                    ("density.csv", density.into_bytes()),
                ]
            }
        }
    }
}
