//! What can be wrong with data.

use std::io;
use std::path::{Path, PathBuf};

/// An error of this crate: one line that says what, where and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file or directory could not be read or written.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is cut short, damaged or of another kind than asked for.
    #[error("{file}: {what} (at byte {offset})")]
    Malformed {
        /// Which file.
        file: String,
        /// Where, in bytes from its start (of the decompressed content, where it is compressed).
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// An image that cannot be read, or a file in its place.
    #[error("{}: {what}", path.display())]
    Image {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A line of text that cannot be read.
    #[error("{file}, line {line}: {what}")]
    Line {
        /// Which file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// NaN or infinity among the inputs or targets.
    #[error("{file}: {value} in sample {row}; every number must be finite")]
    NotFinite {
        /// Which file.
        file: String,
        /// Index of the sample.
        row: usize,
        /// NaN, inf or −inf.
        value: f32,
    },
    /// A class label that is no class.
    #[error("{file}: label {label} of sample {row} is out of range; classes are 0 to {last}")]
    Label {
        /// Which file.
        file: String,
        /// The label.
        label: i64,
        /// Index of the sample.
        row: usize,
        /// Largest class.
        last: u32,
    },
    /// Inputs and labels that do not pair up.
    #[error("{x} holds {inputs} samples but {y} holds {labels} labels")]
    Counts {
        /// File of the inputs.
        x: String,
        /// How many.
        inputs: usize,
        /// File of the labels.
        y: String,
        /// How many.
        labels: usize,
    },
    /// An array whose dimensions do not fit its use.
    #[error("{file}: {what}")]
    Shape {
        /// Which file.
        file: String,
        /// Found and expected.
        what: String,
    },
    /// No sample left to work with.
    #[error("{what}: no samples")]
    Empty {
        /// Which data.
        what: String,
    },
    /// A directory without the files asked for.
    #[error("{}: {what}", path.display())]
    Directory {
        /// Which directory.
        path: PathBuf,
        /// What was looked for.
        what: String,
    },
    /// A data specification that cannot be followed.
    #[error("data '{spec}': {what}")]
    Spec {
        /// The specification or its part.
        spec: String,
        /// What is wrong with it.
        what: String,
    },
}

impl DataError {
    pub(crate) fn io(path: &Path, source: io::Error) -> DataError {
        DataError::Io {
            path: path.into(),
            source,
        }
    }

    pub(crate) fn malformed(file: &str, offset: usize, what: impl Into<String>) -> DataError {
        DataError::Malformed {
            file: file.into(),
            offset: offset as u64,
            what: what.into(),
        }
    }

    /// User text is cut and escaped, so that the message stays one line.
    pub(crate) fn spec(spec: &str, what: impl Into<String>) -> DataError {
        let shown: String = spec.chars().take(80).collect();
        let cut = if shown.len() < spec.len() { "…" } else { "" };
        DataError::Spec {
            spec: format!("{}{cut}", shown.escape_debug()),
            what: what.into(),
        }
    }
}
