//! `report.html` of a Gram spectrum.

use polariscope_report::{Axis, Page, Plot, Section, Series, counted, grouped, pretty};

use super::Answer;

/// The page; `command` gives the same again.
pub fn page(answer: &Answer, command: &str, settings: Vec<(String, String)>) -> Page {
    let (found, eigenvalues) = (&answer.summary, &answer.eigenvalues);
    let mut page = Page::new(
        format!("What {} learns first", found.name),
        format!(
            "How are the eigenvalues of the {} of {} on {} distributed?",
            found.kernel,
            found.name,
            counted(found.samples as u64, "sample")
        ),
        found.words.as_str(),
    );
    page.facts([
        (
            grouped(found.directions[1] as u64),
            "directions hold 90 % of the trace".to_string(),
        ),
        (
            pretty(found.effective),
            "effective number of directions".to_string(),
        ),
    ]);
    let points = eigenvalues.iter().enumerate();
    let points = points.map(|(i, &l)| ((i + 1) as f64, l)).collect();
    let plot = Plot {
        title: "Eigenvalues of the Gram matrix over the number of samples".into(),
        x: Axis::log("index"),
        y: Axis::log("eigenvalue"),
        series: vec![Series::scatter("", points)],
    };
    page.push(Section::new("Eigenvalue decay").figure(
        "decay",
        plot.draw(),
        "Directions on the left are learnt first and from few samples.",
    ));
    page.push(Section::new("In numbers").table(found.table()));
    page.push(Section::reproduce(command));
    page.configure(settings);
    page
}
