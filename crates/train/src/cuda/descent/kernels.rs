//! CUDA C++ of what a step of a descent does beside its program.
//!
//! - `count` finds what is not learnt, block by block;
//! - `decide` adds that up, stops the descent or sets the rate of the step;
//! - `update` is Adam, and lets batch statistics follow.
//!
//! Threads of a block stride by `blockDim.x` and sum in trees, so the same text runs on the processor with one thread.

use polariscope_diff::Dtype;
use polariscope_diff::cuda::CudaSource;

use super::super::kernels::{Rule, Tensor, choose, moved, summing};
use super::Margin;
use crate::Optimiser;

/// Numbers of the descent: where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Updates made.
    Step,
    /// L here.
    Loss,
    /// N_Δ.
    Unsatisfied,
    /// Patterns on the wrong side.
    Misclassified,
    /// What multiplies the update, and √v; 0 for no update.
    Rate,
    Root,
    /// An [`End`].
    End,
}

pub const STATUS: usize = 7;
/// Counts of a block: not satisfied, misclassified, no finite numbers.
pub const COUNTS: usize = 3;

/// Values of [`Status::End`]; 0 while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Margin = 1,
    Steps,
    Diverged,
}

/// Patterns of `outputs` outputs each: D = margin − y F > 0; the wrong class; no numbers.
pub fn count(
    dtype: Dtype,
    [samples, outputs]: [usize; 2],
    initial: bool,
    margin: Margin,
) -> CudaSource {
    let centred = if initial { "f[i] - f0[i]" } else { "f[i]" };
    let text = format!(
        "extern \"C\" __global__ void count(double* counts, const T* f, const T* f0, const T* signs) {{
    double open = 0, wrong = 0, odd = 0;
    for (long long row = blockIdx.x * blockDim.x + threadIdx.x; row < {samples}; row += gridDim.x * blockDim.x) {{
        double own = 0;
        int best = -1;
        bool right = true;
        for (int k = 0; k < {outputs}; ++k) {{
            const long long i = row * {outputs} + k;
            const T predictor = (T){alpha:?} * ({centred});
            const double product = (double)(signs[i] * predictor);
            if (!({margin:?} - product <= 0)) open += 1;
            if (!isfinite((double)f[i])) odd = 1;
            if (best < 0 && signs[i] > 0) {{ best = k; own = (double)predictor; }}
            if (!(product >= 0)) right = false;
        }}
        if ({outputs} > 1 && best >= 0) {{
            right = true;
            for (int k = 0; k < {outputs}; ++k) {{
                const long long i = row * {outputs} + k;
                if (!((double)((T){alpha:?} * ({centred})) <= own)) right = false;
            }}
        }}
        if (!right) wrong += 1;
    }}
    const double sums[{COUNTS}] = {{open, wrong, odd}};
    for (int k = 0; k < {COUNTS}; ++k) {{
        const double sum = total(sums[k]);
        if (threadIdx.x == 0) counts[blockIdx.x * {COUNTS} + k] = sum;
    }}
}}",
        alpha = margin.alpha,
        margin = margin.margin,
    );
    summing(dtype, "count", text)
}

/// Adds the counts of `blocks` blocks. `makes` tells whether an update follows.
pub fn decide(dtype: Dtype, blocks: usize, margin: Margin) -> CudaSource {
    let Optimiser::Adam { beta1, beta2, .. } = Optimiser::ADAM else {
        unreachable!("ADAM is Adam");
    };
    let decays = match margin.decay_every {
        Some(every) => format!("fmin(floor(step / {:?}), 400.0)", every.max(1) as f64),
        None => "0.0".to_owned(),
    };
    let text = format!(
        "extern \"C\" __global__ void decide(double* s, const double* counts, const T* loss, int makes) {{
    double sums[{COUNTS}] = {{0, 0, 0}};
    for (int i = threadIdx.x; i < {blocks}; i += blockDim.x)
        for (int k = 0; k < {COUNTS}; ++k) sums[k] += counts[i * {COUNTS} + k];
    for (int k = 0; k < {COUNTS}; ++k) sums[k] = total(sums[k]);
    if (threadIdx.x != 0) return;
    s[{RATE}] = 0;
    if (s[{END}] != 0) return;
    const double step = s[{STEP}], value = (double)*loss;
    s[{LOSS}] = value; s[{OPEN}] = sums[0]; s[{WRONG}] = sums[1];
    if (!isfinite(value) || sums[2] > 0) s[{END}] = {DIVERGED};
    else if (sums[0] == 0) s[{END}] = {MARGIN};
    else if (step >= {most:?}) s[{END}] = {STEPS};
    if (s[{END}] != 0 || !makes) return;
    const double rate = fmax({rate:?} * pow(0.1, {decays}), {floor:?});
    s[{STEP}] = step + 1;
    s[{RATE}] = rate / (1 - pow({beta1:?}, step + 1));
    s[{ROOT}] = 1 / sqrt(1 - pow({beta2:?}, step + 1));
}}",
        RATE = Status::Rate as u8,
        END = Status::End as u8,
        STEP = Status::Step as u8,
        LOSS = Status::Loss as u8,
        OPEN = Status::Unsatisfied as u8,
        WRONG = Status::Misclassified as u8,
        ROOT = Status::Root as u8,
        DIVERGED = End::Diverged as u8,
        MARGIN = End::Margin as u8,
        STEPS = End::Steps as u8,
        most = margin.max_steps as f64,
        rate = margin.rate,
        floor = margin.floor.min(margin.rate),
    );
    summing(dtype, "decide", text)
}

/// Moves weights, or lets them follow.
pub fn update(dtype: Dtype, tensors: &[Tensor], span: usize) -> CudaSource {
    let mut parameters = String::new();
    for (i, tensor) in tensors.iter().enumerate() {
        parameters += &format!(", T* w{i}, const T* g{i}");
        if let Rule::Descend = tensor.rule {
            parameters += &format!(", T* m{i}, T* v{i}");
        }
    }
    let choice = |i: usize| match tensors[i].rule {
        Rule::Descend => format!("w = w{i}; g = g{i}; m = m{i}; v = v{i};"),
        Rule::Follow(share) => format!("w = w{i}; g = g{i}; follow = {share:?};"),
    };
    let text = format!(
        "extern \"C\" __global__ void update(const double* s{parameters}) {{
    const int network = 0;
    if (s[{}] == 0) return;
    T* w = 0; const T* g = 0; T* m = 0; T* v = 0;
    double follow = 0;
    {choose}    (void)offset;
    const T rate = (T)s[{}], root = (T)s[{}], clip = (T)1, keep = (T)(1.0 - follow), take = (T)follow;
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {{
        if (follow > 0) {{ w[i] = keep * w[i] + take * g[i]; continue; }}
        {moved}
    }}
}}",
        Status::Rate as u8,
        Status::Rate as u8,
        Status::Root as u8,
        choose = choose(tensors, span, choice),
        moved = moved(Optimiser::ADAM),
    );
    summing(dtype, "update", text)
}
