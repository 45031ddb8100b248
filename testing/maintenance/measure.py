"""Measures what is saved of damaged files, next to h5py, and h5clear with h5py. Prints a table in Markdown, and all figures as JSON with --json.

`python testing/maintenance/measure.py [--seeds N] [--cuts N] [--json OUT] [--only KIND] [--corpus FOLDER --count N]`

A share is the mean of the shares of the damaged files, so that large files count as small ones do.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import filecmp
import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import h5py
import hdf5plugin  # noqa: F401
import hyperslab as hs
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import dump_tools  # noqa: E402
import files  # noqa: E402

BLOCK = 4096
#: Seconds that h5py may take for a damaged file, in which it may hang or crash.
PATIENCE = 5


def has_references(dtype: np.dtype[Any]) -> bool:
    """Whether values hold references, which are other bytes in each file."""
    if dtype.names:
        return any(has_references(dtype[name]) for name in dtype.names)
    inner = h5py.check_vlen_dtype(dtype) or (dtype.subdtype[0] if dtype.subdtype else None)
    return isinstance(h5py.check_ref_dtype(dtype), type) or (isinstance(inner, np.dtype) and has_references(inner))


class Truth:
    """What a whole file holds, by the address of each object's header."""

    def __init__(self, path: pathlib.Path) -> None:
        self.paths: dict[int, str] = {}
        self.values: dict[str, np.ndarray] = {}
        with h5py.File(path, "r") as f:
            self.paths[h5py.h5o.get_info(f.id).addr] = "/"
            f.visititems(self._add)
        self.objects = len(self.paths)
        self.elements = sum(array.size for array in self.values.values())

    def _add(self, name: str, found: Any) -> None:
        self.paths[h5py.h5o.get_info(found.id).addr] = f"/{name}"
        if not isinstance(found, h5py.Dataset) or found.shape is None or has_references(found.dtype):
            return
        # Values in other files are not there next to a damaged copy.
        if not found.is_virtual and not found.external:
            self.values[f"/{name}"] = np.asarray(found[()])


def same_record(one: Any, other: Any) -> bool:
    if isinstance(one, np.void) and one.dtype.names:
        return all(same_record(one[name], other[name]) for name in one.dtype.names)
    if isinstance(one, np.ndarray) and one.dtype.hasobject:
        return one.shape == other.shape and all(map(same_record, one.ravel(), other.ravel()))
    return bool(np.array_equal(one, other))


def same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays have the same elements, bit by bit for numbers."""
    if one.shape != other.shape:
        return np.zeros(one.shape, bool)
    if one.dtype == object:
        return np.array([same_record(a, b) for a, b in zip(one.ravel(), other.ravel(), strict=True)], bool).reshape(one.shape)
    one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)
    if one.dtype != other.dtype:
        return np.asarray(one == other)
    if one.dtype.hasobject:
        # Records with members of variable length: NaN in one of them counts as different.
        return np.array([same_record(a, b) for a, b in zip(one.ravel(), other.ravel(), strict=True)], bool).reshape(one.shape)
    width = max(one.dtype.itemsize, 1)
    bits = [array.reshape(-1).view(f"V{width}") if array.size else array.reshape(-1) for array in (one, other)]
    return np.asarray(bits[0] == bits[1]).reshape(one.shape)


Counts = collections.Counter[str]


def ours(path: pathlib.Path, truth: Truth) -> Counts:
    counts: Counts = collections.Counter()
    out = path.with_suffix(".saved.h5")
    out.unlink(missing_ok=True)
    try:
        found = hs.recover(path, out)
    except hs.Error as error:
        if isinstance(error, hs.InternalError):
            print(f"INTERNAL: {path} {error}", file=sys.stderr)
            counts["internal errors"] += 1
        return counts
    paths = collections.Counter(one.path for one in found.objects)
    counts["paths of several objects"] += sum(count > 1 for count in paths.values())
    with h5py.File(out, "r") as f:
        for one in found.objects:
            original = truth.paths.get(one.offset)
            if original is None or one.path not in f:
                counts["objects made up"] += original is None and one.certainty == "certain"
                continue
            counts["objects"] += 1
            counts["named"] += one.path == original or not one.path.startswith("/lost+found")
            expected = truth.values.get(original)
            if expected is None or one.kind != "dataset":
                continue
            if not isinstance(f[one.path], h5py.Dataset):
                print(f"WRONG: {path} {one.path} is not a dataset in what was saved", file=sys.stderr)
                counts["wrong and certain"] += expected.size
                continue
            values = one.values
            assert values is not None
            sure = values.certainty == "certain" and one.certainty == "certain"
            try:
                got = np.asarray(f[one.path][()])
            except OSError:
                # A damaged chunk of a filter that only a plug-in knows is kept as it is. Nobody takes its values for right ones.
                counts["wrong and certain"] += expected.size if sure else 0
                continue
            equal = same(expected, got)
            told = np.zeros(expected.shape, bool)
            for start, count in (*values.lost, *values.doubtful):
                told[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))] = True
            counts["elements"] += int(equal.sum())
            wrong = int((~equal & ~told).sum())
            # h5py shows an element that is an array as more dimensions.
            wrong -= min(wrong, values.lost_heap_values * (expected.size // max(f[one.path].size, 1)))
            counts["wrong and certain" if sure else "wrong and plausible"] += wrong
            if wrong and sure:
                print(f"WRONG: {path} {one.path} {wrong}", file=sys.stderr)
    return counts


def read_with_h5py(path: pathlib.Path, truth: Truth) -> Counts:
    """What h5py reads, object by object; of arrays that it cannot read whole, row by row."""
    counts: Counts = collections.Counter()
    try:
        f = h5py.File(path, "r")
    except Exception:
        return counts

    def look(path: str, found: Any) -> None:
        counts["objects"] += 1
        if not isinstance(found, h5py.Dataset) or path not in truth.values:
            return
        expected = truth.values[path]
        try:
            counts["elements"] += int(same(expected, np.asarray(found[()])).sum())
        except Exception:
            for at in range(len(expected) if expected.ndim else 0):
                with contextlib.suppress(Exception):
                    counts["elements"] += int(same(expected[at : at + 1], np.asarray(found[at : at + 1])).sum())

    seen = set()

    def walk(group: h5py.Group, above: str) -> None:
        with contextlib.suppress(Exception):
            for name in list(group):
                with contextlib.suppress(Exception):
                    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                        continue
                    found = group[name]
                    address = h5py.h5o.get_info(found.id).addr
                    if address not in seen:
                        seen.add(address)
                        look(f"{above}/{name}", found)
                        if isinstance(found, h5py.Group):
                            walk(found, f"{above}/{name}")

    counts["objects"] += 1
    walk(f, "")
    return counts


def peer(path: pathlib.Path, truth: Truth) -> Counts:
    """What h5py reads, in a process of its own: it may crash or hang."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(dict(read_with_h5py(path, truth))))
    process.start()
    sender.close()
    counts: Counts = collections.Counter()
    with contextlib.suppress(EOFError):
        if receiver.poll(PATIENCE):
            counts.update(receiver.recv())
    process.kill()
    process.join()
    return counts


def cleared(path: pathlib.Path, truth: Truth, before: Counts) -> Counts:
    """What h5py reads after `h5clear`, which removes marks and sets the end of the file. `before`: what it read of the file as it was."""
    copy = path.with_suffix(".cleared.h5")
    shutil.copyfile(path, copy)
    command, environment = dump_tools.program("h5clear") or sys.exit("h5clear is missing: make dump-tools")
    for options in (["-s"], ["--increment=0"]):
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([*command, *options, copy], capture_output=True, timeout=PATIENCE, env=environment)
    return before if filecmp.cmp(path, copy, shallow=False) else peer(copy, truth)


def damaged(original: bytes, cuts: int, seeds: int) -> Iterator[tuple[str, bytes]]:
    for place in range(1, cuts + 1):
        yield "cut", original[: len(original) * place // (cuts + 1)]
    blocks = max(len(original) // BLOCK, 1)
    for count in (1, 10, 100):
        for seed in range(seeds):
            data = bytearray(original)
            for block in random.Random(seed * 1000 + count).sample(range(blocks), min(count, blocks)):
                data[block * BLOCK : (block + 1) * BLOCK] = bytes(len(data[block * BLOCK : (block + 1) * BLOCK]))
            if count < blocks:
                yield f"{count} blocks", bytes(data)


KILLED = """
import sys, time, h5py, numpy as np
f = h5py.File(sys.argv[1], "w", libver=sys.argv[2])
rng = np.random.default_rng(1)
for n in range(int(sys.argv[3])):
    f.create_dataset(f"step{n:03}", data=np.cumsum(rng.integers(0, 9, (200, 300)), axis=0), chunks=(50, 300), compression="gzip")
    if sys.argv[4] == "flush" and n == int(sys.argv[3]) // 2:
        f.flush()
print("written", flush=True)
time.sleep(60)
"""


def killed(folder: pathlib.Path) -> Iterator[tuple[str, pathlib.Path, pathlib.Path]]:
    """Files whose writer was killed without closing them: its name, the file, and the file that it would have been."""
    for libver in ("earliest", "latest"):
        for flush in ("never", "flush"):
            for steps in (20, 300):
                path = folder / f"killed-{libver}-{flush}-{steps}.h5"
                run = subprocess.Popen([sys.executable, "-c", KILLED, path, libver, str(steps), flush], stdout=subprocess.PIPE, text=True)
                assert run.stdout is not None and run.stdout.readline()
                run.send_signal(signal.SIGKILL)
                run.wait()
                whole = folder / f"whole-{libver}-{flush}-{steps}.h5"
                script = KILLED.replace('print("written", flush=True)\ntime.sleep(60)', "f.close()")
                subprocess.run([sys.executable, "-c", script, whole, libver, str(steps), flush], check=True)
                yield f"killed, {'flushed once' if flush == 'flush' else 'never flushed'}", path, whole


#: Sizes of files of the corpus that are damaged.
CORPUS_BYTES = range(2_000, 3_000_000)
#: The superblock of HDF5, with or without a user block.
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def superblock_version(path: pathlib.Path) -> int | None:
    head = path.read_bytes()[: 1 << 16]
    places = (place for place in (0, 512, 1024, 2048, 4096) if head[place : place + 8] == SIGNATURE)
    return next((head[place + 8] for place in places if len(head) > place + 8), None)


def of_corpus(folder: pathlib.Path, count: int) -> dict[str, pathlib.Path]:
    """`count` HDF5 files of a folder that h5py opens, the same each time: the first of each package (a folder below `folder`) and
    superblock version, then the second of each, and so on. Within these, files of equal content count once, in the order of their SHA-256."""
    kinds: dict[tuple[str, int], dict[str, pathlib.Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size in CORPUS_BYTES and (version := superblock_version(path)) is not None:
            with contextlib.suppress(Exception), h5py.File(path, "r"):
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                kinds.setdefault((path.relative_to(folder).parts[0], version), {}).setdefault(digest, path)
    turns = itertools.zip_longest(*([kind[digest] for digest in sorted(kind)] for kind in kinds.values()))
    chosen = [path for turn in turns for path in turn if path is not None][:count]
    print(f"{len(chosen)} of {sum(map(len, kinds.values()))} files, {len(kinds)} kinds", file=sys.stderr)
    return {f"corpus: {path.relative_to(folder)}": path for path in chosen}


def table(rows: dict[str, dict[str, Counts]]) -> str:
    """The shares as a table in Markdown."""
    lines = [
        "| damage | files | objects: ours (with name) | h5py | h5clear, h5py | values: ours | h5py | h5clear, h5py | wrong, told certain | wrong, told plausible |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for case, row in rows.items():
        count = {"elements": row["all"]["files_with_elements"]}

        def share(who: str, what: str, row: dict[str, Counts] = row, count: dict[str, int] = count) -> str:
            return f"{100 * row[who].get(f'share of {what}', 0) / max(count.get(what, row['all']['files']), 1):.1f} %"

        lines.append(
            f"| {case} | {row['all']['files']} | {share('ours', 'objects')} ({share('ours', 'named')}) | {share('h5py', 'objects')} | "
            f"{share('h5clear', 'objects')} | {share('ours', 'elements')} | {share('h5py', 'elements')} | {share('h5clear', 'elements')} | "
            f"{row['ours'].get('wrong and certain', 0)} | {row['ours'].get('wrong and plausible', 0)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=pathlib.Path, help="damage files of this folder, not those of files.py")
    parser.add_argument("--count", type=int, default=60, help="how many of them")
    parser.add_argument("--part", default="1/1", help="2/3: the second third of them, for processes side by side")
    parser.add_argument("--together", nargs="+", type=pathlib.Path, help="print the table of these files of --json, and measure nothing")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for damaged files with wrong values or internal errors")
    options = parser.parse_args()
    rows: dict[str, dict[str, Counts]] = {}
    if options.together:
        for path in options.together:
            for case, row in json.loads(path.read_text()).items():
                for who, counts in row.items():
                    rows.setdefault(case, collections.defaultdict(collections.Counter))[who].update(counts)
        print(table(rows))
        return
    part, parts = map(int, options.part.split("/"))
    started = time.time()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def measure(case: str, path: pathlib.Path, truth: Truth, original: pathlib.Path) -> None:
            row = rows.setdefault(case, {who: collections.Counter() for who in ("all", "ours", "h5py", "h5clear")})
            row["all"].update(files=1, files_with_elements=truth.elements > 0)
            found: dict[str, Counts] = {}
            for who, look in (("ours", ours), ("h5py", peer), ("h5clear", lambda path, truth: cleared(path, truth, found["h5py"]))):
                began = time.time()
                counts = found[who] = look(path, truth)
                for what, of in (("objects", truth.objects), ("named", truth.objects), ("elements", truth.elements)):
                    row[who][f"share of {what}"] += counts[what] / max(of, 1)
                row[who].update(counts)
                row[who]["seconds"] += time.time() - began
                if options.keep and (
                    counts["wrong and certain"] or counts["wrong and plausible"] or counts["internal errors"] or counts["paths of several objects"]
                ):
                    options.keep.mkdir(exist_ok=True)
                    shutil.copyfile(path, options.keep / f"{len(list(options.keep.iterdir()))} {original.name}")
                    print(f"KEPT: {original} {case} {dict(counts)}", file=sys.stderr, flush=True)

        made = of_corpus(options.corpus, options.count) if options.corpus else files.make_all(folder)
        for kind, path in list(made.items())[part - 1 :: parts]:
            if options.only and options.only not in kind:
                continue
            try:
                truth = Truth(path)
            except Exception as error:
                print(f"{kind}: left out, h5py does not read it whole: {error}", file=sys.stderr)
                continue
            group = kind if kind in files.MADE else "examples"
            if kind.startswith("corpus"):
                group = "corpus, superblock 0 or 1" if (superblock_version(path) or 0) < 2 else "corpus, superblock 2 or 3"
            for case, data in damaged(path.read_bytes(), options.cuts, options.seeds):
                broken = folder / "broken.h5"
                broken.write_bytes(data)
                measure(f"{group}, {case}", broken, truth, path)
            print(f"{kind}: {time.time() - started:.0f} s", file=sys.stderr, flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(rows))
        if options.only == "killed" or not (options.only or options.corpus):
            for case, broken, whole in killed(folder):
                measure(case, broken, Truth(whole), whole)
    print(table(rows))
    print(f"load {os.getloadavg()[0]:.1f}, {time.time() - started:.0f} s", file=sys.stderr)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows))
    if any(row["ours"]["internal errors"] for row in rows.values()):
        sys.exit("an internal error of ours")
    if any(row["ours"]["wrong and certain"] for row in rows.values()):
        sys.exit("a value that was reported as certain is wrong")


if __name__ == "__main__":
    main()
