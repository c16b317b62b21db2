//! Products by cuBLAS.

use cudarc::cublas::{result as blas, sys as cublas};

use super::{Address, CudaError, failed, said};
use crate::cuda::source::Product;
use crate::real::{Dtype, Real};

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
    let op = |transposed| match transposed {
        true => cublas::cublasOperation_t::CUBLAS_OP_T,
        false => cublas::cublasOperation_t::CUBLAS_OP_N,
    };
    let [m, n, k] = [p.m, p.n, p.k].map(|n| n as i32);
    let (lda, ldb) = (if p.ta { m } else { k }, if p.tb { k } else { n });
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
                n,
                sc,
                batch,
            )
        };
    }
    // SAFETY: the caller's promise; leading dimensions and strides are those of row-major matrices.
    let done = unsafe {
        match T::DTYPE {
            Dtype::F32 => call!(blas::sgemm_strided_batched, f32),
            Dtype::F64 => call!(blas::dgemm_strided_batched, f64),
        }
    };
    done.map_err(said).map_err(failed("a product"))
}
