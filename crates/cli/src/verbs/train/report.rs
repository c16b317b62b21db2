//! `report.html` of a training run.

use polariscope_report::{Align, Axis, Page, Plot, Section, Series, Table};

use super::scores::percent;
use crate::run::Request;
use polariscope_train::Problem;

/// Most rows that the table shows; history.csv has all.
const ROWS: usize = 40;

/// A row of either history.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Epoch or flow time.
    pub x: f64,
    pub train_loss: f64,
    pub train_accuracy: Option<f64>,
    pub test_loss: Option<f64>,
    pub test_accuracy: Option<f64>,
}

/// Learning curves and how to read them.
pub struct Curves {
    /// What the points are plotted over.
    pub x: Axis,
    /// What the loss is called.
    pub loss: String,
    /// When the numbers were taken.
    pub caption: &'static str,
    /// Row by row.
    pub points: Vec<Point>,
}

impl Curves {
    /// The page.
    pub fn page(&self, problem: &Problem, answer: String, request: &Request) -> Page {
        let (network, data) = (&problem.graph.name, &problem.data.name);
        let asked = format!("How well does {network} learn the data “{data}”?");
        let mut page = Page::new(format!("{network} trained"), asked, answer);
        let loss = Plot {
            title: "Loss".into(),
            x: self.x.clone(),
            y: Axis::log(&self.loss),
            series: self.series(|p| Some(p.train_loss), |p| p.test_loss),
        };
        let mut section = Section::new("Learning curves").figure("loss", loss.draw(), self.caption);
        if self.has_classes() {
            let accuracy = Plot {
                title: "Accuracy".into(),
                x: self.x.clone(),
                y: Axis::linear("% in their class"),
                series: self.series(
                    |p| p.train_accuracy.map(|a| 100.0 * a),
                    |p| p.test_accuracy.map(|a| 100.0 * a),
                ),
            };
            let caption = "Samples put into their class. One run.";
            section = section.figure("accuracy", accuracy.draw(), caption);
        }
        page.push(section);
        page.push(self.history());
        page.configure(request.settings());
        page
    }

    fn has_classes(&self) -> bool {
        self.points.iter().any(|p| p.train_accuracy.is_some())
    }

    fn series(
        &self,
        train: fn(&Point) -> Option<f64>,
        test: fn(&Point) -> Option<f64>,
    ) -> Vec<Series> {
        let curve = |label: &str, value: fn(&Point) -> Option<f64>| {
            let points = self.points.iter().filter_map(|p| Some((p.x, value(p)?)));
            Series::line(label, points.collect())
        };
        let both = [curve("training", train), curve("test", test)];
        both.into_iter().filter(|s| !s.points.is_empty()).collect()
    }

    /// The table, thinned evenly where it is long.
    fn history(&self) -> Section {
        use Align::Right;
        let mut table = Table::new([
            (self.x.label.as_str(), Right),
            ("train loss", Right),
            ("train %", Right),
            ("test loss", Right),
            ("test %", Right),
        ]);
        let count = self.points.len();
        let every = count.div_ceil(ROWS).max(1);
        let shown = (0..count).filter(|i| (count - 1 - i).is_multiple_of(every));
        for p in shown.map(|i| self.points[i]) {
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
            prose +=
                &format!(" One row in {every} of {count}, up to the last; history.csv has all.");
        }
        Section::new("History").prose(prose).table(table)
    }
}
