"""Start: the object of a file that the page shows first."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import cast

from .. import h5py
from ..base.errors import Error
from ..files.file import File
from ..h5py import h5ds
from ..models import nexus
from ..objects.dataset import Dataset
from .meaning import variable_of

#: Objects of a file that are looked at.
_MAX_OBJECTS = 2000


def start(plain: h5py.File, file: File) -> str:
    """The path of what is shown first: the default data of NeXus, else the first of the variables of most dimensions, else the first dataset of
    numbers, else the first dataset, else the root.

    Args:
        plain: The file with h5py's interface, whose objects are shown.
        file: The same file with the conventions of netCDF.

    Returns:
        The path.
    """
    return _data(file) or _variable(plain, file) or _dataset(plain) or "/"


def _models(file: File, name: str) -> bool:
    return any(model.name == name and model.certainty != "possible" for model in file.models)


def _data(file: File) -> str | None:
    """The group of NeXus' default data, which H5Web draws over its axes."""
    try:
        if not _models(file, "nexus"):
            return None
        view = nexus.open(file)
        return None if view.default is None else str(view.signal().parent.name)
    except Error:
        return None  # data that contradict the model: the other rules find what can be drawn


def _variable(plain: h5py.File, file: File) -> str | None:
    """The first variable of most dimensions that a model of netCDF has."""
    try:
        arrays = [array.path for model in file.models if model.name == "cf" and model.certainty != "possible" for array in model.arrays]
        found = [one for path in arrays if isinstance(one := plain.get(path), h5py.Dataset) and variable_of(file, one) is not None and _is_drawn(one)]
    except Error:
        return None
    return max(found, key=lambda one: one.ndim).name if found else None


def _is_drawn(dataset: Dataset) -> bool:
    return bool(dataset.shape) and math.prod(dataset.shape) > 0 and dataset.dtype.kind in "iufbc"


def _dataset(plain: h5py.File) -> str | None:
    """The first dataset of numbers that is no coordinate, else the first one of numbers, else the first."""
    first, drawn = None, None
    for one in _datasets(plain):
        first = first or one.name
        if not _is_drawn(one):
            continue
        if not h5ds.is_scale(one.id):
            return str(one.name)
        drawn = drawn or one.name
    return drawn or first


def _datasets(plain: h5py.File) -> Iterator[h5py.Dataset]:
    """The datasets, those of a group before those of the groups in it."""
    groups, left = deque(["/"]), _MAX_OBJECTS
    while groups:
        group = groups.popleft()
        for name in cast(h5py.Group, plain[group]):
            left -= 1
            if left < 0:
                return
            path = f"{group.rstrip('/')}/{name}"
            try:
                found = plain[path] if isinstance(plain.get(path, getlink=True), h5py.HardLink) else None
            except (Error, KeyError, OSError):
                continue  # a damaged object leaves the others
            if isinstance(found, h5py.Dataset):
                yield found
            elif isinstance(found, h5py.Group):
                groups.append(path)
