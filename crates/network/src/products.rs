//! Products of gradients in the parameters, without the gradients: on a GPU these stay there.
//!
//! A row (x, u) stands for ∇_θ u·f(x). Rows are taken together ([`vmap`]), and Σ over tensors of G G′ᵀ is all that is
//! kept of their gradients.

use polariscope_diff::{Id, Number, Trace, vmap};
use polariscope_graph::Graph;

use crate::network::{Query, expressions};
use crate::{Network, NetworkError, Weights};

/// Parameters whose products are added before those of others: sums of millions of f32 in a row would lose digits, and
/// few products of long rows leave most of a GPU idle.
const STRETCH: usize = 1 << 12;

/// Rows of a Jacobian in the parameters.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    /// Points, N × sample.
    pub x: &'a [T],
    /// Weights of the outputs of each, N × outputs.
    pub u: &'a [T],
}

impl<T: Number> Network<T> {
    /// ⟨∇_θ u·f(x), ∇_θ u′·f(x′)⟩ of the rows of `left` and of `right`, left × right; without `right` among those of
    /// `left`.
    pub fn gradient_products(
        &self,
        weights: &Weights<T>,
        left: Rows<'_, T>,
        right: Option<Rows<'_, T>>,
    ) -> Result<Vec<T>, NetworkError> {
        self.check(weights)?;
        let other = right.unwrap_or(left);
        let (m, n) = (self.samples(left.x)?, self.samples(other.x)?);
        self.check_cotangent(m, left.u)?;
        self.check_cotangent(n, other.u)?;
        let side = self.side();
        let mut products = vec![T::ZERO; m * n];
        for i in (0..m).step_by(side) {
            let rows = self.rows(left, i..m.min(i + side));
            let last = if right.is_none() { i + 1 } else { n };
            for j in (0..last).step_by(side) {
                let width = side.min(n - j);
                let block = match right.is_none() && i == j {
                    true => self.block(weights, rows, None)?,
                    false => self.block(weights, rows, Some(self.rows(other, j..j + width)))?,
                };
                for (at, &value) in block.iter().enumerate() {
                    let (r, c) = (i + at / width, j + at % width);
                    products[r * n + c] = value;
                    if right.is_none() && i != j {
                        products[c * n + r] = value;
                    }
                }
            }
        }
        Ok(products)
    }

    /// Rows and columns of a block.
    fn side(&self) -> usize {
        let query = |n: usize| (Query::GradientProducts { left: n }, 2 * n);
        self.together(query)
    }

    fn rows<'a>(&self, rows: Rows<'a, T>, range: std::ops::Range<usize>) -> Rows<'a, T> {
        let (sample, outputs) = (self.graph().input().len(), self.graph().output().len());
        Rows {
            x: &rows.x[range.start * sample..range.end * sample],
            u: &rows.u[range.start * outputs..range.end * outputs],
        }
    }

    /// The products of few rows; without `right` among those of `left`.
    fn block(
        &self,
        weights: &Weights<T>,
        left: Rows<'_, T>,
        right: Option<Rows<'_, T>>,
    ) -> Result<Vec<T>, NetworkError> {
        let count = left.x.len() / self.graph().input().len();
        let (x, u) = match right {
            None => (left.x.to_vec(), left.u.to_vec()),
            Some(right) => ([left.x, right.x].concat(), [left.u, right.u].concat()),
        };
        let all = x.len() / self.graph().input().len();
        let leaves = self.leaves(weights, None, &x, Some(&u));
        let query = Query::GradientProducts { left: count };
        self.plan(query, all)
            .run(&leaves, |session| session.output(0).to_vec())
    }
}

/// What [`Network::gradient_products`] computes of the first `left` of `rows` rows with the others, or among them where
/// there are no others. Leaves are the points, the parameters, and the weights of the outputs.
pub fn gradient_products(graph: &Graph, rows: usize, left: usize) -> (Trace, Vec<Id>) {
    let (one, gradients) = expressions(graph, Query::ParameterVjp, 1);
    // The point comes first of all leaves, the weights of its outputs come last.
    let leaves: Vec<Id> = one.leaves().collect();
    let own = [leaves[0], leaves[leaves.len() - 1]];
    let (mut t, gradients) = vmap(&one, &gradients, &own, rows);
    let columns = if rows == left { left } else { rows - left };
    let mut sum = t.constant(0.0, &[1, left, columns]);
    for gradient in gradients {
        let length: usize = t.shape(gradient).iter().skip(1).product();
        let g = t.reshape(gradient, &[1, rows, length]);
        let (count, whole) = (length / STRETCH, length / STRETCH * STRETCH);
        if whole > 0 {
            let stretches = t.slice(g, 2, 0, whole);
            let stretches = t.reshape(stretches, &[rows, count, STRETCH]);
            let stretches = t.permute(stretches, &[1, 0, 2]);
            let part = multiply(&mut t, stretches, left);
            sum = t.add(sum, part);
        }
        if whole < length {
            let rest = t.slice(g, 2, whole, length - whole);
            let part = multiply(&mut t, rest, left);
            sum = t.add(sum, part);
        }
    }
    (t, vec![sum])
}

/// Σ over stretches of A Bᵀ, where A has the first `left` rows and B the others, or the same where there are no others.
fn multiply(t: &mut Trace, g: Id, left: usize) -> Id {
    let rows = t.shape(g)[1];
    let (a, b) = match rows - left {
        0 => (g, g),
        right => (t.slice(g, 1, 0, left), t.slice(g, 1, left, right)),
    };
    let products = t.matmul(a, b, false, true);
    t.sum(products, &[0])
}
