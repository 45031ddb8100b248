"""Query: which elements of arrays satisfy a condition, and what is known of these."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import _native, record_batches
from .arguments import check_count
from .arrays import from_arrays
from .constants import Named, named_lists
from .errors import InvalidInputError
from .file import open as open_files
from .objects import Dataset
from .sessions import session
from .sources import Sources, holds_arrays, opened, short
from .table import Split

Bins = Union[int, str, Sequence[float], "np.ndarray[Any, Any]"]

#: Bins where none are said.
BINS = 10
#: The least positive double, and the greatest.
_TINIEST, _LARGEST = 5e-324, float(np.finfo(np.float64).max)
#: Values that one draws as points; more are a histogram.
_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


class Step(NamedTuple):
    """One place where a query is asked: a group of a file. `shape` is that of its arrays."""

    file: str
    group: str
    shape: tuple[int, ...]


class Histogram(NamedTuple):
    """`values[i, j, …]` are rows, or the sum of their weights, in bin i of the first axis, j of the second …;
    `edges` are the bins' edges of each axis."""

    values: Any
    edges: tuple[Any, ...]


def query(files: Any, group: Any = "/", text: str | None = None, *, rows: str | None = None, variables: Mapping[str, Any] | None = None,
          decode: bool = True, threads: int | None = None, index_folder: Any = None) -> Query:
    """Asks `text` of the arrays of a group.

    `files` is a path, a list, a glob, a compiled regular expression, an open file, or a mapping of names to arrays:
    anything with `shape`, `dtype` and `__getitem__` (numpy, h5py, Zarr), Arrow tables, or the path of a Parquet file.
    `group` is a path with wildcards, or a compiled regular expression that the whole path matches; the names in `text`
    are arrays in it, or paths. `variables` gives names to arrays elsewhere: a `Dataset`, `"other.h5:/path[0:10]"`, or any
    array; a name behind `in` (`id in ids`) stands for an array or a list of constants. `rows` names the array whose
    elements are asked for, where `text` does not say so. Without `text` the answer is every row. `index_folder` is where
    indexes are that do not lie beside the files. Planning reads metadata, coordinates that `text` speaks of, and, once, the
    indexed values of files that were copied or touched since they were indexed."""
    lists, others = _lists(text, variables)
    bound = [(name, *_origin(name, value, threads)) for name, value in others.items()]
    return _of(opened(files, threads, index_folder), group, text, rows, bound, lists, decode)


def _lists(text: str | None, variables: Mapping[str, Any] | None) -> tuple[list[Named], dict[str, Any]]:
    """Lists of constants that `text` names, and what else `variables` has."""
    lists = named_lists(text, variables)
    names = {name for name, _, _ in lists}
    return lists, {name: value for name, value in (variables or {}).items() if name not in names}


def _of(files: Sources, group: Any, text: str | None, rows: str | None, variables: list[tuple[str, _native.File, str]], lists: list[Named], decode: bool) -> Query:
    natives, pattern, captures = files
    where = "re:" + group.pattern if isinstance(group, re.Pattern) else "/" if group is None else str(group)
    native = _native.Query(natives, where, text, rows=rows, variables=variables, lists=lists, file_pattern=pattern, file_captures=captures, decode=decode)
    return Query(native, text)


def query_of_absolute_paths(files: Any, group: Any, text: str | None, rows: str | None, variables: Mapping[str, Any] | None, decode: bool) -> Query:
    """As `query`, with all files opened by absolute paths: what processes in other folders read."""
    natives, pattern, captures = opened(files)
    if not holds_arrays(files):
        natives = session().open([os.path.abspath(native.path) for native in natives])
        pattern = None if pattern is None else os.path.abspath(pattern)
    lists, others = _lists(text, variables)
    bound = []
    for name, value in others.items():
        file, path = _origin(name, value, None)
        named = isinstance(value, (Dataset, str))
        bound.append((name, session().open([os.path.abspath(file.path)])[0] if named else file, path))
    return _of(Sources(natives, pattern, captures), group, text, rows, bound, lists, decode)


def _origin(name: str, value: Any, threads: int | None) -> tuple[_native.File, str]:
    if isinstance(value, Dataset):
        return value._file, value.name
    if isinstance(value, str):
        file, colon, path = value.rpartition(":/")
        if not colon:
            raise InvalidInputError(f"{name} is {value!r}: give a file and a path in it, as in 'other.h5:/path'")
        found = open_files(file, threads=threads)
        if len(found.files) > 1:
            raise InvalidInputError(f"{name} is {value!r}: {len(found.files)} files match; give one")
        return found._file, "/" + path
    return from_arrays(session(threads), {"value": value}), "/value"


class Query:
    """A question, and what can be asked of the rows that satisfy it. Rows come in the order of the steps, and within a step
    in that of the array (row-major)."""

    def __init__(self, native: _native.Query, text: str | None) -> None:
        self._native, self.text = native, text

    @property
    def steps(self) -> list[Step]:
        """Where it is asked: file, group and shape of each step."""
        return [Step(file, group, tuple(shape)) for file, group, shape in self._native.steps()]

    def step(self, number: int) -> Query:
        """The same question of one step."""
        check_count("number", number)
        return Query(self._native.step(number), self.text)

    def where(self, text: str, *, variables: Mapping[str, Any] | None = None) -> Query:
        """The question with one more condition; `variables` gives lists that it names behind `in`."""
        lists, others = _lists(text, variables)
        if others:
            raise InvalidInputError(f"{next(iter(others))!r} is no list behind `in`: give other variables to `query`")
        return Query(self._native.and_also(text, lists), text if self.text is None else f"({self.text}) and ({text})")

    def count(self) -> int:
        """How many rows satisfy the condition."""
        return self._native.count()

    def counts(self) -> Any:
        """How many do in each step."""
        return np.array(self._native.counts(), dtype=np.int64)

    def bounds(self) -> tuple[int, int]:
        """At least and at most so many rows: what indexes tell without the data. Indexes of level K are off by 128 rows a
        block at most; without an index nothing is known but how many rows there are."""
        return self._native.bounds()

    def positions(self) -> Any:
        """Their places in the arrays: row-major numbers from 0, of each step one after the other (`counts` tells how many are
        of which). Of a part of an array they are places in the part."""
        found = self._positions()
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _positions(self) -> list[Any]:
        return [record_batches.column(capsules).to_numpy().view(np.int64) for capsules in self._native.positions()]

    def coordinates(self) -> Any:
        """Their indexes: a row for each, a column for each dimension. All steps must have as many dimensions."""
        steps = self.steps
        if len({len(step.shape) for step in steps}) > 1:
            raise InvalidInputError("the arrays have different numbers of dimensions: ask for the coordinates of one `step`")
        parts = [np.stack(np.unravel_index(rows, step.shape), axis=1) if step.shape else np.zeros((len(rows), 0), np.int64)
                 for rows, step in zip(self._positions(), steps)]
        return np.concatenate(parts).astype(np.int64, copy=False)

    def table(self, columns: Sequence[str] | None = None, batch_rows: int = 65536) -> pa.Table:
        """Columns of these rows: variables, dimensions, what wildcards matched, `_row` (the position) and `_file`.
        Without names: the variables of the condition."""
        return self.batches(columns, batch_rows).read_all()

    def batches(self, columns: Sequence[str] | None = None, batch_rows: int = 65536) -> pa.RecordBatchReader:
        """As `table`, a batch at a time."""
        check_count("batch_rows", batch_rows)
        plan = self._native.table(self._named(columns), batch_rows)
        return pa.RecordBatchReader.from_batches(pa.schema(plan), record_batches.batches(plan.read()))

    def _named(self, columns: str | Sequence[str] | None) -> list[str]:
        """The columns that are asked for: the condition's variables without names."""
        if columns is None:
            return self._native.names()
        return [columns] if isinstance(columns, str) else list(columns)

    def splits(self, columns: Sequence[str] | None = None, count: int | None = None, target_bytes: int | None = None,
               batch_rows: int = 65536) -> list[Split]:
        """`table` as units of reading for other threads, processes or machines: `count` of them, or of about `target_bytes`
        each. In their order they give its rows in their order; rows that wildcards or indexes leave out have none. Arrays
        that this process holds are refused: others do not find them."""
        check_count("count", count)
        check_count("target_bytes", target_bytes)
        check_count("batch_rows", batch_rows)
        plan = self._native.table(self._named(columns), batch_rows)
        schema = pa.schema(plan)
        return [Split(data, schema) for data in plan.split(count, target_bytes)]

    def _head(self, columns: Sequence[str] | None, rows: int) -> pa.Table:
        """The first rows of a table; what is behind them is not read."""
        reader, found = self.batches(columns, max(1, min(rows, 65536))), []
        left = rows
        while left > 0:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                break
            found.append(batch.slice(0, left))
            left -= found[-1].num_rows
        return pa.Table.from_batches(found, schema=reader.schema)

    def values(self, *names: str) -> Any:
        """The values of variables at these rows: an array for one name, a tuple of arrays for several."""
        if not names:
            raise InvalidInputError("name the variables whose values are wanted")
        once = list(dict.fromkeys(names))
        if (found := self._native.values(once)) is not None:
            columns = {name: record_batches.column(capsules).to_numpy() for name, capsules in zip(once, found)}
            return columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names)
        table = self.table(once)
        arrays = tuple(_numpy(table.column(name)) for name in names)
        return arrays[0] if len(arrays) == 1 else arrays

    def minmax(self, name: str) -> tuple[Any, Any] | None:
        """The least and the greatest value at these rows; nulls and NaN are left out, and `None` where nothing is left."""
        ends = record_batches.column(self._native.extremes(name)).to_pylist()
        return (ends[0], ends[1]) if ends else None

    def sum(self, name: str) -> Any:
        """The sum of the values: exact for integers, in double precision for floats; nulls and NaN are left out."""
        extremes = self._native.summary(name)[3]
        return 0 if extremes is None else extremes[2]

    def quantile(self, name: str, q: float | Sequence[float], method: str = "linear") -> Any:
        """The exact quantiles of the values, as `numpy.nanquantile` has them (NaN where there are none). Nulls and NaN are
        left out. `method` is linear, lower, higher, nearest or midpoint."""
        if method not in _METHODS:
            raise InvalidInputError(f"method {method!r} is none of {', '.join(_METHODS)}")
        wanted = np.asarray(q, dtype=np.float64)
        if np.any(~((wanted >= 0) & (wanted <= 1))):
            raise InvalidInputError("quantiles lie in the range 0 to 1")
        count, capsules = self._native.order_statistics(name, wanted.ravel().tolist())
        if count == 0:
            return np.full(wanted.shape, np.nan)[()]
        pairs = record_batches.column(capsules).to_numpy(zero_copy_only=False)
        found = _between(pairs[0::2], pairs[1::2], wanted.ravel() * (count - 1), method)
        return found.reshape(wanted.shape)[()]

    def histogram(self, name: str, bins: Bins = BINS, range: tuple[float, float] | None = None, weights: str | None = None,
                  log: bool = False) -> Histogram:
        """How many of these rows lie in each bin, or the sums of their `weights` (a variable). `bins` is a number of bins of
        equal width (or of equal ratio with `log`), edges, or `"adaptive"` or `"adaptive:64"` for bins of equal weight, whose
        edges are exact quantiles. Without a `range`, bins reach from the least to the greatest value (with `log`, from the
        least positive one)."""
        return self._histogram((name,), (bins,), (range,), weights, (log,))

    def histogram2d(self, x: str, y: str, bins: Any = BINS, range: Any = None, weights: str | None = None, log: Any = False) -> Histogram:
        """As `histogram`, of two variables; `bins`, `range` and `log` are for both, or a pair."""
        return self._histogram((x, y), *_each(2, bins, range), weights, _logs(2, log))

    def histogram3d(self, x: str, y: str, z: str, bins: Any = BINS, range: Any = None, weights: str | None = None, log: Any = False) -> Histogram:
        """As `histogram`, of three variables."""
        return self._histogram((x, y, z), *_each(3, bins, range), weights, _logs(3, log))

    def histogram_bounds(self, name: str, bins: Any, range: tuple[float, float] | None = None) -> tuple[Any, Any, Any]:
        """At least and at most so many rows in each bin, and the edges, from the index of `name` alone: no data are read.
        `bins` is a number of them in a `range`, or edges. For a condition on `name` itself, or none."""
        if isinstance(bins, (int, np.integer)) and range is None:
            raise InvalidInputError("histogram_bounds reads no data: give edges, or a range")
        edges = self._edges(name, bins, range, False)
        found = self._native.histogram_bounds(name, edges.tolist())
        if found is None:
            raise InvalidInputError(f"no index tells a histogram of {name}: it needs a valid one of level K or more, and a condition on {name} alone")
        least, most = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return least, most, edges

    def _histogram(self, names: tuple[str, ...], bins: tuple[Bins, ...], ranges: tuple[Any, ...], weights: str | None, logs: tuple[bool, ...]) -> Histogram:
        edges = tuple(self._edges(name, b, r, log) for name, b, r, log in zip(names, bins, ranges, logs))
        raw = self._native.histogram([(name, e.tolist()) for name, e in zip(names, edges)], weights)
        values = np.frombuffer(raw, dtype=np.int64 if weights is None else np.float64)
        return Histogram(values.reshape([len(e) - 1 for e in edges]), edges)

    def _edges(self, name: str, bins: Bins, range: tuple[float, float] | None, log: bool) -> Any:
        if isinstance(bins, str):
            word, _, number = bins.partition(":")
            if word != "adaptive" or (number and not number.isdecimal()) or log:
                raise InvalidInputError(f"bins={bins!r}: give a number, edges, or 'adaptive:64' (without log)")
            return self._adaptive(name, int(number or BINS), range)
        if not isinstance(bins, (int, np.integer)):
            return np.asarray(bins, dtype=np.float64)
        if bins < 1:
            raise InvalidInputError(f"bins is {bins}: give 1 or more")
        whole = self.where(f"{_quoted(name)} > 0") if log and range is None else self
        low, high = (float(end) for end in range or whole._finite(name) or ((1.0, 10.0) if log else (0.0, 1.0)))
        if not (np.isfinite(low) and np.isfinite(high)) or low > high or (log and low <= 0):
            raise InvalidInputError(f"a range of bins from {low} to {high}")
        if low == high:
            low, high = (max(low / 2, _TINIEST), min(high * 2, _LARGEST)) if log else (low - 0.5, high + 0.5)  # the latter as numpy
        return _rising(low, high, int(bins), log, range is not None)

    def _finite(self, name: str) -> tuple[Any, Any] | None:
        """The least and greatest finite value."""
        found = self.minmax(name)
        if found is not None and not all(np.isfinite(float(end)) for end in found):
            found = self.where(f"isfinite({_quoted(name)})").minmax(name)
        return found

    def _adaptive(self, name: str, bins: int, range: tuple[float, float] | None) -> Any:
        if bins < 1:
            raise InvalidInputError(f"bins is {bins}: give 1 or more")
        inside = self.where(f"isfinite({_quoted(name)})") if range is None else self.where(f"{float(range[0])!r} <= {_quoted(name)} <= {float(range[1])!r}")
        edges = np.unique(np.asarray(inside.quantile(name, np.linspace(0, 1, bins + 1).tolist()), dtype=np.float64))
        edges = edges[np.isfinite(edges)]
        if len(edges) < 2:
            middle = float(edges[0]) if len(edges) else 0.5
            return _rising(middle - 0.5, middle + 0.5, 1, False, False)
        return edges

    def plot(self, out: str | None = None, names: Sequence[str] | None = None, bins: Any = 100, log: bool = False) -> Any:
        """Draws a histogram of one variable, or an image of two (without `names`: the first variables of the condition).
        Gives `out` when that is a path, else the matplotlib figure."""
        from matplotlib.colors import LogNorm
        from matplotlib.figure import Figure

        shown = list(names or self._native.names()[:2])
        if not 1 <= len(shown) <= 2:
            raise InvalidInputError("one or two variables can be drawn")
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        if len(shown) == 1:
            counts, (edges,) = self.histogram(shown[0], bins)
            axes.stairs(counts, edges, fill=True)
            axes.set(xlabel=shown[0], ylabel="rows", yscale="log" if log else "linear")
        else:
            counts, (x, y) = self.histogram2d(shown[0], shown[1], bins)
            norm = LogNorm() if log and counts.any() else None
            image = axes.pcolormesh(x, y, np.ma.masked_equal(counts.T, 0), norm=norm)
            figure.colorbar(image, label="rows")
            axes.set(xlabel=shown[0], ylabel=shown[1])
        axes.set_title(self.text or "all rows", wrap=True)
        if out is None:
            return figure
        figure.savefig(out)
        return out

    def explain(self) -> str:
        """How the query will run."""
        return self._native.explain()

    def __repr__(self) -> str:
        return f"<Query {self.text and short(self.text)!r} of {len(self.steps)} steps>"


def _rising(low: float, high: float, bins: int, log: bool, is_given: bool) -> Any:
    """Edges from `low` to `high`; further apart if doubles are too coarse for so many, unless the range was given."""
    wider: tuple[float, float] | None = None
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            edges = np.geomspace(low, high, bins + 1) if log else np.linspace(low, high, bins + 1)
        edges[0], edges[-1] = low, high
        if is_given or bool(np.all(np.diff(edges) > 0)) or (low, high) == wider:
            return edges
        wider = (low, high)
        width = max(high - low, 4 * float(np.spacing(max(abs(low), abs(high)))))
        low, high = (max(low / 2, _TINIEST), min(high * 2, _LARGEST)) if log else (max(low - width / 2, -_LARGEST), min(high + width / 2, _LARGEST))


def _each(count: int, bins: Any, range: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    per_axis = isinstance(bins, (list, tuple)) and len(bins) == count and not all(isinstance(b, float) for b in bins)
    ranges = tuple(range) if range is not None else (None,) * count
    if len(ranges) != count:
        raise InvalidInputError(f"range has {len(ranges)} entries for {count} variables")
    return tuple(bins) if per_axis else (bins,) * count, ranges


def _logs(count: int, log: Any) -> tuple[bool, ...]:
    return (bool(log),) * count if isinstance(log, (bool, np.bool_)) else tuple(log)


def _quoted(name: str) -> str:
    base, bracket, part = name.partition("[") if name.endswith("]") else (name, "", "")
    return '"' + base.replace('"', '""') + '"' + bracket + part


def _numpy(column: Any) -> Any:
    """A column as numpy: masked where it has nulls."""
    if column.null_count == 0:
        return column.to_numpy()
    mask = column.is_null().to_numpy()
    if not pa.types.is_primitive(column.type):
        return column.to_numpy()
    default = False if pa.types.is_boolean(column.type) else pa.scalar(0, pa.int64()).cast(column.type)
    return np.ma.MaskedArray(pc.fill_null(column, default).to_numpy(), mask)


def _between(below: Any, above: Any, places: Any, method: str) -> Any:
    """What lies at `places`, between the values before and behind, by numpy's rules."""
    part = places - np.floor(places)
    if method == "lower":
        return below
    if method == "higher":
        return np.where(part > 0, above, below)
    if method == "nearest":
        even = np.floor(places) % 2 == 0
        return np.where((part < 0.5) | ((part == 0.5) & even), below, above)
    if method == "midpoint":
        part = np.where(part > 0, 0.5, 0.0)
    if below.dtype.kind not in "fc":
        below, above = below.astype(np.float64), above.astype(np.float64)
    with np.errstate(invalid="ignore"):
        step = above - below
        found = np.where(part < 0.5, below + step * part, above - step * (1 - part))
    # Between infinities of one sign there is nothing but these.
    return np.where(below == above, below, found)
