//! A block of LZ4 ("LZ4 Block Format Description"), by the C library in its bounds-checked form.

use hyperslab_array::{Error, Result};

/// Decodes into the beginning of `out`; how many bytes it has become. More than there is room for is `Corrupt`.
pub(super) fn decode(input: &[u8], out: &mut [u8]) -> Result<usize> {
    let damaged = |_| Error::corrupt("a compressed block is damaged");
    // The library counts in `int`.
    let room = i32::try_from(out.len()).unwrap_or(i32::MAX);
    lz4::block::decompress_to_buffer(input, Some(room), out).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that repeat now and then, as shuffled numbers do.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(0u8..4, 0..2000),
            proptest::collection::vec(any::<u8>(), 0..300),
            (proptest::collection::vec(any::<u8>(), 1..40), 1usize..60).prop_map(|(part, times)| part.repeat(times)),
        ]
    }

    proptest! {
        #[test]
        fn blocks_of_another_encoder_come_back(bytes in bytes(), room in 0usize..100) {
            let block = lz4_flex::block::compress(&bytes);
            let mut out = vec![0xA5; bytes.len() + room];
            prop_assert_eq!(decode(&block, &mut out).ok(), Some(bytes.len()));
            prop_assert_eq!(out.get(..bytes.len()), Some(bytes.as_slice()));
        }

        #[test]
        fn a_damaged_block_is_an_error_or_what_another_decoder_makes_of_it(
            bytes in bytes(), at in any::<prop::sample::Index>(), value in any::<u8>(), cut in any::<prop::sample::Index>()
        ) {
            let mut block = lz4_flex::block::compress(&bytes);
            let place = at.index(block.len());
            if let Some(byte) = block.get_mut(place) {
                *byte = value;
            }
            block.truncate(cut.index(block.len()) + 1);
            let (mut ours, mut theirs) = (vec![0; bytes.len()], vec![0; bytes.len()]);
            if let (Ok(made), Ok(other)) = (decode(&block, &mut ours), lz4_flex::block::decompress_into(&block, &mut theirs)) {
                prop_assert_eq!(ours.get(..made), theirs.get(..other));
            }
        }
    }
}
