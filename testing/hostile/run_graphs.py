"""Reads the files of `graphs.py`, each in a process of its own with 1 GiB of address space and 5 seconds of processor time.

A file may end in values or in an `hs.Error` that is no `InternalError`. Opening, listing and `repr` may take 64 MiB and 16 times
the file's bytes at most, beyond the interpreter with all modules imported. Processes are forked from one that has imported everything,
so hundreds of files run a second. `--use` does other things with the files (`uses.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import graphs
import hyperslab as hs
from hyperslab.objects import tree

ADDRESS_SPACE = 1 << 30
SECONDS = 5
#: Time on the clock after which a file's process is ended: the machine may have other work.
PATIENCE = 60
#: What opening, listing and showing may take beyond the interpreter with its imports: 64 MiB and 16 times the bytes of the file.
BASE_BYTES, BYTES_PER_BYTE = 64 << 20, 16
#: Objects that are read, and bytes of one read.
MOST_READS, MOST_BYTES = 60, 1 << 20
#: Lines of a tree that are looked at.
MOST_LINES = 20_000
#: Files of a folder whose outcomes are shown, all of them.
MOST_SHOWN = 200


@dataclass
class Outcome:
    """What came of one file: `finding` if something is wrong, the stage that it came to, kinds of errors, peak memory."""

    finding: str | None
    stage: str
    errors: Counter[str]
    peak: int
    seconds: float


class Reading:
    """Reads one file through everything that opens by itself or by one word of a user."""

    def __init__(self, path: pathlib.Path, report: Callable[[dict], None]) -> None:
        self.path, self.report = path, report
        self.errors: Counter[str] = Counter()
        self.numbers: list[int] = []

    def attempt(self, work: Callable[[], object]) -> object:
        try:
            return work()
        except hs.Error as error:
            if isinstance(error, hs.InternalError):
                raise
            text = str(error)
            if not text.replace("\n", "").isprintable():
                raise AssertionError("an error that a terminal would act on: " + ascii(text[:200])) from None
            self.errors[error.kind] += 1
            return None

    def everything(self) -> None:
        start = resident_peak()
        self.report({"stage": "open"})
        file = self.attempt(lambda: hs.open(self.path, threads=1))
        if isinstance(file, hs.File):
            for stage, work in (("list", self.walk), ("repr", repr), ("html", self.html), ("ls", self.ls)):
                self.report({"stage": stage})
                self.attempt(lambda work=work: work(file))
        self.report({"peak": resident_peak() - start, "stage": "reads"})
        if isinstance(file, hs.File):
            self.reads(file)
            for stage, work in (("sql", self.sql), ("plain", self.plain)):
                self.report({"stage": stage})
                self.attempt(lambda work=work: work(file))
        self.report({"stage": "end", "errors": dict(self.errors)})

    def html(self, file: hs.File) -> None:
        file._repr_html_()

    def ls(self, file: hs.File) -> None:
        for number, branch in enumerate(tree.branches(file, True)):
            if not (branch.name + branch.rest).isprintable():
                raise AssertionError("a line that a terminal would act on: " + ascii(branch.name + branch.rest))
            if number > MOST_LINES:
                if self.path.is_file() and self.path.stat().st_size < MOST_LINES:
                    raise AssertionError(f"more than {MOST_LINES} lines of a file of fewer bytes")
                return

    def walk(self, file: hs.File) -> None:
        """Each object once, with its attributes. Nodes are not kept: their paths may be as long as the file."""
        seen = {file._number}
        pending = [file._number]
        while pending:
            node = file._object(file._file, pending.pop(), "/x")
            self.attempt(lambda node=node: [self.attempt(lambda name=name: node.attrs[name]) for name in list(node.attrs)[:300]])
            if node.kind == "dataset":
                self.numbers.append(node._number)
            links = self.attempt(node._links) if node.kind == "group" else None
            for number in () if links is None else links.objects:
                if number is not None and number not in seen:
                    seen.add(number)
                    pending.append(number)

    def reads(self, file: hs.File) -> None:
        for number in self.numbers[:MOST_READS]:
            node = file._object(file._file, number, "/x")
            self.attempt(lambda node=node: self.read(node))

    def read(self, node: hs.Dataset) -> None:
        repr(node)
        if not isinstance(node, hs.Dataset):
            return
        str((node.chunks, node.filters))
        if node.dtype.itemsize > MOST_BYTES:
            return
        if node.size * node.dtype.itemsize <= MOST_BYTES:
            self.attempt(lambda: node[()])
        if node.shape:
            self.attempt(lambda: node[tuple(slice(0, 1) for _ in node.shape)])
            self.attempt(lambda: node[tuple(slice(max(extent - 2, 0), extent) for extent in node.shape)])

    def sql(self, file: hs.File) -> None:
        hs.sql("select 1", file).fetchall()
        for pattern in ("/*", "/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/x", "/m*"):
            self.attempt(lambda pattern=pattern: file.table(pattern, limit=2).to_arrow())
        self.attempt(lambda: file.table("/", limit=2).to_arrow())
        self.attempt(lambda: file["s0"])

    def plain(self, file: hs.File) -> None:
        """Under strict limits everything is refused, or costs as little."""
        strict = {"objects": 100, "metadata_bytes": 1 << 20, "links_per_group": 100, "messages_per_object": 100, "chunks": 100, "depth": 8}
        strict_file = self.attempt(lambda: hs.open(self.path, threads=1, limits=strict, format="hdf5"))
        if isinstance(strict_file, hs.File):
            self.attempt(lambda: repr(strict_file))


def resident_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reserved_bytes() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def without_huge_pages() -> None:
    """Memory that is touched is counted, not what the system rounds it up to: the allocator asks for pages of 2 MiB, which it gets or not."""
    if sys.platform == "linux":
        pr_set_thp_disable = 41
        if ctypes.CDLL(None, use_errno=True).prctl(pr_set_thp_disable, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "huge pages cannot be switched off")


def child(path: pathlib.Path, pipe: int, reading_class: type[Reading], seconds: int) -> None:
    """What the process of one file does."""
    without_huge_pages()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    limit = reserved_bytes() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def report(facts: dict) -> None:
        os.write(pipe, (json.dumps(facts) + "\n").encode())

    # What Rust prints before it aborts.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warnings.simplefilter("ignore")
    reading = reading_class(path, report)
    try:
        reading.everything()
    except BaseException as error:  # whatever is not an hs.Error is a finding
        with contextlib.suppress(BaseException):
            where = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-3:]]
            report({"finding": f"{type(error).__name__}: {error} at {' '.join(where)}"[:400]})
    os._exit(0)


def read(path: pathlib.Path, base_bytes: int = BASE_BYTES, reading: type[Reading] = Reading, seconds: int = SECONDS) -> Outcome:
    """One file, or a folder of files, in a process of its own."""
    size = path.stat().st_size if path.is_file() else sum(one.lstat().st_size for one in path.rglob("*"))
    out, pipe = os.pipe()
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        child(path, pipe, reading, seconds)
    os.close(pipe)
    data, hung = b"", False
    while True:
        ready, _, _ = select.select([out], [], [], max(0.0, start + PATIENCE - time.monotonic()))
        if not ready:
            hung = True
            os.kill(pid, signal.SIGKILL)
        part = os.read(out, 1 << 16)
        if not part:
            break
        data += part
    os.close(out)
    _, status, usage = os.wait4(pid, 0)
    facts: dict = {}
    for line in data.decode().splitlines():
        with contextlib.suppress(ValueError):
            facts |= json.loads(line)
    stage, peak, finding = facts.get("stage", "begin"), facts.get("peak", 0), facts.get("finding")
    seconds = usage.ru_utime + usage.ru_stime
    if hung or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        finding = f"hang: more than {min(seconds, SECONDS)} s in {stage}"
    elif os.WIFSIGNALED(status):
        finding = f"abort: {signal.Signals(os.WTERMSIG(status)).name} in {stage}"
    elif finding is None and stage != "end":
        finding = f"ended in {stage}"
    elif finding is not None:
        finding = f"exception in {stage}: {finding}"
    elif peak > base_bytes + (BYTES_PER_BYTE if base_bytes else 0) * size:
        finding = f"memory: {peak >> 20} MiB for {size} bytes"
    return Outcome(finding, stage, Counter(facts.get("errors", {})), peak, seconds)


def main() -> int:
    """The exit code: 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="files")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--only", type=int, help="make this file, keep it and read it here")
    parser.add_argument("--file", type=pathlib.Path, help="read this file, or all files below this folder")
    parser.add_argument("--most-mib", type=int, default=BASE_BYTES >> 20, help="what opening may take besides what the file's length allows")
    parser.add_argument("--until", type=int, default=1 << 30, help="stop after this many findings")
    parser.add_argument(
        "--use",
        choices=["read", "open", "edit", "objects", "convert", "recover"],
        default="read",
        help="what is done with each file: read it, only open, list and show it, change its values or its objects, make other files of it, or check and recover it",
    )
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "hyperslab-hostile")
    parser.add_argument("--json", type=pathlib.Path, help="write the findings there")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    if options.file is not None:
        return these(options)
    if options.only is not None:
        path = options.keep / f"graph-{options.only}.h5"
        path.write_bytes(graphs.graph(options.only))
        print(path, path.stat().st_size, "bytes", used(path, options))
        return 0
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="graphs-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        return run(options, scratch)
    finally:
        shutil.rmtree(scratch)


def these(options: argparse.Namespace) -> int:
    """The file that was named, or all below the folder, of which files with the same bytes are read once. The exit code: 1 if there are findings."""
    warm_up()
    paths = [options.file] if options.file.is_file() else [path for path in sorted(options.file.rglob("*")) if path.is_file() and not path.is_symlink()]
    different = {(path.stat().st_size, hashlib.sha256(path.read_bytes()).digest()): path for path in reversed(paths)}
    findings, most = 0, (0.0, pathlib.Path())
    for path in sorted(different.values()):
        outcome = used(path, options)
        findings += outcome.finding is not None
        most = max(most, (outcome.peak / ((options.most_mib << 20) + BYTES_PER_BYTE * path.stat().st_size), path))
        if outcome.finding is not None or len(different) < MOST_SHOWN:
            print(f"{path.relative_to(options.file.parent)}: {outcome}", flush=True)
    print(f"{len(different)} files, {findings} findings; at most {most[0]:.0%} of the memory that may be taken ({most[1].name})")
    return int(findings > 0)


def used(path: pathlib.Path, options: argparse.Namespace) -> Outcome:
    import uses

    return read(path, options.most_mib << 20, uses.USES[options.use], uses.SECONDS[options.use])


def run(options: argparse.Namespace, scratch: pathlib.Path) -> int:
    warm_up()
    begin = time.monotonic()
    findings: list[tuple[int, str]] = []
    errors: Counter[str] = Counter()
    files, whole, slowest, largest = 0, 0, (0.0, -1), (0, -1)
    for number in range(options.first, options.first + options.count):
        if time.monotonic() - begin > options.seconds or len(findings) >= options.until:
            break
        folder = scratch / str(number)
        folder.mkdir()
        path = folder / f"{number}.h5"
        path.write_bytes(graphs.graph(number))
        outcome = used(path, options)
        files += 1
        whole += not outcome.errors and outcome.finding is None
        errors += outcome.errors
        slowest, largest = max(slowest, (outcome.seconds, number)), max(largest, (outcome.peak, number))
        if outcome.finding is not None:
            findings.append((number, outcome.finding))
            print(number, path.stat().st_size, outcome.finding, flush=True)
            (options.keep / f"graph-{number}.h5").write_bytes(graphs.graph(number))
        shutil.rmtree(folder)
    seconds = time.monotonic() - begin
    classes = Counter(finding.split(":")[0].split(" in ")[0] for _, finding in findings)
    print(
        f"{files} files in {seconds:.0f} s ({files / max(seconds, 1e-9):.0f} a second), {whole} without any error, {sum(errors.values())} errors: {dict(errors)}"
    )
    print(f"slowest {slowest[0]:.1f} s (file {slowest[1]}), most memory {largest[0] >> 20} MiB (file {largest[1]}), {len(findings)} findings: {dict(classes)}")
    if options.json:
        options.json.write_text(json.dumps(findings))
    return min(len(findings), 1)


def warm_up() -> None:
    """Imports what reads import when they are first used: each file's process would do it again."""
    import duckdb  # noqa: F401
    import hyperslab.engines.sql
    import hyperslab.models  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
