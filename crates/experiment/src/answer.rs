//! What came of an experiment: a sentence that answers its question, verdicts, and the means in a few rows.

use polariscope_report::{Align, Table as Rows, counted, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use crate::{Grid, Outcome, Table, Verdict, View};

/// Claims that hold, or that are open, are named up to this many, else counted. Those shown wrong are always named.
const NAMED: usize = 3;

/// The answers of an experiment where its claims agree, each a sentence. In between the verdicts speak for themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Where every claim holds.
    pub yes: String,
    /// Where the opposite of every claim is shown.
    pub no: String,
}

impl Answers {
    /// Two sentences.
    pub fn new(yes: impl Into<String>, no: impl Into<String>) -> Self {
        let (yes, no) = (yes.into(), no.into());
        Answers { yes, no }
    }

    /// What the verdicts carry, and no more.
    pub fn sentence(&self, verdicts: &[Verdict]) -> String {
        let of = |outcome: Outcome| -> Vec<&str> {
            let those = verdicts.iter().filter(|v| v.outcome == outcome);
            those.map(|v| v.words.as_str()).collect()
        };
        let [holds, fails, open] = [Outcome::Holds, Outcome::Fails, Outcome::Undecided].map(of);
        let all = verdicts.len();
        let claims = counted(all as u64, "claim");
        match (holds.len(), fails.len(), open.len()) {
            (_, 0, 0) if all > 0 => self.yes.clone(),
            (0, _, 0) if all > 0 => self.no.clone(),
            (0, 0, _) if all < 2 => "This stays open: these runs do not decide it.".into(),
            (0, 0, _) => {
                format!("This stays open: of {claims} these runs decide none, and more would tell.")
            }
            (h, ..) => {
                let mut parts = Vec::new();
                match h {
                    0 => {}
                    h if h <= NAMED => parts.push(format!("it holds that {}", quoted(&holds))),
                    h => parts.push(format!("{h} of {claims} hold")),
                }
                if !fails.is_empty() {
                    parts.push(format!("it is shown wrong that {}", quoted(&fails)));
                }
                match open.len() {
                    0 => {}
                    n if n <= NAMED => {
                        parts.push(format!("it stays open whether {}", quoted(&open)));
                    }
                    n => parts.push(format!("{n} stay open")),
                }
                let first = if h > 0 { "In part" } else { "Not so far" };
                format!("{first}: {}.", parts.join("; "))
            }
        }
    }
}

/// “a”, “b” and “c”.
fn quoted(claims: &[&str]) -> String {
    let all: Vec<String> = claims.iter().map(|c| format!("“{c}”")).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// What came of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// In words: the answer, what the numbers say, how many claims hold.
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
    pub verdicts: Vec<Judgement>,
    /// Means.
    pub summary: Grid,
}

/// A verdict, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The claim.
    pub claim: String,
    /// `holds`, `fails` or `undecided`.
    pub outcome: String,
    /// What decides.
    pub rule: String,
    /// The statistic, where its rows are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<f64>,
    /// Its standard error over runs, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
}

impl From<&Verdict> for Judgement {
    fn from(verdict: &Verdict) -> Self {
        Judgement {
            claim: verdict.words.clone(),
            outcome: verdict.outcome.word().to_string(),
            rule: verdict.rule.clone(),
            statistic: verdict.statistic.map(|s| s.value),
            standard_error: verdict.statistic.and_then(|s| s.standard_error),
        }
    }
}

impl Judgement {
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
    /// Answers from a table and what was judged from it.
    pub fn new<V: View + ?Sized>(view: &V, table: &Table, verdicts: &[Verdict]) -> Self {
        let count = |outcome| verdicts.iter().filter(|v| v.outcome == outcome).count();
        let (holds, fails) = (count(Outcome::Holds), count(Outcome::Fails));
        let undecided = count(Outcome::Undecided);
        let mut counts = format!(
            "{holds} of {} hold, {fails} fail, {undecided} stay undecided.",
            counted(verdicts.len() as u64, "claim")
        );
        let wrong = verdicts.iter().filter(|v| v.outcome == Outcome::Fails);
        let wrong: Vec<&str> = wrong.map(|v| v.words.as_str()).collect();
        if !wrong.is_empty() {
            counts += &format!(" Shown wrong: {}.", wrong.join("; "));
        }
        let words = [view.answers().sentence(verdicts), view.words(table), counts];
        let words = words.into_iter().filter(|w| !w.is_empty());
        Answer {
            words: words.collect::<Vec<_>>().join("\n\n"),
            cells: table.rows.len(),
            holds,
            fails,
            undecided,
            verdicts: verdicts.iter().map(Judgement::from).collect(),
            summary: view.summary(table),
        }
    }

    /// The sentence that answers the question.
    pub fn sentence(&self) -> &str {
        self.words.split("\n\n").next().unwrap_or_default()
    }

    /// Claims with their statistics and verdicts.
    pub fn verdicts(&self) -> Rows {
        use Align::{Left, Right};
        let mut table = Rows::new([("claim", Left), ("statistic", Right), ("verdict", Left)]);
        for v in &self.verdicts {
            table.push([
                v.claim.as_str().into(),
                v.shown().into(),
                v.outcome.as_str().into(),
            ]);
        }
        table
    }

    /// The same with the rules.
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
