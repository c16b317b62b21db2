//! What `bench/device` asks: how close the steps of a network come to the roof of a GPU.

use std::io::Write;

use polariscope_diff::cuda::{Gpu, Workspace};
use polariscope_diff::{Device, Id, Place, Precision, Program, Trace, vjp, vmap};
use polariscope_geometry::{
    Centring, Gradient, Limit, Method, Output, Probe, Readouts, SampleConfig, Sampler, Shard,
};
use polariscope_graph::{Graph, ZooOptions, zoo};
use polariscope_network::{Lowered, Mode, Scalar, differences, lower};

use crate::Failure;

/// As it is called in commands.
pub fn precision(name: &str) -> Precision {
    match name {
        "fast" => Precision::Fast,
        _ => Precision::Full,
    }
}

/// Prints a line for each step of a program: seconds, operations, bytes, name. The program is of one network on a batch
/// (`forward`, `gradient`) or the dipole of as many networks (`dipole`), or their gradients at 128 points (`points`).
pub fn roof(
    out: &mut impl Write,
    architecture: &str,
    input: &str,
    batch: usize,
    what: &str,
    precision: Precision,
) -> Result<(), Failure> {
    let graph = network(architecture, input)?;
    let program = match what {
        "dipole" => {
            let d = differences(&graph, 100.0, Scalar::Logit(0));
            together(&d.trace, d.output, 1 + graph.params.len(), batch)
        }
        "points" => {
            let Lowered {
                mut trace,
                x,
                output,
                ..
            } = lower(&graph, 128, Mode::Evaluate);
            let one = trace.constant_like(1.0, output);
            let gradient = vjp(&mut trace, &[(output, one)], &[x])[0];
            together(&trace, gradient, usize::MAX, batch)
        }
        _ => {
            let mut lowered = lower(&graph, batch, Mode::Evaluate);
            let t = &mut lowered.trace;
            let one = t.constant_like(1.0, lowered.output);
            let mut wanted: Vec<_> = graph.trainable().map(|i| lowered.params[i]).collect();
            wanted.push(lowered.x);
            match what {
                "forward" => Program::new(t, &[lowered.output]),
                _ => {
                    let gradients = vjp(t, &[(lowered.output, one)], &wanted);
                    Program::new(t, &gradients)
                }
            }
        }
    };
    let gpu = Gpu::open(0)?;
    let workspace = Workspace::<f32>::new(gpu, &program, precision)?;
    workspace.start()?;
    let seconds = workspace.seconds(program.steps.len(), 3)?;
    for (step, seconds) in program.steps.iter().zip(seconds) {
        let cost = step.cost();
        let bytes = 4.0 * cost.numbers;
        writeln!(
            out,
            "{seconds:.9} {:.0} {bytes:.0} {}",
            cost.operations, cost.name
        )?;
    }
    Ok(())
}

/// The first leaves for each network, the others for all.
fn together(trace: &Trace, output: Id, own: usize, networks: usize) -> Program {
    let leaves: Vec<Id> = trace.leaves().take(own).collect();
    let (many, outputs) = vmap(trace, &[output], &leaves, networks);
    Program::new(&many, &outputs)
}

fn network(architecture: &str, input: &str) -> Result<Graph, Failure> {
    let options = ZooOptions {
        input: Some(input.parse()?),
        ..ZooOptions::default()
    };
    Ok(zoo(architecture, &options)?)
}

/// Seconds of a network with fresh weights, by a dipole around one point or by `probes` gradients, as a mean over all
/// networks of a sampler: planning and compiling left out, sums on the CPU not.
pub fn networks(
    architecture: &str,
    input: &str,
    probes: Option<usize>,
    count: u64,
    precision: Precision,
) -> Result<f64, Failure> {
    let graph = network(architecture, input)?;
    let config = SampleConfig {
        seed: 0,
        method: Method::Sample,
        gradient: match probes {
            None => Gradient::Dipole { h: 100.0 },
            Some(_) => Gradient::Autodiff,
        },
        probe: Probe::Gauss { sigma: 1.0 },
        probes: probes.unwrap_or(1),
        output: Output::Logit(0),
        readouts: Readouts::Own,
        centring: Centring::None,
        place: Place {
            device: Device::Cuda(0),
            precision,
        },
    };
    let limit = Limit::Networks(count);
    let sampler = Sampler::<f32>::new(&graph, config, Vec::new(), limit, Shard::WHOLE)?;
    let mut state = sampler.start();
    let start = std::time::Instant::now();
    while !sampler.done(&state) {
        sampler.advance(&mut state)?;
    }
    Ok(start.elapsed().as_secs_f64() / count as f64)
}
