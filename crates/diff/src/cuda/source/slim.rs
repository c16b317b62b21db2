//! Weight gradients of convolutions of few channels: W(x, dy)[o, c, t] = Σ dy[o, p] x[c, p + t] over samples and positions.
//!
//! Images and gradients of some samples lie in shared memory. A thread sums the taps of one row of the window, for one
//! channel of x and some of dy, over rows of positions; threads of the same weights share the rows and add up at the end.

use super::conv::{Sizes, add};
use super::{Call, Code, Operand, THREADS, operands, parameters};
use crate::real::Dtype;
use crate::trace::Conv;

/// Channels of dy that a thread takes, and that a block takes.
const CHANNELS: usize = 8;
const BLOCK_CHANNELS: usize = 16;
/// Taps of a row, at most.
const TAPS: usize = 7;
/// Bytes of shared memory: several blocks fit on a multiprocessor.
const SHARED: usize = 72 << 10;
/// Blocks that keep the chip busy.
const BLOCKS: usize = 528;
/// Samples of a block at a time, at most.
const SAMPLES: usize = 8;
/// From so many channels and columns on tensor cores are better.
const WIDE: usize = 12;

/// The contraction, if it is of that kind; `w` is the shape of dw.
pub fn weight(conv: &Conv, x: &[usize], w: &[usize], dtype: Dtype) -> Option<Vec<Call>> {
    let s = Sizes::new(conv, x, w);
    let window = conv.window;
    let ([kh, kw], [sh, sw], [dh, dw]) = (window.kernel, window.stride, window.dilation);
    let tensor = dtype == Dtype::F32 && s.o > BLOCK_CHANNELS && s.c * s.taps >= WIDE;
    if conv.groups != 1 || kw > TAPS || tensor {
        return None;
    }
    let channels = s.o.min(BLOCK_CHANNELS);
    let tiles = channels.div_ceil(CHANNELS);
    let tile = channels.div_ceil(tiles);
    let parts_of_o = s.o.div_ceil(tiles * tile);
    let roles = kh * s.c * tiles;
    if roles > THREADS {
        return None;
    }
    // Odd rows, so that threads of neighbouring rows read from other banks.
    let (height, width) = (
        (s.oh - 1) * sh + (kh - 1) * dh + 1,
        (s.ow - 1) * sw + (kw - 1) * dw + 1,
    );
    let (width, own) = (width | 1, s.ow | 1);
    let (image, gradient) = (s.c * height * width, tiles * tile * s.oh * own);
    let number = dtype.bytes();
    let sums = THREADS * tile * kw;
    let bytes = |samples: usize| (samples * (image + gradient)).max(sums) * number;
    let slots = |samples: usize| (THREADS / roles).min(samples * s.oh);
    // Chunks of samples for each part.
    let share = |samples: usize| {
        let chunks = s.n.div_ceil(samples);
        let parts = (BLOCKS / (conv.networks * parts_of_o)).clamp(1, chunks);
        chunks.div_ceil(parts)
    };
    // Instructions of a thread, about.
    let time = |&samples: &usize| {
        let rounds = (samples * s.oh).div_ceil(slots(samples));
        let sums = rounds * s.ow * (tile * kw + tile + kw);
        let loads = (samples * (image + gradient)).div_ceil(THREADS) * 16;
        share(samples) * (sums + loads + 1000)
    };
    let together = (1..=SAMPLES.min(s.n)).filter(|&n| bytes(n) <= SHARED);
    let together = together.min_by_key(time)?;
    let (slots, share) = (slots(together), share(together));
    let chunks = s.n.div_ceil(together);
    let parts = chunks.div_ceil(share);
    let each = s.o * s.c * s.taps;
    let numbers = conv.networks * each;
    let mut operands = operands(2);
    let scratch = match parts {
        1 => 0,
        _ => {
            operands[0] = Operand::Scratch;
            parts * numbers
        }
    };
    let text = format!(
        "({parameters}) {{\n\
         extern __shared__ __align__(16) unsigned char memory[];\n\
         T* const image = (T*)memory; T* const gradient = image + {images}; T* const sums = image;\n\
         const int part = blockIdx.x, o0 = blockIdx.y * {block};\n\
         const long long network = blockIdx.z;\n\
         out += network * {each} + (long long)part * {numbers}; a0 += network * {x_numbers}; a1 += network * {y_numbers};\n\
         const int slot = threadIdx.x % {slots}, role = threadIdx.x / {slots};\n\
         const int ty = role % {kh}, c = role / {kh} % {c}, tile = role / {planes};\n\
         T sum[{tile}][{kw}] = {{}};\n\
         for (int chunk = part * {share}; chunk < min((part + 1) * {share}, {chunks}); ++chunk) {{\n\
         const int first = chunk * {together}, count = min({together}, {n} - first);\n\
         #pragma unroll 8\n\
         for (int e = threadIdx.x; e < count * {image}; e += {THREADS}) {{\n\
         const int sx = e % {width} - {px}, sy = e / {width} % {height} - {py}, plane = e / {area};\n\
         const bool inside = sy >= 0 && sy < {h} && sx >= 0 && sx < {w};\n\
         image[e] = inside ? a0[((long long)first * {c} + plane) * {hw} + sy * {w} + sx] : (T)0;\n\
         }}\n\
         #pragma unroll 8\n\
         for (int e = threadIdx.x; e < count * {gradient}; e += {THREADS}) {{\n\
         const int x = e % {own}, y = e / {own} % {oh}, o = e / {own_area} % {block}, sample = e / {gradient};\n\
         gradient[e] = x < {ow} && o0 + o < {o} ? \
         a1[((long long)(first + sample) * {o} + o0 + o) * {positions} + y * {ow} + x] : (T)0;\n\
         }}\n\
         __syncthreads();\n\
         if (role < {roles})\n\
         for (int row = slot; row < count * {oh}; row += {slots}) {{\n\
         const int sample = row / {oh}, y = row % {oh};\n\
         const T* const from = image + ((sample * {c} + c) * {height} + y * {sh} + ty * {dh}) * {width};\n\
         const T* const by = gradient + ((sample * {block} + tile * {tile}) * {oh} + y) * {own};\n\
         #pragma unroll {unrolled}\n\
         for (int x = 0; x < {ow}; ++x) {{\n\
         T d[{tile}];\n\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m) d[m] = by[m * {own_area} + x];\n\
         #pragma unroll\n\
         for (int tx = 0; tx < {kw}; ++tx) {{\n\
         const T v = from[x * {sw} + tx * {dw}];\n\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m) sum[m][tx] += d[m] * v;\n\
         }}\n\
         }}\n\
         }}\n\
         __syncthreads();\n\
         }}\n\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m)\n\
         #pragma unroll\n\
         for (int tx = 0; tx < {kw}; ++tx) sums[(m * {kw} + tx) * {THREADS} + threadIdx.x] = sum[m][tx];\n\
         __syncthreads();\n\
         for (int e = threadIdx.x; e < {results}; e += {THREADS}) {{\n\
         const int q = e / {roles}, who = e % {roles}, m = q / {kw}, tx = q % {kw};\n\
         const int row = who % {kh}, channel = who / {kh} % {c}, o = o0 + who / {planes} * {tile} + m;\n\
         T total = 0;\n\
         for (int k = 0; k < {slots}; ++k) total += sums[q * {THREADS} + who * {slots} + k];\n\
         if (o < {o}) out[((long long)o * {c} + channel) * {taps} + row * {kw} + tx] = total;\n\
         }}\n\
         }}",
        parameters = parameters(2),
        images = together * image,
        block = tiles * tile,
        x_numbers = s.n * s.c * s.h * s.w,
        y_numbers = s.n * s.o * s.oh * s.ow,
        planes = kh * s.c,
        n = s.n,
        c = s.c,
        o = s.o,
        h = s.h,
        w = s.w,
        hw = s.h * s.w,
        oh = s.oh,
        ow = s.ow,
        taps = s.taps,
        px = window.pad[1].0,
        py = window.pad[0].0,
        area = height * width,
        own_area = s.oh * own,
        positions = s.oh * s.ow,
        unrolled = if s.ow <= 32 { s.ow } else { 8 },
        results = roles * tile * kw,
    );
    let mut calls = vec![Call::Kernel(Code {
        text,
        blocks: [parts, parts_of_o, conv.networks],
        shared: bytes(together),
        operands,
        scratch,
    })];
    if parts > 1 {
        calls.push(add(parts, numbers));
    }
    Some(calls)
}
