//! The hybrid of run-length and bit-packed integers: definition levels and dictionary indices.

/// Decodes `count` integers of `width` bits (at most 32); `None` if the bytes run out.
pub(crate) fn decode(mut bytes: &[u8], width: u32, count: usize) -> Option<Vec<u32>> {
    if width > 32 {
        return None;
    }
    let mut out = Vec::with_capacity(count);
    while out.len() < count {
        let (head, rest) = varint(bytes)?;
        bytes = rest;
        let left = count - out.len();
        let length = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let (value, rest) = bytes.split_at_checked(width.div_ceil(8) as usize)?;
            bytes = rest;
            let value = value.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b));
            if length == 0 {
                return None;
            }
            out.extend(std::iter::repeat_n(value, length.min(left)));
        } else {
            // Groups of eight values take `width` bytes; the last group may be cut by the page's end.
            let size = length.checked_mul(width as usize)?.min(bytes.len());
            let (packed, rest) = bytes.split_at(size);
            bytes = rest;
            let values = length.checked_mul(8)?.min(left);
            if (values * width as usize).div_ceil(8) > packed.len() || length == 0 {
                return None;
            }
            out.extend((0..values).map(|i| unpack(packed, i * width as usize, width)));
        }
    }
    Some(out)
}

/// `width` bits from bit `at`, lowest first.
fn unpack(bytes: &[u8], at: usize, width: u32) -> u32 {
    let mut window = [0; 8];
    let from = at / 8;
    let n = (bytes.len() - from).min(8);
    window[..n].copy_from_slice(&bytes[from..from + n]);
    let mask = (1_u64 << width) - 1;
    (u64::from_le_bytes(window) >> (at % 8) & mask) as u32
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (i, byte) in bytes.iter().enumerate().take(9) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format description's own example: 0 to 7 in three bits is 88 C6 FA.
    #[test]
    fn bit_packed_example() {
        let bytes = [0b11, 0x88, 0xC6, 0xFA];
        assert_eq!(decode(&bytes, 3, 8), Some((0..8).collect()));
        assert_eq!(decode(&bytes, 3, 5), Some((0..5).collect()));
        assert_eq!(decode(&bytes, 3, 9), None);
    }

    #[test]
    fn runs() {
        // 300 times 0x0102, then 2 times 7, in 9 bits.
        let bytes = [0xD8, 0x04, 0x02, 0x01, 0x04, 0x07, 0x00];
        let mut want = vec![0x102; 300];
        want.extend([7, 7]);
        assert_eq!(decode(&bytes, 9, 302), Some(want));
        assert_eq!(decode(&bytes, 9, 303), None);
        assert_eq!(decode(&[0x08], 0, 4), Some(vec![0; 4]));
    }
}
