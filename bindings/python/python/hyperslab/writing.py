"""Writing: a new HDF5 file, made as h5py makes one, visible when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from . import _native, compounds, layouts, selecting, unclosed
from .attributes import Empty
from .errors import InvalidInputError, MissingFileError, UnsupportedError

#: Number, name, whether a chunk may skip it, and the parameters of a level.
_COMPRESSIONS: dict[str, tuple[int, str | None, bool]] = {
    "gzip": (1, None, True), "deflate": (1, None, True), "lz4": (32004, "lz4", True), "zstd": (32015, "zstd", True),
    "bitshuffle": (32008, "bitshuffle", True), "lzf": (32000, "lzf", True),
}
_LEVELS = {1: 4, 32015: 3}
_BITSHUFFLE = {None: 2, "lz4": 2, "zstd": 3, "none": 0}


#: Options of h5py's create_dataset that are not supported.
_UNSUPPORTED_OPTIONS = {
    "scaleoffset", "fill_time", "external", "track_times", "dcpl", "dapl", "efile_prefix", "virtual_prefix", "allow_unknown_filter", "rdcc_nslots", "rdcc_nbytes", "rdcc_w0",
}
#: Registered numbers of filters, as hdf5plugin gives them.
_NUMBERS = {32000: "lzf", 32004: "lz4", 32008: "bitshuffle", 32015: "zstd"}
_BITSHUFFLE_CODES = {0: "none", 2: "lz4", 3: "zstd"}


def _of_number(number: int, options: Any) -> tuple[str, Any]:
    """Name and level of a filter that is given by its number, as `**hdf5plugin.Zstd(clevel=3)` gives it."""
    if number not in _NUMBERS:
        raise UnsupportedError(f"compression {number}: give {', '.join(f'{n} ({name})' for n, name in _NUMBERS.items())}, or 0 to 9, a level of gzip", "Unsupported")
    name = _NUMBERS[number]
    given = tuple(options) if isinstance(options, (tuple, list)) else () if options is None else (options,)
    if name == "bitshuffle":
        code = given[1] if len(given) > 1 else 2
        return name, _BITSHUFFLE_CODES.get(code, code)
    return name, given[0] if given and name != "lzf" else None


def filters_of(compression: Any, level: Any, shuffle: bool, fletcher32: bool) -> list[tuple[int, str | None, bool, list[int]]]:
    filters: list[tuple[int, str | None, bool, list[int]]] = []
    if shuffle:
        filters.append((2, None, True, []))
    if isinstance(compression, int) and not isinstance(compression, bool):
        compression, level = ("gzip", compression) if 0 <= compression <= 9 else _of_number(compression, level)
    if compression is not None:
        if compression not in _COMPRESSIONS:
            raise UnsupportedError(f"compression {compression!r}: give one of {', '.join(_COMPRESSIONS)}", "Unsupported")
        number, name, optional = _COMPRESSIONS[compression]
        if number == 32008:
            if level not in _BITSHUFFLE:
                raise InvalidInputError(f"bitshuffle with {level!r}: give lz4, zstd or none", "InvalidInput")
            parameters = [0, 4, 0, 0, _BITSHUFFLE[level]]
        elif number in _LEVELS:
            chosen = _level(compression, _LEVELS[number] if level is None else level)
            parameters = [chosen & 0xffffffff]
        else:
            parameters = [] if level is None else [_level(compression, level)]
        filters.append((number, name, optional, parameters))
    elif level is not None:
        raise InvalidInputError("compression_opts without compression", "InvalidInput")
    if fletcher32:
        filters.append((3, None, False, []))
    return filters


def _level(compression: str, level: Any) -> int:
    """A compression level; a filter checks what it takes, but knows no negative numbers (except zstd)."""
    if isinstance(level, bool) or not isinstance(level, (int, np.integer)):
        raise InvalidInputError(f"compression_opts={level!r}: {compression} takes a whole number", "InvalidInput")
    low, high = {"gzip": (0, 9), "deflate": (0, 9), "zstd": (-(1 << 17), 22)}.get(compression, (0, (1 << 32) - 1))
    if not low <= level <= high:
        raise InvalidInputError(f"compression_opts={level}: {compression} takes {low} to {high}", "InvalidInput")
    return int(level)


def fill_of(value: Any, datatype: dict[str, Any]) -> bytes | None:
    """The bytes of a fill value; zeros need none."""
    fill: bytes | None = None if value is None else layouts.stored(value, datatype, []).tobytes()
    return fill if fill and any(fill) else None


class NewReference:
    """Points at an object of the file that is being written: `f["refs"] = [a.ref, b.ref, None]`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<new reference to {self.path}>"


def _targets(values: Any, dtype: Any) -> tuple[list[int], list[str | None]] | None:
    """Shape and paths of references, `None` of other values. A dtype of references makes `None` a reference too."""
    wanted = dtype not in (None, str, bytes) and bool((np.dtype(dtype).metadata or {}).get("ref"))
    first = values
    while (isinstance(first, (list, tuple)) or isinstance(first, np.ndarray) and first.dtype.kind == "O" and first.ndim) and len(first):
        first = first[0]
    if not wanted and first is not None and not isinstance(first, NewReference):
        return None
    given = np.empty((), dtype=object) if isinstance(values, NewReference) else np.asarray(values, dtype=object)
    if isinstance(values, NewReference):
        given[()] = values
    flat = given.reshape(-1).tolist()
    if not any(isinstance(value, NewReference) for value in flat) and not wanted:
        return None
    if not all(value is None or isinstance(value, NewReference) for value in flat):
        raise UnsupportedError("references beside other values, or those of another file: give the `ref` of objects of this file, or None", "Unsupported")
    return list(given.shape), [None if value is None else value.path for value in flat]


class NewAttributes:
    """The attributes of an object that is being written: `attrs["units"] = "K"`."""

    def __init__(self, writer: Any, path: str) -> None:
        self._writer, self._path = writer, path

    def __setitem__(self, name: str, value: Any) -> None:
        self.create(name, value)

    def create(self, name: str, value: Any, dtype: Any = None) -> None:
        """Sets an attribute, of a dtype that may be given."""
        if isinstance(value, Empty):
            self._writer.set_attribute(self._path, name, None, layouts.of_dtype(dtype or value.dtype), b"", [])
            return
        if (references := _targets(value, dtype)) is not None:
            self._writer.set_references(self._path, name, *references)
            return
        if value is None or isinstance(value, (dict, set)):
            hint = "give hyperslab.Empty(dtype) for a value without elements" if value is None else "give its items one by one"
            raise UnsupportedError(f"attribute '{name}': HDF5 cannot store a {type(value).__name__}; {hint}", "Unsupported")
        given = value if isinstance(value, (str, bytes)) else _array(value, dtype)
        datatype = _datatype(dtype, given)
        if isinstance(value, bytes):
            given = np.bytes_(value)
            datatype = layouts.of_dtype(f"S{max(len(value), 1)}")
        heap: list[bytes] = []
        data = layouts.stored(given, datatype, heap)
        shape = list(_shape_of(given, datatype))
        self._writer.set_attribute(self._path, name, shape, datatype, data.tobytes(), heap)

    def update(self, values: Any) -> None:
        """Sets many."""
        for name, value in dict(values).items():
            self[name] = value


def _normal(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


def _datatype(dtype: Any, values: Any) -> dict[str, Any]:
    if dtype is not None:
        return layouts.of_dtype(dtype)
    if isinstance(values, str):
        return layouts.of_dtype(str)
    array = np.asarray(values)
    return layouts.of_dtype(array.dtype, array)


def _shape_of(values: Any, datatype: dict[str, Any]) -> tuple[int, ...]:
    shape: tuple[int, ...] = tuple(np.shape(values))
    inner = len(datatype["shape"]) if datatype["class"] == "array" else 0
    return shape[:len(shape) - inner]


class NewDataset:
    """A dataset that is being written: `dataset[10:20] = values`."""

    _attributes: type[NewAttributes] = NewAttributes

    def __init__(self, writer: Any, path: str, shape: tuple[int, ...] | None, datatype: dict[str, Any],
                 chunks: tuple[int, ...] | None, fill: Any = None) -> None:
        self._writer, self._path, self._shape, self._datatype = writer, path, shape, datatype
        self._chunks, self._fill = chunks, fill

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Extent of a chunk. Of a growing dataset without `chunks=` it is chosen when 2 MiB of values are there or when the
        file ends; until then this is what an empty one would get."""
        return None if self._chunks is None else tuple(self._writer.definition(self._path)[2])

    @property
    def name(self) -> str:
        """The absolute path."""
        return "/" + self._path.strip("/")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._shape or ()

    @property
    def attrs(self) -> NewAttributes:
        """The attributes."""
        return self._attributes(self._writer, self._path)

    @property
    def ref(self) -> NewReference:
        """A reference to this dataset."""
        return NewReference(self.name)

    def resize(self, shape: Sequence[int]) -> None:
        """Grows the dataset; no dimension gets shorter."""
        grown = extents("shape", shape)
        self._writer.grow(self._path, grown)
        self._shape = tuple(grown)

    def append(self, values: Any) -> None:
        """Adds rows along the first dimension."""
        before = self.shape[0]
        count = len(values)
        self.resize((before + count, *self.shape[1:]))
        self[before:before + count] = values

    def __setitem__(self, key: Any, values: Any) -> None:
        """Writes slices, of the fields whose names are in the key (`d["a", 0:3]`); other fields stay as they are."""
        key, names = compounds.selected(key)
        selected = selecting.select(key, self.shape)
        if selected.mask is not None or any(not isinstance(axis, tuple) for axis in selected.axes):
            raise UnsupportedError("writing by masks or lists of indexes: write slices", "Unsupported")
        inner = tuple(self._datatype["shape"]) if self._datatype["class"] == "array" else ()
        heap: list[bytes] = []
        if self._fill is not None and np.ma.is_masked(values):
            values = layouts.filled(values, self._fill, self._datatype)
        parts: compounds.Parts = None
        if layouts.has_fields(self._datatype):
            data, parts = layouts.stored_fields(values, self._datatype, heap, names)
        elif names:
            raise InvalidInputError(f"field {names[0]!r} of a dataset that has no fields", "InvalidInput")
        else:
            data = layouts.stored(values, self._datatype, heap)
        try:
            data = layouts.contiguous(np.broadcast_to(data, selected.shape + inner))
        except ValueError:
            raise InvalidInputError(f"values of shape {np.shape(values)} for a selection of shape {selected.shape}", "InvalidInput") from None
        if 0 in selected.box:
            return
        start, count = [axis[0] for axis in selected.axes], list(selected.box)
        steps = [axis[2] for axis in selected.axes]
        self._writer.write(self._path, start, count, data.ctypes.data, data.nbytes, heap, steps if any(step != 1 for step in steps) else None, parts)

    def __repr__(self) -> str:
        return f"<new dataset {self.name} {self.shape}>"


class NewGroup:
    """A group that is being written."""

    _attributes: type[NewAttributes] = NewAttributes
    _dataset: type[NewDataset] = NewDataset

    def __init__(self, writer: Any, path: str, objects: dict[str, Any] | None = None) -> None:
        self._writer, self._path = writer, path
        #: All groups and datasets of the file by absolute path, in the order in which they were created.
        self._objects: dict[str, NewGroup | NewDataset] = {} if objects is None else objects

    @property
    def name(self) -> str:
        """The absolute path."""
        return "/" + self._path.strip("/")

    def __getitem__(self, name: str) -> Any:
        """A group or dataset that was created; its values cannot be read before the file is complete."""
        path = _normal(self._below(name))
        if path == "/" or path not in self._objects:
            raise KeyError(f"there is no {name!r} in {self.name} of the file that is written")
        return self._objects[path]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _normal(self._below(name)) in self._objects

    def keys(self) -> list[str]:
        """Names of the groups and datasets that were created in this group, in that order."""
        above = _normal(self._path).rstrip("/") + "/"
        return [path[len(above):] for path in self._objects if path.startswith(above) and "/" not in path[len(above):]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __bool__(self) -> bool:
        return True

    def _register(self, made: Any) -> None:
        """Remembers an object, and the groups above it that came with it."""
        path, above = _normal(made._path), ""
        for part in path.strip("/").split("/")[:-1]:
            above += f"/{part}"
            if above not in self._objects:
                self._objects[above] = self._new_group(above)
        self._objects[path] = made

    def _new_group(self, path: str) -> NewGroup:
        kind = self._member_type()
        made = kind.__new__(kind)
        NewGroup.__init__(made, self._writer, path, self._objects)
        return made

    def _below(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._path.rstrip('/')}/{path}"

    @property
    def attrs(self) -> NewAttributes:
        """The attributes."""
        return self._attributes(self._writer, self._path)

    @property
    def ref(self) -> NewReference:
        """A reference to this group."""
        return NewReference(self._path)

    def create_group(self, name: str, track_order: bool | None = None) -> NewGroup:
        """A group, and those above it. `track_order` says whether the file records the order in which the members and
        attributes of this group are created; the default is that of the file."""
        path = self._below(name)
        self._writer.create_group(path)
        self._track(path, track_order)
        made = self._new_group(path)
        self._register(made)
        return made

    def _member_type(self) -> type[NewGroup]:
        """What groups in this one are."""
        return NewGroup if isinstance(self, NewFile) else type(self)

    require_group = create_group

    def create_dataset(self, name: str, shape: Any = None, dtype: Any = None, data: Any = None, *, chunks: Any = None,
                       maxshape: Any = None, fillvalue: Any = None, compression: Any = None, compression_opts: Any = None,
                       shuffle: bool = False, fletcher32: bool = False, track_order: bool | None = None, **more: Any) -> NewDataset:
        """A dataset, as h5py makes it. `compression` is one of gzip (deflate), zstd, lz4 and bitshuffle; chunks are
        chosen where they are needed and not given (or `True`). `track_order` says whether the file records the order of
        the attributes; the default is that of the file."""
        where = self._below(name)
        if data is not None and (references := _targets(data, dtype)) is not None:
            if chunks or maxshape is not None or compression is not None or shuffle or fletcher32 or more:
                raise UnsupportedError("references in chunks: give them whole, without filters and growth", "Unsupported")
            found_shape, targets = references
            if shape is not None:
                found_shape = extents("shape", shape)
            self._writer.set_references(where, None, found_shape, targets)
            self._track(where, track_order)
            pointers = NewDataset(self._writer, where, tuple(found_shape), {"class": "reference", "shape": []}, None)
            self._register(pointers)
            return pointers
        empty = isinstance(data, Empty)
        if empty:
            dtype, data = dtype or data.dtype, None
        if data is not None and not isinstance(data, (str, bytes)):
            data = _array(data, dtype)
        if data is None and dtype is None:
            dtype = "f4"
        datatype = _datatype(dtype, data)
        if isinstance(data, bytes) and dtype is None:
            datatype = layouts.of_dtype(f"S{max(len(data), 1)}")
        found = None if data is None else _shape_of(data, datatype)
        if shape is not None:
            shape = tuple(extents("shape", shape))
            if found is not None and found != shape:
                if int(np.prod(shape, dtype=object)) != int(np.prod(found, dtype=object)):
                    raise InvalidInputError(f"data of shape {found} for a dataset of shape {shape}", "InvalidInput")
                data = np.reshape(data, shape + tuple(np.shape(data)[len(found):]))
        elif found is not None:
            shape = found
        elif not empty:
            raise InvalidInputError("a dataset needs a shape or data", "InvalidInput")
        if maxshape is not None:
            maxshape = extents("maxshape", maxshape, unlimited=True)
        filters = filters_of(compression, compression_opts, shuffle, fletcher32)
        fill = fill_of(fillvalue, datatype)
        if chunks is True or (chunks is None and filters):
            chunks, maxshape = None, maxshape
            if not filters and maxshape is None:
                chunks = _halved(shape or (), datatype["size"])
        chunks = None if chunks is None or chunks is False else extents("chunks", chunks)
        extent = None if shape is None else list(shape)
        more_options = self._more(more, extent)
        if more_options.get("rows"):
            maxshape = maxshape or [None, *(extent or [0])[1:]]
        chosen = self._writer.create_dataset(where, datatype, extent, maxshape, chunks, filters, fill, **more_options)
        self._track(where, track_order)
        made = self._dataset(self._writer, where, shape, datatype, None if chosen is None else tuple(chosen), fillvalue)
        self._register(made)
        if data is not None:
            made[()] = data
        return made

    def _track(self, path: str, track_order: bool | None) -> None:
        if track_order is not None:
            self._writer.set_tracked(path, track_order)

    def _more(self, given: dict[str, Any], shape: list[int] | None) -> dict[str, Any]:
        """Options of parallel writes, which a file of its own has none of."""
        for option in given.keys() & _UNSUPPORTED_OPTIONS:
            raise UnsupportedError(f"create_dataset with {option}: leave it out", "Unsupported")
        if given:
            raise TypeError(f"create_dataset() got an unexpected keyword argument {next(iter(given))!r}")
        return {}

    def __setitem__(self, path: str, value: Any) -> None:
        """A dataset of these values, or a link."""
        if isinstance(value, SoftLink):
            self._writer.create_link(self._below(path), value.path)
        elif isinstance(value, ExternalLink):
            self._writer.create_link(self._below(path), value.path, value.file)
        elif isinstance(value, (NewGroup, NewDataset, HardLink)):
            self._writer.create_link(self._below(path), value.path if isinstance(value, HardLink) else value.name, None, True)
        else:
            self.create_dataset(path, data=value)


class HardLink:
    """Another name of the object at a path of the same file."""

    def __init__(self, path: str) -> None:
        self.path = path


class SoftLink:
    """A link to a path of the same file."""

    def __init__(self, path: str) -> None:
        self.path = path


class ExternalLink:
    """A link to a path of another file."""

    def __init__(self, file: str, path: str) -> None:
        self.file, self.path = file, path


def _array(data: Any, dtype: Any) -> Any:
    """The values as an array, of whose elements sequences and rows are not another dimension."""
    if isinstance(data, np.ndarray):
        return data
    plain = dtype in (None, str, bytes)
    metadata = None if plain else np.dtype(dtype).metadata
    if metadata and "vlen" in metadata and metadata["vlen"] not in (str, bytes):
        out = np.empty(len(data), dtype=object)
        for place, value in enumerate(data):
            out[place] = value
        return out
    names = None if plain else np.dtype(dtype).names
    return np.asarray(data) if names is None else compounds.rows(data, names)


def _halved(shape: tuple[int, ...], size: int) -> list[int]:
    chunks = [max(n, 1) for n in shape]
    while int(np.prod(chunks, dtype=object)) * size > 1 << 20:
        longest = chunks.index(max(chunks))
        chunks[longest] = -(-chunks[longest] // 2)
    return chunks


class NewFile(NewGroup):
    """A file that is being written. It becomes visible, complete and on the disk, with `close()` or at the end of
    `with`; an error there, or `abort()`, leaves nothing."""

    def __init__(self, path: str, replace: bool, alignment: int | None, threads: int | None, track_order: bool = False,
                 durable: bool = True, continued: bool = False) -> None:
        try:
            writer = _native.Writer(path, alignment, threads, track_order, durable, replace, continued)
        except MissingFileError:
            folder = os.path.dirname(path)
            if folder and not os.path.isdir(folder):
                raise MissingFileError(f"there is no folder '{folder}': create it first", "NotFound", path) from None
            raise
        super().__init__(writer, "/")
        self._replace, self.filename, self._open = replace, path, True
        self._unclosed = unclosed.watch(self, f"'{path}' was not closed, so nothing was written: call close(), or use it in a `with` block")

    def close(self) -> None:
        """Makes the file visible."""
        self._unclosed.detach()
        if self._open:
            self._open = False
            self._writer.finish(self._replace)

    def abort(self) -> None:
        """Gives the file up."""
        self._unclosed.detach()
        self._open = False
        self._writer.abort()

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<new file {self.filename}>"


def unknown_mode(mode: object) -> Exception:
    """The error of a mode that does not make a new file."""
    if mode in ("a", "r+", "r"):
        return UnsupportedError(f"mode {mode!r}: files are created, not changed; give w (replace) or x (fail if there is one), "
                                "open one with hyperslab.open, and change one with h5py", "Unsupported")
    return InvalidInputError(f"mode {mode!r} is not known: give w (replace) or x (fail if there is one)", "InvalidInput")


def extents(name: str, values: Any, unlimited: bool = False) -> list[Any]:
    """The extents of a shape, given as one number or several; `None` is allowed if `unlimited`."""
    found = list(values) if np.iterable(values) else [values]
    for extent in found:
        if not (extent is None and unlimited) and (isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 0):
            raise InvalidInputError(f"{name}={values!r}: extents are whole numbers, 0 or more{', or None without a limit' if unlimited else ''}", "InvalidInput")
    return [None if extent is None else int(extent) for extent in found]


def create(path: Any, mode: str = "w", *, alignment: int | None = None, threads: int | None = None, track_order: bool = False,
           durable: bool = True) -> NewFile:
    """A new HDF5 file: `with hs.create("out.h5") as f: f["x"] = values`.

    The file appears, complete, when the block ends (or with `close()`); until then a file of this name stays as it was.
    A file that is never closed is not written, which warns. `mode="w"` replaces a file that is there, `mode="x"` raises
    `ConflictError`. Blocks of `alignment` bytes or more begin at multiples of it (default: the block
    or stripe of the file system). Chunks are compressed by `threads` threads, one a core by default.

    `close()` waits until the file is on the disk. With `durable=False` it does not: readers still see the old file or the
    complete new one if this process is killed, but a crash of the machine may leave an incomplete file.

    With `track_order=True` the file records the order in which groups, datasets and attributes are created, and readers
    list them in that order; otherwise readers list them by name. `create_group` and `create_dataset` can say otherwise
    for one object."""
    if mode not in ("w", "x"):
        raise unknown_mode(mode)
    return NewFile(os.fsdecode(path), mode == "w", alignment, threads, track_order, durable)
