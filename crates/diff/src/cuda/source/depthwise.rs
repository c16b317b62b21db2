//! Convolutions of each channel by itself: a product of matrices would have one row.
//!
//! y and dx are made number by number; a block sums the weights' gradient of one channel, over some of the samples.

use super::conv::{Sizes, add};
use super::{Call, Code, Elements, Operand, THREADS, operands, parameters};
use crate::trace::{Conv, size};

/// Taps, at most: a thread has a sum for each.
const TAPS: usize = 64;
/// Blocks that keep the chip busy.
const BLOCKS: usize = 528;
/// Terms that are worth a block.
const TERMS: usize = 4096;

/// The sizes, if it is of that kind.
fn sizes(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Sizes> {
    let s = Sizes::new(conv, x, w);
    let one = s.cg == 1 && s.og == 1 && conv.groups > 1;
    (one && s.taps <= TAPS && s.are_small()).then_some(s)
}

/// Number `i` of maps of h × w: its place, its channel and the first of the channel's weights.
fn place(s: &Sizes, [h, w]: [usize; 2]) -> String {
    format!(
        "const int column = i % {w}, row = i / {w} % {h};\n\
         const I map = i / {};\n\
         const T* const weights = a1 + (map / {} * {c} + map % {c}) * {};\n",
        h * w,
        s.n * s.c,
        s.taps,
        c = s.c,
    )
}

/// Sums `term` over the taps ty, tx.
fn taps([kh, kw]: [usize; 2], term: &str) -> String {
    format!(
        "#pragma unroll\n\
         for (int ty = 0; ty < {kh}; ++ty)\n\
         #pragma unroll\n\
         for (int tx = 0; tx < {kw}; ++tx) {{\n{term}}}\n"
    )
}

/// F(x, w) = y.
pub fn forward(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Vec<Call>> {
    let s = sizes(conv, x, w)?;
    let window = conv.window;
    let term = format!(
        "const int y = row * {} + ty * {} - {}, x = column * {} + tx * {} - {};\n\
         if (y >= 0 && y < {} && x >= 0 && x < {w}) value += image[y * {w} + x] * weights[ty * {} + tx];\n",
        window.stride[0],
        window.dilation[0],
        window.pad[0].0,
        window.stride[1],
        window.dilation[1],
        window.pad[1].0,
        s.h,
        window.kernel[1],
        w = s.w,
    );
    let statements = format!(
        "{}const T* const image = a0 + map * {};\nT value = 0;\n{}out[i] = value;\n",
        place(&s, [s.oh, s.ow]),
        s.h * s.w,
        taps(window.kernel, &term),
    );
    let numbers = conv.networks * s.n * s.c * s.oh * s.ow;
    let code = Elements(statements).code(2, numbers, numbers.max(size(x)));
    Some(vec![Call::Kernel(code)])
}

/// X(dy, w) = dx; `x` is the shape of dx.
pub fn input(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Vec<Call>> {
    let s = sizes(conv, x, w)?;
    let window = conv.window;
    let [sy, sx] = window.stride;
    let term = format!(
        "const int y = row + {} - ty * {}, x = column + {} - tx * {};\n\
         if (y >= 0 && x >= 0 && y % {sy} == 0 && x % {sx} == 0 && y / {sy} < {} && x / {sx} < {ow})\n\
         value += gradient[y / {sy} * {ow} + x / {sx}] * weights[ty * {} + tx];\n",
        window.pad[0].0,
        window.dilation[0],
        window.pad[1].0,
        window.dilation[1],
        s.oh,
        window.kernel[1],
        ow = s.ow,
    );
    let statements = format!(
        "{}const T* const gradient = a0 + map * {};\nT value = 0;\n{}out[i] = value;\n",
        place(&s, [s.h, s.w]),
        s.oh * s.ow,
        taps(window.kernel, &term),
    );
    let (numbers, gradients) = (size(x), conv.networks * s.n * s.c * s.oh * s.ow);
    let code = Elements(statements).code(2, numbers, numbers.max(gradients));
    Some(vec![Call::Kernel(code)])
}

/// W(x, dy) = dw; `w` is the shape of dw.
pub fn weight(conv: &Conv, x: &[usize], w: &[usize]) -> Option<Vec<Call>> {
    let s = sizes(conv, x, w)?;
    let window = conv.window;
    let positions = s.oh * s.ow;
    let terms = s.n * positions;
    let parts = (BLOCKS / (s.c * conv.networks)).min(terms / TERMS).max(1);
    let share = terms.div_ceil(parts);
    let parts = terms.div_ceil(share);
    let numbers = conv.networks * s.c * s.taps;
    let term = format!(
        "const int y = y0 + ty * {}, x = x0 + tx * {};\n\
         if (y >= 0 && y < {} && x >= 0 && x < {w}) sum[ty * {} + tx] += d * image[y * {w} + x];\n",
        window.dilation[0],
        window.dilation[1],
        s.h,
        window.kernel[1],
        w = s.w,
    );
    let mut operands = operands(2);
    let mut scratch = 0;
    if parts > 1 {
        operands[0] = Operand::Scratch;
        scratch = parts * numbers;
    }
    let text = format!(
        "({parameters}) {{\n\
         __shared__ T sums[{THREADS}];\n\
         const int part = blockIdx.x, c = blockIdx.y;\n\
         const long long network = blockIdx.z;\n\
         out += (long long)part * {numbers} + (network * {channels} + c) * {count};\n\
         T sum[{count}] = {{}};\n\
         for (int e = part * {share} + threadIdx.x; e < min((part + 1) * {share}, {terms}); e += {THREADS}) {{\n\
         const long long map = (network * {n} + e / {positions}) * {channels} + c;\n\
         const int p = e % {positions}, y0 = p / {ow} * {} - {}, x0 = p % {ow} * {} - {};\n\
         const T* const image = a0 + map * {plane};\n\
         const T d = a1[map * {positions} + p];\n\
         {each}\
         }}\n\
         #pragma unroll\n\
         for (int t = 0; t < {count}; ++t) {{\n\
         __syncthreads();\n\
         sums[threadIdx.x] = sum[t];\n\
         for (int half = {THREADS} / 2; half > 0; half /= 2) {{\n\
         __syncthreads();\n\
         if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];\n\
         }}\n\
         if (threadIdx.x == 0) out[t] = sums[0];\n\
         }}\n\
         }}",
        window.stride[0],
        window.pad[0].0,
        window.stride[1],
        window.pad[1].0,
        parameters = parameters(2),
        channels = s.c,
        count = s.taps,
        n = s.n,
        ow = s.ow,
        plane = s.h * s.w,
        each = taps(window.kernel, &term),
    );
    let mut calls = vec![Call::Kernel(Code {
        text,
        blocks: [parts, s.c, conv.networks],
        shared: 0,
        operands,
        scratch,
    })];
    if parts > 1 {
        calls.push(add(parts, numbers));
    }
    Some(calls)
}
