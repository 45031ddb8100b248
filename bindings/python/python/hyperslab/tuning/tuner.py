"""Tuner: measures points until time is up, fits the models, checks what they recommend, and writes the profile."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from .. import _native
from ..base.errors import InvalidInputError, IoError
from ..base.type_aliases import JsonObject, Path
from ..sources.storage import storage_layout
from . import checks
from .machine import cores
from .model import Model, fit
from .places import replace_file, workplace
from .points import KINDS, Point, design

#: Settings that a profile may have. What is stored (filters) and what is promised (sync) is not for a profile to change.
SETTABLE = ("transfer_bytes", "threads", "chunk_bytes", "alignment_bytes", "factor")
#: A setting is recommended if the model says that it saves at least this, and costs no kind of work more than that.
_SAVES, _COSTS = 0.05, 0.02
#: The recommended settings together must hold to this when they are measured next to the defaults.
_MAY_COST, _MUST_SAVE = 1.05, 0.95
_CHECK_ROUNDS = 7


@dataclass(frozen=True)
class Tuned:
    """What was measured, and the profile that was written.

    Attributes:
        path: The profile.
        settings: What it changes; nothing if the defaults are the best that was found.
        models: What each setting is worth, by kind of work.
        checked: Time with the settings divided by that with the defaults, by kind of work: medians of rounds in which both take turns.
        points: Number of points that were measured, in this run and in earlier ones.
        wanted: Number of points of the whole design.
    """

    path: str
    settings: dict[str, int]
    models: dict[str, Model]
    checked: dict[str, float]
    points: int
    wanted: int


def tune(
    folder: Path,
    *,
    minutes: float = 5.0,
    size_bytes: int = 32 << 20,
    points: int = 100,
    out: Path | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Tuned:
    """Measures reads and writes in a folder with many settings, and writes a profile of the best.

    Files of `size_bytes` are written, read and removed in a hidden folder inside of `folder`. What was measured is kept if the run
    is interrupted, and the next run goes on from there.

    Args:
        folder: A folder of the file system that is measured.
        minutes: Time after which no further point is begun.
        size_bytes: Bytes of values of a file. At most two exist at a time, and at the end files of ten times that, if there are settings to check.
        points: Number of combinations of settings.
        out: Path of the profile; by default the one that is in force (`hs.profile().path`).
        fresh: Forget what earlier runs measured.
        progress: Called with the number of measured points and of all.

    Returns:
        What was found.

    Raises:
        IoError: The disk is full, or a file cannot be written; nothing is left behind.
        InvalidInputError: An argument is not possible.

    Example:
        >>> hs.tune("/scratch/me", minutes=5).settings
    """
    place = os.fsdecode(folder)
    if not os.path.isdir(place):
        raise InvalidInputError(f"'{place}' is not a folder", place)
    if size_bytes < 1 << 20 or points < 1 or not minutes > 0:
        raise InvalidInputError("give at least 1 MiB, one point and a positive time")
    path = os.fsdecode(out) if out is not None else _native.profile(None)[0] or _native.default_profile_path()
    if path is None:
        raise InvalidInputError("there is no place for a profile: give out=, or set HYPERSLAB_PROFILE")
    path = os.fspath(path)
    wanted = design(cores(), points)
    state = _State(f"{path}.partial", place, size_bytes)
    measured = [] if fresh else state.load()
    known = {point for point, _ in measured}
    end = time.monotonic() + 60 * minutes
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with workplace(place, checks.SIZES * size_bytes) as work, _Workers(work, size_bytes) as workers:
        for point in wanted:
            if point in known:
                continue
            if time.monotonic() > end:
                break
            measured.append((point, workers.measure(point)))
            state.save(measured)
            if progress is not None:
                progress(len(measured), len(wanted))
        models = {kind: model for kind in KINDS if (model := fit(kind, measured)) is not None}
        settings, checked = _recommended(models), {}
        if settings:
            place_of_checks = os.path.join(work, "checks")
            os.mkdir(place_of_checks)
            checked = _checked(workers, place_of_checks, _named(settings))
            if not _pays(checked):
                settings = {}
    _write(path, place, size_bytes, settings, models, checked, measured)
    if len(measured) >= len(wanted):
        with contextlib.suppress(FileNotFoundError):
            os.remove(state.path)
    return Tuned(path, settings, models, checked, len(measured), len(wanted))


def _recommended(models: dict[str, Model]) -> dict[str, int]:
    """For each setting the value that saves most over all kinds of work, if it is worth it and costs none of them."""
    found: dict[str, int] = {}
    for setting in SETTABLE:
        factors: dict[str, list[float]] = {}
        for model in models.values():
            for value, factor in model.factors.get(setting, {}).items():
                factors.setdefault(value, []).append(factor)
        kinds = max((len(of_kinds) for of_kinds in factors.values()), default=0)
        best, saved = None, _SAVES
        for value, of_kinds in factors.items():
            mean = 1 - math.exp(sum(math.log(factor) for factor in of_kinds) / kinds)
            if value != "None" and mean > saved and max(of_kinds) <= 1 + _COSTS:
                best, saved = value, mean
        if best is not None:
            found[setting] = int(best)
    return found


def _checked(workers: _Workers, folder: str, settings: dict[str, int]) -> dict[str, float]:
    """Times with the settings and with the defaults, in turns. What seems slower is measured once more, for as many rounds."""
    workers.make(folder)
    ratios = {}
    for name in checks.WORK:
        times: dict[bool, list[float]] = {False: [], True: []}
        for number in range(2 * _CHECK_ROUNDS):
            if number == _CHECK_ROUNDS and checks.ratio(times[True], times[False]) <= _MAY_COST:
                break
            # The second one finds warmer caches, so they also take turns in who is first.
            for is_chosen in (False, True) if number % 2 else (True, False):
                times[is_chosen].append(workers.check(name, folder, settings if is_chosen else {}))
        ratios[name] = checks.ratio(times[True], times[False])
    return ratios


def _named(settings: dict[str, int]) -> dict[str, int]:
    """Settings by the names that a profile has for them."""
    return {("subfile_factor" if name == "factor" else name): value for name, value in settings.items()}


def _pays(checked: dict[str, float]) -> bool:
    return max(checked.values(), default=1.0) <= _MAY_COST and min(checked.values(), default=1.0) <= _MUST_SAVE


def _write(
    path: str, folder: str, size: int, settings: dict[str, int], models: dict[str, Model], checked: dict[str, float], measured: Sequence[tuple[Point, float]]
) -> None:
    """Writes the profile, complete or not at all."""
    document = {
        "format": 1,
        "version": _native.__version__,
        "machine": _native.machine(),
        "settings": _named(settings),
        "folder": os.path.abspath(folder),
        "file_system": storage_layout(folder).file_system,
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "bytes": size,
        "checked": checked,
        "models": [asdict(model) for model in models.values()],
        "measured": [{**point.to_dict(), "seconds": seconds} for point, seconds in measured],
    }
    replace_file(path, document)


class _State:
    """What was measured so far, so that an interrupted run can go on."""

    def __init__(self, path: str, folder: str, size: int) -> None:
        self.path = path
        self._about = {"version": _native.__version__, "machine": _native.machine(), "folder": os.path.abspath(folder), "bytes": size}

    def load(self) -> list[tuple[Point, float]]:
        """The points of an earlier run with the same machine, version, folder and size; none if it cannot be read."""
        try:
            with open(self.path, encoding="utf-8") as text:
                found = json.load(text)
            if found["about"] != self._about:
                return []
            return [(Point(**{name: value for name, value in one.items() if name != "seconds"}), float(one["seconds"])) for one in found["measured"]]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def save(self, measured: Sequence[tuple[Point, float]]) -> None:
        """Keeps the points."""
        replace_file(self.path, {"about": self._about, "measured": [{**point.to_dict(), "seconds": seconds} for point, seconds in measured]})


class _Workers:
    """Processes that measure, one for each profile, because that is read once a process."""

    def __init__(self, folder: str, size: int) -> None:
        self._folder, self._size = folder, size
        self._running: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._running.values():
            worker.kill()
            worker.wait()

    def _worker(self, settings: dict[str, int]) -> subprocess.Popen[str]:
        name = json.dumps(settings, sort_keys=True)
        if name not in self._running:
            profile = os.path.join(self._folder, f"{len(self._running)}.json")
            with open(profile, "w", encoding="utf-8") as out:
                json.dump({"format": 1, "version": _native.__version__, "machine": _native.machine(), "settings": settings}, out)
            command = [sys.executable, "-m", "hyperslab.tuning.worker"]
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "HYPERSLAB_PROFILE": profile},
                # Ctrl-C is for this process, which ends the workers.
                start_new_session=True,
            )
        return self._running[name]

    def measure(self, point: Point) -> float:
        """Seconds at a point."""
        path = os.path.join(self._folder, "measured.h5")
        try:
            return self._ask({"transfer_bytes": point.transfer_bytes}, {**point.to_dict(), "path": path})
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
            shutil.rmtree(f"{path}.d", ignore_errors=True)

    def make(self, folder: str) -> None:
        """Writes the files of the checks."""
        self._ask({}, {"kind": "make", "folder": folder})

    def check(self, name: str, folder: str, settings: dict[str, int]) -> float:
        """Seconds of a check with the settings in force."""
        return self._ask(settings, {"kind": "check", "name": name, "folder": folder})

    def _ask(self, settings: dict[str, int], request: JsonObject) -> float:
        worker = self._worker(settings)
        if worker.stdin is None or worker.stdout is None:
            raise IoError("the measuring process has no pipes")
        try:
            worker.stdin.write(json.dumps({**request, "bytes": self._size}) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise IoError("the measuring process has ended unexpectedly", self._folder)
        answer = json.loads(line)
        if "error" in answer:
            raise IoError(f"a measurement failed: {answer['error']}", self._folder)
        return float(answer["seconds"])
