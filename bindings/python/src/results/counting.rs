//! Results that count or summarize: aggregates of a column, steps of a query, counters of the process.

use hyperslab::scan;
use pyo3::prelude::*;

/// A result in the type of its column.
#[derive(Clone, Copy, IntoPyObject)]
pub(crate) enum Number {
    Integer(i128),
    Float(f64),
}

/// Aggregates of a numeric column. Without values, `minimum`, `maximum` and `sum` are `None`.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Summary {
    /// Values that are neither null nor NaN.
    pub count: u64,
    /// Nulls.
    pub nulls: u64,
    /// NaN.
    pub nans: u64,
    /// Minimum of the values.
    pub minimum: Option<Number>,
    /// Maximum.
    pub maximum: Option<Number>,
    /// Sum.
    pub sum: Option<Number>,
}

impl From<scan::Summary> for Summary {
    fn from(summary: scan::Summary) -> Self {
        let [minimum, maximum, sum] = match summary.extremes {
            None => [None; 3],
            Some(scan::Extremes::Integer { minimum, maximum, sum }) => [minimum, maximum, sum].map(|n| Some(Number::Integer(n))),
            Some(scan::Extremes::Float { minimum, maximum, sum }) => [minimum, maximum, sum].map(|x| Some(Number::Float(x))),
        };
        Self { count: summary.count, nulls: summary.nulls, nans: summary.nans, minimum, maximum, sum }
    }
}

/// A group that a query matches.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Step {
    /// Path of the file.
    pub file: String,
    /// Path of the group.
    pub group: String,
    /// Shape of its arrays.
    pub shape: Vec<u64>,
}

/// The cost of the reads of this process.
#[pyclass(frozen, get_all, module = "hyperslab._native")]
pub(crate) struct Counters {
    /// Bytes of values requested from files.
    pub bytes_read: u64,
    /// Chunks that were decoded.
    pub chunks_decoded: u64,
    /// Bytes that decoding gave.
    pub decoded_bytes: u64,
    /// Times that a part of a chunk was inflated from restart points.
    pub parts_inflated: u64,
    /// Bytes of these chunks that were not inflated.
    pub inflating_skipped_bytes: u64,
    /// Chunks that were skipped because no row in them matches.
    pub chunks_skipped: u64,
    /// Nanoseconds spent in filters, summed over all threads.
    pub decode_nanoseconds: u64,
    /// Blocks for which an index was consulted.
    pub index_blocks: u64,
    /// Those of them without a matching value.
    pub index_blocks_pruned: u64,
    /// Requests to object stores and HTTP servers, and ranges that were asked of file objects.
    pub requests: u64,
    /// Times that requests were begun together and waited for.
    pub request_rounds: u64,
    /// Bytes of remote objects that readers asked for.
    pub remote_bytes_wanted: u64,
    /// Bytes that came over the network.
    pub remote_bytes_fetched: u64,
    /// Reads of remote objects that were answered from memory, or from a chunk index.
    pub remote_cache_hits: u64,
    /// Blocks of remote objects that came from the cache on disk.
    pub remote_disk_hits: u64,
}

impl Counters {
    pub fn of_process() -> Self {
        let sums = hyperslab::Counters::of_process();
        let remote = hyperslab::storage::remote_counts();
        Self {
            bytes_read: sums.bytes_read(),
            chunks_decoded: sums.chunks_decoded(),
            decoded_bytes: sums.decoded_bytes(),
            parts_inflated: sums.parts_inflated(),
            inflating_skipped_bytes: sums.inflating_skipped_bytes(),
            chunks_skipped: sums.chunks_skipped(),
            decode_nanoseconds: sums.decode_nanoseconds(),
            index_blocks: sums.index_blocks(),
            index_blocks_pruned: sums.index_blocks_pruned(),
            requests: remote.requests,
            request_rounds: remote.rounds,
            remote_bytes_wanted: remote.wanted_bytes,
            remote_bytes_fetched: remote.fetched_bytes,
            remote_cache_hits: remote.cache_hits,
            remote_disk_hits: remote.disk_hits,
        }
    }
}
