//! Programs to be timed or listed, by name.

use polariscope_diff::{Id, Program, Trace, jvp, vjp, vmap};
use polariscope_graph::{Graph, ZooOptions, load};
use polariscope_network::{Lowered, Mode, Scalar, differences, gradient_products, lower};
use polariscope_train::Loss;

use crate::Failure;

/// Points of a network in `points`.
const POINTS: usize = 128;

/// A network of the zoo.
pub fn network(architecture: &str, input: &str) -> Result<Graph, Failure> {
    let options = ZooOptions {
        input: Some(input.parse()?),
        ..ZooOptions::default()
    };
    Ok(load(architecture, &options)?)
}

/// One network on a batch (`forward`; `gradient` in weights and inputs), products of gradients (`products`), the dipole of as
/// many networks (`dipole`), their gradients at 128 points (`points`); of N networks on a batch the tangent of the input
/// gradient along the weights (`tangent:N`), or a training step (`train:N`).
pub fn program(
    architecture: &str,
    input: &str,
    batch: usize,
    what: &str,
) -> Result<Program, Failure> {
    let graph = network(architecture, input)?;
    let trainable = |params: &[Id]| -> Vec<Id> { graph.trainable().map(|i| params[i]).collect() };
    if let Some(networks) = what.strip_prefix("train:") {
        let Lowered {
            trace: mut t,
            params,
            output,
            statistics,
            ..
        } = lower(&graph, batch, Mode::Train);
        let y = t.leaf(&[batch, graph.output().len()]);
        let loss = Loss::CrossEntropy.expression(&mut t, output, y, batch);
        let one = t.constant(1.0, &[1]);
        let mut outputs = vec![loss, output];
        outputs.extend(vjp(&mut t, &[(loss, one)], &trainable(&params)));
        outputs.extend(statistics.iter().flat_map(|s| [s.mean, s.variance]));
        let (many, outputs) = vmap(&t, &outputs, &params, networks.parse()?);
        return Ok(Program::new(&many, &outputs));
    }
    let samples = if what == "points" { POINTS } else { batch };
    let mut lowered = lower(&graph, samples, Mode::Evaluate);
    let (t, output) = (&mut lowered.trace, lowered.output);
    if let Some(networks) = what.strip_prefix("tangent:") {
        let one = t.constant_like(1.0, output);
        let gradient = vjp(t, &[(output, one)], &[lowered.x]);
        let along: Vec<(Id, Id)> = trainable(&lowered.params)
            .into_iter()
            .map(|p| {
                let shape = t.shape(p).to_vec();
                (p, t.leaf(&shape))
            })
            .collect();
        let moved = jvp(t, &gradient, &along)[0];
        return Ok(together(t, moved, usize::MAX, networks.parse()?));
    }
    Ok(match what {
        "dipole" => {
            let d = differences(&graph, 100.0, Scalar::Logit(0));
            together(&d.trace, d.output, 1 + graph.params.len(), batch)
        }
        "forward" => Program::new(t, &[output]),
        "products" => {
            let (t, wanted) = gradient_products(&graph, 2 * batch, batch);
            Program::new(&t, &wanted)
        }
        "points" => {
            let one = t.constant_like(1.0, output);
            let gradient = vjp(t, &[(output, one)], &[lowered.x])[0];
            together(t, gradient, usize::MAX, batch)
        }
        "gradient" => {
            let one = t.constant_like(1.0, output);
            let mut of = trainable(&lowered.params);
            of.push(lowered.x);
            let gradients = vjp(t, &[(output, one)], &of);
            Program::new(t, &gradients)
        }
        _ => {
            return Err(format!(
                "{what}: neither forward, gradient, products, dipole, points, tangent:N nor train:N"
            )
            .into());
        }
    })
}

/// The first leaves for each network, the others for all.
fn together(trace: &Trace, output: Id, own: usize, networks: usize) -> Program {
    let leaves: Vec<Id> = trace.leaves().take(own).collect();
    let (many, outputs) = vmap(trace, &[output], &leaves, networks);
    Program::new(&many, &outputs)
}
