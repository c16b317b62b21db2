//! Seconds of one closed form: `time METHOD ARCH INPUT ACTIVATION`, for example `time exact resnet18 1x32x32 gelu`.

use std::time::Instant;

use polariscope_graph::{ZooOptions, load};
use polariscope_meanfield::{ExactProbe, Readout, exact, mean_field};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [method, name, input, activation] = &words[..] else {
        return Err("time exact|meanfield ARCH INPUT ACTIVATION".into());
    };
    let options = ZooOptions {
        input: Some(input.parse()?),
        activation: Some(activation.parse()?),
        ..ZooOptions::default()
    };
    let graph = load(name, &options)?;
    let x: Vec<f64> = (0..graph.input().len()).map(|i| (i as f64).sin()).collect();
    for _ in 0..3 {
        let start = Instant::now();
        let g = match method.as_str() {
            "exact" => exact(&graph, ExactProbe::Zero, Readout::Logit(0))?,
            _ => mean_field(&graph, &x, Readout::Logit(0))?,
        };
        println!("{:?}  G_00 = {:e}", start.elapsed(), g.factor[0]);
    }
    Ok(())
}
