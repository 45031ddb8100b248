"""References of all kinds that are written into existing files, as h5py reads them."""

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest
from file_kinds import new_file

KEYS = {
    "slices": np.s_[1:3, ::2],
    "one element": np.s_[2, 3],
    "all": np.s_[...],
    "nothing": np.s_[2:2, :],
    "a list": np.s_[[0, 2, 3], 1:4],
    "two steps": np.s_[[0, 3], ::3],
    "a mask": (np.arange(24).reshape(4, 6) % 5) == 1,
    "a mask without elements": np.zeros((4, 6), bool),
}
VALUES = np.arange(24).reshape(4, 6)


@pytest.fixture(params=["superblock 0", "superblock 3", "pages"])
def path(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "a.h5"
    with new_file(path, request.param) as f:
        x = f.create_dataset("g/x", data=VALUES)
        x.attrs["unit"] = "m"
        f.create_dataset("regions", data=[x.regionref[0:1, 0:1]] * 3 + [None], dtype=h5py.regionref_dtype)
        f.create_dataset("growing", data=[x.regionref[...]], dtype=h5py.regionref_dtype, maxshape=(None,), chunks=(2,))
    return path


def elements(key: object) -> list[int]:
    return sorted(np.asarray(VALUES[key]).reshape(-1).tolist())


@pytest.mark.parametrize("name", KEYS)
def test_a_region_selects_what_its_index_selects(path: pathlib.Path, name: str) -> None:
    key = KEYS[name]
    with hs.open(path, "r+") as f:
        x = f["g/x"]
        made = x.regionref[key]
        assert f[made] == x and sorted(np.reshape(x[made], -1).tolist()) == elements(key)
        f["regions"][1] = made
        f["new"] = [made, None]
        f["one"] = made
        f["g"].attrs["part"] = made
        f["growing"].resize((4,))
        f["growing"][2:] = [made, made]
    with h5py.File(path) as f:
        x = f["g/x"]
        found = [f["regions"][1], f["new"][0], f["one"][()], f["g"].attrs["part"], *f["growing"][2:]]
        for one in found:
            assert isinstance(one, h5py.RegionReference) and f[one] == x
            # Without a selection h5py reads everything.
            selected = sorted(np.reshape(x[one], -1).tolist()) if elements(key) else []
            assert selected == elements(key) and h5py.h5r.get_region(one, x.id).get_select_npoints() == len(elements(key))
        assert not f["new"][1] and not f["growing"][1] and f["new"].dtype == h5py.regionref_dtype
        assert x[f["regions"][0]].tolist() == [[0]] and x[f["growing"][0]].size == 24


def test_regions_that_a_file_has_are_written_again(path: pathlib.Path) -> None:
    with h5py.File(path, "r+") as f:
        x = f["g/x"]
        f["irregular"] = np.array([x.regionref[[0, 1, 3], 2:4], x.regionref[VALUES % 7 == 3]], h5py.regionref_dtype)
        expected = [np.sort(np.reshape(x[one], -1)).tolist() for one in f["irregular"]]
    with hs.open(path, "r+") as f:
        f["regions"][2:] = f["irregular"][...]
        # The file has changed since they were read.
        there = f["irregular"][...]
        f["z"] = 1
        f["copy"] = there
    with h5py.File(path) as f:
        for name in ("regions", "copy"):
            assert [np.sort(np.reshape(f["g/x"][one], -1)).tolist() for one in f[name][-2:]] == expected


def test_references_in_records_and_sequences(path: pathlib.Path) -> None:
    record = np.dtype(
        [("n", "i4"), ("to", h5py.ref_dtype), ("part", h5py.regionref_dtype), ("more", h5py.vlen_dtype(h5py.ref_dtype)), ("t", h5py.string_dtype())]
    )
    with h5py.File(path, "r+") as f:
        f.create_dataset("records", (3,), record)
    with hs.open(path, "r+") as f:
        x, g = f["g/x"], f["g"]
        rows = np.zeros(2, f["records"].dtype)
        rows[0] = (1, x.ref, x.regionref[1], [x.ref, g.ref], "one")
        rows[1] = (2, None, None, [], "")
        f["records"][:2] = rows
        f.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))
        f["lists"][0] = [g.ref, x.ref, g.ref]
        f.attrs["both"] = rows
    with h5py.File(path) as f:
        for rows in (f["records"], f.attrs["both"]):
            n, to, part, more, text = rows[0]
            assert (n, f[to], f[part], text) == (1, f["g/x"], f["g/x"], b"one") and f["g/x"][part].tolist() == VALUES[1:2].tolist()
            assert [f[one] for one in more] == [f["g/x"], f["g"]]
            n, to, part, more, text = rows[1]
            assert (n, bool(to), bool(part), len(more), text) == (2, False, False, 0, b"")
        assert [f[one].name for one in f["lists"][0]] == ["/g", "/g/x", "/g"] and len(f["lists"][1]) == 0


@pytest.mark.parametrize("kind", ["narrow", "narrow addresses", "narrow lengths"])
def test_references_in_files_of_narrow_addresses(tmp_path: pathlib.Path, kind: str) -> None:
    """h5py reads references one by one: of several at once it finds only the first in such files, also of those that it has written."""
    record = np.dtype(
        [("n", "i4"), ("to", h5py.ref_dtype), ("part", h5py.regionref_dtype), ("more", h5py.vlen_dtype(h5py.ref_dtype)), ("t", h5py.string_dtype())]
    )
    path = tmp_path / "a.h5"
    with new_file(path, kind) as f:
        f.create_dataset("g/x", data=VALUES)
        f.create_dataset("records", (2,), record)
    with hs.open(path, "r+") as f:
        x, g = f["g/x"], f["g"]
        row = np.zeros((), f["records"].dtype)
        row[()] = (1, x.ref, x.regionref[1], [x.ref, g.ref], "one")
        f["records"][0] = row
        f.attrs["row"], f["objects"], f["region"] = row, [x.ref, None, g.ref], x.regionref[1:3, ::2]
        g.attrs.update({"to": x.ref, "part": x.regionref[2], "all": [g.ref, x.ref]})
        f.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))
        f["lists"][0] = [g.ref, x.ref, g.ref]
        if kind != "narrow lengths":
            with pytest.raises(hs.UnsupportedError, match="fewer than 8 bytes"):
                f.create_dataset("no", (2,), h5py.vlen_dtype(h5py.regionref_dtype))
            with pytest.raises(hs.UnsupportedError, match="fewer than 8 bytes"):
                f.create_dataset("no", (2,), h5py.ref_dtype, fillvalue=g.ref)
            assert "no" not in f
        # Copies within the file lead to the same objects, those into another one to what was copied.
        f.copy("objects", "copied")
        with hs.create(tmp_path / "wide.h5") as other:
            other["kept"] = 1
        with hs.open(tmp_path / "wide.h5", "r+") as other:
            other.copy(f["/"], "all")
    for name, place in (("a.h5", ""), ("wide.h5", "all/")):
        with h5py.File(tmp_path / name, "r+") as f:
            root = f[place or "/"]
            x, g = root["g/x"], root["g"]
            for row in (root["records"][0], root.attrs["row"]):
                n, to, part, more, text = row[()] if row.shape == () else row[0]
                assert (n, f[to], f[part], text) == (1, x, x, b"one") and x[part].tolist() == VALUES[1:2].tolist() and [f[one] for one in more] == [x, g]
            for objects in (root["objects"], root["copied"]):
                assert [f[objects[0]], f[objects[2]]] == [x, g]
            assert x[root["region"][()]].tolist() == VALUES[1:3, ::2].tolist() and x[g.attrs["part"]].tolist() == [VALUES[2].tolist()]
            assert f[g.attrs["to"]] == x and f[g.attrs["all"][0]] == g and [f[one] for one in root["lists"][0]] == [g, x, g]
            root["more"] = 5
    with hs.open(path) as f:
        assert [f[one] if one else None for one in f["objects"][...]] == [f["g/x"], None, f["g"]]
        assert f["g/x"][f["region"][()]].tolist() == VALUES[1:3, ::2].tolist()
    assert [one for one in hs.check(path).findings if one.severity == "error"] == []


def test_references_of_hdf5_1_12(tmp_path: pathlib.Path) -> None:
    """h5py has no dtype for them; test_write_references.py compares references in new files with what the HDF5 library returns."""
    path = tmp_path / "a.h5"
    with hs.create(path) as f:
        x = f.create_dataset("g/x", data=VALUES)
        x.attrs["unit"] = "m"
        f["standard"] = [hs.NewAttributeReference("/g/x", "unit")] * 4
        f["standard"][1] = x.ref
    with hs.open(path, "r+") as f:
        x, d = f["g/x"], f["standard"]
        d[2] = x.regionref[1:3, ::2]
        d[3] = d[0]
        f["later"] = [d[0], None]
        f["last"] = [hs.NewAttributeReference("/g/x", "unit"), None]
        with pytest.raises(hs.NotFoundError):
            f["last"][1] = hs.NewReference("/none")
        f["last"][1] = hs.NewReference("/g")
    with hs.open(path) as f:
        found = f["standard"][...]
        assert f[found[2]] == f["g/x"] and f["g/x"][found[2]].tolist() == VALUES[1:3, ::2].tolist()
        assert found[3].attribute == found[0].attribute == f["later"][0].attribute == "unit" and f[found[3]] == f["g/x"] and f[found[1]] == f["g/x"]
        assert not f["later"][1]
        assert f["last"][0].attribute == "unit" and f[f["last"][1]] == f["g"]
    with h5py.File(path) as f:
        assert f["standard"].id.get_type().get_class() == h5py.h5t.REFERENCE


def test_fill_values(path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        part = f["g/x"].regionref[2:, 1]
        f.create_dataset("filled", (6,), h5py.regionref_dtype, chunks=(2,), maxshape=(None,), fillvalue=part)
        f.create_dataset("objects", (2,), h5py.ref_dtype, fillvalue=f["g"].ref)
    with h5py.File(path, "r+") as f:
        assert [f["g/x"][one].reshape(-1).tolist() for one in f["filled"]] == [[13, 19]] * 6
        assert [f[one] for one in f["objects"]] == [f["g"]] * 2
        f["filled"][0] = f["g/x"].regionref[0, 0:1]
        assert [f["g/x"][one].reshape(-1).tolist() for one in f["filled"][:2]] == [[0], [13, 19]]


def test_a_reference_into_another_file_changes_nothing(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "b.h5") as f:
        f["y"] = VALUES
    with hs.open(tmp_path / "b.h5") as other, hs.open(path, "r+") as f:
        y = other["y"]
        for value in (y.ref, y.regionref[1:]):
            with pytest.raises(hs.InvalidInputError, match=r"another file.*b\.h5"):
                f["new"] = [value]
            with pytest.raises(hs.InvalidInputError, match="another file"):
                f["g"].attrs["to"] = value
        with pytest.raises(hs.InvalidInputError, match="region among references to objects"):
            f.create_dataset("new", data=[f["g/x"].regionref[0]], dtype=h5py.ref_dtype)
        assert "new" not in f and "to" not in f["g"].attrs
        f["regions"][0] = f["g/x"].regionref[3]
    with h5py.File(path) as f:
        assert f["g/x"][f["regions"][0]].tolist() == VALUES[3:].tolist()


def test_open_files_make_references_for_reading(path: pathlib.Path) -> None:
    (path.parent / "theirs.h5").write_bytes(path.read_bytes())
    with hs.open(path) as f, h5py.File(path.parent / "theirs.h5", "r+") as theirs:
        x = f["g/x"]
        for key in (np.s_[1:3, ::2], np.s_[[0, 2], 1:3]):
            made = x.regionref[key]
            assert x.regionref.shape(made) == (4, 6) and x[made].tolist() == theirs["g/x"][theirs["g/x"].regionref[key]].tolist() == VALUES[key].tolist()
            assert x.regionref.selection(made) == theirs["g/x"].regionref.selection(theirs["g/x"].regionref[key])
        with pytest.raises(hs.UnsupportedError, match="does not increase"):
            x.regionref[[2, 0]]
        with pytest.raises(hs.UnsupportedError, match="no elements"):
            f["g"].regionref[0]
