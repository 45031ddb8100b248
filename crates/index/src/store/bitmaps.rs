//! Bitmaps: for each distinct value of a block, the positions that have it.
//!
//! Stored as: number of entries (32 bits); each entry a kind (0 value, 1 NaN, 2 null), the length of the
//! value and the value (a key of 8 bytes, or text), the length of the bitmap and the bitmap (Roaring's
//! portable format). All numbers are little endian, lengths have 32 bits.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::Condition;
use roaring::RoaringBitmap;

use crate::build::block_keys::Key;

/// Distinct values of a block, at most: beyond, sorted keys are smaller and as fast.
pub(crate) const MOST_DISTINCT: usize = 256;

/// A value that has a bitmap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distinct {
    Key(u64),
    Text(String),
    Nan,
    Null,
}

/// Dictionaries as the texts that they stand for; others as they are.
pub(crate) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(..) => arrow_cast::cast(array, &DataType::Utf8).map_err(|error| Error::internal(error.to_string())),
        _ => Ok(array.clone()),
    }
}

/// The bitmaps of a block of text; `None` where there are too many distinct texts, or no text.
pub(crate) fn of_text(array: &ArrayRef) -> Result<Option<Vec<u8>>> {
    let Some(texts) = array.as_string_opt::<i32>() else { return Ok(None) };
    let mut found: BTreeMap<Option<&str>, RoaringBitmap> = BTreeMap::new();
    for (position, text) in texts.iter().enumerate() {
        found.entry(text).or_default().insert(position as u32);
        if found.len() > MOST_DISTINCT {
            return Ok(None);
        }
    }
    let entries = found.into_iter().map(|(text, rows)| (text.map_or(Distinct::Null, |text| Distinct::Text(text.to_owned())), rows));
    encode(entries.collect()).map(Some)
}

/// The bitmaps of a block of numbers, with the places of NaN and null; `None` for too many distinct ones.
pub(crate) fn of_keys<K: Key>(keys: &[K], places: Option<&[u16]>, (nans, nulls): (&[u16], &[u16])) -> Option<Result<Vec<u8>>> {
    let mut found: BTreeMap<K, RoaringBitmap> = BTreeMap::new();
    for (place, key) in keys.iter().enumerate() {
        let position = places.and_then(|places| places.get(place)).map_or(place as u32, |position| u32::from(*position));
        found.entry(*key).or_default().insert(position);
        if found.len() > MOST_DISTINCT {
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
    let long = |length: usize| u32::try_from(length).map(u32::to_le_bytes).map_err(|_| Error::limit_exceeded("a text of a block beyond 4 GiB"));
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
        rows.serialize_into(&mut bytes).map_err(|error| Error::internal(format!("a bitmap: {error}")))?;
    }
    Ok(bytes)
}

/// The entries of stored bitmaps; `text` says what values are. `Corrupt` for other bytes.
pub(crate) fn decode(mut bytes: &[u8], text: bool) -> Result<Vec<(Distinct, RoaringBitmap)>> {
    let bad = || Error::corrupt("bitmaps of the index are cut short");
    fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
        let (here, rest) = bytes.split_at_checked(count)?;
        *bytes = rest;
        Some(here)
    }
    fn long(bytes: &mut &[u8]) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(*take(bytes, 4)?.first_chunk()?)).ok()
    }
    let count = long(&mut bytes).filter(|count| *count <= MOST_DISTINCT + 2).ok_or_else(bad)?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = take(&mut bytes, 1).and_then(|kind| kind.first().copied()).ok_or_else(bad)?;
        let length = long(&mut bytes).ok_or_else(bad)?;
        let value = take(&mut bytes, length).ok_or_else(bad)?;
        let distinct = match kind {
            0 if text => Distinct::Text(String::from_utf8(value.to_vec()).map_err(|_| bad())?),
            0 => Distinct::Key(u64::from_le_bytes(*value.first_chunk().ok_or_else(bad)?)),
            1 => Distinct::Nan,
            2 => Distinct::Null,
            _ => return Err(bad()),
        };
        let length = long(&mut bytes).ok_or_else(bad)?;
        let rows = take(&mut bytes, length).ok_or_else(bad)?;
        let rows = RoaringBitmap::deserialize_from(rows).map_err(|error| Error::corrupt(format!("a bitmap of the index: {error}")))?;
        entries.push((distinct, rows));
    }
    Ok(entries)
}

/// Which of the entries pass.
pub(crate) fn passing(entries: &[(Distinct, RoaringBitmap)], condition: &Condition) -> Result<Vec<bool>> {
    if let Some(values) = condition.values() {
        return Ok(entries.iter().map(|(distinct, _)| match distinct {
            Distinct::Key(key) => values.contains(*key),
            Distinct::Nan => values.has_nan(),
            Distinct::Null => values.has_null(),
            Distinct::Text(_) => false,
        }).collect());
    }
    let texts = entries.iter().map(|(distinct, _)| match distinct {
        Distinct::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let texts: ArrayRef = Arc::new(StringArray::from_iter(texts));
    Ok(condition.test_plain(&texts)?.iter().map(|passes| passes == Some(true)).collect())
}
