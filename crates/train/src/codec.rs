//! Checkpoints as bytes: little-endian, exact to the bit, with a checksum at the end.

use polariscope_diff::{Dtype, Real};

use crate::TrainError;

/// Bumped when the layout changes.
const VERSION: u32 = 1;

/// Builds a checkpoint.
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// A checkpoint of a kind, eight letters, and a number type.
    pub fn new<T: Real>(kind: &[u8; 8]) -> Self {
        let mut bytes = kind.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(width::<T>().to_le_bytes());
        Writer { bytes }
    }

    pub fn u64(&mut self, x: u64) {
        self.bytes.extend(x.to_le_bytes());
    }

    pub fn f64(&mut self, x: f64) {
        self.u64(x.to_bits());
    }

    pub fn option(&mut self, x: Option<f64>) {
        self.u64(u64::from(x.is_some()));
        self.f64(x.unwrap_or(0.0));
    }

    /// A tensor: its length and its numbers.
    pub fn tensor<T: Real>(&mut self, values: &[T]) {
        self.u64(values.len() as u64);
        match T::DTYPE {
            Dtype::F32 => {
                self.bytes.extend(
                    values
                        .iter()
                        .flat_map(|x| (x.to_f64() as f32).to_le_bytes()),
                );
            }
            Dtype::F64 => self
                .bytes
                .extend(values.iter().flat_map(|x| x.to_f64().to_le_bytes())),
        }
    }

    /// A count and as many tensors.
    pub fn tensors<T: Real>(&mut self, tensors: &[Vec<T>]) {
        self.u64(tensors.len() as u64);
        tensors.iter().for_each(|t| self.tensor(t));
    }

    pub fn finish(mut self) -> Vec<u8> {
        let sum = checksum(&self.bytes);
        self.u64(sum);
        self.bytes
    }
}

/// Reads a checkpoint. Nothing is allocated beyond what the bytes hold.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

fn damaged(problem: impl Into<String>) -> TrainError {
    TrainError::Checkpoint {
        problem: problem.into(),
    }
}

impl<'a> Reader<'a> {
    /// Checks kind, version, number type and checksum.
    pub fn new<T: Real>(kind: &[u8; 8], bytes: &'a [u8]) -> Result<Self, TrainError> {
        let Some((body, sum)) = bytes.split_last_chunk::<8>() else {
            return Err(damaged("it is too short"));
        };
        if !body.starts_with(kind) {
            return Err(damaged("it is no checkpoint of this kind of run"));
        }
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong (truncated or changed)"));
        }
        let mut reader = Reader {
            rest: &body[kind.len()..],
        };
        let (version, found) = (reader.u32()?, reader.u32()?);
        if version != VERSION {
            return Err(damaged(format!(
                "it has version {version} instead of {VERSION}"
            )));
        }
        if found != width::<T>() {
            let wanted = 8 * width::<T>();
            return Err(damaged(format!(
                "it holds f{} numbers instead of f{wanted}",
                u64::from(found) * 8
            )));
        }
        Ok(reader)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], TrainError> {
        let split = self.rest.split_at_checked(n);
        let (taken, rest) = split.ok_or_else(|| damaged("it ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TrainError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| damaged("it ends too early"))
    }

    fn u32(&mut self) -> Result<u32, TrainError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, TrainError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Result<f64, TrainError> {
        self.u64().map(f64::from_bits)
    }

    pub fn option(&mut self) -> Result<Option<f64>, TrainError> {
        let (some, value) = (self.u64()?, self.f64()?);
        Ok((some != 0).then_some(value))
    }

    pub fn tensor<T: Real>(&mut self) -> Result<Vec<T>, TrainError> {
        let length = usize::try_from(self.u64()?).ok();
        let bytes = length.and_then(|n| n.checked_mul(width::<T>() as usize));
        let bytes = self.take(bytes.ok_or_else(|| damaged("a tensor is too long"))?)?;
        Ok(match T::DTYPE {
            Dtype::F32 => {
                let numbers = bytes.as_chunks::<4>().0.iter();
                numbers
                    .map(|&b| T::from_f64(f64::from(f32::from_le_bytes(b))))
                    .collect()
            }
            Dtype::F64 => {
                let numbers = bytes.as_chunks::<8>().0.iter();
                numbers
                    .map(|&b| T::from_f64(f64::from_le_bytes(b)))
                    .collect()
            }
        })
    }

    pub fn tensors<T: Real>(&mut self) -> Result<Vec<Vec<T>>, TrainError> {
        let count = self.u64()?;
        (0..count).map(|_| self.tensor()).collect()
    }

    pub fn finish(self) -> Result<(), TrainError> {
        match self.rest {
            [] => Ok(()),
            _ => Err(damaged("there is something after its end")),
        }
    }
}

/// Bytes of a number.
fn width<T: Real>() -> u32 {
    match T::DTYPE {
        Dtype::F32 => 4,
        Dtype::F64 => 8,
    }
}

/// FNV-1a over words of eight bytes and the length: catches truncation and flipped bits.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|&w| u64::from_le_bytes(w));
    let mix = |h: u64, w: u64| (h ^ w).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    words
        .chain([bytes.len() as u64])
        .fold(0xcbf2_9ce4_8422_2325, mix)
}
