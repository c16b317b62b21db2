//! What comes of it: levels in numbers and words.

use polariscope_data::npy;
use polariscope_report::{Align, Cell, Table, fill, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{Band, Product, Profile, Spectrum, System, words};

/// Rows in a terminal.
const ROWS: usize = 20;
/// Longer vectors of degrees are cut after their last degree above 0.
const LONG: usize = 8;

/// A level of which more than this part is missed does not count as learnt.
const HALF: f64 = 0.5;

/// What every table of levels begins with.
const HEADINGS: [&str; 6] = [
    "order",
    "degrees",
    "eigenvalue",
    "multiplicity",
    "samples",
    "time",
];

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The spectrum asked for.
    pub spectrum: Spectrum,
    /// Those of the other systems, for comparison.
    pub others: Vec<Spectrum>,
    /// Of the Gram matrix over m, largest first; empty without points.
    pub eigenvalues: Vec<f64>,
    /// In words and numbers.
    pub levels: Levels,
}

impl Answer {
    /// Arrays and tables, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut files = vec![("levels.csv", self.levels.csv().into_bytes())];
        if !self.eigenvalues.is_empty() {
            let shape = [self.eigenvalues.len()];
            let values = npy::encode(&shape, &self.eigenvalues);
            files.push(("eigenvalues.npy", values));
        }
        files
    }
}

/// The levels of a spectrum and what they say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Levels {
    /// The finding.
    pub words: String,
    /// FCN, VEC or GAP.
    pub system: System,
    /// p, d0, s.
    pub product: Product,
    /// Name of k.
    pub kernel: String,
    /// Degrees up to this order are listed.
    pub order: usize,
    /// Samples that the words are about.
    pub samples: usize,
    /// E K(ξ, ξ), where it has a closed form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<f64>,
    /// Its listed part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// First levels that the samples teach: enough samples to count their directions, and no more than half
    /// missed where that is foretold.
    pub learnt: usize,
    /// Largest eigenvalue first.
    pub levels: Vec<Row>,
    /// Of the Gram matrix.
    #[serde(default)]
    pub plateaus: Vec<Plateau>,
}

/// A level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// |r⃗|.
    pub order: usize,
    /// One of its r⃗.
    pub degrees: Vec<usize>,
    /// λ.
    pub eigenvalue: f64,
    /// Independent eigenfunctions.
    pub multiplicity: u64,
    /// Samples that it needs, if any number suffices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_needed: Option<u64>,
    /// ηt that it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// λ as sampled points show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Estimate>,
    /// Part of its variance that theory expects the samples to miss, where the trace is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// Part that regression missed, where it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Estimate>,
}

impl Row {
    /// Under the headings.
    fn cells(&self) -> [Cell; 6] {
        [
            self.order.into(),
            vector(&self.degrees).into(),
            self.eigenvalue.into(),
            self.multiplicity.into(),
            self.samples_needed.into(),
            self.time.into(),
        ]
    }

    /// Standard errors between theory and sampled points.
    pub fn apart(&self) -> Option<f64> {
        // Where the kernel is fitted without rest its error is rounding.
        let error = |e: Estimate| e.standard_error.max(1e-15 * self.eigenvalue.abs());
        let sampled = self.sampled?;
        Some((sampled.value - self.eigenvalue).abs() / error(sampled))
    }
}

/// Levels that the Gram matrix shows as one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plateau {
    /// Lowest and highest order in it.
    pub orders: (usize, usize),
    /// Eigenvalues in it.
    pub multiplicity: u64,
    /// Mean of λ.
    pub eigenvalue: f64,
    /// Mean that so many points should show.
    pub expected: Estimate,
    /// Mean of the Gram matrix.
    pub gram: f64,
}

impl Plateau {
    /// A band of the spectrum beside the eigenvalues.
    pub(super) fn new(band: &Band, spectrum: &Spectrum, eigenvalues: &[f64]) -> Self {
        let orders = spectrum.levels[band.levels.clone()].iter().map(|l| l.order);
        let lowest = orders.clone().min().unwrap_or(0);
        Self {
            orders: (lowest, orders.max().unwrap_or(0)),
            multiplicity: band.indices.len() as u64,
            eigenvalue: band.eigenvalue,
            expected: band.expected,
            gram: band.mean(eigenvalues),
        }
    }
}

impl Levels {
    /// Theory alone.
    pub(super) fn new(spectrum: &Spectrum, profile: &Profile, samples: usize) -> Self {
        // TOML holds no larger integers.
        let whole = |n: u64| n.min(i64::MAX as u64);
        let missed = (samples > 0)
            .then(|| spectrum.error(samples as u64))
            .flatten();
        let half = |missed: &Vec<f64>| missed.iter().take_while(|e| **e < HALF).count();
        let found = missed.as_ref().map_or(usize::MAX, half);
        let rows = spectrum.levels.iter().zip(spectrum.needs()).enumerate();
        let levels = rows.map(|(i, (level, need))| Row {
            order: level.order,
            degrees: level.degrees.clone(),
            eigenvalue: level.eigenvalue,
            multiplicity: whole(level.multiplicity),
            samples_needed: need.samples.map(whole),
            time: need.time,
            sampled: None,
            predicted: missed.as_ref().map(|e| e[i]),
            error: None,
        });
        Self {
            words: String::new(),
            system: spectrum.system,
            product: spectrum.product,
            kernel: profile.name().to_string(),
            order: spectrum.order,
            samples,
            trace: spectrum.trace,
            share: spectrum.share(),
            learnt: spectrum.learnt(samples as u64).min(found),
            levels: levels.collect(),
            plateaus: Vec::new(),
        }
    }

    /// Puts the numbers into words.
    pub(super) fn say(&mut self) {
        self.words = words::words(self);
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let p = self.product;
        let mut text = format!(
            "{} with the {} kernel, p = {}, d0 = {}, s = {}\n\n",
            self.system.name(),
            self.kernel,
            p.p(),
            p.d0(),
            p.s()
        );
        text += &self.table(ROWS).to_text(width);
        if self.levels.len() > ROWS {
            text += &format!("… and {} more in levels.csv\n", self.levels.len() - ROWS);
        }
        for table in [self.class_table(), self.lesson_table()]
            .into_iter()
            .flatten()
        {
            text += &format!("\n{}", table.to_text(width));
        }
        if !self.plateaus.is_empty() {
            text += &format!("\n{}", self.plateau_table().to_text(width));
        }
        for paragraph in self.words.split("\n\n") {
            text.push('\n');
            text += &fill(paragraph);
        }
        text
    }

    /// Every level, to the last bit.
    pub(super) fn csv(&self) -> String {
        let mut columns = HEADINGS.to_vec();
        columns.extend(["missed", "sampled", "regression"]);
        let mut table = Table::new(columns.into_iter().map(|c| (c, Align::Right)));
        for row in &self.levels {
            let own = [row.sampled.into(), row.error.into()];
            table.push(
                row.cells()
                    .into_iter()
                    .chain([row.predicted.into()])
                    .chain(own),
            );
        }
        table.to_csv()
    }

    /// The first `most` levels.
    pub(super) fn table(&self, most: usize) -> Table {
        let predicted = self.levels.iter().any(|l| l.predicted.is_some());
        let mut columns = HEADINGS.to_vec();
        if predicted {
            columns.push("missed");
        }
        // A column of words would be cut where the terminal is narrow; the degrees must stay whole.
        let mut table = Table::new(columns.into_iter().map(|c| (c, Align::Right)));
        for row in self.levels.iter().take(most) {
            table.push(row.cells().into_iter().chain([row.predicted.into()]));
        }
        table
    }

    /// Classes beside what sampled points show, where they were drawn.
    pub(super) fn class_table(&self) -> Option<Table> {
        use Align::Right;
        let columns = ["order", "degrees", "eigenvalue", "sampled", "apart"];
        let mut table = Table::new(columns.map(|c| (c, Right)));
        for row in &self.levels {
            if let Some(sampled) = row.sampled {
                table.push([
                    row.order.into(),
                    vector(&row.degrees).into(),
                    row.eigenvalue.into(),
                    sampled.pair().into(),
                    row.apart().map(|x| format!("{x:.1} σ")).into(),
                ]);
            }
        }
        (!table.is_empty()).then_some(table)
    }

    /// What regression missed beside what was foretold, where it was tried.
    pub(super) fn lesson_table(&self) -> Option<Table> {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("degrees", Left),
            ("variance missed", Right),
            ("foretold", Right),
        ]);
        for row in &self.levels {
            if let Some(error) = row.error {
                let degrees = vector(&row.degrees);
                table.push([degrees.into(), error.pair().into(), row.predicted.into()]);
            }
        }
        (!table.is_empty()).then_some(table)
    }

    /// Plateaus of the Gram matrix.
    pub(super) fn plateau_table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("orders", Left),
            ("eigenvalues", Right),
            ("theory", Right),
            ("with so many points", Right),
            ("Gram matrix", Right),
        ]);
        for plateau in &self.plateaus {
            let (low, high) = plateau.orders;
            let orders = match low == high {
                true => low.to_string(),
                false => format!("{low} to {high}"),
            };
            table.push([
                orders.into(),
                plateau.multiplicity.into(),
                plateau.eigenvalue.into(),
                plateau.expected.pair().into(),
                pretty(plateau.gram).into(),
            ]);
        }
        table
    }
}

/// `(2,1,0,0)`.
pub fn vector(degrees: &[usize]) -> String {
    let used = degrees.iter().rposition(|&r| r > 0).map_or(1, |i| i + 1);
    let cut = degrees.len() > LONG && used < degrees.len();
    let shown = if cut { &degrees[..used] } else { degrees };
    let mut words: Vec<String> = shown.iter().map(usize::to_string).collect();
    if cut {
        words.push("…".into());
    }
    format!("({})", words.join(","))
}
