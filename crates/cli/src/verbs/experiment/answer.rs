//! The `[result]` of `run.toml`: verdicts, and the means in a few rows.

use polariscope_experiment::{Grid, Outcome, Table, Verdict, View};
use polariscope_report::{Align, Table as Rows, counted, fill, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use crate::output;
use crate::run::Shown;

/// What came of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// In words.
    pub words: String,
    /// Rows of the table.
    pub cells: usize,
    /// Claims that hold.
    pub holds: usize,
    /// Claims whose opposite is shown.
    pub fails: usize,
    /// Claims that more runs would decide.
    pub undecided: usize,
    /// Claim by claim.
    pub verdicts: Vec<Judged>,
    /// Means.
    pub summary: Grid,
}

/// A verdict, as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judged {
    /// The claim.
    pub claim: String,
    /// `holds`, `fails` or `undecided`.
    pub outcome: String,
    /// What decides.
    pub rule: String,
    /// The statistic, where its rows are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistic: Option<f64>,
    /// Its standard error over runs, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
}

impl From<&Verdict> for Judged {
    fn from(verdict: &Verdict) -> Self {
        Judged {
            claim: verdict.words.clone(),
            outcome: verdict.outcome.word().to_string(),
            rule: verdict.rule.clone(),
            statistic: verdict.statistic.map(|s| s.value),
            standard_error: verdict.statistic.and_then(|s| s.standard_error),
        }
    }
}

impl Judged {
    /// `0.053 ± 0.004`.
    fn shown(&self) -> String {
        match (self.statistic, self.standard_error) {
            (Some(value), Some(error)) if error > 0.0 => Estimate {
                value,
                standard_error: error,
                samples: 0,
            }
            .pair(),
            (Some(value), _) => pretty(value),
            (None, _) => String::new(),
        }
    }
}

impl Answer {
    /// Counts, and says what the view says.
    pub fn new(view: &dyn View, table: &Table, verdicts: &[Verdict]) -> Self {
        let count = |outcome| verdicts.iter().filter(|v| v.outcome == outcome).count();
        let (holds, fails) = (count(Outcome::Holds), count(Outcome::Fails));
        let undecided = count(Outcome::Undecided);
        let mut words = format!(
            "{holds} of {} hold, {fails} fail, {undecided} stay undecided.",
            counted(verdicts.len() as u64, "claim")
        );
        let wrong = verdicts.iter().filter(|v| v.outcome == Outcome::Fails);
        let wrong: Vec<&str> = wrong.map(|v| v.words.as_str()).collect();
        if !wrong.is_empty() {
            words += &format!(" Shown wrong: {}.", wrong.join("; "));
        }
        Answer {
            words: format!("{}\n\n{words}", view.words(table)),
            cells: table.rows.len(),
            holds,
            fails,
            undecided,
            verdicts: verdicts.iter().map(Judged::from).collect(),
            summary: view.summary(table),
        }
    }

    /// Claims with their statistics.
    pub fn claims(&self) -> Rows {
        use Align::{Left, Right};
        let mut table = Rows::new([
            ("claim", Left),
            ("statistic", Right),
            ("verdict", Left),
            ("rule", Left),
        ]);
        for v in &self.verdicts {
            table.push([
                v.claim.as_str().into(),
                v.shown().into(),
                v.outcome.as_str().into(),
                v.rule.as_str().into(),
            ]);
        }
        table
    }

    /// Means.
    pub fn means(&self) -> Rows {
        let columns = self.summary.columns.iter().enumerate();
        let columns = columns.map(|(i, name)| {
            let align = if i == 0 { Align::Left } else { Align::Right };
            (name.as_str(), align)
        });
        let mut table = Rows::new(columns);
        for row in &self.summary.rows {
            table.push(row.iter().map(|cell| cell.as_str().into()));
        }
        table
    }
}

impl Shown for Answer {
    fn text(&self, directory: &str) -> String {
        let mut verdicts = Rows::new([
            ("claim", Align::Left),
            ("statistic", Align::Right),
            ("verdict", Align::Left),
        ]);
        for v in &self.verdicts {
            verdicts.push([
                v.claim.as_str().into(),
                v.shown().into(),
                v.outcome.as_str().into(),
            ]);
        }
        let words: String = self.words.split("\n\n").map(fill).collect();
        format!(
            "{}\n{}\n{words}table.csv and report.html in {directory}\n",
            self.means().to_text(output::WIDTH),
            verdicts.to_text(output::WIDTH),
        )
    }
}
