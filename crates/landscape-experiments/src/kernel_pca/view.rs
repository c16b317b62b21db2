//! Words and figures.

use polariscope_experiment::{Answers, Grid, Table, View, shown};
use polariscope_report::{Axis, Mark, Plot, Section, Series};

use super::{ENTRY, ERRORS, FIRST, KernelPca, REGIMES, SAMPLES, TOP, WIDTH, at, share};
use crate::lazy::{called, left_out, winner};

const KERNELS: [&str; 2] = ["before", "after"];

impl View for KernelPca {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Labels on the tangent kernel of {}", called(&self.lab.data))
    }

    fn asked(&self) -> String {
        "Does training turn the large eigenvectors of the tangent kernel to the labels, and is that what is learnt?".into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does where features are learnt, and not in lazy training: there the kernel stays, and frozen at the start it does as well as \
             the network. Where features are learnt the final kernel, frozen, does as well as the network, and the initial one does not.",
            "It does not where features are learnt, and does in lazy training; frozen kernels do not do as well as the network.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let of = |(regime, control): (&str, f64)| {
            let held = |kernel| shown(table.mean(&at(regime), &share(kernel, TOP)), 0.01);
            let error = |m| shown(table.mean(&at(regime), m), 0.01);
            let [net, initial, last] = ERRORS.map(error);
            let name = match regime {
                "lazy" => "Lazy",
                _ => "Feature learning",
            };
            format!(
                "{name} (α̃ = {}): the first {TOP} eigenvectors hold {} % of the labels before training and {} % after; test error {net} %, \
                 with the initial kernel frozen {initial} %, with the final one {last} %.",
                polariscope_report::pretty(control),
                held("before"),
                held("after"),
            )
        };
        let verdict = winner(
            table,
            &format!("At h = {WIDTH}"),
            (&at("lazy"), "in the lazy regime"),
            (&at("feature"), "where features are learnt"),
        );
        let words = REGIMES
            .into_iter()
            .map(of)
            .chain(verdict)
            .chain(left_out(table));
        words.collect::<Vec<_>>().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |k: usize| {
            let all = REGIMES
                .iter()
                .flat_map(|(regime, _)| KERNELS.map(|kernel| (regime, kernel)));
            let shares = all.map(|(r, kernel)| shown(table.mean(&at(r), &share(kernel, k)), 0.01));
            [k.to_string()].into_iter().chain(shares).collect()
        };
        let names = REGIMES
            .iter()
            .flat_map(|(r, _)| KERNELS.map(|kernel| format!("{r}, {kernel} %")));
        Grid {
            columns: ["first".to_string()].into_iter().chain(names).collect(),
            rows: FIRST.into_iter().map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let line = |regime: &str, kernel: &str| {
            let points = FIRST.into_iter().filter_map(|k| {
                let mean = table.mean(&at(regime), &share(kernel, k))?;
                let error = mean.standard_error.unwrap_or(0.0);
                let band = (mean.value - error, mean.value + error);
                Some(((k as f64, mean.value), band))
            });
            let (points, band) = points.unzip();
            Series {
                mark: Mark::LinePoints,
                ..Series::line(format!("{regime}, {kernel}"), points)
            }
            .with_band(band)
        };
        let all = REGIMES
            .iter()
            .flat_map(|(regime, _)| KERNELS.map(|kernel| (regime, kernel)));
        let plot = Plot {
            title: "Labels on the first eigenvectors".into(),
            x: Axis::log("eigenvectors, largest eigenvalue first"),
            y: Axis::linear("share of ‖y‖²"),
            series: all.map(|(regime, kernel)| line(regime, kernel)).collect(),
        };
        vec![
            Section::new("Labels on the kernel")
                .prose(format!(
                    "One hidden layer of width {WIDTH}, gradient flow until every training sample is beyond the margin. The kernel is taken on \
                     the first {SAMPLES} test samples, whose labels the network has not seen."
                ))
                .figure(
                    "kernel pca",
                    plot.draw(),
                    "Σ (φ_λ · y)²/‖y‖² over the eigenvectors of the largest eigenvalues. Bands: a standard error over initial weights.",
                ),
        ]
    }
}
