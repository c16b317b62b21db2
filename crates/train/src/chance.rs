//! Whether a trained network does better than guessing.
//!
//! Who knows nothing but the training labels says the commonest of them every time and is right with probability p, its
//! share of the test labels. An accuracy of n samples that lies above p by no more than two standard errors √(p(1 − p)/n)
//! shows nothing that was learnt.

use serde::{Deserialize, Serialize};

/// Standard errors that separate an accuracy from chance.
const SURE: f64 = 2.0;

/// An accuracy that guessing explains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtChance {
    /// Share of the test samples that are right.
    pub accuracy: f64,
    /// The same for one who always says the commonest class.
    pub chance: f64,
    /// Standard error of that one's accuracy.
    pub standard_error: f64,
    /// Test samples.
    pub samples: u64,
}

impl AtChance {
    /// The finding, if it is one. Counts are of the labels of each class; classes that only one part has may be missing
    /// at the end of the other. Nothing is found where no accuracy could tell: too few samples, or one class.
    ///
    /// ```
    /// use polariscope_train::AtChance;
    /// // p = 0.2 of 100: two standard errors are 0.08.
    /// let of = |accuracy| AtChance::of(accuracy, &[50, 20], &[20, 80]);
    /// assert!(of(0.28).is_some() && of(0.29).is_none());
    /// ```
    pub fn of(accuracy: f64, training: &[u64], test: &[u64]) -> Option<Self> {
        let samples: u64 = test.iter().sum();
        let most = *training.iter().max()?;
        // Of classes that are equally common the one that happens to be right most.
        let commonest = training.iter().enumerate().filter(|(_, n)| **n == most);
        let right = commonest.map(|(class, _)| test.get(class).copied().unwrap_or(0));
        let chance = right.max()? as f64 / samples as f64;
        let standard_error = (chance * (1.0 - chance) / samples as f64).sqrt();
        let bound = chance + SURE * standard_error;
        (accuracy <= bound && bound < 1.0).then_some(Self {
            accuracy,
            chance,
            standard_error,
            samples,
        })
    }

    /// In a sentence.
    pub fn words(&self) -> String {
        let percent = |share: f64| format!("{:.1}\u{a0}%", 100.0 * share);
        format!(
            "On the test samples no learning can be seen: {} are right, and guessing the commonest class gives {}.",
            percent(self.accuracy),
            percent(self.chance)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 classes, 1030 of 10000 test labels in the class that training has most of: √(0.103·0.897/10000) = 0.00304.
    #[test]
    fn chance_is_said_up_to_two_standard_errors() {
        let training = [500, 600, 400, 500, 500, 500, 500, 500, 500, 500];
        let test = [970, 1030, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000];
        let of = |accuracy| AtChance::of(accuracy, &training, &test);
        let found = of(0.1047).unwrap();
        assert_eq!((found.chance, found.samples), (0.103, 10_000));
        assert!((found.standard_error - 0.003_039_6).abs() < 1e-7);
        assert_eq!(
            found.words(),
            "On the test samples no learning can be seen: 10.5\u{a0}% are right, and guessing the commonest class gives \
             10.3\u{a0}%."
        );
        // 0.103 + 2·0.00304 = 0.10908.
        assert!(of(0.1090).is_some() && of(0.02).is_some());
        assert!(of(0.1092).is_none() && of(0.98).is_none());
    }

    /// The class that training has most of, not the one that the test has most of; of two alike the better one.
    #[test]
    fn the_guess_is_made_from_the_training_labels() {
        let chance = |training: &[u64]| AtChance::of(0.0, training, &[10, 60, 30]).unwrap().chance;
        assert_eq!(chance(&[5, 1, 4]), 0.1);
        assert_eq!(chance(&[5, 1, 5]), 0.3);
        // A class that no test sample has.
        assert_eq!(chance(&[1, 1, 1, 7]), 0.0);
    }

    /// Where even a perfect network would be within the error of guessing nothing is said.
    #[test]
    fn nothing_is_said_where_nothing_could_be_told() {
        assert_eq!(AtChance::of(1.0, &[9, 0], &[5, 0]), None);
        // p = 3/4 of 4: 0.75 + 2·0.217 > 1.
        assert_eq!(AtChance::of(0.25, &[3, 1], &[3, 1]), None);
        assert_eq!(AtChance::of(0.0, &[], &[]), None);
        assert_eq!(AtChance::of(0.0, &[1], &[]), None);
        assert_eq!(AtChance::of(f64::NAN, &[50, 50], &[50, 50]), None);
    }
}
