//! Counts: bounds of the number of values that pass a condition, or lie below a key, from the index alone.

use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::Condition;
use hyperslab_scan::pruner::{CountBounds, Edge, Level};

use super::indexed_column::{IndexedColumn, Verdict, is_costly, verdict};
use super::matching_positions::matching_positions;
use super::row_collector::{MatchingPositions, Positions, RowCollector};
use crate::block::bitmaps::{self, Distinct};
use crate::block::block_grid::block_elements;
use crate::store::block_directory::BlockEntry;

/// Bounds of the number of selected values of one block that pass the condition.
pub(crate) fn block_count(
    column: &IndexedColumn,
    entry: &BlockEntry,
    selection: &Selection,
    condition: &Condition,
    scratch: &mut Vec<u8>,
) -> Result<CountBounds> {
    let unknown = |elements: u64| CountBounds { lower: 0, upper: elements };
    let axes = selection.axes().iter().zip(entry.region.dimensions());
    let selected: u64 = axes.map(|(axis, (start, count))| axis.positions_within(start, start + count).1).product();
    let Some((index_file, row)) = column.directory.row(entry) else { return Ok(unknown(selected)) };
    match verdict(row, condition.values()) {
        Verdict::None => return Ok(CountBounds::exactly(0)),
        Verdict::All => return Ok(CountBounds::exactly(selected)),
        Verdict::Some => {}
    }
    if selected < block_elements(&entry.region)? || row.level == Level::Words {
        if row.level < Level::Exact {
            return Ok(unknown(selected));
        }
        let MatchingPositions { certain, possible } = matching_positions(column, entry, condition, None, scratch)?;
        let count = |positions: Positions| -> Result<u64> {
            let mut rows = RowCollector::default();
            rows.add_selected(positions, &entry.region, selection)?;
            Ok(RowCollector::join([rows]).len())
        };
        let lower = count(certain)?;
        return Ok(CountBounds { lower, upper: lower + count(possible)? });
    }
    let counted = match (row.level, condition.values()) {
        (Level::Zone | Level::Words | Level::Composite, _) => return Ok(unknown(selected)),
        (Level::Bitmaps, None) if column.key_type.is_some() => return Ok(unknown(selected)),
        (Level::Bitmaps, _) => (|| {
            let entries = bitmaps::decode(&index_file.bitmaps(row)?, column.key_type.is_none())?;
            let passing = bitmaps::passing(&entries, condition)?;
            Ok(CountBounds::exactly(entries.iter().zip(passing).filter(|(_, passes)| *passes).map(|((_, rows), _)| rows.len()).sum()))
        })(),
        (_, None) => return Ok(unknown(selected)),
        (_, Some(set)) if is_costly(row, set) => return Ok(unknown(selected)),
        (level, Some(set)) => column.with_ranks(entry, index_file, row, without_data(level), |query| {
            let others = u64::from(if set.has_nan() { row.zone.nans } else { 0 }) + u64::from(if set.has_null() { row.zone.nulls } else { 0 });
            Ok(query.ranks(set, scratch)?.iter().fold(CountBounds::exactly(others), |sum, ranks| {
                let lower = ranks.end.lower.saturating_sub(ranks.first.upper);
                sum + CountBounds { lower: lower.into(), upper: (ranks.end.upper - ranks.first.lower).into() }
            }))
        }),
    };
    match counted {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(unknown(selected)),
        counted => counted,
    }
}

/// The level at which a query does not read the data: at `Positions` the samples alone bound the ranks.
fn without_data(level: Level) -> Level {
    if level == Level::Positions { Level::Keys } else { level }
}

/// For each edge, bounds of the number of values of the blocks below it, using at most `level`. `None` if a block is damaged.
pub(crate) fn counts_below(
    column: &IndexedColumn,
    entries: &[&BlockEntry],
    edges: &[Edge],
    level: Level,
    cancellation: &Cancellation,
) -> Result<Option<Vec<CountBounds>>> {
    if column.key_type.is_none() {
        return Ok(None);
    }
    let parts = column.for_each_block(entries, cancellation, |sums: &mut Vec<CountBounds>, entry, scratch| {
        sums.resize(edges.len(), CountBounds::default());
        let Some((index_file, row)) = column.directory.row(entry) else { return Err(Error::internal("a block is missing from the index")) };
        let zone = &row.zone;
        let is_above = |edge: &Edge| edge.is_none_or(|key| key > zone.max);
        let is_inside = edges.iter().any(|edge| edge.is_some_and(|key| key > zone.min) && !is_above(edge));
        if !is_inside || zone.numbers == 0 {
            for (sum, edge) in sums.iter_mut().zip(edges) {
                *sum = *sum + CountBounds::exactly(if is_above(edge) { zone.numbers.into() } else { 0 });
            }
            return Ok(());
        }
        if row.level == Level::Bitmaps {
            let values = bitmaps::decode(&index_file.bitmaps(row)?, false)?;
            for (sum, edge) in sums.iter_mut().zip(edges) {
                let below = values.iter().filter(|(value, _)| matches!(value, Distinct::Key(here) if edge.is_none_or(|key| *here < key)));
                *sum = *sum + CountBounds::exactly(below.map(|(_, rows)| rows.len()).sum());
            }
            return Ok(());
        }
        let level = if row.level == Level::Positions { without_data(row.level) } else { level };
        column.with_ranks(entry, index_file, row, level, |query| {
            for (sum, edge) in sums.iter_mut().zip(edges) {
                let rank = query.below_edge(*edge, scratch)?;
                *sum = *sum + CountBounds { lower: rank.lower.into(), upper: rank.upper.into() };
            }
            Ok(())
        })
    });
    let parts = match parts {
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
        parts => parts?,
    };
    let mut all = vec![CountBounds::default(); edges.len()];
    for part in parts {
        all.iter_mut().zip(part).for_each(|(sum, more)| *sum = *sum + more);
    }
    Ok(Some(all))
}
