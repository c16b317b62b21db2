//! How learning curves are shown.

use polariscope_experiment::{Answers, Grid, Mean, Pivot, Table, View, levels, shown};
use polariscope_report::{Axis, Plot, Section};
use polariscope_stats::{Estimate, power_law};

use super::{Dide, Precision};

const CURVES: Pivot = Pivot {
    rows: "m",
    columns: "learner",
    fixed: Vec::new(),
    measure: "error",
    unit: 0.01,
};

impl<T> Dide<T> {
    /// `vec-n` as VEC with its width, `vec-inf` as VEC_∞.
    fn label(&self, learner: &str) -> String {
        match learner.split_once('-') {
            Some((system, "inf")) => format!("{}_∞", system.to_uppercase()),
            Some((system, _)) => format!("{}_{}", system.to_uppercase(), self.width),
            None => learner.to_string(),
        }
    }
}

/// β of error ~ m^{−β} over some sizes.
fn decay(table: &Table, learner: &str, sizes: &[String]) -> Option<Mean> {
    let points = sizes.iter().filter_map(|m| {
        let mean = CURVES.mean(table, m, learner)?;
        let estimate = Estimate {
            value: mean.value,
            standard_error: mean.standard_error.filter(|s| *s > 0.0)?,
            samples: mean.runs as u64,
        };
        Some((m.parse().ok()?, estimate))
    });
    let law = power_law(&points.collect::<Vec<_>>())?;
    Some(Mean {
        value: -law.exponent,
        standard_error: Some(law.error),
        runs: sizes.len(),
    })
}

impl<T: Precision> View for Dide<T> {
    fn name(&self) -> &'static str {
        "dide"
    }

    fn title(&self) -> String {
        "Learning curves, and whether they bend".into()
    }

    fn asked(&self) -> String {
        format!(
            "Does more data teach a network more than its architecture suggests? Data “{}”.",
            self.problem.name()
        )
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does: the learning curve of VEC_n bends down, and more than those of VEC_∞, LCN_n and GAP_∞.",
            "It does not: the learning curve of VEC_n bends up, and less than those of VEC_∞, LCN_n and GAP_∞.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let sizes = levels(table, "m");
        let Some(last) = sizes.last() else {
            return String::new();
        };
        let error = |learner: String| {
            let text = shown(CURVES.mean(table, last, &learner), CURVES.unit);
            format!("{} {text} %", self.label(&learner))
        };
        let all: Vec<String> = levels(table, "learner").into_iter().map(error).collect();
        format!("Test error with {last} samples: {}.", all.join(", "))
    }

    fn summary(&self, table: &Table) -> Grid {
        let sizes = levels(table, "m");
        let (small, large) = (&sizes[..sizes.len() / 2 + 1], &sizes[sizes.len() / 2..]);
        let middle = large.first().map_or("", String::as_str);
        let mut grid = Grid {
            columns: ["error, %".to_string()]
                .into_iter()
                .chain(sizes.iter().map(|m| format!("m = {m}")))
                .chain([format!("β to {middle}"), format!("β from {middle}")])
                .collect(),
            rows: Vec::new(),
        };
        for learner in levels(table, "learner") {
            let errors = sizes.iter().map(|m| CURVES.mean(table, m, &learner));
            let errors = errors.map(|m| shown(m, CURVES.unit));
            let slopes = [small, large].map(|part| shown(decay(table, &learner, part), 1.0));
            let row = [self.label(&learner)]
                .into_iter()
                .chain(errors)
                .chain(slopes);
            grid.rows.push(row.collect());
        }
        grid
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let plot = Plot {
            title: "Test error against training samples".into(),
            x: Axis::log("training samples m"),
            y: Axis::log("test error in %"),
            series: CURVES.series(table, |learner| self.label(learner)),
        };
        vec![Section::new("Learning curves").figure(
            "learning curves",
            plot.draw(),
            "Both axes are logarithmic: a power law is a straight line, and a curve that bends down learns faster the more \
             it has seen. Bands: a standard error over runs. Networks of finite width are trained with momentum and weight \
             decay, those of infinite width by regression with their NTK (ridge of 0.001 of its mean diagonal).",
        )]
    }
}
