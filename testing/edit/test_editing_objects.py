"""Objects and links of existing files: created, removed, renamed and copied at random in our file, and in the same way by h5py in another one. Both hold the
same afterwards, as h5py, we, and a dict of the values see it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py as ours
import numpy as np
import pytest
from file_kinds import KINDS, new_file, opened_in_pages


def plain(value: Any) -> Any:
    """A value that can be compared."""
    value = np.asarray(value)
    if value.dtype.names:
        return [[plain(row[name]) for name in value.dtype.names] for row in value.reshape(-1)]
    if value.dtype == object:
        flat = []
        for item in value.reshape(-1):
            if isinstance(item, h5py.Reference) or type(item).__name__ == "Reference":
                flat.append(bool(item))
            else:
                flat.append(item.decode() if isinstance(item, bytes) else plain(item) if isinstance(item, np.ndarray) else item)
        return [value.shape, flat]
    return [value.shape, value.dtype.str if value.dtype.kind != "O" else "O", value.tobytes()]


def attributes(item: Any) -> list[Any]:
    return [(name, plain(item.attrs[name]) if not isinstance(item.attrs[name], (h5py.Empty, hs.Empty)) else "empty") for name in item.attrs]


def content(f: Any) -> dict[str, Any]:
    """Everything that a file holds, by h5py's names."""
    found: dict[str, Any] = {"/": ("group", list(f), attributes(f))}
    first: dict[Any, str] = {}

    def look(path: str, group: Any) -> None:
        for name in group:
            where = f"{path}{name}"
            link = group.get(name, getlink=True)
            kind = type(link).__name__
            if kind == "SoftLink":
                found[where] = ("soft", link.path)
                continue
            if kind == "ExternalLink":
                found[where] = ("external", link.filename, link.path)
                continue
            item = group[name]
            identity = h5py.h5o.get_info(item.id).addr if isinstance(item, h5py.HLObject) else item._number
            if identity in first:
                found[where] = ("alias", first[identity])
                continue
            first[identity] = where
            if isinstance(item, (h5py.Group, hs.Group)):
                found[where] = ("group", list(item), attributes(item))
                look(f"{where}/", item)
            elif isinstance(item, (h5py.Dataset, hs.Dataset)):
                value = "empty" if item.shape is None else plain(item[()])
                # In files whose lengths have 4 bytes, HDF5 shows the largest one in place of no limit.
                bounds = item.maxshape and tuple(None if bound == 0xFFFFFFFF else bound for bound in item.maxshape)
                found[where] = ("dataset", item.shape, bounds, item.chunks, value, attributes(item))
            else:
                found[where] = ("datatype", np.dtype(item.dtype).str, attributes(item))

    look("/", f)
    return found


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[Any]:
    return [(path, a.get(path), b.get(path)) for path in sorted(a.keys() | b.keys()) if a.get(path) != b.get(path)]


class Room:
    """Our file and h5py's file, which must hold the same, and a dict of values of datasets."""

    def __init__(self, folder: pathlib.Path, kind: str, draw: random.Random) -> None:
        self.draw, self.folder, self.kind = draw, folder, kind
        self.ours, self.theirs, self.other = folder / "ours.h5", folder / "theirs.h5", folder / "other.h5"
        self.model: dict[str, np.ndarray[Any, Any]] = {}
        self.serial = 0
        with new_file(self.ours, kind) as f:
            f["kept"] = np.arange(100)
            f["kept"].attrs["text"] = "é"
            for number in range(draw.choice([0, 3, 30, 300])):
                f.create_group(f"many/m{number:04}")
        shutil.copy(self.ours, self.theirs)
        # HDF5 damages what it copies between files whose addresses or lengths have different sizes.
        with new_file(self.other, draw.choice([other for other in KINDS if KINDS[other].get("sizes") == KINDS[kind].get("sizes")])) as f:
            f.create_dataset("g/z", data=np.arange(5000), chunks=(100,), compression="gzip", shuffle=True, maxshape=(None,))
            f.create_dataset("g/text", data=["a", "bc", "é" * 40], dtype=h5py.string_dtype())
            f["g/soft"], f["g/twice"], f["plain"] = h5py.SoftLink("/plain"), f["g/z"], np.arange(12.0).reshape(3, 4)
            f["g/type"] = np.dtype("<i4")
            f["plain"].attrs["many"] = np.arange(50)
            f["refs"] = np.array([f["plain"].ref, f["g"].ref], h5py.ref_dtype)

    def paths(self, f: Any, *kinds: type) -> list[str]:
        """Paths of objects that are not the file's own."""
        found: list[str] = []
        f.visititems(lambda path, item: found.append(path) if (not kinds or isinstance(item, kinds)) and not path.startswith("kept") else None)
        return found

    def new_name(self, theirs: Any) -> str:
        groups = [*self.paths(theirs, h5py.Group), "", "", "new/deep"]
        self.serial += 1
        kind = self.draw.random()
        name = f"n{self.serial}" if kind < 0.8 else f"ü{self.serial}" if kind < 0.9 else f"{'long' * 30}{self.serial}"
        return f"{self.draw.choice(groups)}/{name}".lstrip("/")

    def value(self) -> tuple[Any, dict[str, Any]]:
        draw = self.draw
        kind = draw.randrange(7)
        if kind == 0:
            return np.arange(draw.randrange(2000)), {}
        if kind == 1:
            return np.arange(draw.randrange(1, 3000), dtype="f4"), {
                "chunks": (draw.choice([7, 100]),),
                "maxshape": (None,),
                "compression": "gzip",
                "shuffle": True,
            }
        if kind == 2:
            return np.arange(60, dtype="i2").reshape(6, 10), {"chunks": (2, 3), "maxshape": (None, None), "fillvalue": 5}
        if kind == 3:
            return ["", "abc", "é" * draw.randrange(300)], {"dtype": h5py.string_dtype()}
        if kind == 4:
            return np.float64(draw.random()), {}
        if kind == 5:
            return np.zeros(4, [("a", "i4"), ("b", "S3")]), {"track_order": True}
        return np.arange(24, dtype=">u2").reshape(2, 3, 4), {"chunks": (1, 3, 2), "fletcher32": True}

    def change(self, mine: Any, theirs: Any) -> None:
        """One random change of both files."""
        draw = self.draw
        kind = draw.choice(
            ["create"] * 5
            + [
                "group",
                "group",
                "remove",
                "remove",
                "move",
                "copy",
                "foreign",
                "soft",
                "hard",
                "external",
                "attribute",
                "attribute",
                "attributes",
                "unset",
                "write",
                "resize",
                "require",
                "big",
                "type",
            ]
        )
        datasets = self.paths(theirs, h5py.Dataset)
        everything = self.paths(theirs)
        name = self.new_name(theirs)
        if "/" in name:
            # Groups that are made on the way record other orders in h5py, by the function that makes them and the options of the object.
            for f in (mine, theirs):
                f.require_group(name.rpartition("/")[0])
        if kind == "create":
            value, options = self.value()
            for f in (mine, theirs):
                f.create_dataset(name, data=value, **options)
            self.model["/" + name] = np.asarray(value, object if options.get("dtype") is not None else None)
        elif kind == "group":
            for f in (mine, theirs):
                f.create_group(name, track_order=len(name) % 2 == 0)
        elif kind == "type":
            for f in (mine, theirs):
                f[name] = np.dtype("<f4")
        elif kind == "big":
            count = draw.choice([3, 20, 100])
            for f in (mine, theirs):
                made = f.create_group(name, track_order=count == 20)
                for number in range(count):
                    made[f"x{number * 7 % 101}"] = number
                for number in range(0, count, 3):
                    del made[f"x{number * 7 % 101}"]
        elif kind == "remove" and everything:
            path = draw.choice(everything)
            for f in (mine, theirs):
                del f[path]
            self.forget(path)
        elif kind == "move" and everything:
            path = draw.choice(everything)
            if not f"{name}/".startswith(f"{path}/"):
                for f in (mine, theirs):
                    f.move(path, name)
                for known in list(self.model):
                    if f"{known}/".startswith(f"/{path}/"):
                        self.model["/" + name + known[len(path) + 1 :]] = self.model.pop(known)
        elif kind == "copy" and everything:
            path = draw.choice(everything)
            if not f"{name}/".startswith(f"{path}/"):
                options = {draw.choice(["shallow", "without_attrs", "expand_soft"]): True} if draw.random() < 0.3 else {}
                for f in (mine, theirs):
                    f.copy(path, name, **options)
        elif kind == "foreign":
            path = draw.choice(["g", "plain", "g/z"])
            with hs.open(self.other) as other:
                mine.copy(other[path], name)
            with h5py.File(self.other) as other:
                other.copy(path, theirs, name)
        elif kind == "soft":
            for f, link in ((mine, hs.SoftLink), (theirs, h5py.SoftLink)):
                f[name] = link("/kept")
        elif kind == "external":
            for f, external in ((mine, hs.ExternalLink), (theirs, h5py.ExternalLink)):
                f[name] = external("other.h5", "/plain")
        elif kind == "hard" and datasets:
            path = draw.choice(datasets)
            for f in (mine, theirs):
                f[name] = f[path]
        elif kind == "attribute" and everything:
            path, value = draw.choice(everything), draw.choice([3, 2.5, "text", "é" * 50, np.arange(draw.randrange(1, 300)), ["a", "bc"], np.float32(1.5)])
            self.describe(mine, theirs, path, {f"a{draw.randrange(12)}": value})
        elif kind == "attributes" and everything:
            self.describe(mine, theirs, draw.choice(everything), {f"b{number}": number for number in range(17)})
        elif kind == "unset" and everything:
            path = draw.choice(everything)
            names = list(theirs[path].attrs)
            for attribute in names[: draw.randrange(len(names) + 1)]:
                for f in (mine, theirs):
                    del f[path].attrs[attribute]
        elif kind == "write" and datasets:
            path = draw.choice(datasets)
            if theirs[path].dtype.kind in "iuf" and theirs[path].size:
                for f in (mine, theirs):
                    f[path][...] = 77
                for known in list(self.model):
                    if known in theirs and theirs[known] == theirs[path]:
                        self.model[known] = theirs[path][()]
        elif kind == "resize" and datasets:
            path = draw.choice(datasets)
            if theirs[path].chunks and {None, 0xFFFFFFFF} & {*theirs[path].maxshape}:
                shape = tuple(
                    draw.randrange(15) if limit in (None, 0xFFFFFFFF) else extent
                    for extent, limit in zip(theirs[path].shape, theirs[path].maxshape, strict=True)
                )
                for f in (mine, theirs):
                    f[path].resize(shape)
                for known in list(self.model):
                    if known in theirs and theirs[known] == theirs[path]:
                        self.model[known] = theirs[path][()]
        elif kind == "require":
            for f in (mine, theirs):
                f.require_group("required/group")
                f.require_dataset("required/data", (3,), "f8")[...] = 4

    def describe(self, mine: Any, theirs: Any, path: str, values: dict[str, Any]) -> None:
        for name, value in values.items():
            try:
                mine[path].attrs[name] = value
            except hs.UnsupportedError as error:
                # A datatype that HDF5 has copied has a header without any room.
                assert "extended" in str(error) and not isinstance(theirs[path], (h5py.Group, h5py.Dataset)), error
                return
            theirs[path].attrs[name] = value

    def forget(self, path: str) -> None:
        for known in list(self.model):
            if f"{known}/".startswith(f"/{path}/"):
                del self.model[known]

    def check(self) -> None:
        with h5py.File(self.ours) as mine, h5py.File(self.theirs) as theirs, hs.open(self.ours) as read, ours.File(self.ours) as alike:
            expected = content(theirs)
            assert differences(content(mine), expected) == []
            assert differences(content(alike), expected) == []
            for path, value in self.model.items():
                assert plain(read[path][()])[-1] == plain(mine[path][()])[-1], path
                assert np.array_equal(np.asarray(mine[path].asstr()[()] if value.dtype == object else mine[path][()]), value), path
            assert mine["kept"][...].tolist() == list(range(100)) and mine["kept"].attrs["text"] == "é"
        with opened_in_pages(self.ours, self.kind) as f:
            assert differences(content(f), expected) == []
        assert [one for one in hs.check(self.ours).findings if one.severity == "error"] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("door", [hs.open, ours.File], ids=["open", "h5py"])
@pytest.mark.parametrize("kind", KINDS)
def test_ours_and_theirs_hold_the_same(tmp_path: pathlib.Path, kind: str, door: Any) -> None:
    draw = random.Random(f"{kind} {door.__name__} {os.environ.get('EDITING_SEED', '')}")
    room = Room(tmp_path, kind, draw)
    for _ in range(int(os.environ.get("EDITING_ROUNDS", "3"))):
        with h5py.File(room.theirs, "r+") as theirs, door(room.ours, "r+") as mine:
            for _ in range(draw.randrange(1, 25)):
                room.change(mine, theirs)
                if draw.random() < 0.1:
                    mine.commit()
        room.check()
        # h5py goes on in the file that we have changed.
        with opened_in_pages(room.ours, kind, "r+") as mine, h5py.File(room.theirs, "r+") as theirs:
            for _ in range(draw.randrange(1, 15)):
                with contextlib.suppress(NotImplementedError):
                    room.change(_Theirs(mine), theirs)
        room.check()


class _Theirs:
    """h5py's file, with our spelling of what differs."""

    def __init__(self, file: h5py.File) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __getitem__(self, name: str) -> Any:
        return self._file[name]

    def __delitem__(self, name: str) -> None:
        del self._file[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, hs.SoftLink):
            value = h5py.SoftLink(value.path)
        elif isinstance(value, hs.ExternalLink):
            value = h5py.ExternalLink(value.file, value.path)
        self._file[name] = value

    def copy(self, source: Any, dest: Any, **options: Any) -> None:
        if isinstance(source, (hs.Group, hs.Dataset)):
            with h5py.File(source.file.filename) as other:
                other.copy(source.name, self._file, dest)
        else:
            self._file.copy(source, dest, **options)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=np.arange(12).reshape(4, 3), chunks=(2, 3), maxshape=(None, 3))
        f.create_dataset("g/y", data=np.arange(5.0))
        f["g/alias"] = f["g/y"]
    return tmp_path / "x.h5"


def test_python_objects_follow_moves_and_know_of_removals(path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        group, y, alias, x = f["g"], f["g/y"], f["g/alias"], f["x"]
        f.move("g", "deep/er")
        assert group.name == "/deep/er" and y.name == "/deep/er/y" and y[1] == 1
        y[1], y.attrs["a"] = 50, 3
        del f["deep/er/y"]
        assert alias[1] == 50 and alias.attrs["a"] == 3, "the object has another name"
        del f["x"]
        for attempt in (lambda: x[0], lambda: x.shape, lambda: x.resize((1, 3)), lambda: x.attrs["a"], lambda: x.__setitem__(0, 1)):
            with pytest.raises(KeyError, match="removed"):
                attempt()
        f["x"] = np.arange(3)
        assert f["x"][...].tolist() == [0, 1, 2]
        new = f.create_group("new")
        f.roll_back()
        assert x[0].tolist() == [0, 1, 2] and x.shape == (4, 3) and group.name == "/g" and y[1] == 1
        with pytest.raises(KeyError, match="dropped"):
            list(new)
        assert list(f) == ["g", "x"]


def test_references_and_scales(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        f["refs"] = [f["x"].ref, None, f["g"].ref]
        f["refs"][1] = f["g/y"].ref
        f.create_dataset("later", (2,), h5py.ref_dtype)[0] = f["x"].ref
        f["x"].attrs["ref"] = f["g"].ref
        f["time"], f["other"] = np.arange(4.0), np.arange(4)
        f["time"].make_scale("time")
        f["x"].attach_scale(0, f["time"])
        f["x"].attach_scale(0, f["other"])
        f["x"].attach_scale(0, f["time"])
        f["x"].detach_scale(0, f["other"])
        f["x"].set_label(1, "column")
        with pytest.raises(ValueError, match="scale"):
            f["x"].make_scale()
        with pytest.raises(ValueError, match="another file"), hs.open(path.parent / "x.h5") as same:
            f["z"] = [hs.open(shutil.copy(path, tmp_path / "copy.h5"))["x"].ref, same["x"].ref]
    with h5py.File(path) as f:
        assert [f[ref] for ref in f["refs"][...]] == [f["x"], f["g/y"], f["g"]] and f[f["x"].attrs["ref"]].name == "/g"
        assert f[f["later"][0]].name == "/x" and not f["later"][1]
        assert f["x"].dims[0].keys() == ["time"] and f["x"].dims[1].label == "column" and "REFERENCE_LIST" not in f["other"].attrs
        assert h5py.h5ds.is_scale(f["other"].id) and h5py.h5ds.is_attached(f["x"].id, f["time"].id, 0)
    with ours.File(path, "r+") as f:
        f["x"].dims[0].detach_scale(f["time"])
        f["x"].dims[0].attach_scale(f["other"])
        f["x"].dims[1].label = "b"
    with h5py.File(path, "r+") as f:
        assert f["x"].dims[0].values() == [f["other"]] and f["x"].dims[1].label == "b"
        f["x"].dims[0].attach_scale(f["time"])
    # References lead to the copies of their objects, or to nothing.
    with hs.open(tmp_path / "new.h5", "w") as f:
        f["own"] = 1
    with hs.open(path) as source, hs.open(tmp_path / "new.h5", "r+") as f:
        f.copy(source["/"], "all")
        f.copy(source["refs"], "refs")
    with h5py.File(tmp_path / "new.h5") as f:
        assert [f[ref] for ref in f["all/refs"][...]] == [f["all/x"], f["all/g/y"], f["all/g"]] and not any(f["refs"][...])
        assert f["all/x"].dims[0].values() == [f["all/other"], f["all/time"]]


def test_virtual_datasets_and_committed_datatypes(path: pathlib.Path) -> None:
    layout = hs.VirtualLayout((2, 3), "i8")
    layout[0] = hs.VirtualSource("x.h5", "x", (4, 3))[1]
    with hs.open(path, "r+") as f:
        f.create_virtual_dataset("all", layout, fillvalue=-1)
        with f.build_virtual_dataset("more", (3,), "i8") as more:
            more[:] = hs.VirtualSource("x.h5", "x", (4, 3))[2]
        f["type"] = np.dtype([("a", "i4"), ("b", "f8")])
        f.create_dataset("typed", (3,), f["type"])
        assert f["all"][...].tolist() == [[3, 4, 5], [-1, -1, -1]]
        f.copy("all", "copy")
    with h5py.File(path, "r+") as f:
        assert f["all"][...].tolist() == f["copy"][...].tolist() == [[3, 4, 5], [-1, -1, -1]] and f["more"][...].tolist() == [6, 7, 8]
        assert f["typed"].id.get_type().committed() and h5py.h5o.get_info(f["type"].id).rc == 2
    with hs.open(path, "r+") as f:
        del f["typed"], f["type"], f["all"]
    assert sorted(h5py.File(path)) == ["copy", "g", "more", "x"]


def test_a_group_is_a_mutable_mapping(path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        f.update({"a": 1, "b": [1, 2]}, c="text")
        assert f.setdefault("a", 5)[()] == 1 and f.setdefault("d", 5)[()] == 5
        assert f.pop("b").tolist() == [1, 2] and f.pop("b", 3) == 3 and "b" not in f
        with pytest.raises(KeyError):
            f.pop("b")
        f["g"].clear()
        assert list(f["g"]) == [] and f.popitem()[0] == "a"
        with pytest.raises(KeyError):
            f["g"].popitem()
        assert f.require_dataset("d", (), "i8") == f["d"] and f.require_group("g") == f["g"]
        for attempt in (lambda: f.require_group("d"), lambda: f.require_dataset("g", (), "i8"), lambda: f.require_dataset("d", (1,), "i8")):
            with pytest.raises(TypeError):
                attempt()
        made = f.create_dataset_like("like", f["x"], compression="gzip")
        assert made.shape == (4, 3) and made.chunks == (2, 3) and made.maxshape == (None, 3)
    assert sorted(h5py.File(path)) == ["c", "d", "g", "like", "x"]


# With pages of more than 256 KiB, later sessions do not find free space.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "large pages"])
def test_space_of_removed_objects_is_used_again(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "x.h5"
    with new_file(path, kind) as f:
        f["kept"] = np.arange(10)
    sizes = []
    for round in range(12):
        with hs.open(path, "r+") as f:
            for name in ("plain", "packed"):
                if name in f:
                    del f[name]
            f.commit()
            f["plain"] = np.full(20_000, round)
            f.create_dataset("packed", data=np.arange(20_000) * round, chunks=(500,), compression="gzip", shuffle=True)
        sizes.append(path.stat().st_size)
        with h5py.File(path) as f:
            assert set(f["plain"][...]) == {round} and f["packed"][-1] == 19_999 * round and f["kept"][...].tolist() == list(range(10))
    assert sizes[-1] <= 2.2 * sizes[0], sizes


def test_many_members_in_every_kind_of_group(tmp_path: pathlib.Path) -> None:
    draw = random.Random(1)
    for kind in KINDS:
        path = tmp_path / f"{kind}.h5"
        with new_file(path, kind) as f:
            f.create_group("g")
        model: list[str] = []
        for _ in range(3):
            with hs.open(path, "r+") as f:
                for _ in range(300):
                    if model and draw.random() < 0.35:
                        name = model.pop(draw.randrange(len(model)))
                        del f["g"][name]
                    else:
                        name = f"{draw.randrange(10**9)}"
                        f["g"][name] = hs.SoftLink(f"/{name}") if draw.random() < 0.8 else f["g"]
                        model.append(name)
            with h5py.File(path, "r+") as f:
                assert sorted(f["g"]) == sorted(model)
                for name in [model.pop() for _ in range(40)]:
                    del f["g"][name]
                for number in range(40):
                    f["g"][f"h{number}{len(model)}"] = h5py.SoftLink("/kept")
                    model.append(f"h{number}{len(model)}")
            with hs.open(path) as f:
                assert sorted(f["g"]) == sorted(model)


@pytest.mark.parametrize("libver", ["v108", "latest"])
def test_nothing_is_left_of_links_and_attributes_that_came_and_went(tmp_path: pathlib.Path, libver: str) -> None:
    """The HDF5 library closes the heap of a group or of attributes after it told about the object: what it would remove there, it must not find."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver=(libver, libver)) as f:
        g = f.create_group("g")
        for number in range(20):
            g[f"x{number}"] = number
            g.attrs[f"a{number}"] = number
    for number in range(3):
        with hs.open(path, "r+") as f:
            for name in ("y", "z"):
                f[f"g/{name}{number}"] = 1
                f["g"].attrs[name] = 2
            f.commit()
            del f[f"g/y{number}"], f[f"g/z{number}"], f["g"].attrs["y"], f["g"].attrs["z"]
        with h5py.File(path) as f:
            g = f["g"]
            assert h5py.h5o.get_info(g.id).num_attrs == 20 and len(g) == 20
            assert g["x7"][()] == g.attrs["a7"] == 7
    assert hs.check(path).ok
    with h5py.File(path, "r+") as f:
        f["g/more"] = 3
        f["g"].attrs["more"] = 4
    with hs.open(path, "r+") as f:
        f["g/again"], f["g"].attrs["again"] = 5, 6
    with h5py.File(path) as f:
        assert (f["g/more"][()], f["g/again"][()], f["g"].attrs["more"], f["g"].attrs["again"]) == (3, 5, 4, 6)
