"""Containers of the VOL connector with other contents, each read in a process of its own with 1 GiB of address space and 5 seconds of
processor time: by `hs.open`, as the files of `run_graphs.py` are, and with `--connector` also as the connector opens them, by
`crates/arrow-container/examples/open_container.rs`. They begin as the golden containers, a folder and a file; a number then changes cells
and metadata of their Arrow files (extreme counts and places, names that lead elsewhere, parts that are missing), or bytes.

An abort, a hang, a panic, an error that is no `hs.Error`, or more than 64 MiB and 16 times the container's bytes is a finding, and so is
a changed file next to it.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import pyarrow as pa
import run_graphs
from documents import EXTREMES, NAMES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOLDEN = ROOT / "crates" / "arrow-container" / "tests" / "golden"
ADDRESS_SPACE, SECONDS = 1 << 30, 5
BASE_BYTES, BYTES_PER_BYTE = 64 << 20, 16


def built() -> pathlib.Path:
    """The program that opens a container."""
    command = ["cargo", "build", "--quiet", "--locked", "--release", "-p", "hyperslab-arrow-container", "--example", "open_container", "--message-format=short"]
    subprocess.run(command, cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "open_container"


def other(rng: random.Random, old: Any, kind: pa.DataType) -> Any:
    """Another value for a cell."""
    if rng.random() < 0.1:
        return None
    if pa.types.is_boolean(kind):
        return not old
    if pa.types.is_integer(kind):
        low, high = (0, (1 << kind.bit_width) - 1) if pa.types.is_unsigned_integer(kind) else (-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1)
        return rng.choice([n for n in EXTREMES if isinstance(n, int) and low <= n <= high])
    if pa.types.is_list(kind):
        return [other(rng, n, kind.value_type) or 0 for n in (old or [1]) * rng.choice([1, 1, 2, 40])]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        data = bytearray(old or b"\0")
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return rng.choice([bytes(data), bytes(data) * 40, b"", bytes(data[: len(data) // 2])])
    if pa.types.is_string(kind):
        return rng.choice([*NAMES, "group", "dataset", "datatype", "simple", "scalar", "null", "/", (old or "") + "x"])
    return old


def other_text(rng: random.Random, old: str) -> str:
    """Another value of metadata: numbers, lists of numbers, hexadecimal digits, names."""
    numbers = ",".join(str(rng.choice(EXTREMES)) for _ in range(rng.choice([1, 2, 5, 3000])))
    return rng.choice([numbers, old * 2, old[:-1], "", "true", "scalar", "simple", "null", *NAMES[:9]])


def change_file(rng: random.Random, path: pathlib.Path) -> None:
    with pa.ipc.open_file(path) as reader:
        schema, batches = reader.schema, [reader.get_batch(i) for i in range(reader.num_record_batches)]
    choice = rng.random()
    if choice < 0.35 and schema.metadata:
        key = rng.choice(list(schema.metadata))
        schema = schema.with_metadata({**schema.metadata, key: other_text(rng, schema.metadata[key].decode(errors="replace")).encode()})
    elif choice < 0.55 and any(field.metadata for field in schema):
        at = rng.choice([i for i, field in enumerate(schema) if field.metadata])
        field = schema.field(at)
        key = rng.choice(list(field.metadata))
        schema = schema.set(at, field.with_metadata({**field.metadata, key: other_text(rng, field.metadata[key].decode(errors="replace")).encode()}))
    elif batches and batches[0].num_rows and batches[0].num_columns:
        batch = batches[0]
        at = rng.randrange(batch.num_columns)
        column = batch.column(at)
        cells = column.to_pylist()
        for _ in range(1 + int(rng.expovariate(1.0))):
            row = rng.randrange(len(cells))
            cells[row] = other(rng, cells[row], column.type)
        columns = list(batch.columns)
        columns[at] = pa.array(cells, column.type)
        batches[0] = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
    if batches and rng.random() < 0.1:
        batches = rng.choice([batches * 2, [], [batch.slice(0, batch.num_rows // 2) for batch in batches]])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))


def change_bytes(rng: random.Random, path: pathlib.Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(data))
        kind = rng.random()
        if kind < 0.5:
            data[at] = rng.randrange(256)
        elif kind < 0.9:
            number = rng.choice([n for n in EXTREMES if isinstance(n, int) and 0 <= n < 1 << 64])
            data[at : at + 8] = number.to_bytes(8, "little")
        else:
            del data[at:]
            break
    path.write_bytes(data)


def container(number: int, where: pathlib.Path) -> pathlib.Path:
    """Makes container `number` in a new folder."""
    rng = random.Random(number)
    (where / "victim.txt").write_bytes(b"untouched")
    form = rng.choice(["folder", "folder", "folder", "file"])
    made = where / "container.h5"
    if form == "file":
        shutil.copyfile(GOLDEN / "version-1-file.h5", made)
        change_bytes(rng, made)
        return made
    shutil.copytree(GOLDEN / "version-1-folder.h5", made)
    for _ in range(rng.choice([1, 1, 2])):
        path = rng.choice(sorted(made.glob("*.arrow")))
        try:
            (change_file if rng.random() < 0.7 else change_bytes)(rng, path)
        except (pa.ArrowException, ValueError, OverflowError, KeyError):
            change_bytes(rng, path)
    if rng.random() < 0.1:
        one = rng.choice(sorted(made.glob("*.arrow")))
        one.unlink()
        rng.choice([lambda: one.symlink_to(where / "victim.txt"), one.mkdir, lambda: os.mkfifo(one), lambda: None])()
    return made


def finding(program: pathlib.Path, made: pathlib.Path) -> tuple[str | None, str]:
    """What is wrong with how the program reads a container, and what it said."""
    size = sum(path.lstat().st_size for path in [made, *made.rglob("*")])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    try:
        done = subprocess.run([program, made], capture_output=True, text=True, errors="replace", preexec_fn=limit, timeout=60)
    except subprocess.TimeoutExpired:
        return "hang: it waits", ""
    if done.returncode < 0:
        return ("hang" if -done.returncode in (signal.SIGXCPU, signal.SIGKILL) else f"abort: {signal.Signals(-done.returncode).name}"), done.stderr[-300:]
    if "caught a panic" in done.stdout:
        return "panic: " + (re.search(r"panicked at ([^:]*/)?([^/:]+:\d+)", done.stderr) or ["", "", "?"])[2], done.stderr[-300:]
    peak = re.search(r"^peak_kib (\d+)$", done.stdout, re.MULTILINE)
    if done.returncode or peak is None:
        return f"ended with {done.returncode}", done.stderr[-300:]
    peak_bytes = int(peak[1]) << 10
    said = done.stdout.splitlines()[0]
    return (f"memory: {peak_bytes >> 20} MiB for {size} bytes" if peak_bytes > BASE_BYTES + BYTES_PER_BYTE * size else None), said


def main() -> int:
    """The exit code: 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="containers")
    parser.add_argument("--first", type=int, default=0, help="number of the first container")
    parser.add_argument("--only", type=int, help="make this container, keep it and open it")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "hyperslab-hostile")
    parser.add_argument("--connector", action="store_true", help="also build the program that opens containers as the connector does")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    program = built() if options.connector else None
    run_graphs.warm_up()
    begin, findings, errors, whole = time.monotonic(), Counter[str](), Counter[str](), 0
    numbers = range(options.first, options.first + options.count) if options.only is None else [options.only]
    with tempfile.TemporaryDirectory(prefix="containers-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        for number in numbers:
            where = pathlib.Path(scratch) / str(number)
            where.mkdir()
            made = container(number, where)
            read = run_graphs.read(made)
            found, words = read.finding, ""
            errors += read.errors
            whole += not read.errors
            if found is None and program is not None:
                found, words = finding(program, made)
            if found is None and (where / "victim.txt").read_bytes() != b"untouched":
                found = "a file next to the container was changed"
            if found is not None or options.only is not None:
                print(number, found, words, flush=True)
                shutil.copytree(
                    where,
                    options.keep / f"container-{number}",
                    dirs_exist_ok=True,
                    symlinks=True,
                    ignore=lambda folder, names: [n for n in names if (pathlib.Path(folder) / n).is_fifo()],
                )
            if found is not None:
                findings[found.split(":")[0]] += 1
            shutil.rmtree(where)
    print(
        f"{len(numbers)} containers in {time.monotonic() - begin:.0f} s: {whole} without any error, errors: {dict(errors)}; findings: {dict(findings) or 'none'}"
    )
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
