//! The three contractions of a convolution, each a product C[m, n] = Σ_k A(m, k) B(k, n) whose operands are read from
//! images as they are needed. With q = (channel, tap) of a group:
//!
//! | | m | n | k |
//! |---|---|---|---|
//! | F: y | output channel | sample, output position | q |
//! | X: dx | input channel | sample, input position | output channel, tap |
//! | W: dw | output channel | q | sample, output position |

use super::{Call, Code, Elements, Operand, THREADS, operands, parameters};
use crate::trace::Conv;

/// Rows and columns of C that a block makes, and terms it reads at a time.
const TILE: usize = 64;
const DEPTH: usize = 16;
/// Blocks that keep the chip busy.
const BLOCKS: usize = 512;
/// Terms that are worth a block.
const TERMS: usize = 1024;

/// A product in each of the networks and groups.
struct Contraction {
    networks: usize,
    groups: usize,
    m: usize,
    n: usize,
    k: usize,
    /// Expressions of g, m, k and g, k, n.
    a: String,
    b: String,
    /// Where C[m, n] of group g goes.
    c: String,
    /// Numbers of a network's arguments.
    lengths: [usize; 2],
}

/// Sizes of one network: N×C×H×W and O×C/g×kh×kw to N×O×OH×OW.
pub struct Sizes {
    pub n: usize,
    pub c: usize,
    pub h: usize,
    pub w: usize,
    pub o: usize,
    pub oh: usize,
    pub ow: usize,
    pub cg: usize,
    pub og: usize,
    pub taps: usize,
}

impl Sizes {
    pub fn new(conv: &Conv, x: &[usize], w: &[usize]) -> Self {
        Sizes {
            n: x[0] / conv.networks,
            c: x[1],
            h: x[2],
            w: x[3],
            o: w[0] / conv.networks,
            oh: conv.window.positions(0, x[2]),
            ow: conv.window.positions(1, x[3]),
            cg: x[1] / conv.groups,
            og: w[0] / conv.networks / conv.groups,
            taps: conv.window.kernel[0] * conv.window.kernel[1],
        }
    }

    /// Whether ints are enough for indices into images.
    pub fn are_small(&self) -> bool {
        self.x().max(self.y()) < 1 << 31
    }

    /// Numbers of x, w and y.
    fn x(&self) -> usize {
        self.n * self.c * self.h * self.w
    }

    fn w(&self) -> usize {
        self.o * self.cg * self.taps
    }

    fn y(&self) -> usize {
        self.n * self.o * self.oh * self.ow
    }

    /// x at the tap `t` of channel `c` of group g, at output position `p` of sample `s`.
    fn patch(&self, conv: &Conv, s: &str, c: &str, t: &str, p: &str) -> String {
        let Sizes { h, w, ow, cg, .. } = self;
        let window = conv.window;
        format!(
            "const int y = {p} / {ow} * {} + {t} / {} * {} - {}, x = {p} % {ow} * {} + {t} % {} * {} - {};\n\
             return y >= 0 && y < {h} && x >= 0 && x < {w} ? \
             image[(({s}) * {} + g * {cg} + {c}) * {} + y * {w} + x] : (T)0;",
            window.stride[0],
            window.kernel[1],
            window.dilation[0],
            window.pad[0].0,
            window.stride[1],
            window.kernel[1],
            window.dilation[1],
            window.pad[1].0,
            self.c,
            h * w
        )
    }
}

/// F(x, w) = y.
pub fn forward(conv: &Conv, x: &[usize], w: &[usize]) -> Vec<Call> {
    let s = Sizes::new(conv, x, w);
    let (taps, positions, q) = (s.taps, s.oh * s.ow, s.cg * s.taps);
    product(&Contraction {
        networks: conv.networks,
        lengths: [s.x(), s.w()],
        groups: conv.groups,
        m: s.og,
        n: s.n * positions,
        k: q,
        a: format!("return a1[(g * {} + m) * {q} + k];", s.og),
        b: format!(
            "const T* const image = a0; const int p = n % {positions}, t = k % {taps};\n{}",
            s.patch(
                conv,
                &format!("n / {positions}"),
                &format!("(k / {taps})"),
                "t",
                "p"
            )
        ),
        c: format!(
            "((long long)(n / {positions}) * {} + g * {} + m) * {positions} + n % {positions}",
            s.o, s.og
        ),
    })
}

/// X(dy, w) = dx; `x` is the shape of dx.
pub fn input(conv: &Conv, x: &[usize], w: &[usize]) -> Vec<Call> {
    let s = Sizes::new(conv, x, w);
    let window = conv.window;
    let (taps, positions, plane, q) = (s.taps, s.oh * s.ow, s.h * s.w, s.cg * s.taps);
    product(&Contraction {
        networks: conv.networks,
        lengths: [s.y(), s.w()],
        groups: conv.groups,
        m: s.cg,
        n: s.n * plane,
        k: s.og * taps,
        a: format!(
            "return a1[(g * {} + k / {taps}) * {q} + m * {taps} + k % {taps}];",
            s.og
        ),
        b: format!(
            "const int p = n % {plane}, t = k % {taps};\n\
             const int y = p / {} + {} - t / {} * {}, x = p % {} + {} - t % {} * {};\n\
             return y >= 0 && x >= 0 && y % {sy} == 0 && x % {sx} == 0 && y / {sy} < {} && x / {sx} < {} ?\n\
             a0[((long long)(n / {plane}) * {} + g * {} + k / {taps}) * {positions} + y / {sy} * {} + x / {sx}] : (T)0;",
            s.w,
            window.pad[0].0,
            window.kernel[1],
            window.dilation[0],
            s.w,
            window.pad[1].0,
            window.kernel[1],
            window.dilation[1],
            s.oh,
            s.ow,
            s.o,
            s.og,
            s.ow,
            sy = window.stride[0],
            sx = window.stride[1],
        ),
        c: format!(
            "((long long)(n / {plane}) * {} + g * {} + m) * {plane} + n % {plane}",
            s.c, s.cg
        ),
    })
}

/// W(x, dy) = dw; `w` is the shape of dw.
pub fn weight(conv: &Conv, x: &[usize], w: &[usize]) -> Vec<Call> {
    let s = Sizes::new(conv, x, w);
    let (taps, positions, q) = (s.taps, s.oh * s.ow, s.cg * s.taps);
    product(&Contraction {
        networks: conv.networks,
        lengths: [s.x(), s.y()],
        groups: conv.groups,
        m: s.og,
        n: q,
        k: s.n * positions,
        a: format!(
            "return a1[((long long)(k / {positions}) * {} + g * {} + m) * {positions} + k % {positions}];",
            s.o, s.og
        ),
        b: format!(
            "const T* const image = a0; const int p = k % {positions}, t = n % {taps};\n{}",
            s.patch(
                conv,
                &format!("k / {positions}"),
                &format!("(n / {taps})"),
                "t",
                "p"
            )
        ),
        c: format!("((long long)g * {} + m) * {q} + n", s.og),
    })
}

/// Blocks of 64 × 64 numbers of C, sixteen a thread; where C is small and sums are long, they are cut into parts that
/// a second kernel adds.
fn product(p: &Contraction) -> Vec<Call> {
    let (rows, columns) = (p.m.div_ceil(TILE), p.n.div_ceil(TILE));
    let tiles = rows * columns * p.groups * p.networks;
    let parts = (BLOCKS / tiles).min(p.k / TERMS).clamp(1, 64);
    let share = p.k.div_ceil(parts).next_multiple_of(DEPTH);
    let parts = p.k.div_ceil(share).max(1);
    let each = p.groups * p.m * p.n;
    let numbers = p.networks * each;
    let Contraction {
        m, n, k, a, b, c, ..
    } = p;
    let mut operands = operands(2);
    let (store, scratch) = match parts {
        1 => (format!("out[{c}]"), 0),
        _ => {
            operands[0] = Operand::Scratch;
            (
                format!("out[(long long)part * {numbers} + {c}]"),
                parts * numbers,
            )
        }
    };
    // Row and column of what a thread loads, and of the 4 × 4 numbers that it sums.
    let text = format!(
        "({parameters}) {{\n\
         __shared__ T left[{DEPTH}][{TILE} + 1], right[{DEPTH}][{TILE} + 1];\n\
         const int g = blockIdx.z / {parts} % {groups}, part = blockIdx.z % {parts};\n\
         const long long network = blockIdx.z / {parts} / {groups};\n\
         out += network * {each}; a0 += network * {}; a1 += network * {};\n\
         const int m0 = blockIdx.y * {TILE}, n0 = blockIdx.x * {TILE};\n\
         const int last = min((part + 1) * {share}, {k});\n\
         const auto load_a = [&](int m, int k) -> T {{ {a} }};\n\
         const auto load_b = [&](int k, int n) -> T {{ {b} }};\n\
         const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;\n\
         T sum[4][4] = {{}};\n\
         for (int k0 = part * {share}; k0 < last; k0 += {DEPTH}) {{\n\
         for (int e = threadIdx.x; e < {TILE} * {DEPTH}; e += {THREADS}) {{\n\
         const int ka = k0 + e % {DEPTH}, ma = m0 + e / {DEPTH};\n\
         left[e % {DEPTH}][e / {DEPTH}] = ma < {m} && ka < last ? load_a(ma, ka) : (T)0;\n\
         const int kb = k0 + e / {TILE}, nb = n0 + e % {TILE};\n\
         right[e / {TILE}][e % {TILE}] = nb < {n} && kb < last ? load_b(kb, nb) : (T)0;\n\
         }}\n\
         __syncthreads();\n\
         #pragma unroll\n\
         for (int d = 0; d < {DEPTH}; ++d) {{\n\
         T u[4], v[4];\n\
         for (int j = 0; j < 4; ++j) {{ u[j] = left[d][row + j]; v[j] = right[d][column + j]; }}\n\
         for (int x = 0; x < 4; ++x) for (int y = 0; y < 4; ++y) sum[x][y] += u[x] * v[y];\n\
         }}\n\
         __syncthreads();\n\
         }}\n\
         for (int x = 0; x < 4; ++x) for (int y = 0; y < 4; ++y) {{\n\
         const int m = m0 + row + x, n = n0 + column + y;\n\
         if (m < {m} && n < {n}) {store} = sum[x][y];\n\
         }}\n\
         }}",
        p.lengths[0],
        p.lengths[1],
        groups = p.groups,
        parameters = parameters(2),
    );
    let mut calls = vec![Call::Kernel(Code {
        text,
        blocks: [columns, rows, p.networks * p.groups * parts],
        shared: 0,
        operands,
        scratch,
    })];
    if parts > 1 {
        calls.push(add(parts, numbers));
    }
    calls
}

/// The sum of parts that lie in the scratch.
pub fn add(parts: usize, numbers: usize) -> Call {
    let adding = format!(
        "T sum = 0;\n#pragma unroll 16\nfor (int part = 0; part < {parts}; ++part) sum += a0[part * {numbers}LL + i];\nout[i] = sum;\n"
    );
    let mut code = Elements(adding).code(1, numbers, parts * numbers);
    code.operands = vec![Operand::Result, Operand::Scratch];
    Call::Kernel(code)
}
