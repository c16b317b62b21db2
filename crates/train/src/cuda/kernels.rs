//! CUDA C++ of what a step does beside its program.
//!
//! - `gather` brings the samples of a batch together;
//! - `survey` sums the squares of the gradient, block by block in a fixed order, and lets the clock advance;
//! - `update` moves weights by [`crate::Optimiser`], follows batch statistics, and counts losses and right classes;
//! - `count` alone is for evaluation.
//!
//! `sums` has three numbers for each network: loss, right classes, and the step (from 1) at which loss or gradient
//! stopped being finite. From then on the network is left as it was before that step.

use polariscope_diff::Dtype;
use polariscope_diff::cuda::CudaSource;

use crate::Optimiser;
use crate::augment::Frame;

pub const THREADS: usize = 256;
/// Numbers for each network.
pub const SUMS: usize = 3;
/// Steps whose rates lie on the GPU at a time.
pub const RATES: usize = 1 << 12;
/// Parameters of a kernel fit into 4 KiB: so many tensors with four addresses each.
pub const GROUP: usize = 96;
/// Blocks of the survey of a network, about: every block of the update adds what they found.
const SURVEYS: usize = 512;
/// Numbers of a block, at least.
const SPAN: usize = 1024;

/// A tensor that a step changes.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    pub numbers: usize,
    pub rule: Rule,
}

/// How.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Against its gradient.
    Descend,
    /// Towards a statistic of the batch, by this share of the way.
    Follow(f64),
}

/// Sizes of a pass over samples.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Samples of the pass, and of those before it in the set for each tick of the clock.
    pub samples: usize,
    pub batch: usize,
    /// Passes over the whole set.
    pub passes: u64,
    /// Numbers of a sample and of its target.
    pub input: usize,
    pub outputs: usize,
    /// Whether there are classes to be right about.
    pub classes: bool,
    /// What the loss is multiplied with.
    pub weight: f64,
    /// Images of which views are taken.
    pub frame: Option<Frame>,
}

const SHARED: &str = "
__device__ __forceinline__ double total(double x) {
    __shared__ double parts[8];
    for (int d = 16; d; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0;
    for (int w = 0; w < 8; ++w) sum += parts[w];
    return sum;
}
";

fn source(dtype: Dtype, name: &'static str, text: String) -> CudaSource {
    let number = dtype.c_name();
    CudaSource {
        text: format!("typedef {number} T;\n{SHARED}{text}"),
        name,
        threads: THREADS,
        shared: 0,
    }
}

const TREE: &str = "
__device__ __forceinline__ double total(double x) {
    __shared__ double part[256];
    __syncthreads();
    part[threadIdx.x] = x;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    return part[0];
}
";

/// A kernel that may sum over the threads of its block, of which there may be one: the same text runs on the processor.
pub fn summing(dtype: Dtype, name: &'static str, text: String) -> CudaSource {
    let number = dtype.c_name();
    CudaSource {
        text: format!("typedef {number} T;\n{TREE}{text}"),
        name,
        threads: THREADS,
        shared: 0,
    }
}

/// x and y of the pass that the clock tells. Views are top, left and whether mirrored, row after row of the set.
pub fn gather(dtype: Dtype, sizes: Sizes) -> CudaSource {
    let Sizes {
        samples,
        batch,
        passes,
        input,
        outputs,
        frame,
        ..
    } = sizes;
    let (parameter, number) = match frame {
        None => ("", format!("data[row * {input} + at]")),
        Some(_) => (
            ", const unsigned* views",
            "seen(data + row * INPUT, at, views + 3 * row)".replace("INPUT", &input.to_string()),
        ),
    };
    let text = format!(
        "typedef {number_type} T;
{seen}extern \"C\" __global__ void gather(T* x, T* y, const float* data, const T* targets, const unsigned* order,
    const long long* clock{parameter}) {{
    const unsigned* const rows = order + clock[0] % {passes} * {batch};
    const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x, step = gridDim.x * (long long)blockDim.x;
    for (long long i = first; i < {samples}LL * {input}; i += step) {{
        const long long row = rows[i / {input}];
        const int at = i % {input};
        x[i] = (T){number};
    }}
    for (long long i = first; i < {samples}LL * {outputs}; i += step)
        y[i] = targets[(long long)rows[i / {outputs}] * {outputs} + i % {outputs}];
}}",
        number_type = dtype.c_name(),
        seen = frame.map_or(String::new(), seen),
    );
    CudaSource {
        text,
        name: "gather",
        threads: THREADS,
        shared: 0,
    }
}

/// A function that gives number `at` of a view of an image, as [`Frame::look`] does.
fn seen(frame: Frame) -> String {
    let Frame {
        height,
        width,
        crop,
    } = frame;
    format!(
        "__device__ __forceinline__ float seen(const float* image, int at, const unsigned* view) {{
    const int c = at % {width};
    const int row = at / {width} % {height} + (int)view[0] - {crop};
    const int column = (view[2] ? {width} - 1 - c : c) + (int)view[1] - {crop};
    if (row < 0 || row >= {height} || column < 0 || column >= {width}) return 0;
    return image[(at / ({height} * {width}) * {height} + row) * {width} + column];
}}
"
    )
}

/// Samples whose largest output is that of their class, or whose single one has its sign.
fn counting(sizes: Sizes) -> String {
    let Sizes {
        samples, outputs, ..
    } = sizes;
    if !sizes.classes {
        return "const double right = 0;\n".to_owned();
    }
    let class = match outputs {
        1 => "g[0] > (T)0".to_owned(),
        _ => format!("0; for (int k = 1; k < {outputs}; ++k) if (g[k] > g[best]) best = k"),
    };
    format!(
        "double right = 0;
    for (int i = threadIdx.x; i < {samples}; i += {THREADS}) {{
        const T* const g = f + ((long long)network * {samples} + i) * {outputs};
        unsigned best = {class};
        right += best == classes[rows[i]];
    }}
    right = total(right);\n"
    )
}

/// Adds loss and right classes of an evaluation.
pub fn count(dtype: Dtype, sizes: Sizes) -> CudaSource {
    let text = format!(
        "extern \"C\" __global__ void count(const long long* clock, const T* loss, const T* f, const unsigned* classes,
    const unsigned* order, double* sums) {{
    const int network = blockIdx.x;
    const unsigned* const rows = order + clock[0] % {} * {};
    {}
    if (threadIdx.x == 0) {{
        sums[network * {SUMS}] += (double)loss[network] * {:?};
        sums[network * {SUMS} + 1] += right;
    }}
}}",
        sizes.passes,
        sizes.batch,
        counting(sizes),
        sizes.weight
    );
    source(dtype, "count", text)
}

/// Numbers of a block for tensors of a network.
pub fn span(tensors: &[Tensor]) -> usize {
    let all: usize = tensors.iter().map(|t| t.numbers).sum();
    (all / SURVEYS).max(SPAN).next_multiple_of(THREADS)
}

/// Blocks of some tensors.
pub fn blocks(tensors: &[Tensor], span: usize) -> usize {
    tensors.iter().map(|t| t.numbers.div_ceil(span)).sum()
}

/// Statements that find out which part of which tensor is this block's: `choice` for tensor i, its length `n` and its
/// first number.
pub fn choose(tensors: &[Tensor], span: usize, choice: impl Fn(usize) -> String) -> String {
    let mut text = "int n = 0, block = blockIdx.x;\n".to_owned();
    let mut first = 0;
    for (i, tensor) in tensors.iter().enumerate() {
        let end = first + tensor.numbers.div_ceil(span);
        let otherwise = if i == 0 { "" } else { "else " };
        text += &format!(
            "    {otherwise}if (block < {end}) {{ {} n = {}; block -= {first}; }}\n",
            choice(i),
            tensor.numbers
        );
        first = end;
    }
    text + &format!(
        "    const int begin = block * {span}, end = min(begin + {span}, n);\n    \
         const long long offset = (long long)network * n;\n"
    )
}

/// Squares of gradients into the parts from `at` on, of `parts` for each network; the first of them moves the clock.
pub fn survey(
    dtype: Dtype,
    tensors: &[Tensor],
    span: usize,
    at: usize,
    parts: usize,
) -> CudaSource {
    let parameters: String = (0..tensors.len())
        .map(|i| format!(", const T* g{i}"))
        .collect();
    let tick = match at {
        0 => "if (blockIdx.x == 0 && network == 0 && threadIdx.x == 0) ++clock[0];",
        _ => "",
    };
    let text = format!(
        "extern \"C\" __global__ void survey(double* partial, long long* clock{parameters}) {{
    const int network = blockIdx.y;
    const T* g = 0;
    {choose}    g += offset;
    double sum = 0;
    for (int i = begin + threadIdx.x; i < end; i += {THREADS}) sum += (double)g[i] * (double)g[i];
    sum = total(sum);
    if (threadIdx.x == 0) partial[network * {parts} + {at} + blockIdx.x] = sum;
    {tick}
}}",
        choose = choose(tensors, span, |i| format!("g = g{i};")),
    );
    source(dtype, "survey", text)
}

/// How weights move.
pub struct Update {
    pub optimiser: Optimiser,
    pub clip: Option<f64>,
    /// Parts of the survey.
    pub parts: usize,
    pub span: usize,
}

impl Update {
    /// Changes tensors; the last kernel of a step counts, in a block more.
    pub fn source(&self, dtype: Dtype, tensors: &[Tensor], sizes: Sizes, last: bool) -> CudaSource {
        let moments = self.optimiser.moments();
        let mut parameters = String::new();
        for (i, tensor) in tensors.iter().enumerate() {
            parameters += &format!(", T* w{i}, const T* g{i}");
            if let Rule::Descend = tensor.rule {
                let kept = ["m", "v"][..moments].iter();
                parameters.extend(kept.map(|name| format!(", T* {name}{i}")));
            }
        }
        let choice = |i: usize| match tensors[i].rule {
            Rule::Follow(momentum) => {
                format!("w = w{i}; g = g{i}; follow = {momentum:?};")
            }
            Rule::Descend => {
                let kept = ["m", "v"][..moments].iter();
                let kept: String = kept.map(|name| format!(" {name} = {name}{i};")).collect();
                format!("w = w{i}; g = g{i};{kept}")
            }
        };
        let clip = self.clip.map_or("1.0".to_owned(), |most| {
            format!("fmin({most:?} / (sqrt(square) + 1e-6), 1.0)")
        });
        let counted = match last {
            false => String::new(),
            true => format!(
                "if (blockIdx.x == gridDim.x - 1) {{
        const unsigned* const rows = order + step % {passes} * {batch};
        {counting}
        if (threadIdx.x == 0 && good) {{ sum[0] += value * {weight:?}; sum[1] += right; }}
        if (threadIdx.x == 0 && !good && sum[2] == 0) sum[2] = (double)(step + 1);
        return;
    }}",
                passes = sizes.passes,
                batch = sizes.batch,
                counting = counting(sizes),
                weight = sizes.weight,
            ),
        };
        let text = format!(
            "extern \"C\" __global__ void update(const double* partial, const long long* clock, const double* rates,
    const T* loss, const T* f, const unsigned* classes, const unsigned* order, double* sums{parameters}) {{
    const int network = blockIdx.y;
    const long long step = clock[0] - 1;
    double square = 0;
    for (int i = threadIdx.x; i < {parts}; i += {THREADS}) square += partial[network * {parts} + i];
    square = total(square);
    const double value = (double)loss[network];
    double* const sum = sums + network * {SUMS};
    const bool good = isfinite(square) && isfinite(value) && sum[2] == 0;
    {counted}
    if (!good) return;
    T* w = 0; const T* g = 0; T* m = 0; T* v = 0;
    double follow = 0;
    {choose}    w += offset; g += offset; m += offset; v += offset;
    if (follow > 0) {{
        const T keep = (T)(1.0 - follow), take = (T)follow;
        for (int i = begin + threadIdx.x; i < end; i += {THREADS}) w[i] = keep * w[i] + take * g[i];
        return;
    }}
    const double* const now = rates + step % {RATES} * 2;
    const T rate = (T)now[0], root = (T)now[1], clip = (T)({clip});
    for (int i = begin + threadIdx.x; i < end; i += {THREADS}) {{
        {moved}
    }}
}}",
            parts = self.parts,
            choose = choose(tensors, self.span, choice),
            moved = moved(self.optimiser),
        );
        source(dtype, "update", text)
    }
}

/// An update of number `i` of a tensor, given `rate`, `root` and `clip`.
pub fn moved(optimiser: Optimiser) -> String {
    match optimiser {
        Optimiser::Sgd {
            momentum: 0.0,
            weight_decay,
        } => format!("w[i] -= rate * (g[i] * clip + (T){weight_decay:?} * w[i]);"),
        Optimiser::Sgd {
            momentum,
            weight_decay,
        } => format!(
            "const T b = (T){momentum:?} * m[i] + (g[i] * clip + (T){weight_decay:?} * w[i]);\n\
                 m[i] = b; w[i] -= rate * b;"
        ),
        Optimiser::Adam {
            beta1,
            beta2,
            eps,
            weight_decay,
        } => format!(
            "const T d = g[i] * clip + (T){weight_decay:?} * w[i];\n\
                 const T a = (T){beta1:?} * m[i] + (T){:?} * d, b = (T){beta2:?} * v[i] + (T){:?} * (d * d);\n\
                 m[i] = a; v[i] = b; w[i] -= rate * (a / (sqrt(b) * root + (T){eps:?}));",
            1.0 - beta1,
            1.0 - beta2
        ),
    }
}
