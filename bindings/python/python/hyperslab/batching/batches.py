"""Batches: shuffled or sequential mini-batches of arrays in files, for machine learning."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa

from ..base.errors import InvalidInputError, InvalidTypeError, LimitExceededError, UnsupportedError
from ..base.threads import in_order
from ..base.type_aliases import Float64Array, Json, JsonObject
from ..models.anndata import AnnData
from ..objects.dataset import Dataset
from ..objects.decoded_view import DecodedView
from ..objects.group import Group
from ..tables.table import Table
from .arrow import as_numpy, record_batch
from .order import TRANSFORM, Blocks, Epoch, Exact, Sequential, Share, ShuffleQuality
from .sources import DatasetSource, EndToEnd, SideBySide, Source, even_edges
from .sparse import sparse_source
from .tables import TableSource
from .values import Batch, Values, joined_batches, part, taken

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: The values that a loader holds at most by default, in bytes.
MEMORY_BYTES = 512 << 20
#: Blocks that are mixed at a time, if they fit into the memory.
MIX_BLOCKS = 128
#: Bytes of a unit: enough for reading to be worth a thread's while; more where each unit decodes chunks again.
UNIT_BYTES = 4 << 20
UNIT_BYTES_OF_CHUNKS = 64 << 20
MAX_THREADS = 4
ORDERS = ("sequential", "exact", "block")

#: What `batches` takes: datasets, groups with sparse matrices and tables, lists of these, and dictionaries of these.
HasRows: TypeAlias = "Dataset | DecodedView | Group | AnnData | Table | Sequence[HasRows] | Mapping[str, HasRows]"
#: A function of a batch and a random generator.
Transform = Callable[[Batch, np.random.Generator], Batch]


class Options(TypedDict):
    """Arguments of `batches`, with their defaults."""

    batch_size: int
    order: str
    seed: int
    epoch: int
    rank: int
    world_size: int
    drop_last: bool
    weights: ArrayLike | None
    draws: int | None
    mix_blocks: int | None
    block_rows: int | None
    transform: Transform | None
    output: str
    threads: int
    memory_bytes: int


class Batches:
    """Mini-batches. `hyperslab.batches` makes them. Each iteration is one epoch.

    Attributes:
        epoch: The epoch of the next iteration. An iteration that reaches the end adds 1.
        rows: Number of rows of all ranks together.
        mix_blocks: Blocks that are mixed at a time in block order, else 0.
    """

    def __init__(self, source: Source, options: Options) -> None:
        self._source, self._options = source, options
        self.rows = source.rows
        self.epoch: int = options["epoch"]
        self._next_batch = self._first_batch = 0
        batch_size, memory_bytes = options["batch_size"], options["memory_bytes"]
        self._share = Share(options["seed"], options["rank"], options["world_size"], batch_size, options["drop_last"])
        weights = _checked_weights(options["weights"], options["order"], self.rows)
        draws = options["draws"] if options["draws"] is not None else self.rows
        if options["draws"] is not None and weights is None:
            raise InvalidInputError("draws is the number of rows that are drawn by weights: give weights, too")
        self._draws = draws
        self._weights_digest = None if weights is None else hashlib.sha256(weights.tobytes()).hexdigest()
        if options["order"] == "exact" and source.no_exact:
            raise UnsupportedError(f"exact order: {source.no_exact}")
        row_bytes = max(source.row_bytes, 1.0)
        batch_bytes = int(batch_size * row_bytes)
        needed = max(3 * batch_bytes, source.chunk_bytes * (3 if source.no_exact else 1))
        if needed > memory_bytes:
            chunk = f"three splits of {needed // 3:,} bytes" if source.no_exact else f"a chunk of {needed:,} bytes"
            what = f"three batches of {batch_bytes:,} bytes" if needed == 3 * batch_bytes else chunk
            raise LimitExceededError(f"memory_bytes is {memory_bytes:,}, which is too little for {what}: give {needed:,} or more")
        threads = options["threads"]
        # A thread may have a chunk decoded besides its rows.
        self._threads = threads if not source.chunk_bytes else min(threads, max(1, memory_bytes // (2 * source.chunk_bytes)))
        self.mix_blocks = 0
        self._order: Sequential | Exact | Blocks
        if options["order"] == "block":
            self._order, unit_bytes = self._blocks(row_bytes, memory_bytes)
        else:
            fits = memory_bytes // (2 * self._threads + 3)
            # A chunk is decoded once for all of its rows in a unit. Larger units are worth it if they often have several.
            shared = options["order"] == "exact" and min(UNIT_BYTES_OF_CHUNKS, fits) / row_bytes * (source.chunk_rows - 1) >= self.rows / 4
            unit_rows = max(1, min(UNIT_BYTES_OF_CHUNKS if shared else UNIT_BYTES, fits) // max(batch_bytes, 1)) * batch_size
            if source.no_exact:
                unit_rows = max(unit_rows, int(np.diff(source.edges).max(initial=1)))
            unit_bytes = int(unit_rows * row_bytes)
            if options["order"] == "exact":
                self._order = Exact(self.rows, self._share, unit_rows, weights, draws)
            else:
                self._order = Sequential(source.edges, self._share, unit_rows)
        # A unit that is being read exists as it was read and as its batches; one more is being handed out.
        self._depth = min(self._threads + 1, (memory_bytes // max(unit_bytes, 1) - 1) // 2)

    def _blocks(self, row_bytes: float, memory_bytes: int) -> tuple[Blocks, int]:
        """The block order, and the bytes of the blocks that are mixed at a time."""
        block_rows, mix_blocks = self._options["block_rows"], self._options["mix_blocks"]
        edges = self._source.edges if block_rows is None else even_edges(self.rows, block_rows)
        block_bytes = int(max((edges[1:] - edges[:-1]).max() if len(edges) > 1 else 1, 1) * row_bytes)
        fits = memory_bytes // (3 * block_bytes)
        if fits < (mix_blocks or 1):
            blocks = f"{mix_blocks or 1} block{'s' if (mix_blocks or 1) > 1 else ''} of {block_bytes:,} bytes"
            raise LimitExceededError(
                f"memory_bytes is {memory_bytes:,}, which is too little for {blocks}, three times: "
                f"give {3 * (mix_blocks or 1) * block_bytes:,} or more, fewer mix_blocks, or fewer block_rows"
            )
        self.mix_blocks = mix_blocks or max(1, min(MIX_BLOCKS, memory_bytes // (7 * block_bytes)))
        self._edges = edges
        return Blocks(edges, self._share, self.mix_blocks), self.mix_blocks * block_bytes

    @property
    def quality(self) -> ShuffleQuality | None:
        """How well rows are shuffled; `None` for sequential order."""
        return self._order.quality

    def __len__(self) -> int:
        """Number of batches of this rank in an epoch."""
        return -(-self._order.count // self._share.batch_size)  # with drop_last, the order has whole batches only

    def __iter__(self) -> Iterator[Batch]:
        first, self._first_batch = self._first_batch, 0
        return self._iterate(self.epoch, first)

    def _iterate(self, number: int, first: int) -> Iterator[Batch]:
        """The batches of an epoch from batch `first` on."""
        epoch = self._order.epoch(number)
        size, count = self._share.batch_size, self._order.count
        position = first * size
        unit = int(np.searchsorted(epoch.edges, position, side="right")) - 1
        jobs = (partial(self._read, epoch, i, max(position, int(epoch.edges[i]))) for i in range(unit, len(epoch.edges) - 1))
        batch, pending, held = first, list[dict[str, Values]](), 0
        for pieces in in_order(jobs, self._threads, self._depth, is_awaited=False):
            for piece_rows, piece in pieces:
                pending.append(piece)
                held += piece_rows
                if held < size and batch * size + held < count:
                    continue
                values = joined_batches(pending)
                pending, held = [], 0
                # A state that is taken while this batch is used describes the next batch.
                self.epoch, self._next_batch = (number, batch + 1) if batch + 1 < len(self) else (number + 1, 0)
                yield self._finished(values, number, batch)
                batch += 1
        if batch >= len(self):
            self.epoch, self._next_batch = number + 1, 0

    def _read(self, epoch: Epoch, unit: int, position: int) -> list[tuple[int, dict[str, Values]]]:
        """The rows of a unit from a position on, cut where batches end: the number of rows and the values of each piece."""
        start, stop = int(epoch.edges[unit]), int(epoch.edges[unit + 1])
        rows = epoch.rows(unit)[position - start :]
        if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows) and bool((np.diff(rows) == 1).all()):
            values, places = self._source.read(rows), None
        else:
            wanted, places = np.unique(rows, return_inverse=True)
            values = self._source.read(wanted)
        size = self._share.batch_size
        cuts = [position, *range((position // size + 1) * size, stop, size), stop]
        pieces = []
        for begin, end in itertools.pairwise(cuts):
            low, high = begin - position, end - position
            found = {name: part(v, low, high) if places is None else taken(v, places[low:high]) for name, v in values.items()}
            pieces.append((end - begin, found))
        return pieces

    def _finished(self, values: dict[str, Values], epoch: int, batch: int) -> Batch:
        """A batch as it is handed out."""
        output: Batch
        if self._options["output"] == "arrow":
            output = record_batch(values)
        else:
            output = {name: as_numpy(name, found) if isinstance(found, pa.ChunkedArray) else found for name, found in values.items()}
        transform: Transform | None = self._options["transform"]
        if transform is None:
            return output
        return transform(output, self._share.generator(TRANSFORM, epoch, self._share.rank, batch))

    @property
    def output(self) -> str:
        """What batches are: `numpy` or `arrow`, as `hyperslab.batches` was asked."""
        return self._options["output"]

    def of_rank(self, rank: int, world_size: int) -> Batches:
        """The same batches for another rank, such as a worker process.

        Args:
            rank: The rank, from 0.
            world_size: Number of ranks.

        Returns:
            Batches of the current epoch, from its beginning.

        Raises:
            InvalidInputError: There is no such rank.

        Example:
            >>> loader.of_rank(0, 4)
        """
        _check_rank(rank, world_size)
        return Batches(self._source, {**self._options, "rank": rank, "world_size": world_size, "epoch": self.epoch})

    def state_dict(self) -> JsonObject:
        """The place of the iteration that went on last, as plain values that JSON can store.

        Returns:
            The epoch, the number of the next batch, and what decides the order.

        Example:
            >>> state = loader.state_dict()
        """
        return {"epoch": self.epoch, "batch": self._next_batch, "order": self._identity()}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        """Makes the next iteration begin with the batch after the last one of the iteration that made the state.

        Args:
            state: What `state_dict` returned, in this or another process.

        Raises:
            InvalidInputError: The state is of batches in another order.

        Example:
            >>> loader.load_state_dict(state)
        """
        try:
            epoch, batch, theirs = int(state["epoch"]), int(state["batch"]), dict(state["order"])
        except (KeyError, TypeError, ValueError):
            raise InvalidInputError(f"this is not a state of batches: {state!r}") from None
        ours = self._identity()
        for name, value in ours.items():
            if theirs.get(name) != value:
                raise InvalidInputError(f"the state is of batches in another order: {name} is {theirs.get(name)!r} there and {value!r} here")
        if epoch < 0 or not 0 <= batch < max(len(self), 1):
            raise InvalidInputError(f"the state has batch {batch} of epoch {epoch}, and an epoch has {len(self)} batches")
        self.epoch, self._next_batch, self._first_batch = epoch, batch, batch

    def _identity(self) -> JsonObject:
        """What decides which rows are in which batch."""
        names = ("order", "seed", "rank", "world_size", "batch_size", "drop_last")
        options: Mapping[str, object] = self._options
        identity = {name: options[name] for name in names} | {"rows": self.rows, "weights": self._weights_digest, "draws": self._draws}
        blocks = {"blocks": hashlib.sha256(self._edges.tobytes()).hexdigest(), "mix_blocks": self.mix_blocks} if self.mix_blocks else {}
        return identity | blocks

    def __repr__(self) -> str:
        names = ", ".join(self._source.shape)
        rank = f", rank {self._share.rank} of {self._share.world_size}" if self._share.world_size > 1 else ""
        return f"<Batches of {names}: {len(self):,} batches of {self._share.batch_size:,} rows, {self._options['order']} order{rank}, epoch {self.epoch}>"


def of_worker(loader: Batches, worker: int, workers: int) -> Batches:
    """The batches of one of several worker processes of a rank, each of which is as a rank of its own."""
    share = loader._share
    return loader.of_rank(share.rank * workers + worker, share.world_size * workers)


def batches(
    source: HasRows,
    batch_size: int = 64,
    *,
    order: str = "sequential",
    seed: int = 0,
    epoch: int = 0,
    rank: int = 0,
    world_size: int = 1,
    drop_last: bool = False,
    weights: ArrayLike | None = None,
    draws: int | None = None,
    mix_blocks: int | None = None,
    block_rows: int | None = None,
    transform: Transform | None = None,
    output: str = "numpy",
    sparse: str = "csr",
    threads: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> Batches:
    """Makes mini-batches of rows for machine learning. Threads read ahead; which rows are in which batch does not depend on them.

    Args:
        source: What has the rows: a dataset (its first dimension), a group with a sparse matrix of AnnData, the view of
            `hyperslab.models.anndata.open` (its `X`), or a table; a list of these, end to end; or a dict of names to any of these,
            joined row by row.
        batch_size: Rows of a batch.
        order: `sequential`; `exact`, a random permutation of all rows; or `block`, random blocks of whole chunks, `mix_blocks` of
            them mixed at a time (`Batches.quality`).
        seed: Seed of all random numbers.
        epoch: Number of the first epoch. Each epoch has another order.
        rank: Which part of the rows, from 0. The parts of all ranks are disjoint, and are all rows together.
        world_size: Number of ranks.
        drop_last: Leave out the last batch if it is shorter. Then each rank has equally many batches.
        weights: A weight for each row: rows are drawn with replacement, in proportion. Only with `order="exact"`.
        draws: Number of rows that are drawn by weights in an epoch, of all ranks together; by default as many as there are.
        mix_blocks: Blocks that are mixed at a time; by default 128, or as many as fit into the memory.
        block_rows: Rows of a block; by default whole chunks of at least 64 KiB.
        transform: Called as `transform(batch, generator)` for each batch, with a numpy random generator that follows from seed, epoch,
            rank and number of the batch. What it returns is handed out.
        output: `numpy`, a dict of names to arrays (sparse rows are a `csr_array` of SciPy), or `arrow`, a `pyarrow.RecordBatch`.
        sparse: Sparse rows as `csr` or as `dense` arrays.
        threads: Threads that read ahead; by default one for each core, at most 4. 0 reads when a batch is asked for.
        memory_bytes: Bound of the bytes of values that are read ahead. Exact order also needs 8 bytes for each row.

    Returns:
        The batches, which can be iterated over again and again.

    Raises:
        InvalidInputError: An argument is wrong, or sources differ in their numbers of rows, or rows of a list in dtype or shape.
        UnsupportedError: Rows of the source cannot be reached in this order, or not at all.
        LimitExceededError: `memory_bytes` is too little for some batches, for a chunk, or for the blocks that are mixed.
        ConflictError: A file changed, when a batch is read.

    Example:
        >>> loader = hs.batches({"x": f["images"], "y": f["labels"]}, 64, order="block", seed=1)
        >>> for batch in loader:
        ...     train(batch["x"], batch["y"])
    """
    for name, value, least in (("batch_size", batch_size, 1), ("seed", seed, 0), ("epoch", epoch, 0), ("memory_bytes", memory_bytes, 1)):
        _check_at_least(name, value, least)
    for name, given, least in (("mix_blocks", mix_blocks, 1), ("block_rows", block_rows, 1), ("threads", threads, 0), ("draws", draws, 0)):
        if given is not None:
            _check_at_least(name, given, least)
    _check_rank(rank, world_size)
    for name, text, known in (("order", order, ORDERS), ("output", output, ("numpy", "arrow")), ("sparse", sparse, ("csr", "dense"))):
        if text not in known:
            raise InvalidInputError(f"{name} is {text!r}: give {', '.join(known[:-1])} or {known[-1]}")
    if order != "block" and (mix_blocks is not None or block_rows is not None):
        raise InvalidInputError(f"mix_blocks and block_rows belong to order='block', and order is {order!r}")
    if transform is not None and not callable(transform):
        raise InvalidTypeError("transform is not a function of a batch and a random generator")
    options: Options = {
        "batch_size": batch_size,
        "order": order,
        "seed": seed,
        "epoch": epoch,
        "rank": rank,
        "world_size": world_size,
        "drop_last": bool(drop_last),
        "weights": weights,
        "draws": draws,
        "mix_blocks": mix_blocks,
        "block_rows": block_rows,
        "transform": transform,
        "output": output,
        "threads": min(MAX_THREADS, os.cpu_count() or 1) if threads is None else threads,
        "memory_bytes": memory_bytes,
    }
    return Batches(_source(source, None, sparse), options)


def _source(source: Any, name: str | None, sparse: str) -> Source:
    """What reads the rows of a source that is called `name`, or by its own name."""
    if isinstance(source, (Dataset, DecodedView)):
        return DatasetSource(name or source.name.rpartition("/")[2], source)
    if isinstance(source, AnnData):
        return _source(source.file["X"], name or "X", sparse)
    if isinstance(source, Group):
        return sparse_source(name or source.name.rpartition("/")[2], source, sparse)
    if isinstance(source, Table):
        if name is not None:
            raise InvalidInputError(f"the columns of a table have names: give the table alone, or the datasets of its columns, instead of {name!r}")
        return TableSource(source)
    if isinstance(source, Mapping):
        if not source or name is not None:
            raise InvalidInputError("give a dict of names to datasets" if source else "there are no sources")
        return SideBySide({str(key): _source(value, str(key), sparse) for key, value in source.items()})
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        if not source:
            raise InvalidInputError("there are no sources")
        return EndToEnd([_source(value, name, sparse) for value in source])
    raise InvalidTypeError(f"a {type(source).__name__} has no rows: give datasets, tables, or sparse matrices of AnnData, such as hs.open(path)['x']")


def _checked_weights(weights: ArrayLike | None, order: str, rows: int) -> Float64Array | None:
    """The probability of each row."""
    if weights is None:
        return None
    if order != "exact":
        raise InvalidInputError(f"weights draw single rows: give order='exact', not {order!r}")
    found = np.asarray(weights, np.float64)
    if found.shape != (rows,):
        raise InvalidInputError(f"weights have the shape {found.shape}, and there are {rows:,} rows")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.sum() > 0):
        raise InvalidInputError("weights must be finite, not negative, and not all zero")
    return np.asarray(found / found.sum())


def _check_at_least(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidTypeError(f"{name} is {value!r}: give a whole number")
    if value < least:
        raise InvalidInputError(f"{name} is {value}: give {least} or more")


def _check_rank(rank: int, world_size: int) -> None:
    _check_at_least("world_size", world_size, 1)
    _check_at_least("rank", rank, 0)
    if rank >= world_size:
        raise InvalidInputError(f"rank is {rank}, and there are {world_size} ranks, from 0")
