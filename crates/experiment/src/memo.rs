//! What cells share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Values that are made once and read by every cell that needs them.
#[derive(Debug)]
pub struct Memo<K, V>(Mutex<HashMap<K, Arc<V>>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo(Mutex::default())
    }
}

impl<K: Hash + Eq, V> Memo<K, V> {
    /// The value of `key`, made where there is none. Nothing is locked meanwhile: two cells that come at the same time may
    /// both make it.
    pub fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept().get(&key).cloned();
        match found {
            Some(value) => Ok(value),
            None => {
                let value = Arc::new(make()?);
                kept().insert(key, Arc::clone(&value));
                Ok(value)
            }
        }
    }
}
