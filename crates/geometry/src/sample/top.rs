//! The first directions of a G that is too large to hold.
//!
//! [`PASSES`] passes over the same networks, ℓ = 2k + [`EXTRA`] columns, memory D × ℓ:
//!
//! ```text
//! Q ← orth(ĜΩ), Ω normal;   Q ← orth(ĜQ);   Z = ĜQ;   Ĝ ≈ Z (QᵀZ)⁻¹ Zᵀ   (Nyström)
//! ```
//!
//! With QᵀZ = CCᵀ and Z C⁻ᵀ = UΣVᵀ the eigenvectors are U and the eigenvalues Σ². Eigenvalues come out too small, λᵢ by
//! a share of order (λ_ℓ/λᵢ)⁵.
//!
//! A coherent Ĝ may have eigenvalues below 0, and there is no C. There QᵀZ = VΛVᵀ gives the eigenvalues Λ and the
//! eigenvectors QV (Rayleigh and Ritz), with errors of order (λ_ℓ/λᵢ)⁴; λ_ℓ counts by its size, noise below 0 included.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use polariscope_graph::Graph;
use polariscope_linalg::symmetric_eigen;
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_stats::Estimate;
use rayon::prelude::*;

use super::pairs::Pairs;
use super::source::{Config, RowSource};
use super::{Float, GROUPS};
use crate::GeometryError;

/// Columns beyond twice those asked for.
const EXTRA: usize = 16;
/// Products with Ĝ.
const PASSES: u64 = 3;
/// Columns of the image that one task computes.
const STRIP: usize = 8;

/// The first eigenpairs of a sampled G.
#[derive(Clone, Debug)]
pub struct Top {
    /// k eigenvalues, largest first.
    pub values: Vec<f64>,
    /// k eigenvectors, one a row of D numbers.
    pub vectors: Vec<f64>,
    /// tr G.
    pub trace: Estimate,
}

/// A planned run over T networks.
pub struct TopSampler<T> {
    source: RowSource<T>,
    networks: u64,
    k: usize,
    columns: usize,
}

impl<T: Float> TopSampler<T> {
    /// Plans the first `k` directions from `networks` networks, random ones or the `given` ones again and again.
    pub fn new(
        graph: &Graph,
        config: Config,
        given: Vec<Weights<T>>,
        networks: u64,
        k: usize,
    ) -> Result<Self, GeometryError> {
        let source = RowSource::<T>::new(graph, config, given)?;
        let rows = networks.saturating_mul(source.rows_a_network() as u64);
        let most = rows.min(source.dim() as u64);
        if k == 0 || k as u64 > most {
            return Err(GeometryError::Question(format!(
                "‹top {k}›: {networks} networks on {} inputs have between 1 and {most} directions; give more ‹networks›",
                source.dim()
            )));
        }
        let columns = (2 * k + EXTRA).min(most as usize);
        Ok(Self {
            source,
            networks,
            k,
            columns,
        })
    }

    /// The question as resolved.
    pub fn config(&self) -> &Config {
        self.source.config()
    }

    /// Bytes that it takes: basis, image and their factors, and the rows of a wave.
    pub fn memory(&self) -> f64 {
        // What is multiplied stands beside the gradients.
        let copies = match self.source.pairs() {
            Pairs::Same { .. } => 1,
            Pairs::Distinct { .. } => 3,
        };
        let rows = copies * GROUPS * self.source.rows_a_network();
        8.0 * (self.source.dim() * (4 * self.columns + rows)) as f64
    }

    /// Networks of all passes.
    pub fn pieces(&self) -> u64 {
        PASSES * self.networks
    }

    /// Runs the passes; `progress` is told how many networks of all passes are done.
    pub fn run(&self, mut progress: impl FnMut(u64, u64)) -> Result<Top, GeometryError> {
        let (dim, columns) = (self.source.dim(), self.columns);
        let mut draws = vec![0f32; dim * columns];
        Stream::new(self.config().seed, 0, "sketch").normal(1.0, &mut draws);
        let mut basis = Mat::from_fn(dim, columns, |i, j| f64::from(draws[j * dim + i]));
        for pass in 0..PASSES - 1 {
            let (image, _) = self.image(&basis, pass, &mut progress)?;
            basis = image.qr().compute_thin_Q();
        }
        let (image, trace) = self.image(&basis, PASSES - 1, &mut progress)?;
        let (values, vectors) = match self.source.pairs() {
            Pairs::Same { .. } => nystrom(&basis, &image)?,
            Pairs::Distinct { .. } => ritz(&basis, &image)?,
        };
        Ok(Top {
            values: values[..self.k].to_vec(),
            vectors: (0..self.k)
                .flat_map(|j| vectors.col_as_slice(j).to_vec())
                .collect(),
            trace,
        })
    }

    /// Ĝ V, and the trace of Ĝ.
    fn image(
        &self,
        v: &Mat<f64>,
        pass: u64,
        progress: &mut impl FnMut(u64, u64),
    ) -> Result<(Mat<f64>, Estimate), GeometryError> {
        let (dim, rows) = (self.source.dim(), self.source.rows_a_network());
        let mut image = vec![0.0; dim * v.ncols()];
        let mut traces = Traces::default();
        for first in (0..self.networks).step_by(GROUPS) {
            let last = (first + GROUPS as u64).min(self.networks);
            let count = (last - first) as usize;
            let mut buffer = vec![T::ZERO; count * rows * dim];
            let networks: Vec<u64> = (first..last).collect();
            self.source.rows(&networks, &mut buffer)?;
            let wide: Vec<f64> = buffer.par_iter().map(|x| x.to_f64()).collect();
            let (x, y) = self.source.pairs().factors(&wide, count);
            let own = x.len() / count;
            for (x, y) in x.chunks_exact(own).zip(y.chunks_exact(own)) {
                traces.add(crate::matrix::dot(x, y));
            }
            add_product([&x, &y], v, &mut image);
            progress(pass * self.networks + last, PASSES * self.networks);
        }
        let scale = faer::Scale(1.0 / self.networks as f64);
        let image = scale * MatRef::from_column_major_slice(&image, dim, v.ncols());
        Ok((image, traces.estimate()))
    }
}

/// image += Xᵀ (Y v), a few columns at a time; image is dim × columns, column by column.
fn add_product(factors: [&[f64]; 2], v: &Mat<f64>, image: &mut [f64]) {
    let dim = v.nrows();
    let [x, y] = factors.map(|x| MatRef::from_column_major_slice(x, dim, x.len() / dim));
    let strips = image.par_chunks_mut(STRIP * dim).enumerate();
    strips.for_each(|(i, strip)| {
        let columns = strip.len() / dim;
        let part = v.subcols(i * STRIP, columns);
        let coordinates = y.transpose() * part;
        let strip = MatMut::from_column_major_slice_mut(strip, dim, columns);
        matmul(strip, Accum::Add, x, &coordinates, 1.0, Par::Seq);
    });
}

/// Eigenvalues, largest first, and eigenvectors (columns) of Z (QᵀZ)⁻¹ Zᵀ.
fn nystrom(basis: &Mat<f64>, image: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), GeometryError> {
    let columns = basis.ncols();
    let core = basis.transpose() * image;
    let scale = (0..columns).map(|i| core[(i, i)]).fold(0.0, f64::max);
    if scale <= 0.0 {
        return Err(GeometryError::Vanishes);
    }
    // Rounding may leave the core short of positive definite by this much.
    let shift = scale * columns as f64 * f64::EPSILON;
    let core = Mat::from_fn(columns, columns, |i, j| {
        0.5 * (core[(i, j)] + core[(j, i)]) + if i == j { shift } else { 0.0 }
    });
    let chol = core.llt(Side::Lower).map_err(|_| GeometryError::Vanishes)?;
    // B = Z C⁻ᵀ, so that B Bᵀ is the approximation: Bᵀ = C⁻¹ Zᵀ.
    let mut half = image.transpose().to_owned();
    faer::linalg::triangular_solve::solve_lower_triangular_in_place(
        chol.L(),
        half.as_mut(),
        Par::Seq,
    );
    let half = half.transpose().to_owned();
    let svd = half.thin_svd().map_err(|_| GeometryError::Vanishes)?;
    let values = svd.S().column_vector().iter().map(|s| s * s).collect();
    Ok((values, svd.U().to_owned()))
}

/// Eigenvalues, largest first, and eigenvectors (columns) of Q (QᵀZ) Qᵀ.
fn ritz(basis: &Mat<f64>, image: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), GeometryError> {
    let core = basis.transpose() * image;
    let columns = core.ncols();
    let core: Vec<f64> = (0..columns * columns)
        .map(|at| (at / columns, at % columns))
        .map(|(i, j)| 0.5 * (core[(i, j)] + core[(j, i)]))
        .collect();
    let eigen = symmetric_eigen(&core, columns)?;
    let vectors = basis * MatRef::from_column_major_slice(&eigen.vectors, columns, columns);
    Ok((eigen.values, vectors))
}

/// Mean of traces and its error.
#[derive(Default)]
struct Traces {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Traces {
    fn add(&mut self, trace: f64) {
        self.count += 1;
        self.sum += trace;
        self.squares += trace * trace;
    }

    fn estimate(&self) -> Estimate {
        let n = self.count as f64;
        let variance = (self.squares - self.sum * self.sum / n).max(0.0) / (n * (n - 1.0).max(1.0));
        Estimate {
            value: self.sum / n,
            standard_error: variance.sqrt(),
            samples: self.count,
        }
    }
}
