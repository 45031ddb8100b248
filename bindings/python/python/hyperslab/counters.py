"""Counters: what reads have cost, and what indexes have saved."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class Counters(NamedTuple):
    """Sums over all reads of values (not of metadata). The difference of two is what was done between them."""

    #: Bytes of values that were asked of the files.
    bytes_read: int
    #: Chunks that went through their filters.
    chunks_decoded: int
    #: Chunks in the rows of a scan that were not read, since an index, or a test of other columns, left no row of them.
    chunks_skipped: int
    #: Seconds spent in filters, of all threads together.
    decode_seconds: float
    #: Blocks of 65,536 values of which indexes were asked.
    index_blocks: int
    #: Of these, blocks without a value that passes.
    index_blocks_pruned: int

    def since(self, before: Counters) -> Counters:
        """What was done after `before` was taken."""
        return Counters(*(now - then for now, then in zip(self, before)))


def counters() -> Counters:
    """What this process has read since it began, by all files, tables and queries."""
    bytes_read, decoded, skipped, nanoseconds, blocks, pruned = _native.counters()
    return Counters(bytes_read, decoded, skipped, nanoseconds / 1e9, blocks, pruned)
