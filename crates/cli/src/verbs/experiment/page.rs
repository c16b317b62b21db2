//! `report.html`: the verdict, the figures, every claim with its statistic.

use polariscope_experiment::{Table, View};
use polariscope_report::{Page, Section, grouped};

use super::answer::Answer;
use crate::run::Request;
use crate::verbs::geometry::command;

/// The page.
pub fn page(view: &dyn View, table: &Table, answer: &Answer, request: &Request) -> Page {
    let mut page = Page::new(view.title(), view.asked(), answer.words.clone());
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
    for section in view.figures(table) {
        page.push(section);
    }
    page.push(
        Section::new("Claims and verdicts")
            .prose(
                "The claims and the statistics that decide them stand in the program, fixed before the run. A difference or a \
                 slope is taken in every run, where the conditions share samples and weights; ± is the standard error \
                 of its mean over runs.",
            )
            .table(answer.claims()),
    );
    page.push(
        Section::new("Means")
            .prose("Means over runs ± a standard error. table.csv holds every cell of every run.")
            .table(answer.means()),
    );
    page.push(Section::new("Again").command(command(request)));
    page.configure(request.settings());
    page
}
