//! What a run will take, said before it takes it.

use std::time::Duration;

use polariscope_report::{duration, memory};

use crate::args::Common;
use crate::output;

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

fn sentence(work: &str, seconds: f64, bytes: f64) -> String {
    match bytes > 0.0 {
        true => format!("{work}: about {} and {}", duration(seconds), memory(bytes)),
        false => format!("{work}: about {}", duration(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_reads_well() {
        assert_eq!(
            sentence("60 samples", 75.0, 1e6),
            "60 samples: about 1 min 15 s and 1 MiB"
        );
        assert_eq!(
            sentence("60 samples", 75.0, 0.0),
            "60 samples: about 1 min 15 s"
        );
    }
}
