//! Cost model: from which point on one way to find and read rows is cheaper than another.
//!
//! All crossovers of scans are here, with their units. They only choose between ways that give the same rows and values,
//! so a wrong one costs time and never changes a result.

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

/// Maximum fraction of a window's rows to look up in an index; above it, testing values that are read anyway is cheaper.
pub(crate) const LOOKUP_MAX_ROW_FRACTION: Fraction = Fraction::one_in(16);
/// Maximum fraction of a segment's rows to read and test as single candidates; above it, reading all rows is cheaper.
pub(super) const CANDIDATE_MAX_ROW_FRACTION: Fraction = Fraction::one_in(16);
/// Rows that an index looks up in the time that reading and testing one candidate takes, with its values in the page cache.
pub(super) const LOOKUP_ROWS_PER_CANDIDATE: u64 = 1024;
/// Maximum number of intervals in a condition for an index lookup; with more, looking up each interval is slower than a scan.
pub(super) const LOOKUP_MAX_INTERVALS: usize = 16;
/// Filter identifiers whose data take longer to decode than an index takes to look their rows up: deflate and bzip2.
pub(super) const SLOW_FILTERS: [u16; 2] = [1, 307];
/// Indexes along a dimension without coordinate values that are tested at a time: bounds the memory of a test.
pub(super) const DIMENSION_TEST_INDICES: u64 = 1 << 20;
/// Maximum number of single indexes that an axis lists; with more, the range from the first to the last is read and tested row by row.
pub(super) const AXIS_MAX_INDICES: u64 = 4 << 20;

// Reading a window in which only some rows match: all of it, or only the positions that have matching rows.

/// Fraction of a window's rows that match: at or below it, only positions with matching rows are read, wherever they lie.
pub(super) const SPARSE_ROW_FRACTION: Fraction = Fraction::one_in(64);
/// Fraction of a window's rows that match: above it, reading the whole window is cheaper, unless its data are filtered or
/// text; then whole chunks without a matching row may still be skipped.
pub(super) const DENSE_ROW_FRACTION: Fraction = Fraction::one_in(16);
/// Number of neighboring rows that cost about as much to read as one of them.
pub(super) const NEIGHBOR_ROWS: u64 = 1024;
/// Maximum fraction of [`NEIGHBOR_ROWS`]-sized groups with a match; above it, the whole window is read.
pub(super) const NEIGHBOR_MAX_FRACTION: Fraction = Fraction::one_in(2);
/// Maximum fraction of the positions along the dimension that is cut with a match; above it, the whole window is read.
pub(super) const POSITION_MAX_FRACTION: Fraction = Fraction::one_in(2);

// Reading values at single rows: from the file, or from the index that found the rows.

/// Maximum fraction of the rows in index blocks with a match; above it, values that lie uncompressed in the file are read
/// from the file rather than from the index.
pub(super) const INDEX_VALUES_MAX_ROW_FRACTION: Fraction = Fraction::one_in(6);
/// Maximum gap in bytes between two wanted values; up to it, reading the gap is cheaper than a second read.
pub(super) const READ_MAX_GAP_BYTES: usize = 3 << 10;
/// Words of a row bitmap, 64 rows each, that are read together or skipped together.
pub(super) const READ_GROUP_WORDS: usize = 64;
/// Maximum number of chunks in a dataset to locate; with more, locating all of them costs more than single reads save.
pub(super) const LOCATE_MAX_CHUNKS: u64 = 1 << 16;

// Keeping decoded chunks for the next query.

/// Maximum number of rows read from a window for the session to keep their chunks: such a query spends its time on decoding,
/// and the next one often wants the same rows. With more rows, the chunks would evict the chunks of other small reads.
pub(super) const KEEP_MAX_ROWS: usize = 64;

// Sizes of tasks.

/// Pieces of rows that one thread takes at a time.
pub(super) const TASK_PIECES: usize = 8;
/// Bytes of values below which a task is not divided among threads.
pub(crate) const TASK_MIN_BYTES: usize = 256 << 10;
