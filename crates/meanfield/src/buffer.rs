//! Memory of matrices.
//!
//! Fresh pages cost several times what is computed on them, so the memory of a matrix that is done with waits for the
//! next one of its size.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// Numbers that wait at most: 64 MB.
const MOST: usize = 1 << 23;

static IDLE: Mutex<Vec<Vec<f64>>> = Mutex::new(Vec::new());

/// Numbers in a row.
#[derive(Debug)]
pub(crate) struct Buffer(Vec<f64>);

impl Buffer {
    /// `length` times the same number.
    pub fn filled(length: usize, value: f64) -> Self {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|b| b.len() == length);
        let waiting = place.map(|at| idle.swap_remove(at));
        drop(idle);
        match waiting {
            Some(mut numbers) => {
                numbers.fill(value);
                Buffer(numbers)
            }
            None => Buffer(vec![value; length]),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let numbers = std::mem::take(&mut self.0);
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: usize = idle.iter().map(Vec::len).sum();
        if waiting + numbers.len() <= MOST {
            idle.push(numbers);
        }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Buffer::filled(self.len(), 0.0);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Buffer {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}
