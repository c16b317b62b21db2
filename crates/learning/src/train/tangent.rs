//! The tangent kernel of a network while it trains.

use polariscope_empirical::{Float, Follower, Snapshot};
use polariscope_lens::Device;
use polariscope_report::{Axis, Plot, Section, Series, counted, pretty};
use polariscope_train::{Config, Problem, State};
use serde::{Deserialize, Serialize};

use crate::LearningError;

/// What is followed, and what was seen: the start, then a row of the history each.
pub(super) struct Tangent<T> {
    follower: Follower<T>,
    seen: Vec<Snapshot>,
}

impl<T: Float> Tangent<T> {
    /// Name of what is kept on the way.
    pub const KEPT: &str = "ntk";

    /// Goes on where an interrupted process was at `step` with what it had kept.
    pub fn new(
        problem: &Problem,
        device: Device,
        config: &Config,
        points: usize,
        (kept, step): (Vec<u8>, u64),
    ) -> Result<Self, LearningError> {
        let start = State::<T>::new(&problem.graph, config, 0);
        let follower = Follower::new(
            device,
            &problem.graph,
            &start.weights,
            problem.train(),
            points,
        )?;
        let lines = String::from_utf8_lossy(&kept);
        let mut seen: Vec<Snapshot> = lines.lines().filter_map(parse).collect();
        seen.retain(|s| s.step <= step);
        if seen.is_empty() {
            seen.push(follower.look(&start.weights, 0)?);
        }
        Ok(Tangent { follower, seen })
    }

    /// One look more.
    pub fn look(&mut self, state: &State<T>) -> Result<(), LearningError> {
        let seen = self.follower.look(&state.weights, state.step)?;
        self.seen.push(seen);
        Ok(())
    }

    /// What was seen so far.
    pub fn csv(&self) -> String {
        csv(&self.seen)
    }

    /// At the end.
    pub fn followed(self, steps_an_epoch: u64) -> Followed {
        Followed {
            samples: self.follower.samples(),
            steps_an_epoch,
            seen: self.seen,
        }
    }
}

/// What became of the tangent kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    /// Training samples that it was looked at on.
    pub samples: usize,
    /// Updates per epoch.
    pub steps_an_epoch: u64,
    /// The start, then a row of the history each.
    pub seen: Vec<Snapshot>,
}

impl Followed {
    /// `step,change,alignment,mean_diagonal`, a line each.
    pub fn csv(&self) -> String {
        csv(&self.seen)
    }

    /// What became of the kernel, in a sentence.
    fn sentence(&self) -> String {
        let (Some(first), Some(last)) = (self.seen.first(), self.seen.last()) else {
            return String::new();
        };
        format!(
            "Its tangent kernel on {} has moved by {} of its norm; the alignment with the labels went from {} to {}.",
            counted(self.samples as u64, "training sample"),
            pretty(last.change),
            pretty(first.alignment),
            pretty(last.alignment)
        )
    }

    /// Both curves.
    pub(super) fn section(&self) -> Section {
        let curve = |label: &str, value: fn(&Snapshot) -> f64| {
            let epoch = |s: &Snapshot| s.step as f64 / self.steps_an_epoch as f64;
            Series::line(
                label,
                self.seen.iter().map(|s| (epoch(s), value(s))).collect(),
            )
        };
        let plot = |title: &str, label: &str, series| Plot {
            title: title.into(),
            x: Axis::linear("epoch"),
            y: Axis::linear(label),
            series: vec![series],
        };
        let change = plot(
            "How far the kernel moves",
            "‖Θ_t − Θ_0‖ / ‖Θ_0‖",
            curve("change", |s| s.change),
        );
        let alignment = plot(
            "Towards the labels",
            "⟨Θ_t, YYᵀ⟩ / ‖Θ_t‖ ‖YYᵀ‖",
            curve("alignment", |s| s.alignment),
        );
        Section::new("Tangent kernel")
            .prose(format!(
                "{} A kernel that stands still is lazy training; one that turns to the labels learns features.",
                self.sentence()
            ))
            .figure(
                "ntk-change",
                change.draw(),
                "Empirical NTK, mean over the outputs, relative to the one at initialisation. One run.",
            )
            .figure(
                "ntk-alignment",
                alignment.draw(),
                "Cosine between the kernel and the products of the labels, their means taken away. One run.",
            )
    }
}

fn csv(seen: &[Snapshot]) -> String {
    let lines = seen.iter().map(|s| {
        let Snapshot {
            step,
            change,
            alignment,
            mean_diagonal,
        } = s;
        format!("{step},{change:e},{alignment:e},{mean_diagonal:e}\n")
    });
    let head = "step,change,alignment,mean_diagonal\n".to_owned();
    head + &lines.collect::<String>()
}

/// A line of the table; nothing of its head.
fn parse(line: &str) -> Option<Snapshot> {
    let mut words = line.split(',');
    Some(Snapshot {
        step: words.next()?.parse().ok()?,
        change: words.next()?.parse().ok()?,
        alignment: words.next()?.parse().ok()?,
        mean_diagonal: words.next()?.parse().ok()?,
    })
}
