//! N-bit (5), applied: the parameters that describe a datatype, and the significant bits of each number, one after the other.

use hyperslab_array::{ByteOrder, Datatype, Error, FloatFormat, Result};

use super::bits::BitWriter;
use super::nbit::{Layout, Parameters};

/// The HDF5 library allows no more parameters.
const MAX_PARAMETERS: usize = 4096;

/// The parameters for chunks of `elements` elements. If no number of the datatype has unused bits, they say that nothing
/// is packed.
pub(super) fn parameters(datatype: &Datatype, elements: u64) -> Result<Vec<u32>> {
    let mut parameters = vec![0, 1, word(elements)?];
    // The library describes other types only inside of arrays and compounds.
    let is_described = matches!(datatype, Datatype::Integer { .. } | Datatype::Float { .. } | Datatype::Array { .. } | Datatype::Compound { .. });
    let is_packed = is_described && describe(datatype, &mut parameters)?;
    if parameters.len() > MAX_PARAMETERS {
        return Err(Error::unsupported(format!("nbit of a datatype that takes {} parameters: HDF5 allows {MAX_PARAMETERS}", parameters.len())));
    }
    let count = word(parameters.len() as u64)?;
    if let [stored_count, unpacked, ..] = parameters.as_mut_slice() {
        *stored_count = count;
        *unpacked = u32::from(!is_packed);
    }
    Ok(parameters)
}

fn word(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::unsupported("nbit of 4 GiB"))
}

/// Appends class, size and the rest of one type. Returns whether it has numbers with unused bits.
fn describe(datatype: &Datatype, out: &mut Vec<u32>) -> Result<bool> {
    let size = word(datatype.size())?;
    match datatype {
        Datatype::Integer { order, bit_offset, bit_precision, .. } => Ok(describe_number(size, *order, u32::from(*bit_precision), u32::from(*bit_offset), out)),
        Datatype::Float { order, format: FloatFormat::Custom(layout), .. } => {
            Ok(describe_number(size, *order, u32::from(layout.bit_precision), u32::from(layout.bit_offset), out))
        }
        Datatype::Float { order, .. } => Ok(describe_number(size, *order, size.saturating_mul(8), 0, out)),
        Datatype::Array { base, .. } => {
            out.extend([2, size]);
            describe(base, out)
        }
        Datatype::Compound { members, .. } => {
            out.extend([3, size, word(members.len() as u64)?]);
            let mut is_packed = false;
            for member in members.iter() {
                out.push(word(member.offset)?);
                is_packed |= describe(&member.datatype, out)?;
            }
            Ok(is_packed)
        }
        _ => {
            out.extend([4, size]);
            Ok(false)
        }
    }
}

fn describe_number(size: u32, order: ByteOrder, precision: u32, offset: u32, out: &mut Vec<u32>) -> bool {
    out.extend([1, size, u32::from(order == ByteOrder::Big), precision, offset]);
    offset != 0 || precision != size.saturating_mul(8)
}

pub(super) fn encode(input: &[u8], parameters: &[u32]) -> Result<Vec<u8>> {
    let mut words = Parameters::new(parameters);
    let (_, unpacked, _) = (words.next()?, words.next()? != 0, words.next()?);
    if unpacked {
        return Ok(input.to_vec());
    }
    let (size, layout) = words.layout(0)?;
    if !input.len().is_multiple_of(size) {
        return Err(Error::internal(format!("nbit: {} bytes in elements of {size}", input.len())));
    }
    let mut bits = BitWriter::default();
    for element in input.chunks_exact(size) {
        pack(&layout, element, &mut bits).ok_or_else(|| Error::internal("nbit: parameters of another datatype"))?;
    }
    let (mut bytes, is_full) = bits.finish();
    // The library has a byte more than the bits fill, even if they fill the last one.
    bytes.extend(is_full.then_some(0));
    Ok(bytes)
}

/// Appends the significant bits of `element`. `None` if the layout does not fit it.
fn pack(layout: &Layout, element: &[u8], out: &mut BitWriter) -> Option<()> {
    match layout {
        Layout::Number { big_endian, precision, offset, .. } => {
            // From the highest byte down, the part of each that is within the significant bits.
            let (start, end) = (*offset, offset + precision);
            for significance in (start / 8..end.div_ceil(8)).rev() {
                let low = start.saturating_sub(significance * 8);
                let high = (end - significance * 8).min(8);
                let place = usize::try_from(significance).ok()?;
                let place = if *big_endian { element.len().checked_sub(place + 1)? } else { place };
                out.put(u64::from(element.get(place)? >> low), high - low);
            }
        }
        Layout::Array { base_size, base } => {
            for part in element.chunks_exact(*base_size) {
                pack(base, part, out)?;
            }
        }
        Layout::Compound(members) => {
            for (offset, size, layout) in members {
                pack(layout, element.get(*offset..offset + size)?, out)?;
            }
        }
        Layout::Bytes => element.iter().for_each(|byte| out.put(u64::from(*byte), 8)),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use hyperslab_array::Member;
    use proptest::prelude::*;

    use super::*;
    use crate::filter::nbit::decode;

    fn narrow(size: u64, order: ByteOrder, bit_precision: u16, bit_offset: u16) -> Datatype {
        Datatype::Integer { size, signed: false, order, bit_offset, bit_precision }
    }

    #[test]
    fn bits_are_taken_from_their_place_in_either_byte_order() {
        // The values of the test of the decoder: 0xabc and 0x123 at bit 2 of 16.
        for (order, input) in [(ByteOrder::Little, [0xf0, 0x2a, 0x8c, 0x04]), (ByteOrder::Big, [0x2a, 0xf0, 0x04, 0x8c])] {
            let parameters = parameters(&narrow(2, order, 12, 2), 2).unwrap_or_default();
            assert_eq!(parameters, [8, 0, 2, 1, 2, u32::from(order == ByteOrder::Big), 12, 2]);
            assert_eq!(encode(&input, &parameters).ok(), Some(vec![0xab, 0xc1, 0x23, 0]));
        }
    }

    #[test]
    fn full_numbers_stay_as_they_are() {
        let parameters = parameters(&Datatype::integer(4, true, ByteOrder::Little), 1).unwrap_or_default();
        assert_eq!(parameters, [8, 1, 1, 1, 4, 0, 32, 0]);
        assert_eq!(encode(&[1, 2, 3, 4], &parameters).ok(), Some(vec![1, 2, 3, 4]));
    }

    #[test]
    fn a_datatype_of_too_many_members_is_refused() {
        let members = (0..1000).map(|n| Member { name: n.to_string(), offset: 2 * n, datatype: narrow(2, ByteOrder::Little, 9, 0) });
        let datatype = Datatype::Compound { size: 2000, members: members.collect() };
        assert!(parameters(&datatype, 1).is_err_and(|error| error.to_string().contains("4096")));
    }

    proptest! {
        #[test]
        fn elements_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..300), width in 0u32..4, precision in 1u16..=64, offset in 0u16..64, big: bool) {
            let size = 1u64 << width;
            let all = 8 << width;
            let (precision, order) = (precision.min(all), if big { ByteOrder::Big } else { ByteOrder::Little });
            let number = narrow(size, order, precision, offset.min(all - precision));
            let array = Datatype::Array { base: Box::new(number.clone()), shape: vec![3] };
            let members = [(0, number), (size + 1, Datatype::Opaque { size: 2, tag: String::new() }), (size + 3, array)];
            let members = members.map(|(offset, datatype)| Member { name: offset.to_string(), offset, datatype });
            let datatype = Datatype::Compound { size: 4 * size + 4, members: members.into() };
            let element = usize::try_from(datatype.size()).unwrap_or(1);
            let bytes = bytes.get(..bytes.len() / element * element).unwrap_or_default();
            let parameters = parameters(&datatype, (bytes.len() / element) as u64).unwrap_or_default();
            let encoded = encode(bytes, &parameters).unwrap_or_default();
            let mut out = Vec::new();
            prop_assert!(decode(&encoded, &parameters, bytes.len(), &mut out).is_ok());
            // Padding between the members and bits outside of the precision are lost: what comes back stays the same.
            prop_assert_eq!(encode(&out, &parameters).ok(), Some(encoded));
            let kept: Vec<(u8, u8)> = bytes.iter().zip(&out).map(|(byte, back)| (byte & back, *back)).collect();
            prop_assert!(kept.iter().all(|(both, back)| both == back));
            for (element, back) in bytes.chunks_exact(element).zip(out.chunks_exact(element)) {
                let at = usize::try_from(size).unwrap_or(0);
                prop_assert_eq!(element.get(at + 1..at + 3), back.get(at + 1..at + 3));
                if u64::from(precision) == 8 * size {
                    prop_assert_eq!(element.get(..at), back.get(..at));
                }
            }
        }
    }
}
