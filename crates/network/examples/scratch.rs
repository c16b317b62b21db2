//! scratch
use polariscope_graph::*;
use polariscope_network::*;
use std::time::Instant;
fn cpu() -> f64 {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|t| {
            std::fs::read_to_string(t.unwrap().path().join("schedstat"))
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        })
        .sum::<f64>()
        * 1e-9
}
fn bench(name: &str, n: usize, mut f: impl FnMut()) {
    f();
    f();
    let mut best = f64::MAX;
    for _ in 0..n {
        let t = cpu();
        f();
        best = best.min(cpu() - t);
    }
    println!("{name} cpu {:.3} ms", best * 1e3);
}
fn main() {
    let opt = |i: &str, o: usize| ZooOptions {
        input: Some(i.parse().unwrap()),
        outputs: Some(o),
        ..Default::default()
    };
    let only = std::env::args().nth(1).unwrap_or_default();
    for (name, input, o, n) in [
        ("lenet", "1x32x32", 1, 128),
        ("lenet", "3x32x32", 10, 128),
        ("resnet18", "3x32x32", 10, 16),
    ] {
        if !format!("{name}{input}").contains(&only) {
            continue;
        }
        let net = Network::<f32>::new(zoo(name, &opt(input, o)).unwrap());
        let t = Instant::now();
        let w = Weights::draw(net.graph(), 0, 0);
        println!(
            "draw {:.2} ms task {}",
            t.elapsed().as_secs_f64() * 1e3,
            samples_a_task(net.graph())
        );
        let x: Vec<f32> = (0..n * net.graph().input().len())
            .map(|i| ((i * 7919 % 1000) as f32) / 500.0 - 1.0)
            .collect();
        bench(&format!("{name} {input} forward"), 10, || {
            net.output(&w, &x).unwrap();
        });
        bench(&format!("{name} {input} grad"), 10, || {
            net.input_gradient(&w, &x, Scalar::Logit(0)).unwrap();
        });
    }
}
