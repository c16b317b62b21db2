//! The page of `which-geometry`.

use polariscope_experiment::{Answers, Grid, Table, View};
use polariscope_report::{
    Align, Axis, BarChart, Bars, Plot, Section, Series, Table as Rows, pretty,
};

use super::sigma::Step;
use super::statistics::{Found, LEARNT, Ranking, by_auc, by_rho, ceiling, learnt};
use super::{ENTRY, WhichGeometry, frequency};
use polariscope_experiment::grid::text;

/// Of uᵀGu from which on an axis is logarithmic.
const DECADE: f64 = 10.0;

/// `0.96 (0.93 to 0.98)`.
fn shown((value, interval): Found) -> String {
    format!("{value:.2} ({})", range((value, interval)))
}

fn range((_, interval): Found) -> String {
    format!("{:.2} to {:.2}", interval.low, interval.high)
}

/// `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The best, and whether it leads; in a sentence.
fn verdict(ranking: &Ranking, statistic: &str) -> String {
    let Some((best, others)) = ranking.scores.split_first() else {
        return String::new();
    };
    let tied: Vec<&str> = ranking.tied().iter().map(|s| s.name.as_str()).collect();
    let second = others.first().and_then(|s| Some((&s.name, s.behind?)));
    let found = shown(best.found);
    match (tied.is_empty(), second) {
        (true, Some((name, behind))) => format!(
            "{} is the best: {statistic} {found}, ahead of the next, {name}, by {}.",
            best.name,
            shown(behind)
        ),
        (true, None) => format!("{}: {statistic} {found}.", best.name),
        (false, _) => format!(
            "{} has the highest {statistic}, {found}, tied with {}: the intervals of the differences hold 0.",
            best.name,
            list(&tied)
        ),
    }
}

impl WhichGeometry {
    /// How σ was chosen.
    fn chosen(&self, table: &Table) -> String {
        match (self.lab.sigma, self.step(table)) {
            (Some(sigma), _) => format!("σ = {sigma}, as given"),
            (None, Step::Try(sigma)) => format!("σ = {sigma}"),
            (
                None,
                Step::Take {
                    sigma,
                    median,
                    fits,
                },
            ) => {
                let median = format!("{:.0} %", 100.0 * median);
                match fits {
                    true => format!("σ = {sigma}, where the median of the pilots is {median}"),
                    false => format!(
                        "σ = {sigma}, where the median of the pilots is {median}; at no σ of the ladder is it between 60 and 95 %"
                    ),
                }
            }
        }
    }

    fn ceiling(&self, table: &Table) -> String {
        match ceiling(table, &self.order()) {
            Some((found, n)) => format!(
                "Another seed of the same training orders {n} of them with {}, the ceiling.",
                shown(found)
            ),
            None => String::new(),
        }
    }

    /// A row for each direction, best learnt first.
    fn rows(&self, table: &Table) -> Rows {
        let names = &table.measures()[1..];
        let head = ["down", "across", "phase", "accuracy in %"].into_iter();
        let head = head.chain(names.iter().map(String::as_str));
        let mut rows = Rows::new(head.map(|name| (name, Align::Right)));
        let conditions = self.directions.iter().zip(self.conditions());
        let mut all: Vec<(f64, Vec<String>)> = conditions
            .filter_map(|(&place, select)| {
                let mean = |measure: &str| Some(table.mean(&select, measure)?.value);
                let accuracy = mean("accuracy")?;
                let scores = names
                    .iter()
                    .map(|x| mean(x).map_or("–".into(), |x| format!("{x:.2}")));
                let shown = [format!("{:.1}", 100.0 * accuracy)];
                let cells = frequency(place).into_iter().chain(shown).chain(scores);
                Some((accuracy, cells.collect()))
            })
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, cells) in all {
            rows.push(cells.iter().map(|cell| cell.as_str().into()));
        }
        rows
    }

    fn scatter(&self, table: &Table, name: &str) -> Section {
        let points = self.order().points(table, name);
        let positive = points.iter().map(|p| p.0).filter(|x| *x > 0.0);
        let low = positive.clone().fold(f64::INFINITY, f64::min);
        let high = positive.fold(0.0, f64::max);
        let label = "uᵀGu, 1 without preference";
        let plot = Plot {
            title: name.to_string(),
            x: match high > DECADE * low {
                true => Axis::log(label),
                false => Axis::linear(label),
            },
            y: Axis::linear("test accuracy in %"),
            series: vec![Series::scatter(
                "",
                points.into_iter().map(|(x, y)| (x, 100.0 * y)).collect(),
            )],
        };
        Section::new("").figure(format!("accuracy {name}"), plot.draw(), "")
    }

    fn bars(&self, table: &Table) -> Section {
        let order = self.order();
        let (rho, area) = (by_rho(table, &order), by_auc(table, &order));
        let mut found: Vec<(String, Found)> = rho
            .scores
            .iter()
            .map(|s| (s.name.clone(), s.found))
            .collect();
        if let Some((ceiling, _)) = ceiling(table, &order) {
            found.push(("another seed".into(), ceiling));
        }
        let chart = |title: &str, all: Vec<(String, Found)>| BarChart {
            title: title.into(),
            value: Axis::linear(title),
            categories: all.iter().map(|s| s.0.clone()).collect(),
            series: vec![Bars {
                label: String::new(),
                values: all.iter().map(|s| s.1.0).collect(),
                errors: all
                    .iter()
                    .map(|(_, (value, i))| [value - i.low, i.high - value])
                    .collect(),
            }],
        };
        let mut columns = vec![Section::new("").figure(
            "spearman",
            chart("Spearman's ρ with the accuracy", found).draw(),
            "",
        )];
        if let Some(area) = area {
            let all = area.scores.iter().map(|s| (s.name.clone(), s.found));
            columns.push(Section::new("").figure(
                "auc",
                chart("Area under the curve", all.collect()).draw(),
                "",
            ));
        }
        Section::new("How well each geometry orders the directions")
            .prose(
                "Whiskers are bootstrap intervals of 95 % over directions. Another seed is the same training with other \
                 weights, batches and samples, whose accuracies stand in the place of a geometry: about what can be \
                 reached. The area under the curve is how often a direction that is learnt has the larger uᵀGu than one \
                 that is not; 0.5 is chance.",
            )
            .columns(columns)
    }
}

impl View for WhichGeometry {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Which geometry says what {} learns", self.lab.architecture)
    }

    fn asked(&self) -> String {
        "Along which directions does a network learn, and which geometry of untrained networks knew it?".into()
    }

    fn answers(&self) -> Answers {
        let first = self.candidates.first();
        Answers::new(
            format!(
                "Every geometry knew it, and {first} orders directions better than those that are not coherent."
            ),
            format!(
                "None knew it: every geometry orders directions the other way round, and {first} more so than those that are not coherent."
            ),
        )
    }

    fn words(&self, table: &Table) -> String {
        let (name, order) = (&self.lab.architecture, self.order());
        let (learnt, n) = learnt(table, &order);
        let chosen = self.chosen(table);
        let Some(spread) = order.spread(table) else {
            return format!("Too few directions were measured ({chosen}).");
        };
        let [low, high] = [spread.low, spread.high].map(|y| 100.0 * y);
        if order.alike(table) {
            let noise = spread.noise.map_or(String::new(), |noise| {
                format!(", {:.1} points apart between seeds", 100.0 * noise)
            });
            return format!(
                "{name} learns all {n} directions alike: {low:.1} to {high:.1} % ({chosen}){noise}. There is no order to \
                 predict, so no correlation is given."
            );
        }
        let area = match by_auc(table, &order) {
            Some(area) => format!(
                "By learnt or not ({learnt} of {n} reach {:.0} %): {}",
                100.0 * LEARNT,
                verdict(&area, "area under the curve")
            ),
            None => format!(
                "{learnt} of {n} reach {:.0} %, too one-sided for an area under the curve.",
                100.0 * LEARNT
            ),
        };
        let left_out = self.candidates.left_out.iter();
        let sentences = [
            format!(
                "{name} learns {n} Fourier directions to between {low:.0} and {high:.0} % ({chosen})."
            ),
            verdict(&by_rho(table, &order), "Spearman's ρ"),
            area,
            self.ceiling(table),
        ];
        let sentences = sentences.into_iter().filter(|s| !s.is_empty());
        let sentences = sentences.chain(left_out.map(|why| format!("Left out: {why}.")));
        sentences.collect::<Vec<_>>().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let order = self.order();
        if order.alike(table) {
            let spread = order.spread(table);
            let ends = spread.map_or(String::new(), |s| {
                format!("{} to {}", pretty(100.0 * s.low), pretty(100.0 * s.high))
            });
            return Grid {
                columns: text(["network", "accuracy in %"]),
                rows: vec![vec![self.lab.architecture.clone(), ends]],
            };
        }
        let (rho, area) = (by_rho(table, &order), by_auc(table, &order));
        let row = |score: &super::statistics::Score| {
            let area = area.iter().flat_map(|a| &a.scores);
            let area = area.clone().find(|a| a.name == score.name);
            vec![
                score.name.clone(),
                shown(score.found),
                score.behind.map_or("best".into(), shown),
                area.map_or("–".into(), |a| shown(a.found)),
            ]
        };
        let mut rows: Vec<Vec<String>> = rho.scores.iter().map(row).collect();
        if let Some((found, n)) = ceiling(table, &order) {
            let seed = format!("another seed ({n} directions)");
            rows.push(vec![seed, shown(found), String::new(), String::new()]);
        }
        Grid {
            columns: text(["geometry", "Spearman's ρ", "behind the best", "AUC"]),
            rows,
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        // Those that are compared first side by side: the coherent and the local one.
        let mut names: Vec<&String> = table.measures()[1..].iter().collect();
        names.sort_by_key(|name| *name != self.candidates.first() && *name != "local");
        let mut plots = Section::new("Accuracy against uᵀGu").prose(
            "A point is a direction u of the Fourier basis, drawn by the seed: the network was trained to tell x = ±u + noise \
             apart, a problem that is linearly separable whatever u. G is scaled so that uᵀGu = 1 for a geometry \
             without preference. A geometry that knows what is learnt has its points on a rising curve. A logarithmic \
             axis leaves out what a sampled geometry has at or below 0.",
        );
        for pair in names.chunks(2) {
            plots = plots.columns(pair.iter().map(|name| self.scatter(table, name)));
        }
        let rows = Section::new("Directions")
            .prose(
                "Periods down and across the image, the phase, the accuracy, and uᵀGu by each geometry. scores.csv holds every \
                 network.",
            )
            .table(self.rows(table));
        match self.order().alike(table) {
            true => vec![plots, rows],
            false => vec![self.bars(table), plots, rows],
        }
    }
}
