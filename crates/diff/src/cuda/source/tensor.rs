//! Convolutions of f32 on tensor cores, without groups: C[m, n] = Σ_k A(m, k) B(k, n) with terms k in slabs of sixteen.
//!
//! | | m | n | slabs |
//! |---|---|---|---|
//! | F: y | output channel | sample, output position | channels of x, taps |
//! | X: dx | input channel | sample, input position | channels of dy, taps |
//! | W: dw | output channel | input channel, tap | samples and output positions |
//!
//! Windows that move by s rows reach a row of dx by one in s of their taps: positions of X are taken by phases, rows and
//! columns modulo s, and slabs of taps that a phase does not see are left out.
//!
//! **Precision.** Tensor cores multiply numbers of 11 bits and ignore the other 13. A number is the sum of two of them to
//! 22 bits, x = h + l, h cut and l rounded (half a unit is added before it is cut), and x y = h h' + h l' + l h' but for
//! 2⁻²¹, where a product of f32 errs by 2⁻²⁴. Their sums are cut, not rounded, so only eight terms are summed there, and
//! added to the rest in f32: of long sums the rounding is about that of f32. [`Precision::Fast`] takes h h' alone and
//! leaves sums to the tensor cores.

use super::conv::Sizes;
use super::gather::Gather;
use super::{Call, Code, Elements, Operand, THREADS};
use crate::device::Precision;
use crate::trace::Conv;

/// Terms of a slab.
const SLAB: usize = 16;
/// Slabs that are read ahead.
const STAGES: usize = 4;
/// Rows of shared memory are this much longer than the tile: then the four rows that a warp reads lie in other banks.
const SKEW: usize = 8;
/// The same for rows of a slab's terms.
const TERM_SKEW: usize = 4;
/// Blocks that the chip holds.
const BLOCKS: usize = 264;
/// Channels that are worth a slab: below, too many of its terms are zeros.
const CHANNELS: usize = 12;

/// Numbers whose sum of parts takes as long as a slab of the largest tile.
const SUM: usize = 1 << 20;
/// Slabs that are worth a part.
const SLABS: usize = 8;

/// Warps along m, of the eight of a block.
const ACROSS: usize = 2;

/// A block's share of C.
#[derive(Clone, Copy)]
struct Tile {
    m: usize,
    n: usize,
}

/// From the largest: what is read is used most often.
const TILES: [Tile; 4] = [
    Tile { m: 128, n: 128 },
    Tile { m: 64, n: 256 },
    Tile { m: 64, n: 128 },
    Tile { m: 64, n: 64 },
];

impl Tile {
    /// The tile that takes the least time: whole rounds of the blocks that the chip holds, smaller ones at a loss.
    fn best(m: usize, n: usize, networks: usize) -> Tile {
        let time = |tile: &Tile| {
            let blocks = m.div_ceil(tile.m) * n.div_ceil(tile.n) * networks;
            let loss = 1.0 + 24.0 / tile.m.min(tile.n) as f64;
            blocks.div_ceil(BLOCKS) as f64 * tile.area() as f64 * loss
        };
        let mut best = TILES[0];
        for tile in TILES {
            if time(&tile) < time(&best) {
                best = tile;
            }
        }
        best
    }

    fn area(&self) -> usize {
        self.m * self.n
    }

    /// Rows and columns of a warp.
    fn warp(&self) -> (usize, usize) {
        (self.m / ACROSS, self.n / (8 / ACROSS))
    }
}

/// Where slabs lie in shared memory.
#[derive(Clone, Copy)]
enum Layout {
    /// Term by term.
    Terms,
    /// Row by row of A, column by column of B.
    Rows,
}

impl Layout {
    /// Numbers of a slab of so many rows.
    fn size(self, rows: usize) -> usize {
        match self {
            Layout::Terms => SLAB * (rows + SKEW),
            Layout::Rows => rows * (SLAB + TERM_SKEW),
        }
    }

    /// Where term `k` of row `r` is.
    fn at(self, rows: usize, k: &str, r: &str) -> String {
        match self {
            Layout::Terms => format!("({k}) * {} + {r}", rows + SKEW),
            Layout::Rows => format!("({r}) * {} + {k}", SLAB + TERM_SKEW),
        }
    }
}

/// A product whose slabs are loaded by given statements.
struct TensorPlan {
    tile: Tile,
    /// Rows and columns of C, of each of the phases.
    m: usize,
    n: usize,
    phases: usize,
    /// Slabs, and how many there are for the phase at hand.
    slabs: usize,
    some: String,
    networks: usize,
    /// Numbers of a network: its result, and its two arguments.
    lengths: [usize; 3],
    /// Parts that the slabs are cut into.
    parts: usize,
    layout: Layout,
    /// What a thread needs to know before, from `m0`, `n0` and the phase.
    before: String,
    /// Loads slab `s` to `left` and `right`.
    load: String,
    /// Where C[m, n] goes, if it is `kept`; n and n + 1 are neighbours where `pairs`.
    store: String,
    kept: String,
    pairs: bool,
    /// The operands, the result first.
    operands: Vec<Operand>,
    scratch: usize,
}

/// The contraction, if tensor cores are worth it.
pub fn gathered(gather: &Gather, precision: Precision) -> Option<Vec<Call>> {
    let [channels, m] = gather.channels;
    let (plane, positions) = (gather.plane(), gather.positions());
    let samples = gather.samples;
    let [kh, kw] = gather.taps;
    let taps = kh * kw;
    // Positions of a phase.
    let [ph, pw] = gather.phases;
    let [h, w] = gather.result;
    let (columns, share) = (w.div_ceil(pw), h.div_ceil(ph) * w.div_ceil(pw));
    let n = samples * share;
    // Indices are ints.
    let small = samples * (channels * plane).max(m * positions) < 1 << 31;
    if channels < CHANNELS || m < CHANNELS || !small {
        return None;
    }
    let tile = Tile::best(m, n * ph * pw, gather.networks);
    let chunks = channels.div_ceil(SLAB);
    let slabs = chunks * taps;
    let width = m.next_multiple_of(tile.m);
    let weights = slabs * SLAB * width;
    let each = SLAB * tile.n / THREADS;
    let guard = match channels % SLAB {
        0 => "ok".to_owned(),
        _ => format!("(ok && first + c < {channels})"),
    };
    // The last phase comes first: it sees most taps where windows begin before the image.
    let before = format!(
        "const int down = {ph} - 1 - phase / {pw}, over = {pw} - 1 - phase % {pw};\n\
         const int ty0 = (down + {by}) % {ph}, tx0 = (over + {bx}) % {pw};\n\
         const int across = ({kw} - tx0 + {pw} - 1) / {pw}, some = ({kh} - ty0 + {ph} - 1) / {ph} * across;\n\
         const int column = threadIdx.x % {bn}, row = threadIdx.x / {bn} * {each};\n\
         const int n = n0 + column, image = n / {share}, p = n % {share};\n\
         const int y = p / {columns} * {ph} + down, x = p % {columns} * {pw} + over;\n\
         const bool there = n < {n} && y < {h} && x < {w};\n",
        by = gather.before[0],
        bx = gather.before[1],
        bn = tile.n,
    );
    let load = format!(
        "const int ty = ty0 + s % some / across * {ph}, tx = tx0 + s % some % across * {pw};\n\
         const int slab = s / some * {taps} + ty * {kw} + tx;\n\
         #pragma unroll\n\
         for (int j = 0; j < {vectors}; ++j) {{\n\
         const int e = threadIdx.x + j * {THREADS}, k = e / {quarter}, c = e % {quarter} * 4;\n\
         copy16(left + {to_left}, weights + (slab * {SLAB} + k) * {width} + m0 + c);\n\
         }}\n\
         const int first = s / some * {SLAB} + row;\n\
         {map}\
         const bool ok = there && inside;\n\
         const float* const from = a0 + (image * {channels} + first) * {plane} + sy * {line} + sx;\n\
         #pragma unroll\n\
         for (int c = 0; c < {each}; ++c)\n\
         copy4(right + {to_right}, {guard} ? from + c * {plane} : a0, {guard});\n",
        vectors = SLAB * tile.m / 4 / THREADS,
        quarter = tile.m / 4,
        to_left = Layout::Terms.at(tile.m, "k", "c"),
        to_right = Layout::Terms.at(tile.n, "row + c", "column"),
        map = gather.map,
        line = gather.image[1],
    );
    // The weights of a slab side by side, zeros where there are none.
    let arranged = format!(
        "const int m = i % {width}, k = (int)(i / {width} % {terms}), s = k / {SLAB}, c = s / {taps} * {SLAB} + k % {SLAB}, \
         t = s % {taps};\n\
         out[i] = m < {m} && c < {channels} ? a0[i / {weights} * {own} + {}] : (T)0;\n",
        gather.weight,
        terms = slabs * SLAB,
        own = m * channels * taps,
    );
    // Where column n belongs on its map, and whether there is such a place.
    let (position, kept) = match gather.phases {
        [1, 1] => (format!("n % {share}"), format!("n < {n}")),
        _ => {
            let y = format!("(n % {share} / {columns} * {ph} + down)");
            let x = format!("n % {columns} * {pw} + over");
            (
                format!("{y} * {w} + {x}"),
                format!("n < {n} && {y} < {h} && {x} < {w}"),
            )
        }
    };
    let scratch = gather.networks * weights;
    let mut arrange = Elements(arranged).code(1, scratch, scratch);
    arrange.operands = vec![Operand::Scratch, Operand::Argument(1)];
    arrange.scratch = scratch;
    let plan = TensorPlan {
        tile,
        m,
        n,
        phases: ph * pw,
        slabs,
        some: format!("{chunks} * some"),
        networks: gather.networks,
        lengths: [samples * m * positions, samples * channels * plane, weights],
        parts: 1,
        layout: Layout::Terms,
        before: format!("const float* const weights = a1;\n{before}"),
        load,
        store: format!("(n / {share} * {m} + m) * {positions} + {position}"),
        kept,
        pairs: gather.phases == [1, 1] && positions.is_multiple_of(2),
        operands: vec![Operand::Result, Operand::Argument(0), Operand::Scratch],
        scratch,
    };
    Some(vec![Call::Kernel(arrange), plan.call(precision)])
}

/// W(x, dy) = dw, if tensor cores are worth it; `w` is the shape of dw.
pub fn weight(conv: &Conv, x: &[usize], w: &[usize], precision: Precision) -> Option<Vec<Call>> {
    let s = Sizes::new(conv, x, w);
    let (positions, plane, columns) = (s.oh * s.ow, s.h * s.w, s.cg * s.taps);
    let terms = s.n * positions;
    if conv.groups != 1 || s.o < CHANNELS || columns < CHANNELS || terms < SLAB || !s.are_small() {
        return None;
    }
    let slabs = terms.div_ceil(SLAB);
    let tile = match s.o {
        ..=64 => TILES[2],
        _ => TILES[0],
    };
    let each = s.o * columns;
    let numbers = conv.networks * each;
    let tiles = conv.networks * s.o.div_ceil(tile.m) * columns.div_ceil(tile.n);
    let parts = parts(tiles, slabs, numbers * TILES[0].area() / tile.area());
    let share = slabs.div_ceil(parts);
    let parts = slabs.div_ceil(share);
    let window = conv.window;
    let (rows_a, rows_b) = (tile.m * SLAB / THREADS, tile.n * SLAB / THREADS);
    let before = format!(
        "const int lane16 = threadIdx.x % {SLAB}, line = threadIdx.x / {SLAB};\n\
         int offset[{rows_b}], oy[{rows_b}], ox[{rows_b}];\n\
         #pragma unroll\n\
         for (int j = 0; j < {rows_b}; ++j) {{\n\
         const int n = n0 + line + j * {step}, t = n % {taps}, c = n / {taps};\n\
         oy[j] = n < {columns} ? t / {kw} * {dh} - {ph} : -(1 << 20);\n\
         ox[j] = t % {kw} * {dw} - {pw};\n\
         offset[j] = c * {plane} + oy[j] * {w} + ox[j];\n\
         }}\n",
        step = THREADS / SLAB,
        taps = s.taps,
        kw = window.kernel[1],
        dh = window.dilation[0],
        dw = window.dilation[1],
        ph = window.pad[0].0,
        pw = window.pad[1].0,
        w = s.w,
    );
    let load = format!(
        "const int k = s * {SLAB} + lane16, image = k / {positions}, p = k % {positions};\n\
         const int y = p / {ow} * {sh}, x = p % {ow} * {sw};\n\
         const bool there = k < {terms};\n\
         const float* const dy = a1 + image * {o} * {positions} + p;\n\
         #pragma unroll\n\
         for (int j = 0; j < {rows_a}; ++j) {{\n\
         const int m = m0 + line + j * {step};\n\
         const bool ok = there && m < {o};\n\
         copy4(left + {to_left}, ok ? dy + m * {positions} : a1, ok);\n\
         }}\n\
         const float* const from = a0 + image * {c} * {plane} + y * {w} + x;\n\
         #pragma unroll\n\
         for (int j = 0; j < {rows_b}; ++j) {{\n\
         const bool ok = there && (unsigned)(y + oy[j]) < {h}u && (unsigned)(x + ox[j]) < {w}u;\n\
         copy4(right + {to_right}, ok ? from + offset[j] : a0, ok);\n\
         }}\n",
        ow = s.ow,
        sh = window.stride[0],
        sw = window.stride[1],
        o = s.o,
        c = s.c,
        h = s.h,
        w = s.w,
        step = THREADS / SLAB,
        to_left = Layout::Rows.at(tile.m, "lane16", &format!("line + j * {}", THREADS / SLAB)),
        to_right = Layout::Rows.at(tile.n, "lane16", &format!("line + j * {}", THREADS / SLAB)),
    );
    let (first, scratch) = match parts {
        1 => (Operand::Result, 0),
        _ => (Operand::Scratch, parts * numbers),
    };
    let plan = TensorPlan {
        tile,
        m: s.o,
        n: columns,
        phases: 1,
        slabs,
        some: slabs.to_string(),
        networks: conv.networks,
        lengths: [each, s.n * s.c * plane, s.n * s.o * positions],
        parts,
        layout: Layout::Rows,
        before,
        load,
        store: format!("part * {numbers} + m * {columns} + n"),
        kept: format!("n < {columns}"),
        pairs: columns.is_multiple_of(2),
        operands: vec![first, Operand::Argument(0), Operand::Argument(1)],
        scratch,
    };
    let mut calls = vec![plan.call(precision)];
    if parts > 1 {
        calls.push(super::conv::add(parts, numbers));
    }
    Some(calls)
}

/// Parts that slabs are cut into: whole rounds of the blocks that the chip holds, and parts that are worth their sum.
fn parts(tiles: usize, slabs: usize, numbers: usize) -> usize {
    let time = |&parts: &usize| {
        let rounds = (tiles * parts).div_ceil(BLOCKS);
        let sums = if parts == 1 { 0 } else { parts * numbers };
        rounds * slabs.div_ceil(parts) * SUM + sums
    };
    let few = 1..=slabs.div_ceil(SLABS);
    few.min_by_key(time).unwrap_or(1)
}

impl TensorPlan {
    fn call(&self, precision: Precision) -> Call {
        let TensorPlan {
            tile,
            m,
            n,
            phases,
            slabs,
            some,
            parts,
            layout,
            before,
            load,
            store,
            kept,
            ..
        } = self;
        let (wm, wn) = tile.warp();
        let (am, an) = (wm / 16, wn / 8);
        let (left, right) = (layout.size(tile.m), layout.size(tile.n));
        let share = slabs.div_ceil(*parts);
        let across = n.div_ceil(tile.n);
        let at = |rows, k: &str, r: &str| layout.at(rows, k, r);
        let (split, multiply) = match precision {
            Precision::Full => (
                "high = __float_as_uint(x) & 0xffffe000u;\n\
                 low = __float_as_uint(x - __uint_as_float(high)) + 0x1000u;",
                "float few[UN][AM][4];\n\
                 EACH begin_with(few[u][i], al[i], bh[u]);\n\
                 EACH multiply(few[u][i], ah[i], bl[u]);\n\
                 EACH multiply(few[u][i], ah[i], bh[u]);\n\
                 EACH for (int c = 0; c < 4; ++c) sum[i][j + u][c] += few[u][i][c];",
            ),
            Precision::Fast => (
                "high = __float_as_uint(x) + 0x1000u; low = 0;",
                "EACH multiply(sum[i][j + u], ah[i], bh[u]);",
            ),
        };
        // Four products that do not wait for each other.
        let un = 4usize.div_ceil(am);
        let each = format!("for (int u = 0; u < {un}; ++u) for (int i = 0; i < {am}; ++i)");
        let multiply = multiply
            .replace("EACH", &each)
            .replace("UN", &un.to_string())
            .replace("AM", &am.to_string());
        let write = match self.pairs {
            true => format!(
                "if (m < {m} && {kept}) *(float2*)(out + {store}) = make_float2(sum[i][j][h * 2], sum[i][j][h * 2 + 1]);"
            ),
            false => format!(
                "if (m < {m} && {kept}) out[{store}] = sum[i][j][h * 2];\n\
                 ++n;\n\
                 if (m < {m} && {kept}) out[{store}] = sum[i][j][h * 2 + 1];"
            ),
        };
        // A warp's lane holds rows g and g + 8 of A, columns g of B and 2t, 2t + 1 of C, terms t and t + 4.
        let text = format!(
            "({parameters}) {{\n\
             extern __shared__ float memory[];\n\
             const auto copy4 = [](float* to, const float* from, bool ok) {{\n\
             asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" :: \
             \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from), \"r\"(ok ? 4 : 0) : \"memory\"); }};\n\
             const auto copy16 = [](float* to, const float* from) {{\n\
             asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" :: \
             \"r\"((unsigned)__cvta_generic_to_shared(to)), \"l\"(from) : \"memory\"); }};\n\
             const auto split = [](float x, unsigned& high, unsigned& low) {{ {split} }};\n\
             const auto multiply = [](float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {{\n\
             asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, \
             {{%0,%1,%2,%3}};\" : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \
             \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1])); }};\n\
             const auto begin_with = [](float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {{\n\
             asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, \
             {{%10,%10,%10,%10}};\" : \"=f\"(c[0]), \"=f\"(c[1]), \"=f\"(c[2]), \"=f\"(c[3]) : \
             \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]), \"f\"(0.f)); }};\n\
             const int part = blockIdx.z % {parts}, m0 = blockIdx.y * {bm};\n\
             const int phase = blockIdx.x / {across}, n0 = blockIdx.x % {across} * {bn};\n\
             const long long network = blockIdx.z / {parts};\n\
             out += network * {}; a0 += network * {}; a1 += network * {};\n\
             {before}\
             const int begin = part * {share}, end = min(begin + {share}, {some});\n\
             const auto load = [&](int s, int stage) {{\n\
             float* const left = memory + stage * {stage}; float* const right = left + {left};\n\
             {load}}};\n\
             for (int s = 0; s < {ahead}; ++s) {{\n\
             if (begin + s < end) load(begin + s, s);\n\
             asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n\
             }}\n\
             const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;\n\
             const int wm = warp % {ACROSS} * {wm}, wn = warp / {ACROSS} * {wn};\n\
             float sum[{am}][{an}][4] = {{}};\n\
             for (int s = begin; s < end; ++s) {{\n\
             asm volatile(\"cp.async.wait_group {waiting};\" ::: \"memory\");\n\
             __syncthreads();\n\
             if (s + {ahead} < end) load(s + {ahead}, (s - begin + {ahead}) % {STAGES});\n\
             asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n\
             const float* const left = memory + (s - begin) % {STAGES} * {stage}; const float* const right = left + {left};\n\
             #pragma unroll\n\
             for (int k = 0; k < {SLAB}; k += 8) {{\n\
             unsigned ah[{am}][4], al[{am}][4];\n\
             #pragma unroll\n\
             for (int i = 0; i < {am}; ++i) {{\n\
             const int r = wm + i * 16 + g;\n\
             split(left[{a0}], ah[i][0], al[i][0]); split(left[{a1}], ah[i][1], al[i][1]);\n\
             split(left[{a2}], ah[i][2], al[i][2]); split(left[{a3}], ah[i][3], al[i][3]);\n\
             }}\n\
             #pragma unroll\n\
             for (int j = 0; j < {an}; j += {un}) {{\n\
             unsigned bh[{un}][2], bl[{un}][2];\n\
             #pragma unroll\n\
             for (int u = 0; u < {un}; ++u) {{\n\
             const int r = wn + (j + u) * 8 + g;\n\
             split(right[{b0}], bh[u][0], bl[u][0]); split(right[{b1}], bh[u][1], bl[u][1]);\n\
             }}\n\
             {multiply}\n\
             }}\n\
             }}\n\
             }}\n\
             #pragma unroll\n\
             for (int i = 0; i < {am}; ++i)\n\
             #pragma unroll\n\
             for (int j = 0; j < {an}; ++j)\n\
             #pragma unroll\n\
             for (int h = 0; h < 2; ++h) {{\n\
             const int m = m0 + wm + i * 16 + g + h * 8; int n = n0 + wn + j * 8 + t * 2;\n\
             {write}\n\
             }}\n\
             }}",
            self.lengths[0],
            self.lengths[1],
            self.lengths[2],
            parameters = super::parameters(2),
            bm = tile.m,
            bn = tile.n,
            stage = left + right,
            ahead = STAGES - 1,
            waiting = STAGES - 2,
            a0 = at(tile.m, "k + t", "r"),
            a1 = at(tile.m, "k + t", "r + 8"),
            a2 = at(tile.m, "k + t + 4", "r"),
            a3 = at(tile.m, "k + t + 4", "r + 8"),
            b0 = at(tile.n, "k + t", "r"),
            b1 = at(tile.n, "k + t + 4", "r"),
        );
        Call::Kernel(Code {
            text,
            blocks: [phases * across, m.div_ceil(tile.m), self.networks * parts],
            shared: STAGES * (left + right) * size_of::<f32>(),
            operands: self.operands.clone(),
            scratch: self.scratch,
        })
    }
}
