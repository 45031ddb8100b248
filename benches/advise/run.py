"""How well advice predicts: files are advised, written anew, and timed; predicted and measured gains side by side.

`make bench-advise` writes the table into benches/results/advise.json. Files are generated, and taken from the conformance corpus if it is there.
Prediction and measurement read different places of the dataset."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import hyperslab as hs
import numpy as np
from hyperslab.advising import pilot

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches" / "results" / "advise.json"
HEAD = ["file", "access", "change", "predicted", "measured", "error"]
CORPUS = pathlib.Path.home() / ".cache" / "hyperslab" / "conformance" / "files"
SERIES, LEVEL, ROWS, WHOLE = "time series at a point", "one level", "random rows", "whole"


class Case(NamedTuple):
    """A file and what is read of it."""

    name: str
    accesses: list[str]
    write: Callable[[str], None] | None
    path: str | None = None
    dataset: str | None = None
    plugins: bool = False


def _grid(steps: int, lat: int, lon: int) -> np.ndarray:
    chance = np.random.default_rng(7)
    base = 280 + 15 * np.cos(np.linspace(-1.5, 1.5, lat))[None, :, None] + np.cumsum(chance.normal(scale=0.1, size=(1, lat, lon)), axis=2)
    return np.round(base + np.cumsum(chance.normal(scale=0.3, size=(steps, lat, lon)), axis=0), 2).astype("f4")


def _dataset(values: Callable[[], np.ndarray], **options: object) -> Callable[[str], None]:
    def write(path: str) -> None:
        with hs.create(path) as f:
            f.create_dataset("x", data=values(), **options)

    return write


def generated(scale: int) -> Iterator[Case]:
    """Files that are stored for another access than the wanted one, and some that are stored well."""
    steps = 400 * scale

    def grid() -> np.ndarray:
        return _grid(steps, 60, 90)

    def noise() -> np.ndarray:
        return np.random.default_rng(1).random((2000 * scale, 500))

    def counts() -> np.ndarray:
        return np.random.default_rng(2).poisson(3, (2000 * scale, 600)).astype("u2")

    def images() -> np.ndarray:
        return np.random.default_rng(3).poisson(40, (16 * scale, 6, 128, 128)).astype("u2")

    def table() -> np.ndarray:
        return np.cumsum(np.random.default_rng(4).normal(size=2_000_000 * scale))

    by_step = {"chunks": (1, 60, 90), "compression": "gzip", "shuffle": True}
    yield Case("grid in steps, gzip", [SERIES], _dataset(grid, **by_step))
    yield Case("grid in steps, gzip", [f"{SERIES}=100", LEVEL], _dataset(grid, **by_step))
    yield Case("grid in steps, gzip", [SERIES, f"{LEVEL}=100"], _dataset(grid, **by_step))
    yield Case("grid in steps, gzip", [WHOLE], _dataset(grid, **by_step), plugins=True)
    yield Case("grid in steps, gzip", ["[:, ?:4, ?:4]"], _dataset(grid, **by_step))
    yield Case("grid in series, gzip", [LEVEL], _dataset(grid, chunks=(steps, 6, 6), compression="gzip"))
    yield Case("grid in series, gzip", [LEVEL], _dataset(grid, chunks=(steps, 6, 6), compression="gzip"), plugins=True)
    yield Case("grid, contiguous", [SERIES], _dataset(grid))
    yield Case("grid in one chunk, gzip", ["[?:10, :, :]"], _dataset(grid, chunks=(steps, 60, 90), compression="gzip"))
    yield Case("noise in columns", [ROWS], _dataset(noise, chunks=(2000 * scale, 1)))
    yield Case("noise in small squares", [WHOLE], _dataset(noise, chunks=(10, 10)))
    yield Case("noise in small squares", [ROWS], _dataset(noise, chunks=(10, 10)))
    yield Case("counts in rows, gzip", ["[:, ?]"], _dataset(counts, chunks=(10, 600), compression="gzip"))
    yield Case("counts in rows, gzip", [f"{WHOLE}", f"{ROWS}=100"], _dataset(counts, chunks=(500, 600), compression="gzip"))
    yield Case("images, lz4", ["[:, ?, ?, ?]"], _dataset(images, chunks=(1, 1, 128, 128), compression="lz4"))
    yield Case("images, lz4", ["[?, :, ?:32, ?:32]"], _dataset(images, chunks=(1, 1, 128, 128), compression="lz4"))
    yield Case("images in one chunk each step, zstd", [f"{LEVEL}"], _dataset(images, chunks=(16, 6, 128, 128), compression="zstd"))
    yield Case("column in small chunks, gzip", [WHOLE], _dataset(table, chunks=(500,), compression="gzip", shuffle=True))
    yield Case("column in small chunks, gzip", ["[?:100000]"], _dataset(table, chunks=(500,), compression="gzip", shuffle=True))
    yield Case("column in one chunk, gzip", ["[?:1000]"], _dataset(table, chunks=(1_000_000,), compression="gzip", shuffle=True))


def corpus(folder: pathlib.Path, count: int) -> Iterator[Case]:
    """Real files: in each the largest dataset of at least 1 MiB, and accesses by its number of dimensions."""
    found: dict[tuple[object, ...], tuple[int, pathlib.Path, str, int]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".h5", ".nc", ".hdf5", ".h5ad", ".nc4") or not 1 << 20 <= path.stat().st_size <= 64 << 20:
            continue
        try:
            with hs.open(path) as f:
                if f.format == "netcdf3":
                    continue
                largest: list[hs.Dataset] = []
                f.visititems(lambda name, one, into=largest: into.append(one) if isinstance(one, hs.Dataset) else None)
                largest = [
                    d for d in largest if not d.refusal and d.ndim >= 1 and d.dtype.kind in "iuf" and not d.is_virtual and 1 << 20 <= d.nbytes <= 256 << 20
                ]
                if not largest:
                    continue
                best = max(largest, key=lambda d: d.nbytes)
                # The same array comes in several packages.
                found.setdefault((best.name, best.shape, best.dtype.str), (best.nbytes, path, best.name, best.ndim))
        except (hs.Error, OSError):
            continue
    accesses = {1: "[?:1000]", 2: "[:, ?]", 3: SERIES, 4: "[:, ?, ?, ?]"}
    for _, path, name, ndim in sorted(found.values(), key=lambda item: -item[0])[:count]:
        yield Case(path.name, [accesses.get(ndim, WHOLE)], None, str(path), name)


class Row(NamedTuple):
    """One measured case."""

    name: str
    access: str
    change: str
    basis: str
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Predicted against measured; above 0 is too optimistic."""
        return self.predicted / self.measured - 1


def measure(case: Case, folder: str, threads: int | None) -> Row | None:
    """Advises and applies; `None` if the file cannot be copied or has nothing to advise."""
    source, out = case.path or os.path.join(folder, "in.h5"), os.path.join(folder, "out.h5")
    if case.write is not None:
        case.write(source)
    try:
        advice = hs.advise(source, case.accesses, case.dataset, plugins=case.plugins, threads=threads, work_folder=folder)
        applied = advice.apply(out)
    except hs.UnsupportedError as error:
        print(f"{case.name}: left out, {error}")
        return None
    finally:
        if case.write is not None and os.path.exists(source):
            os.remove(source)
        if os.path.exists(out):
            os.remove(out)
    one = advice.datasets[0]
    change = "kept" if one.is_kept else f"{one.current.describe()} → {one.advised.describe()}"
    return Row(case.name, "; ".join(case.accesses), change, one.basis, applied.predicted_gain, applied.gain)


def summary(rows: list[Row], generated_rows: int, about: str) -> str:
    close = sum(abs(row.error) <= 0.3 for row in rows)
    errors = sorted(abs(row.error) for row in rows)
    changed = [row for row in rows if row.change != "kept"]
    close_changed = sum(abs(row.error) <= 0.3 for row in changed)
    mean = math.exp(sum(math.log(row.measured) for row in changed) / max(len(changed), 1))
    return (
        f"{about}. {close} of {len(rows)} predictions are within 30 % ({close / len(rows):.0%}); of those that change the file, {close_changed} of {len(changed)}. "
        f"The median error is {errors[len(errors) // 2]:.0%}, the largest {errors[-1]:.0%}. The first {generated_rows} files were generated, the others are real. "
        f"Files that were changed were read {mean:.3g} times as fast (geometric mean)."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=pathlib.Path, default=CORPUS)
    parser.add_argument("--real", type=int, default=20, help="number of real files")
    parser.add_argument("--scale", type=int, default=2, help="size of the generated files; 2 is about 20 to 40 MB")
    parser.add_argument("--wall", action="store_true", help="time by the clock on the wall and on all cores; for a machine without other work")
    parser.add_argument("--dry-run", action="store_true", help="print, and leave the results as they are")
    given = parser.parse_args()
    if not given.wall:
        pilot.clock = time.process_time
    threads = None if given.wall else 1
    rows: list[Row] = []
    cases = list(generated(given.scale))
    started, number = time.time(), 0
    with tempfile.TemporaryDirectory(prefix="hyperslab-bench-advise-") as folder:
        for case in [*cases, *(corpus(given.corpus, given.real) if given.corpus.is_dir() else [])]:
            row = measure(case, folder, threads)
            if row is not None:
                rows.append(row)
                number += case.write is not None
                print(
                    f"{row.name:40.40} {row.access:34.34} {row.basis:6} {row.predicted:10.3g} {row.measured:10.3g} {row.error:+8.0%}  {row.change}", flush=True
                )
    cores = len(os.sched_getaffinity(0))
    how = "seconds on the wall, all cores" if given.wall else "processor time of one thread, because other programs were running"
    about = f"Measured on {datetime.date.today()} on a machine of {cores} cores ({how}; files in the page cache; {(time.time() - started) / 60:.0f} minutes)"
    about = summary(rows, number, about)
    print(about)
    if not given.dry_run:
        cells = [[row.name, row.access, row.change, f"{row.predicted:.3g}×", f"{row.measured:.3g}×", f"{row.error:+.0%}"] for row in rows]
        RESULTS.write_text(json.dumps({"about": about, "tables": [["advice", HEAD, cells]]}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
