//! Column: an indexed dataset that is asked.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use hyperslab_array::{Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_reader::File;
use hyperslab_scan::pruner::{Blocks, ColumnIndex, CountBounds, Edge, KeyRange, Level, Matches, RowSelection};
use rayon::prelude::*;

use crate::store::bitmaps::{self, Distinct};
use crate::store::index_reader::{RowPayload, Segment, StoredRow};
use super::block_directory::{Entry, Table};
use super::data_lookup::Data;
use super::matching_rows::{Gathered, Positions};
use super::rank_query::{Payload, Ranked};

/// Blocks that one thread takes at a time.
const BLOCKS_OF_A_TASK: usize = 16;

/// Intervals that are always looked up.
const FEW_INTERVALS: usize = 16;
/// Rows that are read and tested in the time in which an interval is looked up in a block, by single values of the data
/// or by values of the index.
const ROWS_BY_POSITIONS: usize = 2048;
const ROWS_BY_VALUES: usize = 128;

/// The index of one dataset of one open file.
pub(crate) struct IndexedColumn {
    pub file: File,
    pub dataset: ObjectId,
    pub column: Column,
    pub table: Arc<Table>,
    pub key_type: Option<KeyType>,
}

/// What is known of a block before its rows are looked at.
enum Verdict {
    None,
    All,
    Some,
}

/// What passes in a block: for certain, and perhaps.
struct Passing {
    certain: Positions,
    possible: Positions,
}

impl Passing {
    fn known(certain: Positions) -> Self {
        Self { certain, possible: Positions::None }
    }
    fn unknown(elements: u64) -> Self {
        Self { certain: Positions::None, possible: Positions::All(elements as u32) }
    }
}

/// By the zone alone.
fn verdict(row: &StoredRow, set: Option<&ValueSet>) -> Verdict {
    let Some(set) = set else { return Verdict::Some };
    let zone = &row.zone;
    let (mut any, mut all) = (false, true);
    let mut add = |there: u32, passes: bool| {
        if there > 0 {
            any |= passes;
            all &= passes;
        }
    };
    add(zone.nans, set.has_nan());
    add(zone.nulls, set.has_null());
    if zone.numbers > 0 {
        let begin = set.intervals().partition_point(|(_, last)| *last < zone.least);
        match set.intervals().get(begin) {
            Some((first, last)) if *first <= zone.least && zone.greatest <= *last => any = true,
            Some((first, _)) if *first <= zone.greatest => (any, all) = (true, false),
            _ => all = false,
        }
    }
    match (any, all) {
        (false, _) => Verdict::None,
        (true, true) => Verdict::All,
        (true, false) => Verdict::Some,
    }
}

/// Whether finding the ends of a set's intervals in a block takes longer than reading its values and testing them.
pub(crate) fn is_costly(row: &StoredRow, set: &ValueSet) -> bool {
    let lookups = row.zone.intervals_of(set).len();
    let rows = match row.level {
        Level::Positions => ROWS_BY_POSITIONS,
        Level::Exact => ROWS_BY_VALUES,
        Level::Zone | Level::Keys | Level::Bitmaps => return false,
    };
    lookups > FEW_INTERVALS && lookups * rows > row.zone.elements() as usize
}

impl IndexedColumn {
    /// `work` on a block's row with what it needs to be ranked.
    pub(crate) fn with_ranks<T>(&self, entry: &Entry, segment: &Segment, row: &StoredRow, level: Level, work: impl FnOnce(&Ranked<'_>) -> Result<T>) -> Result<T> {
        let key_type = self.key_type.ok_or_else(|| Error::internal("ranks of text"))?;
        let directory = segment.directory(row)?;
        if !directory.is_sound(row) {
            return Err(Error::corrupt("a checksum of the index does not fit"));
        }
        let payload = RowPayload { segment, row };
        let data = Data::new(self, entry);
        let by_position = |position: u16| data.key(position);
        work(&Ranked {
            level: row.level.min(level),
            key_type,
            zone: &row.zone,
            samples: directory.samples(row),
            starts: directory.starts(row),
            payload: &payload as &dyn Payload,
            data: Some(&by_position),
            edges: Some(&entry.edges),
        })
    }

    fn passing(&self, entry: &Entry, condition: &Condition, scratch: &mut Vec<u8>) -> Result<Passing> {
        let elements = entry.place.elements();
        let Some((segment, row)) = self.table.row(entry) else { return Ok(Passing::unknown(elements)) };
        let set = condition.values();
        match verdict(row, set) {
            Verdict::None => return Ok(Passing::known(Positions::None)),
            Verdict::All => return Ok(Passing::known(Positions::All(elements as u32))),
            Verdict::Some => {}
        }
        let found = match (row.level, set) {
            (Level::Zone | Level::Keys, _) => return Ok(Passing::unknown(elements)),
            (Level::Bitmaps, None) if self.key_type.is_some() => return Ok(Passing::unknown(elements)),
            (Level::Bitmaps, _) => self.by_bitmaps(segment, row, condition),
            (_, None) => return Ok(Passing::unknown(elements)),
            (_, Some(set)) if is_costly(row, set) => return Ok(Passing::unknown(elements)),
            (_, Some(set)) => self.with_ranks(entry, segment, row, Level::Exact, |ranked| by_ranks(ranked, set, scratch)),
        };
        match found {
            // What is damaged is read.
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Passing::unknown(elements)),
            found => found.map(Passing::known),
        }
    }

    fn by_bitmaps(&self, segment: &Segment, row: &StoredRow, condition: &Condition) -> Result<Positions> {
        let entries = bitmaps::decode(&segment.bitmaps(row)?, self.key_type.is_none())?;
        let passing = bitmaps::passing(&entries, condition)?;
        Ok(Positions::of_bitmaps(entries.iter().zip(&passing).filter(|(_, passes)| **passes).map(|((_, rows), _)| rows)))
    }

    /// What passes in each of the blocks, put together by `add`, in parallel where it is worth it.
    pub(crate) fn each<T: Default + Send>(
        &self,
        entries: &[&Entry],
        cancellation: &Cancellation,
        add: impl Fn(&mut T, &Entry, &mut Vec<u8>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let task = |entries: &[&Entry]| {
            cancellation.check()?;
            let (mut sum, mut scratch) = (T::default(), Vec::new());
            entries.iter().try_for_each(|entry| add(&mut sum, entry, &mut scratch))?;
            Ok(sum)
        };
        if entries.len() <= 2 * BLOCKS_OF_A_TASK {
            return Ok(vec![task(entries)?]);
        }
        self.file.session().compute(|| entries.par_chunks(BLOCKS_OF_A_TASK).map(task).collect())
    }

    /// The blocks that a condition's zones leave.
    pub(crate) fn left<'a>(&'a self, entries: Vec<&'a Entry>, condition: &Condition) -> Vec<&'a Entry> {
        let set = condition.values();
        let left = |entry: &&Entry| self.table.row(entry).is_none_or(|(_, row)| !matches!(verdict(row, set), Verdict::None));
        entries.into_iter().filter(left).collect()
    }

    /// Bounds of one block's count, from the index alone.
    fn count_of(&self, entry: &Entry, selection: &Selection, condition: &Condition, scratch: &mut Vec<u8>) -> Result<CountBounds> {
        let unknown = |elements: u64| CountBounds { lower: 0, upper: elements };
        let selected: u64 = selection.axes().iter().zip(entry.place.origin.iter().zip(&entry.place.shape)).map(|(axis, (start, count))| axis.positions_within(*start, start + count).1).product();
        let Some((segment, row)) = self.table.row(entry) else { return Ok(unknown(selected)) };
        match verdict(row, condition.values()) {
            Verdict::None => return Ok(CountBounds::exactly(0)),
            Verdict::All => return Ok(CountBounds::exactly(selected)),
            Verdict::Some => {}
        }
        if selected < entry.place.elements() {
            if row.level < Level::Exact {
                return Ok(unknown(selected));
            }
            let Passing { certain, possible } = self.passing(entry, condition, scratch)?;
            let count = |positions: Positions| -> Result<u64> {
                let mut gathered = Gathered::default();
                gathered.add_selected(positions, &entry.place, selection)?;
                Ok(Gathered::join([gathered]).len())
            };
            let least = count(certain)?;
            return Ok(CountBounds { lower: least, upper: least + count(possible)? });
        }
        let counted = match (row.level, condition.values()) {
            (Level::Zone, _) => return Ok(unknown(selected)),
            (Level::Bitmaps, None) if self.key_type.is_some() => return Ok(unknown(selected)),
            (Level::Bitmaps, _) => (|| {
                let entries = bitmaps::decode(&segment.bitmaps(row)?, self.key_type.is_none())?;
                let passing = bitmaps::passing(&entries, condition)?;
                Ok(CountBounds::exactly(entries.iter().zip(passing).filter(|(_, passes)| *passes).map(|((_, rows), _)| rows.len()).sum()))
            })(),
            (_, None) => return Ok(unknown(selected)),
            (_, Some(set)) if is_costly(row, set) => return Ok(unknown(selected)),
            (level, Some(set)) => {
                // From the index alone: what needs the data is bounded by the samples.
                let level = if level == Level::Positions { Level::Keys } else { level };
                self.with_ranks(entry, segment, row, level, |ranked| {
                    let others = u64::from(if set.has_nan() { row.zone.nans } else { 0 }) + u64::from(if set.has_null() { row.zone.nulls } else { 0 });
                    let bounds = ranked.ranks(set, scratch)?.iter().fold(CountBounds::exactly(others), |sum, ranks| {
                        let least = ranks.end.least.saturating_sub(ranks.first.most);
                        sum + CountBounds { lower: least.into(), upper: (ranks.end.most - ranks.first.least).into() }
                    });
                    Ok(bounds)
                })
            }
        };
        match counted {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(unknown(selected)),
            counted => counted,
        }
    }

    /// For each edge, how many numbers of the blocks lie below it, as far as `level` tells. `None` if one is damaged.
    pub(crate) fn below_at(&self, entries: &[&Entry], edges: &[Edge], level: Level, cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        if self.key_type.is_none() {
            return Ok(None);
        }
        let parts = self.each(entries, cancellation, |sums: &mut Vec<CountBounds>, entry, scratch| {
            sums.resize(edges.len(), CountBounds::default());
            let Some((segment, row)) = self.table.row(entry) else { return Err(Error::internal("a block that is not in the index")) };
            let zone = &row.zone;
            let is_above = |edge: &Edge| edge.is_none_or(|key| key > zone.greatest);
            let inside = edges.iter().any(|edge| edge.is_some_and(|key| key > zone.least) && !is_above(edge));
            if !inside || zone.numbers == 0 {
                for (sum, edge) in sums.iter_mut().zip(edges) {
                    *sum = *sum + CountBounds::exactly(if is_above(edge) { zone.numbers.into() } else { 0 });
                }
                return Ok(());
            }
            if row.level == Level::Bitmaps {
                let values = bitmaps::decode(&segment.bitmaps(row)?, false)?;
                for (sum, edge) in sums.iter_mut().zip(edges) {
                    let below = values.iter().filter(|(value, _)| matches!(value, Distinct::Key(here) if edge.is_none_or(|key| *here < key)));
                    *sum = *sum + CountBounds::exactly(below.map(|(_, rows)| rows.len()).sum());
                }
                return Ok(());
            }
            // From the index alone: what needs the data is bounded by the samples.
            let level = if row.level == Level::Positions { Level::Keys } else { level };
            self.with_ranks(entry, segment, row, level, |ranked| {
                for (sum, edge) in sums.iter_mut().zip(edges) {
                    let rank = ranked.below_edge(*edge, scratch)?;
                    *sum = *sum + CountBounds { lower: rank.least.into(), upper: rank.most.into() };
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

    /// The blocks of a selection that has whole ones only, all of them in the index.
    fn whole(&self, selection: &Selection) -> Result<Option<Vec<&Entry>>> {
        let entries = self.table.touched(selection)?;
        let whole = self.table.is_whole(selection);
        let fits = |entry: &&Entry| entry.row.is_some() && (whole || self.table.covers(selection, &entry.place));
        Ok(entries.iter().all(fits).then_some(entries))
    }
}

/// The positions of a set's values. Exact at level `Positions` (by the data) and `Exact`.
fn by_ranks(ranked: &Ranked<'_>, set: &ValueSet, scratch: &mut Vec<u8>) -> Result<Positions> {
    let zone = ranked.zone;
    let mut wanted: Vec<std::ops::Range<u32>> = Vec::new();
    for ranks in ranked.ranks(set, scratch)? {
        if ranks.first.least != ranks.first.most || ranks.end.least != ranks.end.most {
            return Err(Error::internal("ranks that the data did not tell"));
        }
        wanted.push(ranks.first.least..ranks.end.least);
    }
    let nans = zone.numbers..zone.numbers + zone.nans;
    let nulls = nans.end..zone.elements();
    wanted.extend([(set.has_nan(), nans), (set.has_null(), nulls)].into_iter().filter(|(has, range)| *has && !range.is_empty()).map(|(_, range)| range));
    let count: u32 = wanted.iter().map(|range| range.end - range.start).sum();
    if count <= zone.elements() / 2 {
        return Positions::of(count as usize, |visit| {
            wanted.iter().try_for_each(|range| ranked.positions(range.clone(), scratch).map(&mut *visit))
        });
    }
    let mut next = 0;
    let mut others = Vec::new();
    for range in &wanted {
        others.push(next..range.start);
        next = range.end;
    }
    others.push(next..zone.elements());
    Positions::all_but(zone.elements(), |visit| {
        others.iter().try_for_each(|range| ranked.positions(range.clone(), scratch).map(&mut *visit))
    })
}

impl ColumnIndex for IndexedColumn {
    fn level(&self) -> Level {
        self.table.level
    }

    fn key_type(&self) -> Option<KeyType> {
        self.key_type
    }

    fn rows(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<Matches> {
        let entries = self.left(self.table.touched(selection)?, condition);
        let whole = self.table.is_whole(selection);
        let parts = self.each(&entries, cancellation, |sum: &mut (Gathered, Gathered), entry, scratch| {
            let Passing { certain, possible } = self.passing(entry, condition, scratch)?;
            match entry.first.filter(|_| whole) {
                Some(first) => {
                    sum.0.add_run(certain, first);
                    sum.1.add_run(possible, first);
                }
                None => {
                    sum.0.add_selected(certain, &entry.place, selection)?;
                    sum.1.add_selected(possible, &entry.place, selection)?;
                }
            }
            Ok(())
        })?;
        let (certain, possible): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Ok(Matches { certain: Gathered::join(certain), possible: Gathered::join(possible) })
    }

    fn count(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<CountBounds> {
        let entries = self.left(self.table.touched(selection)?, condition);
        let parts = self.each(&entries, cancellation, |sum: &mut CountBounds, entry, scratch| {
            *sum = *sum + self.count_of(entry, selection, condition, scratch)?;
            Ok(())
        })?;
        Ok(parts.into_iter().fold(CountBounds::default(), |sum, part| sum + part))
    }

    fn below(&self, selection: &Selection, edges: &[Edge], cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        match self.whole(selection)? {
            Some(entries) => self.below_at(&entries, edges, Level::Exact, cancellation),
            None => Ok(None),
        }
    }

    fn ranked(&self, selection: &Selection, number: u64, cancellation: &Cancellation) -> Result<Option<u64>> {
        let Some(entries) = self.whole(selection)? else { return Ok(None) };
        crate::query::quantile::ranked(self, &entries, number, cancellation)
    }

    fn extremes(&self, selection: &Selection) -> Result<Option<KeyRange>> {
        let entries = self.table.touched(selection)?;
        let whole = self.table.is_whole(selection);
        let mut found: Option<KeyRange> = None;
        for entry in entries {
            let Some((_, row)) = self.table.row(entry).filter(|_| self.key_type.is_some()) else { return Ok(None) };
            let covered = whole || self.table.covers(selection, &entry.place);
            if row.zone.numbers > 0 {
                let here = KeyRange { min: row.zone.least, max: row.zone.greatest, exact: covered };
                found = Some(found.map_or(here, |sum| KeyRange {
                    min: sum.min.min(here.min),
                    max: sum.max.max(here.max),
                    exact: sum.exact && here.exact,
                }));
            }
        }
        Ok(found)
    }

    fn counts(&self, selection: &Selection) -> Result<Option<(u64, u64, u64)>> {
        let Some(entries) = self.whole(selection)? else { return Ok(None) };
        let zones = entries.into_iter().filter_map(|entry| self.table.row(entry)).map(|(_, row)| row.zone);
        Ok(Some(zones.fold((0, 0, 0), |(numbers, nans, nulls), zone| {
            (numbers + u64::from(zone.numbers), nans + u64::from(zone.nans), nulls + u64::from(zone.nulls))
        })))
    }

    fn values(&self, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
        crate::query::values::values(self, selection, rows, cancellation)
    }

    fn matching_values(&self, selection: &Selection, condition: &Condition, sparse: Option<u64>, cancellation: &Cancellation) -> Result<Option<hyperslab_scan::pruner::MatchingValues>> {
        crate::query::matching_values::passing(self, selection, condition, sparse, cancellation)
    }

    fn blocks(&self, selection: &Selection, condition: &Condition) -> Result<Blocks> {
        let entries = self.table.touched(selection)?;
        let all = entries.len() as u64;
        Ok(Blocks { all, pruned: all - self.left(entries, condition).len() as u64 })
    }
}

/// Whether an array has nulls that a condition could see.
pub(crate) fn is_valid(array: &ArrayRef, row: usize) -> bool {
    array.is_valid(row)
}
