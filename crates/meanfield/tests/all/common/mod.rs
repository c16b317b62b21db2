//! Networks from text.

pub mod sampled;

use polariscope_graph::{Graph, ZooOptions, parse_file};

/// The graph of an architecture file: `head` are its first lines, then its layers.
pub fn net(head: &str, layers: &str) -> Graph {
    let text = format!("{head}\nlayers = [ {layers} ]");
    parse_file(&text, "net.toml", &ZooOptions::default()).expect("the text is an architecture")
}
