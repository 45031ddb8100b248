"""`make hostile`: damaged files by the hundred thousand, read in this one process.

Each file comes from its number alone, so that `--only NUMBER` makes it again. None may crash or hang
this process, take more memory than it is given, raise anything but an `hs.Error`, or be an
`hs.InternalError`; and where h5py reads an object too, the values must be the same.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter

import hyperslab as hs
from checksums import mend
from corpus import write_files
from mutations import Damage
from oracle import Oracle
from reading import Reading, read_everything

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#: Maximum length of a real file in bytes.
MOST_EXAMPLE_BYTES = 200_000
#: How many of the files gathered by `make conformance` are used, and the maximum length of one in bytes.
GATHERED, MOST_GATHERED_BYTES = 200, 24_000
#: Fraction of the files whose checksums are corrected after the damage, and the number of rounds.
MENDED, ROUNDS = 0.7, 12


def damaged(number: int, originals: list[tuple[str, Damage]], path: pathlib.Path) -> str:
    """Writes file `number`; the name of what it was."""
    rng = random.Random(number)
    name, damage = originals[rng.randrange(len(originals))]
    data = damage(rng)
    path.write_bytes(data)
    if rng.random() < MENDED:
        for _ in range(ROUNDS):
            if not mend(data, read_everything(path).errors):
                break
            path.write_bytes(data)
    return name


def gathered(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files of other people's packages, spread evenly over them; none where there is no such folder."""
    found: dict[bytes, pathlib.Path] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size <= MOST_GATHERED_BYTES):
        data = path.read_bytes()
        if data.startswith((b"\x89HDF", b"CDF")):
            found.setdefault(data, path)
    whole = [path for path in found.values() if not any(isinstance(e, (hs.CorruptError, hs.InvalidInputError)) for e in read_everything(path).errors)]
    return whole[:: max(len(whole) // GATHERED, 1)][:GATHERED]


def main() -> int:
    """The exit code: how many findings there were, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="files")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--only", type=int, help="make this one, keep it, and read it")
    parser.add_argument("--every", type=int, default=20, help="compare every n-th file with h5py; 0 for none")
    parser.add_argument("--memory", type=int, default=2 << 30, help="bytes of address space beyond what the imported libraries reserve")
    parser.add_argument("--timeout", type=float, default=5, help="seconds for one file")
    parser.add_argument(
        "--patience", type=float, default=5 * (ROUNDS + 1), help="seconds after which one file ends everything; more where the machine is stopped at times"
    )
    parser.add_argument("--gathered", type=pathlib.Path, help="a folder of other people's files, to be damaged too")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "hyperslab-hostile")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hostile-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        return run(options, scratch)
    finally:
        shutil.rmtree(scratch)


def run(options: argparse.Namespace, scratch: pathlib.Path) -> int:
    sources = write_files(scratch / "corpus")
    sources += [p for p in sorted((ROOT / "examples" / "data").iterdir()) if p.suffix != ".md" and p.stat().st_size < MOST_EXAMPLE_BYTES]
    if options.gathered is not None:
        others = gathered(options.gathered)
        print(f"{len(sources)} files of our own and {len(others)} of {options.gathered}")
        sources += others
    for source in sources:
        reading = read_everything(source, random.Random(0))
        wrong = [error for error in reading.errors if isinstance(error, hs.CorruptError)]
        assert not wrong, f"{source.name} is not damaged: {wrong[0]}"
    originals = [(source.name, Damage(source.read_bytes())) for source in sources]
    options.keep.mkdir(parents=True, exist_ok=True)
    if options.only is not None:
        path = options.keep / f"{options.only}.h5"
        print(damaged(options.only, originals, path), path)
        for error in read_everything(path, random.Random(options.only)).errors:
            print(f"{type(error).__name__}: {error}")
        print(*Oracle().compare(path, options.keep), sep="\n")
        return 0

    faulthandler.enable()
    oracle = Oracle()
    # Some libraries reserve gigabytes that they do not use.
    reserved = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (reserved + options.memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    errors: Counter[str] = Counter()
    findings: list[str] = []
    values, readable, slowest = 0, 0, (0.0, "none")
    begin = time.monotonic()
    number = options.first
    stopped: list[int] = []
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda sign, _: stopped.append(sign))
    while not stopped and number < options.first + options.count and time.monotonic() - begin < options.seconds:
        path = scratch / f"{number}.h5"
        # A crash or hang ends the process: the numbers that were printed identify the file.
        (options.keep / "last").write_text(f"{number}\n")
        faulthandler.dump_traceback_later(options.patience, exit=True)
        name, reading, seconds = "?", Reading(), 0.0
        try:
            name = damaged(number, originals, path)
            start = time.monotonic()
            reading = read_everything(path, random.Random(number))
            seconds = time.monotonic() - start
        except BaseException as error:  # even a panic is a finding to be counted
            where = traceback.format_exc().strip().splitlines()
            findings.append(f"{number} ({name}): {type(error).__name__}: {error}"[:400])
            print(findings[-1], *where[-5:-1], sep="\n", flush=True)
            shutil.copy(path, options.keep)
        faulthandler.cancel_dump_traceback_later()
        if seconds > options.timeout:
            # Others may have had the machine: what is slow is slow again.
            start = time.monotonic()
            read_everything(path, random.Random(number))
            seconds = min(seconds, time.monotonic() - start)
        if seconds > options.timeout:
            findings.append(f"{number} ({name}): {seconds:.1f} s")
            shutil.copy(path, options.keep)
        slowest = max(slowest, (seconds, f"{number} ({name})"))
        values += reading.values
        readable += reading.values > 0
        errors.update(error.kind for error in reading.errors)
        if options.every and number % options.every == 0 and not name.startswith("netcdf3"):
            for where, _, detail in oracle.compare(path, options.keep):
                findings.append(f"{number} ({name}): {where}: {detail}")
                print(findings[-1], flush=True)
        path.unlink(missing_ok=True)
        number += 1
        if number % 10_000 == 0:
            print(f"{number} files, {time.monotonic() - begin:.0f} s, {len(findings)} findings", flush=True)
    oracle.stop()
    if stopped:
        print(f"stopped by signal {stopped[0]} before the end")
    report(number - options.first, time.monotonic() - begin, readable, values, errors, oracle.counts, slowest, findings)
    return min(len(findings), 1)


def report(
    files: int, seconds: float, readable: int, values: int, errors: Counter[str], compared: Counter[str], slowest: tuple[float, str], findings: list[str]
) -> None:
    """The table."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [("files", files), ("seconds", f"{seconds:.0f}"), ("files with values", readable), ("values read", values)]
    rows += [(f"errors: {kind}", count) for kind, count in errors.most_common()]
    rows += [
        ("files compared with h5py", compared["files"]),
        ("values equal", compared["equal"]),
        ("values different", compared["different"]),
        ("only h5py reads it", compared["error"]),
        ("refused by name", compared["refused"]),
        ("h5py does not read it", compared["unreadable"]),
        ("h5py crashed", compared["h5py crashed"]),
        ("h5py hung", compared["h5py hung"]),
    ]
    rows += [("slowest file", f"{slowest[0] * 1000:.0f} ms, {slowest[1]}"), ("peak memory", f"{peak:.0f} MiB"), ("findings", len(findings))]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value:>12,}" if isinstance(value, int) else f"{name:<{width}}  {value:>12}")


if __name__ == "__main__":
    sys.exit(main())
