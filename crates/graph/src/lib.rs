//! Architectures as pure data: ops, shapes, parameters with PyTorch `state_dict` names, init laws.
//!
//! ```
//! use polariscope_graph::{Summary, ZooOptions, load};
//!
//! let input = Some("1x32x32".parse()?);
//! let lenet = load("lenet", &ZooOptions { input, outputs: Some(1), ..ZooOptions::default() })?;
//! // conv1 6·(25+1), conv2 16·(150+1), fc1 120·401, fc2 84·121, fc3 85
//! assert_eq!(lenet.parameter_count(), 156 + 2416 + 48120 + 10164 + 85);
//! assert_eq!(Summary::of(&lenet).layers[0].receptive_field, [5, 5]);
//! # Ok::<(), polariscope_graph::GraphError>(())
//! ```
#![forbid(unsafe_code)]

mod activation;
mod builder;
mod error;
mod file;
mod ir;
mod law;
mod names;
mod op;
mod summary;
mod text;
mod zoo;

pub use activation::{Activation, Nonlinearity};
pub use builder::{
    BiasRule, Builder, ConvSpec, HasBias, MAX_ACTIVATION, MAX_LAYERS, MAX_PARAMETERS, MAX_WINDOW,
    PoolSpec,
};
pub use error::GraphError;
pub use file::{load, parse_file, stated_input};
pub use ir::{Graph, Node, NodeId, Padding, Param, ParamId, Role, Shape, Window};
pub use law::{Law, Parametrisation};
pub use names::nearest;
pub use op::{
    Affine, ChannelWeights, Divisor, Facts, Group, Norm, Op, Pairs, Passage, Projection, Rotation,
    Support,
};
pub use summary::{
    LayerSummary, Outline, OutlineStep, Reach, Repeat, Summary, multiplications, reaches,
};
pub use zoo::{ZooEntry, ZooOptions, zoo, zoo_list};
