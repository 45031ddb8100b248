//! The metadata checksum: Bob Jenkins' lookup3 with initial value 0 (specification, "Checksum").

use hyperslab_array::{Error, Result};

const BLOCK_BYTES: usize = 12;

/// The three little-endian words of a block.
fn words(block: &[u8; BLOCK_BYTES]) -> [u32; 3] {
    let (words, _) = block.as_chunks::<4>();
    std::array::from_fn(|number| words.get(number).copied().map_or(0, u32::from_le_bytes))
}

/// lookup3 ("hashlittle") of `bytes`.
pub(crate) fn lookup3(bytes: &[u8]) -> u32 {
    let length = u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or(u32::MAX);
    let start = 0xdead_beef_u32.wrapping_add(length);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = bytes;
    while rest.len() > BLOCK_BYTES
        && let Some((block, tail)) = rest.split_first_chunk()
    {
        let [first, second, third] = words(block);
        a = a.wrapping_add(first);
        b = b.wrapping_add(second);
        c = c.wrapping_add(third);
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = tail;
    }
    if rest.is_empty() {
        return c;
    }
    let mut last = [0; BLOCK_BYTES];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let [first, second, third] = words(&last);
    a = a.wrapping_add(first);
    b = b.wrapping_add(second);
    c = c.wrapping_add(third);
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// Checks a block whose last four bytes are the checksum of those before. `offset` is its place in
/// the file, `what` its name in the specification. Built for fuzzing, every checksum is right.
pub(crate) fn verify(block: &[u8], offset: u64, what: &str) -> Result<()> {
    let short = || Error::corrupt(format!("{what} is too short for its checksum")).at_offset(offset);
    let (body, stored) = block.split_last_chunk::<4>().ok_or_else(short)?;
    compare(u32::from_le_bytes(*stored), lookup3(body), offset, what)
}

/// Checks a stored checksum against the one computed from the bytes that it covers.
pub(crate) fn compare(stored: u32, computed: u32, offset: u64, what: &str) -> Result<()> {
    if stored == computed || cfg!(fuzzing) {
        return Ok(());
    }
    Err(Error::corrupt(format!("the checksum of {what} is {stored:#010x}, its bytes give {computed:#010x}")).at_offset(offset))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lookup3_gives_its_authors_test_value() {
        assert_eq!(super::lookup3(b"Four score and seven years ago"), 0x1777_0551);
        assert_eq!(super::lookup3(b""), 0xdead_beef);
    }
}
