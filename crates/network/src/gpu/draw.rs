//! Random numbers made on a GPU: those of [`Stream`], bit for bit.
//!
//! The text below is `crates/random` in another language. A thread makes a block of four words; every product and sum
//! is written out as it is rounded there, so that none is fused that is not fused there.

use std::sync::Arc;

use polariscope_diff::Number;
use polariscope_diff::cuda::{Argument, Array, CudaError, CudaSource, Gpu, Kernel};
use polariscope_graph::Law;
use polariscope_random::Stream;

const THREADS: usize = 256;
/// Numbers that share sixteen blocks of words.
const CHUNK: usize = 64;

const TEXT: &str = r#"
__device__ __forceinline__ void philox(unsigned (&x)[4], unsigned k0, unsigned k1) {
    #pragma unroll
    for (unsigned r = 0; r < 10; ++r) {
        const unsigned h0 = __umulhi(0xD2511F53u, x[0]), l0 = 0xD2511F53u * x[0];
        const unsigned h1 = __umulhi(0xCD9E8D57u, x[2]), l1 = 0xCD9E8D57u * x[2];
        const unsigned a = h1 ^ x[1] ^ (k0 + 0x9E3779B9u * r), b = h0 ^ x[3] ^ (k1 + 0xBB67AE85u * r);
        x[0] = a; x[1] = l1; x[2] = b; x[3] = l0;
    }
}
// The words of a block: its stream is that of the seed, the name and index number blockIdx.y.
__device__ __forceinline__ void words(unsigned block, const unsigned* indices, unsigned s0, unsigned s1, unsigned h0,
    unsigned h1, unsigned (&x)[4]) {
    unsigned stream[4] = {indices[2 * blockIdx.y], indices[2 * blockIdx.y + 1], h0, h1};
    philox(stream, s0, s1);
    x[0] = block; x[1] = 0; x[2] = stream[2]; x[3] = stream[3];
    philox(x, stream[0], stream[1]);
}
__device__ __forceinline__ float minus_two_ln(unsigned bits) {
    const float P[9] = {-2.0f, 0.9999987f, -0.66666545f, 0.5001586f, -0.4001447f, 0.3282904f, -0.28111625f,
        0.30788544f, -0.27496618f};
    const unsigned u = __float_as_uint(__fadd_rn(__uint2float_rn(bits), 0.5f));
    const int e = (int)(u - 0x3F2AAAABu) >> 23;
    const float f = __fadd_rn(__uint_as_float(u - (unsigned)(e << 23)), -1.0f);
    float y = P[8];
    #pragma unroll
    for (int i = 7; i >= 0; --i) y = __fmaf_rn(y, f, P[i]);
    return __fmaf_rn(__int2float_rn(e - 32), -1.3862944f, __fmul_rn(f, y));
}
__device__ __forceinline__ void turn(unsigned bits, float& cosine, float& sine) {
    const float S[4] = {6.2831855f, -41.341663f, 81.59254f, -75.40161f};
    const float C[5] = {1.0f, -19.739209f, 64.939316f, -85.44284f, 59.22017f};
    const unsigned q = (bits + (1u << 29)) >> 30;
    const float t = __fmul_rn(__int2float_rn((int)(bits - (q << 30))), 1.0f / 4294967296.0f), t2 = __fmul_rn(t, t);
    float s = S[3], c = C[4];
    #pragma unroll
    for (int i = 2; i >= 0; --i) s = __fmaf_rn(s, t2, S[i]);
    #pragma unroll
    for (int i = 3; i >= 0; --i) c = __fmaf_rn(c, t2, C[i]);
    s = __fmul_rn(t, s);
    const bool swap = q & 1u;
    cosine = __uint_as_float(__float_as_uint(swap ? s : c) ^ (((q + 1u) & 2u) << 30));
    sine = __uint_as_float(__float_as_uint(swap ? c : s) ^ ((q & 2u) << 30));
}
__device__ __forceinline__ void store(T* out, int n, unsigned block, const float (&x)[4]) {
    out += (long long)blockIdx.y * n;
    const int first = block / 16 * 64 + block % 16;
    #pragma unroll
    for (int w = 0; w < 4; ++w) if (first + w * 16 < n) out[first + w * 16] = (T)x[w];
}
extern "C" __global__ void uniform(T* out, const unsigned* indices, unsigned s0, unsigned s1,
    unsigned h0, unsigned h1, double bound, int n) {
    const unsigned block = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[4]; float y[4];
    words(block, indices, s0, s1, h0, h1, x);
    const float step = __fmul_rn((float)bound, 1.0f / 16777216.0f);
    #pragma unroll
    for (int w = 0; w < 4; ++w) y[w] = __fmul_rn(__int2float_rn(((int)x[w] >> 7) | 1), step);
    store(out, n, block, y);
}
extern "C" __global__ void normal(T* out, const unsigned* indices, unsigned s0, unsigned s1,
    unsigned h0, unsigned h1, double std, int n) {
    const unsigned block = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[4]; float y[4];
    words(block, indices, s0, s1, h0, h1, x);
    #pragma unroll
    for (int w = 0; w < 4; w += 2) {
        const float r = __fmul_rn(__fsqrt_rn(minus_two_ln(x[w])), (float)std);
        float c, s;
        turn(x[w + 1], c, s);
        y[w] = __fmul_rn(r, c); y[w + 1] = __fmul_rn(r, s);
    }
    store(out, n, block, y);
}
// 0 with probability `rate`, otherwise 1 / (1 - rate), from the stream of a step.
extern "C" __global__ void mask(T* out, const unsigned* step, unsigned s0, unsigned s1,
    unsigned h0, unsigned h1, double rate, int n) {
    const unsigned block = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[4]; float y[4];
    words(block, step, s0, s1, h0, h1, x);
    const float threshold = (float)(2.0 * rate - 1.0);
    const T keep = (T)(1.0 / (1.0 - rate));
    const int first = block / 16 * 64 + block % 16;
    #pragma unroll
    for (int w = 0; w < 4; ++w) {
        y[w] = __fmul_rn(__int2float_rn(((int)x[w] >> 7) | 1), 1.0f / 16777216.0f);
        if (first + w * 16 < n) out[first + w * 16] = y[w] < threshold ? (T)0 : keep;
    }
}
extern "C" __global__ void constant(T* out, const unsigned*, unsigned, unsigned, unsigned, unsigned,
    double value, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[(long long)blockIdx.y * n + i] = (T)(float)value;
}
"#;

/// Fills arrays of a GPU.
pub struct Draws {
    gpu: Arc<Gpu>,
    uniform: Kernel,
    normal: Kernel,
    constant: Kernel,
    mask: Kernel,
    /// The chosen networks, and two words for each.
    networks: Vec<u64>,
    indices: Array<u32>,
}

impl Draws {
    /// Compiles what fills arrays of T.
    pub fn new<T: Number>(gpu: Arc<Gpu>) -> Result<Self, CudaError> {
        let number = T::DTYPE.c_name();
        let sources = ["uniform", "normal", "constant", "mask"].map(|name| CudaSource {
            text: format!("typedef {number} T;{TEXT}"),
            name,
            threads: THREADS,
            shared: 0,
        });
        let kernels = gpu.compile(&sources)?;
        let Ok([uniform, normal, constant, mask]) = <[Kernel; 4]>::try_from(kernels) else {
            unreachable!("every source was compiled");
        };
        Ok(Draws {
            indices: gpu.zeros(0)?,
            networks: Vec::new(),
            gpu,
            uniform,
            normal,
            constant,
            mask,
        })
    }

    /// Tells which networks are drawn: their indices.
    pub fn choose(&mut self, networks: &[u64]) -> Result<(), CudaError> {
        if self.networks == networks {
            return Ok(());
        }
        let words: Vec<u32> = networks
            .iter()
            .flat_map(|&i| [i as u32, (i >> 32) as u32])
            .collect();
        if self.indices.len() < words.len() {
            self.indices = self.gpu.zeros(words.len())?;
        }
        self.gpu.upload(&words, 0, &self.indices)?;
        self.networks = networks.to_vec();
        Ok(())
    }

    /// The first `n` numbers of the streams of the chosen networks under a law, one network after the other; nothing, and
    /// false, for a law that is not drawn here.
    pub fn fill<T: Number>(
        &self,
        seed: u64,
        name: &str,
        law: Law,
        out: &Array<T>,
        n: usize,
    ) -> Result<bool, CudaError> {
        let (kernel, value, each) = match law {
            Law::Uniform { bound } => (&self.uniform, bound, 4),
            Law::Normal { std } => (&self.normal, std, 4),
            Law::Constant(c) => (&self.constant, c, 1),
            Law::Orthogonal { .. } => return Ok(false),
        };
        let networks = self.networks.len();
        if n == 0 || networks == 0 {
            return Ok(true);
        }
        let threads = n.next_multiple_of(CHUNK) / each;
        let indices = Argument::U32(&self.indices, 2 * networks);
        // As `Weights` rounds it.
        let value = f64::from(value as f32);
        let out = T::argument(out, n * networks);
        let arguments = stream(out, indices, seed, name, value, n);
        let blocks = [threads.div_ceil(THREADS), networks, 1];
        self.gpu.start(kernel, blocks, &arguments)?;
        Ok(true)
    }

    /// A dropout mask of `n` numbers: 0 with probability `rate`, otherwise 1/(1 − rate), from the stream of the step that
    /// `clock` tells.
    pub fn mask<T: Number>(
        &self,
        seed: u64,
        name: &str,
        rate: f64,
        clock: &Array<i64>,
        (out, n): (&Array<T>, usize),
    ) -> Result<(), CudaError> {
        let threads = n.next_multiple_of(CHUNK) / 4;
        let step = Argument::I64(clock, 1);
        let arguments = stream(T::argument(out, n), step, seed, name, rate, n);
        let blocks = [threads.div_ceil(THREADS), 1, 1];
        self.gpu.start(&self.mask, blocks, &arguments)
    }
}

/// What every kernel takes: where to, the indices of the streams, their seed and name, a number, and how many are made.
fn stream<'a>(
    out: Argument<'a>,
    indices: Argument<'a>,
    seed: u64,
    name: &str,
    value: f64,
    n: usize,
) -> [Argument<'a>; 8] {
    let word = |word: u32| Argument::Int(word as i32);
    let [h0, h1] = Stream::name(name);
    [
        out,
        indices,
        word(seed as u32),
        word((seed >> 32) as u32),
        word(h0),
        word(h1),
        Argument::Number(value),
        Argument::Int(n as i32),
    ]
}
