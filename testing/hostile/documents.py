"""What accompanies data, put together from real parts with right checksums: index sidecars, index tasks and fragments, write
plans and fragments, splits, containers of subfiles, chunk references, journals of edits. Each is made by the package once; a number then changes its structure: extreme
counts and places, one part many times, names that lead elsewhere, parts that are missing or of another kind, deep nesting.

`Originals(folder).document(number, where)` makes one in the folder `where` and says of which kind it is.
"""

from __future__ import annotations

import json
import pathlib
import random
import shutil
import struct
import zlib
from collections import Counter
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa

#: Numbers that no document has.
EXTREMES = [0, 1, -1, 2, 255, 1 << 16, (1 << 31) - 1, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 0.5]
#: Names that lead elsewhere, or nowhere.
NAMES = [
    "",
    ".",
    "..",
    "/",
    "../victim.txt",
    "victim.txt",
    "a\0b",
    "@0",
    "@18446744073709551615",
    "é" * 200,
    "x" * 100_000,
    "\x1b[2J",
    "%b",
    "*",
    "manifest.json",
]
#: Bytes that a document grows to at most, about.
MOST_BYTES = 1 << 20
PAGE_BYTES = 4096
LARGE = ["samples", "starts", "order", "packed", "bitmaps"]
KINDS = ["sidecar", "sidecar", "index file", "index file", "split", "plan", "fragment", "index task", "index fragment", "container", "master"]
KINDS += ["references", "references", "journal"]


def seal(body: bytes) -> bytes:
    """A document with the checksum that plans, splits, tasks and fragments end in."""
    return body + b"\n%08x" % zlib.crc32(body)


def unsealed(document: bytes) -> Any:
    return json.loads(document[:-9])


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Changes:
    """Changes of one JSON document."""

    def __init__(self, rng: random.Random, kept: set[str]) -> None:
        self.rng, self.kept = rng, kept

    def places(self, value: Any) -> list[tuple[Any, Any]]:
        """Every place in a document: what holds it, and its key there."""
        found: list[tuple[Any, Any]] = []
        pending = [value]
        while pending:
            one = pending.pop()
            items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
            for key, below in list(items):
                if key not in self.kept:
                    found.append((one, key))
                    pending.append(below)
        return found

    def change(self, value: Any) -> Any:
        rng = self.rng
        value = json.loads(json.dumps(value))
        for _ in range(1 + int(rng.expovariate(1.0))):
            places = self.places(value)
            if not places:
                break
            where, key = rng.choice(places)
            where[key] = self.other(where[key], [holder[at] for holder, at in places])
        return value

    def other(self, old: Any, others: list[Any]) -> Any:
        rng = self.rng
        if rng.random() < 0.1:
            return json.loads(json.dumps(rng.choice(others)))
        if rng.random() < 0.03:
            return rng.choice([None, True, {}, [], "x", 7])
        if isinstance(old, bool):
            return not old
        if isinstance(old, (int, float)):
            return rng.choice([*EXTREMES, old + 1, old - 1, old * 2])
        if isinstance(old, str):
            return rng.choice([*NAMES, old + "x", old[:-1], old.upper(), "../" + old, "/" + old])
        if isinstance(old, list):
            if not old:
                return [rng.choice(EXTREMES)]
            one = rng.choice(old)
            count = min(rng.choice([2, 3, 40, 3000, 30_000]), max(2, MOST_BYTES // (len(compact(one)) + 1)))
            return rng.choice([old * 2, [one] * count, old[:-1], old[::-1], [old], []])
        if isinstance(old, dict):
            changed = dict(old)
            if changed and rng.random() < 0.5:
                changed.pop(rng.choice(list(changed)))
            elif changed:
                one = rng.choice(list(changed.values()))
                count = min(rng.choice([2, 40, 3000]), max(2, MOST_BYTES // (len(compact(one)) + 10)))
                changed |= {f"{rng.choice(NAMES)[:40]}{i}": one for i in range(count)}
            return changed
        # Nothing: something, or something deep.
        deep: Any = 1
        for _ in range(rng.choice([1, 50, 130, 400])):
            deep = [deep]
        return rng.choice([deep, {}, "", 0])


class Originals:
    """Documents as the package makes them, in a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        data = folder / "a.h5"
        with h5py.File(data, "w") as f:
            f["g/x"] = np.random.default_rng(1).normal(size=3000)
            f["g/y"] = np.arange(3000)
            f.create_dataset("z", data=np.arange(5000) % 97, chunks=(100,), compression="gzip")
            f["g/t"] = np.array([b"text %d of %d" % (n % 700, n % 9) for n in range(3000)])
            f.create_dataset("m", data=np.arange(600).reshape(20, 30), chunks=(7, 10))
        for path, level in (("/z", "P"), ("/g/x", "B"), ("/m", "X"), ("/g/y", "K"), ("/g/t", "W")):
            hs.index(data, path, level)
        hs.index(data, [("/g/x", "/g/y")])
        with hs.open(data, indexes="none") as file:
            splits = [*file.table("/z", where="z > 5").splits(3), *file.table("/g", where="x > 0 and y < 900").splits(2), *file.table("/m").splits(2)]
            self.splits = [bytes(split) for split in splits]
        self.index_tasks = [
            *hs.indexes.plan(data, "/z", rebuild=True).tasks(2),
            *hs.indexes.plan(data, ["/g/x", "/g/t", ("/g/x", "/g/y")], rebuild=True).tasks(1),
        ]
        self.index_fragments = [hs.indexes.build(task) for task in self.index_tasks]
        hs.indexes.commit([])  # nothing of these builds is used
        hs.write_references(data, folder / "references.json")
        self.plans, self.fragments = [], []
        out = folder / "out.h5"
        for mode in ("x", "a"):
            plan = hs.WritePlan(out, mode)
            with plan.task(0) as task:
                task.create_dataset("x", data=[1, 2, 3], rows=True)
                fragment = task.finish()
            self.plans.append(bytes(plan))
            self.fragments.append((self.plans[-1], fragment))
            hs.WritePlan.from_bytes(self.plans[-1]).commit([fragment])

    def document(self, number: int, where: pathlib.Path) -> str:
        """Makes document `number` in a new folder; returns its kind."""
        rng = random.Random(number)
        kind = KINDS[number % len(KINDS)]
        here = where / "data"
        shutil.copytree(self.folder, here)
        (where / "victim.txt").write_bytes(b"untouched")
        (here / "victim.txt").write_bytes(b"untouched")
        changes = Changes(rng, {"version"} if rng.random() < 0.9 else set())

        def moved(document: bytes) -> bytes:
            """A document about the files of the new folder."""
            body = document[:-9].replace(compact(str(self.folder))[1:-1], compact(str(here))[1:-1])
            return seal(body)

        def changed(document: bytes) -> bytes:
            return seal(compact(changes.change(unsealed(moved(document)))))

        if kind == "sidecar":
            place = here / "a.h5.hsidx" / "manifest.json"
            self.store_manifest(place, changes.change(json.loads(place.read_bytes())["manifest"]))
            if rng.random() < 0.2:
                one = rng.choice(list(place.parent.glob("*.arrow")))
                one.unlink()
                rng.choice([lambda: one.symlink_to(where / "victim.txt"), lambda: one.mkdir(), lambda: None])()
        elif kind == "index file":
            self.change_index_file(rng, here / "a.h5.hsidx")
        elif kind == "split":
            (where / "document").write_bytes(changed(rng.choice(self.splits)))
        elif kind == "plan":
            (where / "document").write_bytes(changed(rng.choice(self.plans)))
        elif kind == "fragment":
            plan, fragment = rng.choice(self.fragments)
            (where / "plan").write_bytes(moved(plan))
            (where / "document").write_bytes(changed(fragment))
        elif kind == "index task":
            (where / "document").write_bytes(changed(rng.choice(self.index_tasks)))
        elif kind == "index fragment":
            (where / "document").write_bytes(changed(rng.choice(self.index_fragments)))
        elif kind == "container":
            record = rng.choice(sorted((here / "out.h5.d").rglob("commit.json")))
            record.write_bytes(compact(changes.change(json.loads(record.read_bytes()))))
        elif kind == "master":
            self.change_master(rng, here)
        elif kind == "references":
            self.change_references(rng, here, changes)
        elif kind == "journal":
            self.forge_journal(rng, here / "a.h5")
        return kind

    def change_references(self, rng: random.Random, here: pathlib.Path, changes: Changes) -> None:
        place = here / "references.json"
        document = json.loads(place.read_text().replace(str(self.folder), str(here)))
        # Metadata is text that is JSON, or JSON.
        refs = {
            key: json.loads(value) if key.rsplit("/", 1)[-1].startswith(".z") and isinstance(value, str) else value for key, value in document["refs"].items()
        }
        templates = {"u": rng.choice([str(here / "a.h5"), "x" * 20_000, "{{u}}", ""])}
        if rng.random() < 0.3:
            refs = {key: ["{{u}}", *value[1:]] if isinstance(value, list) else value for key, value in refs.items()}
        place.write_bytes(compact(changes.change({"version": 1, "templates": templates, "refs": refs})))

    def forge_journal(self, rng: random.Random, path: pathlib.Path) -> None:
        """A journal at the end of the file, with right checksums, whose superblocks are much like the file's."""
        data = path.read_bytes()

        def image() -> bytes:
            block = bytearray(data[:56])
            for _ in range(rng.choice([0, 0, 1, 2])):
                block[rng.choice([20, 24, 40, 41, rng.randrange(56)])] ^= 1 << rng.randrange(8)
            return struct.pack("<QB", rng.choice([0, 0, 0, 512]), rng.choice([56, 56, 56, 48])) + bytes(block)

        def end() -> int:
            return rng.choice([len(data), len(data), 0, len(data) * 2, (1 << 63) - 1])

        runs = [(rng.choice([0, 96, len(data) - 64, end(), (1 << 64) - 8]), rng.choice([64, 64, 1 << 40])) for _ in range(rng.choice([0, 1, 1, 20]))]
        body = b"".join(struct.pack("<QQ", at, length) + b"\xee" * min(length, 64) for at, length in runs)
        counted = struct.pack("<QQQ", end(), end(), rng.choice([len(runs), len(runs), (1 << 64) - 1]))
        content = b"hyperslab edit journal 2" + image() + image() + counted + body
        journal = content + struct.pack("<I", zlib.crc32(content))
        length = struct.pack("<Q", rng.choice([len(journal) + 20, len(journal) + 20, len(journal) + 20, rng.randrange(1 << 20), (1 << 64) - 1]))
        path.write_bytes(data + journal + length + struct.pack("<I", zlib.crc32(length)) + b"HSLJRNL2")

    def manifest(self, sidecar: pathlib.Path) -> Any:
        return json.loads((sidecar / "manifest.json").read_bytes())["manifest"]

    def store_manifest(self, place: pathlib.Path, manifest: Any) -> None:
        """With the checksum of the manifest's own spelling, if it is one."""
        place.write_bytes(compact({"checksum": zlib.crc32(compact(manifest)), "manifest": manifest}))

    def change_index_file(self, rng: random.Random, sidecar: pathlib.Path) -> None:
        """Other numbers and parts in an index file, with checksums of pages and rows that are right."""
        entries = [one for file in self.manifest(sidecar)["files"] for column in file["columns"] for one in column["index_files"]]
        # Indexes of small datasets share a file, in which each has a place of its own.
        names = Counter(one["name"] for one in entries)
        place = sidecar / rng.choice([one["name"] for one in entries if names[one["name"]] == 1 and not one.get("offset")])
        with pa.ipc.open_file(place) as reader:
            schema = reader.schema
            rows = [row for i in range(reader.num_record_batches) for row in reader.get_batch(i).to_pylist()]
        for _ in range(1 + int(rng.expovariate(1.0))):
            row = rng.choice(rows)
            name = rng.choice([name for name in schema.names if name not in ("checksums", "row_checksum")])
            row[name] = self.other_cell(rng, name, row[name])
        if rng.random() < 0.2:
            rows = rng.choice([rows * rng.choice([2, 3, 1000]), rows[::-1], rows[1:], []])
        for row in rows:
            self.check_row(row)
        with pa.OSFile(str(place), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for start in range(0, len(rows), 32):
                writer.write_batch(pa.RecordBatch.from_pylist(rows[start : start + 32], schema=schema))
        manifest = self.manifest(sidecar)
        for file in manifest["files"]:
            for column in file["columns"]:
                for one in column["index_files"]:
                    if one["name"] == place.name:
                        one["bytes"] = place.stat().st_size
                        one["blocks"] = len(rows) if rng.random() < 0.8 else rng.choice(EXTREMES[:-2])
        self.store_manifest(sidecar / "manifest.json", manifest)

    def other_cell(self, rng: random.Random, name: str, old: Any) -> Any:
        if isinstance(old, list):
            return [rng.choice([n, n + 1, *(e for e in EXTREMES[:12] if e >= 0)]) for n in old]
        if isinstance(old, bytes):
            count = len(old) // 8
            words = np.frombuffer(old[: count * 8], np.uint64).copy()
            if count and rng.random() < 0.6:
                for _ in range(rng.choice([1, 2, count])):
                    words[rng.randrange(count)] = rng.choice([e for e in EXTREMES[:12] if e >= 0])
                return words.tobytes() + old[count * 8 :]
            return rng.choice([b"", old * 2, old[: len(old) // 2], old[:-1], bytes(len(old)), b"\xff" * len(old), old + bytes(8)])
        top = {"level": 256, "numbers": 1 << 32, "nans": 1 << 32, "nulls": 1 << 32}.get(name, 1 << 64)
        return rng.choice([e for e in EXTREMES[:12] if 0 <= e < top] + [old ^ 1])

    def check_row(self, row: dict[str, Any]) -> None:
        pages = b"".join(zlib.crc32(row[name][at : at + PAGE_BYTES]).to_bytes(4, "little") for name in LARGE for at in range(0, len(row[name]), PAGE_BYTES))
        row["checksums"] = pages
        numbers = b"".join(n.to_bytes(8, "little") for n in [*row["origin"], *row["shape"]])
        zone = b"".join(row[name].to_bytes(4, "little") for name in ("numbers", "nans", "nulls"))
        wide = b"".join(row[name].to_bytes(8, "little") for name in ("min", "max", "hash", "source"))
        lengths = b"".join(len(row[name]).to_bytes(8, "little") for name in LARGE)
        row["row_checksum"] = zlib.crc32(numbers + bytes([row["level"]]) + zone + wide + lengths + pages)

    def change_master(self, rng: random.Random, here: pathlib.Path) -> None:
        """A master whose virtual datasets lead to itself, to others that lead back, or outside."""
        names = ["out.h5", "a.h5", "../victim.txt", "missing.h5", "/etc/passwd", str(here / "out.h5"), "loop.h5", "."]
        for name in ("out.h5", "loop.h5"):
            with h5py.File(here / name, "w", libver="latest") as f:
                for i in range(rng.choice([1, 3, 30])):
                    rows = rng.choice([1, 3, 1000, 1 << 40])
                    layout = h5py.VirtualLayout((rows,), np.int64)
                    for part in range(rng.choice([1, 2, 50])):
                        at = min(part, rows - 1)
                        layout[at : at + 1] = h5py.VirtualSource(rng.choice(names), rng.choice(["x", f"v{rng.randrange(3)}", "z"]), (rows,))[at : at + 1]
                    f.create_virtual_dataset(f"v{i}", layout)
                f["x"] = h5py.ExternalLink(rng.choice(names), rng.choice(["/x", "/v0", "/"]))
