"""What notebooks show of files, groups and datasets: bounded, however many objects and attributes there are."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence, Sized
from typing import Any, cast

import numpy as np

from ..base.blocks import card, dim, facts, fold, leaf, size, text
from ..base.errors import DecodingWarning, Error
from . import tree
from .attributes import shown
from .value_text import value_text

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

#: What people call the formats.
_FORMATS = {
    "hdf5": "HDF5",
    "netcdf3": "netCDF classic",
    "netcdf4": "netCDF-4",
    "references": "chunk references",
    "container": "Arrow container",
    "netcdf_container": "netCDF in an Arrow container",
}


class Budget:
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
        rows, more = [], ""
        try:
            for number, row in enumerate(tree.attribute_lines(node, self.effort)):
                if number >= MAX_OWN_ATTRIBUTES or time.monotonic() > self._end or next(self._attributes, None) is None:
                    more = leaf(dim("… and more attributes"))
                    break
                rows.append((row[0], text(row[1])))
        except Error as error:
            more = leaf(dim(f"attributes cannot be read: {error.message}"))
        return facts(rows) + more


def of_file(file: tree.Shown, path: str, format: str) -> str:
    """A file: name, format, size, folder, attributes and tree."""
    budget = Budget(path)
    about = [("folder", text(os.path.dirname(os.path.abspath(path)))), ("size", _size_on_disk([path]))]
    return card("File", os.path.basename(path) or path, _format(format), facts(about), attributes_of(file, budget), _members(file, budget))


def of_files(title: str, paths: Sequence[str], formats: Sequence[str], first: tree.Shown, whole: tree.Shown | None, misfit: str) -> str:
    """Several files: how many, their size and paths, and the tree of the whole, or of the first if they are not one."""
    budget = Budget(*paths)
    listed = "".join(leaf(text(path)) for path in paths[:MAX_FILES])
    listed += leaf(dim(f"… and {len(paths) - MAX_FILES:,} more: filenames lists them")) if len(paths) > MAX_FILES else ""
    about = [
        ("files", text(f"{len(paths):,}, from {os.path.basename(paths[0])} to {os.path.basename(paths[-1])}" if len(paths) > 1 else paths[0])),
        ("size", _size_on_disk(paths)),
    ]
    note = ", ".join(map(_format, formats))
    if whole is not None:
        return card("FileSet", title, note, facts(about), fold("<b>paths</b>", listed), attributes_of(whole, budget), _members(whole, budget))
    about.append(("arrays", text(misfit)))
    tree_of_first = fold(f"<b>the first file</b> {text(paths[0])}", attributes_of(first, budget) + _members(first, budget), opened=True)
    return card("FileSet", title, note, facts(about), fold("<b>paths</b>", listed), tree_of_first)


def of_node(node: tree.Shown, kind: str, file: str) -> str:
    """A group, or another object that has nothing special to show."""
    budget = Budget(file)
    note = os.path.basename(file)
    refused = leaf(f"cannot be read: {text(node.refusal)}") if node.refusal else ""
    return card(kind, node.name, note, refused, attributes_of(node, budget), _members(node, budget))


def _format(name: str) -> str:
    return _FORMATS.get(name, name)


def _size_on_disk(paths: Sequence[str]) -> str:
    """The bytes of files, if all of them are on this machine; more than some hundreds are not asked for."""
    if len(paths) > 1000 or not all(map(os.path.exists, paths)):
        return ""
    return text(size(sum(map(os.path.getsize, paths))))


def attributes_of(node: tree.Shown, budget: Budget, *, opened: bool | None = None) -> str:
    """The attributes of an object, folded if there are many unless `opened` says."""
    inner = budget.attributes(node)
    return fold("<b>attributes</b>", inner, opened=inner.count("<tr>") <= MAX_OPEN_ATTRIBUTES if opened is None else opened) if inner else ""


def _members(group: tree.Shown, budget: Budget) -> str:
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


def _label(entry: tree.Entry, parts: Sequence[str], budget: Budget) -> str:
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
            return value_text(values[()])
        if dataset.size <= 3:
            return " ".join(map(value_text, values[...]))
        return f"{' '.join(map(value_text, values[:2]))} … {value_text(values[-1])}"
    except (Error, ValueError, TypeError, ImportError, MemoryError):
        return ""


def _meaning(node: tree.Shown) -> str:
    """`long_name [units]`, as far as a dataset has them."""
    units = units_of(node)
    return f"{long_name_of(node)} {f'[{units}]' if units else ''}".strip()


def long_name_of(node: tree.Shown) -> str:
    return _attribute(node, "long_name", "standard_name")


def units_of(node: tree.Shown) -> str:
    return _attribute(node, "units")


def _attribute(node: tree.Shown, *names: str) -> str:
    """The first of these attributes that an object has, in one line."""
    try:
        attributes = node.attrs
        return next((tree.cut(" ".join(shown(attributes[name]).split())) for name in names if name in attributes), "")
    except Error:
        return ""


def closed(text_of: str) -> str:
    """What is shown of an object whose file is closed."""
    return text(text_of)
