//! Questions to many networks that stay on a GPU: weights are drawn there, rows are left there until all are asked for.

mod draw;

use std::sync::Arc;

use polariscope_diff::cuda::{Array, CudaError, Gpu, Workspace};
use polariscope_diff::{Number, Precision, Program};
use polariscope_graph::{Graph, Law, Param, Role};
use polariscope_random::Stream;

use crate::network::{Query, compile};
use crate::{NetworkError, Scalar, Weights, differences};
pub use draw::Draws;

/// A question to a network on a GPU, whose answer is rows of input gradients.
pub struct Resident<T> {
    gpu: Arc<Gpu>,
    draws: Draws,
    graph: Graph,
    workspace: Workspace<T>,
    /// Numbers of each leaf; 0 where none is needed.
    leaves: Vec<usize>,
    /// Numbers of an answer.
    length: usize,
}

impl<T: Number> Resident<T> {
    /// Central differences around one point.
    pub fn dipole(
        graph: &Graph,
        h: f64,
        scalar: Scalar,
        ordinal: usize,
        precision: Precision,
    ) -> Result<Self, NetworkError> {
        let differences = differences(graph, h, scalar);
        let program = Program::new(&differences.trace, &[differences.output]);
        let mut resident = Resident::new(graph, &program, ordinal, precision)?;
        for (i, values) in differences.constants.iter().enumerate() {
            let values: Vec<T> = values.iter().map(|&x| T::from_f64(x)).collect();
            resident
                .workspace
                .upload(1 + graph.params.len() + i, &values)?;
        }
        Ok(resident)
    }

    /// Jᵀu at `rows` points; the cotangents u are set by [`Resident::set_cotangents`].
    pub fn input_vjp(
        graph: &Graph,
        rows: usize,
        ordinal: usize,
        precision: Precision,
    ) -> Result<Self, NetworkError> {
        let program = compile(graph, Query::InputVjp, rows);
        Resident::new(graph, &program, ordinal, precision)
    }

    /// The tangent of the input gradient along directions that [`Resident::draw_direction`] draws, at `rows` points.
    pub fn tangent(
        graph: &Graph,
        rows: usize,
        scalar: Scalar,
        ordinal: usize,
        precision: Precision,
    ) -> Result<Self, NetworkError> {
        let program = compile(graph, Query::InputGradientTangent(scalar), rows);
        Resident::new(graph, &program, ordinal, precision)
    }

    fn new(
        graph: &Graph,
        program: &Program,
        ordinal: usize,
        precision: Precision,
    ) -> Result<Self, NetworkError> {
        let gpu = Gpu::open(ordinal)?;
        Ok(Resident {
            draws: Draws::new::<T>(gpu.clone())?,
            graph: graph.clone(),
            workspace: Workspace::new(gpu.clone(), program, precision)?,
            leaves: program.leaves.clone(),
            length: program.outputs[0].1,
            gpu,
        })
    }

    /// Draws the weights of network `index`.
    pub fn draw(&mut self, seed: u64, index: u64) -> Result<(), NetworkError> {
        for at in 0..self.graph.params.len() {
            if self.leaves[at + 1] > 0 {
                let param = self.graph.params[at].clone();
                self.fill(at + 1, &param, Stream::new(seed, index, &param.name))?;
            }
        }
        Ok(())
    }

    fn fill(&mut self, leaf: usize, param: &Param, stream: Stream) -> Result<(), CudaError> {
        let array = self.workspace.leaf(leaf);
        if !self.draws.fill(stream, param.law, array, param.len())? {
            let values = crate::weights::tensor(param, stream);
            self.workspace.upload(leaf, &values)?;
        }
        Ok(())
    }

    /// Takes given weights.
    pub fn load(&mut self, weights: &Weights<T>) -> Result<(), NetworkError> {
        for (at, values) in weights.values.iter().enumerate() {
            if self.leaves[at + 1] > 0 {
                self.workspace.upload(at + 1, values)?;
            }
        }
        Ok(())
    }

    /// Draws z ~ N(0, I) over the trainable parameters, each from the stream of its `name`.
    pub fn draw_direction(
        &mut self,
        seed: u64,
        index: u64,
        name: impl Fn(&str) -> String,
    ) -> Result<(), NetworkError> {
        let first = 1 + self.graph.params.len();
        let trainable: Vec<usize> = self.graph.trainable().collect();
        for (at, i) in trainable.into_iter().enumerate() {
            let mut param = self.graph.params[i].clone();
            param.law = Law::Normal { std: 1.0 };
            if self.leaves[first + at] > 0 {
                let stream = Stream::new(seed, index, &name(&param.name));
                self.fill(first + at, &param, stream)?;
            }
        }
        Ok(())
    }

    /// The points, one after the other.
    pub fn set_points(&mut self, x: &[T]) -> Result<(), NetworkError> {
        Ok(self.set(0, x)?)
    }

    /// Points N(0, σ²) of a stream.
    pub fn draw_points(&mut self, stream: Stream, sigma: f64) -> Result<(), NetworkError> {
        if self.leaves[0] > 0 {
            let points = Param {
                name: String::new(),
                shape: vec![self.leaves[0]],
                law: Law::Normal { std: sigma },
                role: Role::Buffer,
            };
            self.fill(0, &points, stream)?;
        }
        Ok(())
    }

    /// The cotangents of [`Resident::input_vjp`], one after the other.
    pub fn set_cotangents(&mut self, u: &[T]) -> Result<(), NetworkError> {
        Ok(self.set(1 + self.graph.params.len(), u)?)
    }

    fn set(&mut self, leaf: usize, values: &[T]) -> Result<(), CudaError> {
        match self.leaves[leaf] {
            0 => Ok(()),
            _ => self.workspace.upload(leaf, values),
        }
    }

    /// Memory for so many answers.
    pub fn answers(&self, count: usize) -> Result<Array<T>, NetworkError> {
        Ok(self.gpu.zeros(count * self.length)?)
    }

    /// Numbers of an answer.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Runs, and leaves the answer as number `at` of `answers`.
    pub fn answer(&mut self, answers: &mut Array<T>, at: usize) -> Result<(), NetworkError> {
        self.workspace.start()?;
        let from = self.workspace.result(0);
        Ok(self
            .gpu
            .copy(from, self.length, answers, at * self.length)?)
    }

    /// Waits for answers and fetches them.
    pub fn fetch(&self, answers: &Array<T>, out: &mut [T]) -> Result<(), NetworkError> {
        Ok(self.gpu.download(answers, out)?)
    }
}
