"""Hostile files of data models: whole files whose parts contradict each other, made by h5py from the files of the models' tests.

A file differs from a good one by one to three changes: an array with another length, dimension, type or order, values out of range (connectivity,
codes, offsets that decrease), an object in place of another, a link to an ancestor or to nothing, an attribute that is missing or has another value
or type (encodings, units, names).
"""

from __future__ import annotations

import functools
import pathlib
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable

import h5py
import numpy as np
import tables

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import hexagons
import test_models_anndata as anndata
import test_models_cf as cf
import test_models_chombo as chombo
import test_models_flash as flash
import test_models_grids as grids
import test_models_keras as keras
import test_models_matlab as matlab
import test_models_matlab_objects as matlab_objects
import test_models_nexus as nexus
import test_models_nwb as nwb
import test_models_openpmd_writing as openpmd
import test_models_photon as photon
import test_models_pytables as pytables
import test_models_steps as steps
import test_models_vtkhdf as vtkhdf


def _openpmd(path: pathlib.Path) -> None:
    with openpmd.openpmd.create(path, "w") as series:
        for number in (0, 2):
            series.write_iteration(number, time=number * 0.5, dt=0.5, **openpmd.content(number))


def _openpmd_patches(path: pathlib.Path) -> None:
    with openpmd.openpmd.create(path, "w") as series:
        patch = openpmd.openpmd.Patch(particles=5, offset={"x": 0.0, "y": 0.0}, extent={"x": 1.0, "y": 1.0})
        series.write_iteration(0, time=0.0, dt=0.5, **openpmd.content(0), patches={"electrons": [patch]})


def _times(path: pathlib.Path) -> None:
    class Row(tables.IsDescription):  # type: ignore[misc]
        n, t, s = tables.Int32Col(pos=0), tables.Time64Col(pos=1), tables.Time32Col(pos=2)

    with tables.open_file(path, "w") as f:
        f.create_table("/", "t", Row).append([(1, 0.25, 3), (2, -1.75, 4)])
        f.create_earray("/", "e", tables.Time64Atom(), (0,)).append(np.array([1.5, 2.5]))


def _index(path: pathlib.Path) -> None:
    rows = np.zeros(1500, [("x", "f8"), ("n", "i4")])
    rows["x"], rows["n"] = np.random.default_rng(4).normal(size=1500), np.arange(1500)
    with tables.open_file(path, "w") as f:
        f.create_table("/", "t", rows, chunkshape=128).cols.x.create_index(kind="full", optlevel=3, _blocksizes=(1024, 512, 256, 64))


def _loom(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["LOOM_SPEC_VERSION"] = "3.0.0"
        f["matrix"], f["layers/spliced"] = np.arange(12, dtype="f4").reshape(3, 4), np.ones((3, 4))
        f["col_attrs/CellID"], f["col_attrs/n"], f["row_attrs/Gene"] = np.array(list("abcd"), "S"), np.arange(4), np.array(["x", "y", "z"], object)
        f["col_graphs/KNN/a"], f["col_graphs/KNN/b"], f["col_graphs/KNN/w"] = [0, 1], [1, 2], [0.5, 1.0]


def _pandas(path: pathlib.Path) -> None:
    made = pytables.frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.to_hdf(path, key="t", format="table")
        made[["a", "b"]].to_hdf(path, key="f")


MAKERS: dict[str, Callable[[pathlib.Path], object]] = {
    "h5part": steps.write_particles,
    "h5block": steps.write_fields,
    "chombo": chombo.good,
    "flash": flash.good,
    "vtkhdf": vtkhdf.good,
    "vtkhdf_steps": vtkhdf.of_steps,
    "vtkhdf_image": vtkhdf.image,
    "vtkhdf_grid": vtkhdf.grid,
    "openpmd": _openpmd,
    "anndata": anndata.write,
    "matlab": lambda path: matlab.build(path, matlab.of_matlab),
    "matlab_objects": lambda path: matlab.build(path, matlab_objects.of_objects),
    "pandas": _pandas,
    "pytables_times": _times,
    "pytables_index": _index,
    "loom": _loom,
    "openpmd_patches": _openpmd_patches,
    "mpas": lambda path: hexagons.write(str(path), 4, 3),
    "ugrid": grids.write_mesh,
    "cf": cf.write_cmip,
    "cf_ragged": cf.contiguous,
    "nexus": nexus.write,
    "nwb": nwb.write,
    "keras": keras.model,
    "photon_hdf5": photon.write,
}
#: Hostile numbers: the limits of types, and a value off by one.
NUMBERS = (0, -1, 1, 2, 3, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1)
TEXTS = (b"", b"csr_matrix", b"categorical", b"\xff\xfe", b"days since yesterday", b"node face edge", b"a" * 300, b"%T", b"cell", b"struct", b"double", b"char")


@functools.cache
def good(model: str) -> pathlib.Path:
    """The good file of a model."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-models-"))
    path = folder / "good.h5"
    MAKERS[model](path)
    return path


def _objects(f: h5py.File) -> list[str]:
    found: list[str] = []
    f.visit(found.append)
    return sorted(found)


def _resized(random: np.random.Generator, f: h5py.File, name: str) -> None:
    """Another length, dimension or type."""
    dataset = f[name]
    values = dataset[()] if dataset.size < 1 << 20 and dataset.size is not None else np.zeros(3)
    attributes = dict(dataset.attrs)
    kind = random.integers(5)
    if np.ndim(values) and kind == 0:
        values = values[: random.integers(len(values) + 1)]
    elif np.ndim(values) and kind == 1:
        values = np.concatenate([values, values[: random.integers(1, 4)]])
    elif kind == 2:
        values = np.asarray(values)[None]
    elif kind == 3:
        values = np.asarray(values).ravel()[:0]
    elif np.asarray(values).dtype.kind in "iuf":
        values = np.asarray(values).astype(random.choice(["i1", "u8", "f4", "S3", ">i4"]))
    del f[name]
    f[name] = values
    for key, value in attributes.items():
        f[name].attrs[key] = value


def _values(random: np.random.Generator, f: h5py.File, name: str) -> None:
    """Values out of range, or in another order."""
    dataset = f[name]
    if dataset.dtype.kind not in "iuf" or not dataset.size or dataset.size > 1 << 20:
        return
    values = np.asarray(dataset[()]).copy()
    flat = values.reshape(-1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if random.random() < 0.3:
            flat[:] = flat[::-1].copy()
        for place in random.integers(0, len(flat), 3):
            flat[place] = (
                np.array(int(random.choice(len(NUMBERS)))).astype(values.dtype)
                if random.random() < 0.3
                else np.array(NUMBERS[random.integers(len(NUMBERS))]).astype(values.dtype)
            )
    dataset[...] = values


def _replaced(random: np.random.Generator, f: h5py.File, name: str) -> None:
    """Another object in its place, a link to an ancestor, or nothing."""
    others = _objects(f)
    del f[name]
    kind = random.integers(6)
    if kind == 0:
        f.create_group(name)
    elif kind == 1:
        f[name] = f["/".join(name.split("/")[: random.integers(len(name.split("/")))]) or "/"]
    elif kind == 2:
        f[name] = h5py.SoftLink(str(random.choice(["/" + name, "/nothing", "/" + str(random.choice(others))])))
    elif kind == 3:
        f[name] = h5py.ExternalLink("nothing.h5", "/x")
    elif kind == 4:
        f[name] = h5py.Empty("f8")


def _attribute(random: np.random.Generator, f: h5py.File, name: str) -> None:
    """An attribute that is missing, or has another value or type."""
    node = f[name or "/"]
    names = sorted(node.attrs)
    if not names:
        return
    key = str(random.choice(names))
    kind = random.integers(5)
    if kind == 0:
        del node.attrs[key]
        return
    value = (
        NUMBERS[random.integers(len(NUMBERS))] if kind == 1
        else np.bytes_(TEXTS[random.integers(len(TEXTS))]) if kind == 2
        else np.array([NUMBERS[random.integers(len(NUMBERS))] for _ in range(random.integers(4))], "i8") if kind == 3
        else str(random.choice(names))
    )  # fmt: skip
    del node.attrs[key]
    node.attrs[key] = value


CHANGES = (_resized, _values, _values, _replaced, _attribute, _attribute)


def make(number: int, folder: pathlib.Path) -> tuple[pathlib.Path, str, list[str]]:
    """The file with a number: its path, its model, and what was changed."""
    random = np.random.default_rng([28, number])
    model = list(MAKERS)[number % len(MAKERS)]
    path = folder / f"{number}.h5"
    shutil.copyfile(good(model), path)
    done: list[str] = []
    with h5py.File(path, "r+") as f:
        for _ in range(random.integers(1, 4)):
            change = CHANGES[random.integers(len(CHANGES))]
            names = _objects(f)
            if not names:
                break
            name = str(random.choice([*names, ""])) if change is _attribute else str(random.choice(names))
            if change in (_resized, _values) and not isinstance(f.get(name), h5py.Dataset):
                change = _attribute
            try:
                change(random, f, name)
                done.append(f"{change.__name__[1:]} of /{name}")
            except (OSError, ValueError, TypeError, RuntimeError, KeyError, OverflowError, NotImplementedError):
                continue  # the HDF5 library does not make everything
    return path, model, done
