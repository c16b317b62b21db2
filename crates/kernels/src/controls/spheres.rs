//! k(t) = e^t on 4 spheres of R³, patches of 2 (Thm 4.1): with i_n the modified spherical Bessel functions and a = ½,
//! λ of order 0 is i₀(a)², of order 1 (2/4) i₁(a) i₀(a).

use polariscope_lens::Fault;

use crate::spheres::{Level, Product, Profile, Spectrum, System};

fn levels(system: System) -> Result<Vec<Level>, Fault> {
    let product = Product::new(4, 3, 2)?;
    Ok(Spectrum::to_order(system, product, &Profile::exp(), 1)?.levels)
}

fn of_order(system: System, order: usize) -> Result<Level, Fault> {
    let level = levels(system)?.into_iter().find(|l| l.order == order);
    level.ok_or_else(|| format!("no level of order {order}").into())
}

/// (i₀, i₁) at ½.
fn bessel() -> (f64, f64) {
    let a = 0.5f64;
    (a.sinh() / a, a.cosh() / a - a.sinh() / (a * a))
}

/// λ of the constant.
pub fn constant() -> Result<f64, Fault> {
    let (i0, _) = bessel();
    Ok(of_order(System::Vec, 0)?.eigenvalue / (i0 * i0))
}

/// λ of linear functions of one sphere.
pub fn linear() -> Result<f64, Fault> {
    let (i0, i1) = bessel();
    Ok(of_order(System::Vec, 1)?.eigenvalue / (0.5 * i1 * i0))
}

/// 4 spheres with 3 linear functions each.
pub fn count_vec() -> Result<f64, Fault> {
    Ok(of_order(System::Vec, 1)?.multiplicity as f64)
}

/// One of each under shifts.
pub fn count_gap() -> Result<f64, Fault> {
    Ok(of_order(System::Gap, 1)?.multiplicity as f64)
}
