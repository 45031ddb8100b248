"""NeXus against nexusformat: real files of its wheel and of punx, and files that it writes."""

from __future__ import annotations

import pathlib
import sys
from importlib.resources import files
from typing import Any

import h5py
import hyperslab as hs
import nexusformat.nexus as nx
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conformance"))

import packages
import signature

INSTALLED = [
    pathlib.Path(str(entry))
    for folder in ("nexusformat/examples", "punx/data")
    for entry in files(folder.split("/")[0]).joinpath(folder.split("/")[1]).iterdir()
]
#: Sources of packages that `make conformance` reads, too.
FETCHED = [
    path
    for package in packages.listed()
    if package.name in {"dioptas", "dxchange", "nexus", "pynxtools", "python-nexpy", "hyperspy/rosettasciio"}
    for path in packages.unpack(package).rglob("*")
]
REAL = sorted(path for path in INSTALLED + FETCHED if path.suffix in {".nxs", ".h5", ".hdf5", ".nx5"} and signature.kind(path) == "hdf5")


def data_of(root: Any) -> dict[str, Any]:
    """The NXdata of a file that have a signal, by path."""
    return {node.nxpath[1:]: node for node in root.walk() if isinstance(node, nx.NXdata) and node.nxsignal is not None}


def axes_of(data: Any) -> list[Any]:
    """The axes, if nexusformat can list them: it fails for numbers of axes from 0, as files of punx and of the NeXus library have them."""
    try:
        return data.nxaxes or []
    except (IndexError, TypeError, UnboundLocalError, nx.NeXusError):
        return []


def compare(path: pathlib.Path, view: Any, name: str, expected: Any) -> None:
    signal = np.asarray(view.signal(name)[...])
    theirs = np.asarray(expected.nxsignal.nxdata)
    assert signal.shape == theirs.shape and np.array_equal(signal, theirs, equal_nan=signal.dtype.kind == "f"), (path, name)
    for mine, axis in zip(view.axes(name), axes_of(expected), strict=False):
        if mine is not None:
            assert np.array_equal(np.asarray(mine[...]), np.asarray(axis.nxdata)), (path, name, axis.nxname)
    table = view.data(name, limit=20_000).to_arrow()
    column = table[view.facts["data"][name]["signal"].rsplit("/", 1)[-1]]
    assert np.array_equal(np.asarray(column), theirs.ravel()[: len(column)], equal_nan=theirs.dtype.kind == "f") and len(column) == min(theirs.size, 20_000)
    index = np.unravel_index(np.arange(len(column)), theirs.shape) if theirs.ndim else ()
    for dimension, mine in enumerate(view.axes(name)):
        label = None if mine is None else mine.name.rsplit("/", 1)[-1]
        if label in table.column_names and mine is not None and mine.ndim == 1 and mine.dtype.kind in "iuf":
            assert np.array_equal(np.asarray(table[label]), mine[...][index[dimension]], equal_nan=True), (path, name, label)
    if expected.nxerrors is not None:
        errors = view.facts["data"][name]["errors"].rsplit("/", 1)[-1]
        assert np.array_equal(np.asarray(table[errors]), np.asarray(expected.nxerrors.nxdata).ravel()[: len(column)])


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files(path: pathlib.Path) -> None:
    with h5py.File(path, "r") as f:
        is_nexus = any(node.attrs.get("NX_class") in ("NXentry", b"NXentry") for node in f.values())
    models = {model.name: model.certainty for model in hs.open(path).models}
    assert models.get("nexus") == ("certain" if is_nexus else None)
    if not is_nexus:
        return
    view = hs.models.nexus.open(path)
    problems = {problem.object: problem.message for problem in view.validate()}
    try:
        theirs = data_of(nx.nxload(path))
    except RecursionError:
        pytest.skip("nexusformat cannot walk the groups of this file")
    checked = 0
    for name, expected in theirs.items():
        if view.omitted.get(f"/{name}") == "is NXdata without a signal":
            # nexusformat takes the only field of a group.
            assert "signal" not in expected.attrs
            continue
        if any(problem.startswith(f"/{name}") for problem in problems):
            with pytest.raises(hs.Error):
                view.data(name).to_arrow()
            continue
        compare(path, view, name, expected)
        checked += 1
    print(path.name, checked, "compared;", problems, view.omitted)


def test_files_of_nexusformat(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(1)
    x, y, t = (nx.NXfield(np.sort(random.random(n)), name=name, units="mm") for n, name in ((4, "x"), (3, "y"), (6, "t")))
    counts = nx.NXfield(random.integers(0, 99, (3, 4)), name="counts")
    root = nx.NXroot(
        nx.NXentry(
            nx.NXdata(counts, [y, x], errors=np.sqrt(counts.nxdata), name="data"),
            nx.NXdata(nx.NXfield(random.random((3, 4, 5)), name="v"), [y, x, t], name="bins"),
            title="made by nexusformat",
        )
    )
    root["entry/data"].set_default()
    root.save(tmp_path / "made.nxs", "w")
    view = hs.models.nexus.open(tmp_path / "made.nxs")
    assert view.default == "entry/data" and view.tables[0] == "entry/data" and view.validate() == []
    assert view.entries["entry"]["title"] == "made by nexusformat"
    found = data_of(nx.nxload(tmp_path / "made.nxs"))
    assert set(found) == {"entry/data", "entry/bins"}
    for name, expected in found.items():
        compare(tmp_path, view, name, expected)
    bins = view.data("entry/bins").to_pandas()
    assert bins.t_lower.tolist() == np.tile(t.nxdata[:-1], 12).tolist() and bins.t_upper.tolist() == np.tile(t.nxdata[1:], 12).tolist()
    plotted = nx.nxload(tmp_path / "made.nxs").plottable_data
    assert plotted.nxpath == "/entry/data"
