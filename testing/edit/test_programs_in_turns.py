"""netCDF4, PyTables, pandas and h5py change the same files in turns with us, against a model of what they must hold."""

from __future__ import annotations

import os
import pathlib
import random
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

#: Turns of both in each test.
ROUNDS = int(os.environ.get("EDITING_ROUNDS", "60"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(3))
def test_netcdf4_in_turns(tmp_path: pathlib.Path, seed: int) -> None:
    draw, path = random.Random(seed), tmp_path / "a.nc"
    sizes: dict[str, int | None] = {"time": None, "x": 3}
    variables: dict[str, tuple[tuple[str, ...], np.ndarray[Any, Any]]] = {}
    attributes: dict[str, int] = {}
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 3)
    rows = 0

    def values(dims: tuple[str, ...], rows: int) -> np.ndarray[Any, Any]:
        shape = [rows if sizes[dim] is None else sizes[dim] for dim in dims]
        return np.array([draw.randrange(100) for _ in range(int(np.prod(shape)))], "i4").reshape(shape)

    for turn in range(ROUNDS):
        is_ours = turn % 2 == 0
        with hs.open(path, "r+") if is_ours else netCDF4.Dataset(path, "r+") as f:
            for _ in range(draw.randrange(1, 6)):
                kind = draw.choice(["dimension", "variable", "variable", "coordinate", "row", "write", "attribute"])
                name = f"{kind[0]}{turn}_{len(variables)}_{len(sizes)}"
                if kind == "dimension":
                    size = draw.choice([1, 2, 5])
                    f.create_dimension(name, size) if is_ours else f.createDimension(name, size)
                    sizes[name] = size
                elif kind == "coordinate":
                    free = [dim for dim, size in sizes.items() if size is not None and dim not in variables]
                    if free:
                        dim = draw.choice(free)
                        data = values((dim,), rows)
                        if is_ours:
                            f.create_variable(dim, [dim], "i4", data=data)
                        else:
                            f.createVariable(dim, "i4", (dim,))[:] = data
                        variables[dim] = ((dim,), data)
                elif kind == "variable":
                    dims = (("time",) if draw.random() < 0.5 else ()) + tuple(draw.sample([dim for dim in sizes if dim != "time"], draw.choice([0, 1, 1])))
                    data = values(dims, rows)
                    if is_ours:
                        f.create_variable(name, dims, "i4", data=data, compression="gzip" if dims else None)
                    else:
                        f.createVariable(name, "i4", dims, zlib=bool(dims))[...] = data
                    variables[name] = (dims, data)
                elif kind == "row":
                    grown = [name for name, (dims, _) in variables.items() if dims[:1] == ("time",)]
                    if grown:
                        name = draw.choice(grown)
                        dims, data = variables[name]
                        row = values(dims, 1)
                        if is_ours:
                            f[name].append(row)
                        else:
                            f[name][rows] = row[0]
                        rows += 1
                        for other, (dims, data) in variables.items():
                            if dims[:1] == ("time",):
                                added = row if other == name else np.full((1, *data.shape[1:]), netCDF4.default_fillvals["i4"], "i4")
                                variables[other] = dims, np.concatenate([data, added])
                elif kind == "write" and variables:
                    name = draw.choice(list(variables))
                    dims, data = variables[name]
                    if data.size:
                        data = values(dims, rows)
                        f[name][...] = data
                        variables[name] = dims, data
                elif kind == "attribute":
                    name, attributes[name] = f"a{draw.randrange(20)}", turn
                    if is_ours:
                        f.attrs[name] = np.int32(turn)
                    else:
                        f.setncattr(name, np.int32(turn))
                    attributes[name] = turn
        attributes = {name: value for name, value in attributes.items() if name.startswith("a")}
        with netCDF4.Dataset(path) as f:
            f.set_auto_mask(False)
            assert {name: None if dim.isunlimited() else len(dim) for name, dim in f.dimensions.items()} == sizes
            for name, (dims, data) in variables.items():
                assert f[name].dimensions == dims, name
                assert np.array_equal(f[name][...], data), (turn, name)
            assert {name: int(f.getncattr(name)) for name in f.ncattrs()} == attributes
        with hs.open(path) as f:
            for name, (dims, data) in variables.items():
                assert f[name].dims == dims and np.array_equal(f[name][...], data), (turn, name)
    assert hs.check(path).ok


def test_pytables_in_turns(tmp_path: pathlib.Path) -> None:
    tables = pytest.importorskip("tables")
    draw, path = random.Random(1), tmp_path / "a.h5"
    rows = np.zeros(0, [("n", "i4"), ("v", "f8")])
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    with tables.open_file(path, "w") as f:
        f.create_table("/", "t", description=rows.dtype, filters=tables.Filters(complevel=4), chunkshape=(16,))
    for turn in range(ROUNDS):
        more = np.array([(draw.randrange(100), draw.random()) for _ in range(draw.randrange(1, 40))], rows.dtype)
        name, data = f"array{turn}", np.arange(draw.randrange(1, 100)) * turn
        if turn % 2:
            with tables.open_file(path, "a") as f:
                f.root.t.append(more)
                f.create_carray("/", name, obj=data) if turn % 3 else f.create_array("/", name, obj=data)
                if len(arrays) > 4:
                    gone = draw.choice(list(arrays))
                    f.remove_node(f"/{gone}")
                    del arrays[gone]
        else:
            hs.models.pytables.append(path, "/t", more)
            with hs.open(path, "r+") as f:
                f["t"][0:1] = more[:1]
                rows = np.concatenate([rows, more])
                rows[0] = more[0]
                f[name] = data
                f[name].attrs["CLASS"], f[name].attrs["VERSION"], f[name].attrs["TITLE"] = np.bytes_("ARRAY"), np.bytes_("2.4"), np.bytes_("")
                f[name].attrs["FLAVOR"] = np.bytes_("numpy")
                if len(arrays) > 4:
                    gone = draw.choice(list(arrays))
                    del f[gone]
                    del arrays[gone]
        if turn % 2:
            rows = np.concatenate([rows, more])
        arrays[name] = data
        with tables.open_file(path) as f:
            assert np.array_equal(f.root.t[:], rows), turn
            assert {node._v_name for node in f.iter_nodes("/")} == {"t", *arrays}
            for known, expected in arrays.items():
                assert np.array_equal(f.get_node(f"/{known}")[:], expected), (turn, known)
    assert hs.check(path).ok


@pytest.mark.slow
def test_pandas_in_turns(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("tables")
    draw, path = random.Random(2), tmp_path / "a.h5"
    frames: dict[str, Any] = {}
    for turn in range(ROUNDS):
        name = f"frame{draw.randrange(6)}"
        frame = pandas.DataFrame({"a": np.arange(draw.randrange(1, 50)) * turn, "b": 0.5 * turn})
        with pandas.HDFStore(path) as store:
            store.put(name, frame, format=draw.choice(["fixed", "table"]))
        frames[name] = frame
        with hs.open(path, "r+") as f:
            moved = f"moved{turn}"
            f.copy(name, moved) if draw.random() < 0.5 else f.move(name, moved)
            frames[moved] = frames[name] if name in f else frames.pop(name)
            if len(frames) > 8:
                gone = draw.choice(list(frames))
                del f[gone], frames[gone]
            f.attrs["turn"] = turn
        for known, expected in frames.items():
            pandas.testing.assert_frame_equal(pandas.read_hdf(path, known), expected)
    with h5py.File(path) as f:
        assert f.attrs["turn"] == ROUNDS - 1
    assert hs.check(path).ok
