"""Batch order: which rows are in which batch. It follows from seed, epoch and rank alone, not from threads or memory.

An epoch of one rank is a sequence of positions, cut into units. A unit is read in one go; batches are cut from the units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.type_aliases import Float64Array, Int64Array

#: What a random generator is for: no two uses have the same numbers.
EPOCH, GROUP, TRANSFORM = 1, 2, 3
NONE: Int64Array = np.zeros(0, np.int64)


class ShuffleQuality(NamedTuple):
    """How well batches are shuffled.

    Attributes:
        window_rows: Rows among which a row may change its place at random. All rows of the epoch for exact order.
        window_blocks: Blocks from which these rows come.
        blocks_per_batch: Expected number of different blocks in a batch.
        variance_factor: Variance of the mean of a batch, divided by the variance in exact order, in the worst case that all rows of a
            block are equal. 1 is as good as exact.
    """

    window_rows: int
    window_blocks: int
    blocks_per_batch: float
    variance_factor: float


class Share(NamedTuple):
    """One rank of several, its seed, and the rows of its batches."""

    seed: int
    rank: int
    world_size: int
    batch_size: int
    drop_last: bool

    def generator(self, use: int, epoch: int, *more: int) -> np.random.Generator:
        """A random generator for one use."""
        return np.random.default_rng([self.seed, use, epoch, *more])

    def bounds(self, rows: int) -> tuple[int, int]:
        """The positions of this rank among `rows` positions, one rank after the other. With `drop_last`, equally many in each rank."""
        low, high = (rows * rank // self.world_size for rank in (self.rank, self.rank + 1))
        return low, (low + self._kept(rows // self.world_size) if self.drop_last else high)

    def every(self, rows: int) -> slice:
        """The positions of this rank among `rows` positions, dealt one by one."""
        stop = self._kept(rows // self.world_size) * self.world_size if self.drop_last else rows
        return slice(self.rank, stop, self.world_size)

    def _kept(self, rows: int) -> int:
        return rows // self.batch_size * self.batch_size


class Epoch(NamedTuple):
    """The positions of a rank in an epoch as units: unit `i` has the positions from `edges[i]` to `edges[i + 1]`.

    Attributes:
        edges: First position of each unit, and the number of positions.
        order: The order that made it.
        number: The epoch.
        permuted: Rows, or blocks, in their order.
        ends: Of blocks, the position after the last row of each.
    """

    edges: Int64Array
    order: Sequential | Exact | Blocks
    number: int
    permuted: Int64Array
    ends: Int64Array

    def rows(self, unit: int) -> Int64Array:
        """The rows of a unit, in the order in which they are handed out."""
        return self.order.unit(self, unit)


class Sequential:
    """The order of the file. Ranks have ranges of rows, one after the other."""

    def __init__(self, starts: Int64Array, share: Share, unit_rows: int) -> None:
        self._low, high = share.bounds(int(starts[-1]))
        self.count = high - self._low
        self._edges = whole_blocks(starts - self._low, self.count, unit_rows)

    @property
    def quality(self) -> ShuffleQuality | None:
        """Nothing is shuffled."""
        return None

    def epoch(self, number: int) -> Epoch:
        """One pass over the rows."""
        return Epoch(self._edges, self, number, NONE, NONE)

    def unit(self, epoch: Epoch, unit: int) -> Int64Array:
        """The rows of a unit."""
        return np.arange(self._low + epoch.edges[unit], self._low + epoch.edges[unit + 1], dtype=np.int64)


class Exact:
    """A random permutation of all rows, or rows drawn with replacement by weights. Ranks are dealt rows one by one."""

    def __init__(self, rows: int, share: Share, unit_rows: int, weights: Float64Array | None, draws: int) -> None:
        self._rows, self._share, self._weights, self._draws = rows, share, weights, draws
        self.count = len(range(*share.every(draws).indices(draws)))
        self._edges = unit_edges(self.count, unit_rows)

    @property
    def quality(self) -> ShuffleQuality:
        """Every row may come anywhere."""
        return ShuffleQuality(self._rows, self._rows, float(min(self._share.batch_size, self._rows)), 1.0)

    def epoch(self, number: int) -> Epoch:
        """One pass over the rows."""
        random = self._share.generator(EPOCH, number)
        drawn = random.permutation(self._rows) if self._weights is None else random.choice(self._rows, self._draws, p=self._weights)
        return Epoch(self._edges, self, number, np.ascontiguousarray(drawn[self._share.every(self._draws)], np.int64), NONE)

    def unit(self, epoch: Epoch, unit: int) -> Int64Array:
        """The rows of a unit."""
        return epoch.permuted[epoch.edges[unit] : epoch.edges[unit + 1]]


class Blocks:
    """Blocks in random order, a number of them mixed at a time. Ranks have ranges of the permuted blocks, cut to equal rows."""

    def __init__(self, starts: Int64Array, share: Share, mix_blocks: int) -> None:
        self._starts, self._share, self._mix_blocks = starts, share, mix_blocks
        self._rows = int(starts[-1])
        self._low, self._high = share.bounds(self._rows)
        self.count = self._high - self._low

    @property
    def quality(self) -> ShuffleQuality:
        """What mixing this many blocks gives."""
        blocks = len(self._starts) - 1
        window_rows = min(round(self._mix_blocks * self._rows / max(blocks, 1)), self.count)
        return quality_of(self._rows, blocks, window_rows, min(self._share.batch_size, max(window_rows, 1)))

    def epoch(self, number: int) -> Epoch:
        """One pass over the rows."""
        permuted = self._share.generator(EPOCH, number).permutation(len(self._starts) - 1)
        ends = np.cumsum(np.diff(self._starts)[permuted])
        # Blocks that lie in this rank, the first and the last perhaps in part.
        first, last = np.searchsorted(ends, [self._low, self._high - 1], side="right") if self.count else (0, -1)
        inside = np.minimum(ends[first : last + 1], self._high) - self._low
        edges = np.concatenate(([0], inside[self._mix_blocks - 1 :: self._mix_blocks], inside[-1:]))
        return Epoch(np.unique(edges).astype(np.int64), self, number, permuted, ends)

    def unit(self, epoch: Epoch, unit: int) -> Int64Array:
        """The rows of a unit."""
        low, high = self._low + int(epoch.edges[unit]), self._low + int(epoch.edges[unit + 1])
        first, last = np.searchsorted(epoch.ends, [low, high - 1], side="right")
        parts = []
        for place in range(int(first), int(last) + 1):
            row, after = (int(self._starts[epoch.permuted[place] + more]) for more in (0, 1))
            begin = int(epoch.ends[place]) - (after - row)
            parts.append(np.arange(row + max(low - begin, 0), min(row + high - begin, after), dtype=np.int64))
        rows = np.concatenate(parts)
        self._share.generator(GROUP, epoch.number, self._share.rank, unit).shuffle(rows)
        return rows


def unit_edges(count: int, unit_rows: int) -> Int64Array:
    """Units of `unit_rows` positions."""
    return np.append(np.arange(0, count, unit_rows, dtype=np.int64), count).astype(np.int64)


def whole_blocks(starts: Int64Array, count: int, unit_rows: int) -> Int64Array:
    """Units of at most `unit_rows` positions that end where a block ends, unless a block is larger: no chunk is read for two units."""
    edges = [0] if count < 1 else [0, count]
    while edges[-2:-1] and count - edges[-2] > unit_rows:
        end = edges[-2] + unit_rows
        whole = int(starts[np.searchsorted(starts, end, side="right") - 1])
        edges.insert(-1, whole if whole > edges[-2] else end)
    return np.asarray(edges, np.int64)


def quality_of(rows: int, blocks: int, window_rows: int, batch_size: int) -> ShuffleQuality:
    """The quality of batches that are drawn from a window of random blocks.

    Two rows of a batch are from one block with probability p = (b - 1) / (W - 1), for blocks of b rows and a window of W. If rows of
    a block are equal, the covariance of two rows is p - (1 - p) / (blocks - 1) variances. In exact order it is -1 / (rows - 1)."""
    if rows < 2 or blocks < 2 or window_rows < 2:
        return ShuffleQuality(window_rows, min(blocks, window_rows), 1.0 if rows else 0.0, 1.0)
    block = rows / blocks
    mixed = max(window_rows / block, 1.0)
    same = min((block - 1) / (window_rows - 1), 1.0)
    apart = (batch_size - 1) * (same - (1 - same) / (blocks - 1))
    exact = 1 - (batch_size - 1) / (rows - 1)
    factor = max((1 + apart) / exact, 1.0) if exact > 0 else 1.0
    # None of a batch is from a given block of the window: a product of `batch_size` factors.
    drawn = np.arange(batch_size)
    missed = float(np.prod(np.clip((window_rows - block - drawn) / (window_rows - drawn), 0.0, 1.0)))
    return ShuffleQuality(window_rows, round(mixed), mixed * (1 - missed), factor)
