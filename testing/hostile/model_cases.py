"""Hostile files of data models that were thought of, each with the one thing that is wrong: `models.py` changes good files at random."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import models


class Case(NamedTuple):
    """A good file's model (of `models.MAKERS`), what is done to it, and the path that errors or problems name; `None` if tables show
    the wrong values as they are stored."""

    model: str
    change: Callable[[h5py.File], Any]
    object: str | None


def replaced(path: str, values: Any, **attributes: Any) -> Callable[[h5py.File], None]:
    """Other values in place of a dataset, which keeps its attributes."""

    def change(f: h5py.File) -> None:
        kept = dict(f[path].attrs) | attributes
        made = values(f[path][()]) if callable(values) else values
        del f[path]
        f[path] = made
        for name, value in kept.items():
            f[path].attrs[name] = value

    return change


def first(path: str, value: Any) -> Callable[[h5py.File], None]:
    """Another first element."""

    def change(f: h5py.File) -> None:
        f[path][(0,) * f[path].ndim] = value

    return change


def of_type(path: str, type: Any) -> Callable[[h5py.File], None]:
    """A dataset of another type of HDF5, as long as before, in place of a dataset."""

    def change(f: h5py.File) -> None:
        space = h5py.h5s.create_simple(f[path].shape)
        del f[path]
        parent, _, name = path.rpartition("/")
        h5py.h5d.create((f[parent] if parent else f).id, name.encode(), type, space)

    return change


def attribute(path: str, name: str, value: Any) -> Callable[[h5py.File], None]:
    """Another value of an attribute."""
    return lambda f: f[path].attrs.__setitem__(name, value)


def itself(f: h5py.File) -> None:
    """A cell array of MATLAB that contains itself."""
    f.create_dataset("loop", (1, 1), h5py.ref_dtype)
    f["loop"][0, 0] = f["loop"].ref
    f["loop"].attrs["MATLAB_class"] = np.bytes_("cell")


def each_other(f: h5py.File) -> None:
    """Two cell arrays that contain each other."""
    for name in ("one", "other"):
        f.create_dataset(name, (1, 1), h5py.ref_dtype)
        f[name].attrs["MATLAB_class"] = np.bytes_("cell")
    f["one"][0, 0], f["other"][0, 0] = f["other"].ref, f["one"].ref


def of_struct(path: str) -> Callable[[h5py.File], None]:
    """An empty struct in place of a dataset."""

    def change(f: h5py.File) -> None:
        del f[path]
        f.create_group(path)

    return change


_PATCHES = "data/0/particles/electrons/particlePatches"
CASES = {
    "h5part: an array of another length": Case("h5part", replaced("Step#2/x", np.ones(3)), "/Step#2"),
    "h5part: an array of times": Case("h5part", of_type("Step#2/x", h5py.h5t.UNIX_D64LE), "/Step#2/x"),
    "openpmd: a component of another length": Case("openpmd_patches", replaced("data/0/particles/electrons/position/y", np.ones(2)), "/data/0/particles"),
    "openpmd: patches of more particles than there are": Case("openpmd_patches", first(f"{_PATCHES}/numParticles", 99), _PATCHES),
    "openpmd: a patch that begins after the last particle": Case("openpmd_patches", first(f"{_PATCHES}/numParticlesOffset", 2**40), _PATCHES),
    "openpmd: patches that differ in number": Case("openpmd_patches", replaced(f"{_PATCHES}/offset/x", np.zeros(7)), _PATCHES),
    "ugrid: a face with a node that is not there": Case("ugrid", first("mesh_face_nodes", 10**6), "/mesh_face_nodes"),
    "ugrid: a face with a node before the first": Case("ugrid", first("mesh_face_nodes", -2), "/mesh_face_nodes"),
    "mpas: a cell with a vertex that is not there": Case("mpas", first("verticesOnCell", 10**6), "/verticesOnCell"),
    "mpas: more edges than the list is long": Case("mpas", first("nEdgesOnCell", 2**31 - 1), "/verticesOnCell"),
    "mpas: an edge with a cell that is not there": Case("mpas", first("cellsOnEdge", -5), "/cellsOnEdge"),
    "anndata: indptr that decreases": Case("anndata", replaced("X/indptr", lambda old: old[::-1].copy()), "/X"),
    "anndata: indptr beyond the values": Case("anndata", replaced("X/indptr", lambda old: np.append(old[:-1], 2**50)), "/X"),
    "anndata: an index beyond the columns": Case("anndata", first("X/indices", 40), "/X/indices"),
    "anndata: an index before the first": Case("anndata", first("X/indices", -1), "/X/indices"),
    "anndata: a shape of one number": Case("anndata", attribute("X", "shape", np.int64(7)), "/X"),
    "anndata: a shape of no numbers": Case("anndata", attribute("X", "shape", np.zeros(0, "i8")), "/X"),
    "matlab: an empty value of a shape beyond memory": Case(
        "matlab",
        lambda f: f.create_dataset("odd", data=np.array([0, 2**62], "u8")).attrs.update(MATLAB_class=np.bytes_("double"), MATLAB_empty=np.uint8(1)),
        "/odd",
    ),
    "matlab_objects: an enumeration whose names are of another class": Case(
        "matlab_objects", attribute("colors/ValueNames", "MATLAB_class", np.bytes_("rainbow")), "/colors"
    ),
    "ugrid: coordinates of another type": Case("ugrid", replaced("mesh_x", lambda old: np.full(old.shape, b"west")), "/mesh"),
    "anndata: an encoding that there is not": Case("anndata", attribute("obs", "encoding-type", "rainbow"), "/obs"),
    "anndata: a matrix that is said to be a data frame": Case("anndata", attribute("X", "encoding-type", "dataframe"), "/X"),
    "matlab: a cell that contains itself": Case("matlab", itself, "/loop"),
    "matlab: cells that contain each other": Case("matlab", each_other, "/one"),
    "matlab: a struct in place of the offsets of a sparse matrix": Case("matlab", of_struct("zeros/jc"), "/zeros"),
    "matlab: a sparse matrix of no number of rows": Case("matlab", attribute("zeros", "MATLAB_sparse", np.zeros(0, "u8")), "/zeros"),
    "matlab: a sparse matrix of rows by name": Case("matlab", attribute("zeros", "MATLAB_sparse", "three"), "/zeros"),
    "matlab: text of numbers with fractions": Case(
        "matlab", lambda f: f.create_dataset("odd", data=np.array([[0.5]])).attrs.__setitem__("MATLAB_class", np.bytes_("char")), "/odd"
    ),
}


def make(name: str, folder: pathlib.Path) -> pathlib.Path:
    """The file of a case."""
    case = CASES[name]
    path = folder / "case.h5"
    path.write_bytes(models.good(case.model).read_bytes())
    with h5py.File(path, "r+") as f:
        case.change(f)
    return path
