//! N-bit (5): only the significant bits of each number, one after the other.
//!
//! The parameters describe the datatype: their count, whether nothing was packed, the number of
//! elements in a chunk, then a class and a size, and what the class needs (an array its base, a
//! compound its members, each with its offset). Padding bits come back as zeros.

use hyperslab_array::{Error, Result};

use super::bits::{BitReader, unpack};

/// Arrays and compounds within each other; the HDF5 library writes a few at most.
const MAX_DEPTH: usize = 32;

/// Where the bits of one element go.
pub(super) enum Layout {
    /// A number with `precision` bits that begin `offset` bits above the lowest.
    Number { size: usize, big_endian: bool, precision: u32, offset: u32 },
    /// Equal parts one after the other.
    Array { base_size: usize, base: Box<Layout> },
    /// Offset, size and layout of each member.
    Compound(Vec<(usize, usize, Layout)>),
    /// Bytes as they are.
    Bytes,
}

pub(super) fn decode(input: &[u8], parameters: &[u32], max_bytes: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut words = Parameters::new(parameters);
    let (stored, unpacked, elements) = (words.size()?, words.next()? != 0, words.size()?);
    if stored != parameters.len() {
        return Err(Error::corrupt(format!("{} parameters where they say {stored}", parameters.len())));
    }
    if unpacked {
        if input.len() > max_bytes {
            return Err(Error::corrupt("more bytes than the chunk holds"));
        }
        out.extend_from_slice(input);
        return Ok(());
    }
    let (size, layout) = words.layout(0)?;
    let total = elements.checked_mul(size).filter(|total| *total <= max_bytes);
    let total = total.ok_or_else(|| Error::corrupt(format!("{elements} elements of {size} bytes where {max_bytes} belong")))?;
    // Each number has a bit at least, but a compound may be mostly padding.
    out.resize(total, 0);
    if let Some(unpacked) = layout.unpack_all(input, out) {
        return unpacked.ok_or_else(|| Error::corrupt("an incomplete stream"));
    }
    let mut bits = BitReader::new(input);
    for element in out.chunks_exact_mut(size) {
        layout.unpack(&mut bits, element).ok_or_else(|| Error::corrupt("an incomplete stream"))?;
    }
    Ok(())
}

/// The parameters that are still to be read.
pub(super) struct Parameters<'a> {
    words: &'a [u32],
}

impl<'a> Parameters<'a> {
    pub(super) fn new(words: &'a [u32]) -> Self {
        Self { words }
    }

    pub(super) fn next(&mut self) -> Result<u32> {
        let (first, rest) = self.words.split_first().ok_or_else(|| Error::corrupt("too few parameters"))?;
        self.words = rest;
        Ok(*first)
    }

    fn size(&mut self) -> Result<usize> {
        self.next().map(|word| usize::try_from(word).unwrap_or(usize::MAX))
    }

    /// Class, size and the rest of one type: its size and layout. No type is empty.
    pub(super) fn layout(&mut self, depth: usize) -> Result<(usize, Layout)> {
        if depth > MAX_DEPTH {
            return Err(Error::corrupt(format!("types nested deeper than {MAX_DEPTH}")));
        }
        let (class, size) = (self.next()?, self.size()?);
        if size == 0 {
            return Err(Error::corrupt("a type of 0 bytes"));
        }
        let layout = match class {
            1 => self.number(size)?,
            2 => {
                let (base_size, base) = self.layout(depth + 1)?;
                // An array of bytes as they are counts as one, whatever the size of its base.
                match base {
                    Layout::Bytes => Layout::Bytes,
                    base if size.is_multiple_of(base_size) => Layout::Array { base_size, base: Box::new(base) },
                    _ => return Err(Error::corrupt(format!("an array of {size} bytes with elements of {base_size}"))),
                }
            }
            3 => self.compound(size, depth)?,
            4 => Layout::Bytes,
            _ => return Err(Error::corrupt(format!("type class {class} where 1 to 4 belong"))),
        };
        Ok((size, layout))
    }

    fn number(&mut self, size: usize) -> Result<Layout> {
        let (order, precision, offset) = (self.next()?, self.next()?, self.next()?);
        let used = u64::from(precision) + u64::from(offset);
        if order > 1 || precision == 0 || used.div_ceil(8) > u64::try_from(size).unwrap_or(u64::MAX) {
            return Err(Error::corrupt(format!("byte order {order}, {precision} bits at bit {offset} in a number of {size} bytes")));
        }
        Ok(Layout::Number { size, big_endian: order == 1, precision, offset })
    }

    fn compound(&mut self, size: usize, depth: usize) -> Result<Layout> {
        let count = self.size()?;
        let mut members = Vec::new();
        let mut used = 0usize;
        for _ in 0..count {
            let offset = self.size()?;
            let (member_size, layout) = self.layout(depth + 1)?;
            // Members cannot overlap, so they fit together. This bounds the work on an element, too.
            used = used.saturating_add(member_size);
            if used > size || offset.saturating_add(member_size) > size {
                return Err(Error::corrupt(format!("a member of {member_size} bytes at {offset} in a compound of {size}")));
            }
            members.push((offset, member_size, layout));
        }
        Ok(Layout::Compound(members))
    }
}

impl Layout {
    /// Fills all elements if they are numbers of a machine's size; `None` if not.
    fn unpack_all(&self, input: &[u8], out: &mut [u8]) -> Option<Option<()>> {
        let Self::Number { size, big_endian, precision, offset } = *self else { return None };
        let restore = |number| number << offset;
        match size {
            1 => Some(unpack::<1>(input, precision, big_endian, out, restore)),
            2 => Some(unpack::<2>(input, precision, big_endian, out, restore)),
            4 => Some(unpack::<4>(input, precision, big_endian, out, restore)),
            8 => Some(unpack::<8>(input, precision, big_endian, out, restore)),
            _ => None,
        }
    }

    /// Fills `element`, which is zeros, or `None` if the bits run out.
    fn unpack(&self, bits: &mut BitReader<'_>, element: &mut [u8]) -> Option<()> {
        match self {
            Self::Number { size, big_endian, precision, offset } => {
                if *size > 8 {
                    return unpack_wide(bits, element, *big_endian, *precision, *offset);
                }
                let number = bits.take(*precision)? << offset;
                if *big_endian {
                    let bytes = number.to_be_bytes();
                    element.copy_from_slice(bytes.get(8 - size..)?);
                } else {
                    let bytes = number.to_le_bytes();
                    element.copy_from_slice(bytes.get(..*size)?);
                }
            }
            Self::Array { base_size, base } => {
                for part in element.chunks_exact_mut(*base_size) {
                    base.unpack(bits, part)?;
                }
            }
            Self::Compound(members) => {
                for (offset, size, layout) in members {
                    layout.unpack(bits, element.get_mut(*offset..offset + size)?)?;
                }
            }
            Self::Bytes => {
                for byte in element {
                    *byte = bits.take(8)?.to_le_bytes()[0];
                }
            }
        }
        Some(())
    }
}

/// A number that is wider than a machine word, such as a long double: byte by byte from the top.
fn unpack_wide(bits: &mut BitReader<'_>, element: &mut [u8], big_endian: bool, precision: u32, offset: u32) -> Option<()> {
    let (first, end) = (offset, precision + offset);
    for significance in (first / 8..end.div_ceil(8)).rev() {
        let low = first.saturating_sub(significance * 8);
        let high = (end - significance * 8).min(8);
        let byte = bits.take(high - low)? << low;
        let place = usize::try_from(significance).ok()?;
        let place = if big_endian { element.len().checked_sub(place + 1)? } else { place };
        *element.get_mut(place)? = byte.to_le_bytes()[0];
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_go_to_their_place_in_either_byte_order() {
        let mut out = Vec::new();
        // Two 16-bit numbers with 12 bits at bit 2: 0xabc and 0x123.
        assert!(decode(&[0xab, 0xc1, 0x23], &[8, 0, 2, 1, 2, 0, 12, 2], 4, &mut out).is_ok());
        assert_eq!(out, [0xf0, 0x2a, 0x8c, 0x04]);
        out.clear();
        assert!(decode(&[0xab, 0xc1, 0x23], &[8, 0, 2, 1, 2, 1, 12, 2], 4, &mut out).is_ok());
        assert_eq!(out, [0x2a, 0xf0, 0x04, 0x8c]);
    }

    #[test]
    fn wide_numbers_agree_with_narrow_ones() {
        for big_endian in [false, true] {
            for (precision, offset) in [(1, 0), (3, 4), (8, 8), (17, 5), (40, 24), (64, 0)] {
                let input = [0x9d, 0x37, 0xe1, 0x4b, 0x80, 0x7f, 0x55, 0xc3];
                let (mut narrow, mut wide) = ([0; 8], [0; 8]);
                let layout = Layout::Number { size: 8, big_endian, precision, offset };
                assert!(layout.unpack(&mut BitReader::new(&input), &mut narrow).is_some());
                assert!(unpack_wide(&mut BitReader::new(&input), &mut wide, big_endian, precision, offset).is_some());
                assert_eq!(narrow, wide);
            }
        }
    }

    #[test]
    fn lying_parameters_are_corrupt() {
        for parameters in [
            &[][..],
            &[8, 0, 2, 1, 2, 0, 12],
            &[8, 0, 2, 1, 2, 0, 12, 5],
            &[8, 0, u32::MAX, 1, 2, 0, 12, 2],
            &[8, 0, 1, 1, 0, 0, 0, 0],
            &[9, 0, 1, 2, 4, 1, 0, 0, 0],
            &[10, 0, 1, 3, 4, 1, 2, 4, 3, 0],
        ] {
            assert!(decode(&[0; 16], parameters, 64, &mut Vec::new()).is_err(), "{parameters:?}");
        }
        let deep: Vec<u32> = [400, 0, 1].into_iter().chain([2, 4].repeat(196)).chain([4, 4, 0, 0, 0]).collect();
        assert!(decode(&[0; 16], &deep, 64, &mut Vec::new()).is_err());
    }
}
