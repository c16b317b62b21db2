//! What a GPU has no kernel for.

use crate::InfiniteError;
use crate::plan::{Link, Plan};

use super::text::dual;

/// Refuses a plan with an activation whose dual is not written for GPUs.
pub(crate) fn check(plan: &Plan) -> Result<(), InfiniteError> {
    let steps = plan.stages.iter().flat_map(|stage| &stage.steps);
    for link in steps.flat_map(|step| &step.chain) {
        if let Link::Smooth { activation, .. } = link
            && dual(*activation).is_none()
        {
            return Err(InfiniteError::NotOnGpu {
                what: activation.to_string(),
            });
        }
    }
    Ok(())
}
