//! Accuracy over the number of training samples; δ stays.

use polariscope_geometry::{Expansion, LinearProblem, PredictError, Predictor, Ridge};
use polariscope_report::{Align, Table};
use serde::{Deserialize, Serialize};

/// Samples on the curve: those asked for, times powers of two up to this one and down.
const DOUBLINGS: i32 = 6;

/// One direction's line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// What it is.
    pub label: String,
    /// (n, accuracy, its error).
    pub points: Vec<(usize, f64, f64)>,
}

/// Lines for one direction, or for three of many: at a tenth, the middle and nine tenths of vᵀGv.
pub(super) fn lines(
    predictor: &Predictor,
    problem: LinearProblem,
    ridge: &Ridge,
    directions: &Expansion,
) -> Result<Vec<Line>, PredictError> {
    let mut order: Vec<usize> = (0..directions.len()).collect();
    let weights = directions.weights();
    order.sort_by(|&a, &b| weights[a].total_cmp(&weights[b]));
    let last = order.len().saturating_sub(1);
    let chosen: Vec<(String, usize)> = match last {
        0 => order.iter().map(|&i| (String::new(), i)).collect(),
        _ => [("seen well", 9), ("median", 5), ("seen little", 1)]
            .map(|(label, tenth)| (label.to_string(), order[last * tenth / 10]))
            .into(),
    };
    let mut lines: Vec<Line> = chosen
        .iter()
        .map(|(label, i)| Line {
            label: match label.as_str() {
                "" => "this direction".into(),
                label => {
                    // What rounding leaves of 0, where 1 is no preference.
                    let weight = Some(weights[*i]).filter(|w| w.abs() > 1e-12);
                    let weight = polariscope_report::pretty(weight.unwrap_or(0.0));
                    format!("{label} (vᵀGv = {weight})")
                }
            },
            points: Vec::new(),
        })
        .collect();
    for power in -DOUBLINGS..=DOUBLINGS {
        let train = (problem.train as f64 * f64::from(power).exp2()).round() as usize;
        if train == 0 {
            continue;
        }
        let at = LinearProblem { train, ..problem };
        let (values, errors) = predictor.accuracies_with_errors(at, ridge, directions)?;
        for (line, (_, i)) in lines.iter_mut().zip(&chosen) {
            line.points.push((train, values[*i], errors[*i]));
        }
    }
    Ok(lines)
}

/// One row a point.
pub(super) fn table(lines: &[Line]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("direction", Left),
        ("train", Right),
        ("accuracy", Right),
        ("error", Right),
    ]);
    for line in lines {
        for &(train, accuracy, error) in &line.points {
            table.push([
                line.label.as_str().into(),
                train.into(),
                accuracy.into(),
                error.into(),
            ]);
        }
    }
    table
}
