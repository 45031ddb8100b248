"""Enumerations of FALSE and TRUE over integers of any width are booleans in each door, as they are in h5py."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py as ours
import numpy as np
import pytest

TYPES = {
    "i1": h5py.h5t.STD_I8LE,
    "u1": h5py.h5t.STD_U8LE,
    "i2": h5py.h5t.STD_I16BE,
    "i4": h5py.h5t.STD_I32LE,
    "u4": h5py.h5t.STD_U32BE,
    "i8": h5py.h5t.STD_I64LE,
}
VALUES = np.array([False, True, True, False, True])


def enumeration(base: Any) -> Any:
    made = h5py.h5t.enum_create(base)
    made.enum_insert(b"FALSE", 0)
    made.enum_insert(b"TRUE", 1)
    return made


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    place, memory = tmp_path / "booleans.h5", enumeration(h5py.h5t.NATIVE_INT8)
    with h5py.File(place, "w") as f:
        for name, base in TYPES.items():
            kind, space = enumeration(base), h5py.h5s.create_simple((5,))
            dataset = h5py.h5d.create(f.id, name.encode(), kind, space)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES.astype("i1"), memory)
            scalar = h5py.h5s.create(h5py.h5s.SCALAR)
            h5py.h5a.create(dataset, b"flag", kind, scalar).write(np.array(1, "i1"), memory)
            record = h5py.h5t.create(h5py.h5t.COMPOUND, 8 + kind.get_size())
            record.insert(b"x", 0, h5py.h5t.STD_I64LE)
            record.insert(b"flag", 8, kind)
            records = np.zeros(5, [("x", "i8"), ("flag", "?")])
            records["x"], records["flag"] = np.arange(5), VALUES
            h5py.h5d.create(f.id, f"{name}_record".encode(), record, space)
            f[f"{name}_record"][...] = records
    return place


@pytest.mark.parametrize("name", TYPES)
def test_reading_is_that_of_h5py(path: pathlib.Path, name: str) -> None:
    with h5py.File(path) as judge, hs.open(path) as f, ours.File(path) as same:
        theirs = judge[name]
        for dataset in (f[name], same[name]):
            assert dataset.dtype == theirs.dtype and dataset.dtype.kind == "b"
            for key in (..., 1, slice(1, 3), [0, 3], VALUES):
                got, right = dataset[key], theirs[key]
                assert np.asarray(got).dtype.kind == "b" and np.array_equal(got, right), key
            assert dataset.attrs["flag"] == theirs.attrs["flag"] and dataset.fillvalue == theirs.fillvalue
        records = f[f"{name}_record"]
        assert records.dtype["flag"].kind == "b" and records["flag"].tolist() == VALUES.tolist() == judge[f"{name}_record"]["flag"].tolist()
        assert records[2].tolist() == judge[f"{name}_record"][2].tolist() and records[...]["x"].tolist() == [0, 1, 2, 3, 4]
        assert f[name].decoded[...].tolist() == VALUES.tolist()
        assert f.table(f"/{name}").to_arrow()[name].to_pylist() == VALUES.tolist()
        assert f.table(f"/{name}", where=f"{name}").count() == 3
        assert f.table(f"/{name}_record").to_arrow()["flag"].to_pylist() == VALUES.tolist()
        assert hs.sql(f"select count(*) from {name} where {name}", f).fetchall() == [(3,)]
        assert [one for batch in hs.batches(f[name], 2) for one in batch[name].tolist()] == VALUES.tolist()


@pytest.mark.parametrize("name", TYPES)
def test_writing_is_read_by_h5py(path: pathlib.Path, name: str, tmp_path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        f[name][1:3] = [False, True]
        f[name][0] = True
        f[f"{name}_record"][0, "flag"] = True
        assert f[name][...].tolist() == [True, False, True, False, True]
    hs.repack(path, tmp_path / "packed.h5")
    for place in (path, tmp_path / "packed.h5"):
        with h5py.File(place) as judge, hs.open(place) as f:
            assert judge[name][...].tolist() == f[name][...].tolist() == [True, False, True, False, True]
            assert judge[name].id.get_type().get_size() == int(name[1])
            assert judge[f"{name}_record"]["flag"].tolist() == [True, True, True, False, True]
