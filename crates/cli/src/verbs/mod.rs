//! One file a verb.

pub mod list;
pub mod show;
