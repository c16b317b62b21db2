//! Mean, standard deviation and range of numbers in hand (not an estimate: nothing was sampled).

use serde::{Deserialize, Serialize};

/// How numbers are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, √(mean of squared deviations).
    pub std: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Of at least one number; of none, zeros.
    pub fn of(numbers: &[f64]) -> Self {
        let n = numbers.len().max(1) as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let square = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let ends = numbers.iter().fold(None, |ends, &x| match ends {
            None => Some((x, x)),
            Some((low, high)) => Some((x.min(low), x.max(high))),
        });
        let (min, max) = ends.unwrap_or((0.0, 0.0));
        Self {
            mean,
            std: square.sqrt(),
            min,
            max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_numbers() {
        let expected = Spread {
            mean: 2.0,
            std: 1.0,
            min: 1.0,
            max: 3.0,
        };
        assert_eq!(Spread::of(&[3.0, 1.0]), expected);
    }
}
