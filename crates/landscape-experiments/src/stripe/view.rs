//! Words and figures.

use polariscope_experiment::{Answers, Claim, Grid, Mean, Scale, Table, Test, View, Wanted, shown};
use polariscope_report::{Align, Axis, Cell, Mark, Plot, Section, Series, Table as Rows};

use super::{
    ENTRY, FEATURE, KERNEL_WIDTH, NOISE, SIDES, Stripe, WIDTH, at, feature_exponent, lazy_exponent,
};
use crate::lazy::left_out;

impl View for Stripe {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        "A label that needs one input".into()
    }

    fn asked(&self) -> String {
        "Does a network of one hidden layer learn faster where it may learn to look at the one input that matters, and is that all that \
         it learns?"
            .into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "It does: the error falls faster where features are learnt, the first layer turns to the input that matters, the more so the more \
             samples there are, a kernel on data that are compressed as much has the same error, and R_f, how much noise in the other \
             inputs is minded, falls from 1 about as 1/P.",
            "It does not: the error falls faster in lazy training, the first layer turns away from the input that matters, a kernel on \
             compressed data has another error, and R_f, how much noise in the other inputs is minded, does not start at 1 nor fall \
             as 1/P.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let of = |d: usize| {
            let said = |measure, sign: f64| {
                let power = self.measured(table, d, measure)?;
                Some(shown(
                    Some(Mean {
                        value: sign * power.value,
                        ..power
                    }),
                    1.0,
                ))
            };
            Some(format!(
                "d = {d}: β is {} in lazy training (formula for P → ∞: {:.3}) and {} where features are learnt ({:.3}); Λ goes as P to the \
                 power {} (½). R_f goes as P to the power {} by medians over test points and {} by means (−1).",
                said("lazy", -1.0)?,
                lazy_exponent(d),
                said("feature", -1.0)?,
                feature_exponent(d),
                said("lambda", 1.0)?,
                said("stability_median", 1.0)?,
                said("stability_mean", 1.0)?,
            ))
        };
        let words = self
            .dimensions()
            .into_iter()
            .filter_map(of)
            .chain(left_out(table));
        words.collect::<Vec<_>>().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |d: usize, p: String| {
            let error = |side| shown(table.mean(&at(d, &p), side), 0.01);
            let own = |m| shown(table.mean(&at(d, &p), m), 1.0);
            let mut cells = vec![d.to_string(), p.clone()];
            cells.extend(SIDES.map(error));
            cells.extend(["lambda", "steps", "stability_median", "stability_mean"].map(own));
            cells
        };
        let all = self
            .dimensions()
            .into_iter()
            .flat_map(|d| self.counts().into_iter().map(move |p| (d, p)));
        let columns = [
            "d",
            "P",
            "lazy, error %",
            "feature",
            "compressed",
            "Λ",
            "steps",
            "R_f, median",
            "mean",
        ];
        Grid {
            columns: columns.map(String::from).into(),
            rows: all.map(|(d, p)| row(d, p)).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let curve = |d: usize| {
            let line = |side: &'static str| {
                let label = match side {
                    "lazy" => "lazy: frozen kernel",
                    "feature" => "feature learning",
                    _ => "frozen kernel, compressed data",
                };
                self.line(table, d, side, label.into())
            };
            let plot = Plot {
                title: format!("Test error, d = {d}"),
                x: Axis::log("training samples P"),
                y: Axis::log("test error"),
                series: SIDES.map(line).into(),
            };
            Section::new("").figure(
                format!("stripe d {d}"),
                plot.draw(),
                "Bands: a standard error over samples and initial weights.",
            )
        };
        let mut grown: Vec<Series> = self
            .dimensions()
            .into_iter()
            .map(|d| self.line(table, d, "lambda", format!("d = {d}")))
            .collect();
        let root = grown
            .first()
            .and_then(|s| s.points.first().copied())
            .map(|(p, l)| {
                let last = grown[0].points.last().map_or(p, |last| last.0);
                Series::reference("slope ½", vec![(p, l), (last, l * (last / p).sqrt())])
            });
        grown.extend(root);
        let lambda = Plot {
            title: "How much the first layer looks at the input that matters".into(),
            x: Axis::log("training samples P"),
            y: Axis::log("Λ"),
            series: grown,
        };
        vec![
            Section::new("Learning curves")
                .prose(format!(
                    "x ~ N(0, 1) in d inputs, y = 1 where −0.3 < x₁ < 1.18549. One hidden layer of normalised softplus:5, NTK parametrisation, \
                     biases from N(0, 1), soft hinge (β = 20, margin 1), gradient flow until y F > 1 for every training sample. Feature learning: \
                     width {WIDTH} at α̃ = {FEATURE}. Lazy: the kernel of width {KERNEL_WIDTH} at initialisation, frozen."
                ))
                .columns(self.dimensions().into_iter().map(curve)),
            Section::new("Exponents")
                .prose(
                    "Measured: least squares of the logarithms over the whole range of P, in every run; ± a standard error over runs. The \
                     formulas hold for P → ∞ and are shown beside; that of R_f alone is judged, within ½.",
                )
                .table(self.exponents(table)),
            Section::new("The first layer").figure(
                "stripe lambda",
                lambda.draw(),
                "Λ: root mean square of the first layer's weights on x₁ over that on the other inputs, at the end of training.",
            ),
            Section::new("Noise in the inputs that do not matter")
                .prose(format!(
                    "R_f = ⟨|F(x + ν) − F(x)|²⟩/⟨|F(x + η) − F(x)|²⟩, ν in the inputs that do not matter, η in all, both uniform on spheres \
                     of radius {NOISE}, so small that F is all but linear over it. ⟨·⟩ is the mean over 32 draws, then the mean or the \
                     median over 2000 test points. At initialisation R_f, by medians, is {}.",
                    self.starts(table)
                ))
                .columns(self.dimensions().into_iter().map(|d| self.stability(table, d))),
        ]
    }
}

impl Stripe {
    /// The power of P of a measure.
    fn measured(&self, table: &Table, d: usize, measure: &'static str) -> Option<Mean> {
        let test = Test::Contrast {
            measure,
            scale: Scale::Log,
            terms: self.power(d),
            wanted: Wanted::Positive,
        };
        Claim::new("", test).judge(table).statistic
    }

    /// R_f at initialisation.
    fn starts(&self, table: &Table) -> String {
        let start = |d: usize| {
            let claim = Claim::new("", self.start(d));
            format!("{} for d = {d}", shown(claim.judge(table).statistic, 1.0))
        };
        let all: Vec<String> = self.dimensions().into_iter().map(start).collect();
        all.join(", ")
    }

    /// R_f over P with both averages, beside 1/P.
    fn stability(&self, table: &Table, d: usize) -> Section {
        let averages = ["median", "mean"];
        let line = |average: &str| {
            let measure = format!("stability_{average}");
            self.line(table, d, &measure, format!("{average} over test points"))
        };
        let mut series: Vec<Series> = averages.map(line).into();
        let ends = series[0].points.first().zip(series[0].points.last());
        if let Some((&(p, r), &(last, _))) = ends {
            let points = vec![(p, r), (last, r * p / last)];
            series.push(Series::reference("slope −1", points));
        }
        let plot = Plot {
            title: format!("R_f, d = {d}"),
            x: Axis::log("training samples P"),
            y: Axis::log("R_f"),
            series,
        };
        Section::new("").figure(
            format!("stripe stability d {d}"),
            plot.draw(),
            "Bands: a standard error over samples and initial weights.",
        )
    }

    /// Measured powers beside the formulas.
    fn exponents(&self, table: &Table) -> Rows {
        let columns = ["d", "power of P", "measured", "formula, P → ∞"];
        let align = [Align::Right, Align::Left, Align::Right, Align::Right];
        let mut rows = Rows::new(columns.into_iter().zip(align));
        for d in self.dimensions() {
            let all = [
                ("error, lazy", "lazy", -lazy_exponent(d)),
                ("error, feature learning", "feature", -feature_exponent(d)),
                (
                    "error, kernel on compressed data",
                    "compressed",
                    -feature_exponent(d),
                ),
                ("Λ", "lambda", 0.5),
                ("R_f, median over test points", "stability_median", -1.0),
                ("R_f, mean over test points", "stability_mean", -1.0),
            ];
            for (name, measure, formula) in all {
                let found = shown(self.measured(table, d, measure), 1.0);
                let cells: [Cell; 4] = [
                    d.to_string().into(),
                    name.into(),
                    found.into(),
                    format!("{formula:.3}").into(),
                ];
                rows.push(cells);
            }
        }
        rows
    }

    /// A line over P.
    fn line(&self, table: &Table, d: usize, measure: &str, label: String) -> Series {
        let points = self.counts().into_iter().filter_map(|p| {
            let mean = table.mean(&at(d, &p), measure)?;
            let error = mean.standard_error.unwrap_or(0.0);
            let x: f64 = p.parse().ok()?;
            let low = if mean.value > error {
                mean.value - error
            } else {
                mean.value
            };
            Some(((x, mean.value), (low, mean.value + error)))
        });
        let (points, band) = points.unzip();
        Series {
            mark: Mark::LinePoints,
            ..Series::line(label, points)
        }
        .with_band(band)
    }
}
