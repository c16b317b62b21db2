//! `report.html` of a training run.

use polariscope_report::{Align, Axis, Page, Plot, Section, Series, Table};

use super::Answer;
use super::answer::Point;
use super::scores::percent;

/// Most rows that the table shows; history.csv has all.
const ROWS: usize = 40;

/// The page.
pub fn page(answer: &Answer, settings: Vec<(String, String)>) -> Page {
    let Answer { network, data, .. } = answer;
    let asked = format!("How well does {network} learn the data “{data}”?");
    let mut page = Page::new(
        format!("{network} trained"),
        asked,
        answer.summary.sentence(),
    );
    let points = answer.history.points();
    page.push(curves(answer, &points));
    page.push(history(answer, &points));
    if let Some(tangent) = &answer.tangent {
        page.push(tangent.section(&answer.history.axis()));
    }
    page.configure(settings);
    page
}

/// Losses and accuracies over the run.
fn curves(answer: &Answer, points: &[Point]) -> Section {
    let loss = Plot {
        title: "Loss".into(),
        x: answer.history.axis(),
        y: Axis::log(&answer.loss),
        series: series(points, |p| Some(p.train_loss), |p| p.test_loss),
    };
    let section =
        Section::new("Learning curves").figure("loss", loss.draw(), answer.history.caption());
    if points.iter().all(|p| p.train_accuracy.is_none()) {
        return section;
    }
    let accuracy = Plot {
        title: "Accuracy".into(),
        x: answer.history.axis(),
        y: Axis::linear("% in their class"),
        series: series(
            points,
            |p| p.train_accuracy.map(|a| 100.0 * a),
            |p| p.test_accuracy.map(|a| 100.0 * a),
        ),
    };
    let caption = "Samples put into their class. One run.";
    section.figure("accuracy", accuracy.draw(), caption)
}

fn series(
    points: &[Point],
    train: fn(&Point) -> Option<f64>,
    test: fn(&Point) -> Option<f64>,
) -> Vec<Series> {
    let curve = |label: &str, value: fn(&Point) -> Option<f64>| {
        let points = points.iter().filter_map(|p| Some((p.x, value(p)?)));
        Series::line(label, points.collect())
    };
    let both = [curve("training", train), curve("test", test)];
    both.into_iter().filter(|s| !s.points.is_empty()).collect()
}

/// The table, thinned evenly where it is long.
fn history(answer: &Answer, points: &[Point]) -> Section {
    use Align::Right;
    let mut table = Table::new([
        (answer.history.axis().label.as_str(), Right),
        ("train loss", Right),
        ("train %", Right),
        ("test loss", Right),
        ("test %", Right),
    ]);
    let count = points.len();
    let every = count.div_ceil(ROWS).max(1);
    let shown = (0..count).filter(|i| (count - 1 - i).is_multiple_of(every));
    for p in shown.map(|i| points[i]) {
        table.push([
            p.x.into(),
            p.train_loss.into(),
            p.train_accuracy.map(percent).into(),
            p.test_loss.into(),
            p.test_accuracy.map(percent).into(),
        ]);
    }
    let mut prose = "% is the share of samples put into their class.".to_string();
    if every > 1 {
        prose += &format!(" One row in {every} of {count}, up to the last; history.csv has all.");
    }
    Section::new("History").prose(prose).table(table)
}
