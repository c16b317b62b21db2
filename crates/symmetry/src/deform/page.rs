//! `report.html`: images, the diagram of temperatures and cutoffs, numbers.

use polariscope_data::deform::{Convention, Interpolation, ModeRule};
use polariscope_report::{
    Axis, Gallery, Page, Picture, Plot, Section, Series, Tile, grouped, pretty,
};

use super::answer::{Limit, MARKED};
use super::{Answer, Column};

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let summary = &answer.summary;
    let (about, asked) = (&summary.about, summary.asked());
    let mut page = Page::new(
        format!("Deformations of {}", about.data),
        format!(
            "What do smooth random deformations of {} do to {}x{} images of {}?",
            match about.displacement_is {
                Convention::Exact => format!("{} px", pretty(about.displacement)),
                Convention::Nominal => format!("nominally {} px", pretty(about.displacement)),
            },
            about.n,
            about.n,
            about.data
        ),
        summary.words.as_str(),
    );
    let [low, high] = summary.reach();
    page.facts([
        (pretty(asked.t), "is the temperature".to_string()),
        (
            format!("{} to {}", pretty(low), pretty(high)),
            "pixels are in range".to_string(),
        ),
        (
            grouped(asked.smooth as u64),
            format!("of {} fields have max Ξ < 1", grouped(about.fields as u64)),
        ),
    ]);
    page.push(pictures(answer));
    page.push(diagram(answer));
    page.push(numbers(answer));
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}

/// A tile a temperature.
fn pictures(answer: &Answer) -> Section {
    let tile = |column: &Column| {
        let grey = |row: &Vec<f32>| row.iter().map(|&x| [f64::from(x); 3]).collect();
        let photo = |words: &str, rows| Picture::Photo {
            words: format!("{words}, {}", column.label),
            rows,
        };
        let mesh = photo("a mesh", column.mesh.iter().map(grey).collect());
        let images = column.images.chunks_exact(answer.size);
        let images = images.map(|image| photo("an image", answer.viewer.picture(image)));
        Tile {
            label: column.label.clone(),
            pictures: [mesh].into_iter().chain(images).collect(),
        }
    };
    let gallery = Gallery {
        title: format!("Deformations of {}", answer.summary.about.data),
        tiles: answer.columns.iter().map(tile).collect(),
    };
    let caption = match answer.summary.about.interpolation {
        Interpolation::Bilinear => {
            "Each row keeps its field, which grows from left to right as √T. The mesh moves with the first image."
        }
        Interpolation::Gaussian => {
            "Each row keeps its field, which grows from left to right as √T. The mesh moves with the first image. The Gaussian blurs \
             where nothing moves: compare with the first column."
        }
    };
    Section::new("What they look like").gallery("images", gallery, caption)
}

/// T against c.
fn diagram(answer: &Answer) -> Section {
    let about = &answer.summary.about;
    let line = |of: &dyn Fn(&Limit) -> f64| {
        answer
            .limits
            .iter()
            .map(|l| (l.cutoff as f64, of(l)))
            .collect::<Vec<_>>()
    };
    let mut series = vec![
        Series::reference("lower limit (eq. 8)", line(&|l| l.range.0)),
        Series::reference("upper limit (eq. 14)", line(&|l| l.range.1)),
    ];
    for (k, displacement) in MARKED.into_iter().enumerate() {
        let label = format!("{} px", pretty(displacement));
        series.push(Series::line(label, line(&|l| l.at[k])));
    }
    let here = vec![(about.cutoff as f64, answer.summary.asked().t)];
    series.push(Series::scatter("asked", here));
    let plot = Plot {
        title: format!("Temperatures for {}x{} pixels", about.n, about.n),
        x: Axis::linear("cutoff c"),
        y: Axis::log("T"),
        series,
    };
    let what = match about.displacement_is {
        Convention::Exact => "exact displacements, sums over modes",
        Convention::Nominal => "displacements by the formula for many modes",
    };
    let caption = format!(
        "Deformations are in range between the dashed lines, which meet at c = 2n/π. Coloured lines are of {what}."
    );
    Section::new("Where they are in range").figure("temperatures", plot.draw(), caption)
}

fn numbers(answer: &Answer) -> Section {
    let about = &answer.summary.about;
    let rule = match about.modes {
        ModeRule::Strict => "i² + j² ≤ c²",
        ModeRule::Code => "√(i² + j²) < c + ½, as in the published code",
    };
    let words = format!(
        "Displacements τ are sums of C_ij sin(iπu) sin(jπv) over modes with {rule}, C_ij ~ N(0, T/(i² + j²)), drawn for each axis. \
         Exact δ is n √(T Σ 1/(i² + j²)/2), nominal δ its limit for many modes, n √(π T ln c)/2, and measured δ the root of the mean \
         square of {} fields. max Ξ is the largest stretch of a field, ½(√(‖∇τ‖² − 2 det ∇τ) + tr ∇τ) over its pixels, and min det \
         its smallest det(1 − ∇τ): medians over fields. Below 0 the field folds.",
        grouped(about.fields as u64)
    );
    Section::new("In numbers")
        .prose(words)
        .table(answer.summary.table())
}
