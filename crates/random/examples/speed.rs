//! Nanoseconds per draw on every path this processor can take.

use std::time::Instant;

use polariscope_random::{Path, Stream};

fn main() {
    const N: usize = 11_200_000;
    let stream = Stream::new(0, 0, "speed");
    let mut out = vec![0.0_f32; N];
    out.fill(1.0);
    println!("{:<10} {:>14} {:>14}", "path", "uniform ns", "normal ns");
    for path in Path::available() {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..5 {
            let start = Instant::now();
            stream.uniform_on(path, 1.0, &mut out);
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            stream.normal_on(path, 1.0, &mut out);
            best[1] = best[1].min(start.elapsed().as_secs_f64());
        }
        let ns = best.map(|t| t / N as f64 * 1e9);
        println!(
            "{:<10} {:>14.3} {:>14.3}",
            format!("{path:?}"),
            ns[0],
            ns[1]
        );
    }
}
