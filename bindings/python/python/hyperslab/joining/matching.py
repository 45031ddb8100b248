"""Matching: what many files have in common, which of their datasets go on from file to file, and along which dimension."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .. import _native
from ..base.errors import ConflictError, Error, InvalidInputError, UnsupportedError
from ..base.type_aliases import Elements
from ..files.file import File
from ..objects.attributes import value_of
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.decoding import decoding_of
from ..objects.group import Group
from ..objects.inherited import OF_TIMES, coordinate_of, text_of
from ..objects.native_objects import native_of, object_at, stored_attribute
from ..objects.node import Node
from . import references, units
from .dimensions import Declared, declared, is_classic, is_placeholder, is_scale, scales_of
from .how import How
from .names import Names
from .times import are_recountable, recounted, times_of

#: Attributes that say how values are decoded: datasets with different ones cannot be one array.
_DECODING = tuple(_native.DECODING_ATTRIBUTES)
#: Those of them that xarray decodes by: it keeps values that are out of range, and flags as numbers.
_DECODING_IN_XARRAY = tuple(name for name in _DECODING if not name.startswith(("valid_", "flag_")))
#: References between datasets and their scales. Those of the whole are written by `attach_scale`.
HIDDEN = ("DIMENSION_LIST", "REFERENCE_LIST")
#: Attributes in which variables name their coordinates.
_NAMING = ("coordinates", "bounds", "climatology", "grid_mapping")


#: What files have in common.
Joinable = Group | Dataset | Datatype


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


class Joined:
    """The files that fit together, and what the whole of them has."""

    def __init__(
        self,
        names: list[str],
        files: Iterable[Callable[[], File]],
        how: How,
        contents: Callable[[File], Iterable[tuple[str, Joinable]]] | None = None,
    ) -> None:
        """Opens the files with these names one by one and compares each with the first that could be opened.

        Args:
            names: The paths of the files.
            files: Functions that open them.
            how: How they are joined.
            contents: Lists the objects of the first file, which all files must have; by default all that it has.

        Raises:
            ConflictError: A file does not fit, unless what does not is left out.
            InvalidInputError: Along which dimension is not clear, or there is no such dimension.
        """
        self.how, self.names, self.paths, self.left_out = how, names, list[str](), list[LeftOut]()
        #: The positions in `names` of the files that fit.
        self.taken: list[int] = []
        self.first: File | None = None
        self.objects: dict[str, Joinable] = {}
        #: Further names of the objects, of a whole that has its own values.
        self.links: Names | None = None
        self.series: dict[str, Series] = {}
        #: For each object, the names of the attributes that have the same value in all files.
        self.attributes: dict[str, set[str]] = {}
        #: Series of times that count from another date in some files.
        self.recounted = set[str]()
        #: First and last value of the coordinate in each file.
        self._ends: list[tuple[str, Elements, Elements]] = []
        #: Path of the scale of the dimension.
        self.scale: str | None = None
        #: The dimensions of the first file if they have names, and are not datasets.
        self.declared: dict[str, Declared] = {}
        self._contents = contents or self._all_of
        self._placeholders = set[str]()
        self._values: dict[str, Elements] = {}
        # Which dimension goes on is seen in two files: the first ones wait until it is known.
        waiting = list[tuple[int, File]]()
        for number, opens in enumerate(files):
            try:
                file = opens()
                if self.first is not None:
                    self._add(number, file)
                    continue
                if not waiting:
                    self._begin(file)
            except Error as error:
                self._leave_out(str(getattr(error, "file", None) or f"file {number}"), error)
                continue
            waiting.append((number, file))
            if self._chosen([file for _, file in waiting]):
                self._add_first(waiting)
                waiting = []
        if waiting:
            self._chosen([file for _, file in waiting], is_last=True)
            self._add_first(waiting)
        if not self.paths:
            raise InvalidInputError(f"none of {len(self.left_out)} files can be joined; the first: {self.left_out[0].reason}" if self.left_out else "no files")

    @property
    def count(self) -> int:
        """Number of files."""
        return len(self.paths)

    def scale_of(self, path: str, axis: int) -> str | None:
        """Path of the dataset that is the scale of a dimension of the first file."""
        found = self.objects[path]
        assert isinstance(found, Dataset)
        return scales_of(found)[axis]

    def extent_of(self, path: str) -> int:
        """Length of the dimension of a placeholder, which itself may be empty."""
        if path in self.series:
            return self.series[path].whole[0]
        datasets = [found for found in self.objects.values() if isinstance(found, Dataset)]
        return max(extent for found in datasets for scale, extent in zip(scales_of(found), found.shape, strict=True) if scale == path)

    def path_of(self, name: str) -> str:
        """The path of a member of the group that is joined."""
        return f"{self.how.group.rstrip('/')}/{name}"

    def _leave_out(self, name: str, error: Error) -> None:
        """Notes a file that does not fit, if it may be left out."""
        if not self.how.leaves_out:
            raise error
        self.left_out.append(LeftOut(name, str(error)))

    # The first file.

    def _begin(self, first: File) -> None:
        self.objects = dict(self._contents(first))
        self.declared = declared(first, self.how.group)
        self.links = Names(first, dict(self.objects)) if self.how.is_copied else None
        self._placeholders = {path for path, found in self.objects.items() if isinstance(found, Dataset) and is_placeholder(found)}
        for path, found in self.objects.items():
            names = set(found.attrs)
            self.attributes[path] = names.intersection(_DECODING_IN_XARRAY) if self.how.as_xarray else names.difference(HIDDEN)

    def _all_of(self, file: File) -> Iterator[tuple[str, Joinable]]:
        found: list[tuple[str, Node]] = []
        file.visititems(lambda path, item: found.append((f"/{path}", item)))
        yield "/", file
        for path, item in found:
            if item.kind == "unreadable" or getattr(item, "refusal", None):
                raise UnsupportedError(f"it cannot be read ({item.refusal}), so it cannot be joined", file.filename, path)
            if isinstance(item, Dataset) and not self.how.is_copied and item.datatype.has_references:
                raise UnsupportedError("a dataset of references, which lead to objects of its own file, cannot be joined", file.filename, path)
            if isinstance(item, (Group, Dataset)) or (self.how.is_copied and isinstance(item, Datatype)):
                yield path, item

    def _add_first(self, files: Sequence[tuple[int, File]]) -> None:
        self.first = files[0][1]
        for number, file in files:
            try:
                self._add(number, file)
            except Error as error:
                self._leave_out(file.filename, error)

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
        dims = {scale for found in datasets.values() for scale in scales_of(found) if scale is not None}
        if how.new_dim is not None:
            if self.path_of(how.new_dim) in self.objects.keys() | self.declared.keys() | dims:
                raise InvalidInputError(f"new_dim={how.new_dim!r} is an object of the files already", files[0].filename)
            coordinates = dims | set(self._coordinates(datasets))
            self.series = {path: Series(None, found.shape) for path, found in datasets.items() if path not in coordinates}
            return True
        if how.concat_dim is not None:
            matching = sorted(dim for dim in dims if how.concat_dim in (dim, dim.rpartition("/")[2]))
            if len(matching) != 1:
                known = ", ".join(sorted(dims)) or "none: give axis="
                what = "is not a dimension of the files" if not matching else f"is {' and '.join(matching)}"
                raise InvalidInputError(f"concat_dim={how.concat_dim!r} {what}; they have {known}; new_dim= makes a new one", files[0].filename)
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
        """The dimension along which files follow each other if none is named: the only one whose coordinates differ between the first two
        files, as xarray combines by coordinates, or whose length does; or else the only one without a limit, or at all in a single file."""
        differing = set[str]()
        for path, mine in datasets.items() if len(files) > 1 else ():
            theirs = _member(files[-1], path)
            if isinstance(theirs, Dataset):
                differing.update(dim for dim, one, other in zip(scales_of(mine), mine.shape, theirs.shape, strict=False) if dim and one != other)
                if path in dims and path not in self._placeholders and (not self._same(path, mine, theirs) or _starts_otherwise(mine, theirs)):
                    differing.add(path)
        unlimited = [
            dim for dim in sorted(dims) if (self.declared[dim].is_unlimited if dim in self.declared else dim in datasets and None in datasets[dim].maxshape)
        ]
        for found in (sorted(differing), unlimited, sorted(dims) if len(files) == 1 else []):
            if len(found) == 1:
                return found[0]
        known = ", ".join(sorted(dims)) or "none"
        hint = (
            "concat_dim= names one of them, new_dim= makes a new one" if dims else "axis=0 joins arrays without names of dimensions, new_dim= makes a new one"
        )
        raise InvalidInputError(f"along which dimension the files follow each other is not clear; they have {known}: {hint}", files[0].filename)

    def _coordinates(self, datasets: dict[str, Dataset]) -> Iterator[str]:
        """Datasets that are the same in all files: scales, and what others, or groups as xarray writes them, name as their coordinates."""
        for path, found in self.objects.items():
            folder = path.rpartition("/")[0] if path in datasets else path.rstrip("/")
            for key in _NAMING if path in datasets else _NAMING[:1]:
                yield from (f"{folder}/{name}" for name in text_of(found, key).split())
            if path in datasets and is_scale(datasets[path]):
                yield path

    # Each file.

    def _add(self, number: int, file: File) -> None:
        """Adds a file, once it is known to fit: what does not fit changes nothing."""
        assert self.first is not None
        first, lengths, differing = self.first.filename, dict[str, int](), list[tuple[str, str]]()
        if not self.how.as_xarray and is_classic(file) != is_classic(self.first):
            classic, other = (file.filename, first) if is_classic(file) else (first, file.filename)
            raise ConflictError(f"{classic} is netCDF classic and {other} is not: hs.open_mfdataset takes both", file.filename)
        coordinate: Dataset | None = None
        for path, mine in self.objects.items():
            if self.how.as_xarray and not isinstance(mine, Dataset):
                continue
            theirs = mine if file is self.first else _member(file, path)
            if theirs is None:
                hint = ": leave it out with drop_variables" if self.how.as_xarray else ""
                raise ConflictError(f"there is no {path}, which {first} has{hint}", file.filename, path)
            if not isinstance(mine, Dataset) and mine.kind != theirs.kind:
                raise ConflictError(f"{path} is a {theirs.kind}, and a {mine.kind} in {first}", file.filename, path)
            if isinstance(mine, Datatype) and isinstance(theirs, Datatype) and mine.datatype != theirs.datatype:
                raise ConflictError(f"{path} has another datatype than in {first}", file.filename, path)
            if isinstance(mine, Dataset):
                self._check(path, mine, theirs, lengths, first)
                coordinate = theirs if path == self.scale and isinstance(theirs, Dataset) else coordinate
            differing += [(path, name) for name in self._differing(path, mine, theirs, first)]
        # The netCDF library leaves placeholders of unlimited dimensions empty: their lengths come from the other datasets.
        followed = {path: lengths[path] for path in self.series if self.how.axis is not None or path not in self._placeholders}
        if self.how.axis is None and len({*followed.values()}) > 1:
            found = ", ".join(f"{path} {length}" for path, length in followed.items())
            raise ConflictError(f"datasets of different lengths along {self.scale}: {found}", file.filename)
        if coordinate is not None and self.how.checks_order:
            self._check_order(file, coordinate)
        self._check_inherited(file, first)
        if self.links is not None and file is not self.first:
            self.links.left_out |= self.links.differing(file, first)
        for path, name in differing:
            self.attributes[path].discard(name)
        for path, series in self.series.items():
            series.lengths.append(followed.get(path, max(followed.values(), default=lengths[path])))
        self.paths.append(file.filename)
        self.taken.append(number)

    def _check(self, path: str, mine: Dataset, theirs: Node, lengths: dict[str, int], first: str) -> None:
        """Values of what does not go on are equal, or taken from the first file without a look; what goes on has one datatype and shape."""
        series = self.series.get(path)
        if series is None and not self.how.compares:
            return
        if theirs.kind == "unreadable":
            file, number = native_of(theirs)
            file.check(number)
        if not isinstance(theirs, Dataset) or (series is not None and not _is_same_type(mine, theirs, self.how.as_xarray)):
            raise ConflictError(f"{path} has another datatype than in {first}", theirs.file.filename, path)
        shape, theirs_shape = mine.shape, theirs.shape
        axis = None if series is None else series.axis
        if axis is not None and len(shape) == len(theirs_shape):
            shape, theirs_shape = shape[:axis] + shape[axis + 1 :], theirs_shape[:axis] + theirs_shape[axis + 1 :]
        if shape != theirs_shape:
            raise ConflictError(f"{path} has the shape {theirs.shape}, but {mine.shape} in {first}", theirs.file.filename, path)
        if series is not None:
            lengths[path] = 1 if axis is None else theirs.shape[axis]
        elif mine is not theirs and path not in self._placeholders and not self._same(path, mine, theirs):
            hint = "compat='override' takes those of the first file"
            hint += "" if self.how.converts_units or text_of(mine, "units") == text_of(theirs, "units") else ", convert_units=True compares them in one unit"
            raise ConflictError(f"{path} has other values than in {first}; {hint}", theirs.file.filename, path)

    def _converts(self, mine: Node, theirs: Node) -> bool:
        """Whether two datasets of numbers are in other units, and may be compared in those of the first file."""
        if not self.how.converts_units or not isinstance(mine, Dataset) or not isinstance(theirs, Dataset):
            return False
        one, other = (text_of(dataset, "units") for dataset in (mine, theirs))
        if one == other or any((decoding := decoding_of(dataset)) is None or decoding.kind not in ("number", "flag") for dataset in (mine, theirs)):
            return False
        return units.are_convertible(one, other)

    def _same(self, path: str, mine: Dataset, theirs: Dataset) -> bool:
        if self._converts(mine, theirs):
            one, other = (np.asarray(dataset.decoded[...]) for dataset in (mine, theirs))
            return units.are_equal(one, text_of(mine, "units"), other, text_of(theirs, "units"))
        if self.how.as_xarray and times_of(mine) is not None and times_of(mine) != times_of(theirs):
            return _same_values(mine.decoded[...], theirs.decoded[...])
        if path not in self._values:
            self._values[path] = mine[()]
        return _same_values(self._values[path], theirs[()])

    def _differing(self, path: str, mine: Node, theirs: Node, first: str) -> Iterator[str]:
        """The attributes with other values than in the first file. Those that say how a dataset is decoded must not differ, unless it is
        the first file's."""
        if mine is theirs:
            return
        series, names = self.series.get(path), list(theirs.attrs)
        deciding = _DECODING_IN_XARRAY if self.how.as_xarray else _DECODING
        for name in sorted(self.attributes[path].union(name for name in deciding if name in names)):
            if name in self.attributes[path] and _same_attribute(mine, theirs, name):
                continue
            if name == "units" and series is None and self._converts(mine, theirs):
                continue  # the values are those of the first file
            if self._may_differ(series, mine, theirs, name):
                self.recounted.update([path] if series is not None and isinstance(mine, Dataset) and times_of(mine) is not None else [])
            elif not isinstance(mine, Dataset) or name not in deciding:
                yield name
            elif series is not None or self.how.compares:
                raise ConflictError(f"{path} has another attribute {name} than in {first}", theirs.file.filename, path)

    def _check_inherited(self, file: File, first: str) -> None:
        """Bounds without units of their own count from the date of their coordinate: they go on as it does."""
        for path, series in self.series.items():
            mine = self.objects[path]
            if file is self.first or not isinstance(mine, Dataset) or "units" in mine.attrs or coordinate_of(mine) is None:
                continue
            theirs = _member(file, path)
            if not isinstance(theirs, Dataset) or _counts_from(mine) == _counts_from(theirs):
                continue
            if not self.how.as_xarray and (series.axis != 0 or not are_recountable(mine, theirs)):
                raise ConflictError(f"{path} is counted in {_counts_from(theirs)[0]!r}, in {first} in {_counts_from(mine)[0]!r}", file.filename, path)
            self.recounted.add(path)

    def _may_differ(self, series: Series | None, mine: Node, theirs: Node, name: str) -> bool:
        """Whether an attribute may differ: of times that are counted from the first file's date, or that xarray decodes file by file. Those of
        times that do not go on may differ, too, for xarray: their dates are compared."""
        if self.how.as_xarray:
            if not isinstance(mine, Dataset) or not isinstance(theirs, Dataset):
                return False
            one, other = times_of(mine), times_of(theirs)
            # Dates of two calendars have no order.
            are_dates = one is not None and other is not None and one.calendar == other.calendar
            are_same = name == "units" and _plain_units(text_of(mine, name)) == _plain_units(text_of(theirs, name))
            return name in OF_TIMES and (are_dates or are_same)
        is_along = name == "units" and series is not None and series.axis == 0
        return is_along and isinstance(mine, Dataset) and isinstance(theirs, Dataset) and are_recountable(mine, theirs)

    def _check_order(self, file: File, coordinate: Dataset) -> None:
        """The coordinate increases, or decreases, from the first file to the last."""
        mine = self.objects[coordinate.name]
        assert isinstance(mine, Dataset)
        if coordinate.name in self._placeholders or mine.dtype.kind not in "iuf" or mine.ndim != 1:
            return
        values = coordinate[()]
        if self.scale in self.recounted:
            if not are_recountable(mine, coordinate):
                return
            values = recounted(coordinate, mine, is_exact=not self.how.as_xarray)
        if not len(values):
            return
        ends = (file.filename, values[0], values[-1])
        known = [*self._ends, ends]
        places = [float(value) for _, start, stop in known for value in (start, stop)]
        steps = [(later > earlier) - (later < earlier) for earlier, later in itertools.pairwise(places)]
        if {1, -1} <= {*steps} or 0 in steps[1::2]:
            before = known[-2] if len(known) > 1 else ends
            told = f"{self.scale} goes from {before[1]} to {before[2]} in {before[0]}, and from {values[0]} to {values[-1]} in the next file"
            raise ConflictError(f"{told}: files must follow each other (check_order=False takes them as they are)", file.filename, self.scale)
        self._ends = [known[0], known[-1]] if len(known) > 2 else known


def _member(file: File, path: str) -> Node | None:
    """The object at a path, even if it cannot be read."""
    try:
        return object_at(file, path)
    except LookupError:
        return None


def _is_same_type(mine: Dataset, theirs: Dataset, in_any_order: bool) -> bool:
    """Whether datatypes are equal, or with `in_any_order` differ in the order of bytes only, as between netCDF classic and netCDF-4."""
    one, other = mine.datatype, theirs.datatype
    return bool(one == other or (in_any_order and one.differences(other) == ["order"]))


def _counts_from(dataset: Dataset) -> tuple[str, str]:
    """The units and the calendar of a dataset, own or those of the coordinate whose cells it bounds."""
    return text_of(dataset, "units"), text_of(dataset, "calendar")


def _plain_units(units: str) -> str:
    """Units in one of their spellings: CF takes `degrees_north`, `degree_N` and others for one (CF Conventions 4.1, 4.2)."""
    found = re.fullmatch(r"degrees?_?(n|north|e|east)", units.strip(), re.IGNORECASE)
    if found is not None:
        return f"degree_{found[1][0].lower()}"
    # Only words have a plural: `ms` is not `m`, and `s` is not a number without a unit.
    return units.strip().removesuffix("s") if re.fullmatch("[a-z]{3,}s", units.strip()) else units.strip()


def _starts_otherwise(mine: Dataset, theirs: Dataset) -> bool:
    """Whether both are times that count from different dates: equal counts are different times then."""
    return are_recountable(mine, theirs) and times_of(mine) != times_of(theirs)


def _same_values(mine: Elements, theirs: Elements) -> bool:
    return _are_equal(*(references.converted(value, references.place) for value in (mine, theirs)))


def _are_equal(mine: Elements, theirs: Elements) -> bool:
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.shape != theirs.shape or mine.dtype.kind != theirs.dtype.kind:
        return False
    if mine.dtype.names is not None:
        return mine.dtype.names == theirs.dtype.names and all(_are_equal(mine[name], theirs[name]) for name in mine.dtype.names)
    if mine.dtype != object:
        return np.array_equal(mine, theirs) or (mine.dtype.kind in "fcmM" and np.array_equal(mine, theirs, equal_nan=True))
    # Elements of variable length are arrays themselves.
    return all(_are_equal(*both) if isinstance(both[0], np.ndarray) else both[0] == both[1] for both in zip(mine.reshape(-1), theirs.reshape(-1), strict=True))


def _same_attribute(mine: Node, theirs: Node, name: str) -> bool:
    one, other = stored_attribute(mine, name), stored_attribute(theirs, name)
    if one is None or other is None:
        return False
    is_same_type = (one.shape, one.datatype) == (other.shape, other.datatype)
    if is_same_type and not one.datatype.uses_heap and not one.datatype.has_references:
        return bool(one.data == other.data)
    if not is_same_type and all("string" in value.datatype.class_name for value in (one, other)):
        return text_of(mine, name) == text_of(theirs, name)
    # Neither the order of bytes matters, nor addresses in the heap of each file, nor whether one value is in an array.
    values = (np.ravel(references.converted(value_of(value, native_of(node)[0]), references.place)) for value, node in ((one, mine), (other, theirs)))
    return one.datatype.size == other.datatype.size and _are_equal(*values)


def common_folder(paths: Sequence[str]) -> str:
    """The folder that all files are below."""
    folders = [os.path.dirname(path) for path in paths]
    return os.path.commonpath(folders) if len(set(folders)) > 1 else folders[0]
