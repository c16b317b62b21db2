//! The tangent kernel of a network while it trains.

use polariscope_empirical::{Float, Follower, Snapshot};
use polariscope_lens::Device;
use polariscope_network::Weights;
use polariscope_report::{Axis, Plot, Section, Series, counted, pretty};
use polariscope_train::Problem;
use serde::{Deserialize, Serialize};

use crate::LearningError;

/// What is followed, and what was seen: the start, then a row of the history each.
pub(super) struct Tangent<T> {
    follower: Follower<T>,
    seen: Vec<Look>,
}

/// The kernel at one row of the history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Flow time; steps have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// What was seen.
    #[serde(flatten)]
    pub kernel: Snapshot,
}

impl<T: Float> Tangent<T> {
    /// Name of what is kept on the way.
    pub const KEPT: &str = "ntk";

    /// Follows the first `points` training samples from the weights at the start, at flow time `time` if it is a flow;
    /// goes on where an interrupted process was at `step` with what it had kept.
    pub fn new(
        (problem, device): (&Problem, Device),
        (start, time): (&Weights<T>, Option<f64>),
        points: usize,
        (kept, step): (Vec<u8>, u64),
    ) -> Result<Self, LearningError> {
        let follower = Follower::new(device, &problem.graph, start, problem.train(), points)?;
        let lines = String::from_utf8_lossy(&kept);
        let parse = |line| parse(line, time.is_some());
        let mut tangent = Tangent {
            follower,
            seen: lines.lines().filter_map(parse).collect(),
        };
        tangent.seen.retain(|s| s.kernel.step <= step);
        if tangent.seen.is_empty() {
            tangent.look(start, 0, time)?;
        }
        Ok(tangent)
    }

    /// One look more.
    pub fn look(
        &mut self,
        weights: &Weights<T>,
        step: u64,
        time: Option<f64>,
    ) -> Result<(), LearningError> {
        let kernel = self.follower.look(weights, step)?;
        self.seen.push(Look { time, kernel });
        Ok(())
    }

    /// What was seen so far.
    pub fn csv(&self) -> String {
        csv(&self.seen)
    }

    /// At the end; a flow has no epochs.
    pub fn followed(self, steps_an_epoch: Option<u64>) -> Followed {
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
    /// Updates per epoch; a flow has none.
    pub steps_an_epoch: Option<u64>,
    /// The start, then a row of the history each.
    pub seen: Vec<Look>,
}

impl Followed {
    /// `step,change,alignment,mean_diagonal`, a line each; of a flow with the time behind the step.
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
            pretty(last.kernel.change),
            pretty(first.kernel.alignment),
            pretty(last.kernel.alignment)
        )
    }

    /// Both curves, over what the history is drawn over.
    pub(super) fn section(&self, axis: &Axis) -> Section {
        let at = |s: &Look| match s.time {
            Some(time) => time,
            None => s.kernel.step as f64 / self.steps_an_epoch.unwrap_or(1) as f64,
        };
        let curve = |label: &str, value: fn(&Snapshot) -> f64| {
            let points = self.seen.iter().map(|s| (at(s), value(&s.kernel)));
            Series::line(label, points.collect())
        };
        let plot = |title: &str, label: &str, series| Plot {
            title: title.into(),
            x: axis.clone(),
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

fn csv(seen: &[Look]) -> String {
    let lines = seen.iter().map(|s| {
        let Snapshot {
            step,
            change,
            alignment,
            mean_diagonal,
        } = s.kernel;
        let time = s.time.map_or(String::new(), |t| format!("{t},"));
        format!("{step},{time}{change:e},{alignment:e},{mean_diagonal:e}\n")
    });
    let time = match seen.iter().any(|s| s.time.is_some()) {
        true => "time,",
        false => "",
    };
    let head = format!("step,{time}change,alignment,mean_diagonal\n");
    head + &lines.collect::<String>()
}

/// A line of the table; nothing of its head.
fn parse(line: &str, flow: bool) -> Option<Look> {
    let mut words = line.split(',');
    let step = words.next()?.parse().ok()?;
    let mut number = || words.next()?.parse().ok();
    Some(Look {
        time: match flow {
            true => Some(number()?),
            false => None,
        },
        kernel: Snapshot {
            step,
            change: number()?,
            alignment: number()?,
            mean_diagonal: number()?,
        },
    })
}
