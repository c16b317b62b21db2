//! The kernel of the maps.

use std::f64::consts::FRAC_1_PI;

use polariscope_diff::Dtype;
use polariscope_diff::cuda::CudaSource;

use super::{Borders, PooledStack};
use crate::gpu::text::{Kind, THREADS, number};

const PARAMETERS: &str = "const unsigned* __restrict__ pairs, const T* __restrict__ x_left, \
     const T* __restrict__ x_right, const T* __restrict__ r_left, const T* __restrict__ r_right, \
     const T* __restrict__ c_left, const T* __restrict__ c_right, T* __restrict__ made_k, T* __restrict__ made_t";

/// Maps of all displacements of all pairs, a warp each; leaves the sums of c and Θ of each.
pub(in crate::gpu) fn map(maps: &PooledStack, kind: Kind) -> CudaSource {
    let words = Words { maps, kind };
    // Registers for both maps and what a row needs on its way: so many blocks share those of a multiprocessor.
    let blocks = match kind.dtype {
        Dtype::F32 => 2,
        Dtype::F64 => 1,
    };
    let layers = format!(
        "#pragma unroll 1\nfor (int l = 0; l < {}; l++) {{\n{}}}\n",
        maps.layers.len(),
        words.layer()
    );
    let body = words.start() + &words.walls() + &layers + &words.leave();
    let bounds = format!("{THREADS}, {blocks}");
    kind.source(&words.tables(), [PARAMETERS, &body], &bounds, 0)
}

struct Words<'a> {
    maps: &'a PooledStack,
    kind: Kind,
}

impl Words<'_> {
    /// Text that is there for zeros beyond the borders alone.
    fn walled(&self, text: String) -> String {
        match self.maps.borders {
            Borders::Circular => String::new(),
            Borders::Walls => text,
        }
    }

    /// A statement about k, and the same about t.
    fn both(&self, text: &str) -> String {
        let tangent = text.replace("k_", "t_").replace("k[", "t[");
        text.to_owned() + &self.kind.theta(tangent)
    }

    /// Numbers of a side in an entry: every row twice.
    fn rows(&self) -> usize {
        2 * self.maps.displacements()
    }

    /// What differs between layers.
    fn tables(&self) -> String {
        let layers = &self.maps.layers;
        let pairs = match self.kind.dtype {
            Dtype::F32 => "typedef float2 T2;\n",
            Dtype::F64 => "typedef double2 T2;\n",
        };
        let table = |name: &str, values: Vec<f64>| {
            let list: Vec<String> = values.into_iter().map(number).collect();
            let (n, list) = (list.len(), list.join(","));
            format!("__constant__ T {name}[{n}] = {{{list}}};\n")
        };
        pairs.to_owned()
            + &table("OWN", layers.iter().map(|l| l.own).collect())
            + &table("ADD", layers.iter().map(|l| l.add).collect())
            + &table("FACTOR", layers.iter().map(|l| l.factor).collect())
    }

    /// Which pair and displacement, D of the inputs, and the sides `p` at (0, x) and `q` at (dy, x2).
    fn start(&self) -> String {
        let [height, width] = self.maps.grid;
        let (positions, warps) = (height * width, THREADS / 32);
        let [roots, _] = self.maps.numbers();
        format!(
            "const int lane = threadIdx.x % 32;\n\
             const int pair = blockIdx.x / {chunks}, d = blockIdx.x % {chunks} * {warps} + threadIdx.x / 32;\n\
             if (d >= {positions}) return;\n\
             const unsigned both = pairs[pair];\nconst int row = both >> 16, column = both & 65535u;\n\
             const int dy = d / {width}, dx = d % {width};\n\
             const int x = lane < {width} ? lane : 0, x2 = x + dx < {width} ? x + dx : x + dx - {width};\n\
             const int left = x == 0 ? {last} : x - 1, right = x == {last} ? 0 : x + 1;\n\
             const T* u1 = x_left + (long long)row * {inputs} + x;\n\
             const T* u2 = x_right + (long long)column * {inputs} + x2;\n\
             T k[{height}];\n{}\
             #pragma unroll\nfor (int r = 0; r < {height}; r++) {{\n\
             const int r2 = r + dy < {height} ? r + dy : r + dy - {height};\nT sum = 0;\n\
             for (int c = 0; c < {channels}; c++) {{\n\
             const T e = u1[c * {positions} + r * {width}] - u2[c * {positions} + r2 * {width}];\n\
             sum = FMA(e, e, sum);\n}}\nk[r] = sum;\n{}}}\n\
             const T2* p = (const T2*)r_left + (long long)row * {each} + x;\n\
             const T2* q = (const T2*)r_right + (long long)column * {each} + dy * {width} + x2;\n",
            self.kind.theta(format!("T t[{height}];\n")),
            self.kind.theta("t[r] = 0;\n"),
            chunks = positions.div_ceil(warps),
            last = width - 1,
            inputs = self.maps.channels * positions,
            channels = self.maps.channels,
            each = roots / 2,
        )
    }

    /// Walls beside the lane: whether one sample goes on beyond, and sums of its variance there.
    fn walls(&self) -> String {
        let (width, [_, sums]) = (self.maps.grid[1], self.maps.numbers());
        self.walled(format!(
            "const bool wall_l = x == 0 || x2 == 0, wall_r = x == {last} || x2 == {last};\n\
             const T open_l = wall_l ? 0 : 1, open_r = wall_r ? 0 : 1;\n\
             const bool side_l = wall_l && x != x2, side_r = wall_r && x != x2;\n\
             const T* const cp = c_left + (long long)row * {sums} + x;\n\
             const T* const cq = c_right + (long long)column * {sums} + dy * {width} + x2;\n\
             const T* cl = x == 0 ? cq - 1 : cp - 1;\nconst T* cr = x == {last} ? cq + 1 : cp + 1;\n",
            last = width - 1,
        ))
    }

    /// Layer l: `p` and `q` are the sides of what it reads, and then those of its kink.
    fn layer(&self) -> String {
        let ([height, width], rows) = (self.maps.grid, self.rows());
        let scale = match self.maps.layers.iter().any(|l| l.factor != 1.0) {
            true => format!(
                "if (FACTOR[l] != (T)1) {{\n#pragma unroll\nfor (int r = 0; r < {height}; r++) {{\n{}}}\n}}\n",
                self.both("k[r] *= FACTOR[l];\n")
            ),
            false => String::new(),
        };
        let (above, first) = match self.maps.borders {
            Borders::Circular => (format!("k[{}]", height - 1), "k[0]"),
            Borders::Walls => ("0".to_owned(), "0"),
        };
        let sum = match self.maps.borders {
            Borders::Circular => {
                "const T k_sum = (__shfl_sync(~0u, k_rows, left) + k_rows) + __shfl_sync(~0u, k_rows, right);\n"
            }
            Borders::Walls => {
                "T k_sum = FMA(open_l, __shfl_sync(~0u, k_rows, left), k_rows);\n\
                 k_sum = FMA(open_r, __shfl_sync(~0u, k_rows, right), k_sum);\n"
            }
        };
        let beyond = self.walled(format!(
            "const T factor = FACTOR[l];\n\
             if (dy != 0) {{\nconst T a = q[-{width}].x, b = q[{}].x;\nk_above = factor * a * a; k_first = factor * b * b;\n}}\n",
            height * width
        ));
        let between = self.walled(format!(
            "if (r + 1 == {height} - dy && dy != 0) {{\nconst T a = p[(r + 1) * {width}].x;\nk_below = factor * a * a;\n{}}}\n\
             if (r == {height} - dy) {{\nconst T a = p[(r - 1) * {width}].x;\nk_above = factor * a * a;\n{}}}\n",
            self.kind.theta("t_below = 0;\n"),
            self.kind.theta("t_above = 0;\n"),
        ));
        let beside = self.walled(format!(
            "if (side_l) k_sum += cl[r * {width}];\nif (side_r) k_sum += cr[r * {width}];\n"
        ));
        format!(
            "{scale}const T own = OWN[l];\n(void)own;\n{}{beyond}\
             #pragma unroll\nfor (int r = 0; r < {height}; r++) {{\n{}{between}{}{}{beside}\
             const T2 a = p[{rows} + r * {width}], b = q[{rows} + r * {width}];\n{}}}\n\
             p += {rows}; q += {rows};\n{}",
            self.both(&format!("T k_above = {above}, k_first = {first};\n")),
            self.both(&format!(
                "T k_below = r + 1 < {height} ? k[r + 1] : k_first;\n"
            )),
            self.both("const T k_rows = (k_above + k[r]) + k_below;\nk_above = k[r];\n"),
            self.both(sum),
            self.kinked(),
            self.walled(format!("cl += {rows}; cr += {rows};\n")),
        )
    }

    /// D and Θ of row r after the kink, from `k_sum`, `t_sum` and the sides a and b.
    fn kinked(&self) -> String {
        let (kink, gain) = (self.maps.kink, self.maps.kink.gain());
        let share = kink.beta * kink.beta / gain;
        let add = match self.maps.layers.iter().any(|l| l.add != 0.0) {
            true => " + ADD[l]",
            false => "",
        };
        let theta = self.kind.theta(format!(
            "T slope = FMA(angle, {}, (T)1);\n\
             if (inverse == 0) slope = a.y + b.y > 0 ? {} : {};\n\
             t[r] = slope * FMA(own, product * h, t_sum{add});\n",
            number(-4.0 * FRAC_1_PI * share),
            number(kink.at_zero * kink.alpha / gain),
            number(kink.at_zero * kink.at_zero / gain),
        ));
        format!(
            "const T e = a.x - b.x, inverse = a.y * b.y, product = a.x * b.x;\n\
             const T w = saturated(FMA(-e, e, k_sum) * inverse), h = FMA((T)-2, w, (T)1);\n\
             T angle, f;\nturned(w, h, angle, f);\n\
             k[r] = FMA(product * {}, f, k_sum);\n{theta}",
            number(-8.0 * FRAC_1_PI * share),
        )
    }

    /// Sums of c and Θ over the map.
    fn leave(&self) -> String {
        let [height, width] = self.maps.grid;
        let scale = self.maps.layers.last().map_or(1.0, |l| l.entry.scale);
        let out = number(scale * self.maps.kink.gain());
        let leave = |name: &str| {
            format!(
                "for (int o = 16; o > 0; o >>= 1) sum_{name} += __shfl_xor_sync(~0u, sum_{name}, o);\n\
                 if (lane == 0) made_{name}[(long long)pair * {} + d] = sum_{name} * {out};\n",
                height * width
            )
        };
        format!(
            "T sum_k = 0, sum_t = 0;\n(void)sum_t;\nif (lane < {width}) {{\n#pragma unroll\n\
             for (int r = 0; r < {height}; r++) {{\nconst T a = p[r * {width}].x, b = q[r * {width}].x;\n\
             sum_k += HALF * (FMA(a, a, b * b) - k[r]);\n{}}}\n}}\n{}{}",
            self.kind.theta("sum_t += t[r];\n"),
            leave("k"),
            self.kind.theta(leave("t")),
        )
    }
}
