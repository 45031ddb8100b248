//! Pruner: the interface through which scans and queries ask about an array's values without reading the array.
//!
//! A scan does not know how indexes work. It asks its session's [`Pruner`] for the [`ColumnIndex`] of a dataset, and asks
//! the index about a [`Condition`]. Answers are never wrong, but may be incomplete: in [`Matches`], the `certain` rows match,
//! the `possible` rows must be tested, and no other row matches.
//!
//! Values are compared by their **keys**: unsigned integers in the order of the values ([`KeyType`]). A condition on one
//! column is a [`ValueSet`], intervals of keys, so that literals are compared exactly in the
//! column's own type.
#![expect(clippy::exhaustive_structs, reason = "answers are built by the crate that implements the traits")]

mod level;
mod row_selection;

pub use level::Level;
pub use row_selection::{CHUNK_ROWS, CHUNK_WORDS, MAX_LISTED_ROWS, Piece, PieceRows, RowSelection};

use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Result, Selection};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::{Condition, KeyType, ValueSet};
use hyperslab_reader::{File, PooledBuffer, Session};

/// Finds the indexes of datasets. A session has at most one.
pub trait Pruner: Send + Sync {
    /// The index of `dataset`'s values as `column` decodes them, if there is one that is valid for the file as it was opened.
    /// `None` for a stale or damaged index: [`Pruner::remarks`] says what is wrong with it.
    fn column(&self, file: &File, dataset: ObjectId, column: &Column) -> Option<Arc<dyn ColumnIndex>>;

    /// As [`Pruner::column`], of one member of a compound dataset: its number among the members.
    fn member(&self, _file: &File, _dataset: ObjectId, _member: usize, _column: &Column) -> Option<Arc<dyn ColumnIndex>> {
        None
    }

    /// Whether the file may have composite indexes; costs little.
    fn has_composites(&self, _file: &File) -> bool {
        false
    }

    /// The composite index that covers most of these values, if it is valid for the file as it was opened; `None` if none covers any.
    fn composite(&self, _file: &File, _asked: &[AskedValues<'_>]) -> Option<CompositeMatch> {
        None
    }

    /// Notes for the user on the indexes of `file`, such as why one is not used. For `explain`.
    fn remarks(&self, file: &File) -> Vec<String>;
}

/// Values that a condition is on: the elements of a dataset, or one member of them, as `column` decodes them.
pub struct AskedValues<'a> {
    /// The dataset.
    pub dataset: ObjectId,
    /// The number of the member of a compound dataset; `None` for whole elements.
    pub member: Option<usize>,
    /// How they become Arrow values.
    pub column: &'a Column,
}

/// A composite index that covers some of the values that were asked for.
pub struct CompositeMatch {
    /// The index.
    pub index: Arc<dyn CompositeIndex>,
    /// For each of the asked values, their place among the datasets of the index; `None` for those that it does not have.
    pub places: Vec<Option<usize>>,
}

/// The wanted values of one dataset of a composite index.
pub struct BoxSide {
    /// The place of the dataset in the index.
    pub place: usize,
    /// The wanted values: without NaN and null.
    pub values: ValueSet,
}

/// The index of several datasets of one shape together. Selections have their shape.
pub trait CompositeIndex: Send + Sync {
    /// The rows that are in a box: whose values are wanted in each of the datasets that have a side. There are no candidates, except
    /// in damaged blocks. If `among` is given, the answer is complete for these rows only.
    ///
    /// # Errors
    /// `Io` if the index cannot be read; `Conflict` if it disagrees with the data; `Cancelled`.
    fn rows(&self, selection: &Selection, sides: &[BoxSide], among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<Matches>;

    /// Number of rows that are in a box, exactly unless blocks are damaged; of blocks that have any of the rows `among`, if that is given.
    ///
    /// # Errors
    /// As [`CompositeIndex::rows`].
    fn count(&self, selection: &Selection, sides: &[BoxSide], among: Option<&RowSelection>, cancellation: &Cancellation) -> Result<CountBounds>;

    /// Whether the indexes of the single datasets, if there are some that know rows, answer this box with less work: a box of very many
    /// rows, or one with a side that leaves hardly any. An estimate, by one block.
    fn is_worse_than_single(&self, sides: &[BoxSide]) -> bool;

    /// How many blocks have no row in a box, by their bounds alone.
    ///
    /// # Errors
    /// `Internal` for a selection that does not fit the datasets.
    fn blocks(&self, selection: &Selection, sides: &[BoxSide]) -> Result<Blocks>;
}

/// The pruner that a session was made with: its [extension](hyperslab_reader::Extensions) for scans.
pub struct SessionPruner(pub Arc<dyn Pruner>);

/// The pruner of a session; `None` if it was made without one, so that every value is read.
pub fn pruner_of(session: &Session) -> Option<&dyn Pruner> {
    session.extension::<SessionPruner>().map(|pruner| pruner.0.as_ref())
}

/// Lower and upper bound of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountBounds {
    /// The count is at least this.
    pub lower: u64,
    /// The count is at most this.
    pub upper: u64,
}

impl CountBounds {
    /// Bounds of a count that is known.
    pub fn exactly(count: u64) -> Self {
        Self { lower: count, upper: count }
    }
    /// The count, if it is known exactly.
    pub fn exact(self) -> Option<u64> {
        (self.lower == self.upper).then_some(self.lower)
    }
}

impl std::ops::Add for CountBounds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { lower: self.lower + other.lower, upper: self.upper + other.upper }
    }
}

/// The rows for which a condition holds, numbered row-major over the selection that was asked about, from 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matches {
    /// Rows for which it holds.
    pub certain: RowSelection,
    /// Rows for which it may hold; disjoint from `certain`. It holds for no other rows.
    pub possible: RowSelection,
}

/// Minimum and maximum key of the values that are neither null nor NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange {
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
    /// Whether both are keys of values in the selection; otherwise they only bound the keys.
    pub exact: bool,
}

/// A position in the order of the keys: before the values with this key, or `None` for after all values. An interval that
/// includes the greatest key of its type ends at `None`, because `last + 1` would overflow.
pub type Edge = Option<u64>;

/// The edge after a key.
pub fn after(key: u64) -> Edge {
    key.checked_add(1)
}

/// How many blocks a condition rules out, for `explain` and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    /// Blocks that the selection touches.
    pub all: u64,
    /// Blocks among these without a matching row or candidate.
    pub pruned: u64,
}

/// Values in native byte order, without nulls.
pub struct MatchingValues {
    /// The values, contiguous.
    pub bytes: PooledBuffer,
    /// Number of values.
    pub count: usize,
}

/// The index of one dataset's values. Selections have the dataset's shape.
pub trait ColumnIndex: Send + Sync {
    /// Its level. Single blocks may have a lower level; damaged blocks give no answer.
    fn level(&self) -> Level;

    /// The order of its values; `None` for text.
    fn key_type(&self) -> Option<KeyType>;

    /// The rows for which `condition` holds. From level `Positions` on there are no candidates, except in damaged blocks.
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Cancelled`.
    fn rows(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<Matches>;

    /// The rows of the blocks that the zones do not rule out, without a look-up, for conditions on several columns. `None` if
    /// the zones rule out no block, or if it takes long to say which rows a block has.
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Conflict` if the index disagrees with the data.
    fn zone_rows(&self, _selection: &Selection, _condition: &Condition) -> Result<Option<RowSelection>> {
        Ok(None)
    }

    /// As [`ColumnIndex::rows`], but blocks without any of the rows `among` may be left out: the answer is complete for these
    /// rows only.
    ///
    /// # Errors
    /// Those of [`ColumnIndex::rows`].
    fn rows_among(&self, selection: &Selection, condition: &Condition, _among: &RowSelection, cancellation: &Cancellation) -> Result<Matches> {
        self.rows(selection, condition, cancellation)
    }

    /// As [`ColumnIndex::count`], but of the blocks that have any of the rows `among`, if the index can leave out the others.
    ///
    /// # Errors
    /// Those of [`ColumnIndex::count`].
    fn count_among(&self, selection: &Selection, condition: &Condition, _among: &RowSelection, cancellation: &Cancellation) -> Result<CountBounds> {
        self.count(selection, condition, cancellation)
    }

    /// Number of rows for which `condition` holds, from the index alone. At level `Keys` the bounds differ by at most 128 per
    /// block and interval; at `Exact` and `Bitmaps` they are equal.
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Cancelled`.
    fn count(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<CountBounds>;

    /// For each edge, the number of values below it that are neither null nor NaN: the counts of a histogram are the
    /// differences ([`KeyType::at_least`] converts numbers to edges). `None` if the selection cuts blocks, or a block is damaged.
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Cancelled`.
    fn below(&self, selection: &Selection, edges: &[Edge], cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>>;

    /// The key of the value with this rank, from 0 over the values that are neither null nor NaN, for quantiles. `None` if the
    /// index alone cannot answer.
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Cancelled`.
    fn ranked(&self, selection: &Selection, rank: u64, cancellation: &Cancellation) -> Result<Option<u64>>;

    /// Minimum and maximum; `None` if there are no values, or a block is damaged.
    ///
    /// # Errors
    /// `Internal` for a selection that does not fit the dataset.
    fn extremes(&self, selection: &Selection) -> Result<Option<KeyRange>>;

    /// Number of values that are `(neither null nor NaN, NaN, null)`. `None` if the selection cuts blocks, or a block is damaged.
    ///
    /// # Errors
    /// `Internal` for a selection that does not fit the dataset.
    fn counts(&self, selection: &Selection) -> Result<Option<(u64, u64, u64)>>;

    /// The values at `rows`, in row order; `None` if the index does not hold values (only level `Exact` does).
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Cancelled`.
    fn values(&self, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<Option<ArrayRef>>;

    /// The values for which `condition` holds, in row order, from the index alone. `None` if the index does not hold all of
    /// them, or if they are more than 1/`sparse` of the rows of the blocks that have any.
    ///
    /// # Errors
    /// `Io` if the index or the data cannot be read; `Cancelled`.
    fn matching_values(&self, selection: &Selection, condition: &Condition, sparse: Option<u64>, cancellation: &Cancellation)
    -> Result<Option<MatchingValues>>;

    /// How many blocks the condition rules out, by zones alone.
    ///
    /// # Errors
    /// `Internal` for a selection that does not fit the dataset.
    fn blocks(&self, selection: &Selection, condition: &Condition) -> Result<Blocks>;
}
