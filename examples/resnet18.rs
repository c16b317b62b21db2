//! What `polariscope geometry resnet18` prints, through the library.
use polariscope_geometry::{Question, answer, page};
use polariscope_graph::{ZooOptions, zoo};
use polariscope_lens::Quiet;

/// The text.
pub fn geometry() -> Result<String, Box<dyn std::error::Error>> {
    let graph = zoo("resnet18", &ZooOptions::with_input("1x32x32".parse()?))?;
    let found = answer(&graph, &Question::default(), &mut Quiet)?;
    Ok(page::text(&found))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    geometry().map(|text| print!("{text}"))
}
