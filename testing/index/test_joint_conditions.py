"""Conditions on several columns, as boxes in space: indexes look only where no condition rules out all rows."""

from __future__ import annotations

import pathlib
import random
import re
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from hyperslab import _native
from test_value_index import damaged

COUNT = 400_000
CELLS = 4  # along each axis


def points(seed: int, shuffled: bool = False) -> dict[str, Any]:
    """Points that lie in the order of cells, with odd values: NaN, null (-999), zeros of both signs, equal ones, one cell of one value."""
    rng = np.random.default_rng(seed)
    cell = np.arange(COUNT) * CELLS**3 // COUNT
    parts = [cell // CELLS**2, cell // CELLS % CELLS, cell % CELLS]
    x, y = ((part + rng.random(COUNT)) / CELLS for part in parts[:2])
    z = (parts[2] * 1000 + rng.integers(0, 1000, COUNT)).astype("i2")
    x, y = x.astype("f4"), y.astype("f8")
    x[rng.integers(0, COUNT, 500)] = np.nan
    x[rng.integers(0, COUNT, 500)] = rng.choice([0.0, -0.0], 500)
    y[rng.integers(0, COUNT, 500)] = 0.5
    z[rng.integers(0, COUNT, 500)] = -999
    x[cell == 7] = 0.25
    order = rng.permutation(COUNT) if shuffled else slice(None)
    return {"x": x[order], "y": y[order], "z": z[order]}


def write(path: pathlib.Path, columns: dict[str, Any], shape: tuple[int, ...] = (COUNT,), **layout: Any) -> None:
    with h5py.File(path, "w") as f:
        for name, values in columns.items():
            dataset = f.create_dataset(name, data=values.reshape(shape), **layout)
            if name == "z":
                dataset.attrs["_FillValue"] = np.int16(-999)


def questions(c: dict[str, Any]) -> dict[str, Any]:
    x, y, z = c["x"].astype("f8"), c["y"], c["z"].astype("i8")
    known = z != -999
    return {
        "x between 0.3 and 0.35 and y between 0.6 and 0.65 and z between 1200 and 1400": (x >= 0.3)
        & (x <= 0.35)
        & (y >= 0.6)
        & (y <= 0.65)
        & (z >= 1200)
        & (z <= 1400),
        "x > 0.9 and y < 0.1": (x > 0.9) & (y < 0.1),
        "z >= 3500 and x < 0.01": (z >= 3500) & (x < 0.01),
        "x = 0 and y < 0.7 and z < 500": (x == 0) & (y < 0.7) & (z < 500) & known,
        "x = 0.25 and y >= 0.25 and z >= 3000": (x == 0.25) & (y >= 0.25) & (z >= 3000),
        "(x < 0.02 or x > 0.98) and (z < 100 or y = 0.5)": ((x < 0.02) | (x > 0.98)) & ((z < 100) & known | (y == 0.5)),
        "(x < 0.02 or z > 3900) and y > 0.97": ((x < 0.02) | (z > 3900)) & (y > 0.97),
        "x is nan and y > 0.9": np.isnan(x) & (y > 0.9),
        "z is null and x < 0.3": ~known & (x < 0.3),
        "not (x > 0.05) and not (z > 40)": ~(x > 0.05) & (z <= 40) & known,
        "x < 0.2 and y > 0.8 and z != 3": (x < 0.2) & (y > 0.8) & (z != 3) & known,
        "x > 0.9 and x < 0.2 and y > 0": np.zeros(COUNT, bool),
        "x > 5 and y > 0.5": np.zeros(COUNT, bool),
        "x > 0.76 and y < 0.24 and z + 1 < 500": (x > 0.76) & (y < 0.24) & (z + 1 < 500) & known,
    }


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"chunks": (65536,), "compression": "gzip", "compression_opts": 1},
    {"chunks": (50_000,)},
    {"shape": (400, 1000), "chunks": (100, 250)},  # the rows of a block are not consecutive
    {"shape": (4, 100, 1000), "chunks": (1, 100, 1000), "compression": "gzip", "compression_opts": 1},
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("layout", LAYOUTS, ids=["contiguous", "gzip", "cut", "scattered", "three"])
@pytest.mark.parametrize("levels", ["X X X", "P P P", "K X B", "Z P X", "Z Z Z", "X - X"])
def test_boxes_have_the_rows_that_numpy_finds(tmp_path: pathlib.Path, layout: dict[str, Any], levels: str) -> None:
    columns, path = points(1), tmp_path / "p.h5"
    write(path, columns, **layout)
    for name, level in zip("xyz", levels.split(), strict=True):
        if level != "-":
            hs.index(path, f"/{name}", level)
    for where, mask in questions(columns).items():
        wanted = np.flatnonzero(mask)
        assert hs.query(path, "/", where).count() == len(wanted), where
        assert np.array_equal(np.asarray(hs.query(path, "/", where).positions()).ravel(), wanted), where
        table = hs.open(path).table("/", where=where)
        found = table.to_arrow()
        assert table.count() == found.num_rows == len(wanted), where
        assert np.array_equal(found["y"].to_numpy(), columns["y"][wanted]), where
        least, most = hs.query(path, "/", where).bounds()
        assert least <= len(wanted) <= most, where
        parts = pa.concat_tables([part.read() for part in hs.open(path).table("/", where=where).splits(5)])
        assert np.array_equal(parts["y"].to_numpy(), columns["y"][wanted]), where


def test_dimensions_leave_a_part_of_blocks(tmp_path: pathlib.Path) -> None:
    columns, path = points(2), tmp_path / "p.h5"
    write(path, columns, (400, 1000), chunks=(70, 1000))
    hs.index(path, ["/x", "/y", "/z"])
    for where, mask in questions(columns).items():
        part = mask.reshape(400, 1000).copy()
        part[:33], part[311:], part[:, 900:] = False, False, False
        table = hs.open(path).table("/", where=f"({where}) and dim_0 between 33 and 310 and dim_1 < 900")
        assert table.count() == table.to_arrow().num_rows == part.sum(), where


def test_explain_says_what_no_condition_rules_out(tmp_path: pathlib.Path) -> None:
    columns, path = points(3), tmp_path / "p.h5"
    write(path, columns, chunks=(10_000,), compression="gzip", compression_opts=1)
    hs.index(path, ["/x", "/y"])
    shown = hs.open(path).table("/", where="x > 0.9 and y > 0.9").explain()
    joint = re.search(r"all indexes together leave blocks of (\d+) rows", shown)
    single = [int(left) for left in re.findall(r"index X on .: (\d+) of 7 blocks left", shown)]
    assert joint is not None and len(single) == 2, shown
    assert 10_000 <= int(joint[1]) < 60_000 * min(single), shown
    # Nothing is said of one condition, and of zones that rule out nothing.
    assert "together" not in hs.open(path).table("/", where="x > 0.9").explain()
    shuffled = tmp_path / "s.h5"
    write(shuffled, points(3, shuffled=True), chunks=(10_000,))
    hs.index(shuffled, ["/x", "/y"])
    table = hs.open(shuffled).table("/", where="x > 0.9 and y > 0.9")
    assert "together" not in table.explain()
    assert table.count() == ((columns["x"] > 0.9) & (columns["y"] > 0.9)).sum()


def test_conditions_that_hold_in_no_block_together_read_nothing(tmp_path: pathlib.Path) -> None:
    columns, path = points(4), tmp_path / "p.h5"
    columns["w"] = np.zeros(COUNT, "u4")
    columns["w"][5] = 1  # where x is small
    write(path, columns, chunks=(10_000,), compression="gzip", compression_opts=1)
    hs.index(path, ["/x", "/w"])
    table = hs.open(path).table("/", where="x > 0.9 and w = 1")
    assert "all indexes together leave blocks of 0 rows" in table.explain()
    before = hs.counters()
    assert table.count() == table.to_arrow().num_rows == 0
    cost = hs.counters().since(before)
    assert cost.index_blocks_pruned > 0 and cost.chunks_decoded <= 4, cost  # those of audits
    assert hs.open(path).table("/", where="x < 0.9 and w = 1").count() == 1


@pytest.mark.parametrize("level", ["P", "X"])
def test_damaged_indexes_never_change_an_answer(tmp_path: pathlib.Path, level: str) -> None:
    rng = random.Random(level)
    columns, path = points(5), tmp_path / "p.h5"
    write(path, columns | {"row": np.arange(COUNT)}, chunks=(40_000,))
    hs.index(path, ["/x", "/y", "/z"], level)
    folder = tmp_path / "p.h5.hsidx"
    whole = {name.name: name.read_bytes() for name in folder.iterdir()}
    asked = dict(list(questions(columns).items())[:4])
    for _ in range(25):
        name = damaged(folder, rng)
        session = _native.Session(2, None, None, None, ())  # nothing remembered
        native = session.open([str(path)])
        for where, mask in asked.items():
            assert _native.Plan(native, "/", columns=["row"], where_text=where).count() == mask.sum(), (name, where)
            reader = _native.Plan(native, "/", columns=["row"], where_text=where).read()
            found: list[int] = []
            while (capsules := reader.next_batch()) is not None:
                found += pa.RecordBatch._import_from_c_capsule(*capsules)["row"].to_pylist()
            assert np.array_equal(found, np.flatnonzero(mask)), (name, where)
        for file, content in whole.items():
            (folder / file).write_bytes(content)


def test_members_of_records(tmp_path: pathlib.Path) -> None:
    columns, path = points(6), tmp_path / "r.h5"
    records = np.zeros(COUNT, [("x", "f4"), ("y", "f8"), ("z", "i2")])
    for name, values in columns.items():
        records[name] = values
    with h5py.File(path, "w") as f:
        f.create_dataset("hits", data=records, chunks=(30_000,), compression="gzip", compression_opts=1)
    hs.index(path, "/hits")
    mask = (columns["x"] > 0.9) & (columns["y"] < 0.1) & (columns["z"] > 3000)
    table = hs.open(path).table("/hits", where="x > 0.9 and y < 0.1 and z > 3000")
    assert "all indexes together leave blocks of" in table.explain()
    assert table.count() == table.to_arrow().num_rows == mask.sum() > 0
