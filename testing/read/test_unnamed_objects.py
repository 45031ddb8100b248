"""Objects without a name, to which only references lead: followed, read, printed, indexed, in tables, checked and copied as h5py sees them."""

from __future__ import annotations

import ctypes
import functools
import glob
import os
import pathlib
import pickle
import random
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py
import numpy as np
import pytest

LIBVER = ["earliest", "latest"]


@functools.cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(glob.glob(os.path.dirname(h5py.__file__) + "/../h5py.libs/libhdf5-*")[0])
    found.H5Oincr_refcount.argtypes = [ctypes.c_int64]
    return found


def kept(node: Any) -> Any:
    """An object that stays in the file without a link."""
    assert library().H5Oincr_refcount(node.id.id) >= 0
    return node


def made(path: pathlib.Path, libver: str, seed: int = 0) -> None:
    """Values in a chain of objects without names, as JLD2 has them: datasets, a group with members, a committed datatype."""
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w", libver=libver) as f:
        leaf = kept(f.create_dataset(None, data=rng.normal(size=(4, 3))))
        leaf.attrs["units"] = "m"
        packed = kept(f.create_dataset(None, data=np.arange(1000), chunks=(100,), compression="gzip"))
        middle = kept(f.create_dataset(None, data=np.array([leaf.ref, packed.ref, h5py.Reference()], dtype=h5py.ref_dtype)))
        leaf.attrs["back"] = middle.ref
        group = kept(h5py.Group(h5py.h5g.create(f.id, None)))
        group["x"] = np.arange(5.0)
        group["deeper/y"] = np.arange(5)
        group["named"] = h5py.SoftLink("/refs")
        f["refs"] = np.array([middle.ref, leaf.ref, group.ref], dtype=h5py.ref_dtype)
        f["region"] = np.array([leaf.regionref[1:3, :2]], dtype=h5py.regionref_dtype)
        pair = np.dtype([("n", "i4"), ("where", h5py.ref_dtype)])
        pairs = np.zeros(2, pair)
        pairs["n"], pairs["where"] = [1, 2], [leaf.ref, packed.ref]
        f["pairs"] = pairs
        f["plain"] = np.arange(4)


def seen(path: pathlib.Path) -> dict[str, Any]:
    """What h5py reads behind each reference, by the way to it."""
    found: dict[str, Any] = {}

    def look(f: Any, way: str, node: Any, levels: int) -> None:
        if isinstance(node, h5py.Group):
            found[way] = sorted(node)
            for name in node:
                if node.get(name, getlink=True).__class__ is h5py.HardLink:
                    look(f, f"{way}/{name}", node[name], levels)
            return
        values = node[()]
        if h5py.check_ref_dtype(node.dtype) is h5py.Reference:
            found[way] = [bool(reference) for reference in values]
            for number, reference in enumerate(values):
                if reference and levels:
                    look(f, f"{way}[{number}]", f[reference], levels - 1)
        elif h5py.check_ref_dtype(node.dtype) is not None:
            found[way] = [f[reference][reference].tolist() for reference in values]
        elif node.dtype.names:
            for number, value in enumerate(values):
                found[f"{way}[{number}].n"] = int(value["n"])
                look(f, f"{way}[{number}].where", f[value["where"]], levels)
        else:
            found[way] = (values.tolist(), node.chunks, node.compression, {k: v for k, v in node.attrs.items() if not isinstance(v, h5py.Reference)})
        for name, value in node.attrs.items():
            if isinstance(value, h5py.Reference) and levels:
                look(f, f"{way}@{name}", f[value], levels - 1)

    with h5py.File(path) as f:
        for name in f:
            look(f, name, f[name], 3)
    return found


@pytest.mark.parametrize("libver", LIBVER)
def test_references_are_followed(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "a.h5"
    made(path, libver)
    with h5py.File(path) as judge, hs.open(path) as f:
        for number in range(2):
            theirs, ours = judge[judge["refs"][number]], f[f["refs"][number]]
            assert ours.kind == "dataset" and ours.shape == theirs.shape
        middle, leaf, group = (f[reference] for reference in f["refs"][:])
        assert (leaf[:] == judge[judge["refs"][1]][:]).all() and (leaf[1:3, ::2] == judge[judge["refs"][1]][1:3, ::2]).all()
        assert leaf.attrs["units"] == "m" and f[leaf.attrs["back"]] == middle and f[middle[0]] == leaf
        assert [bool(reference) for reference in middle] == [True, True, False]
        assert (f[middle[1]][10:20] == np.arange(10, 20)).all()
        assert list(group) == ["deeper", "named", "x"] and group["deeper/y"][2] == 2 and group["x"].parent == group
        region = f["region"][0]
        assert f[region] == leaf and (leaf[region] == judge[judge["region"][0]][judge["region"][0]]).all()
        assert pickle.loads(pickle.dumps(leaf))[0, 0] == leaf[0, 0]
        # One object is one object, however it was reached.
        assert len({leaf, f[middle[0]], f[f["pairs"][0]["where"]], f[region]}) == 1
        with pytest.raises(hs.NotFoundError):
            f["#0x320"]


@pytest.mark.parametrize("libver", LIBVER)
def test_the_door_of_h5py_agrees(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "a.h5"
    made(path, libver)
    with h5py.File(path) as theirs, hyperslab.h5py.File(path) as ours:
        for number in range(3):
            a, b = theirs[theirs["refs"][number]], ours[ours["refs"][number]]
            assert a.name is b.name is None and repr(a) == repr(b)
        assert theirs[theirs["refs"][2]]["x"].name is ours[ours["refs"][2]]["x"].name is None
        assert hyperslab.h5py.h5r.get_name(ours["refs"][0], ours.id) is None


@pytest.mark.parametrize("libver", LIBVER)
def test_they_are_printed(tmp_path: pathlib.Path, libver: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.h5"
    made(path, libver)
    with hs.open(path) as f:
        reference = f["refs"][1]
        assert repr(reference).startswith("<Reference to #0x") and repr(f[reference]).startswith("<Dataset #0x")
        for shown in (repr(f["refs"][:]), repr(f["region"][0]), f[reference]._repr_html_(), f["refs"]._repr_html_(), str(f[f["refs"][2]])):
            assert "\udc00" not in shown and "\U0010ff00" not in shown and shown
        table = f.table("refs").to_arrow()
        assert all(text.startswith("#0x") for text in table["refs"].to_pylist())


@pytest.mark.parametrize("libver", LIBVER)
def test_they_are_tables_and_indexed(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "a.h5"
    made(path, libver)
    with hs.open(path) as f:
        packed = f[f[f["refs"][0]][1]]
        group = f[f["refs"][2]]
        table = f.table(packed.path)
        assert table.count() == 1000 and table.to_arrow().column(1).to_pylist() == list(range(1000))
        assert f.table(group.path, columns=["x"], where="x > 2").to_arrow()["x"].to_pylist() == [3.0, 4.0]
        splits = pickle.loads(pickle.dumps(list(table.splits(4))))
        assert sum(split.read().num_rows for split in splits) == 1000
        hs.index(path, packed.path)
    with hs.open(path) as f:
        assert hs.query(f, group.path, "x >= 3").count() == 2


def test_a_reference_to_no_object_says_so(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    made(path, "latest")
    with h5py.File(path, "r+") as f:
        f["lost"] = np.array([f["plain"].ref], dtype=h5py.ref_dtype)
        place = f["lost"].id.get_offset()
    data = bytearray(path.read_bytes())
    data[place : place + 8] = (17).to_bytes(8, "little")
    path.write_bytes(data)
    with hs.open(path) as f:
        assert repr(f["lost"][0]) == "<Reference to an object that does not exist>" and repr(f["lost"][:])
        with pytest.raises(hs.NotFoundError, match="0x11"):
            f[f["lost"][0]]
    with hs.open(path) as f, pytest.raises(hs.NotFoundError):
        f["\udc000x11"]
    assert [finding.kind for finding in hs.check(path).findings if finding.severity == "warning"] == ["bad-reference"]


@pytest.mark.parametrize("libver", LIBVER)
def test_check_and_stat_know_them(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "a.h5"
    made(path, libver)
    report = hs.check(path)
    assert not report.errors and not report.warnings
    assert not [finding for finding in report.findings if finding.kind == "unreachable"]
    with h5py.File(path, "r+") as f:
        for name in ("refs", "region", "pairs"):
            del f[name]
    lost = hs.check(path)
    assert lost.unaccounted_bytes > report.unaccounted_bytes + 1000
    if libver == "latest":  # headers of version 1 have no signature
        assert [finding for finding in lost.findings if finding.kind == "unreachable"]


@pytest.mark.parametrize("libver", LIBVER)
@pytest.mark.parametrize("seed", range(3))
def test_copies_have_them(tmp_path: pathlib.Path, libver: str, seed: int) -> None:
    path = tmp_path / "a.h5"
    made(path, libver, seed)
    judge = seen(path)
    assert len(judge) > 20
    hs.repack(path, tmp_path / "repacked.h5")
    assert seen(tmp_path / "repacked.h5") == judge
    assert hs.diff(path, tmp_path / "repacked.h5").equal
    hs.repack(path, tmp_path / "smaller.h5", compression="gzip", compression_opts=random.Random(seed).randrange(1, 9))
    assert {way: values for way, values in seen(tmp_path / "smaller.h5").items() if not isinstance(values, tuple)} == {
        way: values for way, values in judge.items() if not isinstance(values, tuple)
    }
    report = hs.recover(path, tmp_path / "recovered.h5")
    assert seen(tmp_path / "recovered.h5") == judge and not report.lost
    assert not [finding for finding in hs.check(tmp_path / "repacked.h5").findings if finding.severity != "info"]
    hs.repack(path, tmp_path / "chosen.h5", only=["/refs"])
    assert seen(tmp_path / "chosen.h5") == {way: values for way, values in judge.items() if way.startswith("refs")}


@pytest.mark.parametrize("form", ["folder", "file"])
def test_containers_have_them(tmp_path: pathlib.Path, form: str) -> None:
    path = tmp_path / "a.h5"
    made(path, "latest")
    hs.convert(path, tmp_path / "c", form)
    hs.convert(tmp_path / "c", tmp_path / "back.h5")
    assert seen(tmp_path / "back.h5") == seen(path)
