//! Counts, times and sizes as people say them; lines that fit a terminal.

use crate::grouped;

/// Most characters in a line of prose.
const WIDTH: usize = 80;

/// `1 epoch`, `12 epochs`.
///
/// ```
/// assert_eq!(polariscope_report::counted(12_000, "step"), "12,000 steps");
/// ```
pub fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(n))
}

/// Seconds as people say them.
pub fn duration(seconds: f64) -> String {
    // The cast saturates; a century is shown for anything longer.
    let whole = seconds.clamp(0.0, 3.2e9).round() as u64;
    match whole {
        0 if seconds < 0.0995 => format!("{:.0} ms", (1e3 * seconds).max(1.0)),
        0..60 if seconds < 9.95 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
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

/// Prose broken at spaces, with a line break at its end.
pub fn fill(text: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split(' ') {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > WIDTH {
            out.push('\n');
            length = 0;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out += word;
        length += size;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(counted(1, "step"), "1 step");
        assert_eq!(counted(2, "step"), "2 steps");
    }

    #[test]
    fn durations_read_well() {
        let cases = [
            (0.0, "1 ms"),
            (0.0423, "42 ms"),
            (0.0996, "0.1 s"),
            (9.94, "9.9 s"),
            (9.96, "10 s"),
            (59.4, "59 s"),
            (59.6, "1 min 0 s"),
            (3599.6, "1 h 0 min"),
            (90_000.0, "1 d 1 h"),
        ];
        for (seconds, text) in cases {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn lines_are_filled() {
        let text = fill(&"word ".repeat(60));
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 60);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(memory(3e3), "1 MiB");
        assert_eq!(memory(500.0 * 1_048_576.0), "500 MiB");
        assert_eq!(memory(1.5 * 1_073_741_824.0), "1.5 GiB");
    }

    #[test]
    fn lines_are_never_too_long() {
        let text = fill(&"word ".repeat(60));
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 60);
    }
}
