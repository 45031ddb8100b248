"""Data models next to the libraries that people read them with: MATLAB's cell arrays and AnnData.

Each round runs all contestants of a case in turn, from a warm page cache, in one process. The table has the medians. Results are
compared before they count. Slow contestants of MATLAB read a file of fewer cells (`--peer-cells`), and the table says so: their time
is proportional to the number of cells, or worse.

    python benches/models/cells.py [--rounds 3] [--cells 1000000] [--peer-cells 1000000] [--rows 1000000] [--only TEXT] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import logging
import os
import pathlib
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import anndata
import h5py
import hyperslab as hs
import mat73
import numpy as np
import pandas as pd
import pymatreader
import scipy.sparse

Case = tuple[str, dict[str, Callable[[], Any]], Callable[[Any, Any], bool]]


def make_cells(folder: pathlib.Path, count: int) -> pathlib.Path:
    """A cell array of numbers and short texts in turn."""
    path = folder / f"cells{count}.mat"
    if not path.exists():
        lengths = np.random.default_rng(1).integers(1, 20, count)
        values: list[Any] = [f"text{i}".ljust(int(lengths[i]), "x") if i % 2 else float(i) for i in range(count)]
        hs.models.matlab.write(path, {"c": values}, durable=False)
    return path


def make_matrix(folder: pathlib.Path, rows: int) -> pathlib.Path:
    """A sparse matrix of so many cells and 2000 genes with about 50 values in a row, and annotations."""
    path = folder / f"cells{rows}.h5ad"
    if not path.exists():
        rng = np.random.default_rng(2)
        lengths = rng.integers(20, 80, rows)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        genes = np.sort(rng.integers(0, 2000, (int(offsets[-1]) // 50 + 1, 50)), axis=1).ravel()[: offsets[-1]]
        matrix = scipy.sparse.csr_matrix((rng.random(int(offsets[-1]), "f4"), genes, offsets), shape=(rows, 2000))
        kinds = pd.Categorical.from_codes(rng.integers(-1, 20, rows), [f"kind {i}" for i in range(20)])
        obs = pd.DataFrame({"kind": kinds, "score": rng.normal(size=rows), "count": rng.integers(0, 9999, rows)}, index=[f"cell{i}" for i in range(rows)])
        var = pd.DataFrame(index=[f"gene{i}" for i in range(2000)])
        anndata.AnnData(matrix, obs, var).write_h5ad(path)
    return path


def same_cells(ours: Any, theirs: Any) -> bool:
    return all(bool(mine == np.asarray(other).item()) for mine, other in zip(ours, theirs, strict=False))


def matlab_cases(folder: pathlib.Path, cells: int, peer_cells: int) -> list[Case]:
    full, part = make_cells(folder, cells), make_cells(folder, peer_cells)
    label = "" if cells == peer_cells else f", {peer_cells:,} cells"
    contestants = {
        "hyperslab": lambda: hs.models.matlab.open(full)["c"],
        f"mat73{label}": lambda: mat73.loadmat(str(part), verbose=False)["c"],
        f"pymatreader{label}": lambda: pymatreader.read_mat(str(part))["c"],
    }
    return [(f"MATLAB: a cell array of {cells:,}", contestants, same_cells)]


def anndata_cases(folder: pathlib.Path, rows: int) -> list[Case]:
    path = make_matrix(folder, rows)
    chosen = np.sort(np.random.default_rng(3).choice(rows, min(100_000, rows // 10), replace=False))

    def backed() -> Any:
        data = anndata.read_h5ad(path, backed="r")
        try:
            return data.X[chosen]
        finally:
            data.file.close()

    def obs() -> Any:
        with h5py.File(path) as opened:
            return anndata.io.read_elem(opened["obs"])

    def frame() -> Any:
        return hs.models.anndata.open(path).frame("obs")

    def same_matrix(ours: Any, theirs: Any) -> bool:
        return abs(ours - theirs).nnz == 0

    def same_frame(ours: Any, theirs: Any) -> bool:
        return bool(
            (ours["score"].to_numpy() == theirs["score"].to_numpy()).all()
            and (ours["kind"].astype(object).fillna("").to_numpy() == theirs["kind"].astype(object).fillna("").to_numpy()).all()
        )

    return [
        (
            f"AnnData: {len(chosen):,} random rows of {rows:,}",
            {"hyperslab": lambda: hs.models.anndata.open(path).rows(chosen), "anndata, backed": backed},
            same_matrix,
        ),
        (f"AnnData: obs of {rows:,} rows", {"hyperslab": frame, "anndata": obs}, same_frame),
    ]


def warm(folder: pathlib.Path) -> None:
    """Brings the files into the page cache."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass


def run(case: Case, rounds: int) -> None:
    name, contestants, same = case
    times: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    for number in range(rounds):
        results: dict[str, Any] = {}
        for contestant, work in contestants.items():
            began = time.perf_counter()
            results[contestant] = work()
            times[contestant].append(time.perf_counter() - began)
        if not number:
            ours, *others = results.items()
            for other, result in others:
                if not same(ours[1], result):
                    raise SystemExit(f"{name}: {other} reads other values")
    median = {contestant: statistics.median(seconds) for contestant, seconds in times.items()}
    ours = median["hyperslab"]
    for contestant, seconds in median.items():
        print(f"{name:48} {contestant:28} {seconds:10.3f} s {seconds / ours:9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--peer-cells", type=int)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=pathlib.Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or pathlib.Path(temporary)
        os.makedirs(folder, exist_ok=True)
        if given.only in "MATLAB":
            cases = matlab_cases(folder, given.cells, given.peer_cells or given.cells)
            warm(folder)
            for case in cases:
                run(case, given.rounds)
        if given.only in "AnnData":
            cases = anndata_cases(folder, given.rows)
            warm(folder)
            for case in cases:
                run(case, given.rounds)


if __name__ == "__main__":
    main()
