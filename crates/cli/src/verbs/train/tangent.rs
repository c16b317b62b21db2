//! The tangent kernel of a network while it trains (`--ntk`).

use polariscope_diff::Device;
use polariscope_kernels::empirical::{Float, Follower, Snapshot};
use polariscope_report::{Axis, Plot, Section, Series, counted, pretty};
use polariscope_train::{Config, Control, Observer, Row, State};

use crate::error::CliError;
use crate::run::RunDirectory;
use crate::watch::Watch;
use polariscope_train::Problem;

/// Name of the checkpoint.
const KERNELS: &str = "ntk";

/// What is followed, and what was seen: the start, then a row of the history each.
pub struct Tangent<T> {
    follower: Follower<T>,
    pub seen: Vec<Snapshot>,
}

impl<T: Float> Tangent<T> {
    /// Goes on where an interrupted process was at `step`.
    pub fn new(
        (problem, device): (&Problem, Device),
        config: &Config,
        points: usize,
        directory: &RunDirectory,
        step: u64,
    ) -> Result<Self, CliError> {
        let start = State::<T>::new(&problem.graph, config, 0);
        let follower = Follower::new(
            device,
            &problem.graph,
            &start.weights,
            problem.train(),
            points,
        )?;
        let kept = directory.restore(KERNELS)?.unwrap_or_default();
        let lines = String::from_utf8_lossy(&kept);
        let mut seen: Vec<Snapshot> = lines.lines().filter_map(parse).collect();
        seen.retain(|s| s.step <= step);
        if seen.is_empty() {
            seen.push(follower.look(&start.weights, 0)?);
        }
        Ok(Tangent { follower, seen })
    }

    /// `step,change,alignment,mean_diagonal`, a line each.
    pub fn csv(&self) -> String {
        let lines = self.seen.iter().map(|s| {
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

    /// What became of the kernel, in a sentence.
    pub fn answer(&self) -> String {
        let (Some(first), Some(last)) = (self.seen.first(), self.seen.last()) else {
            return String::new();
        };
        format!(
            "Its tangent kernel on {} has moved by {} of its norm; the alignment with the labels went from {} to {}.",
            counted(self.follower.samples() as u64, "training sample"),
            pretty(last.change),
            pretty(first.alignment),
            pretty(last.alignment)
        )
    }

    /// Both curves.
    pub fn section(&self, steps_an_epoch: u64) -> Section {
        let curve = |label: &str, value: fn(&Snapshot) -> f64| {
            let epoch = |s: &Snapshot| s.step as f64 / steps_an_epoch as f64;
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
                self.answer()
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

/// A run that is watched and, if wanted, followed.
pub struct Following<'a, 'b, T> {
    pub watch: &'b mut Watch<'a>,
    pub tangent: Option<&'b mut Tangent<T>>,
}

impl<T: Float> Observer<T> for Following<'_, '_, T> {
    fn on_step(&mut self, state: &State<T>, total: u64) -> Control {
        self.watch.on_step(state, total)
    }

    fn on_epoch(&mut self, row: &Row, state: &State<T>) -> Control {
        if let Some(tangent) = &mut self.tangent {
            match tangent.follower.look(&state.weights, state.step) {
                Ok(seen) => tangent.seen.push(seen),
                Err(e) => return self.watch.stop(e.into()),
            }
            let kept = self.watch.keep(KERNELS, tangent.csv().as_bytes());
            if kept == Control::Stop {
                return Control::Stop;
            }
        }
        self.watch.on_epoch(row, state)
    }
}
