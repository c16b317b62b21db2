//! Named streams of random numbers.

use crate::cursor::Cursor;
use crate::fill::Map;
use crate::philox::philox;
use crate::simd::{Path, fill_fastest, fill_on};

/// A function from element numbers to random numbers, named by (seed, index, name).
///
/// Uniform and normal fills read the same bits: give each tensor a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    pub(crate) key: [u32; 2],
    pub(crate) id: [u32; 2],
}

impl Stream {
    /// The stream of (seed, index, name): in a network, of network `index`'s tensor `name`.
    pub fn new(seed: u64, index: u64, name: &str) -> Stream {
        let [n0, n1] = Stream::name(name);
        let counter = [low(index), high(index), n0, n1];
        let [k0, k1, i0, i1] = philox(counter, [low(seed), high(seed)]);
        Stream {
            key: [k0, k1],
            id: [i0, i1],
        }
    }

    /// Elements 0, 1, … uniform on [−bound, bound): odd multiples of 2⁻²⁴·bound, symmetric about 0.
    pub fn uniform(&self, bound: f32, out: &mut [f32]) {
        self.uniform_from(0, bound, out);
    }

    /// Elements first, first + 1, … of what [`Stream::uniform`] draws.
    pub fn uniform_from(&self, first: u64, bound: f32, out: &mut [f32]) {
        fill_fastest(self, Map::Uniform { bound }, first, out);
    }

    /// Elements 0, 1, … normal with mean 0, by Box and Muller from 32-bit uniforms: the law is followed
    /// to |z| ≤ √(66 ln 2) = 6.76 standard deviations (mass beyond: 1.4·10⁻¹¹), where it ends.
    pub fn normal(&self, std: f32, out: &mut [f32]) {
        self.normal_from(0, std, out);
    }

    /// Elements first, first + 1, … of what [`Stream::normal`] draws.
    pub fn normal_from(&self, first: u64, std: f32, out: &mut [f32]) {
        fill_fastest(self, Map::Normal { std }, first, out);
    }

    /// [`Stream::uniform`] on a chosen instruction set (one the processor lacks: portable).
    pub fn uniform_on(&self, path: Path, bound: f32, out: &mut [f32]) {
        fill_on(path, self, Map::Uniform { bound }, 0, out);
    }

    /// [`Stream::normal`] on a chosen instruction set (one the processor lacks: portable).
    pub fn normal_on(&self, path: Path, std: f32, out: &mut [f32]) {
        fill_on(path, self, Map::Normal { std }, 0, out);
    }

    /// What a name is to a generator of the same numbers elsewhere: with the words c0, c1 of the index and k0, k1 of the
    /// seed, the stream's key and identity are `philox([c0, c1, name[0], name[1]], [k0, k1])`.
    pub fn name(name: &str) -> [u32; 2] {
        let hash = hash(name);
        [low(hash), high(hash)]
    }

    /// A reader that consumes the stream's bits one after the other.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(*self)
    }
}

fn low(x: u64) -> u32 {
    x as u32
}

fn high(x: u64) -> u32 {
    (x >> 32) as u32
}

/// 64-bit FNV-1a, then the finaliser of MurmurHash3 to spread short names over all bits.
fn hash(name: &str) -> u64 {
    let mut h = name.bytes().fold(0xcbf2_9ce4_8422_2325, |h: u64, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}
