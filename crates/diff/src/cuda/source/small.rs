//! Small products C = A·B, which the vendor's library takes longer to start than to make.
//!
//! A block makes 16 × 16 numbers. It reads all terms of its rows and columns at once, each of its warps sums a share of
//! the terms, and the shares are added in order.

use super::{Call, Code, Product, THREADS, operands, parameters};
use crate::real::Dtype;

/// Rows and columns of a block.
const TILE: usize = 16;
/// A row of shared memory: of the terms of a tile, with numbers in between that keep rows in other banks.
const ROW: usize = TILE + 4;
/// Warps of a block.
const WARPS: usize = THREADS / 32;
/// Multiplications from which on the library is better.
const SMALL: usize = 1 << 23;
/// Bytes of shared memory.
const SHARED: usize = 96 << 10;

/// The kernel, if the product is small.
pub fn product(p: &Product, dtype: Dtype) -> Option<Call> {
    let &Product {
        batch,
        m,
        n,
        k,
        ta,
        tb,
    } = p;
    let number = dtype.bytes();
    let terms = k.max(1);
    let shared = (2 * terms * ROW).max(WARPS * TILE * TILE) * number;
    if batch * m * n * k > SMALL || shared > SHARED {
        return None;
    }
    // Neighbouring threads read neighbouring numbers: along the terms where these lie together, else along the tile.
    let load = |to: &str, from: &str, first: &str, length: usize, along_terms: bool| {
        let (place, at) = match along_terms {
            true => (
                format!("e % {terms}, r = e / {terms}"),
                format!("({first} + r) * {k} + t"),
            ),
            false => (
                format!("e / {TILE}, r = e % {TILE}"),
                format!("t * {length} + {first} + r"),
            ),
        };
        format!(
            "#pragma unroll 8\n\
             for (int e = threadIdx.x; e < {}; e += {THREADS}) {{\n\
             const int t = {place};\n\
             {to}[t * {ROW} + r] = {first} + r < {length} && t < {k} ? {from}[{at}] : (T)0;\n\
             }}\n",
            terms * TILE
        )
    };
    let share = terms.div_ceil(WARPS);
    let text = format!(
        "({}) {{\n\
         extern __shared__ __align__(16) unsigned char memory[];\n\
         T* const left = (T*)memory; T* const right = left + {}; T* const sums = left;\n\
         const long long number = blockIdx.z;\n\
         out += number * {}; a0 += number * {}; a1 += number * {};\n\
         const int m0 = blockIdx.y * {TILE}, n0 = blockIdx.x * {TILE};\n\
         {}{}\
         __syncthreads();\n\
         const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4 * 2, column = lane % 4 * 4;\n\
         T sum[2][4] = {{}};\n\
         #pragma unroll 4\n\
         for (int t = warp * {share}; t < min((warp + 1) * {share}, {terms}); ++t) {{\n\
         const T* const a = left + t * {ROW} + row; const T* const b = right + t * {ROW} + column;\n\
         #pragma unroll\n\
         for (int i = 0; i < 2; ++i)\n\
         #pragma unroll\n\
         for (int j = 0; j < 4; ++j) sum[i][j] += a[i] * b[j];\n\
         }}\n\
         __syncthreads();\n\
         #pragma unroll\n\
         for (int i = 0; i < 2; ++i)\n\
         #pragma unroll\n\
         for (int j = 0; j < 4; ++j) sums[warp * {} + (row + i) * {TILE} + column + j] = sum[i][j];\n\
         __syncthreads();\n\
         T total = 0;\n\
         #pragma unroll\n\
         for (int w = 0; w < {WARPS}; ++w) total += sums[w * {} + threadIdx.x];\n\
         const int i = m0 + threadIdx.x / {TILE}, j = n0 + threadIdx.x % {TILE};\n\
         if (i < {m} && j < {n}) out[i * {n} + j] = total;\n\
         }}",
        parameters(2),
        terms * ROW,
        m * n,
        m * k,
        k * n,
        load("left", "a0", "m0", m, !ta),
        load("right", "a1", "n0", n, tb),
        TILE * TILE,
        TILE * TILE,
    );
    Some(Call::Kernel(Code {
        text,
        blocks: [n.div_ceil(TILE), m.div_ceil(TILE), batch],
        shared,
        operands: operands(2),
        scratch: 0,
    }))
}
