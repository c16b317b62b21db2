//! Convolutions of few channels whose windows move by one row: images and weights lie in shared memory, and a thread makes
//! some channels of a column of positions. What it reads of the image serves all its channels and taps of a column.

use super::gather::{Affine, Gather};
use super::stage::Stage;
use super::{Call, Code, THREADS, operands, parameters};
use crate::real::Dtype;

/// Channels and positions that a thread makes, at most.
const CHANNELS: usize = 8;
const COLUMN: usize = 8;
/// Bytes of shared memory: several blocks fit on a multiprocessor.
const SHARED: usize = 72 << 10;
/// Blocks that keep the chip busy.
const BLOCKS: usize = 264;
/// Warps that keep its multiprocessors busy, and what a lone one loses.
const WARPS: usize = 528;
/// Weights from which on tensor cores are better.
const WEIGHTS: usize = 6144;

/// Where images lie along an axis that is walked by `n` results and `taps` taps: the first place and how many there are.
fn extent(a: Affine, n: usize, taps: usize) -> (isize, usize) {
    let along = (taps as isize - 1) * a.tap;
    let first = along.min(0) + a.plus;
    let last = (n as isize - 1) * a.times as isize + along.max(0) + a.plus;
    (first, (last - first + 1) as usize)
}

/// The contraction, if it is of that kind.
pub fn calls(gather: &Gather, dtype: Dtype) -> Option<Vec<Call>> {
    let [ya, xa] = gather.affine?;
    let [from, to] = gather.channels;
    let ([rh, rw], [kh, kw]) = (gather.result, gather.taps);
    if ya.times != 1 || ya.tap.abs() != 1 || from * to * kh * kw > WEIGHTS {
        return None;
    }
    // A number of f64 takes two registers.
    let number = dtype.bytes();
    let longest = COLUMN * 4 / number;
    let tiles = to.div_ceil(CHANNELS);
    let tile = to.div_ceil(tiles);
    let threads = |column: usize| rw * rh.div_ceil(column) * tiles;
    // Instructions of a thread, times the warps that wait for each other.
    let time = |&column: &usize| {
        let sums = kh * (tile * column + tile.div_ceil(4)) + column + kh - 1;
        let warps = gather.samples * gather.networks * threads(column) / 32;
        sums * (2 * warps).max(3 * WARPS)
    };
    let column = (1..=longest.min(rh)).filter(|&c| threads(c) <= THREADS);
    let column = column.min_by_key(time)?;
    let (threads, chunks) = (threads(column), rh.div_ceil(column));
    // Weights are read four at a time.
    let four = if tile > 2 { 4 } else { 1 };
    let stride = tiles * tile.next_multiple_of(four);
    let (y0, height) = extent(ya, chunks * column, kh);
    let (x0, width) = extent(xa, rw, kw);
    let [ih, iw] = gather.image;
    // Rows of zeros above and below the image.
    let above = (-y0).max(0) as usize;
    let rows = (above as isize + y0) as usize + height;
    let stage = Stage::new([ih, iw], above, rows.max(above + ih));
    // As many samples as a block has threads for, and no more than leave a block for every multiprocessor.
    let spread = gather.samples * gather.networks / BLOCKS;
    let together = (THREADS / threads).min(spread.max(1)).min(gather.samples);
    // Channels that are read at a time.
    let weights = |slab: usize| (slab * kh * kw * stride).next_multiple_of(4);
    let bytes = |slab: usize| (weights(slab) + together * slab * stage.area()) * number;
    let slab = (1..=from)
        .rev()
        .find(|&slab| from.is_multiple_of(slab) && bytes(slab) <= SHARED)?;
    let positions = gather.positions();
    let along = |a: Affine, tap: &str, taps: usize| match a.tap > 0 {
        true => format!("{tap} * {}", a.tap),
        false => format!("({} - {tap}) * {}", taps as isize - 1, -a.tap),
    };
    let loads = match four {
        4 => format!(
            "Four w[{fours}];\n\
             #pragma unroll\n\
             for (int q = 0; q < {fours}; ++q) w[q] = ((const Four*)own)[q];\n",
            fours = tile.div_ceil(4),
        ),
        _ => String::new(),
    };
    let inside = match x0 >= 0 && x0 as usize + width <= iw {
        true => String::new(),
        false => format!("sx < 0 || sx >= {iw} ? (T)0 : "),
    };
    let text = format!(
        "({parameters}) {{\n\
         struct __align__({align}) Four {{ T x[4]; }};\n\
         extern __shared__ __align__(32) unsigned char memory[];\n\
         T* const weights = (T*)memory; T* const image = weights + {weights};\n\
         const long long network = blockIdx.y;\n\
         out += network * {out_numbers}; a0 += network * {in_numbers}; a1 += network * {own_weights};\n\
         const int first = blockIdx.x * {together}, count = min({together}, {samples} - first);\n\
         a0 += (long long)first * {sample};\n\
         const int x = threadIdx.x % {rw}, y = threadIdx.x / {rw} % {chunks} * {column};\n\
         const int part = threadIdx.x / {part} % {tiles}, s = threadIdx.x / {threads};\n\
         T sum[{tile}][{column}] = {{}};\n\
         {clear}\
         for (int c0 = 0; c0 < {from}; c0 += {slab}) {{\n\
         #pragma unroll 4\n\
         for (int e = threadIdx.x; e < {filled}; e += {THREADS}) {{\n\
         const int q = e % {stride}, k = e / {stride}, ty = k % {kh}, tx = k / {kh} % {kw}, c = c0 + k / {taps};\n\
         const int part = q % {padded}, m = q / {padded} * {tile} + part, t = ty * {kw} + tx;\n\
         weights[e] = part < {tile} && m < {to} ? a1[{weight}] : (T)0;\n\
         }}\n\
         {copy}\
         __syncthreads();\n\
         if (s < count) {{\n\
         const T* const corner = image + s * {image} + (y + {top}) * {iw};\n\
         for (int c = 0; c < {slab}; ++c)\n\
         #pragma unroll\n\
         for (int tx = 0; tx < {kw}; ++tx) {{\n\
         const int sx = x * {times} + {across} + ({x0});\n\
         const T* const line = corner + c * {area} + sx;\n\
         T v[{seen}];\n\
         #pragma unroll\n\
         for (int j = 0; j < {seen}; ++j) v[j] = {inside}line[j * {iw}];\n\
         #pragma unroll\n\
         for (int ty = 0; ty < {kh}; ++ty) {{\n\
         const T* const own = weights + ((c * {kw} + tx) * {kh} + ty) * {stride} + part * {padded};\n\
         {loads}\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m)\n\
         #pragma unroll\n\
         for (int j = 0; j < {column}; ++j) sum[m][j] += {factor} * v[j + {down}];\n\
         }}\n\
         }}\n\
         }}\n\
         {again}\
         }}\n\
         if (s >= count) return;\n\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m)\n\
         #pragma unroll\n\
         for (int j = 0; j < {column}; ++j)\n\
         if (part * {tile} + m < {to} && y + j < {rh})\n\
         out[((long long)(first + s) * {to} + part * {tile} + m) * {positions} + (y + j) * {rw} + x] = sum[m][j];\n\
         }}",
        parameters = parameters(2),
        align = 4 * number,
        out_numbers = gather.samples * to * positions,
        in_numbers = gather.samples * from * gather.plane(),
        own_weights = from * to * kh * kw,
        samples = gather.samples,
        sample = from * gather.plane(),
        filled = slab * kh * kw * stride,
        weights = weights(slab),
        image = slab * stage.area(),
        area = stage.area(),
        top = above as isize + y0,
        taps = kh * kw,
        padded = tile.next_multiple_of(four),
        weight = gather.weight,
        part = rw * chunks,
        times = xa.times,
        across = along(xa, "tx", kw),
        seen = column + kh - 1,
        down = along(ya, "ty", kh),
        clear = stage.clear("image", together * slab),
        copy = stage.copy("image", "a0", "count", [slab, from], "c0"),
        again = if slab < from {
            "__syncthreads();\n"
        } else {
            ""
        },
        factor = if four == 4 {
            "w[m / 4].x[m % 4]"
        } else {
            "own[m]"
        },
    );
    Some(vec![Call::Kernel(Code {
        text,
        blocks: [gather.samples.div_ceil(together), gather.networks, 1],
        shared: bytes(slab),
        operands: operands(2),
        scratch: 0,
    })])
}
