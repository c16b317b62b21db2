//! A product as expressions.
//!
//! Leaves are inputs, parameters, zeros of the shape of the outputs, targets, f₀ where the objective has one, and the
//! direction in the trainable parameters. The zeros are added to f and to ℓ′(f): constant factors that follow each other
//! fold into one, past the node between them, and a derivative in that node would be lost. A sum stops them.

use polariscope_diff::{Id, Program, jvp, vjp};
use polariscope_graph::Graph;
use polariscope_network::{Lowered, Mode, lower};

use super::Matrix;
use crate::Objective;

/// For `n` samples of `samples`.
pub(super) fn compile(
    graph: &Graph,
    objective: Objective,
    matrix: Matrix,
    [n, samples]: [usize; 2],
) -> Program {
    let Lowered {
        trace: mut t,
        params,
        output,
        ..
    } = lower(graph, n, Mode::Evaluate);
    let trainable: Vec<Id> = graph.trainable().map(|i| params[i]).collect();
    let shape = t.shape(output).to_vec();
    let zeros = t.leaf(&shape);
    let f = t.add(output, zeros);
    let value = objective.expression(&mut t, f, samples);
    let mut direction = Vec::with_capacity(trainable.len());
    for &p in &trainable {
        let shape = t.shape(p).to_vec();
        direction.push((p, t.leaf(&shape)));
    }
    let one = t.constant(1.0, &[1]);
    let slope = vjp(&mut t, &[(value, one)], &[f])[0];
    let slope = t.add(slope, zeros);
    let product = match matrix {
        Matrix::Hessian => {
            let gradient = vjp(&mut t, &[(value, one)], &trainable);
            jvp(&mut t, &gradient, &direction)
        }
        Matrix::GaussNewton => {
            let change = jvp(&mut t, &[slope], &direction)[0];
            vjp(&mut t, &[(f, change)], &trainable)
        }
        Matrix::Curvature => {
            let gradient = vjp(&mut t, &[(f, slope)], &trainable);
            // ℓ′ stays what it is.
            direction.push((slope, t.constant(0.0, &shape)));
            jvp(&mut t, &gradient, &direction)
        }
        Matrix::Fisher => {
            let change = jvp(&mut t, &[f], &direction)[0];
            let along = t.mul(slope, change);
            let along = t.sum(along, &[1]);
            let along = t.expand(along, &shape);
            let each = t.mul(slope, along);
            let cotangent = t.scale(each, objective.fisher_weight(samples));
            vjp(&mut t, &[(f, cotangent)], &trainable)
        }
    };
    Program::new(&t, &product)
}
