//! Pruner: what a scan (or a query) may ask about an array's values without reading the array.
//!
//! A scan knows nothing of indexes. It asks its session's [`Pruner`] for the [`ColumnIndex`] of a
//! dataset, and that what it knows of a [`Condition`]. An answer is never wrong: rows that are not
//! among the `certain` and the `possible` of [`Matches`] do not pass, `certain` do, and `possible` have
//! to be tested.
//!
//! Values are compared by their **keys**: unsigned numbers in the order of the values
//! ([`KeyType`]). A condition on one column is a [`ValueSet`](hyperslab_predicate::ValueSet), intervals of keys, so that literals
//! are compared exactly in the column's own type.

mod level;
mod row_selection;

pub use level::Level;
pub use row_selection::{MAX_LISTED_ROWS, Piece, PieceRows, CHUNK_ROWS, RowSelection, CHUNK_WORDS};

use std::sync::Arc;

use arrow_array::ArrayRef;
use hyperslab_array::{Cancellation, Result, Selection};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::{Condition, KeyType};
use hyperslab_reader::{File, PooledBuffer, Session};

/// Finds the index of a dataset. The session has one and hands it to scans.
pub trait Pruner: Send + Sync {
    /// The index of `dataset`'s values as `column` shows them, where there is one that is valid for the
    /// file as it was opened. Indexes that are stale or damaged are no indexes: what is wrong with them is
    /// said by [`Pruner::remarks`], not here.
    fn column(&self, file: &File, dataset: ObjectId, column: &Column) -> Option<Arc<dyn ColumnIndex>>;

    /// What a user should know of the indexes of `file`: why one that is there is not used. For `explain`.
    fn remarks(&self, file: &File) -> Vec<String>;
}

/// The pruner that a session was made with: its [extension](hyperslab_reader::Extensions) for scans.
pub struct SessionPruner(pub Arc<dyn Pruner>);

/// The pruner of a session; `None` if it was made without one, so that every value is read.
pub fn pruner_of(session: &Session) -> Option<&dyn Pruner> {
    session.extension::<SessionPruner>().map(|pruner| pruner.0.as_ref())
}

/// At lower and at upper so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountBounds {
    /// So many for certain.
    pub lower: u64,
    /// No more than these.
    pub upper: u64,
}

impl CountBounds {
    /// Just so many.
    pub fn exactly(count: u64) -> Self {
        Self { lower: count, upper: count }
    }
    /// The count, where it is known.
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

/// Where a condition holds. Rows are numbered row-major over the selection that was asked about, from 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matches {
    /// Here it holds.
    pub certain: RowSelection,
    /// Here it may hold; disjoint from `certain`. It holds nowhere else.
    pub possible: RowSelection,
}

/// Least and greatest key of the values that are numbers (neither null nor NaN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRange {
    /// Least.
    pub min: u64,
    /// Greatest.
    pub max: u64,
    /// Whether both are values of the selection; else its values lie between them.
    pub exact: bool,
}

/// A place in the order of the keys: before the values with this key, or `None` after every value. The end of an
/// interval that includes the greatest key of its type has no key of its own, so it is never `last + 1`.
pub type Edge = Option<u64>;

/// The edge after a key.
pub fn after(key: u64) -> Edge {
    key.checked_add(1)
}

/// What an index cost and saved, for `explain` and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    /// Blocks that the selection touches.
    pub all: u64,
    /// Of these, blocks without a hit or a candidate.
    pub pruned: u64,
}

/// Values in the machine's own form, none of them null.
pub struct MatchingValues {
    /// The values, one after the other.
    pub bytes: PooledBuffer,
    /// How many.
    pub count: usize,
}

/// What is known of one dataset's values. Selections are of the dataset's shape.
pub trait ColumnIndex: Send + Sync {
    /// How much it knows at most; blocks may know less (damaged ones nothing).
    fn level(&self) -> Level;

    /// How values are ordered; `None` for text.
    fn key_type(&self) -> Option<KeyType>;

    /// Where `condition` holds. Exact (no candidates) from level `Positions` on, but for damaged blocks.
    fn rows(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<Matches>;

    /// How often `condition` holds, from the index alone: level `Keys` is off by at most 128 for a block and
    /// interval, `Exact` and `Bitmaps` not at all.
    fn count(&self, selection: &Selection, condition: &Condition, cancellation: &Cancellation) -> Result<CountBounds>;

    /// For each edge, how many values (neither null nor NaN) lie below it: a histogram's counts are the
    /// differences ([`KeyType::at_least`] makes edges of numbers). `None` if the selection cuts blocks or a
    /// block is damaged.
    fn below(&self, selection: &Selection, edges: &[Edge], cancellation: &Cancellation) -> Result<Option<Vec<CountBounds>>>;

    /// The key of the value with this number in order, counted from 0 over the values that are neither null
    /// nor NaN: quantiles. `None` where the index alone does not tell.
    fn ranked(&self, selection: &Selection, rank: u64, cancellation: &Cancellation) -> Result<Option<u64>>;

    /// Least and greatest; `None` where there are no numbers, or a block is damaged.
    fn extremes(&self, selection: &Selection) -> Result<Option<KeyRange>>;

    /// How many values are `(neither null nor NaN, NaN, null)`. `None` where the selection cuts blocks or a block
    /// is damaged.
    fn counts(&self, selection: &Selection) -> Result<Option<(u64, u64, u64)>>;

    /// The values of the rows, in order of the rows; `None` where the index has none (only `Exact` has).
    fn values(&self, selection: &Selection, rows: &RowSelection, cancellation: &Cancellation) -> Result<Option<ArrayRef>>;

    /// The values where `condition` holds, in order of the rows, from the index alone; `None` where it does not have them
    /// all, and where they are more than one in `sparse` of the blocks that have any.
    fn passing(&self, selection: &Selection, condition: &Condition, sparse: Option<u64>, cancellation: &Cancellation) -> Result<Option<MatchingValues>>;

    /// How many blocks the condition leaves, by zones alone: what a planner asks first.
    fn blocks(&self, selection: &Selection, condition: &Condition) -> Result<Blocks>;
}
