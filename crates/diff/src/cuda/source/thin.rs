//! Convolutions to few channels: a thread makes all channels of one position, with the weights in shared memory.
//!
//! Every number that is read is used once for each channel of the result; tiles of a product would be mostly empty.

use super::gather::Gather;
use super::{Call, Code, THREADS, operands, parameters};

/// Channels whose sums a thread can hold.
const CHANNELS: usize = 32;
/// Weights that shared memory can hold.
const WEIGHTS: usize = 6144;

/// The contraction, if it is thin.
pub fn calls(gather: &Gather) -> Option<Vec<Call>> {
    let [from, to] = gather.channels;
    let taps = gather.taps[0] * gather.taps[1];
    let weights = from * taps * to;
    if to > CHANNELS || weights > WEIGHTS {
        return None;
    }
    let (plane, positions) = (gather.plane(), gather.positions());
    let n = gather.samples * positions;
    let text = format!(
        "({}) {{\n\
         __shared__ T weights[{weights}];\n\
         const long long network = blockIdx.y;\n\
         out += network * {}; a0 += network * {}; a1 += network * {weights};\n\
         for (int e = threadIdx.x; e < {weights}; e += {THREADS}) {{\n\
         const int m = e % {to}, k = e / {to}, c = k / {taps}, t = k % {taps};\n\
         weights[e] = a1[{weight}];\n\
         }}\n\
         __syncthreads();\n\
         const int n = blockIdx.x * {THREADS} + threadIdx.x;\n\
         if (n >= {n}) return;\n\
         const int sample = n / {positions}, p = n % {positions}, y = p / {rw}, x = p % {rw};\n\
         const T* const image = a0 + (long long)sample * {};\n\
         T sum[{to}] = {{}};\n\
         for (int ty = 0; ty < {kh}; ++ty) for (int tx = 0; tx < {kw}; ++tx) {{\n\
         {map}\
         if (!inside) continue;\n\
         const T* const at = image + sy * {iw} + sx;\n\
         const T* const w = weights + (ty * {kw} + tx) * {to};\n\
         #pragma unroll 4\n\
         for (int c = 0; c < {from}; ++c) {{\n\
         const T v = at[c * {plane}];\n\
         #pragma unroll\n\
         for (int m = 0; m < {to}; ++m) sum[m] += v * w[c * {step} + m];\n\
         }}\n\
         }}\n\
         #pragma unroll\n\
         for (int m = 0; m < {to}; ++m) out[((long long)sample * {to} + m) * {positions} + p] = sum[m];\n\
         }}",
        parameters(2),
        n * to,
        gather.samples * from * plane,
        from * plane,
        weight = gather.weight,
        rw = gather.result[1],
        kh = gather.taps[0],
        kw = gather.taps[1],
        map = gather.map,
        iw = gather.image[1],
        step = taps * to,
    );
    Some(vec![Call::Kernel(Code {
        text,
        blocks: [n.div_ceil(THREADS), gather.networks, 1],
        shared: 0,
        operands: operands(2),
        scratch: 0,
    })])
}
