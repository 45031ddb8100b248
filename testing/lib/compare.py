"""Compares what hyperslab reads of a file with what h5py reads: every dataset, every attribute.

`compare(path)` yields one `Result` per object; nothing is skipped in silence. `compare(path, ours=other)` compares what hyperslab
reads of another file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers zstd, lz4 and others for h5py)
import hyperslab as hs
import numpy as np


@dataclass
class Result:
    """One object: `equal`, `refused` (by name), `different`, `error` (ours only) or `unreadable` (by h5py)."""

    path: str
    outcome: str
    detail: str = ""


def unswapped(ours: Any, theirs: Any) -> bool:
    """h5py gives the bytes of big-endian sequences as if they were of this machine's order."""
    return ours.dtype.byteorder == ">" and theirs.dtype.byteorder in "<=" and ours.dtype.newbyteorder("=") == theirs.dtype


def same(ours: Any, theirs: Any) -> bool:
    """Bit for bit, NaN equal to NaN; references are compared by their presence only."""
    if isinstance(theirs, h5py.Empty):
        return isinstance(ours, hs.Empty)
    if isinstance(theirs, (h5py.Reference, h5py.RegionReference)):
        return True
    if isinstance(theirs, str) or isinstance(ours, str):
        return ours == theirs
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if unswapped(ours, theirs):
        theirs = theirs.view(ours.dtype)
    if theirs.dtype.kind in "mM" and ours.dtype.kind == "V":
        return ours.tobytes() == theirs.tobytes()  # h5py's own use of opaque types, by their tag
    if theirs.dtype.kind == "O" or ours.dtype.kind == "O":
        return all(same(a, b) for a, b in zip(ours.reshape(-1), theirs.reshape(-1), strict=True))
    if theirs.dtype.names is not None:
        return ours.dtype.names == theirs.dtype.names and all(same(ours[n], theirs[n]) for n in theirs.dtype.names)
    if theirs.dtype.kind in "SV" or theirs.dtype.kind == "b":
        return ours.dtype.itemsize == theirs.dtype.itemsize and ours.tobytes() == theirs.tobytes()
    if ours.dtype != theirs.dtype:
        return False
    return bool(np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "fc"))


def shown(value: Any) -> str:
    text = f"{getattr(value, 'dtype', type(value).__name__)} {np.shape(value)} {value!r}"
    return text.replace("\n", " ")[:160]


def check(path: str, ours: Any, theirs: Any) -> Result:
    try:
        expected = theirs()
    except Exception as error:  # whatever h5py cannot read is not ours to match
        return Result(path, "unreadable", f"{type(error).__name__}: {error}"[:160])
    try:
        actual = ours()
    except hs.UnsupportedError as error:
        return Result(path, "refused", str(error)[:200])
    except Exception as error:
        return Result(path, "error", f"{type(error).__name__}: {error}"[:300])
    if same(actual, expected):
        return Result(path, "equal")
    return Result(path, "different", f"ours {shown(actual)} theirs {shown(expected)}")


def compare(path: str, most_bytes: int = 1 << 30, ours: str | None = None) -> Iterator[Result]:
    """Every object of the file."""
    other = ours or path
    with h5py.File(path, "r") as theirs:
        try:
            sum(1 for _ in theirs.items())
        except Exception as error:
            yield Result("/", "unreadable", f"{type(error).__name__}: {error}"[:160])
            if not isinstance(error, TypeError):
                return
        try:
            ours = hs.open(other, format="hdf5", missing_sources="fill")
        except hs.UnsupportedError as error:
            yield Result("/", "refused", str(error))
            return
        except Exception as error:
            yield Result("/", "error", f"{type(error).__name__}: {error}"[:300])
            return
        seen: set[bytes] = set()
        pending = ["/"]
        while pending:
            name = pending.pop()
            try:
                theirs_object = theirs[name]
            except Exception as error:
                yield Result(name, "unreadable", str(error)[:160])
                continue
            try:
                info = h5py.h5o.get_info(theirs_object.id)
                _ = theirs_object.dtype if isinstance(theirs_object, h5py.Dataset) else None
            except Exception as error:
                yield Result(name, "unreadable", f"{type(error).__name__}: {error}"[:160])
                continue
            key = f"{info.fileno}:{info.addr}".encode()
            if key in seen:
                continue
            seen.add(key)
            try:
                ours_object = ours[name]
            except hs.UnsupportedError as error:
                yield Result(name, "refused", str(error)[:200])
                continue
            except Exception as error:
                yield Result(name, "error", f"{type(error).__name__}: {error}"[:300])
                continue
            try:
                names = list(theirs_object.attrs.keys())
            except Exception:
                names = []
            for attribute in names:
                yield check(
                    f"{name}@{attribute}",
                    lambda o=ours_object, a=attribute: o.attrs[a],
                    lambda o=theirs_object, a=attribute: o.attrs[a],
                )
            if isinstance(theirs_object, h5py.Group):
                mine = sorted(ours_object.keys(), key=lambda n: n.encode("utf-8", "surrogateescape"))
                links = sorted(theirs_object.keys(), key=lambda n: n.encode("utf-8", "surrogateescape"))
                if mine != links:
                    yield Result(name, "different", f"links {mine[:10]} and {links[:10]}")
                else:
                    yield Result(name, "equal")
                for link in links:
                    try:
                        hard = isinstance(theirs_object.get(link, getlink=True), h5py.HardLink)
                    except TypeError:
                        continue  # a user-defined link: h5py cannot show it
                    if hard:
                        pending.append(f"{name.rstrip('/')}/{link}")
            elif isinstance(theirs_object, h5py.Dataset):
                if theirs_object.shape is not None and theirs_object.size * theirs_object.dtype.itemsize > most_bytes:
                    yield Result(name, "unreadable", "more than we compare")
                    continue
                yield check(name, lambda o=ours_object: o[()], lambda o=theirs_object: o[()])
                if theirs_object.shape is not None and ours_object.chunks != theirs_object.chunks:
                    yield Result(name, "different", f"chunks {ours_object.chunks} and {theirs_object.chunks}")


if __name__ == "__main__":
    for file in sys.argv[1:]:
        for result in compare(file):
            if result.outcome != "equal":
                print(file, result.path, result.outcome, result.detail)
