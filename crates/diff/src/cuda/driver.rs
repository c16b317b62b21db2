//! Calls of the driver and its libraries: the one module that needs `unsafe` for them.
//!
//! Everything runs on one stream, in order, so memory that one call writes is there for the next.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cublas::{CudaBlas, result as blas, sys as cublas};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, LaunchConfig,
    PushKernelArg, ValidAsZeroBits, sys as driver,
};
use cudarc::nvrtc::{self, CompileOptions};

use super::error::CudaError;
use super::source::{self, Code, Product, THREADS};
use crate::real::{Dtype, Real};

/// A number that lies in the memory of a GPU as it lies in ours.
pub trait Stored: DeviceRepr + ValidAsZeroBits {}
impl Stored for f32 {}
impl Stored for f64 {}

/// Where numbers lie on the GPU.
type Address = driver::CUdeviceptr;

/// A call, compiled.
pub enum Ready {
    /// A kernel of ours and its blocks.
    Kernel(CudaFunction, [usize; 3]),
    /// A product.
    Product(Product),
}

/// A GPU.
pub struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    blas: CudaBlas,
    /// Compiled kernels by type and text.
    kernels: Mutex<HashMap<(Dtype, String), CudaFunction>>,
}

fn failed(call: &'static str) -> impl Fn(String) -> CudaError {
    move |reason| CudaError::Call { call, reason }
}

/// What the driver said.
fn said(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

impl Gpu {
    /// Opens device number `ordinal`, once for the whole process.
    pub fn open(ordinal: usize) -> Result<Arc<Self>, CudaError> {
        static OPEN: Mutex<Option<HashMap<usize, Arc<Gpu>>>> = Mutex::new(None);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(gpu) = open.get(&ordinal) {
            return Ok(Arc::clone(gpu));
        }
        let gpu = Arc::new(Self::new(ordinal)?);
        open.insert(ordinal, Arc::clone(&gpu));
        Ok(gpu)
    }

    fn new(ordinal: usize) -> Result<Self, CudaError> {
        // SAFETY: these only try to load libraries, whose own start-up code is trusted as the system's is.
        let (cuda, compiler, products) = unsafe {
            (
                driver::is_culib_present(),
                nvrtc::sys::is_culib_present(),
                cublas::is_culib_present(),
            )
        };
        let libraries = [
            (cuda, "CUDA driver", "use --device cpu"),
            (
                compiler,
                "NVRTC library (libnvrtc)",
                "install the CUDA toolkit, or use --device cpu",
            ),
            (
                products,
                "cuBLAS library (libcublas)",
                "install the CUDA toolkit, or use --device cpu",
            ),
        ];
        if let Some(&(_, library, instead)) = libraries.iter().find(|(there, ..)| !there) {
            return Err(CudaError::Missing { library, instead });
        }
        let count = CudaContext::device_count()
            .map_err(said)
            .map_err(failed("counting devices"))? as usize;
        if ordinal >= count {
            return Err(CudaError::Device { ordinal, count });
        }
        let context = CudaContext::new(ordinal)
            .map_err(said)
            .map_err(failed("opening the device"))?;
        let stream = context.default_stream();
        let blas = CudaBlas::new(Arc::clone(&stream))
            .map_err(said)
            .map_err(failed("starting cuBLAS"))?;
        Ok(Gpu {
            context,
            stream,
            blas,
            kernels: Mutex::default(),
        })
    }

    /// Zeros.
    pub fn zeros<T: Stored>(&self, numbers: usize) -> Result<CudaSlice<T>, CudaError> {
        let needed = numbers * size_of::<T>();
        self.stream
            .alloc_zeros(numbers.max(1))
            .map_err(|e| match self.context.mem_get_info() {
                Ok((free, _)) if free < needed => CudaError::Memory { needed, free },
                _ => failed("taking memory")(said(e)),
            })
    }

    /// Copies numbers to the GPU.
    pub fn upload<T: Stored>(&self, from: &[T], to: &mut CudaSlice<T>) -> Result<(), CudaError> {
        let copied = self.stream.memcpy_htod(from, to);
        copied.map_err(said).map_err(failed("copying to it"))
    }

    /// Copies the first numbers back, after all that was asked before.
    pub fn download<T: Stored>(&self, from: &CudaSlice<T>, to: &mut [T]) -> Result<(), CudaError> {
        let copied = self.stream.memcpy_dtoh(&from.slice(..to.len()), to);
        copied.map_err(said).map_err(failed("copying from it"))?;
        let done = self.stream.synchronize();
        done.map_err(said).map_err(failed("the computation"))
    }

    /// Starts a call that was planned for a step, on arrays of the lengths that the step has.
    pub fn perform<T: Real + Stored>(
        &self,
        call: &Ready,
        out: &CudaSlice<T>,
        args: &[&CudaSlice<T>],
    ) -> Result<(), CudaError> {
        let address = |array: &CudaSlice<T>| array.device_ptr(&self.stream).0;
        let mut addresses = vec![address(out)];
        addresses.extend(args.iter().map(|array| address(array)));
        // SAFETY: the arrays are of this GPU, and kernels and products are written for the shapes of their step, whose
        // buffers the plan made as long as that.
        unsafe {
            match call {
                Ready::Kernel(function, blocks) => self.launch(function, *blocks, &addresses),
                Ready::Product(product) => self.multiply::<T>(product, &addresses),
            }
        }
    }

    /// Machine code of kernels, compiled where it is new.
    pub fn compile(&self, codes: &[&Code], dtype: Dtype) -> Result<Vec<CudaFunction>, CudaError> {
        let mut known = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<&Code> = Vec::new();
        for code in codes {
            let is_known = known.contains_key(&(dtype, code.text.clone()));
            if !is_known && !new.iter().any(|other| other.text == code.text) {
                new.push(code);
            }
        }
        if !new.is_empty() {
            let (major, minor) = self
                .context
                .compute_capability()
                .map_err(said)
                .map_err(failed("asking for its kind"))?;
            let options = CompileOptions {
                options: vec![format!("--gpu-architecture=compute_{major}{minor}")],
                ..CompileOptions::default()
            };
            let text = source::program(&new, dtype);
            let ptx = nvrtc::compile_ptx_with_opts(text, options)
                .map_err(said)
                .map_err(failed("compiling kernels"))?;
            let module = self
                .context
                .load_module(ptx)
                .map_err(said)
                .map_err(failed("loading kernels"))?;
            for (i, code) in new.iter().enumerate() {
                let function = module
                    .load_function(&format!("k{i}"))
                    .map_err(said)
                    .map_err(failed("loading a kernel"))?;
                known.insert((dtype, code.text.clone()), function);
            }
        }
        let found = codes
            .iter()
            .filter_map(|code| known.get(&(dtype, code.text.clone())));
        Ok(found.cloned().collect())
    }

    /// Starts a kernel on the result and its arguments.
    ///
    /// # Safety
    /// The addresses are of arrays of this GPU, of the kernel's number type and as long as its code says.
    unsafe fn launch(
        &self,
        function: &CudaFunction,
        blocks: [usize; 3],
        addresses: &[Address],
    ) -> Result<(), CudaError> {
        let [x, y, z] = blocks.map(|n| n as u32);
        let mut launch = self.stream.launch_builder(function);
        for address in addresses {
            launch.arg(address);
        }
        let shape = LaunchConfig {
            grid_dim: (x, y, z),
            block_dim: (THREADS as u32, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the caller's promise.
        let started = unsafe { launch.launch(shape) };
        started
            .map(|_| ())
            .map_err(said)
            .map_err(failed("starting a kernel"))
    }

    /// C = A·B.
    ///
    /// # Safety
    /// The addresses are of arrays of this GPU, of type T and as long as the product says.
    unsafe fn multiply<T: Real>(
        &self,
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
        let (handle, batch) = (*self.blas.handle(), p.batch as i32);
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
}
