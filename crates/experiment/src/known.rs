//! Cells that other runs measured.

use std::fs;
use std::path::PathBuf;

use polariscope_lens::fingerprint_bytes;
use thiserror::Error;

use crate::{Design, Row, Table};

/// A table of other runs that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("‹accuracies {}›: {reason}", path.display())]
pub struct KnownError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// The rows of tables that other runs of a design left, and what names their content.
pub fn known(paths: &[PathBuf], design: &Design) -> Result<(Vec<Row>, Vec<String>), KnownError> {
    let mut table = Table::new(design);
    let mut names = Vec::new();
    for path in paths {
        let wrong = |e: &dyn std::fmt::Display| KnownError {
            path: path.clone(),
            reason: e.to_string(),
        };
        let text = fs::read_to_string(path).map_err(|e| wrong(&e))?;
        table.read_csv(&text).map_err(|e| wrong(&e))?;
        names.push(fingerprint_bytes(text.as_bytes()));
    }
    Ok((table.rows, names))
}
