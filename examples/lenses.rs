//! Four lenses on an architecture file.
use polariscope_data::Dataset;
use polariscope_geometry::{Question, aligned, answer, page};
use polariscope_graph::{ZooOptions, load};
use polariscope_kernels::{regress, symmetry};
use polariscope_lens::Quiet;
use polariscope_train::Problem;

/// What each of the four says.
pub fn lenses(file: &str) -> Result<[String; 4], Box<dyn std::error::Error>> {
    let graph = load(file, &ZooOptions::default())?;
    let data = Dataset::load("linear?shape=1x8x8&train=60&test=40&eps=3")?;
    // What it learns easily before it has learnt anything, and whether that suits the data.
    let question = Question::default();
    let geometry = answer(&graph, &question, &mut Quiet)?;
    let problem = Problem {
        graph: graph.clone(),
        data,
    };
    let aligned = aligned(&problem, &question.resolve(&graph)?, &geometry, &mut Quiet)?;
    // What it cannot tell apart, and what the kernel of the infinitely wide network learns.
    let group = symmetry::answer(&graph, None, &symmetry::Question::default(), &mut Quiet)?;
    let learnt = regress::answer(
        &graph,
        &problem.data,
        &regress::Question::default(),
        &mut Quiet,
    )?;
    Ok([
        page::text(&geometry),
        aligned.result.words,
        group.summary.text(80),
        learnt.summary.text(80),
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lenses.toml");
    print!("{}", lenses(file)?.join("\n"));
    Ok(())
}
