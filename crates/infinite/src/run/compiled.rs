//! Machine code for every instruction set, made here once and not in the crates that ask for kernels.

use pulp::Arch;

use super::pair::Pairs;
use super::sides::Chain;
use crate::gram::{self, Squared};
use crate::lanes::Lanes;

/// A number whose loops are compiled.
pub trait Compiled: Lanes {
    /// Kernels of one row against one batch.
    fn pairs(pairs: Pairs<'_, Self>);
    /// Sides that a chain keeps.
    fn chain(chain: Chain<'_, Self>);
    /// |x − x'|² of rows and columns, those with column − row ≥ first.
    fn gaps(rows: Squared<Self>, columns: Squared<Self>, inputs: usize, first: isize) -> Vec<Self>;
}

macro_rules! compiled {
    ($t:ty) => {
        impl Compiled for $t {
            fn pairs(pairs: Pairs<'_, $t>) {
                Arch::new().dispatch(pairs);
            }
            fn chain(chain: Chain<'_, $t>) {
                Arch::new().dispatch(chain);
            }
            fn gaps(
                rows: Squared<$t>,
                columns: Squared<$t>,
                inputs: usize,
                first: isize,
            ) -> Vec<$t> {
                gram::gaps(rows, columns, inputs, first)
            }
        }
    };
}

compiled!(f32);
compiled!(f64);
