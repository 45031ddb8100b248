//! The bytes of `H5Tencode`: two bytes, then a datatype message (section IV.A.2.d of the format specification), of a datatype in
//! memory form.

use hyperslab_arrow_container::error::Result;

use super::cursor::Cursor;

/// `H5O_DTYPE_ID` and `H5T_ENCODE_VERSION`.
const HEAD: [u8; 2] = [3, 0];
/// Deepest nesting of datatypes: HDF5 decodes and converts recursively.
const MAX_DEPTH: u32 = 64;
/// Maximum number of bytes of a number: HDF5 converts them in buffers of 64 bytes.
const MAX_NUMBER_BYTES: u64 = 32;
/// Maximum number of dimensions of an array.
const MAX_DIMENSIONS: u8 = 32;
/// Maximum number of bytes of an element, as in Arrow.
const MAX_BYTES: u64 = i32::MAX as u64;

/// Sizes in memory of references (old objects, old regions, others), variable-length text and sequences.
const OBJECT_REFERENCE_BYTES: u64 = 8;
const REGION_REFERENCE_BYTES: u64 = 12;
const REFERENCE_BYTES: u64 = 64;
const TEXT_BYTES: u64 = 8;
const SEQUENCE_BYTES: u64 = 16;

/// What is known of an element after its datatype was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub bytes: u64,
    /// Whether it has addresses: variable-length data, or references that HDF5 keeps in memory.
    pub has_addresses: bool,
    class: u8,
}

/// Checks the bytes of a datatype.
pub(crate) fn check_datatype(bytes: &[u8]) -> Result<Element> {
    let mut cursor = Cursor::new(bytes, "a datatype");
    let head = cursor.take(2)?;
    cursor.require(head == HEAD, "its version is unknown")?;
    let element = element(&mut cursor, MAX_DEPTH)?;
    cursor.end()?;
    Ok(element)
}

fn element(cursor: &mut Cursor<'_>, depth: u32) -> Result<Element> {
    let depth = depth.checked_sub(1).ok_or_else(|| cursor.bad("datatypes are nested too deeply"))?;
    let head = cursor.u8()?;
    let (class, version) = (head & 15, head >> 4);
    let flags = cursor.uint(3)?;
    let bytes = cursor.uint(4)?;
    cursor.require((1..=5).contains(&version), "the version of a datatype is unknown")?;
    cursor.require((1..=MAX_BYTES).contains(&bytes), "a datatype has no bytes, or too many")?;
    let mut has_addresses = false;
    match class {
        // Integer, bitfield.
        0 | 4 => bits(cursor, bytes)?,
        1 => float(cursor, flags, bytes)?,
        // Time.
        2 => {
            let precision = cursor.uint(2)?;
            cursor.require(bytes <= MAX_NUMBER_BYTES && precision <= 8 * bytes, "a time has too many bits")?;
        }
        3 => text_flags(cursor, flags)?,
        // Opaque: a tag.
        5 => drop(cursor.take((flags & 0xff) as usize)?),
        6 => has_addresses = compound(cursor, version, flags & 0xffff, bytes, depth)?,
        7 => {
            let wanted = match flags & 15 {
                0 => OBJECT_REFERENCE_BYTES,
                1 => REGION_REFERENCE_BYTES,
                2..=4 => REFERENCE_BYTES,
                _ => return Err(cursor.bad("a kind of reference is unknown")),
            };
            cursor.require(bytes == wanted, "a reference has another size than in memory")?;
            has_addresses = bytes == REFERENCE_BYTES;
        }
        8 => enumeration(cursor, version, flags & 0xffff, bytes, depth)?,
        9 => {
            let base = element(cursor, depth)?;
            let is_text = flags & 15 == 1;
            cursor.require(flags & 15 <= 1, "a kind of variable-length data is unknown")?;
            cursor.require(bytes == if is_text { TEXT_BYTES } else { SEQUENCE_BYTES }, "variable-length data have another size than in memory")?;
            if is_text {
                text_flags(cursor, flags >> 4)?;
                cursor.require(base.bytes == 1 && matches!(base.class, 0 | 3), "text of something other than bytes")?;
            }
            has_addresses = true;
        }
        10 => has_addresses = array(cursor, version, bytes, depth)?,
        // Complex number.
        11 => {
            let part = element(cursor, depth)?;
            cursor.require(part.class == 1 && 2 * part.bytes == bytes, "a complex number that is not two numbers")?;
        }
        _ => return Err(cursor.bad("a class of datatypes is unknown")),
    }
    Ok(Element { bytes, has_addresses, class })
}

/// Offset and precision of a number.
fn bits(cursor: &mut Cursor<'_>, bytes: u64) -> Result<()> {
    let (offset, precision) = (cursor.uint(2)?, cursor.uint(2)?);
    cursor.require(bytes <= MAX_NUMBER_BYTES, "a number has too many bytes")?;
    cursor.require(precision > 0 && offset + precision <= 8 * bytes, "the bits of a number lie outside of it")
}

fn float(cursor: &mut Cursor<'_>, flags: u64, bytes: u64) -> Result<()> {
    bits(cursor, bytes)?;
    let [exponent, exponent_bits, mantissa, mantissa_bits] = [cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?].map(u64::from);
    cursor.take(4)?;
    let sign = flags >> 8 & 0xff;
    let is_vax = flags & 0x41 == 0x41;
    cursor.require(flags & 0x41 != 0x40 && !(is_vax && bytes % 2 == 1), "a byte order is unknown")?;
    cursor.require(flags >> 4 & 3 < 3, "a normalization of mantissas is unknown")?;
    let is_inside =
        exponent_bits > 0 && mantissa_bits > 0 && sign < 8 * bytes && exponent + exponent_bits <= 8 * bytes && mantissa + mantissa_bits <= 8 * bytes;
    cursor.require(is_inside && exponent_bits < 64, "the parts of a floating-point number lie outside of it")
}

/// Padding and character set of text.
fn text_flags(cursor: &Cursor<'_>, flags: u64) -> Result<()> {
    cursor.require(flags & 15 <= 2 && flags >> 4 & 15 <= 1, "the padding or the character set of text is unknown")
}

/// A name, padded to 8 bytes before version 3.
fn name(cursor: &mut Cursor<'_>, version: u8) -> Result<()> {
    let length = cursor.text()?.len() + 1;
    if version < 3 {
        cursor.take(length.next_multiple_of(8) - length)?;
    }
    Ok(())
}

/// Returns whether a member has addresses.
fn compound(cursor: &mut Cursor<'_>, version: u8, count: u64, bytes: u64, depth: u32) -> Result<bool> {
    cursor.require(count > 0, "a compound has no members")?;
    let offset_bytes = if version < 3 { 4 } else { (64 - bytes.leading_zeros() as usize).div_ceil(8) };
    let (mut has_addresses, mut spans) = (false, Vec::new());
    for _ in 0..count {
        name(cursor, version)?;
        let offset = cursor.uint(offset_bytes)?;
        if version == 1 {
            // An array in the older encoding, which current HDF5 does not write: all is 0.
            cursor.require(cursor.clone().take(28)?.iter().all(|byte| *byte == 0), "a member has dimensions of its own")?;
            cursor.take(28)?;
        }
        let member = element(cursor, depth)?;
        cursor.require(offset + member.bytes <= bytes, "a member lies outside of its compound")?;
        spans.push((offset, offset + member.bytes));
        has_addresses |= member.has_addresses;
    }
    spans.sort_unstable();
    cursor.require(spans.windows(2).all(|pair| matches!(pair, [(_, end), (next, _)] if end <= next)), "members of a compound overlap")?;
    Ok(has_addresses)
}

fn enumeration(cursor: &mut Cursor<'_>, version: u8, count: u64, bytes: u64, depth: u32) -> Result<()> {
    let base = element(cursor, depth)?;
    cursor.require(base.class == 0 && base.bytes == bytes, "an enumeration that is not of integers of its size")?;
    for _ in 0..count {
        name(cursor, version)?;
    }
    cursor.take((count * bytes) as usize).map(drop)
}

/// Returns whether an element of the array has addresses.
fn array(cursor: &mut Cursor<'_>, version: u8, bytes: u64, depth: u32) -> Result<bool> {
    cursor.require(version > 1, "an array of a version before arrays")?;
    let ndim = cursor.u8()?;
    cursor.require((1..=MAX_DIMENSIONS).contains(&ndim), "an array has no dimensions, or too many")?;
    if version < 3 {
        cursor.take(3)?;
    }
    let extents = (0..ndim).map(|_| cursor.uint(4)).collect::<Result<Vec<_>>>()?;
    if version < 3 {
        cursor.take(4 * usize::from(ndim))?;
    }
    let base = element(cursor, depth)?;
    let size = extents.iter().try_fold(base.bytes, |size, extent| size.checked_mul(*extent));
    cursor.require(size == Some(bytes), "an array has another size than its elements")?;
    Ok(base.has_addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    const I32: &[u8] = b"\x10\x08\0\0\x04\0\0\0\0\0\x20\0";
    const F64: &[u8] = b"\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0";

    fn encoded(parts: &[&[u8]]) -> Vec<u8> {
        [&HEAD[..]].iter().chain(parts).flat_map(|part| part.iter().copied()).collect()
    }

    fn samples() -> Vec<(Vec<u8>, u64, bool)> {
        let member = |name: &[u8; 8], offset: u8| [&name[..], &[offset, 0, 0, 0]].concat();
        let old_member = |name: &[u8; 8], offset: u8| [&member(name, offset)[..], &[0; 28]].concat();
        vec![
            (encoded(&[I32]), 4, false),
            (encoded(&[F64]), 8, false),
            (encoded(&[b"\x13\0\0\0\x07\0\0\0"]), 7, false),
            (encoded(&[b"\x15\x08\0\0\x05\0\0\0hey\0\0\0\0\0"]), 5, false),
            (encoded(&[b"\x17\0\0\0\x08\0\0\0"]), 8, false),
            (encoded(&[b"\x47\x12\0\0\x40\0\0\0"]), 64, true),
            (encoded(&[b"\x19\x01\x01\0\x08\0\0\0", b"\x10\0\0\0\x01\0\0\0\0\0\x08\0"]), 8, true),
            (encoded(&[b"\x19\0\0\0\x10\0\0\0", I32]), 16, true),
            (encoded(&[b"\x18\x02\0\0\x04\0\0\0", I32, b"A\0\0\0\0\0\0\0B\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0"]), 4, false),
            (encoded(&[b"\x3a\0\0\0\x18\0\0\0\x02\x02\0\0\0\x03\0\0\0", I32]), 24, false),
            (encoded(&[b"\x16\x02\0\0\x0c\0\0\0", &old_member(b"a\0\0\0\0\0\0\0", 0), I32, &old_member(b"bcd\0\0\0\0\0", 4), F64]), 12, false),
            (encoded(&[b"\x26\x02\0\0\x14\0\0\0", &member(b"a\0\0\0\0\0\0\0", 0), I32, &member(b"bcd\0\0\0\0\0", 4), b"\x29\0\0\0\x10\0\0\0", I32]), 20, true),
            (encoded(&[b"\x36\x02\0\0\x0c\0\0\0a\0\0", I32, b"b\0\x04", F64]), 12, false),
            (encoded(&[b"\x5b\0\0\0\x10\0\0\0", F64]), 16, false),
        ]
    }

    #[test]
    fn datatypes_of_all_classes_pass() -> Result<()> {
        for (bytes, size, has_addresses) in samples() {
            let element = check_datatype(&bytes)?;
            assert_eq!((element.bytes, element.has_addresses), (size, has_addresses), "{bytes:02x?}");
        }
        Ok(())
    }

    #[test]
    fn each_shorter_or_longer_one_is_refused() {
        for (bytes, ..) in samples() {
            for length in 0..bytes.len() {
                assert!(check_datatype(&bytes[..length]).is_err(), "{length} of {bytes:02x?}");
            }
            assert!(check_datatype(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn sizes_that_conversions_would_trust_are_refused() {
        for (what, bytes) in [
            ("a sequence of 4 bytes", encoded(&[b"\x19\0\0\0\x04\0\0\0", I32])),
            ("text of numbers", encoded(&[b"\x19\x01\0\0\x08\0\0\0", I32])),
            ("a reference of 8 bytes", encoded(&[b"\x47\x12\0\0\x08\0\0\0"])),
            ("a number of 256 bytes", encoded(&[b"\x10\x08\0\0\0\x01\0\0\0\0\x20\0"])),
            ("an enumeration of 2 bytes", encoded(&[b"\x18\0\0\0\x02\0\0\0", I32])),
            ("an array of 25 bytes", encoded(&[b"\x3a\0\0\0\x19\0\0\0\x02\x02\0\0\0\x03\0\0\0", I32])),
            ("a mantissa beyond the number", encoded(&[b"\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\x20\x34\xff\x03\0\0"])),
            ("2 GiB", encoded(&[b"\x13\0\0\0\0\0\0\x80"])),
        ] {
            assert!(check_datatype(&bytes).is_err(), "{what}");
        }
        let mut nested = Vec::new();
        (0..100).for_each(|_| nested.extend(b"\x19\0\0\0\x10\0\0\0"));
        assert!(check_datatype(&encoded(&[&nested, I32])).is_err());
    }
}
