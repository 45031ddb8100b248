"""Runner: measures the cases until time is up, keeps what was measured, and writes tables and pictures."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from ... import _native
from ...base.errors import InvalidInputError, IoError
from ...base.type_aliases import Path
from ...sources.storage import storage_layout
from ..places import replace_file, workplace
from .cases import ROW_BYTES, Case, cases
from .libraries import missing
from .pictures import draw
from .report import About, Result, stored_bytes, write_report


@dataclass(frozen=True)
class Study:
    """What was measured.

    Attributes:
        folder: The folder with `study.json`, `study.md` and the pictures.
        results: The cases with seconds of writing and of reading, one for each repetition.
        missing: Libraries, and experiments, that were not measured, with the reason.
        wanted: Number of measurements of the whole study.
    """

    folder: str
    results: list[Result]
    missing: dict[str, str]
    wanted: int

    @property
    def measured(self) -> int:
        """Number of measurements, in this run and in earlier ones."""
        return sum(len(result.written) for result in self.results)


def run_study(
    folder: Path,
    out: Path,
    *,
    minutes: float = 30.0,
    size_bytes: int = 64 << 20,
    clients: int = 4,
    repeats: int = 3,
    fresh: bool = False,
    pictures: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Study:
    """Repeats the experiments of the 2015 study of HDF5 and netCDF-4 on Lustre, and the sweeps of the paper on subfiling.

    Files of `size_bytes` are written, read and removed in a hidden folder inside of `folder`; values that are read are compared.
    What was measured is kept in `out` if the run is interrupted, and the next run goes on from there.

    Args:
        folder: A folder of the file system that is measured.
        out: A folder for the tables and pictures; it is created.
        minutes: Time after which no further measurement begins.
        size_bytes: Bytes of values of a file; one file exists at a time.
        clients: Number of clients: threads, or processes of MPI. Serial libraries serve them in turns.
        repeats: Measurements of each case.
        fresh: Forget what earlier runs measured.
        pictures: Draw pictures; needs matplotlib.
        progress: Called with the number of measurements that were made and of all.

    Returns:
        What was found.

    Raises:
        IoError: The disk is full, or a file cannot be written; no measured file is left behind.
        InvalidInputError: An argument is not possible.

    Example:
        >>> run_study("/scratch/me", "study", minutes=30).measured
    """
    place, target = os.fsdecode(folder), os.fsdecode(out)
    if not os.path.isdir(place):
        raise InvalidInputError(f"'{place}' is not a folder", place)
    if os.path.exists(target) and not os.path.isdir(target):
        raise InvalidInputError(f"'{target}' is not a folder", target)
    if clients < 1 or repeats < 1 or size_bytes < clients * ROW_BYTES or not minutes > 0:
        raise InvalidInputError(f"give at least one client, one repetition, {ROW_BYTES >> 10} KiB for each client, and a positive time")
    reasons = missing()
    layout = storage_layout(place)
    lustre = _no_stripes(layout.file_system)
    wanted = list(cases(reasons, clients, size_bytes, layout.block_bytes, lustre))
    about = _about(place, layout.file_system, size_bytes, clients)
    path = os.path.join(target, "study.json")
    found = {} if fresh else _load(path, about)
    end, total = time.monotonic() + 60 * minutes, len(wanted) * repeats
    with workplace(place, 4 * size_bytes) as work, _Workers(work, size_bytes, clients) as workers:
        # All cases once, then again: an early end has something of everything, and slow changes of the machine hit all cases.
        for case in wanted * repeats:
            written, read = found.setdefault(case, ([], []))
            turn = min(len(found.get(other, ([], []))[0]) for other in wanted)
            if len(written) > turn or len(written) >= repeats:
                continue
            if time.monotonic() > end:
                break
            seconds = workers.measure(case)
            written.append(seconds[0])
            read.append(seconds[1])
            # Only now: a measurement that fails at once leaves no folder.
            os.makedirs(target, exist_ok=True)
            _save(path, about, found)
            if progress is not None:
                progress(sum(len(one) for one, _ in found.values()), total)
    results = [Result(case, *found[case]) for case in wanted if found.get(case, ([], []))[0]]
    absent = {name: reason for name, reason in reasons.items() if reason is not None} | ({"stripes": lustre} if lustre is not None else {})
    os.makedirs(target, exist_ok=True)
    drawn = draw(target, results, stored_bytes(size_bytes)) if pictures else {}
    write_report(target, about, results, absent, drawn)
    return Study(target, results, absent, total)


def _no_stripes(file_system: str) -> str | None:
    """Why stripes of new files cannot be set."""
    if file_system != "lustre":
        return f"the file system is {file_system or 'unknown'}, not Lustre"
    return None if shutil.which("lfs") else "the command lfs is not installed"


def _about(folder: str, file_system: str, size: int, clients: int) -> About:
    return {
        "version": _native.__version__,
        "machine": _native.machine(),
        "folder": os.path.abspath(folder),
        "file_system": file_system,
        "bytes": size,
        "clients": clients,
    }


def _load(path: str, about: About) -> dict[Case, tuple[list[float], list[float]]]:
    """The measurements of an earlier run with the same machine, version, folder and size; none if they cannot be read."""
    try:
        with open(path, encoding="utf-8") as text:
            found = json.load(text)
        if found["about"] != about:
            return {}
        return {Case.of(one["case"]): ([float(s) for s in one["written"]], [float(s) for s in one["read"]]) for one in found["results"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _save(path: str, about: About, found: dict[Case, tuple[list[float], list[float]]]) -> None:
    results = [{"case": case.to_dict(), "written": written, "read": read} for case, (written, read) in found.items() if written]
    changed = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    replace_file(path, {"about": about, "changed": changed, "results": results})


class _Workers:
    """A measuring process for each library."""

    def __init__(self, folder: str, size: int, clients: int) -> None:
        self._folder, self._size, self._clients = folder, size, clients
        self._running: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._running.values():
            worker.kill()
            worker.communicate()

    def measure(self, case: Case) -> tuple[float, float]:
        """Seconds of writing and of reading."""
        if case.library not in self._running:
            command = [sys.executable, "-m", "hyperslab.tuning.study.worker"]
            # Ctrl-C is for this process, which ends the workers. Measured are the defaults, not a profile.
            environment = {**os.environ, "HYPERSLAB_PROFILE": ""}
            self._running[case.library] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment
            )
        worker = self._running[case.library]
        path = os.path.join(self._folder, "measured.nc" if case.library == "netCDF-4" else "measured.h5")
        assert worker.stdin is not None and worker.stdout is not None
        try:
            worker.stdin.write(json.dumps({"case": case.to_dict(), "path": path, "bytes": self._size, "clients": self._clients}) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
            shutil.rmtree(f"{path}.d", ignore_errors=True)
        if not line:
            raise IoError(f"the process that measures {case.library} has ended unexpectedly", self._folder)
        answer = json.loads(line)
        if "error" in answer:
            raise IoError(f"measuring {case.library} failed: {answer['error']}", self._folder)
        written, read = answer["seconds"]
        return float(written), float(read)
