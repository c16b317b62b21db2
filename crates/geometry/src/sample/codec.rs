//! Checkpoints and shards as bytes: little-endian, exact to the bit, with a checksum at the end.

use super::sum::Sum;
use super::tiles::{Tile, tiles};
use super::{GROUPS, State};
use crate::GeometryError;

/// Opens every file; the digit is bumped when the layout changes.
const KIND: &[u8; 8] = b"psgeom-1";

impl State {
    /// The state as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers: usize = self
            .sums
            .iter()
            .map(|s| s.entries.len() + s.mean.len())
            .sum();
        let mut out = Vec::with_capacity(8 * numbers + 1024);
        out.extend(KIND);
        let mut word = |x: u64| out.extend(x.to_le_bytes());
        word(self.waves);
        word(self.quantum.to_bits());
        word(self.dim as u64);
        word(self.sums.first().map_or(0, |s| s.mean.len()) as u64);
        for sum in &self.sums {
            word(sum.count);
            for x in [sum.trace, sum.trace_square] {
                word(x as u64);
                word((x >> 64) as u64);
            }
            for &x in sum.entries.iter().chain(&sum.mean) {
                word(x as u64);
            }
        }
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// The state that [`State::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, GeometryError> {
        let damaged = |problem: &str| {
            GeometryError::Checkpoint(format!("the partial sums are damaged: {problem}"))
        };
        let body = bytes
            .strip_prefix(KIND)
            .ok_or_else(|| damaged("not a file of partial sums"))?;
        let (words, rest) = body.as_chunks::<8>();
        let mut words = words.iter().map(|w| u64::from_le_bytes(*w));
        let mut next = || words.next().ok_or_else(|| damaged("it ends early"));
        let (waves, quantum, dim, mean) = (next()?, f64::from_bits(next()?), next()?, next()?);
        let per_side = dim.div_ceil(super::tiles::TILE as u64);
        let entries = (u128::from(per_side) * u128::from(per_side + 1) / 2) * Tile::LEN as u128;
        let length = 4 + GROUPS as u128 * (5 + entries + u128::from(mean)) + 1;
        if !rest.is_empty() || length * 8 != body.len() as u128 {
            return Err(damaged("its length is wrong"));
        }
        let dim = dim as usize;
        let mut sums = Vec::with_capacity(GROUPS);
        for _ in 0..GROUPS {
            let mut sum = Sum {
                dim,
                count: next()?,
                trace: wide(next()?, next()?),
                trace_square: wide(next()?, next()?),
                entries: vec![0; tiles(dim).len() * Tile::LEN],
                mean: vec![0; mean as usize],
            };
            for x in sum.entries.iter_mut().chain(&mut sum.mean) {
                *x = next()? as i64;
            }
            sums.push(sum);
        }
        if next()? != checksum(&bytes[..bytes.len() - 8]) {
            return Err(damaged("the checksum does not match"));
        }
        Ok(Self {
            waves,
            quantum,
            dim,
            sums,
        })
    }
}

fn wide(low: u64, high: u64) -> i128 {
    (i128::from(high as i64) << 64) | i128::from(low)
}

/// FNV-1a over words of eight bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|w| u64::from_le_bytes(*w));
    let rest = rest.iter().map(|&b| u64::from(b));
    words.chain(rest).fold(0xcbf2_9ce4_8422_2325, |h, w| {
        (h ^ w).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
    })
}
