//! Rust in the documentation is compiled: a crate includes every page that holds some as a doctest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Looks for pages whose examples nobody compiles.
pub fn check(root: &Path) -> Result<(), String> {
    let forgotten = forgotten(root).map_err(|e| format!("cannot read the documentation: {e}"))?;
    if forgotten.is_empty() {
        return Ok(());
    }
    Err(format!(
        "no crate's lib.rs includes these pages, so that their Rust is not compiled (see crates/network/src/lib.rs):\n{}",
        forgotten.join("\n")
    ))
}

fn forgotten(root: &Path) -> io::Result<Vec<String>> {
    let mut compiled = String::new();
    for folder in entries(&root.join("crates"))? {
        let library = folder.join("src/lib.rs");
        if library.exists() {
            compiled += &fs::read_to_string(library)?;
        }
    }
    let mut pages = vec!["README.md".to_owned(), "ARCHITECTURE.md".to_owned()];
    for path in entries(&root.join("docs"))? {
        if let Some(name) = path.file_name().and_then(|n| n.to_str())
            && name.ends_with(".md")
        {
            pages.push(format!("docs/{name}"));
        }
    }
    let mut forgotten = Vec::new();
    for page in pages {
        let text = fs::read_to_string(root.join(&page))?;
        if text.contains("```rust") && !compiled.contains(&format!("../../../{page}\"")) {
            forgotten.push(page);
        }
    }
    Ok(forgotten)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect()
}
