"""Names are bytes: links, attributes, members and targets of links that are not UTF-8, compared with h5py's low-level functions."""

from __future__ import annotations

import io
import pathlib
import random
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py
import numpy as np
import pytest

SCALAR = h5py.h5s.create(h5py.h5s.SCALAR)
#: Names that differ in one byte, that are cut sequences of UTF-8, and that look like the core's own form of them.
ODD = [b"a\xff", b"a\xfe", b"\x80", b"gr\xc3", "größe".encode(), b"\xf4\x8f\xbf\xbf", "\U0010ffff\U0010ff80".encode(), b"\xed\xb3\xbf", b"z"]


def random_names(seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    names = set(ODD)
    while len(names) < count:
        name = bytes(rng.choice([rng.randrange(1, 128), rng.randrange(128, 256), 0xC3, 0xA9]) for _ in range(rng.randrange(1, 12)))
        if b"/" not in name and set(name) != {ord(".")}:
            names.add(name)
    return sorted(names)


def text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def made(path: pathlib.Path, names: list[bytes], libver: str, track: bool = False) -> None:
    with h5py.File(path, "w", libver=libver, track_order=track) as f:
        space = h5py.h5s.create_simple((3,))
        members = h5py.h5t.create(h5py.h5t.COMPOUND, 8)
        members.insert(b"m\xff", 0, h5py.h5t.NATIVE_INT32)
        members.insert(b"m\xfe", 4, h5py.h5t.NATIVE_INT32)
        values = h5py.h5t.enum_create(h5py.h5t.NATIVE_INT32)
        values.enum_insert(b"v\xff", 1)
        values.enum_insert(b"v\xfe", 2)
        group = f.create_group("group")
        for number, name in enumerate(names):
            h5py.h5d.create(group.id, name, h5py.h5t.NATIVE_INT32, space).write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(3, dtype="i4") + number)
            h5py.h5a.create(group.id, name, h5py.h5t.NATIVE_INT32, SCALAR).write(np.array(number, "i4"))
        h5py.h5d.create(f.id, b"pairs\xff", members, space)
        h5py.h5d.create(f.id, b"kinds\xff", values, space)
        f.id.links.create_soft(b"soft\xff", b"group/" + names[0])
        f.id.links.create_external(b"external\xff", b"other\xff.h5", b"/x\xff")


def stored(path: pathlib.Path) -> dict[str, Any]:
    """What h5py's low-level functions see, all names as bytes."""
    with h5py.File(path) as f:
        group = h5py.h5g.open(f.id, b"group")
        attributes = [h5py.h5a.open(group, index=n).name for n in range(h5py.h5a.get_num_attrs(group))]
        pairs = h5py.h5d.open(f.id, b"pairs\xff").get_type()
        kinds = h5py.h5d.open(f.id, b"kinds\xff").get_type()

        def values(name: bytes) -> list[int]:
            out = np.empty(3, "i4")
            h5py.h5d.open(group, name).read(h5py.h5s.ALL, h5py.h5s.ALL, out)
            return list(map(int, out))

        return {
            "links": list(f.id),
            "values": {name: values(name) for name in group},
            "attributes": attributes,
            "members": [pairs.get_member_name(n) for n in range(2)],
            "enumeration": [kinds.get_member_name(n) for n in range(2)],
            "soft": f.id.links.get_val(b"soft\xff"),
            "external": f.id.links.get_val(b"external\xff"),
        }


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize(("count", "track"), [(9, False), (300, False), (60, True)])
def test_names_are_read_as_their_bytes(tmp_path: pathlib.Path, libver: str, count: int, track: bool) -> None:
    names = random_names(count, count)
    random.Random(1).shuffle(names)
    path = tmp_path / "n.h5"
    made(path, names, libver, track)
    judge = stored(path)
    with hs.open(path) as f:
        group = f["group"]
        assert [name.encode("utf-8", "surrogateescape") for name in group] == list(judge["values"])
        assert [name.encode("utf-8", "surrogateescape") for name in group.attrs] == judge["attributes"]
        for number, name in enumerate(names):
            assert group[name][:].tolist() == group[text(name)][:].tolist() == judge["values"][name]
            assert group[name].name == "/group/" + text(name) and group[name] == f[b"group/" + name]
            assert group.attrs[name] == group.attrs[text(name)] == number
            assert name in group.attrs and text(name) in group
        assert f[b"pairs\xff"].dtype.names == ("m\udcff", "m\udcfe")
        assert f[b"kinds\xff"].dtype == np.dtype("i4")
        link = f.get(b"external\xff", getlink=True)
        assert (link.filename, link.path) == ("other\udcff.h5", "/x\udcff")
        assert f[b"soft\xff"] == group[names[0]]
        assert sorted(found.name for found in visited(f)) == sorted(h5py_visited(path))
        for missing in (b"group/a\xfd", b"\xfd"):
            with pytest.raises(hs.NotFoundError) as caught:
                f[missing]
            assert "\\xfd" in str(caught.value) and str(caught.value).isprintable()


def visited(f: Any) -> list[Any]:
    found: list[Any] = []
    f.visititems(lambda _, node: found.append(node))
    return found


def h5py_visited(path: pathlib.Path) -> list[str]:
    found: list[str] = []
    with h5py.File(path) as f:
        f.visit(lambda name: found.append("/" + (text(name) if isinstance(name, bytes) else name)))
    return found


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_the_door_of_h5py_gives_what_h5py_gives(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "n.h5"
    made(path, random_names(3, 40), libver)
    with h5py.File(path) as theirs, hyperslab.h5py.File(path) as ours:
        for a, b in ((theirs, ours), (theirs["group"], ours["group"])):
            assert list(a) == list(b) and list(a.keys()) == list(b.keys()) and list(reversed(a)) == list(reversed(b))
            assert list(a.attrs) == list(b.attrs) and dict(a.attrs) == dict(b.attrs)
            assert list(a.id) == list(b.id)
        listed: list[list[Any]] = [[], []]
        theirs.visit(listed[0].append)
        ours.visit(listed[1].append)
        assert listed[0] == listed[1]
        for name in theirs["group"]:
            assert theirs["group"][name].name == ours["group"][name].name and (theirs["group"][name][:] == ours["group"][name][:]).all()


@pytest.mark.parametrize("track", [False, True])
def test_copies_keep_the_bytes(tmp_path: pathlib.Path, track: bool) -> None:
    path = tmp_path / "n.h5"
    made(path, random_names(7, 50), "latest", track)
    judge = stored(path)
    hs.repack(path, tmp_path / "repacked.h5")
    assert stored(tmp_path / "repacked.h5") == judge
    hs.recover(path, tmp_path / "recovered.h5")
    assert stored(tmp_path / "recovered.h5") == judge
    for form in ("folder", "file"):
        hs.convert(path, tmp_path / form, form)
        hs.convert(tmp_path / form, tmp_path / f"{form}.h5")
        assert stored(tmp_path / f"{form}.h5") == judge
    assert hs.diff(path, tmp_path / "repacked.h5").equal
    with h5py.File(tmp_path / "repacked.h5", "r+") as f:
        f.move(b"group/a\xff", b"group/a\xfd")
    assert not hs.diff(path, tmp_path / "repacked.h5").equal


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("count", [9, 120])
def test_edits_take_and_keep_bytes(tmp_path: pathlib.Path, libver: str, count: int) -> None:
    path = tmp_path / "n.h5"
    made(path, random_names(11, count), libver)
    judge = stored(path)
    with hs.open(path, "r+") as f:
        group = f["group"]
        group.create_dataset(b"new\xff", data=np.array([7, 8, 9], "i4"))
        group.attrs[b"new\xff"] = np.int32(5)
        del group[b"a\xfe"], group.attrs[b"a\xfe"]
        f.move(b"group/a\xff".decode("utf-8", "surrogateescape"), "group/moved\udcff")
    after = stored(path)
    expected = {name: values for name, values in judge["values"].items() if name != b"a\xfe"} | {b"new\xff": [7, 8, 9]}
    expected[b"moved\xff"] = expected.pop(b"a\xff")
    assert after["values"] == expected
    assert set(after["attributes"]) == set(judge["attributes"]) - {b"a\xfe"} | {b"new\xff"}
    assert not [finding for finding in hs.check(path).findings if finding.kind != "dangling-link" and finding.severity != "info"]
    with h5py.File(path, "r+") as f:
        h5py.h5g.create(f["group"].id, b"later\xff")
        assert b"later\xff" in list(f["group"].id)


def test_what_is_printed_is_printable(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "n.h5"
    made(path, random_names(1, 12), "latest")
    with hs.open(path) as f:
        shown = [str(f), repr(f["group"]), repr(f["group"].attrs), f._repr_html_(), f["group"]._repr_html_(), repr(f["group"][b"a\xff"].ref)]
        shown += [repr(f["group"][b"a\xff"]), repr(f.get(b"soft\xff", getlink=True)), repr(f[b"group/\x80"])]
        for one in shown:
            io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict").write(one)
        assert "a\\xff" in shown[0] and "/group/a\\xff" in shown[-3]
