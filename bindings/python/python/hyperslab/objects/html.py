"""What notebooks show of files, groups and datasets: bounded, however many objects and attributes there are."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence, Sized
from typing import Any, Protocol, cast

import numpy as np

from ..base.blocks import card, dim, facts, fold, grid, leaf, size, text
from ..base.description import Description
from ..base.errors import DecodingWarning, Error
from ..base.type_aliases import AnyArray, AnyDtype, Elements, Key
from . import tree
from .attributes import Attributes, shown

#: Number of objects, and of attributes in all, that are shown.
MAX_OBJECTS, MAX_ATTRIBUTES = 300, 1000
#: Attributes of one object, and files of a set.
MAX_OWN_ATTRIBUTES, MAX_FILES = 50, 40
#: Characters of a datatype in the line of its dataset, and bytes of a chunk up to which a coordinate shows its ends.
MAX_TYPE_CHARS, ENDS_CHUNK_BYTES = 40, 1 << 20
#: Attributes of a file up to which they are not folded, and files of a set up to which it is shown as a whole.
MAX_OPEN_ATTRIBUTES, MAX_JOINED_FILES = 10, 100
#: No further object is shown after this time: files may have objects that take long to read.
MAX_SECONDS = 2.0
#: Rows, columns and members of the values that a dataset shows, and the bytes of a chunk up to which it shows some.
PREVIEW_ROWS, PREVIEW_COLUMNS, PREVIEW_FIELDS, PREVIEW_CHUNK_BYTES = 5, 6, 20, 16 << 20


#: What people call the formats.
_FORMATS = {
    "hdf5": "HDF5",
    "netcdf3": "netCDF classic",
    "netcdf4": "netCDF-4",
    "references": "chunk references",
    "container": "Arrow container",
    "netcdf_container": "netCDF in an Arrow container",
}


class Dataset(Protocol):
    """The part of a dataset's interface that is shown."""

    @property
    def name(self) -> str: ...

    _number: int
    _about: Description

    @property
    def kind(self) -> str: ...
    @property
    def refusal(self) -> str | None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dims(self) -> tuple[str | None, ...]: ...
    @property
    def dtype(self) -> AnyDtype: ...
    @property
    def chunks(self) -> tuple[int, ...] | None: ...
    @property
    def filters(self) -> Sequence[str]: ...
    @property
    def compression_ratio(self) -> float | None: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def stored_bytes(self) -> int: ...
    @property
    def size(self) -> int | None: ...
    @property
    def attrs(self) -> Attributes: ...
    def _summary(self) -> list[str]: ...
    def _parts(self) -> int: ...
    def _entries(self) -> Iterator[tree.Entry]: ...
    def __getitem__(self, key: Key) -> Elements: ...


class _Budget:
    """What may still be shown."""

    def __init__(self, *paths: str) -> None:
        #: Whether values may be read: only if the file is on this machine.
        self.reads_values = bool(paths) and len(paths) <= MAX_JOINED_FILES and all(map(os.path.exists, paths))
        self._objects, self._attributes = iter(range(MAX_OBJECTS)), iter(range(MAX_ATTRIBUTES))
        self._end = time.monotonic() + MAX_SECONDS
        self.effort = tree.Effort()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if time.monotonic() > self._end:
            raise StopIteration
        return next(self._objects)

    def attributes(self, node: tree.Shown) -> str:
        """The attributes of an object that may be shown."""
        rows, more = [], False
        for number, row in enumerate(tree.attribute_lines(node, self.effort)):
            more = number >= MAX_OWN_ATTRIBUTES or time.monotonic() > self._end or next(self._attributes, None) is None
            if more:
                break
            rows.append((row[0], text(row[1])))
        return facts(rows) + (leaf(dim("… and more attributes")) if more else "")


def of_file(file: tree.Shown, path: str, format: str) -> str:
    """A file: name, format, size, folder, attributes and tree."""
    budget = _Budget(path)
    about = [("folder", text(os.path.dirname(os.path.abspath(path)))), ("size", _size_on_disk([path]))]
    return card("File", os.path.basename(path) or path, _format(format), facts(about), _attributes(file, budget), _members(file, budget))


def of_files(title: str, paths: Sequence[str], formats: Sequence[str], first: tree.Shown, whole: tree.Shown | None, misfit: str) -> str:
    """Several files: how many, their size and paths, and the tree of the whole, or of the first if they are not one."""
    budget = _Budget(*paths)
    listed = "".join(leaf(text(path)) for path in paths[:MAX_FILES])
    listed += leaf(dim(f"… and {len(paths) - MAX_FILES:,} more: filenames lists them")) if len(paths) > MAX_FILES else ""
    about = [
        ("files", text(f"{len(paths):,}, from {os.path.basename(paths[0])} to {os.path.basename(paths[-1])}" if len(paths) > 1 else paths[0])),
        ("size", _size_on_disk(paths)),
    ]
    note = ", ".join(map(_format, formats))
    if whole is not None:
        return card("FileSet", title, note, facts(about), fold("<b>paths</b>", listed), _attributes(whole, budget), _members(whole, budget))
    about.append(("arrays", text(misfit)))
    tree_of_first = fold(f"<b>the first file</b> {text(paths[0])}", _attributes(first, budget) + _members(first, budget), opened=True)
    return card("FileSet", title, note, facts(about), fold("<b>paths</b>", listed), tree_of_first)


def of_node(node: tree.Shown, kind: str, file: str) -> str:
    """A group, or another object that has nothing special to show."""
    budget = _Budget(file)
    note = os.path.basename(file)
    refused = leaf(f"cannot be read: {text(node.refusal)}") if node.refusal else ""
    return card(kind, node.name, note, refused, _attributes(node, budget), _members(node, budget))


def of_dataset(dataset: Dataset, type: str, file: str) -> str:
    """A dataset: name, dimensions, type, units, chunks, compression, the first values and the attributes."""
    note = os.path.basename(file)
    if dataset.kind == "unreadable" or dataset.refusal:
        return card("Dataset", dataset.name, note, leaf(f"cannot be read: {text(dataset.refusal)}"), _attributes(dataset, _Budget()))
    about = [
        ("shape", _dimensions(dataset)),
        ("type", text(type)),
        ("name", text(_long_name(dataset))),
        ("units", text(_units(dataset))),
        ("size", text(_storage(dataset))),
        ("chunks", text(_chunks(dataset))),
    ]
    return card("Dataset", dataset.name, note, facts(about), _preview(dataset), _attributes(dataset, _Budget(), opened=False))


def _format(name: str) -> str:
    return _FORMATS.get(name, name)


def _size_on_disk(paths: Sequence[str]) -> str:
    """The bytes of files, if all of them are on this machine; more than some hundreds are not asked for."""
    if len(paths) > 1000 or not all(map(os.path.exists, paths)):
        return ""
    return text(size(sum(map(os.path.getsize, paths))))


def _attributes(node: tree.Shown, budget: _Budget, *, opened: bool | None = None) -> str:
    """The attributes of an object, folded if there are many unless `opened` says."""
    inner = budget.attributes(node)
    return fold("<b>attributes</b>", inner, opened=inner.count("<tr>") <= MAX_OPEN_ATTRIBUTES if opened is None else opened) if inner else ""


def _members(group: tree.Shown, budget: _Budget) -> str:
    """The tree below a group: each object once, groups unfolded at the first level."""
    seen = tree.Seen(group)

    def below(node: tree.Shown, depth: int) -> str:
        lines = ""
        for entry in tree.first_entries(node, budget):
            if entry is None:
                return lines + leaf(dim(tree.MORE))
            shown_at = seen.find(entry)
            parts = tree.line_parts(entry, budget.effort, shown_at)
            label = _label(entry, parts, budget)
            if entry.object is not None and entry.object.kind == "group" and shown_at is None:
                label += dim(f"{len(cast(Sized, entry.object)):,}")
            if entry.object is None or shown_at is not None:
                lines += leaf(label)
            elif entry.object.kind == "group" and tree.is_deep(entry.path, depth):
                lines += leaf(f"{label} {dim(tree.DEEPER)}")
            else:
                inner = _whole_type(parts) + budget.attributes(entry.object) + (below(entry.object, depth + 1) if entry.object.kind == "group" else "")
                lines += fold(label, inner) if inner else leaf(label)
        return lines

    return below(group, 1)


def _label(entry: tree.Entry, parts: Sequence[str], budget: _Budget) -> str:
    """A member in one line: of a dataset dimensions, type, meaning, values if they are its own coordinates, and storage."""
    name = f"<b>{text(entry.name)}</b>"
    if entry.object is None or entry.object.kind != "dataset" or len(parts) < 2:
        return f"{name} {dim('  '.join(parts))}"
    columns = [
        name,
        dim(parts[0]),
        dim(_short(parts[1])),
        text(_meaning(entry.object)),
        dim(_ends(entry.object) if budget.reads_values else ""),
        dim("  ".join(parts[2:])),
    ]
    return " ".join(f"<span class='hs-c{place}'>{column}</span>" for place, column in enumerate(columns) if column not in ("", dim("")))


def _short(type: str) -> str:
    return type if len(type) <= MAX_TYPE_CHARS else type[:MAX_TYPE_CHARS] + "…"


def _whole_type(parts: Sequence[str]) -> str:
    """A datatype that is too long for the line of its dataset."""
    return facts([("type", text(parts[1]))]) if len(parts) > 1 and len(parts[1]) > MAX_TYPE_CHARS else ""


def _ends(dataset: Any) -> str:
    """The first and last values of a dimension's own coordinates, and the value of a scalar: decoded, and only if they cost little."""
    is_coordinate = len(dataset.shape) == 1 and dataset.dims[:1] == (dataset.name.rpartition("/")[2],)
    if dataset.refusal or not dataset.size or not (is_coordinate or not dataset.shape):
        return ""
    if dataset.dtype.kind not in "iufb" or int(np.prod(dataset.chunks or (1,), dtype=object)) * dataset.dtype.itemsize > ENDS_CHUNK_BYTES:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecodingWarning)  # a reader of the page did not ask for times
            values = dataset.decoded
        if not dataset.shape:
            return _value(values[()])
        if dataset.size <= 3:
            return " ".join(map(_value, values[...]))
        return f"{' '.join(map(_value, values[:2]))} … {_value(values[-1])}"
    except (Error, ValueError, TypeError, ImportError, MemoryError):
        return ""


def _meaning(node: tree.Shown) -> str:
    """`long_name [units]`, as far as a dataset has them."""
    units = _units(node)
    return f"{_long_name(node)} {f'[{units}]' if units else ''}".strip()


def _long_name(node: tree.Shown) -> str:
    return _attribute(node, "long_name", "standard_name")


def _units(node: tree.Shown) -> str:
    return _attribute(node, "units")


def _attribute(node: tree.Shown, *names: str) -> str:
    """The first of these attributes that an object has, in one line."""
    try:
        attributes = node.attrs
        return next((tree.cut(" ".join(shown(attributes[name]).split())) for name in names if name in attributes), "")
    except Error:
        return ""


def _dimensions(dataset: Dataset) -> str:
    if not dataset.shape:
        return text("scalar")
    names = dataset.dims or (None,) * len(dataset.shape)
    return " × ".join(f"{text(name)} <b>{extent:,}</b>" if name else f"<b>{extent:,}</b>" for name, extent in zip(names, dataset.shape, strict=False))


def _storage(dataset: Dataset) -> str:
    parts = [size(dataset.nbytes)]
    try:
        stored = dataset.stored_bytes
    except Error:
        return parts[0]
    if dataset.filters and dataset.compression_ratio is not None:
        parts.append(f"{size(stored)} in the file ({' + '.join(dataset.filters)}, {dataset.compression_ratio:.1f}:1)")
    elif dataset.filters:
        parts.append(f"{' + '.join(dataset.filters)}, nothing stored yet")
    else:
        parts.append("not compressed")
    return ", ".join(parts)


def _chunks(dataset: Dataset) -> str:
    if not dataset.chunks:
        return "contiguous" if dataset.shape else ""
    count = int(np.prod([-(-extent // chunk) for extent, chunk in zip(dataset.shape, dataset.chunks, strict=True)], dtype=object))
    each = int(np.prod(dataset.chunks, dtype=object)) * dataset.dtype.itemsize
    return f"{' × '.join(map(str, dataset.chunks))}, {size(each)} each, {count:,} in all"


def _preview(dataset: Dataset) -> str:
    """The first values. Of more than two dimensions it shows the last two, at the beginning of the others."""
    chunk_values = int(np.prod(dataset.chunks, dtype=object)) if dataset.chunks else 0
    if not dataset.size or len(dataset.shape) > 32 or chunk_values * dataset.dtype.itemsize > PREVIEW_CHUNK_BYTES:
        return ""
    shown_dims = min(2, len(dataset.shape))
    leading = len(dataset.shape) - shown_dims
    limits = (PREVIEW_ROWS, PREVIEW_COLUMNS)[:shown_dims] if shown_dims == 2 else (PREVIEW_COLUMNS,)[:shown_dims]
    try:
        values = np.asarray(dataset[(0,) * leading + tuple(slice(0, limit) for limit in limits)])
    except (Error, ValueError, TypeError, MemoryError) as error:
        return leaf(f"values cannot be shown: {text(error)}")
    if not shown_dims:
        return facts([("value", text(_value(values[()])))])
    if values.dtype.names and shown_dims == 1:
        return _records(values[:PREVIEW_ROWS], dataset.size)
    block = values.reshape((1, *values.shape) if shown_dims == 1 else values.shape)
    cut_columns, cut_rows = dataset.shape[-1] > block.shape[1], shown_dims == 2 and dataset.shape[-2] > block.shape[0]
    rows = [[_value(value) for value in row] + (["…"] if cut_columns else []) for row in block]
    rows += [["⋮"] * len(rows[0])] if cut_rows else []
    headers: list[object] = [*range(block.shape[1]), *(["…"] if cut_columns else [])]
    where = f" at [{', '.join(['0'] * leading)}, …]" if leading else ""
    return fold(f"<b>first values</b>{text(where)}", grid(headers, rows, numbers=[values.dtype.kind in "iufc"] * len(headers)), opened=True)


def _records(values: AnyArray, count: int) -> str:
    """The first elements of a compound: a column for each member."""
    names = list(values.dtype.names or ())[:PREVIEW_FIELDS]
    more = len(values.dtype.names or ()) - len(names)
    rows = [[*(_value(value[name]) for name in names), *(["…"] if more else [])] for value in values]
    rows += [["⋮"] * len(rows[0])] if rows and count > len(rows) else []
    numbers = [values.dtype[name].kind in "iuf" for name in names]
    return fold("<b>first values</b>", grid([*names, *(["…"] if more else [])], rows, numbers=numbers), opened=True)


def _value(value: object) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("M8[s]")).removesuffix("T00:00:00").replace("T", " ")
    if isinstance(value, (np.floating, float)):
        return f"{value:.6g}"
    return tree.cut(shown(value) if not isinstance(value, str) else value)


def closed(text_of: str) -> str:
    """What is shown of an object whose file is closed."""
    return text(text_of)
