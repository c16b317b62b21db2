//! The geometry lens: what an architecture sees before it has learnt anything.
//!
//! For a scalar output f of a random network and a distribution P of inputs,
//!
//! ```text
//! G = E_θ E_{x,x'~P} [ ∇f(x) ∇f(x')ᵀ ]   (coherent geometry: two independent inputs)
//! G = E_θ E_{x~P}    [ ∇f(x) ∇f(x)ᵀ ]    (local geometry: one)
//! ```
//!
//! What lies along the first eigenvectors of the coherent one is learnt easily, what lies along the last ones late or
//! never; [`Predictor`] makes accuracies of it.
#![forbid(unsafe_code)]

mod align;
mod closed;
pub mod controls;
mod error;
mod evolution;
mod kernel;
mod lens;
mod matrix;
pub mod page;
mod predict;
mod question;
mod sample;
mod spectrum;
pub mod theory;

pub use align::{
    Aligned, AlignedNumbers, Alignment, Energy, Match, Measure, Unseen, Verdict, align, align_page,
    aligned, aligned_memory,
};
pub use closed::{coherent, coherent_and_local, exact, mean_field};
pub use error::GeometryError;
pub use evolution::{
    Evolution, EvolutionConfig, EvolutionQuestion, FiniteStep, KnownFrom, Moved, Movement,
    evolution, evolution_page, finite_steps, movement, movement_memory,
};
pub use kernel::{KernelRefusal, kernel, kernel_memory};
pub use lens::{
    Agreement, Answer, Compat, First, Inputs, Integrate, Matrix, Numbers, Origin, Part, Planned,
    Price, Provenance, Question, Record, Resolved, SamplingPlan, Similarity, Stored, Voice, answer,
    plan,
};
pub use matrix::Kron;
pub use predict::{Expansion, Form, LinearProblem, Measured, PredictError, Predictor, Ridge};
pub use question::{Gradient, Method, Output, Probe};
pub use sample::{
    Centring, Config as SampleConfig, Float, GROUPS, Limit, MOST, Readouts, Sampled, Sampler,
    Shard, State, Top, TopSampler, best_probes, best_readouts,
};
pub use spectrum::{Generalised, Spectrum, Summary, corr, flip, generalised, overlap};
