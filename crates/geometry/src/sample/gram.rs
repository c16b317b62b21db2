//! Sums of outer products on a GPU: rows stay there, and so do the sums until somebody looks.
//!
//! They are the whole numbers of [`Sum`], in its tiles: each block of networks adds Σ g gᵀ, made by one product and
//! rounded to multiples of the quantum.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polariscope_diff::Dtype;
use polariscope_diff::cuda::{Argument, Array, CudaError, CudaSource, Gpu, Kernel};

use super::sum::{BLOCK_BITS, Float, Sum};
use super::tiles::{TILE, Tile, tiles};
use crate::GeometryError;

const THREADS: usize = 256;
/// Blocks of threads for each tile.
const BLOCKS: usize = 8;
/// Blocks of threads for the squares of a network.
const PARTS: usize = 8;

const TEXT: &str = r#"
// sums += x / quantum as whole numbers, of an n x n matrix the tiles of the lower triangle; tells in `wrong` whether one
// is too large.
extern "C" __global__ void add(long long* sums, const T* x, unsigned* wrong, double scale, double most, int n) {
    const int tile = blockIdx.y;
    int row = 0;
    while ((row + 1) * (row + 2) / 2 <= tile) ++row;
    const int column = tile - row * (row + 1) / 2;
    sums += (long long)tile * TILE * TILE;
    for (int at = blockIdx.x * 256 + threadIdx.x; at < TILE * TILE; at += gridDim.x * 256) {
        const int i = row * TILE + at / TILE, j = column * TILE + at % TILE;
        if (i >= n || j >= n) continue;
        const double q = (double)x[(long long)i * n + j] * scale;
        if (!(fabs(q) < most)) *wrong = 1;
        sums[at] += __double2ll_rn(q);
    }
}
// The sum of the squares of the rows of each network, in parts and in a fixed order.
extern "C" __global__ void squares(double* sums, const T* x, int n) {
    __shared__ double part[256];
    x += (long long)blockIdx.y * n;
    double sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += (double)x[i] * (double)x[i];
    part[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = part[0];
}
"#;

/// The sums of all groups.
pub(crate) struct Gram<T> {
    gpu: Arc<Gpu>,
    dim: usize,
    /// What sums of squares are multiplied with.
    scale: f64,
    quantum: f64,
    product: Array<T>,
    sums: Vec<Array<i64>>,
    /// Of the networks of a block, by group.
    squares: Vec<Array<f64>>,
    /// The groups and networks whose squares lie there.
    pending: Vec<(usize, Vec<u64>)>,
    wrong: Array<u32>,
    add: Kernel,
    traces: Kernel,
    /// Traces of the networks added since the last look, by group.
    found: Vec<Vec<f64>>,
    /// What the last look took.
    looking: Duration,
}

/// Bytes that `groups` sums of products of `dim` × `dim` numbers take there.
pub(crate) fn bytes(groups: usize, dim: usize, dtype: Dtype) -> usize {
    groups * tiles(dim).len() * Tile::LEN * size_of::<i64>() + dim * dim * dtype.bytes()
}

impl<T: Float> Gram<T> {
    /// Takes memory for `groups` sums of `dim` × `dim` numbers, `block` networks at a time.
    pub fn new(
        ordinal: usize,
        (groups, dim, block): (usize, usize, usize),
        scale: f64,
        quantum: f64,
    ) -> Result<Self, CudaError> {
        let gpu = Gpu::open(ordinal)?;
        let number = T::DTYPE.c_name();
        let sources = ["add", "squares"].map(|name| CudaSource {
            text: format!("typedef {number} T;\n#define TILE {TILE}{TEXT}"),
            name,
            threads: THREADS,
            shared: 0,
        });
        let mut kernels = gpu.compile(&sources)?;
        let numbers = tiles(dim).len() * Tile::LEN;
        let sums: Result<_, CudaError> = (0..groups).map(|_| gpu.zeros(numbers)).collect();
        let squares: Result<_, CudaError> = (0..groups).map(|_| gpu.zeros(PARTS * block)).collect();
        Ok(Gram {
            dim,
            scale,
            quantum,
            product: gpu.zeros(dim * dim)?,
            sums: sums?,
            squares: squares?,
            pending: Vec::new(),
            wrong: gpu.zeros(1)?,
            traces: kernels.remove(1),
            add: kernels.remove(0),
            found: vec![Vec::new(); groups],
            looking: Duration::ZERO,
            gpu,
        })
    }

    /// Adds a block of networks to a group, once in a wave: the first of `rows` are theirs, the same number for each.
    pub fn add(
        &mut self,
        group: usize,
        networks: &[u64],
        rows: &Array<T>,
        rows_a_network: usize,
    ) -> Result<(), GeometryError> {
        let (count, dim) = (networks.len(), self.dim);
        let n = rows_a_network * dim;
        let arguments = [
            Argument::F64(&self.squares[group], PARTS * count),
            T::argument(rows, count * n),
            Argument::Int(n as i32),
        ];
        self.gpu
            .start(&self.traces, [PARTS, count, 1], &arguments)?;
        self.gpu
            .square([count * rows_a_network, dim], rows, &self.product)?;
        let count = tiles(dim).len();
        let arguments = [
            Argument::I64(&self.sums[group], count * Tile::LEN),
            T::argument(&self.product, dim * dim),
            Argument::U32(&self.wrong, 1),
            Argument::Number(self.scale / self.quantum),
            Argument::Number(2f64.powi(BLOCK_BITS)),
            Argument::Int(dim as i32),
        ];
        self.gpu.start(&self.add, [BLOCKS, count, 1], &arguments)?;
        self.pending.push((group, networks.to_vec()));
        Ok(())
    }

    /// Waits for the blocks of a wave, one of each group, and looks at their traces.
    pub fn settle(&mut self) -> Result<(), GeometryError> {
        for (group, networks) in std::mem::take(&mut self.pending) {
            let mut squares = vec![0.0; PARTS * networks.len()];
            self.gpu.download(&self.squares[group], &mut squares)?;
            for (parts, network) in squares.chunks_exact(PARTS).zip(networks) {
                let square: f64 = parts.iter().sum();
                if !square.is_finite() {
                    return Err(GeometryError::NotFinite { network });
                }
                self.found[group].push(square * self.scale);
            }
        }
        Ok(())
    }

    /// What the last look at the sums took.
    pub fn looking(&self) -> Duration {
        self.looking
    }

    /// Moves what was added to the sums of a run.
    pub fn take(&mut self, sums: &mut [Sum]) -> Result<(), GeometryError> {
        let start = Instant::now();
        let mut wrong = [0];
        self.gpu.download(&self.wrong, &mut wrong)?;
        if wrong[0] != 0 {
            return Err(GeometryError::Range);
        }
        let mut entries = vec![0; tiles(self.dim).len() * Tile::LEN];
        for (group, sum) in sums.iter_mut().enumerate() {
            let traces = std::mem::take(&mut self.found[group]);
            if traces.is_empty() {
                continue;
            }
            self.gpu.download(&self.sums[group], &mut entries)?;
            self.gpu.clear(&self.sums[group])?;
            sum.take(&entries, &traces, self.quantum)?;
        }
        self.looking = start.elapsed();
        Ok(())
    }
}
