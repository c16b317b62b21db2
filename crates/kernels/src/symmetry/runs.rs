//! Whole training runs in f64, from given weights: what the matched weights are tested with.

use polariscope_diff::Device;
use polariscope_graph::Graph;
use polariscope_network::{Network, Weights};
use polariscope_random::Stream;
use polariscope_train::{Batch, BatchGradient, Config, Moments, TrainError};

use super::SymmetryError;

/// What a run learns from.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Inputs, N × sample, in full precision: rounding τx to f32 would hide what is tested.
    pub x: &'a [f64],
    /// A class for each.
    pub labels: &'a [u32],
    /// Loss, optimiser, rate, batches and length.
    pub config: &'a Config,
    /// Where gradients are computed; updates are made on the processor.
    pub device: Device,
}

/// Trains and returns the weights at the end.
pub fn train(
    graph: &Graph,
    mut weights: Weights<f64>,
    run: Run<'_>,
) -> Result<Weights<f64>, SymmetryError> {
    let config = run.config;
    config.check()?;
    let (sample, outputs, n) = (graph.input().len(), graph.output().len(), run.labels.len());
    if n == 0 {
        return Err(TrainError::Empty { part: "training" }.into());
    }
    if run.x.len() != n * sample {
        let (part, numbers, labels) = ("training", run.x.len(), n);
        return Err(TrainError::Counts {
            part,
            numbers,
            labels,
            sample,
        }
        .into());
    }
    let batch = config.batch_size.on(n);
    let mut whole = BatchGradient::<f64>::on(run.device, graph, config.loss.into(), batch)?;
    let trainable: Vec<usize> = graph.trainable().collect();
    let mut moments = Moments::new(graph, config.optimiser);
    let total = config.total_steps(n);
    // Batches of one size: what does not fill one waits for the next epoch's order.
    let an_epoch = (n / batch) as u64;
    let mut order: Vec<usize> = (0..n).collect();
    let (mut x, mut y) = (vec![0.0; batch * sample], vec![0.0; batch * outputs]);
    for step in 0..total {
        if step % an_epoch == 0 {
            order = Stream::new(config.batch_seed, step / an_epoch, "order")
                .cursor()
                .permutation(n);
        }
        let first = (step % an_epoch) as usize * batch;
        for (k, &row) in order[first..first + batch].iter().enumerate() {
            x[k * sample..][..sample].copy_from_slice(&run.x[row * sample..][..sample]);
            let target = &mut y[k * outputs..][..outputs];
            config.loss.targets(run.labels[row], target);
        }
        let seen = Batch {
            x: &x,
            y: &y,
            origin: &[],
            seed: config.batch_seed,
            step,
        };
        whole.run(&weights, seen)?;
        let rate = config.rate(step, total);
        for (i, &tensor) in trainable.iter().enumerate() {
            let values = &mut weights.values[tensor];
            let gradient = (whole.gradient(i), 1.0);
            config
                .optimiser
                .update((step + 1, rate), &mut moments, i, values, gradient);
        }
        whole.follow_statistics(&mut weights);
    }
    Ok(weights)
}

/// ‖f(x) − f′(x′)‖ / ‖f(x)‖ of two networks' outputs.
pub fn distance(
    network: &Network<f64>,
    (weights, x): (&Weights<f64>, &[f64]),
    (twin, twin_x): (&Weights<f64>, &[f64]),
) -> Result<f64, SymmetryError> {
    let f = network.output(weights, x)?;
    let g = network.output(twin, twin_x)?;
    Ok(relative(&g, &f))
}

/// ‖a − b‖ / ‖b‖; 0 where both vanish.
pub(super) fn relative(a: &[f64], b: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let difference: f64 = a.iter().zip(b).map(|(a, b)| square(a - b)).sum();
    let size: f64 = b.iter().map(|b| square(*b)).sum();
    match difference == 0.0 {
        true => 0.0,
        false => (difference / size).sqrt(),
    }
}
