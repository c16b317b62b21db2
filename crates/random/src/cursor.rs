//! Sequential draws, for choices whose number is not known beforehand.

use crate::fill::{CHUNK, words};
use crate::stream::Stream;

/// Reads a stream's 32-bit words in element order.
#[derive(Clone, Debug)]
pub struct Cursor {
    stream: Stream,
    chunk: u64,
    used: usize,
    words: [u32; CHUNK],
}

impl Cursor {
    pub(crate) fn new(stream: Stream) -> Cursor {
        let mut cursor = Cursor {
            stream,
            chunk: 0,
            used: 0,
            words: [0; CHUNK],
        };
        cursor.load();
        cursor
    }

    fn load(&mut self) {
        self.words = words(&self.stream, self.chunk);
        self.used = 0;
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        if self.used == CHUNK {
            self.chunk = self.chunk.wrapping_add(1);
            self.load();
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    /// 64 random bits, low word first.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }

    /// Uniform on [0, 1), a multiple of 2⁻²⁴.
    pub fn unit(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// Uniform on 0, …, n−1, without bias; 0 if n is 0.
    ///
    /// Multiply and reject (Lemire): the high half of bits·n, refused where its low half falls into the
    /// 2⁶⁴ mod n leading values that would make some results more frequent.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let surplus = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }

    /// All orders equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }

    /// A random order of 0, …, n−1.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }
}
