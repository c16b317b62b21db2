<<<<<<< HEAD
//! Every integration test of the crate in one program, a module a subject.

mod dead;
mod descent;
mod gaps;
=======
//! Tests of the library, a module a subject.

mod frozen;
mod motion;
>>>>>>> 4a6caa5d3321d17233660a42f5849ebb5d3578e9
