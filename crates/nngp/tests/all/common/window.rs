//! Sliding windows in the reference.

use polariscope_graph::{Padding, Window};

/// Σ over equal taps, or over all pairs of taps, of an all-pairs matrix.
pub fn slide(window: &Window, from: [usize; 2], to: [usize; 2], m: &[f64], all: bool) -> Vec<f64> {
    let taps = |o: usize| -> Vec<(usize, Option<usize>)> {
        let o = [o / to[1], o % to[1]];
        let axis = |a: usize, tap: usize| {
            let extent = (window.kernel[a] - 1) * window.dilation[a] + 1;
            let (before, _) = window.padding.amounts(from[a], extent, window.stride[a]);
            let i = (o[a] * window.stride[a] + tap * window.dilation[a]) as isize - before as isize;
            match window.padding {
                Padding::Circular => Some(i.rem_euclid(from[a] as isize) as usize),
                _ => (0..from[a] as isize).contains(&i).then_some(i as usize),
            }
        };
        let one = |tap: usize| {
            let (y, x) = (
                axis(0, tap / window.kernel[1]),
                axis(1, tap % window.kernel[1]),
            );
            (tap, y.zip(x).map(|(y, x)| y * from[1] + x))
        };
        (0..window.kernel[0] * window.kernel[1]).map(one).collect()
    };
    let (n, p) = (to[0] * to[1], from[0] * from[1]);
    let mut out = vec![0.0; n * n];
    let taps: Vec<Vec<(usize, Option<usize>)>> = (0..n).map(taps).collect();
    for o in 0..n {
        for o2 in 0..n {
            for &(tap, i) in &taps[o] {
                let partners = if all {
                    &taps[o2][..]
                } else {
                    &taps[o2][tap..=tap]
                };
                for &(_, j) in partners {
                    if let (Some(i), Some(j)) = (i, j) {
                        out[o * n + o2] += m[i * p + j];
                    }
                }
            }
        }
    }
    out
}
