//! How a run directory fails.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use polariscope_raster::RasterError;
use thiserror::Error;

/// A directory, file or record that cannot be had.
#[derive(Debug, Error)]
pub enum RunError {
    /// The directory cannot be made.
    #[error("cannot write to {}: {source}; give ‹out› a directory that can be written", path.display())]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A record cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A checkpoint cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something that was to be removed cannot be.
    #[error("cannot remove {}: {source}", path.display())]
    Remove {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `run.toml` is something else.
    #[error("{} is not the record of a run ({reason}); give another ‹out›, or ‹force› to replace it", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder with files of somebody else.
    #[error("{} is a folder with other files ({found}) and no run; give ‹out› a new folder, such as {}", path.display(), path.join(instead).display())]
    Occupied {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        found: String,
        /// A name for a folder inside.
        instead: String,
    },
    /// The directory is that of another run.
    #[error("{} holds another run ({difference}); give another ‹out›, or ‹force› to replace it", directory.display())]
    Another {
        /// The directory.
        directory: PathBuf,
        /// The first setting that differs.
        difference: String,
    },
    /// An unfinished run of another version cannot be taken up to the same bits.
    #[error("{} holds an unfinished run of version {version}; give another ‹out›, or ‹force› to replace it", directory.display())]
    Version {
        /// The directory.
        directory: PathBuf,
        /// Its version.
        version: String,
    },
    /// Another process is at work there.
    #[error("{} is being written by another process; wait for it or give another ‹out›", directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// The result in a record does not fit.
    #[error("{}: the [result] of run.toml cannot be read ({reason}); ‹force› runs it again", directory.display())]
    NoResult {
        /// The directory.
        directory: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A figure cannot be drawn in pixels.
    #[error("cannot draw {figure} as PNG: {source}")]
    Figure {
        /// The figure.
        figure: String,
        /// Why.
        source: RasterError,
    },
    /// Something has no form in TOML.
    #[error("cannot express {what} as TOML: {reason}")]
    Toml {
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
}

impl RunError {
    /// Whether another place or another command would help; else the machine failed.
    pub fn is_usage(&self) -> bool {
        match self {
            RunError::Write { source, .. } => !matches!(
                source.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
            ),
            RunError::Checkpoint { .. } | RunError::Remove { .. } | RunError::Toml { .. } => false,
            RunError::Unwritable { .. }
            | RunError::Read { .. }
            | RunError::NoRecord { .. }
            | RunError::Occupied { .. }
            | RunError::Another { .. }
            | RunError::Version { .. }
            | RunError::Busy { .. }
            | RunError::Figure { .. }
            | RunError::NoResult { .. } => true,
        }
    }

    pub(crate) fn unwritable(path: &Path, source: io::Error) -> Self {
        RunError::Unwritable {
            path: path.into(),
            source,
        }
    }
}
