"""Every datatype becomes its Arrow type, with the values that numpy has."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

COLORS = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 7}, basetype="i2")
CASES: dict[str, tuple[object, object, pa.DataType, list[object]]] = {}
for _order in "<>":
    for _kind, _arrow in {
        "i1": pa.int8(),
        "i2": pa.int16(),
        "i4": pa.int32(),
        "i8": pa.int64(),
        "u1": pa.uint8(),
        "u2": pa.uint16(),
        "u4": pa.uint32(),
        "u8": pa.uint64(),
        "f2": pa.float16(),
        "f4": pa.float32(),
        "f8": pa.float64(),
    }.items():
        _dtype = np.dtype(_order + _kind)
        _extreme = [np.iinfo(_dtype).min, np.iinfo(_dtype).max] if _dtype.kind in "iu" else [float(np.finfo(_dtype).min), float("inf")]
        CASES[_order + _kind] = (np.array([*_extreme, 1], _dtype), None, _arrow, [*_extreme, 1])
CASES |= {
    "boolean": (np.array([True, False]), None, pa.bool_(), [True, False]),
    "enum": (np.array([0, 7, 1]), COLORS, pa.dictionary(pa.int32(), pa.utf8()), ["RED", "BLUE", "GREEN"]),
    "variable text": (["ä", "", "b"], h5py.string_dtype(), pa.utf8(), ["ä", "", "b"]),
    "fixed text": (np.array([b"ab", b"c"], "S3"), None, pa.utf8(), ["ab", "c"]),
    "fixed utf-8": (np.array(["ü".encode(), b""], h5py.string_dtype("utf-8", 4)), None, pa.utf8(), ["ü", ""]),
    "opaque": (np.array([b"abc", b"\xff\x00\x01"], "V3"), None, pa.binary(3), [b"abc", b"\xff\x00\x01"]),
    "array": (
        np.arange(12, dtype="i4").reshape(2, 2, 3),
        "(2,3)i4",
        pa.list_(pa.field("item", pa.list_(pa.field("item", pa.int32(), nullable=False), 3), nullable=False), 2),
        [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]],
    ),
    "sequence": (
        [np.arange(3), np.arange(0), np.arange(5)],
        h5py.vlen_dtype("i4"),
        pa.list_(pa.field("item", pa.int32(), nullable=False)),
        [[0, 1, 2], [], [0, 1, 2, 3, 4]],
    ),
    "complex": (np.array([1 + 2j]), None, pa.null(), [{"r": 1.0, "i": 2.0}]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_datatype_becomes_its_arrow_type(tmp_path: pathlib.Path, name: str) -> None:
    values, dtype, arrow, wanted = CASES[name]
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        if name in ("array", "sequence"):
            x = f.create_dataset("x", (len(values),), dtype)  # type: ignore[arg-type]
            for i, value in enumerate(values):  # type: ignore[arg-type]
                x[i] = value
        else:
            f.create_dataset("x", data=values, dtype=dtype)
    table = hs.open(path).table("/x", layout="rows" if name not in ("complex",) else None).to_arrow()
    if name == "complex":
        assert table.to_pylist() == wanted
        return
    assert table.schema.field("x").type == arrow, table.schema.field("x").type
    assert table["x"].to_pylist() == wanted


def test_a_nested_compound_becomes_structs(tmp_path: pathlib.Path) -> None:
    inner = np.dtype([("u", "u1"), ("v", "<f4", (2,)), ("t", h5py.string_dtype())])
    outer = np.dtype([("id", ">i8"), ("in", inner), ("flag", "?")])
    values = np.array([(1, (2, (0.5, 1.5), "a"), True), (-1, (3, (2.5, 3.5), "ü"), False)], outer)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(1,))
    table = hs.open(tmp_path / "a.h5").table("/x").to_arrow()
    assert table.to_pylist() == [
        {"id": 1, "in": {"u": 2, "v": [0.5, 1.5], "t": "a"}, "flag": True},
        {"id": -1, "in": {"u": 3, "v": [2.5, 3.5], "t": "ü"}, "flag": False},
    ]


def test_attributes_become_field_metadata(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(3)
        f["x"].attrs["units"], f["x"].attrs["number"], f["x"].attrs["list"] = "K", 5, [1.5, 2]
    metadata = hs.open(tmp_path / "a.h5").table("/x").schema.field("x").metadata
    assert metadata[b"units"] == b"K"
    assert metadata[b"number"] == b"5"
    assert metadata[b"list"] == b"[1.5, 2]" or metadata[b"list"] == b"[1.5,2.0]" or b"1.5" in metadata[b"list"]


def test_text_that_is_not_utf8_is_an_error_and_not_a_wrong_value(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.array([b"ok", b"\xff\xfe"], "S2")
    table = hs.open(tmp_path / "a.h5").table("/x").to_arrow()
    assert table.schema.field("x").type in (pa.binary(), pa.binary(2), pa.utf8())
    assert [v.encode("latin-1") if isinstance(v, str) else v for v in table["x"].to_pylist()] == [b"ok", b"\xff\xfe"]


def test_text_padded_with_spaces_and_a_buffers_nuls(tmp_path: pathlib.Path) -> None:
    """Programs that say H5T_STR_SPACEPAD fill the rest of a buffer with NULs all the same."""
    path = tmp_path / "made.h5"
    stored = np.array([b"hi\0\0\0\0\0\0", b"hi      ", b"hi   \0\0\0", b"h i\0    ", b"        ", b"\0\0\0\0\0\0\0\0", b" hi\0\0 \0\0"], "S8")
    with h5py.File(path, "w") as f:
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(8)
        kind.set_strpad(h5py.h5t.STR_SPACEPAD)
        dataset = h5py.h5d.create(f.id, b"s", kind, h5py.h5s.create_simple((7,)))
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, stored, kind)
        record = h5py.h5t.create(h5py.h5t.COMPOUND, 8)
        record.insert(b"t", 0, kind)
        h5py.h5d.create(f.id, b"r", record, h5py.h5s.create_simple((7,))).write(h5py.h5s.ALL, h5py.h5s.ALL, stored.view([("t", "S8")]), record)
    expected = ["hi", "hi", "hi", "h i", "", "", " hi"]
    f = hs.open(path)
    assert f.table("/s").to_arrow()["s"].to_pylist() == expected and f.table("/r").to_arrow()["t"].to_pylist() == expected
    assert f.table("/s", where="s = 'hi'").count() == 3 and f.table("/s", where="s in ('h i', ' hi')").count() == 2
    with h5py.File(path) as theirs:
        assert f["s"][...].tolist() == theirs["s"][...].tolist()


def test_booleans_other_than_0_and_1_are_true(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.h5"
    with h5py.File(path, "w") as f:
        f["b"] = np.array([0, 1, 255, 2, 0, 128], "u1").view(bool)
        f["r"] = np.array([(255, 1), (0, 2)], [("b", "u1"), ("n", "i4")]).view([("b", bool), ("n", "i4")])
    with h5py.File(path) as theirs:
        assert theirs["b"][...].view("u1").tolist() == [0, 1, 255, 2, 0, 128]
    f = hs.open(path)
    assert f.table("/b").to_arrow()["b"].to_pylist() == [False, True, True, True, False, True] and f["b"][...].tolist() == [
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    assert f.table("/r").to_arrow()["b"].to_pylist() == [True, False]
    assert f.table("/b", where="b").count() == 4 and f.table("/b", where="b = false").count() == 2
    for level in "ZPX":
        hs.index(path, "/b", level)
        f = hs.open(path)
        assert f.table("/b", where="b").to_arrow()["b"].to_pylist() == [True] * 4 and f.table("/b", where="b = false").count() == 2
