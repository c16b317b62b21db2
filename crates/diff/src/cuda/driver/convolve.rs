//! Convolutions by cuDNN, where it can be loaded: products of TF32 by algorithms that sum in the same order every time.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use cudarc::cudnn::{CudnnError, result as dnn, sys as cudnn};

use super::{Address, Array, CudaError, Gpu, Stored, Touched, failed, said};
use crate::cuda::source::{Contraction, Convolution};
use crate::trace::size;

/// The oldest version that is asked.
const VERSION: usize = 90_000;
/// Bytes that a convolution may take for itself.
const SCRATCH: usize = 512 << 20;

/// cuDNN on a GPU.
pub struct Library(cudnn::cudnnHandle_t);

// SAFETY: any thread may use the handle, one at a time: it lies behind a lock.
unsafe impl Send for Library {}

impl Library {
    /// Nothing where there is none, or none that works.
    fn load() -> Option<Self> {
        // SAFETY: this only tries to load the library, whose own start-up code is trusted as the system's is.
        let there = unsafe { cudnn::is_culib_present() };
        if !there || dnn::get_version() < VERSION {
            return None;
        }
        dnn::create_handle().ok().map(Library)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: it was created, and is not used after this.
        let _ = unsafe { dnn::destroy_handle(self.0) };
    }
}

/// What cuDNN knows of a convolution of one network.
#[derive(Debug)]
pub struct Prepared {
    convolution: Convolution,
    x: Tensor,
    w: Filter,
    y: Tensor,
    window: Sliding,
    /// Bytes that it takes for itself.
    pub scratch: usize,
}

// SAFETY: descriptions are only read once they are made.
unsafe impl Send for Prepared {}
// SAFETY: the same.
unsafe impl Sync for Prepared {}

#[derive(Debug)]
struct Tensor(cudnn::cudnnTensorDescriptor_t);
#[derive(Debug)]
struct Filter(cudnn::cudnnFilterDescriptor_t);
#[derive(Debug)]
struct Sliding(cudnn::cudnnConvolutionDescriptor_t);

const FLOAT: cudnn::cudnnDataType_t = cudnn::cudnnDataType_t::CUDNN_DATA_FLOAT;
const ROW_MAJOR: cudnn::cudnnTensorFormat_t = cudnn::cudnnTensorFormat_t::CUDNN_TENSOR_NCHW;
const FORWARD: cudnn::cudnnConvolutionFwdAlgo_t =
    cudnn::cudnnConvolutionFwdAlgo_t::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
const INPUT: cudnn::cudnnConvolutionBwdDataAlgo_t =
    cudnn::cudnnConvolutionBwdDataAlgo_t::CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
const WEIGHT: cudnn::cudnnConvolutionBwdFilterAlgo_t =
    cudnn::cudnnConvolutionBwdFilterAlgo_t::CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;

impl Tensor {
    fn new(shape: [usize; 4]) -> Result<Self, CudnnError> {
        let tensor = Tensor(dnn::create_tensor_descriptor()?);
        let shape = shape.map(|n| n as i32);
        // SAFETY: it was just created.
        unsafe { dnn::set_tensor4d_descriptor(tensor.0, ROW_MAJOR, FLOAT, shape)? };
        Ok(tensor)
    }
}

impl Filter {
    fn new(shape: [usize; 4]) -> Result<Self, CudnnError> {
        let filter = Filter(dnn::create_filter_descriptor()?);
        let shape = shape.map(|n| n as i32);
        // SAFETY: it was just created.
        unsafe { dnn::set_filter4d_descriptor(filter.0, FLOAT, ROW_MAJOR, shape)? };
        Ok(filter)
    }
}

impl Sliding {
    fn new(convolution: &Convolution) -> Result<Self, CudnnError> {
        let sliding = Sliding(dnn::create_convolution_descriptor()?);
        let window = convolution.window;
        let [ph, pw] = window.pad.map(|pad| pad.0 as i32);
        let [sh, sw] = window.stride.map(|n| n as i32);
        let [dh, dw] = window.dilation.map(|n| n as i32);
        let mode = cudnn::cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION;
        // What it may do with f32: TF32, and nothing shorter.
        let math = cudnn::cudnnMathType_t::CUDNN_DEFAULT_MATH;
        // SAFETY: it was just created.
        unsafe {
            dnn::set_convolution2d_descriptor(sliding.0, ph, pw, sh, sw, dh, dw, mode, FLOAT)?;
            dnn::set_convolution_math_type(sliding.0, math)?;
        }
        Ok(sliding)
    }
}

macro_rules! destroyed {
    ($name:ty, $destroy:path) => {
        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: it was created, and is not used after this.
                let _ = unsafe { $destroy(self.0) };
            }
        }
    };
}
destroyed!(Tensor, dnn::destroy_tensor_descriptor);
destroyed!(Filter, dnn::destroy_filter_descriptor);
destroyed!(Sliding, dnn::destroy_convolution_descriptor);

impl Prepared {
    fn new(library: &Library, convolution: &Convolution) -> Result<Self, CudnnError> {
        let mut prepared = Prepared {
            convolution: *convolution,
            x: Tensor::new(convolution.x)?,
            w: Filter::new(convolution.w)?,
            y: Tensor::new(convolution.y)?,
            window: Sliding::new(convolution)?,
            scratch: 0,
        };
        let handle = library.0;
        let (x, w, y) = (prepared.x.0, prepared.w.0, prepared.y.0);
        let window = prepared.window.0;
        // SAFETY: all of these live.
        prepared.scratch = unsafe {
            match convolution.contraction {
                Contraction::Forward => {
                    dnn::get_convolution_forward_workspace_size(handle, x, w, window, y, FORWARD)
                }
                Contraction::Input => dnn::get_convolution_backward_data_workspace_size(
                    handle, w, y, window, x, INPUT,
                ),
                Contraction::Weight => dnn::get_convolution_backward_filter_workspace_size(
                    handle, x, y, window, w, WEIGHT,
                ),
            }
        }?;
        Ok(prepared)
    }

    /// Runs it for every network: result, arguments, memory of its own.
    ///
    /// # Safety
    /// The addresses are of arrays of f32 of the library's GPU, as long as the convolution says.
    unsafe fn run(
        &self,
        library: &Library,
        [result, first, second, scratch]: [Address; 4],
    ) -> Result<(), CudnnError> {
        let handle = library.0;
        let (x, w, y, window) = (self.x.0, self.w.0, self.y.0, self.window.0);
        let one: *const c_void = (&raw const ONE).cast();
        let zero: *const c_void = (&raw const ZERO).cast();
        let Convolution {
            contraction,
            networks,
            ..
        } = self.convolution;
        let [nx, nw, ny] = [self.convolution.x, self.convolution.w, self.convolution.y]
            .map(|shape| size(&shape) * size_of::<f32>());
        let own = scratch as *mut c_void;
        for network in 0..networks {
            let at =
                |start: Address, bytes: usize| (start as usize + network * bytes) as *mut c_void;
            // SAFETY: the caller's promise.
            unsafe {
                match contraction {
                    Contraction::Forward => dnn::convolution_forward(
                        handle,
                        one,
                        x,
                        at(first, nx),
                        w,
                        at(second, nw),
                        window,
                        FORWARD,
                        own,
                        self.scratch,
                        zero,
                        y,
                        at(result, ny),
                    ),
                    Contraction::Input => dnn::convolution_backward_data(
                        handle,
                        one,
                        w,
                        at(second, nw),
                        y,
                        at(first, ny),
                        window,
                        INPUT,
                        own,
                        self.scratch,
                        zero,
                        x,
                        at(result, nx),
                    ),
                    Contraction::Weight => dnn::convolution_backward_filter(
                        handle,
                        one,
                        x,
                        at(first, nx),
                        y,
                        at(second, ny),
                        window,
                        WEIGHT,
                        own,
                        self.scratch,
                        zero,
                        w,
                        at(result, nw),
                    ),
                }
            }?;
        }
        Ok(())
    }
}

static ONE: f32 = 1.0;
static ZERO: f32 = 0.0;

impl Gpu {
    /// cuDNN, loaded when it is first asked for, for the device of the thread.
    fn library(&self) -> Option<&Mutex<Library>> {
        let load = || Library::load().map(Mutex::new);
        self.library.get_or_init(load).as_ref()
    }

    /// A convolution, if cuDNN is there and takes it.
    pub(in crate::cuda) fn convolution(&self, convolution: &Convolution) -> Option<Prepared> {
        self.context.bind_to_thread().ok()?;
        let library = self.library()?;
        let library = library.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = Prepared::new(&library, convolution).ok()?;
        (prepared.scratch <= SCRATCH).then_some(prepared)
    }

    /// Runs a convolution on arrays as long as it says: its result, its two arguments and its own memory.
    pub(in crate::cuda) fn convolve<T: Stored>(
        &self,
        prepared: &Prepared,
        arrays: &[&Array<T>],
    ) -> Result<(), CudaError> {
        let failed = failed("a convolution");
        let &[result, first, second, scratch] = &self.addresses(arrays)[..] else {
            unreachable!("a convolution has two arguments and memory");
        };
        let touched = || Touched {
            written: vec![result, scratch],
            read: vec![first, second],
        };
        let Some(library) = self.library() else {
            unreachable!("it was prepared by cuDNN");
        };
        // Convolutions of several threads take turns: the stream belongs to the handle.
        let library = library.lock().unwrap_or_else(PoisonError::into_inner);
        self.on_stream(touched, |stream, _| {
            // SAFETY: convolutions are planned for the shapes of their step, whose buffers the plan made as long as that.
            let done = unsafe {
                dnn::set_stream(library.0, stream.cu_stream().cast())
                    .and_then(|()| prepared.run(&library, [result, first, second, scratch]))
            };
            done.map_err(said).map_err(failed)
        })
    }
}
