"""Arguments with a fixed set of values: each door refuses another one before it reads or writes anything, with one wording."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from hyperslab import _native
from hyperslab.base.arguments import check_choice

EMPTY = pa.table({"x": pa.array([], pa.int64())})
Door = Callable[[pathlib.Path], object]

#: Name of the argument, and a call in which it is "nope". `old.h5` has only datasets that no option changes; `new.h5` must not appear.
DOORS: list[tuple[str, str, Door]] = [
    ("open", "mode", lambda p: hs.open(p / "new.h5", "nope")),  # type: ignore[call-overload]
    ("open", "format", lambda p: hs.open(p / "old.h5", format="nope")),
    ("open", "paths", lambda p: hs.open(p / "old.h5", paths="nope")),
    ("open", "missing_sources", lambda p: hs.open(p / "old.h5", missing_sources="nope")),
    ("open", "indexes", lambda p: hs.open(p / "old.h5", indexes="nope")),
    ("table", "layout", lambda p: hs.open(p / "old.h5").table("/x", layout="nope")),  # type: ignore[arg-type]
    ("table", "nonconforming", lambda p: hs.open(p / "old.h5").table("/x", nonconforming="nope")),  # type: ignore[arg-type]
    ("create", "mode", lambda p: hs.create(p / "new.h5", "nope")),
    ("create", "libver", lambda p: hs.create(p / "new.h5", libver="nope")),
    ("create_netcdf", "mode", lambda p: hs.create_netcdf(p / "new.h5", "nope")),
    ("WritePlan", "mode", lambda p: hs.WritePlan(p / "new.h5", "nope")),
    ("NetcdfPlan", "mode", lambda p: hs.NetcdfPlan(p / "new.h5", "nope")),
    ("repack", "compression", lambda p: hs.repack(p / "old.h5", p / "new.h5", compression="nope")),
    ("repack", "libver", lambda p: hs.repack(p / "old.h5", p / "new.h5", libver="nope")),
    ("fuse", "mode", lambda p: hs.fuse(p / "old.h5", p / "new.h5", "nope")),
    ("recover", "mode", lambda p: hs.recover(p / "old.h5", p / "new.h5", "nope")),
    ("virtual", "mode", lambda p: hs.virtual([p / "old.h5"], p / "new.h5", "nope", axis=0)),
    ("virtual", "compat", lambda p: hs.virtual([p / "old.h5"], p / "new.h5", axis=0, compat="nope")),
    ("merge", "mode", lambda p: hs.merge([p / "old.h5"], p / "new.h5", "nope", axis=0)),
    ("joined", "misfits", lambda p: hs.joined([p / "old.h5"], axis=0, misfits="nope")),
    ("read_each", "errors", lambda p: list(hs.read_each([p / "old.h5"], "/x", errors="nope"))),
    ("write_catalog", "mode", lambda p: hs.write_catalog([p / "old.h5"], p / "new.h5", "nope")),
    ("write_catalog", "errors", lambda p: hs.write_catalog([p / "old.h5"], p / "new.h5", errors="nope")),
    ("convert", "form", lambda p: hs.convert(p / "old.h5", p / "new.h5", form="nope")),
    ("write_table", "layout", lambda p: hs.write_table(EMPTY, p / "new.h5", layout="nope")),
    ("write_table", "nulls", lambda p: hs.write_table(EMPTY, p / "new.h5", nulls="nope")),
    ("write_table", "overflow", lambda p: hs.write_table(EMPTY, p / "new.h5", overflow="nope")),
    ("write_table", "compression", lambda p: hs.write_table(EMPTY, p / "new.h5", compression="nope")),
    ("open_mfdataset", "compat", lambda p: hs.open_mfdataset([p / "old.h5"], compat="nope")),
    ("query", "method", lambda p: hs.query(p / "old.h5", "/", "x > 0").quantile("x", 0.5, method="nope")),
    ("query", "touching", lambda p: hs.query(p / "old.h5", "/", "x > 0").components(touching="nope")),
    ("index", "level", lambda p: hs.index(p / "old.h5", "/x", level="nope")),
    ("h5part", "mode", lambda p: hs.models.h5part.create(p / "new.h5", "nope")),
    ("h5part.plan", "mode", lambda p: hs.models.h5part.plan(p / "new.h5", "nope")),
    ("h5block", "mode", lambda p: hs.models.h5block.create(p / "new.h5", (2, 2, 2), "nope")),
    ("openpmd.plan", "mode", lambda p: hs.models.openpmd.plan(p / "new.h5", "nope")),
    ("write_table", "mode", lambda p: hs.write_table(EMPTY, p / "new.h5", mode="nope")),
    ("h5part", "compression", lambda p: hs.models.h5part.create(p / "new.h5", compression="nope")),
    ("h5block", "compression", lambda p: hs.models.h5block.create(p / "new.h5", (2, 2, 2), compression="nope")),
    ("openpmd", "mode", lambda p: hs.models.openpmd.create(p / "new.h5", "nope")),
    ("openpmd", "version", lambda p: hs.models.openpmd.create(p / "new.h5", version="nope")),
    ("openpmd", "encoding", lambda p: hs.models.openpmd.create(p / "new.h5", encoding="nope")),
    ("openpmd", "compression", lambda p: hs.models.openpmd.create(p / "new.h5", compression="nope")),
    ("anndata", "compression", lambda p: hs.models.anndata.write(p / "new.h5", {"_index": ["a"]}, {"_index": ["b"]}, compression="nope")),
    ("matlab", "compression", lambda p: hs.models.matlab.write(p / "new.h5", {"x": 1.0}, compression="nope")),
]


@pytest.mark.parametrize(("door", "name", "call"), DOORS, ids=[f"{door}-{name}" for door, name, _ in DOORS])
def test_another_value_is_refused_at_the_door(tmp_path: pathlib.Path, door: str, name: str, call: Door) -> None:
    with h5py.File(tmp_path / "old.h5", "w") as f:
        f["x"] = np.arange(3.0)
    before = (tmp_path / "old.h5").read_bytes()
    with pytest.raises((hs.InvalidInputError, hs.UnsupportedError), match=rf"unknown {name} ['\"]nope['\"]; expected ['\"]"):
        call(tmp_path)
    assert (tmp_path / "old.h5").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["old.h5"]


def test_datasets_and_their_arguments(tmp_path: pathlib.Path) -> None:
    """Also a dataset without values, which no filter would ever see."""
    with hs.create(tmp_path / "a.h5") as f:
        for shape in ((0,), (3,)):
            with pytest.raises(hs.UnsupportedError, match="unknown compression 'nope'; expected 'gzip', "):
                f.create_dataset("x", shape, "f8", compression="nope")
            with pytest.raises(hs.InvalidInputError, match='unknown fill_time "nope"; expected "ifset", "alloc" or "never"'):
                f.create_dataset("x", shape, "f8", fill_time="nope")


@pytest.mark.parametrize("value", [np.array(["w", "x"]), 1, True, None, "W", "w" * 1000, b"w"], ids=str)
def test_values_of_other_types_are_no_choices(value: Any) -> None:
    with pytest.raises(hs.InvalidInputError, match="^unknown mode .{1,70}; expected 'w' or 'x'$"):
        check_choice("mode", value, ("w", "x"))
    check_choice("mode", "x", ("w", "x"))
    check_choice("mode", None, (None, "x"))


#: Functions that create files, and the modes that they have.
MODES: dict[str, tuple[str, Callable[[pathlib.Path, str], object]]] = {
    "open": ("r r+ a w x", lambda p, mode: hs.open(p / "new.h5", mode)),  # type: ignore[call-overload]
    "create": ("w x", lambda p, mode: hs.create(p / "new.h5", mode)),
    "create_netcdf": ("w x", lambda p, mode: hs.create_netcdf(p / "new.h5", mode)),
    "write_table": ("w x a", lambda p, mode: hs.write_table(EMPTY, p / "new.h5", mode=mode)),
    "WritePlan": ("x w a", lambda p, mode: hs.WritePlan(p / "new.h5", mode)),
    "NetcdfPlan": ("x w a", lambda p, mode: hs.NetcdfPlan(p / "new.h5", mode)),
    "h5part": ("x w a", lambda p, mode: hs.models.h5part.create(p / "new.h5", mode)),
    "h5block": ("x w a", lambda p, mode: hs.models.h5block.create(p / "new.h5", (2, 2, 2), mode)),
    "openpmd": ("x w", lambda p, mode: hs.models.openpmd.create(p / "new.h5", mode)),
    "openpmd.plan": ("x w a", lambda p, mode: hs.models.openpmd.plan(p / "new.h5", mode)),
    "virtual": ("x w", lambda p, mode: hs.virtual([p / "old.h5"], p / "new.h5", mode, axis=0)),
    "merge": ("x w", lambda p, mode: hs.merge([p / "old.h5"], p / "new.h5", mode, axis=0)),
    "fuse": ("x w", lambda p, mode: hs.fuse(p / "old.h5", p / "new.h5", mode)),
    "recover": ("x w", lambda p, mode: hs.recover(p / "old.h5", p / "new.h5", mode)),
    "write_catalog": ("x w a", lambda p, mode: hs.write_catalog([p / "old.h5"], p / "new.h5", mode)),
}


@pytest.mark.parametrize("door", MODES)
def test_words_of_other_libraries_for_modes(tmp_path: pathlib.Path, door: str) -> None:
    modes, call = MODES[door]
    for word, mode in (("create", "x"), ("overwrite", "w"), ("append", "a")):
        hint = rf" \('{word}' is '{mode}'\)" if mode in modes.split() else ""
        with pytest.raises(hs.InvalidInputError, match=rf"^unknown mode '{word}'; expected '.*'{hint}$"):
            call(tmp_path, word)
    for mode in {"r", "r+", "a"} - set(modes.split()):
        with pytest.raises(hs.UnsupportedError, match=rf"^mode '{re.escape(mode)}' is not possible here; expected '.*'; ."):
            call(tmp_path, mode)
    assert list(tmp_path.iterdir()) == []


def test_the_error_of_a_mode_lists_the_modes(tmp_path: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError, match=r"^unknown mode 'overwrite'; expected 'x', 'w' or 'a' \('overwrite' is 'w'\)$"):
        hs.WritePlan(tmp_path / "new.h5", "overwrite")
    with pytest.raises(hs.UnsupportedError, match=r"^mode 'r\+' is not possible here; expected 'w' or 'x'; hyperslab.open\(path, 'r\+'\) changes an"):
        hs.create(tmp_path / "new.h5", "r+")
    with pytest.raises(hs.UnsupportedError, match=r"^mode 'a' is not possible here; expected 'x' or 'w'; comm= or a plan adds"):
        hs.models.openpmd.create(tmp_path / "new.h5", "a")


def test_the_format_of_a_file_is_what_open_takes(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(3.0)
    hs.convert(tmp_path / "a.h5", tmp_path / "a.arrow")
    hs.create_netcdf(tmp_path / "a.nc").close()
    hs.write_references(tmp_path / "a.h5", tmp_path / "a.json")
    for name, format, also in (("a.h5", "hdf5", ()), ("a.nc", "netcdf4", ("hdf5",)), ("a.json", "references", ()), ("a.arrow", "container", ("hdf5",))):
        assert hs.open(tmp_path / name).format == format
        for given in _native.FORMATS:
            if given in (format, *also):
                assert list(hs.open(tmp_path / name, format=given)) == list(hs.open(tmp_path / name))
            else:
                with pytest.raises(hs.InvalidInputError, match=f"this file is {format}, not {given}"):
                    hs.open(tmp_path / name, format=given)
