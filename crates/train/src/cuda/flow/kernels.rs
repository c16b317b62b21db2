//! CUDA C++ of what an attempt does beside its program.
//!
//! - `survey` sums squares of weights, of gradients at the trial and of their differences to those here;
//! - `decide` is the rule of [`crate::Flow`]: what becomes of the step, when the flow stops, how long the next step is;
//! - `advance` makes an accepted trial the place where the network is, and proposes the next trial.
//!
//! The numbers of a network, by the names of [`Status`], are in f64; counts too. Threads of a block stride by `blockDim.x`
//! and sum in trees, so the same text runs on the processor with one thread.

use polariscope_diff::Dtype;
use polariscope_diff::cuda::CudaSource;

use super::super::kernels::{Rule, Tensor, choose, summing};
use crate::flow::{Tried, epsilon};

/// A number that a network has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Flow time.
    Time,
    /// Next step to try, and what is left of it before `max_time`: the one under trial.
    Dt,
    Tried,
    /// L and ‖g‖ here.
    Loss,
    Norm,
    /// L at time 0, and when it was half of that; −1 before.
    First,
    Half,
    /// Steps. −1 accepted: nobody has looked yet.
    Accepted,
    Rejected,
    /// What `advance` is to do.
    Move,
    /// Why the flow ended: an [`End`].
    End,
}

/// Numbers of a network.
pub const STATUS: usize = 11;
/// Sums of a block of the survey.
pub const SUMS: usize = 3;

/// Values of [`Status::Move`].
const STAY: u8 = 0;
const RETRY: u8 = 1;
const TAKE: u8 = 2;

/// Values of [`Status::End`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Not yet.
    Running,
    Margin,
    Stationary,
    Time,
    Steps,
    /// No shorter step would fare better.
    Stalled,
    /// Loss or gradient are no numbers at the start.
    Unfit,
}

impl End {
    /// What a number stands for.
    pub fn of(value: f64) -> Self {
        let all = [
            End::Running,
            End::Margin,
            End::Stationary,
            End::Time,
            End::Steps,
            End::Stalled,
        ];
        all.into_iter()
            .find(|&end| f64::from(end as u8) == value)
            .unwrap_or(End::Unfit)
    }
}

/// Parameters of a kernel: arrays of each tensor, those with a gradient and those without.
fn parameters(tensors: &[Tensor], descends: [&str; 4], follows: [&str; 4]) -> String {
    let mut text = String::new();
    for (i, tensor) in tensors.iter().enumerate() {
        let names = match tensor.rule {
            Rule::Descend => descends,
            Rule::Follow(_) => follows,
        };
        for name in names.iter().filter(|name| !name.is_empty()) {
            text += &format!(", T* {name}{i}");
        }
    }
    text
}

/// Sums of squares, block by block: of the weights, of the gradient at the trial, of its difference to the one here.
pub fn survey(
    dtype: Dtype,
    tensors: &[Tensor],
    span: usize,
    at: usize,
    parts: usize,
) -> CudaSource {
    let choice = |i: usize| match tensors[i].rule {
        Rule::Descend => format!("w = w{i}; g = g{i}; there = there{i};"),
        Rule::Follow(_) => format!("w = w{i};"),
    };
    let text = format!(
        "extern \"C\" __global__ void survey(double* partial{parameters}) {{
    const int network = blockIdx.y;
    const T* w = 0; const T* g = 0; const T* there = 0;
    {choose}    double squares[{SUMS}] = {{0, 0, 0}};
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {{
        const double x = (double)w[offset + i];
        squares[0] += x * x;
        if (!g) continue;
        const double y = (double)there[offset + i];
        const T d = there[offset + i] - g[offset + i];
        squares[1] += y * y;
        squares[2] += (double)(d * d);
    }}
    for (int k = 0; k < {SUMS}; ++k) {{
        const double sum = total(squares[k]);
        if (threadIdx.x == 0) partial[((long long)network * {parts} + {at} + blockIdx.x) * {SUMS} + k] = sum;
    }}
}}",
        parameters = parameters(tensors, ["w", "g", "there", ""], ["w", "", "", ""]),
        choose = choose(tensors, span, choice),
    );
    summing(dtype, "survey", text)
}

/// What becomes of the step of each network; `numbers` outputs on the training set, `initial` if f₀ is not 0.
pub fn decide(dtype: Dtype, numbers: usize, initial: bool, parts: usize) -> CudaSource {
    let names: String = [
        ("TIME", Status::Time),
        ("DT", Status::Dt),
        ("TRIED", Status::Tried),
        ("LOSS", Status::Loss),
        ("NORM", Status::Norm),
        ("FIRST", Status::First),
        ("HALF", Status::Half),
        ("ACCEPTED", Status::Accepted),
        ("REJECTED", Status::Rejected),
        ("MOVE", Status::Move),
        ("END", Status::End),
    ]
    .iter()
    .map(|&(name, at)| format!("#define {name} {}\n", at as u8))
    .collect();
    let ends: String = [
        ("BY_MARGIN", End::Margin),
        ("BY_STATIONARY", End::Stationary),
        ("BY_TIME", End::Time),
        ("BY_STEPS", End::Steps),
        ("STALLED", End::Stalled),
        ("UNFIT", End::Unfit),
    ]
    .iter()
    .map(|&(name, end)| format!("#define {name} {}\n", end as u8))
    .collect();
    let centred = if initial { "b - f0[i]" } else { "b" };
    let text = format!(
        "{names}{ends}extern \"C\" __global__ void decide(double* status, const double* partial, const T* loss, const T* f,
    const T* there, const T* f0, const T* y, double alpha, double output_bound, double gradient_bound, double margin,
    double max_time, double max_steps) {{
    const int network = blockIdx.x;
    double* const s = status + network * {STATUS};
    if (s[END] != 0) {{
        if (threadIdx.x == 0) s[MOVE] = {STAY};
        return;
    }}
    double weights = 0, gradient = 0, moved = 0;
    for (int i = threadIdx.x; i < {parts}; i += blockDim.x) {{
        const double* const p = partial + ((long long)network * {parts} + i) * {SUMS};
        weights += p[0]; gradient += p[1]; moved += p[2];
    }}
    weights = total(weights); gradient = total(gradient); moved = total(moved);
    // Bounds hold for the largest change where they hold for each; no number meets none.
    bool hard = false, far = false, unmet = false;
    f += (long long)network * {numbers}; there += (long long)network * {numbers}; f0 += (long long)network * {numbers};
    for (int i = threadIdx.x; i < {numbers}; i += blockDim.x) {{
        const T a = f[i], b = there[i];
        const double change = alpha * fabs((double)(b - a)) / output_bound;
        if (!(change < 0.5)) hard = true;
        if (!(change < 1.0)) far = true;
        if (!((double)((T)alpha * ({centred}) * y[i]) > margin)) unmet = true;
    }}
    hard = __syncthreads_or(hard); far = __syncthreads_or(far); unmet = __syncthreads_or(unmet);
    if (threadIdx.x != 0) return;
    const double value = (double)loss[network], norm = sqrt(gradient);
    if (s[ACCEPTED] < 0) {{
        s[FIRST] = value;
        if (!(isfinite(value) && isfinite(norm))) {{
            s[LOSS] = value; s[NORM] = norm; s[END] = UNFIT; s[MOVE] = {STAY};
            return;
        }}
        s[ACCEPTED] = 0;
    }} else {{
        const double dt = s[TRIED], time = s[TIME], left = max_time - time, norms = s[NORM] * norm;
        const double change = (norms == 0 ? 0 : moved / norms) / gradient_bound;
        if (!(isfinite(value) && !far && change < 1.0)) {{
            // Below the rounding of the weights no shorter step will fare better.
            if (dt * s[NORM] <= {epsilon:?} * sqrt(weights)) {{ s[END] = STALLED; s[MOVE] = {STAY}; return; }}
            s[REJECTED] += 1;
            s[DT] = dt * {shrink:?};
            s[TRIED] = fmin(s[DT], left);
            s[MOVE] = {RETRY};
            return;
        }}
        s[ACCEPTED] += 1;
        s[TIME] = dt < left ? time + dt : max_time;
        if (dt < left && !hard && change < 0.5) s[DT] *= {grow:?};
        const double half = s[FIRST] / 2;
        if (s[HALF] < 0 && value <= half) s[HALF] = time + (s[TIME] - time) * (s[LOSS] - half) / (s[LOSS] - value);
    }}
    s[LOSS] = value;
    s[NORM] = norm;
    s[TRIED] = fmin(s[DT], max_time - s[TIME]);
    s[MOVE] = {TAKE};
    if (!unmet) s[END] = BY_MARGIN;
    else if (norm == 0) s[END] = BY_STATIONARY;
    else if (s[TIME] >= max_time) s[END] = BY_TIME;
    else if (s[ACCEPTED] >= max_steps) s[END] = BY_STEPS;
}}",
        epsilon = epsilon(dtype),
        shrink = Tried::Refused.factor(),
        grow = Tried::Easy.factor(),
    );
    summing(dtype, "decide", text)
}

/// Takes what was accepted and proposes w′ = w − dt g. Where there is no gradient, what is here follows what is there.
pub fn advance(dtype: Dtype, tensors: &[Tensor], span: usize) -> CudaSource {
    let choice = |i: usize| match tensors[i].rule {
        Rule::Descend => format!("w = w{i}; g = g{i}; there = there{i}; trial = trial{i};"),
        Rule::Follow(share) => format!("w = w{i}; there = there{i}; follow = {share:?};"),
    };
    let text = format!(
        "extern \"C\" __global__ void advance(const double* status{parameters}) {{
    const int network = blockIdx.y;
    const double* const s = status + network * {STATUS};
    const int what = (int)s[{}];
    if (what == {STAY}) return;
    T* w = 0; T* g = 0; T* trial = 0; const T* there = 0;
    double follow = 0;
    {choose}    if (follow > 0) {{
        // Looking at the start is no step: statistics stay, outputs are taken.
        if (what != {TAKE} || (follow < 1 && s[{}] == 0)) return;
        const T keep = (T)(1.0 - follow), take = (T)follow;
        for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {{
            const T x = there[offset + i];
            w[offset + i] = follow < 1 ? keep * w[offset + i] + take * x : x;
        }}
        return;
    }}
    const T dt = (T)s[{}];
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {{
        T x = w[offset + i], d = g[offset + i];
        if (what == {TAKE}) {{
            x = trial[offset + i];
            d = there[offset + i];
            w[offset + i] = x;
            g[offset + i] = d;
        }}
        trial[offset + i] = x - dt * d;
    }}
}}",
        Status::Move as u8,
        Status::Accepted as u8,
        Status::Tried as u8,
        parameters = parameters(
            tensors,
            ["w", "g", "there", "trial"],
            ["w", "there", "", ""]
        ),
        choose = choose(tensors, span, choice),
    );
    summing(dtype, "advance", text)
}
