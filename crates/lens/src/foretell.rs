//! How long dense algebra will take, told from a small part of it.

use std::time::Instant;

use crate::Observer;

/// Rows from which on the solution of an eigenproblem is worth an estimate: below it takes less than a second.
const LARGE: usize = 1024;
/// Rows of the pilot.
const PILOT: usize = 256;

/// Says how long work that grows with the cube of its n rows takes: `solve` does it for the leading block of a
/// symmetric n × n matrix, of as many rows as it is told.
pub fn foretell_cubic(
    observer: &mut dyn Observer,
    words: &str,
    (matrix, n): (&[f64], usize),
    matrices: f64,
    solve: impl FnOnce(&[f64], usize),
) {
    if n < LARGE || matrix.len() < n * PILOT {
        return;
    }
    let rows = matrix.chunks_exact(n).take(PILOT);
    let block: Vec<f64> = rows.flat_map(|row| &row[..PILOT]).copied().collect();
    let started = Instant::now();
    solve(&block, PILOT);
    let cubes = (n as f64 / PILOT as f64).powi(3);
    let bytes = 8.0 * matrices * (n as f64).powi(2);
    observer.expect(words, started.elapsed().as_secs_f64() * cubes, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers what was said.
    #[derive(Default)]
    struct Listener(Vec<(String, f64, f64)>);

    impl Observer for Listener {
        fn expect(&mut self, words: &str, seconds: f64, bytes: f64) {
            self.0.push((words.into(), seconds, bytes));
        }
    }

    #[test]
    fn the_pilot_has_the_leading_block_and_its_time_is_cubed() {
        let n = 2 * LARGE;
        let matrix: Vec<f64> = (0..n * n)
            .map(|i| (i / n * 10_000 + i % n) as f64)
            .collect();
        let mut listener = Listener::default();
        foretell_cubic(
            &mut listener,
            "solving",
            (&matrix, n),
            3.0,
            |block, rows| {
                assert_eq!((rows, block.len()), (PILOT, PILOT * PILOT));
                assert_eq!(block[PILOT + 2], 10_002.0);
                std::thread::sleep(std::time::Duration::from_millis(20));
            },
        );
        let (words, seconds, bytes) = &listener.0[0];
        assert_eq!((words.as_str(), *bytes), ("solving", 24.0 * (n * n) as f64));
        // 8³ times the 20 ms that the pilot slept at least.
        assert!(*seconds >= 512.0 * 0.02, "{seconds}");
    }

    #[test]
    fn small_work_is_not_announced() {
        let mut listener = Listener::default();
        let matrix = vec![0.0; 9];
        foretell_cubic(&mut listener, "solving", (&matrix, 3), 1.0, |_, _| {
            panic!("no pilot")
        });
        assert!(listener.0.is_empty());
    }
}
