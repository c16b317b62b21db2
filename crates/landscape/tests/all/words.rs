//! Sentences of the `landscape` lens, on answers that are made up: each appears where its statistic supports it and nowhere
//! else.

use polariscope_landscape::effective::Parameters;
use polariscope_landscape::gaps::Gaps;
use polariscope_landscape::hessian::Counts;
use polariscope_landscape::lens::{
    Curvature, Dynamics, FrozenEnd, FrozenPair, Network, Parts, Question, Sampled, Statistics,
    Summary, findings,
};
use polariscope_landscape::spread::Curve;
use polariscope_stats::Estimate;

fn network(index: u64) -> Network {
    Network {
        index,
        steps: 1000 + 100 * index,
        fitted: true,
        gaps: Gaps {
            unsatisfied: 0,
            misclassified: 0,
            patterns: 20,
        },
        dead_units: Vec::new(),
        dead_patterns: 0,
        test_error: 0.2,
        moved: 1.0,
        layers: Vec::new(),
        kernel: None,
        frozen: None,
        curvature: None,
        effective: None,
        history: Vec::new(),
    }
}

/// Two networks of 41 parameters that fit 20 samples; no other numbers.
fn plain() -> Summary {
    Summary {
        network: "mlp".into(),
        data: "made up".into(),
        words: Vec::new(),
        missing: Vec::new(),
        train_samples: 20,
        test_samples: 100,
        outputs: 1,
        training: Dynamics::Flow,
        parameters: Parameters {
            all: 41,
            weights: 32,
            scalable: 0,
        },
        fitted: 2,
        statistics: Statistics::default(),
        curve: Curve {
            points: Vec::new(),
            fit: None,
        },
        networks: vec![network(0), network(1)],
    }
}

fn of(low: f64, high: f64) -> Option<Sampled> {
    let estimate = Estimate {
        value: (low + high) / 2.0,
        standard_error: (high - low) / 4.0,
        samples: 6,
    };
    Some(Sampled {
        estimate,
        low,
        high,
    })
}

/// Half of the test samples are of each class.
fn said(summary: &Summary) -> Vec<String> {
    let classes: Vec<u32> = (0..100).map(|i| i % 2).collect();
    findings(summary, &Question::default(), [&classes[..20], &classes])
}

/// The answer with a change has exactly one sentence that begins so, and one without it none.
fn appears(beginning: &str, change: impl Fn(&mut Summary)) -> String {
    let with = |summary: &Summary| -> Vec<String> {
        let said = said(summary).into_iter();
        said.filter(|words| words.starts_with(beginning)).collect()
    };
    assert!(with(&plain()).is_empty(), "{beginning} without a reason");
    let mut changed = plain();
    change(&mut changed);
    let found = with(&changed);
    assert_eq!(found.len(), 1, "{beginning}: {:?}", said(&changed));
    found[0].clone()
}

#[test]
fn the_first_line_says_which_dynamics_and_why() {
    let flow = &said(&plain())[0];
    assert_eq!(
        flow,
        "2 networks learn 20 samples by gradient flow until every y F is at least 1, since the gradient is continuous: no \
         layer has a kink, none has batch norm."
    );
    let mut summary = plain();
    summary.training = Dynamics::Adam {
        reason: "act1 (relu) has a kink".into(),
    };
    let adam = &said(&summary)[0];
    assert!(
        adam.contains("by full-batch Adam (rate 0.001) until"),
        "{adam}"
    );
    assert!(
        adam.ends_with("of no use: act1 (relu) has a kink."),
        "{adam}"
    );
}

/// With no statistics there are two sentences: how, and whether all margins are met.
#[test]
fn without_numbers_nothing_is_said() {
    let words = said(&plain());
    assert_eq!(words.len(), 2, "{words:?}");
    assert_eq!(
        words[1],
        "All of them fit: 41 parameters meet all 20 margins (N_Δ = 0), after 1,000 to 1,100 steps."
    );
}

#[test]
fn training_that_stopped_short_is_said() {
    let short = |n: &mut Network| {
        n.fitted = false;
        n.gaps.unsatisfied = 7;
        n.gaps.misclassified = 2;
    };
    let none = appears("None of them fits", |s| {
        s.fitted = 0;
        s.networks.iter_mut().for_each(short);
    });
    assert!(
        none.contains("stopped after 1,000 to 1,100 steps, with N_Δ = 7 of 20 margins not met and 2 of 20 samples"),
        "{none}"
    );
    let one = appears("1 of them fit", |s| {
        s.fitted = 1;
        short(&mut s.networks[1]);
    });
    assert!(one.contains("after 1,000 steps, and 1 do not"), "{one}");
}

#[test]
fn dead_samples_are_said() {
    let words = appears("In 1 of 2 networks 3 training samples do not reach", |s| {
        s.networks[1].dead_patterns = 3;
    });
    assert!(words.contains("every unit of some layer is off"));
}

/// The Hessian of every network: its ends, how far they are known, and the number of negative eigenvalues where all are.
fn hessian(s: &mut Summary, smallest: (f64, f64), residual: f64, negative: Option<usize>) {
    s.statistics.largest = of(2.0, 3.0);
    s.statistics.smallest = of(smallest.0, smallest.1);
    for n in &mut s.networks {
        let counts = negative.map(|negative| Counts {
            negative,
            zero: 1,
            positive: 40 - negative,
            tolerance: 1e-12,
        });
        n.curvature = Some(Curvature {
            samples: 20,
            largest: 2.5,
            smallest: (smallest.0 + smallest.1) / 2.0,
            residual,
            parts: counts.map(|c| Parts {
                hessian: c,
                gauss_newton: c,
                curvature: c,
            }),
        });
    }
}

#[test]
fn the_hessian_is_told_by_its_ends() {
    let down = "Where training ends the loss still curves down in some directions";
    let words = appears(down, |s| hessian(s, (-0.4, -0.2), 1e-3, None));
    assert!(
        words.contains("is -0.30 ± 0.05 (interval -0.4 to -0.2), the largest 2.5 ± 0.2"),
        "{words}"
    );
    assert!(!words.contains("at most") && !words.contains("negative"));
    // Products see a value near the resolution: the end may lie further out.
    let words = appears(down, |s| hessian(s, (-0.4, -0.2), 0.1, None));
    assert!(words.contains("-0.30 ± 0.05 at most"), "{words}");
    let words = appears(down, |s| {
        hessian(s, (-0.4, -0.2), 1e-12, Some(4));
        s.statistics.negative = of(0.08, 0.12);
    });
    assert!(
        words.ends_with(", and 10.0 ± 1.0\u{a0}% of all are negative."),
        "{words}"
    );

    let words = appears(
        "Where training ends the loss curves down in no direction",
        |s| {
            hessian(s, (0.0, 0.0), 1e-12, Some(0));
        },
    );
    assert!(words.contains("the largest is 2.5 ± 0.2"), "{words}");

    // The interval holds 0, and not all eigenvalues are known.
    let words = appears(
        "Whether the loss curves down in any direction where training ends is not told",
        |s| {
            hessian(s, (-0.1, 0.3), 1e-3, None);
        },
    );
    assert!(words.contains("interval -0.1 to 0.3"), "{words}");
}

/// A value below 0 that is rounding is no direction that goes down; samples that are left out are said.
#[test]
fn the_hessian_is_that_of_its_samples_and_above_rounding() {
    let open = "Whether the loss curves down in any direction where training ends is not told";
    appears(open, |s| hessian(s, (-2e-17, -1e-17), 1e-18, None));
    let words = appears(
        "Where training ends the loss of the first 12 training samples still curves down",
        |s| {
            hessian(s, (-0.4, -0.2), 1e-3, None);
            let curvatures = s.networks.iter_mut().flat_map(|n| &mut n.curvature);
            curvatures.for_each(|c| c.samples = 12);
        },
    );
    assert!(words.contains("interval -0.4 to -0.2"), "{words}");
}

/// The kernel of a model that is linear in its weights does not move at all.
#[test]
fn a_kernel_that_does_not_move_is_lazy() {
    let words = appears("Training is lazy", |s| {
        s.statistics.kernel = Sampled::geometric(&[0.0, 0.0]);
    });
    assert!(
        words.contains("moves by 0 of its norm (interval 0 to 0)"),
        "{words}"
    );
}

#[test]
fn the_regime_is_told_by_the_interval_of_the_kernel() {
    let moved = |low, high| move |s: &mut Summary| s.statistics.kernel = of(low, high);
    for (beginning, low, high) in [
        ("Training is lazy", 0.02, 0.09),
        ("Features are learnt", 1.1, 3.0),
        ("Training is in between", 0.2, 0.9),
        (
            "Whether training is lazy or learns features is not told",
            0.08,
            0.2,
        ),
        (
            "Whether training is lazy or learns features is not told",
            0.8,
            1.2,
        ),
        (
            "Whether training is lazy or learns features is not told",
            0.05,
            2.0,
        ),
    ] {
        let words = appears(beginning, moved(low, high));
        assert!(
            words.contains(&format!("(interval {low} to {high})")),
            "{words}"
        );
    }
}

#[test]
fn alignment_is_told_where_its_change_is() {
    let turn = |low, high| {
        move |s: &mut Summary| {
            s.statistics.alignment_before = of(0.1, 0.2);
            s.statistics.alignment_after = of(0.3, 0.5);
            s.statistics.alignment_gain = of(low, high);
        }
    };
    let words = appears("The kernel turns towards the labels", turn(0.1, 0.3));
    assert!(words.contains("from 0.15 ± 0.03 to 0.40 ± 0.05"), "{words}");
    appears("The kernel turns away from the labels", turn(-0.3, -0.1));
    let mut summary = plain();
    turn(-0.1, 0.1)(&mut summary);
    assert_eq!(said(&summary).len(), 2);
}

/// Of networks and of their frozen kernels, with the intervals of both differences.
fn frozen(lazy: (f64, f64), kernel: (f64, f64), fitted: bool) -> impl Fn(&mut Summary) {
    move |s| {
        s.statistics.error = of(0.28, 0.42);
        s.statistics.error_beside = of(0.18, 0.22);
        s.statistics.frozen_start = of(0.28, 0.32);
        s.statistics.frozen_end = of(0.19, 0.21);
        s.statistics.lazy_gain = of(lazy.0, lazy.1);
        s.statistics.frozen_gain = of(kernel.0, kernel.1);
        let end = |fitted| FrozenEnd {
            test_error: 0.2,
            wrong: Vec::new(),
            fitted,
        };
        for n in &mut s.networks {
            n.frozen = Some(FrozenPair {
                start: end(true),
                end: end(fitted),
            });
        }
    }
}

#[test]
fn regimes_and_kernels_are_told_by_their_differences() {
    let (up, down, open) = ((0.05, 0.15), (-0.15, -0.05), (-0.03, 0.05));
    let words = appears(
        "A network generalises better than lazy training would",
        frozen(up, open, true),
    );
    assert!(
        words.contains(
            "20.0 ± 1.0\u{a0}%, that of the kernel of the start, frozen, 30.0 ± 1.0\u{a0}%"
        ),
        "{words}"
    );
    appears(
        "A network generalises worse than lazy training would",
        frozen(down, open, true),
    );
    let words = appears(
        "Whether a network generalises better than lazy training would is not told",
        frozen(open, up, true),
    );
    assert!(
        words.ends_with("may be 0 (interval -3 to 5\u{a0}%)."),
        "{words}"
    );

    let words = appears("Training makes a better kernel", frozen(open, up, true));
    assert!(!words.contains("stopped"), "{words}");
    let words = appears("Training makes a better kernel", frozen(open, up, false));
    assert!(
        words.ends_with("2 trainings with a frozen kernel stopped before every margin was met."),
        "{words}"
    );
    appears("Training makes a worse kernel", frozen(open, down, true));
    appears(
        "Whether training makes a better kernel is not told",
        frozen(up, open, true),
    );
}

#[test]
fn noise_is_told_by_its_share() {
    let noise = |share: (f64, f64)| {
        move |s: &mut Summary| {
            s.statistics.error = of(0.18, 0.22);
            s.statistics.limit = of(0.10, 0.14);
            s.statistics.noise = of(0.2 * share.0, 0.2 * share.1);
            s.statistics.noise_share = of(share.0, share.1);
        }
    };
    let words = appears(
        "The noise of the initial weights is a large part",
        noise((0.3, 0.5)),
    );
    assert!(words.contains("30\u{a0}% of it or more"), "{words}");
    let words = appears(
        "The noise of the initial weights is a part of",
        noise((0.05, 0.4)),
    );
    assert!(words.contains("5 to 40\u{a0}% of it"), "{words}");
    appears(
        "Whether the noise of the initial weights adds",
        noise((-0.1, 0.4)),
    );
}

/// 100 samples, half of each class: two standard errors of guessing are 10 %.
#[test]
fn chance_is_said_where_guessing_does_as_well() {
    let error =
        |value: f64| move |s: &mut Summary| s.statistics.error = of(value - 0.01, value + 0.01);
    appears("On the test samples no learning can be seen", error(0.42));
    let mut summary = plain();
    error(0.38)(&mut summary);
    assert_eq!(said(&summary).len(), 2);
}
