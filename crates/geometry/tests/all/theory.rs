//! Statements of the papers whose right-hand side is known. A wrong constant (½, 1/S, a dropped sign) moves `scale` or
//! `excess` by tens of standard errors; seeds are fixed, so nothing fails by chance.

use polariscope_geometry::theory::{
    Agreement, bayes, conv, labels, linear, mlp, patches, pooling, propagation,
};
use polariscope_geometry::{Spectrum, corr};
use polariscope_graph::Padding;
use polariscope_stats::Estimate;

/// Networks behind a matrix.
const NETWORKS: u64 = 16 * 1024;

fn near(found: Estimate, expected: f64, error: f64) {
    let Estimate {
        value,
        standard_error,
        ..
    } = found;
    assert!(standard_error < error, "{found} is too uncertain");
    let far = (value - expected).abs() / standard_error;
    assert!(far < 4.0, "{found}, not {expected}");
}

/// Scale 1 within 2 %, the whole matrix within 0.4 % of its squared norm.
fn agrees(found: Agreement) {
    near(found.scale, 1.0, 0.02);
    near(found.excess, 0.0, 0.004);
}

#[test]
fn linear_model() {
    let (geometry, delta) = linear::linear_model(NETWORKS).unwrap();
    agrees(geometry);
    agrees(delta);
}

#[test]
fn relu_layers_are_isotropic() {
    agrees(linear::relu_mlp(12, &[12], NETWORKS).unwrap());
    agrees(linear::relu_mlp(8, &[24], NETWORKS).unwrap());
    agrees(linear::relu_mlp(10, &[16, 8], NETWORKS).unwrap());
}

/// 4 … 9 taps with same padding, 1 … 9 with valid, 9 on a circle: only the last is c·I.
#[test]
fn flatten_networks_count_taps() {
    let range = |padding| {
        let taps = linear::taps(padding);
        let least = taps.iter().copied().fold(f64::INFINITY, f64::min);
        (least, taps.iter().copied().fold(0.0, f64::max))
    };
    assert_eq!(range(Padding::Same), (4.0, 9.0));
    assert_eq!(range(Padding::Valid), (1.0, 9.0));
    assert_eq!(range(Padding::Circular), (9.0, 9.0));
    for padding in [Padding::Same, Padding::Valid, Padding::Circular] {
        agrees(linear::flatten_cnn(padding, NETWORKS).unwrap());
    }
}

#[test]
fn hidden_layer_evolves_along_the_data() {
    let found = mlp::measured(24, 48, NETWORKS).unwrap();
    agrees(found.delta);
    near(found.corr.unwrap(), found.expected, 0.005);
}

/// The distance falls as D^{−1/2} for data of a fixed participation ratio, and stays where it grows with D.
#[test]
fn rate_in_the_dimension() {
    let far = mlp::rate(&[1 << 16, 1 << 17, 1 << 18], 10.0).unwrap();
    assert!((far.exponent + 0.5).abs() < 1e-3, "{far:?}");
    let near = mlp::rate(&[64, 128, 256], 10.0).unwrap();
    assert!(near.exponent > -0.4, "still steepening: {near:?}");
    let distance = |dim: usize| mlp::HiddenLayer::lecun(dim, 4 * dim).distance(dim as f64 / 2.0);
    assert!(distance(1 << 16) > 0.9 * distance(1 << 10));
}

#[test]
fn pooled_convolution_evolves_along_gsg() {
    let (geometry, found) = conv::measured(16, 4 * NETWORKS).unwrap();
    agrees(geometry);
    agrees(found.delta);
    near(found.corr.unwrap(), found.expected, 0.005);
}

#[test]
fn rate_in_the_width() {
    let fit = conv::rate(&[1 << 14, 1 << 15, 1 << 16]).unwrap();
    assert!((fit.exponent + 1.0).abs() < 1e-3, "{fit:?}");
}

#[test]
fn labels_cancel_between_mirrored_networks() {
    assert!(labels::antithetic().unwrap() < 1e-14);
}

/// (σ²/4)[[1,1,0],[1,2,1],[0,1,1]] with 3 along (1,2,1), 1 along (−1,0,1), 0 along (1,−1,1).
#[test]
fn three_inputs_by_hand() {
    let g = patches::three_inputs().unwrap();
    let bracket = [1.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 1.0];
    assert!(g.factor.iter().zip(bracket).all(|(g, b)| 4.0 * g == b));
    let spectrum = Spectrum::of(&g).unwrap();
    let expected = [
        (3.0, [1.0, 2.0, 1.0]),
        (1.0, [-1.0, 0.0, 1.0]),
        (0.0, [1.0, -1.0, 1.0]),
    ];
    for (i, (value, vector)) in expected.into_iter().enumerate() {
        assert!((4.0 * spectrum.values[i] - value).abs() < 1e-14);
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        let cosine: f64 = spectrum
            .direction(i)
            .iter()
            .zip(vector)
            .map(|(u, v)| u * v)
            .sum();
        assert!((cosine.abs() / length - 1.0).abs() < 1e-14);
    }
}

/// The pooled kernel's G is the patch-overlap matrix to the last entry, and it is not diagonal.
#[test]
fn overlap_of_patches() {
    let (g, counted) = (
        patches::pooled_kernel(1).unwrap(),
        patches::overlap_matrix(),
    );
    let pairs = g.factor.iter().zip(&counted.factor);
    pairs.for_each(|(g, c)| assert!((g - c).abs() < 1e-15));
    let diagonal: f64 = g.factor.iter().step_by(37).map(|g| g * g).sum();
    let all: f64 = g.factor.iter().map(|g| g * g).sum();
    assert!(diagonal < 0.1 * all);
}

/// Three input channels: I₃ ⊗ B, exactly for a linear network, on average for a ReLU network.
#[test]
fn input_channels_do_not_mix() {
    let (three, one) = (
        patches::pooled_kernel(3).unwrap(),
        patches::pooled_kernel(1).unwrap(),
    );
    let repeated = polariscope_geometry::Kron { channels: 3, ..one };
    assert!((corr(&three, &repeated).unwrap() - 1.0).abs() < 1e-14);
    assert!((three.trace() - repeated.trace()).abs() < 1e-14);
    near(patches::channels(NETWORKS).unwrap(), 0.0, 0.001);
}

/// With 1/q every pair of patches lies within the bounds; as printed, without it, every pair lies below.
#[test]
fn batch_norm_bounds() {
    let bounds = patches::batch_norm_bounds(20_000).unwrap();
    assert_eq!((bounds.pairs, bounds.outside), (36, 0));
    assert_eq!(bounds.outside_printed, 36);
}

#[test]
fn linear_model_of_pooling() {
    agrees(pooling::gradient_covariance(2 * NETWORKS).unwrap());
    agrees(pooling::mixed_derivative(NETWORKS).unwrap());
    agrees(pooling::relu_covariance(4 * NETWORKS).unwrap());
    agrees(pooling::curvature(2 * NETWORKS).unwrap());
    let (zeta, measured) = pooling::signal_to_noise();
    assert!((measured / zeta - 1.0).abs() < 1e-12);
}

/// The argument of Q from Fourier transforms and from linear algebra, at three pooling factors.
#[test]
fn bayes_accuracy_after_pooling() {
    let pool = |factor, frequency| bayes::Pool {
        dim: 128,
        factor,
        frequency,
        ratio: 0.5,
    };
    for (factor, frequency) in [(2, 5), (4, 5), (4, 21), (4, 50), (8, 5), (8, 30)] {
        let pool = pool(factor, frequency);
        assert!((pool.exact().unwrap() / pool.closed() - 1.0).abs() < 1e-10);
    }
    let paper = pool(4, 10);
    let simulated = paper.simulated(100_000).unwrap();
    near(simulated, bayes::accuracy(paper.closed()), 0.002);
    // The printed constant is √2 too large for a real feature: 20 standard errors away.
    let printed = bayes::accuracy(paper.printed());
    assert!(printed - simulated.value > 20.0 * simulated.standard_error);
    // Φ(1) and Φ(2) from tables.
    assert!((bayes::accuracy(1.0) - 0.841_344_746_068_543).abs() < 1e-12);
    assert!((bayes::accuracy(2.0) - 0.977_249_868_051_821).abs() < 1e-12);
}

/// Propagated covariances: to rounding for one kernel, on average for a deep network at a finite width.
#[test]
fn exact_propagation() {
    assert!(propagation::one_kernel(1).unwrap() < 1e-14);
    assert!(propagation::one_kernel(3).unwrap() < 1e-14);
    agrees(propagation::deep_network(4 * NETWORKS).unwrap());
}
