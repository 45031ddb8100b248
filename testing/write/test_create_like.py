"""`create_dataset_like` on every kind of dataset: the new one has the datatype, shape and storage of the other, as h5py sees them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

TEXT = h5py.string_dtype()
PAIR = np.dtype([("a", "i4"), ("b", "f8")])
REFERRING = np.dtype([("t", TEXT), ("r", h5py.ref_dtype), ("s", h5py.regionref_dtype)])
VARYING = np.dtype([("x", "i4", (2, 3)), ("n", [("u", "u1"), ("v", h5py.vlen_dtype("i2"))])])
GAPS = np.dtype({"names": ["a", "b"], "formats": ["i1", "i8"], "offsets": [0, 16], "itemsize": 32})
#: Arguments of h5py's `create_dataset`.
KINDS: dict[str, dict[str, Any]] = {
    "text": {"data": ["a", "b", "größe"], "dtype": TEXT},
    "text ascii": {"data": ["a", "b", "cc"], "dtype": h5py.string_dtype("ascii")},
    "text in chunks": {"shape": (10,), "dtype": TEXT, "chunks": (4,), "maxshape": (None,), "compression": "gzip"},
    "text with a fill value": {"shape": (10,), "dtype": TEXT, "fillvalue": "hello", "chunks": (4,)},
    "fixed text": {"data": np.array([b"abc", b"de"])},
    "fixed text with a fill value": {"shape": (4,), "dtype": "S5", "fillvalue": b"xy"},
    "fixed utf-8": {"data": ["ä".encode(), b"b"], "dtype": h5py.string_dtype("utf-8", 6)},
    "compound": {"shape": (4,), "dtype": np.dtype([("a", "i4"), ("s", TEXT), ("b", "f8", (2,)), ("f", "S3")])},
    "compound with a fill value": {"shape": (4,), "dtype": PAIR, "fillvalue": np.array((3, 4.5), PAIR)},
    "compound with gaps": {"shape": (4,), "dtype": GAPS},
    "compound of arrays and sequences": {"shape": (4,), "dtype": VARYING},
    "compound with references": {"shape": (4,), "dtype": REFERRING, "chunks": (2,)},
    "enumeration": {"shape": (4,), "dtype": h5py.enum_dtype({"R": 0, "G": 1, "B": 5}, "i2"), "fillvalue": 5},
    "boolean": {"shape": (4,), "dtype": bool, "fillvalue": True},
    "references": {"shape": (4,), "dtype": h5py.ref_dtype, "chunks": (2,), "maxshape": (None,)},
    "references to regions": {"shape": (4,), "dtype": h5py.regionref_dtype},
    "sequences": {"shape": (4,), "dtype": h5py.vlen_dtype("i4"), "chunks": (2,), "compression": "gzip"},
    "sequences of big-endian numbers": {"shape": (4,), "dtype": h5py.vlen_dtype(">f8")},
    "sequences of references": {"shape": (4,), "dtype": h5py.vlen_dtype(h5py.ref_dtype)},
    "sequences of sequences": {"shape": (4,), "dtype": h5py.vlen_dtype(h5py.vlen_dtype("i4"))},
    "sequences of text": {"shape": (4,), "dtype": h5py.vlen_dtype(TEXT)},
    "fill value": {"data": [1, 2, 3], "dtype": "<i4", "fillvalue": -7},
    "not a number": {"shape": (4,), "dtype": "f4", "fillvalue": np.nan},
    "big-endian": {"data": [1, -2], "dtype": ">i8", "fillvalue": 2},
    "complex": {"data": [1 + 2j, 3], "dtype": "c16", "fillvalue": 1 + 2j},
    "half": {"data": [1.5, 2], "dtype": "f2"},
    "filters": {"data": np.arange(400), "dtype": "i4", "compression": "lzf", "shuffle": True, "fletcher32": True, "chunks": (50,)},
    "gzip 7": {"data": np.arange(400), "dtype": "i4", "compression": "gzip", "compression_opts": 7},
    "szip": {"data": np.arange(400), "dtype": "i4", "compression": "szip", "compression_opts": ("nn", 8), "chunks": (100,)},
    "scale-offset": {"data": np.arange(400) % 16, "dtype": "i4", "scaleoffset": 4, "chunks": (100,)},
    "scale-offset of floats": {"data": np.arange(400) / 8, "dtype": "f4", "scaleoffset": 3, "chunks": (100,)},
    "resizable": {"data": np.ones((4, 5)), "maxshape": (None, 10), "chunks": (2, 5)},
    "no elements": {"shape": (0,), "dtype": "f8", "maxshape": (None,), "chunks": (5,)},
    "scalar": {"data": 3.5},
    "scalar text": {"data": "text"},
    "scalar with a fill value": {"shape": (), "dtype": "i4", "fillvalue": 8},
    "null": {"data": h5py.Empty("f4")},
    "null text": {"data": h5py.Empty(TEXT)},
    "opaque": {"data": np.array([b"a", b"b"], "V4")},
    "dates": {"data": np.array([1, 2], "M8[s]").astype(h5py.opaque_dtype(np.dtype("M8[s]")))},
    "arrays": {"shape": (4,), "dtype": np.dtype(("i4", (3,)))},
    "chunks that do not divide": {"data": np.arange(400), "chunks": (7,), "maxshape": (800,)},
}


def make(folder: pathlib.Path) -> pathlib.Path:
    with h5py.File(folder / "source.h5", "w") as f:
        for name, arguments in KINDS.items():
            f.create_dataset(name, **arguments)
        f["type"] = PAIR
        f.create_dataset("committed", (4,), f["type"])
        f.create_dataset("external", (10,), "i4", external=[(str(folder / "ext.bin"), 0, 40)], fillvalue=3)
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
        f.create_virtual_dataset("virtual", layout, fillvalue=3)
    return folder / "source.h5"


def described(dataset: h5py.Dataset) -> dict[str, Any]:
    creation = dataset.id.get_create_plist()
    return {
        "shape": dataset.shape,
        "maxshape": dataset.maxshape,
        "chunks": dataset.chunks,
        "filters": [creation.get_filter(i)[::2] for i in range(creation.get_nfilters())],
        "fill value": repr(dataset.fillvalue),
        "dtype": (dataset.dtype, repr(dataset.dtype.metadata)),
    }


def same(path: pathlib.Path, name: str, source: pathlib.Path) -> None:
    with h5py.File(source) as f, h5py.File(path) as made:
        old, new = f[name], made["made"]
        assert described(new) == described(old)
        # A committed datatype is not equal to one that is not.
        assert new.id.get_type().copy() == old.id.get_type().copy() and not new.id.get_type().committed()
        assert new.id.get_create_plist().get_layout() == (h5py.h5d.CHUNKED if old.chunks else h5py.h5d.CONTIGUOUS)


def created(path: pathlib.Path, like: Callable[[Any], None]) -> None:
    with hs.create(path) as f:
        like(f)


def edited(path: pathlib.Path, like: Callable[[Any], None]) -> None:
    h5py.File(path, "w").close()
    with hs.open(path, "r+") as f:
        like(f)


@pytest.mark.parametrize("library", [hs, h5py], ids=["ours", "h5py"])
@pytest.mark.parametrize("mode", [created, edited], ids=lambda mode: mode.__name__)
def test_every_kind(tmp_path: pathlib.Path, mode: Callable[..., None], library: Any) -> None:
    source = make(tmp_path)
    for name in [*KINDS, "committed", "external", "virtual"]:
        if library is h5py and name in ("dates", "null text"):
            # numpy's dtype does not say that dates are opaque, nor h5py's that text of no elements is.
            continue
        with hs.open(source) if library is hs else h5py.File(source) as other:
            mode(tmp_path / "new.h5", lambda f, other=other, name=name: f.create_dataset_like("made", other[name]))
        same(tmp_path / "new.h5", name, source)
        (tmp_path / "new.h5").unlink()


def test_datasets_of_the_same_file(tmp_path: pathlib.Path) -> None:
    source = make(tmp_path)
    for name in [*KINDS, "committed", "external", "virtual"]:
        with hs.create(tmp_path / "new.h5") as f, hs.open(source) as other:
            f.create_dataset_like("first", other[name])
            f.create_dataset_like("made", f["first"])
            assert (f["first"].dtype, f["first"].dtype.metadata) == (other[name].dtype, other[name].dtype.metadata)
        same(tmp_path / "new.h5", name, source)
        with hs.open(tmp_path / "new.h5", "r+") as f:
            del f["made"]
            f.create_dataset_like("made", f["first"])
        same(tmp_path / "new.h5", name, source)


def test_values_can_be_written(tmp_path: pathlib.Path) -> None:
    source = make(tmp_path)
    for mode in (created, edited):
        for name in (name for name, arguments in KINDS.items() if "data" in arguments and "null" not in name):
            with hs.open(source) as other:

                def like(f: Any, other: Any = other, name: str = name) -> None:
                    f.create_dataset_like("made", other[name])[()] = other[name][()]
                    f.create_dataset_like("given", other[name], data=other[name][()])

                mode(tmp_path / "new.h5", like)
            with h5py.File(source) as f, h5py.File(tmp_path / "new.h5") as made:
                for new in ("made", "given"):
                    assert repr(made[new][()]) == repr(f[name][()]) and made[new].shape == f[name].shape
                    assert made[new].id.get_type() == f[name].id.get_type()
            (tmp_path / "new.h5").unlink()


def test_times_of_numpy(tmp_path: pathlib.Path) -> None:
    days = np.array(["2020-01-01", "NaT", "2021-05-06"], "M8[ns]")
    with hs.create(tmp_path / "x.h5") as f:
        f["t"] = days
        f.create_dataset_like("u", f["t"])[:2] = days[:2]
        f.create_dataset_like("v", f["t"], shape=(7,), dtype="f4", chunks=(2,))
    with h5py.File(tmp_path / "x.h5") as f:
        assert dict(f["u"].attrs) == dict(f["t"].attrs) and f["u"].fillvalue == f["t"].fillvalue
        assert f["u"][:].tolist() == [*f["t"][:2].tolist(), f["t"].fillvalue]
        assert f["v"].shape == (7,) and f["v"].dtype == "f4" and f["v"].chunks == (2,)
