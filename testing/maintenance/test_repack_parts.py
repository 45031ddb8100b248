"""Repacking parts of files, for older versions of HDF5, files with user blocks and links that lead back, and sparse datasets."""

from __future__ import annotations

import pathlib
import subprocess

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from hyperslab.h5py import VirtualLayout, VirtualSource

#: Structures of chunk indexes that HDF5 1.8 does not know: fixed and extensible arrays.
_NEW_INDEXES = (b"FAHD", b"EAHD")


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "in.h5"
    rng = np.random.default_rng(7)
    with h5py.File(path, "w") as f:
        f.attrs["title"] = "all"
        f["run/t"] = rng.normal(size=(20, 30))
        f["run/raw/a"], f["run/raw/b"] = np.arange(5), np.arange(6)
        f["run/deep/x"] = np.arange(7)
        f["other"] = rng.normal(size=8)
        f["needed"] = np.arange(9)
        f["time"] = np.arange(20)
        f["time"].make_scale("time")
        f["run/t"].dims[0].attach_scale(f["time"])
        f["run/t"].attrs["see"] = f["needed"].ref
        f["soft"], f["away"] = h5py.SoftLink("/run/t"), h5py.ExternalLink("x.h5", "/y")
        f["run"].attrs["of"] = "run"
    return path


def names(path: pathlib.Path) -> set[str]:
    found = set[str]()
    with h5py.File(path) as f:
        f.visititems_links(lambda name, _: found.add(name))
    return found


def test_a_part_has_what_it_needs(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out.h5"
    hs.repack(source, out, only="/run/t")
    assert names(out) == {"run", "run/t", "time", "needed"}
    with h5py.File(source) as f, h5py.File(out) as g:
        assert g.attrs["title"] == "all" and g["run"].attrs["of"] == "run"
        np.testing.assert_array_equal(f["run/t"][()], g["run/t"][()])
        assert g["run/t"].dims[0][0] == g["time"] and g[g["run/t"].attrs["see"]] == g["needed"]


@pytest.mark.parametrize(
    ("only", "exclude", "expected"),
    [
        ("/run", "/run/raw", {"run", "run/t", "run/deep", "run/deep/x", "time", "needed"}),
        (["/run/raw/*", "/soft"], (), {"run", "run/raw", "run/raw/a", "run/raw/b", "soft"}),
        ("/run/*", "/run/raw/a", {"run", "run/t", "run/raw", "run/raw/b", "run/deep", "run/deep/x", "time", "needed"}),
        (None, ["/run", "/away"], {"other", "needed", "time", "soft"}),
        ("/run/deep/x", (), {"run", "run/deep", "run/deep/x"}),
    ],
)
def test_what_is_chosen_and_excluded(source: pathlib.Path, tmp_path: pathlib.Path, only: object, exclude: object, expected: set[str]) -> None:
    hs.repack(source, tmp_path / "out.h5", only=only, exclude=exclude, compression="gzip")  # type: ignore[arg-type]
    assert names(tmp_path / "out.h5") == expected


@pytest.mark.parametrize("excluded", ["/time", "/needed"])
def test_what_is_needed_cannot_be_left_out(source: pathlib.Path, tmp_path: pathlib.Path, excluded: str) -> None:
    with pytest.raises(hs.UnsupportedError, match=f"/run/t needs {excluded}"):
        hs.repack(source, tmp_path / "out.h5", exclude=excluded)
    with pytest.raises(hs.InvalidInputError, match="no object or link matches /walk"):
        hs.repack(source, tmp_path / "out.h5", only=["/run", "/walk"])
    assert [path.name for path in tmp_path.iterdir()] == ["in.h5"]


def test_references_in_values_bring_their_targets(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f["a/x"], f["b/y"], f["c"] = np.arange(3), np.arange(4), np.arange(5)
        f["refs"] = np.array([f["a"].ref, h5py.Reference()], h5py.ref_dtype)
        f["a/x"].attrs["part"] = f["b/y"].regionref[1:3]
    hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", only="/refs")
    assert names(tmp_path / "out.h5") == {"refs", "a", "a/x", "b", "b/y"}
    with h5py.File(tmp_path / "out.h5") as g:
        first, second = g["refs"][()]
        assert g[first] == g["a"] and not second
        np.testing.assert_array_equal(g["b/y"][g["a/x"].attrs["part"]], [1, 2])


def test_a_variable_keeps_its_coordinates(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "in.nc", "w") as f:
        f.createDimension("x", 4)
        f.createDimension("t", None)
        for name, dimensions in (("x", ("x",)), ("a", ("t", "x")), ("b", ("x",))):
            f.createVariable(name, "f4", dimensions)[:] = np.ones((3, 4) if name == "a" else 4)
    hs.repack(tmp_path / "in.nc", tmp_path / "out.nc", only="/a")
    with netCDF4.Dataset(tmp_path / "out.nc") as g:
        assert set(g.variables) == {"x", "a"} and set(g.dimensions) == {"x", "t"} and g.dimensions["t"].isunlimited()


def test_an_object_has_the_name_by_which_it_was_chosen(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f["a/x"] = np.arange(3)
        f["z/y"] = f["a/x"]
    hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", only="/z")
    assert names(tmp_path / "out.h5") == {"z", "z/y"}


def test_files_for_older_versions(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w", libver="latest") as f:
        f.create_dataset("fixed", data=np.arange(1000), chunks=(10,))
        f.create_dataset("grows", data=np.arange(1000), chunks=(10,), maxshape=(None,), compression="gzip")
        f.create_dataset("one", data=np.arange(10), chunks=(10,))
    hs.repack(tmp_path / "in.h5", tmp_path / "new.h5")
    hs.repack(tmp_path / "in.h5", tmp_path / "old.h5", libver="v108")
    content = (tmp_path / "new.h5").read_bytes(), (tmp_path / "old.h5").read_bytes()
    assert all(index in content[0] for index in _NEW_INDEXES)
    assert not any(index in content[1] for index in _NEW_INDEXES) and content[1].count(b"TREE") >= 3
    with h5py.File(tmp_path / "old.h5") as g:
        np.testing.assert_array_equal(g["grows"][()], np.arange(1000))
        np.testing.assert_array_equal(g["one"][()], np.arange(10))
    with hs.create(tmp_path / "made.h5", libver=("earliest", "v108")) as made:
        made.create_dataset("x", data=np.arange(1000), chunks=(10,))
    assert not any(index in (tmp_path / "made.h5").read_bytes() for index in _NEW_INDEXES)


def test_what_older_versions_do_not_have(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f["x"] = 1
    with pytest.raises(hs.UnsupportedError, match=r"pages in a file for HDF5 1\.8"):
        hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", libver="v108", page_bytes=4096)
    with pytest.raises(hs.InvalidInputError, match="v106"):
        hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", libver="v106")
    with (
        pytest.raises(hs.UnsupportedError, match=r"a virtual dataset in a file for HDF5 1\.8"),
        hs.create(tmp_path / "v.h5", libver=("earliest", "v108")) as made,
    ):
        layout = VirtualLayout((1,), "i8")
        layout[:] = VirtualSource("in.h5", "x", (1,))
        made.create_virtual_dataset("v", layout)


@pytest.mark.parametrize("size", [512, 2048])
def test_user_blocks_are_kept(tmp_path: pathlib.Path, size: int) -> None:
    with h5py.File(tmp_path / "in.h5", "w", userblock_size=size) as f:
        f.create_dataset("x", data=np.arange(5000), chunks=(100,), compression="gzip")
    with open(tmp_path / "in.h5", "r+b") as raw:
        raw.write(b"MATLAB 7.3 or anything else" + bytes(range(100)))
    hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", compression="zstd")
    with h5py.File(tmp_path / "out.h5") as g:
        assert g.userblock_size == size
        np.testing.assert_array_equal(hs.open(tmp_path / "out.h5")["x"][:], np.arange(5000))
    assert (tmp_path / "in.h5").read_bytes()[:size] == (tmp_path / "out.h5").read_bytes()[:size]


def test_links_may_lead_back(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f["a/b/x"] = np.arange(3)
        f["a/b/up"], f["a/b/root"], f["a/self"] = f["a"], f["/"], f["a"]
        f["other/there"] = f["a/b"]
        f["a/b/across"] = f["other"]
        for number in range(100):
            f["many/" + str(number)] = f["/"]
    hs.repack(tmp_path / "in.h5", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as g:
        assert g["a/b/up"] == g["a"] == g["a/self"] and g["a/b/root"] == g["/"] == g["many/42"] and g["a/b/across/there"] == g["a/b"]
        with h5py.File(tmp_path / "in.h5") as f:
            assert h5py.h5o.get_info(g["/"].id).rc == h5py.h5o.get_info(f["/"].id).rc
    assert hs.diff(tmp_path / "in.h5", tmp_path / "out.h5").equal
    command, environment = dump_tools.program("h5dump")
    found = subprocess.run([*command, "-H", tmp_path / "out.h5"], capture_output=True, check=True, env=environment)
    assert b"HARDLINK" in found.stdout
    with hs.create(tmp_path / "made.h5") as made:
        made["g/x"] = np.arange(3)
        made["g/back"] = made["g"]
        made.move("g/back", "g/again")
        del made["g/x"]
    with h5py.File(tmp_path / "made.h5") as g:
        assert g["g/again"] == g["g"] and list(g["g"]) == ["again"]


def test_a_group_that_leads_to_itself_can_be_removed(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "made.h5") as made:
        made["g/x"] = np.arange(3)
        made["g/back"] = made["g"]
        made["kept"] = made["g"]
        del made["g"]
    with h5py.File(tmp_path / "made.h5") as g:
        assert list(g) == ["kept"] and g["kept/back"] == g["kept"]
        np.testing.assert_array_equal(g["kept/x"][()], np.arange(3))


@pytest.mark.parametrize("how", [{}, {"chunks": (64, 256)}, {"compression": "gzip"}])
def test_sparse_datasets_stay_sparse(tmp_path: pathlib.Path, how: dict[str, object]) -> None:
    """Two million chunks, of which four are stored."""
    with h5py.File(tmp_path / "in.h5", "w") as f:
        d = f.create_dataset("x", (16384, 32768), "f4", chunks=(16, 16), fillvalue=7)
        f.create_dataset("open", (3, 5), "i4", chunks=(1, 2), maxshape=(None, None))[1, 3] = 5
        for place in ((0, 0), (5000, 20000), (16383, 32767), (9999, 3)):
            d[place] = sum(place)
    hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", verify=False, **how)  # type: ignore[arg-type]
    assert (tmp_path / "out.h5").stat().st_size < 1 << 20
    with h5py.File(tmp_path / "out.h5") as g:
        d = g["x"]
        assert [d[place] for place in ((0, 0), (5000, 20000), (16383, 32767), (9999, 3))] == [0, 25000, 49150, 10002]
        assert d[1, 1] == 7 and d[5000, 20001] == 7 and d[8000:8100, :100].min() == 7 == d[8000:8100, :100].max()
        np.testing.assert_array_equal(g["open"][()], [[0] * 5, [0, 0, 0, 5, 0], [0] * 5])
