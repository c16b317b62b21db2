//! Resumption, the table on disk, and the rules of the verdicts against numbers worked out by hand.

use polariscope_experiment::{
    Claim, Design, Outcome, Scale, Select, Table, TableError, Test, Wanted, exponent,
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
fn an_interrupted_experiment_measures_only_what_is_missing() {
    let design = design();
    let mut table = Table::new(&design);
    let mut calls = 0;
    let stopped = design.fill(
        &mut table,
        |cell| {
            calls += 1;
            if calls > 3 {
                return Err("killed");
            }
            Ok(numbers(&cell.levels, cell.run))
        },
        |_| Ok(()),
    );
    assert_eq!((stopped, table.rows.len()), (Err("killed"), 3));

    let mut again = Table::new(&design);
    again.read_csv(&table.to_csv()).unwrap();
    assert_eq!(again, table);
    let mut calls = 0;
    let filled = design.fill(
        &mut again,
        |cell| {
            calls += 1;
            Ok::<_, ()>(numbers(&cell.levels, cell.run))
        },
        |_| Ok(()),
    );
    assert_eq!((filled, calls, again.rows.len()), (Ok(()), 5, 8));
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
        |c| Ok::<_, ()>(vec![find(c.level("x"))[c.run as usize]]),
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
    // Differences 0.1, 0.2, 0.3: mean 0.2, standard error 0.1/√3.
    let table = measured(&[("a", &[1.1, 2.2, 3.3]), ("b", &[1.0, 2.0, 3.0])]);
    let verdict = claim("a", "b").judge(&table);
    let statistic = verdict.statistic.unwrap();
    assert!((statistic.value - 0.2).abs() < 1e-12);
    assert!((statistic.standard_error.unwrap() - 0.1 / 3f64.sqrt()).abs() < 1e-12);
    assert_eq!(verdict.outcome, Outcome::Holds);
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
    // 0.1 away with ±0.2: surely within 0.31, not surely within 0.2, surely beyond 0.5 of −1.
    assert_eq!(near(-2.0, 0.31).outcome, Outcome::Holds);
    assert_eq!(near(-2.0, 0.2).outcome, Outcome::Undecided);
    assert_eq!(near(-1.0, 0.5).outcome, Outcome::Fails);
    assert_eq!(judge(Wanted::Positive).outcome, Outcome::Fails);
}

/// Σ w y by hand: 3 − ½·1 − ½·2 = 1.5 and 4 − ½·1 − ½·2 = 2.5; mean 2, standard error ½.
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
    let verdict = Claim::new("", test).judge(&table);
    let statistic = verdict.statistic.unwrap();
    assert_eq!(
        (statistic.value, statistic.standard_error),
        (2.0, Some(0.5))
    );
    assert_eq!(verdict.outcome, Outcome::Holds);
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
