//! temporary
use polariscope_graph::{ZooOptions, load};
use polariscope_meanfield::{Readout, mean_field};
use polariscope_network::{Network, Scalar, Weights};
use std::io::Write;
fn normal(seed: &mut u64) -> f64 {
    let mut u = || {
        *seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((*seed >> 11) as f64 + 0.5) / 9007199254740992.0
    };
    let (a, b) = (u(), u());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (name, input, act, nets): (_, _, _, u64) =
        (&words[0], &words[1], &words[2], words[3].parse()?);
    let graph = load(
        name,
        &ZooOptions {
            input: Some(input.parse()?),
            activation: Some(act.parse()?),
            ..ZooOptions::default()
        },
    )?;
    let n = graph.input().len();
    let probes = 4usize;
    let mut seed = 12345u64;
    let x: Vec<f64> = (0..n * probes).map(|_| normal(&mut seed)).collect();
    let cache = format!("/tmp/h/closure-{name}-{input}-{act}-{nets}.bin");
    let gradients: Vec<f32> = match std::fs::read(&cache) {
        Ok(b) => b
            .chunks_exact(4)
            .map(|c| f32::from_le_bytes(c.try_into().unwrap()))
            .collect(),
        Err(_) => {
            let network = Network::<f32>::new(graph.clone());
            let x32: Vec<f32> = x.iter().map(|v| *v as f32).collect();
            let mut all = Vec::new();
            let mut w = Weights::zeros(&graph);
            for i in 0..nets {
                w.redraw(&graph, 3, i);
                all.extend(network.input_gradient(&w, &x32, Scalar::Logit(0))?);
            }
            let bytes: Vec<u8> = all.iter().flat_map(|v| v.to_le_bytes()).collect();
            std::fs::File::create(&cache)?.write_all(&bytes)?;
            all
        }
    };
    let (mut sample, mut field) = (vec![0f64; n * n], vec![0f64; n * n]);
    for p in 0..probes {
        let mut st = 0.0;
        let mut sq = 0.0;
        for i in 0..nets as usize {
            let g = &gradients[(i * probes + p) * n..][..n];
            let t: f64 = g.iter().map(|v| (*v as f64).powi(2)).sum();
            st += t;
            sq += t * t;
            for a in 0..n {
                let ga = g[a] as f64;
                for b in 0..n {
                    sample[a * n + b] += ga * g[b] as f64;
                }
            }
        }
        let t = nets as f64;
        let mean = st / t;
        let se = ((sq / t - mean * mean) / (t - 1.0)).sqrt();
        let start = std::time::Instant::now();
        let f = mean_field(&graph, &x[p * n..][..n], Readout::Logit(0))?;
        let time = start.elapsed();
        let mut tr = 0.0;
        for a in 0..n {
            tr += f.get(a, a);
            for b in 0..n {
                field[a * n + b] += f.get(a, b);
            }
        }
        println!(
            "probe {p}: sample trace {mean:.4e} ± {se:.1e}  mean field {tr:.4e}  ratio {:.3} ± {:.3}  {time:?}",
            mean / tr,
            se / tr
        );
    }
    let (s, f): (f64, f64) = (
        (0..n).map(|a| sample[a * n + a]).sum::<f64>() / nets as f64,
        (0..n).map(|a| field[a * n + a]).sum(),
    );
    // cosine of the two matrices, corrected for nothing
    let dot: f64 = sample.iter().zip(&field).map(|(a, b)| a * b).sum();
    let (ns, nf): (f64, f64) = (
        sample.iter().map(|a| a * a).sum(),
        field.iter().map(|a| a * a).sum(),
    );
    // by spatial offset, averaged: the stationary part
    println!(
        "total ratio {:.3}  cosine {:.4}",
        s / f,
        dot / (ns * nf).sqrt()
    );
    let w = (n as f64).sqrt() as usize;
    if w * w == n {
        let lag = |m: &Vec<f64>| {
            let mut l = vec![0.0; (2 * w - 1) * (2 * w - 1)];
            for a in 0..n {
                for b in 0..n {
                    let (dy, dx) = (b / w + w - 1 - a / w, b % w + w - 1 - a % w);
                    l[dy * (2 * w - 1) + dx] += m[a * n + b];
                }
            }
            l
        };
        let (a, b) = (lag(&sample), lag(&field));
        let d: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let (na, nb): (f64, f64) = (a.iter().map(|a| a * a).sum(), b.iter().map(|a| a * a).sum());
        println!("cosine of lags {:.4}", d / (na * nb).sqrt());
    }
    Ok(())
}
