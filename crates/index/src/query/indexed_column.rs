//! Indexed column: the index of one dataset of one open file, and the access to its blocks that all queries share.

use std::cell::OnceCell;
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_reader::{File, Session};
use hyperslab_scan::pruner::Level;
use rayon::prelude::*;

use super::audit_budget::AuditBudget;
use super::data_lookup::DataLookup;
use crate::block::rank_query::RankQuery;
use crate::freshness::indexed_values::IndexedValues;
use crate::store::block_directory::{BlockDirectory, BlockEntry};
use crate::store::index_reader::{IndexFile, RowPayload, StoredRow};

/// Number of blocks that one thread processes at a time.
pub(crate) const BLOCKS_PER_TASK: usize = 16;

/// Up to this number of intervals, their ranks are always looked up.
const MAX_FREE_INTERVALS: usize = 16;
/// Number of values that can be read and tested in the time that it takes to look up one interval in a block, by reading
/// single values of the data.
const ROWS_PER_DATA_LOOKUP: usize = 2048;
/// As `ROWS_PER_DATA_LOOKUP`, for a lookup in the packed keys of the index.
const ROWS_PER_INDEX_LOOKUP: usize = 128;

/// The index of one dataset of one open file.
pub(crate) struct IndexedColumn {
    pub file: File,
    pub values: IndexedValues,
    pub directory: Arc<BlockDirectory>,
    /// `None` for text.
    pub key_type: Option<KeyType>,
    /// Which audits the session has made.
    pub audits: Arc<AuditBudget>,
}

/// How many values of a block pass a condition, judged by its zone alone.
pub(crate) enum Verdict {
    None,
    All,
    /// Unknown: the rest of the block's index must be consulted.
    Some,
}

/// Judges a block by its zone. `set` is `None` for a condition that is not a set of keys.
pub(crate) fn verdict(row: &StoredRow, set: Option<&ValueSet>) -> Verdict {
    let Some(set) = set else { return Verdict::Some };
    let zone = &row.zone;
    let (mut any, mut all) = (false, true);
    let mut add = |count: u32, passes: bool| {
        if count > 0 {
            any |= passes;
            all &= passes;
        }
    };
    add(zone.nans, set.has_nan());
    add(zone.nulls, set.has_null());
    if zone.numbers > 0 {
        let begin = set.intervals().partition_point(|(_, last)| *last < zone.min);
        match set.intervals().get(begin) {
            Some((first, last)) if *first <= zone.min && zone.max <= *last => any = true,
            Some((first, _)) if *first <= zone.max => (any, all) = (true, false),
            _ => all = false,
        }
    }
    match (any, all) {
        (false, _) => Verdict::None,
        (true, true) => Verdict::All,
        (true, false) => Verdict::Some,
    }
}

/// Whether looking up the intervals of `set` in a block takes longer than reading and testing its values.
pub(crate) fn is_costly(row: &StoredRow, set: &ValueSet) -> bool {
    let lookups = row.zone.intervals_of(set).len();
    let rows = match row.level {
        Level::Positions => ROWS_PER_DATA_LOOKUP,
        Level::Exact => ROWS_PER_INDEX_LOOKUP,
        Level::Zone | Level::Keys | Level::Bitmaps | Level::Words | Level::Composite => return false,
    };
    lookups > MAX_FREE_INTERVALS && lookups * rows > row.zone.elements() as usize
}

/// Calls `add` for each block, in parallel if there are many, and returns the results of each task in order.
pub(crate) fn each_block<T: Default + Send>(
    session: &Session,
    entries: &[&BlockEntry],
    cancellation: &Cancellation,
    add: impl Fn(&mut T, &BlockEntry, &mut Vec<u8>) -> Result<()> + Sync,
) -> Result<Vec<T>> {
    let task = |entries: &[&BlockEntry]| {
        cancellation.check()?;
        let (mut sum, mut scratch) = (T::default(), Vec::new());
        entries.iter().try_for_each(|entry| add(&mut sum, entry, &mut scratch))?;
        Ok(sum)
    };
    if entries.len() <= 2 * BLOCKS_PER_TASK {
        return Ok(vec![task(entries)?]);
    }
    session.compute(|| entries.par_chunks(BLOCKS_PER_TASK).map(task).collect())
}

impl IndexedColumn {
    /// Reads values of a block from the data.
    pub fn data<'a>(&'a self, entry: &'a BlockEntry, key_type: KeyType) -> DataLookup<'a> {
        DataLookup { file: &self.file, values: &self.values, key_type, entry, all: OnceCell::new() }
    }

    /// Calls `work` with a rank query on a block, at most at `level`. `Corrupt` if the samples are damaged.
    pub fn with_ranks<T>(
        &self,
        entry: &BlockEntry,
        index_file: &IndexFile,
        row: &StoredRow,
        level: Level,
        work: impl FnOnce(&RankQuery<'_>) -> Result<T>,
    ) -> Result<T> {
        let key_type = self.key_type.ok_or_else(|| Error::internal("text has no ranks"))?;
        let batch = index_file.batch_samples(row)?;
        if !batch.is_intact(row) {
            return Err(Error::corrupt("a checksum of the index does not match"));
        }
        let payload = RowPayload { index_file, row };
        let data = self.data(entry, key_type);
        let by_position = |position: u16| data.key(position);
        work(&RankQuery {
            level: row.level.min(level),
            key_type,
            zone: &row.zone,
            samples: batch.samples(row),
            starts: batch.starts(row),
            payload: &payload,
            data: Some(&by_position),
            known_ranks: Some(&entry.known_ranks),
        })
    }

    /// Calls `add` for each block, in parallel if there are many, and returns the results of each task in order.
    pub fn for_each_block<T: Default + Send>(
        &self,
        entries: &[&BlockEntry],
        cancellation: &Cancellation,
        add: impl Fn(&mut T, &BlockEntry, &mut Vec<u8>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        each_block(self.file.session(), entries, cancellation, add)
    }

    /// The blocks that may have values which pass the condition, judged by their zones.
    pub fn candidate_blocks<'a>(&'a self, entries: Vec<&'a BlockEntry>, condition: &Condition) -> Vec<&'a BlockEntry> {
        let set = condition.values();
        let is_candidate = |entry: &&BlockEntry| self.directory.row(entry).is_none_or(|(_, row)| !matches!(verdict(row, set), Verdict::None));
        entries.into_iter().filter(is_candidate).collect()
    }

    /// The blocks of a selection, if it consists of whole blocks and the index has all of them.
    pub fn whole_blocks(&self, selection: &Selection) -> Result<Option<Vec<&BlockEntry>>> {
        let entries = self.directory.touched(selection)?;
        let is_whole = self.directory.is_whole(selection);
        let fits = |entry: &&BlockEntry| entry.row.is_some() && (is_whole || self.directory.covers(selection, &entry.region));
        Ok(entries.iter().all(fits).then_some(entries))
    }
}
