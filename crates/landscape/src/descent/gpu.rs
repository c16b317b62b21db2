//! The descent on a GPU, where it stays: the processor looks from time to time.

use polariscope_diff::Number;
use polariscope_graph::Graph;
use polariscope_network::Weights;
use polariscope_train::{Control, DeviceDescent, DeviceStop, Margin, Samples, TrainError};

use super::{Descent, Fitted, Seen, Stop};
use crate::LandscapeError;
use crate::gaps::Gaps;

/// Steps between two looks.
const LOOK: u64 = 1000;

/// Descends as [`super::descend`] does; `watch` sees the start, every so many steps, and the end.
pub(super) fn descend<T: Number>(
    ordinal: usize,
    graph: &Graph,
    descent: &Descent,
    train: Samples,
    signs: &[T],
    weights: Weights<T>,
    mut watch: impl FnMut(Seen<T>) -> Control,
) -> Result<Fitted<T>, LandscapeError> {
    let margin = Margin {
        alpha: descent.alpha,
        margin: descent.margin,
        rate: descent.rate,
        decay_every: descent.decay_every,
        floor: descent.floor,
        max_steps: descent.max_steps,
    };
    let objective = descent.objective();
    let device = DeviceDescent::new(ordinal, graph, objective, margin, &train, signs, &weights)?;
    let failed = TrainError::from;
    let mut steps = 0;
    loop {
        let standing = device.advance(steps).map_err(failed)?;
        let step = standing.step;
        let gaps = Gaps {
            unsatisfied: standing.unsatisfied,
            misclassified: standing.misclassified,
            patterns: train.len(),
        };
        let weights = device.weights().map_err(failed)?;
        let stop = match standing.stop {
            Some(DeviceStop::Diverged) => {
                let (loss, rate) = (standing.loss, descent.rate(step));
                return Err(LandscapeError::Diverged { step, loss, rate });
            }
            Some(DeviceStop::Margin) => Some(Stop::Margin),
            Some(DeviceStop::Steps) => Some(Stop::Steps),
            None => None,
        };
        let seen = Seen {
            step,
            loss: standing.loss,
            gaps,
            weights: &weights,
        };
        let stop = match watch(seen) {
            Control::Stop => Some(Stop::Watcher),
            Control::Continue => stop,
        };
        if let Some(stop) = stop {
            return Ok(Fitted {
                outputs: device.outputs().map_err(failed)?,
                weights,
                steps: step,
                loss: standing.loss,
                gaps,
                stop,
            });
        }
        steps = LOOK.min(descent.max_steps - step);
    }
}
