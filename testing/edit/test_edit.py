"""Random edits of existing files in turns with h5py, which is the judge after each commit: values, extents and attributes of every
kind of chunk index, of files of all versions of the superblock. The file of an edit that is not committed stays as it was."""

from __future__ import annotations

import contextlib
import pathlib
import random
import subprocess
import sys
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from file_kinds import KINDS, new_file, opened_in_pages, page_bytes, stated_ends
from hyperslab import _native
from hyperslab.sources.sessions import session
from hyperslab.values import dtype_encoding

SHAPE = (7, 9)
#: Datasets by name, each with another way to find its values.
DATASETS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "fixed_array": {"chunks": (3, 5)},
    "fixed_array_filtered": {"chunks": (3, 5), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "extensible_array": {"chunks": (2, 4), "maxshape": (None, 9)},
    "extensible_array_filtered": {"chunks": (2, 4), "maxshape": (None, 9), "compression": "lzf"},
    "many_chunks": {"chunks": (1, 1), "maxshape": (None, 50)},
    "single_chunk": {"chunks": SHAPE, "maxshape": SHAPE},
    "single_chunk_filtered": {"chunks": SHAPE, "maxshape": SHAPE, "fillvalue": 7, "compression": "gzip"},
    "fixed_array_bounded": {"chunks": (3, 5), "maxshape": SHAPE, "fillvalue": 7, "compression": "gzip"},
    "implicit": {"chunks": (3, 5), "maxshape": (12, 17), "fillvalue": 7, "dcpl": True},
    "bounded": {"chunks": (3, 5), "maxshape": (40, 60), "fillvalue": 7},
    "bounded_filtered": {"chunks": (3, 5), "maxshape": (40, 60), "fillvalue": 7, "compression": "gzip"},
    "two_unlimited": {"chunks": (1, 2), "maxshape": (None, None)},
    "two_unlimited_filtered": {"chunks": (2, 2), "maxshape": (None, None), "fillvalue": 7, "compression": "gzip"},
}


def early() -> Any:
    """Properties of a dataset whose chunks are all allocated when it is created: HDF5 1.10 and later need no index for them."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    return properties


def at(editor: Any, path: str) -> int:
    """The number of an object."""
    return int(editor.view().find(path)[1])


class Model:
    """What a file contains, by name: values and attributes."""

    def __init__(self) -> None:
        self.values: dict[str, np.ndarray] = {}
        self.attributes: dict[str, dict[str, np.ndarray]] = {}

    def copy(self) -> Model:
        same = Model()
        same.values = {name: values.copy() for name, values in self.values.items()}
        same.attributes = {name: dict(found) for name, found in self.attributes.items()}
        return same

    def resize(self, name: str, shape: list[int]) -> None:
        values = self.values[name]
        resized = np.full(shape, DATASETS[name].get("fillvalue", 0), values.dtype)
        rows, columns = min(shape[0], values.shape[0]), min(shape[1], values.shape[1])
        resized[:rows, :columns] = values[:rows, :columns]
        self.values[name] = resized

    def check(self, file: Any) -> None:
        for name, values in self.values.items():
            found = file[name][...]
            assert found.shape == values.shape and np.array_equal(found, values), name
            assert set(file[name].attrs) == set(self.attributes[name]), name
            for attribute, value in self.attributes[name].items():
                assert np.array_equal(file[name].attrs[attribute], value), (name, attribute)
        assert file["untouched"][...].tolist() == list(range(100))


def new_shape(options: dict[str, Any], draw: random.Random) -> list[int]:
    most = [29 if bound == 40 else bound or unbounded for bound, unbounded in zip(options["maxshape"], (119, 40), strict=True)]
    return [draw.randrange(bound + 1) for bound in most]


def created(made: h5py.File, draw: random.Random) -> Model:
    model = Model()
    with made as f:
        for name, options in DATASETS.items():
            dtype = draw.choice(["i4", "f8", ">i2", "u1"])
            dataset = f.create_dataset(name, shape=SHAPE, dtype=dtype, **{**options, **({"dcpl": early()} if "dcpl" in options else {})})
            values = np.full(SHAPE, options.get("fillvalue", 0), dtype)
            # Where HDF5 reuses space, what it allocates for part of a contiguous dataset has any values.
            if draw.random() < 0.5 or (name == "contiguous" and made.id.get_create_plist().get_file_space_strategy()[1]):
                values = np.array([[draw.randrange(100) for _ in range(9)] for _ in range(7)], dtype)
                dataset[...] = values
            model.values[name], model.attributes[name] = values, {}
            for number in range(draw.randrange(4)):
                dataset.attrs[f"a{number}"] = np.arange(number + 1)
                model.attributes[name][f"a{number}"] = np.arange(number + 1)
        f["untouched"] = np.arange(100)
    return model


def change(editor: Any, model: Model, draw: random.Random) -> None:
    name = draw.choice(list(model.values))
    values, attributes, options = model.values[name], model.attributes[name], DATASETS[name]
    kind = draw.random()
    if kind < 0.5:
        start = [draw.randrange(n + 1) for n in values.shape]
        count = [draw.randrange(n - first + 1) for n, first in zip(values.shape, start, strict=True)]
        new = np.array([draw.randrange(100) for _ in range(count[0] * count[1])]).reshape(count).astype(values.dtype)
        editor.write(at(editor, f"/{name}"), start, count, new.tobytes())
        values[tuple(slice(first, first + n) for first, n in zip(start, count, strict=True))] = new
    elif kind < 0.7 and "maxshape" in options:
        shape = new_shape(options, draw)
        editor.resize(at(editor, f"/{name}"), shape)
        model.resize(name, shape)
    elif kind < 0.9:
        attribute, value = f"a{draw.randrange(8 if name != 'contiguous' else 200)}", np.arange(draw.randrange(1, 40)).astype(draw.choice(["i4", "f8"]))
        editor.set_attribute(at(editor, f"/{name}"), attribute, list(value.shape), dtype_encoding.of_dtype(value.dtype), value.tobytes())
        attributes[attribute] = value
    elif attributes:
        attribute = draw.choice(list(attributes))
        editor.delete_attribute(at(editor, f"/{name}"), attribute)
        del attributes[attribute]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("libver", ["earliest", "v108", "v110", "latest"])
@pytest.mark.parametrize("seed", range(3))
def test_edits_in_turns_with_h5py(tmp_path: pathlib.Path, libver: str, seed: int) -> None:
    made = h5py.File(tmp_path / "x.h5", "w", libver=libver, userblock_size=512 if seed == 1 else 0, track_order=seed == 2)
    edit_in_turns(made, "superblock 0", random.Random(f"{libver} {seed}"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "page" in kind or "kept" in kind or "narrow" in kind])
def test_edits_of_all_kinds_of_files_in_turns_with_h5py(tmp_path: pathlib.Path, kind: str, libver: str) -> None:
    edit_in_turns(new_file(tmp_path / "x.h5", kind, libver=libver), kind, random.Random(f"{kind} {libver}"))


def edit_in_turns(made: h5py.File, kind: str, draw: random.Random) -> None:
    path = pathlib.Path(made.filename)
    model = created(made, draw)
    for round in range(5):
        editor, committed = _native.Editor(path, session()), model.copy()
        for _ in range(draw.randrange(1, 25)):
            change(editor, model, draw)
        if round == 3:
            # A view of what is not committed; then it is dropped.
            model.check(hs.File(editor.view()))
            editor.close()
            model = committed
        else:
            assert editor.commit() or all(np.array_equal(a, b) for a, b in zip(model.values.values(), committed.values.values(), strict=True))
            editor.close()
            if KINDS[kind].get("fs_persist"):
                assert path.stat().st_size - KINDS[kind].get("userblock_size", 0) in stated_ends(path)
        with opened_in_pages(path, kind, "r+") as f:
            model.check(f)
            name = draw.choice(list(model.values))
            if model.values[name].size:
                place = tuple(draw.randrange(n) for n in model.values[name].shape)
                f[name][place] = model.values[name][place] = 55
            if "maxshape" in DATASETS[name]:
                # What HDF5 leaves of values beyond an extent does not come back.
                f[name].resize(shape := new_shape(DATASETS[name], draw))
                model.resize(name, shape)
            if len(model.attributes[name]) < 5:
                f[name].attrs["h5py"] = round
                model.attributes[name]["h5py"] = np.asarray(round)
        with hs.open(path) as f:
            model.check(f)
        assert [one for one in hs.check(path).findings if one.severity == "error"] == []
        if size := page_bytes(kind):
            assert (path.stat().st_size - KINDS[kind].get("userblock_size", 0)) % size == 0
    assert [other.name for other in path.parent.iterdir()] == ["x.h5"]


@pytest.mark.parametrize("tracked", [False, True])
def test_dense_attributes_in_turns_with_h5py(tmp_path: pathlib.Path, tracked: bool) -> None:
    draw, path = random.Random(tracked), tmp_path / "x.h5"
    model: dict[str, Any] = {}
    with h5py.File(path, "w", libver="latest", track_order=tracked) as f:
        f.create_group("dense", track_order=tracked)
    for round in range(20):
        editor = _native.Editor(path, session())
        number = at(editor, "/dense")
        for _ in range(draw.randrange(1, 60)):
            name = f"{'é' if draw.random() < 0.1 else 'a'}{draw.randrange(300)}"
            if name in model and draw.random() < 0.5:
                editor.delete_attribute(number, name)
                del model[name]
            else:
                value = np.arange(draw.choice([1, 3, 20_000 if round > 10 else 30]), dtype="i4")
                editor.set_attribute(number, name, list(value.shape), dtype_encoding.of_dtype(value.dtype), value.tobytes())
                model.pop(name, None)
                model[name] = value
        editor.commit()
        editor.close()
        with h5py.File(path, "r+") as f:
            attrs = f["dense"].attrs
            assert list(attrs) == (list(model) if tracked else sorted(model))
            assert all(np.array_equal(attrs[name], value) for name, value in model.items())
            for _ in range(draw.randrange(30)):
                name = f"a{draw.randrange(300)}"
                if name in model:
                    del attrs[name], model[name]
                else:
                    attrs[name] = model[name] = np.arange(2, dtype="i4")
        with hs.open(path) as f:
            assert dict(f["dense"].attrs).keys() == model.keys()


def test_what_is_refused_changes_nothing(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("two", data=np.ones(SHAPE))
    before = path.read_bytes()
    editor = _native.Editor(path, session())
    with pytest.raises(hs.InvalidInputError, match="outside|region"):
        editor.write(at(editor, "/two"), [6, 0], [2, 1], bytes(16))
    assert not editor.commit()
    editor.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize(("options", "why"), [({"fs_strategy": "page", "fs_page_size": 1004}, "pages of 1004 bytes"), ({"driver": "split"}, "several members")])
def test_files_that_cannot_be_edited_are_refused_by_name(tmp_path: pathlib.Path, options: dict[str, Any], why: str) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", **options) as f:
        f["x"] = np.arange(10)
    path = next(tmp_path.glob("x.h5*"))
    before = path.read_bytes()
    with pytest.raises(hs.UnsupportedError, match=f"{why}.* cannot be edited yet"):
        _native.Editor(path, session())
    assert path.read_bytes() == before


def test_one_program_at_a_time(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(10)
        with pytest.raises(hs.ConflictError, match="open"):
            _native.Editor(path, session())
    editor = _native.Editor(path, session())
    with pytest.raises(BlockingIOError):
        h5py.File(path, "r")
    editor.close()
    with h5py.File(path, "r") as f:
        assert f["x"][3] == 3


def committing(path: str, first: int) -> None:
    """Commits the numbers from `first` on, each into values, an extent and an attribute at once, and prints what is committed."""
    for number in range(first, 10_000):
        editor = _native.Editor(path, session())
        editor.write(at(editor, "/x"), [0], [5000], np.full(5000, number, "i4").tobytes())
        editor.resize(at(editor, "/y"), [number])
        editor.write(at(editor, "/y"), [number - 1], [1], np.array([number], "i4").tobytes())
        editor.set_attribute(at(editor, "/x"), "number", [], dtype_encoding.of_dtype("i4"), np.array(number, "i4").tobytes())
        editor.commit()
        editor.close()
        print(number, flush=True)


@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_a_killed_edit_is_whole_or_not_there(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("x", data=np.ones(5000, "i4"), chunks=(1000,), compression="gzip").attrs["number"] = np.int32(1)
        f.create_dataset("y", data=np.ones(1, "i4"), chunks=(3,), maxshape=(None,))

    def found() -> int:
        with h5py.File(path, "r") as f:
            number = int(f["x"].attrs["number"])
            assert np.all(f["x"][...] == number) and f["y"][...].tolist() == list(range(1, number + 1))
        return number

    draw, last = random.Random(libver), 1
    for _ in range(6):
        child = subprocess.Popen([sys.executable, __file__, str(path), str(last + 1)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(draw.randrange(1, 4))]
        # Not a condition of the test: it spreads the kills over the steps of a commit.
        time.sleep(draw.random() * 0.02)
        child.kill()
        said += [int(line) for line in child.stdout.read().split()]
        child.wait()
        child.stdout.close()
        # Others open the file as it was or is, or refuse it.
        with contextlib.suppress(OSError):
            assert found() in (said[-1], said[-1] + 1)
        _native.Editor(path, session()).close()
        last = found()
        assert last in (said[-1], said[-1] + 1)
    assert [other.name for other in tmp_path.iterdir()] == ["x.h5"]


if __name__ == "__main__":
    committing(sys.argv[1], int(sys.argv[2]))
