//! Convolutions of few channels whose windows move by one row: images and weights lie in shared memory, and a thread makes
//! some channels of one or two columns of positions. What it reads of the image serves all its channels and taps.
//!
//! Where two columns are made, windows of a max-pool of two by two can be too, and only those are stored. An image that is
//! the gradient of such a pool is read as that, a quarter of its numbers and where each belongs, and spread in shared memory.

use super::gather::{Affine, Gather};
use super::stage::Stage;
use super::{Call, Code, Operand, THREADS, index, operands, parameters};
use crate::real::Dtype;

/// Channels and positions that a thread makes, at most.
const CHANNELS: usize = 8;
const COLUMN: usize = 8;
/// Sums of a thread that makes two columns.
const SUMS: usize = 32;
/// Rows of a result that a thread of these makes whole.
const WHOLE: usize = 16;
/// Bytes of shared memory: several blocks fit on a multiprocessor, or two where images are spread. No GPU with tensor cores
/// for TF32 has less than 99 KiB for a block.
const SHARED: usize = 72 << 10;
const SPREAD: usize = 96 << 10;
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

/// Zeros before each row of an image in shared memory, and numbers of the row: an image that is spread has all that threads
/// read.
fn beside(gather: &Gather, form: Form) -> Option<(usize, usize)> {
    let (x0, width) = extent(gather.affine?[1], gather.result[1], gather.taps[1]);
    let iw = gather.image[1];
    let left = (-x0).max(0) as usize;
    Some(match form {
        Form::Spread => (left, ((x0 + left as isize) as usize + width).max(left + iw)),
        Form::Plain | Form::Pooled => (0, iw),
    })
}

/// What is read and what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// All of both.
    Plain,
    /// Of the image what a max-pool left of its gradient.
    Spread,
    /// Of the result its max-pool.
    Pooled,
}

/// What a thread makes.
struct Tile {
    /// Columns.
    wide: usize,
    /// Positions of a column.
    column: usize,
    /// Channels, and how many threads it takes for all of them.
    channels: usize,
    parts: usize,
}

impl Tile {
    fn new(gather: &Gather, dtype: Dtype, form: Form) -> Option<Self> {
        let [ya, xa] = gather.affine?;
        let [from, to] = gather.channels;
        let ([rh, rw], [kh, kw]) = (gather.result, gather.taps);
        if ya.times != 1 || ya.tap.abs() != 1 || from * to * kh * kw > WEIGHTS {
            return None;
        }
        let threads = |wide: usize, column: usize, parts: usize| {
            (rw / wide * rh.div_ceil(column) * parts).max(1)
        };
        let tile = |wide: usize, column: usize, most: usize| {
            let parts = to.div_ceil(most.clamp(1, CHANNELS));
            Tile {
                wide,
                column,
                channels: to.div_ceil(parts),
                parts,
            }
        };
        let (x0, width) = extent(xa, rw, kw);
        let iw = gather.image[1];
        let side_by_side = xa.times == 1 && xa.tap.abs() == 1 && rw.is_multiple_of(2);
        let found = match form {
            Form::Pooled => {
                let even = rh.is_multiple_of(2) && iw.is_multiple_of(2) && x0 % 2 == 0;
                let inside = x0 >= 0 && x0 as usize + width <= iw;
                (side_by_side && even && inside).then(|| tile(2, 2, SUMS / 4))?
            }
            Form::Spread => {
                let column = if rh <= WHOLE { rh } else { COLUMN };
                let (left, line) = beside(gather, form)?;
                let even = line.is_multiple_of(2) && (x0 + left as isize) % 2 == 0;
                let wide = if side_by_side && even { 2 } else { 1 };
                tile(wide, column, SUMS / (wide * column))
            }
            Form::Plain => {
                // A number of f64 takes two registers.
                let longest = COLUMN * 4 / dtype.bytes();
                let Tile {
                    channels, parts, ..
                } = tile(1, 1, CHANNELS);
                // Instructions of a thread, times the warps that wait for each other.
                let time = |&column: &usize| {
                    let sums = kh * (channels * column + channels.div_ceil(4)) + column + kh - 1;
                    let warps = gather.samples * gather.networks * threads(1, column, parts) / 32;
                    sums * (2 * warps).max(3 * WARPS)
                };
                let column = (1..=longest.min(rh)).filter(|&c| threads(1, c, parts) <= THREADS);
                tile(1, column.min_by_key(time)?, CHANNELS)
            }
        };
        (threads(found.wide, found.column, found.parts) <= THREADS).then_some(found)
    }
}

/// The contraction, if it is of that kind.
pub fn calls(gather: &Gather, dtype: Dtype) -> Option<Vec<Call>> {
    let mut code = code(gather, dtype, Form::Plain, "")?;
    code.text = format!("({}) {{\n{}", parameters(2), code.text);
    code.operands = operands(2);
    Some(vec![Call::Kernel(code)])
}

/// The contraction of an image that is the gradient of a max-pool of two by two.
pub fn of_spread(gather: &Gather, dtype: Dtype) -> Option<Vec<Call>> {
    let mut code = code(gather, dtype, Form::Spread, "")?;
    code.text = format!(
        "(T* __restrict__ out, const T* __restrict__ a1, const T* __restrict__ places, const T* __restrict__ a0) {{\n{}",
        code.text
    );
    code.operands = vec![
        Operand::Result,
        Operand::Argument(1),
        Operand::Through(0, 0),
        Operand::Through(0, 1),
    ];
    Some(vec![Call::Kernel(code)])
}

/// The contraction whose result is pooled by two by two: `end` says what becomes of number `row` of the pool, the largest
/// number `best` of its window, which is number `chosen` of the four. The text is the body alone.
pub fn pooled(gather: &Gather, dtype: Dtype, end: &str) -> Option<Code> {
    code(gather, dtype, Form::Pooled, end)
}

/// The body of the kernel, from the arrays `a0` of images and `a1` of weights.
fn code(gather: &Gather, dtype: Dtype, form: Form, end: &str) -> Option<Code> {
    let [ya, xa] = gather.affine?;
    let [from, to] = gather.channels;
    let ([rh, rw], [kh, kw]) = (gather.result, gather.taps);
    let number = dtype.bytes();
    let Tile {
        wide,
        column,
        channels: tile,
        parts: tiles,
    } = Tile::new(gather, dtype, form)?;
    let (across, chunks) = (rw / wide, rh.div_ceil(column));
    let threads = across * chunks * tiles;
    // Weights are read four at a time.
    let four = if tile > 2 { 4 } else { 1 };
    let stride = tiles * tile.next_multiple_of(four);
    let (y0, height) = extent(ya, chunks * column, kh);
    let (x0, width) = extent(xa, rw, kw);
    let [ih, iw] = gather.image;
    // Rows of zeros above and below the image; none where it is known which row a thread reads.
    let whole = form == Form::Spread && chunks == 1;
    let above = if whole { 0 } else { (-y0).max(0) as usize };
    let rows = if whole {
        ih
    } else {
        (above as isize + y0) as usize + height
    };
    let (left, line) = beside(gather, form)?;
    let stage = Stage::new([ih, iw], above, rows.max(above + ih)).beside(left, line);
    // As many samples as a block has threads for, and no more than leave a block for every multiprocessor.
    let share = gather.samples * gather.networks / BLOCKS;
    let together = (THREADS / threads).min(share.max(1)).min(gather.samples);
    // Channels that are read at a time.
    let weights = |slab: usize| (slab * kh * kw * stride).next_multiple_of(4);
    let bytes = |slab: usize| (weights(slab) + together * slab * stage.area()) * number;
    let most = if form == Form::Spread { SPREAD } else { SHARED };
    let slab = (1..=from)
        .rev()
        .find(|&slab| from.is_multiple_of(slab) && bytes(slab) <= most)?;
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
    let inside = match left + line > iw || (x0 >= 0 && x0 as usize + width <= iw) {
        true => String::new(),
        false => format!("sx < 0 || sx >= {iw} ? (T)0 : "),
    };
    let seen = if whole { ih } else { column + kh - 1 };
    // Two columns share what they read; one reads what each column of taps needs.
    let (before, within) = match wide {
        2 => (
            format!(
                "T v[{cols}][{seen}];\n\
                 #pragma unroll\n\
                 for (int q = 0; q < {cols}; q += 2)\n\
                 #pragma unroll\n\
                 for (int j = 0; j < {seen}; ++j) {{\n\
                 const Two two = *(const Two*)(corner + c * {area} + j * {line} + q);\n\
                 v[q][j] = two.x[0]; v[q + 1][j] = two.x[1];\n\
                 }}\n",
                cols = (kw + 1).next_multiple_of(2),
                area = stage.area(),
            ),
            format!("const int q = {};\n", along(xa, "tx", kw)),
        ),
        _ => (
            String::new(),
            format!(
                "const int q = 0, sx = x * {times} + {over} + ({x0});\n\
                 const T* const from = corner + c * {area} + {over};\n\
                 T v[1][{seen}];\n\
                 #pragma unroll\n\
                 for (int j = 0; j < {seen}; ++j) v[0][j] = {inside}from[j * {line}];\n",
                times = xa.times,
                over = along(xa, "tx", kw),
                area = stage.area(),
            ),
        ),
    };
    let seen_row = match whole {
        true => format!("j + {} + ({y0})", along(ya, "ty", kh)),
        false => format!("j + {}", along(ya, "ty", kh)),
    };
    let copy = match form {
        Form::Spread => stage.spread("image", ["a0", "places"], "count", [slab, from], "c0"),
        Form::Plain | Form::Pooled => stage.copy("image", "a0", "count", [slab, from], "c0"),
    };
    let sample = match form {
        Form::Spread => from * gather.plane() / 4,
        Form::Plain | Form::Pooled => from * gather.plane(),
    };
    let (pointer, finish) = match form {
        Form::Pooled => (String::new(), pool(gather, tile, end)),
        Form::Plain | Form::Spread => (
            format!("out += network * {};\n", gather.samples * to * positions),
            format!(
                "#pragma unroll\n\
                 for (int m = 0; m < {tile}; ++m)\n\
                 #pragma unroll\n\
                 for (int j = 0; j < {column}; ++j)\n\
                 #pragma unroll\n\
                 for (int q = 0; q < {wide}; ++q)\n\
                 if (part * {tile} + m < {to} && y + j < {rh})\n\
                 out[((long long)(first + s) * {to} + part * {tile} + m) * {positions} + (y + j) * {rw} + x + q] = sum[m][j][q];\n",
            ),
        ),
    };
    let places = match form {
        Form::Spread => format!(
            "places += network * {} + (long long)first * {sample};\n",
            gather.samples * sample
        ),
        Form::Plain | Form::Pooled => String::new(),
    };
    let text = format!(
        "struct __align__({align}) Four {{ T x[4]; }};\n\
         struct __align__({half}) Two {{ T x[2]; }};\n\
         extern __shared__ __align__(32) unsigned char memory[];\n\
         T* const weights = (T*)memory; T* const image = weights + {weights};\n\
         const long long network = blockIdx.y;\n\
         const int first = blockIdx.x * {together}, count = min({together}, {samples} - first);\n\
         {pointer}{places}a0 += network * {in_numbers} + (long long)first * {sample}; a1 += network * {own_weights};\n\
         const int x = threadIdx.x % {across} * {wide}, y = threadIdx.x / {across} % {chunks} * {column};\n\
         const int part = threadIdx.x / {part} % {tiles}, s = threadIdx.x / {threads};\n\
         T sum[{tile}][{column}][{wide}] = {{}};\n\
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
         const T* const corner = image + s * {image} + (y + {top}) * {line} + x * {times} + ({start});\n\
         {rolled}for (int c = 0; c < {slab}; ++c) {{\n\
         {before}\
         #pragma unroll\n\
         for (int tx = 0; tx < {kw}; ++tx) {{\n\
         {within}\
         #pragma unroll\n\
         for (int ty = 0; ty < {kh}; ++ty) {{\n\
         const T* const own = weights + ((c * {kw} + tx) * {kh} + ty) * {stride} + part * {padded};\n\
         {loads}\
         #pragma unroll\n\
         for (int m = 0; m < {tile}; ++m)\n\
         #pragma unroll\n\
         for (int j = 0; j < {column}; ++j) {{\n\
         const int r = {seen_row};\n\
         if (r >= 0 && r < {seen})\n\
         #pragma unroll\n\
         for (int i = 0; i < {wide}; ++i) sum[m][j][i] += {factor} * v[q + i][r];\n\
         }}\n\
         }}\n\
         }}\n\
         }}\n\
         }}\n\
         {again}\
         }}\n\
         if (s >= count) return;\n\
         {finish}}}",
        align = 4 * number,
        half = 2 * number,
        in_numbers = gather.samples * sample,
        own_weights = from * to * kh * kw,
        samples = gather.samples,
        filled = slab * kh * kw * stride,
        weights = weights(slab),
        image = slab * stage.area(),
        top = if whole { 0 } else { above as isize + y0 },
        start = x0 + left as isize,
        taps = kh * kw,
        padded = tile.next_multiple_of(four),
        weight = gather.weight,
        part = across * chunks,
        times = xa.times,
        clear = stage.clear("image", together * slab),
        rolled = if wide == 2 { "#pragma unroll 1\n" } else { "" },
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
    Some(Code {
        text,
        blocks: [gather.samples.div_ceil(together), gather.networks, 1],
        shared: bytes(slab),
        operands: Vec::new(),
        scratch: 0,
    })
}

/// The largest number of each window of sums; NaN counts as largest.
fn pool(gather: &Gather, tile: usize, end: &str) -> String {
    let [rh, rw] = gather.result.map(|n| n / 2);
    let to = gather.channels[1];
    let index = index(gather.networks * gather.samples * to * gather.positions());
    format!(
        "#pragma unroll\n\
         for (int m = 0; m < {tile}; ++m) if (part * {tile} + m < {to}) {{\n\
         T best = sum[m][0][0]; int chosen = 0;\n\
         #pragma unroll\n\
         for (int tap = 1; tap < 4; ++tap) {{\n\
         const T v = sum[m][tap / 2][tap % 2]; if (v > best || v != v) {{ best = v; chosen = tap; }}\n\
         }}\n\
         typedef {index} I;\n\
         const I row = (((I)network * {samples} + first + s) * {to} + part * {tile} + m) * {area} + y / 2 * {rw} + x / 2;\n\
         {end}}}\n",
        samples = gather.samples,
        area = rh * rw,
    )
}
