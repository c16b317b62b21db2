//! Questions to many networks that stay on a GPU: weights are drawn there, several networks run at once, answers are
//! left there until they are asked for.

mod draw;

use std::sync::Arc;

use polariscope_diff::cuda::{Array, CudaError, Gpu, Workspace};
use polariscope_diff::{Id, Number, Precision, Program, Trace, vmap};
use polariscope_graph::{Graph, Law};
use polariscope_random::Stream;

use crate::network::{Query, expressions};
use crate::{NetworkError, Scalar, Weights, differences};
pub use draw::Draws;

/// Operations that keep a GPU busy: networks are taken together up to this many.
const BUSY: f64 = 4e10;
/// Networks taken together, at most.
const TOGETHER: usize = 64;
/// The networks that are taken together have one part in so many of the GPU's memory, unless a single one needs more.
const PARTS: usize = 8;

/// A question to networks on a GPU, whose answers are rows of input gradients.
pub struct GpuNetworks<T> {
    gpu: Arc<Gpu>,
    draws: Draws,
    graph: Graph,
    workspace: Workspace<T>,
    /// Numbers of each leaf of a network; 0 where none is needed.
    leaves: Vec<usize>,
    /// Numbers of an answer.
    length: usize,
    together: usize,
    /// Those that lie there, by network.
    cotangents: Vec<Vec<T>>,
    /// Those that were given last, until others are drawn.
    points: Vec<T>,
}

/// Where and how.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// Which GPU.
    pub ordinal: usize,
    /// How f32 is multiplied.
    pub precision: Precision,
}

impl<T: Number> GpuNetworks<T> {
    /// Central differences around one point.
    pub fn dipole(graph: &Graph, h: f64, scalar: Scalar, card: Card) -> Result<Self, NetworkError> {
        let d = differences(graph, h, scalar);
        let own = 1 + graph.params.len();
        let mut networks = GpuNetworks::new(graph, &d.trace, d.output, own, card)?;
        for (i, values) in d.constants.iter().enumerate() {
            let values: Vec<T> = values.iter().map(|&x| T::from_f64(x)).collect();
            networks.workspace.upload(own + i, 0, &values)?;
        }
        Ok(networks)
    }

    /// Jᵀu at `rows` points; the cotangents u are set by [`GpuNetworks::set_cotangents`].
    pub fn input_vjp(graph: &Graph, rows: usize, card: Card) -> Result<Self, NetworkError> {
        let (trace, outputs) = expressions(graph, Query::InputVjp, rows);
        GpuNetworks::new(graph, &trace, outputs[0], usize::MAX, card)
    }

    /// The tangent of the input gradient along directions that [`GpuNetworks::draw_direction`] draws, at `rows` points.
    pub fn tangent(
        graph: &Graph,
        rows: usize,
        scalar: Scalar,
        card: Card,
    ) -> Result<Self, NetworkError> {
        let (trace, outputs) = expressions(graph, Query::InputGradientTangent(scalar), rows);
        GpuNetworks::new(graph, &trace, outputs[0], usize::MAX, card)
    }

    /// The first `own` leaves are each network's own, the others are the same for all.
    fn new(
        graph: &Graph,
        trace: &Trace,
        output: Id,
        own: usize,
        card: Card,
    ) -> Result<Self, NetworkError> {
        let one = Program::new(trace, &[output]);
        let operations: f64 = one.steps.iter().map(|step| step.cost().operations).sum();
        let gpu = Gpu::open(card.ordinal)?;
        let fit = (gpu.memory()? / PARTS / size_of::<T>() / one.numbers().max(1)).max(1);
        let together = ((BUSY / operations) as usize).clamp(1, TOGETHER.min(fit));
        let program = match together {
            1 => one.clone(),
            count => {
                let leaves: Vec<Id> = trace.leaves().take(own).collect();
                let (many, outputs) = vmap(trace, &[output], &leaves, count);
                Program::new(&many, &outputs)
            }
        };
        Ok(GpuNetworks {
            draws: Draws::new::<T>(gpu.clone())?,
            graph: graph.clone(),
            workspace: Workspace::new(gpu.clone(), &program, card.precision)?,
            leaves: one.leaves,
            length: one.outputs[0].1,
            cotangents: vec![Vec::new(); together],
            points: Vec::new(),
            together,
            gpu,
        })
    }

    /// Networks that are taken together.
    pub fn together(&self) -> usize {
        self.together
    }

    /// Numbers of an answer.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Draws the weights of networks, as many as are taken together or fewer.
    pub fn draw(&mut self, seed: u64, networks: &[u64]) -> Result<(), NetworkError> {
        self.draws.choose(networks)?;
        for at in 0..self.graph.params.len() {
            let param = &self.graph.params[at];
            let (law, name) = (param.law, param.name.clone());
            self.fill(at + 1, law, seed, &name, networks)?;
        }
        Ok(())
    }

    /// Fills a leaf from the streams of a name.
    fn fill(
        &mut self,
        leaf: usize,
        law: Law,
        seed: u64,
        name: &str,
        networks: &[u64],
    ) -> Result<(), CudaError> {
        let n = self.leaves[leaf];
        if n == 0
            || self
                .draws
                .fill(seed, name, law, self.workspace.leaf(leaf), n)?
        {
            return Ok(());
        }
        for (slot, &index) in networks.iter().enumerate() {
            let values = crate::weights::tensor(
                &self.graph.params[leaf - 1],
                Stream::new(seed, index, name),
            );
            self.set(leaf, slot, &values)?;
        }
        Ok(())
    }

    /// Takes given weights for one of the networks.
    pub fn load(&mut self, slot: usize, weights: &Weights<T>) -> Result<(), NetworkError> {
        for (at, values) in weights.values.iter().enumerate() {
            self.set(at + 1, slot, values)?;
        }
        Ok(())
    }

    /// Draws z ~ N(0, I) over the trainable parameters, each from the stream of its `name`.
    pub fn draw_direction(
        &mut self,
        seed: u64,
        networks: &[u64],
        name: impl Fn(&str) -> String,
    ) -> Result<(), NetworkError> {
        self.draws.choose(networks)?;
        let first = 1 + self.graph.params.len();
        let trainable: Vec<usize> = self.graph.trainable().collect();
        for (at, i) in trainable.into_iter().enumerate() {
            let name = name(&self.graph.params[i].name);
            self.fill(first + at, Law::Normal { std: 1.0 }, seed, &name, networks)?;
        }
        Ok(())
    }

    /// The points of the first networks, one after the other.
    pub fn set_points(&mut self, x: Vec<T>) -> Result<(), NetworkError> {
        if self.points != x {
            self.set(0, 0, &x)?;
            self.points = x;
        }
        Ok(())
    }

    /// Points N(0, σ²) of each network's stream of a name.
    pub fn draw_points(
        &mut self,
        seed: u64,
        networks: &[u64],
        name: &str,
        sigma: f64,
    ) -> Result<(), NetworkError> {
        self.draws.choose(networks)?;
        self.points.clear();
        Ok(self.fill(0, Law::Normal { std: sigma }, seed, name, networks)?)
    }

    /// The cotangents of [`GpuNetworks::input_vjp`] for one of the networks, one after the other.
    pub fn set_cotangents(&mut self, slot: usize, u: &[T]) -> Result<(), NetworkError> {
        // Mostly they are those of the networks before.
        if self.cotangents[slot] != u {
            self.set(1 + self.graph.params.len(), slot, u)?;
            self.cotangents[slot] = u.to_vec();
        }
        Ok(())
    }

    fn set(&mut self, leaf: usize, slot: usize, values: &[T]) -> Result<(), CudaError> {
        match self.leaves[leaf] {
            0 => Ok(()),
            n => self.workspace.upload(leaf, slot * n, values),
        }
    }

    /// Runs, and leaves the answers of the networks one after the other.
    pub fn run(&mut self) -> Result<&Array<T>, NetworkError> {
        self.workspace.start()?;
        Ok(self.workspace.result(0))
    }

    /// Memory for so many answers.
    pub fn answers(&self, count: usize) -> Result<Array<T>, NetworkError> {
        Ok(self.gpu.zeros(count * self.length)?)
    }

    /// Runs, and leaves the answer of each network at its place of `answers`.
    pub fn answer(
        &mut self,
        answers: &mut Array<T>,
        places: impl Iterator<Item = usize>,
    ) -> Result<(), NetworkError> {
        self.workspace.start()?;
        let (from, n) = (self.workspace.result(0), self.length);
        let places: Vec<usize> = places.collect();
        // Neighbours go together: a copy takes longer to start than to run.
        let mut slot = 0;
        for run in places.chunk_by(|a, b| a + 1 == *b) {
            let range = slot * n..(slot + run.len()) * n;
            self.gpu.copy(from, range, answers, run[0] * n)?;
            slot += run.len();
        }
        Ok(())
    }

    /// Waits for answers and fetches them.
    pub fn fetch(&self, answers: &Array<T>, out: &mut [T]) -> Result<(), NetworkError> {
        Ok(self.gpu.download(answers, out)?)
    }
}
