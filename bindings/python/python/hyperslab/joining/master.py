"""Master: a file whose datasets are put together from the datasets of other files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence

import numpy as np

from .. import _native
from ..backends.plan_writer import AnyWriter
from ..base.errors import InvalidInputError
from ..files.file import File
from ..objects.attributes import value_of
from ..objects.dataset import Dataset
from ..objects.datatype import Datatype
from ..objects.native_objects import description_of, native_of, stored_attribute
from ..sources.addresses import is_address
from ..values import dtype_encoding
from ..values.netcdf_types import fixed_text
from ..writing.new_file import begin
from . import references
from .dimensions import is_placeholder
from .matching import Joined, Series
from .times import recounted

#: Maximum bytes of a dataset that is copied if it is the same in all files; for longer ones, the first file's is shown.
_COPIED_BYTES = 1 << 20
#: What the netCDF library calls a dimension without a variable; the number is its length.
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.{:10d}"


def write_master(
    joined: Joined,
    path: str,
    folder: str,
    opened: Callable[[str], File],
    replace: bool = True,
    grows: bool = False,
) -> None:
    """Writes the file of virtual datasets.

    Args:
        joined: The files that fit together.
        path: Of the file.
        folder: The folder that names of files are relative to.
        opened: Opens one of the files again.
        replace: Whether an existing file is replaced.
        grows: Whether dimensions have the limits that they have in the first file, and all values come from the files, for a copy.
    """
    sources = [_relative(source, folder) for source in joined.paths]
    merged = references.MergedReferences(joined.paths, joined.objects, joined.series, joined.attributes)
    creating = begin(path, replace, track_order=True)
    with File(creating) as made:
        writer = creating.writer
        # The netCDF library looks for dimensions among what was created before.
        if joined.how.new_dim is not None:
            _write_new_dimension(made, writer, joined, opened)
        _write_declared(writer, joined)
        for name, found in joined.objects.items():
            if isinstance(found, Datatype):
                writer.create_datatype(name, found.datatype.widened)
            elif not isinstance(found, Dataset):
                if name != "/":
                    made.create_group(name)
            elif found.datatype.has_references:
                _write_references(made, writer, joined, name, found, merged, opened, grows)
            elif name in joined.recounted:
                parts = [recounted(_dataset(opened(source), name), found) for source in joined.paths]
                values = np.concatenate(parts)
                made.create_dataset(name, data=values, dtype=found.dtype, fillvalue=found.fillvalue, maxshape=_limits(found, values.shape, 0, grows))
            elif is_placeholder(found):
                extent = [joined.extent_of(name)]
                limits = _limits(found, extent, 0, grows)
                chunks = found.chunks if limits and None in limits else None
                writer.create_dataset(name, _native.DatasetDefinition(found.datatype.widened, extent, maxshape=limits, chunks=chunks))
            elif name in joined.series:
                _write_series(writer, name, found, joined.series[name], sources, grows)
            else:
                _write_same(made, writer, name, found, sources[0], grows)
            _copy_attributes(made, writer, joined, name, merged)
            if name in joined.declared:
                _mark_as_scale(writer, name, name[1:])
        for name, found in joined.objects.items():
            if isinstance(found, Dataset):
                offset = 1 if joined.how.new_dim is not None and name in joined.series else 0
                if offset:
                    writer.attach_scale(name, 0, f"/{joined.how.new_dim}")
                for axis in range(found.ndim):
                    scale = joined.scale_of(name, axis)
                    if scale is not None and scale != name:
                        writer.attach_scale(name, axis + offset, scale)


def _dataset(file: File, name: str) -> Dataset:
    found = file[name]
    assert isinstance(found, Dataset)
    return found


def _limits(found: Dataset, whole: Sequence[int], axis: int | None, grows: bool) -> list[int | None] | None:
    """The maximum shape of a whole: unlimited where the first file's dataset is; `None` if all dimensions have the limits of the whole."""
    if not grows or not whole:
        return None
    limits = ([1] if axis is None else []) + list(found.maxshape)
    return [None if limit is None else extent for limit, extent in zip(limits, whole, strict=True)]


def _write_series(writer: AnyWriter, name: str, found: Dataset, series: Series, sources: Sequence[str], grows: bool) -> None:
    whole, datatype = list(series.whole), found.datatype.widened
    limits = _limits(found, whole, series.axis, grows)
    mappings, at = [], 0
    for source, length in zip(sources, series.lengths, strict=True):
        if length:
            place = [[0, 1, 1, extent] for extent in whole]
            place[series.axis or 0] = [at, 1, 1, length]
            mappings.append((source, name.replace("%", "%%"), None, place))
        at += length
    fill = dtype_encoding.fill_of(found.fillvalue, datatype)
    writer.create_virtual(name, _native.DatasetDefinition(datatype, whole, maxshape=limits, fill=fill), mappings)


def _write_same(made: File, writer: AnyWriter, name: str, found: Dataset, source: str, grows: bool) -> None:
    datatype, about = found.datatype.widened, description_of(found)
    limits = _limits(found, found.shape, 0, grows) if about["shape"] is not None else None
    if not about["shape"] or (found.nbytes <= _COPIED_BYTES and not grows):
        made.create_dataset(name, data=found[()], dtype=found.dtype)
    else:
        place = [[0, 1, 1, extent] for extent in found.shape]
        fill = dtype_encoding.fill_of(found.fillvalue, datatype)
        definition = _native.DatasetDefinition(datatype, list(found.shape), maxshape=limits, fill=fill)
        writer.create_virtual(name, definition, [(source, name.replace("%", "%%"), None, place)])


def _write_references(
    made: File,
    writer: AnyWriter,
    joined: Joined,
    name: str,
    found: Dataset,
    merged: references.MergedReferences,
    opened: Callable[[str], File],
    grows: bool,
) -> None:
    series = joined.series.get(name)
    whole = list(found.shape) if series is None else list(series.whole)
    limits = _limits(found, whole, 0 if series is None else series.axis, grows)
    chunks = found.chunks
    if series is not None and series.axis is None and chunks is not None:
        chunks = (1, *chunks)
    extent = None if found.size is None else whole
    datatype = found.datatype.widened
    fill = dtype_encoding.fill_of(merged.of(found.fillvalue, found.file.filename, name), datatype) if description_of(found)["fill"] else None
    definition = _native.DatasetDefinition(datatype, extent, maxshape=limits, chunks=chunks, fill=fill)
    writer.create_dataset(name, definition)
    target = made[name]
    assert isinstance(target, Dataset)
    if extent is None:
        return
    if series is None:
        references.write(target, merged, name, [(opened(joined.paths[0]), 0)], None, False)
        return
    starts = itertools.accumulate(series.lengths, initial=0)
    parts = ((opened(path), start) for path, start in zip(joined.paths, starts, strict=False))
    references.write(target, merged, name, parts, series.axis, series.axis is None)


def _copy_attributes(made: File, writer: AnyWriter, joined: Joined, name: str, merged: references.MergedReferences) -> None:
    """The attributes that all files have in common, in the order of the first."""
    found = joined.objects[name]
    file = native_of(found)[0]
    for key in found.attrs:
        if key not in joined.attributes[name]:
            continue
        value = stored_attribute(found, key)
        assert value is not None
        if key == "_Netcdf4Coordinates" and joined.how.new_dim is not None and name in joined.series:
            numbers = np.array([_new_number(joined), *np.atleast_1d(found.attrs[key])], "<i4")
            made[name].attrs[key] = numbers
        elif key == "NAME" and isinstance(found, Dataset) and is_placeholder(found):
            writer.set_attribute(name, key, *fixed_text(_NO_VARIABLE.format(joined.extent_of(name))))
        elif value.datatype.has_references:
            heap: list[bytes] = []
            elements = merged.of(found.attrs[key], file.path, name) if value.shape is not None else []
            datatype = value.datatype.widened
            data = dtype_encoding.stored_elements(elements, value.shape or [], datatype, heap).tobytes()
            writer.set_attribute(name, key, value.shape, datatype, data, heap)
        elif value.datatype.uses_heap:
            made[name].attrs[key] = value_of(value, file)
        else:
            writer.set_attribute(name, key, value.shape, value.datatype, value.data, [])


def _write_declared(writer: AnyWriter, joined: Joined) -> None:
    """The dimensions of netCDF classic files that no variable is named after, as the netCDF library writes them into HDF5."""
    for path, dimension in joined.declared.items():
        if path in joined.objects:
            continue
        extent = dimension.extent
        if path == joined.scale:
            extent = sum(next((series.lengths for series in joined.series.values()), [extent]))
        writer.create_dataset(path, _native.DatasetDefinition(dtype_encoding.of_dtype(">f4"), [extent]))
        _mark_as_scale(writer, path, _NO_VARIABLE.format(extent))


def _mark_as_scale(writer: AnyWriter, path: str, name: str) -> None:
    writer.set_attribute(path, "CLASS", *fixed_text("DIMENSION_SCALE"))
    writer.set_attribute(path, "NAME", *fixed_text(name))


def _write_new_dimension(made: File, writer: AnyWriter, joined: Joined, opened: Callable[[str], File]) -> None:
    """The scale of the new dimension, with a label for each file if there are labels."""
    name = f"/{joined.how.new_dim}"
    labels = joined.how.labels
    if labels is None:
        writer.create_dataset(name, _native.DatasetDefinition(dtype_encoding.of_dtype(">f4"), [joined.count]))
        text = _NO_VARIABLE.format(joined.count)
    else:
        # An attribute of the netCDF library is an array of one value.
        values = [
            value.reshape(())[()] if isinstance(value, np.ndarray) and value.size == 1 else value for value in (labels(opened(path)) for path in joined.paths)
        ]
        if any(np.ndim(value) for value in values):
            raise InvalidInputError("labels= gives an array for a file: give one value, such as a number or a text")
        is_text = any(isinstance(value, (str, bytes)) for value in values)
        data = np.array([str(value) for value in values], dtype=object) if is_text else np.asarray(values)
        made.create_dataset(name, data=data)
        text = str(joined.how.new_dim)
    _mark_as_scale(writer, name, text)
    number = _new_number(joined)
    if number:
        made[name].attrs["_Netcdf4Dimid"] = np.int32(number)


def _new_number(joined: Joined) -> int:
    """The number that the netCDF library would give another dimension; 0 for the first."""
    return max((int(found.attrs["_Netcdf4Dimid"]) + 1 for found in joined.objects.values() if "_Netcdf4Dimid" in found.attrs), default=0)


def _relative(path: str, folder: str) -> str:
    """The name by which a file in `folder` knows another one: relative if it is below. A `%` would stand for a number (HDF5's
    `H5Pset_virtual`), so it is doubled."""
    if is_address(path):
        name = path[len(folder) :].lstrip("/") if folder and path.startswith(folder) else path
    else:
        relative = os.path.relpath(path, folder or ".")
        name = os.path.abspath(path) if relative.startswith("..") else relative
    return name.replace("%", "%%")
