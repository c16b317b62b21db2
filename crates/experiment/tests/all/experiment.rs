//! Resumption, the table on disk, and the rules of the verdicts against numbers worked out by hand.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use polariscope_experiment::{
    Cell, Claim, Design, Memo, Outcome, Scale, Select, Table, TableError, Test, Wanted, exponent,
    level,
};

fn design() -> Design {
    Design::product(
        &[("system", &["fcn", "gap"]), ("group", &["none", "all"])],
        2,
        &["accuracy", "seconds"],
    )
}

fn numbers(levels: &[String], run: u64) -> Vec<f64> {
    let bonus = if levels == ["gap", "none"] { 0.25 } else { 0.0 };
    vec![0.3 + bonus + 0.1 * run as f64, 1.0 / 3.0]
}

#[test]
fn runs_are_complete_one_after_the_other() {
    let cells = design().cells;
    assert_eq!(cells.len(), 8);
    assert!(cells[..4].iter().all(|c| c.run == 0));
    assert_eq!(cells[1].level("group"), "all");
    assert_eq!(cells[1].level("nothing"), "");
}

#[test]
fn a_part_of_a_design() {
    let factor = design().factors[0].clone();
    let first = design().cells[0].levels[0].clone();
    let part = design().only(&factor, &[&first]).unwrap();
    let kept = |cell: &&Cell| cell.levels[0] == first;
    let wanted: Vec<_> = design().cells.iter().filter(kept).cloned().collect();
    assert!(!wanted.is_empty() && wanted.len() < design().cells.len());
    assert_eq!(part.cells, wanted);
    let unknown = design().only("colour", &["red"]).unwrap_err();
    assert!(unknown.to_string().contains(&factor), "{unknown}");
    let unknown = design().only(&factor, &[&first, "red"]).unwrap_err();
    assert!(unknown.to_string().contains("'red'"), "{unknown}");
}

#[test]
fn an_interrupted_experiment_measures_only_what_is_missing() {
    let design = design();
    let mut table = Table::new(&design);
    let calls = AtomicUsize::new(0);
    let stopped = design.fill(
        &mut table,
        1,
        |cell| {
            if calls.fetch_add(1, Relaxed) >= 3 {
                return Err("killed");
            }
            Ok(numbers(&cell.levels, cell.run))
        },
        |_| {},
        |_| Ok(()),
    );
    assert_eq!((stopped, table.rows.len()), (Err("killed"), 3));

    let mut again = Table::new(&design);
    again.read_csv(&table.to_csv()).unwrap();
    assert_eq!(again, table);
    let calls = AtomicUsize::new(0);
    let filled = design.fill(
        &mut again,
        1,
        |cell| {
            calls.fetch_add(1, Relaxed);
            Ok::<_, ()>(numbers(&cell.levels, cell.run))
        },
        |_| {},
        |_| Ok(()),
    );
    let calls = calls.into_inner();
    assert_eq!((filled, calls, again.rows.len()), (Ok(()), 5, 8));
}

/// Three at a time: the same rows in the same order; of three of which the second fails, the first stays.
#[test]
fn cells_side_by_side() {
    let design = design();
    let fill = |together, fails: Option<&Cell>| {
        let (mut table, mut begun) = (Table::new(&design), Vec::new());
        let measure = |cell: &Cell| match fails == Some(cell) {
            true => Err("failed"),
            false => Ok(numbers(&cell.levels, cell.run)),
        };
        let begin = |cells: &[&Cell]| begun.push(cells.len());
        let done = design.fill(&mut table, together, measure, begin, |_| Ok(()));
        (done, table, begun)
    };
    let (done, table, begun) = fill(3, None);
    assert_eq!((done, begun), (Ok(()), vec![3, 3, 2]));
    assert_eq!(table, fill(1, None).1);
    let (done, part, _) = fill(3, Some(&design.cells[4]));
    assert_eq!((done, part.rows.len()), (Err("failed"), 4));
    assert_eq!(design.missing(&part).len(), 4);
}

#[test]
fn a_table_of_another_design_is_refused() {
    let mut table = Table::new(&design());
    let text = "system,group,run,accuracy,seconds\nfcn,none,0,0.5\n";
    let error = table.read_csv(text).unwrap_err();
    assert!(matches!(error, TableError::Row { line: 2, .. }), "{error}");
    let other = Table::new(&Design::product(&[("width", &["1"])], 1, &["loss"]));
    assert!(table.read_csv(&other.to_csv()).is_err());
}

/// A table of one factor, run by run.
fn measured(values: &[(&str, &[f64])]) -> Table {
    let levels: Vec<&str> = values.iter().map(|v| v.0).collect();
    let design = Design::product(&[("x", &levels)], values[0].1.len() as u64, &["y"]);
    let mut table = Table::new(&design);
    let find = |level: &str| values.iter().find(|v| v.0 == level).unwrap().1;
    let filled = design.fill(
        &mut table,
        1,
        |c| Ok::<_, ()>(vec![find(c.level("x"))[c.run as usize]]),
        |_| {},
        |_| Ok(()),
    );
    filled.unwrap();
    table
}

fn at(level: &str) -> Select {
    Select::of(&[("x", level)])
}

#[test]
fn differences_are_paired_by_run() {
    let claim = |upper: &str, lower: &str| {
        Claim::new(
            "",
            Test::Above {
                measure: "y",
                upper: at(upper),
                lower: at(lower),
            },
        )
    };
    // Differences 0.1, 0.2, 0.3: mean 0.2, standard error 0.1/√3; t₂ = 4.303 of them are 0.248.
    let table = measured(&[("a", &[1.1, 2.2, 3.3]), ("b", &[1.0, 2.0, 3.0])]);
    let verdict = claim("a", "b").judge(&table);
    let statistic = verdict.statistic.unwrap();
    assert!((statistic.value - 0.2).abs() < 1e-12);
    assert!((statistic.standard_error.unwrap() - 0.1 / 3f64.sqrt()).abs() < 1e-12);
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(verdict.rule.contains("4.30"), "{}", verdict.rule);
    // Differences 0.2, 0.25, 0.3: mean 0.25; t₂ standard errors are 0.124.
    let table = measured(&[("a", &[1.2, 2.25, 3.3]), ("b", &[1.0, 2.0, 3.0])]);
    assert_eq!(claim("a", "b").judge(&table).outcome, Outcome::Holds);
    assert_eq!(claim("b", "a").judge(&table).outcome, Outcome::Fails);
    // Differences 1, −1, 1: mean 1/3, standard error 2/3.
    let table = measured(&[("a", &[1.0, 0.0, 1.0]), ("b", &[0.0, 1.0, 0.0])]);
    assert_eq!(claim("a", "b").judge(&table).outcome, Outcome::Undecided);
    // One run has no error, missing rows no statistic.
    let table = measured(&[("a", &[1.0]), ("b", &[0.0])]);
    assert_eq!(claim("a", "b").judge(&table).outcome, Outcome::Undecided);
    assert_eq!(claim("a", "c").judge(&table).statistic, None);
}

#[test]
fn equality_counts_every_run() {
    let claim = |tolerance| {
        Claim::new(
            "",
            Test::Equal {
                measure: "y",
                conditions: vec![at("a"), at("b")],
                tolerance,
            },
        )
    };
    let table = measured(&[("a", &[0.5, 0.5]), ("b", &[0.5, 0.25])]);
    assert_eq!(claim(0.25).judge(&table).outcome, Outcome::Holds);
    assert_eq!(claim(0.2).judge(&table).outcome, Outcome::Fails);
}

#[test]
fn trends_are_rank_correlations() {
    let claim = |sign| {
        Claim::new(
            "",
            Test::Trend {
                measure: "y",
                along: vec![at("a"), at("b"), at("c"), at("d"), at("e")],
                sign,
            },
        )
    };
    // Ranks 1 2 3 4 5 against 1 2 3 5 4: ρ = 1 − 6·2/(5·24) = 0.9; the bound is 1.645/2.
    let values: [(&str, &[f64]); 5] = [
        ("a", &[0.1]),
        ("b", &[0.2]),
        ("c", &[0.4]),
        ("d", &[9.0]),
        ("e", &[0.5]),
    ];
    let verdict = claim(1.0).judge(&measured(&values));
    assert!((verdict.statistic.unwrap().value - 0.9).abs() < 1e-12);
    assert_eq!(verdict.outcome, Outcome::Holds);
    assert_eq!(
        claim(-1.0).judge(&measured(&values)).outcome,
        Outcome::Fails
    );
    // 1 3 2 5 4: ρ = 1 − 6·4/120 = 0.8, below the bound.
    let values: [(&str, &[f64]); 5] = [
        ("a", &[0.1]),
        ("b", &[0.3]),
        ("c", &[0.2]),
        ("d", &[9.0]),
        ("e", &[0.5]),
    ];
    let verdict = claim(1.0).judge(&measured(&values));
    assert!((verdict.statistic.unwrap().value - 0.8).abs() < 1e-12);
    assert_eq!(verdict.outcome, Outcome::Undecided);
}

/// y = 2 x^a with a = −2 and −1.8 in two runs: mean −1.9, standard error 0.1.
#[test]
fn exponents_are_contrasts_of_logarithms() {
    let y = |x: f64| [2.0 * x.powf(-2.0), 2.0 * x.powf(-1.8)];
    let table = measured(&[("1", &y(1.0)), ("2", &y(2.0)), ("8", &y(8.0))]);
    let points = [(1.0, at("1")), (2.0, at("2")), (8.0, at("8"))];
    let judge = |wanted| {
        let test = Test::Contrast {
            measure: "y",
            scale: Scale::Log,
            terms: exponent(&points),
            wanted,
        };
        Claim::new("", test).judge(&table)
    };
    let near = |value, tolerance| judge(Wanted::Near { value, tolerance });
    let statistic = near(-2.0, 0.5).statistic.unwrap();
    assert!((statistic.value + 1.9).abs() < 1e-12);
    assert!((statistic.standard_error.unwrap() - 0.1).abs() < 1e-12);
    // 0.1 away, and t₁ = 12.706 standard errors are 1.27: surely within 1.38, not surely within 1.36, surely beyond 0.5 of 1.
    assert_eq!(near(-2.0, 1.38).outcome, Outcome::Holds);
    assert_eq!(near(-2.0, 1.36).outcome, Outcome::Undecided);
    assert_eq!(near(-1.0, 0.5).outcome, Outcome::Undecided);
    assert_eq!(near(1.0, 0.5).outcome, Outcome::Fails);
    assert_eq!(judge(Wanted::Positive).outcome, Outcome::Fails);
}

/// Σ w y by hand: 3 − ½·1 − ½·2 = 1.5 and 4 − ½·1 − ½·2 = 2.5; mean 2, standard error ½, of which t₁ are 6.35.
#[test]
fn contrasts_are_weighted_sums_in_each_run() {
    let table = measured(&[("a", &[3.0, 4.0]), ("b", &[1.0, 1.0]), ("c", &[2.0, 2.0])]);
    let terms = vec![(1.0, at("a")), (-0.5, at("b")), (-0.5, at("c"))];
    let test = Test::Contrast {
        measure: "y",
        scale: Scale::Linear,
        terms,
        wanted: Wanted::Positive,
    };
    let claim = Claim::new("", test);
    let verdict = claim.judge(&table);
    let statistic = verdict.statistic.unwrap();
    assert_eq!(
        (statistic.value, statistic.standard_error),
        (2.0, Some(0.5))
    );
    assert_eq!(verdict.outcome, Outcome::Undecided);
    // 8.5 and 9.5: mean 9.
    let table = measured(&[("a", &[10.0, 11.0]), ("b", &[1.0, 1.0]), ("c", &[2.0, 2.0])]);
    assert_eq!(claim.judge(&table).outcome, Outcome::Holds);
}

/// Of 8 rows the mean of z² may reach 1 + 3/2.
#[test]
fn scatter_is_as_large_as_chance_makes_it() {
    let judge = |z: f64| {
        let table = measured(&[("a", &[z, -z, z, -z]), ("b", &[z, z, -z, -z])]);
        let test = Test::Scatter {
            measure: "y",
            at: Select::default(),
        };
        Claim::new("", test).judge(&table)
    };
    assert_eq!(judge(1.58).outcome, Outcome::Holds);
    assert_eq!(judge(1.59).outcome, Outcome::Fails);
    assert!((judge(2.0).statistic.unwrap().value - 4.0).abs() < 1e-15);
}

#[test]
fn levels_are_above_or_below_by_the_interval() {
    let judge = |wanted| {
        let table = measured(&[("a", &[0.9, 1.0, 1.1])]);
        Claim::new("", level("y", at("a"), wanted))
            .judge(&table)
            .outcome
    };
    // Mean 1, standard error 0.1/√3 ≈ 0.058, of which t₂ = 4.303 are 0.248.
    assert_eq!(judge(Wanted::AtLeast(0.75)), Outcome::Holds);
    assert_eq!(judge(Wanted::AtLeast(0.76)), Outcome::Undecided);
    assert_eq!(judge(Wanted::AtLeast(1.25)), Outcome::Fails);
    assert_eq!(judge(Wanted::AtMost(1.25)), Outcome::Holds);
    assert_eq!(judge(Wanted::AtMost(0.75)), Outcome::Fails);
}

/// Two rows a run: their means 0.5 and 0.7 are two numbers, not four.
#[test]
fn rows_of_a_run_are_one_number() {
    let design = Design::product(&[("x", &["a", "b"])], 2, &["y"]);
    let mut table = Table::new(&design);
    let y = |c: &Cell| 0.4 + 0.2 * f64::from(u8::from(c.level("x") == "b")) + 0.2 * c.run as f64;
    let measure = |c: &Cell| Ok::<_, ()>(vec![y(c)]);
    design
        .fill(&mut table, 1, measure, |_| {}, |_| Ok(()))
        .unwrap();
    let test = level("y", Select::default(), Wanted::Positive);
    let verdict = Claim::new("", test).judge(&table);
    let statistic = verdict.statistic.unwrap();
    assert!((statistic.value - 0.6).abs() < 1e-12);
    assert!((statistic.standard_error.unwrap() - 0.1).abs() < 1e-12);
    assert_eq!((statistic.runs, verdict.outcome), (2, Outcome::Undecided));
}

/// One run has a mean and no error, whatever is claimed of it.
#[test]
fn one_run_decides_nothing() {
    let table = measured(&[("a", &[5.0]), ("b", &[0.0])]);
    let near = Wanted::Near {
        value: 5.0,
        tolerance: 1.0,
    };
    for wanted in [
        Wanted::Positive,
        Wanted::AtLeast(1.0),
        Wanted::AtMost(9.0),
        near,
    ] {
        let range = Test::Range {
            measure: "y",
            along: vec![at("a"), at("b")],
            wanted,
        };
        for test in [level("y", at("a"), wanted), range] {
            let verdict = Claim::new("", test).judge(&table);
            assert_eq!(verdict.outcome, Outcome::Undecided, "{}", verdict.rule);
            assert!(verdict.rule.contains("two runs"), "{}", verdict.rule);
        }
    }
}

#[test]
fn ranges_are_between_the_extreme_means() {
    let judge = |wanted| {
        let table = measured(&[("a", &[0.1, 0.3]), ("b", &[0.5, 0.5]), ("c", &[0.8, 1.0])]);
        let along = vec![at("a"), at("b"), at("c")];
        let measure = "y";
        let test = Test::Range {
            measure,
            along,
            wanted,
        };
        Claim::new("", test).judge(&table)
    };
    // 0.9 − 0.2; both have an error of 0.1, together 0.141 with 2 degrees of freedom: t₂ of them are 0.608.
    let found = judge(Wanted::AtLeast(0.09));
    let statistic = found.statistic.unwrap();
    assert!((statistic.value - 0.7).abs() < 1e-12);
    assert!((statistic.standard_error.unwrap() - 0.02_f64.sqrt()).abs() < 1e-12);
    assert_eq!(found.outcome, Outcome::Holds);
    assert_eq!(judge(Wanted::AtLeast(0.1)).outcome, Outcome::Undecided);
    assert_eq!(judge(Wanted::AtMost(0.09)).outcome, Outcome::Fails);
}

#[test]
fn what_is_certain_holds_in_every_row() {
    let judge = |wanted| {
        let table = measured(&[("a", &[0.2]), ("b", &[0.5])]);
        let test = Test::Certain {
            measure: "y",
            at: Select::default(),
            wanted,
        };
        Claim::new("", test).judge(&table)
    };
    let found = judge(Wanted::AtMost(0.3));
    assert_eq!(
        (found.statistic.unwrap().value, found.outcome),
        (0.5, Outcome::Fails)
    );
    assert_eq!(judge(Wanted::AtMost(0.5)).outcome, Outcome::Holds);
    assert_eq!(judge(Wanted::AtLeast(0.2)).outcome, Outcome::Holds);
    let near = |tolerance| Wanted::Near {
        value: 0.3,
        tolerance,
    };
    assert_eq!(judge(near(0.2)).outcome, Outcome::Holds);
    assert_eq!(judge(near(0.15)).outcome, Outcome::Fails);
}

/// Two measures over five conditions; ranks 1 2 3 4 5 against 1 2 3 5 4 have ρ = 0.9. The runs of a condition are
/// averaged first.
#[test]
fn measures_go_together_by_rank() {
    let levels = ["a", "b", "c", "d", "e"];
    let design = Design::product(&[("x", &levels)], 2, &["u", "v"]);
    let mut table = Table::new(&design);
    let v = [0.1, 0.2, 0.3, 0.5, 0.4];
    let measure = |c: &Cell| {
        let i = levels.iter().position(|l| *l == c.level("x")).unwrap();
        let noise = if c.run == 0 { 10.0 } else { -10.0 };
        Ok::<_, ()>(vec![(i as f64).exp(), v[i] + noise])
    };
    design
        .fill(&mut table, 2, measure, |_| {}, |_| Ok(()))
        .unwrap();
    let judge = |least| {
        let test = Test::Together {
            x: "u",
            y: "v",
            along: levels.map(at).into(),
            least,
        };
        Claim::new("", test).judge(&table)
    };
    let found = judge(0.0);
    assert!((found.statistic.unwrap().value - 0.9).abs() < 1e-12);
    assert_eq!(found.outcome, Outcome::Holds);
    assert_eq!(judge(0.9).outcome, Outcome::Holds);
    // atanh 0.95 − atanh 0.9 = 0.36, 1.96 errors are 1.96 √(1.405/2) = 1.64.
    assert_eq!(judge(0.95).outcome, Outcome::Undecided);
    assert_eq!(judge(0.999).outcome, Outcome::Fails);
}

#[test]
fn rows_without_a_number_are_left_out() {
    let table = measured(&[("a", &[1.0, f64::NAN, 3.0])]);
    let mean = table.mean(&at("a"), "y").unwrap();
    assert_eq!((mean.value, mean.runs), (2.0, 2));
}

#[test]
fn what_cells_share_is_made_once() {
    let (memo, made) = (Memo::default(), AtomicUsize::new(0));
    let get = |key: u32| {
        let make = || {
            made.fetch_add(1, Relaxed);
            Ok::<_, ()>(10 * key)
        };
        *memo.get(key, make).unwrap()
    };
    assert_eq!((get(1), get(2), get(1)), (10, 20, 10));
    assert_eq!(made.into_inner(), 2);
}
