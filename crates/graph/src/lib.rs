//! Architectures as pure data: ops, shapes, parameters with PyTorch `state_dict` names, init laws.
#![forbid(unsafe_code)]

mod activation;
mod ir;
mod law;

pub use activation::Activation;
pub use ir::{Graph, Node, NodeId, Op, Padding, Param, ParamId, Role, Shape, Window};
pub use law::{Law, Parametrisation};
