//! Words and figures.

use polariscope_experiment::{Answers, Grid, Mean, Row, Table, View, shown};
use polariscope_report::{Align, Axis, Cell, Mark, Plot, Section, Series, Table as Rows};
use polariscope_stats::{Interval, bootstrap};

use super::{DEPTHS, ENTRY, FOLLOWED, IMAGES, Law, at};

/// Networks that err nearly as often as guesses have learnt nothing: they are left out of fits.
const GUESSING: f64 = 0.98;
/// What an error is compared with.
const SIDES: [&str; 3] = ["D", "G", "R"];
/// Published correlations of log ε with log D, log G and log R; of CIFAR-10 the source shows 1/G, 0.85.
const PUBLISHED: [(&str, [f64; 3]); 2] = [
    ("published, CIFAR-10", [0.62, -0.85, 0.97]),
    ("published, MNIST", [0.71, -0.43, 0.75]),
];

/// log ε against the log of a measure, over architectures.
struct Fit {
    side: &'static str,
    points: usize,
    correlation: f64,
    /// Over architectures drawn again.
    interval: Option<Interval>,
    /// ε = prefactor · x^exponent.
    prefactor: f64,
    exponent: f64,
    exponent_interval: Option<Interval>,
}

impl View for Law {
    fn name(&self) -> &'static str {
        ENTRY.about.name
    }

    fn title(&self) -> String {
        "Stability to deformations and test error".into()
    }

    fn asked(&self) -> String {
        format!(
            "Do trained networks that mind deformations less than noise err less ({})?",
            self.data.title()
        )
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "They do: R falls where convolutional networks with residual connections learn and not where fully connected ones do, and over \
             architectures it goes with the error.",
            "They do not: R does not fall with learning, or falls for fully connected networks too, and over architectures it does not go with \
             the error.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let of = |p: &String| {
            let all: Vec<String> = self.fits(table, p).iter().map(said).collect();
            (!all.is_empty()).then(|| format!("P = {p}: {}.", all.join("; ")))
        };
        let fits = self.compared().iter().filter_map(of).collect::<Vec<_>>();
        let left: Vec<String> = self
            .compared()
            .iter()
            .filter_map(|p| self.left_out(table, p))
            .collect();
        [fits, left].concat().join(" ")
    }

    fn summary(&self, table: &Table) -> Grid {
        let row = |name: &String, p: &usize| {
            let p = p.to_string();
            let mean = |m: &str| table.mean(&at(name, &p), m);
            mean("error")?;
            let mut cells = vec![name.clone(), p.clone(), shown(mean("error"), 0.01)];
            cells.extend(["D", "G", "R", "R_first"].map(|m| shown(mean(m), 1.0)));
            Some(cells)
        };
        let all = self.counts.iter().flat_map(|p| {
            self.architectures
                .iter()
                .filter_map(move |name| row(name, p))
        });
        let columns = ["architecture", "P", "error %", "D", "G", "R", "R before"];
        Grid {
            columns: columns.map(String::from).into(),
            rows: all.collect(),
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let mut sections = Vec::new();
        for p in self.compared() {
            let fits = self.fits(table, &p);
            if fits.is_empty() {
                continue;
            }
            sections.push(
                Section::new(format!("{p} training samples"))
                    .table(rows(&fits))
                    .columns(SIDES.map(|side| self.cloud(table, &p, side, &fits))),
            );
        }
        sections.push(
            Section::new("Over samples and depth")
                .columns([self.over_samples(table), self.over_depth(table)]),
        );
        sections.push(Section::new("How it is measured").prose(format!(
            "D, G and R of the outputs as in the code of the source: δ = 1 (nominal), c = 3, modes r < c + ½, medians of each output by itself, noise of \
             each image as large as its own deformation, distances of all pairs; {} test images. Training: cross-entropy, batches of 128, \
             crops, mirror images of photographs; Adam at 0.1 for fully connected networks; with a cosine schedule SGD at 0.1 with batch norm, SGD at 0.02 without any norm, Adam at \
             0.001 with layer norm; 30 epochs on 50,000 samples and twice as many on a tenth. Means over runs are of logarithms in fits.",
            IMAGES.min(self.data.test.len())
        )));
        sections
    }
}

impl Law {
    /// ln of the mean over runs, of logarithms.
    fn log(&self, table: &Table, name: &str, p: &str, measure: &str) -> Option<f64> {
        let values = table.values(&at(name, p), measure);
        let logs: Vec<f64> = values.iter().map(|v| v.1.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        mean.is_finite().then_some(mean)
    }

    /// Whether an architecture learnt anything.
    fn learnt(&self, table: &Table, name: &str, p: &str) -> bool {
        let chance = 1.0 - 1.0 / self.data.classes.max(2) as f64;
        let error = table.mean(&at(name, p), "error");
        error.is_some_and(|e: Mean| e.value < GUESSING * chance)
    }

    /// (ln x, ln ε) of every architecture that learnt something.
    fn points(&self, table: &Table, p: &str, side: &str) -> Vec<(f64, f64)> {
        let point = |name: &String| {
            let learnt = self.learnt(table, name, p);
            let x = self.log(table, name, p, side).filter(|_| learnt)?;
            Some((x, self.log(table, name, p, "error")?))
        };
        self.architectures.iter().filter_map(point).collect()
    }

    /// Architectures that are in no fit, and why.
    fn left_out(&self, table: &Table, p: &str) -> Option<String> {
        let error = |name: &str| table.mean(&at(name, p), "error").is_some();
        let trained = |name: &str| {
            let place = table.factors().iter().position(|f| f == "architecture");
            let level = |row: &Row, k: usize| row.levels.get(k).is_some_and(|l| l == name);
            table.rows.iter().any(|row| {
                place.is_some_and(|k| level(row, k)) && row.levels.iter().any(|l| l == p)
            })
        };
        let of = |is: &dyn Fn(&str) -> bool, why: &str| {
            let names = self.architectures.iter().map(String::as_str);
            let names: Vec<&str> = names.filter(|name| is(name)).collect();
            (!names.is_empty()).then(|| {
                format!(
                    "Left out at P = {p}, because they {why}: {}.",
                    names.join(", ")
                )
            })
        };
        let lost = of(
            &|name| error(name) && !self.learnt(table, name, p),
            "learnt nothing",
        );
        let diverged = of(&|name| trained(name) && !error(name), "diverged");
        let both: Vec<String> = [lost, diverged].into_iter().flatten().collect();
        (!both.is_empty()).then(|| both.join(" "))
    }

    /// Correlations and power laws; none of fewer than four architectures.
    fn fits(&self, table: &Table, p: &str) -> Vec<Fit> {
        let fit = |side: &'static str| {
            let points = self.points(table, p, side);
            if points.len() < 4 {
                return None;
            }
            let chosen = |at: &[usize]| at.iter().map(|&i| points[i]).collect::<Vec<_>>();
            let (slope, middle) = line(&points)?;
            Some(Fit {
                side,
                points: points.len(),
                correlation: correlation(&points)?,
                interval: bootstrap(points.len(), self.seed, |at| correlation(&chosen(at))),
                prefactor: middle.exp(),
                exponent: slope,
                exponent_interval: bootstrap(points.len(), self.seed, |at| {
                    Some(line(&chosen(at))?.0)
                }),
            })
        };
        SIDES.into_iter().filter_map(fit).collect()
    }

    fn cloud(&self, table: &Table, p: &str, side: &str, fits: &[Fit]) -> Section {
        let family = |name: &str| {
            name.chars()
                .take_while(|c| c.is_alphabetic())
                .collect::<String>()
        };
        let mut families: Vec<String> = Vec::new();
        for name in &self.architectures {
            let own = family(name);
            if !families.contains(&own) {
                families.push(own);
            }
        }
        let cloud = |own: &String| {
            let mine = self.architectures.iter().filter(|n| family(n) == *own);
            let point = |name: &String| {
                let x = self.log(table, name, p, side)?;
                Some((x.exp(), 100.0 * self.log(table, name, p, "error")?.exp()))
            };
            Series::scatter(own.clone(), mine.filter_map(point).collect())
        };
        let mut series: Vec<Series> = families.iter().map(cloud).collect();
        let fit = fits.iter().find(|f| f.side == side);
        let xs = self.points(table, p, side);
        let ends = [f64::min, f64::max].map(|pick| xs.iter().map(|p| p.0).reduce(pick));
        if let (Some(fit), [Some(low), Some(high)]) = (fit, ends) {
            let y = |x: f64| 100.0 * fit.prefactor * (fit.exponent * x).exp();
            series.push(Series::reference(
                "fit",
                vec![(low.exp(), y(low)), (high.exp(), y(high))],
            ));
        }
        let plot = Plot {
            title: format!("ε against {side}, P = {p}"),
            x: Axis::log(side),
            y: Axis::log("test error, %"),
            series,
        };
        Section::new("").figure(
            format!("stability-law {side} {p}"),
            plot.draw(),
            "Each point an architecture, the mean of logarithms over runs.",
        )
    }

    fn over_samples(&self, table: &Table) -> Section {
        let shown = self
            .architectures
            .iter()
            .filter(|a| FOLLOWED.contains(&a.as_str()));
        let series = |name: &String| {
            let points = self.counts.iter().filter_map(|p| {
                let r = self.log(table, name, &p.to_string(), "R")?;
                Some((*p as f64, r.exp()))
            });
            Series {
                mark: Mark::LinePoints,
                ..Series::line(name.clone(), points.collect())
            }
        };
        let plot = Plot {
            title: "R over samples".into(),
            x: Axis::log("training samples P"),
            y: Axis::log("R"),
            series: shown.map(series).collect(),
        };
        Section::new("").figure(
            "stability-law samples",
            plot.draw(),
            "Means of logarithms over runs.",
        )
    }

    /// At the largest P of each.
    fn over_depth(&self, table: &Table) -> Section {
        let series = |name: &String| {
            let p = self.most(name)?;
            let ends = DEPTHS.into_iter().chain([(1.0, "R")]);
            let points =
                ends.filter_map(|(depth, m)| Some((depth, self.log(table, name, &p, m)?.exp())));
            Some(Series {
                mark: Mark::LinePoints,
                ..Series::line(name.clone(), points.collect())
            })
        };
        let plot = Plot {
            title: "R over depth".into(),
            x: Axis::linear("relative depth"),
            y: Axis::log("R of a layer's values"),
            series: self.architectures.iter().filter_map(series).collect(),
        };
        Section::new("").figure(
            "stability-law depth",
            plot.draw(),
            "Trained, at the largest P of each architecture; the layers nearest to a quarter, half and three quarters of the depth, and the outputs.",
        )
    }
}

fn said(fit: &Fit) -> String {
    let law = match fit.side {
        "R" => format!(", ε ≈ {} R^{}", two(fit.prefactor), two(fit.exponent)),
        _ => String::new(),
    };
    format!(
        "the correlation of log ε with log {} is {}{law}",
        fit.side,
        ranged(fit.correlation, fit.interval)
    )
}

fn ranged(value: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(i) => format!("{} ({} to {})", two(value), two(i.low), two(i.high)),
        None => two(value),
    }
}

/// Two decimals: intervals over some architectures carry no more.
fn two(x: f64) -> String {
    format!("{x:.2}").replace('-', "−")
}

/// Fits with published values.
fn rows(fits: &[Fit]) -> Rows {
    use Align::{Left, Right};
    let columns = [
        ("log ε with", Left),
        ("networks", Right),
        ("correlation", Right),
        ("exponent", Right),
    ];
    let published = PUBLISHED.iter().map(|(data, _)| (*data, Right));
    let mut table = Rows::new(columns.into_iter().chain(published));
    for fit in fits {
        let side = SIDES.iter().position(|s| *s == fit.side).unwrap_or(0);
        let own: [Cell; 4] = [
            format!("log {}", fit.side).into(),
            fit.points.into(),
            ranged(fit.correlation, fit.interval).into(),
            ranged(fit.exponent, fit.exponent_interval).into(),
        ];
        let published = PUBLISHED.map(|(_, values)| Cell::from(two(values[side])));
        table.push(own.into_iter().chain(published));
    }
    table
}

/// Cov(x, y)/√(Var x Var y).
fn correlation(points: &[(f64, f64)]) -> Option<f64> {
    let (xx, xy, yy) = moments(points);
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

/// Slope and value at 0 of y over x by least squares.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (xx, xy, _) = moments(points);
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let slope = (xx > 0.0).then(|| xy / xx)?;
    Some((slope, mean(|p| p.1) - slope * mean(|p| p.0)))
}

fn moments(points: &[(f64, f64)]) -> (f64, f64, f64) {
    let n = points.len() as f64;
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    points.iter().fold((0.0, 0.0, 0.0), |(xx, xy, yy), p| {
        let (a, b) = (p.0 - x, p.1 - y);
        (xx + a * a, xy + a * b, yy + b * b)
    })
}
