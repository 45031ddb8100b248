//! Hash: 64 bits that tell whether bytes have changed. No defence against forgery.

/// The hash of `bytes` after what `seed` is the hash of.
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
