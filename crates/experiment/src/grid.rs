//! Short forms of designs and tests.

use crate::{Design, Select, Test};

/// Every combination of levels.
pub fn grid(factors: &[(&str, &[String])], runs: u64, measures: &[&str]) -> Design {
    let levels: Vec<Vec<&str>> = factors
        .iter()
        .map(|(_, levels)| levels.iter().map(String::as_str).collect())
        .collect();
    let pairs: Vec<(&str, &[&str])> = factors
        .iter()
        .zip(&levels)
        .map(|((name, _), levels)| (*name, levels.as_slice()))
        .collect();
    Design::product(&pairs, runs, measures)
}

/// Levels as text.
pub fn text<T: ToString>(levels: impl IntoIterator<Item = T>) -> Vec<String> {
    levels.into_iter().map(|l| l.to_string()).collect()
}

/// Conditions along a factor, others fixed.
pub fn along(factor: &str, levels: &[String], fixed: &[(&str, &str)]) -> Vec<Select> {
    let at = |level: &String| Select::of(&[fixed, &[(factor, level.as_str())]].concat());
    levels.iter().map(at).collect()
}

/// A measure falls along conditions.
pub fn falls(measure: &'static str, along: Vec<Select>) -> Test {
    Test::Trend {
        measure,
        along,
        sign: -1.0,
    }
}

/// A measure rises along conditions.
pub fn rises(measure: &'static str, along: Vec<Select>) -> Test {
    Test::Trend {
        measure,
        along,
        sign: 1.0,
    }
}
