//! The kernels after the program as C++, with one thread a block, against [`crate::Flow`]: needs a C++ compiler, no GPU.

use std::fmt::Write;

use polariscope_diff::{Device, Dtype};
use polariscope_graph::{Graph, ZooOptions, parse_file};
use polariscope_network::Weights;

use super::super::emulation::{kernels_as_cpp, list, run};
use super::super::kernels::{Rule, Tensor, blocks};
use super::kernels::{self, STATUS};
use super::{first, of_status};
use crate::{
    Flow, FlowConfig, FlowEnd, Labels, Loss, Objective, Origin, Samples, TrainError, flows,
};

const X: [f32; 6] = [1.0, 0.5, -0.5, 2.0, 2.0, 0.25];
const Y: [f32; 3] = [1.0, -2.0, 0.5];
/// Numbers of a block: two for the first tensor.
const SPAN: usize = 1;
/// Of a statistic that starts at 0 and follows 1.
const MOMENTUM: f64 = 0.1;

/// f = act(w·x + b) with the loss ½ Σ (F − y)², by hand: loss, outputs and gradients of all networks at their trials.
const MODEL: &str = "
static void program() {
    for (int k = 0; k < NETWORKS; ++k) {
        loss[k] = 0; tw[2 * k] = tw[2 * k + 1] = tb[k] = 0;
        for (int i = 0; i < 3; ++i) {
            const double z = vw[2 * k] * x[2 * i] + vw[2 * k + 1] * x[2 * i + 1] + vb[k];
            const double a = RELU && z <= 0 ? 0 : z, on = RELU && z <= 0 ? 0 : 1;
            const double e = ALPHA * (a - f0[3 * k + i]) - y[i];
            tf[3 * k + i] = a;
            loss[k] += 0.5 * e * e / (ALPHA * ALPHA);
            tw[2 * k] += e * on * x[2 * i] / ALPHA;
            tw[2 * k + 1] += e * on * x[2 * i + 1] / ALPHA;
            tb[k] += e * on / ALPHA;
        }
    }
}
";

fn linear(activation: &str) -> Graph {
    let text = format!("input = [2]\nlayers = [{{ op = \"dense\", features = 1 }}{activation}]");
    parse_file(&text, "test.toml", &ZooOptions::default()).unwrap()
}

fn samples() -> Samples<'static> {
    Samples {
        x: &X,
        y: Labels::Targets {
            values: &Y,
            width: 1,
        },
    }
}

/// The C++ program: attempts as [`super::Flows`] makes them, then a line for each network.
fn text(config: &FlowConfig, starts: &[Weights<f64>], relu: bool, origin: &[f64]) -> String {
    let rule = Rule::Descend;
    let weights = [Tensor { numbers: 2, rule }, Tensor { numbers: 1, rule }];
    let outputs = Tensor {
        numbers: 3,
        rule: Rule::Follow(1.0),
    };
    let statistic = Tensor {
        numbers: 1,
        rule: Rule::Follow(MOMENTUM),
    };
    let all = [weights[0], weights[1], statistic, outputs];
    let parts = blocks(&weights, SPAN);
    let initial = config.origin == Origin::Initial;
    let codes = [
        kernels::survey(Dtype::F64, &weights, SPAN, 0, parts),
        kernels::decide(Dtype::F64, 3, initial, parts),
        kernels::advance(Dtype::F64, &all, SPAN),
    ];
    let mut text = kernels_as_cpp(&codes);
    let n = starts.len();
    let own = |i: usize| list(starts.iter().flat_map(|w| w.values[i].clone()));
    let status = list(starts.iter().flat_map(|_| first(config)));
    let number = |x: f64| match x.is_finite() {
        true => format!("{x:e}"),
        false => "INFINITY".to_owned(),
    };
    write!(
        text,
        "enum {{ NETWORKS = {n}, RELU = {relu}, PARTS = {parts} }};
static const double ALPHA = {alpha};
static double status[] = {status}, x[] = {x}, y[] = {y}, f0[] = {origin};
static double w[] = {w}, b[] = {b}, vw[] = {w}, vb[] = {b};
static double gw[2 * NETWORKS], gb[NETWORKS], f[3 * NETWORKS], m[NETWORKS], tm[NETWORKS];
static double tw[2 * NETWORKS], tb[NETWORKS], tf[3 * NETWORKS], loss[NETWORKS], partial[3 * PARTS * NETWORKS];
{MODEL}
int main() {{
    std::fill(tm, tm + NETWORKS, 1.0);
    for (int attempt = 0; attempt < 20000; ++attempt) {{
        program();
        grid(PARTS, NETWORKS, [] {{ survey_kernel::survey(partial, w, gw, tw, b, gb, tb); }});
        grid(NETWORKS, 1, [] {{ decide_kernel::decide(status, partial, loss, f, tf, f0, y, ALPHA, {bounds}); }});
        grid({moves}, NETWORKS, [] {{ advance_kernel::advance(status, w, gw, tw, vw, b, gb, tb, vb, m, tm, f, tf); }});
    }}
    for (int k = 0; k < NETWORKS; ++k) {{
        for (int i = 0; i < {STATUS}; ++i) printf(\"%.17g \", status[{STATUS} * k + i]);
        printf(\"%.17g %.17g %.17g %.17g \", w[2 * k], w[2 * k + 1], b[k], m[k]);
        printf(\"%.17g %.17g %.17g\\n\", f[3 * k], f[3 * k + 1], f[3 * k + 2]);
    }}
}}",
        relu = u8::from(relu),
        alpha = number(config.alpha),
        x = list(X.map(f64::from)),
        y = list(Y.map(f64::from)),
        origin = match initial {
            true => list(origin.iter().copied()),
            false => list(vec![0.0; 3 * n]),
        },
        w = own(0),
        b = own(1),
        bounds = [
            config.max_output_change,
            config.max_gradient_change,
            config.margin,
            config.max_time,
            config.max_steps as f64,
        ]
        .map(number)
        .join(", "),
        moves = blocks(&all, SPAN),
    )
    .unwrap();
    text
}

/// Where the kernels end, each network by itself; nothing where there is no C++ compiler.
fn emulated(
    name: &str,
    config: &FlowConfig,
    starts: &[Weights<f64>],
    relu: bool,
    origin: &[f64],
) -> Option<Vec<Result<FlowEnd<f64>, TrainError>>> {
    let printed = run(name, &text(config, starts, relu, origin))?;
    let line = |numbers: &Vec<f64>| {
        let (status, rest) = numbers.split_at(STATUS);
        Ok(FlowEnd {
            weights: Weights {
                values: vec![rest[..2].to_vec(), rest[2..3].to_vec(), rest[3..4].to_vec()],
            },
            outputs: rest[4..].to_vec(),
            ..of_status(status)?
        })
    };
    Some(printed.iter().map(line).collect())
}

#[track_caller]
fn near(found: f64, wanted: f64) {
    assert!(
        (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0),
        "{found} {wanted}"
    );
}

/// Every way to end, and networks that end at different times: the same steps, the same ends.
#[test]
fn kernels_decide_as_the_flow_does() {
    let drawn = |values: [f64; 3]| Weights {
        values: vec![values[..2].to_vec(), values[2..].to_vec()],
    };
    let starts = [
        drawn([0.3, -0.7, 0.1]),
        drawn([-1.5, 0.2, 0.9]),
        drawn([f64::MAX, f64::MAX, 0.0]),
        drawn([2.0, 1.0, -0.5]),
    ];
    let sse = FlowConfig {
        loss: Loss::Sse,
        margin: f64::INFINITY,
        max_time: 0.7,
        ..FlowConfig::default()
    };
    let cases = [
        ("time", sse.clone(), false),
        (
            "lazy",
            FlowConfig {
                alpha: 3.0,
                origin: Origin::Initial,
                ..sse.clone()
            },
            false,
        ),
        (
            "margin",
            FlowConfig {
                margin: 0.1,
                max_time: f64::INFINITY,
                ..sse.clone()
            },
            false,
        ),
        (
            "steps",
            FlowConfig {
                max_steps: 40,
                max_time: f64::INFINITY,
                ..sse.clone()
            },
            false,
        ),
        (
            "stalled",
            FlowConfig {
                max_time: 3.0,
                ..sse.clone()
            },
            true,
        ),
    ];
    for (name, config, relu) in cases {
        let graph = linear(if relu { ", { op = \"relu\" }" } else { "" });
        let start = |i: u64| starts[i as usize].clone();
        let all = 0..starts.len() as u64;
        let wanted = flows(
            Device::Cpu,
            &graph,
            &config,
            samples(),
            start,
            all,
            |_, end| end,
        );
        let evaluator = crate::Evaluator::new(&graph, Objective::from(config.loss));
        let origins = starts.iter().map(|w| evaluator.outputs(w, &X).unwrap());
        let origin: Vec<f64> = origins
            .flatten()
            .map(|f| if f.is_finite() { f } else { 0.0 })
            .collect();
        let Some(found) = emulated(name, &config, &starts, relu, &origin) else {
            return;
        };
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            match (found, wanted) {
                (Ok(found), Ok(wanted)) => {
                    assert_eq!(found.stop, wanted.stop, "{name}");
                    assert_eq!(
                        (found.accepted, found.rejected),
                        (wanted.accepted, wanted.rejected),
                        "{name}"
                    );
                    near(found.time, wanted.time);
                    near(found.loss, wanted.loss);
                    assert_eq!(found.half.is_some(), wanted.half.is_some());
                    near(found.half.unwrap_or(0.0), wanted.half.unwrap_or(0.0));
                    // One move for each accepted step, none for the look at the start.
                    let statistic = 1.0 - (1.0 - MOMENTUM).powi(wanted.accepted as i32);
                    near(found.weights.values[2][0], statistic);
                    let tensors = found.weights.values.iter().zip(&wanted.weights.values);
                    let pairs = tensors.flat_map(|(a, b)| a.iter().zip(b));
                    let pairs = pairs.chain(found.outputs.iter().zip(&wanted.outputs));
                    pairs.for_each(|(&a, &b)| near(a, b));
                }
                (
                    Err(TrainError::Stalled { time, dt }),
                    Err(TrainError::Stalled { time: t, dt: d }),
                ) => {
                    near(*time, *t);
                    assert!((dt / d - 1.0).abs() < 0.1 || dt.max(*d) < 1e-12, "{dt} {d}");
                }
                (Err(TrainError::Unfit { .. }), Err(TrainError::Unfit { .. })) => {}
                (found, wanted) => panic!("{name}: {found:?} {wanted:?}"),
            }
        }
        eprintln!("{name}: {wanted:?}");
    }
}

/// One network alone is [`Flow`] itself.
#[test]
fn on_the_processor_it_is_the_flow() {
    let graph = linear("");
    let config = FlowConfig {
        loss: Loss::Sse,
        margin: f64::INFINITY,
        max_time: 0.5,
        ..FlowConfig::default()
    };
    let start = |i: u64| Weights::<f64>::draw(&graph, 4, i);
    let ends = flows(
        Device::Cpu,
        &graph,
        &config,
        samples(),
        start,
        2..5,
        |i, end| (i, end),
    );
    for (want, end) in (2..).zip(ends) {
        let (index, end) = end.unwrap();
        let mut flow =
            Flow::new(Device::Cpu, &graph, &config, samples(), None, start(want)).unwrap();
        let first = flow.loss();
        let stop = flow.run(|_| crate::Control::Continue).unwrap();
        assert_eq!((index, end.stop), (want, stop));
        assert_eq!(end.loss, flow.loss());
        assert_eq!(end.half.is_some(), end.loss <= first / 2.0);
        assert_eq!(end.weights, flow.into_state().weights);
    }
}
