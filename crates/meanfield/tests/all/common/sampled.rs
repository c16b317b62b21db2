//! G estimated from networks, compared entry by entry with a closed form.

use polariscope_graph::Graph;
use polariscope_meanfield::Covariance;
use polariscope_network::{Network, Scalar, Weights};

/// How a sample of T gradients differs from G.
#[derive(Debug)]
pub struct Difference {
    /// Mean over entries of z² = (mean − G)²/(standard error)², 1 if G is right.
    pub mean_square: f64,
    /// Largest |z|.
    pub largest: f64,
    /// ‖Ĝ − G‖² over its expectation E‖ggᵀ − G‖²/T, 1 if G is right.
    pub distance: f64,
}

/// Draws `networks` networks and takes their gradients at x.
pub fn difference(
    graph: &Graph,
    g: &Covariance,
    x: &[f64],
    scalar: Scalar,
    networks: u64,
) -> Difference {
    let network = Network::<f64>::new(graph.clone());
    let n = g.dimension();
    assert_eq!(n, x.len());
    let mut weights = Weights::zeros(graph);
    let (mut sum, mut squares) = (vec![0.0; n * n], vec![0.0; n * n]);
    for index in 0..networks {
        weights.redraw(graph, 11, index);
        let gradient = network.input_gradient(&weights, x, scalar).unwrap();
        for i in 0..n {
            for j in 0..=i {
                let d = gradient[i] * gradient[j] - g.get(i, j);
                sum[n * i + j] += d;
                squares[n * i + j] += d * d;
            }
        }
    }
    let t = networks as f64;
    let (mut z_squares, mut largest, mut entries) = (0.0, 0f64, 0.0);
    let (mut distance, mut expected) = (0.0, 0.0);
    for i in 0..n {
        for j in 0..=i {
            let (mean, square) = (sum[n * i + j] / t, squares[n * i + j] / t);
            let weight = if i == j { 1.0 } else { 2.0 };
            distance += weight * mean * mean;
            expected += weight * square / t;
            let error = ((square - mean * mean) / (t - 1.0)).sqrt();
            let z = if error > 0.0 { mean / error } else { 0.0 };
            assert!(
                error > 0.0 || mean == 0.0,
                "entry {i},{j} never varies, but is off by {mean:e}"
            );
            z_squares += z * z;
            largest = largest.max(z.abs());
            entries += 1.0;
        }
    }
    Difference {
        mean_square: z_squares / entries,
        largest,
        distance: distance / expected,
    }
}

/// Entries are correlated: with few independent directions the two means are near χ²/ν of a handful of degrees of
/// freedom, whose 99.9 % quantile at ν = 3 is 5.4. The largest of 2000 normal |z| exceeds 5 once in 900.
pub fn assert_agrees(name: &str, d: &Difference) {
    assert!(
        d.mean_square < 4.0 && d.largest < 5.0 && d.distance < 4.0,
        "{name}: {d:?}"
    );
    assert!(
        d.mean_square > 0.2 && d.distance > 0.1,
        "{name}: closer than chance allows, {d:?}"
    );
}
