//! CUDA C++ for the stages of a plan.
//!
//! Shapes are written into the code. A stage is two kernels: `fields` takes one displacement of one pair through all
//! steps, with its fields in the memory of a block; `gather` sums what they left. Every number is summed by one thread or
//! one warp in a fixed order, so the same plan gives the same bits again.

mod chain;
mod fields;
mod gather;
mod own;
mod prelude;
mod source;

use polariscope_diff::Dtype;
use polariscope_diff::cuda::CudaSource;

use crate::plan::View;
use crate::run::Tangent;

pub(super) use fields::{Fields, fields};
pub(super) use gather::{Gather, gather};
pub(super) use own::{OwnVariances, own};

/// Threads of a block.
pub(super) const THREADS: usize = 256;

/// Parameters of `fields` and `gather`. Pairs are (row << 16 | column); `store` holds what earlier stages left, `made`
/// what `fields` leaves to `gather`, `area` fields that do not fit into the memory of a block.
const PARAMETERS: &str = "const unsigned* __restrict__ pairs, const int count, const T* __restrict__ x_left, \
     const T* __restrict__ x_right, const T* __restrict__ s_left, const T* __restrict__ s_right, const T* __restrict__ gram, \
     const int columns, T* __restrict__ store_k, T* __restrict__ store_t, T* __restrict__ made_k, \
     T* __restrict__ made_t, T* __restrict__ out_k, T* __restrict__ out_t, T* __restrict__ area";

/// Which numbers are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// Of this type.
    pub dtype: Dtype,
    /// Whether Θ is among them.
    pub tangent: Tangent,
}

impl Kind {
    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self.dtype {
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        }
    }

    /// Whether Θ is carried.
    pub fn carried(self) -> bool {
        self.tangent == Tangent::Carried
    }

    /// Text that only Θ needs.
    pub fn theta(self, text: impl Into<String>) -> String {
        match self.carried() {
            true => text.into(),
            false => String::new(),
        }
    }

    /// A whole program from its helpers, parameters and body.
    pub fn source(
        self,
        helpers: &str,
        [parameters, body]: [&str; 2],
        bounds: &str,
        shared: usize,
    ) -> CudaSource {
        CudaSource {
            text: format!(
                "{}{helpers}extern \"C\" __global__ void __launch_bounds__({bounds}) k({parameters}) {{\n{body}}}\n",
                prelude::text(self.dtype)
            ),
            name: "k",
            threads: THREADS,
            shared,
        }
    }
}

/// The nearest number of type T.
pub(super) fn number(c: f64) -> String {
    format!("(T)({c:?})")
}

/// A variance: a side of the left sample (`p`) or of the right one (`q`) at a position.
fn variance(of: char, view: View, offsets: &[usize], position: &str) -> String {
    let value = format!("{of}[{} + {position}]", offsets[view.side]);
    match (view.gain, view.shift) {
        (1.0, 0.0) => value,
        (gain, shift) => format!("({} * {value} + {})", number(gain), number(shift)),
    }
}

/// First position of every side of a sample, and how many there are.
pub(super) fn offsets(sides: &[usize]) -> (Vec<usize>, usize) {
    let mut total = 0;
    let mut starts = Vec::with_capacity(sides.len());
    for positions in sides {
        starts.push(total);
        total += positions;
    }
    (starts, total)
}
