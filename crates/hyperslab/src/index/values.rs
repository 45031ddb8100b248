//! Values: what an index of level `Exact` gives back of the data.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use hyperslab_array::{Error, ErrorKind, Result, Selection};
use rayon::prelude::*;

use super::block::Zone;
use super::ranked::Ranked;
use super::column::IndexedColumn;
use super::packed::GROUP;
use super::rows::each_run;
use super::segment::PAGE_BYTES;
use super::table::Entry;
use crate::Cancellation;
use crate::scan::pruner::{Level, RowSet};

/// Rows of a block whose ranks are looked for one by one.
const FEW: usize = 1024;
/// Ranks that are looked at in one go: a page of them.
const RANKS_AT_ONCE: u32 = (PAGE_BYTES / 2) as u32;

/// A row's number, whether it is not null, and its key, where it is no NaN.
type Found = (u64, bool, Option<u64>);

/// The values of rows in order; `None` where a block has none.
pub(super) fn values(column: &IndexedColumn, selection: &Selection, rows: &RowSet, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
    let Some(key_type) = column.key_type else { return Ok(None) };
    let entries = column.table.touched(selection)?;
    let found: Result<Vec<Option<Vec<Found>>>> = column.file.session().compute(|| {
        Ok(entries.par_iter().map(|entry| {
            cancellation.check()?;
            of_block(column, entry, selection, rows)
        }).collect())
    })?;
    let mut all: Vec<Found> = Vec::new();
    for part in found? {
        let Some(part) = part else { return Ok(None) };
        all.extend(part);
    }
    if all.len() as u64 != rows.len() {
        return Err(Error::invalid_input("rows beyond the selection"));
    }
    if !all.is_sorted_by_key(|(row, _, _)| *row) {
        all.sort_unstable_by_key(|(row, _, _)| *row);
    }
    let keys: Vec<Option<u64>> = all.iter().map(|(_, _, key)| *key).collect();
    let array = key_type.array(&keys, column.column.field().data_type())?;
    if all.iter().all(|(_, valid, _)| *valid) {
        return Ok(Some(array));
    }
    let valid: BooleanBuffer = all.iter().map(|(_, valid, _)| *valid).collect();
    let data = array.to_data().into_builder().nulls(Some(NullBuffer::new(valid))).build();
    Ok(Some(make_array(data.map_err(|error| Error::internal(error.to_string()))?)))
}

fn of_block(column: &IndexedColumn, entry: &Entry, selection: &Selection, rows: &RowSet) -> Result<Option<Vec<Found>>> {
    let mut wanted: Vec<(u64, u16)> = Vec::new();
    each_run(&entry.place, selection, &mut |source, target, count| {
        wanted.extend(rows.iter_from(target).take_while(|row| *row < target + count).map(|row| (row, (source + (row - target)) as u16)));
    });
    if wanted.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let Some((segment, row)) = column.table.row(entry).filter(|(_, row)| row.level == Level::Exact) else { return Ok(None) };
    let outcome = column.with_ranks(entry, segment, row, Level::Exact, |ranked| if wanted.len() <= FEW { few(ranked, &wanted) } else { many(ranked, &wanted) });
    match outcome {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// What is found at a rank.
fn found(zone: &Zone, row: u64, rank: u32, key: Option<u64>) -> Found {
    (row, rank < zone.numbers + zone.nans, key.filter(|_| rank < zone.numbers))
}

/// All ranks and all keys, then those that are wanted.
fn many(ranked: &Ranked<'_>, wanted: &[(u64, u16)]) -> Result<Vec<Found>> {
    let (zone, mut scratch) = (ranked.zone, Vec::new());
    let keys = ranked.keys(&mut scratch)?;
    let mut ranks = vec![0u32; zone.elements() as usize];
    for (position, rank) in ranked.positions(0..zone.elements(), &mut scratch)?.iter().zip(0..) {
        if let Some(slot) = ranks.get_mut(usize::from(u16::from_le_bytes(*position))) {
            *slot = rank;
        }
    }
    let at = |(row, position): &(u64, u16)| {
        let rank = ranks.get(usize::from(*position)).copied().unwrap_or_default();
        found(zone, *row, rank, keys.get(rank as usize).copied())
    };
    Ok(wanted.iter().map(at).collect())
}

/// The ranks of few positions, looked for from both ends of the order (a condition on these values has asked for
/// one of them, often), then the keys of their groups.
fn few(ranked: &Ranked<'_>, wanted: &[(u64, u16)]) -> Result<Vec<Found>> {
    let (zone, mut scratch) = (ranked.zone, Vec::new());
    let mut marks = [0u64; 1024];
    wanted.iter().for_each(|(_, position)| marks[usize::from(position >> 6)] |= 1 << (position & 63));
    let mut ranks: Vec<(u16, u32)> = Vec::with_capacity(wanted.len());
    let (mut low, mut high) = (0, zone.elements());
    let mut from_end = true;
    while low < high && ranks.len() < wanted.len() {
        let count = (high - low).min(RANKS_AT_ONCE);
        // Whole pages, so that they are in memory the next time.
        let range = if from_end { (high - 1) / RANKS_AT_ONCE * RANKS_AT_ONCE..high } else { low..low + count };
        let range = range.start.max(low)..range.end;
        for (position, rank) in ranked.positions(range.clone(), &mut scratch)?.iter().zip(range.clone()) {
            let position = u16::from_le_bytes(*position);
            if marks[usize::from(position >> 6)] >> (position & 63) & 1 == 1 {
                ranks.push((position, rank));
            }
        }
        if from_end { high = range.start } else { low = range.end }
        from_end = !from_end;
    }
    // By rank: one group after the other.
    ranks.sort_unstable_by_key(|(_, rank)| *rank);
    let (mut keys, mut group) = ([0; GROUP], usize::MAX);
    let mut known: Vec<(u16, u32, Option<u64>)> = Vec::with_capacity(ranks.len());
    for (position, rank) in ranks {
        let mine = rank as usize / GROUP;
        if rank < zone.numbers && mine != group {
            ranked.group(mine, &mut keys, &mut scratch)?;
            group = mine;
        }
        known.push((position, rank, keys.get(rank as usize % GROUP).copied()));
    }
    known.sort_unstable_by_key(|(position, ..)| *position);
    let at = |(row, position): &(u64, u16)| {
        let place = known.binary_search_by_key(position, |(position, ..)| *position).ok()?;
        known.get(place).map(|(_, rank, key)| found(zone, *row, *rank, *key))
    };
    wanted.iter().map(at).collect::<Option<Vec<Found>>>().ok_or_else(|| Error::corrupt("a position that is not in the index"))
}
