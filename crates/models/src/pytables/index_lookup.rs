//! Rows of a table by one of PyTables' own indexes, for scans.
//!
//! The index names candidates, and the scan tests the values of each. So an index that was not kept up to date cannot add rows. It can
//! lack some: see [`pruner`](super::pruner) for which are used.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Axis, Cancellation, Error, ErrorKind, Result, Selection};
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_reader::{File, ForkMutex};
use hyperslab_scan::pruner::{Blocks, ColumnIndex, CountBounds, Edge, KeyRange, Level, Matches, MatchingValues, RowSelection};

use super::sorted_index::{NAN, SortedIndex, Span};

/// Above this fraction of the rows, the rows are not read from the index: testing all of them costs less.
const MAX_ROW_FRACTION: u64 = 64;
/// Most rows that are read from the index for a condition.
const MAX_ROWS: u64 = 1 << 24;
/// Most look-ups of an end of an interval in a slice; each reads a chunk. A condition that needs more is tested on all rows.
const MAX_SEARCHES: u64 = 4096;
/// Maximum number of conditions whose rows are kept, for scans in progress.
const KEPT_CONDITIONS: usize = 4;

/// The candidates of a condition.
#[derive(Clone)]
enum Candidates {
    /// Too many candidates, so the index was not asked for them.
    All,
    Rows(Arc<RowSelection>),
}

/// The intervals of keys of a condition, NaN with the others.
type Intervals = Vec<(u64, u64)>;

/// An index, with the rows of the last conditions.
pub(super) struct Lookup {
    pub index: SortedIndex,
    kept: ForkMutex<VecDeque<(Intervals, Candidates)>>,
}

impl Lookup {
    pub fn new(index: SortedIndex) -> Self {
        Self { index, kept: ForkMutex::default() }
    }

    fn candidates(&self, file: &File, condition: &Condition, cancellation: &Cancellation) -> Result<Candidates> {
        let Some(intervals) = condition.values().and_then(intervals).filter(|_| self.index.problem().is_none()) else { return Ok(Candidates::All) };
        if let Some(kept) = self.kept.lock()
            && let Some((_, known)) = kept.iter().find(|(known, _)| *known == intervals)
        {
            return Ok(known.clone());
        }
        let found = match self.find(file, &intervals, cancellation) {
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::LimitExceeded) => {
                self.index.set_problem(format!("cannot be read: {}", error.message()));
                Candidates::All
            }
            found => found?,
        };
        if let Some(mut kept) = self.kept.lock() {
            kept.truncate(KEPT_CONDITIONS - 1);
            kept.push_front((intervals, found.clone()));
        }
        Ok(found)
    }

    fn find(&self, file: &File, intervals: &Intervals, cancellation: &Cancellation) -> Result<Candidates> {
        let index = &self.index;
        if (intervals.len() as u64).saturating_mul(index.slice_count()) > MAX_SEARCHES {
            return Ok(Candidates::All);
        }
        let mut spans: Vec<Span> = Vec::new();
        for interval in intervals {
            cancellation.check()?;
            spans.extend(index.spans(file, *interval, cancellation)?);
        }
        let count: u64 = spans.iter().map(|span| span.positions.end - span.positions.start).sum();
        if count > MAX_ROWS.min(index.rows / MAX_ROW_FRACTION) {
            return Ok(Candidates::All);
        }
        let mut rows = Vec::new();
        for span in &spans {
            cancellation.check()?;
            rows.extend(index.rows_of(file, span, cancellation)?);
        }
        rows.sort_unstable();
        let rows = RowSelection::from_sorted(rows).ok_or_else(|| Error::new(ErrorKind::Corrupt, "it has a row twice"))?;
        Ok(Candidates::Rows(Arc::new(rows)))
    }
}

/// The intervals of a set of values; `None` if it has nulls, which tables of PyTables do not have.
fn intervals(set: &ValueSet) -> Option<Intervals> {
    let nan = set.has_nan().then_some((NAN, NAN));
    (!set.has_null()).then(|| set.intervals().iter().copied().chain(nan).collect())
}

/// The index of a column of an open file.
pub(super) struct IndexedColumn {
    pub file: File,
    pub lookup: Arc<Lookup>,
    /// Rows in a chunk of the table.
    pub chunk_rows: u64,
}

impl IndexedColumn {
    /// The candidates within a selection, numbered over it; `None` for all of its rows.
    fn within(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<Option<RowSelection>> {
        let Candidates::Rows(rows) = self.lookup.candidates(&self.file, condition, cancellation)? else { return Ok(None) };
        let [axis] = selection.axes() else { return Err(Error::internal("rows of a table along several dimensions")) };
        let out_of_order = || Error::internal("rows of a selection that are out of order");
        let found = match axis {
            Axis::Range { start, step: 1, count } => {
                let within = rows.iter_from(*start).take_while(|row| *row - start < *count).map(|row| row - start);
                RowSelection::from_sorted(within)
            }
            axis => {
                let numbers = (0..axis.count()).filter(|number| axis.index(*number).is_some_and(|row| rows.contains(row)));
                RowSelection::from_sorted(numbers)
            }
        };
        found.map(Some).ok_or_else(out_of_order)
    }
}

impl ColumnIndex for IndexedColumn {
    /// Its rows are candidates, so scans must not expect more of it.
    fn level(&self) -> Level {
        Level::Keys
    }

    fn key_type(&self) -> Option<KeyType> {
        Some(self.lookup.index.key_type)
    }

    fn rows(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<Matches> {
        let possible = match self.within(selection, condition, cancellation)? {
            Some(rows) => rows,
            None => RowSelection::range(0..selection.element_count()?),
        };
        Ok(Matches { certain: RowSelection::new(), possible })
    }

    fn count(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<CountBounds> {
        let upper = match self.within(selection, condition, cancellation)? {
            Some(rows) => rows.len(),
            None => selection.element_count()?,
        };
        Ok(CountBounds { lower: 0, upper })
    }

    fn below(&self, _selection: &Selection, _edges: &[Edge], _cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>> {
        Ok(None)
    }

    fn ranked(&self, _selection: &Selection, _rank: u64, _cancellation: &Cancellation) -> Result<Option<u64>> {
        Ok(None)
    }

    fn extremes(&self, _selection: &Selection) -> Result<Option<KeyRange>> {
        Ok(None)
    }

    fn counts(&self, _selection: &Selection) -> Result<Option<(u64, u64, u64)>> {
        Ok(None)
    }

    fn values(&self, _selection: &Selection, _rows: &RowSelection, _cancellation: &Cancellation) -> Result<Option<ArrayRef>> {
        Ok(None)
    }

    fn matching_values(
        &self,
        _selection: &Selection,
        _condition: &Condition,
        _sparse: Option<u64>,
        _cancellation: &Cancellation,
    ) -> Result<Option<MatchingValues>> {
        Ok(None)
    }

    /// Number of chunks of the table that the selection touches, and how many of them have no candidate.
    fn blocks(&self, selection: &Selection, condition: &Condition) -> Result<Blocks> {
        let found = self.within(selection, condition, &Cancellation::new())?;
        let [axis] = selection.axes() else { return Err(Error::internal("rows of a table along several dimensions")) };
        let chunks = |rows: &mut dyn Iterator<Item = u64>| {
            let (mut count, mut last) = (0, None);
            for chunk in rows.map(|row| row / self.chunk_rows) {
                count += u64::from(last != Some(chunk));
                last = Some(chunk);
            }
            count
        };
        let all = match axis {
            Axis::Range { count: 0, .. } => 0,
            Axis::Range { start, step: 1, count } => (start + count - 1) / self.chunk_rows - start / self.chunk_rows + 1,
            axis => chunks(&mut (0..axis.count()).filter_map(|number| axis.index(number))),
        };
        let left = match found {
            None => all,
            Some(rows) => chunks(&mut rows.iter().filter_map(|number| axis.index(number))),
        };
        Ok(Blocks { all, pruned: all.saturating_sub(left) })
    }
}
