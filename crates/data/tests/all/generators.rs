//! Generators and transforms against their definitions.

use crate::common::Scratch;
use polariscope_data::{Dataset, Labels, Pca, Split, dft_vector, npy};
use polariscope_linalg::covariance;

fn classes(labels: &Labels) -> Vec<u32> {
    match labels {
        Labels::Classes(y) => y.clone(),
        Labels::Targets { .. } => panic!("class labels expected"),
    }
}

fn signs(labels: &Labels) -> Vec<f64> {
    classes(labels)
        .iter()
        .map(|&y| if y == 1 { 1.0 } else { -1.0 })
        .collect()
}

fn dot(x: &[f32], u: &[f64]) -> f64 {
    x.iter().zip(u).map(|(&x, u)| f64::from(x) * u).sum()
}

fn load(spec: &str) -> Dataset {
    Dataset::load(spec).unwrap()
}

/// Every label count within 4.5 standard deviations of a fair coin.
fn assert_fair(labels: &Labels) {
    let y = classes(labels);
    let n = y.len() as f64;
    let ones = y.iter().filter(|&&y| y == 1).count() as f64;
    assert!(
        (ones - n / 2.0).abs() < 4.5 * n.sqrt() / 2.0,
        "{ones} of {n}"
    );
}

/// x·v = εy exactly; the rest is N(0, σ²) and knows nothing of y.
#[test]
fn linear() {
    let data = load("linear?shape=3x8x8&v=70&eps=1.5&sigma=3&train=4000&test=100&seed=5");
    // Index 70 = vector 6 of the second channel.
    let plane = dft_vector(8, 8, 6).unwrap();
    let v: Vec<f64> = (0..192)
        .map(|i| if i / 64 == 1 { plane[i % 64] } else { 0.0 })
        .collect();
    let y = signs(&data.train.y);
    for (x, y) in data.train.x.chunks(192).zip(&y) {
        assert!((dot(x, &v) - 1.5 * y).abs() < 1e-5);
    }
    let n = 4000.0 * 192.0;
    let square: f64 = data.train.x.iter().map(|&x| f64::from(x).powi(2)).sum();
    // 191 noise directions of variance 9 and one of 2.25; the standard error of a mean square is 9√(2/n).
    let want = (191.0 * 9.0 + 2.25) / 192.0;
    assert!((square / n - want).abs() < 4.5 * 9.0 * (2.0 / n).sqrt());
    let other = dft_vector(8, 8, 7).unwrap();
    let leak: f64 = data
        .train
        .x
        .chunks(192)
        .zip(&y)
        .map(|(x, y)| dot(&x[64..128], &other) * y)
        .sum();
    assert!(leak.abs() < 4.5 * 3.0 * 4000.0_f64.sqrt());
    assert_fair(&data.train.y);
    // Seeds and splits differ; the same specification does not.
    assert_eq!(data, load(&data.name));
    assert_ne!(
        data.train.x,
        load("linear?shape=3x8x8&v=70&eps=1.5&sigma=3&train=4000&test=100")
            .train
            .x
    );
    assert_ne!(data.train.x[..192 * 100], data.test.x[..]);
}

#[test]
fn doughnut_and_cue() {
    let data = load("doughnut?shape=1x6x6&u1=3&u2=35&train=2000&test=0");
    let u: Vec<Vec<f64>> = [3, 35]
        .iter()
        .map(|&k| dft_vector(6, 6, k).unwrap())
        .collect();
    let mut angles = [0.0; 2];
    for (x, y) in data.train.x.chunks(36).zip(classes(&data.train.y)) {
        let (a, b) = (dot(x, &u[0]), dot(x, &u[1]));
        let r = (a * a + b * b).sqrt();
        let want = if y == 1 { 3.0 } else { 0.25 };
        assert!((r - want).abs() < 1e-5);
        angles[0] += a / r;
        angles[1] += b / r;
    }
    // Uniform angles: each mean has variance 1/2n.
    assert!(
        angles
            .iter()
            .all(|a| a.abs() < 4.5 * (2000.0_f64 / 2.0).sqrt())
    );

    let data = load("cue?shape=16&u1=9&u2=1&u3=2&eps=0.5&outer=2&inner=1&train=500&test=0");
    let u: Vec<Vec<f64>> = [9, 1, 2]
        .iter()
        .map(|&k| dft_vector(1, 16, k).unwrap())
        .collect();
    for (x, y) in data.train.x.chunks(16).zip(signs(&data.train.y)) {
        let c: Vec<f64> = u.iter().map(|u| dot(x, u)).collect();
        assert!((c[0] - 0.5 * y).abs() < 1e-5);
        assert!((c[1].hypot(c[2]) - if y > 0.0 { 2.0 } else { 1.0 }).abs() < 1e-5);
    }
}

/// Labels follow t = x·u by each rule, and each rule's default offset splits the classes evenly.
#[test]
fn isotropic() {
    type Rule = (&'static str, fn(f64) -> f64);
    let rules: [Rule; 3] = [
        ("linear", |t| t),
        ("quadratic", |t| t * t - 0.454_936 * 4.0),
        ("sinusoidal", f64::sin),
    ];
    for (name, rule) in rules {
        let data = load(&format!(
            "isotropic?shape=1x5x5&u=4&labeling={name}&train=20000&test=0&seed=2"
        ));
        let u = dft_vector(5, 5, 4).unwrap();
        let eps = [("linear", 0.9), ("quadratic", 2.0), ("sinusoidal", 2.1)]
            .iter()
            .find(|e| e.0 == name)
            .unwrap()
            .1;
        let mut square = 0.0;
        for (x, y) in data.train.x.chunks(25).zip(signs(&data.train.y)) {
            let t = dot(x, &u);
            square += t * t;
            assert!(rule(t) * y > -1e-4, "{name} {t} {y}");
        }
        let n: f64 = 20000.0;
        assert!((square / n / (eps * eps) - 1.0).abs() < 4.5 * (2.0 / n).sqrt());
        assert_fair(&data.train.y);
    }
    let all = load("isotropic?shape=4&labeling=quadratic&b=0&train=50&test=0");
    assert!(classes(&all.train.y).iter().all(|&y| y == 1));
}

#[test]
fn spheres_random_and_stripe() {
    let radius = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let data = load("sphere?shape=7&radius=2.5&train=3000&test=10");
    assert!(
        data.train
            .x
            .chunks(7)
            .all(|x| (radius(x) - 2.5).abs() < 1e-5)
    );
    // E x₁² = r²/d, E x₁⁴ = 3r⁴/(d(d+2)) on the sphere.
    let fourth: f64 = data
        .train
        .x
        .iter()
        .map(|&x| f64::from(x).powi(4))
        .sum::<f64>()
        / 21_000.0;
    assert!(
        (fourth - 3.0 * 2.5_f64.powi(4) / 63.0).abs() < 0.1,
        "{fourth}"
    );
    let data = load("spheres?count=4&dimension=3&train=500&test=10");
    assert!(
        data.train
            .x
            .chunks(3)
            .all(|x| (radius(x) - 3.0_f64.sqrt()).abs() < 1e-5)
    );
    assert_eq!(data.shape.len(), 12);
    let data = load("random?train=400&test=10");
    assert!(
        data.train
            .x
            .chunks(10)
            .all(|x| (radius(x) - 10.0_f64.sqrt()).abs() < 1e-5)
    );
    assert!(
        classes(&data.train.y)
            .iter()
            .enumerate()
            .all(|(i, &y)| y == (i % 2) as u32)
    );
    let data = load("stripe?shape=3&train=5000&test=10");
    for (x, y) in data.train.x.chunks(3).zip(classes(&data.train.y)) {
        assert_eq!(y == 1, x[0] > -0.3 && x[0] < 1.185_49);
    }
    // Φ(1.18549) − Φ(−0.3) = 0.8821 − 0.3821: the interfaces are chosen for equal classes.
    assert_fair(&data.train.y);
}

/// With one centre far from the other, each class is a Gaussian of its own: its mean and its widths, on new samples too.
#[test]
fn mixture() {
    let data = load("mixture?shape=3&count=2&eps=50&train=20000&test=20000&seed=4");
    assert_fair(&data.train.y);
    let of = |split: &Split, class: u32, axis: usize| -> (f64, f64) {
        let rows = split.x.chunks(3).zip(classes(&split.y));
        let x = rows.filter(|(_, y)| *y == class);
        let x: Vec<f64> = x.map(|(x, _)| f64::from(x[axis])).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let square = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        (mean, square.sqrt())
    };
    for (class, axis) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let (mean, width) = of(&data.train, class, axis);
        let (other, wide) = of(&data.test, class, axis);
        // 10,000 samples of each: errors of 1.6/100 and of 1.6/√20,000.
        assert!((mean - other).abs() < 4.5 * 0.023, "{mean} {other}");
        assert!((width - wide).abs() < 4.5 * 0.016, "{width} {wide}");
        assert!((0.36..1.66).contains(&width), "{width}");
    }
    // Widths differ: log-uniform over a factor of 4, three of them within 10 % would be luck.
    let widths = [0, 1, 2].map(|axis| of(&data.train, 0, axis).1);
    let ends = widths
        .iter()
        .fold((9.0_f64, 0.0_f64), |e, &w| (e.0.min(w), e.1.max(w)));
    assert!(ends.1 > 1.1 * ends.0, "{widths:?}");
}

/// The empirical covariance of 20 000 draws is the one asked for, including a null direction.
#[test]
fn gaussian() {
    let scratch = Scratch::new("gaussian");
    let sigma = [2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0];
    let file = scratch.put("c.npy", &npy::encode(&[3, 3], &sigma));
    let data = load(&format!(
        "gaussian?covariance={file}&shape=3&train=20000&test=0"
    ));
    let s = covariance(&data.train.x, 3);
    for (got, want) in s.iter().zip(sigma) {
        // Var(x_i x_j) ≤ 2·2².
        assert!((got / 20_000.0 - want).abs() < 4.5 * (8.0 / 20_000.0_f64).sqrt());
    }
    assert!(data.train.x.chunks(3).all(|x| x[2].abs() < 1e-5));
    let negative = scratch.put("n.npy", &npy::encode(&[2, 2], &[1.0, 0.0, 0.0, -1.0]));
    let skew = scratch.put("s.npy", &npy::encode(&[2, 2], &[1.0, 1.0, 0.0, 1.0]));
    for (file, want) in [
        (negative, "negative eigenvalue"),
        (skew, "must be symmetric"),
        (file, "expected a 2x2 covariance"),
    ] {
        let error = Dataset::load(&format!("gaussian?covariance={file}&shape=2")).unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[test]
fn directions_from_files() {
    let scratch = Scratch::new("directions");
    let rows = scratch.put(
        "v.npy",
        &npy::encode(&[3, 2], &[0.0, 2.0, 3.0, 0.0, 1.0, 1.0]),
    );
    let data = load(&format!("linear?shape=2&v={rows}:1&train=20&test=0"));
    for (x, y) in data.train.x.chunks(2).zip(signs(&data.train.y)) {
        assert!((f64::from(x[0]) - y).abs() < 1e-6);
    }
    let cases = [
        (
            format!("doughnut?shape=2&u1={rows}:0&u2={rows}:2"),
            "must be orthogonal, their cosine is 0.707",
        ),
        (format!("linear?shape=2&v={rows}:3"), "a row 3"),
        (format!("linear?shape=3&v={rows}:0"), "rows of 3 numbers"),
        ("linear?shape=4&v=4".into(), "there are 4 DFT directions"),
    ];
    for (spec, want) in cases {
        let error = Dataset::load(&spec).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    // Removing an axis leaves nothing along it; projecting keeps its coordinate.
    let axis = scratch.put("a.npy", &npy::encode(&[1, 2], &[5.0, 0.0]));
    let data = load(&format!("stripe?shape=2&train=50&test=5&remove={axis}"));
    assert!(data.train.x.chunks(2).all(|x| x[0].abs() < 1e-6));
    let whole = load("stripe?shape=2&train=50&test=5");
    let kept = load(&format!("stripe?shape=2&train=50&test=5&project={axis}"));
    assert_eq!(kept.shape.len(), 1);
    assert!(
        kept.test
            .x
            .iter()
            .zip(whole.test.x.chunks(2))
            .all(|(a, b)| (a - b[0]).abs() < 1e-6)
    );
}

#[test]
fn statistics_of_transforms() {
    let data = load("sphere?shape=2x3x4&radius=9&train=500&test=100&standardise");
    for c in 0..2 {
        let values: Vec<f64> = data
            .train
            .x
            .chunks(24)
            .flat_map(|x| &x[c * 12..(c + 1) * 12])
            .map(|&x| f64::from(x))
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-5);
    }
    let data = load("linear?shape=12&eps=9&train=3000&test=20&pca=3&whiten");
    let s = covariance(&data.train.x, 3);
    for i in 0..3 {
        for j in 0..3 {
            let want = if i == j { 3000.0 } else { 0.0 };
            assert!(
                (s[i * 3 + j] - want).abs() < 3e-3,
                "{i} {j}: {}",
                s[i * 3 + j]
            );
        }
    }
    // Without whitening the first component is v itself: variance ε² = 81.
    let raw = load("linear?shape=12&eps=9&train=3000&test=0");
    let pca = Pca::fit(&raw.train.x, 12, 2).unwrap();
    let v = dft_vector(1, 12, 0).unwrap();
    let cosine: f64 = pca.components[..12]
        .iter()
        .zip(&v)
        .map(|(a, b)| a * b)
        .sum();
    assert!(cosine.abs() > 0.999 && (pca.variances[0] - 81.0).abs() < 1.0);
    let data = load("stripe?shape=5&train=300&test=30&normalise");
    let off = |x: &[f32]| (x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() - 5.0).abs();
    assert!(
        data.train
            .x
            .chunks(5)
            .chain(data.test.x.chunks(5))
            .all(|x| off(x) < 1e-5)
    );
}

#[test]
fn labels() {
    let clean = load("linear?shape=4&train=20000&test=100");
    let noisy = load("linear?shape=4&train=20000&test=100&noise=0.2");
    assert_eq!((&clean.train.x, &clean.test), (&noisy.train.x, &noisy.test));
    let (a, b) = (classes(&clean.train.y), classes(&noisy.train.y));
    let flipped = a.iter().zip(&b).filter(|(a, b)| a != b).count() as f64;
    assert!(
        (flipped - 4000.0).abs() < 4.5 * (20_000.0_f64 * 0.2 * 0.8).sqrt(),
        "{flipped}"
    );
    let random = load("linear?shape=4&train=20000&test=100&labels=random");
    let agree = classes(&random.train.y)
        .iter()
        .zip(&a)
        .filter(|(a, b)| a == b)
        .count() as f64;
    assert!((agree - 10_000.0).abs() < 4.5 * 5000.0_f64.sqrt());
    let balanced = load("linear?shape=4&train=1000&test=100&balanced");
    assert!(
        classes(&balanced.train.y)
            .iter()
            .enumerate()
            .all(|(i, &y)| y == (i % 2) as u32)
    );
    assert!(balanced.train.len() > 850);
    let one = load("linear?shape=4&train=1000&test=100&classes=1");
    assert!(one.classes == 1 && classes(&one.train.y).iter().all(|&y| y == 0));
    assert!(one.train.x.chunks(4).all(|x| x.iter().sum::<f32>() > 0.0));
    let swapped = load("linear?shape=4&train=1000&test=100&group=0");
    let first: Vec<u32> = a.iter().take(1000).map(|y| 1 - y).collect();
    assert_eq!(classes(&swapped.train.y), first);
}

#[test]
fn unknown_names_get_suggestions() {
    let cases = [
        ("doughnt", "did you mean 'doughnut'?"),
        (
            "linear?sigm=3",
            "unknown parameter of linear 'sigm'; did you mean 'sigma'?",
        ),
        ("mixture?count=1", "2 to 4096 Gaussians"),
        ("stripe?sigma=3", "unknown parameter of stripe 'sigma'"),
        ("zzzzzzzzzz", "known: mnist, mnist-parity"),
        ("linear?sigma", "expected sigma=S"),
        ("linear?grey=1", "grey is a flag"),
        ("linear?sigma=-1", "must not be negative"),
        ("linear?sigma=nan", "expected a number"),
        ("linear?seed=1&seed=2", "given twice"),
        ("linear?train=0", "nothing to learn from"),
        ("linear?train=-3", "expected a whole number"),
        ("linear?shape=3x32", "shape=3x32"),
        ("linear?noise=2", "between 0 and 1"),
        ("linear?train=9999999999", "more than 8 GB"),
        ("linear?whiten", "whiten needs pca=K"),
        ("linear:somewhere", "expected linear"),
        ("cifar2:d?group=1", "already grouped"),
        ("mnist-parity:d?classes=1", "already grouped; use mnist"),
        ("mnist-party:d", "did you mean 'mnist-parity'?"),
        ("linear?pooled=1", "pooled is a flag"),
        ("mnist", "expected mnist:DIR"),
        ("", "unknown data set ''"),
    ];
    for (spec, want) in cases {
        let error = Dataset::load(spec).unwrap_err().to_string();
        assert!(error.contains(want) && !error.contains('\n'), "{error}");
    }
}
