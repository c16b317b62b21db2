//! What can be wrong with a product of spheres.

/// A spectrum that cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SphereError {
    /// A size of 0.
    #[error("{name} is 0; it must be at least 1")]
    Zero {
        /// Which size.
        name: &'static str,
    },
    /// A patch that is longer than the circle.
    #[error("s = {s} mini-patches in a patch, but there are only p = {p}; s must be at most p")]
    Patch {
        /// Mini-patches in a patch.
        s: usize,
        /// Mini-patches.
        p: usize,
    },
    /// More classes than can be listed, or multiplicities beyond 64 bits.
    #[error("order {order} has too many classes of degrees to list; ask for a lower order")]
    Classes {
        /// The order asked for.
        order: usize,
    },
    /// k is not finite on [−1, 1].
    #[error("the kernel function {name} is not finite on [-1, 1]")]
    Profile {
        /// Name of k.
        name: String,
    },
    /// Too few points to say anything.
    #[error("{points} sample points; this needs at least {least}")]
    Points {
        /// How many there are.
        points: usize,
        /// How many are needed.
        least: usize,
    },
    /// The eigensolver or the factorisation failed.
    #[error("the Gram matrix could not be decomposed")]
    Decomposition,
}
