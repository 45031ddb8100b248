"""Bad input under xarray, Dask, process pools and mini-batches: one error of ours, nothing hung, nothing wrong.

What may hang runs in a process of its own, which has to end in time."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.xarray.engine as xarray_engine
import numpy as np
import pytest
import xarray as xr

ENGINE = xarray_engine.HyperslabBackendEntrypoint
#: Seconds that a process may take to end; one that hangs takes forever.
PATIENCE = 60


def made(path: pathlib.Path, seed: int, rows: int = 4000) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.random.default_rng(seed).random((rows, 50)), chunks=(min(rows, 100), 50), compression="gzip")
    return path


def ended(script: str, *words: str) -> str:
    """What a script prints; it has to end in time and without an error."""
    program = "import os, signal, sys, time\nimport hyperslab as hs\nimport numpy as np\n" + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


#: How a file is opened, and how it is read then.
READERS: dict[str, tuple[Callable[[pathlib.Path], Any], Callable[[Any], Any]]] = {
    "xarray": (lambda path: xr.open_dataset(path, engine=ENGINE, cache=False), lambda opened: opened["x"].values),
    "xarray, fused": (lambda path: xr.open_dataset(path, engine=ENGINE, cache=False, fused_decoding=True), lambda opened: opened["x"].values),
    "xarray over Dask": (lambda path: xr.open_dataset(path, engine=ENGINE, chunks={}), lambda opened: opened["x"].mean().compute()),
    "many files": (lambda path: hs.open_mfdataset([path], concat_dim="phony_dim_0"), lambda opened: opened["x"].values),
    "a pickle": (lambda path: pickle.dumps(xr.open_dataset(path, engine=ENGINE)), lambda pickled: pickle.loads(pickled)["x"].values),
    "Dask's array": (lambda path: hs.open(path)["x"].to_dask(), lambda array: array.sum().compute(scheduler="threads")),
    "batches": (lambda path: hs.batches(hs.open(path)["x"], 64, order="block"), list),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("other_rows", [4000, 10])
def test_a_file_that_is_rewritten_in_place(tmp_path: pathlib.Path, reader: str, other_rows: int) -> None:
    """What was opened is another file now. Only xarray's engine looks before each read; others notice when a chunk is damaged."""
    path, other = made(tmp_path / "x.h5", 1), made(tmp_path / "other.h5", 2, other_rows)
    os.utime(path, ns=(10**18, 10**18))
    opens, reads = READERS[reader]
    opened = opens(path)
    path.write_bytes(other.read_bytes())
    looks_first = reader not in ("Dask's array", "batches")
    with pytest.raises(hs.ConflictError if looks_first else (hs.ConflictError, hs.CorruptError)) as caught:
        reads(opened)
    assert "x.h5" in str(caught.value)


@pytest.mark.parametrize("order", ["sequential", "exact"])
def test_shapes_that_change_between_files(tmp_path: pathlib.Path, order: str) -> None:
    paths = [made(tmp_path / f"f{number}.h5", number) for number in range(3)]
    with h5py.File(paths[2], "w") as f:
        f["x"] = np.zeros((4000, 49))
    with pytest.raises(hs.ConflictError, match=r"/x has the shape \(4000, 49\)"):
        hs.open_mfdataset(paths, concat_dim="phony_dim_0")
    with pytest.raises(hs.Error, match="49"):
        hs.batches([f["x"] for f in hs.open(paths).files], 10, order=order)


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_a_chunk_cache_that_holds_no_chunk(tmp_path: pathlib.Path, size: int) -> None:
    """Slower, with the same values."""
    path = made(tmp_path / "x.h5", 5)
    with h5py.File(path) as f:
        values = f["x"][...]
    opened = xr.open_dataset(path, engine=ENGINE, chunk_cache_bytes=size, cache=False)["x"]
    np.testing.assert_array_equal(opened.values, values)
    rows = np.random.default_rng(1).integers(0, 4000, 50)
    np.testing.assert_array_equal(opened[rows].values, values[rows])
    points = {opened.dims[0]: xr.DataArray(rows, dims="p"), opened.dims[1]: xr.DataArray(rows % 50, dims="p")}
    np.testing.assert_array_equal(opened.isel(points).values, values[rows, rows % 50])
    f = hs.open(path, chunk_cache_bytes=size)
    assert [float(f["x"][row, 3]) for row in rows[:9]] == values[rows[:9], 3].tolist()
    with pytest.raises(hs.InvalidInputError, match="negative"):
        hs.open(path, chunk_cache_bytes=-1)


class Failing(io.RawIOBase):
    """A store's file object that breaks after some bytes."""

    def __init__(self, content: bytes, good: int, error: Exception) -> None:
        self._content, self._good, self._error, self._place = content, good, error, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset if whence == 0 else len(self._content) + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._place >= self._good:
            raise self._error
        part = self._content[self._place : min(self._place + len(buffer), self._good)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)


@pytest.mark.parametrize("error", [ConnectionResetError("reset by peer"), TimeoutError("too late"), RuntimeError("the store's own")])
@pytest.mark.parametrize("good", [0, 5000, 100_000])
def test_a_file_object_that_fails_while_it_is_read(tmp_path: pathlib.Path, error: Exception, good: int) -> None:
    content = made(tmp_path / "x.h5", 3).read_bytes()
    assert len(content) > 200_000
    for opened in (hs.open, lambda source: xr.open_dataset(source, engine=ENGINE)):
        with pytest.raises(hs.IoError, match=f"Failing.*{error}") as caught:
            opened(Failing(content, good, error))
        assert caught.value.__cause__ is error and isinstance(caught.value, OSError)


def test_a_file_object_that_ends_early_is_corrupt(tmp_path: pathlib.Path) -> None:
    content = made(tmp_path / "x.h5", 3).read_bytes()
    for length in (100, len(content) // 2):
        with pytest.raises(hs.Error) as caught:
            xr.open_dataset(io.BytesIO(content[:length]), engine=ENGINE)["x"].load()
        assert isinstance(caught.value, (hs.CorruptError, hs.InvalidInputError))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_worker_of_a_pool_that_is_killed(tmp_path: pathlib.Path, method: str) -> None:
    """The pool says so, and the file is readable afterwards, in this process and in another pool."""
    script = f"""
        import multiprocessing, pickle
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        if __name__ == "__main__":
            f = hs.open(sys.argv[1])
            x = f["x"]
            whole = float(x[...].sum())
            context = multiprocessing.get_context({method!r})
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                assert pool.submit(x.__getitem__, slice(0, 10)).result().shape == (10, 50)
                for process in list(pool._processes.values()):
                    os.kill(process.pid, signal.SIGKILL)
                try:
                    for start in range(0, 4000, 100):
                        pool.submit(x.__getitem__, slice(start, start + 100)).result()
                    print("nothing noticed")
                except BrokenProcessPool:
                    print("broken")
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                parts = [pool.submit(x.__getitem__, slice(start, start + 1000)) for start in range(0, 4000, 1000)]
                print(abs(sum(part.result().sum() for part in parts) - whole) < 1e-6, float(x[...].sum()) == whole)
    """
    assert ended(script, str(made(tmp_path / "x.h5", 1))) == "broken\nTrue True\n"


def test_a_worker_of_dask_that_is_killed(tmp_path: pathlib.Path) -> None:
    script = """
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        import dask, multiprocessing
        import xarray as xr
        from hyperslab.xarray.engine import HyperslabBackendEntrypoint

        def fatal(block, block_info=None):
            if block_info and block_info[0]["chunk-location"][0] == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return block

        if __name__ == "__main__":
            opened = xr.open_dataset(sys.argv[1], engine=HyperslabBackendEntrypoint, chunks={})["x"].data
            array = hs.open(sys.argv[1])["x"].to_dask(chunks=(400, 50))
            for lazy in (opened, array):
                context = multiprocessing.get_context("fork")
                try:
                    with ProcessPoolExecutor(2, mp_context=context) as pool:
                        assert lazy.numblocks[0] > 3
                        lazy.map_blocks(fatal, meta=np.empty((0, 0))).sum().compute(scheduler="processes", pool=pool)
                except BrokenProcessPool:
                    print("broken")
                with ProcessPoolExecutor(2, mp_context=context) as pool:
                    print(float(lazy.sum().compute(scheduler="processes", pool=pool)) > 0)
    """
    assert ended(script, str(made(tmp_path / "x.h5", 1))) == "broken\nTrue\n" * 2


@pytest.mark.slow
def test_errors_of_workers_are_ours(tmp_path: pathlib.Path) -> None:
    """A damaged chunk in another process: the error arrives with its class, file and object."""
    path = made(tmp_path / "x.h5", 1)
    with h5py.File(path) as f:
        place = f["x"].id.get_chunk_info(5)
    with open(path, "r+b") as file:
        file.seek(place.byte_offset + 20)
        file.write(bytes(100))
    script = """
        import xarray as xr
        from hyperslab.xarray.engine import HyperslabBackendEntrypoint
        if __name__ == "__main__":
            opened = xr.open_dataset(sys.argv[1], engine=HyperslabBackendEntrypoint, chunks={})["x"].data
            for lazy in (opened, hs.open(sys.argv[1])["x"].to_dask()):
                for scheduler in ("threads", "processes"):
                    try:
                        lazy.sum().compute(scheduler=scheduler)
                    except hs.CorruptError as error:
                        print(error.file == sys.argv[1], error.object)
    """
    assert ended(script, str(path)) == "True /x\n" * 4
