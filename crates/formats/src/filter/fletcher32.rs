//! Fletcher32 (3): a checksum of the chunk in its last four bytes. Built for fuzzing, every checksum is right.

use hyperslab_array::{Error, Result};

pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (data, stored) = input.split_last_chunk::<4>().ok_or_else(|| Error::corrupt("a chunk too short for its checksum"))?;
    let (stored, computed) = (u32::from_le_bytes(*stored), checksum(data));
    // Releases before 1.6.3 stored the bytes of each half in the machine's order.
    let old = ((computed & 0x00ff_00ff) << 8) | ((computed >> 8) & 0x00ff_00ff);
    if stored != computed && stored != old && !cfg!(fuzzing) {
        return Err(Error::corrupt(format!("the chunk's checksum is {stored:#010x}, its bytes give {computed:#010x}")));
    }
    out.extend_from_slice(data);
    Ok(())
}

/// Adds the checksum.
pub(super) fn encode(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() + 4);
    out.extend_from_slice(input);
    out.extend(checksum(input).to_le_bytes());
    out
}

/// Words that are summed side by side.
const LANES: usize = 8;
/// Rows of words after which a lane's sum of sums could exceed 32 bits.
const ROWS: usize = 360;
const MODULUS: u64 = 65_535;

/// Fletcher's sum over big-endian 16-bit words; an odd byte at the end is the high half of a word.
///
/// `high` is the sum of all values that `low` had, so a word counts as often as there are words from it to
/// the end. Each lane counts its rows, which is `LANES` words each but for the lanes before it.
fn checksum(data: &[u8]) -> u32 {
    let (mut low, mut high) = (0u64, 0u64);
    let (words, tail) = data.as_chunks::<2>();
    let (rows, rest) = words.as_chunks::<LANES>();
    for rows in rows.chunks(ROWS) {
        let (mut sums, mut sums_of_sums) = ([0u32; LANES], [0u32; LANES]);
        for row in rows {
            for ((sum, sum_of_sums), word) in sums.iter_mut().zip(&mut sums_of_sums).zip(row) {
                // In either byte order: the sums are put right below.
                *sum += u32::from(u16::from_le_bytes(*word));
                *sum_of_sums += *sum;
            }
        }
        high += low * u64::try_from(rows.len() * LANES).unwrap_or(u64::MAX);
        high += LANES as u64 * sums_of_sums.iter().map(|sum| u64::from(*sum)).sum::<u64>();
        high -= (0u64..).zip(sums).map(|(lane, sum)| lane * u64::from(sum)).sum::<u64>();
        high %= MODULUS;
        low += sums.iter().map(|sum| u64::from(*sum)).sum::<u64>();
    }
    let last = tail.first().map(|byte| [*byte, 0]);
    for word in rest.iter().copied().chain(last) {
        low += u64::from(u16::from_le_bytes(word));
        high += low;
    }
    // The library's sums only become 0 of words that are all 0.
    let sum = |sum: u64| match u32::try_from(sum * 256 % MODULUS) {
        Ok(0) if low > 0 => 0xffff,
        Ok(swapped) => swapped,
        Err(_) => 0,
    };
    sum(high % MODULUS) << 16 | sum(low % MODULUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the library does it, word by word.
    fn by_word(data: &[u8]) -> u32 {
        let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
        let byte = |word: &[u8], place: usize| word.get(place).copied().map_or(0, u32::from);
        let (mut low, mut high) = (0u32, 0u32);
        for word in data.chunks(2) {
            low = fold(low + (byte(word, 0) << 8 | byte(word, 1)));
            high = fold(high + low);
        }
        fold(high) << 16 | fold(low)
    }

    proptest! {
        #[test]
        fn side_by_side_is_as_word_by_word(data in proptest::collection::vec(any::<u8>(), 0..70)) {
            prop_assert_eq!(checksum(&data), by_word(&data));
        }
    }

    #[test]
    fn sums_stay_right_over_many_words_and_at_their_extremes() {
        let length = if cfg!(miri) { 6_001 } else { 300_001 };
        for fill in [0, 1, 0x7f, 0xff] {
            let data = vec![fill; length];
            assert_eq!(checksum(&data), by_word(&data), "{fill}");
        }
        let data: Vec<u8> = (0..length).map(|n| (n * n / 7).to_le_bytes()[0]).collect();
        assert_eq!(checksum(&data), by_word(&data));
        // Both sums a multiple of 65,535, though not all is 0.
        assert_eq!(checksum(&[0xff, 0xff]), by_word(&[0xff, 0xff]));
        assert_eq!(checksum(&[0, 0, 0, 0]), 0);
    }
}
