//! Classification by regression: targets 1 − 1/C for the class and −1/C for the others, prediction by the largest output.

use polariscope_stats::Estimate;

use super::InferenceError;

/// One-hot − 1/C, n × C.
///
/// ```
/// use polariscope_kernels::inference::centred_targets;
/// assert_eq!(centred_targets(&[1, 0], 2)?, [-0.5, 0.5, 0.5, -0.5]);
/// # Ok::<(), polariscope_kernels::inference::InferenceError>(())
/// ```
pub fn centred_targets(labels: &[u32], classes: usize) -> Result<Vec<f64>, InferenceError> {
    let mut targets = vec![-1.0 / classes.max(1) as f64; labels.len() * classes];
    for (row, &class) in labels.iter().enumerate() {
        if class as usize >= classes {
            return Err(InferenceError::Class {
                row,
                class,
                classes,
            });
        }
        targets[row * classes + class as usize] += 1.0;
    }
    Ok(targets)
}

/// The class with the largest output of every row of `classes` numbers; of equal ones the first.
pub fn argmax(outputs: &[f64], classes: usize) -> Vec<u32> {
    let best =
        |row: &[f64]| (1..row.len()).fold(0, |best, k| if row[k] > row[best] { k } else { best });
    outputs
        .chunks_exact(classes.max(1))
        .map(|row| best(row) as u32)
        .collect()
}

/// Fraction of right predictions with its standard error; `None` for fewer than two.
pub fn accuracy(predicted: &[u32], labels: &[u32]) -> Option<Estimate> {
    let pairs = predicted.iter().zip(labels);
    let right: Vec<f64> = pairs.map(|(a, b)| f64::from(u8::from(a == b))).collect();
    Estimate::mean(&right)
}
