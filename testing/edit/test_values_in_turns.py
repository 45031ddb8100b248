"""h5py and we write values of all kinds into the same datasets in turns: slices with steps, other extents, texts and lists that replace others, references.
A model in memory says what the file must hold."""

from __future__ import annotations

import os
import pathlib
import random
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Turns of both in each test.
ROUNDS = int(os.environ.get("EDITING_ROUNDS", "12"))
TEXT = h5py.string_dtype()
LIST = h5py.vlen_dtype("<i4")
RECORD = np.dtype([("t", TEXT), ("n", "<i4"), ("l", LIST), ("f", "S3"), ("a", "<f8", (2,))])
COLORS = h5py.enum_dtype({"R": 0, "G": 1, "B": 5}, "i2")
#: Options of datasets, by whether they can grow.
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"chunks": True},
    {"chunks": True, "compression": "gzip", "shuffle": True},
    {"chunks": True, "grows": True},
    {"chunks": True, "grows": True, "compression": "lzf"},
    {"chunks": True, "grows": True, "fletcher32": True},
    {"compact": True},
    {"early": True, "chunks": True},
    {"early": True},
]
KINDS = ["<i4", ">f8", "u1", "S5", "bool", "enum", "text", "list", "record", "reference", "<f2", "c16"]


class Known:
    """What a dataset must hold."""

    def __init__(self, kind: str, values: np.ndarray[Any, Any], fill: Any, options: dict[str, Any]) -> None:
        self.kind, self.values, self.fill, self.options = kind, values, fill, options


class Room:
    def __init__(self, path: pathlib.Path, draw: random.Random, libver: Any) -> None:
        self.path, self.draw, self.serial = path, draw, 0
        self.known: dict[str, Known] = {}
        with h5py.File(path, "w", libver=libver) as f:
            for name in ("target a", "target b", "g/target c"):
                f.create_group(name)

    def dtype(self, kind: str) -> Any:
        return {"text": TEXT, "list": LIST, "record": RECORD, "reference": h5py.ref_dtype, "enum": COLORS}.get(kind, kind)

    def value(self, kind: str, f: Any) -> tuple[Any, Any]:
        """A value to be written, and what is read later."""
        draw = self.draw
        number = draw.randrange(120)
        if kind == "text":
            text = draw.choice(["", "a", "é" * draw.randrange(1, 40), "long " * draw.randrange(1, 200), f"text {number}"])
            return text, text.encode()
        if kind == "list":
            items = [draw.randrange(1000) for _ in range(draw.choice([0, 1, 3, 50, 700]))]
            return np.array(items, "i4"), items
        if kind == "record":
            (text, read), (items, listed) = self.value("text", f), self.value("list", f)
            return (text, number, items, b"abc"[: number % 4], [number, 0.5]), (read, number, listed, b"abc"[: number % 4], [number, 0.5])
        if kind == "reference":
            name = draw.choice(["/target a", "/target b", "/g/target c", "/"])
            return f[name].ref, name
        if kind == "S5":
            return f"{number}".encode(), f"{number}".encode()
        if kind == "bool":
            return bool(number % 2), bool(number % 2)
        if kind == "enum":
            return [0, 1, 5][number % 3], [0, 1, 5][number % 3]
        return (complex(number, 1), complex(number, 1)) if kind == "c16" else (number, number)

    def empty(self, kind: str) -> Any:
        return {"text": b"", "list": [], "record": (b"", 0, [], b"", [0, 0]), "reference": None, "S5": b"", "bool": False}.get(kind, 0)

    def create(self, f: Any, is_ours: bool) -> None:
        draw = self.draw
        kind, options = draw.choice(KINDS), dict(draw.choice(LAYOUTS))
        if kind in ("text", "list") and options.get("fletcher32"):
            del options["fletcher32"]
        if kind in ("reference",):
            # Only h5py filters references.
            for name in ("compression", "shuffle", "fletcher32"):
                if is_ours or kind == "reference":
                    options.pop(name, None)
        ndim = draw.choice([1, 1, 2, 3])
        shape = tuple(draw.randrange(1, 9) for _ in range(ndim))
        self.serial += 1
        name = draw.choice(["", "g/", "new/deep/"]) + f"{kind.strip('<>')}{self.serial}"
        values = np.empty(shape, object)
        fill: Any = None
        read = self.empty(kind)
        if draw.random() < 0.5 and not (kind in ("list", "record", "reference", "text") and not is_ours and kind != "text") and kind != "record":
            fill, read = self.value(kind, f)
            if kind in ("text", "list") and not len(fill):
                fill, read = None, self.empty(kind)
        for place in np.ndindex(shape):
            values[place] = read
        given: dict[str, Any] = {"fillvalue": fill} if fill is not None else {}
        if options.get("chunks"):
            given["chunks"] = tuple(draw.randrange(1, min(extent, 4) + 1) for extent in shape)
        if options.get("grows"):
            given["maxshape"] = tuple(draw.choice([None, n + 5]) for n in shape)
        for option in ("compression", "shuffle", "fletcher32"):
            if option in options:
                given[option] = options[option]
        if not is_ours and (options.get("compact") or options.get("early")) and kind not in ("list", "reference", "text", "S5"):
            self.create_low(f, name, kind, shape, given, options)
        else:
            f.create_dataset(name, shape, self.dtype(kind), **given)
        self.known[name] = Known(kind, values, read, given)
        if not given.get("chunks") and "fillvalue" not in given and kind not in ("text", "list", "record"):
            # Where the library makes room for numbers without a fill value, anything may be.
            places = [(slice(None),) * ndim] if kind != "reference" else list(np.ndindex(shape))
            for place in places:
                self.write_to(name, f, place)

    def create_low(self, f: h5py.File, name: str, kind: str, shape: tuple[int, ...], given: dict[str, Any], options: dict[str, Any]) -> None:
        """A dataset in its header, or with storage from the beginning."""
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if options.get("compact"):
            creation.set_layout(h5py.h5d.COMPACT)
        else:
            creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            # Otherwise the library leaves in its place what the file had there.
            creation.set_fill_time(h5py.h5d.FILL_TIME_ALLOC)
            if "chunks" in given:
                creation.set_chunk(given["chunks"])
        dtype = self.dtype(kind)
        if "fillvalue" in given:
            creation.set_fill_value(np.array(given["fillvalue"], dtype))
        group, _, last = name.rpartition("/")
        stored = h5py.h5t.py_create(np.dtype(dtype), logical=True)
        h5py.h5d.create(f.require_group(group or "/").id, last.encode(), stored, h5py.h5s.create_simple(shape), creation)

    def selection(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        draw, key = self.draw, []
        for extent in shape:
            start = draw.randrange(extent)
            if draw.random() < 0.3:
                key.append(start)
            else:
                key.append(slice(start, draw.randrange(start, extent) + 1, draw.choice([None, None, 2, 3])))
        return tuple(key)

    def write(self, f: Any) -> None:
        usable = [name for name, known in self.known.items() if known.values.size]
        if not usable:
            return
        name = self.draw.choice(usable)
        known = self.known[name]
        self.write_to(name, f, self.selection(known.values.shape) if self.draw.random() < 0.8 else (slice(None),) * known.values.ndim)

    def write_to(self, name: str, f: Any, key: tuple[Any, ...]) -> None:
        known = self.known[name]
        places = np.arange(known.values.size).reshape(known.values.shape)[key]
        shape = np.shape(places)
        if known.kind in ("list", "record", "reference"):
            # One by one: numpy takes lists of equal lengths for another dimension.
            for place in np.transpose(np.unravel_index(np.reshape(places, -1), known.values.shape))[:6]:
                value, read = self.value(known.kind, f)
                f[name][tuple(place.tolist())] = np.array([value], RECORD)[0] if known.kind == "record" and isinstance(f, h5py.File) else value
                known.values[tuple(place.tolist())] = read
            return
        given, read = np.empty(shape, object), np.empty(shape, object)
        for place in np.ndindex(shape):
            given[place], read[place] = self.value(known.kind, f)
        f[name][key] = given if known.kind == "text" else np.array(given.tolist(), self.dtype(known.kind))
        known.values[key] = read if shape else read[()]

    def resize(self, f: Any) -> None:
        usable = [name for name, known in self.known.items() if "maxshape" in known.options]
        if not usable:
            return
        name = self.draw.choice(usable)
        known = self.known[name]
        shape = tuple(self.draw.randrange(0, (limit or extent + 4) + 1) for extent, limit in zip(known.values.shape, known.options["maxshape"], strict=True))
        f[name].resize(shape)
        new = np.empty(shape, object)
        for place in np.ndindex(shape):
            new[place] = known.values[place] if all(index < extent for index, extent in zip(place, known.values.shape, strict=True)) else known.fill
        known.values = new

    def other(self, f: Any) -> None:
        draw = self.draw
        if not self.known:
            return
        name, kind = draw.choice(list(self.known)), draw.choice(["remove", "move", "copy", "attribute", "attribute"])
        known = self.known[name]
        self.serial += 1
        if kind == "remove" and len(self.known) > 6:
            del f[name]
            del self.known[name]
        elif kind == "move":
            f.move(name, f"moved {self.serial}")
            self.known[f"moved {self.serial}"] = self.known.pop(name)
        elif kind == "copy" and not (known.kind == "reference" and isinstance(f, h5py.File)):
            # The library cannot copy references in chunks.
            f.copy(name, f"copy {self.serial}")
            self.known[f"copy {self.serial}"] = Known(known.kind, known.values.copy(), known.fill, known.options)
        elif kind == "attribute":
            f[name].attrs["texts"] = np.array(["é" * draw.randrange(30) for _ in range(draw.randrange(1, 9))], object)
            f[name].attrs["number"] = draw.randrange(100)

    def check(self) -> None:
        for library in (hs.open, h5py.File):
            # Without the right to write, the library does not read fill values of variable length.
            with library(self.path, "r+") if library is h5py.File else library(self.path) as f:
                for name, known in self.known.items():
                    found = f[name][()]
                    assert f[name].shape == known.values.shape, name
                    expected = known.values
                    for place in np.ndindex(expected.shape):
                        assert read(f, np.asarray(found)[place] if known.kind != "record" else found[place]) == expected[place], (library.__name__, name, place)
        findings = [finding for finding in hs.check(self.path).findings if finding.severity != "info"]
        assert findings == []


def read(f: Any, value: Any) -> Any:
    """A value as the model has it."""
    if isinstance(value, (h5py.Reference, hs.Reference)):
        return (f[value].name if isinstance(f, h5py.File) else value.path) if value else None
    if isinstance(value, (np.void, tuple)):
        return tuple(read(f, part) for part in value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, str):
        return value.encode()
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.sampled(3)
@pytest.mark.parametrize("libver", ["earliest", "latest", ("v108", "v108")], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_values_in_turns(tmp_path: pathlib.Path, seed: int, libver: Any) -> None:
    draw = random.Random(f"{seed} {libver} {os.environ.get('EDITING_SEED', '')}")
    room = Room(tmp_path / "x.h5", draw, libver)
    for turn in range(ROUNDS):
        is_ours = turn % 2 == 0
        with hs.open(room.path, "r+") if is_ours else h5py.File(room.path, "r+") as f:
            for _ in range(draw.randrange(1, 14)):
                step = draw.choice(["create", "create", "write", "write", "write", "write", "resize", "resize", "other"])
                if step == "create":
                    room.create(f, is_ours)
                elif step == "write":
                    room.write(f)
                elif step == "resize":
                    room.resize(f)
                else:
                    room.other(f)
                if is_ours and draw.random() < 0.15:
                    f.commit()
        room.check()
