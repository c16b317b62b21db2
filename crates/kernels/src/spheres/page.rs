//! `report.html`: the answer, the decay, the levels.

use polariscope_report::{Axis, Page, Plot, Section, Series, counted, grouped, pretty};

use super::{Answer, Spectrum};

/// Levels in the table of the page.
const ROWS: usize = 60;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let found = &answer.levels;
    let (name, p) = (found.system.name(), found.product);
    let with = match found.samples {
        0 => "learn first".to_string(),
        m => format!("learn with {}", counted(m as u64, "sample")),
    };
    let mut page = Page::new(
        format!("What {name} learns first"),
        format!(
            "What will {name} with the {} kernel {with} on {} of dimension {}, {} in a patch?",
            found.kernel,
            counted(p.p() as u64, "sphere"),
            p.d0(),
            p.s()
        ),
        found.words.as_str(),
    );
    if found.samples > 0 {
        page.facts(facts(answer));
    }
    page.push(decay(answer));
    page.push(levels(answer));
    if let Some(table) = found.class_table() {
        let text = "The eigenvalue of each class, and the same from the kernel of random points alone: least squares on the \
             reproducing kernels of all classes at once, with the standard error over pairs of points.";
        page.push(
            Section::new("Classes beside sampled points")
                .prose(text)
                .table(table),
        );
    }
    if let Some(table) = found.lesson_table() {
        let text = format!(
            "One eigenfunction of each of the first levels, learnt from {} by regression without ridge, three times anew.",
            counted(found.samples as u64, "sample")
        );
        page.push(Section::new("Lessons").prose(text).table(table));
    }
    if !found.plateaus.is_empty() {
        page.push(plateaus(answer));
    }
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

fn facts(answer: &Answer) -> Vec<(String, String)> {
    let found = &answer.levels;
    let learnt = &found.levels[..found.learnt];
    let directions = learnt.last().and_then(|l| l.samples_needed).unwrap_or(0);
    let mut facts = vec![
        (
            grouped(directions),
            format!(
                "directions learnt with {}",
                counted(found.samples as u64, "sample")
            ),
        ),
        (
            learnt
                .iter()
                .map(|l| l.order)
                .max()
                .unwrap_or(0)
                .to_string(),
            "highest order among them".into(),
        ),
    ];
    if let Some(trace) = found.trace {
        let held: f64 = learnt
            .iter()
            .map(|l| l.eigenvalue * l.multiplicity as f64)
            .sum();
        let share = (1000.0 * held / trace).round() / 10.0;
        facts.push((
            format!("{} %", pretty(share)),
            "of the kernel's trace in them".into(),
        ));
    }
    facts
}

/// A level is a step from its first index to its last.
fn steps(spectrum: &Spectrum, most: f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut at = 0.0;
    for level in spectrum.levels.iter().take_while(|l| l.eigenvalue > 0.0) {
        if at >= most {
            break;
        }
        let end = (at + level.multiplicity as f64).min(most);
        points.extend([(at + 1.0, level.eigenvalue), (end, level.eigenvalue)]);
        at += level.multiplicity as f64;
    }
    points
}

fn decay(answer: &Answer) -> Section {
    let found = &answer.levels;
    let name = found.system.name();
    let values = &answer.eigenvalues;
    let most = match values.len() {
        0 => answer.spectrum.count() as f64,
        m => m as f64,
    };
    let mut series = vec![Series::line(
        format!("{name}, theory"),
        steps(&answer.spectrum, most),
    )];
    let mut text = String::from("Each level is a step as long as its multiplicity.");
    if !values.is_empty() {
        let points = values.iter().enumerate();
        let points = points.map(|(i, &l)| ((i + 1) as f64, l));
        // Below this eigenvalues of a Gram matrix are rounding.
        let floor = 1e-13 * values[0];
        let points = points.filter(|p| p.1 > floor).collect();
        series.push(Series::scatter(format!("{name}, Gram matrix"), points));
        text += &format!(
            " The dots are the eigenvalues of the Gram matrix of {} over their number: a level of N functions spreads over \
             about 2√(N/m) of its value, so that long plateaus blur, and what the \
             sample cannot tell apart lifts the last ones.",
            counted(values.len() as u64, "point")
        );
    }
    for other in &answer.others {
        let label = format!("{}, theory", other.system.name());
        series.push(Series::line(label, steps(other, most)));
    }
    let plot = Plot {
        title: "Eigenvalues, largest first".into(),
        x: Axis::log("index"),
        y: Axis::log("eigenvalue"),
        series,
    };
    Section::new("Eigenvalue decay").prose(text).figure(
        "decay",
        plot.draw(),
        "VEC has fewer functions of an order than FCN, and GAP fewer still: it needs fewer samples for the same order.",
    )
}

fn levels(answer: &Answer) -> Section {
    let found = &answer.levels;
    let mut text = String::from(
        "Functions of degrees r⃗ are products of spherical harmonics, one degree for each sphere; the order is their sum. A level is \
         listed with one of its r⃗. Samples: how many it needs, the multiplicities down to it, added. Time: ηt = 1/λ of gradient flow.",
    );
    if found.levels.iter().any(|l| l.predicted.is_some()) {
        text += &format!(
            " Missed: the part of a target in this level that regression without ridge on {} should miss.",
            counted(found.samples as u64, "sample")
        );
    }
    let more = found.levels.len().saturating_sub(ROWS);
    let section = Section::new("Levels").prose(text).table(found.table(ROWS));
    match more {
        0 => section,
        n => section.prose(format!("… and {n} more in levels.csv.")),
    }
}

fn plateaus(answer: &Answer) -> Section {
    Section::new("Plateaus of the Gram matrix")
        .prose(
            "Levels that lie closer than the sample spreads them are one plateau. With so many points: the mean that theory expects of a \
             Gram matrix of this size, where neighbouring levels push each other apart; its error is an upper bound.",
        )
        .table(answer.levels.plateau_table())
}
