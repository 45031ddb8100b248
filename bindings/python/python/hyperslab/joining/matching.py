"""Matching: what many files have in common, which of their datasets go on from file to file, and along which dimension."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConflictError, Error, InvalidInputError, UnsupportedError
from ..file import File
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..values import dtype_encoding
from . import references
from .dimensions import Declared, declared, is_classic, is_placeholder, is_scale, scales_of
from .times import is_recountable, recounted, starts_at

#: Attributes that say how values are decoded: datasets with different ones cannot be one array.
_DECODING = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "units", "calendar", "dtype")
#: References between datasets and their scales. Those of the whole are written by `attach_scale`.
HIDDEN = ("DIMENSION_LIST", "REFERENCE_LIST")
#: Attributes in which variables name their coordinates.
_NAMING = ("coordinates", "bounds", "climatology", "grid_mapping")


class LeftOut(NamedTuple):
    """A file that is not part of a whole, and why."""

    path: str
    reason: str


@dataclass
class Series:
    """A dataset that goes on from file to file along `axis`; with `axis` `None`, along a new first dimension."""

    axis: int | None
    shape: tuple[int, ...]
    lengths: list[int] = field(default_factory=list)

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of the whole."""
        total = sum(self.lengths)
        return (total, *self.shape) if self.axis is None else (*self.shape[: self.axis], total, *self.shape[self.axis + 1 :])


class How(NamedTuple):
    """How files are joined: along the dimension `concat_dim`, along a `new_dim`, or along `axis` of `datasets` (`None`: of all). A file that
    has its own values can keep references."""

    concat_dim: str | None = None
    new_dim: str | None = None
    axis: int | None = None
    datasets: frozenset[str] | None = None
    compares: bool = True
    checks_order: bool = True
    keeps_references: bool = False


class Joined:
    """The files that fit together, and what the whole of them has."""

    def __init__(self, names: list[str], files: Iterable[Callable[[], File]], how: How, leaves_out: bool) -> None:
        """Opens the files with these names one by one and compares each with the first that could be opened.

        Raises:
            ConflictError: A file does not fit, unless what does not is left out.
            InvalidInputError: Along which dimension is not clear, or there is no such dimension.
        """
        self.how, self.names, self.paths, self.left_out = how, names, list[str](), list[LeftOut]()
        self.first: File | None = None
        self.objects: dict[str, Group | Dataset] = {}
        self.series: dict[str, Series] = {}
        #: Of each object, the names of the attributes that all files have with the same value.
        self.attributes: dict[str, set[str]] = {}
        #: Series of times that count from another date in some files.
        self.recounted = set[str]()
        #: First and last value of the coordinate in each file.
        self._ends: list[tuple[str, Any, Any]] = []
        #: Path of the scale of the dimension.
        self.scale: str | None = None
        #: The dimensions of the first file if it is netCDF classic.
        self.declared: dict[str, Declared] = {}
        self._values: dict[str, Any] = {}
        # Which dimension goes on is seen in two files: the first ones wait until it is known.
        waiting = list[File]()
        for number, opens in enumerate(files):
            try:
                file = opens()
                if self.first is not None:
                    self._add(file)
                    continue
                if not waiting:
                    self._begin(file)
            except Error as error:
                if not leaves_out:
                    raise
                self.left_out.append(LeftOut(_name_of(error, number), str(error)))
                continue
            waiting.append(file)
            if self._chosen(waiting):
                self._add_first(waiting, leaves_out)
                waiting = []
        if waiting:
            self._chosen(waiting, is_last=True)
            self._add_first(waiting, leaves_out)
        if self.first is None:
            raise InvalidInputError(f"none of {len(self.left_out)} files can be joined; the first: {self.left_out[0].reason}" if self.left_out else "no files")

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self.paths)

    def scale_of(self, path: str, axis: int) -> str | None:
        """Path of the dataset that is the scale of a dimension of the first file."""
        return scales_of(self.objects[path])[axis]  # type: ignore[arg-type]

    # The first file.

    def _begin(self, first: File) -> None:
        self.objects = {"/": first, **dict(_all_of(first, self.how.keeps_references))}
        self.declared = declared(first)
        for path, found in self.objects.items():
            self.attributes[path] = {name for name in found._file.attribute_names(found._number) if name not in HIDDEN}

    def _add_first(self, files: Sequence[File], leaves_out: bool) -> None:
        self.first = files[0]
        for file in files:
            try:
                self._add(file)
            except Error as error:
                if not leaves_out:
                    raise
                self.left_out.append(LeftOut(file.filename, str(error)))

    def _chosen(self, files: Sequence[File], is_last: bool = False) -> bool:
        """Decides which datasets go on; `False` if one more file has to be seen."""
        how = self.how
        datasets = {path: found for path, found in self.objects.items() if isinstance(found, Dataset)}
        if how.axis is not None:
            chosen = how.datasets if how.datasets is not None else {path for path, found in datasets.items() if found.ndim > how.axis}
            for path in chosen:
                found = datasets.get(path)
                if found is None or found.ndim <= how.axis:
                    what = "there is no such dataset" if found is None else f"it has {found.ndim} dimensions"
                    raise InvalidInputError(f"{path} cannot go on along axis {how.axis}: {what}", files[0].filename, path)
            self.series = {path: Series(how.axis, datasets[path].shape) for path in sorted(chosen)}
            return True
        if how.new_dim is not None:
            if f"/{how.new_dim}" in self.objects.keys() | self.declared.keys():
                raise InvalidInputError(f"new_dim={how.new_dim!r} is an object of the files already", files[0].filename)
            self.series = {path: Series(None, found.shape) for path, found in datasets.items() if path not in self._coordinates(datasets)}
            return True
        dims = {scale for found in datasets.values() for scale in scales_of(found) if scale is not None}
        if how.concat_dim is not None:
            matching = sorted(dim for dim in dims if how.concat_dim in (dim, dim.rpartition("/")[2]))
            if len(matching) != 1:
                known = ", ".join(sorted(dims)) or "none: give axis="
                what = "is not a dimension of the files" if not matching else f"is {' and '.join(matching)}"
                raise InvalidInputError(f"concat_dim={how.concat_dim!r} {what}; they have {known}", files[0].filename)
            self.scale = matching[0]
        elif len(files) < 2 and not is_last:
            return False
        else:
            self.scale = self._only(datasets, dims, files)
        for path, found in datasets.items():
            axes = [axis for axis, scale in enumerate(scales_of(found)) if scale == self.scale]
            if len(axes) > 1:
                raise UnsupportedError(f"a dataset that has the dimension {self.scale} twice", files[0].filename, path)
            if axes:
                self.series[path] = Series(axes[0], found.shape)
        return True

    def _only(self, datasets: dict[str, Dataset], dims: set[str], files: Sequence[File]) -> str:
        """The dimension that differs between the first two files, or else the only one without a limit."""
        differing = []
        others = declared(files[-1])
        for dim in sorted(dims):
            mine, theirs = datasets.get(dim), files[-1].get(dim)
            # Dimensions of classic files without a variable.
            if len(files) > 1 and mine is None and dim in others and dim in self.declared and others[dim].extent != self.declared[dim].extent:
                differing.append(dim)
            if len(files) < 2 or not isinstance(mine, Dataset) or not isinstance(theirs, Dataset):
                continue
            if mine.shape != theirs.shape or not _equal(mine, theirs) or _starts_otherwise(mine, theirs):
                differing.append(dim)
        unlimited = [
            dim for dim in sorted(dims) if (self.declared[dim].is_unlimited if dim in self.declared else dim in datasets and None in datasets[dim].maxshape)
        ]
        for found in (differing, unlimited):
            if len(found) == 1:
                return found[0]
        known = ", ".join(sorted(dims)) or "none"
        hint = (
            "concat_dim= names one of them, new_dim= makes a new one" if dims else "axis=0 joins arrays without names of dimensions, new_dim= makes a new one"
        )
        raise InvalidInputError(f"along which dimension the files follow each other is not clear; they have {known}: {hint}", files[0].filename)

    @staticmethod
    def _coordinates(datasets: dict[str, Dataset]) -> set[str]:
        """Datasets that are the same in all files: scales, and what others name as their coordinates."""
        shared = {path for path, found in datasets.items() if is_scale(found)}
        for path, found in datasets.items():
            folder = path.rpartition("/")[0]
            for key in _NAMING:
                named = found.attrs.get(key)
                shared |= {f"{folder}/{name}" for name in str(named).split()} if isinstance(named, str) else set()
        return shared & datasets.keys()

    # Each file.

    def _add(self, file: File) -> None:
        """Adds a file, once it is known to fit: what does not fit changes nothing."""
        assert self.first is not None
        first, lengths, differing = self.first.filename, dict[str, int](), list[tuple[str, str]]()
        if is_classic(file) != is_classic(self.first):
            classic, other = (file.filename, first) if is_classic(file) else (first, file.filename)
            raise ConflictError(f"{classic} is netCDF classic and {other} is not: hs.open_mfdataset takes both", file.filename)
        for path, mine in self.objects.items():
            try:
                theirs = file if path == "/" else file[path]
            except LookupError:
                raise ConflictError(f"there is no {path}, which {first} has", file.filename, path) from None
            if isinstance(mine, Dataset):
                if not isinstance(theirs, Dataset) or theirs._about["datatype"] != mine._about["datatype"]:
                    raise ConflictError(f"{path} has another datatype than in {first}", file.filename, path)
                self._check(path, mine, theirs, lengths, first)
            differing += [(path, name) for name in self._differing(path, mine, theirs, first)]
        extents = {lengths[path] for path in self.series} if self.how.axis is None else set()
        if len(extents) > 1:
            found = ", ".join(f"{path} {lengths[path]}" for path in self.series)
            raise ConflictError(f"datasets of different lengths along {self.scale}: {found}", file.filename)
        self._check_order(file, first)
        for path, name in differing:
            self.attributes[path].discard(name)
        for path, series in self.series.items():
            series.lengths.append(lengths[path])
        self.paths.append(file.filename)

    def _check(self, path: str, mine: Dataset, theirs: Dataset, lengths: dict[str, int], first: str) -> None:
        series = self.series.get(path)
        shape, theirs_shape = mine.shape, theirs.shape
        if series is None:
            if shape != theirs_shape:
                raise ConflictError(f"{path} has the shape {theirs_shape}, but {shape} in {first}", theirs._file.path, path)
            if self.how.compares and mine is not theirs and not is_placeholder(mine) and not self._same(path, mine, theirs):
                hint = "compat='override' takes those of the first file"
                raise ConflictError(f"{path} has other values than in {first}; {hint}", theirs._file.path, path)
            return
        axis = series.axis
        if axis is not None and len(shape) == len(theirs_shape):
            shape, theirs_shape = shape[:axis] + shape[axis + 1 :], theirs_shape[:axis] + theirs_shape[axis + 1 :]
        if shape != theirs_shape:
            raise ConflictError(f"{path} has the shape {theirs.shape}, but {mine.shape} in {first}", theirs._file.path, path)
        lengths[path] = 1 if axis is None else theirs.shape[axis]

    def _same(self, path: str, mine: Dataset, theirs: Dataset) -> bool:
        if path not in self._values:
            self._values[path] = mine[()]
        return _same_values(self._values[path], theirs[()])

    def _differing(self, path: str, mine: Any, theirs: Any, first: str) -> Iterator[str]:
        """The attributes with other values than in the first file. Of a dataset, those that say how it is decoded must not differ."""
        if mine is theirs:
            return
        names = set(theirs._file.attribute_names(theirs._number))
        for name in sorted(self.attributes[path]):
            if name not in names or not _same_attribute(mine, theirs, name):
                if name == "units" and path in self.series and self.series[path].axis == 0 and _counts_otherwise(mine, theirs):
                    self.recounted.add(path)
                    continue
                if isinstance(mine, Dataset) and name in _DECODING:
                    raise ConflictError(f"{path} has another attribute {name} than in {first}", theirs._file.path, path)
                yield name
        added = [name for name in _DECODING if name in names and name not in mine._file.attribute_names(mine._number)]
        if isinstance(mine, Dataset) and added:
            raise ConflictError(f"{path} has the attribute {added[0]}, but not in {first}", theirs._file.path, path)

    def _check_order(self, file: File, first: str) -> None:
        """The coordinate grows, or falls, from the first file to the last."""
        coordinate = None if self.scale is None or not self.how.checks_order else file.get(self.scale)
        if not isinstance(coordinate, Dataset) or is_placeholder(coordinate) or coordinate.dtype.kind not in "iuf" or coordinate.ndim != 1:
            return
        values = recounted(coordinate, self.objects[str(self.scale)]) if self.scale in self.recounted else coordinate[()]  # type: ignore[arg-type]
        if not len(values):
            return
        ends = (file.filename, values[0], values[-1])
        known = [*self._ends, ends]
        places = [value for _, start, stop in known for value in (start, stop)]
        steps = [np.sign(float(later) - float(earlier)) for earlier, later in itertools.pairwise(places)]
        between = steps[1::2]
        signs = {float(step) for step in steps if step} or {0.0}
        if len(signs) > 1 or 0.0 in between:
            before = known[-2] if len(known) > 1 else ends
            told = f"{self.scale} goes from {before[1]} to {before[2]} in {before[0]}, and from {values[0]} to {values[-1]} in the next file"
            raise ConflictError(f"{told}: files must follow each other (check_order=False takes them as they are)", file.filename, self.scale)
        self._ends = [known[0], known[-1]] if len(known) > 2 else known


def _name_of(error: Error, number: int) -> str:
    return str(getattr(error, "file", None) or f"file {number}")


def _all_of(file: File, keeps_references: bool) -> Iterator[tuple[str, Group | Dataset]]:
    found: list[tuple[str, Any]] = []
    file.visititems(lambda path, item: found.append((f"/{path}", item)))
    for path, item in found:
        if item.kind == "unreadable" or getattr(item, "refusal", None):
            raise UnsupportedError(f"it cannot be read ({item.refusal}), so it cannot be joined", file.filename, path)
        if isinstance(item, Dataset) and not keeps_references and dtype_encoding.has_references(item._about["datatype"]):
            raise UnsupportedError("a dataset of references, which lead to objects of its own file, cannot be joined", file.filename, path)
        if isinstance(item, (Group, Dataset)):
            yield path, item


def _counts_otherwise(mine: Dataset, theirs: Dataset) -> bool:
    """Whether both are times, in the same calendar, which may count from different dates."""
    has_one_calendar = ("calendar" not in mine.attrs and "calendar" not in theirs.attrs) or _same_attribute(mine, theirs, "calendar")
    return has_one_calendar and is_recountable(mine) and is_recountable(theirs)


def _starts_otherwise(mine: Dataset, theirs: Dataset) -> bool:
    """Whether both are times that count from different dates: equal counts are different times then."""
    return _counts_otherwise(mine, theirs) and starts_at(mine) != starts_at(theirs)


def _equal(mine: Dataset, theirs: Dataset) -> bool:
    return is_placeholder(mine) or _same_values(mine[()], theirs[()])


def _same_values(mine: Any, theirs: Any) -> bool:
    return _are_equal(*(references.converted(value, references.place) for value in (mine, theirs)))


def _are_equal(mine: Any, theirs: Any) -> bool:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.shape != theirs.shape or mine.dtype.kind != theirs.dtype.kind:
        return False
    if mine.dtype.names is not None:
        return mine.dtype.names == theirs.dtype.names and all(_are_equal(mine[name], theirs[name]) for name in mine.dtype.names)
    if mine.dtype != object:
        return bool(np.array_equal(mine, theirs, equal_nan=mine.dtype.kind in "fc"))
    # Elements of variable length are arrays themselves.
    return all(_are_equal(*both) if isinstance(both[0], np.ndarray) else both[0] == both[1] for both in zip(mine.reshape(-1), theirs.reshape(-1), strict=True))


def _same_attribute(mine: Any, theirs: Any, name: str) -> bool:
    one, other = mine._file.attribute(mine._number, name), theirs._file.attribute(theirs._number, name)
    if one is None or other is None or (one.shape, one.datatype) != (other.shape, other.datatype):
        return False
    # Texts of variable length are references to a heap; references are addresses in their own file.
    points = dtype_encoding.uses_heap(one.datatype) or dtype_encoding.has_references(one.datatype)
    return _same_values(mine.attrs[name], theirs.attrs[name]) if points else one.data == other.data


def common_folder(paths: Sequence[str]) -> str:
    """The folder that all files are below."""
    folders = [os.path.dirname(path) for path in paths]
    return os.path.commonpath(folders) if len(set(folders)) > 1 else folders[0]
