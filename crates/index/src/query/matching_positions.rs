//! Matching positions: which positions of one block pass a condition, certainly or possibly.

use std::ops::Range;

use hyperslab_array::{Error, ErrorKind, Result};
use hyperslab_predicate::{Condition, ValueSet};
use hyperslab_scan::pruner::{CHUNK_WORDS, Level};

use super::indexed_column::{IndexedColumn, Verdict, is_costly, verdict};
use super::matching_words::by_words;
use super::row_collector::{MatchingPositions, Positions};
use crate::block::bitmaps;
use crate::block::block_grid::block_elements;
use crate::block::rank_query::{RankQuery, Ranks};
use crate::store::block_directory::BlockEntry;
use crate::store::index_reader::{IndexFile, StoredRow};

/// Finds the matching positions of a block. If the index lacks the block, is damaged, or a lookup would take longer than
/// reading the values, all positions are possible. If `among` is given, positions that are not among these may be left out.
pub(crate) fn matching_positions(
    column: &IndexedColumn,
    entry: &BlockEntry,
    condition: &Condition,
    among: Option<&[u64; CHUNK_WORDS]>,
    scratch: &mut Vec<u8>,
) -> Result<MatchingPositions> {
    let elements = block_elements(&entry.region)?;
    let Some((index_file, row)) = column.directory.row(entry) else { return Ok(MatchingPositions::unknown(elements)) };
    let set = condition.values();
    match verdict(row, set) {
        Verdict::None => return Ok(MatchingPositions::known(Positions::None)),
        Verdict::All => return Ok(MatchingPositions::known(Positions::All(elements as u32))),
        Verdict::Some => {}
    }
    let found = match (row.level, set) {
        (Level::Zone | Level::Keys | Level::Composite, _) => return Ok(MatchingPositions::unknown(elements)),
        (Level::Bitmaps, None) if column.key_type.is_some() => return Ok(MatchingPositions::unknown(elements)),
        (Level::Bitmaps, _) => by_bitmaps(column, index_file, row, condition),
        (Level::Words, _) => return by_words_or_data(index_file, row, condition, elements, scratch),
        (_, None) => return Ok(MatchingPositions::unknown(elements)),
        (_, Some(set)) if is_costly(row, set) => return Ok(MatchingPositions::unknown(elements)),
        (_, Some(set)) => column.with_ranks(entry, index_file, row, Level::Exact, |query| by_ranks(query, set, among, scratch)),
    };
    match found {
        // The values of a block whose index is damaged are read and tested.
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(MatchingPositions::unknown(elements)),
        found => found.map(MatchingPositions::known),
    }
}

/// By the words of a block, if they say anything; all positions are possible otherwise, and if the block is damaged.
fn by_words_or_data(index_file: &IndexFile, row: &StoredRow, condition: &Condition, elements: u64, scratch: &mut Vec<u8>) -> Result<MatchingPositions> {
    let Some(test) = condition.words().filter(|test| test.is_known()) else { return Ok(MatchingPositions::unknown(elements)) };
    match by_words(index_file, row, test, scratch) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(MatchingPositions::unknown(elements)),
        found => found,
    }
}

fn by_bitmaps(column: &IndexedColumn, index_file: &IndexFile, row: &StoredRow, condition: &Condition) -> Result<Positions> {
    let entries = bitmaps::decode(&index_file.bitmaps(row)?, column.key_type.is_none())?;
    let passing = bitmaps::passing(&entries, condition)?;
    Ok(Positions::of_bitmaps(entries.iter().zip(&passing).filter(|(_, passes)| **passes).map(|((_, rows), _)| rows)))
}

/// The positions of a set's values. Levels `Positions`, which reads values of the data, and `Exact` only.
fn by_ranks(query: &RankQuery<'_>, set: &ValueSet, among: Option<&[u64; CHUNK_WORDS]>, scratch: &mut Vec<u8>) -> Result<Positions> {
    let zone = query.zone;
    let found = query.ranks(set, scratch)?;
    if !found.iter().all(Ranks::is_exact) {
        return Err(Error::internal("the data did not make the ranks of an interval exact"));
    }
    let mut wanted: Vec<Range<u32>> = found.into_iter().map(|ranks| ranks.first.lower..ranks.end.lower).collect();
    let nans = zone.numbers..zone.numbers + zone.nans;
    let nulls = nans.end..zone.elements();
    wanted.extend([(set.has_nan(), nans), (set.has_null(), nulls)].into_iter().filter(|(has, range)| *has && !range.is_empty()).map(|(_, range)| range));
    let count: u32 = wanted.iter().map(|range| range.end - range.start).sum();
    if let Some(among) = among.filter(|_| count <= zone.elements() / 2) {
        return Positions::of_among(count as usize, among, |visit| {
            wanted.iter().try_for_each(|range| query.positions(range.clone(), scratch).map(&mut *visit))
        });
    }
    if count <= zone.elements() / 2 {
        return Positions::of(count as usize, |visit| wanted.iter().try_for_each(|range| query.positions(range.clone(), scratch).map(&mut *visit)));
    }
    // If most values pass, removing the others from all positions takes less time.
    let mut next = 0;
    let mut others = Vec::new();
    for range in &wanted {
        others.push(next..range.start);
        next = range.end;
    }
    others.push(next..zone.elements());
    Positions::all_but(zone.elements(), |visit| others.iter().try_for_each(|range| query.positions(range.clone(), scratch).map(&mut *visit)))
}
