"""What becomes of one file, found out in a child process: a crash or a hang is a result, not the end."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import compare
import h5py  # before netCDF4, which points HDF5 at the filters of its own library
import hdf5plugin  # noqa: F401
import hyperslab as hs
import netcdf
import netCDF4
from compare import Result

FORKING = threading.Lock()
ORDER = ["unreadable", "equal", "refused", "error", "different", "hang", "crash"]


@dataclasses.dataclass
class Answer:
    """One file as one reference sees it: the worst outcome of its objects, or that the reference cannot open it."""

    outcome: str
    results: list[Result]


def against_h5py(path: str) -> Iterator[Result]:
    try:
        h5py.File(path, "r").close()
    except Exception as error:
        yield Result("/", "unopened", f"h5py: {error}"[:160])
        return
    yield from compare.compare(path)


def against_netcdf4(path: str) -> Iterator[Result]:
    try:
        netCDF4.Dataset(path).close()
    except Exception as error:
        yield Result("/", "unopened", f"netCDF4: {error}"[:160])
        return
    yield from netcdf.compare(path)


def alone(path: str) -> Iterator[Result]:
    """Reads everything with ours only: any error is fine here, a crash or a hang is not."""
    for view in ("hdf5", None):
        try:
            pending: list[Any] = [hs.open(path, format=view, missing_sources="fill")]
        except hs.Error:
            continue
        while pending:
            here = pending.pop()
            with contextlib.suppress(hs.Error, KeyError):
                for name in here.attrs:
                    with contextlib.suppress(hs.Error):
                        here.attrs[name]
            if isinstance(here, hs.Dataset):
                with contextlib.suppress(hs.Error, MemoryError):
                    here[()]
            elif isinstance(here, hs.Group):
                for name in here:
                    with contextlib.suppress(hs.Error, KeyError):
                        pending.append(here[name])
    yield Result("/", "equal")


def is_netcdf4(path: str) -> bool:
    """Whether we would show the file as netCDF-4; a crash here is found by `alone`."""
    try:
        return hs.open(path).format == "netcdf4"
    except hs.Error:
        return False


def netcdf4_file(path: str) -> Iterator[Result]:
    if is_netcdf4(path):
        yield from against_netcdf4(path)


def child(work: Callable[[str], Iterable[Result]], path: str, pipe: Any) -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        found = list(work(path))
    except Exception as error:
        found = [Result("/", "error", f"the comparison: {type(error).__name__}: {error}"[:300])]
    pipe.send(found)
    pipe.close()
    os._exit(0)


def in_child(work: Callable[[str], Iterable[Result]], path: str, timeout_seconds: float) -> list[Result]:
    """What `work` yields, or one result `crash` or `hang`."""
    forking = multiprocessing.get_context("fork")
    with FORKING:  # no other child may inherit the sending end: its closing tells of a crash
        receiving, sending = forking.Pipe(duplex=False)
        process = forking.Process(target=child, args=(work, path, sending), daemon=True)
        process.start()
        sending.close()
    end = monotonic() + timeout_seconds
    try:
        if not receiving.poll(max(0.0, end - monotonic())):
            return [Result("/", "hang", f"{work.__name__}: no answer in {timeout_seconds:.0f} s")]
        return list(receiving.recv())
    except EOFError:
        process.join()
        return [Result("/", "crash", f"{work.__name__}: exit code {process.exitcode}")]
    finally:
        process.kill()
        process.join()
        receiving.close()


def worst(results: list[Result]) -> str:
    outcomes = [result.outcome for result in results]
    if "unopened" in outcomes:
        return "unopened"
    return max((o for o in outcomes if o in ORDER[1:]), key=ORDER.index, default="equal")


def judge(path: str, kind: str, timeout_seconds: float) -> Answer:
    """Compares with each reference that knows the file; a crash or hang that ours alone does not have is the reference's."""
    works = [against_h5py, netcdf4_file] if kind == "hdf5" else [against_netcdf4]
    results: list[Result] = []
    for work in works:
        found = in_child(work, path, timeout_seconds)
        if worst(found) in ("crash", "hang"):
            ours = in_child(alone, path, timeout_seconds)
            found = [Result("/", "unopened", f"not by us: {found[0].detail}")] if worst(ours) == "equal" else ours
        elif worst(found) == "unopened":
            ours = in_child(alone, path, timeout_seconds)
            if worst(ours) != "equal":
                found = ours
        for result in found:
            if work is netcdf4_file:
                result.path = f"netCDF:{result.path}"
        results += found
    opened = [r for r in results if r.outcome != "unopened"]
    return Answer(worst(opened) if opened else "unopened", results)
