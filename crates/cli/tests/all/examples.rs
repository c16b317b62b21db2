//! The programs in `examples/` say what the command line says.

use crate::common::{directory, succeed};

#[allow(dead_code)]
#[path = "../../../../examples/resnet18.rs"]
mod resnet18;

#[allow(dead_code)]
#[path = "../../../../examples/lenses.rs"]
mod lenses;

#[test]
fn a_geometry_is_what_the_command_prints() {
    let dir = directory("example-resnet18");
    let printed = succeed(&dir, &["geometry", "resnet18", "--out", "run"]);
    let text = resnet18::geometry().unwrap();
    assert!(text.contains("Coherent geometry"), "{text}");
    // After it come the names of the files.
    assert!(
        printed.starts_with(&format!("{text}\n")),
        "{printed}\n{text}"
    );
}

#[test]
fn four_lenses_look_at_an_architecture_file() {
    let dir = directory("example-lenses");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lenses.toml");
    let [geometry, aligned, group, learnt] = lenses::lenses(file).unwrap();
    let printed = |args: &[&str]| succeed(&dir, &[args, &["--out", args[0]]].concat());
    assert!(printed(&["geometry", file]).starts_with(&format!("{geometry}\n")));
    let data = "linear?shape=1x8x8&train=60&test=40&eps=3";
    let words = |text: &str| {
        text.split_whitespace()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let shown = words(&printed(&["align", file, "--data", data])).join(" ");
    assert!(shown.contains(&words(&aligned).join(" ")), "{shown}");
    // Wider here than there: the words are the same.
    assert!(words(&printed(&["symmetry", file])).starts_with(&words(&group)[..12]));
    let shown = words(&printed(&["regress", file, "--data", data])).join(" ");
    let (first, _) = learnt.split_once('\n').unwrap();
    assert!(
        shown.starts_with(&words(first).join(" ")),
        "{shown}\n{learnt}"
    );
}
