//! Machine code for every instruction set, made here once and not in the crates that ask for kernels.

use pulp::Arch;

use super::pair::Pairs;
use super::sides::Chain;
use crate::gram::{Fill, Square};
use crate::simd::SimdNumber;

/// A number whose loops are compiled.
pub trait Compiled: SimdNumber {
    /// Kernels of one row against one batch.
    fn pairs(pairs: Pairs<'_, Self>);
    /// Sides that a chain keeps.
    fn chain(chain: Chain<'_, Self>);
    /// |x|² of a sample.
    fn square(square: Square<'_, Self>) -> Self;
    /// |x − x'|² of rows and columns.
    fn gaps(fill: Fill<'_, Self>);
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
            fn square(square: Square<'_, $t>) -> $t {
                Arch::new().dispatch(square)
            }
            fn gaps(fill: Fill<'_, $t>) {
                Arch::new().dispatch(fill);
            }
        }
    };
}

compiled!(f32);
compiled!(f64);
