"""Dimensions: which dimension each axis of a dataset has, by the scales of an HDF5 file, or by name in a netCDF classic file and in one that
was opened as netCDF-4."""

from __future__ import annotations

from typing import NamedTuple

from ..files.file import File
from ..objects.dataset import Dataset
from ..objects.native_objects import native_of, object_at


class Declared(NamedTuple):
    """A dimension of a netCDF file."""

    extent: int
    is_unlimited: bool


def is_classic(file: File) -> bool:
    """Whether it is a netCDF classic file."""
    return file.format == "netcdf3"


def declared(file: File, group: str) -> dict[str, Declared]:
    """The dimensions of a group, and of those above, as paths in the group; none of a file opened as HDF5, whose dimensions are datasets."""
    found = dict[str, Declared]()
    if file.format == "hdf5":
        return found
    parts = group.rstrip("/").split("/")
    for depth in range(1, len(parts) + 1):
        try:
            place, number = native_of(file)[0].find("/".join(parts[:depth]) or "/")
        except LookupError:
            break
        found |= {f"{group.rstrip('/')}/{name}": Declared(extent, is_unlimited) for name, extent, is_unlimited in place.declared_dimensions(number)}
    return found


def is_scale(dataset: Dataset) -> bool:
    """Whether it has the coordinates of a dimension."""
    if native_of(dataset)[0].format != "hdf5":
        return dataset.name in scales_of(dataset)
    return dataset.attrs.get("CLASS") in (b"DIMENSION_SCALE", "DIMENSION_SCALE")


def is_placeholder(dataset: Dataset) -> bool:
    """Whether it only stands for a dimension without coordinates, as the netCDF library writes them."""
    name = dataset.attrs.get("NAME")
    text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    return is_scale(dataset) and text.startswith("This is a netCDF dimension but not a netCDF variable")


def scales_of(dataset: Dataset) -> list[str | None]:
    """Path of the scale of each dimension. Dimensions with names do not need to have a dataset at that path, which is next to `dataset`."""
    file, own = native_of(dataset)
    if file.format != "hdf5":
        folder = dataset.name.rpartition("/")[0]
        return [f"{folder}/{name}" for name in dataset.dims]
    numbers = [number for _, number in file.dimensions(own)] or [None] * dataset.ndim
    names = dataset.dims or [None] * dataset.ndim
    scales = [_placeholder(dataset, name) if number is None else file.object_path(number) for name, number in zip(names, numbers, strict=True)]
    if dataset.ndim and scales[0] is None and is_scale(dataset):
        scales[0] = dataset.name
    return scales


def _placeholder(dataset: Dataset, name: str | None) -> str | None:
    """Path of the placeholder of a dimension without a limit. The netCDF library leaves it empty, so it has no coordinates for `dataset`."""
    folder = dataset.name
    while name is not None and folder:
        folder = folder.rpartition("/")[0]
        path = f"{folder}/{name}"
        if native_of(dataset)[0].exists(path):
            found = object_at(dataset, path)
            return path if isinstance(found, Dataset) and is_placeholder(found) else None
    return None
