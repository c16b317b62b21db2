//! `report.html` of a Hessian.

use polariscope_report::{Axis, Page, Plot, Section, Series, grouped, pretty};

use super::answer::Place;
use super::{Answer, Found, Probed, Spectrum, Split, Which};

/// Bins of a histogram per factor of 10.
const BINS: f64 = 4.0;
/// Densities below this part of the highest are not drawn.
const FLOOR: f64 = 1e-6;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let Answer { summary, found } = answer;
    let about = &summary.about;
    let mut page = Page::new(
        format!("The Hessian of {}", about.network),
        format!(
            "How does the loss of {} curve around these weights?",
            about.network
        ),
        summary.words.as_str(),
    );
    let tables = summary.tables().into_iter();
    match found {
        Found::Matrices(split) => {
            let (h, rank) = (split.hessian.counts, split.rank());
            page.facts([
                (
                    format!("{} %", pretty(100.0 * h.negative_fraction())),
                    "of the eigenvalues are negative".to_string(),
                ),
                (
                    grouped(rank as u64),
                    "is the rank of the Gauss–Newton part".to_string(),
                ),
            ]);
            page.push(histograms(split));
            let words = "Of H = H₀ + H_p, with H₀ = Jᵀ ℓ″ J and H_p = Σ ℓ′ ∇²f over outputs and samples; F is the mean of g gᵀ over the \
                         gradients g of single samples. An eigenvalue counts as 0 up to the last column. Below, what must hold \
                         at any weights; N_Δ is the number of constraints, Σ over samples of the rank of ℓ″. The scale of a relu unit is \
                         free: weights into it times c and out of it over c leave the outputs as they are.";
            page.push(tables.fold(Section::new("In numbers").prose(words), Section::table));
        }
        Found::Products(probed) => {
            page.push(density(probed));
            let words = "An eigenvalue lies within the last column of each value. The trace is a mean over random probes.";
            page.push(tables.fold(Section::new("In numbers").prose(words), Section::table));
        }
    }
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

/// |λ| of every matrix, by sign.
fn histograms(split: &Split) -> Section {
    let mut section = Section::new("Sizes of the eigenvalues");
    for (which, spectrum) in split.all() {
        let Some(series) = histogram(spectrum) else {
            continue;
        };
        let (what, name) = match which {
            Which::Hessian => ("The Hessian H", "hessian"),
            Which::GaussNewton => ("Its Gauss–Newton part H₀", "gauss-newton"),
            Which::Curvature => ("The curvature of the outputs, H_p", "curvature"),
            Which::Fisher => ("The Fisher matrix F", "fisher"),
        };
        let plot = Plot {
            title: what.into(),
            x: Axis::log("|λ|"),
            y: Axis::linear("eigenvalues per bin"),
            series,
        };
        let zeros = match spectrum.counts.zero {
            0 => "No eigenvalue is 0.".to_string(),
            zero => format!("Beside these, {} are 0.", grouped(zero as u64)),
        };
        let caption = format!("Four bins for each factor of 10. {zeros}");
        section = section.figure(name, plot.draw(), caption);
    }
    section
}

/// Positive and negative eigenvalues that are not 0, in bins of their logarithm; none where there is none.
fn histogram(spectrum: &Spectrum) -> Option<Vec<Series>> {
    let tolerance = spectrum.counts.tolerance;
    let bin = |l: f64| (l.abs().log10() * BINS).floor() as i64;
    let sign = |positive: bool| {
        let of = move |l: &&f64| l.abs() > tolerance && (**l > 0.0) == positive;
        spectrum.eigenvalues.iter().filter(of).map(|&l| bin(l))
    };
    let first = sign(true).chain(sign(false)).min()?;
    let last = sign(true).chain(sign(false)).max()?;
    let edge = |bin: i64| 10f64.powf(bin as f64 / BINS);
    let mut series = Vec::new();
    for (label, positive) in [("λ > 0", true), ("λ < 0", false)] {
        let mut counts = vec![0u64; (last - first + 1) as usize];
        sign(positive).for_each(|b| counts[(b - first) as usize] += 1);
        if counts.iter().all(|&n| n == 0) {
            continue;
        }
        let steps = counts.iter().enumerate().flat_map(|(i, &n)| {
            let b = first + i as i64;
            [(edge(b), n as f64), (edge(b + 1), n as f64)]
        });
        let line = std::iter::once((edge(first), 0.0))
            .chain(steps)
            .chain([(edge(last + 1), 0.0)]);
        series.push(Series::line(label, line.collect()));
    }
    Some(series)
}

/// The density, with a band of a standard error.
fn density(probed: &Probed) -> Section {
    let places = probed.density();
    let highest = places.iter().fold(0.0, |m: f64, p| m.max(p.density.value));
    let floor = FLOOR * highest;
    // What is lower leaves a gap.
    let seen = |p: &Place, value: f64| match p.density.value > floor {
        true => value.max(floor),
        false => f64::NAN,
    };
    let line = places.iter().map(|p| (p.at, seen(p, p.density.value)));
    let band = places.iter().map(|p| {
        let (value, error) = (p.density.value, p.density.standard_error);
        (seen(p, value - error), seen(p, value + error))
    });
    let series = Series::line("", line.collect()).with_band(band.collect());
    let probes = places.first().map_or(0, |p| p.density.samples);
    let plot = Plot {
        title: format!("Density of the eigenvalues of {}", probed.which.symbol()),
        x: Axis::linear("λ"),
        y: Axis::log("part of the eigenvalues per unit of λ"),
        series: vec![series],
    };
    let caption = format!(
        "Mean and standard error over {probes} random probes, by Lanczos quadrature, seen through a Gaussian of standard deviation {}.",
        pretty(probed.width())
    );
    Section::new("Where the eigenvalues are").figure("density", plot.draw(), caption)
}
