//! Spectra on products of spheres against series, brute force and sampled points.
//!
//! Bug class: a lost factor in N(d0, r), windows or shifts counted wrongly, a quadrature that misses the
//! end points, an estimator whose error is not the error.

use polariscope_kernels::spheres::{
    Kind, Level, Points, Product, Profile, Spectrum, SphereError, System, Zonal, bands, fit,
    harmonics, legendre, regress,
};
use polariscope_linalg::symmetric_eigenvalues;
use std::f64::consts::PI;

/// E[φ(u)φ(v)] and E[φ'(u)φ'(v)] of ReLU, by the angle between u and v.
fn relu(q: f64, c: f64) -> (f64, f64) {
    let angle = (c / q).clamp(-1.0, 1.0).acos();
    let value = q * (angle.sin() + (PI - angle) * angle.cos()) / (2.0 * PI);
    (value, (PI - angle) / (2.0 * PI))
}

fn relu_ntk() -> Profile {
    Profile::hidden("relu-ntk", Kind::Ntk, 1.0, relu)
}

fn product(p: usize, d0: usize, s: usize) -> Product {
    Product::new(p, d0, s).unwrap()
}

fn spectrum(system: System, sizes: (usize, usize, usize), k: &Profile, order: usize) -> Spectrum {
    let (p, d0, s) = sizes;
    Spectrum::to_order(system, product(p, d0, s), k, order).unwrap()
}

#[test]
fn harmonics_are_counted() {
    // 2r + 1 on the sphere, 2 on the circle, (r + 1)² in four dimensions.
    for r in 1..20 {
        assert_eq!(harmonics(3, r), Some(2 * r as u64 + 1));
        assert_eq!(harmonics(2, r), Some(2));
        assert_eq!(harmonics(4, r), Some((r as u64 + 1).pow(2)));
    }
    assert_eq!(harmonics(3072, 2), Some(3072 * 3073 / 2 - 1));
    assert_eq!(harmonics(3072, 40), None);
    // P_3 of Legendre, T_3 of Chebyshev.
    let t = 0.3f64;
    assert!((legendre(3, 3, t)[3] - 0.5 * (5.0 * t.powi(3) - 3.0 * t)).abs() < 1e-15);
    assert!((legendre(2, 3, t)[3] - (3.0 * t.acos()).cos()).abs() < 1e-15);
}

#[test]
fn sizes_are_checked() {
    assert_eq!(Product::new(4, 0, 2), Err(SphereError::Zero { name: "d0" }));
    assert_eq!(
        Product::new(4, 3, 5),
        Err(SphereError::Patch { s: 5, p: 4 })
    );
    let broken = Profile::new("ln", f64::ln);
    let found = Spectrum::to_order(System::Fcn, product(2, 3, 2), &broken, 2);
    assert!(matches!(found, Err(SphereError::Profile { .. })));
    let many = Spectrum::to_order(System::Vec, product(60, 3, 60), &Profile::exp(), 12);
    assert_eq!(many, Err(SphereError::Classes { order: 12 }));
}

/// E[t^m P_r(t)] from the moments E t^{2j} = Π (2i − 1)/(d0 + 2i − 2), for r ≤ 3.
fn monomial(d0: usize, m: usize, r: usize) -> f64 {
    let d = d0 as f64;
    let moment = |n: usize| -> f64 {
        if n % 2 == 1 {
            return 0.0;
        }
        (1..=n / 2)
            .map(|i| (2 * i - 1) as f64 / (d + 2.0 * i as f64 - 2.0))
            .product()
    };
    match r {
        0 => moment(m),
        1 => moment(m + 1),
        2 => (d * moment(m + 2) - moment(m)) / (d - 1.0),
        _ => ((d + 2.0) * moment(m + 3) - 3.0 * moment(m + 1)) / (d - 1.0),
    }
}

/// c_r⃗ of exp: s^{-m} [z^m] Π_b Σ_m E[t^m P_r] z^m/m!, summed over m.
fn exp_series(d0: usize, degrees: &[usize]) -> f64 {
    const TERMS: usize = 40;
    let s = degrees.len() as f64;
    let factorial = |m: usize| (1..=m).map(|i| i as f64).product::<f64>();
    let mut product = vec![0.0; TERMS];
    product[0] = 1.0;
    for &r in degrees {
        let own: Vec<f64> = (0..TERMS)
            .map(|m| monomial(d0, m, r) / factorial(m))
            .collect();
        product = (0..TERMS)
            .map(|m| (0..=m).map(|i| product[i] * own[m - i]).sum())
            .collect();
    }
    let terms = product.iter().enumerate();
    terms.map(|(m, c)| c * s.powi(-(m as i32))).sum()
}

/// The power series converges for exp: every class to 10⁻¹³, also on circles and in many dimensions.
#[test]
fn exp_agrees_with_its_series() {
    for (p, d0, s) in [(4, 3, 2), (5, 2, 3), (3, 8, 3), (3, 300, 2)] {
        let vec = spectrum(System::Vec, (p, d0, s), &Profile::exp(), 3);
        for level in &vec.levels {
            let held = (0..p).filter(|i| (s..p).all(|b| level.degrees[(i + b) % p] == 0));
            let mut own = level.degrees.clone();
            own.sort_unstable_by(|a, b| b.cmp(a));
            own.truncate(s);
            let expected = exp_series(d0, &own) * held.count() as f64 / p as f64;
            assert!(
                (level.eigenvalue - expected).abs() < 1e-13,
                "{level:?} {expected}"
            );
        }
    }
}

/// S⁰ = {±1}: sums over signs.
#[test]
fn spheres_of_dimension_one() {
    let e = 1f64.exp();
    let fcn = spectrum(System::Fcn, (2, 1, 1), &Profile::exp(), 5);
    let shown: Vec<(usize, u64)> = fcn
        .levels
        .iter()
        .map(|l| (l.order, l.multiplicity))
        .collect();
    assert_eq!(shown, [(0, 1), (1, 2), (2, 1)]);
    let expected = [e + 1.0 / e + 2.0, e - 1.0 / e, e + 1.0 / e - 2.0];
    for (level, expected) in fcn.levels.iter().zip(expected) {
        assert!((level.eigenvalue - expected / 4.0).abs() < 1e-13);
    }
    assert!((fcn.share().unwrap() - 1.0).abs() < 1e-12);
}

/// c_0 of the ReLU NTK by hand: ½∫k dt = ¼ on one sphere, ∫k(T)(1 − |T|)dT = 1/6 + 1/(9π) on two, 3/π² on a
/// circle; k has no odd powers above the first.
#[test]
fn relu_in_closed_form() {
    let first = |sizes| spectrum(System::Fcn, sizes, &relu_ntk(), 5);
    let cases = [
        ((1, 3, 1), 0.25),
        ((2, 3, 1), 1.0 / 6.0 + 1.0 / (9.0 * PI)),
        ((1, 2, 1), 3.0 / (PI * PI)),
    ];
    for (sizes, expected) in cases {
        let found = first(sizes);
        assert!(
            (found.levels[0].eigenvalue - expected).abs() < 1e-13,
            "{sizes:?}"
        );
        for level in &found.levels {
            let odd = level.order % 2 == 1 && level.order > 1;
            assert_eq!(level.eigenvalue == 0.0, odd, "{level:?}");
        }
    }
}

/// Three spheres by Simpson's rule in three dimensions.
#[test]
fn relu_on_three_spheres_by_brute_force() {
    const STEPS: usize = 80;
    let node = |i: usize| {
        let weight = match i {
            0 | STEPS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let t = 2.0 * i as f64 / STEPS as f64 - 1.0;
        (t, weight / (3 * STEPS) as f64, 1.5 * t * t - 0.5)
    };
    let nodes: Vec<(f64, f64, f64)> = (0..=STEPS).map(node).collect();
    let k = relu_ntk();
    // Degrees (0,0,0), (2,0,0), (1,1,0), (2,1,1).
    let mut sums = [0.0; 4];
    for &(x, a, x2) in &nodes {
        for &(y, b, _) in &nodes {
            for &(z, c, _) in &nodes {
                let term = a * b * c * k.at((x + y + z) / 3.0);
                let factors = [1.0, x2, x * y, x2 * y * z];
                sums.iter_mut()
                    .zip(factors)
                    .for_each(|(s, f)| *s += term * f);
            }
        }
    }
    let fcn = spectrum(System::Fcn, (3, 3, 1), &k, 4);
    let degrees = [[0, 0, 0], [2, 0, 0], [1, 1, 0], [2, 1, 1]];
    for (degrees, expected) in degrees.iter().zip(sums) {
        let level = fcn.levels.iter().find(|l| l.degrees == degrees).unwrap();
        // The corner where k is singular costs Simpson's rule h^3.5 = 2·10⁻⁶.
        assert!(
            (level.eigenvalue - expected).abs() < 4e-6,
            "{level:?} {expected}"
        );
    }
}

/// Σ λ over all orders is E K(ξ, ξ); orders up to 12 hold all of exp but 10⁻⁹.
#[test]
fn traces() {
    for system in System::ALL {
        let found = spectrum(system, (4, 3, 2), &Profile::exp(), 12);
        let share = found.share().unwrap();
        assert!(
            share < 1.0 + 1e-12 && share > 1.0 - 1e-8,
            "{system:?} {share}"
        );
    }
    // The diagonal of GAP, sampled.
    let points = Points::draw(product(4, 3, 2), 4000, 1, 0);
    let exp = Profile::exp();
    let diagonal: Vec<f64> = (0..points.len())
        .map(|a| points.kernel(System::Gap, &exp, a, a))
        .collect();
    let sampled = polariscope_stats::Estimate::mean(&diagonal).unwrap();
    let trace = spectrum(System::Gap, (4, 3, 2), &exp, 2).trace.unwrap();
    assert!((sampled.value - trace).abs() < 4.0 * sampled.standard_error);
    assert_eq!(spectrum(System::Gap, (4, 3, 3), &exp, 2).trace, None);
}

/// Multiplicities are ranks of the reproducing kernels, also where shifts fix r⃗ (s = p = 4: (1, 0, 1, 0)).
#[test]
fn multiplicities_are_ranks() {
    for (system, sizes) in [
        (System::Fcn, (4, 3, 2)),
        (System::Vec, (4, 3, 2)),
        (System::Gap, (4, 3, 2)),
        (System::Gap, (4, 2, 4)),
        (System::Gap, (3, 3, 3)),
    ] {
        let found = spectrum(system, sizes, &Profile::exp(), 3);
        let levels: Vec<&Level> = found.levels.iter().collect();
        let zonal = Zonal::new(system, found.product, &levels);
        let m = 240;
        let points = Points::draw(found.product, m, 2, 0);
        let all: Vec<Vec<f64>> = (0..m * m)
            .map(|i| zonal.at(&points, i / m, i % m))
            .collect();
        for (i, level) in levels.iter().enumerate() {
            let gram: Vec<f64> = all.iter().map(|z| z[i]).collect();
            let values = symmetric_eigenvalues(&gram, m).unwrap();
            let rank = values.iter().filter(|v| **v > 1e-9 * values[0]).count();
            assert_eq!(rank as u64, level.multiplicity, "{system:?} {level:?}");
        }
    }
}

/// GAP counts what VEC counts once a shift orbit, and s = p is one window for all.
#[test]
fn shifts_and_windows() {
    let [fcn, vec, gap] = System::ALL.map(|s| spectrum(s, (5, 3, 5), &relu_ntk(), 4));
    for (a, b) in fcn.levels.iter().zip(&vec.levels) {
        assert!((a.eigenvalue - b.eigenvalue).abs() < 1e-15);
        assert_eq!(a.multiplicity, b.multiplicity);
    }
    // 5 is prime: only constant r⃗ is fixed, and orders 1 to 4 have none.
    for (v, g) in vec.levels.iter().zip(&gap.levels) {
        let orbit = if v.order == 0 { 1 } else { 5 };
        assert_eq!(v.multiplicity, orbit * g.multiplicity);
    }
}

/// The levels of the issue, class by class, |r⃗| = 0 … 3: within 4 standard errors, which are small.
#[test]
fn classes_agree_with_samples() {
    for (profile, worst) in [(Profile::exp(), 0.1), (relu_ntk(), 0.3)] {
        for system in System::ALL {
            let found = spectrum(system, (4, 3, 2), &profile, 3);
            let points = Points::draw(found.product, 300, 3, 0);
            for fitted in fit(&found, &profile, &points, 3).unwrap() {
                let level = &found.levels[fitted.level];
                let e = fitted.eigenvalue;
                let distance = (e.value - level.eigenvalue).abs();
                assert!(
                    distance < 4.0 * e.standard_error,
                    "{system:?} {level:?} {e}"
                );
                let known = level.eigenvalue == 0.0 || e.standard_error < worst * level.eigenvalue;
                assert!(known, "{system:?} {level:?} {e}");
            }
        }
    }
}

/// Plateaus of Gram matrices have the mean that second order foretells.
#[test]
fn plateaus() {
    for system in System::ALL {
        let found = Spectrum::covering(system, product(4, 3, 2), &Profile::exp(), 600).unwrap();
        let m = 600;
        let points = Points::draw(found.product, m, 4, 0);
        let values = points.eigenvalues(system, &Profile::exp()).unwrap();
        let bands = bands(&found, m).unwrap();
        assert!(bands.len() >= 2, "{bands:?}");
        for band in &bands {
            let mean = band.mean(&values);
            // Third order: N/m of the second-order shift.
            let shift = (band.expected.value - band.eigenvalue).abs();
            let tolerance = 4.0 * band.expected.standard_error + 0.2 * shift;
            assert!(
                (mean - band.expected.value).abs() < tolerance,
                "{system:?} {band:?} {mean}"
            );
        }
        // The first two plateaus are apart: 1 and 12 (FCN, VEC) or 3 (GAP) eigenvalues.
        let ends = if system == System::Gap { 4 } else { 13 };
        assert_eq!(bands[1].indices, 1..ends);
        assert!(values[0] > 5.0 * values[1] && values[ends - 1] > 2.0 * values[ends]);
    }
}

/// Levels are learnt in turn: missed with fewer samples than they need, learnt with several times as many,
/// and by as much as theory says.
#[test]
fn lessons() {
    for system in System::ALL {
        let found = Spectrum::covering(system, product(4, 3, 2), &relu_ntk(), 1000).unwrap();
        let quadratic = found.levels.iter().position(|l| l.order == 2).unwrap();
        let needed = found.needs()[quadratic].samples.unwrap() as usize;
        assert!(found.learnt(needed as u64) > quadratic);
        assert!(found.learnt(needed as u64 - 1) <= quadratic);
        for (samples, low, high) in [(needed / 3 + 1, 0.6, 1.6), (6 * needed, 0.0, 0.35)] {
            let lesson = regress(&found, &relu_ntk(), quadratic, samples, 4, 5).unwrap();
            let (error, predicted) = (lesson.error, lesson.predicted.unwrap());
            assert!((low..high).contains(&error.value), "{system:?} {lesson:?}");
            let distance = (error.value - predicted).abs();
            let tolerance = 4.0 * error.standard_error + 0.15 * predicted;
            assert!(distance < tolerance, "{system:?} {lesson:?}");
        }
        assert_eq!(found.learnt_by(0.5 / found.levels[0].eigenvalue), 0);
        assert_eq!(found.learnt_by(1.01 / found.levels[1].eigenvalue), 2);
    }
}
