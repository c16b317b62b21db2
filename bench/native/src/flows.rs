//! What `bench/landscape-device` asks: gradient flows of networks that differ in their initial weights.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use polariscope_data::{Dataset, Labels as Classes, Split};
use polariscope_diff::{Device, Number};
use polariscope_graph::{Activation, Graph, Nonlinearity, Parametrisation, ZooOptions, zoo};
use polariscope_network::Weights;
use polariscope_train::{
    Control, Evaluator, Flow, FlowConfig, FlowEnd, Labels, Objective, Origin, Samples, StopReason,
    TrainError, flows,
};

use crate::Failure;

/// Two classes, 100 samples to learn and 1000 to judge by, in 10 dimensions.
const DATA: &str = "stripe?shape=10&train=100&test=1000";
const WIDTH: usize = 30;

/// The task: two hidden layers of 30 units, F = α (f − f₀) at α̃ = √h α = 1.
struct Task {
    graph: Graph,
    data: Dataset,
    config: FlowConfig,
}

fn task() -> Result<Task, Failure> {
    let data = Dataset::load(DATA)?;
    let options = ZooOptions {
        outputs: Some(1),
        activation: Some(Nonlinearity::Normalised {
            normalised: Activation::Softplus { beta: 5.0 },
        }),
        parametrisation: Some(Parametrisation::Ntk {
            w_std: 1.0,
            b_std: 0.0,
        }),
        depth: Some(2),
        width: Some(WIDTH),
        ..ZooOptions::with_input(data.shape)
    };
    let config = FlowConfig {
        alpha: (WIDTH as f64).sqrt().recip(),
        origin: Origin::Initial,
        ..FlowConfig::default()
    };
    Ok(Task {
        graph: zoo("fcn", &options)?,
        data,
        config,
    })
}

fn samples(split: &Split) -> Result<Samples<'_>, Failure> {
    match &split.y {
        Classes::Classes(y) => Ok(Samples {
            x: &split.x,
            y: Labels::Classes(y),
        }),
        Classes::Targets { .. } => Err("stripes are classes".into()),
    }
}

/// Writes samples, targets and initial weights as f64, network after network; prints the shape of each tensor with weights,
/// then α, β of the softplus, and the factor behind it.
pub fn prepare(out: &mut impl Write, folder: &Path, networks: u64) -> Result<(), Failure> {
    let Task {
        graph,
        data,
        config,
    } = task()?;
    let write = |name: &str, values: Vec<f64>| {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        fs::write(folder.join(name), bytes)
    };
    for (name, split) in [("train", &data.train), ("test", &data.test)] {
        let set = samples(split)?;
        let x = set.x.iter().map(|&x| f64::from(x)).collect();
        write(&format!("{name}.x"), x)?;
        write(&format!("{name}.y"), set.targets(config.loss, 1))?;
    }
    let drawn = (0..networks).map(|i| Weights::<f64>::draw(&graph, 0, i).values.concat());
    write("weights", drawn.collect::<Vec<_>>().concat())?;
    let shapes = graph.params.iter().map(|p| {
        let lengths: Vec<String> = p.shape.iter().map(usize::to_string).collect();
        format!("{}:{}", p.name, lengths.join("x"))
    });
    let shapes: Vec<String> = shapes.collect();
    let normalised = Nonlinearity::Normalised {
        normalised: Activation::Softplus { beta: 5.0 },
    };
    let alpha = config.alpha;
    let factor = normalised.factor();
    writeln!(out, "{} {alpha:?} 5 {factor:?}", shapes.join(","))?;
    Ok(())
}

/// Flows networks and prints: seconds, those of the same with one step (planning and compiling; the first run is not
/// counted), attempts of the slowest network, medians of accepted and refused steps, medians of flow time and test error in
/// percent, and how many networks met every margin.
///
/// `cuda` takes all at once, `cuda-alone` one after the other, `cuda-host` one after the other with the processor in the loop,
/// `cpu` one on each thread.
pub fn time<T: Number>(out: &mut impl Write, how: &str, networks: u64) -> Result<(), Failure> {
    let task = task()?;
    let one = FlowConfig {
        max_steps: 1,
        ..task.config.clone()
    };
    let run = |config: &FlowConfig| {
        let started = Instant::now();
        let ends = task.flow::<T>(how, config, networks);
        Ok::<_, Failure>((started.elapsed().as_secs_f64(), ends?))
    };
    run(&one)?;
    let (setup, _) = run(&one)?;
    let (seconds, ends) = run(&task.config)?;
    let mut ended = Vec::new();
    let mut stalled = 0;
    for end in ends {
        match end {
            Ok(end) => ended.push(end),
            Err(TrainError::Stalled { .. }) => stalled += 1,
            Err(e) => return Err(e.into()),
        }
    }
    let attempts = ended.iter().map(|e| e.accepted + e.rejected).max();
    let median = |of: &dyn Fn(&FlowEnd<T>) -> f64| {
        let mut values: Vec<f64> = ended.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        match n {
            0 => f64::NAN,
            _ => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
        }
    };
    let errors = task.errors(&ended)?;
    let at = |e: &FlowEnd<T>| ended.iter().position(|other| std::ptr::eq(other, e));
    writeln!(
        out,
        "{seconds:.6} {setup:.6} {} {} {} {:.6} {:.4} {} {stalled}",
        attempts.unwrap_or(0),
        median(&|e| e.accepted as f64),
        median(&|e| e.rejected as f64),
        median(&|e| e.time),
        median(&|e| at(e).map_or(f64::NAN, |i| errors[i])),
        ended
            .iter()
            .filter(|e| e.stop == StopReason::Margin)
            .count(),
    )?;
    Ok(())
}

impl Task {
    fn flow<T: Number>(
        &self,
        how: &str,
        config: &FlowConfig,
        networks: u64,
    ) -> Result<Vec<Result<FlowEnd<T>, TrainError>>, Failure> {
        let train = samples(&self.data.train)?;
        let start = |i: u64| Weights::<T>::draw(&self.graph, 0, i);
        let (graph, gpu) = (&self.graph, Device::Cuda(0));
        let several =
            |device, indices| flows(device, graph, config, train, start, indices, |_, end| end);
        let alone = |i: u64| several(gpu, i..i + 1);
        match how {
            "cpu" => Ok(several(Device::Cpu, 0..networks)),
            "cuda" => Ok(several(gpu, 0..networks)),
            "cuda-alone" => Ok((0..networks).flat_map(alone).collect()),
            "cuda-host" => Ok((0..networks)
                .map(|i| self.hosted(gpu, config, train, start(i)))
                .collect()),
            _ => Err(format!("{how}: neither cpu, cuda, cuda-alone nor cuda-host").into()),
        }
    }

    /// A flow whose steps the processor decides on.
    fn hosted<T: Number>(
        &self,
        gpu: Device,
        config: &FlowConfig,
        train: Samples,
        start: Weights<T>,
    ) -> Result<FlowEnd<T>, TrainError> {
        let flow = Flow::new(gpu, &self.graph, config, train, None, start)?;
        FlowEnd::of(flow, |_| Control::Continue)
    }

    /// Test errors in percent.
    fn errors<T: Number>(&self, ends: &[FlowEnd<T>]) -> Result<Vec<f64>, Failure> {
        let test = samples(&self.data.test)?;
        let objective = Objective {
            loss: self.config.loss,
            alpha: self.config.alpha,
            origin: self.config.origin,
        };
        let evaluator = Evaluator::new(&self.graph, objective);
        let error = |(i, end): (usize, &FlowEnd<T>)| {
            let first = Weights::<T>::draw(&self.graph, 0, i as u64);
            let origin = evaluator.outputs(&first, test.x)?;
            let metrics = evaluator.evaluate(&end.weights, &test, &origin)?;
            Ok(100.0 * (1.0 - metrics.accuracy.unwrap_or(f64::NAN)))
        };
        ends.iter().enumerate().map(error).collect()
    }
}
