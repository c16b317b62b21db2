//! Controls of the kernel lens: closed forms, symmetries, spectra.

mod infinite;
mod spheres;

use polariscope_graph::{Graph, GraphError, ZooOptions, zoo};
use polariscope_lens::{Control, Group, control};
use polariscope_random::Stream;

/// Those of the lens.
pub const CONTROLS: Group = Group {
    name: "kernels",
    controls: TABLE,
};

/// The table. Nothing here is sampled; what is left is rounding.
#[rustfmt::skip]
const TABLE: &[Control] = &[
    control("relu FCN, 3 layers: NNGP less its recursion over angles", 0.0, 1e-13, infinite::recursion_nngp),
    control("relu FCN, 3 layers: NTK less its recursion over angles", 0.0, 1e-13, infinite::recursion_ntk),
    control("relu FCN: NTK lost at samples 1e-7 apart", 0.0, 1e-14, infinite::nearly_equal),
    control("CNN with pooling: K(x,x') − K(x,x) for a copy x' of x", 0.0, 0.0, infinite::copies),
    control("LCN and CNN, both flattened: distance of their kernels", 0.0, 1e-12, infinite::local_is_shared),
    control("FCN under O(3d): change of the kernels", 0.0, 1e-10, infinite::fcn_group),
    control("CNN-VEC under O(3)^d: change of the kernels", 0.0, 1e-10, infinite::vec_group),
    control("CNN-GAP under O(3)⊗I_d: change of the kernels", 0.0, 1e-10, infinite::gap_group),
    control("e^t on 4 spheres, VEC: eigenvalue of order 0 over theory", 1.0, 1e-12, spheres::constant),
    control("e^t on 4 spheres, VEC: eigenvalue of order 1 over theory", 1.0, 1e-12, spheres::linear),
    control("e^t on 4 spheres, VEC: eigenfunctions of order 1", 12.0, 0.0, spheres::count_vec),
    control("e^t on 4 spheres, GAP: eigenfunctions of order 1", 3.0, 0.0, spheres::count_gap),
];

/// A network of the zoo on 3x6x6 images.
fn image_network(name: &str) -> Result<Graph, GraphError> {
    let options = ZooOptions {
        input: Some("3x6x6".parse()?),
        ..ZooOptions::default()
    };
    zoo(name, &options)
}

/// Standard normal numbers.
fn normal(name: &str, n: usize) -> Vec<f64> {
    let mut x = vec![0.0f32; n];
    Stream::new(0, 0, name).normal(1.0, &mut x);
    x.into_iter().map(f64::from).collect()
}
