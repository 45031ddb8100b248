//! Audits: compare a few rows of what an index says with the data. An index that was copied from another file, or forged, is
//! found with the first queries, not after the answers were believed.
//!
//! The time of audits is bounded: the first one of an index in a process is always made if single values can be read, and the
//! first few of a session also if chunks must be decoded; all others take up to 1/50 of the process's time. The process remembers
//! which indexes passed, so that a session which begins later does not pay again.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use hyperslab_array::{Cancellation, Result};
use hyperslab_formats::StorageLayout;
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_reader::File;
use hyperslab_scan::pruner::Level;

use super::audit_words::words_are_right;
use super::audited::{ASK_AGAIN, Audited, FROM_DATA};
use super::indexed_column::{IndexedColumn, Verdict, verdict};
use super::matching_positions::matching_positions;
use super::random::below;
use super::row_collector::MatchingPositions;
use crate::block::bitmaps::{self, Distinct};
use crate::block::block_builder::Builder;
use crate::store::audit_memory::Finding;
use crate::store::block_directory::{BlockDirectory, BlockEntry};
use crate::store::index_reader::{IndexFile, StoredRow};

/// Number of rows that an audit tests.
const ROWS: usize = 4;

impl IndexedColumn {
    /// Whether single values can be read without decoding chunks.
    fn has_plain_values(&self) -> Result<bool> {
        let dataset = self.file.dataset(self.values.dataset)?;
        let is_read_in_place = matches!(dataset.storage, StorageLayout::Contiguous | StorageLayout::Chunked);
        Ok(is_read_in_place && dataset.filters.is_empty() && dataset.written_shape.is_none() && self.values.column.is_as_stored())
    }
}

impl Audited for IndexedColumn {
    fn file(&self) -> &File {
        &self.file
    }
    fn directory(&self) -> &BlockDirectory {
        &self.directory
    }
    fn label(&self) -> Result<String> {
        self.file.path_of(self.values.dataset).map(|path| self.values.label(&path))
    }
}

/// Compares values of a random block with what the index says of them. An error says that the index is refuted; whatever else
/// goes wrong shows when the index or the data are read. Data that cannot be read refute nothing: an index may answer without them.
pub(crate) fn audit_claims(column: &IndexedColumn) -> Result<()> {
    if !column.file.array_file().is_stored() || column.directory.entries().is_empty() {
        return Ok(());
    }
    if column.directory.has(Finding::Refuted) {
        return Err(column.refuted(FROM_DATA));
    }
    let has_ranks = column.key_type.is_some() && matches!(column.directory.level, Level::Positions | Level::Exact);
    let is_costly = !has_ranks || !column.has_plain_values().unwrap_or(false);
    column.audits.spend(column.directory.is_first_audit(), is_costly, || column.judge(block_is_right(column), Finding::Claims, FROM_DATA))
}

/// Whether the index agrees with the data about a random block.
fn block_is_right(column: &IndexedColumn) -> Result<bool> {
    let entries = column.directory.entries();
    let start = usize::try_from(below(entries.len() as u64)).unwrap_or_default();
    let found = entries.iter().cycle().skip(start).take(entries.len()).find_map(|entry| column.directory.row(entry).map(|row| (entry, row)));
    let Some((entry, (index_file, row))) = found else { return Ok(true) };
    match (row.level, column.key_type) {
        (Level::Positions | Level::Exact, Some(key_type)) if row.zone.numbers > 0 => ranks_are_right(column, key_type, entry, index_file, row),
        (Level::Words, _) => words_are_right(column, index_file, row),
        (Level::Bitmaps, key_type) => bitmaps_are_right(column, key_type, index_file, row),
        _ => zone_is_right(column, row),
    }
}

/// Whether the values at the smallest rank, the greatest and some others are those that the index says.
fn ranks_are_right(column: &IndexedColumn, key_type: KeyType, entry: &BlockEntry, index_file: &IndexFile, row: &StoredRow) -> Result<bool> {
    let (data, zone) = (column.data(entry, key_type), &row.zone);
    let last = zone.numbers - 1;
    let mut ranks: Vec<u32> = (0..ROWS).map(|_| below(u64::from(zone.numbers)) as u32).chain([0, last]).collect();
    ranks.sort_unstable();
    column.with_ranks(entry, index_file, row, Level::Exact, |query| {
        let (mut scratch, mut before) = (Vec::new(), zone.min);
        for rank in ranks {
            let position = query.positions(rank..rank + 1, &mut scratch)?.first().map(|position| u16::from_le_bytes(*position));
            let key = position.map(|position| data.number(position)).transpose()?.flatten();
            let mut is_right = key.is_some_and(|key| key >= before && key <= zone.max && (rank > 0 || key == zone.min) && (rank < last || key == zone.max));
            if row.level == Level::Exact {
                query.keys_of(rank..rank + 1, &mut scratch, |keys| is_right &= keys.first().copied() == key)?;
            }
            if !is_right {
                return Ok(false);
            }
            before = key.unwrap_or(before);
        }
        Ok(true)
    })
}

/// Whether the bitmaps have some positions at the values that the data have there.
fn bitmaps_are_right(column: &IndexedColumn, key_type: Option<KeyType>, index_file: &IndexFile, row: &StoredRow) -> Result<bool> {
    let entries = bitmaps::decode(&index_file.bitmaps(row)?, key_type.is_none())?;
    let values = column.values.read(&column.file, &row.region, &column.directory.shape, &Cancellation::new())?;
    let values = bitmaps::plain(&values)?;
    let keys = key_type.map(|key_type| key_type.keys(&values)).transpose()?;
    Ok((0..2 * ROWS).all(|_| {
        let position = below(values.len() as u64) as usize;
        let in_data = match &keys {
            _ if values.is_null(position) => Distinct::Null,
            Some(keys) => keys.get(position).copied().flatten().map_or(Distinct::Nan, Distinct::Key),
            None => values.as_string_opt::<i32>().map_or(Distinct::Null, |texts| Distinct::Text(texts.value(position).to_owned())),
        };
        entries.iter().find(|(_, rows)| rows.contains(position as u32)).is_some_and(|(in_index, _)| *in_index == in_data)
    }))
}

/// Whether the whole block has the counts, the bounds and the hash of its zone.
fn zone_is_right(column: &IndexedColumn, row: &StoredRow) -> Result<bool> {
    let values = column.values.read(&column.file, &row.region, &column.directory.shape, &Cancellation::new())?;
    Ok(Builder::default().build(&values, Level::Zone)?.zone == row.zone)
}

/// Tests some rows of those that the index lets pass, and some that it rules out. The error, a `Conflict`, ends the query: a
/// part of it may have used the index already.
pub(crate) fn audit_decisions(column: &IndexedColumn, touched: &[&BlockEntry], condition: &Condition) -> Result<()> {
    let (Some(key_type), Some(set)) = (column.key_type, condition.values()) else { return Ok(()) };
    if touched.is_empty() || set.has_nan() || set.has_null() || !column.file.array_file().is_stored() {
        return Ok(());
    }
    let is_costly = !column.has_plain_values()?;
    // Costly indexes were already checked by `audit_claims`.
    let is_first = !is_costly && column.directory.is_first_decision();
    let audit = || decisions_are_right(column, key_type, set, touched, condition);
    column.audits.spend(is_first, is_costly, || column.judge(audit(), Finding::Decisions, ASK_AGAIN))
}

fn decisions_are_right(column: &IndexedColumn, key_type: KeyType, set: &ValueSet, touched: &[&BlockEntry], condition: &Condition) -> Result<bool> {
    let is_excluded = |entry: &&&BlockEntry| column.directory.row(entry).is_some_and(|(_, row)| matches!(verdict(row, Some(set)), Verdict::None));
    let any = |wanted: bool| {
        let start = usize::try_from(below(touched.len() as u64)).unwrap_or_default();
        touched.iter().cycle().skip(start).take(touched.len()).find(|entry| is_excluded(entry) != wanted)
    };
    if let Some(entry) = any(true) {
        let MatchingPositions { certain, .. } = matching_positions(column, entry, condition, None, &mut Vec::new())?;
        let data = column.data(entry, key_type);
        for position in (0..ROWS).filter_map(|_| certain.any()) {
            if !data.number(position)?.is_some_and(|key| has(set, key)) {
                return Ok(false);
            }
        }
    }
    if let Some(entry) = any(false) {
        let data = column.data(entry, key_type);
        let elements = entry.region.elements().unwrap_or_default().min(1 << 16);
        for _ in 0..ROWS {
            // A value without a key is null, and not in the set.
            if data.number(below(elements) as u16)?.is_some_and(|key| has(set, key)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether a set has a key.
fn has(set: &ValueSet, key: u64) -> bool {
    let intervals = set.intervals();
    intervals.get(intervals.partition_point(|(_, last)| *last < key)).is_some_and(|(first, _)| *first <= key)
}
