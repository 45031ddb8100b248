"""Down-sampling: the minimum and maximum of the values that share a pixel, so that a single sample that stands out is seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ..base.errors import CorruptError, Error
from ..base.type_aliases import AnyArray, JsonObject
from ..objects.dataset import Dataset
from ..objects.decoding import Decoder
from ..objects.plot_axes import coordinate_of, label_of
from ..objects.value_text import value_text
from .requests import Member, Refused
from .watching import Watch

#: Cells of a line, and of an image along each dimension, that a request may ask for.
MAX_LINE_CELLS, MAX_IMAGE_CELLS = 10_000, 2000
#: Maximum number of values read at a time, bytes that reducing them needs for each, and bytes of elements read at a time.
BLOCK_VALUES, _BYTES_OF_VALUE, _BLOCK_BYTES = 1 << 21, 24, 64 << 20
#: Values of a coordinate that is read for an axis; longer axes are numbered.
MAX_COORDINATE_VALUES = 1 << 22
#: Blocks of an overview. More cannot be read in the time of an answer, and their list would need much memory.
_MAX_BLOCKS = 1 << 17
#: Damaged parts after which an overview is given up, and messages about them that are sent.
_MAX_DAMAGED, _MAX_MESSAGES = 200, 3
Block = TypeVar("Block")


def _element_bytes(dataset: Dataset) -> int:
    """Bytes that are read for each value; of one field all others of its element, too."""
    return max(1, getattr(dataset, "element_bytes", dataset.dtype.itemsize))


def block_values(dataset: Dataset) -> int:
    """Number of values of a dataset that are read at a time. Elements of compound datasets may be long."""
    return max(1, min(BLOCK_VALUES, _BLOCK_BYTES // _element_bytes(dataset)))


def block_bytes(dataset: Dataset) -> int:
    """Memory that reading and reducing values needs."""
    return block_values(dataset) * (_element_bytes(dataset) + _BYTES_OF_VALUE)


@dataclass
class Overview:
    """The cells of a line or of an image.

    Attributes:
        low, high: Minimum and maximum of each cell; NaN if it has no value.
        steps: Number of values along each drawn dimension that share a cell.
        is_complete: Whether all values were read; otherwise the time was over, and the cells that are left are NaN.
        damaged: Messages about parts that cannot be read.
        total, count: Sum and number of all values that are neither missing nor infinite.
    """

    low: AnyArray
    high: AnyArray
    steps: tuple[int, ...]
    is_complete: bool = True
    damaged: list[str] = field(default_factory=list)
    total: float = 0.0
    count: int = 0


def drawn_members(dataset: Dataset, members: Sequence[Member] | None) -> tuple[Member, ...]:
    """The selection of an overview: one range or two, and an index for each other dimension.

    Args:
        dataset: A dataset of numbers.
        members: The selection of the request; by default the last two dimensions, at index 0 of the others.

    Raises:
        Refused: The dataset has no numbers, or the selection has no or too many ranges.
    """
    if dataset.dtype.kind not in "iufb" or dataset.ndim == 0 or not dataset.size:
        raise Refused(422, f"'{dataset.name}' is not an array of numbers with something in it: choose another dataset")
    given = list(members or [])
    for position in range(len(given), dataset.ndim):
        given.append(0 if position < dataset.ndim - 2 else slice(None))
    ranges = 0
    for position, (member, extent) in enumerate(zip(given, dataset.shape, strict=True)):
        if isinstance(member, slice):
            start, stop, step = member.indices(extent)
            if step != 1:
                raise Refused(422, "an overview has ranges without steps: leave the step out")
            if start >= stop:
                raise Refused(422, f"the range {start}:{stop} of dimension {position} is empty")
            given[position] = slice(start, stop)
            ranges += 1
        elif not -extent <= member < extent:
            raise Refused(422, f"index {member} is outside of a dimension of size {extent}")
    if not 1 <= ranges <= 2:
        raise Refused(422, f"an overview has one range or two, and the selection has {ranges}: give an index for each other dimension")
    return tuple(given)


def overview(dataset: Dataset, members: tuple[Member, ...], cells: Sequence[int], watch: Watch) -> Overview:
    """Reads a selection block by block.

    If the time is over, cells are left out. The blocks are read in an order that spreads over the selection, so that a part of them gives
    an impression of the whole.

    Args:
        dataset: A dataset of numbers.
        members: A selection of `drawn_members`.
        cells: Maximum number of cells along each range.
        watch: Ends the reading.

    Raises:
        CorruptError: Very many parts are damaged.
        Refused: There are far too many values.
        Gone: The client is gone.
    """
    ranges = [member for member in members if isinstance(member, slice)]
    extents = [part.stop - part.start for part in ranges]
    steps = tuple(-(-extent // limit) for extent, limit in zip(extents, cells, strict=True))
    counts = [-(-extent // step) for extent, step in zip(extents, steps, strict=True)]
    found = Overview(np.full(counts, np.nan), np.full(counts, np.nan), steps)
    if (values := math.prod(extents)) > _MAX_BLOCKS * block_values(dataset):
        raise Refused(413, f"these are {values:,} values, too many for an overview: select less of the dataset")
    reader = _Reader(dataset, members, ranges)
    for block in spread(list(_blocks(counts, steps, block_values(dataset)))):
        watch.check()
        if watch.is_late:
            found.is_complete = False
            break
        _reduce(reader, block, found, watch)
    return found


class _Reader:
    """Reads boxes of the selection, and reduces them to the ends of its cells."""

    def __init__(self, dataset: Dataset, members: tuple[Member, ...], ranges: list[slice]) -> None:
        self._dataset, self._members, self._ranges, self._block = dataset, members, ranges, block_values(dataset)
        self._decoder = Decoder(dataset, as_numbers=True)

    def parts(self, box: tuple[slice, ...]) -> Iterator[tuple[slice, ...]]:
        """The box itself; one that has too many values at once, which is a single cell, in parts."""
        clipped = [slice(part.start, min(part.stop, whole.stop - whole.start)) for part, whole in zip(box, self._ranges, strict=True)]
        last = clipped[-1]
        rows = _split(clipped[0], max(1, self._block // (last.stop - last.start))) if len(clipped) == 2 else [None]
        for columns in _split(last, self._block):
            yield from ((columns,) if part is None else (part, columns) for part in rows)

    def ends(self, box: tuple[slice, ...], steps: tuple[int, ...]) -> tuple[AnyArray, AnyArray, float, int]:
        """Minimum and maximum of each cell of a box, and the sum and the number of its values that are neither missing nor infinite."""
        boxes = iter(slice(whole.start + part.start, whole.start + part.stop) for whole, part in zip(self._ranges, box, strict=True))
        raw = np.asarray(self._dataset[tuple(next(boxes) if isinstance(member, slice) else member for member in self._members)])
        values = np.asarray(self._decoder.decoded(raw))
        is_missing = ~np.isfinite(values) if values.dtype.kind == "f" else None
        if is_missing is None or not is_missing.any():
            low, high = (_ends(values, steps, function).astype(float) for function in (np.minimum, np.maximum))
            return low, high, float(values.sum(dtype=float)), values.size
        values = np.where(is_missing, np.nan, values.astype(float))
        count = values.size - int(np.count_nonzero(is_missing))
        return _ends(values, steps, np.fmin), _ends(values, steps, np.fmax), float(np.nansum(values)), count


def _reduce(reader: _Reader, block: tuple[slice, ...], found: Overview, watch: Watch) -> None:
    """Fills the cells of a block (ranges of cells). A damaged block is halved until its damaged cells are alone."""
    box = tuple(slice(part.start * step, part.stop * step) for part, step in zip(block, found.steps, strict=True))
    try:
        for part in reader.parts(box):
            watch.check()
            if watch.is_late:
                found.is_complete = False
                return
            low, high, total, count = reader.ends(part, found.steps)
            found.low[block], found.high[block] = np.fmin(found.low[block], low), np.fmax(found.high[block], high)
            found.total, found.count = found.total + total, found.count + count
    except CorruptError as error:
        if len(found.damaged) >= _MAX_DAMAGED:
            raise
        longest = max(range(len(block)), key=lambda axis: block[axis].stop - block[axis].start)
        cells = block[longest]
        if cells.stop - cells.start == 1:
            found.damaged.append(str(error))
            return
        middle = (cells.start + cells.stop) // 2
        for half in (slice(cells.start, middle), slice(middle, cells.stop)):
            _reduce(reader, (*block[:longest], half, *block[longest + 1 :]), found, watch)


def _ends(values: AnyArray, steps: tuple[int, ...], function: np.ufunc) -> AnyArray:
    """The values of each cell, reduced by a function; the last cell of a dimension may have fewer."""
    for axis, step in reversed(list(enumerate(steps))):
        if step > 1:
            values = function.reduceat(values, np.arange(0, values.shape[axis], step), axis=axis)
    return values


def _blocks(counts: Sequence[int], steps: Sequence[int], values: int) -> Iterator[tuple[slice, ...]]:
    """Boxes of cells, of about `values` values each."""
    wide = _parts(counts[-1], max(1, values // (steps[-1] * (steps[0] if len(counts) == 2 else 1))))
    if len(counts) == 1:
        yield from ((part,) for part in wide)
        return
    for columns in wide:
        for rows in _parts(counts[0], max(1, values // (steps[0] * steps[1] * (columns.stop - columns.start)))):
            yield rows, columns


def _parts(extent: int, length: int) -> list[slice]:
    return _split(slice(0, extent), length)


def _split(whole: slice, length: int) -> list[slice]:
    return [slice(start, min(start + length, whole.stop)) for start in range(whole.start, whole.stop, length)]


def spread(blocks: list[Block]) -> list[Block]:
    """The same blocks in the order of the reversed bits of their positions: the first ones lie all over the selection."""
    bits = max(1, math.ceil(math.log2(len(blocks)))) if len(blocks) > 1 else 1
    return [blocks[position] for position in sorted(range(len(blocks)), key=lambda position: int(f"{position:0{bits}b}"[::-1], 2))]


def described(dataset: Dataset, members: tuple[Member, ...], found: Overview) -> JsonObject:
    """The answer to a request for an overview."""
    ranges = [(dimension, member) for dimension, member in enumerate(members) if isinstance(member, slice)]
    return {
        "selection": ",".join(f"{member.start}:{member.stop}" if isinstance(member, slice) else str(member) for member in members),
        "shape": list(found.low.shape),
        "steps": found.steps,
        "values": math.prod(member.stop - member.start for _, member in ranges),
        "is_exact": all(step == 1 for step in found.steps),
        "is_complete": found.is_complete,
        "damaged": list(dict.fromkeys(found.damaged))[:_MAX_MESSAGES],
        "label": label_of(dataset, dataset.name.rsplit("/", 1)[-1]),
        "mean": found.total / found.count if found.count else None,
        "low": found.low.ravel(),
        "high": found.high.ravel(),
        "axes": [_axis(dataset, dimension, member, step) for (dimension, member), step in zip(ranges, found.steps, strict=True)],
    }


def _axis(dataset: Dataset, dimension: int, member: slice, step: int) -> JsonObject:
    """A drawn dimension: its name, its range, and the coordinate in the middle of each cell if the file has one of numbers."""
    name = (dataset.dims[dimension] if dataset.dims else None) or f"dimension {dimension}"
    axis: JsonObject = {"dimension": dimension, "label": name, "start": member.start, "stop": member.stop, "coordinate": None}
    if dataset.shape[dimension] > MAX_COORDINATE_VALUES:
        return axis
    try:
        coordinate = coordinate_of(dataset, dimension, 1)
    except Error:
        return axis  # a coordinate that cannot be read leaves the axis numbered
    middle = np.minimum(np.arange(member.start, member.stop, step) + step // 2, member.stop - 1)
    if coordinate.known and coordinate.values.dtype.kind == "M":
        ends = (value_text(coordinate.values[at]) for at in (member.start, member.stop - 1))
        return {**axis, "label": f"{coordinate.label} ({' to '.join(ends)})"}
    if coordinate.known:
        return {**axis, "label": coordinate.label, "coordinate": coordinate.values[middle].astype(float)}
    return axis
