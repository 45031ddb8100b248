//! Bitmaps: for each distinct value of a block, the positions that have it.
//!
//! Encoding: the number of entries (32 bits), then for each entry its kind (8 bits: 0 value, 1 NaN, 2 null), the length of
//! the value (32 bits), the value (a key of 8 bytes, or UTF-8 text), the length of the bitmap (32 bits) and the bitmap in
//! Roaring's portable format. All integers are little endian.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::Condition;
use roaring::RoaringBitmap;

use crate::block::block_keys::Key;

/// Maximum number of distinct values of a block. With more, sorted keys are smaller and as fast.
pub(crate) const MAX_DISTINCT_VALUES: usize = 256;

/// A value that has a bitmap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distinct {
    Key(u64),
    Text(String),
    Nan,
    Null,
}

/// Replaces a dictionary array by its texts; returns other arrays unchanged.
pub(crate) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => arrow_cast::cast(array, &DataType::Utf8).map_err(|error| Error::internal(error.to_string())),
        _ => Ok(array.clone()),
    }
}

/// The bitmaps of a block of text; `None` if the array is not text or has too many distinct texts.
pub(crate) fn of_text(array: &ArrayRef) -> Result<Option<Vec<u8>>> {
    let Some(texts) = array.as_string_opt::<i32>() else { return Ok(None) };
    let mut found: BTreeMap<Option<&str>, RoaringBitmap> = BTreeMap::new();
    for (position, text) in texts.iter().enumerate() {
        found.entry(text).or_default().insert(position as u32);
        if found.len() > MAX_DISTINCT_VALUES {
            return Ok(None);
        }
    }
    let entries = found.into_iter().map(|(text, rows)| (text.map_or(Distinct::Null, |text| Distinct::Text(text.to_owned())), rows));
    encode(entries.collect()).map(Some)
}

/// The bitmaps of a block of numbers. Key n is at `positions[n]`, or at n; `nans` and `nulls` are further positions. `None`
/// if the block has too many distinct values.
pub(crate) fn of_keys<K: Key>(keys: &[K], positions: Option<&[u16]>, (nans, nulls): (&[u16], &[u16])) -> Option<Result<Vec<u8>>> {
    let mut found: BTreeMap<K, RoaringBitmap> = BTreeMap::new();
    for (index, key) in keys.iter().enumerate() {
        let position = match positions {
            None => index as u32,
            Some(positions) => match positions.get(index) {
                Some(position) => u32::from(*position),
                None => return Some(Err(Error::internal("a block has fewer positions than keys"))),
            },
        };
        found.entry(*key).or_default().insert(position);
        if found.len() > MAX_DISTINCT_VALUES {
            return None;
        }
    }
    let mut entries: Vec<(Distinct, RoaringBitmap)> = found.into_iter().map(|(key, rows)| (Distinct::Key(key.into()), rows)).collect();
    for (kind, positions) in [(Distinct::Nan, nans), (Distinct::Null, nulls)] {
        if !positions.is_empty() {
            entries.push((kind, positions.iter().map(|position| u32::from(*position)).collect()));
        }
    }
    Some(encode(entries))
}

fn encode(entries: Vec<(Distinct, RoaringBitmap)>) -> Result<Vec<u8>> {
    let long = |length: usize| u32::try_from(length).map(u32::to_le_bytes).map_err(|_| Error::limit_exceeded("a text in a block has more than 4 GiB"));
    let mut bytes = long(entries.len())?.to_vec();
    for (value, mut rows) in entries {
        let (kind, value) = match value {
            Distinct::Key(key) => (0, key.to_le_bytes().to_vec()),
            Distinct::Text(text) => (0, text.into_bytes()),
            Distinct::Nan => (1, Vec::new()),
            Distinct::Null => (2, Vec::new()),
        };
        rows.optimize();
        bytes.push(kind);
        bytes.extend(long(value.len())?);
        bytes.extend(value);
        bytes.extend(long(rows.serialized_size())?);
        rows.serialize_into(&mut bytes).map_err(|error| Error::internal(format!("cannot encode a bitmap: {error}")))?;
    }
    Ok(bytes)
}

/// Decodes stored bitmaps. `is_text` says whether values are texts or keys. `Corrupt` for invalid bytes.
pub(crate) fn decode(mut bytes: &[u8], is_text: bool) -> Result<Vec<(Distinct, RoaringBitmap)>> {
    let bad = || Error::corrupt("the bitmaps of a block of the index are invalid");
    fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
        let (here, rest) = bytes.split_at_checked(count)?;
        *bytes = rest;
        Some(here)
    }
    fn long(bytes: &mut &[u8]) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(*take(bytes, 4)?.first_chunk()?)).ok()
    }
    let count = long(&mut bytes).filter(|count| *count <= MAX_DISTINCT_VALUES + 2).ok_or_else(bad)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = take(&mut bytes, 1).and_then(|kind| kind.first().copied()).ok_or_else(bad)?;
        let length = long(&mut bytes).ok_or_else(bad)?;
        let value = take(&mut bytes, length).ok_or_else(bad)?;
        let distinct = match kind {
            0 if is_text => Distinct::Text(String::from_utf8(value.to_vec()).map_err(|_| bad())?),
            0 => Distinct::Key(u64::from_le_bytes(*value.first_chunk().ok_or_else(bad)?)),
            1 => Distinct::Nan,
            2 => Distinct::Null,
            _ => return Err(bad()),
        };
        let length = long(&mut bytes).ok_or_else(bad)?;
        let rows = take(&mut bytes, length).ok_or_else(bad)?;
        let rows = RoaringBitmap::deserialize_from(rows).map_err(|error| Error::corrupt(format!("a bitmap of the index is invalid: {error}")))?;
        entries.push((distinct, rows));
    }
    Ok(entries)
}

/// Whether each entry's value passes the condition.
pub(crate) fn passing(entries: &[(Distinct, RoaringBitmap)], condition: &Condition) -> Result<Vec<bool>> {
    if let Some(values) = condition.values() {
        return Ok(entries
            .iter()
            .map(|(distinct, _)| match distinct {
                Distinct::Key(key) => values.contains(*key),
                Distinct::Nan => values.has_nan(),
                Distinct::Null => values.has_null(),
                Distinct::Text(_) => false,
            })
            .collect());
    }
    let texts = entries.iter().map(|(distinct, _)| match distinct {
        Distinct::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let texts: ArrayRef = Arc::new(StringArray::from_iter(texts));
    Ok(condition.test_plain(&texts)?.iter().map(|passes| passes == Some(true)).collect())
}
