//! What `bench/deform` times: images, each deformed by a field of its own.

use std::path::Path;

use polariscope_data::deform::{Convention, Deformations, Interpolation, ModeRule};
use polariscope_random::Stream;

use crate::Failure;

/// Images of CHANNELS × SIDE × SIDE.
const IMAGES: usize = 10_000;
const CHANNELS: usize = 3;
const SIDE: usize = 32;
/// Pixels, in range at every cutoff that is timed.
const DISPLACEMENT: f64 = 0.5;

/// Images and their deformations.
pub struct Deform {
    deformations: Deformations,
    t: f64,
    images: Vec<f32>,
    out: Vec<f32>,
}

/// The stream of an image's field.
fn stream(image: usize) -> Stream {
    Stream::new(0, image as u64, "bench.deform")
}

impl Deform {
    /// `deform-C`: writes images, modes and coefficients of all fields to `dir`; `None` for other names.
    pub fn prepare(name: &str, dir: &str) -> Result<Option<Self>, Failure> {
        let Some(cutoff) = name.strip_prefix("deform-") else {
            return Ok(None);
        };
        let deformations = Deformations::new(SIDE, cutoff.parse()?, ModeRule::Strict)?;
        let t = deformations.temperature(DISPLACEMENT, Convention::Exact)?;
        deformations.check(t, Convention::Exact)?;
        let mut images = vec![0.0; IMAGES * CHANNELS * SIDE * SIDE];
        Stream::new(0, 0, "bench.images").uniform(1.0, &mut images);
        let coefficients = (0..IMAGES).flat_map(|k| {
            let field = deformations.draw(t, &stream(k));
            field.coefficients().to_vec()
        });
        let dir = Path::new(dir);
        let bytes =
            |numbers: &[f32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
        std::fs::write(dir.join("x.f32"), bytes(&images))?;
        let coefficients: Vec<f32> = coefficients.collect();
        std::fs::write(dir.join("c.f32"), bytes(&coefficients))?;
        let modes = deformations.mode_list().iter();
        let modes: Vec<String> = modes.map(|(i, j)| format!("{i} {j}\n")).collect();
        std::fs::write(dir.join("modes"), modes.concat())?;
        std::fs::write(dir.join("t"), t.to_string())?;
        Ok(Some(Deform {
            deformations,
            t,
            out: vec![0.0; images.len()],
            images,
        }))
    }

    /// Draws a field for every image and deforms it.
    pub fn run(&mut self) {
        let by = Interpolation::Bilinear;
        self.deformations
            .apply_all(self.t, stream, by, CHANNELS, &self.images, &mut self.out);
    }

    /// The deformed images.
    pub fn check(&mut self) -> Vec<f32> {
        self.run();
        self.out.clone()
    }
}
