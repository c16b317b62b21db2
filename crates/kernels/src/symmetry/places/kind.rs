//! The kinds of motions that are asked about.

use polariscope_graph::{Graph, Shape};

use super::super::grid::Grid;
use super::follow::{Followed, Lost, follow};
use super::motion::{Axis, Motion};

/// A kind of motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What leaves on one side comes back on the other.
    Cyclic(Axis),
    /// What leaves is lost and zeros come in.
    Filled,
    /// The order along an axis is reversed.
    Flip(Axis),
    /// Rows become columns.
    Transpose,
    /// By 90 degrees.
    Turn,
}

impl Kind {
    /// Those that samples of a shape have.
    pub fn of(shape: Shape) -> Vec<Kind> {
        use Axis::{Across, Down};
        let grid = Grid::of(shape);
        let mut kinds = Vec::new();
        let axes = || [Across, Down].into_iter().filter(|axis| axis.of(&grid) > 1);
        kinds.extend(axes().map(Kind::Cyclic));
        if grid.width > 1 {
            kinds.push(Kind::Filled);
        }
        kinds.extend(axes().map(Kind::Flip));
        if grid.height == grid.width && grid.width > 1 {
            kinds.extend([Kind::Transpose, Kind::Turn]);
        }
        kinds
    }

    /// In words, as a plural.
    pub fn name(self, shape: Shape) -> String {
        let image = matches!(shape, Shape::Image { .. });
        let along = |axis| match (image, axis) {
            (false, _) => "",
            (true, Axis::Across) => " left-right",
            (true, Axis::Down) => " up-down",
        };
        match self {
            Kind::Cyclic(axis) => format!("cyclic translations{}", along(axis)),
            Kind::Filled => "translations filled with zeros".into(),
            Kind::Flip(axis) if image => format!("flips{}", along(axis)),
            Kind::Flip(_) => "reversals".into(),
            Kind::Transpose => "transpositions".into(),
            Kind::Turn => "turns by 90°".into(),
        }
    }
}

/// What the layers say of one kind.
#[derive(Clone, Debug)]
pub struct Deduced {
    /// Which.
    pub kind: Kind,
    /// The motion that makes all that weights follow, and the weights.
    pub follows: Option<(Motion, Followed)>,
    /// Motions that none were found to follow; every larger group of this kind has one of them.
    pub lost: Vec<(Motion, Lost)>,
}

/// What the layers of a network say of every kind.
pub fn deduce(graph: &Graph) -> Vec<Deduced> {
    let grid = Grid::of(graph.input());
    let one = |kind| match kind {
        Kind::Cyclic(axis) => cyclic(graph, axis, axis.of(&grid)),
        Kind::Filled => Deduced {
            kind,
            follows: None,
            lost: Vec::new(),
        },
        Kind::Flip(axis) => single(graph, kind, Motion::Flip(axis)),
        Kind::Transpose => single(graph, kind, Motion::Transpose),
        Kind::Turn => single(graph, kind, Motion::Turn),
    };
    Kind::of(graph.input()).into_iter().map(one).collect()
}

fn single(graph: &Graph, kind: Kind, motion: Motion) -> Deduced {
    let (follows, lost) = match follow(graph, motion) {
        Ok(followed) => (Some((motion, followed)), Vec::new()),
        Err(lost) => (None, vec![(motion, lost)]),
    };
    Deduced {
        kind,
        follows,
        lost,
    }
}

/// Shifts that are followed are a subgroup of the n there are: the multiples of a divisor of n. A larger subgroup holds
/// that divisor over a prime.
fn cyclic(graph: &Graph, axis: Axis, n: usize) -> Deduced {
    let shift = |by| Motion::Shift { axis, by };
    let divisors = (1..n).filter(|by| n.is_multiple_of(*by));
    let found = divisors
        .filter_map(|by| Some((by, follow(graph, shift(by)).ok()?)))
        .next();
    let step = found.as_ref().map_or(n, |(by, _)| *by);
    let smaller = primes(step).into_iter().map(|p| shift(step / p));
    Deduced {
        kind: Kind::Cyclic(axis),
        lost: smaller
            .filter_map(|motion| Some((motion, follow(graph, motion).err()?)))
            .collect(),
        follows: found.map(|(by, followed)| (shift(by), followed)),
    }
}

/// Primes that divide n.
fn primes(n: usize) -> Vec<usize> {
    let divides = |p: &usize| n.is_multiple_of(*p) && (2..*p).all(|q| !p.is_multiple_of(q));
    (2..=n).filter(divides).collect()
}
