//! Displacements modulo the grid, or signed.
//!
//! A circular convolution needs what it reads modulo the grid. It leaves that too if its strides divide the
//! positions, as does a convolution whose windows never leave them; any other convolution leaves signed
//! displacements. A full field is a signed one with more in it, so only a circular convolution that reads a signed
//! field is stuck: what it reads must be kept for all pairs of positions.

use polariscope_graph::{Padding, Window};

use super::{Axis, Shared, Step, StepSource};

/// What a step reads at its own displacement.
pub(super) fn passed(step: &Step) -> Vec<usize> {
    match step.source {
        StepSource::Conv {
            shared: Shared::No, ..
        }
        | StepSource::Total { .. } => Vec::new(),
        StepSource::Input
        | StepSource::Gram { .. }
        | StepSource::Stored { .. }
        | StepSource::Conv { .. }
        | StepSource::Sum { .. }
        | StepSource::Converted { .. } => {
            step.source.reads().iter().map(|read| read.from).collect()
        }
    }
}

/// Gives every step its axes, or names the step that is stuck.
pub(super) fn settle(steps: &mut [Step], last: &[usize]) -> Result<(), usize> {
    for a in 0..2 {
        let mut able: Vec<bool> = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let all = passed(step).iter().all(|&from| able[from]);
            if wraps(steps, step, a) && !all {
                return Err(i);
            }
            able.push(all && keeps(steps, step, a));
        }
        if last.iter().all(|&i| able[i]) {
            last.iter().for_each(|&i| steps[i].axes[a] = Axis::Wrapped);
        }
        for i in (0..steps.len()).rev() {
            if steps[i].axes[a] == Axis::Wrapped || wraps(steps, &steps[i], a) {
                for from in passed(&steps[i]) {
                    steps[from].axes[a] = Axis::Wrapped;
                }
            }
        }
    }
    Ok(())
}

/// A window with the positions before and after it.
fn window<'a>(steps: &[Step], step: &'a Step, a: usize) -> Option<(&'a Window, usize, usize)> {
    match &step.source {
        StepSource::Conv {
            reads,
            window,
            shared: Shared::Yes,
            ..
        } if step.off_diagonal => {
            let read = reads.first()?;
            Some((window, steps[read.from].grid[a], step.grid[a]))
        }
        _ => None,
    }
}

/// Whether a convolution reads across the border.
fn wraps(steps: &[Step], step: &Step, a: usize) -> bool {
    window(steps, step, a).is_some_and(|(window, n, out)| {
        window.padding == Padding::Circular && !stays(window, a, n, out)
    })
}

/// Whether displacements modulo the grid stay so.
fn keeps(steps: &[Step], step: &Step, a: usize) -> bool {
    window(steps, step, a).is_none_or(|(window, n, out)| {
        let inside = window.padding == Padding::Circular || stays(window, a, n, out);
        inside && window.stride[a] * out == n
    })
}

/// Whether no window leaves the positions.
fn stays(window: &Window, a: usize, n: usize, out: usize) -> bool {
    let extent = (window.kernel[a] - 1) * window.dilation[a] + 1;
    let (before, _) = window.padding.amounts(n, extent, window.stride[a]);
    before == 0 && (out - 1) * window.stride[a] + extent <= n
}
