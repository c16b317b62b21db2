//! A table with measures that follow from its rows.

use polariscope_experiment::{Design, Row, Table};

/// The table with more measures: those of a row are made by `of`.
pub(crate) fn scored(table: &Table, added: &[&str], of: impl Fn(&Row) -> Vec<f64>) -> Table {
    let factors: Vec<(&str, &[&str])> = table
        .factors()
        .iter()
        .map(|f| (f.as_str(), &[][..]))
        .collect();
    let measures = table.measures().iter().map(String::as_str);
    let measures: Vec<&str> = measures.chain(added.iter().copied()).collect();
    let mut scored = Table::new(&Design::product(&factors, 0, &measures));
    scored.rows.extend(table.rows.iter().map(|row| Row {
        values: [&row.values[..], &of(row)].concat(),
        ..row.clone()
    }));
    scored
}
