"""Errors of opening and of arguments: what is wrong, where, and what to do, in one line without Rust."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import pathlib
import pickle
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping

import h5py
import hyperslab as hs
import hyperslab.base.errors
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

PROFILES = "examples/data/atlantic_profiles.nc"
RUST = re.compile(r"Some\(|Vec\b|\w+ \{ \w+:|4294967295|Can't extract|os error|::|Err\(|Ok\(")


def message(call: object, kind: type[BaseException] = hs.Error) -> str:
    with pytest.raises(kind) as caught:
        call()  # type: ignore[operator]
    text = str(caught.value)
    assert "\n" not in text and not RUST.search(text), text
    return text


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["g/x"] = np.arange(5)
        f["g/y"] = np.arange(5) * 2
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["g"].attrs["a"] = 1
    return path


def foreign_files(folder: pathlib.Path) -> dict[str, tuple[bytes, str]]:
    """The bytes of a file of another kind, and words of the error that it gets."""
    whole = (pathlib.Path(__file__).resolve().parents[2] / PROFILES).read_bytes()
    table = pa.table({"a": [1, 2]})
    pa.parquet.write_table(table, folder / "parquet")
    pa.feather.write_feather(table, folder / "arrow")
    np.save(folder / "a.npy", np.arange(3))
    np.savez(folder / "a.npz", np.arange(3))
    with zipfile.ZipFile(folder / "zip", "w") as archive:
        archive.writestr("a.nc", whole)
    with tarfile.open(folder / "tar", "w") as archive:
        archive.add(folder / "zip", "a")
    read = lambda name: (folder / name).read_bytes()  # noqa: E731
    return {
        "gzip": (gzip.compress(whole), "gzip"),
        "bzip2": (bz2.compress(whole), "bzip2"),
        "xz": (lzma.compress(whole), "xz"),
        "zstd": (pa.compress(whole, "zstd", asbytes=True), "zstd"),
        "lz4": (pa.compress(whole, "lz4", asbytes=True), "LZ4"),
        "zip": (read("zip"), "zip archive"),
        "npz": (read("a.npz"), "zip archive"),
        "tar": (read("tar"), "tar archive"),
        "parquet": (read("parquet"), "Parquet"),
        "arrow": (read("arrow"), "Arrow"),
        "npy": (read("a.npy"), "numpy.load"),
        "hdf4": (b"\x0e\x03\x13\x01" + bytes(100), "HDF4"),
        "matlab": (b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(200), "scipy.io.loadmat"),
        "grib": (b"GRIB\0\0\0\2" + bytes(60), "GRIB"),
        "fits": (b"SIMPLE  =                    T".ljust(2880), "FITS"),
        "html": (b"<!DOCTYPE html>\n<html><body>404</body></html>", "HTML page"),
        "xml": (b"<?xml version='1.0'?><a/>", "XML"),
        "json": (b'{"a": 1}', "JSON"),
        "text": ("a,b\n1,ä\n".encode() * 300, "this is text"),
        "cdl": (b"netcdf a {\n}", "ncgen"),
        "empty": (b"", "0 bytes"),
        "zeros": (bytes(5000), "zeros"),
        "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        "noise": (bytes(range(1, 256)) * 10, "no HDF5 signature"),
    }


def test_a_wrong_file_is_named_for_what_it_is(tmp_path: pathlib.Path) -> None:
    for name, (data, words) in foreign_files(tmp_path).items():
        file = tmp_path / f"wrong_{name}.nc"
        file.write_bytes(data)
        text = message(lambda: hs.open(file), hs.InvalidInputError)
        assert "not an HDF5 or netCDF file" in text and words in text and str(file) in text, (name, text)


def test_a_matlab_file_of_version_7_3_is_hdf5(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as f:
        f["x"] = [1.0]
    with open(tmp_path / "a.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    assert hs.open(tmp_path / "a.mat")["x"][0] == 1


def test_what_is_no_regular_file_does_not_block(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        cases = {tmp_path: "folder", tmp_path / "pipe": "named pipe", tmp_path / "socket": "socket", "/dev/null": "device", "/dev/zero": "device"}
        for place, words in cases.items():
            done = subprocess.run(
                [sys.executable, "-c", "import sys, hyperslab as hs\ntry: hs.open(sys.argv[1])\nexcept hs.Error as e: print(e)", place],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert words in done.stdout, (place, done)


def test_a_file_that_is_open_for_writing_is_not_called_corrupt(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(10)
        text = message(lambda: hs.open(tmp_path / "a.h5"))
        assert "open for writing" in text or "0 bytes" in text, text
        f.flush()
        assert hs.open(tmp_path / "a.h5")["x"].shape == (10,)


def test_errors_of_the_operating_system_have_its_number_and_the_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        hs.open(tmp_path / "none.h5")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "none.h5"))
    assert str(caught.value) == f"No such file or directory (file {tmp_path / 'none.h5'})"
    assert isinstance(caught.value, hs.NotFoundError)
    with pytest.raises(FileNotFoundError):
        hs.open(str(tmp_path / "*.none"))
    with pytest.raises(OSError) as found:
        hs.open(tmp_path / ("n" * 300))
    assert found.value.errno == errno.ENAMETOOLONG


def test_what_is_not_permitted_is_a_permission_error(path: pathlib.Path) -> None:
    script = """
        import os, sys, hyperslab as hs
        hs.open, hs.create  # Python's own modules may be out of reach afterwards
        if os.getuid() == 0:  # root may do everything
            os.setuid(65534)
        try:
            hs.open(sys.argv[1])
        except PermissionError as error:
            print(isinstance(error, hs.IoError), error.errno, error.filename == sys.argv[1], type(error).__name__)
        try:
            hs.create(sys.argv[1] + ".new")
        except PermissionError as error:
            print(error.errno)
    """
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        hidden = shutil.copy(path, folder)
        os.chmod(hidden, 0)
        os.chmod(folder, 0o555)
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), hidden], capture_output=True, text=True, timeout=60)
        os.chmod(folder, 0o755)
    assert done.stdout == "True 13 True AccessError\n13\n", done


def test_a_missing_folder_is_said(tmp_path: pathlib.Path) -> None:
    for make in (hs.create, hs.create_netcdf):
        with pytest.raises(FileNotFoundError) as caught:
            make(tmp_path / "nodir" / "x.h5")
        assert f"there is no folder '{tmp_path / 'nodir'}'" in str(caught.value) and caught.value.errno == errno.ENOENT


def test_remote_paths_and_urls_of_files(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for remote, why in (("file://host/a.nc", "a file of another machine"), ("hdfs://host/a.nc", "addresses of hdfs:// are not read")):
        text = message(lambda: hs.open(remote), hs.UnsupportedError)
        assert why in text and remote.rpartition("/")[0] in text
    assert hs.open(path.as_uri()).filename == str(path)
    spaced = path.rename(path.with_name("a b.h5"))
    assert hs.open(spaced.as_uri())["g/x"].shape == (5,)
    monkeypatch.setenv("HOME", str(spaced.parent))
    assert hs.open("~/a b.h5").filename == str(spaced)
    assert hs.open(os.fsencode(spaced)).filename == str(spaced)
    assert hs.open([os.fsencode(spaced), spaced]).table("/g/x").count() == 10


def test_open_takes_a_mode_that_reads_and_open_files(path: pathlib.Path) -> None:
    assert hs.open(path, "r")["g/x"].shape == hs.open(path, mode="r")["g/x"].shape == (5,)
    assert "unknown mode 'rb'" in message(lambda: hs.open(path, "rb"), hs.InvalidInputError)
    with open(path, "rb") as file:
        assert hs.open(file).filename == str(path)
        assert hs.open([file]).filename == str(path)
        content = io.BytesIO(file.read())
    content.seek(7)
    opened = hs.open(content)
    assert opened.filename == "<bytes>" and opened["g/x"][:].tolist() == hs.open(path)["g/x"][:].tolist() and content.tell() == 7
    assert opened.table("/g/x").to_arrow() == hs.open(path).table("/g/x").to_arrow()
    assert "pickle its bytes" in message(lambda: pickle.dumps(opened), TypeError)
    assert "the file is empty" in message(lambda: hs.open(io.BytesIO()), hs.InvalidInputError)
    assert "binary mode" in message(lambda: hs.open(io.StringIO("x")), TypeError)
    assert "hyperslab.open" in message(lambda: hs.File(str(path)), TypeError)  # type: ignore[arg-type]
    for mode in ("r+", "a", "r"):
        assert "hyperslab.open" in message(lambda: hs.create(path, mode), hs.UnsupportedError)


def test_assignment_to_what_was_opened_says_what_to_use(path: pathlib.Path) -> None:
    f = hs.open(path)
    changes = [
        lambda: f.__setitem__("new", 1),
        lambda: f["g/x"].__setitem__(0, 1),
        lambda: f["g"].attrs.__setitem__("a", 2),
        lambda: f.__delitem__("g"),
        lambda: f["g"].attrs.__delitem__("a"),
    ]
    for change in changes:
        for kind in (TypeError, hs.ReadOnlyError):
            assert "hyperslab.create" in message(change, kind)


def test_a_group_is_a_mapping(path: pathlib.Path) -> None:
    f = hs.open(path)
    with h5py.File(path) as theirs:
        for name in ("/", "g"):
            mine, other = f[name], theirs[name]
            assert isinstance(mine, Mapping) and list(mine) == list(mine.keys()) == sorted(other) and len(mine) == len(other)
            assert list(reversed(mine)) == sorted(other, reverse=True)
            assert [(key, value and value.name) for key, value in mine.items()] == [(key, value and value.name) for key, value in sorted(other.items())]
            assert [value and value.name for value in mine.values()] == [value and value.name for _, value in sorted(other.items())]
    assert f.get("g/x") == f["g"]["x"] and f.get("none") is None and f.get("none", 3) == 3
    assert f.keys() == ["dangling", "g"] and f.keys() & {"g"} == {"g"} and repr(f.keys()) == "Names(['dangling', 'g'])"
    assert dict(f["g"])["y"][2] == 4 and {f["g"]: 1}[f["g"]] == 1 and f["g"] == f["/g"] != f["g/x"]
    assert list(dict(f["g"].items())) == ["x", "y"] and len(repr(f.values()).splitlines()) == 1


def test_one_column_may_be_given_as_text(path: pathlib.Path) -> None:
    f = hs.open(path)
    assert f.table("/g/x", columns="x").to_arrow().equals(f.table("/g/x", columns=["x"]).to_arrow())
    assert hs.query(f, "/g", "x > 2").table("y")["y"].to_pylist() == [6, 8]
    for bad in ([("x", ">", 1)], lambda row: True, 5):
        assert "text" in message(lambda: f.table("/g/x", where=bad), hs.InvalidInputError)


BAD = {
    "negative chunks": lambda f: f.create_dataset("x", (10,), chunks=(-1,)),
    "fractions": lambda f: f.create_dataset("x", (2.5,)),
    "negative shape": lambda f: f.create_dataset("x", (-3,)),
    "maxshape": lambda f: f.create_dataset("x", (1000, 2), maxshape=(3, None)),
    "negative maxshape": lambda f: f.create_dataset("x", (1,), maxshape=(-2,)),
    "level": lambda f: f.create_dataset("x", (10,), compression="gzip", compression_opts=-1),
    "level 10": lambda f: f.create_dataset("x", (10,), compression="gzip", compression_opts=10),
    "level text": lambda f: f.create_dataset("x", (10,), compression="zstd", compression_opts="high"),
    "level zstd": lambda f: f.create_dataset("x", (10,), compression="zstd", compression_opts=99),
    "number of a filter": lambda f: f.create_dataset("x", (10,), compression=32001),
    "too large": lambda f: f.create_dataset("x", (3,), "i1").__setitem__(slice(None), 300),
    "a fraction": lambda f: f.create_dataset("x", (3,), "i1").__setitem__(slice(None), 2.5),
    "dict": lambda f: f.attrs.__setitem__("a", {"b": 1}),
    "nothing": lambda f: f.attrs.__setitem__("a", None),
    "objects": lambda f: f.__setitem__("x", np.array([1, "a", None], dtype=object)),
    "shape": lambda f: f.create_dataset("x", (3,), data=np.arange(4)),
    "resize": lambda f: f.create_dataset("x", (3,), maxshape=(None,)).resize((-2,)),
}
SAID = {
    "negative chunks": "chunks=(-1,)",
    "maxshape": "[3, unlimited]",
    "level": "gzip takes 0 to 9",
    "number of a filter": "give 32000 (lzf)",
    "too large": "value 300 does not fit int8, which holds -128 to 127",
    "dict": "attribute 'a'",
    "nothing": "hyperslab.Empty",
    "objects": "a int",
}


@pytest.mark.parametrize("case", BAD)
def test_arguments_of_writing_that_cannot_be(tmp_path: pathlib.Path, case: str) -> None:
    f = hs.create(tmp_path / "a.h5")
    try:
        text = message(lambda: BAD[case](f))
        assert SAID.get(case, "") in text, text
    finally:
        f.abort()


def test_tasks_that_contradict_each_other_are_said_without_rust(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "a.h5")
    fragments = []
    for number, dtype in enumerate(("i4", "f8")):
        with plan.task(number) as task:
            task.create_dataset("x", (4,), dtype, region=np.s_[2 * number : 2 * number + 2])
            if number == 0:
                text = message(lambda: task.dataset("x").__setitem__(slice(1, 3), 1))
                assert "[1:3] is outside of this task's region [0:2]" in text
            fragments.append(task.finish())
    text = message(lambda: plan.commit(fragments), hs.ConflictError)
    assert "datatypes int32 and float64" in text
    plan.abort()
    plan = hs.WritePlan(tmp_path / "b.h5")
    with plan.task(0) as a, plan.task(1) as b:
        a.create_group("x")
        b.create_dataset("x", data=[1])
        text = message(lambda: plan.commit([a.finish(), b.finish()]), hs.ConflictError)
    assert "defined a group, task 1 a dataset" in text
    plan.abort()


def test_the_class_of_an_error_gives_its_kind() -> None:
    classes, pending = set(), [hs.Error]
    while pending:
        classes.add(pending[-1])
        pending += pending.pop().__subclasses__()
    assert len(classes) > 14 and {known.kind for known in classes} == set(hs.ErrorKind)
    for known in classes:
        error = known("wrong", "a.h5", "/x", 8)
        assert str(error) == "wrong (file a.h5, object /x, offset 8)" and f"{error.kind}" == error.kind.value
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.kind, str(again), again.offset) == (known, known.kind, str(error), 8)
    # What the core reports is of the class with that kind.
    for kind in hs.ErrorKind:
        assert hyperslab.base.errors.from_native(kind.value, "wrong", None, None, None).kind is kind
    assert hs.NotFoundError("nothing there").kind == "NotFound"


def test_a_missing_path_says_what_may_have_been_meant(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "profiles.h5", "w") as f:
        f["a/b"] = 1
    for name, inner in (("profiles.h5/a/b", "/a/b"), ("profiles.h5:/a/b", "/a/b"), ("profiles.h5:a", "/a")):
        with pytest.raises(FileNotFoundError, match=f"profiles.h5 is a file: give the path of an object apart from it, as .*\\['{inner}'\\]"):
            hs.open(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="No such file or directory; nearest: .*/profiles.h5") as raised:
        hs.open(tmp_path / "profile.h5")
    assert raised.value.filename == str(tmp_path / "profile.h5")
    for name in ("elsewhere.nc", "nofolder/profiles.h5"):
        with pytest.raises(FileNotFoundError, match=r"^No such file or directory \(file "):
            hs.open(tmp_path / name)


def test_names_of_other_libraries_say_what_to_write(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(3.0)
    opened = hs.open(tmp_path / "a.h5")
    for owner, name, says in (
        (opened["x"], "values", r"d\[\.\.\.\] reads all values"),
        (opened["x"], "median", r"numpy\.median\(d\[\.\.\.\]\)"),
        (opened["x"], "sel", "engine='hyperslab'"),
        (opened, "variables", "index it by name"),
        (opened, "nothing", "^'File' object has no attribute 'nothing'$"),
    ):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError, match=says):
            getattr(owner, name)
    with pytest.raises(hs.InvalidInputError, match=r"unknown mode 'w\+'; expected 'r', 'r\+', 'a', 'w' or 'x'"):
        hs.open(tmp_path / "a.h5", "w+")
