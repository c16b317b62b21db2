//! `report.html` of a training run.

use polariscope_report::{Align, Axis, Page, Plot, Section, Series, Table, grouped, pretty};
use polariscope_train::{Config, Row};

use super::Trained;
use super::problem::Problem;
use crate::progress::duration;
use crate::run::Request;

/// Rows that the table shows; history.csv has all.
const ROWS: usize = 50;

/// The page.
pub(super) fn page(
    problem: &Problem,
    config: &Config,
    history: &[Row],
    trained: &Trained,
    request: &Request,
) -> Page {
    let graph = &problem.graph;
    let asked = format!("How well does {} learn {}?", graph.name, problem.data.name);
    let judged = match (trained.test_accuracy, trained.train_accuracy) {
        (Some(test), _) => format!(
            "puts {} % of {} test samples into their class",
            percent(test),
            grouped(trained.test_samples as u64)
        ),
        (None, Some(train)) => format!(
            "puts {} % of its training samples into their class",
            percent(train)
        ),
        (None, None) => match trained.test_loss {
            Some(loss) => format!("has a test loss of {}", pretty(loss)),
            None => format!("has a training loss of {}", pretty(trained.train_loss)),
        },
    };
    let answer = format!(
        "After {} epochs ({} steps) it {judged}; its training loss is {}. One run, {} an epoch.",
        trained.epochs,
        grouped(trained.steps),
        pretty(trained.train_loss),
        duration(trained.seconds_an_epoch)
    );
    let mut page = Page::new(format!("{} trained", graph.name), asked, answer);
    let caption = "Training numbers are means over the epoch as the run met its batches, before each update; \
                   test numbers are of the weights at the end of the epoch. One run.";
    let loss = Plot {
        title: "Loss".into(),
        x: Axis::linear("epoch"),
        y: Axis::log(config.loss.to_string()),
        series: curves(history, |r| Some(r.train_loss), |r| r.test_loss),
    };
    let mut section = Section::new("Learning curves").figure("loss", loss.draw(), caption);
    if history.iter().any(|r| r.train_accuracy.is_some()) {
        let accuracy = Plot {
            title: "Accuracy".into(),
            x: Axis::linear("epoch"),
            y: Axis::linear("fraction in its class"),
            series: curves(history, |r| r.train_accuracy, |r| r.test_accuracy),
        };
        section = section.figure(
            "accuracy",
            accuracy.draw(),
            "Fraction of samples put into their class. One run.",
        );
    }
    page.push(section);
    page.push(table(history));
    page.configure(request.settings());
    page
}

/// A fraction as a percentage to two decimals.
fn percent(fraction: f64) -> String {
    pretty((fraction * 1e4).round() / 100.0)
}

fn curves(
    history: &[Row],
    train: fn(&Row) -> Option<f64>,
    test: fn(&Row) -> Option<f64>,
) -> Vec<Series> {
    let curve = |label: &str, value: fn(&Row) -> Option<f64>| {
        let points = history
            .iter()
            .filter_map(|r| Some((r.epoch as f64, value(r)?)));
        Series::line(label, points.collect())
    };
    let both = [curve("training", train), curve("test", test)];
    both.into_iter().filter(|s| !s.points.is_empty()).collect()
}

fn table(history: &[Row]) -> Section {
    use Align::Right;
    let mut table = Table::new([
        ("epoch", Right),
        ("train loss", Right),
        ("train accuracy", Right),
        ("test loss", Right),
        ("test accuracy", Right),
    ]);
    let shown = &history[history.len().saturating_sub(ROWS)..];
    for row in shown {
        table.push([
            row.epoch.into(),
            row.train_loss.into(),
            row.train_accuracy.into(),
            row.test_loss.into(),
            row.test_accuracy.into(),
        ]);
    }
    let section = Section::new("History");
    let section = if shown.len() < history.len() {
        section.prose(format!(
            "The last {ROWS} of {} rows; history.csv has all.",
            history.len()
        ))
    } else {
        section
    };
    section.table(table)
}
