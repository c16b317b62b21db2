//! Gap or covariance, and where variances are kept.
//!
//! The gap is carried as long as something nonlinear reads it; after the last activation before a mixing the
//! covariance is enough, and no variance is needed.

use super::{Form, Link, Read, Stage, Step, StepSource, View};

/// Settles forms, puts conversions in, and names the sides.
pub(super) fn settle(stage: &mut Stage, sides: &mut Vec<usize>) {
    let mut old = std::mem::take(&mut stage.steps);
    for i in (0..old.len()).rev() {
        let nonlinear = old[i].chain.iter().any(Link::is_nonlinear);
        // The Gram matrix comes as gaps.
        let gram = matches!(old[i].source, StepSource::Gram { .. });
        if nonlinear || gram || old[i].form_out == Form::Gap {
            old[i].form_in = Form::Gap;
            for read in old[i].source.reads() {
                old[read.from].form_out = Form::Gap;
            }
        }
    }
    let mut made = Made {
        steps: Vec::new(),
        moved: Vec::new(),
        converted: vec![None; old.len()],
    };
    for mut step in old {
        let form = step.form_in;
        match &mut step.source {
            StepSource::Conv { reads, .. }
            | StepSource::Total { reads, .. }
            | StepSource::Sum { reads } => {
                made.all(reads, form);
            }
            StepSource::Input
            | StepSource::Gram { .. }
            | StepSource::Stored { .. }
            | StepSource::Converted { .. } => {}
        }
        made.moved.push(made.steps.len());
        made.steps.push(step);
    }
    for last in &mut stage.last {
        *last = made.step(*last, Form::Covariance);
    }
    stage.steps = made.steps;
    for step in &mut stage.steps {
        if step.form_in == Form::Gap {
            keep(step, sides);
        }
    }
}

struct Made {
    steps: Vec<Step>,
    /// Where each old step went.
    moved: Vec<usize>,
    /// The covariance of an old step that holds a gap.
    converted: Vec<Option<usize>>,
}

impl Made {
    fn all(&mut self, reads: &mut [Read], form: Form) {
        for read in reads {
            read.from = self.step(read.from, form);
        }
    }

    /// An old step in a form: gaps are converted, once.
    fn step(&mut self, old: usize, form: Form) -> usize {
        let from = self.moved[old];
        if self.steps[from].form_out == form {
            return from;
        }
        if let Some(step) = self.converted[old] {
            return step;
        }
        self.steps.push(Step {
            source: StepSource::Converted { from },
            chain: Vec::new(),
            form_in: Form::Covariance,
            form_out: Form::Covariance,
            ..self.steps[from].clone()
        });
        let step = self.steps.len() - 1;
        self.converted[old] = Some(step);
        step
    }
}

/// Gives a step its sides and follows the variance along its chain.
fn keep(step: &mut Step, sides: &mut Vec<usize>) {
    let positions = step.grid[0] * step.grid[1];
    let mut side = || {
        sides.push(positions);
        sides.len() - 1
    };
    let whole = |side| View {
        side,
        gain: 1.0,
        shift: 0.0,
    };
    let mut view = whole(side());
    step.variance = view;
    for link in &mut step.chain {
        match link {
            Link::Bias { variance, .. } | Link::Embedding { variance, .. } => {
                view.shift += *variance;
            }
            Link::Scale { square } => {
                view.gain *= *square;
                view.shift *= *square;
            }
            Link::Gamma { p, .. } => *p = view,
            Link::Kink { kink, p } => {
                *p = view;
                view.gain *= kink.gain();
                view.shift *= kink.gain();
            }
            Link::Smooth { p, out, .. } => {
                *p = view;
                *out = side();
                view = whole(*out);
            }
            Link::Norm { p, root, out, .. } => {
                *p = view;
                *root = side();
                *out = side();
                view = whole(*out);
            }
        }
    }
    step.variance_out = view;
}
