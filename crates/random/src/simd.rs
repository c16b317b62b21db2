//! The same code compiled for the instruction sets at hand, chosen at run time.
//!
//! The only module with `unsafe`: calling a function compiled for an instruction set is sound once that
//! set has been detected.

use crate::fill::{Map, fill};
use crate::stream::Stream;

/// Instruction set that draws. All of them give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// No more than the target guarantees.
    Portable,
    /// Eight lanes.
    Avx2,
    /// Sixteen lanes.
    Avx512,
}

impl Path {
    /// The paths this processor can take, fastest last.
    pub fn available() -> Vec<Path> {
        let all = [Path::Portable, Path::Avx2, Path::Avx512];
        all.into_iter().filter(|p| p.detected()).collect()
    }

    #[cfg(target_arch = "x86_64")]
    fn detected(self) -> bool {
        match self {
            Path::Portable => true,
            Path::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Path::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("fma")
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detected(self) -> bool {
        self == Path::Portable
    }
}

/// Fills on the fastest path.
pub(crate) fn fill_fastest(stream: &Stream, map: Map, first: u64, out: &mut [f32]) {
    let best = [Path::Avx512, Path::Avx2]
        .into_iter()
        .find(|p| p.detected());
    fill_on(best.unwrap_or(Path::Portable), stream, map, first, out);
}

/// Fills on one path; a path the processor lacks falls back to the portable one.
pub(crate) fn fill_on(path: Path, stream: &Stream, map: Map, first: u64, out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if path == Path::Avx512 && path.detected() {
            // SAFETY: every feature of `fill_avx512` has just been detected.
            return unsafe { fill_avx512(stream, map, first, out) };
        }
        if path == Path::Avx2 && path.detected() {
            // SAFETY: every feature of `fill_avx2` has just been detected.
            return unsafe { fill_avx2(stream, map, first, out) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = path;
    fill(stream, map, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")]
fn fill_avx512(stream: &Stream, map: Map, first: u64, out: &mut [f32]) {
    fill(stream, map, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn fill_avx2(stream: &Stream, map: Map, first: u64, out: &mut [f32]) {
    fill(stream, map, first, out);
}
