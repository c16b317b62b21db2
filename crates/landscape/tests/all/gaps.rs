//! Counts of what is not learnt, against numbers that can be checked by eye.

use polariscope_landscape::gaps::{Gaps, signs};
use polariscope_train::{Labels, Samples};

#[test]
fn one_output() {
    // y f = 0.5 (met exactly), 0.4 (inside the margin), −0.1 (wrong), and no number.
    let f = [0.5, -0.4, -0.1, f64::NAN];
    let y = [1.0, -1.0, 1.0, 1.0];
    let found = Gaps::of(0.5, 1, &f, &y);
    let wanted = Gaps {
        unsatisfied: 3,
        misclassified: 2,
        patterns: 4,
    };
    assert_eq!(found, wanted);
}

#[test]
fn several_outputs_are_several_constraints() {
    let samples = Samples {
        x: &[],
        y: Labels::Classes(&[2, 0]),
    };
    let y: Vec<f64> = signs(&samples, 3);
    assert_eq!(y, [-1.0, -1.0, 1.0, 1.0, -1.0, -1.0]);
    // The first is right with every margin met; of the second output 1 is the largest, and on the wrong side with output 0.
    let f = [-1.0, -2.0, 1.5, -0.2, 0.3, -1.0];
    let wanted = Gaps {
        unsatisfied: 2,
        misclassified: 1,
        patterns: 2,
    };
    assert_eq!(Gaps::of(1.0, 3, &f, &y), wanted);
}
