//! One file a verb.

pub mod check;
pub mod eval;
pub mod init;
pub mod list;
pub mod show;
pub mod train;
