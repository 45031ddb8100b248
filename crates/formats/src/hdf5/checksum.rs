//! The metadata checksum: Bob Jenkins' lookup3 with initial value 0 (specification, "Checksum").

use hyperslab_array::{Error, Result};

/// lookup3 ("hashlittle") of `bytes`.
pub(crate) fn lookup3(bytes: &[u8]) -> u32 {
    let length = u32::try_from(bytes.len() & 0xffff_ffff).unwrap_or(u32::MAX);
    let start = 0xdead_beef_u32.wrapping_add(length);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |block: &[u8], at: usize| -> u32 {
        (0..4).rev().fold(0, |n, k| (n << 8) | u32::from(block.get(at + k).copied().unwrap_or(0)))
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, tail) = rest.split_at(12);
        a = a.wrapping_add(word(block, 0));
        b = b.wrapping_add(word(block, 4));
        c = c.wrapping_add(word(block, 8));
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
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 4));
    c = c.wrapping_add(word(rest, 8));
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
    let (stored, computed) = (u32::from_le_bytes(*stored), lookup3(body));
    if stored == computed || cfg!(fuzzing) {
        return Ok(());
    }
    Err(Error::corrupt(format!("the checksum of {what} is {stored:#010x}, its bytes give {computed:#010x}"))
        .at_offset(offset))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lookup3_gives_its_authors_test_value() {
        assert_eq!(super::lookup3(b"Four score and seven years ago"), 0x1777_0551);
        assert_eq!(super::lookup3(b""), 0xdead_beef);
    }
}
