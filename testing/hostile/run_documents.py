"""Reads the documents of `documents.py`, each in a process of its own with 1 GiB of address space and 5 seconds of processor time.

A document may end in values or in an `hs.Error` that is no `InternalError`. Nothing but the files of the write or index that
it is about may change: files next to them are checked afterwards.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections import Counter

import documents
import hyperslab as hs
import pyarrow as pa
import run_graphs


class Reading(run_graphs.Reading):
    """Uses one document as its receiver would."""

    def everything(self) -> None:
        kind = (self.path / "kind").read_text()
        start = run_graphs.resident_peak()
        self.report({"stage": kind})
        getattr(self, kind.replace(" ", "_"))()
        # What queries hold beyond the libraries that they load.
        self.report({"peak": max(0, run_graphs.resident_peak() - start - (64 << 20))})
        self.untouched()
        self.report({"stage": "end", "errors": dict(self.errors)})

    def untouched(self) -> None:
        for place in (self.path / "victim.txt", self.path / "data" / "victim.txt"):
            if place.is_symlink() or place.read_bytes() != b"untouched":
                raise AssertionError(f"{place.name} was changed")
        for name in ("a.h5",):
            if not (self.path / "data" / name).exists():
                raise AssertionError(f"{name} is gone")

    def document(self) -> bytes:
        return (self.path / "document").read_bytes()

    def sidecar(self) -> None:
        data = self.path / "data" / "a.h5"
        for trust in ("own", "any"):
            file = self.attempt(lambda trust=trust: hs.open(data, threads=1, indexes=trust))
            if not isinstance(file, hs.File):
                continue
            for path, condition in (("/", "z == 5"), ("/g", "x > 1 and y < 100"), ("/", "m > 590"), ("/g", "x > 1e9")):
                self.attempt(lambda path=path, condition=condition: self.query(file, path, condition))
            self.attempt(lambda: file.table("/z", where="z > 90", limit=5).to_arrow())
        self.attempt(lambda: hs.indexes.status(data, indexes="any"))
        self.attempt(lambda: hs.indexes.verify(data, indexes="any"))
        self.attempt(lambda: hs.index(data, "/z", "K", rebuild=True))
        self.attempt(lambda: hs.index(data, "/g/y", "K", embedded=True, rebuild=True))
        self.attempt(lambda: hs.vacuum(data, hours=0))

    index_file = sidecar

    def query(self, file: hs.File, path: str, condition: str) -> None:
        query = hs.query(file, path, condition)
        query.count()
        query.explain()
        self.attempt(query.table)

    def split(self) -> None:
        def read() -> None:
            split = hs.Split(self.document(), pa.schema([]))
            for number, _ in enumerate(split.batches(threads=1)):
                if number > 100:
                    return

        self.attempt(read)

    def plan(self) -> None:
        def write() -> None:
            plan = hs.WritePlan.from_bytes(self.document())
            self.attempt(plan.begin)
            self.attempt(lambda: plan.path)
            self.attempt(lambda: plan.commit([]))
            self.attempt(plan.abort)

        self.attempt(write)

    def fragment(self) -> None:
        def commit() -> None:
            hs.WritePlan.from_bytes((self.path / "plan").read_bytes()).commit([self.document()])

        self.attempt(commit)
        self.attempt(lambda: repr(hs.open(self.path / "data" / "out.h5", threads=1)))

    def index_task(self) -> None:
        self.attempt(lambda: hs.indexes.commit([hs.indexes.build(self.document(), threads=1)]))

    def index_fragment(self) -> None:
        self.attempt(lambda: hs.indexes.commit([self.document()]))

    def container(self) -> None:
        out = self.path / "data" / "out.h5"
        self.attempt(lambda: repr(hs.open(out, threads=1)))
        self.attempt(lambda: self.read(hs.open(out, threads=1)["x"]))
        self.attempt(lambda: hs.verify(out))

        def append() -> None:
            plan = hs.WritePlan(out, "a")
            with plan.task(0) as task:
                task.create_dataset("x", data=[4], rows=True)
                fragment = task.finish()
            plan.commit([fragment])

        self.attempt(append)
        self.attempt(lambda: hs.vacuum(out, hours=0, orphans=True))
        self.attempt(lambda: hs.fuse(out, self.path / "data" / "fused.h5"))

    def references(self) -> None:
        file = self.attempt(lambda: hs.open(self.path / "data" / "references.json", threads=1))
        if isinstance(file, hs.File):
            self.attempt(lambda: repr(file))
            self.walk(file)
            self.reads(file)

    def journal(self) -> None:
        """The file is whole, so nothing that the journal at its end says is done to it; at most the journal is cut off."""
        data = self.path / "data" / "a.h5"
        before = data.read_bytes()
        whole = before[: before.rindex(b"hyperslab edit journal 2")]

        def edit() -> None:
            with hs.open(data, "r+") as file:
                repr(file)

        self.attempt(edit)
        if data.read_bytes() not in (before, whole):
            raise AssertionError("a journal changed a file that no edit interrupted")

    def master(self) -> None:
        file = self.attempt(lambda: hs.open(self.path / "data" / "out.h5", threads=1))
        if isinstance(file, hs.File):
            self.attempt(lambda: repr(file))
            self.walk(file)
            self.reads(file)
            self.attempt(lambda: file["x"])
        self.container()


def main() -> int:
    """The exit code: 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="documents")
    parser.add_argument("--first", type=int, default=0, help="number of the first document")
    parser.add_argument("--only", type=int, help="make this document, keep it and use it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "hyperslab-hostile")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="documents-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        originals = documents.Originals(scratch / "originals")
        run_graphs.warm_up()
        numbers = range(options.first, options.first + options.count) if options.only is None else [options.only]
        begin, findings, errors, kinds = time.monotonic(), 0, Counter[str](), Counter[str]()
        slowest = (0.0, -1)
        for number in numbers:
            if time.monotonic() - begin > options.seconds:
                break
            where = scratch / str(number)
            where.mkdir()
            kind = originals.document(number, where)
            (where / "kind").write_text(kind)
            outcome = run_graphs.read(where, reading=Reading)
            kinds[kind] += 1
            errors += outcome.errors
            slowest = max(slowest, (outcome.seconds, number))
            if outcome.finding is not None or options.only is not None:
                findings += outcome.finding is not None
                print(number, kind, outcome.finding or outcome, flush=True)
                shutil.copytree(where, options.keep / f"document-{number}", dirs_exist_ok=True, symlinks=True)
            shutil.rmtree(where)
        seconds = time.monotonic() - begin
        print(f"{sum(kinds.values())} documents in {seconds:.0f} s {dict(kinds)}, {sum(errors.values())} errors: {dict(errors)}")
        print(f"slowest {slowest[0]:.1f} s (document {slowest[1]}), {findings} findings")
        return min(findings, 1)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
