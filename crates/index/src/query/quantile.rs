//! Quantile: finds the key with a given rank over many sorted blocks.
//!
//! Binary search over keys counts the values below each tried key by the samples alone, which bound the answer from both
//! sides. The few keys between the bounds are then read from the blocks.

use hyperslab_array::{Cancellation, Error, ErrorKind, Result};
use hyperslab_scan::pruner::{CountBounds, Level, after};

use super::counts::counts_below;
use super::indexed_column::IndexedColumn;
use crate::block::bitmaps::{self, Distinct};
use crate::block::packed_keys::GROUP_KEYS;
use crate::store::block_directory::BlockEntry;

/// The key with this rank, counted from 0, among the numbers of the blocks. `None` if there are fewer, or the index cannot
/// answer.
pub(crate) fn key_at_rank(column: &IndexedColumn, entries: &[&BlockEntry], wanted: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
    let zones = || entries.iter().filter_map(|entry| column.directory.row(entry)).map(|(_, row)| row.zone).filter(|zone| zone.numbers > 0);
    let numbers: u64 = zones().map(|zone| u64::from(zone.numbers)).sum();
    let (Some(min), Some(max)) = (zones().map(|zone| zone.min).min(), zones().map(|zone| zone.max).max()) else { return Ok(None) };
    if wanted >= numbers {
        return Ok(None);
    }
    let bounds = |key: u64| Ok::<_, Error>(counts_below(column, entries, &[Some(key)], Level::Keys, cancellation)?.and_then(|found| found.first().copied()));
    let Some((low, high)) = narrowed((min, max), wanted, bounds)? else { return Ok(None) };
    if low == high {
        return Ok(Some(low));
    }
    let Some(below) = counts_below(column, entries, &[Some(low)], Level::Exact, cancellation)?.and_then(|found| found.first().copied()?.exact()) else {
        return Ok(None);
    };
    let mut keys: Vec<u64> = match keys_between(column, entries, (low, high), cancellation) {
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
        between => between?.concat(),
    };
    let index = wanted.checked_sub(below).and_then(|index| usize::try_from(index).ok()).filter(|index| *index < keys.len());
    let index = index.ok_or_else(|| Error::internal("the keys between the bounds do not include the wanted rank"))?;
    Ok(Some(*keys.select_nth_unstable(index).1))
}

/// Narrows the bounds of the key with rank `wanted` by counting the values below keys between them. `None` if the index cannot answer.
fn narrowed((min, max): (u64, u64), wanted: u64, values_below: impl Fn(u64) -> Result<Option<CountBounds>>) -> Result<Option<(u64, u64)>> {
    // The answer is at least `low` and at most `high`.
    let (mut low, mut high) = (min, max);
    let (mut from, mut to) = (min, max);
    while from < to {
        let middle = from + (to - from).div_ceil(2);
        let Some(below) = values_below(middle)? else { return Ok(None) };
        if below.upper <= wanted {
            (low, from) = (middle, middle);
        } else {
            to = middle - 1;
            if below.lower > wanted {
                high = high.min(middle - 1);
            }
        }
    }
    let (mut from, mut to) = (low, high);
    while from < to {
        let middle = from + (to - from) / 2;
        // The answer does not exceed a key if more than `wanted` values are below the next key.
        let Some(below) = values_below(middle + 1)? else { return Ok(None) };
        if below.lower > wanted {
            (high, to) = (middle, middle);
        } else {
            from = middle + 1;
        }
    }
    Ok(Some((low, high)))
}

/// The keys from `low` to `high`, in several lists.
fn keys_between(column: &IndexedColumn, entries: &[&BlockEntry], (low, high): (u64, u64), cancellation: &Cancellation) -> Result<Vec<Vec<u64>>> {
    column.for_each_block(entries, cancellation, |keys: &mut Vec<u64>, entry, scratch| {
        let Some((index_file, row)) = column.directory.row(entry) else { return Err(Error::internal("a block is missing from the index")) };
        if row.zone.numbers == 0 || row.zone.max < low || row.zone.min > high {
            return Ok(());
        }
        if row.level == Level::Bitmaps {
            for (value, rows) in bitmaps::decode(&index_file.bitmaps(row)?, false)? {
                if let Distinct::Key(key) = value
                    && key >= low
                    && key <= high
                {
                    let count = usize::try_from(rows.len()).map_err(|_| Error::limit_exceeded("a bitmap of the index has too many positions"))?;
                    keys.extend(std::iter::repeat_n(key, count));
                }
            }
            return Ok(());
        }
        column.with_ranks(entry, index_file, row, Level::Exact, |query| {
            let first = query.below(low, scratch)?.lower as usize;
            let end = query.below_edge(after(high), scratch)?.upper as usize;
            let mut group_keys = [0; GROUP_KEYS];
            for group in first / GROUP_KEYS..end.div_ceil(GROUP_KEYS) {
                query.group(group, &mut group_keys, scratch)?;
                let here = (group * GROUP_KEYS..).zip(group_keys).filter(|(rank, _)| (first..end).contains(rank));
                keys.extend(here.map(|(_, key)| key));
            }
            Ok(())
        })
    })
}
