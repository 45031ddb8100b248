//! Hash: a 64-bit hash that detects changed bytes. It is stored in index files and manifests, so its definition must not
//! change without a new format version. It does not protect against forgery.
//!
//! Definition, with all arithmetic modulo 2^64, `rot(x, n)` the rotation of `x` to the left by `n` bits,
//! `F` = 0x9E3779B97F4A7C15, `G` = 0xD6E8FEB86659FD93 and `mix(x, w)` = `rot((x xor w) * F, 29)`:
//!
//! 1. Four lanes start as `seed`, `not seed`, `rot(seed, 32)` and `seed xor F`.
//! 2. The bytes are cut into blocks of 32 bytes and a rest. Each block has four words of 8 bytes, little endian; word i
//!    replaces lane i by `mix(lane i, word i)`.
//! 3. `h` starts as the number of bytes. For each lane in order, `h = mix(h, lane)`.
//! 4. The rest is cut into words of 8 bytes, little endian, the last one padded with zeros. For each, `h = mix(h, word)`.
//! 5. `h = (h xor (h >> 32)) * G`; the hash is `h xor (h >> 32)`.
//!
//! The hash of several byte strings uses the hash of the first as the seed of the second, and so on.

/// The hash of `bytes`; `seed` is 0 or the hash of the bytes before them.
pub(crate) fn hash(seed: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let mut lanes = [seed, !seed, seed.rotate_left(32), seed ^ FACTOR];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane = mix(*lane, u64::from_le_bytes(*word)));
    }
    let mut all = lanes.iter().fold(bytes.len() as u64, |all, lane| mix(all, *lane));
    for part in rest.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
        all = mix(all, u64::from_le_bytes(word));
    }
    all = (all ^ (all >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    all ^ (all >> 32)
}

#[cfg(test)]
mod tests {
    use super::hash;

    /// Stored values: if these change, old indexes are no longer recognized.
    #[test]
    fn the_definition_has_not_changed() {
        assert_eq!(hash(0, b""), 0x89CE_7266_A543_3138);
        assert_eq!(hash(1, b"abc"), 0xB3A3_F562_C10B_7919);
        let bytes: Vec<u8> = (0..77).collect();
        assert_eq!(hash(7, &bytes), 0x0CC1_971D_B13E_46BC);
    }

    #[test]
    fn any_bit_changes_it() {
        let bytes: Vec<u8> = (0..77).collect();
        let whole = hash(1, &bytes);
        assert_ne!(whole, hash(2, &bytes));
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(whole, hash(1, &other), "{bit}");
        }
    }
}
