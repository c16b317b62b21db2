//! Derivatives against differences and against each other.

use polariscope_diff::{Program, Trace, vjp};
use polariscope_graph::{Role, ZooOptions};
use polariscope_lens::Fault;

use super::{distance, dot, drawn, named, normal};
use crate::{Network, Scalar, Weights};

const LOGIT: Scalar = Scalar::Logit(0);

/// LeNet without kinks: average pool, GELU, one channel.
fn lenet() -> Result<(Network<f64>, Weights<f64>), Fault> {
    let options = ZooOptions {
        input: Some("1x16x16".parse()?),
        activation: Some("gelu".parse()?),
        ..ZooOptions::default()
    };
    Ok(drawn(named("lenet-avg", options)?))
}

/// w + εv; buffers stay.
fn along(network: &Network<f64>, w: &Weights<f64>, v: &Weights<f64>, step: f64) -> Weights<f64> {
    let mut moved = w.clone();
    let tensors = moved
        .values
        .iter_mut()
        .zip(&v.values)
        .zip(&network.graph().params);
    for ((w, v), param) in tensors {
        if param.role == Role::Trainable {
            w.iter_mut().zip(v).for_each(|(w, v)| *w += step * v);
        }
    }
    moved
}

/// (f(x + he_i) − f(x − he_i))/2h in every coordinate. With h = 1e-4 the rule's own error is h² and rounding
/// costs 1e-16/h.
pub fn gradient() -> Result<f64, Fault> {
    const STEP: f64 = 1e-4;
    let (network, weights) = lenet()?;
    let x = normal("gradient", 256);
    let mut moved = Vec::with_capacity(512 * 256);
    for i in 0..256 {
        for step in [STEP, -STEP] {
            let start = moved.len();
            moved.extend_from_slice(&x);
            moved[start + i] += step;
        }
    }
    let f = network.output(&weights, &moved)?;
    let outputs = network.graph().output().len();
    let pairs = f.chunks(2 * outputs);
    let differences: Vec<f64> = pairs.map(|p| (p[0] - p[outputs]) / (2.0 * STEP)).collect();
    Ok(distance(
        &network.input_gradient(&weights, &x, LOGIT)?,
        &differences,
    ))
}

/// (∇f at w + hv − ∇f at w − hv)/2h.
pub fn tangent() -> Result<f64, Fault> {
    const STEP: f64 = 1e-4;
    let (network, weights) = lenet()?;
    let v = Weights::draw(network.graph(), 0, 1);
    let x = normal("tangent", 256);
    let at = |step| network.input_gradient(&along(&network, &weights, &v, step), &x, LOGIT);
    let (plus, minus) = (at(STEP)?, at(-STEP)?);
    let differences: Vec<f64> = plus
        .iter()
        .zip(&minus)
        .map(|(p, m)| (p - m) / (2.0 * STEP))
        .collect();
    Ok(distance(
        &network.input_gradient_tangent(&weights, &v, &x, LOGIT)?,
        &differences,
    ))
}

/// H = Σ ∇²_θ f over a few samples and all outputs.
pub fn symmetry() -> Result<f64, Fault> {
    let (network, weights) = lenet()?;
    let (u, v) = (
        Weights::draw(network.graph(), 0, 1),
        Weights::draw(network.graph(), 0, 2),
    );
    let x = normal("symmetry", 3 * 256);
    let ones = vec![1.0; 3 * network.graph().output().len()];
    let product = |v: &Weights<f64>| network.curvature_product(&weights, v, &x, &ones);
    let (hu, hv) = (product(&u)?, product(&v)?);
    let pair = |a: &Weights<f64>, b: &Weights<f64>| -> f64 {
        a.values.iter().zip(&b.values).map(|(a, b)| dot(a, b)).sum()
    };
    let (uhv, vhu) = (pair(&u, &hv), pair(&v, &hu));
    Ok((uhv - vhu).abs() / uhv.abs())
}

/// uᵀ(JJᵀu) by a tangent of a gradient, ‖Jᵀu‖² from the gradient alone: positive, and the same.
pub fn kernel() -> Result<f64, Fault> {
    let (network, weights) = lenet()?;
    let x = normal("kernel", 4 * 256);
    let u = normal("kernel cotangent", 4 * network.graph().output().len());
    let quadratic = dot(&u, &network.ntk_product(&weights, &x, &u)?);
    let gradient = network.parameter_vjp(&weights, &x, &u)?;
    Ok(quadratic / gradient.values.iter().map(|g| dot(g, g)).sum::<f64>())
}

/// Σ log Σ_k e^{f_k} − y·f has gradient softmax(f) − y.
pub fn cross_entropy() -> Result<f64, Fault> {
    const SHAPE: [usize; 2] = [6, 5];
    let mut t = Trace::new();
    let (f, y) = (t.leaf(&SHAPE), t.leaf(&SHAPE));
    let first = t.log_sum_exp(f);
    let first = t.total(first);
    let yf = t.mul(y, f);
    let second = t.total(yf);
    let loss = t.sub(first, second);
    let one = t.constant_like(1.0, loss);
    let gradient = vjp(&mut t, &[(loss, one)], &[f]);
    let program = Program::new(&t, &gradient);

    let logits = normal("cross entropy", 30);
    let mut target = vec![0.0; 30];
    target
        .chunks_mut(5)
        .enumerate()
        .for_each(|(i, row)| row[i % 5] = 1.0);
    let measured = &program.evaluate::<f64>(&[&logits, &target])[0];
    let mut expected = Vec::with_capacity(30);
    for (row, y) in logits.chunks(5).zip(target.chunks(5)) {
        let sum: f64 = row.iter().map(|f| f.exp()).sum();
        expected.extend(row.iter().zip(y).map(|(f, y)| f.exp() / sum - y));
    }
    Ok(distance(measured, &expected))
}
