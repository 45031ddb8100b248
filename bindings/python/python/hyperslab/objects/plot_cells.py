"""What pictures of datasets are made of: the values of cells, each of which stands for one value or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from .. import _native
from ..base.description import Description
from ..base.errors import UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, Elements, Key
from .attributes import Attributes
from .decoding import Decoder
from .plot_dates import calendar_of, days

#: Maximum number of values read at a time.
BLOCK_VALUES = 1 << 21

Array = AnyArray


class Dataset(Protocol):
    """The part of a dataset's interface that plots use."""

    @property
    def name(self) -> str: ...

    _file: _native.File
    _number: int
    _about: Description

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> AnyDtype: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int | None: ...

    @property
    def dims(self) -> tuple[str | None, ...]: ...

    @property
    def attrs(self) -> Attributes: ...

    def _scale(self, dimension: int) -> Dataset | None: ...

    @property
    def parent(self) -> Any: ...

    @property
    def file(self) -> Any: ...

    def __getitem__(self, key: Key) -> Elements: ...


class Extremes(NamedTuple):
    """The minimum and maximum of each cell (NaN if it has no value), and the mean of all values."""

    low: Array
    high: Array
    mean: float


class Part(NamedTuple):
    """What is drawn of a dataset: two dimensions or one, in the order of the picture, and the indexes of the others."""

    dataset: Dataset
    dimensions: tuple[int, ...]
    fixed: dict[int, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the drawn dimensions."""
        return tuple(self.dataset.shape[dimension] for dimension in self.dimensions)

    def read(self, block: tuple[slice, ...]) -> Array:
        """The values of a box of the drawn dimensions as floats, missing ones NaN."""
        by_dimension = dict(zip(self.dimensions, block, strict=True))
        key = tuple(self.fixed[dimension] if dimension in self.fixed else by_dimension[dimension] for dimension in range(self.dataset.ndim))
        values = as_drawn(self.dataset, key)
        order = sorted(range(len(self.dimensions)), key=lambda place: self.dimensions[place])
        return values.transpose(np.argsort(order)) if order != list(range(len(order))) else values


def extremes(part: Part, steps: list[int], change: Callable[[tuple[slice, ...], Array], Array] | None = None) -> Extremes:
    """The minimum and maximum of the cells of the picture, each of `steps` values, read a block at a time. `change` gets each block with its values."""
    shape = part.shape
    counts = [-(-extent // step) for extent, step in zip(shape, steps, strict=True)]
    low, high = np.full(counts, np.nan), np.full(counts, np.nan)
    total, number = 0.0, 0
    for block in _blocks(shape, steps):
        values = part.read(block)
        if change is not None:
            values = change(block, values)
        # Whole cells: values beyond the end are missing.
        values = np.pad(values, [(0, -extent % step) for extent, step in zip(values.shape, steps, strict=True)], constant_values=np.nan)
        split = values.reshape([n for extent, step in zip(values.shape, steps, strict=True) for n in (extent // step, step)])
        cells = tuple(slice(part.start // step, -(-part.stop // step)) for part, step in zip(block, steps, strict=True))
        for cell_values, reduce in ((low, np.fmin.reduce), (high, np.fmax.reduce)):
            reduced = split
            for axis in range(1, len(shape) + 1):  # the slow dimension first: there are fewer values for the fast one then
                reduced = reduce(reduced, axis=axis)
            cell_values[cells] = reduced
        total, number = total + float(np.nansum(values)), number + int(np.count_nonzero(~np.isnan(values)))
    return Extremes(low, high, total / number if number else 0.0)


def middles(part: Part, steps: list[int], change: Callable[[tuple[slice, ...], Array], Array] | None = None) -> Array:
    """The value in the middle of each cell of the picture: of categories no other one stands for the cell. `change` as of `extremes`."""
    firsts = [min(step // 2, extent - 1) for step, extent in zip(steps, part.shape, strict=True)]
    block = tuple(slice(first, None, step) for first, step in zip(firsts, steps, strict=True))
    found = part.read(block) if change is None else change(block, part.read(block))
    counts = [-(-extent // step) for extent, step in zip(part.shape, steps, strict=True)]
    # The last cell can be too short to have a middle.
    return np.pad(found, [(0, count - extent) for count, extent in zip(counts, found.shape, strict=True)], mode="edge")


def _blocks(shape: tuple[int, ...], steps: list[int]) -> Iterator[tuple[slice, ...]]:
    """Boxes of whole cells, of about `BLOCK_VALUES` values each."""
    if len(shape) == 1:
        yield from ((part,) for part in _parts(shape[0], steps[0], BLOCK_VALUES))
        return
    columns = _parts(shape[1], steps[1], max(1, BLOCK_VALUES // steps[0]))
    for part in columns:
        for rows in _parts(shape[0], steps[0], max(1, BLOCK_VALUES // (part.stop - part.start))):
            yield rows, part


def _parts(extent: int, step: int, aim: int) -> list[slice]:
    """Ranges of whole steps, `aim` long or a step."""
    length = max(step, aim // step * step)
    return [slice(start, min(start + length, extent)) for start in range(0, extent, length)]


def decoded(dataset: Dataset, key: tuple[int | slice, ...]) -> Array:
    """The values as floats: missing and infinite ones NaN, packed ones unpacked; times are counts."""
    values: Array = np.asarray(Decoder(cast(Any, dataset), as_numbers=True).decoded(np.asarray(dataset[key]))).astype("f8")
    return np.where(np.isfinite(values), values, np.nan)


def has_numbers(dataset: Dataset, kinds: str) -> bool:
    """Whether a dataset has a datatype of these kinds of numpy, and values."""
    try:
        return dataset.dtype.kind in kinds and bool(dataset.size)
    except UnsupportedError:
        return False  # numpy lacks its datatype


def as_drawn(dataset: Dataset, key: tuple[int | slice, ...]) -> Array:
    """The values as pictures show them: as `decoded`, but times are days since 1970 in their calendar."""
    if calendar_of(dataset) is None:
        return decoded(dataset, key)
    return days(dataset, np.asarray(dataset[key]))


def slabs(shape: tuple[int, ...]) -> Iterator[tuple[int | slice, ...]]:
    """Keys that together select an array of this shape, of about `BLOCK_VALUES` values each."""
    below = int(np.prod(shape[1:], dtype=object))
    if below > BLOCK_VALUES:
        yield from ((index, *rest) for index in range(shape[0]) for rest in slabs(shape[1:]))
    else:
        yield from ((part,) for part in _parts(shape[0], 1, max(1, BLOCK_VALUES // max(1, below))))


def histogram(dataset: Dataset, bins: int, log: bool) -> tuple[Array, Array, int]:
    """Counts and edges of bins of equal width (with `log` of equal ratio) over all values, and the number of values without a bin:
    missing ones and, with `log`, those that are not above 0. All values are read twice."""
    low, high = np.inf, -np.inf
    for key in slabs(dataset.shape):
        values = as_drawn(dataset, key)
        values = values[values > 0] if log else values[~np.isnan(values)]
        if values.size:
            low, high = min(low, float(values.min())), max(high, float(values.max()))
    if low > high:
        return np.zeros(0, np.int64), np.zeros(0), dataset.size or 0
    if low == high:
        low, high = (low / 2, low * 2) if log else (low - 0.5, high + 0.5)
    edges = np.geomspace(low, high, bins + 1) if log else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = low, high
    counts = np.zeros(bins, np.int64)
    for key in slabs(dataset.shape):
        values = as_drawn(dataset, key)
        counts += np.histogram(values[~np.isnan(values)], edges)[0]
    return counts, edges, (dataset.size or 0) - int(counts.sum())
