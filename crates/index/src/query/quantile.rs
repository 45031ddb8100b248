//! Quantile: the key with a given number in order, over many sorted blocks.

use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_scan::pruner::{Level, after};

use crate::store::packed_keys::GROUP;
use super::block_directory::Entry;
use super::column::IndexedColumn;

/// The key numbered `number` from 0, over the numbers of the blocks; `None` where the index does not tell.
///
/// Samples alone bound it from both sides; the few keys between are then taken out of the blocks.
pub(crate) fn ranked(column: &IndexedColumn, entries: &[&Entry], number: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
    let zones = || entries.iter().filter_map(|entry| column.table.row(entry)).map(|(_, row)| row.zone).filter(|zone| zone.numbers > 0);
    let numbers: u64 = zones().map(|zone| u64::from(zone.numbers)).sum();
    let (Some(least), Some(greatest)) = (zones().map(|zone| zone.least).min(), zones().map(|zone| zone.greatest).max()) else { return Ok(None) };
    if number >= numbers {
        return Ok(None);
    }
    let bounds = |key: u64| Ok::<_, Error>(column.below_at(entries, &[Some(key)], Level::Keys, cancellation)?.and_then(|found| found.first().copied()));
    // `low` is the greatest key known not to exceed the answer, `high` the least known not to be below it.
    let (mut low, mut high) = (least, greatest);
    let (mut from, mut to) = (least, greatest);
    while from < to {
        let middle = from + (to - from).div_ceil(2);
        let Some(below) = bounds(middle)? else { return Ok(None) };
        if below.upper <= number {
            (low, from) = (middle, middle);
        } else {
            to = middle - 1;
            if below.lower > number {
                high = high.min(middle - 1);
            }
        }
    }
    let (mut from, mut to) = (low, high);
    while from < to {
        let middle = from + (to - from) / 2;
        // The answer does not exceed a key if more than `number` lie below the next one.
        let Some(below) = bounds(middle + 1)? else { return Ok(None) };
        if below.lower > number {
            (high, to) = (middle, middle);
        } else {
            from = middle + 1;
        }
    }
    if low == high {
        return Ok(Some(low));
    }
    let Some(below) = column.below_at(entries, &[Some(low)], Level::Exact, cancellation)?.and_then(|found| found.first().copied()?.exact()) else {
        return Ok(None);
    };
    let between = column.each(entries, cancellation, |keys: &mut Vec<u64>, entry, scratch| {
        let Some((segment, row)) = column.table.row(entry) else { return Err(Error::internal("a block that is not in the index")) };
        if row.zone.numbers == 0 || row.zone.greatest < low || row.zone.least > high {
            return Ok(());
        }
        if row.level == Level::Bitmaps {
            for (value, rows) in crate::store::bitmaps::decode(&segment.bitmaps(row)?, false)? {
                if let crate::store::bitmaps::Distinct::Key(key) = value && key >= low && key <= high {
                    keys.extend(std::iter::repeat_n(key, usize::try_from(rows.len()).unwrap_or_default()));
                }
            }
            return Ok(());
        }
        column.with_ranks(entry, segment, row, Level::Exact, |ranked| {
            let first = ranked.below(low, scratch)?.least as usize;
            let end = ranked.below_edge(after(high), scratch)?.most as usize;
            let mut group_keys = [0; GROUP];
            for group in first / GROUP..end.div_ceil(GROUP) {
                ranked.group(group, &mut group_keys, scratch)?;
                let here = (group * GROUP..).zip(group_keys).filter(|(rank, _)| (first..end).contains(rank));
                keys.extend(here.map(|(_, key)| key));
            }
            Ok(())
        })
    });
    let mut keys: Vec<u64> = match between {
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
        between => between?.concat(),
    };
    let place = number.checked_sub(below).and_then(|place| usize::try_from(place).ok()).filter(|place| *place < keys.len());
    let place = place.ok_or_else(|| Error::internal("a rank beyond the keys around it"))?;
    Ok(Some(*keys.select_nth_unstable(place).1))
}
