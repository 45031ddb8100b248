"""Counters: the cost of reads, and what indexes saved."""

from __future__ import annotations

from typing import NamedTuple

from .. import _native


class Counters(NamedTuple):
    """Totals of all reads of values (not of metadata) in this process. `since` gives the difference of two."""

    #: Bytes of values requested from files.
    bytes_read: int
    #: Chunks that were decoded.
    chunks_decoded: int
    #: Chunks within the rows of a scan that were skipped because an index, or a test of other columns, ruled out their rows.
    chunks_skipped: int
    #: Seconds spent in filters, summed over all threads.
    decode_seconds: float
    #: Blocks of 65,536 values for which an index was consulted.
    index_blocks: int
    #: Those of them without a matching value.
    index_blocks_pruned: int
    #: Requests to object stores and HTTP servers, and ranges that were asked of file objects; also for metadata.
    requests: int = 0
    #: Times that requests were begun together and waited for: round trips, if one thread reads.
    request_rounds: int = 0
    #: Bytes of remote files that readers asked for.
    remote_bytes_wanted: int = 0
    #: Bytes that came over the network. More than wanted: the beginning of a file, blocks of metadata, short gaps.
    remote_bytes_fetched: int = 0
    #: Reads of remote files that were answered from memory, or from a chunk index.
    remote_cache_hits: int = 0
    #: Blocks of remote files that came from the cache on disk.
    remote_disk_hits: int = 0
    #: Bytes that decoding gave: of whole chunks, and of parts of chunks that were inflated from restart points.
    decoded_bytes: int = 0
    #: Times that a part of a chunk was inflated from restart points (`hyperslab.indexes.chunk_index`), instead of all of it.
    parts_inflated: int = 0
    #: Bytes of these chunks that were not inflated.
    inflating_skipped_bytes: int = 0

    def since(self, before: Counters) -> Counters:
        """The difference to earlier counters.

        Args:
            before: Counters that were taken earlier.

        Returns:
            What this process has done since then.

        Example:
            >>> before = hs.counters()
            >>> f["theta"][0]
            >>> hs.counters().since(before).bytes_read
        """
        return Counters(**{name: getattr(self, name) - getattr(before, name) for name in self._fields})


def counters() -> Counters:
    """Counts what the reads of this process cost, over all files, tables and queries.

    Returns:
        The totals so far.

    Example:
        >>> before = hs.counters()
        >>> q.count()
        >>> hs.counters().since(before).bytes_read
    """
    found = _native.counters()
    return Counters(
        found.bytes_read,
        found.chunks_decoded,
        found.chunks_skipped,
        found.decode_nanoseconds / 1e9,
        found.index_blocks,
        found.index_blocks_pruned,
        found.requests,
        found.request_rounds,
        found.remote_bytes_wanted,
        found.remote_bytes_fetched,
        found.remote_cache_hits,
        found.remote_disk_hits,
        found.decoded_bytes,
        found.parts_inflated,
        found.inflating_skipped_bytes,
    )
