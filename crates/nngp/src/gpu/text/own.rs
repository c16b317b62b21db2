//! Variances behind a mixing of positions: what a stage leaves of (x, x), at positions paired with themselves.

use polariscope_diff::cuda::CudaSource;

use super::fields::stores;
use super::{Kind, THREADS};
use crate::plan::StagePlan;

/// A kernel and how many numbers it makes of a sample.
pub(in crate::gpu) struct OwnVariances {
    pub program: CudaSource,
    pub numbers: usize,
}

/// Copies [sample][block][position] from what stage s left.
pub(in crate::gpu) fn own(plan: &StagePlan, s: usize, kind: Kind) -> OwnVariances {
    let (stage, store) = (&plan.stages[s], &stores(plan)[s]);
    let positions = stage.grid_out[0] * stage.grid_out[1];
    let numbers = stage.last.len() * positions;
    // Those are the first slots of a block, however many it has.
    let body = format!(
        "for (long long i = blockIdx.x * {THREADS}ll + threadIdx.x; i < count * {numbers}ll; i += gridDim.x * {THREADS}ll) {{\n\
         const long long pair = i / {numbers};\nconst int block = (int)(i % {numbers}) / {positions}, at = (int)(i % {positions});\n\
         to[i] = store[{}ll * count + pair * {} + block * {} + at];\n}}\n",
        store.offset, store.size, store.slots
    );
    let parameters = "const int count, const T* __restrict__ store, T* __restrict__ to";
    OwnVariances {
        program: kind.source("", [parameters, &body], &THREADS.to_string(), 0),
        numbers,
    }
}
