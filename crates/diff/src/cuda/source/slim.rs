//! Weight gradients of convolutions of few channels: W(x, dy)[o, c, t] = Σ dy[o, p] x[c, p + t] over samples and positions.
//!
//! Images and gradients of some samples lie in shared memory. A thread sums the taps of one column of the window, for one
//! or two channels of x and some of dy, or of all columns where x has one channel, down columns of positions; what it reads
//! of the image moves from tap to tap. Threads of the same weights share the columns and add up at the end.

use super::conv::{Sizes, add};
use super::stage::Stage;
use super::{Call, Code, Operand, THREADS, operands, parameters};
use crate::real::Dtype;
use crate::trace::Conv;

/// Channels of dy that a thread takes, and that a block takes; the last block takes some again where they do not add up.
const CHANNELS: usize = 8;
const BLOCK_CHANNELS: usize = 16;
/// Taps of a column, at most.
const TAPS: usize = 7;
/// Sums of a thread, at most.
const SUMS: usize = 80;
/// Bytes of shared memory: several blocks fit on a multiprocessor.
const SHARED: usize = 72 << 10;
/// Blocks that keep the chip busy.
const BLOCKS: usize = 528;
/// Samples of a block at a time, at most.
const SAMPLES: usize = 8;
/// Numbers between sums of the same threads in shared memory: threads that read side by side find them in other banks.
const PITCH: usize = THREADS + 1;
/// From so many channels and columns on tensor cores are better.
const WIDE: usize = 12;

/// The contraction, if it is of that kind; `w` is the shape of dw. Where dy is the gradient of a max-pool of two by two, a
/// quarter of its numbers and their places are read and `spread` in shared memory.
pub fn weight(
    conv: &Conv,
    x: &[usize],
    w: &[usize],
    dtype: Dtype,
    spread: bool,
) -> Option<Vec<Call>> {
    let s = Sizes::new(conv, x, w);
    let window = conv.window;
    let ([kh, kw], [sh, sw], [dh, dw]) = (window.kernel, window.stride, window.dilation);
    let tensor = dtype == Dtype::F32 && s.o > BLOCK_CHANNELS && s.c * s.taps >= WIDE;
    if conv.groups != 1 || kh > TAPS || tensor {
        return None;
    }
    let number = dtype.bytes();
    // Columns of taps that share what is read of dy.
    let wide = match s.c == 1 && 2 * kh * kw * number <= SUMS * 4 {
        true => kw,
        false => 1,
    };
    let channels = s.o.min(BLOCK_CHANNELS);
    let tiles = channels.div_ceil(CHANNELS.min(SUMS * 4 / (kh * wide * number)));
    let tile = channels / tiles;
    let block = tiles * tile;
    let parts_of_o = s.o.div_ceil(block);
    // Channels of x that share what is read of dy.
    let both = match s.c.is_multiple_of(2) && 2 * tile * kh * number <= SUMS * 4 {
        true => 2,
        false => 1,
    };
    let planes = kw / wide * (s.c / both);
    let roles = planes * tiles;
    if roles > THREADS {
        return None;
    }
    let above = window.pad[0].0;
    let height = (s.oh - 1) * sh + (kh - 1) * dh + 1;
    let images = Stage::new([s.h, s.w], above, height.max(above + s.h));
    let gradients = Stage::new([s.oh, s.ow], 0, s.oh);
    let (image, gradient) = (s.c * images.area(), block * s.oh * s.ow);
    let sums = PITCH * tile * kh;
    let memory = |samples: usize| (samples * image).next_multiple_of(4) + samples * gradient;
    let bytes = |samples: usize| memory(samples).max(sums) * number;
    let slots = |samples: usize| (THREADS / roles).min(samples * s.ow);
    // Chunks of samples for each part.
    let share = |samples: usize| {
        let chunks = s.n.div_ceil(samples);
        let parts = (BLOCKS / (conv.networks * parts_of_o)).clamp(1, chunks);
        chunks.div_ceil(parts)
    };
    // Instructions of a thread, about.
    let time = |&samples: &usize| {
        let rounds = (samples * s.ow).div_ceil(slots(samples));
        let sums = rounds * s.oh * (both * wide * tile * kh + tile + both * wide);
        let loads = (samples * (image + gradient)).div_ceil(THREADS) * 3;
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
    let mut parameters = parameters(2);
    let mut y_sample = s.o * s.oh * s.ow;
    let mut copy_y = gradients.copy("gradient", "y0", "count", [block, s.o], "o0");
    let mut places = String::new();
    if spread {
        operands.truncate(2);
        operands.extend([Operand::Through(1, 1), Operand::Through(1, 0)]);
        parameters += ", const T* __restrict__ a2";
        y_sample /= 4;
        copy_y = gradients.spread("gradient", ["y0", "p0"], "count", [block, s.o], "o0");
        places = format!(
            "const T* const p0 = a2 + (network * {} + first) * {y_sample};\n",
            s.n
        );
    }
    let scratch = match parts {
        1 => 0,
        _ => {
            operands[0] = Operand::Scratch;
            parts * numbers
        }
    };
    // The first tap whose row is read anew at every position: the last one where rows move from tap to tap.
    let fresh = if sh == 1 && dh == 1 { kh - 1 } else { 0 };
    let load = |row: String| {
        let value = format!("from[b * {} + ({row}) * {} + q * {dw}]", images.area(), s.w);
        match window.pad[1] == (0, 0) {
            true => value,
            false => format!(
                "(sx + q * {dw} >= 0 && sx + q * {dw} < {} ? {value} : (T)0)",
                s.w
            ),
        }
    };
    let every = format!(
        "#pragma unroll\n\
         for (int b = 0; b < {both}; ++b)\n\
         #pragma unroll\n\
         for (int q = 0; q < {wide}; ++q)"
    );
    let before = format!(
        "#pragma unroll\n\
         for (int ty = 0; ty < {fresh}; ++ty)\n\
         {every} v[b][q][ty] = {};\n",
        load("ty".into())
    );
    let after = format!(
        "#pragma unroll\n\
         for (int ty = 0; ty < {fresh}; ++ty)\n\
         {every} v[b][q][ty] = v[b][q][ty + 1];\n"
    );
    // A result is summed over its slots, by several threads where there are some to spare.
    let results = roles * tile * kh;
    let stripes = (THREADS / results).clamp(1, slots);
    let add_up = format!(
        "for (int first = 0; first < {results}; first += {THREADS}) {{\n\
         const int e = threadIdx.x % {some} + first, stripe = threadIdx.x / {some};\n\
         const int at = e / {roles}, who = e % {roles}, m = at / {kh}, row = at % {kh};\n\
         const bool mine = e < {results} && stripe < {stripes};\n\
         T total = 0;\n\
         if (mine) for (int k = stripe * {len}; k < min((stripe + 1) * {len}, {slots}); ++k)\n\
         total += sums[at * {PITCH} + who * {slots} + k];\n\
         {join}\
         const int channel = who / {columns} % {pairs} * {both} + b, o = o0 + who / {planes} * {tile} + m;\n\
         if (mine && stripe == 0) out[((long long)o * {c} + channel) * {taps} + row * {kw} + who % {columns} * {wide} + q] = total;\n\
         }}\n",
        some = results.min(THREADS),
        len = slots.div_ceil(stripes),
        join = match stripes {
            1 => String::new(),
            _ => format!(
                "__syncthreads();\n\
                 if (mine) sums[threadIdx.x] = total;\n\
                 __syncthreads();\n\
                 for (int k = 1; k < {stripes}; ++k) total += sums[min(k * {results} + e, {THREADS} - 1)];\n"
            ),
        },
        columns = kw / wide,
        pairs = s.c / both,
        c = s.c,
        taps = s.taps,
    );
    let text = format!(
        "({parameters}) {{\n\
         struct __align__({align}) Four {{ T x[4]; }};\n\
         struct __align__({half}) Two {{ T x[2]; }};\n\
         extern __shared__ __align__(32) unsigned char memory[];\n\
         T* const image = (T*)memory; T* const gradient = image + {images}; T* const sums = image;\n\
         const int part = blockIdx.x, o0 = min((int)blockIdx.y * {block}, {last});\n\
         const long long network = blockIdx.z;\n\
         out += network * {each} + (long long)part * {numbers}; a0 += network * {x_numbers}; a1 += network * {y_numbers};\n\
         const int slot = threadIdx.x % {slots}, role = threadIdx.x / {slots};\n\
         const int tx = role % {columns} * {wide}, c = role / {columns} % {pairs} * {both}, tile = role / {planes};\n\
         T sum[{both}][{wide}][{tile}][{kh}] = {{}};\n\
         {clear}\
         for (int chunk = part * {share}; chunk < min((part + 1) * {share}, {chunks}); ++chunk) {{\n\
         const int first = chunk * {together}, count = min({together}, {n} - first);\n\
         const T* const x0 = a0 + (long long)first * {x_sample}; const T* const y0 = a1 + (long long)first * {y_sample};\n\
         {places}{copy_x}{copy_y}\
         __syncthreads();\n\
         if (role < {roles})\n\
         for (int column = slot; column < count * {ow}; column += {slots}) {{\n\
         const int sample = column / {ow}, x = column % {ow}, sx = x * {sw} + tx * {dw} - {px};\n\
         const T* const from = image + sample * {image} + c * {area} + sx;\n\
         const T* const by = gradient + (sample * {block} + tile * {tile}) * {positions} + x;\n\
         T v[{both}][{wide}][{kh}];\n\
         {before}\
         #pragma unroll {unrolled}\n\
         for (int y = 0; y < {oh}; ++y) {{\n\
         #pragma unroll\n\
         for (int ty = {fresh}; ty < {kh}; ++ty)\n\
         {every} v[b][q][ty] = {next};\n\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m) {{\n\
         const T d = by[m * {positions} + y * {ow}];\n\
         {every}\n\
         #pragma unroll\n\
         for (int ty = 0; ty < {kh}; ++ty) sum[b][q][m][ty] += d * v[b][q][ty];\n\
         }}\n\
         {after}\
         }}\n\
         }}\n\
         __syncthreads();\n\
         }}\n\
         {every} {{\n\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m)\n\
         #pragma unroll\n\
         for (int ty = 0; ty < {kh}; ++ty) sums[(m * {kh} + ty) * {PITCH} + threadIdx.x] = sum[b][q][m][ty];\n\
         __syncthreads();\n\
         {add_up}\
         __syncthreads();\n\
         }}\n\
         }}",
        align = 4 * number,
        half = 2 * number,
        images = (together * image).next_multiple_of(4),
        x_numbers = s.n * s.c * s.h * s.w,
        y_numbers = s.n * y_sample,
        x_sample = s.c * s.h * s.w,
        pairs = s.c / both,
        columns = kw / wide,
        clear = images.clear("image", together * s.c),
        copy_x = images.copy("image", "x0", "count", [s.c, s.c], "0"),
        area = images.area(),
        n = s.n,
        last = s.o - block,
        oh = s.oh,
        ow = s.ow,
        px = window.pad[1].0,
        positions = s.oh * s.ow,
        next = load(format!("y * {sh} + ty * {dh}")),
        unrolled = if s.oh <= 32 { s.oh } else { 8 },
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
