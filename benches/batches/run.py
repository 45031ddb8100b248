"""Mini-batches, next to loops over h5py, anndata's backed mode, and, where PyTorch is installed, scDataset and h5py in worker processes.

Each round runs all contestants of a case in turn, from a warm page cache, in one process that stays. A contestant runs for some seconds
of an epoch at most; the table has medians of rows per second. Every batch is checked by its labels: each row must be the one that it says.

    python benches/batches/run.py [--rounds 5] [--only TEXT] [--cells 20000] [--seconds 3] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import scipy.sparse

BATCH = 64
GENES, EXPRESSED = 30_000, 2_000
#: A contestant: the rows and labels of batch after batch.
Contestant = Callable[[], Iterable[tuple[Any, Any]]]


def make_cells(folder: pathlib.Path, cells: int, compression: str | None) -> pathlib.Path:
    """Counts of cells as AnnData writes them: about 2,000 of 30,000 genes each."""
    path = folder / f"cells{cells}_{compression}.h5ad"
    if not path.exists():
        random = np.random.default_rng(1)
        lengths = random.integers(EXPRESSED * 3 // 4, EXPRESSED * 5 // 4, cells)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        indices = np.concatenate([np.sort(random.permutation(GENES)[:length]) for length in lengths]).astype("i4")
        data = random.geometric(0.4, offsets[-1]).astype("f4")
        with h5py.File(path, "w") as f:
            f.attrs["encoding-type"], f.attrs["encoding-version"] = "anndata", "0.1.0"
            x = f.create_group("X")
            x.attrs["encoding-type"], x.attrs["encoding-version"], x.attrs["shape"] = "csr_matrix", "0.1.0", [cells, GENES]
            for name, values in (("data", data), ("indices", indices), ("indptr", offsets)):
                x.create_dataset(name, data=values, compression=compression, chunks=True if compression else None)
            for name, count in (("obs", cells), ("var", GENES)):
                frame = f.create_group(name)
                frame.attrs["encoding-type"], frame.attrs["encoding-version"], frame.attrs["_index"] = "dataframe", "0.2.0", "_index"
                frame.attrs["column-order"] = np.array([], dtype=h5py.string_dtype())
                frame["_index"] = np.array([f"{name}{i}" for i in range(count)], dtype=h5py.string_dtype())
                for array in ("_index",):
                    frame[array].attrs["encoding-type"], frame[array].attrs["encoding-version"] = "string-array", "0.2.0"
            f["label"] = lengths
    return path


def make_images(folder: pathlib.Path, images: int, per_chunk: int, compression: str | None) -> pathlib.Path:
    """Images of 64 × 64 × 3 bytes with smooth colors and noise. The first bytes of an image are its number."""
    path = folder / f"images{images}_{per_chunk}_{compression}.h5"
    if not path.exists():
        random = np.random.default_rng(1)
        with h5py.File(path, "w") as f:
            chunks = (per_chunk, 64, 64, 3) if compression else None
            made = f.create_dataset("image", (images, 64, 64, 3), "u1", chunks=chunks, compression=compression)
            for start in range(0, images, 1000):
                count = min(1000, images - start)
                values = random.integers(0, 200, (count, 8, 8, 3), "u1").repeat(8, 1).repeat(8, 2) + random.integers(0, 8, (count, 64, 64, 3), "u1")
                values.reshape(count, -1)[:, :4] = np.arange(start, start + count, dtype="<u4").view("u1").reshape(count, 4)
                made[start : start + count] = values
            f["label"] = np.arange(images)
    return path


def make_rows(folder: pathlib.Path, rows: int, columns: int) -> pathlib.Path:
    """Rows of floats without chunks or filters. The first element of a row is its number."""
    path = folder / f"rows{rows}_{columns}.h5"
    if not path.exists():
        with h5py.File(path, "w") as f:
            made = f.create_dataset("x", (rows, columns), "f4")
            for start in range(0, rows, 100_000):
                values = np.random.default_rng(start).random((min(100_000, rows - start), columns), dtype="f4")
                values[:, 0] = np.arange(start, start + len(values))
                made[start : start + len(values)] = values
    return path


def ours(source: Any, value: str, label: str, **options: Any) -> Contestant:
    """Batches of this package: a new loader for each run."""
    seeds = itertools.count()

    def run() -> Iterator[tuple[Any, Any]]:
        for batch in hs.batches(source, BATCH, seed=next(seeds), **options):
            yield batch[value], batch[label]

    return run


def h5py_lists(path: pathlib.Path, value: str, label: str) -> Contestant:
    """h5py, exactly shuffled: the rows of a batch as an increasing list."""

    def run() -> Iterator[tuple[Any, Any]]:
        with h5py.File(path) as f:
            labels, permuted = f[label][...] if label in f else np.arange(len(f[value])), np.random.default_rng().permutation(len(f[value]))
            for start in range(0, len(permuted), BATCH):
                rows = np.sort(permuted[start : start + BATCH])
                yield f[value][rows], labels[rows]

    return run


def h5py_rows(path: pathlib.Path, value: str, label: str) -> Contestant:
    """h5py, exactly shuffled: row by row, as a map-style dataset does."""

    def run() -> Iterator[tuple[Any, Any]]:
        with h5py.File(path) as f:
            labels, permuted = f[label][...] if label in f else np.arange(len(f[value])), np.random.default_rng().permutation(len(f[value]))
            dataset = f[value]
            for start in range(0, len(permuted), BATCH):
                rows = permuted[start : start + BATCH]
                yield np.stack([dataset[row] for row in rows]), labels[rows]

    return run


def h5py_blocks(path: pathlib.Path, block: int, mixed: int) -> Contestant:
    """h5py, block-shuffled sparse rows: what our block order does, in a loop."""

    def run() -> Iterator[tuple[Any, Any]]:
        with h5py.File(path) as f:
            labels, offsets, x = f["label"][...], f["X/indptr"][...], f["X"]
            data, indices = x["data"], x["indices"]
            starts = np.random.default_rng().permutation(np.arange(0, len(labels), block))
            for first in range(0, len(starts), mixed):
                parts, rows = [], []
                for start in starts[first : first + mixed]:
                    stop = min(start + block, len(labels))
                    low, high = offsets[start], offsets[stop]
                    parts.append(scipy.sparse.csr_array((data[low:high], indices[low:high], offsets[start : stop + 1] - low), (stop - start, GENES)))
                    rows.append(np.arange(start, stop))
                matrix, numbers = scipy.sparse.vstack(parts, format="csr"), np.concatenate(rows)
                order = np.random.default_rng().permutation(len(numbers))
                for begin in range(0, len(order), BATCH):
                    chosen = order[begin : begin + BATCH]
                    yield matrix[chosen], labels[numbers[chosen]]

    return run


def backed(path: pathlib.Path) -> Contestant:
    """anndata's backed mode, exactly shuffled: the rows of a batch as an increasing list."""
    import anndata

    def run() -> Iterator[tuple[Any, Any]]:
        with h5py.File(path) as f:
            labels = f["label"][...]
        cells = anndata.read_h5ad(path, backed="r")
        permuted = np.random.default_rng().permutation(len(labels))
        for start in range(0, len(permuted), BATCH):
            rows = np.sort(permuted[start : start + BATCH])
            yield cells.X[rows], labels[rows]
        cells.file.close()

    return run


def scdataset(path: pathlib.Path, block: int, fetched: int) -> Contestant | None:
    """scDataset over anndata's backed mode: blocks of rows, a number of batches fetched and mixed at a time."""
    try:
        from scdataset import BlockShuffling, scDataset
    except ImportError:
        return None
    import anndata

    def run() -> Iterator[tuple[Any, Any]]:
        with h5py.File(path) as f:
            labels = f["label"][...]
        cells = anndata.read_h5ad(path, backed="r")

        def fetch(_: Any, rows: Any) -> Any:
            order = np.argsort(rows)  # backed mode is fast for increasing rows only
            return cells.X[rows[order]][np.argsort(order)], labels[rows]

        def cut(fetched: Any, places: Any) -> Any:
            return fetched[0][places], fetched[1][places]

        dataset = scDataset(
            range(len(labels)), BlockShuffling(block_size=block), batch_size=BATCH, fetch_factor=fetched, fetch_callback=fetch, batch_callback=cut
        )
        yield from dataset
        cells.file.close()

    return run


def torch_workers(path: pathlib.Path, workers: int) -> Contestant | None:
    """h5py as a map-style dataset in worker processes of PyTorch."""
    try:
        import torch.utils.data
    except ImportError:
        return None

    class Images(torch.utils.data.Dataset):  # type: ignore[misc, type-arg, unused-ignore]
        """Opens its file in each worker."""

        file: Any = None

        def __len__(self) -> int:
            with h5py.File(path) as f:
                return len(f["label"])

        def __getitem__(self, row: int) -> tuple[Any, int]:
            if self.file is None:
                self.file = h5py.File(path)
            return self.file["image"][row], row

    def run() -> Iterator[tuple[Any, Any]]:
        loader = torch.utils.data.DataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=workers)
        for images, rows in loader:
            yield images.numpy(), rows.numpy()

    return run


def check_sparse(values: Any, labels: Any) -> None:
    """The label of a cell is the number of its genes."""
    np.testing.assert_array_equal(np.diff(values.indptr), labels)


def check_images(values: Any, labels: Any) -> None:
    """An image begins with its number."""
    np.testing.assert_array_equal(np.ascontiguousarray(values.reshape(len(values), -1)[:, :4]).view("<u4")[:, 0], labels)


def check_rows(values: Any, labels: Any) -> None:
    """A row begins with its number."""
    np.testing.assert_array_equal(values[:, 0], np.asarray(labels, "f4"))


def measure(title: str, contestants: dict[str, Contestant | None], check: Callable[[Any, Any], None], rounds: int, seconds: float) -> None:
    """Runs the contestants of a case in turn and prints a table."""
    speeds: dict[str, list[float]] = {name: [] for name, contestant in contestants.items() if contestant is not None}
    for turn in range(rounds + 1):  # the first one warms up
        for name, contestant in contestants.items():
            if contestant is None:
                continue
            start, rows = time.perf_counter(), 0
            for values, labels in contestant():
                check(values, labels)
                rows += len(labels)
                if time.perf_counter() - start > seconds:
                    break
            if turn:
                speeds[name].append(rows / (time.perf_counter() - start))
    print(f"\n## {title}\n\n| | rows/s | middle half | ours is faster by |\n|---|---|---|---|")
    first = statistics.median(next(iter(speeds.values())))
    for name, found in speeds.items():
        middle = statistics.median(found)
        low, _, high = statistics.quantiles(found, n=4) if len(found) > 1 else (middle,) * 3
        print(f"| {name} | {middle:,.0f} | {low:,.0f} to {high:,.0f} | {first / middle:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a contestant in a round")
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--only", default="", help="a part of the title of a case")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the beginning")

        def case(title: str, contestants: Callable[[], dict[str, Contestant | None]], check: Callable[[Any, Any], None]) -> None:
            if options.only in title:
                measure(title, contestants(), check, options.rounds, options.seconds)

        for compression in (None, "gzip"):

            def cells(compression: str | None = compression) -> dict[str, Contestant | None]:
                path = make_cells(folder, options.cells, compression)
                f = hs.open(path)
                source = {"X": f["X"], "label": f["label"]}
                block = round(float(np.diff(hs.batches(source)._source.edges).mean()))
                return {
                    "hs.batches, block": ours(source, "X", "label", order="block"),
                    "hs.batches, exact": ours(source, "X", "label", order="exact"),
                    "h5py, loop over blocks": h5py_blocks(path, block, 128),
                    "anndata backed, exact": backed(path),
                    "scDataset, blocks of 16, 256 batches at a time": scdataset(path, 16, 256),
                    "scDataset, our blocks and as many at a time": scdataset(path, block, block * 128 // BATCH),
                }

            case(f"sparse rows, {compression or 'no filter'}, {options.cells:,} cells", cells, check_sparse)

        for per_chunk, compression in ((1, None), (1, "gzip"), (16, "gzip")):

            def images(per_chunk: int = per_chunk, compression: str | None = compression) -> dict[str, Contestant | None]:
                path = make_images(folder, 20_000, per_chunk, compression)
                f = hs.open(path)
                source = {"image": f["image"], "label": f["label"]}
                return {
                    "hs.batches, block": ours(source, "image", "label", order="block"),
                    "hs.batches, exact": ours(source, "image", "label", order="exact"),
                    "h5py, row by row": h5py_rows(path, "image", "label"),
                    "h5py, a list for each batch": h5py_lists(path, "image", "label"),
                    "h5py in 2 workers of PyTorch": torch_workers(path, 2),
                }

            case(f"images, {compression or 'no filter'}, {per_chunk} in a chunk", images, check_images)

        def rows() -> dict[str, Contestant | None]:
            path = make_rows(folder, 1_000_000, 64)
            f = hs.open(path)
            numbers = folder / "numbers.h5"
            with h5py.File(numbers, "w") as made:
                made["label"] = np.arange(1_000_000)
            return {
                "hs.batches, exact": ours({"x": f["x"], "label": hs.open(numbers)["label"]}, "x", "label", order="exact"),
                "h5py, row by row": h5py_rows(path, "x", "label"),
                "h5py, a list for each batch": h5py_lists(path, "x", "label"),
            }

        case("single rows, no filter, 64 floats each", rows, check_rows)


if __name__ == "__main__":
    main()
