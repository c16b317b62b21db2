//! Short names for long inputs.

/// A short name for content: 64-bit FNV-1a over words (bytes, or the bits of numbers), in hexadecimal. It
/// tells inputs of a run apart; it guards against nobody.
pub fn fingerprint(words: impl IntoIterator<Item = u64>) -> String {
    let step = |h: u64, word: u64| (h ^ word).wrapping_mul(0x0100_0000_01b3);
    let hash = words.into_iter().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{hash:016x}")
}

/// [`fingerprint`] of a file's bytes.
pub fn fingerprint_bytes(content: &[u8]) -> String {
    fingerprint(content.iter().map(|&b| u64::from(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_fnv() {
        // Published test vectors of FNV-1a.
        assert_eq!(fingerprint_bytes(b""), "cbf29ce484222325");
        assert_eq!(fingerprint_bytes(b"a"), "af63dc4c8601ec8c");
        assert_eq!(fingerprint_bytes(b"foobar"), "85944171f73967e8");
    }
}
