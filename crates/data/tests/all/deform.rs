//! Deformations against sums over modes, closed forms and sums over pixels written out.

use std::f64::consts::PI;

use polariscope_data::Dataset;
use polariscope_data::deform::{
    Convention, DeformError, Deformations, Field, Interpolation, ModeRule,
};
use polariscope_graph::Shape;
use polariscope_random::Stream;

const RULES: [ModeRule; 2] = [ModeRule::Strict, ModeRule::Code];

fn ensemble(n: usize, cutoff: usize, rule: ModeRule) -> Deformations {
    Deformations::new(n, cutoff, rule).unwrap()
}

fn stream(index: usize) -> Stream {
    Stream::new(0, index as u64, "test.deform")
}

/// Mean and standard error.
fn estimate(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0) / n).sqrt())
}

/// Modes, Σ 1/(i² + j²) and the exact displacement where the nominal one is 1, counted and summed by hand to the
/// digits shown.
#[test]
fn modes_and_sums() {
    let table = [
        (3, [4, 6], [1.025, 1.225], [0.771, 0.843]),
        (5, [15, 19], [1.73205, 1.87794], [0.828, 0.862]),
        (10, [69, 77], [2.71999, 2.79624], [0.867, 0.879]),
        (15, [162, 172], [3.32184, 3.36518], [0.884, 0.889]),
        (30, [675, 703], [4.37487, 4.40548], [0.905, 0.908]),
    ];
    for (cutoff, modes, sums, displacements) in table {
        for (k, rule) in RULES.into_iter().enumerate() {
            let d = ensemble(64, cutoff, rule);
            assert_eq!(d.modes(), modes[k]);
            assert!((d.mode_sum() - sums[k]).abs() < 6e-6, "{cutoff} {rule:?}");
            let t = d.temperature(1.0, Convention::Nominal).unwrap();
            assert!((d.displacement(t) - displacements[k]).abs() < 6e-4);
            assert!((d.nominal_displacement(t) - 1.0).abs() < 1e-12);
            let t = d.temperature(2.0, Convention::Exact).unwrap();
            assert!((d.displacement(t) - 2.0).abs() < 1e-12);
        }
    }
    let one = ensemble(64, 1, ModeRule::Code);
    assert_eq!((one.modes(), one.mode_sum()), (1, 0.5));
}

/// The limits of 32 pixels: at a nominal displacement of 1 cutoffs 3 and 5 are in range, 15 is not.
#[test]
fn ranges() {
    let c3 = ensemble(32, 3, ModeRule::Code);
    let t = c3.temperature(1.0, Convention::Nominal).unwrap();
    assert!((t - 1.132e-3).abs() < 6e-7 && (c3.range().1 - 1.305e-2).abs() < 6e-6);
    // At the lower limit the nominal displacement is half a pixel.
    assert!((c3.nominal_displacement(c3.range().0) - 0.5).abs() < 1e-12);
    assert_eq!(c3.check(t, Convention::Exact), Ok(()));
    let c15 = ensemble(32, 15, ModeRule::Code);
    let hot = c15.temperature(1.0, Convention::Nominal).unwrap();
    assert!((hot - 4.591e-4).abs() < 6e-8 && (c15.range().1 - 2.117e-4).abs() < 6e-8);
    let Err(DeformError::TooHot {
        most,
        smaller: Some(smaller),
        ..
    }) = c15.check(hot, Convention::Exact)
    else {
        panic!("too hot");
    };
    // What the message offers is in range, and the next step is not.
    let ok = |cutoff: usize, displacement: f64| {
        let d = ensemble(32, cutoff, ModeRule::Code);
        d.check(
            d.temperature(displacement, Convention::Exact).unwrap(),
            Convention::Exact,
        )
        .is_ok()
    };
    assert!(ok(15, most) && !ok(15, most + 0.01));
    let asked = c15.displacement(hot);
    assert!(ok(smaller, asked) && !ok(smaller + 1, asked));
    let cold = c3.range().0 * 0.9;
    let Err(DeformError::TooCold { least, .. }) = c3.check(cold, Convention::Exact) else {
        panic!("too cold");
    };
    assert!(ok(3, least) && !ok(3, least - 0.01));
}

/// Over 10⁴ fields the mean square displacement is that of the sum within 3 standard errors. Mean squares over the
/// square are exact sums over pixels ([`Field::mean_square`]), so nothing is left but the scatter of fields.
#[test]
fn displacement() {
    for cutoff in [3, 5, 10, 15, 30] {
        for rule in RULES {
            let d = ensemble(32, cutoff, rule);
            let t = d.temperature(1.0, Convention::Exact).unwrap();
            let squares: Vec<f64> = (0..10_000)
                .map(|k| d.draw(t, &stream(k)).mean_square())
                .collect();
            let (mean, error) = estimate(&squares);
            assert!(
                (mean - 1.0).abs() < 3.0 * error,
                "{cutoff} {rule:?}: {mean} ± {error}"
            );
            // The scatter is that of a sum of squares of normal numbers: 2 Σ 1/(i² + j²)² over both axes.
            let fourth: f64 = d
                .mode_list()
                .iter()
                .map(|&(i, j)| ((i * i + j * j) as f64).powi(-2))
                .sum();
            let want = (fourth / 10_000.0).sqrt() / d.mode_sum();
            assert!((error / want - 1.0).abs() < 0.1, "{error} {want}");
        }
    }
}

/// Every mode has the same share of ∫‖∇τ‖²: (π²/4)(i² + j²)C² has mean (π²/4)T. Coefficients are found again from the
/// displacements, by products with sines.
#[test]
fn equipartition() {
    let (n, fields, t) = (16, 4000, 1e-3);
    let d = ensemble(n, 5, ModeRule::Code);
    let sine = |i: usize, k: usize| (PI * (i * k) as f64 / (n - 1) as f64).sin();
    let mut energy = vec![Vec::new(); 2 * d.modes()];
    for k in 0..fields {
        let field = d.draw(t, &stream(k));
        for (axis, moved) in [&field.u, &field.v].into_iter().enumerate() {
            for (m, &(i, j)) in d.mode_list().iter().enumerate() {
                let product = |p: usize| f64::from(moved[p]) * sine(i, p % n) * sine(j, p / n);
                let squares = ((n - 1) as f64).powi(2);
                let c = (0..n * n).map(product).sum::<f64>() * 4.0 / squares / n as f64;
                let given = f64::from(field.coefficients()[axis * d.modes() + m]);
                assert!((c - given).abs() < 1e-6 * t.sqrt());
                energy[axis * d.modes() + m].push(c * c * (i * i + j * j) as f64 / t);
            }
        }
    }
    for energy in energy {
        let (mean, error) = estimate(&energy);
        // 38 means: one beyond 4 standard errors in 400 such tests.
        assert!((mean - 1.0).abs() < 4.0 * error, "{mean} ± {error}");
    }
}

/// At the upper limit most fields do not fold: P(max Ξ < 1) of 400 fields lies in the ranges that another program found
/// with as many, and both scatter: 3 standard errors of the difference on either side.
#[test]
fn most_fields_are_smooth_at_the_limit() {
    let fields = 400;
    for cutoff in [3, 5, 10, 15, 30] {
        for (rule, low, high) in [(ModeRule::Strict, 0.82, 0.97), (ModeRule::Code, 0.62, 0.96)] {
            let d = ensemble(128, cutoff, rule);
            let smooth = (0..fields).filter(|&k| d.draw(d.range().1, &stream(k)).max_xi() < 1.0);
            let p = smooth.count() as f64 / fields as f64;
            let error = |p: f64| 3.0 * (p * (1.0 - p) * 2.0 / fields as f64).sqrt();
            assert!(
                p > low - error(low) && p < high + error(high),
                "{cutoff} {rule:?}: {p}"
            );
        }
    }
}

/// One mode: τ_u = C sin(πu) sin(πv) has its largest Ξ, πC, in the middle of the left side, where det is 1 − πC.
#[test]
fn distortion_of_one_mode() {
    let d = ensemble(9, 1, ModeRule::Code);
    let field = d.field(&[0.1, 0.0]);
    assert!((field.max_xi() - 0.1 * PI).abs() < 1e-6);
    assert!((field.min_det() - (1.0 - 0.1 * PI)).abs() < 1e-6);
    // In the middle it moves by C, n pixels a side.
    assert!((field.u[40] - 0.9).abs() < 1e-6 && field.v.iter().all(|&v| v == 0.0));
    assert!((field.mean_square() - 0.81 / 4.0).abs() < 1e-6);
}

/// τ(s) of a field's coefficients, anywhere in the square.
fn tau(d: &Deformations, field: &Field, [u, v]: [f64; 2]) -> [f64; 2] {
    let mut tau = [0.0; 2];
    for (tau, c) in tau.iter_mut().zip(field.coefficients().chunks(d.modes())) {
        for (&(i, j), &c) in d.mode_list().iter().zip(c) {
            *tau += f64::from(c) * (PI * i as f64 * u).sin() * (PI * j as f64 * v).sin();
        }
    }
    tau
}

/// Ξ is the largest u·(u·∇)τ over directions u and det that of 1 − ∇τ, with ∇τ from differences; where Ξ < 1
/// everywhere, det > 0.
#[test]
fn distortion_by_differences() {
    let n = 12;
    let d = ensemble(n, 4, ModeRule::Strict);
    for k in 0..12 {
        let field = d.draw(2.0 * d.range().1, &stream(k));
        let (mut max_xi, mut min_det) = (f64::MIN, f64::MAX);
        for p in 0..n * n {
            let s = [p % n, p / n].map(|k| k as f64 / (n - 1) as f64);
            let h = 1e-5;
            let along = |dx: f64, dy: f64| {
                let [plus, minus] =
                    [h, -h].map(|h| tau(&d, &field, [s[0] + h * dx, s[1] + h * dy]));
                [0, 1].map(|a| (plus[a] - minus[a]) / (2.0 * h))
            };
            let ([a, c], [b, e]) = (along(1.0, 0.0), along(0.0, 1.0));
            min_det = min_det.min((1.0 - a) * (1.0 - e) - b * c);
            for turn in 0..2000 {
                let (y, x) = (PI * f64::from(turn) / 2000.0).sin_cos();
                let moved = [x * a + y * b, x * c + y * e];
                max_xi = max_xi.max(x * moved[0] + y * moved[1]);
            }
        }
        // Directions π/2000 apart miss at most 3·10⁻⁶ of Ξ.
        assert!(
            (field.max_xi() - max_xi).abs() < 2e-5,
            "{} {max_xi}",
            field.max_xi()
        );
        assert!((field.min_det() - min_det).abs() < 2e-5);
        assert!(field.max_xi() >= 1.0 || field.min_det() > 0.0);
    }
}

fn image(channels: usize, n: usize) -> Vec<f32> {
    let mut image = vec![0.0; channels * n * n];
    Stream::new(3, 0, "test.image").uniform(1.0, &mut image);
    image
}

/// Eqs. 15 and 16 pixel by pixel: four neighbours; a Gaussian over the whole image.
#[test]
fn interpolation() {
    for (n, channels) in [(7, 1), (10, 3), (16, 6)] {
        let d = ensemble(n, 3, ModeRule::Code);
        let t = d.temperature(2.0, Convention::Exact).unwrap();
        let field = d.draw(t, &stream(1));
        let image = image(channels, n);
        let at = |c: usize, x: usize, y: usize| f64::from(image[(c * n + y) * n + x]);
        let [mut bilinear, mut gaussian] = [vec![0.0; image.len()], vec![0.0; image.len()]];
        field.apply(&image, Interpolation::Bilinear, &mut bilinear);
        field.apply(&image, Interpolation::Gaussian, &mut gaussian);
        for p in 0..n * n {
            let from =
                |x: usize, moved: f32| (x as f64 - f64::from(moved)).clamp(0.0, (n - 1) as f64);
            let (x, y) = (from(p % n, field.u[p]), from(p / n, field.v[p]));
            for c in 0..channels {
                let tent = |a: f64, b: usize| (1.0 - (a - b as f64).abs()).max(0.0);
                let bell =
                    |a: f64, b: usize| (-(a - b as f64).powi(2) / (2.0 * 0.4715 * 0.4715)).exp();
                let mean = |g: &dyn Fn(f64, usize) -> f64| {
                    let (mut sum, mut weight) = (0.0, 0.0);
                    for q in 0..n * n {
                        let w = g(x, q % n) * g(y, q / n);
                        sum += w * at(c, q % n, q / n);
                        weight += w;
                    }
                    sum / weight
                };
                assert!((f64::from(bilinear[c * n * n + p]) - mean(&tent)).abs() < 1e-5);
                assert!((f64::from(gaussian[c * n * n + p]) - mean(&bell)).abs() < 1e-5);
            }
        }
    }
}

/// At T = 0 bilinear images are the same bits; the Gaussian's are not, and keep a constant image.
#[test]
fn no_temperature() {
    let d = ensemble(16, 3, ModeRule::Strict);
    let field = d.draw(0.0, &stream(0));
    let (image, mut out) = (image(3, 16), vec![0.0; 768]);
    field.apply(&image, Interpolation::Bilinear, &mut out);
    assert_eq!(image, out);
    field.apply(&image, Interpolation::Gaussian, &mut out);
    assert!(image.iter().zip(&out).any(|(a, b)| (a - b).abs() > 0.01));
    field.apply(&[0.7; 768], Interpolation::Gaussian, &mut out);
    assert!(out.iter().all(|x| (x - 0.7).abs() < 1e-6));
}

/// Many at once are the same bits as one after the other; the frame does not move.
#[test]
fn many_images() {
    let d = ensemble(16, 5, ModeRule::Strict);
    let t = d.temperature(1.5, Convention::Exact).unwrap();
    let images = image(3 * 20, 16);
    let mut all = vec![0.0; images.len()];
    d.apply_all(t, stream, Interpolation::Bilinear, 3, &images, &mut all);
    for (k, (image, all)) in images.chunks(768).zip(all.chunks(768)).enumerate() {
        let mut one = vec![0.0; 768];
        d.draw(t, &stream(k))
            .apply(image, Interpolation::Bilinear, &mut one);
        assert_eq!(one, all);
        assert_eq!((&one[..16], one[255]), (&image[..16], image[255]));
        assert_ne!(one, image);
    }
}

#[test]
fn refusals() {
    let said = |result: Result<Deformations, DeformError>| result.unwrap_err().to_string();
    assert_eq!(
        said(Deformations::new(8, 9, ModeRule::Strict)),
        "images of 8x8 pixels are smaller than a mode of cutoff 9; take a cutoff of at most 7"
    );
    assert_eq!(
        said(Deformations::new(2, 3, ModeRule::Code)),
        "images of 2x2 pixels are smaller than a mode of cutoff 3; no cutoff fits them"
    );
    assert_eq!(
        said(Deformations::new(8, 1, ModeRule::Strict)),
        "a cutoff of 1 leaves no mode; take at least 2"
    );
    let wide = Shape::Image {
        channels: 3,
        height: 8,
        width: 9,
    };
    assert_eq!(
        said(Deformations::of(wide, 3, ModeRule::Strict)),
        "deformations need square images, these are 3x8x9"
    );
    let c15 = ensemble(32, 15, ModeRule::Strict);
    let hot = c15.temperature(1.0, Convention::Exact).unwrap();
    // T = 2/(n² S) = 5.880e-4, 4/(π³ c² ln c) = 2.117e-4 and δ = √(2.117/5.880) = 0.600. One pixel needs 2/(n² S) below
    // the limit: at c = 8, S = 2.369 and 8.25e-4 < 9.69e-4; at c = 9, S = 2.553 and 7.65e-4 > 7.25e-4.
    let message = c15.check(hot, Convention::Exact).unwrap_err().to_string();
    assert_eq!(
        message,
        "T = 5.880e-4 is above its upper limit 2.117e-4, where deformations begin to fold images; with a cutoff of 15 take a \
         displacement of at most 0.6 pixels, or for as many pixels a cutoff of at most 8"
    );
    let cold = c15.check(1e-6, Convention::Exact).unwrap_err().to_string();
    assert!(
        cold.starts_with("T = 1.000e-6 is below its lower limit 1.148e-4, half a pixel"),
        "{cold}"
    );
    assert!(
        cold.ends_with("take a displacement of at least 0.45 pixels"),
        "{cold}"
    );
    let none = ensemble(32, 25, ModeRule::Strict)
        .check(1e-4, Convention::Exact)
        .unwrap_err()
        .to_string();
    assert!(none.ends_with("take a cutoff of at most 20"), "{none}");
    assert!(
        c15.check(f64::NAN, Convention::Exact).is_err()
            && c15.temperature(-1.0, Convention::Exact).is_err()
    );
    let one = ensemble(32, 1, ModeRule::Code);
    assert_eq!(
        one.check(1e-3, Convention::Exact),
        Err(DeformError::NoLogarithm)
    );
    assert_eq!(
        one.temperature(1.0, Convention::Nominal),
        Err(DeformError::NoLogarithm)
    );
}

fn message(spec: &str) -> String {
    Dataset::load(spec).unwrap_err().to_string()
}

/// Every image of a data set by a field of its own, before its channels are standardised.
#[test]
fn of_a_data_set() {
    let source = "random?shape=3x16x16&train=30&test=20&seed=5";
    let (plain, deformed) = (
        Dataset::load(source).unwrap(),
        Dataset::load(&format!("{source}&deform=1,4")).unwrap(),
    );
    let d = ensemble(16, 4, ModeRule::Strict);
    let t = d.temperature(1.0, Convention::Exact).unwrap();
    for (name, plain, deformed) in [
        ("train", &plain.train, &deformed.train),
        ("test", &plain.test, &deformed.test),
    ] {
        assert_eq!(plain.y, deformed.y);
        for (k, (x, y)) in plain.x.chunks(768).zip(deformed.x.chunks(768)).enumerate() {
            let mut out = vec![0.0; 768];
            let stream = Stream::new(5, k as u64, &format!("data.{name}.deform"));
            d.draw(t, &stream)
                .apply(x, Interpolation::Bilinear, &mut out);
            assert_eq!(out, y);
        }
    }
    let after = Dataset::load(&format!("{source}&deform=1,4&standardise")).unwrap();
    let mean = after.train.x[..].iter().map(|&x| f64::from(x)).sum::<f64>();
    assert!(mean.abs() < 1e-2 && after.train.x != deformed.train.x);
    let one_set = Dataset::load(&format!("{source}&deform=1,4&pooled")).unwrap();
    assert_eq!((one_set.train.len(), one_set.test.len()), (30, 20));

    let refused = [
        (
            "random?deform=1,3",
            "deform=1,3: deformations need square images, these are 10",
        ),
        (
            "random?shape=1x8x9&deform=1,3",
            "deform=1,3: deformations need square images, these are 1x8x9",
        ),
        (
            "random?shape=1x4x4&deform=1,4",
            "deform=1,4: images of 4x4 pixels are smaller than a mode of cutoff 4; take a cutoff of at most 3",
        ),
        (
            "random?shape=1x8x8&deform=1,1",
            "deform=1,1: a cutoff of 1 leaves no mode; take at least 2",
        ),
        (
            "random?deform=1",
            "deform=1: expected a displacement in pixels and a cutoff, such as 1,3",
        ),
        (
            "random?deform=inf,3",
            "deform=inf,3: expected a displacement in pixels and a cutoff, such as 1,3",
        ),
        (
            "random?shape=1x32x32&deform=-1,3",
            "deform=-1,3: a displacement is a number of pixels from 0, not -1",
        ),
    ];
    for (spec, what) in refused {
        assert_eq!(message(spec), format!("data '{spec}': {what}"));
    }
    let hot = message("random?shape=1x32x32&deform=1,15");
    assert!(
        hot.contains("deform=1,15: T = 5.880e-4 is above its upper limit 2.117e-4"),
        "{hot}"
    );
}
