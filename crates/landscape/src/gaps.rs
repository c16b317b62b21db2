//! How many patterns are not learnt: D = margin − y F of every pattern and output.
//!
//! With more than one output y is 1 for the class of the pattern and −1 for the others, and every one of them is a
//! constraint of its own.

use polariscope_diff::Real;
use polariscope_train::{Labels, Loss, Samples};
use serde::{Deserialize, Serialize};

/// Constraints that are not met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// N_Δ: constraints with D > 0.
    pub unsatisfied: usize,
    /// Patterns on the wrong side: y F < 0, or another output that is larger.
    pub misclassified: usize,
    /// Patterns in all.
    pub patterns: usize,
}

impl Gaps {
    /// Of the predictor F and the signs y, both N × outputs. What is no number is not learnt.
    pub fn of<T: Real>(margin: f64, outputs: usize, predictor: &[T], signs: &[T]) -> Self {
        let mut gaps = Gaps::default();
        let rows = predictor.chunks(outputs).zip(signs.chunks(outputs));
        rows.for_each(|(f, y)| gaps.add(margin, f, y));
        gaps
    }

    /// Adds a pattern.
    fn add<T: Real>(&mut self, margin: f64, f: &[T], y: &[T]) {
        let products = f.iter().zip(y).map(|(&f, &y)| (y * f).to_f64());
        let met = products.clone().filter(|yf| margin - yf <= 0.0).count();
        let right = match y.iter().position(|y| *y > T::ZERO) {
            Some(class) if f.len() > 1 => f.iter().all(|other| *other <= f[class]),
            _ => products.clone().all(|yf| yf >= 0.0),
        };
        self.unsatisfied += f.len() - met;
        self.misclassified += usize::from(!right);
        self.patterns += 1;
    }
}

/// y of every pattern and output: ±1 for classes, targets as they are.
pub fn signs<T: Real>(samples: &Samples, outputs: usize) -> Vec<T> {
    // Whatever the loss makes of a class, the margin is about its sign: that of a hinge.
    let hinge = Loss::Hinge {
        power: 2.0,
        margin: 1.0,
    };
    match samples.y {
        Labels::Targets { values, .. } => {
            values.iter().map(|&y| T::from_f64(f64::from(y))).collect()
        }
        Labels::Classes(classes) => {
            let mut signs = vec![T::ZERO; classes.len() * outputs];
            for (&class, row) in classes.iter().zip(signs.chunks_mut(outputs)) {
                hinge.targets(class, row);
            }
            signs
        }
    }
}
