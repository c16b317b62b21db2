//! Claims: a sentence and the statistic that decides it, both written before any number is known.

use crate::{Mean, Order, Select, Table};
use crate::{judge, order};

/// A sentence and the statistic that decides it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// In words.
    pub words: String,
    /// How it is tested.
    pub test: Test,
}

/// A statistic.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A measure is larger in one condition than in another.
    Above {
        /// Which measure.
        measure: &'static str,
        /// Where it should be larger.
        upper: Select,
        /// Where it should be smaller.
        lower: Select,
    },
    /// A measure is the same in several conditions.
    Equal {
        /// Which measure.
        measure: &'static str,
        /// The conditions; two at least.
        conditions: Vec<Select>,
        /// Largest difference.
        tolerance: f64,
    },
    /// A measure rises along conditions, or falls.
    Trend {
        /// Which measure.
        measure: &'static str,
        /// Conditions in order.
        along: Vec<Select>,
        /// 1 where it should rise, −1 where it should fall.
        sign: f64,
    },
    /// A weighted sum over conditions, such as a difference of differences or of slopes.
    Contrast {
        /// Which measure.
        measure: &'static str,
        /// Whether the sum is over the measure or over its logarithm.
        scale: Scale,
        /// Weights and conditions.
        terms: Vec<(f64, Select)>,
        /// What the sum should be.
        wanted: Wanted,
    },
    /// Largest less smallest mean over conditions.
    Range {
        /// Which measure.
        measure: &'static str,
        /// The conditions.
        along: Vec<Select>,
        /// How far they should be apart.
        wanted: Wanted,
    },
    /// A measure without chance in it is what it should be, in every row.
    Certain {
        /// Which measure.
        measure: &'static str,
        /// The conditions.
        at: Select,
        /// What it should be.
        wanted: Wanted,
    },
    /// Two measures go together over conditions: Spearman's ρ of their means over runs.
    Together {
        /// The one.
        x: &'static str,
        /// The other.
        y: &'static str,
        /// The conditions.
        along: Vec<Select>,
        /// ρ should be at least this; 0 for any sign of life.
        least: f64,
    },
    /// A measure orders conditions as another does, which must tell them apart.
    Orders {
        /// The measure that predicts.
        x: &'static str,
        /// What it predicts, and where.
        order: Order,
    },
    /// A measure orders conditions better than another does.
    OrdersBetter {
        /// The measure that should be ahead.
        x: &'static str,
        /// The other.
        other: &'static str,
        /// What both predict, and where.
        order: Order,
    },
    /// Deviations from theory in units of their standard errors are as large as chance makes them.
    Scatter {
        /// The measure that holds (found − theory)/error.
        measure: &'static str,
        /// The conditions.
        at: Select,
    },
}

/// What is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The measure.
    Linear,
    /// Its natural logarithm.
    Log,
}

/// What a weighted sum should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// Above 0.
    Positive,
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
    /// A number.
    Near {
        /// That number.
        value: f64,
        /// How far away is near.
        tolerance: f64,
    },
}

/// A claim about the mean of a measure in one condition.
pub fn level(measure: &'static str, at: Select, wanted: Wanted) -> Test {
    Test::Contrast {
        measure,
        scale: Scale::Linear,
        terms: vec![(1.0, at)],
        wanted,
    }
}

/// Terms of the exponent of a power law y = c xᵃ, by least squares of ln y on ln x: a contrast on [`Scale::Log`].
///
/// ```
/// use polariscope_experiment::{Select, exponent};
/// let at = |m| Select::of(&[("m", m)]);
/// // Two points: a = (ln y₂ − ln y₁)/ln 4.
/// let terms = exponent(&[(1.0, at("1")), (4.0, at("4"))]);
/// assert!((terms[1].0 - 1.0 / 4f64.ln()).abs() < 1e-15 && terms[0].0 == -terms[1].0);
/// ```
pub fn exponent(points: &[(f64, Select)]) -> Vec<(f64, Select)> {
    let n = points.len() as f64;
    let mean = points.iter().map(|(x, _)| x.ln()).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|(x, _)| (x.ln() - mean).powi(2)).sum();
    let term = |(x, select): &(f64, Select)| ((x.ln() - mean) / spread, select.clone());
    points.iter().map(term).collect()
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Shown.
    Holds,
    /// The opposite is shown.
    Fails,
    /// Neither.
    Undecided,
}

impl Outcome {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "fails",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A judged claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The claim in words.
    pub words: String,
    /// The statistic; `None` where its rows are missing.
    pub statistic: Option<Mean>,
    /// What it is, and what decides.
    pub rule: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl Claim {
    /// A claim.
    pub fn new(words: impl Into<String>, test: Test) -> Self {
        let words = words.into();
        Claim { words, test }
    }

    /// Judges from the table; a claim whose rows are missing is undecided.
    pub fn judge(&self, table: &Table) -> Verdict {
        let judged = match &self.test {
            Test::Above {
                measure,
                upper,
                lower,
            } => judge::above(table, measure, upper, lower),
            Test::Equal {
                measure,
                conditions,
                tolerance,
            } => judge::equal(table, measure, conditions, *tolerance),
            Test::Trend {
                measure,
                along,
                sign,
            } => judge::trend(table, measure, along, *sign),
            Test::Contrast {
                measure,
                scale,
                terms,
                wanted,
            } => judge::contrast(table, (measure, *scale), terms, *wanted),
            Test::Range {
                measure,
                along,
                wanted,
            } => judge::range(table, measure, along, *wanted),
            Test::Certain {
                measure,
                at,
                wanted,
            } => judge::certain(table, measure, at, *wanted),
            Test::Together { x, y, along, least } => judge::together(table, x, y, along, *least),
            Test::Orders { x, order } => order::orders(table, x, order),
            Test::OrdersBetter { x, other, order } => order::better(table, x, other, order),
            Test::Scatter { measure, at } => judge::scatter(table, measure, at),
        };
        Verdict {
            words: self.words.clone(),
            statistic: judged.statistic,
            rule: judged.rule,
            outcome: judged.outcome,
        }
    }
}
