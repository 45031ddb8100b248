"""Query: which elements of arrays match a condition, and statistics of the matching rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast, overload

import numpy as np

from .. import _native
from ..base.arguments import check_count
from ..base.errors import InvalidInputError
from ..base.extras import LateModule, require
from ..base.type_aliases import AnyArray, Int64Array, Path
from ..files.file import open as open_files
from ..objects.dataset import Dataset
from ..objects.native_objects import native_of
from ..objects.plot import picture
from ..sources.addresses import absolute, is_address
from ..sources.reopening import storage_options_of
from ..sources.sessions import session
from ..tables.constants import Named, named_lists
from ..tables.table import Split
from ..values import record_batches
from ..values.arrays import from_arrays
from ..values.batch_reader import BatchReader
from . import html
from .histogram_bins import Bins, Range
from .results import CountBounds, Step
from .sources import Files, Sources, holds_arrays, opened, short
from .structures import Structures

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
else:
    pa = LateModule("pyarrow")


def query(
    files: Files,
    group: str | re.Pattern[str] | None = "/",
    where: str | None = None,
    *,
    rows: str | None = None,
    variables: Mapping[str, object] | None = None,
    raw: bool = False,
    threads: int | None = None,
    index_folder: Path | None = None,
    indexes: str | None = None,
) -> Query:
    """Plans a query: which elements of the arrays of a group match a condition?

    Planning reads metadata, the coordinates that `where` names, and, once, the indexed values of files that were copied or
    touched since they were indexed. Valid indexes are used automatically.

    Args:
        files: A path, a list, a glob, a compiled regular expression (the whole path must match), an open file, an Arrow
            table, the path of a Parquet file, or a mapping of names to arrays: anything with `shape`, `dtype` and
            `__getitem__` (numpy, h5py, Zarr).
        group: Path of a group, with wildcards, or a compiled regular expression that the whole path must match. Each match is
            a step of the query.
        where: The condition, such as `"energy > 1.3 && 100 < x && x < 140"`. Names are arrays of the group, or paths. Without
            a condition, every row matches.
        rows: The array whose elements are the rows, if `where` does not determine it.
        variables: Arrays elsewhere by name: a `Dataset`, `"other.h5:/path[0:10]"`, or any array. A name after `in`
            (`id in ids`) is an array or a list of constants.
        raw: Values as stored; by default the netCDF conventions are applied (fill values, scale and offset, times).
        threads: Number of threads that decode; one per core by default.
        index_folder: The folder of indexes that are not next to the files.
        indexes: Which value indexes are used: `own` (the default), `any` or `none`, as in `hyperslab.open`.

    Returns:
        The query; its methods count, read and summarize the matching rows.

    Raises:
        NotFoundError: No file or no group matches, or a name is not an array.
        InvalidInputError: `where` is not a valid condition.

    Example:
        >>> q = hs.query("run.h5", "/Step#*", "energy > 1.3 && 100 < x && x < 140")
        >>> q.count(), q.values("energy")
    """
    lists, others = _lists(where, variables)
    bound = [(name, *_origin(name, value, threads)) for name, value in others.items()]
    return _of(opened(files, threads, index_folder, indexes), group, where, rows, bound, lists, raw)


def _lists(text: str | None, variables: Mapping[str, object] | None) -> tuple[list[Named], dict[str, object]]:
    """The lists of constants that `text` names, and the other variables."""
    lists = named_lists(text, variables)
    names = {name for name, _, _ in lists}
    return lists, {name: value for name, value in (variables or {}).items() if name not in names}


def _of(
    files: Sources,
    group: str | re.Pattern[str] | None,
    text: str | None,
    rows: str | None,
    variables: list[tuple[str, _native.File, str]],
    lists: list[Named],
    raw: bool,
) -> Query:
    natives, pattern, captures = files
    where = "re:" + group.pattern if isinstance(group, re.Pattern) else "/" if group is None else str(group)
    return Query(QueryRequest(natives, where, text, rows, variables, lists, pattern, captures, raw))


def query_of_absolute_paths(
    files: Files, group: str | re.Pattern[str] | None, text: str | None, rows: str | None, variables: Mapping[str, object] | None, raw: bool
) -> Query:
    """A query whose files are opened by absolute paths, for processes with other working folders."""
    natives, pattern, captures = opened(files)
    if not holds_arrays(files):
        natives = _native.Files([_of_absolute_path(native) for native in natives])
        pattern = None if pattern is None else absolute(pattern)
    lists, others = _lists(text, variables)
    bound = []
    for name, value in others.items():
        file, path = _origin(name, value, None)
        named = isinstance(value, (Dataset, str))
        bound.append((name, _of_absolute_path(file) if named else file, path))
    return _of(Sources(natives, pattern, captures), group, text, rows, bound, lists, raw)


def _of_absolute_path(native: _native.File) -> _native.File:
    return native if is_address(native.path) else session().open([os.path.abspath(native.path)])[0]


def _origin(name: str, value: object, threads: int | None) -> tuple[_native.File, str]:
    if isinstance(value, Dataset):
        return native_of(value)[0], value.name
    if isinstance(value, str):
        file, colon, path = value.rpartition(":/")
        if not colon:
            raise InvalidInputError(f"{name} is {value!r}: give a file and a path in it, as in 'other.h5:/path'")
        found = open_files(file, threads=threads)
        if len(found.files) > 1:
            raise InvalidInputError(f"{name} is {value!r}: {len(found.files)} files match; give one")
        return native_of(found)[0], "/" + path
    return from_arrays(session(threads), {"value": value}), "/value"


class QueryRequest(NamedTuple):
    """What a query is planned from."""

    files: _native.Files | list[_native.File]
    group: str
    text: str | None
    rows: str | None
    variables: list[tuple[str, _native.File, str]]
    lists: list[Named]
    pattern: str | None
    captures: Sequence[tuple[str, Sequence[str]]]
    raw: bool
    #: Further conditions with their lists of constants.
    more: tuple[tuple[str, list[Named]], ...] = ()
    #: The position of the only step; `None` for all of them.
    step: int | None = None

    def plan(self) -> _native.Query:
        """The planned query."""
        native = _native.Query(
            self.files,
            self.group,
            self.text,
            rows=self.rows,
            variables=self.variables,
            lists=self.lists,
            file_pattern=self.pattern,
            file_captures=self.captures,
            decode=not self.raw,
        )
        if self.step is not None:
            native = native.step(self.step)
        for text, lists in self.more:
            native = native.and_also(text, lists)
        return native


class Query(Structures):
    """A condition on the arrays of one or more groups, and questions about the matching rows.

    `hs.query` makes one. Rows come in the order of the steps, and within a step in the row-major order of the array.

    A query goes to another process by pickle, which opens the files there and plans it again. A file that has changed is a
    `ConflictError`; arrays in memory are an `UnsupportedError`.

    Attributes:
        text: The condition, `None` for every row.
    """

    def __init__(self, request: QueryRequest, native: _native.Query | None = None) -> None:
        self._request, self._native, self.text = request, native or request.plan(), request.text
        for more, _ in request.more:
            self.text = more if self.text is None else f"({self.text}) and ({more})"

    def __eq__(self, other: object) -> bool:
        """Whether it is the same request for the same open files."""
        return isinstance(other, Query) and self._request == other._request

    def __hash__(self) -> int:
        return hash((tuple(self._request.files), self._request.group, self.text))

    def __reduce__(self) -> tuple[object, ...]:
        return Query, (self._request,)

    @property
    def names(self) -> list[str]:
        """The variables of the condition, which are the columns of tables if none are named."""
        return self._native.names()

    @property
    def steps(self) -> list[Step]:
        """The matched groups: file, path and array shape of each."""
        return [Step(step.file, step.group, tuple(step.shape)) for step in self._native.steps()]

    def step(self, number: int) -> Query:
        """Restricts the query to one step.

        Args:
            number: Position of the step in `steps`.

        Returns:
            The query of that step alone.

        Example:
            >>> q.step(0).count()
        """
        check_count("number", number)
        step = number if self._request.step is None else self._request.step
        return Query(self._request._replace(step=step), self._native.step(number))

    def where(self, text: str, *, variables: Mapping[str, object] | None = None) -> Query:
        """Adds a condition: the rows must match both.

        Args:
            text: The condition, about the variables of this query.
            variables: Lists of constants that `text` names after `in`.

        Returns:
            A new query; this one is unchanged.

        Raises:
            InvalidInputError: `text` is not a valid condition.

        Example:
            >>> hs.query("run.h5", "/", "energy > 1.3").where("x < 140").count()
        """
        lists, others = _lists(text, variables)
        if others:
            raise InvalidInputError(f"{next(iter(others))!r} is not a list after `in`: give other variables to `query`")
        return Query(self._request._replace(more=(*self._request.more, (text, lists))), self._native.and_also(text, lists))

    def _unconditioned(self, rows: str) -> Query:
        """The query of every row of the arrays called `rows`, in all steps."""
        return Query(self._request._replace(text=None, rows=rows, more=(), lists=[], step=None))

    def count(self) -> int:
        """Counts the matching rows, from an index alone if one answers it.

        Returns:
            The number of rows in all steps.

        Example:
            >>> hs.query("run.h5", "/", "energy > 1.3").count()
        """
        return self._native.count()

    def counts(self) -> Int64Array:
        """Counts the matching rows of each step.

        Returns:
            A number for each step.

        Example:
            >>> q.counts().sum() == q.count()
        """
        return np.array(self._native.counts(), dtype=np.int64)

    def bounds(self) -> CountBounds:
        """Bounds the number of matching rows from indexes alone: reads no data.

        With an index of level K, the bounds are off by at most 128 rows per block. Without an index, the lower bound is 0 and
        the upper bound the number of rows.

        Returns:
            Lower and upper bound, both inclusive.

        Example:
            >>> q.bounds().upper
        """
        return CountBounds(*self._native.bounds())

    def positions(self) -> Int64Array:
        """Finds the positions of the matching rows.

        Returns:
            Row-major positions from 0 in the array of each step, step after step; `counts` says how many belong to each. In
            a query of a part of an array, positions are relative to the part.

        Example:
            >>> q.positions()
        """
        found = self._positions()
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _positions(self) -> list[Int64Array]:
        return [record_batches.column(capsules).to_numpy().view(np.int64) for capsules in self._native.positions()]

    def coordinates(self) -> Int64Array:
        """Finds the indexes of the matching rows along each dimension.

        Returns:
            An array with a row per matching row and a column per dimension.

        Raises:
            InvalidInputError: The arrays of the steps have different numbers of dimensions.

        Example:
            >>> q.coordinates()
        """
        steps = self.steps
        if len({len(step.shape) for step in steps}) > 1:
            raise InvalidInputError("the arrays have different numbers of dimensions: ask for the coordinates of one `step`")
        parts = [
            np.stack(np.unravel_index(rows, step.shape), axis=1) if step.shape else np.zeros((len(rows), 0), np.int64)
            for rows, step in zip(self._positions(), steps, strict=True)
        ]
        return np.concatenate(parts).astype(np.int64, copy=False)

    def table(self, columns: Sequence[str] | None = None, batch_rows: int = 65536) -> pa.Table:
        """Reads columns of the matching rows.

        Args:
            columns: Variables, dimensions, captures of wildcards, `_row` (the position) and `_file`; by default the variables
                of the condition.
            batch_rows: Maximum number of rows of a record batch.

        Returns:
            The rows as one table.

        Example:
            >>> hs.query("run.h5", "/Step#*", "energy > 1.3").table(["step", "x", "energy"])
        """
        return self.batches(columns, batch_rows).read_all()

    def batches(self, columns: Sequence[str] | None = None, batch_rows: int = 65536) -> BatchReader:
        """Reads columns of the matching rows batch by batch; arguments as in `table`.

        Args:
            columns, batch_rows: As in `table`.

        Returns:
            A reader of the record batches, which is also an Arrow stream.

        Example:
            >>> for batch in q.batches(["x", "energy"]):
            ...     print(batch.num_rows)
        """
        check_count("batch_rows", batch_rows)
        plan = self._native.table(self._named(columns), batch_rows)
        return BatchReader(plan.read())

    def _named(self, columns: str | Sequence[str] | None) -> list[str]:
        """The requested columns; by default the variables of the condition."""
        if columns is None:
            return self.names
        return [columns] if isinstance(columns, str) else list(columns)

    def splits(self, columns: Sequence[str] | None = None, count: int | None = None, target_bytes: int | None = None, batch_rows: int = 65536) -> list[Split]:
        """Divides `table(columns)` into units of reading for other threads, processes or machines.

        Args:
            columns: As in `table`.
            count: Number of splits.
            target_bytes: Bytes of values of a split, instead of `count`.
            batch_rows: Maximum number of rows of a record batch.

        Returns:
            Splits whose rows, one after the other, are the rows of the table in order. Splits omit rows that wildcards or
            indexes rule out.

        Raises:
            UnsupportedError: The query is about arrays in the memory of this process, which others cannot read.

        Example:
            >>> q.splits(["x"], 8)[0].read()
        """
        check_count("count", count)
        check_count("target_bytes", target_bytes)
        check_count("batch_rows", batch_rows)
        plan = self._native.table(self._named(columns), batch_rows)
        schema = pa.schema(plan)
        options = storage_options_of(self._request.files)
        return [Split(data, schema, None, options) for data in plan.split(count, target_bytes)]

    def head(self, n: int = 5, columns: Sequence[str] | None = None) -> pa.Table:
        """Reads the first `n` rows of `table(columns)`, and not the rest.

        Args:
            n: Number of rows.
            columns: As in `table`.

        Returns:
            At most `n` rows.

        Example:
            >>> q.head(3)
        """
        check_count("n", n)
        reader, found = self.batches(columns, max(1, min(n, 65536))), []
        left = n
        while left > 0:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                break
            found.append(batch.slice(0, left))
            left -= found[-1].num_rows
        return pa.Table.from_batches(found, schema=reader.schema)

    @overload
    def values(self, name: str, /) -> AnyArray: ...

    @overload
    def values(self, first: str, second: str, /, *more: str) -> tuple[AnyArray, ...]: ...

    def values(self, *names: str) -> AnyArray | tuple[AnyArray, ...]:
        """Reads the values of variables at the matching rows.

        Args:
            names: The variables.

        Returns:
            An array for one name, a tuple of arrays for several. Arrays are masked if they contain nulls.

        Raises:
            InvalidInputError: No name is given.

        Example:
            >>> x, y = hs.query("run.h5", "/", "energy > 1.3").values("x", "y")
        """
        if not names:
            raise InvalidInputError("name the variables whose values are wanted")
        once = list(dict.fromkeys(names))
        if (found := self._native.values(once)) is not None:
            columns = {name: record_batches.column(capsules).to_numpy() for name, capsules in zip(once, found, strict=True)}
            return columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names)
        table = self.table(once)
        arrays = tuple(record_batches.as_numpy(table.column(name)) for name in names)
        return arrays[0] if len(arrays) == 1 else arrays

    @overload
    def plot(
        self,
        out: None = None,
        names: str | Sequence[str] | None = None,
        bins: Bins | Sequence[Bins] = 100,
        log: bool = False,
        *,
        range: Range | Sequence[Range | None] | None = None,
        weights: str | None = None,
        cmap: str | Colormap | None = None,
        ax: Axes | None = None,
    ) -> Figure: ...

    @overload
    def plot(
        self,
        out: str,
        names: str | Sequence[str] | None = None,
        bins: Bins | Sequence[Bins] = 100,
        log: bool = False,
        *,
        range: Range | Sequence[Range | None] | None = None,
        weights: str | None = None,
        cmap: str | Colormap | None = None,
        ax: Axes | None = None,
    ) -> str: ...

    def plot(
        self,
        out: str | None = None,
        names: str | Sequence[str] | None = None,
        bins: Bins | Sequence[Bins] = 100,
        log: bool = False,
        *,
        range: Range | Sequence[Range | None] | None = None,
        weights: str | None = None,
        cmap: str | Colormap | None = None,
        ax: Axes | None = None,
    ) -> Figure | str:
        """Draws a histogram of one variable, or an image of two. Needs matplotlib.

        Args:
            out: Path of the picture.
            names: One or two variables; by default the first ones of the condition.
            bins, range: As in `histogram` and `histogram2d`: of two variables, for both or a pair with one for each.
            log: Scale the counts logarithmically.
            weights: A variable whose sum is drawn, instead of a count.
            cmap: A colormap of matplotlib, for two variables.
            ax: The axes to draw into.

        Returns:
            `out` if it is a path, else the matplotlib figure.

        Raises:
            InvalidInputError: More than two variables.
            MissingExtraError: Matplotlib is not installed.

        Example:
            >>> q.plot("halo.png", ["x", "energy"])
        """
        require("plotting", "plot", "matplotlib")
        from matplotlib.colors import LogNorm

        shown = [names] if isinstance(names, str) else list(names or self.names[:2])
        if not 1 <= len(shown) <= 2:
            raise InvalidInputError("one or two variables can be drawn")
        figure = picture(layout="constrained") if ax is None else cast("Figure", ax.figure)
        axes = figure.subplots() if ax is None else ax
        label = "rows" if weights is None else f"sum of {weights}"
        if len(shown) == 1:
            counts, (edges,) = self.histogram(shown[0], cast(Bins, bins), cast("Range | None", range), weights)
            axes.stairs(counts, edges, fill=True)
            axes.set(xlabel=shown[0], ylabel=label, yscale="log" if log else "linear")
            if weights is None and not log:
                axes.locator_params(axis="y", integer=True)
        else:
            counts, (x, y) = self.histogram2d(shown[0], shown[1], bins, cast("Sequence[Range | None] | None", range), weights)
            # Empty bins have no color; a logarithmic scale has none for sums below 0 either.
            drawn = np.ma.masked_less_equal(counts.T, 0) if log else np.ma.masked_equal(counts.T, 0)
            norm = LogNorm() if log and drawn.count() else None
            image = axes.pcolormesh(x, y, drawn, norm=norm, cmap=cmap)
            figure.colorbar(image, ax=axes, label=label)
            axes.set(xlabel=shown[0], ylabel=shown[1])
        axes.set_title(self.text or "all rows", wrap=True)
        if out is None:
            return figure
        figure.savefig(out)
        return out

    def explain(self) -> str:
        """Describes how the query will run, as text for people.

        Returns:
            The strategy of each step, and the indexes that it uses.

        Example:
            >>> print(q.explain())
        """
        return self._native.explain()

    def __repr__(self) -> str:
        return f"<Query {self.text and short(self.text)!r} of {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        return html.of_query(self.text, self._request.group, self.steps, self.names, self.explain())
