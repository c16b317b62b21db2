//! Words and figures.

use polariscope_experiment::{
    Answers, Claim, Experiment, Grid, Mean, Outcome, Scale, Select, Table, Test, View, Wanted,
    levels, shown,
};
use polariscope_report::{Axis, Mark, Plot, Section, Series};

use super::ensemble::{CONTROL, TRAIN};
use super::powers::middle;
use super::{ENTRY, Fluctuations, NARROW, NETWORKS, SIZES, at, distance_of, error_of, scatter_of};
use crate::lazy::called;

impl View for Fluctuations {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Noise of the initial weights on {}", called(&self.lab.data))
    }

    fn asked(&self) -> String {
        "By which power of the width do networks differ that differ in their initial weights alone, and what does that add to their test \
         error?"
            .into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "By the powers of theory: tangent kernels at initialisation fluctuate as h^−1/2 and Var F of trained networks falls as 1/h; \
             boundaries lie ‖δF‖/‖∇F‖ apart, which costs an error in proportion to δ², so that the mean of n networks approaches its limit \
             as 1/n.",
            "By none of the powers of theory.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let words = [
            self.kernel(table),
            self.noise(table),
            self.gain(table),
            left_out(table),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let e = [1, NETWORKS].map(error_of);
        let mean = format!("ε of the mean of {NETWORKS} %");
        let columns: [(&str, &str, f64); 11] = [
            ("noise of Θ₀ %", "kernel-noise", 0.01),
            ("Var F", "variance", 1.0),
            ("‖∇F‖", "steepness", 1.0),
            ("‖δF‖/‖∇F‖", "global", 1.0),
            ("δ", "d1", 1.0),
            ("differ %", "differ", 0.01),
            ("ε %", &e[0], 0.01),
            (&mean, &e[1], 0.01),
            ("ε − ε̄ %", "excess", 0.01),
            ("power of 1/n, ε", "error-power", 1.0),
            ("power of 1/n, δ", "distance-power", 1.0),
        ];
        let row = |h: String| {
            let select = Select::of(&[("h", &h)]);
            let means = columns.map(|(_, m, unit)| shown(table.mean(&select, m), unit));
            [h].into_iter().chain(means).collect()
        };
        Grid {
            columns: ["h"]
                .into_iter()
                .chain(columns.map(|c| c.0))
                .map(String::from)
                .collect(),
            rows: levels(table, "h").into_iter().map(row).collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let (widths, trained) = (self.widths(), self.trained());
        let mean = |h: usize, measure: &str| table.mean(&at(h), measure);
        let over = |widths: &[usize], measure: &str, x: &dyn Fn(usize) -> Option<f64>| {
            let point = |&h: &usize| Some((x(h)?, mean(h, measure)?));
            widths.iter().filter_map(point).collect::<Vec<Point>>()
        };
        let width = |h: usize| Some(h as f64);
        let delta = |h: usize| mean(h, &distance_of(1)).map(|m| m.value);
        let kernel = over(&widths, "kernel-noise", &width);
        let variance = over(&trained, "variance", &width);
        let distance = over(&trained, &distance_of(1), &|h| {
            Some(mean(h, "global")?.value)
        });
        let excess = over(&trained, "excess", &|h| Some(delta(h)?.powi(2)));
        let plot = |title: &str, x: &str, y: &str, series: Vec<Series>| Plot {
            title: title.into(),
            x: Axis::log(x),
            y: Axis::log(y),
            series,
        };
        let kernel = plot(
            "Relative noise of the kernel",
            "width h",
            "√(Σ Var Θ₀/Σ ⟨Θ₀⟩²)",
            with_power(&kernel, mean(NARROW, "kernel-power"), ("h", 1.0)),
        );
        let variance = plot(
            "Variance of trained networks",
            "width h",
            "Var F",
            with_power(&variance, mean(NARROW, "variance-power"), ("h", 1.0)),
        );
        let distance = plot(
            "Distance of boundaries",
            "‖δF‖/‖∇F‖",
            "δ",
            with_power(
                &distance,
                mean(NARROW, "global-power"),
                ("(‖δF‖/‖∇F‖)", 1.0),
            ),
        );
        let excess = plot(
            "What noise adds to the error",
            "δ²",
            "ε − ε̄",
            // The power is that of δ.
            with_power(&excess, mean(NARROW, "excess-power"), ("δ", 0.5)),
        );
        let pieces = plot(
            "Distance of boundaries of means",
            &format!("1/n − 1/{NETWORKS}"),
            "δ of the mean of n",
            trained
                .iter()
                .map(|&h| {
                    let point = |m: usize| Some((scatter_of(m), mean(h, &distance_of(m))?));
                    let points: Vec<Point> = SIZES.into_iter().filter_map(point).collect();
                    let label = format!("h = {h}: power {}", shown(mean(h, "distance-power"), 1.0));
                    marked(label, &points)
                })
                .collect(),
        );
        vec![
            Section::new("Before training").figure(
                "kernel noise",
                kernel.draw(),
                "Over initial weights, summed over pairs of inputs. Bands here and below: a standard error over runs.",
            ),
            Section::new("What the width does to the noise")
                .prose(format!(
                    "{NETWORKS} networks a width and run, trained on the same {TRAIN} samples by gradient flow at α̃ = {CONTROL} until every \
                     one is beyond the margin. δF = F − F̄ with F̄ the mean of all."
                ))
                .columns([
                    Section::new("").figure(
                        "variance",
                        variance.draw(),
                        "Variance over initial weights, on average over test samples.",
                    ),
                    Section::new("").figure(
                        "distance",
                        distance.draw(),
                        "δ: |δF|/‖∇F‖ on average over test samples that a network and F̄ decide differently. A point a width.",
                    ),
                ]),
            Section::new("What the noise does to the error").columns([
                Section::new("").figure(
                    "excess",
                    excess.draw(),
                    format!("Test error of one network less that of F̄, the mean of {NETWORKS}. A point a width. δ² is in proportion."),
                ),
                Section::new("").figure(
                    "ensembles",
                    self.ensembles(table).draw(),
                    "Test error of the mean of n networks, mean over runs: training samples move all points of a run together. Dashed: the line \
                     through the points of n ≥ 2, to n = ∞ on the left.",
                ),
            ]),
            Section::new("Boundaries of ensembles").figure(
                "pieces",
                pieces.draw(),
                format!(
                    "How far the boundary of the mean of n networks lies from that of the mean of all {NETWORKS}, around which the means of \
                     n scatter as 1/n − 1/{NETWORKS}. Theory: to the power ½."
                ),
            ),
        ]
    }
}

/// x, and a mean over runs.
type Point = (f64, Mean);

fn marked(label: String, points: &[Point]) -> Series {
    let band = |(_, m): &Point| {
        let error = m.standard_error.unwrap_or(0.0);
        // A band that reaches 0 has no lower end on a logarithmic axis.
        let low = if m.value > error {
            m.value - error
        } else {
            m.value
        };
        (low, m.value + error)
    };
    let line = points.iter().map(|(x, m)| (*x, m.value)).collect();
    Series {
        mark: Mark::LinePoints,
        ..Series::line(label, line)
    }
    .with_band(points.iter().map(band).collect())
}

/// Points with the line of a power of what is named; of x its `share`.
fn with_power(points: &[Point], power: Option<Mean>, (of, share): (&str, f64)) -> Vec<Series> {
    let measured = marked("measured".into(), points);
    let logarithms: Vec<(f64, f64)> = measured
        .points
        .iter()
        .map(|p| (p.0.ln(), p.1.ln()))
        .collect();
    let (x, y) = middle(&logarithms);
    let fit = power.map(|mean| {
        let line = |(u, _): &(f64, f64)| (u.exp(), (y + share * mean.value * (u - x)).exp());
        let label = format!("{of} to the power {}", shown(Some(mean), 1.0));
        Series::reference(label, logarithms.iter().map(line).collect())
    });
    std::iter::once(measured).chain(fit).collect()
}

impl Fluctuations {
    /// Of untrained networks.
    fn kernel(&self, table: &Table) -> Option<String> {
        let widths = self.widths();
        let (first, last) = (*widths.first()?, *widths.last()?);
        let noise = |h| shown(table.mean(&at(h), "kernel-noise"), 0.01);
        let power = table.mean(&at(first), "kernel-power")?;
        Some(format!(
            "The tangent kernel of untrained networks fluctuates by {} % of its size at h = {first} and by {} % at h = {last}, as h to the \
             power of {}.",
            noise(first),
            noise(last),
            shown(Some(power), 1.0)
        ))
    }

    /// Of the narrowest networks.
    fn noise(&self, table: &Table) -> Option<String> {
        let of = |measure: &str, unit| shown(table.mean(&at(NARROW), measure), unit);
        table.mean(&at(NARROW), "excess")?;
        let limit = match self.holds(table, "error-power") {
            true => format!(
                ", and as it approaches its limit as 1/n, infinitely many would on {} %",
                of("limit", 0.01)
            ),
            false => String::new(),
        };
        let power = match table.mean(&at(NARROW), "cost-power") {
            Some(power) => format!(
                " What noise adds to the error of one network goes as h to the power of {}.",
                shown(Some(power), 1.0)
            ),
            None => String::new(),
        };
        Some(format!(
            "At h = {NARROW} a trained network errs on {} % of the test samples and the mean of {NETWORKS} on {} %{limit}; a network \
             decides {} % unlike that mean, boundaries {} apart.{power}",
            of(&error_of(1), 0.01),
            of(&error_of(NETWORKS), 0.01),
            of("differ", 0.01),
            of(&distance_of(1), 1.0),
        ))
    }

    /// Whether the claim on a power holds.
    fn holds(&self, table: &Table, power: &str) -> bool {
        let of = |claim: &Claim| matches!(&claim.test, Test::Contrast { measure, .. } if *measure == power);
        let claims = self.claims();
        let claim = claims.iter().find(|claim| of(claim));
        claim.is_some_and(|claim| claim.judge(table).outcome == Outcome::Holds)
    }

    /// What wider networks gain, where most of it is noise.
    fn gain(&self, table: &Table) -> Option<String> {
        let wide = *self.trained().last()?;
        let fall = |measure: &'static str| {
            let test = Test::Contrast {
                measure,
                scale: Scale::Linear,
                terms: vec![(1.0, at(NARROW)), (-1.0, at(wide))],
                wanted: Wanted::Positive,
            };
            Claim::new("", test).judge(table)
        };
        // Half of a network's gain less that of the ensemble.
        let (single, most) = (fall("e1"), fall("mostly"));
        let said = [&single, &most].iter().all(|v| v.outcome == Outcome::Holds);
        let together = fall("e20");
        let together = match together.outcome {
            Outcome::Fails => {
                let rise = together.statistic.map(|fall| Mean {
                    value: -fall.value,
                    ..fall
                });
                format!("rises by {}", shown(rise, 0.01))
            }
            Outcome::Undecided => "does not fall beyond its error".into(),
            Outcome::Holds => format!("falls by {}", shown(together.statistic, 0.01)),
        };
        said.then(|| {
            format!(
                "From h = {NARROW} to {wide} the test error of one network falls by {} points, that of the mean of {NETWORKS} {together}: \
                 most of what wider networks gain is that they are less noisy.",
                shown(single.statistic, 0.01),
            )
        })
    }

    /// ε of the mean of n networks over 1/n.
    fn ensembles(&self, table: &Table) -> Plot {
        let series = self.trained().into_iter().flat_map(|h| {
            let percent = |measure: &str| Some(100.0 * table.mean(&at(h), measure)?.value);
            let point = |&n: &usize| Some((1.0 / n as f64, percent(&error_of(n))?));
            let points: Vec<(f64, f64)> =
                SIZES.iter().chain(&[NETWORKS]).filter_map(point).collect();
            let (x, y) = middle(points.get(1..).unwrap_or_default());
            let line = percent("limit").map(|limit| {
                let ends = vec![(0.0, limit), (1.0, limit + (y - limit) / x)];
                Series::reference("", ends)
            });
            let measured = Series {
                mark: Mark::LinePoints,
                ..Series::line(format!("h = {h}"), points)
            };
            std::iter::once(measured).chain(line)
        });
        Plot {
            title: "Test error of ensembles".into(),
            x: Axis::linear("1/n"),
            y: Axis::linear("test error in %"),
            series: series.collect(),
        }
    }
}

/// Ensembles that are left out because they do not fit, in words.
fn left_out(table: &Table) -> Option<String> {
    let fitted = table.values(&Select::default(), "fitted");
    let not = fitted.iter().filter(|(_, share)| *share < 1.0).count();
    (not > 0).then(|| {
        format!(
            "{not} of {} ensembles have networks whose flow ended before every training sample was beyond the margin; nothing else is \
             said of them.",
            fitted.len()
        )
    })
}
