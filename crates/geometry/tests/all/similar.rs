//! Corr of two samples, and the participation ratio of one. Catches noise that is taken for a difference (Corr of noisy
//! matrices is too small), noise that two samples share taken for likeness, and errors that do not cover.

use polariscope_geometry::{
    Gradient, Kron, Limit, Method, Question, Sampled, Similarity, Spectrum, corr,
};
use polariscope_graph::{ZooOptions, zoo};
use polariscope_lens::{Quiet, Setup};

/// A small sample of the local geometry of an MLP at Gaussian inputs, which is isotropic.
fn sample(name: &str, seed: u64, networks: u64) -> (Kron, Sampled, f64, f64) {
    let options = ZooOptions {
        input: Some("1x6x6".parse().unwrap()),
        ..ZooOptions::default()
    };
    let graph = zoo(name, &options).unwrap();
    let question = Question {
        gradient: Some(Gradient::Local),
        method: Some(Method::Sample),
        probes: Some(1),
        limit: Some(Limit::Networks(networks)),
        setup: Setup {
            seed,
            ..Setup::default()
        },
        ..Question::default()
    };
    let resolved = question.resolve(&graph).unwrap();
    let (answer, sample) = resolved.answer_and_sample(&graph, &mut Quiet).unwrap();
    let summary = &answer.numbers.summary;
    let error = summary.participation_ratio_error.unwrap();
    let ratio = summary.participation_ratio;
    (answer.matrix, sample.unwrap(), ratio, error)
}

#[test]
fn samples_of_one_architecture_compare_as_one() {
    let (a, sample_a, ..) = sample("mlp-1x10", 0, 256);
    let (b, sample_b, ..) = sample("mlp-1x10", 1, 256);
    let found = Similarity::of((&a, Some(&sample_a)), (&b, Some(&sample_b))).unwrap();
    assert!(found.error > 0.0 && found.error < 0.1, "{found:?}");
    assert!((found.corr - 1.0).abs() < 4.0 * found.error, "{found:?}");
    // The matrices as they are: further below 1 than the error allows.
    let raw = corr(&a, &b).unwrap();
    assert!(raw < 1.0 - 4.0 * found.error, "{raw} {found:?}");
    assert!(found.words().contains('±'));
    // Bytes and back.
    let again = sample_a.corr_with(&sample_b).unwrap();
    assert_eq!(again.value, found.corr);
    // The same networks.
    let same = sample_a.corr_with(&sample_a).unwrap();
    assert!((same.value - 1.0).abs() < 1e-14 && same.standard_error < 1e-14);
    // Against the truth, which no sample has noise of.
    let truth = Kron {
        channels: 1,
        n: 36,
        factor: identity(36),
    };
    let with = Similarity::of((&truth, None), (&b, Some(&sample_b))).unwrap();
    assert!((with.corr - 1.0).abs() < 4.0 * with.error, "{with:?}");
}

/// Networks of one seed share draws where their layers have the same names: products of the same networks are left out.
#[test]
fn shared_draws_are_no_likeness() {
    let (a, sample_a, ..) = sample("mlp-1x10", 3, 256);
    let (b, sample_b, ..) = sample("mlp-2x10", 3, 256);
    let found = Similarity::of((&a, Some(&sample_a)), (&b, Some(&sample_b))).unwrap();
    assert!((found.corr - 1.0).abs() < 4.0 * found.error, "{found:?}");
}

#[test]
fn noise_is_said_where_it_drowns() {
    let (a, sample_a, ..) = sample("mlp-1x10", 0, 2);
    let (b, sample_b, ..) = sample("mlp-1x10", 1, 2);
    let found = Similarity::of((&a, Some(&sample_a)), (&b, Some(&sample_b))).unwrap();
    assert!(!found.is_known() && found.words() == "noise", "{found:?}");
    let exact = Similarity::of((&a, None), (&b, None)).unwrap();
    assert!(exact.is_known() && !exact.words().contains('±'));
    assert_eq!(Similarity::SAME.words(), "1.000");
}

/// (tr G)²/‖G‖² of an isotropic G is D. Its estimate lies on both sides of D, by its error: noise, not rounding; that of the
/// matrix as it is lies far below.
#[test]
fn the_participation_ratio_passes_the_dimension_by_its_noise() {
    let samples: Vec<_> = (0..12).map(|seed| sample("mlp-1x10", seed, 256)).collect();
    for (matrix, _, ratio, error) in &samples {
        assert!(
            (ratio - 36.0).abs() < 5.0 * error && *error > 1e-3,
            "{ratio} ± {error}"
        );
        let spectrum = Spectrum::of(matrix).unwrap();
        let sum: f64 = spectrum.values.iter().sum();
        let squares: f64 = spectrum.values.iter().map(|v| v * v).sum();
        assert!(sum * sum / squares < 36.0 - 4.0 * error);
    }
    let above = samples
        .iter()
        .filter(|(_, _, ratio, _)| *ratio > 36.0)
        .count();
    assert!((1..12).contains(&above), "{above}");
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n)
        .map(|k| f64::from(u8::from(k / n == k % n)))
        .collect()
}
