//! Cost model: from which point on one way to find and read rows is cheaper than another.
//!
//! Every crossover of this room is here, with its unit. All of them only choose between ways that give the same rows and
//! values, so a wrong one costs time and never changes a result.

/// A fraction of rows, `1 / n`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fraction(u64);

impl Fraction {
    const fn one_in(n: u64) -> Self {
        Self(n)
    }

    /// This fraction of `count`, rounded down.
    pub fn of(self, count: u64) -> u64 {
        count / self.0
    }

    /// The `n` of `1 / n`.
    pub fn denominator(self) -> u64 {
        self.0
    }
}

// Which rows match: scan windows, look rows up in an index, or test candidates one by one.

/// Of the rows of a window. Above it, testing values that are read anyway is cheaper than looking matching rows up in an index.
pub(super) const LOOKUP_MAX_ROW_FRACTION: Fraction = Fraction::one_in(16);
/// Of the rows of a segment. Above it, reading all rows is cheaper than reading and testing candidates one by one.
pub(super) const CANDIDATE_MAX_ROW_FRACTION: Fraction = Fraction::one_in(16);
/// Rows that an index looks up in the time that reading and testing one candidate takes, with its values in the page cache.
pub(super) const LOOKUP_ROWS_PER_CANDIDATE: u64 = 1024;
/// Intervals of a condition's values. With more, an index that is asked interval by interval is slower than a scan.
pub(super) const LOOKUP_MAX_INTERVALS: usize = 16;
/// Filter identifiers whose data take longer to decode than an index takes to look their rows up: deflate and bzip2.
pub(super) const SLOW_FILTERS: [u16; 2] = [1, 307];
/// Indexes along a dimension without coordinate values that are tested at a time: bounds the memory of a test.
pub(super) const DIMENSION_TEST_INDICES: u64 = 1 << 20;
/// Single indexes that an axis lists. With more, the range from the first to the last is read and tested row by row.
pub(super) const AXIS_MAX_INDICES: u64 = 4 << 20;

// Reading a window in which only some rows match: all of it, or only the positions that have matching rows.

/// Of the rows of a window. At or below it, only positions with matching rows are read, wherever they lie.
pub(super) const SPARSE_ROW_FRACTION: Fraction = Fraction::one_in(64);
/// Of the rows of a window. Above it, reading the whole window is cheaper, unless its data are filtered or text: there,
/// whole chunks without a matching row may still be left out.
pub(super) const DENSE_ROW_FRACTION: Fraction = Fraction::one_in(16);
/// Rows so close to each other that reading one of them costs about as much as reading all.
pub(super) const NEIGHBOR_ROWS: u64 = 1024;
/// Of the groups of [`NEIGHBOR_ROWS`] in a window. If more than these have a matching row, the whole window is read.
pub(super) const NEIGHBOR_MAX_FRACTION: Fraction = Fraction::one_in(2);
/// Of the positions along the dimension that is cut. If more than these have a matching row, the whole window is read.
pub(super) const POSITION_MAX_FRACTION: Fraction = Fraction::one_in(2);

// Reading values at single rows: from the file, or from the index that found the rows.

/// Of the rows of those index blocks that have a match. Above it, values that lie uncompressed in the file are read from
/// there rather than from the index.
pub(super) const INDEX_VALUES_MAX_ROW_FRACTION: Fraction = Fraction::one_in(6);
/// Bytes between two wanted values. Up to this gap, reading the bytes between is cheaper than a second read.
pub(super) const READ_MAX_GAP_BYTES: usize = 3 << 10;
/// Words of a row bitmap, 64 rows each, that are read together or skipped together.
pub(super) const READ_GROUP_WORDS: usize = 64;
/// Chunks of a dataset. With more, locating all of them costs more than single reads save.
pub(super) const LOCATE_MAX_CHUNKS: u64 = 1 << 16;

// Keeping decoded chunks for the next query.

/// Rows of a window. If no more than these are read, the session keeps their chunks: the time of such a query is that of decoding,
/// and the next one often wants the same rows. With more, the chunks would drop those of other small reads.
pub(super) const KEEP_MAX_ROWS: usize = 64;

// Sizes of tasks.

/// Pieces of rows that one thread takes at a time.
pub(super) const TASK_PIECES: usize = 8;
/// Bytes of values below which a task is not divided among threads.
pub(crate) const TASK_MIN_BYTES: usize = 256 << 10;
