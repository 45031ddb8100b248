"""`visit` and `visititems` against h5py: what is visited, under which path, and in which order."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

STORES: list[dict[str, Any]] = [{"libver": "earliest"}, {"libver": "latest"}, {"libver": "latest", "track_order": True}]


@pytest.fixture(params=STORES, ids=["earliest", "latest", "tracked"])
def store(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


def theirs(group: h5py.Group) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def add(name: str, item: Any) -> None:
        found.append((name, "datatype" if isinstance(item, h5py.Datatype) else type(item).__name__.lower()))

    group.visititems(add)
    return found


def ours(group: hs.Group) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    group.visititems(lambda path, item: found.append((path, item.kind)))
    paths: list[str] = []
    group.visit(paths.append)
    assert paths == [path for path, _ in found]
    return found


def naive(group: h5py.Group) -> list[tuple[str, str]]:
    """As `visititems`, for groups that are among their own members: there the library visits objects with one link twice."""
    found: list[tuple[str, str]] = []
    seen = {h5py.h5o.get_info(group.id).addr}

    def below(group: h5py.Group, above: str) -> None:
        for name in sorted(group, key=str.encode):
            address = h5py.h5o.get_info(group[name].id).addr if isinstance(group.get(name, getlink=True), h5py.HardLink) else None
            if address is None or address in seen:
                continue
            seen.add(address)
            item = group[name]
            found.append((above + name, "datatype" if isinstance(item, h5py.Datatype) else type(item).__name__.lower()))
            if isinstance(item, h5py.Group):
                below(item, f"{above}{name}/")

    below(group, "")
    return found


def random_tree(f: h5py.File, seed: int, count: int) -> None:
    """Groups and datasets with links of all kinds between them, in circles too."""
    chance = random.Random(seed)
    groups, others = [f["/"]], []
    for number in range(count):
        above = chance.choice(groups)
        name = f"{chance.choice('azAZ_é0')}{number % 40}.{number}"
        kind = chance.random()
        if kind < 0.25:
            groups.append(above.create_group(name))
        elif kind < 0.7:
            others.append(above.create_dataset(name, data=np.arange(number % 5)))
        elif kind < 0.75:
            above[name] = np.dtype("f4")
        elif kind < 0.8 and others:
            above[name] = chance.choice(others)
        elif kind < 0.86:
            above[name] = chance.choice(groups)
        elif kind < 0.93:
            above[name] = h5py.SoftLink(chance.choice(["/", "/nowhere", ".", chance.choice(groups).name]))
        else:
            above[name] = h5py.ExternalLink(chance.choice(["other.h5", "missing.h5"]), "/")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [30, 1500])
def test_the_same_objects_in_the_same_order(tmp_path: pathlib.Path, store: dict[str, Any], seed: int, count: int) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = 1
    path = tmp_path / "tree.h5"
    with h5py.File(path, "w", **store) as f:
        random_tree(f, seed, count)
    with h5py.File(path) as f, hs.open(path) as g:
        expected = theirs(f)
        assert ours(g) == expected and len(expected) > count / 3
        for name, kind in expected[:: max(len(expected) // 20, 1)]:
            if kind == "group":
                assert ours(g[name]) == naive(f[name]), name


def test_very_many_groups_with_few_members_and_a_long_chain(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    path = tmp_path / "tree.h5"
    with h5py.File(path, "w", **store) as f:
        for group in range(1300):
            made = f.create_group(f"g{group}")
            for number in range(group % 4):
                made[f"d{number}"] = number
            if group % 100 == 7:
                made["up"] = f["/"]
                made["next"] = f["g3"]
        below = f
        for _ in range(200):
            below = below.create_group("c")
        below["up"] = f["c/c"]
    with h5py.File(path) as f:
        assert ours(hs.open(path)) == theirs(f)


def test_a_group_within_itself_is_visited_once(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    """The members after the link back must keep their shorter path."""
    path = tmp_path / "tree.h5"
    with h5py.File(path, "w", **store) as f:
        for number in range(100):
            g = f.create_group(f"g{number:02}")
            for name in ("a", "z"):
                g[name] = 1
            g["m"] = g
            g["n"] = f[f"g{number // 2:02}"]
    with h5py.File(path) as f:
        assert ours(hs.open(path)) == theirs(f)


def test_objects_are_those_of_their_path(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    path = tmp_path / "tree.h5"
    with h5py.File(path, "w", **store) as f:
        for number, dtype in enumerate(["f8", ">i4", "S5", "u1", h5py.string_dtype(), "c16", [("a", "i2"), ("b", "f4")]] * 20):
            d = f.create_dataset(
                f"g{number % 3}/d{number}",
                shape=(number % 4, 3),
                dtype=dtype,
                chunks=(2, 3) if number % 2 else None,
                maxshape=(None, 3) if number % 2 else None,
            )
            d.attrs["number"], d.attrs["text"] = number, f"t{number}"
    with h5py.File(path) as f, hs.open(path) as g:

        def check(name: str, item: Any) -> None:
            assert item == g[name] and item.name == f"/{name}" == f[name].name
            assert dict(item.attrs) == dict(f[name].attrs)
            if isinstance(item, hs.Dataset):
                assert (item.shape, item.dtype, item.chunks, item.maxshape) == (f[name].shape, f[name].dtype, f[name].chunks, f[name].maxshape)
                assert item[...].tobytes() == g[name][...].tobytes()

        assert g.visititems(check) is None
        assert g["g1"].visititems(lambda name, item: item.name if name == "d4" else None) == "/g1/d4"


def test_the_first_result_ends_the_visit(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    path = tmp_path / "tree.h5"
    with h5py.File(path, "w", **store) as f:
        for number in range(50):
            f[f"d{number:02}"] = number
    g = hs.open(path)
    seen: list[str] = []
    assert g.visit(lambda name: seen.append(name) or (name if name == "d17" else None)) == "d17" and len(seen) == 18
    assert g.visititems(lambda _, item: 0 if item[()] == 3 else None) == 0
    with pytest.raises(ZeroDivisionError):
        g.visit(lambda _: 1 // 0)


def test_a_damaged_object_does_not_end_the_visit(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w", **store) as f:
        for number in range(300):
            f[f"g{number % 3}/d{number:03}"] = number
        names = [name for name, _ in theirs(f)]
        addresses = {name: h5py.h5o.get_info(f[name].id).addr for name in ("g1/d100", "g2")}
    with path.open("r+b") as file:
        for address in addresses.values():
            file.seek(address)
            file.write(b"\xff" * 8)
    refused: dict[str, str] = {}
    seen: list[str] = []

    def check(name: str, item: Any) -> None:
        seen.append(name)
        if item.kind == "unreadable":
            refused[name] = item.refusal
            with pytest.raises(hs.CorruptError, match=name):
                list(item.attrs)

    g = hs.open(path)
    g.visititems(check)
    assert seen == [name for name in names if not name.startswith("g2/")]
    assert sorted(refused) == sorted(addresses) and all(name in text for name, text in refused.items())


def test_several_files_are_visited_one_by_one(tmp_path: pathlib.Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            f["x"] = number
    files = hs.open(str(tmp_path / "*.h5"))
    for visit in (files.visit, files.visititems):
        with pytest.raises(hs.InvalidInputError, match=r"files\[0\]"):
            visit(print)
    assert files.files[1].visititems(lambda name, item: (name, item[()])) == ("x", 1)
    assert hs.open(str(tmp_path / "1*.h5")).visit(str) == "x"


def test_netcdf_files_are_visited_too(tmp_path: pathlib.Path) -> None:
    netCDF4 = pytest.importorskip("netCDF4")
    for format in ("NETCDF3_CLASSIC", "NETCDF4"):
        path = tmp_path / f"{format}.nc"
        with netCDF4.Dataset(path, "w", format=format) as f:
            f.createDimension("x", 3)
            for name in ("b", "a", "x"):
                f.createVariable(name, "f4", ("x",))
        assert ours(hs.open(path)) == [(name, "dataset") for name in ("a", "b", "x")]
