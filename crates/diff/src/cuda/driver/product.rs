//! Products by cuBLAS.

use cudarc::cublas::{result as blas, sys as cublas};

use super::{Address, CudaError, failed, said};
use crate::cuda::source::Product;
use crate::real::{Dtype, Real};

/// Columns of a block of a square, and rows from which on it is made of blocks.
const SIDE: usize = 256;

/// C = A·B.
///
/// # Safety
/// The addresses are of arrays of the GPU of `handle`, of type T and as long as the product says.
pub unsafe fn multiply<T: Real>(
    handle: cublas::cublasHandle_t,
    p: &Product,
    addresses: &[Address],
) -> Result<(), CudaError> {
    let &[c, a, b] = addresses else {
        unreachable!("a product has two arguments");
    };
    let lines = [
        p.n,
        if p.ta { p.m } else { p.k },
        if p.tb { p.k } else { p.n },
    ];
    // SAFETY: the caller's promise; lines are those of row-major matrices that follow each other.
    unsafe { within::<T>(handle, p, lines, [c, a, b]) }
}

/// The blocks of [`SIDE`] columns on and below the diagonal of Xᵀ·X, for X of rows × columns numbers.
///
/// # Safety
/// The addresses of the result and of X are of arrays of the GPU of `handle`, of type T and that long.
pub unsafe fn square<T: Real>(
    handle: cublas::cublasHandle_t,
    [rows, columns]: [usize; 2],
    [to, x]: [Address; 2],
) -> Result<(), CudaError> {
    // Few rows are less work than several products are to start.
    let side = if rows < SIDE { columns } else { SIDE };
    for first in (0..columns).step_by(side) {
        let end = columns.min(first + side);
        let product = Product {
            batch: 1,
            m: end - first,
            n: end,
            k: rows,
            ta: true,
            tb: false,
        };
        let at = |number: usize| (number * T::DTYPE.bytes()) as Address;
        let addresses = [to + at(first * columns), x + at(first), x];
        // SAFETY: rows first to end of the result and columns first to end of X, whose lines are `columns` long.
        unsafe { within::<T>(handle, &product, [columns; 3], addresses)? };
    }
    Ok(())
}

/// C = A·B where rows of C, A and B, as stored, are so many numbers apart.
///
/// # Safety
/// The addresses are of arrays of the GPU of `handle`, of type T and as long as the product and the lines say.
unsafe fn within<T: Real>(
    handle: cublas::cublasHandle_t,
    p: &Product,
    lines: [usize; 3],
    [c, a, b]: [Address; 3],
) -> Result<(), CudaError> {
    let op = |transposed| match transposed {
        true => cublas::cublasOperation_t::CUBLAS_OP_T,
        false => cublas::cublasOperation_t::CUBLAS_OP_N,
    };
    let [m, n, k] = [p.m, p.n, p.k].map(|n| n as i32);
    let [ldc, lda, ldb] = lines.map(|n| n as i32);
    let stride = |rows: usize, columns: usize| (rows * columns) as i64;
    let (sa, sb, sc) = (stride(p.m, p.k), stride(p.k, p.n), stride(p.m, p.n));
    let batch = p.batch as i32;
    // Its matrices are column-major, so it is asked for Cᵀ = BᵀAᵀ.
    macro_rules! call {
        ($gemm:path, $t:ty) => {
            $gemm(
                handle,
                op(p.tb),
                op(p.ta),
                n,
                m,
                k,
                &1.0,
                b as *const $t,
                ldb,
                sb,
                a as *const $t,
                lda,
                sa,
                &0.0,
                c as *mut $t,
                ldc,
                sc,
                batch,
            )
        };
    }
    // SAFETY: the caller's promise; a batch is of matrices that follow each other.
    let done = unsafe {
        match T::DTYPE {
            Dtype::F32 => call!(blas::sgemm_strided_batched, f32),
            Dtype::F64 => call!(blas::dgemm_strided_batched, f64),
        }
    };
    done.map_err(said).map_err(failed("a product"))
}
