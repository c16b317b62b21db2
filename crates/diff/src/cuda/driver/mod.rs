//! Calls of the driver and its libraries: the one module that needs `unsafe` for them.
//!
//! Everything runs on one stream, in order, so memory that one call writes is there for the next.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

mod compile;
mod convolve;
mod eigen;
mod product;
mod record;

use cudarc::cublas::sys as cublas;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg,
    ValidAsZeroBits, result as calls, sys as driver,
};
use cudarc::nvrtc::{Ptx, sys as nvrtc};

use super::error::CudaError;
use super::source::Product;
use crate::real::Real;
use compile::Target;
use convolve::Library;
pub use convolve::Prepared;
pub use eigen::Eigen;
pub use record::Recording;
use record::{Lane, Touched};

/// A number that lies in the memory of a GPU as it lies in ours.
pub trait Stored: DeviceRepr + ValidAsZeroBits {
    /// An array as an argument of a kernel that touches so many numbers.
    fn argument(array: &Array<Self>, touched: usize) -> Argument<'_>
    where
        Self: Sized;
}

macro_rules! stored {
    ($t:ty, $argument:path) => {
        impl Stored for $t {
            fn argument(array: &Array<Self>, touched: usize) -> Argument<'_> {
                $argument(array, touched)
            }
        }
    };
}
stored!(f32, Argument::F32);
stored!(f64, Argument::F64);
stored!(i64, Argument::I64);
stored!(u32, Argument::U32);

/// Where numbers lie on the GPU.
type Address = driver::CUdeviceptr;

/// Numbers in the memory of a GPU.
pub type Array<T> = CudaSlice<T>;

/// The text of a kernel, with C linkage and this name, and how its blocks are made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CudaSource {
    /// CUDA C++.
    pub text: String,
    /// Which function of it.
    pub name: &'static str,
    /// Threads of a block.
    pub threads: usize,
    /// Bytes of a block's memory that the text does not declare itself.
    pub shared: usize,
}

/// A compiled kernel.
#[derive(Clone)]
pub struct Kernel {
    function: CudaFunction,
    threads: usize,
    shared: usize,
}

/// What a kernel is given: a number, or an array of which it touches at most so many numbers.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// `float*`
    F32(&'a Array<f32>, usize),
    /// `double*`
    F64(&'a Array<f64>, usize),
    /// `unsigned*`
    U32(&'a Array<u32>, usize),
    /// `long long*`
    I64(&'a Array<i64>, usize),
    /// `int`
    Int(i32),
    /// `double`
    Number(f64),
}

/// A GPU.
pub struct Gpu {
    context: Arc<CudaContext>,
    /// What everything runs on.
    lane: Lane,
    /// What recordings are made on.
    recorder: Mutex<Option<Lane>>,
    /// Whose turn it is to call cuBLAS.
    products: Mutex<()>,
    /// cuDNN, where it is there.
    library: OnceLock<Option<Mutex<Library>>>,
    target: Target,
    kernels: Mutex<HashMap<CudaSource, Kernel>>,
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
                nvrtc::is_culib_present(),
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
        // SAFETY: these events make streams wait for each other, and everything runs on one.
        unsafe { context.disable_event_tracking() };
        let capability = context.compute_capability().map_err(said);
        let (major, minor) = capability.map_err(failed("asking for its kind"))?;
        // Tensor cores that take TF32, and copies to shared memory that nobody waits for.
        if major < 8 {
            return Err(CudaError::Old { major, minor });
        }
        let target = Target::new((major, minor)).map_err(failed("asking for its kind"))?;
        Ok(Gpu {
            lane: Lane::new(&context)?,
            recorder: Mutex::default(),
            products: Mutex::default(),
            library: OnceLock::new(),
            context,
            target,
            kernels: Mutex::default(),
        })
    }

    /// Zeros.
    pub fn zeros<T: Stored>(&self, numbers: usize) -> Result<CudaSlice<T>, CudaError> {
        let needed = numbers * size_of::<T>();
        self.lane.stream.alloc_zeros(numbers.max(1)).map_err(|e| {
            match self.context.mem_get_info() {
                Ok((free, _)) if free < needed => CudaError::Memory { needed, free },
                _ => failed("taking memory")(said(e)),
            }
        })
    }

    /// Bytes that are free.
    pub fn free(&self) -> Result<usize, CudaError> {
        Ok(self.free_and_all()?.0)
    }

    /// Bytes that it has, free or not.
    pub fn memory(&self) -> Result<usize, CudaError> {
        Ok(self.free_and_all()?.1)
    }

    fn free_and_all(&self) -> Result<(usize, usize), CudaError> {
        let asked = self.context.mem_get_info().map_err(said);
        asked.map_err(failed("asking for its memory"))
    }

    /// Copies numbers to the GPU, to number `at` of an array and those after it.
    pub fn upload<T: Stored>(&self, from: &[T], at: usize, to: &Array<T>) -> Result<(), CudaError> {
        let start = self.touch(to, at + from.len()) + (at * size_of::<T>()) as Address;
        let bound = self.context.bind_to_thread();
        // SAFETY: the array is that long, and the driver has read `from` when the call is back: it is not pinned.
        let copied = bound.and_then(|()| unsafe {
            calls::memcpy_htod_async(start, from, self.lane.stream.cu_stream())
        });
        copied.map_err(said).map_err(failed("copying to it"))
    }

    /// Makes every number 0.
    pub fn clear<T: Stored>(&self, array: &Array<T>) -> Result<(), CudaError> {
        let bytes = array.len() * size_of::<T>();
        let bound = self.context.bind_to_thread();
        // SAFETY: the array is that long, and a number whose bytes are 0 is 0.
        let cleared = bound.and_then(|()| unsafe {
            let start = self.touch(array, array.len());
            calls::memset_d8_async(start, 0, bytes, self.lane.stream.cu_stream())
        });
        cleared.map_err(said).map_err(failed("clearing"))
    }

    /// Copies the first numbers back, after all that was asked before.
    pub fn download<T: Stored>(&self, from: &CudaSlice<T>, to: &mut [T]) -> Result<(), CudaError> {
        let copied = self.lane.stream.memcpy_dtoh(&from.slice(..to.len()), to);
        copied.map_err(said).map_err(failed("copying from it"))?;
        self.wait()
    }

    /// Copies some numbers of an array to another one, to number `at` and those after it.
    pub fn copy<T: Stored>(
        &self,
        from: &Array<T>,
        range: Range<usize>,
        to: &mut Array<T>,
        at: usize,
    ) -> Result<(), CudaError> {
        let mut to = to.slice_mut(at..at + range.len());
        let copied = self.lane.stream.memcpy_dtod(&from.slice(range), &mut to);
        copied.map_err(said).map_err(failed("copying on it"))
    }

    /// Waits until all that was asked is done.
    pub fn wait(&self) -> Result<(), CudaError> {
        let done = self.lane.stream.synchronize();
        done.map_err(said).map_err(failed("the computation"))
    }

    /// Machine code of kernels, compiled where it is new.
    pub fn compile(&self, sources: &[CudaSource]) -> Result<Vec<Kernel>, CudaError> {
        let mut known = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<&CudaSource> = Vec::new();
        for source in sources {
            if !known.contains_key(source) && !new.contains(&source) {
                new.push(source);
            }
        }
        for (source, code) in new.iter().zip(self.codes(&new)) {
            let code = code.map_err(failed("compiling a kernel"))?;
            let kernel = self
                .load(source, code)
                .map_err(failed("loading a kernel"))?;
            known.insert((*source).clone(), kernel);
        }
        let found = sources.iter().filter_map(|source| known.get(source));
        Ok(found.cloned().collect())
    }

    /// Machine code of each text, by threads of its own: one of rayon's that waits may take up another task, and that
    /// one may want the lock under which this runs.
    fn codes(&self, sources: &[&CudaSource]) -> Vec<Result<Vec<u8>, String>> {
        let next = Mutex::new(sources.iter().enumerate());
        let work = || {
            let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let taken = std::iter::from_fn(take);
            let coded = taken.map(|(at, source)| (at, self.target.code(&source.text)));
            coded.collect::<Vec<_>>()
        };
        let threads = rayon::current_num_threads().min(sources.len());
        let mut codes: Vec<_> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let done = started.into_iter().map(|thread| match thread.join() {
                Ok(codes) => codes,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            done.flatten().collect()
        });
        codes.sort_by_key(|(at, _)| *at);
        codes.into_iter().map(|(_, code)| code).collect()
    }

    fn load(&self, source: &CudaSource, code: Vec<u8>) -> Result<Kernel, String> {
        let module = self
            .context
            .load_module(Ptx::from_binary(code))
            .map_err(said)?;
        let function = module.load_function(source.name).map_err(said)?;
        let limit = driver::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function
            .set_attribute(limit, source.shared as i32)
            .map_err(said)?;
        Ok(Kernel {
            function,
            threads: source.threads,
            shared: source.shared,
        })
    }

    /// A·Bᵀ of the first m×k numbers of `a` and n×k of `b`, all row-major, into the first m×n of `to`.
    pub fn product<T: Real + Stored>(
        &self,
        [m, n, k]: [usize; 3],
        a: &Array<T>,
        b: &Array<T>,
        to: &mut Array<T>,
    ) -> Result<(), CudaError> {
        let addresses = [
            self.touch(to, m * n),
            self.touch(a, m * k),
            self.touch(b, n * k),
        ];
        let product = Product {
            batch: 1,
            m,
            n,
            k,
            ta: false,
            tb: true,
        };
        self.by_cublas(&addresses, |handle| {
            // SAFETY: the arrays are as long as the product says.
            unsafe { product::multiply::<T>(handle, &product, &addresses) }
        })
    }

    /// Xᵀ·X of the first rows×columns numbers of `x`, row-major, into the first columns×columns of `to`: on and below the
    /// diagonal, and of what is above it some blocks.
    pub fn square<T: Real + Stored>(
        &self,
        [rows, columns]: [usize; 2],
        x: &Array<T>,
        to: &Array<T>,
    ) -> Result<(), CudaError> {
        let addresses = [
            self.touch(to, columns * columns),
            self.touch(x, rows * columns),
        ];
        self.by_cublas(&addresses, |handle| {
            // SAFETY: the arrays are as long as the square says.
            unsafe { product::square::<T>(handle, [rows, columns], addresses) }
        })
    }

    /// Starts blocks of a kernel whose text declares these parameters.
    pub fn start(
        &self,
        kernel: &Kernel,
        blocks: [usize; 3],
        arguments: &[Argument],
    ) -> Result<(), CudaError> {
        let mut words = Vec::with_capacity(arguments.len());
        let mut arrays = Vec::new();
        for argument in arguments {
            let word = match *argument {
                Argument::F32(array, touched) => self.touch(array, touched),
                Argument::F64(array, touched) => self.touch(array, touched),
                Argument::U32(array, touched) => self.touch(array, touched),
                Argument::I64(array, touched) => self.touch(array, touched),
                // Parameters are read from the low bytes of their word.
                Argument::Int(n) => u64::from(n as u32),
                Argument::Number(x) => x.to_bits(),
            };
            if !matches!(argument, Argument::Int(_) | Argument::Number(_)) {
                arrays.push(word);
            }
            words.push(word);
        }
        // Which of them it writes is not said.
        let touched = || Touched {
            written: arrays,
            read: Vec::new(),
        };
        // SAFETY: kernels are texts of this project, which touch no more of an array than the argument says, and the
        // arrays are that long.
        unsafe { self.launch(kernel, blocks, &words, touched) }
    }

    /// The address of an array that is long enough.
    fn touch<T: Stored>(&self, array: &Array<T>, touched: usize) -> Address {
        let length = array.len();
        assert!(
            touched <= length,
            "a kernel touches {touched} of {length} numbers"
        );
        array.device_ptr(&self.lane.stream).0
    }

    /// Starts a kernel that was planned for a step, on arrays of the lengths that the step has; some of them it writes.
    pub(super) fn perform<T: Stored>(
        &self,
        kernel: &Kernel,
        blocks: [usize; 3],
        arrays: &[&Array<T>],
        is_written: impl Fn(usize) -> bool,
    ) -> Result<(), CudaError> {
        let words = self.addresses(arrays);
        let part = |written: bool| {
            let chosen = words.iter().enumerate();
            let chosen = chosen.filter(|(i, _)| is_written(*i) == written);
            chosen.map(|(_, &address)| address).collect::<Vec<_>>()
        };
        let touched = || Touched {
            written: part(true),
            read: part(false),
        };
        // SAFETY: kernels are written for the shapes of their step, whose buffers the plan made as long as that.
        unsafe { self.launch(kernel, blocks, &words, touched) }
    }

    /// C = A·B of arrays C, A, B that are as long as the product says.
    pub(super) fn multiply<T: Real + Stored>(
        &self,
        product: &Product,
        arrays: &[&Array<T>],
    ) -> Result<(), CudaError> {
        let addresses = self.addresses(arrays);
        self.by_cublas(&addresses, |handle| {
            // SAFETY: products are planned for the shapes of their step, whose buffers the plan made as long as that.
            unsafe { product::multiply::<T>(handle, product, &addresses) }
        })
    }

    /// Calls cuBLAS on arrays of which it writes the first.
    fn by_cublas(
        &self,
        addresses: &[Address],
        call: impl FnOnce(cublas::cublasHandle_t) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        // Products that run at the same time would share the memory of cuBLAS: each waits for the one before it.
        let touched = || Touched {
            written: vec![addresses[0], self.lane.scratch()],
            read: addresses[1..].to_vec(),
        };
        // A product is several kernels that share that memory: those of another thread must not come between them.
        let _turn = self.products.lock().unwrap_or_else(PoisonError::into_inner);
        self.on_stream(touched, |_, handle| call(handle))
    }

    fn addresses<T: Stored>(&self, arrays: &[&Array<T>]) -> Vec<Address> {
        let address = |array: &&Array<T>| array.device_ptr(&self.lane.stream).0;
        arrays.iter().map(address).collect()
    }

    /// Starts a kernel on words that hold its parameters.
    ///
    /// # Safety
    /// The words are what the text of the kernel declares: addresses of arrays of this GPU, as long as it touches
    /// them, and numbers.
    unsafe fn launch(
        &self,
        kernel: &Kernel,
        blocks: [usize; 3],
        words: &[u64],
        touched: impl FnOnce() -> Touched,
    ) -> Result<(), CudaError> {
        let [x, y, z] = blocks.map(|n| n as u32);
        let shape = LaunchConfig {
            grid_dim: (x, y, z),
            block_dim: (kernel.threads as u32, 1, 1),
            shared_mem_bytes: kernel.shared as u32,
        };
        self.on_stream(touched, |stream, _| {
            let mut launch = stream.launch_builder(&kernel.function);
            for word in words {
                launch.arg(word);
            }
            // SAFETY: the caller's promise.
            let started = unsafe { launch.launch(shape) };
            let started = started.map(|_| ()).map_err(said);
            started.map_err(failed("starting a kernel"))
        })
    }
}
