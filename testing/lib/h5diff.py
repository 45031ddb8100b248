"""Verdicts of `h5diff` and of `hs.diff` on pairs of files: a file with itself, with one value changed, with one object removed, and with its `repack`."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

import dump_tools
import h5py
import hyperslab as hs
import numpy as np

#: What `h5diff` returns.
VERDICTS = {0: "equal", 1: "different"}
TIMEOUT_SECONDS = 60.0


class Verdicts(NamedTuple):
    """What both say of a pair; `unread` of what cannot be read."""

    pair: str
    theirs: str
    ours: str
    detail: str


def h5diff(first: pathlib.Path, second: pathlib.Path) -> str:
    """`equal`, `different`, or `unread`. What `h5diff` calls not comparable, such as other shapes, is different. It compares no datasets without storage."""
    found = dump_tools.program("h5diff")
    assert found is not None
    command, environment = found
    try:
        done = subprocess.run(
            [*command, "-c", str(first), str(second)], capture_output=True, text=True, errors="replace", timeout=TIMEOUT_SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        return "unread"
    verdict = VERDICTS.get(done.returncode, "unread")
    remarks = [line for line in done.stdout.splitlines() if line.startswith("Not comparable")]
    if verdict == "equal" and remarks:
        return "unread" if all(line.endswith("is an empty dataset") for line in remarks) else "different"
    return verdict


def ours(first: pathlib.Path, second: pathlib.Path, structure: bool = True) -> tuple[str, str]:
    """The same of `hs.diff`, and what it says."""
    try:
        found = hs.diff(first, second, structure=structure, format="hdf5", missing_sources="fill")
    except hs.Error as error:
        return "unread", f"{type(error).__name__}: {error}"
    if found.differences:
        return "different", str(found.differences[0])
    return ("unread", str(found.not_compared[0])) if found.not_compared else ("equal", "")


def change_value(path: pathlib.Path) -> str | None:
    """Changes one number of a file; returns the path of its dataset, or `None` if there is none that the library writes."""
    with h5py.File(path, "r+") as f:
        names: list[str] = []
        f.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            dataset = f[name]
            if dataset.dtype.kind not in "iuf" or not dataset.size or dataset.is_virtual or dataset.external:
                continue
            place = (0,) * dataset.ndim
            try:
                before = dataset[place]
                value = before ^ 1 if dataset.dtype.kind in "iu" else 1.5 if before != 1.5 else 2.5
                dataset[place] = value
                dataset.flush()
                if not np.array_equal(dataset[place], before):
                    return name
            except (OSError, TypeError, ValueError):
                continue
    return None


def remove_object(path: pathlib.Path) -> str | None:
    """Removes one member of the root group; returns its name, or `None` if there is none."""
    with h5py.File(path, "r+") as f:
        for name in f:
            if isinstance(f.get(name, getlink=True), h5py.HardLink):
                del f[name]
                return name
    return None


EDITS: tuple[tuple[str, Callable[[pathlib.Path], str | None]], ...] = (("changed value", change_value), ("removed object", remove_object))


def verdicts(path: pathlib.Path, folder: pathlib.Path) -> Iterator[Verdicts]:
    """Compares a file, copied into `folder`, with itself and with changed copies, as far as the library can make them."""
    first, second = folder / "first.h5", folder / "second.h5"
    shutil.copyfile(path, first)
    shutil.copyfile(path, second)
    yield Verdicts("same", h5diff(first, second), *ours(first, second))
    for pair, edit in EDITS:
        shutil.copyfile(path, second)
        try:
            changed = edit(second)
        except Exception:  # a damaged file, which the library does not open for changes
            continue
        if changed is not None:
            yield Verdicts(pair, h5diff(first, second), *ours(first, second))
    second.unlink()
    try:
        hs.repack(first, second)
    except hs.Error:
        return
    yield Verdicts("repacked", h5diff(first, second), *ours(first, second, structure=False))
