//! Spectra of matrices known by hand, and identities that hold for any.

use polariscope_geometry::{
    GeometryError, Kron, Spectrum, Summary, corr, flip, generalised, overlap,
};
use polariscope_linalg::covariance;
use polariscope_random::Stream;

/// A random positive definite matrix.
fn random(name: &str, n: usize) -> Vec<f64> {
    let mut x = vec![0.0; 3 * n * n];
    Stream::new(0, 0, name).normal(1.0, &mut x);
    covariance(&x, n)
}

fn diagonal(entries: &[f64]) -> Kron {
    let n = entries.len();
    let mut matrix = vec![0.0; n * n];
    matrix
        .iter_mut()
        .step_by(n + 1)
        .zip(entries)
        .for_each(|(m, e)| *m = *e);
    Kron::dense(matrix, n)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn multiplets_are_the_dense_spectrum() {
    let g = Kron {
        channels: 3,
        n: 20,
        factor: random("multiplets", 20),
    };
    let dense = Kron::dense(g.to_dense(), 60);
    let (blocks, whole) = (Spectrum::of(&g).unwrap(), Spectrum::of(&dense).unwrap());
    assert!(blocks.residual < 1e-13 && blocks.orthogonality < 1e-13);
    let top = blocks.values[0];
    let pairs = blocks.values.iter().zip(&whole.values);
    pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12 * top));
    // Multiplets are whole at multiples of 3, and there both span the same.
    for k in [3, 30, 60] {
        assert!((overlap(&blocks, &whole, k).unwrap() - 1.0).abs() < 1e-10);
    }
    assert!((overlap(&blocks, &blocks, 7).unwrap() - 1.0).abs() < 1e-12);
    for i in [0, 4, 59] {
        let u = blocks.direction(i);
        assert!((g.quadratic(&u) - blocks.values[i]).abs() < 1e-12 * top);
        // Direction i lives on channel i mod 3.
        assert!(u[i % 3 * 20..][..20].iter().any(|u| *u != 0.0));
        assert!((dot(&u, &u) - 1.0).abs() < 1e-13);
    }
    assert!((corr(&g, &dense).unwrap() - 1.0).abs() < 1e-14);
}

/// A cut inside a multiplet: the block route and the dense route agree for unrelated matrices.
#[test]
fn overlap_with_and_without_blocks() {
    let block = |name| Kron {
        channels: 3,
        n: 8,
        factor: random(name, 8),
    };
    let (a, b) = (
        Spectrum::of(&block("a")).unwrap(),
        Spectrum::of(&block("b")).unwrap(),
    );
    for k in [1, 5, 7, 24] {
        let mut direct = 0.0;
        for i in 0..k {
            direct += (0..k)
                .map(|j| dot(&a.direction(i), &b.direction(j)).powi(2))
                .sum::<f64>();
        }
        assert!((overlap(&a, &b, k).unwrap() - direct / k as f64).abs() < 1e-13);
    }
    assert!(matches!(
        overlap(&a, &b, 0),
        Err(GeometryError::Question(_))
    ));
    assert!(matches!(
        overlap(&a, &b, 25),
        Err(GeometryError::Question(_))
    ));
    let small = Spectrum::of(&diagonal(&[1.0, 2.0])).unwrap();
    assert!(matches!(
        overlap(&a, &small, 1),
        Err(GeometryError::Size { .. })
    ));
}

/// diag(3,1,0): trace 4, 16/10, exp(−¾ln¾ − ¼ln¼) = 4/3^{3/4}, ¾ in the first ⌈3/10⌉ = 1. Isotropic: D, D, 1/10.
#[test]
fn summaries_by_hand() {
    let s = Summary::of(&Spectrum::of(&diagonal(&[1.0, 0.0, 3.0])).unwrap());
    assert!((s.trace - 4.0).abs() < 1e-15 && (s.participation_ratio - 1.6).abs() < 1e-15);
    assert!((s.effective_rank - 4.0 / 3f64.powf(0.75)).abs() < 1e-14);
    assert!((s.top10_share - 0.75).abs() < 1e-15);
    let s = Summary::of(&Spectrum::of(&diagonal(&[2.0; 20])).unwrap());
    assert!((s.participation_ratio - 20.0).abs() < 1e-12);
    assert!((s.effective_rank - 20.0).abs() < 1e-12);
    assert!((s.top10_share - 0.1).abs() < 1e-14);
}

#[test]
fn flip_reverses() {
    let flipped = flip(&Spectrum::of(&diagonal(&[5.0, 1.0, 2.0])).unwrap());
    // 5 ↔ 1 on their axes, 2 in the middle.
    assert_eq!(flipped, diagonal(&[1.0, 5.0, 2.0]));
    let g = Kron {
        channels: 2,
        n: 15,
        factor: random("flip", 15),
    };
    let spectrum = Spectrum::of(&g).unwrap();
    let once = flip(&spectrum);
    let flipped = Spectrum::of(&once).unwrap();
    let pairs = flipped.values.iter().zip(&spectrum.values);
    pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-11 * spectrum.values[0]));
    let twice = flip(&flipped);
    assert!((corr(&twice, &g).unwrap() - 1.0).abs() < 1e-13);
    assert_eq!(twice.channels, 2);
}

#[test]
fn correlations_of_unlike_structures() {
    let a = Kron {
        channels: 6,
        n: 2,
        factor: random("fine", 2),
    };
    let b = Kron {
        channels: 4,
        n: 3,
        factor: random("coarse", 3),
    };
    let (da, db) = (a.to_dense(), b.to_dense());
    let direct = dot(&da, &db) / (dot(&da, &da) * dot(&db, &db)).sqrt();
    assert!((corr(&a, &b).unwrap() - direct).abs() < 1e-15);
    assert!((corr(&b, &a).unwrap() - direct).abs() < 1e-15);
    assert_eq!(
        corr(&diagonal(&[0.0, 0.0]), &diagonal(&[1.0, 0.0])).unwrap(),
        0.0
    );
    let wrong = corr(&a, &diagonal(&[1.0]));
    assert!(matches!(
        wrong,
        Err(GeometryError::Size {
            found: 1,
            wanted: 12,
            ..
        })
    ));
}

/// On the axes μ = s/(g + ρ): with G = diag(4,2,0,0), S = diag(1,6,5,2) the order is 2, 3, 1, 0; then the equation
/// itself for random matrices, and the span.
#[test]
fn unseen_directions() {
    let g = Spectrum::of(&diagonal(&[4.0, 2.0, 0.0, 0.0])).unwrap();
    let s = diagonal(&[1.0, 6.0, 5.0, 2.0]);
    let found = generalised(&g, &s.factor).unwrap();
    assert!((found.floor - 1.5e-3).abs() < 1e-18);
    let expected = [5.0 / 1.5e-3, 2.0 / 1.5e-3, 6.0 / 2.0015, 1.0 / 4.0015];
    for (i, axis) in [2, 3, 1, 0].into_iter().enumerate() {
        assert!((found.values[i] / expected[i] - 1.0).abs() < 1e-12);
        assert!((found.vectors[i * 4 + axis].abs() - 1.0).abs() < 1e-12);
    }

    let (g, s) = (
        Kron {
            channels: 2,
            n: 6,
            factor: random("G", 6),
        },
        random("S", 12),
    );
    let found = generalised(&Spectrum::of(&g).unwrap(), &s).unwrap();
    let dense = g.to_dense();
    for (v, mu) in found.vectors.chunks(12).zip(&found.values) {
        for i in 0..12 {
            let left = dot(&s[i * 12..][..12], v);
            let right = mu * (dot(&dense[i * 12..][..12], v) + found.floor * v[i]);
            assert!((left - right).abs() < 1e-10 * found.values[0]);
        }
    }
    assert!(found.values.is_sorted_by(|a, b| a >= b));
    let span = found.span(5);
    assert_eq!(span.len(), 5 * 12);
    for i in 0..5 {
        let q = &span[i * 12..][..12];
        for j in 0..5 {
            let expected = f64::from(u8::from(i == j));
            assert!((dot(q, &span[j * 12..][..12]) - expected).abs() < 1e-13);
        }
        // v_i lies in the span of q_0 … q_i.
        let v = &found.vectors[i * 12..][..12];
        let inside: f64 = (0..=i).map(|j| dot(v, &span[j * 12..][..12]).powi(2)).sum();
        assert!((inside - 1.0).abs() < 1e-12);
    }
    let nothing = Spectrum::of(&diagonal(&[0.0, 0.0])).unwrap();
    assert!(matches!(
        generalised(&nothing, &[0.0; 4]),
        Err(GeometryError::Vanishes)
    ));
    assert!(matches!(
        generalised(&nothing, &[0.0; 9]),
        Err(GeometryError::Size { .. })
    ));
}

#[test]
fn what_is_refused() {
    let nan = Kron::dense(vec![f64::NAN], 1);
    assert!(matches!(Spectrum::of(&nan), Err(GeometryError::Eigen(_))));
    let zero = Spectrum::of(&diagonal(&[0.0; 3])).unwrap();
    assert_eq!((zero.residual, zero.values), (0.0, vec![0.0; 3]));
}
