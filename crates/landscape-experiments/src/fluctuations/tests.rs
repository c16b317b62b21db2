//! Noise in closed form, what claims and words make of made-up numbers, and one cell.

use polariscope_diff::Place;
use polariscope_experiment::{Outcome, Row, Size, View};
use polariscope_random::Stream;
use polariscope_stats::{Estimate, jackknife};
use polariscope_train::{Labels, Samples};

use super::ensemble::{Member, measures};
use super::kernel::{kernel, moments};
use super::*;

fn lab(data: &str) -> Lab {
    Lab {
        architecture: String::new(),
        data: data.into(),
        scale: Size::Small,
        runs: Some(6),
        seed: 0,
        place: Place::default(),
    }
}

const DATA: &str = "stripe?shape=10&train=120&test=200";

#[test]
fn moments_by_hand() {
    // Means 2 and 2, variances 2 and 0; 2² less 2/2, and 2².
    let found = moments(&[vec![1.0, 2.0], vec![3.0, 2.0]]);
    assert_eq!(found, [2.0, 7.0]);
}

/// E f(z) of a standard normal z, by the trapezoidal rule.
fn normal(f: impl Fn(f64) -> f64) -> f64 {
    let step = 1e-3;
    let at = |k: i32| f64::from(k) * step;
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    (-12_000..=12_000)
        .map(|k| step * f(at(k)) * density(at(k)))
        .sum()
}

/// One hidden layer: Θ₀(x, x′) = (1/h) Σᵢ φ(uᵢ)φ(uᵢ′) + aᵢ² φ′(uᵢ)φ′(uᵢ′) x·x′/d is a mean over independent neurons. Of two
/// orthogonal inputs with |x|² = d the pre-activations u are independent standard normal numbers, so that
/// h Var Θ₀(x, x) = Eφ⁴ + 2Eφ²φ′² + 3Eφ′⁴ − (Eφ² + Eφ′²)² and h Var Θ₀(x, x′) = (Eφ²)² − (Eφ)⁴.
#[test]
fn kernels_of_one_hidden_layer_fluctuate_as_neurons_do() {
    let softplus = |u: f64| (5.0 * u).exp().ln_1p() / 5.0;
    let factor = normal(|u| softplus(u).powi(2)).powf(-0.5);
    let phi = |u: f64| factor * softplus(u);
    let slope = |u: f64| factor / (1.0 + (-5.0 * u).exp());
    let squares = [normal(|u| phi(u).powi(2)), normal(|u| slope(u).powi(2))];
    let mean = squares[0] + squares[1];
    let fourth = normal(|u| {
        let (p, s) = (phi(u).powi(2), slope(u).powi(2));
        p * p + 2.0 * p * s + 3.0 * s * s
    });
    let (first, across) = (normal(phi), squares[0] * squares[0]);
    let variance = 2.0 * (fourth - mean * mean) + 2.0 * (across - first.powi(4));
    let square = 2.0 * mean * mean + 2.0 * first.powi(4);

    let data = lab("stripe?shape=2&train=8&test=8").samples().unwrap();
    let two = 2f32.sqrt();
    let inputs = Samples {
        x: &[two, 0.0, 0.0, two],
        y: Labels::Classes(&[0, 1]),
    };
    let draws = 3000;
    for h in [16, 64] {
        let graph = network(&data, 1, h).unwrap();
        let kernels: Vec<Vec<f64>> = (0..draws)
            .map(|i| kernel(&graph, 5, i, inputs).unwrap())
            .collect();
        let [found, found_square] = moments(&kernels);
        // The variance of 3000 numbers has an error of √(2/3000) = 2.6 % of itself, more where their fourth moment is large:
        // of 16 neurons with a² the excess of it is about 1, which makes 3.2 %.
        let off = found * h as f64 / variance - 1.0;
        assert!(off.abs() < 0.12, "h = {h}: {off}");
        // Means have an error of their deviation over √3000.
        let error = 4.0 * (variance / h as f64 / draws as f64).sqrt() / square.sqrt();
        let off = found_square / square - 1.0;
        assert!(off.abs() < 2.0 * error, "h = {h}: {off} of {error}");
    }
}

/// F = x − t on a grid over (−1, 1) with normal t, and P(y = 1) = ½ + sx/2: the boundary of a network lies |t − t̄| from that
/// of all, the points between are |t − t̄|/2 of all, and the error of a boundary at t is ½ − s/4 + st²/4.
#[test]
fn an_ensemble_of_lines_is_measured() {
    let (samples, s) = (10_001, 1.0);
    let grid: Vec<f64> = (0..samples).map(|k| k as f64 / 5_000.0 - 1.0).collect();
    // Evenly spread numbers in place of chance.
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let classes: Vec<u32> = grid
        .iter()
        .enumerate()
        .map(|(k, x)| u32::from((golden * k as f64).fract() < 0.5 + 0.5 * s * x))
        .collect();
    let mut shifts = vec![0f32; NETWORKS];
    Stream::new(3, 0, "shifts").normal(0.3, &mut shifts);
    let shifts: Vec<f64> = shifts.into_iter().map(f64::from).collect();
    let members: Vec<Member> = shifts
        .iter()
        .map(|t| Member {
            f: grid.iter().map(|x| x - t).collect(),
            gradient: vec![1.0; samples],
        })
        .collect();
    let found = measures(&members, &classes, 1, 0);
    let all = Estimate::mean(&shifts).unwrap();
    let variance = all.standard_error.powi(2) * NETWORKS as f64;
    let [fitted, var, differ, global, steepness] = found[..5] else {
        panic!("{found:?}")
    };
    assert_eq!([fitted, steepness], [1.0, 1.0]);
    assert!((var - variance).abs() < 1e-12 && (global - variance.sqrt()).abs() < 1e-12);
    let off: f64 = shifts.iter().map(|t| (t - all.value).abs()).sum();
    // Points lie 2·10⁻⁴ apart.
    assert!((differ - 0.5 * off / NETWORKS as f64).abs() < 1e-4);
    let (errors, distances) = found[5..].split_at(SIZES.len() + 1);
    // All twenty networks one by one, and all of them together: ¼ s v (1 − 1/20) apart.
    let wanted = 0.25 * s * variance * scatter_of(1);
    let excess = errors[0] - errors[SIZES.len()];
    assert!((excess - wanted).abs() < 0.05 * wanted, "{excess} {wanted}");
    // Ten of twenty: v (1/10 − 1/20), over 128 subsets, each the square of a normal number, in pairs of halves that agree.
    let excess = errors[4] - errors[SIZES.len()];
    let wanted = 0.25 * s * variance * scatter_of(10);
    assert!((excess / wanted - 1.0).abs() < 0.4, "{excess} {wanted}");
    for (m, found) in SIZES.into_iter().zip(distances) {
        let means = shifts
            .chunks(m)
            .map(|part| part.iter().sum::<f64>() / m as f64);
        let off: Vec<f64> = means.map(|t| (t - all.value).abs()).collect();
        let wanted = off.iter().map(|t| t * t).sum::<f64>() / off.iter().sum::<f64>();
        assert!((found - wanted).abs() < 2e-4, "{m}: {found} {wanted}");
    }
}

/// A table where `value` of (measure, h, m, run) fills the measures, m the size of an ensemble.
fn made_up(value: impl Fn(&str, f64, usize, u64) -> f64) -> (Fluctuations, Table) {
    let it = Fluctuations::new(&lab(DATA));
    let table = raw(&it, value);
    let scores = it.scores(&table).unwrap().unwrap();
    (it, scores)
}

fn raw(it: &Fluctuations, value: impl Fn(&str, f64, usize, u64) -> f64) -> Table {
    let design = it.design();
    let mut table = Table::new(&design);
    for cell in &design.cells {
        let of = |measure: &String| {
            let trained = it.trained().contains(&cell.number("h"));
            let size = |letter: &str| measure.strip_prefix(letter)?.parse().ok();
            let h = cell.real("h");
            match (size("e"), size("d")) {
                _ if !trained && !measure.starts_with("kernel") => f64::NAN,
                (Some(m), _) => value("e", h, m, cell.run),
                (_, Some(m)) => value("d", h, m, cell.run),
                _ => value(measure, h, 1, cell.run),
            }
        };
        table.rows.push(Row {
            levels: cell.levels.clone(),
            run: cell.run,
            values: design.measures.iter().map(of).collect(),
        });
    }
    table
}

/// Powers of theory where all are 1; `bias` is what the error of infinitely many networks loses from h = 16 to infinity.
fn theory([kernel, variance, approach]: [f64; 3], bias: f64) -> (Fluctuations, Table) {
    made_up(|measure, h, m, run| {
        let chance = 1.0 + 0.02 * (run as f64 - 2.5);
        let scatter = scatter_of(m);
        let noise = (16.0 / h).powf(variance);
        match measure {
            "kernel-variance" => chance * (1.0 / h).powf(kernel),
            "kernel-square" => 2.0,
            "fitted" => 1.0,
            "variance" => chance * noise,
            // δ² = noise/25 and ε − ε̄ = δ²/4.
            "global" => chance * noise.sqrt(),
            "d" => chance * 0.2 * (noise * scatter / scatter_of(1)).sqrt(),
            "e" => {
                let alone = 0.01 * noise * scatter_of(1).powf(1.0 - approach);
                chance * (0.1 + bias * 16.0 / h + alone * scatter.powf(approach))
            }
            _ => 1.0,
        }
    })
}

fn outcome(it: &Fluctuations, table: &Table, words: &str) -> Outcome {
    let claims = it.claims();
    let claim = claims.iter().find(|c| c.words.contains(words));
    claim.expect(words).judge(table).outcome
}

#[test]
fn the_theory_is_recognised() {
    let (it, table) = theory([1.0; 3], 0.0);
    for claim in it.claims() {
        let verdict = claim.judge(&table);
        assert_eq!(
            verdict.outcome,
            Outcome::Holds,
            "{}: {}",
            verdict.words,
            verdict.rule
        );
    }
    let power = |h, name| table.mean(&at(h), name).unwrap().value;
    for (name, wanted) in [
        ("kernel-power", -0.5),
        ("variance-power", -1.0),
        ("global-power", 1.0),
        ("excess-power", 2.0),
        ("cost-power", -1.0),
    ] {
        assert!((power(NARROW, name) - wanted).abs() < 1e-9, "{name}");
    }
    for h in it.trained() {
        assert!((power(h, "error-power") - 1.0).abs() < 1e-9);
        assert!((power(h, "distance-power") - 0.5).abs() < 1e-9);
    }
    // 0.1 + 0.01 (1/m − 1/20) on average over runs: infinitely many err on 0.0995.
    assert!((power(NARROW, "limit") - 0.0995).abs() < 1e-9);
    assert_eq!(it.figures(&table).len(), 4);
}

#[test]
fn other_powers_are_shown_wrong() {
    let (it, table) = theory([0.8, 1.0, 1.0], 0.0);
    assert_eq!(
        outcome(&it, &table, "the kernel fluctuates"),
        Outcome::Fails
    );
    assert_eq!(outcome(&it, &table, "Var F ~ 1/h"), Outcome::Holds);
    let (it, table) = theory([1.0, 0.5, 1.0], 0.0);
    assert_eq!(
        outcome(&it, &table, "the kernel fluctuates"),
        Outcome::Holds
    );
    assert_eq!(outcome(&it, &table, "Var F ~ 1/h"), Outcome::Fails);
    assert_eq!(outcome(&it, &table, "ε − ε̄ ~ δ²"), Outcome::Holds);
    let (it, table) = theory([1.0, 1.0, 0.5], 0.0);
    assert_eq!(
        outcome(&it, &table, "approaches its limit as 1/n"),
        Outcome::Fails
    );
    assert_eq!(outcome(&it, &table, "as n^−1/2"), Outcome::Holds);
}

/// ε̄_∞ is told where the error approaches it as 1/n, else not.
#[test]
fn the_limit_is_told_where_there_is_one() {
    let (it, table) = theory([1.0; 3], 0.0);
    let words = it.words(&table);
    assert!(words.contains("infinitely many would on 9.9"), "{words}");
    let (it, table) = theory([1.0, 1.0, 0.5], 0.0);
    let words = it.words(&table);
    assert!(!words.contains("infinitely"), "{words}");
    assert!(words.contains("a trained network errs on"), "{words}");
}

/// One network gains 0.0095 (1 − 16/128) of noise, twice as much of another kind, or loses.
#[test]
fn what_wider_networks_gain_is_said_where_it_is_noise() {
    let most = "most of what wider networks gain is that they are less noisy";
    let words = |bias| {
        let (it, table) = theory([1.0; 3], bias);
        it.words(&table)
    };
    assert!(words(0.0).contains(most), "{}", words(0.0));
    assert!(words(0.0).contains("does not fall beyond its error"));
    assert!(words(0.003).contains("of the mean of 20 falls by 0.26"));
    assert!(words(-0.003).contains(most) && words(-0.003).contains("rises by 0.26"));
    assert!(!words(0.02).contains(most), "{}", words(0.02));
    assert!(!words(-0.03).contains(most), "{}", words(-0.03));
}

#[test]
fn ensembles_that_do_not_fit_are_counted() {
    let (it, table) = made_up(|measure, h, _, run| match measure {
        "fitted" if h < 20.0 && run < 2 => 0.9,
        "kernel-variance" | "kernel-square" | "fitted" => 1.0,
        _ if h < 20.0 && run < 2 => f64::NAN,
        _ => 1.0 / h,
    });
    let words = it.words(&table);
    assert!(words.contains("2 of 24 ensembles have networks"), "{words}");
    // The other four runs are fitted.
    let power = table.mean(&at(NARROW), "variance-power").unwrap();
    assert!((power.value + 1.0).abs() < 1e-9 && power.runs == 4);
    let (it, table) = theory([1.0; 3], 0.0);
    assert!(!it.words(&table).contains("ensembles have"));
}

/// A kernel's variance that scatters over runs: pseudo-values have the jackknife's error, and that is how far powers of other
/// runs lie apart.
#[test]
fn errors_of_powers_are_those_of_other_runs() {
    let it = Fluctuations::new(&lab(DATA));
    let widths = it.widths();
    let runs = 6;
    let tables = 150;
    let mut powers = Vec::new();
    let mut squares = 0.0;
    for seed in 0..tables {
        let mut chance = vec![0f32; widths.len() * runs];
        Stream::new(seed, 0, "chance").normal(0.3, &mut chance);
        let noise = |h: f64, run: u64| {
            let place = widths.iter().position(|w| *w as f64 == h).unwrap();
            f64::from(chance[place * runs + run as usize].exp()) / h
        };
        let table = raw(&it, |measure, h, _, run| match measure {
            "kernel-variance" => noise(h, run),
            _ => 1.0,
        });
        let scores = it.scores(&table).unwrap().unwrap();
        let found = scores.mean(&at(NARROW), "kernel-power").unwrap();
        let by_hand = |out: Option<usize>| {
            let kept = |h: f64| {
                let kept = (0..runs).filter(|r| Some(*r) != out);
                let all: Vec<f64> = kept.map(|r| noise(h, r as u64)).collect();
                (all.iter().sum::<f64>() / all.len() as f64).sqrt()
            };
            let x: Vec<f64> = widths.iter().map(|h| (*h as f64).ln()).collect();
            let y: Vec<f64> = widths.iter().map(|h| kept(*h as f64).ln()).collect();
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let up: f64 = x.iter().zip(&y).map(|(x, y)| (x - mean) * y).sum();
            Some(up / x.iter().map(|x| (x - mean).powi(2)).sum::<f64>())
        };
        let wanted = jackknife(runs, by_hand).unwrap();
        let error = found.standard_error.unwrap();
        assert!((error - wanted.standard_error).abs() < 1e-12);
        powers.push(found.value);
        squares += error * error / tables as f64;
    }
    let all = Estimate::mean(&powers).unwrap();
    assert!((all.value + 0.5).abs() < 4.0 * all.standard_error, "{all}");
    // A variance from 150 numbers has an error of 12 %.
    let ratio = squares / (all.standard_error.powi(2) * tables as f64);
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
}

/// A run alone, or widths that are missing, decide nothing.
#[test]
fn what_is_missing_is_undecided() {
    let (it, full) = theory([1.0; 3], 0.0);
    for keep in [(|row: &Row| row.run == 0) as fn(&Row) -> bool, |row| {
        row.levels[0] == "16"
    }] {
        let mut table = full.clone();
        table.rows.retain(keep);
        let design = it.design();
        let mut bare = Table::new(&design);
        let measured = design.measures.len();
        bare.rows = table.rows;
        bare.rows
            .iter_mut()
            .for_each(|row| row.values.truncate(measured));
        let scores = it.scores(&bare).unwrap().unwrap();
        for claim in it.claims() {
            assert_eq!(
                claim.judge(&scores).outcome,
                Outcome::Undecided,
                "{}",
                claim.words
            );
        }
        let (words, _) = (it.words(&scores), it.figures(&scores));
        assert!(!words.contains("to the power of"), "{words}");
    }
}

/// A width that is trained and one that is not, on a tiny task.
#[test]
fn cells_are_measured() {
    let it = Fluctuations::new(&lab(DATA));
    it.prepare().unwrap();
    let design = it.design();
    let measured = |h: usize| {
        let mut cells = design.cells.iter();
        let cell = cells.find(|c| c.number("h") == h).unwrap();
        let values = it.measure(cell).unwrap();
        assert_eq!(values.len(), design.measures.len());
        move |name: &str| values[design_place(name)]
    };
    let trained = measured(16);
    assert_eq!(trained("fitted"), 1.0);
    assert!(trained("variance") > 0.0 && trained("steepness") > 0.0);
    // Means of more networks lie closer to that of all.
    assert!(trained("d10") < trained("d1"));
    assert!(trained("e20") <= trained("e1") && trained("e1") < 0.5);
    let wide = measured(256);
    assert!(wide("fitted").is_nan() && wide("e20").is_nan());
    let noise = |of: &dyn Fn(&str) -> f64| of("kernel-variance") / of("kernel-square");
    // A sixteenth, from 50 draws.
    let ratio = noise(&trained) / noise(&wide);
    assert!((8.0..32.0).contains(&ratio), "{ratio}");
}

fn design_place(name: &str) -> usize {
    let design = Fluctuations::new(&lab(DATA)).design();
    design.measures.iter().position(|m| m == name).unwrap()
}

/// Data with too few training samples are refused in one line.
#[test]
fn other_data_are_refused() {
    let it = Fluctuations::new(&lab("stripe?shape=2&train=50&test=20"));
    let refused = it.prepare().unwrap_err();
    assert!(
        refused.to_string().contains("has 50 training samples"),
        "{refused}"
    );
    assert!(refused.is_usage());
}
