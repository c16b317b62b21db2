//! scratch
use polariscope_graph::{ZooOptions, parse_file};
use polariscope_landscape::hessian::dense;
use polariscope_lens::Quiet;
use polariscope_network::Weights;
use polariscope_random::Stream;
use polariscope_train::{Loss, LossHessian};
use std::time::Instant;
fn main() {
    for act in ["relu", "tanh"] {
        let text = format!(
            "input = [18]\nlayers = [{{ op = \"dense\", features = 18 }}, {{ op = \"{act}\" }}, {{ op = \"dense\", features = 18 }}, {{ op = \"{act}\" }}, {{ op = \"dense\", features = 1 }}]"
        );
        let graph = parse_file(&text, "net", &ZooOptions::default()).unwrap();
        let n = 1800;
        let mut x = vec![0.0f32; n * 18];
        Stream::new(0, 0, "x").normal(1.0, &mut x);
        let x: Vec<f64> = x.into_iter().map(f64::from).collect();
        let y: Vec<f64> = (0..n)
            .map(|i| if i % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let h = LossHessian::<f64>::new(&graph, Loss::CrossEntropy, &x, &y).unwrap();
        let w = Weights::draw(&graph, 0, 0);
        for loss in [
            Loss::CrossEntropy,
            Loss::Hinge {
                power: 2.0,
                margin: 0.5,
            },
        ] {
            let h = LossHessian::<f64>::new(&graph, loss, &x[..600 * 18], &y[..600]).unwrap();
            let s = polariscope_landscape::hessian::split(&h, &w, &mut Quiet).unwrap();
            println!(
                "{loss} L {} ND {} rank {} H {:?} H0 {:?} Hp {:?} F {:?} gap {:?} collapse {:?}",
                s.loss,
                s.constraints,
                s.rank(),
                s.hessian.counts,
                s.gauss_newton.counts,
                s.curvature.counts,
                s.fisher.counts,
                s.gauss_newton.gap(),
                s.collapse()
            );
            for sp in [&s.gauss_newton, &s.curvature, &s.hessian] {
                let mut a: Vec<f64> = sp
                    .eigenvalues
                    .iter()
                    .map(|l| l.abs() / sp.eigenvalues[0].abs())
                    .collect();
                a.sort_by(|a, b| a.total_cmp(b));
                println!(
                    "{:?}",
                    a.iter()
                        .step_by(7)
                        .take(24)
                        .map(|x| format!("{x:.0e}"))
                        .collect::<Vec<_>>()
                );
            }
        }
        for _ in 0..5 {
            let t = Instant::now();
            let d = dense(&h, &w, &mut Quiet).unwrap();
            let t1 = t.elapsed();
            let t = Instant::now();
            let e = polariscope_linalg::symmetric_eigenvalues(&d.hessian(), d.parameters).unwrap();
            let tr: f64 = d.curvature.iter().step_by(d.parameters + 1).sum();
            println!(
                "{act} {} dense {:?} eigen {:?} {} tr {tr:e}",
                d.parameters,
                t1,
                t.elapsed(),
                e[0]
            );
        }
    }
}
