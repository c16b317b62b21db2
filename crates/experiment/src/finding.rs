//! The table of an experiment with all that was made from it, and the page that shows it.

use polariscope_report::{Page, Section, grouped};

use crate::{Answer, Table};

/// What an experiment found.
#[derive(Debug)]
pub struct Finding {
    /// Heading of the page.
    pub title: String,
    /// What is asked.
    pub asked: String,
    /// What was measured.
    pub table: Table,
    /// The same with numbers that need no measuring, where there are some.
    pub scores: Option<Table>,
    /// What came of it.
    pub answer: Answer,
    /// Figures.
    pub figures: Vec<Section>,
}

impl Finding {
    /// The verdict, the figures, every claim with its statistic; `settings` and `command` say how it was made.
    pub fn page(&self, settings: Vec<(String, String)>, command: String) -> Page {
        let (answer, table) = (&self.answer, self.scores.as_ref().unwrap_or(&self.table));
        let mut page = Page::new(&self.title, &self.asked, answer.words.clone());
        let conditions = table.rows.iter().map(|row| &row.levels);
        let of = |levels: &Vec<String>| table.rows.iter().filter(|r| r.levels == *levels).count();
        let runs = conditions.map(of).min().unwrap_or(0) as u64;
        let what = if runs == 1 { "run" } else { "runs" };
        page.facts([
            (
                format!("{} of {}", answer.holds, answer.verdicts.len()),
                "claims hold".to_string(),
            ),
            (answer.fails.to_string(), "are shown wrong".to_string()),
            (answer.undecided.to_string(), "stay undecided".to_string()),
            (grouped(runs), format!("{what} of every condition")),
        ]);
        for section in &self.figures {
            page.push(section.clone());
        }
        page.push(
            Section::new("Claims and verdicts")
                .prose(
                    "The claims and the statistics that decide them stand in the program, fixed before the run. A difference \
                     or a slope is taken in every run, where the conditions share samples and weights; ± is the standard \
                     error of its mean over runs, and it is judged by Student's t for these runs, at the level of 95 %, \
                     two-sided.",
                )
                .table(answer.claims()),
        );
        page.push(
            Section::new("Means")
                .prose(
                    "Means over runs ± a standard error. table.csv holds every cell of every run.",
                )
                .table(answer.means()),
        );
        page.push(Section::reproduce(command));
        page.configure(settings);
        page
    }
}
