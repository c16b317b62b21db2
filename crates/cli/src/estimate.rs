//! What a run will take, said before it takes it.

use std::time::Duration;

use crate::args::Common;
use crate::error::CliError;
use crate::output;
use crate::progress::duration;

/// Runs shorter than this need no announcement.
const LONG: f64 = 10.0;
/// Nor do runs in less memory than this.
const LARGE: f64 = (1u64 << 30) as f64;

/// Says how long `left` more pieces take if `done` took `elapsed`, and what memory the whole needs,
/// unless both are small.
pub fn announce(common: &Common, work: &str, elapsed: Duration, done: f64, left: f64, bytes: f64) {
    let seconds = elapsed.as_secs_f64() * left / done.max(1.0);
    if seconds >= LONG || bytes >= LARGE {
        output::note(common, &sentence(work, seconds, bytes));
    }
}

/// Refuses work that needs more memory than the machine has; `advice` says how to need less.
pub fn afford(bytes: f64, advice: &str) -> Result<(), CliError> {
    match machine() {
        Some(has) if bytes > has => Err(CliError::Usage(format!(
            "this needs about {} of memory and the machine has {}; {advice}",
            memory(bytes),
            memory(has)
        ))),
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

fn sentence(work: &str, seconds: f64, bytes: f64) -> String {
    format!("{work}: about {} and {}", duration(seconds), memory(bytes))
}

/// Bytes as people say them.
pub fn memory(bytes: f64) -> String {
    let mebibytes = bytes / f64::from(1 << 20);
    if mebibytes < 1024.0 {
        format!("{:.0} MiB", mebibytes.max(1.0))
    } else {
        format!("{:.1} GiB", mebibytes / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(memory(3e3), "1 MiB");
        assert_eq!(memory(500.0 * 1_048_576.0), "500 MiB");
        assert_eq!(memory(1.5 * 1_073_741_824.0), "1.5 GiB");
        assert_eq!(
            sentence("60 samples", 75.0, 1e6),
            "60 samples: about 1 min 15 s and 1 MiB"
        );
    }

    #[test]
    fn the_impossible_is_refused() {
        assert!(afford(0.0, "").is_ok());
        if machine().is_some() {
            let e = afford(1e18, "give less").unwrap_err().to_string();
            assert!(e.contains("give less"), "{e}");
        }
    }
}
