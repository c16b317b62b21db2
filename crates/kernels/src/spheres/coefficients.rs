//! c_r⃗ = E[ k(Σ_b t_b/s) Π_b P_{r_b}(t_b) ], one sphere at a time.
//!
//! g_0 = k on [−1, 1], and with X_j = (s − j)/s
//!
//! g_{j+1}(x) = E_t[ g_j(x + t/s) P_{r_j}(t) ] on [−X_{j+1}, X_{j+1}],  c_r⃗ = g_s(0).
//!
//! M terms of the power series of the ReLU NTK leave M^{−(1 + s(d0−1))/2}, since k is singular at ±1; here
//! each step is a one-dimensional integral over nodes graded towards the ends, where k is singular. With x
//! = X cos α the new angle is sin²(α'/2) = A sin²(α/2) + (1 − A) sin²(θ/2), A = X_{j+1}/X_j: nothing
//! cancels. c_r⃗ is symmetric in the degrees, so they are taken in ascending order and common beginnings
//! are computed once.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::harmonics::legendre;
use super::quadrature::{Grid, Half, law};
use super::{Profile, SphereError};

/// Coefficients are found to this part of the largest |k|, and are 0 below it.
///
/// An even or odd part that k lacks (ReLU has no odd powers above the first) is then exactly 0.
pub const RESOLUTION: f64 = 1e-13;

/// c_r⃗ by the degrees above 0, largest first.
pub(super) type Coefficients = BTreeMap<Vec<usize>, f64>;

/// Every c_r⃗ of order at most `order` on a window of `s` spheres of dimension `d0`.
pub(super) fn coefficients(
    profile: &Profile,
    d0: usize,
    s: usize,
    order: usize,
) -> Result<Coefficients, SphereError> {
    let law = law(d0);
    // P_r at every node times its weight, by degree.
    let values: Vec<Vec<f64>> = law
        .iter()
        .map(|n| legendre(d0, order, n.0.cosine()))
        .collect();
    let weighted = (0..=order)
        .map(|r| law.iter().zip(&values).map(|(n, p)| n.1 * p[r]).collect())
        .collect();
    let mut peel = Peel {
        profile,
        s,
        grid: Grid::new(),
        law: law.into_iter().map(|n| n.0).collect(),
        weighted,
        found: Coefficients::new(),
    };
    peel.descend(&Function::Given, &mut Vec::new(), order);
    let largest = (0..=64)
        .map(|i| profile.at(f64::from(i) / 32.0 - 1.0).abs())
        .fold(0.0, f64::max);
    let finite = peel.found.values().all(|c| c.is_finite()) && largest.is_finite();
    if !finite {
        return Err(SphereError::Profile {
            name: profile.name().to_string(),
        });
    }
    let floor = RESOLUTION * largest;
    peel.found
        .values_mut()
        .filter(|c| c.abs() < floor)
        .for_each(|c| *c = 0.0);
    Ok(peel.found)
}

/// g_j.
enum Function {
    /// k itself.
    Given,
    /// Interpolated.
    Table(Vec<f64>),
}

struct Peel<'a> {
    profile: &'a Profile,
    s: usize,
    grid: Grid,
    law: Vec<Half>,
    weighted: Vec<Vec<f64>>,
    found: Coefficients,
}

impl Peel<'_> {
    /// Follows every ascending continuation of `degrees` whose sum stays within `left`.
    fn descend(&mut self, g: &Function, degrees: &mut Vec<usize>, left: usize) {
        let spheres = self.s - degrees.len();
        let least = degrees.last().copied().unwrap_or(0);
        // The spheres that follow have at least the degree of this one.
        let wanted = least..=left / spheres;
        if spheres == 1 {
            let values: Vec<f64> = self.law.iter().map(|&n| self.value(g, n)).collect();
            for r in wanted {
                let c = values.iter().zip(&self.weighted[r]).map(|(g, w)| g * w);
                let mut key: Vec<usize> = degrees.iter().copied().chain([r]).collect();
                key.retain(|&r| r > 0);
                key.reverse();
                self.found.insert(key, c.sum());
            }
            return;
        }
        for (r, next) in wanted.clone().zip(self.step(g, spheres, wanted)) {
            degrees.push(r);
            self.descend(&next, degrees, left - r);
            degrees.pop();
        }
    }

    /// g_{j+1} for every wanted degree; `spheres` are left, the one that is integrated included.
    fn step(
        &self,
        g: &Function,
        spheres: usize,
        wanted: std::ops::RangeInclusive<usize>,
    ) -> Vec<Function> {
        let b = 1.0 / spheres as f64;
        let a = 1.0 - b;
        let rows: Vec<Vec<f64>> = self
            .grid
            .nodes
            .par_iter()
            .map(|x| {
                let values: Vec<f64> = self
                    .law
                    .iter()
                    .map(|t| {
                        let sum = Half {
                            sin2: a * x.sin2 + b * t.sin2,
                            cos2: a * x.cos2 + b * t.cos2,
                        };
                        self.value(g, sum)
                    })
                    .collect();
                let degree = |r: usize| -> f64 {
                    let terms = values.iter().zip(&self.weighted[r]);
                    terms.map(|(g, w)| g * w).sum()
                };
                wanted.clone().map(degree).collect()
            })
            .collect();
        let table = |i: usize| {
            let values: Vec<f64> = rows.iter().map(|row| row[i]).collect();
            Function::Table(self.grid.interpolate(&values))
        };
        (0..wanted.count()).map(table).collect()
    }

    fn value(&self, g: &Function, at: Half) -> f64 {
        match g {
            Function::Given => self.profile.at(at.cosine()),
            Function::Table(coefficients) => self.grid.at(coefficients, at.angle()),
        }
    }
}
