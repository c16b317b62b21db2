//! `report.html` of a geometry: the finding in words, then the evidence, then how to reproduce it.

mod card;
mod compare;
mod figures;
mod fourier;
mod pixels;
mod plane;
mod reading;
mod scatter;
mod sight;
mod terminal;
#[cfg(test)]
mod tests;
mod weight;
mod words;

use crate::lens::source::{Provenance, Voice};
use crate::{Agreement, Answer, Kron, Similarity, Spectrum, Summary};
use polariscope_graph::Shape;
use polariscope_report::{Align, Page, Section, Table, grouped, pretty};

pub use compare::DROWNED;
pub use words::{NO_EVIDENCE, percent};

use figures::{Pictures, Ranges};
pub(crate) use plane::Plane;
use reading::{Preference, Reading};
use weight::Weight;
use words::{about, pair, share, words};

/// Rows and columns of the largest picture of a matrix.
const WHOLE: usize = 512;

/// A geometry and everything that is said about it.
#[derive(Clone, Debug)]
struct View<'a> {
    /// The architecture.
    pub name: String,
    /// Its trainable numbers.
    pub parameters: usize,
    /// Shape of its input.
    pub shape: Shape,
    /// G.
    pub matrix: &'a Kron,
    /// Its eigenvalues and eigenvectors.
    pub spectrum: &'a Spectrum,
    /// Its few numbers.
    pub summary: &'a Summary,
    /// Which geometry it is.
    pub source: Provenance,
    /// The local geometry of the same inputs, where it is known beside a coherent one.
    pub local: Option<&'a Kron>,
    /// The gradient averaged over inputs, of given weights.
    pub mean_gradient: Option<&'a [f64]>,
    /// How G was found, as a sentence.
    pub method: String,
    /// What was chosen where others choose differently: name and choice.
    pub conventions: Vec<(String, String)>,
    /// Approximations that were made, a sentence each; empty where there are none.
    pub notes: Vec<String>,
    /// How other methods compare.
    pub agreement: Vec<Agreement>,
    /// The command that makes this page again.
    pub command: String,
    /// Stages and their seconds.
    pub seconds: Vec<(String, f64)>,
    /// Everything the result depends on, seeds included.
    pub settings: Vec<(String, String)>,
}

impl<'a> View<'a> {
    fn of(answer: &'a Answer, command: &str, settings: Vec<(String, String)>) -> Self {
        let numbers = &answer.numbers;
        View {
            name: answer.name.clone(),
            parameters: answer.parameters,
            shape: answer.input,
            matrix: &answer.matrix,
            spectrum: &answer.spectrum,
            summary: &numbers.summary,
            source: answer.source.clone(),
            local: answer.local.as_ref(),
            mean_gradient: answer.mean_gradient.as_deref(),
            method: answer.method.clone(),
            conventions: answer.conventions.clone(),
            notes: numbers.notes.clone(),
            agreement: numbers.agreement.clone(),
            command: command.to_string(),
            seconds: numbers.seconds.clone().into_iter().collect(),
            settings,
        }
    }
}

/// The page of one geometry; `command` makes it again, `settings` is everything that it depends on.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    show(&View::of(answer, command, settings))
}

/// The page of several geometries; `alike[i][j]` is Corr of geometries i and j.
pub fn compare_page(
    answers: &[&Answer],
    alike: &[Vec<Similarity>],
    command: &str,
    settings: Vec<(String, String)>,
) -> Page {
    let views: Vec<View> = answers
        .iter()
        .map(|answer| View::of(answer, "", Vec::new()))
        .collect();
    compare::page(&views, alike, command, settings)
}

/// The answer for a terminal: a table, the spectrum in characters, the finding in words.
pub fn text(answer: &Answer) -> String {
    terminal::summary(&View::of(answer, "", Vec::new()))
}

fn show(view: &View) -> Page {
    let reading = Reading::of(view);
    let pictures = Pictures::new(view, &reading);
    let title = format!("The geometry of {}", view.name);
    let answer = format!(
        "{}.\n\n{}",
        view.source.line(),
        words::paragraphs(&view.name, &reading)
    );
    let mut page = Page::new(title, asked(view), answer);
    page.facts(facts(view, &reading));
    let hero = hero(&pictures, &reading);
    let drawn = hero.is_some();
    let first =
        hero.unwrap_or_else(|| Section::new("First directions").prose(words::undrawn(&reading)));
    let card = card::card(view, &reading, &pictures);
    page.push(first.file("card", card, "The page on one card for slides"));
    if let Some((frequencies, pixels)) = pictures.sight(Ranges::of([&reading])) {
        let voice = view.source.voice();
        let frequencies = Section::new("").figure(
            "frequencies",
            frequencies.draw(),
            figures::frequencies_caption(voice, is_uneven(&reading)),
        );
        let pixels = Section::new("").figure("pixels", pixels.draw(), figures::PIXELS);
        let mut section = Section::new("Frequencies and pixels").columns([frequencies, pixels]);
        if let Some(profile) = figures::profile(&lines(&view.name, &reading)) {
            let caption =
                figures::profile_caption(voice, is_uneven(&reading), reading.scatter.as_ref());
            section = section.figure("profile", profile.draw(), caption);
        }
        page.push(section);
    }
    let plot = figures::spectra(&[view]);
    let caption = figures::spectrum_caption(&[view]);
    page.push(
        Section::new("Spectrum")
            .figure("spectrum", plot.draw(), caption)
            .table(numbers(view)),
    );
    if let Some((gallery, caption)) = pictures.last(8).filter(|_| drawn) {
        page.push(Section::new("Last directions").gallery("last directions", gallery, caption));
    }
    if let Some(field) = view.mean_gradient.and_then(|g| pictures.mean_gradient(g)) {
        page.push(Section::new("The mean gradient").figure(
            "mean gradient",
            field.draw(),
            figures::MEAN_GRADIENT,
        ));
    }
    page.push(
        Section::new("The geometry as an image")
            .prose(about_matrix(view))
            .figure(
                "geometry",
                pictures.matrix(WHOLE).draw(),
                pictures.matrix_caption(WHOLE),
            ),
    );
    if !view.agreement.is_empty() {
        page.push(agreement(&view.agreement));
    }
    page.push(provenance(view));
    page.push(Section::reproduce(view.command.as_str()));
    page.configure(view.settings.iter().cloned());
    page
}

/// `1×32×32`.
fn input(shape: &Shape) -> String {
    let dims: Vec<String> = shape.dims().iter().map(usize::to_string).collect();
    dims.join("×")
}

/// What the page answers; trained weights have learnt something.
fn asked(view: &View) -> String {
    let (shape, name) = (input(&view.shape), &view.name);
    match view.source.voice() {
        Voice::Given => {
            format!(
                "Along which directions of its {shape} input is {name} sensitive with these weights?"
            )
        }
        Voice::Coherent | Voice::Shared | Voice::Sensitivity => format!(
            "Which directions of its {shape} input does {name} see before it has learnt anything, and which hardly?"
        ),
    }
}

/// Whether frequencies differ beyond noise.
fn is_uneven(reading: &Reading) -> bool {
    let evenness = reading.sight.as_ref().map(|s| s.evenness);
    evenness == Some(weight::Evenness::Uneven)
}

/// The weights by number of cycles, with the local ones beside the coherent ones.
fn lines<'a>(name: &'a str, reading: &'a Reading) -> Vec<(&'a str, &'a [f64])> {
    let own = reading.sight.as_ref().map(|s| (name, &s.rings[..]));
    let rest = reading.scatter.as_ref().and_then(|s| s.rest.as_ref());
    match (own, rest) {
        (Some((_, own)), Some(rest)) => vec![
            ("coherent: two independent inputs", own),
            ("local: the same input", &rest.rings),
        ],
        (own, _) => own.into_iter().collect(),
    }
}

fn facts(view: &View, reading: &Reading) -> Vec<(String, String)> {
    let dim = grouped(reading.dim as u64);
    let directions = about(reading.directions.0, reading.directions.1);
    let mut facts = vec![match reading.directions.1.is_some()
        && reading.directions.0 > reading.dim as f64
    {
        false => (
            directions,
            format!("of {dim} directions take part (participation ratio)"),
        ),
        true => (
            format!("all {dim}"),
            format!(
                "directions take part, as far as the sample can tell (participation ratio {directions})"
            ),
        ),
    }];
    // Biased until no eigenvalue is below zero.
    if reading.negative.is_none() {
        facts.push((
            share(reading.head.0, reading.head.1),
            "of the trace lies in the first tenth of the directions".to_string(),
        ));
    }
    match &reading.sight {
        Some(sight) => facts.extend([
            (
                format!("{} ×", pretty_weight(sight.low)),
                format!(
                    "isotropic weight at low frequencies (up to {} cycles)",
                    sight.low_edge
                ),
            ),
            (
                format!("{} ×", pretty_weight(sight.high)),
                format!(
                    "isotropic weight at high frequencies (from {} cycles)",
                    sight.high_edge
                ),
            ),
        ]),
        None => facts.push((
            about(
                view.summary.effective_rank,
                view.summary.effective_rank_error,
            ),
            "directions by entropy (effective rank)".to_string(),
        )),
    }
    facts
}

/// Two digits are enough for a glance, or as many as the error leaves.
fn pretty_weight(weight: Weight) -> String {
    match weight.value {
        x if weight.error > 0.0 => pair(x, weight.error),
        x if x >= 9.95 => grouped(x.round() as u64),
        x if x >= 0.0995 => format!("{x:.1}"),
        x if x >= 0.001 => format!("{x:.3}"),
        _ => "0".to_string(),
    }
}

/// The first directions, if they are drawn: what the page is remembered by.
fn hero(pictures: &Pictures, reading: &Reading) -> Option<Section> {
    if !matches!(reading.preference, Preference::Mild | Preference::Strong) {
        return None;
    }
    let (gallery, caption) = pictures.first(24)?;
    Some(Section::new("First directions").hero("directions", gallery, caption))
}

fn about_matrix(view: &View) -> String {
    match view.matrix.channels {
        1 => "Entry (i, j) is the mean product of the derivatives by inputs i and j, over the isotropic variance tr G / D."
            .to_string(),
        c => format!(
            "The {c} input channels are treated alike and independently, so G holds the same block {c} times and zeros \
             between. This is the block: entry (i, j) is the mean product of the derivatives by pixels i and j of one \
             channel, over the isotropic variance tr G / D."
        ),
    }
}

fn agreement(others: &[Agreement]) -> Section {
    use Align::{Left, Right};
    let mut sizes: Vec<usize> = others
        .iter()
        .flat_map(|a| a.overlaps.iter().map(|o| o.0))
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let headings: Vec<String> = sizes.iter().map(|k| format!("first {k}")).collect();
    let columns = [("compared with", Left), ("Corr", Right)].into_iter();
    let columns = columns.chain(headings.iter().map(|h| (h.as_str(), Right)));
    let mut table = Table::new(columns.chain([("trace ratio", Right)]));
    for other in others {
        let overlap = |k: &usize| {
            let found = other.overlaps.iter().find(|o| o.0 == *k);
            found.map(|o| format!("{:.3}", o.1)).into()
        };
        let mut row = vec![
            other.with.as_str().into(),
            with_error(other.corr, other.corr_error).into(),
        ];
        row.extend(sizes.iter().map(overlap));
        row.push(with_error(other.trace_ratio, other.trace_ratio_error).into());
        table.push(row);
    }
    let said: Vec<String> = others.iter().map(verdict).collect();
    Section::new("Do other methods agree?")
        .prose(said.join(" "))
        .table(table)
        .prose(
            "Corr is the cosine between the two matrices. “First k” is the overlap of the first k directions: 1 for the \
             same subspace, k/D by chance.",
        )
}

/// One sentence on how close another method comes.
fn verdict(other: &Agreement) -> String {
    let (corr, trace) = (
        with_error(other.corr, other.corr_error),
        with_error(other.trace_ratio, other.trace_ratio_error),
    );
    let how = match other.corr {
        c if c >= 0.99 => "agrees closely",
        c if c >= 0.9 => "agrees in the main",
        c if c >= 0.5 => "agrees in part",
        _ => "disagrees",
    };
    format!(
        "“{}” {how}: Corr {corr}, at {trace} times the trace.",
        other.with
    )
}

/// What columns call the share of the trace in a tenth of the directions.
pub const HEAD: &str = "first tenth";

/// That share, with its error where it has one.
pub fn head(summary: &Summary) -> String {
    share(summary.top10_share, summary.top10_share_error)
}

/// A number, with its error where it has one.
pub fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => pair(value, error),
        None => pretty(value),
    }
}

/// Method, approximations, conventions, times.
fn provenance(view: &View) -> Section {
    use Align::{Left, Right};
    let mut section = Section::new("How it was found").prose(view.method.as_str());
    section = if view.notes.is_empty() {
        section
    } else {
        section
            .prose("Approximations made:")
            .list(view.notes.iter().cloned())
    };
    if !view.conventions.is_empty() {
        let mut table = Table::new([("convention", Left), ("here", Left)]);
        for (name, choice) in &view.conventions {
            table.push([name.as_str().into(), choice.as_str().into()]);
        }
        section = section.table(table);
    }
    if !view.seconds.is_empty() {
        let mut table = Table::new([("stage", Left), ("seconds", Right)]);
        for (stage, seconds) in &view.seconds {
            table.push([stage.as_str().into(), pretty(*seconds).into()]);
        }
        section = section.table(table);
    }
    section
}

/// The summary with its errors.
fn numbers(view: &View) -> Table {
    use Align::{Left, Right};
    let s = view.summary;
    let mut table = Table::new([("quantity", Left), ("value", Right)]);
    let rows = [
        ("trace", s.trace, s.trace_error),
        (
            "participation ratio",
            s.participation_ratio,
            s.participation_ratio_error,
        ),
        ("effective rank", s.effective_rank, s.effective_rank_error),
        (
            "share of the first tenth",
            s.top10_share,
            s.top10_share_error,
        ),
    ];
    for (name, value, error) in rows {
        table.push([name.into(), with_error(value, error).into()]);
    }
    table
}
