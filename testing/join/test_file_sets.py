"""Sets of files: what belongs to one file is never taken from the first in silence."""

from __future__ import annotations

import glob as globbing
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.base.natural_order import natural_key

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Three files of different lengths, whose names are in another order by text than by number."""
    for year in (1, 2, 10):
        with h5py.File(tmp_path / f"tas_{year}.h5", "w") as f:
            f["tas"] = np.arange(year, dtype="f4")
            f["g/y"] = np.arange(2)
            f.attrs["year"] = year
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASKED: dict[str, tuple[Callable[[hs.FileSet], Any], str]] = {
    "array": (lambda f: f["tas"], r"files\[0\]\['tas'\].*table\('tas'\)"),
    "group": (lambda f: f["/g"], r"files\[0\]\['/g'\]"),
    "attributes": (lambda f: f.attrs, r"files\[0\]\.attrs"),
    "keys": (lambda f: f.keys(), r"files\[0\]\.keys\(\)"),
    "iteration": (lambda f: list(f), r"files\[0\]\.keys\(\)"),
    "length": (lambda f: len(f), r"len\(files\[0\]\)"),
    "membership": (lambda f: "tas" in f, r"'tas' in files\[0\]"),
    "name": (lambda f: f.filename, "filenames"),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_set_says_how_to_choose_what_belongs_to_one_file(folder: pathlib.Path, what: str) -> None:
    ask, says = ASKED[what]
    for opened in (hs.open("tas_*.h5"), hs.open(["tas_1.h5", "tas_2.h5", "tas_10.h5"])):
        assert isinstance(opened, hs.FileSet)
        with pytest.raises(
            hs.InvalidInputError, match=f"3 files.* are open: .*{says}.*They are not one: .*axis=0" if what != "name" else f"3 files.* are open: .*{says}"
        ):
            ask(opened)


def test_a_set_shows_how_many_files_it_has(folder: pathlib.Path) -> None:
    opened = hs.open("tas_*.h5")
    assert repr(opened).startswith("3 files (tas_*.h5): tas_1.h5 to tas_10.h5\nthe first file has\n/\n")
    html = opened._repr_html_()
    assert "3 files (tas_*.h5)" in html and "<b>the first file</b> tas_1.h5" in html and "3, from tas_1.h5 to tas_10.h5" in html
    assert "<b>tas_1.h5</b> <span class='hs-dim'>HDF5</span>" in hs.open("tas_1.h5")._repr_html_()


def test_each_file_of_a_set_is_a_file(folder: pathlib.Path) -> None:
    opened = hs.open("tas_*.h5")
    assert opened.filenames == ["tas_1.h5", "tas_2.h5", "tas_10.h5"] == [file.filename for file in opened.files]
    assert [file["tas"].shape for file in opened.files] == [(1,), (2,), (10,)]
    assert [file.attrs["year"] for file in opened.files] == [1, 2, 10]
    assert opened.format == "hdf5" and bool(opened)
    only = hs.open("tas_1.h5")
    assert only.files == [only]
    assert opened == opened and opened != opened.files[0] and opened.files[0] != opened


def test_tables_sql_and_queries_take_all_files_of_a_set(folder: pathlib.Path) -> None:
    opened = hs.open("tas_*.h5")
    assert opened.table("/tas").count() == 13
    assert hs.sql("select count(*) from tas", opened).fetchall() == [(13,)]
    assert hs.query(opened, "/g", "y > 0").count() == 3


def test_a_folder_stands_for_its_files_and_those_below(folder: pathlib.Path) -> None:
    (folder / "old").mkdir()
    (folder / "tas_2.h5").rename(folder / "old" / "tas_3")  # found by its content
    (folder / "notes.h5").write_text("not HDF5")
    (folder / ".hidden.h5").write_bytes((folder / "tas_1.h5").read_bytes())
    opened = hs.open(folder)
    assert isinstance(opened, hs.FileSet)
    assert [os.path.relpath(name, folder) for name in opened.filenames] == ["old/tas_3", "tas_1.h5", "tas_10.h5"]
    assert opened.table("/tas").schema.names == ["dim_0", "tas"] and opened.table("/tas").count() == 13
    assert hs.sql("select count(*) from tas", ".").fetchall() == [(13,)] and hs.query("old", "/g", "y > 0").count() == 1
    assert hs.open("old/")["tas"].shape == (2,)
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no file of this folder, or of those below it, is HDF5 or netCDF"):
        hs.open("empty")


def test_a_pattern_that_matches_one_file_is_used_like_it(folder: pathlib.Path) -> None:
    opened = hs.open("tas_10*.h5")
    assert opened["tas"].shape == (10,) and opened.attrs["year"] == 10 and opened.filename == "tas_10.h5"
    assert list(opened) == ["g", "tas"] and "tas" in opened and len(opened) == 2
    assert opened.table("/tas").schema.names == ["tas_10", "dim_0", "tas"]


def test_a_variable_of_a_query_is_an_array_of_one_file(folder: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError, match="3 files match"):
        hs.query("tas_2.h5", "/", "/tas > v", variables={"v": "tas_*.h5:/tas"})


def run(*words: str, status: int = 0) -> str:
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_the_command_line_says_that_there_are_several_files(folder: pathlib.Path) -> None:
    assert run("ls", "tas_*.h5").startswith("3 files; this is the first\ntas_1.h5")
    facts = json.loads(run("ls", "--json", "tas_*.h5"))
    assert [(fact["file"], fact["shape"]) for fact in facts if fact["path"] == "/tas"] == [("tas_1.h5", [1]), ("tas_2.h5", [2]), ("tas_10.h5", [10])]
    facts = json.loads(run("info", "--json", "tas_*.h5"))
    assert (facts["files"], facts["datasets"], facts["bytes"]) == (3, 6, 13 * 4 + 3 * 16)
    assert facts["file_bytes"] == sum(path.stat().st_size for path in folder.glob("*.h5"))
    for words in (["info", "tas_*.h5", "/tas"], ["plot", "tas_*.h5", "/tas", "out.png"]):
        assert "3 files match tas_*.h5: give one, such as tas_1.h5" in run(*words, status=1)
    assert not (folder / "out.png").exists()
    assert json.loads(run("info", "--json", "tas_10*.h5", "/tas"))["shape"] == [10]


def test_a_glob_names_the_files_that_pythons_glob_finds_in_natural_order(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a.h5", "a1.h5", "a01.h5", "a2.h5", "a10.h5", "a10b.h5", "a10b2.h5", "b9999999999999999999999.h5", "b10000000000000000000000.h5", ".a3.h5"]
    names += ["1.h5", "10.h5", "9.h5", "ä2.h5", "ä10.h5", "漢1.h5", "a 1.h5", "A1.h5", "a\n1.h5", "a1.nc", "x[1].h5"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run1").mkdir()
    for name in names:
        with h5py.File(tmp_path / "run1" / name, "w") as f:
            f["x"] = 1
    for folder in ("run1/", f"{tmp_path}/run1/", "run1//", "./run1/", "run?/", ""):
        if not folder:
            monkeypatch.chdir(tmp_path / "run1")
        for pattern in ("*", "*.h5", "a*.h5", "?.h5", "a?.h5", ".a*", "*10*", "[a-b]*.h5", "a*1*.h5", "ä*", "*[[]1].h5"):
            found = globbing.glob(folder + pattern)
            expected = sorted(found, key=lambda name: (natural_key(name), name))
            assert hs.open(folder + pattern).filenames == expected if len(expected) > 1 else expected  # type: ignore[attr-defined]
    for pattern in ("none*.h5", "nowhere/*.h5"):
        with pytest.raises(hs.NotFoundError, match="no file matches"):
            hs.open(pattern)


def test_names_that_are_not_utf8_are_found_too(tmp_path: pathlib.Path) -> None:
    paths = [os.fsencode(tmp_path) + b"/\xff%d.h5" % number for number in (2, 10, 1)]
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = 1
    for path in paths:
        shutil.copy(tmp_path / "x.h5", path)
    assert len(hs.open(f"{tmp_path}/*.h5").files) == 4


def test_many_files_make_one_table_in_their_order(tmp_path: pathlib.Path) -> None:
    count = 600
    for number in range(count):
        with h5py.File(tmp_path / f"run{number}.h5", "w") as f:
            f["x"] = np.arange(number, number + 3)
    files = hs.open(f"{tmp_path}/run*.h5")
    table = files.table("/x", columns=["run", "x", "_file"]).to_arrow()
    assert table["run"].to_pylist() == [number for number in range(count) for _ in range(3)]
    assert table["x"].to_pylist() == [number + i for number in range(count) for i in range(3)]
    assert table["_file"].to_pylist()[::3] == files.filenames == [f"{tmp_path}/run{number}.h5" for number in range(count)]  # type: ignore[attr-defined]
    natives = files._natives
    assert [native.path for native in natives] == natives.paths() and natives[-1].path == natives.paths()[count - 1]
    assert natives[5:2:-1].paths() == natives.paths()[5:2:-1] and natives[:].paths() == natives.paths()
    with pytest.raises(IndexError):
        natives[count]
    with h5py.File(tmp_path / "run400.h5", "w") as f:
        f["x"] = ["text"]
    with h5py.File(tmp_path / "run500.h5", "w") as f:
        f["y"] = 1
    with pytest.raises(hs.NotFoundError, match=r"run500\.h5"):
        hs.open(f"{tmp_path}/run*.h5").table("/x")
    os.remove(tmp_path / "run500.h5")
    with pytest.raises(hs.InvalidInputError, match=r"run400\.h5.*one table"):
        hs.open(f"{tmp_path}/run*.h5").table("/x")
    (tmp_path / "run100.h5").write_bytes(b"no HDF5 file")
    with pytest.raises(hs.InvalidInputError, match=r"run100\.h5"):
        hs.open(f"{tmp_path}/run*.h5")


def test_two_stars_match_folders_of_any_depth(tmp_path: pathlib.Path) -> None:
    for place, value in (("run10.h5", 10), ("run2.h5", 2), ("a/run1.h5", 1), ("a/b/run3.h5", 3)):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(tmp_path / place, "w") as f:
            f["x"] = [value]
    (tmp_path / "a" / "folder.h5").mkdir()
    (tmp_path / ".hidden").mkdir()
    shutil.copy(tmp_path / "run2.h5", tmp_path / ".hidden" / "run2.h5")
    found = hs.open(f"{tmp_path}/**/*.h5")
    names = [os.path.relpath(path, tmp_path) for path in found.filenames]
    wanted = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.h5") if path.is_file() and ".hidden" not in path.parts]
    assert sorted(names) == sorted(wanted) and names.index("run2.h5") < names.index("run10.h5")
    assert sorted(found.table("/x").to_arrow()["x"].to_pylist()) == [1, 2, 3, 10]
    assert len(hs.open(f"{tmp_path}/**").filenames) == 4
    assert len(hs.open(f"{tmp_path}/*.h5").filenames) == 2
    with pytest.raises(hs.NotFoundError, match="no file matches"):
        hs.open(f"{tmp_path}/**/*.nc")


def test_a_file_runs_sql_over_itself(tmp_path: pathlib.Path) -> None:
    for number in range(3):
        with h5py.File(tmp_path / f"run{number}.h5", "w") as f:
            f["x"] = np.arange(4) + 10 * number
    assert hs.open(tmp_path / "run1.h5").sql("select sum(x) from x where x > ?", parameters=[10]).fetchall() == [(36,)]
    assert hs.open(f"{tmp_path}/run*.h5").sql("select count(*), max(x) from x").fetchall() == [(12, 23)]
    with pytest.raises(hs.InvalidInputError):
        hs.open(tmp_path / "run1.h5").sql("select y from x")
