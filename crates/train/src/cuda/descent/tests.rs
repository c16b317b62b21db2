//! The kernels after the program as C++, with one thread a block, against Adam on the processor: needs a C++ compiler.

use std::fmt::Write;

use polariscope_diff::Dtype;
use polariscope_graph::{ZooOptions, parse_file};
use polariscope_network::Weights;

use super::super::emulation::{kernels_as_cpp, list, run};
use super::super::kernels::{Rule, Tensor, blocks};
use super::kernels::{self, COUNTS, STATUS};
use super::{DeviceStop, Margin, standing};
use crate::{Batch, BatchGradient, Labels, Loss, Moments, Optimiser, Samples};

const X: [f32; 8] = [1.0, 0.5, -0.5, 2.0, 2.0, 0.25, -1.0, -0.75];
const CLASSES: [u32; 4] = [1, 0, 1, 0];
const Y: [f64; 4] = [1.0, -1.0, 1.0, -1.0];
const LOSS: Loss = Loss::Hinge {
    power: 2.0,
    margin: 0.5,
};
const COUNTING: usize = 3;

/// f = w·x + b with the quadratic hinge, by hand.
const MODEL: &str = "
static void program() {
    loss = gw[0] = gw[1] = gb[0] = 0;
    for (int i = 0; i < 4; ++i) {
        f[i] = w[0] * x[2 * i] + w[1] * x[2 * i + 1] + b[0];
        const double d = std::max(0.0, 0.5 - y[i] * f[i]), e = -2 * d * y[i] / 4;
        loss += d * d / 4;
        gw[0] += e * x[2 * i]; gw[1] += e * x[2 * i + 1]; gb[0] += e;
    }
}
";

fn text(margin: Margin) -> String {
    let rule = Rule::Descend;
    let tensors = [Tensor { numbers: 2, rule }, Tensor { numbers: 1, rule }];
    let codes = [
        kernels::count(Dtype::F64, [4, 1], false, margin),
        kernels::decide(Dtype::F64, COUNTING, margin),
        kernels::update(Dtype::F64, &tensors, 1),
    ];
    let mut text = kernels_as_cpp(&codes);
    write!(
        text,
        "static double x[] = {}, y[] = {}, w[] = {{0.3, -0.2}}, b[] = {{0.1}};
static double s[{STATUS}], counts[{}], f[4], loss, gw[2], gb[1], mw[2], mb[1], vw[2], vb[1];
{MODEL}
static void step(int makes) {{
    program();
    grid({COUNTING}, 1, [] {{ count_kernel::count(counts, f, f, y); }});
    grid(1, 1, [=] {{ decide_kernel::decide(s, counts, &loss, makes); }});
    if (makes) grid({}, 1, [] {{ update_kernel::update(s, w, gw, mw, vw, b, gb, mb, vb); }});
}}
int main() {{
    for (int i = 0; i < 1000; ++i) step(1);
    step(0);
    for (double x : s) printf(\"%.17g \", x);
    printf(\"%.17g %.17g %.17g\\n\", w[0], w[1], b[0]);
}}",
        list(X.map(f64::from)),
        list(Y),
        COUNTING * COUNTS,
        blocks(&tensors, 1),
    )
    .unwrap();
    text
}

/// A rate that falls, with a floor; it ends where every margin is met, or at its budget.
#[test]
fn kernels_descend_as_the_processor_does() {
    let network = "input = [2]\nlayers = [{ op = \"dense\", features = 1 }]";
    let graph = parse_file(network, "test.toml", &ZooOptions::default()).unwrap();
    let train = Samples {
        x: &X,
        y: Labels::Classes(&CLASSES),
    };
    let margin = Margin {
        alpha: 1.0,
        margin: 0.4999,
        rate: 0.05,
        decay_every: Some(8),
        floor: 0.003,
        max_steps: 400,
    };
    for (margin, stop) in [
        (margin, DeviceStop::Margin),
        (
            Margin {
                max_steps: 5,
                ..margin
            },
            DeviceStop::Steps,
        ),
        (
            Margin {
                alpha: 1e-3,
                ..margin
            },
            DeviceStop::Steps,
        ),
    ] {
        let mut weights = Weights {
            values: vec![vec![0.3, -0.2], vec![0.1]],
        };
        let mut gradient = BatchGradient::<f64>::new(&graph, LOSS.into(), 4).unwrap();
        let mut moments = Moments::new(&graph, Optimiser::ADAM);
        let x = X.map(f64::from);
        let mut step = 0;
        let open = loop {
            let batch = Batch {
                x: &x,
                y: &Y,
                origin: &[],
                seed: 0,
                step: 0,
            };
            gradient.run(&weights, batch).unwrap();
            let f: Vec<f64> = gradient.outputs().flatten().copied().collect();
            let open = f
                .iter()
                .zip(Y)
                .filter(|(f, y)| margin.margin - margin.alpha * *f * y > 0.0);
            let open = open.count();
            if open == 0 || step == margin.max_steps {
                break open;
            }
            let rate = (margin.rate * 0.1_f64.powi((step / 8) as i32)).max(margin.floor);
            for (i, tensor) in weights.values.iter_mut().enumerate() {
                Optimiser::ADAM.update(
                    (step + 1, rate),
                    &mut moments,
                    i,
                    tensor,
                    (gradient.gradient(i), 1.0),
                );
            }
            step += 1;
        };
        assert_eq!(open == 0, stop == DeviceStop::Margin, "{step}");
        assert_eq!(train.len(), 4);
        let Some(printed) = run("descent", &text(margin)) else {
            return;
        };
        let (status, ends) = printed[0].split_at(STATUS);
        let found = standing(status);
        assert_eq!(
            (found.step, found.stop, found.unsatisfied),
            (step, Some(stop), open)
        );
        assert!((found.loss - gradient.loss()).abs() <= 1e-12);
        let wanted = weights.values.concat();
        for (a, b) in ends.iter().zip(&wanted) {
            assert!((a - b).abs() <= 1e-10, "{a} {b}");
        }
    }
}
