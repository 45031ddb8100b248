"""What has been written so far can be read back, selected, changed and removed, as in a file of h5py."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from compare import same

TYPES: list[tuple[Any, Any]] = [
    ("<i4", [7, -3]),
    (">i2", [7, -3]),
    ("u1", [1, 255]),
    ("<f8", [0.5, float("nan")]),
    (">f4", [1.5, -2]),
    ("f2", [1, 2]),
    ("?", [True, False]),
    ("c16", [1 + 2j, -1j]),
    ("S3", [b"ab", b"abc"]),
    (h5py.string_dtype(), ["text", "ä" * 500]),
    (np.dtype("V4"), [np.void(b"abcd"), np.void(b"\0\1\2\3")]),
    (h5py.enum_dtype({"A": 0, "B": 5}, "i2"), [5, 0]),
    (np.dtype([("a", "<i4"), ("b", ">f8"), ("c", "S2")]), [(1, 2.5, b"x"), (3, -1.0, b"yz")]),
    (np.dtype(("<i4", (2, 3))), None),
]
STORAGES: list[dict[str, Any]] = [
    {},
    {"chunks": (2, 3)},
    {"maxshape": (None, None)},
    {"chunks": (3, 2), "compression": "gzip", "shuffle": True},
    {"maxshape": (None, 9), "compression": "lzf", "fletcher32": True},
]


@pytest.mark.parametrize("storage", STORAGES, ids=str)
@pytest.mark.parametrize("dtype, values", TYPES, ids=lambda value: str(value)[:30])
def test_values_are_read_back_from_buffers_and_from_the_file(tmp_path: pathlib.Path, dtype: Any, values: Any, storage: dict[str, Any]) -> None:
    is_array = np.dtype(dtype).subdtype is not None if not isinstance(dtype, type) else False
    if "fletcher32" in storage and h5py.check_string_dtype(np.dtype(dtype)) and h5py.check_string_dtype(np.dtype(dtype)).length is None:
        storage = {**storage, "fletcher32": False}
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        for file in (f, g):
            x = file.create_dataset("x", (5, 7), dtype, **storage)
            if is_array:
                x[1:3, 2:6] = np.arange(48).reshape(2, 4, 2, 3)
                continue
            x[1:3, 2:6] = np.array([values * 2, values[::-1] * 2], dtype=x.dtype if x.dtype.kind != "O" else object)
            x[4] = np.array([values[0]] * 7, dtype=x.dtype if x.dtype.kind != "O" else object)
        x, y = f["x"], g["x"]
        for key in (
            ...,
            (),
            np.s_[2],
            np.s_[1:3, 2:6],
            np.s_[::2, 1:7:3],
            np.s_[-1, -2],
            np.s_[..., 3],
            np.s_[[0, 1, 4]],
            np.s_[:, [1, 5]],
            np.s_[3:3],
            np.s_[0:1, 0],
        ):
            assert same(x[key], y[key]), key
        mask = np.arange(35).reshape(5, 7) % 3 == 1
        assert same(x[mask], y[mask]) and same(x[mask[:, 0]], y[mask[:, 0]])
        assert x.dtype == y.dtype or (x.dtype.kind == "O" and y.dtype.kind == "O")
        assert (x.shape, x.size, x.ndim, x.maxshape, len(x), bool(x)) == (y.shape, y.size, y.ndim, y.maxshape, len(y), True)
        assert (x.compression, x.compression_opts, x.shuffle, x.fletcher32) == (y.compression, y.compression_opts, y.shuffle, y.fletcher32)
        assert same(x.fillvalue, y.fillvalue) and same(np.asarray(x), y[...])
        assert same(next(iter(x)), y[0])
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        assert same(f["x"][...], g["x"][...])


def test_values_are_read_back_after_chunks_were_stored_and_fill_values_before(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (2000, 1000), "f8", chunks=(100, 1000), compression="gzip", compression_opts=1, fillvalue=-1)
        assert x[17, 5] == -1 and x.fillvalue == -1
        x[100:500] = np.arange(400)[:, None]
        x[550:560] = 7
        assert x[99:102, 3].tolist() == [-1, 0, 1] and x[549:551, 0].tolist() == [-1, 7] and x[499, 999] == 399
        x[450:551] = 3
        assert x[448:452, 1].tolist() == [348, 349, 3, 3] and x[560, 1] == -1
        y = f.create_dataset("y", (1000, 1000), "i4", fillvalue=9)
        y[3, 4] = 1
        assert y[2:5, 4].tolist() == [9, 1, 9] and (y[999] == 9).all()
        z = f.create_dataset("z", (1000, 1000), "i4")
        z[3, 4] = 1
        assert z[...].sum() == 1 and z[999].sum() == 0
        g = f.create_dataset("g", (0, 10), "i8", maxshape=(None, 10))
        for step in range(20):
            g.append(np.full((20_000, 10), step))
            assert (g[-1] == step).all() and g[0, 0] == 0 and len(g) == 20_000 * (step + 1)
        text = f.create_dataset("text", (10,), str, maxshape=(None,))
        text[:] = [f"value {n}" * n for n in range(10)]
        assert text.asstr()[3] == "value 3" * 3 and text[0] == b"" and text[2:4].tolist() == [b"value 2" * 2, b"value 3" * 3]
        lists = f.create_dataset("lists", (3,), h5py.vlen_dtype(np.dtype("i4")))
        lists[1] = np.arange(4)
        assert lists[1].tolist() == [0, 1, 2, 3] and lists[0].tolist() == []
        scalar, empty = f.create_dataset("scalar", data=3.5), f.create_dataset("empty", data=hs.Empty("f4"))
        assert scalar[()] == 3.5 and scalar[...].shape == () and scalar.size == 1 and scalar.ndim == 0
        assert empty[...] == hs.Empty(np.dtype("f4")) and empty.size is None
        with pytest.raises(TypeError, match="scalar"):
            len(scalar)


def test_attributes_are_read_back_and_removed(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w", track_order=True) as g:
        for file in (f, g):
            at = file.create_dataset("g/x", data=[1, 2]).attrs
            at["units"], at["n"], at["list"], at["text"], at["bytes"], at["flag"] = "K", 3, [1.5, 2.5], ["a", "ä"], np.bytes_(b"raw"), True
            at["units"] = "degrees"
            at["table"] = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
            at["none"] = (hs.Empty if file is f else h5py.Empty)("i4")
            del at["n"]
            at.update({"z": 1, "a": 2})
            file.attrs["title"] = "root"
        ours, theirs = f["g/x"].attrs, g["g/x"].attrs
        assert list(ours) == list(ours.keys()) == list(theirs) == ["a", "bytes", "flag", "list", "none", "table", "text", "units", "z"]
        for name in theirs:
            value = theirs[name]
            assert ours[name] == hs.Empty(np.dtype("i4")) if isinstance(value, h5py.Empty) else same(ours[name], value), name
        assert ours.get("nothing") is None and ours.get("nothing", 3) == 3 and "units" in ours and "n" not in ours and dict(f.attrs) == {"title": "root"}
        assert ours.pop("z") == 1 and "z" not in ours
        for attributes in (ours, theirs):
            with pytest.raises(KeyError, match="nothing"):
                attributes["nothing"]
            with pytest.raises(KeyError, match="attribute"):
                del attributes["nothing"]
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["g/x"].attrs["units"] == "degrees" and "n" not in f["g/x"].attrs and "z" not in f["g/x"].attrs


class Both:
    """Does the same to a file of ours and to one of h5py."""

    def __init__(self, ours: Any, theirs: Any, seed: int) -> None:
        self.files, self.random, self.named = (ours, theirs), random.Random(seed), 0

    def paths(self, kind: type) -> list[str]:
        found: list[str] = []
        self.files[1].visititems(lambda name, item: found.append(name) if isinstance(item, kind) else None)
        return sorted(found)

    def new_name(self) -> str:
        self.named += 1
        return "/" + f"{self.random.choice([*self.paths(h5py.Group), ''])}/n{self.named}".strip("/")

    def each(self, act: Any) -> None:
        for file in self.files:
            act(file)

    def create(self) -> None:
        name, dice = self.new_name(), self.random
        shape = tuple(dice.randrange(0, 7) for _ in range(dice.randrange(1, 4)))
        dtype = dice.choice(["i4", ">i8", "f8", "S4", "u1"])
        options: dict[str, Any] = dice.choice(
            [
                {},
                {"maxshape": (None,) * len(shape)},
                {"chunks": tuple(dice.randrange(1, 4) for _ in shape), "maxshape": (None,) * len(shape)},
                {"compression": "gzip", "maxshape": (None,) * len(shape)},
            ]
        )
        # Without one the library may leave memory as it was in chunks that are written in part.
        options["fillvalue"] = b"" if dtype == "S4" else dice.choice([0, 5])
        if 0 in shape and "chunks" not in options:
            options["chunks"] = (2,) * len(shape)
            options["maxshape"] = (None,) * len(shape)
        self.each(lambda file: file.create_dataset(name, shape, dtype, **options))

    def key(self, shape: tuple[int, ...]) -> Any:
        dice = self.random
        if dice.random() < 0.15 and len(shape) > 1:
            return np.array([dice.random() < 0.4 for _ in range(int(np.prod(shape)))], dtype=bool).reshape(shape)
        key: list[Any] = []
        listed = False
        for extent in shape:
            choice = dice.randrange(5)
            if choice == 0 and extent:
                key.append(dice.randrange(-extent, extent))
            elif choice == 1 and extent and not listed:
                listed = True
                key.append(sorted(dice.sample(range(extent), dice.randrange(1, extent + 1))))
            elif choice == 2 and extent and not listed and len(shape) > 1:
                listed = True
                key.append(np.array([dice.random() < 0.5 for _ in range(extent)]))
            else:
                low = dice.randrange(0, extent + 1)
                key.append(slice(low, dice.randrange(low, extent + 2), dice.randrange(1, 3)))
        if dice.random() < 0.2:
            key = [*key[:1], Ellipsis]
        return tuple(key) if len(key) > 1 else key[0]

    def dataset(self) -> str | None:
        found = self.paths(h5py.Dataset)
        return self.random.choice(found) if found else None

    def write(self) -> None:
        if (path := self.dataset()) is None:
            return
        ours, theirs = (file[path] for file in self.files)
        key = self.key(theirs.shape)
        picked = theirs[key]
        values = np.asarray(np.random.default_rng(self.named).integers(0, 100, picked.shape)).astype(theirs.dtype)
        if 0 in picked.shape:
            return
        theirs[key] = values
        ours[key] = values
        assert same(ours[key], theirs[key])

    def resize(self) -> None:
        if (path := self.dataset()) is None or self.files[1][path].chunks is None:
            return
        shape = tuple(self.random.randrange(0, 9) for _ in self.files[1][path].shape)
        self.each(lambda file: file[path].resize(shape))
        if self.random.random() < 0.5:
            self.each(lambda file: file[path].resize(3, axis=0))

    def link(self) -> None:
        found, name = self.paths(object), self.new_name()
        if found:
            target = self.random.choice(found)
            above = self.files[1][name.rpartition("/")[0] or "/"]
            if isinstance(self.files[1][target], h5py.Group) and (above.name + "/").startswith(f"/{target}/"):
                return
            kind = self.random.randrange(2)
            if kind and isinstance(self.files[1][target], h5py.Dataset):
                self.each(lambda file: file.__setitem__(name, file[target]))
            else:
                self.files[0][name], self.files[1][name] = hs.SoftLink("/" + target), h5py.SoftLink("/" + target)

    def remove(self) -> None:
        names = [f"{group}/{name}".strip("/") for group in [*self.paths(h5py.Group), ""] for name in self.files[1][group or "/"]]
        if names and self.random.random() < 0.7:
            path = self.random.choice(names)
            self.each(lambda file: file.__delitem__(path))

    def move(self) -> None:
        found, name = self.paths(object), self.new_name()
        if found:
            path = self.random.choice(found)
            if not f"{name}/".startswith(f"/{path}/"):
                self.each(lambda file: file.move(path, name))

    def copy(self) -> None:
        found, name = self.paths(object), self.new_name()
        if found and len(found) < 40:
            path = self.random.choice(found)
            if not f"{name}/".startswith(f"/{path}/"):
                self.each(lambda file: file.copy(path, name))

    def attribute(self) -> None:
        found = self.paths(object)
        path, name = self.random.choice([*found, "/"]), self.random.choice("abc")
        if self.random.random() < 0.3 and name in self.files[1][path].attrs:
            self.each(lambda file: file[path].attrs.__delitem__(name))
        else:
            value = self.random.choice([3, 2.5, "text", [1, 2], ["a", "b"], np.bytes_(b"raw")])
            self.each(lambda file: file[path].attrs.__setitem__(name, value))

    def group(self) -> None:
        name = self.new_name()
        self.each(lambda file: file.require_group(name))


def check_equal(ours: Any, theirs: Any) -> None:
    assert set(ours.keys()) == set(theirs.keys()), theirs.name
    assert sorted(ours.attrs) == sorted(theirs.attrs) and all(same(ours.attrs[name], theirs.attrs[name]) for name in theirs.attrs)
    for name in theirs:
        link = theirs.get(name, getlink=True)
        if isinstance(link, h5py.SoftLink):
            assert ours.get(name, getlink=True).path == link.path
            continue
        a, b = ours[name], theirs[name]
        if isinstance(b, h5py.Group):
            check_equal(a, b)
            continue
        assert a.shape == b.shape and a.maxshape == b.maxshape and a.dtype == b.dtype, b.name
        assert same(a[...], b[...]), b.name
        assert sorted(a.attrs) == sorted(b.attrs) and all(same(a.attrs[key], b.attrs[key]) for key in b.attrs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(60))
def test_random_operations_leave_what_h5py_leaves(tmp_path: pathlib.Path, seed: int) -> None:
    with hs.create(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5", "w") as g:
        both = Both(f, g, seed)
        acts = [both.create] * 4 + [both.write] * 8 + [both.resize] * 3 + [both.group, both.link, both.remove, both.move, both.copy] + [both.attribute] * 2
        for step in range(60):
            both.random.choice(acts)()
            if step % 20 == 19:
                check_equal(f, g)
        ours: list[str] = []
        theirs: list[str] = []
        f.visititems(lambda name, item: ours.append(item.name if isinstance(item, hs.Group) else ""))
        g.visititems(lambda name, item: theirs.append(item.name if isinstance(item, h5py.Group) else ""))
        assert len(ours) == len(theirs)
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.h5") as g:
        check_equal(f, g)
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        f["added"] = 1
    ours_read = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f:
        f.visititems(lambda name, item: check_equal_dataset(ours_read, name, item))


def check_equal_dataset(file: Any, name: str, item: Any) -> None:
    if isinstance(item, h5py.Dataset):
        assert same(file[name][...], item[...]), name


@pytest.mark.parametrize("options", [{}, {"chunks": (3, 2, 2)}, {"chunks": (2, 3, 4), "compression": "gzip"}], ids=str)
def test_selections_write_and_read_what_numpy_selects(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    dice = random.Random(7)
    shape = (7, 5, 6)
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", shape, "i8", fillvalue=-1, **options)
        expected = np.full(shape, -1)
        for step in range(150):
            axes: list[Any] = []
            places: list[list[int]] = []
            for extent in shape:
                choice = dice.randrange(4)
                if choice == 0:
                    index = dice.randrange(-extent, extent)
                    axes.append(index)
                    places.append([index % extent])
                elif choice == 1:
                    listed = [dice.randrange(-extent, extent) for _ in range(dice.randrange(1, 5))]
                    axes.append(listed if dice.random() < 0.5 else np.array(listed))
                    places.append([index % extent for index in listed])
                elif choice == 2:
                    mask = np.array([dice.random() < 0.5 for _ in range(extent)])
                    axes.append(mask)
                    places.append(np.flatnonzero(mask).tolist())
                else:
                    taken = slice(dice.randrange(extent), dice.choice([None, dice.randrange(extent + 3)]), dice.randrange(1, 4))
                    axes.append(taken)
                    places.append(list(range(*taken.indices(extent))))
            box = tuple(len(along) for along in places)
            kept = tuple(n for n, axis in zip(box, axes) if not isinstance(axis, int))
            values = np.arange(step * 1000, step * 1000 + int(np.prod(box))).reshape(kept)
            if dice.random() < 0.2 and kept:
                values = values[..., :1]
            if 0 not in kept:
                for number, place in enumerate(np.ndindex(*box)):
                    expected[tuple(along[n] for along, n in zip(places, place))] = np.broadcast_to(values, kept).reshape(-1)[number]
            x[tuple(axes)] = values
            assert np.array_equal(x[...], expected), axes
            assert np.array_equal(x[tuple(axes)], expected[np.ix_(*places)].reshape(kept)), axes
            mask = np.array([dice.random() < 0.1 for _ in range(expected.size)]).reshape(shape)
            x[mask] = expected[mask] + 1
            expected[mask] += 1
        x[[1, 1, 1], 0, 0] = [4, 5, 6]
        assert x[1, 0, 0] == 6
        expected[1, 0, 0] = 6
        for bad in (np.s_[::-1], np.s_[9], [7], np.ones(3, bool), "name", 1.5, None):
            before = x[...]
            with pytest.raises((ValueError, IndexError, TypeError)):
                x[bad] = 1
            assert np.array_equal(x[...], before)
    assert np.array_equal(hs.open(tmp_path / "x.h5")["x"][...], expected)
    with h5py.File(tmp_path / "x.h5") as f:
        assert np.array_equal(f["x"][...], expected)


def test_fields_with_selections(tmp_path: pathlib.Path) -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f8"), ("name", h5py.string_dtype())])
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (6,), dtype, maxshape=(None,))
        x["a"] = np.arange(6)
        x["b", 1:3] = 2.5
        x["b", [0, 5]] = [7, 8]
        x["name", np.array([True, False] * 3)] = "even"
        x["name", 3] = "three"
        assert x["a"].tolist() == list(range(6)) and x["b", [0, 1, 5]].tolist() == [7, 2.5, 8] and x[2:4]["name"].tolist() == [b"even", b"three"]
        assert x["a", "b"][1].tolist() == (1, 2.5) and x[5]["b"] == 8
        x[[4, 1]] = [(40, 4.0, "x"), (10, 1.0, "y")]
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x"]["a"].tolist() == [0, 10, 2, 3, 40, 5] and f["x"]["name"].tolist() == [b"even", b"y", b"even", b"three", b"x", b""]


def test_methods_of_h5py(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("g/x", (4, 5), "f4", chunks=(2, 5), compression="gzip", compression_opts=9, fletcher32=True, maxshape=(None, 5), fillvalue=3)
        x.write_direct(np.arange(10, dtype="f4").reshape(2, 5), np.s_[:, 1:3], np.s_[1:3, 0:2])
        out = np.zeros((4, 5), "f4")
        x.read_direct(out, np.s_[1:3], np.s_[2:4])
        assert out[2:].tolist() == [[1, 2, 3, 3, 3], [6, 7, 3, 3, 3]] and x[0].tolist() == [3] * 5
        like = f.create_dataset_like("like", x, shape=(8, 5))
        assert (like.chunks, like.compression, like.compression_opts, like.fletcher32, like.maxshape, like.fillvalue, like.dtype) == (
            (2, 5),
            "gzip",
            9,
            True,
            (None, 5),
            3,
            "f4",
        )
        x.flush()
        f.flush()
        f.copy("g", "h")
        f.copy(x, f["h"], name="again")
        f["h/x"][0] = 9
        assert f["h/x"][0, 0] == 9 and x[0, 0] == 3 and f["h/again"][1, 0] == 1 and f["h/again"].compression == "gzip"
        seen: list[str] = []
        assert f.visit(seen.append) is None and seen == ["g", "g/x", "h", "h/again", "h/x", "like"]
        assert f.visititems(lambda name, item: item if name == "h/x" else None) == f["h/x"]
        assert [name for name, _ in f.items()] == ["g", "h", "like"] and [item.name for item in f.values()] == ["/g", "/h", "/like"]
        assert f.pop("like").shape == (8, 5) and "like" not in f and f.get("like", 5) == 5 and f.get("g", getclass=True) is hs.Group
        with pytest.raises(KeyError, match="removed"):
            like[0]
        with pytest.raises(hs.InvalidInputError, match="into itself"):
            f.copy("g", "g/inner")
        with pytest.raises(hs.InvalidInputError, match="indexed by the path of a member"):
            f.copy(object(), "z")
        f["a/b/c"] = 1
        f["x/link"] = f["a"]
        with pytest.raises(hs.InvalidInputError, match="into itself"):
            f.move("a", "x/link/a")
        f.move("x", "a/b/x")
        assert f["a/b/x/link/b/x"] == f["a/b/x"]
        f.move("a/b/x", "x")
        f.move("a", "x/a")
        assert f["x/a/b/c"][()] == 1 and f["x/link/b/c"][()] == 1
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x/a"] == f["x/link"] and f["h/x"][0, 0] == 9
