"""One object model: how a file was opened decides what its objects can do, not what they are."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py
import numpy as np
import pytest


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("g/x", data=np.arange(6.0).reshape(2, 3), chunks=(1, 3), maxshape=(None, 3))
        f["g"].attrs["units"] = "K"
        f["t"] = np.dtype("<i4")
    return path


def objects(f: Any) -> dict[str, Any]:
    return {"file": f, "group": f["g"], "dataset": f["g/x"], "datatype": f["t"], "attributes": f["g"].attrs, "parent": f["g/x"].parent, "again": f["g"].file}


@pytest.mark.parametrize("opened", [hs.open, hyperslab.h5py.File])
def test_classes_are_the_same_in_each_mode(path: pathlib.Path, opened: Callable[..., Any]) -> None:
    read, found = opened(path), objects(opened(path))
    with opened(path, "r+") as f:
        for name, member in objects(f).items():
            assert type(member) is type(found[name]), name
        public = {name for name in dir(f["g/x"]) if not name.startswith("_")}
        assert public == {name for name in dir(read["g/x"]) if not name.startswith("_")}
        for attributes in (f["g"].attrs, read["g"].attrs):
            assert b"units" in attributes and attributes[b"units"] == "K" and b"none" not in attributes
    assert isinstance(found["group"], hs.Group) and isinstance(found["dataset"], hs.Dataset) and isinstance(found["attributes"], hs.Attributes)


def changes() -> list[Any]:
    """Each way to change a file, as a function of its root group."""
    values = np.zeros((2, 3))
    made: dict[str, Callable[[Any], Any]] = {
        "create_group": lambda f: f.create_group("new"),
        "require_group": lambda f: f.require_group("new"),
        "create_dataset": lambda f: f.create_dataset("new", data=values),
        "require_dataset": lambda f: f.require_dataset("new", (2,), "f8"),
        "create_dataset_like": lambda f: f.create_dataset_like("new", f["g/x"]),
        "create_virtual_dataset": lambda f: f.create_virtual_dataset("new", hs.VirtualLayout((2,), "f8")),
        "create_dimension": lambda f: f.create_dimension("new", 3),
        "create_variable": lambda f: f.create_variable("new", (), "f8"),
        "create_compound_type": lambda f: f.create_compound_type("new", [("a", "f8")]),
        "set a dataset": lambda f: f.__setitem__("new", values),
        "set a link": lambda f: f.__setitem__("new", hs.SoftLink("/g")),
        "set a name": lambda f: f.__setitem__("new", f["g/x"]),
        "delete": lambda f: f.__delitem__("g"),
        "move": lambda f: f.move("g", "h"),
        "copy": lambda f: f.copy("g", "h"),
        "clear": lambda f: f.clear(),
        "pop": lambda f: f.pop("g"),
        "popitem": lambda f: f.popitem(),
        "setdefault": lambda f: f.setdefault("new", values),
        "update": lambda f: f.update({"new": values}),
        "write": lambda f: f["g/x"].__setitem__(0, 5.0),
        "write_direct": lambda f: f["g/x"].write_direct(values),
        "resize": lambda f: f["g/x"].resize(3, axis=0),
        "append": lambda f: f["g/x"].append(values),
        "make_scale": lambda f: f["g/x"].make_scale("x"),
        "set_label": lambda f: f["g/x"].set_label(0, "row"),
        "set an attribute": lambda f: f["g"].attrs.__setitem__("new", 1),
        "create an attribute": lambda f: f["g"].attrs.create("new", 1),
        "modify an attribute": lambda f: f["g"].attrs.modify("units", "m"),
        "delete an attribute": lambda f: f["g"].attrs.__delitem__("units"),
        "update attributes": lambda f: f["g"].attrs.update({"new": 1}),
    }
    return [pytest.param(change, id=name.replace(" ", "_")) for name, change in made.items()]


@pytest.mark.parametrize("change", changes())
@pytest.mark.parametrize("opened", [hs.open, hyperslab.h5py.File])
def test_a_change_is_one_error_in_a_file_that_is_read_and_is_made_in_one_that_is_edited(
    path: pathlib.Path, change: Callable[[Any], Any], opened: Callable[..., Any]
) -> None:
    before = path.read_bytes()
    with opened(path) as f, pytest.raises(hs.ReadOnlyError, match=r"read-only: hyperslab.open\(path, 'r\+'\) changes an existing file"):
        change(f)
    assert path.read_bytes() == before
    with opened(path, "r+") as f:
        change(f)
    assert path.read_bytes() != before
    with h5py.File(path) as f:
        f.visititems(lambda _, member: dict(member.attrs))


@pytest.mark.parametrize("opened", ["w", "r+"])
def test_rows_are_appended_in_the_same_way_to_files_that_are_written_and_edited(tmp_path: pathlib.Path, opened: str) -> None:
    path, pairs = tmp_path / "f.h5", np.dtype([("a", "i4"), ("b", "f8")])
    made = hs.create(path)
    made.create_dataset("x", (1, 3), "f8", maxshape=(None, None))
    made.create_dataset("pairs", (0,), pairs, maxshape=(None,))
    made.create_dataset("fixed", (2,), "f8")
    if opened == "r+":
        made.close()
        made = hs.open(path, "r+")
    with made as f:
        f["x"].append(np.ones((2, 3)))
        f["x"].append(np.full((3, 2), 2.0), axis=1)
        f["pairs"].append([(1, 2.0), (3, 4.0)])
        for values in (np.ones(5), np.ones((1, 4)), 3.0):
            with pytest.raises(hs.InvalidInputError, match=r"appended to shape \(3, 5\) along axis 0"):
                f["x"].append(values)
        with pytest.raises(hs.InvalidInputError, match="axis 2 of a dataset of 2 dimensions"):
            f["x"].append(np.ones((1, 5)), axis=2)
        with pytest.raises(TypeError, match="only"):
            f["fixed"].append(np.ones(1))
    with h5py.File(path) as f:
        assert np.array_equal(f["x"][...], [[0, 0, 0, 2, 2], [1, 1, 1, 2, 2], [1, 1, 1, 2, 2]])
        assert f["pairs"][...].tolist() == [(1, 2.0), (3, 4.0)] and f["fixed"].shape == (2,)
