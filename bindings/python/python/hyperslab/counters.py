"""Counters: the cost of reads, and what indexes saved."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


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
        return Counters(
            self.bytes_read - before.bytes_read,
            self.chunks_decoded - before.chunks_decoded,
            self.chunks_skipped - before.chunks_skipped,
            self.decode_seconds - before.decode_seconds,
            self.index_blocks - before.index_blocks,
            self.index_blocks_pruned - before.index_blocks_pruned,
        )


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
    return Counters(found.bytes_read, found.chunks_decoded, found.chunks_skipped, found.decode_nanoseconds / 1e9, found.index_blocks, found.index_blocks_pruned)
