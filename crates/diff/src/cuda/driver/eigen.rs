//! Eigenproblems by cuSOLVER.

use std::ptr;

use cudarc::cusolver::{result as solver, sys};

use super::{Array, CudaError, Gpu, failed, said};

/// Eigenvalues and eigenvectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// Smallest first.
    pub values: Vec<f64>,
    /// One a row, in the order of the values.
    pub vectors: Vec<f64>,
}

/// Eigenvalues, and what was left where the matrix was.
type Solved = (Vec<f64>, Array<f64>);

/// A handle of the library with its options, given back when it is dropped.
struct Solver {
    handle: sys::cusolverDnHandle_t,
    params: sys::cusolverDnParams_t,
}

impl Solver {
    fn new(gpu: &Gpu) -> Result<Self, solver::CusolverError> {
        let handle = solver::dn_create()?;
        let params = solver::dn_create_params().inspect_err(|_| {
            // SAFETY: the handle was just made; what it says on its way out changes nothing.
            let _ = unsafe { solver::dn_destroy(handle) };
        })?;
        let made = Solver { handle, params };
        // SAFETY: both are alive, and a stream of the driver is one of the runtime.
        unsafe { solver::dn_set_stream(handle, gpu.lane.stream.cu_stream().cast())? };
        Ok(made)
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: they were made by `new`, and nobody else has them.
        unsafe {
            let _ = solver::dn_destroy_params(self.params);
            let _ = solver::dn_destroy(self.handle);
        }
    }
}

impl Gpu {
    /// Decomposes a symmetric matrix of n × n numbers; nothing where cuSOLVER cannot be loaded.
    pub fn eigen(&self, matrix: &[f64], n: usize) -> Result<Option<Eigen>, CudaError> {
        let mode = sys::cusolverEigMode_t::CUSOLVER_EIG_MODE_VECTOR;
        let Some((values, a)) = self.solve(matrix, n, mode)? else {
            return Ok(None);
        };
        // Columns of its column-major matrix are our rows.
        let mut vectors = vec![0.0; n * n];
        self.download(&a, &mut vectors)?;
        Ok(Some(Eigen { values, vectors }))
    }

    /// Its eigenvalues alone, smallest first: several times faster.
    pub fn eigenvalues(&self, matrix: &[f64], n: usize) -> Result<Option<Vec<f64>>, CudaError> {
        let mode = sys::cusolverEigMode_t::CUSOLVER_EIG_MODE_NOVECTOR;
        let solved = self.solve(matrix, n, mode)?;
        Ok(solved.map(|(values, _)| values))
    }

    fn solve(
        &self,
        matrix: &[f64],
        n: usize,
        mode: sys::cusolverEigMode_t,
    ) -> Result<Option<Solved>, CudaError> {
        assert_eq!(matrix.len(), n * n, "the matrix is square");
        // SAFETY: this only tries to load a library, whose own start-up code is trusted as the system's is.
        if n == 0 || !unsafe { sys::is_culib_present() } {
            return Ok(None);
        }
        let wrong = failed("an eigenproblem");
        let bound = self.context.bind_to_thread();
        bound.map_err(said).map_err(&wrong)?;
        let solver = Solver::new(self).map_err(said).map_err(&wrong)?;
        let a: Array<f64> = self.zeros(n * n)?;
        self.upload(matrix, 0, &a)?;
        let values: Array<f64> = self.zeros(n)?;
        let info: Array<u32> = self.zeros(1)?;
        let [matrix_at, values_at] = [self.touch(&a, n * n), self.touch(&values, n)];
        const KIND: sys::cudaDataType = sys::cudaDataType::CUDA_R_64F;
        const LOWER: sys::cublasFillMode_t = sys::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER;
        let (mut on_device, mut on_host) = (0, 0);
        // SAFETY: the arrays have n × n and n numbers, and the two sizes are ours.
        let sized = unsafe {
            sys::cusolverDnXsyevd_bufferSize(
                solver.handle,
                solver.params,
                mode,
                LOWER,
                n as i64,
                KIND,
                matrix_at as *const _,
                n as i64,
                KIND,
                values_at as *const _,
                KIND,
                &mut on_device,
                &mut on_host,
            )
        };
        sized.result().map_err(said).map_err(&wrong)?;
        let numbers = on_device.div_ceil(size_of::<f64>());
        let work: Array<f64> = self.zeros(numbers)?;
        let mut host = vec![0_u8; on_host];
        let host_at = match on_host {
            0 => ptr::null_mut(),
            _ => host.as_mut_ptr().cast(),
        };
        // SAFETY: the arrays have n × n and n numbers and one, the memory is as long as was asked for, and `download` waits
        // until it is no longer used.
        let solved = unsafe {
            sys::cusolverDnXsyevd(
                solver.handle,
                solver.params,
                mode,
                LOWER,
                n as i64,
                KIND,
                matrix_at as *mut _,
                n as i64,
                KIND,
                values_at as *mut _,
                KIND,
                self.touch(&work, numbers) as *mut _,
                on_device,
                host_at,
                on_host,
                self.touch(&info, 1) as *mut _,
            )
        };
        let solved = solved.result().map_err(said).map_err(&wrong);
        let mut left = [0];
        self.download(&info, &mut left)?;
        solved?;
        if left[0] != 0 {
            return Err(wrong(format!("{} eigenvalues did not converge", left[0])));
        }
        let mut found = vec![0.0; n];
        self.download(&values, &mut found)?;
        Ok(Some((found, a)))
    }
}
