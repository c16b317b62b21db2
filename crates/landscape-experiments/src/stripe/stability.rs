//! R_f of the stripe (Petrini et al., eq. 6): how much less a network minds noise in the
//! directions that do not matter.

use polariscope_random::Stream;

/// ‖ν‖ = ‖η‖: a hundredth of the length √10 of a sample in 10 inputs and a fiftieth of the width of the stripe. So small that
/// f is all but linear over it and R_f does not depend on it: a tenth of it changes R_f by at most 1 % for P = 64 … 1024.
pub(super) const NOISE: f32 = 0.03;
/// Draws of ν and of η at every test point. The mean over them of (∇f·η)² has a relative standard deviation of about √(2/32);
/// over 2000 points that leaves half a percent, far less than the weights of another run.
const DRAWS: usize = 32;

/// R_f with both averages over test points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stability {
    /// Of means over test points.
    pub mean: f64,
    /// Of medians over test points.
    pub median: f64,
}

/// R_f = ⟨|f(x∥, x⊥ + ν) − f(x)|²⟩/⟨|f(x + η) − f(x)|²⟩ over test points `x` of `d` numbers, the first of which is x∥; at every
/// point the mean over draws of length `size`. η is uniform on a sphere, ν on that of the directions that do not matter.
pub(super) fn stability<E>(
    f: impl Fn(&[f32]) -> Result<Vec<f64>, E>,
    x: &[f32],
    (d, size): (usize, f32),
    (seed, run): (u64, u64),
) -> Result<Stability, E> {
    let here = f(x)?;
    let moved = |name: &str, fixed: usize| -> Result<Vec<f64>, E> {
        let mut squares = vec![0.0; here.len()];
        for draw in 0..DRAWS as u64 {
            let mut noise = vec![0.0; x.len()];
            Stream::new(seed, run * DRAWS as u64 + draw, name).normal(1.0, &mut noise);
            noise
                .chunks_exact_mut(d)
                .for_each(|n| sphere(n, fixed, size));
            let there: Vec<f32> = x.iter().zip(&noise).map(|(x, n)| x + n).collect();
            let changes = f(&there)?
                .into_iter()
                .zip(&here)
                .map(|(a, b)| (a - b).powi(2));
            squares.iter_mut().zip(changes).for_each(|(s, c)| *s += c);
        }
        Ok(squares)
    };
    let across = moved("stripe.across", 1)?;
    let any = moved("stripe.any", 0)?;
    let mean = |squares: &[f64]| squares.iter().sum::<f64>();
    Ok(Stability {
        mean: mean(&across) / mean(&any),
        median: median(across) / median(any),
    })
}

/// Normal numbers brought to a sphere; the first `fixed` of them to 0.
fn sphere(noise: &mut [f32], fixed: usize, radius: f32) {
    noise[..fixed].fill(0.0);
    let length = noise.iter().map(|n| n * n).sum::<f32>().sqrt();
    noise.iter_mut().for_each(|n| *n *= radius / length);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}
