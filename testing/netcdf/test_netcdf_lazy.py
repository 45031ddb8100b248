"""Of a netCDF-4 file only what is asked for is parsed: a variable's dimensions need their scales, the extent of an unlimited
dimension needs the variables of the file."""

from __future__ import annotations

import itertools
import pathlib
import random
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest


def write(path: pathlib.Path) -> None:
    """Two fixed dimensions, of which one has no variable, in the root; one group that has its own; 60 variables."""
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 4)
        f.createDimension("bounds", 2)
        f.createVariable("x", "f8", ("x",))[:] = [10, 20, 30, 40]
        for number in range(60):
            f.createVariable(f"v{number}", "f8", ("x", "bounds"))[:] = number
        group = f.createGroup("g")
        group.createDimension("y", 3)
        group.createVariable("deep", "i4", ("y", "x"))[:] = np.arange(12).reshape(3, 4)


def destroy_all_but(path: pathlib.Path, kept: set[str]) -> None:
    """Overwrites the headers of all objects but these."""
    addresses: list[int] = []
    with h5py.File(path) as f:
        f.visititems(lambda name, found: addresses.append(h5py.h5o.get_info(found.id).addr) if name not in kept else None)
    with path.open("r+b") as file:
        for address in addresses:
            file.seek(address)
            file.write(b"\xff" * 8)


def test_one_variable_is_read_without_the_others(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "destroyed.nc"
    write(path)
    destroy_all_but(path, {"v7", "x", "bounds", "g", "g/deep", "g/y"})
    f = hs.open(path)
    assert f.format == "netcdf4"
    v = f["v7"]
    assert v.shape == (4, 2) and v.dims == ("x", "bounds") and v[3, 1] == 7
    deep = f["g/deep"]
    assert deep.dims == ("y", "x") and deep[2, 3] == 11
    with pytest.raises(hs.CorruptError, match="/v8"):
        f["v8"]


def test_values_are_read_without_the_scales(tmp_path: pathlib.Path) -> None:
    """A fixed dimension's name needs its scale, the values do not."""
    path = tmp_path / "destroyed.nc"
    write(path)
    destroy_all_but(path, {"v7"})
    assert hs.open(path)["v7"][2, 0] == 7


def test_a_listing_shows_damaged_members_and_hides_scales_without_variable(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "destroyed.nc"
    write(path)
    expected = list(hs.open(path))
    assert expected == ["x", *(f"v{number}" for number in range(60)), "g"]
    destroy_all_but(path, {"x", "bounds", "g", "g/y", "g/deep"})
    f = hs.open(path)
    assert list(f) == expected and "bounds" not in f
    with pytest.raises(hs.NotFoundError):
        f["bounds"]


def growing(path: pathlib.Path) -> None:
    """Unlimited dimensions in two groups, in several places, that variables of other groups make longer."""
    with netCDF4.Dataset(path, "w") as f:
        for name in ("time", "without_variable"):
            f.createDimension(name, None)
        f.createDimension("x", 3)
        f.createVariable("time", "f8", ("time",))[:] = [1, 2]
        f.createVariable("short", "f4", ("time", "x"))[:1] = 1
        f.createVariable("long", "i2", ("time",))[:] = np.arange(7)
        f.createVariable("w", "i8", ("x", "without_variable"))[:, :2] = 5
        f.createVariable("empty", "u1", ("without_variable",))
        group = f.createGroup("a").createGroup("b")
        group.createDimension("time", None)
        group.createVariable("longest", "i4", ("without_variable",))[:] = np.arange(9)
        group.createVariable("own", "i4", ("time", "x"))[:4] = 3
        # It has the name of a dimension, but is not its coordinate variable.
        f.createVariable("x", "f4", ("time", "x"))[:2] = 8


def look(f: Any, name: str) -> list[Any]:
    variable = f[name]
    return [variable.shape, variable.dims, variable[...].tolist()]


LOOKS: list[Callable[[hs.File], Any]] = [
    lambda f: list(f),
    lambda f: list(f["a/b"]),
    lambda f: look(f, "short"),
    lambda f: look(f, "long"),
    lambda f: look(f, "w"),
    lambda f: look(f, "empty"),
    lambda f: look(f, "time"),
    lambda f: look(f, "x"),
    lambda f: look(f, "a/b/longest"),
    lambda f: look(f, "a/b/own"),
]


def test_variables_equal_netcdf4_whatever_is_asked_first(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "growing.nc"
    growing(path)
    with netCDF4.Dataset(path) as theirs:
        theirs.set_auto_maskandscale(False)
        names = ["short", "long", "w", "empty", "time", "x", "a/b/longest", "a/b/own"]
        expected = [{*theirs.variables, *theirs.groups}, list(theirs["a/b"].variables)]
        # Row by row: of several rows that end before their unlimited dimension does, the library puts values into wrong places.
        values = [[theirs[name].shape, theirs[name].dimensions, [row.tolist() for row in theirs[name]]] for name in names]
    for turn in range(30):
        f = hs.open(path)
        order = list(range(len(LOOKS)))
        random.Random(turn).shuffle(order)
        seen = {number: LOOKS[number](f) for number in order}
        assert (set(seen[0]), seen[1]) == tuple(expected)
        assert [seen[number] for number in range(2, len(LOOKS))] == values, f"turn {turn}"


def test_a_variable_that_was_deleted_makes_no_dimension_longer(tmp_path: pathlib.Path) -> None:
    """Its header stays in the file, and the scale's REFERENCE_LIST names it."""
    path = tmp_path / "deleted.nc"
    growing(path)
    with h5py.File(path, "r+") as f:
        del f["long"]
    with netCDF4.Dataset(path) as theirs:
        expected = theirs["short"].shape
    assert hs.open(path)["short"].shape == expected == (2, 3)


@pytest.mark.parametrize("asked_first", [False, True])
def test_scales_are_found_by_number_without_a_list(tmp_path: pathlib.Path, asked_first: bool) -> None:
    """As coordinates of several dimensions are, and files whose scales are not attached."""
    path = tmp_path / "numbers.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("t", None)
        f.createDimension("n", 5)
        f.createVariable("t", "f8", ("t", "n"))[:3] = 1
        f.createVariable("v", "f8", ("t",))[:6] = 2
        f.createVariable("n", "f4", ("n",))[:] = 3
    with h5py.File(path) as f:
        assert "DIMENSION_LIST" not in f["t"].attrs and "_Netcdf4Coordinates" in f["t"].attrs
    f = hs.open(path)
    if asked_first:
        assert f["v"].dims == ("t",)
    assert f["t"].dims == ("t", "n") and f["t"].shape == (6, 5) and f["v"].shape == (6,)


def test_phony_dimensions_are_numbered_over_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "phony.nc"
    with h5py.File(path, "w", track_order=True) as f:
        f.attrs["_NCProperties"] = "version=2"
        for place in ("b/c", "a", "/"):
            f.require_group(place)["m"] = np.zeros((2, 3, 3))
            f.require_group(place)["n"] = np.zeros(3)
    with netCDF4.Dataset(path) as theirs:
        expected = {name: theirs[name].dimensions for name in ("m", "n", "a/m", "a/n", "b/c/m", "b/c/n")}
    for order in itertools.islice(itertools.permutations(expected), 0, None, 97):
        f = hs.open(path)
        assert {name: f[name].dims for name in order} == expected


def test_a_member_that_exceeds_a_limit_does_not_spoil_the_listing(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "limits.nc"
    write(path)
    with h5py.File(path, "r+") as f:
        heavy = f.create_dataset("heavy", data=1.0)
        for number in range(40):
            heavy.attrs[f"a{number}"] = number
    f = hs.open(path, limits={"messages_per_object": 30})
    with pytest.raises(hs.LimitExceededError, match="/heavy"):
        f["heavy"]
    assert "heavy" in list(f) and "heavy" in f
    assert f["v7"].dims == ("x", "bounds") and f["v7"][3, 1] == 7
