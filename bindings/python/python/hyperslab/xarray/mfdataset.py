"""Many files for xarray: variables that are concatenated along one dimension of the files or along a new one, checked when they are
opened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from functools import partial

import numpy as np
import xarray
from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.core import indexing

from ..base.type_aliases import AttributeValue
from ..files.file import File
from ..joining.how import How
from ..joining.matching import Joined
from ..objects.dataset import Dataset
from ..objects.decoding import decoding_of
from ..objects.group import Group
from ..objects.inherited import OF_TIMES, text_of
from ..objects.native_objects import native_of, object_at
from .array import converted
from .attributes import read_attributes
from .concatenated import ConcatenatedArray, StackedArray
from .decoding_options import DecodingOptions
from .encoding import Encoding
from .open_files import OpenFiles
from .opening import OpenedFile
from .store import HyperslabStore
from .unpacked import attributes_with_inherited, is_odd, is_unknown, without_units


class OneOf:
    """The manager of one of several files, for the store of a single file."""

    def __init__(self, files: OpenFiles | list[OpenedFile], index: int) -> None:
        self._files, self._index = files, index

    def acquire(self, needs_lock: bool = True) -> OpenedFile:
        """The open file."""
        return self._files[self._index]

    def close(self, needs_lock: bool = True) -> None:
        """Closes all files."""
        if isinstance(self._files, OpenFiles):
            self._files.close()


class FilesStore(AbstractDataStore):
    """The variables of one group of many files. What the first file has, all have to have."""

    def __init__(self, files: OpenFiles, how: How, drop: Collection[str], decoding: DecodingOptions) -> None:
        """Opens the group of each file and compares them.

        Args:
            files: The files, in order.
            how: How they are joined.
            drop: Names of variables that are left out.
            decoding: How xarray will be asked to decode.

        Raises:
            ConflictError: A file differs from the first one.
            InvalidInputError: Along which dimension is not clear, or it does not exist.
        """
        self._files, self._drop, self._group = files, drop, how.group
        joined = Joined(files.paths, self._opened(how.leaves_out), how, self._contents)
        # The store is pickled: it keeps what was found, and no open file.
        self._series = {path.rpartition("/")[2]: series for path, series in joined.series.items()}
        self._datatypes = {path.rpartition("/")[2]: found.datatype for path in joined.series if isinstance(found := joined.objects[path], Dataset)}
        self._differing_times = {path.rpartition("/")[2] for path in joined.recounted}
        #: The positions of the files that fit.
        self.taken, self._left_out = joined.taken, joined.left_out
        self._concat_dim = how.new_dim or str(joined.scale).rpartition("/")[2]
        self._first = HyperslabStore(OneOf(files, self.taken[0]), self._group, files.paths[self.taken[0]], drop)
        #: `decode_times` for xarray.
        self.decode_times, self._left_as_numbers = self._first.times_to_decode(decoding)
        self._template, self._decoding = self._first.get_variables(), decoding

    def get_variables(self) -> dict[str, Variable]:
        """The variables, by name: those along the concatenated dimension as one lazy array each, others from the first file."""
        has_odd_units = any(is_odd(variable.attrs.get("units")) for variable in self._template.values())
        alone = self._first.get_variables(self._decoding) if has_odd_units else self._template
        return {name: self._concatenated(name, variable) if name in self._series else alone[name] for name, variable in self._template.items()}

    def get_attrs(self) -> dict[str, AttributeValue]:
        """The attributes of the group in the first file."""
        return self._first.get_attrs()

    def get_dimensions(self) -> dict[str, int]:
        """Extents of the dimensions that the group of the first file declares, and of the concatenated one."""
        total = sum(next((series.lengths for series in self._series.values()), []))
        return {name: total if name == self._concat_dim else extent for name, extent in self._first.get_dimensions().items()}

    def get_encoding(self) -> Encoding:
        """The names of the unlimited dimensions, the paths of all files, and the paths of files that do not fit, if there are any."""
        left_out = {"left_out": self._left_out} if self._left_out else {}
        return {**self._first.get_encoding(), "sources": [self._files.paths[index] for index in self.taken], **left_out}

    def close(self) -> None:
        """Closes all files. Values that are asked for later open them again."""
        self._files.close()

    def dataset(self, name: str, file: int) -> Dataset:
        """The dataset of a variable in one of the files, which must not have changed."""
        return self._files[self.taken[file]].dataset(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._group.rstrip('/')}/{name}"

    def _one(self, index: int) -> File:
        """Opens one file."""
        return File(self._files[index].file)

    def _opened(self, one_by_one: bool) -> Iterator[Callable[[], File]]:
        """Opens the files in parallel, or each by itself, so that one that cannot be opened can be left out."""
        if one_by_one:
            return (partial(self._one, index) for index in range(len(self._files)))
        return (partial(File, opened.file) for opened in self._files.each())

    def _contents(self, file: File) -> Iterator[tuple[str, Group | Dataset]]:
        """The group of a file, and its variables."""
        names = HyperslabStore(OneOf([OpenedFile(native_of(file)[0], None)], 0), self._group, file.filename, self._drop).get_variables()
        for path in (self._group, *map(self._path, names)):
            found = object_at(file, path)
            assert isinstance(found, (Group, Dataset))
            yield path, found

    def _concatenated(self, name: str, variable: Variable) -> Variable:
        series = self._series[name]
        is_new, axis, shape = series.axis is None, series.axis or 0, series.whole
        dims = (self._concat_dim, *variable.dims) if is_new else variable.dims
        encoding = {**variable.encoding, "original_shape": shape}
        if is_new and encoding.get("chunksizes"):
            encoding["chunksizes"] = (1, *encoding["chunksizes"])
        if is_new and "preferred_chunks" in encoding:
            encoding["preferred_chunks"] = {self._concat_dim: 1, **encoding["preferred_chunks"]}
        attributes = attributes_with_inherited(self._template)[name] if self._decoding.of(name).decode_times else dict(variable.attrs)
        is_asked = self._decoding.of(name).decode_times is True and name not in self._left_as_numbers
        is_odd_date = is_asked and is_odd(attributes.get("units")) and is_unknown(name, variable, attributes)
        if name in self._differing_times or is_odd_date:
            return self._decoded_times(name, dims, variable, encoding)
        kind = StackedArray if is_new else ConcatenatedArray
        data = kind(self, name, series.lengths, axis, shape, variable.dtype, self._datatypes[name])
        return Variable(dims, indexing.LazilyIndexedArray(data), attributes, encoding)

    def _decoded_times(self, name: str, dims: tuple[Hashable, ...], variable: Variable, encoding: Encoding) -> Variable:
        """Times that count from another date in each file, or in units that xarray does not know, decoded and in memory."""
        parts = []
        for index in range(len(self.taken)):
            dataset = self.dataset(name, index)
            # The bounds of a coordinate have its units.
            inherited = {key: text for key in OF_TIMES if (text := text_of(dataset, key))}
            attributes = {**inherited, **read_attributes(dataset.attrs)}
            values = converted(np.asarray(dataset[...]), dataset.datatype, variable.dtype)
            given, decoding = Variable(variable.dims, values, attributes), decoding_of(dataset)
            is_odd_date = is_odd(attributes.get("units")) and is_unknown(name, given, attributes)
            if decoding is None or decoding.time is None or not is_odd_date:
                parts.append(xarray.conventions.decode_cf_variable(name, given))
                continue
            numbers = xarray.conventions.decode_cf_variable(name, given, decode_times=False, decode_timedelta=False)
            dates = np.asarray(dataset.decoded[...])
            parts.append(Variable(variable.dims, dates, without_units(numbers.attrs), {"calendar": decoding.time.calendar}))
        concat: Callable[[list[Variable], str], Variable] = Variable.concat
        whole = concat(parts, self._concat_dim)
        kept = {key: parts[0].encoding[key] for key in ("units", "calendar") if key in parts[0].encoding}
        return Variable(dims, whole.values, parts[0].attrs, {**encoding, **kept})
