"""Many files become one by `hs.joined`, `hs.virtual` (read by netCDF4), `hs.merge` and `hs.open_mfdataset`: for generated pairs of files, all
of them and xarray give the same arrays, or all refuse."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr
from sampling import one_in

DIMS = ("time", "x")
Arrays = dict[str, tuple[tuple[str, ...], Any]]


class Case(NamedTuple):
    """Two files with the variables `v(time, x)`, `of_time(time)`, `of_x(x)` and `number`.

    Attributes:
        unlimited: The dimensions without a limit.
        coordinates: The dimensions with a coordinate variable.
        changes: What the second file has along each dimension: the `same` as the first one, other `values` of the coordinate, or another
            `length` (and other values, if there is a coordinate).
    """

    unlimited: tuple[str, ...]
    coordinates: tuple[str, ...]
    changes: dict[str, str]

    @property
    def dims(self) -> tuple[str, ...]:
        """In netCDF classic files, only the first dimension of a variable can be unlimited."""
        return DIMS[::-1] if self.unlimited == ("x",) else DIMS

    def arrays(self, part: int) -> Arrays:
        length, first = {"time": 2, "x": 3}, {"time": 0, "x": 0}
        for dim, change in self.changes.items():
            if part and change != "same":
                first[dim] = 10
                length[dim] += change == "length"
        shape = [length[dim] for dim in self.dims]
        made: Arrays = {"v": (self.dims, 100.0 * part + np.arange(np.prod(shape)).reshape(shape)), "number": ((), 7)}
        for dim in DIMS:
            made[f"of_{dim}"] = ((dim,), np.arange(length[dim], dtype="i4"))
            if dim in self.coordinates:
                made[dim] = ((dim,), first[dim] + np.arange(length[dim], dtype="f8"))
        return made

    def __str__(self) -> str:
        changes = " ".join(f"{dim}:{change}" for dim, change in self.changes.items())
        return f"{changes}; coordinates {self.coordinates}, unlimited {self.unlimited}"


def cases(form: str) -> Iterator[Case]:
    coordinates = [("time", "x")] if form == "HDF5" else [(), ("time",), ("x",), ("time", "x")]
    unlimited = [(), ("time",), ("x",)] if form == "NETCDF3_CLASSIC" else [(), ("time",), ("x",), ("time", "x")]
    for without_limit, named in itertools.product(unlimited, coordinates):
        for both in itertools.product(("same", "values", "length"), repeat=2):
            changes = dict(zip(DIMS, both, strict=True))
            if all(change != "values" or dim in named for dim, change in changes.items()):
                yield Case(without_limit, named, changes)


def write(path: pathlib.Path, form: str, case: Case, part: int) -> None:
    arrays = case.arrays(part)
    sizes = dict(zip(case.dims, arrays["v"][1].shape, strict=True))
    if form != "HDF5":
        with netCDF4.Dataset(path, "w", format=form) as f:
            for dim in case.dims:
                f.createDimension(dim, None if dim in case.unlimited else sizes[dim])
            for name, (dims, values) in arrays.items():
                f.createVariable(name, np.asarray(values).dtype.str[1:].replace("i8", "i4"), dims)[...] = values
        return
    with h5py.File(path, "w") as f:
        for name, (dims, values) in sorted(arrays.items(), key=lambda item: item[0] not in DIMS):
            found = f.create_dataset(name, data=values, maxshape=tuple(None if dim in case.unlimited else sizes[dim] for dim in dims))
            if name in DIMS:
                found.make_scale(name)
            for axis, dim in enumerate(dims if name not in DIMS else ()):
                found.dims[axis].attach_scale(f[dim])


def arrays_of(file: hs.File) -> Arrays:
    with file:
        return {name: (found.dims, found[()]) for name, found in file.items() if name in ("v", "number", "of_time", "of_x", *DIMS) and found.dims is not None}


def of_dataset(opened: xr.Dataset) -> Arrays:
    with opened:
        return {str(name): (tuple(map(str, found.dims)), found.values) for name, found in opened.variables.items()}


def virtual(paths: list[pathlib.Path], **options: Any) -> Arrays:
    target = paths[0].with_name("virtual.h5")
    hs.virtual(paths, target, "w", **options)
    return of_dataset(xr.open_dataset(target, engine="netcdf4"))


def merged(paths: list[pathlib.Path], **options: Any) -> Arrays:
    target = paths[0].with_name("merged.h5")
    hs.merge(paths, target, "w", **options)
    return arrays_of(hs.open(target))


DOORS: dict[str, Callable[..., Arrays]] = {
    "joined": lambda paths, **options: arrays_of(hs.joined(paths, **options)),
    "virtual": virtual,
    "merge": merged,
    "open_mfdataset": lambda paths, **options: of_dataset(hs.open_mfdataset(paths, **options)),
}
#: What is asked of the doors, and of xarray. Without a dimension, it combines by coordinates.
QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "by coordinates": ({}, {"combine": "by_coords", "data_vars": "minimal"}),
    "along time": ({"concat_dim": "time", "check_order": False}, {"combine": "nested", "concat_dim": "time", "data_vars": "minimal"}),
    "stacked": ({"new_dim": "run"}, {"combine": "nested", "concat_dim": "run", "data_vars": "all"}),
}


def judged(paths: list[pathlib.Path], form: str, case: Case, options: dict[str, Any]) -> Arrays | None:
    """What xarray makes of the files; `None` if it refuses. If dimensions have no coordinates, xarray has to be told which one to
    combine: the one whose length differs, or else the one without a limit."""
    options = {"engine": "h5netcdf" if form == "HDF5" else "netcdf4", "coords": "minimal", "compat": "equals", "join": "exact", **options}
    try:
        return of_dataset(xr.open_mfdataset(paths, **options))
    except ValueError:
        longer = [dim for dim in DIMS if dim not in case.coordinates and case.changes[dim] == "length"]
        is_same = all(case.changes[dim] == "same" for dim in case.coordinates)
        candidates = longer or (list(case.unlimited) if is_same else [])
        if options["combine"] == "nested" or len(candidates) != 1 or candidates[0] in case.coordinates:
            return None
    try:
        return of_dataset(xr.open_mfdataset(paths, **{**options, "combine": "nested", "concat_dim": candidates[0]}))
    except ValueError:
        return None


def difference(found: Arrays, expected: Arrays) -> str | None:
    for name, (dims, values) in expected.items():
        if name not in found:
            return f"no {name}"
        if found[name][0] != dims or not np.array_equal(found[name][1], values):
            return f"{name}: {found[name][0]} {np.shape(found[name][1])}, expected {dims} {np.shape(values)}"
    return None


@one_in(4)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("form", ["HDF5", "NETCDF4", "NETCDF3_CLASSIC"])
def test_all_doors_and_xarray_agree(tmp_path: pathlib.Path, form: str, question: str, step: int) -> None:
    options, of_xarray = QUESTIONS[question]
    table, count = list[str](), {True: 0, False: 0}
    for number, case in enumerate(itertools.islice(cases(form), 0, None, step)):
        paths = [tmp_path / f"{number}_{part}.nc" for part in range(2)]
        for part, path in enumerate(paths):
            write(path, form, case, part)
        expected = judged(paths, form, case, of_xarray)
        count[expected is not None] += 1
        for door, opens in DOORS.items():
            is_refused = form == "NETCDF3_CLASSIC" and door in ("virtual", "merge")
            try:
                wrong = difference(opens(paths, **options), expected) if expected is not None and not is_refused else f"opened: {opens(paths, **options)}"
            except hs.Error as error:
                wrong = None if expected is None or (is_refused and isinstance(error, hs.UnsupportedError)) else f"{type(error).__name__}: {error.message}"
            if wrong:
                table.append(f"{case} | {door} | {wrong}")
    assert not table, f"{len(table)} differ:\n" + "\n".join(table)
    assert min(count.values()) > 3 // step, count
