//! Structures of HDF5 that other formats contain: datatypes, selections and references, as the HDF5 library encodes them.

use hyperslab_array::{Dataspace, Datatype, Error, ReferenceTarget, Result, StoredReference, StoredSelection};

use super::message::{dataspace, datatype, selection};
use super::{Cursor, Encoder, reference};
use crate::Limits;
use crate::budget::Budget;

/// Parsing may keep this many bytes for each byte that is parsed, and some more.
const KEPT_PER_BYTE: u64 = 64;
const KEPT_BYTES: u64 = 1 << 16;
/// Size of addresses and lengths.
const OFFSET_SIZE: u8 = 8;
/// What `H5Sencode2` begins with: the kind of message, two versions and sizes, the length of the extent.
const ENCODED_SPACE: [u8; 3] = [1, 0, 8];

fn parse<T>(bytes: &[u8], work: impl FnOnce(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
    let budget = Budget::of((bytes.len() as u64).saturating_mul(KEPT_PER_BYTE).saturating_add(KEPT_BYTES));
    work(&mut Cursor::new(bytes, 0, OFFSET_SIZE, OFFSET_SIZE, &budget))
}

/// The datatype in a datatype message.
///
/// # Errors
/// `Corrupt`, `Unsupported` or `LimitExceeded` if it cannot be parsed.
pub fn parse_datatype(message: &[u8], limits: &Limits) -> Result<Datatype> {
    parse(message, |cursor| datatype::parse(cursor, limits.depth))
}

/// The selection in a dataspace that `H5Sencode2` encoded.
///
/// # Errors
/// `Corrupt` if it cannot be parsed.
pub fn parse_encoded_selection(encoded: &[u8]) -> Result<StoredSelection> {
    parse(encoded, |cursor| {
        if cursor.take(ENCODED_SPACE.len())? != ENCODED_SPACE {
            return Err(Error::corrupt("an encoded dataspace of an unknown version"));
        }
        let extent = cursor.u32()?;
        cursor.skip(extent as usize)?;
        selection::parse(cursor)
    })
}

/// The part of a reference of HDF5 1.12 (`H5T_STD_REF`) that follows its type and flags.
///
/// # Errors
/// `Corrupt` or `Unsupported` if it cannot be parsed.
pub fn parse_typed_reference(bytes: &[u8], target: ReferenceTarget, is_external: bool) -> Result<StoredReference> {
    parse(bytes, |cursor| reference::typed(cursor, target, is_external))
}

/// The datatype message of a datatype.
///
/// # Errors
/// `Unsupported` or `InvalidInput` for a datatype that has none.
pub fn encode_datatype(datatype: &Datatype) -> Result<Vec<u8>> {
    datatype::encode(datatype)
}

/// A dataspace with a selection as `H5Sencode2` encodes it.
///
/// # Errors
/// `Unsupported` for selections that cannot be encoded.
pub fn encode_selection(space: &Dataspace, selected: &StoredSelection) -> Result<Vec<u8>> {
    let extent = dataspace::encode(space)?;
    let mut encoder = Encoder::default();
    encoder.bytes(&ENCODED_SPACE);
    encoder.u32(u32::try_from(extent.len()).map_err(|_| Error::internal("a dataspace message of 4 GiB"))?);
    encoder.bytes(&extent);
    selection::encode(selected, &mut encoder)?;
    Ok(encoder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::HyperslabAxis;

    #[test]
    fn selections_are_parsed_as_they_were_encoded() -> Result<()> {
        let space = Dataspace::fixed(vec![10, 20]);
        for selected in [
            StoredSelection::All,
            StoredSelection::None,
            StoredSelection::Hyperslab(vec![HyperslabAxis { start: 1, stride: 3, count: Some(2), block: Some(2), limit: None }, HyperslabAxis::all(20)]),
            StoredSelection::Points(vec![vec![1, 2], vec![9, 19], vec![0, 0]]),
            StoredSelection::Blocks(vec![(vec![0, 1], vec![3, 4]), (vec![5, 6], vec![9, 19])]),
        ] {
            assert_eq!(parse_encoded_selection(&encode_selection(&space, &selected)?)?, selected);
        }
        Ok(())
    }
}
