//! One file a verb.

pub mod align;
pub mod check;
pub mod compare;
pub mod eval;
pub mod evolution;
pub mod geometry;
pub mod init;
pub mod list;
pub mod merge;
pub mod plan;
pub mod show;
pub mod train;
