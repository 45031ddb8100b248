"""`hs.open(path, "r+")` with h5py's interface: random changes of our file, of a file that h5py changes in the same way, and of a dict, which stay equal.
What cannot be done changes nothing, and what was not committed is not there."""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import pickle
import random
import shutil
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py as ours
import numpy as np
import pytest
from file_kinds import new_file, page_bytes

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "data"
RECORD = np.dtype([("a", "i4"), ("b", "S5"), ("c", "f8", (2,))])
VLEN = h5py.vlen_dtype("i4")
#: Datasets by name: dtype, shape, and how it is stored.
DATASETS: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "contiguous": ("f8", (6, 7), {}),
    "chunked": (">i2", (6, 7), {"chunks": (2, 3), "maxshape": (None, 7)}),
    "gzip": ("f4", (6, 7), {"chunks": (4, 4), "maxshape": (20, 30), "compression": "gzip", "shuffle": True, "fillvalue": 3}),
    "checked": ("u1", (5, 4, 3), {"chunks": (2, 2, 3), "fletcher32": True}),
    "scalar": ("i8", (), {}),
    "records": (RECORD, (9,), {"chunks": (4,), "maxshape": (None,)}),
    "text": (h5py.string_dtype(), (8,), {"chunks": (3,), "maxshape": (None,)}),
    "fixed": ("S6", (8,), {}),
    "flags": ("?", (10,), {}),
    "choice": (h5py.enum_dtype({"A": 0, "B": 1}, "i1"), (6,), {}),
    "lists": (VLEN, (5,), {}),
}


def values_of(dtype: np.dtype[Any], shape: tuple[int, ...], draw: random.Random) -> Any:
    """Values that a dataset of `dtype` holds."""
    count = int(np.prod(shape))
    if dtype == RECORD:
        flat = np.zeros(count, RECORD)
        for row in flat:
            row["a"], row["b"], row["c"] = draw.randrange(99), draw.choice([b"", b"ab", b"abcde"]), (draw.random(), draw.random())
        return flat.reshape(shape)
    if dtype.metadata and dtype.metadata.get("vlen") is str:
        text: np.ndarray[Any, Any] = np.empty(count, object)
        text[:] = ["é" * draw.randrange(4) + "x" * draw.choice([0, 3, 700]) for _ in range(count)]
        return text.reshape(shape)
    if dtype.metadata and "vlen" in dtype.metadata:
        lists: np.ndarray[Any, Any] = np.empty(count, object)
        lists[:] = [np.arange(draw.randrange(5), dtype="i4") for _ in range(count)]
        return lists.reshape(shape)
    if dtype.kind == "S":
        return np.array([draw.choice([b"", b"abc", b"abcdef"]) for _ in range(count)], dtype).reshape(shape)
    return np.array([draw.randrange(2 if dtype.itemsize == 1 and dtype.kind in "bi" else 100) for _ in range(count)]).astype(dtype).reshape(shape)


def equal(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object:
        plain = [[v.decode() if isinstance(v, bytes) else v.tolist() if isinstance(v, np.ndarray) else v for v in x.reshape(-1)] for x in (a, b)]
        return a.shape == b.shape and plain[0] == plain[1]
    return a.shape == b.shape and bool(np.array_equal(a, b))


def key_of(shape: tuple[int, ...], draw: random.Random) -> Any:
    """A selection that h5py and numpy understand in the same way."""
    kind = draw.random()
    if not shape or kind < 0.1:
        return ...
    if kind < 0.2:
        return np.array([draw.random() < 0.4 for _ in range(int(np.prod(shape)))], bool).reshape(shape)
    keys: list[Any] = []
    lists = 0
    for extent in shape[: draw.randrange(1, len(shape) + 1)]:
        form = draw.random()
        if form < 0.3 and extent:
            keys.append(draw.randrange(-extent, extent))
        elif form < 0.45 and extent and not lists:
            lists += 1
            keys.append(sorted(draw.sample(range(extent), draw.randrange(1, extent + 1))))
        else:
            start = draw.randrange(extent + 1)
            keys.append(slice(start, draw.randrange(start, extent + 1), draw.choice([None, 1, 2, 3])))
    if lists:
        # numpy would move the dimension of a list that stands next to an index.
        keys = [slice(k % extent, k % extent + 1) if isinstance(k, int) else k for k, extent in zip(keys, shape, strict=False)]
    return tuple(keys)


def write_whole(theirs: Any, values: Any) -> None:
    """Writes all values by h5py, which would take lists of one length for a dimension more: those go one by one."""
    if values.dtype == object and any(isinstance(value, np.ndarray) for value in values.flat):
        for place, value in np.ndenumerate(values):
            theirs[place] = value
    else:
        theirs[...] = values


class Room:
    """Our file, h5py's file, and a dict, which must stay equal."""

    def __init__(self, folder: pathlib.Path, draw: random.Random, kind: str, libver: str) -> None:
        self.draw, self.ours, self.theirs = draw, folder / "ours.h5", folder / "theirs.h5"
        self.model: dict[str, Any] = {}
        #: Datasets that h5py could not change by such a key: it writes them whole.
        self.late: list[str] = []
        self.attributes: dict[str, dict[str, Any]] = {}
        with new_file(self.ours, kind, libver=libver) as f:
            for name, (dtype, shape, options) in DATASETS.items():
                made = f.create_dataset(f"g/{name}", shape, dtype, **options)
                self.model[name] = values_of(np.dtype(dtype), shape, draw)
                made[...] = self.model[name]
                self.attributes[name] = {}
            f["untouched"] = np.arange(1000)
            f["untouched"].attrs["kept"] = "as it was"
        shutil.copy(self.ours, self.theirs)

    def check(self, f: Any) -> None:
        for name, expected in self.model.items():
            assert equal(f["g"][name][...], expected), name
            found = dict(f["g"][name].attrs)
            assert found.keys() == self.attributes[name].keys(), name
            for attribute, value in self.attributes[name].items():
                assert equal(found[attribute], value), (name, attribute, found[attribute], value)
        assert f["untouched"][...].tolist() == list(range(1000)) and f["untouched"].attrs["kept"] == "as it was"

    def change(self, mine: Any, theirs: Any) -> None:
        """One random change of all three."""
        draw, name = self.draw, self.draw.choice(list(DATASETS))
        dtype, _, options = DATASETS[name]
        model, maxshape = self.model[name], options.get("maxshape")
        kind = draw.random()
        if kind < 0.5:
            key = key_of(model.shape, draw)
            new = values_of(np.dtype(dtype), np.empty(model.shape, "u1")[key].shape, draw)
            if name == "records" and draw.random() < 0.4 and not isinstance(key, np.ndarray):
                keys = key if isinstance(key, tuple) else (key,)
                self.write(mine, theirs, name, ("b", *keys), new["b"])
                model["b"][key] = new["b"]
                return
            if name == "lists" and new.shape == ():
                new = new[()]
            self.write(mine, theirs, name, key, new)
            model[key] = new
        elif kind < 0.7 and maxshape is not None:
            before = model.shape
            shape = tuple(draw.randrange(min(limit or 20, 20) + 1) for limit in maxshape)
            self.resized(name, shape, options)
            if draw.random() < 0.5:
                mine["g"][name].resize(shape)
            else:
                for axis, extent in enumerate(shape):
                    mine["g"][name].resize(extent, axis=axis)
            theirs["g"][name].resize(shape)
            assert mine["g"][name].shape == shape and before is not None
        elif kind < 0.8 and maxshape is not None and maxshape[0] is None:
            rows = values_of(np.dtype(dtype), (draw.randrange(4), *model.shape[1:]), draw)
            start = len(model)
            mine["g"][name].append(rows)
            theirs["g"][name].resize(start + len(rows), axis=0)
            if len(rows):
                theirs["g"][name][start:] = rows
            self.model[name] = np.concatenate([model, rows])
        elif kind < 0.95:
            attribute = f"a{draw.randrange(6)}"
            value = draw.choice([3, 2.5, "text", "é" * 50, np.arange(draw.randrange(1, 30)), ["a", "bc"], np.bytes_(b"bytes"), np.float32(1.5), True])
            mine["g"][name].attrs[attribute] = value
            theirs["g"][name].attrs[attribute] = value
            self.attributes[name][attribute] = theirs["g"][name].attrs[attribute]
        elif self.attributes[name]:
            attribute = draw.choice(list(self.attributes[name]))
            del mine["g"][name].attrs[attribute], theirs["g"][name].attrs[attribute], self.attributes[name][attribute]

    def write(self, mine: Any, theirs: Any, name: str, key: Any, new: Any) -> None:
        mine["g"][name][key] = new
        self.late.append(name)
        with contextlib.suppress(TypeError, AttributeError, ValueError):
            theirs["g"][name][key] = new
            self.late.pop()

    def resized(self, name: str, shape: tuple[int, ...], options: dict[str, Any]) -> None:
        model = self.model[name]
        made: np.ndarray[Any, Any] = np.zeros(shape, model.dtype) if model.dtype != object else np.full(shape, "", object)
        if "fillvalue" in options:
            made[...] = options["fillvalue"]
        inside = tuple(slice(0, min(a, b)) for a, b in zip(shape, model.shape, strict=True))
        made[inside] = model[inside]
        self.model[name] = made


@pytest.mark.sampled(4)
@pytest.mark.parametrize("door", [hs.open, ours.File], ids=["open", "h5py"])
@pytest.mark.parametrize(
    ("kind", "libver"),
    [("superblock 0", "earliest"), ("superblock 0", "v110"), ("narrow", "earliest"), ("narrow tracked", "latest"), ("kept pages", "v110")],
)
@pytest.mark.parametrize("seed", range(3))
def test_ours_theirs_and_a_dict_stay_equal(tmp_path: pathlib.Path, door: Any, kind: str, libver: str, seed: int) -> None:
    draw = random.Random(f"{seed} {kind} {libver} {door.__name__}")
    room = Room(tmp_path, draw, kind, libver)
    for round in range(int(os.environ.get("EDITING_ROUNDS", "8"))):
        with h5py.File(room.theirs, "r+") as theirs:
            with door(room.ours, "r+") as mine:
                for _ in range(draw.randrange(1, 30)):
                    room.change(mine, theirs)
                    for name in room.late:
                        write_whole(theirs["g"][name], room.model[name])
                    room.late.clear()
                    if draw.random() < 0.1:
                        room.check(mine)
                    if draw.random() < 0.05:
                        mine.commit()
            room.check(theirs)
        with h5py.File(room.ours, "r+") as theirs, h5py.File(room.theirs, "r+") as same:
            room.check(theirs)
            # h5py writes in turns with us.
            name = draw.choice(["contiguous", "chunked", "gzip", "fixed"])
            if room.model[name].size:
                new = values_of(np.dtype(DATASETS[name][0]), room.model[name].shape, draw)
                room.model[name][...] = theirs["g"][name][...] = same["g"][name][...] = new
            if round % 3 == 0 and len(room.attributes[name]) < 6:
                theirs["g"][name].attrs["h5py"] = same["g"][name].attrs["h5py"] = round
                room.attributes[name]["h5py"] = np.asarray(round)
        with hs.open(room.ours) as f:
            room.check(f)
    assert sorted(other.name for other in tmp_path.iterdir()) == ["ours.h5", "theirs.h5"]


def overwritten(path: pathlib.Path, times: int, commits: int, sessions: int, draw: random.Random) -> int:
    """Overwrites a compressed dataset, and returns the bytes of the largest content."""
    largest = 0
    for session in range(sessions):
        with hs.open(path, "r+") as f:
            for number in range(times // sessions):
                values = np.array([draw.randrange(1 << draw.choice([2, 8, 16])) for _ in range(4000)], "i4")
                rows = slice(draw.randrange(5) * 4000, None)
                f["x"][rows] = np.resize(values, f["x"][rows].shape)
                if number % max(times // sessions // commits, 1) == 0:
                    f.commit()
                    largest = max(largest, f["x"].stored_bytes)
            kept = f["x"][...]
        with h5py.File(path, "r+") as f:
            assert f["x"][...].tobytes() == kept.tobytes() and f["y"][...].tolist() == list(range(100)), session
            between(f, session)
    return largest


def between(f: Any, session: int) -> None:
    """h5py changes the file without and with something that it appends."""
    f["y"].attrs["session"] = session
    if session % 3 == 1:
        f.create_dataset(f"z{session}", data=np.arange(50))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["superblock 0", "pages", "kept pages"])
@pytest.mark.parametrize(("commits", "sessions"), [(500, 1), (10, 5), (1, 50)])
def test_a_file_that_is_overwritten_again_and_again_stays_small(tmp_path: pathlib.Path, commits: int, sessions: int, kind: str) -> None:
    path, draw = tmp_path / "x.h5", random.Random(commits)
    with new_file(path, kind) as f:
        f.create_dataset("x", data=np.arange(20_000, dtype="i4"), chunks=(1000,), compression="gzip")
        f["y"] = np.arange(100)
    control = shutil.copy(path, tmp_path / "control.h5")
    for session in range(sessions):
        with h5py.File(control, "r+") as f:
            between(f, session)
    largest = overwritten(path, int(os.environ.get("EDITING_OVERWRITES", "500")), commits, sessions, draw)
    # The content before and after a commit is there at the same time, and pieces are left over: more of them where chunks keep to pages.
    copies = 2.5 if page_bytes(kind) is None else 3.5
    assert path.stat().st_size <= control.stat().st_size + copies * largest + 8192


def test_modes(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for door in (hs.open, ours.File):
        before = path.read_bytes()
        with door(path, "r+") as f:
            assert f.mode == "r+" and isinstance(f, hs.File) and f and not f.closed
        assert not f and f.closed and path.read_bytes() == before
        with door(path, "a") as f:
            assert f["scalar"][()] == 5 and f["empty"][()].dtype == np.dtype("f4")
        new = tmp_path / f"{door.__name__}.h5"
        with pytest.raises(FileNotFoundError):
            door(new, "r+")
        for mode in ("a", "w", "x", "w-"):
            with door(new, mode) as f:
                f["x"] = np.arange(3)
            assert h5py.File(new)["x"].shape == (3,)
            if mode in ("a", "w"):
                with pytest.raises(hs.ConflictError):
                    door(new, "x").close()
            new.unlink()
        with pytest.raises(ValueError, match="unknown mode"):
            door(path, "rw")
    with ours.File(path, "r+") as f:
        assert isinstance(f, ours.File) and isinstance(f["x"], ours.Dataset) and isinstance(f["g"], ours.Group)
        assert isinstance(f["x"].file, ours.File) and f["x"].parent == f and f["g"].file == f


def test_what_is_no_local_hdf5_file_is_refused(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("text" * 1000)
    for door in (hs.open, ours.File):
        with pytest.raises(ValueError):
            door(tmp_path / "a.txt", "r+")
    with pytest.raises(hs.UnsupportedError, match="local copy"):
        hs.open("s3://bucket/x.h5", "r+")
    with pytest.raises(hs.InvalidInputError, match="one file"):
        hs.open([path], "r+")
    with open(path, "rb") as file, pytest.raises(hs.InvalidInputError, match="path"):
        hs.open(file, "r+")
    with pytest.raises(hs.InvalidInputError, match="limits="):
        hs.open(path, "w", limits={"chunk_bytes": 1})
    path.chmod(0o400)
    if os.geteuid():
        with pytest.raises(PermissionError):
            hs.open(path, "r+")
    with pytest.raises(OSError):
        hs.open(tmp_path, "r+")


def test_an_exception_drops_the_changes_and_a_commit_keeps_them(path: pathlib.Path) -> None:
    with pytest.raises(KeyError), hs.open(path, "r+") as f:
        f["x"][0] = 100
        f.commit()
        f["x"][0] = 200
        f["x"].resize(1, axis=0)
        raise KeyError
    assert f.closed and hs.open(path)["x"][:, 0].tolist() == [100, 3, 6, 9]
    f = hs.open(path, "r+")
    x = f["x"]
    x.resize((1, 3))
    f.roll_back()
    assert x.shape == (4, 3) and x[0, 0] == 100
    f.attrs["new"] = "text"
    x.flush()
    f["g/y"][:] = 1
    with pytest.warns(hs.UnclosedWarning, match="was not closed"):
        del f, x
        gc.collect()
    with h5py.File(path, "r+") as theirs:
        assert theirs.attrs["new"] == "text" and theirs["g/y"][...].tolist() == [0, 1, 2, 3, 4]


def test_all_objects_show_a_change(path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        y, alias, table = f["g/y"], f["g"]["alias"], f.table("/g/y")
        before = f["x"].attrs
        f["g/y"][1] = 50
        f["x"].attrs["late"] = 1
        assert y[1] == alias[1] == 50 and y == alias and "late" in before and list(before) == ["late"]
        assert f.table("/g/y").to_arrow()[1].to_pylist() == [0, 50, 2, 3, 4]
        with pytest.raises(hs.ConflictError, match="changed"):
            table.to_arrow()
        assert f[f.attrs["ref"]] == f["x"] and f["x"].ref.path == "/x"
        f.visititems(lambda name, item: item.attrs.__setitem__("seen", name))
        assert f["g"].attrs["seen"] == "g" and f["text"].attrs["seen"] == "text"
        assert len(pickle_error(f)) > 10 and len(pickle_error(y)) > 10
        f["scalar"][()] = 7
        f["text"][()] = "new"
        assert f["scalar"][()] == 7 and f["text"].asstr()[()] == "new"
        with pytest.raises(ValueError, match="null dataspace"):
            f["empty"][...] = 1
    for attempt in (lambda: y[0], lambda: y.__setitem__(0, 1), lambda: f.attrs.create("a", 1), f.commit, f.roll_back):
        with pytest.raises(hs.InvalidInputError, match="closed"):
            attempt()
    f.close()
    assert "closed" in repr(f) and "closed" in repr(y)


def pickle_error(thing: Any) -> str:
    with pytest.raises(TypeError) as error:
        pickle.dumps(thing)
    return str(error.value)


def refusals() -> dict[str, tuple[type[Exception], Callable[[Any], Any]]]:
    return {
        "a value that does not fit": (ValueError, lambda f: f["x"].__setitem__(0, 1.5)),
        "one that is too large": (ValueError, lambda f: f["x"].__setitem__(0, 2**70)),
        "text for numbers": (ValueError, lambda f: f["x"].__setitem__(0, "a")),
        "a wrong shape": (TypeError, lambda f: f["x"].__setitem__(slice(0, 2), np.zeros((2, 4)))),
        "an index outside": (IndexError, lambda f: f["x"].__setitem__(4, 0)),
        "a mask of another shape": (TypeError, lambda f: f["x"].__setitem__(np.ones((2, 2), bool), 0)),
        "rows of another width": (TypeError, lambda f: f["x"].append(np.zeros((2, 4)))),
        "rows that do not fit": (ValueError, lambda f: f["x"].append(np.full((2, 3), 0.5))),
        "a shape beyond the largest": (ValueError, lambda f: f["x"].resize((4, 4))),
        "another number of dimensions": (TypeError, lambda f: f["x"].resize((4,))),
        "an extent that is not a number": (ValueError, lambda f: f["x"].resize((-1, 3))),
        "another axis": (ValueError, lambda f: f["x"].resize(4, axis=2)),
        "a dataset without chunks": (TypeError, lambda f: f["g/y"].resize((9,))),
        "a field of numbers": (ValueError, lambda f: f["x"].__setitem__("a", 1)),
        "a dataset of a name that is there": (ValueError, lambda f: f.create_dataset("x", data=1)),
        "a group of a name that is there": (ValueError, lambda f: f.create_group("g/y")),
        "a link of a name that is there": (ValueError, lambda f: f.__setitem__("x", hs.SoftLink("/g"))),
        "a dataset below a dataset": (ValueError, lambda f: f.create_dataset("x/y", data=1)),
        "a dataset of no type": (NotImplementedError, lambda f: f.create_dataset("new", data={})),
        "values that do not fit their dtype": (ValueError, lambda f: f.create_dataset("new/deep", data=[1.5], dtype="i4")),
        "a dataset without a name": (NotImplementedError, lambda f: f.create_dataset(None, data=1)),
        "a name that cannot be": (ValueError, lambda f: f.create_group("a\0b")),
        "a removal of what is not there": (KeyError, lambda f: f.__delitem__("none")),
        "a removal of the root group": (ValueError, lambda f: f.__delitem__("/")),
        "a new name for what is not there": (KeyError, lambda f: f.move("none", "z")),
        "a new name that is there": (ValueError, lambda f: f.move("x", "g")),
        "a group moved into itself": (ValueError, lambda f: f.move("g", "g/g")),
        "a copy to a name that is there": (ValueError, lambda f: f.copy("x", "g")),
        "a copy with references": (NotImplementedError, lambda f: f.copy("x", "z", expand_refs=True)),
        "a scale of another dimension": (ValueError, lambda f: f["x"].attach_scale(2, f["g/y"])),
        "a scale of itself": (ValueError, lambda f: f["x"].attach_scale(0, f["x"])),
        "a group as a scale": (TypeError, lambda f: f["x"].attach_scale(0, f["g"])),
        "an attribute of no type": (NotImplementedError, lambda f: f.attrs.__setitem__("a", {})),
        "an attribute without a name": (ValueError, lambda f: f.attrs.__setitem__("", 1)),
        "an attribute of 64 KiB": (NotImplementedError, lambda f: f.attrs.__setitem__("a", np.zeros(10_000))),
        "an attribute that is not there": (KeyError, lambda f: f.attrs.__delitem__("none")),
        "a modification of another shape": (TypeError, lambda f: f.attrs.modify("one", [1, 2])),
        "a modification that does not fit": (ValueError, lambda f: f.attrs.modify("one", 0.5)),
        "a shape for too few elements": (ValueError, lambda f: f.attrs.create("a", [1, 2], shape=(3,))),
    }


@pytest.mark.parametrize("case", refusals())
def test_what_is_refused_changes_nothing(path: pathlib.Path, case: str) -> None:
    kind, attempt = refusals()[case]
    before = path.read_bytes()
    for door in (hs.open, ours.File):
        with door(path, "r+") as f:
            with pytest.raises(kind):
                attempt(f)
            assert f["x"].shape == (4, 3) and f["x"][...].tolist() == np.arange(12).reshape(4, 3).tolist()
            f.roll_back()
    assert path.read_bytes() == before


def test_attributes_are_a_mutable_mapping(path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        a = f["x"].attrs
        a.create("shaped", [1, 2, 3, 4], shape=(2, 2), dtype="u1")
        a.update(units="K", count=3)
        a.setdefault("count", 4)
        a.modify("count", 5)
        a.modify("created", "now")
        a.modify("units", "m" * 300)
        a[b"bytes"] = hs.Empty("f4")
        f.attrs.modify("one", 9)
        assert a.pop("created") == "now" and "created" not in a and a.pop("created", 1) == 1
    with h5py.File(path) as f:
        assert f["x"].attrs["shaped"].tolist() == [[1, 2], [3, 4]] and f["x"].attrs["shaped"].dtype == "u1"
        assert f["x"].attrs["units"] == "m" * 300 and f["x"].attrs["count"] == 5 and f["x"].attrs["bytes"] == h5py.Empty("f4")
        assert f.attrs["one"].tolist() == [9] and f.attrs["one"].dtype == "i4"
    with hs.open(path, "r+") as f:
        f["x"].attrs.clear()
        assert len(f["x"].attrs) == 0
    assert dict(h5py.File(path)["x"].attrs) == {}


def test_text_of_fixed_length_has_the_padding_of_its_datatype(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        for name, padding in (("nul", h5py.h5t.STR_NULLTERM), ("space", h5py.h5t.STR_SPACEPAD), ("pad", h5py.h5t.STR_NULLPAD)):
            datatype = h5py.h5t.C_S1.copy()
            datatype.set_size(5)
            datatype.set_strpad(padding)
            h5py.h5d.create(f.id, name.encode(), datatype, h5py.h5s.create_simple((4,)))
    with hs.open(path, "r+") as f:
        for name in ("nul", "space", "pad"):
            f[name][...] = ["a", "", "bcd", "efgh"]
            assert f[name][...].tolist() == [b"a", b"", b"bcd", b"efgh"]
        with pytest.raises(ValueError, match="NUL"):
            f["nul"][0] = "abcde"
        f["space"][0] = "abcde"
    with h5py.File(path) as f:
        assert [f[name][3] for name in ("nul", "space", "pad")] == [b"efgh"] * 3 and f["nul"][0] == b"a"
        offset = f["space"].id.get_offset()
    assert path.read_bytes()[offset : offset + 20] == b"abcde     bcd  efgh "


def everything(path: pathlib.Path) -> dict[str, Any]:
    """Each dataset and attribute of a file, by h5py."""
    found: dict[str, Any] = {}

    def look(name: str, item: Any) -> None:
        for attribute in item.attrs:
            try:
                found[f"{name}@{attribute}"] = repr(item.attrs[attribute])
            except (OSError, TypeError, ValueError) as error:
                found[f"{name}@{attribute}"] = type(error)
        if isinstance(item, h5py.Dataset) and item.shape is not None and item.size < 10**6:
            try:
                values = item[...]
            except (OSError, TypeError, ValueError) as error:
                found[name] = type(error)
                return
            found[name] = values.shape, repr(values.tolist()) if values.dtype == object else values.tobytes()

    with h5py.File(path) as f:
        look("/", f)
        f.visititems(look)
    return found


def files() -> list[pathlib.Path]:
    return sorted(path for pattern in ("*.h5", "*.nc", "*.hdf5", "*.h5ad") for path in EXAMPLES.rglob(pattern) if h5py.is_hdf5(path))


@pytest.mark.parametrize("source", files(), ids=lambda path: path.name)
def test_the_rest_of_files_of_other_programs_stays(tmp_path: pathlib.Path, source: pathlib.Path) -> None:
    path = tmp_path / source.name
    shutil.copy(source, path)
    before = everything(path)
    try:
        f = hs.open(path, "r+", format="hdf5")
    except hs.UnsupportedError:
        assert path.read_bytes() == source.read_bytes()
        return
    changed: list[str] = []
    with f:
        names: list[str] = []
        f.visititems(lambda name, item: names.append(name) if isinstance(item, hs.Dataset) and item.size and item.dtype.kind in "iuf" else None)
        for name in names[:3]:
            dataset = f[name]
            try:
                last = tuple(extent - 1 for extent in dataset.shape)
                dataset[last] = 42
                changed.append(name)
            except hs.UnsupportedError:
                continue
        try:
            f["hyperslab/new"] = np.arange(1000)
            f["hyperslab"].attrs["made"] = "é"
            f["hyperslab/soft"] = hs.SoftLink("/nowhere")
            f["hyperslab/out"] = hs.ExternalLink("other.h5", "/x")
            if names:
                f["hyperslab/alias"] = f[names[-1]]
                f.copy(names[-1], "hyperslab/copy")
                f.move("hyperslab/copy", "hyperslab/moved")
                del f["hyperslab/alias"]
            made = True
        except hs.UnsupportedError as error:
            assert "addresses or lengths" in str(error) or "cannot be copied" in str(error), error
            made = False
    after = {name: value for name, value in everything(path).items() if not name.startswith("hyperslab")}
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} <= set(changed)
    if made:
        with h5py.File(path) as theirs:
            new = theirs["hyperslab"]
            assert new["new"][...].tolist() == list(range(1000)) and new.attrs["made"] == "é" and new.get("out", getlink=True).path == "/x"
            assert not names or np.asarray(new["moved"]).tobytes() == np.asarray(theirs[names[-1]]).tobytes()
        # h5py goes on: it removes what we have made.
        with h5py.File(path, "r+") as theirs:
            del theirs["hyperslab"]
        assert everything(path) == after
    with h5py.File(path) as theirs:
        assert all(theirs[name][tuple(extent - 1 for extent in theirs[name].shape)] == 42 for name in changed)


@pytest.mark.parametrize("options", [{"chunks": (4,)}, {"chunks": (4,), "compression": "gzip"}, {}], ids=["chunked", "gzip", "contiguous"])
def test_texts_that_nobody_wrote_are_fill_values_of_their_own(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    """HDF5 frees the text of an element that it overwrites: neither another element nor the fill value may point at it."""
    path, expected = tmp_path / "x.h5", [b"of nobody"] * 8
    with h5py.File(path, "w") as f:
        f.create_dataset("x", (8,), h5py.string_dtype(), fillvalue=b"of nobody", **options)
    with hs.open(path, "r+") as f:
        for place, text in [(0, b"ours"), (5, b"ours, too")]:
            f["x"][place] = expected[place] = text
    for place, text in [(1, b"theirs"), (4, b"of another length"), (0, b"again")]:
        with h5py.File(path, "r+") as f:
            assert f["x"][:].tolist() == expected
            f["x"][place] = expected[place] = text
    with h5py.File(path) as f:
        assert f["x"][:].tolist() == expected and f["x"].fillvalue == b"of nobody"
    with hs.open(path) as f:
        assert f["x"][:].tolist() == expected
    assert all(finding.severity == "info" for finding in hs.check(path).findings)


def test_a_dataset_in_chunks_that_was_made_smaller_grows_again(tmp_path: pathlib.Path) -> None:
    """The maximum shape is stored although it is the shape, as the HDF5 library does."""
    path = tmp_path / "x.h5"
    with hs.open(path, "w") as f:
        f.create_dataset("new", data=np.arange(11), chunks=(3,))
    with hs.open(path, "a") as f:
        f.create_dataset("added", data=np.arange(11), chunks=(4,))
    with hs.open(path, "r+") as ours:
        for name in ("new", "added"):
            ours[name].resize((5,))
    with h5py.File(path, "r+") as theirs:
        theirs["new"].resize((8,))
    with hs.open(path, "r+") as ours:
        for name in ("new", "added"):
            ours[name].resize((11,))
            with pytest.raises(hs.InvalidInputError, match="beyond the largest shape"):
                ours[name].resize((12,))
    with h5py.File(path) as theirs:
        for name in ("new", "added"):
            assert theirs[name][:].tolist() == [0, 1, 2, 3, 4, *[0] * 6] and theirs[name].maxshape == (11,)
