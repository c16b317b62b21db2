//! What the noise of the initial weights is worth: statistics of networks that differ in it alone.
//!
//! F̄ₘ is the mean output of m networks. Its test error ε(m) is that of its sign, or of its largest output, not of a vote.
//! Where noise δF moves the decision boundary a little, errors of first order cancel and
//!
//! ```text
//! ε(m) = ε̄_∞ + c/m
//! ```
//!
//! so that ε(1) − ε̄_∞ is what the noise adds to the error of one network. Points of the curve are means over subsets of the
//! networks in hand; they share networks, and their errors and the fit's are the jackknife's over networks,
//! which are rather too wide than too narrow.

use polariscope_random::Stream;
use polariscope_stats::{Estimate, jackknife};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Subsets of a size that are looked at; all of them where there are no more.
const SUBSETS: usize = 128;
/// The smallest ensembles that the 1/m law is fitted to: a single network may be too noisy for it.
const FIRST: usize = 2;

/// Outputs of networks that differ in their initial weights alone, on the same samples.
#[derive(Clone, Copy, Debug)]
pub struct Ensemble<'a> {
    /// F, a network each: samples × outputs.
    pub outputs: &'a [Vec<f64>],
    /// Class of each sample.
    pub classes: &'a [u32],
}

/// ε(m).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Size of the ensemble, and the error of its mean output.
    pub points: Vec<(usize, Estimate)>,
    /// ε(m) = ε̄_∞ + c/m; none for fewer than four networks.
    pub fit: Option<Extrapolated>,
}

/// ε(m) = ε̄_∞ + c/m, by least squares over the points of two networks or more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extrapolated {
    /// ε̄_∞.
    pub limit: Estimate,
    /// c.
    pub slope: Estimate,
    /// ε(1) − ε̄_∞: what the noise adds.
    pub noise: Estimate,
    /// (ε(1) − ε̄_∞)/ε(1); none where a network makes no error.
    pub share: Option<Estimate>,
}

/// How far the decision boundary of a network lies from the ensemble's, in the units of the input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Share of samples that a network and the ensemble decide differently.
    pub disagreement: Estimate,
    /// ⟨|δg|/‖∇ₓg‖⟩ over these samples; none where there are too few.
    pub at_disagreement: Option<Estimate>,
    /// ‖δg‖/‖∇ₓg‖, root mean squares over all samples.
    pub overall: Option<Estimate>,
}

impl Ensemble<'_> {
    /// Outputs of a network.
    pub fn width(&self) -> usize {
        let numbers = self.outputs.first().map_or(0, Vec::len);
        numbers / self.classes.len().max(1)
    }

    /// Mean output of some networks, samples × outputs.
    pub fn mean(&self, networks: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut sum = vec![0.0; self.classes.len() * self.width()];
        let mut count = 0usize;
        for i in networks {
            count += 1;
            sum.iter_mut()
                .zip(&self.outputs[i])
                .for_each(|(s, f)| *s += f);
        }
        sum.iter_mut().for_each(|s| *s /= count.max(1) as f64);
        sum
    }

    /// Which samples outputs put into a wrong class.
    pub fn wrong(&self, outputs: &[f64]) -> Vec<bool> {
        let rows = outputs.chunks_exact(self.width().max(1)).zip(self.classes);
        rows.map(|(row, class)| decision(row) != *class).collect()
    }

    /// Share of samples that outputs put into a wrong class.
    pub fn error(&self, outputs: &[f64]) -> f64 {
        let wrong = self.wrong(outputs).into_iter().filter(|wrong| *wrong);
        wrong.count() as f64 / self.classes.len().max(1) as f64
    }

    /// Test error of every network.
    pub fn errors(&self) -> Vec<f64> {
        self.outputs.par_iter().map(|f| self.error(f)).collect()
    }

    /// Var F = ⟨(F − ⟨F⟩)²⟩ over networks (n − 1 in the denominator), samples and outputs.
    pub fn variance(&self) -> Option<Estimate> {
        let n = self.outputs.len();
        jackknife(n, |out| {
            let kept = || (0..n).filter(move |i| Some(*i) != out);
            let (mean, count) = (self.mean(kept()), kept().count());
            let square = |i: usize| mean_square(self.outputs[i].iter().zip(&mean));
            (count > 1).then(|| kept().map(square).sum::<f64>() / (count - 1) as f64)
        })
    }

    /// ε(m) for every m, from all subsets of each size or from 128 that the seed chooses.
    pub fn curve(&self, seed: u64) -> Curve {
        let n = self.outputs.len();
        let tried: Vec<Vec<(Vec<usize>, f64)>> = (1..=n)
            .map(|m| {
                let subsets = subsets(n, m, seed);
                let error = |subset: Vec<usize>| {
                    let error = self.error(&self.mean(subset.iter().copied()));
                    (subset, error)
                };
                subsets.into_par_iter().map(error).collect()
            })
            .collect();
        // ε(m), without one of the networks: of the subsets that it is not in.
        let at = |m: usize, out: Option<usize>| {
            let subsets = &tried.get(m.checked_sub(1)?)?;
            let kept = subsets
                .iter()
                .filter(|(subset, _)| out.is_none_or(|i| !subset.contains(&i)));
            let errors: Vec<f64> = kept.map(|(_, error)| *error).collect();
            (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
        };
        let point = |m: usize| {
            // All of them together: one fewer where one is left out.
            let statistic =
                |out: Option<usize>| at(if out.is_some() && m == n { m - 1 } else { m }, out);
            Some((m, jackknife(n, statistic)?))
        };
        Curve {
            points: (1..=n).filter_map(point).collect(),
            fit: extrapolate(n, at),
        }
    }

    /// What decides at each sample, as weights u of the outputs of network `i`: g = u·F is positive where it decides as the
    /// ensemble, whose mean output is `mean`. One output decides by its sign, u = 1. Of several, the ensemble's class stands
    /// against the network's, or against the ensemble's second where both agree.
    pub fn deciders(&self, i: usize, mean: &[f64]) -> Vec<f64> {
        let width = self.width().max(1);
        let mut u = vec![0.0; mean.len()];
        let rows = mean
            .chunks_exact(width)
            .zip(self.outputs[i].chunks_exact(width));
        for (u, (mean, own)) in u.chunks_exact_mut(width).zip(rows) {
            if let [u] = u {
                *u = 1.0;
                continue;
            }
            let (ours, theirs) = (decision(mean) as usize, decision(own) as usize);
            let against = match ours == theirs {
                true => second(mean),
                false => theirs,
            };
            u[ours] = 1.0;
            u[against] = -1.0;
        }
        u
    }

    /// How far boundaries lie apart, from ‖∇ₓ(u·F)‖ at every sample for each network, with its `deciders`.
    pub fn distance(&self, norms: &[Vec<f64>]) -> Option<Distance> {
        let (n, width) = (self.outputs.len(), self.width().max(1));
        let mean = self.mean(0..n);
        let parts: Vec<Part> = (0..n)
            .map(|i| {
                let (own, u) = (&self.outputs[i], self.deciders(i, &mean));
                let mut part = Part::default();
                for (k, norm) in norms[i].iter().enumerate() {
                    let row = k * width..(k + 1) * width;
                    let terms = u[row.clone()]
                        .iter()
                        .zip(own[row.clone()].iter().zip(&mean[row.clone()]));
                    let change: f64 = terms.map(|(u, (f, mean))| u * (f - mean)).sum();
                    part.change += change * change;
                    part.norm += norm * norm;
                    if decision(&own[row.clone()]) != decision(&mean[row]) {
                        part.differ += 1;
                        // Where the gradient vanishes no boundary is near.
                        if *norm > 0.0 {
                            part.steep += 1;
                            part.distance += change.abs() / norm;
                        }
                    }
                }
                part
            })
            .collect();
        let over = |f: &dyn Fn(&Part) -> f64, out: Option<usize>| {
            let kept = parts.iter().enumerate().filter(|(i, _)| Some(*i) != out);
            kept.map(|(_, part)| f(part)).sum::<f64>()
        };
        let samples = self.classes.len() as f64;
        let kept = |out: Option<usize>| (n - usize::from(out.is_some())) as f64;
        let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
        // f − f̄ of n networks is too small by (n − 1)/n.
        let spread = n as f64 / (n as f64 - 1.0).max(1.0);
        Some(Distance {
            disagreement: jackknife(n, |out| {
                ratio(over(&|p| p.differ as f64, out), kept(out) * samples)
            })?,
            at_disagreement: jackknife(n, |out| {
                ratio(over(&|p| p.distance, out), over(&|p| p.steep as f64, out))
            }),
            overall: jackknife(n, |out| {
                let squares = ratio(over(&|p| p.change, out), over(&|p| p.norm, out))?;
                Some((spread * squares).sqrt())
            }),
        })
    }
}

/// Sums over the samples of a network.
#[derive(Default)]
struct Part {
    /// Samples that it decides differently.
    differ: usize,
    /// Those of them with a gradient, and their distances.
    steep: usize,
    distance: f64,
    /// δg² and ‖∇ₓg‖².
    change: f64,
    norm: f64,
}

/// The class that outputs give: the largest, or the sign of a single one.
pub fn decision(row: &[f64]) -> u32 {
    match row {
        [f] => u32::from(*f > 0.0),
        _ => largest(row, None) as u32,
    }
}

/// The runner-up.
fn second(row: &[f64]) -> usize {
    largest(row, Some(largest(row, None)))
}

/// The first of the largest outputs, one of them left out.
fn largest(row: &[f64], out: Option<usize>) -> usize {
    let others = (0..row.len()).filter(|k| Some(*k) != out);
    others
        .reduce(|best, k| if row[k] > row[best] { k } else { best })
        .unwrap_or(0)
}

fn mean_square<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for (a, b) in pairs {
        sum += (a - b) * (a - b);
        count += 1;
    }
    sum / count.max(1) as f64
}

/// All subsets of m of n networks, or as many as are looked at, chosen by the seed.
fn subsets(n: usize, m: usize, seed: u64) -> Vec<Vec<usize>> {
    let many = (0..m).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
    if many.round() > SUBSETS as f64 {
        let draw = |k: usize| {
            let index = (m * SUBSETS + k) as u64;
            let mut cursor = Stream::new(seed, index, "subset").cursor();
            let mut chosen = cursor.permutation(n);
            chosen.truncate(m);
            chosen.sort_unstable();
            chosen
        };
        return (0..SUBSETS).map(draw).collect();
    }
    let mut found = vec![Vec::new()];
    for _ in 0..m {
        found = found
            .into_iter()
            .flat_map(|subset: Vec<usize>| {
                let first = subset.last().map_or(0, |last| last + 1);
                (first..n).map(move |next| {
                    let mut longer = subset.clone();
                    longer.push(next);
                    longer
                })
            })
            .collect();
    }
    found
}

/// The line through ε(m) over 1/m, its error by leaving networks out.
fn extrapolate(n: usize, at: impl Fn(usize, Option<usize>) -> Option<f64>) -> Option<Extrapolated> {
    // Without one of the networks there are still two points.
    if n < FIRST + 2 {
        return None;
    }
    let line = |out: Option<usize>| {
        let last = n - usize::from(out.is_some());
        let points: Option<Vec<(f64, f64)>> = (FIRST..=last)
            .map(|m| Some((1.0 / m as f64, at(m, out)?)))
            .collect();
        line(&points?)
    };
    let noise = |out: Option<usize>| Some(at(1, out)? - line(out)?.0);
    Some(Extrapolated {
        limit: jackknife(n, |out| Some(line(out)?.0))?,
        slope: jackknife(n, |out| Some(line(out)?.1))?,
        noise: jackknife(n, noise)?,
        share: jackknife(n, |out| {
            let one = at(1, out)?;
            (one > 0.0).then_some(noise(out)? / one)
        }),
    })
}

/// Intercept and slope by least squares.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (x, y) = (
        points.iter().map(|p| p.0).sum::<f64>() / n,
        points.iter().map(|p| p.1).sum::<f64>() / n,
    );
    let squares: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let products: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (squares > 0.0).then(|| (y - products / squares * x, products / squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal noise of variance σ² around `mean`, an output a network and sample.
    fn noisy(mean: &[f64], deviation: f64, networks: usize, seed: u64) -> Vec<Vec<f64>> {
        let network = |i: usize| {
            let mut noise = vec![0.0f32; mean.len()];
            Stream::new(seed, i as u64, "noise").normal(deviation as f32, &mut noise);
            mean.iter()
                .zip(noise)
                .map(|(m, e)| m + f64::from(e))
                .collect()
        };
        (0..networks).map(network).collect()
    }

    /// f̄ uniform on (−1, 1), P(y = 1) = ½ + s f̄: of F̄ₘ with noise σ²/m a linear error cancels and
    /// ε(m) = ½ − s/2 + sσ²/2m, up to the ends, which lie 4σ away.
    fn soft_labels(samples: usize, s: f64, seed: u64) -> (Vec<f64>, Vec<u32>) {
        let mut unit = vec![0.0f32; 2 * samples];
        Stream::new(seed, 0, "labels").uniform(1.0, &mut unit);
        let mean: Vec<f64> = unit[..samples].iter().map(|&x| f64::from(x)).collect();
        let class = |(f, u): (&f64, &f32)| u32::from(f64::from(*u) < 2.0 * s * f);
        let classes = mean.iter().zip(&unit[samples..]).map(class).collect();
        (mean, classes)
    }

    /// Φ(−√m f̄/σ) is the chance of a wrong sign: at f̄ = σ 0.158655 for one network and Φ(−2) = 0.022750 for four.
    #[test]
    fn the_sign_of_a_mean_is_wrong_as_often_as_the_normal_distribution_says() {
        let samples = 40_000;
        let outputs = noisy(&vec![1.0; samples], 1.0, 4, 3);
        let classes = vec![1; samples];
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: &classes,
        };
        let curve = ensemble.curve(0);
        // Standard errors √(p(1−p)/40,000): 0.0009 (of each network) and 0.0007.
        let [one, four] = [0, 3].map(|i| curve.points[i].1);
        assert!((one.value - 0.158_655).abs() < 0.003, "{one}");
        assert!((four.value - 0.022_750).abs() < 0.003, "{four}");
        assert_eq!(ensemble.errors().iter().sum::<f64>() / 4.0, one.value);
        // Var F = 1, of 40,000 · 3 squares: standard error √(2/120,000) = 0.004.
        let variance = ensemble.variance().unwrap();
        assert!((variance.value - 1.0).abs() < 0.015, "{variance}");
        assert!(variance.standard_error < 0.02);
    }

    #[test]
    fn soft_labels_give_the_law_and_its_constants() {
        let (samples, s, sigma) = (200_000, 0.4, 0.25);
        let (mean, classes) = soft_labels(samples, s, 1);
        let outputs = noisy(&mean, sigma, 6, 2);
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: &classes,
        };
        let fit = ensemble.curve(0).fit.unwrap();
        // Labels alone spread the limit by √(p(1−p)/200,000) = 0.001.
        assert!((fit.limit.value - 0.3).abs() < 0.004, "{}", fit.limit);
        let slope = 0.5 * s * sigma * sigma;
        let off = (fit.slope.value - slope).abs();
        assert!(off < 4.0 * fit.slope.standard_error + 1e-4, "{}", fit.slope);
        assert!(fit.slope.standard_error < 0.2 * slope, "{}", fit.slope);
        assert!(
            (fit.noise.value - slope).abs() < 0.2 * slope,
            "{}",
            fit.noise
        );
        let share = fit.share.unwrap();
        assert!(
            (share.value - slope / (0.3 + slope)).abs() < 0.01,
            "{share}"
        );
    }

    /// The jackknife's errors of ε̄_∞ and of what noise adds, against how far both scatter over networks drawn again. By
    /// Efron and Stein it is never too small on average; what depends on pairs of networks it counts twice.
    #[test]
    fn errors_of_the_fit_are_those_of_other_networks() {
        let (mean, classes) = soft_labels(1000, 0.4, 4);
        let fits: Vec<Extrapolated> = (0..200)
            .map(|seed| {
                let outputs = noisy(&mean, 0.25, 6, 100 + seed);
                let ensemble = Ensemble {
                    outputs: &outputs,
                    classes: &classes,
                };
                ensemble.curve(0).fit.unwrap()
            })
            .collect();
        for part in [|f: &Extrapolated| f.limit, |f: &Extrapolated| f.noise] {
            let values: Vec<f64> = fits.iter().map(|f| part(f).value).collect();
            let all = Estimate::mean(&values).unwrap();
            let scatter = all.standard_error.powi(2) * 200.0;
            let told = fits.iter().map(|f| part(f).standard_error.powi(2));
            let told = told.sum::<f64>() / 200.0;
            let ratio = told / scatter;
            assert!((0.9..4.0).contains(&ratio), "{ratio}");
        }
    }

    /// The error of regression is that of the ensemble and the noise exactly: ⟨‖F − y‖²⟩ = ‖F̄ − y‖² + ‖δF‖².
    #[test]
    fn the_error_of_regression_grows_by_the_variance() {
        let (samples, n) = (50, 5);
        let targets = noisy(&[0.0; 50], 1.0, 1, 7).remove(0);
        let outputs = noisy(&targets, 0.5, n, 8);
        let classes = vec![0; samples];
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: &classes,
        };
        let own = outputs.iter().map(|f| mean_square(f.iter().zip(&targets)));
        let own = own.sum::<f64>() / n as f64;
        let together = mean_square(ensemble.mean(0..n).iter().zip(&targets));
        let variance = ensemble.variance().unwrap().value;
        let noise = variance * (n as f64 - 1.0) / n as f64;
        assert!((own - together - noise).abs() < 1e-14);
    }

    /// F = x − t on a grid: the boundary of network i lies |tᵢ − t̄| from the ensemble's, and ∝ |tᵢ − t̄| points lie between.
    #[test]
    fn boundaries_of_lines_lie_where_they_do() {
        let samples = 100_001;
        let x: Vec<f64> = (0..samples).map(|k| k as f64 / 50_000.0 - 1.0).collect();
        let shifts = [-0.2, -0.1, 0.05, 0.25];
        let outputs: Vec<Vec<f64>> = shifts
            .iter()
            .map(|t| x.iter().map(|x| x - t).collect())
            .collect();
        let classes: Vec<u32> = x.iter().map(|x| u32::from(*x > 0.0)).collect();
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: &classes,
        };
        let found = ensemble
            .distance(&vec![vec![1.0; samples]; shifts.len()])
            .unwrap();
        // t̄ = 0.
        let sum: f64 = shifts.iter().map(|t: &f64| t.abs()).sum();
        let squares: f64 = shifts.iter().map(|t| t * t).sum();
        assert!((found.disagreement.value - sum / 4.0 / 2.0).abs() < 1e-4);
        assert!((found.at_disagreement.unwrap().value - squares / sum).abs() < 1e-4);
        assert!((found.overall.unwrap().value - (squares / 3.0).sqrt()).abs() < 1e-12);
    }

    /// Three outputs: where both agree the first stands against the second, else the two classes.
    #[test]
    fn of_several_outputs_two_decide() {
        let outputs = vec![vec![2.0, 1.0, 0.0, 0.0, 1.0, 3.0]];
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: &[0, 1],
        };
        let u = ensemble.deciders(0, &[3.0, 2.0, 0.0, 0.0, 5.0, 3.0]);
        assert_eq!(u, [1.0, -1.0, 0.0, 0.0, 1.0, -1.0]);
    }

    /// The ensemble's mean decides, not a vote: two weak wrong outputs against a strong right one.
    #[test]
    fn the_mean_output_decides() {
        let outputs = vec![vec![-0.1], vec![-0.1], vec![1.0]];
        let ensemble = Ensemble {
            outputs: &outputs,
            classes: &[1],
        };
        let curve = ensemble.curve(0);
        assert_eq!(curve.points[2].1.value, 0.0);
        assert_eq!(curve.points[0].1.value, 2.0 / 3.0);
        assert_eq!(curve.fit, None);
    }

    #[test]
    fn subsets_are_all_or_many() {
        assert_eq!(subsets(4, 2, 0).len(), 6);
        assert_eq!(subsets(4, 4, 0), [[0, 1, 2, 3]]);
        let many = subsets(20, 10, 0);
        assert_eq!(many.len(), SUBSETS);
        let sound = |s: &Vec<usize>| s.len() == 10 && s.windows(2).all(|w| w[0] < w[1]);
        assert!(many.iter().all(sound));
        assert_ne!(many, subsets(20, 10, 1));
    }
}
