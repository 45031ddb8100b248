"""Compares the netCDF view of a file with netCDF4: names, dimensions, values as stored, attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py  # before netCDF4, which points HDF5 at the filters of its own library
import hdf5plugin  # noqa: F401
import hyperslab as hs
import netCDF4
import numpy as np
from compare import Result, shown

MOST_BYTES = 1 << 30


def plain(value: Any) -> Any:
    """One form for what netCDF4 and we give: bytes as text, one-element arrays as their element, lists as arrays."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    if isinstance(value, hs.Empty):
        return ""
    array = np.asarray(value)
    if array.dtype.kind == "O":
        array = np.array([plain(item) for item in array.reshape(-1)], dtype=object).reshape(array.shape)
    if array.dtype.kind in "SU" and array.ndim == 0:
        return plain(array.item())
    return array.reshape(-1)[0] if array.size == 1 else array


def same(ours: Any, theirs: Any) -> bool:
    """Equal bit for bit, NaN equal to NaN, of the same type but for the byte order."""
    if isinstance(theirs, str) and isinstance(ours, np.ndarray) and ours.shape == ():
        ours = ours.item()  # netCDF4 gives a scalar text variable as str
    if isinstance(theirs, str) or isinstance(ours, str):
        return isinstance(ours, str) and isinstance(theirs, str) and ours.rstrip("\0") == theirs.rstrip("\0")
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind in "OU" or theirs.dtype.kind in "OU":
        return all(same(plain(a), plain(b)) for a, b in zip(ours.reshape(-1), theirs.reshape(-1), strict=True))
    if theirs.dtype.names is not None:
        return ours.dtype.names == theirs.dtype.names and all(same(ours[n], theirs[n]) for n in theirs.dtype.names)
    if theirs.dtype.kind == "S":
        return ours.dtype.kind == "S" and bool((ours == theirs).all())
    if ours.dtype.newbyteorder("=") != theirs.dtype.newbyteorder("="):
        return False
    return bool(np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fc"))


def check(path: str, ours: Any, theirs: Any) -> Result:
    try:
        wanted = theirs()
    except Exception as error:  # whatever netCDF4 cannot read is not ours to match
        return Result(path, "unreadable", f"{type(error).__name__}: {error}"[:160])
    try:
        found = ours()
    except hs.UnsupportedError as error:
        return Result(path, "refused", str(error)[:200])
    except Exception as error:
        return Result(path, "error", f"{type(error).__name__}: {error}"[:300])
    if same(found, wanted):
        return Result(path, "equal")
    return Result(path, "different", f"ours {shown(found)} theirs {shown(wanted)}")


def attributes(path: str, ours: Any, theirs: Any) -> Iterator[Result]:
    try:
        names = list(theirs.ncattrs())
    except Exception as error:
        yield Result(f"{path}@", "unreadable", f"{type(error).__name__}: {error}"[:160])
        return
    if sorted(ours.attrs) != sorted(names):
        yield Result(f"{path}@", "different", f"attributes {sorted(set(ours.attrs) ^ set(names))[:10]} are in one only")
    for name in names:
        if name in ours.attrs:
            yield check(
                f"{path}@{name}",
                lambda n=name: plain(ours.attrs[n]),
                lambda n=name: plain(theirs.getncattr(n)),
            )


def undefined(path: str) -> set[str]:
    """Variables that were never written and have no fill: netCDF-C gives what its memory held before."""
    found: set[str] = set()

    def visit(name: str, item: Any) -> None:
        unwritten = isinstance(item, h5py.Dataset) and item.id.get_storage_size() == 0
        if unwritten and item.id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
            found.add(f"/{name}")

    if h5py.is_hdf5(path):
        with h5py.File(path) as file:
            file.visititems(visit)
    return found


def group(path: str, ours: hs.Group, theirs: netCDF4.Dataset, skipped: set[str]) -> Iterator[Result]:
    yield from attributes(path or "/", ours, theirs)
    types = [*theirs.cmptypes, *theirs.vltypes, *theirs.enumtypes]
    mine, wanted = set(ours.keys()), {*theirs.variables, *theirs.groups}
    extra = mine - wanted - set(types)
    if wanted - mine or extra:
        yield Result(path or "/", "different", f"only theirs {sorted(wanted - mine)[:10]}, only ours {sorted(extra)[:10]}")
    for name, variable in theirs.variables.items():
        if name not in mine:
            continue
        here = f"{path}/{name}"
        try:
            dataset = ours[name]
            shape, dims = dataset.shape, dataset.dims
        except hs.UnsupportedError as error:
            yield Result(here, "refused", str(error)[:200])
            continue
        except Exception as error:
            yield Result(here, "error", f"{type(error).__name__}: {error}"[:300])
            continue
        if (shape, tuple(dims)) != (variable.shape, variable.dimensions):
            yield Result(here, "different", f"shape and dimensions {shape} {dims} and {variable.shape} {variable.dimensions}")
        yield from attributes(here, dataset, variable)
        unlimited = [d for d in variable.get_dims() if d.isunlimited()]
        if len(unlimited) > 1:
            yield Result(here, "unreadable", "netCDF-C misplaces values along two grown dimensions: not compared")
            continue
        if here in skipped:
            yield Result(here, "unreadable", "never written, without fill: not compared")
            continue
        if variable.size * getattr(variable.dtype, "itemsize", 8) > MOST_BYTES:
            yield Result(here, "unreadable", "more than 1 GiB: not compared")
            continue
        yield check(
            here,
            lambda d=dataset: d[...] if d.dtype.kind != "O" or variable.dtype is not str else d.asstr()[...],
            lambda v=variable: v[...],
        )
    for name, inner in theirs.groups.items():
        if name in mine:
            yield from group(f"{path}/{name}", ours[name], inner, skipped)


def compare(path: str) -> Iterator[Result]:
    """Every variable and attribute of the file."""
    with netCDF4.Dataset(path) as theirs:
        theirs.set_auto_maskandscale(False)
        theirs.set_auto_chartostring(False)
        try:
            ours = hs.open(path)
        except hs.UnsupportedError as error:
            yield Result("/", "refused", str(error))
            return
        except Exception as error:
            yield Result("/", "error", f"{type(error).__name__}: {error}"[:300])
            return
        yield from group("", ours, theirs, undefined(path))
