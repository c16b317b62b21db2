//! `report.html` of a geometry: the finding in words, then the evidence, then how to reproduce it.

mod compare;
mod figures;
mod fourier;
pub(crate) mod plane;
mod reading;
pub mod words;

use polariscope_geometry::{Kron, Spectrum, Summary};
use polariscope_graph::Shape;
use polariscope_report::{Align, Page, Section, Table, grouped, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

pub use compare::compare_page;
pub use words::words;

use figures::{Pictures, Ranges};
use reading::{Preference, Reading};
use words::{about, percent};

/// Rows and columns of the largest picture of a matrix.
const WHOLE: usize = 512;

/// A geometry and everything that is said about it.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The architecture.
    pub name: String,
    /// Shape of its input.
    pub shape: Shape,
    /// G.
    pub matrix: &'a Kron,
    /// Its eigenvalues and eigenvectors.
    pub spectrum: &'a Spectrum,
    /// Its few numbers.
    pub summary: &'a Summary,
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

/// How the geometry of another method, or of another source, compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The other one.
    pub with: String,
    /// <A, B> / (‖A‖‖B‖).
    pub corr: f64,
    /// Its standard error, where one of the two was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corr_error: Option<f64>,
    /// Overlap of the first k directions, for some k.
    pub overlaps: Vec<(usize, f64)>,
    /// The other trace over this one.
    pub trace_ratio: f64,
    /// Its standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_ratio_error: Option<f64>,
}

impl View<'_> {
    /// Whether the numbers carry sampling noise.
    fn sampled(&self) -> bool {
        self.summary.trace_error.is_some() || !self.spectrum.errors.is_empty()
    }
}

/// The page of one geometry.
pub fn page(view: &View) -> Page {
    let reading = Reading::of(view);
    let pictures = Pictures::new(view, &reading);
    let asked = format!(
        "Which directions of its {} input does {} see before it has learnt anything, and which does it miss?",
        input(&view.shape),
        view.name
    );
    let title = format!("The geometry of {}", view.name);
    let mut page = Page::new(title, asked, words::paragraph(&view.name, &reading));
    page.facts(facts(view, &reading));
    if let Some((frequencies, pixels)) = pictures.sight(Ranges::of([&reading])) {
        let frequencies =
            Section::new("").figure("frequencies", frequencies.draw(), figures::FREQUENCIES);
        let pixels = Section::new("").figure("pixels", pixels.draw(), figures::PIXELS);
        let mut section =
            Section::new("What is easy, what is invisible").columns([frequencies, pixels]);
        if let Some(profile) = figures::profile(&[(&view.name, &reading)]) {
            section = section.figure("profile", profile.draw(), figures::PROFILE);
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
    page.push(directions(&pictures, &reading));
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
    page.push(reproduce(&view.command));
    page.configure(view.settings.iter().cloned());
    page
}

/// `1×32×32`.
fn input(shape: &Shape) -> String {
    let dims: Vec<String> = shape.dims().iter().map(usize::to_string).collect();
    dims.join("×")
}

fn facts(view: &View, reading: &Reading) -> Vec<(String, String)> {
    let dim = grouped(reading.dim as u64);
    let (count, share) = reading.head;
    let mut facts = vec![
        (
            about(reading.directions),
            format!("of {dim} directions take part (participation ratio)"),
        ),
        (
            percent(share),
            match count {
                1 => "of the sensitivity lies in the first direction".to_string(),
                n => format!("of the sensitivity lies in the first {n} directions"),
            },
        ),
    ];
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
            about(view.summary.effective_rank),
            "directions by entropy (effective rank)".to_string(),
        )),
    }
    facts
}

/// Two digits are enough for a glance.
fn pretty_weight(x: f64) -> String {
    match x {
        x if x >= 9.95 => grouped(x.round() as u64),
        x if x >= 0.0995 => format!("{x:.1}"),
        x if x >= 0.001 => format!("{x:.3}"),
        _ => "0".to_string(),
    }
}

/// The gallery, or why there is none.
fn directions(pictures: &Pictures, reading: &Reading) -> Section {
    let section = Section::new("First directions");
    if reading.preference == Preference::None {
        return section.prose(
            "All directions count alike, so any basis is as good as any other and none is drawn.",
        );
    }
    match pictures.first(24) {
        Some((gallery, caption)) => {
            let section = section.gallery("directions", gallery, caption);
            match pictures.last(8) {
                Some((gallery, caption)) => section.gallery("last directions", gallery, caption),
                None => section,
            }
        }
        None => section.prose(
            "The input is no image, so the directions are not drawn; directions.npy holds them, one a row.",
        ),
    }
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

fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(standard_error) => Estimate {
            value,
            standard_error,
            samples: 0,
        }
        .pair(),
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
pub(super) fn numbers(view: &View) -> Table {
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

pub(crate) fn reproduce(command: &str) -> Section {
    Section::new("Reproduce")
        .prose("The same command gives the same bits, on any number of threads:")
        .command(command)
}
