//! What cells share, made before the first of them.

use std::sync::OnceLock;

use crate::GeometryExperimentsError;

/// A value that is made once.
#[derive(Debug)]
pub(crate) struct Prepared<T>(OnceLock<T>);

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Prepared(OnceLock::new())
    }
}

impl<T> Prepared<T> {
    /// Keeps the value.
    pub fn set(&self, value: T) {
        self.0.get_or_init(|| value);
    }

    /// The value.
    pub fn get(&self) -> Result<&T, GeometryExperimentsError> {
        self.0.get().ok_or(GeometryExperimentsError::Unprepared)
    }
}
