//! What the machine affords.

use polariscope_report::memory;
use thiserror::Error;

/// Work that needs more memory than there is.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("this needs about {} of memory and the machine has {}; {remedy}", memory(*.needs), memory(*.has))]
pub struct TooLarge {
    /// Bytes needed.
    pub needs: f64,
    /// Bytes there are.
    pub has: f64,
    /// How to need less.
    pub remedy: String,
}

/// Refuses work that needs more memory than the machine has; `remedy` says how to need less.
pub fn afford(needs: f64, remedy: &str) -> Result<(), TooLarge> {
    match machine() {
        Some(has) if needs > has => Err(TooLarge {
            needs,
            has,
            remedy: remedy.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Bytes of memory, where the system says.
fn machine() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024.0 * kibibytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_impossible_is_refused() {
        assert_eq!(afford(0.0, ""), Ok(()));
        if machine().is_some() {
            let e = afford(1e18, "give less").unwrap_err().to_string();
            assert!(e.contains("give less"), "{e}");
        }
    }
}
