//! Tests of the library, a module a subject.

mod frozen;
mod motion;
