//! `report.html`: the map or the number, the curve over samples, the calibration.

use polariscope_report::{
    Axis, ColourMap, Extent, Field, Page, Plot, Section, Series, counted, grouped, pretty,
};

use super::Target;
use super::answer::Prediction;
use crate::{FrequencyMap, TELLING};

/// Points of a line over directions.
const POINTS: usize = 1000;

/// The page.
pub fn page(outcome: &Prediction, command: &str, settings: Vec<(String, String)>) -> Page {
    let name = &outcome.name;
    let asked = match &outcome.target {
        Target::All => format!("Which linear features will {name} learn, and how well?"),
        Target::Rows(_) => format!("How well will {name} learn the given directions?"),
        Target::Data { spec, .. } => format!("How well will {name} learn “{spec}”?"),
    };
    let title = format!("What {name} will learn");
    let mut page = Page::new(title, asked, outcome.result.words.as_str());
    page.facts(facts(outcome));
    if let Some(map) = &outcome.map {
        page.push(frequencies(map));
    } else if outcome.accuracies.len() > 1 {
        page.push(spread(outcome));
    }
    page.push(samples(outcome));
    page.push(calibration(outcome));
    page.push(caveats(outcome));
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

fn facts(outcome: &Prediction) -> Vec<(String, String)> {
    let result = &outcome.result;
    let percent = |x: f64| format!("{:.1} %", 100.0 * x);
    let mut facts = match outcome.target {
        Target::Data { .. } => vec![(
            percent(result.accuracy.median),
            "predicted test accuracy".to_string(),
        )],
        Target::All | Target::Rows(_) => vec![
            (
                percent(result.accuracy.least),
                "along the direction that is learnt worst".to_string(),
            ),
            (percent(result.accuracy.median), "at the median".to_string()),
            (
                percent(result.accuracy.most),
                "along the one that is learnt best".to_string(),
            ),
        ],
    };
    facts.push((
        pretty(result.ridge.delta),
        match result.trainings.len() as u64 {
            0 => "δ, as given".to_string(),
            n => format!("δ, from {}", counted(n, "trained network")),
        },
    ));
    facts
}

fn frequencies(map: &FrequencyMap) -> Section {
    let extent = |label: &str, n: usize| {
        let first = -((n / 2) as f64);
        Extent::new(label, first, first + n as f64 - 1.0)
    };
    let field = Field {
        title: "Predicted accuracy".into(),
        x: extent("periods across", map.width),
        y: extent("periods down", map.height),
        value: Axis::linear("test accuracy in %"),
        rows: map
            .values
            .chunks_exact(map.width)
            .map(|row| row.iter().map(|v| 100.0 * v).collect())
            .collect(),
        colours: ColourMap::Sequential,
        range: Some((50.0, 100.0)),
        outline: None,
    };
    Section::new("Accuracy over spatial frequencies").figure(
        "map",
        field.draw(),
        "Each cell is a problem of its own: x = ±v + noise, v a wave with this many periods down and across the image, the \
         mean of sine and cosine. Every one of them is linearly separable without error; 50 % is chance. map.npy holds the \
         numbers.",
    )
}

/// How many directions are learnt how well.
fn spread(outcome: &Prediction) -> Section {
    let mut sorted = outcome.accuracies.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let count = sorted.len() as f64;
    let thin = sorted.len().div_ceil(POINTS).max(1);
    let points = sorted.iter().enumerate().step_by(thin);
    let points = points.map(|(i, v)| (100.0 * (i as f64 + 0.5) / count, 100.0 * v));
    let plot = Plot {
        title: "Predicted accuracy, best direction first".into(),
        x: Axis::linear("% of the directions"),
        y: Axis::linear("test accuracy in %"),
        series: vec![
            Series::line("", points.collect()),
            Series::reference("chance", vec![(0.0, 50.0), (100.0, 50.0)]),
        ],
    };
    Section::new("Accuracy over directions").figure(
        "directions",
        plot.draw(),
        "accuracy.npy holds the numbers, one a direction in the order given, or of the eigenvectors of the geometry, largest \
         eigenvalue first, where none were given. Directions were brought to length 1.",
    )
}

fn samples(outcome: &Prediction) -> Section {
    let series = outcome.lines.iter().map(|line| {
        let points = line.points.iter();
        let band = points
            .clone()
            .map(|p| (100.0 * (p.1 - p.2), 100.0 * (p.1 + p.2)));
        let curve = points.clone().map(|p| (p.0 as f64, 100.0 * p.1));
        Series::line(line.label.as_str(), curve.collect()).with_band(band.collect())
    });
    let plot = Plot {
        title: "Predicted accuracy by training samples".into(),
        x: Axis::log("training samples"),
        y: Axis::linear("test accuracy in %"),
        series: series.collect(),
    };
    Section::new("More samples, or fewer").figure(
        "curve",
        plot.draw(),
        "The same δ at every n. The band is what the error of δ leaves. Where there are several lines they are of the \
         directions at nine tenths, half and a tenth of vᵀGv.",
    )
}

fn calibration(outcome: &Prediction) -> Section {
    let result = &outcome.result;
    let section = Section::new("Where δ comes from");
    if result.trainings.is_empty() {
        return section.prose("δ was given; no network was trained.");
    }
    section
        .prose(format!(
            "Networks were trained on {} samples at directions picked from the geometry, among the half nearest to its eigenvectors: that of median uᵀGu first, then on \
             towards easier or harder ones until the test accuracy was between {:.0} and {:.0} %. δ is the ridge at which the \
             formula gives the accuracy that was found.",
            grouped(result.train as u64),
            100.0 * TELLING.0,
            100.0 * TELLING.1
        ))
        .table(result.table())
}

fn caveats(outcome: &Prediction) -> Section {
    let result = &outcome.result;
    let geometry = match (result.geometry_error, result.geometry_networks) {
        (Some(error), Some(networks)) => format!(
            "The geometry was sampled from {} networks, with a relative error of {}. Its inverse would be noise, so the form \
             without an inverse was used: every direction counts by vᵀGv alone.",
            grouped(networks),
            pretty(error)
        ),
        _ => {
            "The coherent geometry is in closed form: what of the gradient all inputs share.".into()
        }
    };
    Section::new("What this rests on").list([
        geometry,
        "The trained network is taken as ridge regression with the kernel xᵀGx' and a ridge δ. docs/prediction.md derives the \
         formula and says how far it was off."
            .into(),
        "δ belongs to this architecture, this recipe (SGD, 20 epochs) and this σ. It carries over the number of samples, not \
         over σ."
            .into(),
        "The errors shown come from the test samples of the calibrating trainings; what the formula itself misses is not in \
         them."
            .into(),
    ])
}
