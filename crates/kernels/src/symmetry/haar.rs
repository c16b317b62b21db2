//! Orthogonal matrices, uniform over the group: Q of a normal matrix A = QR with R's diagonal positive.

use faer::Mat;
use polariscope_random::Stream;

/// A uniformly distributed orthogonal n × n matrix, row by row.
pub(super) fn orthogonal(stream: &Stream, n: usize) -> Vec<f64> {
    let mut normal = vec![0.0_f32; n * n];
    stream.normal(1.0, &mut normal);
    let a = Mat::from_fn(n, n, |i, j| f64::from(normal[i * n + j]));
    let qr = a.qr();
    let (q, r) = (qr.compute_Q(), qr.R());
    let sign = |j: usize| if r[(j, j)] < 0.0 { -1.0 } else { 1.0 };
    let signs: Vec<f64> = (0..n).map(sign).collect();
    let entry = |k: usize| q[(k / n, k % n)] * signs[k % n];
    (0..n * n).map(entry).collect()
}
