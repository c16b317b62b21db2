//! Memory that starts on a cache line, so that no register load crosses one.

use super::SimdNumber;

/// Numbers from a 64-byte boundary on.
#[derive(Clone, Debug)]
pub(crate) struct Buffer<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: SimdNumber> Buffer<T> {
    /// No memory at all.
    pub const fn empty() -> Self {
        Buffer {
            data: Vec::new(),
            start: 0,
            len: 0,
        }
    }

    /// Zeros.
    pub fn zeros(len: usize) -> Self {
        let data = vec![T::of(0.0); len + T::LANES];
        let start = data.as_ptr().align_offset(64).min(T::LANES);
        Buffer { data, start, len }
    }

    /// Makes room for so many numbers; what they are is left open.
    pub fn grow(&mut self, len: usize) {
        if self.len < len {
            *self = Self::zeros(len);
        }
    }

    #[inline(always)]
    pub fn all(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }

    #[inline(always)]
    pub fn all_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}
