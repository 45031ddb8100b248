//! Fletcher32 (3): a checksum of the chunk in its last four bytes. Built for fuzzing, every checksum is right.

use hyperslab_array::{Error, Result};

pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (data, stored) =
        input.split_last_chunk::<4>().ok_or_else(|| Error::corrupt("a chunk too short for its checksum"))?;
    let (stored, computed) = (u32::from_le_bytes(*stored), checksum(data));
    // Releases before 1.6.3 stored the bytes of each half in the machine's order.
    let old = ((computed & 0x00ff_00ff) << 8) | ((computed >> 8) & 0x00ff_00ff);
    if stored != computed && stored != old && !cfg!(fuzzing) {
        return Err(Error::corrupt(format!("the chunk's checksum is {stored:#010x}, its bytes give {computed:#010x}")));
    }
    out.extend_from_slice(data);
    Ok(())
}

/// Fletcher's sum over big-endian 16-bit words; an odd byte at the end is the high half of a word.
fn checksum(data: &[u8]) -> u32 {
    let (mut low, mut high) = (0u32, 0u32);
    let (words, tail) = data.as_chunks::<2>();
    // 360 words are as many as the sums hold without a carry being lost.
    for block in words.chunks(360) {
        for word in block {
            low += u32::from(u16::from_be_bytes(*word));
            high += low;
        }
        low = fold(low);
        high = fold(high);
    }
    if let [byte] = tail {
        low += u32::from(*byte) << 8;
        high += low;
        low = fold(low);
        high = fold(high);
    }
    (fold(high) << 16) | fold(low)
}

fn fold(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}
