"""Rows of a million texts that have a rare word: with an index of words and without, beside DuckDB over the same texts as Parquet.

    python benches/index/words.py [--folder FOLDER] [--rounds 11]

Texts have about ten words of a vocabulary of 50,000; the word `needle` is in one of 10,000. A round asks each contestant three
times, and one with an index 50 times, because a few of these compare a block of the index with the data (audits, up to 2% of the time). Prints the size of the
files, the time of the build, and in ms the medians of the rounds' medians, and of their longest times.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time
from collections.abc import Callable

import duckdb
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
from pyarrow import parquet

COUNT = 1_000_000


def make(folder: pathlib.Path) -> None:
    rng = np.random.default_rng(7)
    vocabulary = np.array(["".join(chr(97 + c) for c in rng.integers(0, 26, rng.integers(3, 10))) for _ in range(50_000)], object)
    lengths = rng.integers(6, 15, COUNT)
    chosen = vocabulary[np.minimum(rng.zipf(1.3, lengths.sum()) - 1, rng.integers(0, len(vocabulary), lengths.sum()))]
    texts = [" ".join(words) for words in np.split(chosen, np.cumsum(lengths)[:-1])]
    for row in rng.choice(COUNT, COUNT // 10_000, replace=False):
        texts[row] += " needle"
    for name, options in (("plain", {}), ("gzip", {"compression": "gzip", "compression_opts": 4})):
        with h5py.File(folder / f"{name}.h5", "w") as f:
            width = max(len(text) for text in texts)
            values = np.array([text.encode() for text in texts], h5py.string_dtype("utf-8", width))
            f.create_dataset("text", data=values, chunks=(50_000,), **options)
    parquet.write_table(pa.table({"text": texts}), folder / "texts.parquet")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.home() / ".cache/hyperslab/bench/words")
    parser.add_argument("--rounds", type=int, default=11)
    arguments = parser.parse_args()
    folder: pathlib.Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "texts.parquet").exists():
        make(folder)
    where = "text match 'needle'"
    contestants: dict[str, Callable[[], int]] = {}
    for name in ("plain", "gzip"):
        path = folder / f"{name}.h5"
        begin = time.perf_counter()
        hs.index(path, "/text", rebuild=True)
        size = sum(file.stat().st_size for file in pathlib.Path(f"{path}.hsidx").iterdir())
        print(f"{name}: {path.stat().st_size / 1e6:.0f} MB, index built in {time.perf_counter() - begin:.2f} s, {size / 1e6:.0f} MB")
        with_index, without = hs.open(path), hs.open(path, indexes="none")
        contestants[f"{name}, index, count"] = hs.query(with_index, "/", where).count
        contestants[f"{name}, index, row numbers"] = lambda f=with_index: len(hs.query(f, "/", where).positions())
        contestants[f"{name}, index, texts"] = lambda f=with_index: f.table("/", where=where).to_arrow().num_rows
        contestants[f"{name}, no index, count"] = hs.query(without, "/", where).count
    base = f"select count(*) from '{folder}/texts.parquet' where "
    connection = duckdb.connect()

    def duck(condition: str) -> Callable[[], int]:
        return lambda: int(connection.execute(base + condition).fetchall()[0][0])

    contestants["DuckDB, like '%needle%'"] = duck("text like '%needle%'")
    contestants["DuckDB, regexp \\bneedle\\b"] = duck("regexp_matches(text, '(?i)\\bneedle\\b')")
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(arguments.rounds):
        for name, ask in contestants.items():
            taken = []
            for _ in range(50 if "index, " in name and "no index" not in name else 3):
                begin = time.perf_counter()
                found = ask()
                taken.append((time.perf_counter() - begin) * 1e3)
                assert found == COUNT // 10_000, (name, found)
            times[name].append((statistics.median(taken), max(taken)))
    for name, rounds in times.items():
        middle, longest = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:32} {middle:9.3f} ms, longest {longest:9.3f} ms")


if __name__ == "__main__":
    main()
