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


def shown(path: pathlib.Path) -> dict[str, Any]:
    """What h5py finds in a file: links, and of objects their types, values and attributes."""
    found: dict[str, Any] = {}

    def attributes(member: Any) -> dict[str, Any]:
        # References are the addresses of objects.
        return {name: np.asarray(value).tolist() for name, value in member.attrs.items() if name not in ("DIMENSION_LIST", "REFERENCE_LIST", "_NCProperties")}

    with h5py.File(path) as f:
        found["/"] = attributes(f)

        def look(group: Any) -> None:
            for name in sorted(group):
                link, place = group.get(name, getlink=True), f"{group.name.rstrip('/')}/{name}"
                if isinstance(link, h5py.SoftLink):
                    found[place] = link.path
                    continue
                member = group[name]
                about: dict[str, Any] = {"attributes": attributes(member), "list": "DIMENSION_LIST" in member.attrs}
                if isinstance(member, h5py.Dataset):
                    scales = [[scale.name for scale in dim.values()] for dim in member.dims] if not member.is_virtual else []
                    about |= {"values": member[()].tolist(), "shape": member.shape, "maxshape": member.maxshape, "dtype": member.dtype.str, "scales": scales}
                elif isinstance(member, h5py.Datatype):
                    about["dtype"] = member.dtype.str
                found[place] = about
                if isinstance(member, h5py.Group):
                    look(member)

        look(f)
    return found


def fill(f: Any) -> None:
    f.create_dataset("g/x", data=np.arange(6.0).reshape(2, 3), chunks=(1, 3), maxshape=(None, 3))
    f["g"].attrs["units"] = "K"
    f["t"] = np.dtype("<i4")


MORE = [
    pytest.param(lambda f: (f.__setitem__("s", np.arange(3.0)), f["g/x"].attach_scale(1, f["s"])), id="attach_scale"),
    pytest.param(
        lambda f: (f.__setitem__("s", np.arange(3.0)), f["g/x"].attach_scale(1, f["s"]), f["g/x"].detach_scale(1, f["s"]), f.move("s", "g/s")),
        id="detach_scale",
    ),
    pytest.param(lambda f: f.copy(f["g/x"], f["g"], name="copy"), id="copy_an_object"),
    pytest.param(lambda f: f.copy("g", "h", shallow=True, without_attrs=True), id="copy_shallow"),
    pytest.param(lambda f: f.require_group("g").create_dataset("y", (2,), f["t"]), id="committed"),
    pytest.param(lambda f: f.create_dataset("time", data=np.array(["2001-01-01"], "M8[s]")), id="times"),
    pytest.param(lambda f: (f.create_dataset("m", (3,), "i4", fillvalue=-1), f["m"].__setitem__(slice(2), np.ma.masked_array([1, 2], [1, 0]))), id="masked"),
    pytest.param(lambda f: (f.create_dimension("n", 2), f.create_variable("v", ["n"], data=[1, 2], units="m")), id="netcdf"),
    pytest.param(lambda f: (f.__setitem__("n", hs.HardLink("/g/x")), f["n"].resize(4, axis=0)), id="hard_link"),
    pytest.param(lambda f: (f["g/x"].__setitem__((slice(None), [0, 2]), 8), f["g/x"].__setitem__(f["g/x"][...] > 4, -1)), id="lists_and_masks"),
]


@pytest.mark.parametrize("change", changes() + MORE)
@pytest.mark.parametrize("opened", [hs.open, hyperslab.h5py.File])
def test_a_new_file_can_be_changed_as_an_existing_one(tmp_path: pathlib.Path, change: Callable[[Any], Any], opened: Callable[..., Any]) -> None:
    with opened(tmp_path / "new.h5", "w") as f:
        fill(f)
        existing = type(f), type(f["g"]), type(f["g/x"]), type(f["t"]), type(f.attrs)
        change(f)
    with opened(tmp_path / "old.h5", "w") as f:
        fill(f)
    with opened(tmp_path / "old.h5", "r+") as f:
        assert existing == (type(f), type(f["g"]), type(f["g/x"]), type(f["t"]), type(f.attrs))
        change(f)
    assert shown(tmp_path / "new.h5") == shown(tmp_path / "old.h5")


def test_what_a_new_file_has_not_is_an_error_that_names_it(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "new.h5") as f:
        fill(f)
        assert isinstance(f, hs.File) and isinstance(f["g"], hs.Group) and isinstance(f["g/x"], hs.Dataset) and f["g/x"].file == f and f["g/x"].parent == f["g"]
        for refused, words in (
            (f.commit, "appears when it is closed"),
            (f.roll_back, "abort"),
            (lambda: f.table("g"), "tables and queries"),
            (lambda: f["g/x"].stored_bytes, "stored bytes"),
            (lambda: f["g/x"].mmap(), "being created"),
        ):
            with pytest.raises(hs.UnsupportedError, match=words):
                refused()
        f.flush()
        removed = f["g/x"]
        del f["g"]
        with pytest.raises(hs.NotFoundError, match="removed"):
            removed[0]
    assert "new.h5" in repr(f) and not f and f.closed
    with pytest.raises(hs.InvalidInputError, match="closed"):
        f["again"] = 1


def test_objects_are_copied_from_other_files_into_a_new_one(tmp_path: pathlib.Path, path: pathlib.Path) -> None:
    with h5py.File(path, "r+") as f:
        f["g/text"] = ["a", "bc"]
        f["g/pairs"] = np.array([(1, 2.5)], [("a", "i2"), ("b", ">f8")])
        f["g/same"], f["g/soft"] = f["g/x"], h5py.SoftLink("/g/x")
        f["g"].attrs["list"], f["g"].attrs["words"] = [1, 2], ["x", "yz"]
        f["g/pointing"] = np.array([f["g"].ref], dtype=h5py.ref_dtype)
    with hs.open(path) as source, hs.create(tmp_path / "new.h5") as f:
        for name, refused in (("p", "g/pointing"), ("whole", "g")):
            with pytest.raises(hs.UnsupportedError, match="references of another file"):
                f.copy(source[refused], name)
            assert name not in f
        for name in ("x", "text", "pairs"):
            f.copy(source["g"][name], f"g/{name}")
        f.copy(source["t"], "t")
    with h5py.File(path) as old, h5py.File(tmp_path / "new.h5") as new:
        for name in ("x", "text", "pairs"):
            a, b = old["g"][name], new["g"][name]
            assert a.dtype == b.dtype and a.chunks == b.chunks and a.maxshape == b.maxshape and a[...].tolist() == b[...].tolist()
        assert old["t"].dtype == new["t"].dtype
    with hs.create_netcdf(tmp_path / "n.nc") as f:
        f.create_dimension("x", 2)
        f.create_variable("x", ["x"], data=[1, 2])
    refused = pytest.raises(hs.UnsupportedError, match='open it with format="hdf5"')
    with hs.open(tmp_path / "n.nc") as source, hs.create(tmp_path / "other.h5") as f, refused:
        f.copy(source["x"], "x")
    with hs.open(path, "r+") as f:
        del f["g/pointing"]
    with hs.open(path) as source, hs.create(tmp_path / "whole.h5") as f:
        f.copy(source["g"], "g", expand_soft=True)
    with h5py.File(path) as old, h5py.File(tmp_path / "whole.h5") as new:
        assert (
            new["g/same"] == new["g/x"] == new["g/soft"]
            and new["g"].attrs["words"].tolist() == ["x", "yz"]
            and dict(new["g"].attrs).keys() == dict(old["g"].attrs).keys()
        )


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
