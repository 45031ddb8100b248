"""Order of creation: members and attributes come in the order in which they were made where the file records it, and what
we write records it if asked. h5py, netCDF4, h5dump and ncdump are the judges, and HDF5 goes on writing to such files."""

from __future__ import annotations

import pathlib

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest
from compare import compare

#: Not in name order, and not in its reverse.
NAMES = ["zeta", "alpha", "mu", "Beta", "öl", "k"]
TRACKED = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED


def many(count: int) -> list[str]:
    """As many names, shuffled."""
    return [f"n{number}" for number in np.random.default_rng(count).permutation(count)]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("count", [6, 100])
def test_reading_gives_h5pys_order(tmp_path: pathlib.Path, libver: str, tracked: bool, count: int) -> None:
    path = tmp_path / "made.h5"
    names = many(count)
    with h5py.File(path, "w", libver=libver, track_order=tracked) as f:
        for name in names:
            f.create_group(name, track_order=tracked)
        inner = f[names[0]]
        for name in names:
            inner[name] = 1
            inner.attrs[name] = name
        dataset = f.create_dataset("data", data=[1, 2], track_order=tracked)
        for name in names[:8]:
            dataset.attrs[name] = 1
        f["soft"], f["hard"] = h5py.SoftLink("/data"), f["data"]
    with h5py.File(path) as theirs:
        ours = hs.open(path)
        assert list(ours) == list(theirs) and (list(ours)[:count] == names) == tracked
        assert list(ours[names[0]]) == list(theirs[names[0]]) and list(ours[names[0]].attrs) == list(theirs[names[0]].attrs)
        assert list(ours["data"].attrs) == list(theirs["data"].attrs)
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []


def test_what_was_deleted_and_renamed_keeps_the_order_of_the_rest(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.h5"
    with h5py.File(path, "w", track_order=True) as f:
        for name in NAMES:
            f[name] = 1
            f.attrs[name] = 1
        del f["alpha"], f.attrs["mu"]
        f.move("zeta", "b")
        f["alpha"] = 2
        f.attrs.modify("Beta", 5)
    with h5py.File(path) as theirs:
        assert list(hs.open(path)) == list(theirs) and list(hs.open(path).attrs) == list(theirs.attrs)


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_netcdf_gives_the_librarys_order(tmp_path: pathlib.Path, format: str) -> None:
    path = tmp_path / "made.nc"
    with netCDF4.Dataset(path, "w", format=format) as f:
        for name in ("y", "x", "bare"):
            f.createDimension(name, 3)
        for name in ("temp", "y", "b", "x", "a"):
            variable = f.createVariable(name, "f4", (name,) if name in "xy" else ("y", "x"))
            variable.setncatts({"units": "K", "long_name": "l", "axis": "Y", "comment": "c"})
        f.setncatts({"title": "t", "Conventions": "CF-1.8", "history": "h", "a": 1})
        if format == "NETCDF4":
            for name in ("z", "c"):
                f.createGroup(name).createVariable("v", "i4", ("y",))
    with netCDF4.Dataset(path) as theirs:
        ours = hs.open(path)
        assert [name for name in ours if name not in theirs.groups] == list(theirs.variables)
        assert [name for name in ours if name in theirs.groups] == list(theirs.groups)
        assert list(ours.attrs) == theirs.ncattrs() and list(ours["temp"].attrs) == theirs["temp"].ncattrs()


def test_columns_of_a_group_follow_it(tmp_path: pathlib.Path) -> None:
    for tracked in (True, False):
        path = tmp_path / f"{tracked}.h5"
        with h5py.File(path, "w", track_order=tracked) as f:
            for number, name in enumerate(NAMES):
                f[name] = np.arange(3) + number
        names = [name for name in hs.open(path).table("/").head().column_names if name in NAMES]
        assert names == (NAMES if tracked else sorted(NAMES, key=str.encode))


def written(path: pathlib.Path, names: list[str], tracked: bool) -> None:
    with hs.create(path, track_order=tracked) as f:
        for name in names:
            group = f.create_group(name)
            group.attrs[name] = name
        for name in names:
            f.attrs[name] = len(name)
            f[names[0] + "/" + name] = np.arange(3)
        f.attrs[names[0]] = -1
        f[names[1] + "/soft"] = hs.SoftLink("/elsewhere")
        f[names[1] + "/file"] = hs.ExternalLink("other.h5", "/x")


@pytest.mark.parametrize("count", [6, 64, 65, 1000, 20_000])
def test_what_we_write_is_in_order(tmp_path: pathlib.Path, count: int) -> None:
    path = tmp_path / "out.h5"
    names = NAMES if count == 6 else many(count)
    inside = names[:2000]
    with hs.create(path, track_order=True) as f:
        for name in names:
            f.create_group(name)
        group = f[names[0]]
        for name in inside:
            group.attrs[name] = 1
            group.create_group(name)
        f[f"{names[0]}/one"] = np.arange(5)
        f[f"{names[0]}/soft"] = hs.SoftLink("/elsewhere")
    with h5py.File(path) as f:
        assert list(f) == names and list(f[names[0]].attrs) == inside and list(f[names[0]]) == [*inside, "one", "soft"]
        for place in (f["/"], f[names[0]]):
            assert place.id.get_create_plist().get_link_creation_order() == TRACKED
            assert place.id.get_create_plist().get_attr_creation_order() == TRACKED
        assert f[names[0]]["one"].id.get_create_plist().get_attr_creation_order() == TRACKED
        assert all(isinstance(f[name], h5py.Group) for name in (names[0], names[-1], names[len(names) // 2]))
        assert names[-1] in f and "missing" not in f and f[names[0]].get("soft", getlink=True).path == "/elsewhere"
    ours = hs.open(path)
    assert list(ours) == names and list(ours[names[0]].attrs) == inside and list(ours[names[0]]) == [*inside, "one", "soft"]
    if count <= 1000:
        listed = dump_tools.run("h5dump", "-n", "--sort_by=creation_order", path)
        assert listed is None or [line.split("/")[-1] for line in listed.splitlines() if line.startswith(" group") and line.count("/") == 1][-count:] == names


@pytest.mark.parametrize("count", [6, 64, 65, 5000])
def test_hdf5_goes_on_in_what_we_wrote(tmp_path: pathlib.Path, count: int) -> None:
    path = tmp_path / "out.h5"
    names = NAMES if count == 6 else many(count)
    written(path, names, True)
    added = [f"added {number}" for number in range(200)]
    with h5py.File(path, "r+", track_order=True) as f:
        for name in added:
            f[name] = len(name)
            f[names[0]].create_group(name)
        # More attributes than the header should hold, and none that is there already.
        for name in added:
            f[names[2]].attrs[name] = name
        del f[names[1]], f[names[0]][names[2]], f[names[2]].attrs[names[2]]
    left = [name for name in names if name != names[1]]
    with h5py.File(path) as f:
        assert list(f) == left + added and list(f[names[0]]) == [name for name in names if name != names[2]] + added
        assert list(f[names[2]].attrs) == added and f["added 199"][()] == 9 and f.attrs[names[0]] == -1
        assert f[names[0]][names[-1]][...].tolist() == [0, 1, 2]
    ours = hs.open(path)
    assert list(ours) == left + added and list(ours[names[0]]) == [name for name in names if name != names[2]] + added
    assert list(ours[names[2]].attrs) == added


def test_one_large_attribute_among_ordered_ones(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    names = many(300)
    with hs.create(path) as f:
        group = f.create_group("g", track_order=True)
        for name in names:
            group.attrs[name] = np.arange(20_000 if name == names[7] else 2)
    with h5py.File(path) as f:
        assert list(f["g"].attrs) == names and f["g"].attrs[names[7]].size == 20_000
        assert f["/"].id.get_create_plist().get_link_creation_order() == 0 and f["g"].id.get_create_plist().get_attr_creation_order() == TRACKED
    assert list(hs.open(path)["g"].attrs) == names
    with h5py.File(path, "r+") as f:
        for name in ("last", "one more"):
            f["g"].attrs[name] = 1
        del f["g"].attrs[names[7]]
    with h5py.File(path) as f:
        expected = [name for name in names if name != names[7]] + ["last", "one more"]
        assert list(f["g"].attrs) == expected == list(hs.open(path)["g"].attrs)


def test_one_group_says_otherwise(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    with hs.create(path, track_order=True) as f:
        f.create_group("plain", track_order=False)
        dataset = f.create_dataset("data", data=[1], track_order=False)
        for name in NAMES:
            f[f"plain/{name}"] = 1
            f[f"ordered/{name}"] = 1
            dataset.attrs[name] = 1
    with h5py.File(path) as f:
        assert list(f["ordered"]) == NAMES and list(f["plain"]) == sorted(NAMES, key=str.encode) == list(f["data"].attrs)
        assert list(f) == ["plain", "data", "ordered"]


def test_a_name_or_target_too_long_for_a_heaps_block(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    names = [*many(80), "l" * 5000]
    with hs.create(path, track_order=True) as f:
        for name in names:
            f[name] = hs.SoftLink("/" + "t" * 10)
    with h5py.File(path, "r+") as f:
        assert list(f) == names
        f["after"] = 1
    with h5py.File(path) as f:
        assert list(f) == [*names, "after"] == list(hs.open(path))


@pytest.mark.parametrize("count", [3, 100])
def test_netcdf_files_can_be_appended_to(tmp_path: pathlib.Path, count: int) -> None:
    path = tmp_path / "out.nc"
    names = [f"v{number}" for number in np.random.default_rng(1).permutation(count)]
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", None)
        f.create_dimension("y", 3)
        f.create_variable("time", ["time"], data=np.arange(2.0))
        for name in names:
            f.create_variable(name, ["time", "y"], data=np.ones((2, 3), "f4"), attrs={"units": "K", "axis": "A", "long_name": "x"})
        f.create_variable("g/inner", ["y"], data=np.arange(3), attrs={"units": "m"})
        f.attrs.update({"title": "t", "Conventions": "CF-1.8", "history": "h"})
    for mode in ("a", "r+"):
        with netCDF4.Dataset(path, mode) as f:
            assert list(f.variables)[: count + 1] == ["time", *names]
            f.setncattr(f"by_{mode[0]}", 1)
            f[names[0]].setncattr(f"by_{mode[0]}", "x")
            f.createVariable(f"new_{mode[0]}", "i4", ("time", "y"))[:] = 7
            size = f.dimensions["time"].size
            f["time"][size] = size
            f[names[0]][size] = [5, 6, 7]
            f["g"].createVariable(f"new_{mode[0]}", "f8", ("y",))[:] = 1
    with netCDF4.Dataset(path) as f:
        assert list(f.variables) == ["time", *names, "new_a", "new_r"] and f.ncattrs() == ["title", "Conventions", "history", "by_a", "by_r"]
        assert f[names[0]].ncattrs() == ["units", "axis", "long_name", "by_a", "by_r"]
        assert f["time"][:].tolist() == [0, 1, 2, 3] and f[names[0]][2:].tolist() == [[5, 6, 7]] * 2 and list(f["g"].variables) == ["inner", "new_a", "new_r"]
    ours = hs.open(path)
    assert list(ours) == ["time", *names, "g", "new_a", "new_r"] and ours[names[0]][2:].tolist() == [[5, 6, 7]] * 2
    header = dump_tools.run("ncdump", "-h", path)
    assert header is None or [
        line.split()[1].split("(")[0] for line in header.split("group:")[0].split("variables:")[1].splitlines() if line.rstrip().endswith(") ;")
    ] == ["time", *names, "new_a", "new_r"]


def test_tables_keep_the_order_of_their_columns(tmp_path: pathlib.Path) -> None:
    for count in (5, 90):
        path = tmp_path / f"{count}.h5"
        table = pa.table({name: [1, 2] for name in many(count)})
        hs.write_table(table, path, group="/t")
        with h5py.File(path) as f:
            assert list(f["t"]) == table.column_names
        columns = hs.open(path).table("/t").head().column_names
        assert [name for name in columns if name in table.column_names] == table.column_names


@pytest.mark.parametrize("writers", [None, 4])
def test_plans_tasks_commits_and_fused_files_keep_it(tmp_path: pathlib.Path, writers: int | None) -> None:
    path = tmp_path / "out.h5"
    shared = ["zz", "shared", "bb"] if writers else []

    def write(mode: str, extra: list[str]) -> None:
        plan = hs.WritePlan(path, mode, track_order=True, **({"writers": writers, "factor": 2} if writers and mode == "x" else {}))
        for name in shared if mode == "x" else []:
            plan.create_dataset(name, (8,), "i4")
        fragments = []
        for number in range(writers or 2):
            task = hs.WritePlan.from_bytes(bytes(plan)).task(number)
            for name in [*NAMES, *extra]:
                group = task.create_group(name)
                group.attrs.update({"z": 1, "a": 2, "m": 3})
                group.create_dataset("rows", (0,), "i8", rows=True).append(np.arange(2))
            task.create_group("once").create_group(f"task {9 - number}")
            for name in shared if mode == "x" else []:
                task.write(name, np.arange(2))
            fragments.append(task.finish())
        plan.commit(fragments)

    write("x", [])
    expected = [*shared, *NAMES, "once"]
    with h5py.File(path) as f:
        assert list(f) == expected and list(f["mu"].attrs) == ["z", "a", "m"]
        assert list(f["once"]) == [f"task {9 - number}" for number in range(writers or 2)]
    write("a", ["later", "ahead"])
    expected += ["later", "ahead"]
    hs.fuse(path, tmp_path / "fused.h5")
    for name in ("out.h5", "fused.h5"):
        with h5py.File(tmp_path / name) as f:
            assert list(f) == expected == list(hs.open(tmp_path / name)) and list(f["mu"].attrs) == ["z", "a", "m"]
            assert f["/"].id.get_create_plist().get_link_creation_order() == TRACKED


def test_h5repack_reads_and_copies_it(tmp_path: pathlib.Path) -> None:
    for count in (6, 200):
        path, copy = tmp_path / f"{count}.h5", tmp_path / f"copy {count}.h5"
        names = NAMES if count == 6 else many(count)
        written(path, names, True)
        if dump_tools.run("h5repack", path, copy) is None:
            pytest.fail("h5repack is missing: make dump-tools")
        with h5py.File(copy) as f:
            assert list(f) == names and list(f[names[0]]) == names


def test_not_asked_for_it_is_by_name(tmp_path: pathlib.Path) -> None:
    for count in (6, 100):
        path = tmp_path / f"{count}.h5"
        names = NAMES if count == 6 else many(count)
        written(path, names, False)
        with h5py.File(path) as f:
            assert list(f) == sorted(names, key=str.encode) == list(hs.open(path)) and f["/"].id.get_create_plist().get_link_creation_order() == 0


def test_links_to_other_files_in_a_group_of_many(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    names = many(500)
    with hs.create(path) as f:
        for name in names:
            f[name] = hs.ExternalLink("other.h5", "/" + name)
    with h5py.File(path, "r+") as f:
        assert sorted(f) == sorted(names) and f.get(names[3], getlink=True).path == "/" + names[3]
        f["after"] = 1
    with h5py.File(path) as f:
        assert list(f) == sorted([*names, "after"]) == list(hs.open(path))
