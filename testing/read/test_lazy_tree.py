"""Only what is asked for is parsed: links are found one by one, objects when they are used, and damage stays where it is."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: How a group stores its links: in its header, in a symbol table, or densely; by name or also in the order of creation.
STORES: list[dict[str, Any]] = [
    {"libver": "earliest"},
    {"libver": "latest"},
    {"libver": "earliest", "track_order": True},
    {"libver": "latest", "track_order": True},
]


def store_name(store: dict[str, Any]) -> str:
    return "-".join(str(value) for value in store.values())


@pytest.fixture(params=STORES, ids=store_name)
def store(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 17, 100, 1000, 5000])
def test_each_link_is_found_without_the_others(tmp_path: pathlib.Path, store: dict[str, Any], count: int) -> None:
    random = np.random.default_rng(count)
    names = {"".join(random.choice(list("abzÄß漢_-. 09"), random.integers(1, 30))) for _ in range(count)} - {".", ".."}
    names |= {"n" * 300, "x"} if count else set()
    with h5py.File(tmp_path / "links.h5", "w", **store) as f:
        target = f.create_dataset("t", data=1.5)
        for name in sorted(names, key=hash):
            f["g/" + name] = target
        f.require_group("g")
    with h5py.File(tmp_path / "links.h5") as theirs:
        expected = list(theirs["g"])
    if count % 2 == 0:
        os.utime(tmp_path / "links.h5", (0, 0))  # what was asked for often is kept of files that do not change
    for listed_first in (False, True):
        f = hs.open(tmp_path / "links.h5")
        if listed_first:
            assert list(f["g"]) == expected
        assert len(f["g"]) == len(expected)
        for name in names:
            assert f["g/" + name][()] == 1.5
            assert name in f["g"]
        for missing in ("", "absent", "n" * 299, "X", "\U0001f600"):
            assert missing not in f["g"]
            if missing:
                with pytest.raises(hs.NotFoundError):
                    f["g"][missing]
        assert list(f["g"]) == expected


def test_links_are_found_in_a_group_that_cannot_be_listed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "links.h5"
    with h5py.File(path, "w", libver="earliest") as f:
        f["g/first"] = 1.5
        for number in range(2000):
            f[f"g/n{number}"] = f["g/first"]
    content = bytearray(path.read_bytes())
    last = content.rindex(b"SNOD")
    content[last : last + 4] = b"DAMN"
    path.write_bytes(content)
    os.utime(path, (0, 0))
    f = hs.open(path)
    found = 0
    for number in range(2000):
        with contextlib.suppress(hs.CorruptError):
            found += f[f"g/n{number}"][()] == 1.5
    assert 1900 < found < 2000
    with pytest.raises(hs.CorruptError):
        list(f["g"])


def test_soft_and_external_links_are_found_in_every_store(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["y"] = 3
    with h5py.File(tmp_path / "links.h5", "w", **store) as f:
        f["x"] = 2
        for number in range(50):
            f[f"soft{number}"] = h5py.SoftLink("/x")
            f[f"external{number}"] = h5py.ExternalLink("other.h5", "/y")
            f[f"dangling{number}"] = h5py.SoftLink("/nowhere")
    f = hs.open(tmp_path / "links.h5")
    assert [f["soft7"][()], f["external49"][()]] == [2, 3]
    assert "dangling3" not in f and "soft3" in f
    assert f.get("dangling3") is None


def test_names_with_equal_hashes_are_told_apart(tmp_path: pathlib.Path) -> None:
    """Two names whose lookup3 hashes are equal: found by trying some 120,000."""
    seen: dict[int, str] = {}
    pair = None
    for number in range(400_000):
        name = f"n{number}"
        value = lookup3(name.encode())
        if value in seen:
            pair = (seen[value], name)
            break
        seen[value] = name
    assert pair is not None
    with h5py.File(tmp_path / "links.h5", "w", libver="latest") as f:
        for number in range(100):
            f[f"other{number}"] = -1
        f[pair[0]], f[pair[1]] = 1, 2
    f = hs.open(tmp_path / "links.h5")
    assert [f[pair[0]][()], f[pair[1]][()]] == [1, 2]


def lookup3(data: bytes) -> int:
    """Bob Jenkins' hashlittle with initial value 0, as the specification's metadata checksum."""
    mask = 0xFFFFFFFF

    def turn(x: int, k: int) -> int:
        return ((x << k) | (x >> (32 - k))) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    at = 0
    while len(data) - at > 12:
        x, y, z = (int.from_bytes(data[at + 4 * i : at + 4 * i + 4], "little") for i in range(3))
        a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
        for k, (p, q, r) in zip((4, 6, 8, 16, 19, 4), ("acb", "bac", "cba") * 2, strict=True):
            v = {"a": a, "b": b, "c": c}
            v[p] = ((v[p] - v[q]) & mask) ^ turn(v[q], k)
            v[q] = (v[q] + v[r]) & mask
            a, b, c = v["a"], v["b"], v["c"]
        at += 12
    rest = data[at:]
    if not rest:
        return c
    rest = rest.ljust(12, b"\0")
    x, y, z = (int.from_bytes(rest[4 * i : 4 * i + 4], "little") for i in range(3))
    a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
    c = ((c ^ b) - turn(b, 14)) & mask
    a = ((a ^ c) - turn(c, 11)) & mask
    b = ((b ^ a) - turn(a, 25)) & mask
    c = ((c ^ b) - turn(b, 16)) & mask
    a = ((a ^ c) - turn(c, 4)) & mask
    b = ((b ^ a) - turn(a, 14)) & mask
    return ((c ^ b) - turn(b, 24)) & mask


def damage(path: pathlib.Path, address: int) -> None:
    with path.open("r+b") as f:
        f.seek(address)
        f.write(b"\xff" * 8)


def test_a_damaged_object_is_an_error_when_it_is_used(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w", **store) as f:
        for number in range(300):
            f[f"g{number % 3}/d{number}"] = number
        addresses = {name: h5py.h5o.get_info(f[name].id).addr for name in ("g1/d100", "g2")}
    for address in addresses.values():
        damage(path, address)
    f = hs.open(path)
    assert f["g0/d0"][()] == 0 and f["g1/d1"][()] == 1
    with pytest.raises(hs.CorruptError, match="/g1/d100"):
        f["g1/d100"]
    with pytest.raises(hs.CorruptError, match="/g2"):
        f["g2/d2"]
    assert f["g1/d199"][()] == 199
    assert list(f) == ["g0", "g1", "g2"] and len(f["g1"]) == 100


def test_opening_and_reading_one_value_uses_no_other_object(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    """All headers but those on the way are destroyed."""
    path = tmp_path / "destroyed.h5"
    with h5py.File(path, "w", **store) as f:
        for group in range(30):
            for number in range(30):
                f[f"g{group}/d{number}"] = group * 100 + number
        wanted = {"g17", "g17/d23"}
        others: list[int] = []

        def collect(name: str, found: Any) -> None:
            if name not in wanted:
                others.append(h5py.h5o.get_info(found.id).addr)

        f.visititems(collect)
    for address in others:
        damage(path, address)
    assert hs.open(path)["g17/d23"][()] == 1723


def test_a_walk_visits_what_visititems_visits(tmp_path: pathlib.Path, store: dict[str, Any]) -> None:
    path = tmp_path / "walk.h5"
    with h5py.File(path, "w", **store) as f:
        for number in range(500):
            f[f"g{number % 7}/h{number % 5}/d{number}"] = number
        f["g0/again"] = f["g1"]
        f["g1/up"] = f["/"]
        f["alias"] = f["g2/h0/d30"] if "g2/h0/d30" in f else f["g2"]
        expected: list[str] = []
        f.visititems(lambda name, _: expected.append(name))
    found = hs.open(path)
    paths = [path for path, _ in everything(found, "", frozenset())]
    assert set(expected) <= set(paths)
    assert found["g1/up/g3"] == found["g3"] and found["g0/again"] == found["g1"]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_memory_does_not_grow_with_objects_that_are_not_asked_for(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "many.h5"
    with h5py.File(path, "w", libver=libver) as f:
        target = f.create_dataset("x", data=1.0)
        for group in range(20):
            made = f.create_group(f"g{group}")
            for number in range(5000):
                made[f"d{number:05}"] = target
    code = """
import resource, sys
import hyperslab as hs
hs.open(sys.argv[1])["x"][()]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(3):
    assert hs.open(sys.argv[2])["g7/d01234"][()] == 1.0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    with h5py.File(tmp_path / "one.h5", "w") as f:
        f["x"] = 1.0
    grown = subprocess.run([sys.executable, "-c", code, str(tmp_path / "one.h5"), str(path)], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 4096, f"{grown} KiB"


def everything(group: hs.Group, prefix: str, above: frozenset[hs.Group]) -> Iterator[tuple[str, object]]:
    """All paths below a group that lead back into none above it."""
    for name, member in group.items():
        yield prefix + name, member
        if isinstance(member, hs.Group) and member not in above:
            yield from everything(member, f"{prefix}{name}/", above | {member})


def reading(path: pathlib.Path) -> list[Callable[[hs.File], object]]:
    return [lambda f: list(f), lambda f: f["x"][()], lambda f: [f[name] for name in f], lambda f: f.attrs.keys()]


@pytest.mark.parametrize("first", range(4))
def test_what_is_done_first_does_not_matter(tmp_path: pathlib.Path, first: int) -> None:
    path = tmp_path / "order.h5"
    with h5py.File(path, "w") as f:
        f["x"], f["y"] = 1, 2
        f["g/z"] = 3
        f.attrs["a"] = "b"
    steps = reading(path)
    expected = [repr(step(hs.open(path))) for step in steps]
    f = hs.open(path)
    order = steps[first:] + steps[:first]
    found = [repr(step(f)) for step in order]
    assert found == expected[first:] + expected[:first]


@pytest.mark.parametrize("others", [0, 5, 20])
def test_netcdf4_is_recognized_by_the_name_of_an_attribute(tmp_path: pathlib.Path, store: dict[str, Any], others: int) -> None:
    """In the header of a variable, or in dense storage."""
    for name, format in (("_Netcdf4Dimid", "netcdf4"), ("_Netcdf4Coordinates", "netcdf4"), ("_Netcdf4Dimi", "hdf5"), ("_netcdf4dimid", "hdf5")):
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w", **store) as f:
            f["a"] = 1
            d = f.create_dataset("g/x", data=np.arange(3), track_order=store.get("track_order"))
            for number in range(others):
                d.attrs[f"a{number}"] = f"text {number}"
            d.attrs[name] = 0
        assert hs.open(path).format == format
