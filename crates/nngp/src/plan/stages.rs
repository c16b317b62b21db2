//! Parts as stages: at which stride each part is read, which displacements are wanted, where fields lie.

use std::collections::HashMap;

use super::parts::{Mixing, Part, Parts};
use super::{Axis, End, Form, Need, Read, Stage, StagePlan, Step, StepSource, View, axes, forms};
use crate::NngpError;

/// Scratch memory that one pair of samples may take, in bytes for a single lane.
const LIMIT: usize = 1 << 26;

/// Plans the stages.
pub(super) fn plan(mut parts: Parts) -> Result<StagePlan, NngpError> {
    let mut stages = loop {
        match stages(&parts)? {
            Tried::Stages(stages) => break stages,
            Tried::Keep(part) => parts.keep(part),
        }
    };
    let mut sides = Vec::new();
    for stage in &mut stages {
        forms::settle(stage, &mut sides);
        place(stage);
    }
    let steps = || stages.iter().flat_map(|stage| &stage.steps);
    let stored = |step: &Step| match step.source {
        StepSource::Stored { stage, .. } if step.form_in == Form::Gap => Some(stage + 1),
        _ => None,
    };
    Ok(StagePlan {
        input: parts.input,
        self_stages: steps().filter_map(stored).max().unwrap_or(0),
        reads_input: steps().any(|step| matches!(step.source, StepSource::Input)),
        gram: steps().any(|step| matches!(step.source, StepSource::Gram { .. })),
        stages,
        sides,
        approximations: parts.approximations,
    })
}

/// Stages, or why there are none yet.
enum Tried {
    Stages(Vec<Stage>),
    /// What this part reads must be kept for all pairs of positions.
    Keep(usize),
}

fn stages(parts: &Parts) -> Result<Tried, NngpError> {
    let mut needs = vec![Need::Diagonal; parts.mixings.len()];
    let mut stages = Vec::new();
    for (i, mixing) in parts.mixings.iter().enumerate().rev() {
        let stage = match stage(&parts.parts, mixing, needs[i]) {
            Ok(stage) => stage,
            Err(part) => return Ok(Tried::Keep(part)),
        };
        for step in &stage.steps {
            if let (StepSource::Stored { stage, .. }, true) = (&step.source, step.off_diagonal) {
                needs[*stage] = Need::Pairs;
            }
        }
        let bytes = stage.slots().saturating_mul(16 * stage.last.len());
        if bytes > LIMIT {
            return Err(NngpError::Memory {
                layer: mixing.layer.clone(),
                mebibytes: bytes >> 20,
                limit: LIMIT >> 20,
            });
        }
        stages.push(stage);
    }
    stages.reverse();
    Ok(Tried::Stages(stages))
}

/// A stage, or the part whose reads must be kept for all pairs of positions.
fn stage(parts: &[Part], mixing: &Mixing, need: Need) -> Result<Stage, usize> {
    let mut steps = Steps {
        parts,
        known: HashMap::new(),
        made: Vec::new(),
        of: Vec::new(),
    };
    let last: Vec<usize> = mixing.from.iter().map(|&p| steps.step(p, [1, 1])).collect();
    let Steps { mut made, of, .. } = steps;
    let reach = reach(mixing, need);
    if reach != [1, 1] {
        last.iter().for_each(|&i| made[i].off_diagonal = true);
        for i in (0..made.len()).rev() {
            if made[i].off_diagonal {
                for from in axes::passed(&made[i]) {
                    made[from].off_diagonal = true;
                }
            }
        }
    }
    axes::settle(&mut made, &last).map_err(|step| of[step])?;
    let axes = last.first().map_or([Axis::Signed; 2], |&i| made[i].axes);
    let mut displacements = Vec::new();
    let rows = along(axes[0], mixing.grid[0], reach[0]);
    let columns = along(axes[1], mixing.grid[1], reach[1]);
    for &dy in &rows {
        displacements.extend(columns.iter().map(|&dx| [dy, dx]));
    }
    Ok(Stage {
        steps: made,
        buffers: 0,
        positions: 0,
        displacements,
        grid: mixing.grid,
        last,
        end: mixing.end.clone(),
        grid_out: mixing.grid_out,
        need,
    })
}

/// Displacements below this are wanted, by axis.
fn reach(mixing: &Mixing, need: Need) -> [usize; 2] {
    let all = mixing.grid;
    match (&mixing.end, need) {
        (End::Output | End::Take { .. }, _) => [1, 1],
        (End::GlobalPool | End::Attention { .. }, _) => all,
        (End::Pool { .. } | End::Regrid { .. }, Need::Pairs) => all,
        (End::Regrid { .. }, Need::Diagonal) => [1, 1],
        (End::Pool { window }, Need::Diagonal) => {
            [0, 1].map(|a| ((window.kernel[a] - 1) * window.dilation[a] + 1).min(all[a]))
        }
    }
}

fn along(axis: Axis, n: usize, reach: usize) -> Vec<isize> {
    let (n, reach) = (n as isize, reach as isize);
    match axis {
        Axis::Signed => (1 - reach..reach).collect(),
        Axis::Wrapped if 2 * reach > n => (0..n).collect(),
        Axis::Wrapped => (0..reach).chain(n + 1 - reach..n).collect(),
    }
}

struct Steps<'a> {
    parts: &'a [Part],
    known: HashMap<(usize, [usize; 2]), usize>,
    made: Vec<Step>,
    /// The part of each step.
    of: Vec<usize>,
}

impl Steps<'_> {
    /// The step of a part at a stride, and all that it reads.
    fn step(&mut self, part: usize, times: [usize; 2]) -> usize {
        if let Some(&step) = self.known.get(&(part, times)) {
            return step;
        }
        let Part {
            mut source,
            chain,
            grid,
            ..
        } = self.parts[part].clone();
        match &mut source {
            StepSource::Conv { reads, window, .. } => {
                let inner = [0, 1].map(|a| times[a].saturating_mul(window.stride[a]));
                self.all(reads, inner);
            }
            StepSource::Total { reads, .. } => self.all(reads, [1, 1]),
            StepSource::Sum { reads } => self.all(reads, times),
            StepSource::Converted { .. }
            | StepSource::Input
            | StepSource::Gram { .. }
            | StepSource::Stored { .. } => {}
        }
        self.made.push(Step {
            source,
            chain,
            grid,
            times,
            axes: [Axis::Signed; 2],
            form_in: Form::Covariance,
            form_out: Form::Covariance,
            variance: View::default(),
            variance_out: View::default(),
            buffer: 0,
            off_diagonal: false,
        });
        self.of.push(part);
        let step = self.made.len() - 1;
        self.known.insert((part, times), step);
        step
    }

    fn all(&mut self, reads: &mut [Read], times: [usize; 2]) {
        for read in reads {
            read.from = self.step(read.from, times);
        }
    }
}

/// Fields that are no longer read make room.
fn place(stage: &mut Stage) {
    let count = stage.steps.len();
    let mut last_read: Vec<usize> = (0..count).collect();
    for (i, step) in stage.steps.iter().enumerate() {
        for read in step.source.reads() {
            last_read[read.from] = i;
        }
    }
    stage.last.iter().for_each(|&i| last_read[i] = count);
    let mut free: Vec<usize> = Vec::new();
    for i in 0..count {
        stage.steps[i].buffer = free.pop().unwrap_or_else(|| {
            stage.buffers += 1;
            stage.buffers - 1
        });
        for (step, last) in stage.steps.iter().zip(&mut last_read) {
            if *last == i {
                free.push(step.buffer);
                *last = usize::MAX;
            }
        }
    }
    let positions = stage.steps.iter().map(|step| step.grid[0] * step.grid[1]);
    stage.positions = positions.max().unwrap_or(1);
}
