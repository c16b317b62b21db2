//! Recordings: calls that are written down instead of made, each after those whose results it needs and after no others.
//!
//! A thread that records writes to a stream of its own, so that other threads may use the GPU meanwhile. A call tells which
//! arrays it reads and writes; it waits for the last that wrote any of them, and for those that have read since what it
//! will write. What does not depend on each other may then run at the same time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use cudarc::cublas::{CudaBlas, sys as cublas};
use cudarc::driver::{CudaContext, CudaGraph, CudaStream, DevicePtr, result, sys as driver};

use super::{Address, Array, CudaError, Gpu, failed, said};

/// Calls that were written down, to be made again at once.
pub struct Recording(CudaGraph);

/// Bytes that cuBLAS may write to: what NVIDIA advises for the largest GPUs. Without them it would take memory inside
/// recordings.
const SCRATCH: usize = 32 << 20;

/// A stream with a handle of cuBLAS.
pub struct Lane {
    pub stream: Arc<CudaStream>,
    pub blas: CudaBlas,
    /// Memory of cuBLAS.
    scratch: Array<f32>,
}

impl Lane {
    /// Where the memory of cuBLAS lies: every product may write to it.
    pub fn scratch(&self) -> Address {
        self.scratch.device_ptr(&self.stream).0
    }

    pub fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        let stream = context.new_stream();
        let stream = stream.map_err(said).map_err(failed("opening a stream"))?;
        let blas = CudaBlas::new(Arc::clone(&stream))
            .map_err(said)
            .map_err(failed("starting cuBLAS"))?;
        let scratch = stream.alloc_zeros(SCRATCH / size_of::<f32>());
        let scratch: Array<f32> = scratch.map_err(said).map_err(failed("taking memory"))?;
        let address = scratch.device_ptr(&stream).0 as *mut std::ffi::c_void;
        // SAFETY: the memory is as long as that, and lives as long as the handle.
        let given = unsafe { cublas::cublasSetWorkspace_v2(*blas.handle(), address, SCRATCH) };
        given
            .result()
            .map_err(said)
            .map_err(failed("giving cuBLAS memory"))?;
        Ok(Lane {
            stream,
            blas,
            scratch,
        })
    }
}

/// What a thread has recorded so far.
struct Tracker {
    stream: Arc<CudaStream>,
    handle: cublas::cublasHandle_t,
    written: HashMap<Address, Vec<driver::CUgraphNode>>,
    read: HashMap<Address, Vec<driver::CUgraphNode>>,
}

thread_local! {
    static TRACKER: RefCell<Option<Tracker>> = const { RefCell::new(None) };
}

/// Arrays of a call.
pub struct Touched {
    pub written: Vec<Address>,
    pub read: Vec<Address>,
}

impl Tracker {
    /// Lets the next call wait for what it needs.
    fn before(&self, touched: &Touched) -> Result<(), CudaError> {
        let mut nodes: Vec<driver::CUgraphNode> = Vec::new();
        for address in touched.written.iter().chain(&touched.read) {
            nodes.extend(self.written.get(address).into_iter().flatten());
        }
        for address in &touched.written {
            nodes.extend(self.read.get(address).into_iter().flatten());
        }
        nodes.sort_unstable();
        nodes.dedup();
        let flag =
            driver::CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES;
        // SAFETY: the nodes are of the recording that this stream makes.
        let set = unsafe {
            driver::cuStreamUpdateCaptureDependencies_v2(
                self.stream.cu_stream(),
                nodes.as_mut_ptr(),
                std::ptr::null(),
                nodes.len(),
                flag as u32,
            )
        };
        set.result().map_err(said).map_err(failed("recording"))
    }

    /// Notes what the last call touched.
    fn after(&mut self, touched: &Touched) -> Result<(), CudaError> {
        let mut status = driver::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut id, mut graph) = (0, std::ptr::null_mut());
        let (mut first, mut count) = (std::ptr::null(), 0);
        // SAFETY: every pointer is to a variable that outlives the call.
        let asked = unsafe {
            driver::cuStreamGetCaptureInfo_v3(
                self.stream.cu_stream(),
                &mut status,
                &mut id,
                &mut graph,
                &mut first,
                std::ptr::null_mut(),
                &mut count,
            )
        };
        asked.result().map_err(said).map_err(failed("recording"))?;
        let nodes: Vec<driver::CUgraphNode> = match count {
            0 => Vec::new(),
            // SAFETY: the driver's list lives until the next call to this stream.
            _ => unsafe { std::slice::from_raw_parts(first, count) }.to_vec(),
        };
        for &address in &touched.read {
            self.read.entry(address).or_default().extend(&nodes);
        }
        for &address in &touched.written {
            self.written.insert(address, nodes.clone());
            self.read.remove(&address);
        }
        Ok(())
    }
}

impl Gpu {
    /// Makes a call on the stream of this thread: to be run, or to be recorded, for which it is asked what it touches.
    pub(super) fn on_stream(
        &self,
        touched: impl FnOnce() -> Touched,
        call: impl FnOnce(&Arc<CudaStream>, cublas::cublasHandle_t) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        // The vendor's libraries work on the device of the thread, and a thread may be new to this one.
        let bound = self.context.bind_to_thread().map_err(said);
        bound.map_err(failed("taking up the device"))?;
        TRACKER.with_borrow_mut(|tracker| match tracker {
            None => call(&self.lane.stream, *self.lane.blas.handle()),
            Some(tracker) => {
                let touched = touched();
                tracker.before(&touched)?;
                call(&tracker.stream, tracker.handle)?;
                tracker.after(&touched)
            }
        })
    }

    /// Writes down the kernels and products that `calls` starts, instead of running them.
    pub fn record(
        &self,
        calls: impl FnOnce() -> Result<(), CudaError>,
    ) -> Result<Recording, CudaError> {
        let failed = failed("recording");
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = match &mut *recorder {
            Some(lane) => lane,
            none => none.insert(Lane::new(&self.context)?),
        };
        let alone = driver::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let begun = lane.stream.begin_capture(alone);
        begun.map_err(said).map_err(&failed)?;
        TRACKER.set(Some(Tracker {
            stream: lane.stream.clone(),
            handle: *lane.blas.handle(),
            written: HashMap::new(),
            read: HashMap::new(),
        }));
        let made = calls();
        TRACKER.set(None);
        let flags = driver::CUgraphInstantiate_flags(0);
        let ended = lane.stream.end_capture(flags);
        made?;
        match ended.map_err(said).map_err(&failed)? {
            Some(graph) => Ok(Recording(graph)),
            None => Err(failed("it is empty".to_owned())),
        }
    }

    /// Makes the calls of a recording, after all that was asked before.
    pub fn replay(&self, recording: &Recording) -> Result<(), CudaError> {
        let bound = self.context.bind_to_thread();
        // SAFETY: the graph lives as long as the recording, whose arrays its owner keeps.
        let started = bound.and_then(|()| unsafe {
            result::graph::launch(recording.0.cu_graph_exec(), self.lane.stream.cu_stream())
        });
        started.map_err(said).map_err(failed("replaying"))
    }
}
