"""Python objects: pickle, copies, comparisons, and files that are closed."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import threading
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow.dataset as ds
import pytest

VALUES = np.arange(40_000, dtype="f4").reshape(400, 100)


def write(path: pathlib.Path, values: np.ndarray[Any, Any] = VALUES) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        x = f.create_dataset("group/x", data=values, chunks=(64, 100), compression="gzip")
        x.attrs["unit"] = "m"
        f["group/y"] = values[:, 0]
        f["name"] = "text"
        f["type"] = np.dtype("f8")
        f["reference"] = np.array([x.ref], h5py.ref_dtype)
        f["link"] = h5py.ExternalLink("other.h5", "/values")
    with h5py.File(path.parent / "other.h5", "w") as f:
        f["values"] = np.arange(10_000)
    return path


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return write(tmp_path / "a.h5")


def again(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def in_another_process(thing: Any, expression: str, folder: pathlib.Path | None = None) -> str:
    """What `expression` about the unpickled `it` prints in a new process."""
    script = f"import pickle, sys\nit = pickle.load(sys.stdin.buffer)\nprint(({expression}))"
    run = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(thing), capture_output=True, cwd=folder, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode().strip()


def objects(f: hs.File) -> dict[str, Any]:
    return {
        "file": f,
        "group": f["group"],
        "dataset": f["group/x"],
        "datatype": f["type"],
        "linked": f["link"],
        "attributes": f["group/x"].attrs,
        "reference": f["reference"][0],
        "table": f.table("/group/x", where="x > 3 and x in ids", variables={"ids": [5, 7.5, 9]}, columns=["x"], limit=7),
        "expression": f.table("/group/x", where=ds.field("x") > 3),
        "query": hs.query(f, "/group", "x > 3").where("x in ids", variables={"ids": [5, 9]}),
    }


@pytest.mark.parametrize("how", [again, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_copies_are_equal_and_share_the_open_file(path: pathlib.Path, how: Any) -> None:
    f = hs.open(path)
    for name, thing in objects(f).items():
        found = how(thing)
        assert type(found) is type(thing), name
        if name != "attributes":
            assert found == thing and hash(found) == hash(thing), name
    assert how(f)["group/x"] == f["group/x"]
    np.testing.assert_array_equal(how(f["group/x"])[3:70], VALUES[3:70])
    assert how(f["group/x"]).attrs["unit"] == "m" and how(f["link"])[3] == 3
    assert how(objects(f)["table"]).to_arrow() == objects(f)["table"].to_arrow()
    assert how(objects(f)["expression"]).count() == objects(f)["expression"].count() == 40_000 - 4
    assert how(objects(f)["query"]).count() == objects(f)["query"].count() == 2


def test_objects_of_other_openings_and_other_requests_differ(path: pathlib.Path) -> None:
    f, g = hs.open(path), hs.open(path)
    assert f != g and f["group/x"] != g["group/x"] and f["group/x"] != f["group/y"]
    assert f.table("/group/x") == f.table("/group/x") != g.table("/group/x")
    different = [
        f.table("/group/x"),
        f.table("/group/y"),
        f.table("/group/x", "x > 1"),
        f.table("/group/x", "x > 1", limit=3),
        f.table("/group/x", "x in a", variables={"a": [1]}),
        f.table("/group/x", "x in a", variables={"a": [2]}),
        f.table("/group/x", ds.field("x") > 1),
        f.table("/group/x", ds.field("x") > 2),
    ]
    assert len(set(different)) == len(different)
    queries = [
        hs.query(f, "/group", "x > 1"),
        hs.query(f, "/group", "x > 2"),
        hs.query(f, "/group", "x > 1").step(0),
        hs.query(f, "/group", "x > 1").where("x < 9"),
    ]
    assert len(set(queries)) == len(queries) and queries[0] == hs.query(f, "/group", "x > 1") and queries[3].text == "(x > 1) and (x < 9)"


def test_a_set_of_files_and_its_table_pickle(tmp_path: pathlib.Path) -> None:
    for i in range(3):
        write(tmp_path / f"run{i}.h5", VALUES + i)
    f = hs.open(str(tmp_path / "run*.h5"))
    assert isinstance(again(f), hs.FileSet) and again(f) == f and again(f).filenames == f.filenames
    table = f.table("/group/x", "x == 5", columns=["x", "_file"])
    assert again(table).to_arrow() == table.to_arrow()
    assert in_another_process(table, "it.count()") == "3"
    assert in_another_process(f, "len(it.files), it.filenames[2][-7:]") == "(3, 'run2.h5')"


def test_options_go_along(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "a.h5")
    with h5py.File(tmp_path / "virtual.h5", "w") as f:
        layout = h5py.VirtualLayout((10,), "f4")
        layout[:] = h5py.VirtualSource("missing.h5", "x", (10,))
        f.create_virtual_dataset("v", layout, fillvalue=7)
    f = hs.open(tmp_path / "virtual.h5", missing_sources="fill", threads=3, paths="anywhere", limits={"chunk_bytes": 1 << 20}, index_folder=tmp_path)
    assert in_another_process(f["v"], "it[:].tolist()") == str([7.0] * 10)
    arguments = (3, None, "anywhere", "fill", (("chunk_bytes", 1 << 20),), str(tmp_path), None, None, ())
    assert in_another_process(f, "it._file.origin()[1]") == str(arguments)
    small = hs.open(path, limits={"chunk_bytes": 100})["group/x"]
    with pytest.raises(AssertionError, match="LimitExceededError"):
        in_another_process(small, "it[0]")


def test_a_relative_path_is_of_the_folder_of_the_process_that_pickled_it(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    monkeypatch.chdir(path.parent)
    f = hs.open("a.h5")
    assert again(f).filename == "a.h5" and in_another_process(f, "it.filename", path.parent) == "a.h5"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere / "a.h5", VALUES * 2)
    assert in_another_process(f, "it.filename, it['group/y'][1]", elsewhere) == f"({str(path)!r}, {np.float32(100)!r})"


@pytest.mark.parametrize("kib", [1, 100])
@pytest.mark.parametrize("change", ["longer", "touched", "replaced", "removed"])
def test_a_file_that_has_changed_is_a_conflict(tmp_path: pathlib.Path, kib: int, change: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(kib * 128)
    f = hs.open(path)
    pickles = [pickle.dumps(thing) for thing in (f, f["x"], f.table("/x"), hs.query(f, "/", "x > 1"))]
    if change == "longer":
        with path.open("ab") as out:
            out.write(b"more")
    elif change == "touched":
        stamp = path.stat()
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    elif change == "removed":
        path.unlink()
    else:
        with h5py.File(tmp_path / "b.h5", "w") as out:
            out["x"] = np.arange(kib * 128) + 1
        os.replace(tmp_path / "b.h5", path)
    for pickled in pickles:
        with pytest.raises(hs.NotFoundError if change == "removed" else hs.ConflictError, match="a.h5"):
            pickle.loads(pickled)


def test_what_is_unpickled_shares_one_opening(path: pathlib.Path) -> None:
    pickled = pickle.dumps(hs.open(path)["group/x"]), pickle.dumps(hs.open(path))
    gc.collect()
    x, f = map(pickle.loads, pickled)
    assert f["group/x"] == x and f == pickle.loads(pickled[1])
    f.close()
    assert not x and pickle.loads(pickled[0])[0, 1] == 1, "a closed file is opened again"


def test_a_pickle_of_a_temporary_is_equal_as_long_as_its_file_is_in_use(path: pathlib.Path) -> None:
    """Nothing but `f` lives when a pickle is loaded."""
    f = hs.open(path)
    pickles = [pickle.dumps(found) for found in (f["group/x"], f["group"]["x"], f["group"], f["type"], f[f["reference"][0]])]
    pickles += [pickle.dumps(found) for found in (f["reference"][0], f.table("/group/x"), hs.query(f, "/group", "x > 3"), f)]
    gc.collect()
    wanted = [f["group/x"], f["group/x"], f["group"], f["type"], f["group/x"], f["reference"][0], f.table("/group/x"), hs.query(f, "/group", "x > 3"), f]
    for pickled, thing in zip(pickles, wanted):
        assert pickle.loads(pickled) == thing
    x = f["group/x"]
    del f, wanted, thing
    gc.collect()
    assert pickle.loads(pickle.dumps(x.parent["x"])) == x, "an object of the file is a use of it"
    opened_again = pickle.loads(pickles[0]).file
    x = None
    gc.collect()
    assert pickle.loads(pickles[0]) == opened_again["group/x"], "and so is what came out of a pickle"
    os.utime(path, ns=(0, 0))
    with pytest.raises(hs.ConflictError):
        pickle.loads(pickles[0])


def test_arrays_in_memory_do_not_pickle() -> None:
    with pytest.raises(hs.UnsupportedError, match="memory of this process"):
        pickle.dumps(hs.query({"x": np.arange(5)}, "/", "x > 1"))


class Rows:
    """A dataset as PyTorch has them: an object with `len` and `[]`, which each worker process gets by pickle."""

    def __init__(self, path: pathlib.Path) -> None:
        self.x = hs.open(path)["group/x"]

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> np.ndarray[Any, Any]:
        return np.asarray(self.x[i])


def load(rows: Rows, wanted: list[int]) -> np.ndarray[Any, Any]:
    return np.stack([rows[i] for i in wanted])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_load_rows_of_a_pickled_dataset(path: pathlib.Path, method: str) -> None:
    rows = Rows(path)
    batches = [list(range(start, start + 50)) for start in range(0, 400, 50)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap_async(load, [(rows, batch) for batch in batches]).get(100)
    np.testing.assert_array_equal(np.concatenate(found), VALUES)


# Closing


def descriptors(folder: pathlib.Path) -> list[str]:
    """Files of a folder that this process has open."""
    opened = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if target.startswith(str(folder)):
            opened.append(os.path.basename(target))
    return sorted(opened)


def test_close_closes_the_descriptors_at_once(path: pathlib.Path) -> None:
    f = hs.open(path)
    x, table, query, linked = f["group/x"], f.table("/group/x"), hs.query(f, "/group", "x > 3"), f["link"]
    read = x[:2], table.to_arrow(), linked[3]
    assert descriptors(path.parent) == ["a.h5", "other.h5"]
    f.close()
    assert descriptors(path.parent) == []
    np.testing.assert_array_equal(read[0], VALUES[:2])
    assert read[1].num_rows == 40_000 and x.shape == (400, 100) and table.schema.names == read[1].schema.names
    assert query.text == "x > 3"


def uses(f: hs.File, values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """What needs an open file."""
    x, name, group, table, query = f["group/x"], f["name"], f["group"], f.table("/group/x", "x > 3"), hs.query(f, "/group", "x > 3")
    x[0], name[()], table.count(), x.attrs["unit"], list(group)  # what may be kept in memory
    whole, expression, reference = f.table("/group/x"), f.table("/group/x", ds.field("x") > 3), f["reference"][0]
    return {
        "element": lambda: x[0, 0],
        "all": lambda: x[...],
        "direct": lambda: x.read_direct(np.empty(values.shape, "f4")),
        "mask": lambda: x[values > 7],
        "list": lambda: x[[0, 1]],
        "scalar": lambda: name[()],
        "array": lambda: np.asarray(x),
        "attribute": lambda: x.attrs["unit"],
        "attributes": lambda: list(x.attrs),
        "names": lambda: list(group),
        "length": lambda: len(group),
        "contains": lambda: "x" in group,
        "root": lambda: f["/"],
        "member": lambda: f["group"],
        "get": lambda: f.get("group"),
        "path": lambda: group["x"],
        "dims": lambda: x.dims,
        "stored bytes": lambda: x.stored_bytes,
        "reference": lambda: f[reference],
        "new table": lambda: f.table("/group/x"),
        "new query": lambda: hs.query(f, "/group", "x > 4"),
        "sql": lambda: hs.sql("select count(*) from x", f),
        "rows": table.to_arrow,
        "count": table.count,
        "count of all": whole.count,
        "minmax": lambda: whole.minmax("x"),
        "head": table.head,
        "splits": lambda: whole.splits(2),
        "stream": lambda: whole.dataset().to_table(),
        "expression": expression.count,
        "query": query.count,
        "positions": query.positions,
        "refine": lambda: query.where("x < 9").count(),
        "pickle": lambda: pickle.dumps(x),
        "pickled table": lambda: pickle.dumps(table),
    }


@pytest.mark.parametrize("size", ["large", "small"])
def test_what_is_closed_says_so(tmp_path: pathlib.Path, size: str) -> None:
    """A small file has no descriptor: all of it is in memory."""
    path = tmp_path / "a.h5"
    values = VALUES if size == "large" else VALUES[:2]
    with h5py.File(path, "w") as f:
        f["group/x"] = values
        f["group/x"].attrs["unit"] = "m"
        f["name"] = "text"
        f["reference"] = np.array([f["group/x"].ref], h5py.ref_dtype)
    assert (path.stat().st_size < 16 << 10) == (size == "small")
    f = hs.open(path)
    cases = uses(f, values)
    f.close()
    for name, use in cases.items():
        with pytest.raises(hs.InvalidInputError, match="the file is closed") as caught:
            use()
            pytest.fail(f"{name} works on a closed file")
        assert isinstance(caught.value, ValueError), name


def test_closed_and_truth(path: pathlib.Path) -> None:
    f = hs.open(path)
    x, empty = f["group/x"], f["group"]
    assert f and x and empty and not f.closed
    with f as same:
        assert same is f
    assert f.closed and not f and not x and not empty
    f.close()
    assert repr(f) == f"<closed File {path}>" and repr(x) == "<closed dataset /group/x>" and repr(empty) == "<closed group /group>"
    assert f._repr_html_() == f"&lt;closed File {path}&gt;" and x == x and hash(x) and f.filename == str(path)
    with hs.open(path) as f:
        assert f["group/x"][0, 1] == 1, "other openings do not notice"
    with h5py.File(path, "a") as f:
        f.create_group("empty")
    assert hs.open(path)["empty"], "h5py: an object is true as long as its file is open, even without members"


def test_a_set_of_files_closes_all(tmp_path: pathlib.Path) -> None:
    for i in range(3):
        write(tmp_path / f"run{i}.h5")
    with hs.open(str(tmp_path / "run*.h5")) as f:
        assert len(descriptors(tmp_path)) == 3
        f.files[0].close()
        assert f and not f.closed and descriptors(tmp_path) == ["run1.h5", "run2.h5"]
    assert f.closed and not f and repr(f).startswith("<closed FileSet of 3 files") and descriptors(tmp_path) == []
    with pytest.raises(hs.InvalidInputError, match="the file is closed"):
        f.table("/group/x")


def test_an_object_keeps_a_file_open_that_nobody_closed(path: pathlib.Path) -> None:
    x = hs.open(path)["group/x"]
    gc.collect()
    assert x and x[0, 1] == 1 and descriptors(path.parent) == ["a.h5"]
    del x
    gc.collect()
    assert descriptors(path.parent) == []


def test_closing_while_other_threads_read(path: pathlib.Path) -> None:
    """A read ends with the right values or says that the file is closed; then nothing is open."""
    for _ in range(30):
        f = hs.open(path)
        x, wrong, started = f["group/x"], [], threading.Barrier(4)

        def work(seed: int, x: Any = x, wrong: list[Any] = wrong, started: threading.Barrier = started) -> None:
            rng = np.random.default_rng(seed)
            started.wait(20)
            try:
                while True:
                    i = int(rng.integers(0, 390))
                    if not np.array_equal(x[i : i + 9], VALUES[i : i + 9]):
                        wrong.append(i)
            except hs.InvalidInputError as error:
                if "the file is closed" not in str(error):
                    wrong.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        started.wait(20)
        f.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert not wrong and descriptors(path.parent) == []


def test_a_scan_ends_when_its_file_is_closed(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(20_000_000, dtype="i4")
    f = hs.open(tmp_path / "a.h5", threads=2)
    batches = f.table("/x", batch_rows=100).batches()
    first = next(iter(batches))
    f.close()
    rows = 100
    with pytest.raises(hs.InvalidInputError, match="the file is closed"):
        for batch in batches:  # what was read ahead
            assert batch["x"][0].as_py() == rows
            rows += batch.num_rows
    assert first.num_rows == 100 and first["x"][5].as_py() == 5
    gc.collect()
    assert descriptors(tmp_path) == []


def test_room_between_fields_has_no_old_bytes(tmp_path: pathlib.Path) -> None:
    """numpy keeps small blocks that were freed, and hands them out as they are."""
    gaps = {"names": ["a", "s"], "formats": ["u1", h5py.string_dtype("ascii", 3)], "offsets": [0, 8], "itemsize": 16}
    wide = np.dtype({"names": ["a", "s"], "formats": ["i4", "S3"], "offsets": [0, 16], "itemsize": 32})
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = np.zeros(20, np.dtype(gaps))
        f.attrs["x"] = np.zeros(20, np.dtype(gaps))
    with hs.open(tmp_path / "x.h5") as f:
        for read in (lambda: f["x"][...], lambda: f["x"][2:17], lambda: f.attrs["x"], lambda: f["x"].astype(wide)[...]):
            for _ in range(3):
                kept = [np.full(nbytes, 0xAB, np.uint8) for nbytes in range(200, 1024)]
                del kept
                found = read()
                assert not any(np.ascontiguousarray(found).tobytes()), found.dtype
