"""Dimensions: which dimension each axis of a dataset has, by the scales of HDF5 and netCDF-4 files and by the dimensions of netCDF classic
files."""

from __future__ import annotations

from typing import NamedTuple

from ..file import File
from ..objects.dataset import Dataset


class Declared(NamedTuple):
    """A dimension of a netCDF classic file."""

    extent: int
    is_unlimited: bool


def is_classic(file: File) -> bool:
    """Whether dimensions are not datasets, as in HDF5."""
    return file.format == "netcdf3"


def declared(file: File) -> dict[str, Declared]:
    """The dimensions of a netCDF classic file by path; none of another one."""
    if not is_classic(file):
        return {}
    return {f"/{name}": Declared(extent, is_unlimited) for name, extent, is_unlimited in file._file.declared_dimensions(file._number)}


def is_scale(dataset: Dataset) -> bool:
    """Whether it has the coordinates of a dimension."""
    if dataset._file.format == "netcdf3":
        return bool(dataset.ndim) and f"/{dataset.dims[0]}" == dataset.name
    return dataset.attrs.get("CLASS") in (b"DIMENSION_SCALE", "DIMENSION_SCALE")


def is_placeholder(dataset: Dataset) -> bool:
    """Whether it only stands for a dimension without coordinates, as the netCDF library writes them."""
    name = dataset.attrs.get("NAME")
    text = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    return is_scale(dataset) and text.startswith("This is a netCDF dimension but not a netCDF variable")


def scales_of(dataset: Dataset) -> list[str | None]:
    """Path of the scale of each dimension. In a netCDF classic file there need not be a variable at that path."""
    if dataset._file.format == "netcdf3":
        return [f"/{name}" for name, _ in dataset._dimensions()]
    numbers = [number for _, number in dataset._dimensions()] or [None] * dataset.ndim
    scales = [None if number is None else dataset._file.object_path(number) for number in numbers]
    if dataset.ndim and scales[0] is None and is_scale(dataset):
        scales[0] = dataset.name
    return scales
