//! Which degrees r⃗ a kernel sees, and how many functions they have.
//!
//! VEC and GAP see r⃗ whose support lies in one of the p windows of s neighbours on the circle. Shifts
//! permute them: an orbit of q vectors gives VEC q Π_i N(d0, r_i) functions, and GAP those that shifts
//! leave alone. They are the invariants of the p/q shifts that fix r⃗, which permute equal factors of ⊗_i
//! H_{r_i}; by Burnside
//!
//! (q/p) Σ_{a < p/q} Π_{i < gcd(aq, p)} N(d0, r_i),
//!
//! as a shift by aq has gcd(aq, p) cycles and the trace of a cycle is one factor's dimension.

use std::collections::{BTreeMap, BTreeSet};

use super::harmonics::{binomial, harmonics};
use super::{Product, SphereError, System};

/// More vectors of degrees than this are not listed.
const MOST: u128 = 2_000_000;

/// Vectors r⃗ of one eigenvalue.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Degrees above 0, largest first.
    pub degrees: Vec<usize>,
    /// Windows that hold the support.
    pub windows: usize,
    /// One of the vectors.
    pub example: Vec<usize>,
    /// Independent eigenfunctions.
    pub multiplicity: u64,
}

/// Classes of order at most `order` that have a function.
pub(super) fn classes(
    system: System,
    product: Product,
    order: usize,
) -> Result<Vec<Class>, SphereError> {
    let too_many = SphereError::Classes { order };
    let dims: Option<Vec<u64>> = (0..=order).map(|r| harmonics(product.d0(), r)).collect();
    let dims = dims.ok_or(too_many.clone())?;
    let found = match system {
        System::Fcn => full(product, order, &dims),
        System::Vec | System::Gap => banded(system, product, order, &dims),
    };
    let mut found = found.ok_or(too_many)?;
    found.retain(|c| c.multiplicity > 0);
    Ok(found)
}

/// Every way to write at most `order` as a sum of at most p degrees.
fn full(product: Product, order: usize, dims: &[u64]) -> Option<Vec<Class>> {
    let p = product.p();
    let mut stack = vec![Vec::new()];
    let mut found = Vec::new();
    while let Some(degrees) = stack.pop() {
        let used: usize = degrees.iter().sum();
        let largest = degrees.last().copied().unwrap_or(order);
        if degrees.len() < p {
            for r in 1..=largest.min(order - used) {
                let mut next = degrees.clone();
                next.push(r);
                stack.push(next);
            }
        }
        // Places for the degrees: choose those of each value among the ones that are left.
        let mut ways: u128 = 1;
        let mut free = p;
        for equal in degrees.chunk_by(|a, b| a == b) {
            ways = ways.checked_mul(binomial(free as u128, equal.len() as u128)?)?;
            free -= equal.len();
        }
        let each = degrees
            .iter()
            .try_fold(1u64, |n, &r| n.checked_mul(dims[r]))?;
        let mut example = degrees.clone();
        example.resize(p, 0);
        found.push(Class {
            multiplicity: u64::try_from(ways).ok()?.checked_mul(each)?,
            windows: p,
            example,
            degrees,
        });
    }
    Some(found)
}

/// Every r⃗ inside a window, by shift orbits.
fn banded(system: System, product: Product, order: usize, dims: &[u64]) -> Option<Vec<Class>> {
    let (p, s) = (product.p(), product.s());
    if binomial((s + order) as u128, order as u128)? > MOST {
        return None;
    }
    let mut orbits = BTreeSet::new();
    let mut r = vec![0; p];
    fill(&mut r, 0, s, order, &mut |r| {
        orbits.insert(canonical(r));
    });
    let mut found: BTreeMap<(Vec<usize>, usize), Class> = BTreeMap::new();
    for example in orbits.into_iter().rev() {
        let functions = functions(system, &example, dims)?;
        let mut degrees: Vec<usize> = example.iter().copied().filter(|&r| r > 0).collect();
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        let windows = windows(&example, s);
        let class = found
            .entry((degrees.clone(), windows))
            .or_insert_with(|| Class {
                degrees,
                windows,
                example,
                multiplicity: 0,
            });
        class.multiplicity = class.multiplicity.checked_add(functions)?;
    }
    Some(found.into_values().collect())
}

/// Calls `visit` with every filling of r[at..end] whose sum is at most `left`.
fn fill(r: &mut [usize], at: usize, end: usize, left: usize, visit: &mut impl FnMut(&[usize])) {
    if at == end {
        return visit(r);
    }
    for degree in 0..=left {
        r[at] = degree;
        fill(r, at + 1, end, left - degree, visit);
    }
    r[at] = 0;
}

/// The largest of its rotations.
fn canonical(r: &[usize]) -> Vec<usize> {
    let rotated = |i: usize| [&r[i..], &r[..i]].concat();
    let all = (0..r.len()).map(rotated);
    all.max().unwrap_or_default()
}

/// Windows of s neighbours that hold the support of r⃗.
pub(super) fn windows(r: &[usize], s: usize) -> usize {
    let p = r.len();
    let holds = |&i: &usize| (s..p).all(|b| r[(i + b) % p] == 0);
    (0..p).filter(holds).count()
}

/// Functions of a whole shift orbit.
fn functions(system: System, r: &[usize], dims: &[u64]) -> Option<u64> {
    let p = r.len();
    let fixes = |q: usize| (0..p).all(|i| r[i] == r[(i + q) % p]);
    let q = (1..=p).find(|&q| fixes(q)).unwrap_or(p);
    let product = |count: usize| {
        r[..count]
            .iter()
            .try_fold(1u64, |n, &r| n.checked_mul(dims[r]))
    };
    match system {
        System::Fcn | System::Vec => product(p)?.checked_mul(q as u64),
        System::Gap => {
            let shifts = p / q;
            let mut traces: u64 = 0;
            for a in 0..shifts {
                traces = traces.checked_add(product(gcd(a * q, p))?)?;
            }
            Some(traces / shifts as u64)
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if a == 0 { b } else { gcd(b % a, a) }
}

/// Every r⃗ of a class.
pub(super) fn members(system: System, product: Product, example: &[usize]) -> Vec<Vec<usize>> {
    let (p, s) = (product.p(), product.s());
    let mut degrees: Vec<usize> = example.iter().copied().filter(|&r| r > 0).collect();
    degrees.sort_unstable();
    let wanted = windows(example, s);
    let mut found = BTreeSet::new();
    place(&mut vec![0; p], &degrees, &mut found);
    let kept = found.into_iter().filter(|r| match system {
        System::Fcn => true,
        System::Vec | System::Gap => windows(r, s) == wanted,
    });
    kept.collect()
}

fn place(r: &mut Vec<usize>, degrees: &[usize], found: &mut BTreeSet<Vec<usize>>) {
    let Some((&first, rest)) = degrees.split_first() else {
        found.insert(r.clone());
        return;
    };
    for i in 0..r.len() {
        if r[i] == 0 {
            r[i] = first;
            place(r, rest, found);
            r[i] = 0;
        }
    }
}
