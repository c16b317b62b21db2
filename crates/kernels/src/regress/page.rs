//! `report.html` of a regression.

use polariscope_report::{Axis, Mark, Page, Plot, Section, Series, grouped, pretty};

use super::answer::share;
use super::{Answer, Moment, mistakes};

/// Groups of test samples in the figure of the posterior's variance.
const GROUPS: usize = 12;
/// Points that a scatter plot shows.
const POINTS: usize = 2000;
/// Below this share of the largest an eigenvalue is rounding.
const ROUNDING: f64 = 1e-15;

/// A training error of this share of the test error counts as met.
const MET: f64 = 1e-3;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let Answer {
        network,
        data,
        summary,
        ..
    } = answer;
    let mut page = Page::new(
        format!("{network} on {data}"),
        format!("How well does an infinitely wide {network} learn {data}?"),
        summary.words.as_str(),
    );
    page.facts(facts(answer));
    page.push(
        Section::new("Scores")
            .table(summary.table())
            .list(summary.notes().iter().map(|note| sentence(note))),
    );
    let classes = answer.targets.classes.as_ref();
    let confusion = answer.confusion.as_deref().zip(classes);
    let sections = [
        path(answer),
        predicted(answer),
        confusion.map(|(counts, classes)| mistakes::confusion(counts, &classes.names)),
        classes.and_then(|classes| mistakes::gallery(&answer.mistakes, &classes.names)),
        spread(answer),
        eigenvalues(answer),
    ];
    sections.into_iter().flatten().for_each(|s| page.push(s));
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

/// With a capital and a full stop.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

fn facts(answer: &Answer) -> Vec<(String, String)> {
    let summary = &answer.summary;
    let mut facts = match summary.test.accuracy {
        Some(accuracy) => vec![
            (
                format!("{:.1}\u{a0}%", 100.0 * accuracy.value),
                format!(
                    "of the test samples in their class (± {:.1})",
                    100.0 * accuracy.standard_error
                ),
            ),
            (
                share(1.0 / answer.targets.width as f64),
                "would be chance".to_string(),
            ),
        ],
        None => vec![(
            pretty(summary.test.mse.value),
            format!(
                "mean squared error on test samples (± {})",
                pretty(summary.test.mse.standard_error)
            ),
        )],
    };
    if let Some(r) = summary.test.r_squared {
        facts.push((share(r), "of the variance explained (R²)".to_string()));
    }
    facts.push((
        grouped(summary.train_samples as u64),
        "training samples".to_string(),
    ));
    facts.push((
        pretty(summary.condition),
        "condition number of the Gram matrix".to_string(),
    ));
    facts
}

/// Learning curves over the training time; `None` for a single time.
fn path(answer: &Answer) -> Option<Section> {
    let end = answer.learnt.end;
    let mut moments = answer.learnt.path.clone();
    if end.time.is_finite() {
        moments.push(end);
    }
    let [first, .., last] = moments[..] else {
        return None;
    };
    let curve = |label: &str, value: &dyn Fn(&Moment) -> f64| {
        let points = moments.iter().map(|m| (m.time, value(m))).collect();
        Series {
            mark: Mark::LinePoints,
            ..Series::line(label, points)
        }
    };
    let mut section = Section::new("Learning over time").prose(
        "Gradient descent on the infinitely wide network, ½ Σ (f − y)² over all training samples, from f = 0: at time t \
         the part of the targets along an eigenvector of the Gram matrix with eigenvalue μ is learnt up to e^{−ημt}. All \
         times come from one eigendecomposition.",
    );
    if end.test.accuracy.is_some() {
        let of = |m: &Moment| 100.0 * m.test.accuracy.map_or(f64::NAN, |a| a.value);
        let error = |m: &Moment| 100.0 * m.test.accuracy.map_or(f64::NAN, |a| a.standard_error);
        let band = moments.iter().map(|m| (of(m) - error(m), of(m) + error(m)));
        let chance = 100.0 / answer.targets.width as f64;
        let plot = Plot {
            title: "Accuracy".into(),
            x: Axis::log("training time ηt"),
            y: Axis::linear("% in their class"),
            series: vec![
                curve("training", &|m| {
                    100.0 * m.train.accuracy.unwrap_or(f64::NAN)
                }),
                curve("test", &of).with_band(band.collect()),
                Series::reference("chance", vec![(first.time, chance), (last.time, chance)]),
            ],
        };
        let best = moments.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
        let best = best.map_or(String::new(), |m| {
            format!(
                " The best of these times would have given {:.1}\u{a0}% (ηt = {}), a little too good to be true: it was \
                 picked with the test samples.",
                of(m),
                pretty(m.time)
            )
        });
        section = section.figure(
            "accuracy",
            plot.draw(),
            format!("The band is one standard error over test samples.{best}"),
        );
    }
    let met = MET * end.test.mse.value;
    let plot = Plot {
        title: "Mean squared error".into(),
        x: Axis::log("training time ηt"),
        y: Axis::log("mean squared error"),
        series: vec![
            curve("training", &|m| match m.train.mse > met {
                true => m.train.mse,
                false => f64::NAN,
            }),
            curve("test", &|m| m.test.mse.value),
        ],
    };
    Some(section.figure(
        "error",
        plot.draw(),
        "Mean over samples and outputs. The curve of the training samples stops where hardly anything is left. learning.csv \
         has the numbers.",
    ))
}

/// Real targets against predictions.
fn predicted(answer: &Answer) -> Option<Section> {
    if answer.targets.classes.is_some() {
        return None;
    }
    let width = answer.targets.width;
    let pairs = answer.targets.test.iter().zip(&answer.learnt.predictions);
    let points: Vec<(f64, f64)> = pairs
        .step_by(width)
        .map(|(&y, &f)| (y, f))
        .take(POINTS)
        .collect();
    let numbers = points.iter().flat_map(|&(y, f)| [y, f]);
    let ends = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    let plot = Plot {
        title: "Predictions against targets".into(),
        x: Axis::linear("target"),
        y: Axis::linear("prediction"),
        series: vec![
            Series::scatter("test samples", points),
            Series::reference("exact", vec![(ends.0, ends.0), (ends.1, ends.1)]),
        ],
    };
    let which = match width {
        1 => "",
        _ => " The first output only.",
    };
    Some(Section::new("Predictions").figure(
        "predictions",
        plot.draw(),
        format!("A dot a test sample.{which}"),
    ))
}

/// Whether samples with a larger posterior variance have larger errors.
fn spread(answer: &Answer) -> Option<Section> {
    let variance = answer.learnt.variance.as_ref()?;
    let errors = answer.targets.errors(&answer.learnt.predictions);
    let mut pairs: Vec<(f64, f64)> = variance.iter().copied().zip(errors).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let root = |group: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        (group.iter().map(of).sum::<f64>() / group.len() as f64).sqrt()
    };
    let points = pairs
        .chunks(pairs.len().div_ceil(GROUPS))
        .map(|group| (root(group, |p| p.0), root(group, |p| p.1)));
    let plot = Plot {
        title: "How sure, how wrong".into(),
        x: Axis::linear("standard deviation of the posterior"),
        y: Axis::linear("root mean squared error"),
        series: vec![Series {
            mark: Mark::LinePoints,
            ..Series::line("", points.collect())
        }],
    };
    Some(
        Section::new("How sure is it?")
            .prose(
                "The posterior gives every prediction a standard deviation, in the units of the prior: the network's own \
                 scale, not that of the targets. What it tells is which samples are further from what was learnt.",
            )
            .figure(
                "deviation",
                plot.draw(),
                "Test samples in groups of equal number, from the surest to the least sure. variance.npy has them one by one.",
            ),
    )
}

/// What is learnt first.
fn eigenvalues(answer: &Answer) -> Option<Section> {
    let values = &answer.learnt.eigenvalues;
    let floor = ROUNDING * values.first()?;
    let points: Vec<(f64, f64)> = (1..)
        .zip(values)
        .filter(|&(_, &mu)| mu > floor)
        .map(|(i, &mu)| (f64::from(i), mu))
        .collect();
    if points.len() < 2 {
        return None;
    }
    let plot = Plot {
        title: "Eigenvalues of the Gram matrix".into(),
        x: Axis::log("index"),
        y: Axis::log("eigenvalue μ"),
        series: vec![Series::line("", points)],
    };
    let meaning = match answer.learnt.variance {
        None => {
            "The part of the targets along an eigenvector is learnt after a time of 1/(ημ): the steeper the fall, the \
             longer the last details take."
        }
        Some(_) => {
            "What lies along the first ones the process expects in its targets; along the last ones it is hardly ever found."
        }
    };
    Some(Section::new("Spectrum").figure(
        "eigenvalues",
        plot.draw(),
        format!("Of the kernel between the training samples. {meaning} eigenvalues.npy has them."),
    ))
}
