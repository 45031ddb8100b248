//! Values: what an index of level `Exact` gives back of the data.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use hyperslab_array::{Error, ErrorKind, Result, Selection};
use rayon::prelude::*;

use super::column::IndexedColumn;
use super::rows::each_run;
use super::table::Entry;
use crate::Cancellation;
use crate::scan::pruner::{Level, RowSet};

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
    all.sort_unstable_by_key(|(row, _, _)| *row);
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
        let mut here = rows.0.iter();
        here.advance_to(target);
        wanted.extend(here.take_while(|row| *row < target + count).map(|row| (row, (source + (row - target)) as u16)));
    });
    if wanted.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let Some((segment, row)) = column.table.row(entry).filter(|(_, row)| row.level == Level::Exact) else { return Ok(None) };
    let zone = &row.zone;
    let outcome = column.with_ranks(entry, segment, row, Level::Exact, |ranked| {
        let mut scratch = Vec::new();
        let keys = ranked.keys(&mut scratch)?;
        let mut ranks = vec![0u32; zone.elements() as usize];
        let mut next = 0;
        ranked.positions(0..zone.elements(), &mut scratch, &mut |position| {
            if let Some(rank) = ranks.get_mut(usize::from(position)) {
                *rank = next;
            }
            next += 1;
        })?;
        let found = wanted.iter().map(|(row, position)| {
            let rank = ranks.get(usize::from(*position)).copied().unwrap_or_default();
            (*row, rank < zone.numbers + zone.nans, keys.get(rank as usize).copied())
        });
        Ok(found.collect())
    });
    match outcome {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        outcome => outcome.map(Some),
    }
}

