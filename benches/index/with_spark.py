"""Indexes and queries in Spark: run.py runs it with a Python that has pyspark, because the other parts do not need it.

    python with_spark.py PARTICLES STEPS THRESHOLDS ROUNDS     (prints one JSON object)

THRESHOLDS is a JSON object from selectivity to `{"particles": v, "steps": v}`.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import hyperslab as hs
import numpy as np


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def in_turns(works: dict[str, Callable[[], Any]], rounds: int, before: Callable[[str], Any] = lambda _: None) -> dict[str, float]:
    """Median milliseconds of each, in turns, after a round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 1):
        for name, work in works.items():
            before(name)
            took = timed(work)
            if number:
                times[name].append(took)
    return {name: statistics.median(mine) for name, mine in times.items()}


def builds(spark: Any, path: pathlib.Path, datasets: str, rounds: int) -> dict[str, float]:
    """Builds of level P without an older index, by tasks and in this process, on two threads each."""
    sidecar = pathlib.Path(f"{path}.hsidx")
    works = {"spark": lambda: hs.spark.index(spark, path, datasets, "P"), "here": lambda: hs.index(hs.open(path, threads=2), datasets, "P")}
    return in_turns(works, rounds, lambda _: shutil.rmtree(sidecar, ignore_errors=True))


def asked(spark: Any, path: pathlib.Path, dataset: str, group: str, column: str, value: float, rounds: int) -> dict[str, float]:
    """Count and rows of `column > value`, through the reader and as a query, with the index and without."""
    from pyspark.sql import functions

    text = f"{column} > {value!r}"
    reader = spark.read.format("hdf5").option("dataset", dataset).load(str(path)).where(functions.col(column) > functions.lit(value).cast("float"))
    wanted = hs.query(path, group, text, threads=2)

    def query() -> Any:
        return hs.spark.query(spark, path, group, text, columns=["_row", column])

    def rows(frame: Any) -> None:
        frame.select("_row", column).write.format("noop").mode("overwrite").save()

    for frame in (reader, query()):
        assert frame.count() == wanted.count(), text
    if wanted.count() < 100_000:
        for frame in (reader.select("_row", column), query()):
            got = sorted((row[0], row[1]) for row in frame.collect())
            table = wanted.table(["_row", column])
            assert got == sorted(zip(table["_row"].to_pylist(), table[column].to_pylist())), text
    what = {"count": reader.count, "rows": lambda: rows(reader), "query count": lambda: query().count(), "query rows": lambda: rows(query())}
    there, away = pathlib.Path(f"{path}.hsidx"), pathlib.Path(f"{path}.away")

    def place(name: str) -> None:
        if name.endswith("scan") and there.exists():
            there.rename(away)
        elif not name.endswith("scan") and away.exists():
            away.rename(there)

    works = {f"{name}{by}": work for name, work in what.items() for by in ("", " scan")}
    try:
        found = in_turns(works, rounds, place)
    finally:
        place("")
    # The same in this process, to show the overhead of Spark.
    local = in_turns({"here count": wanted.count, "here rows": lambda: wanted.table(["_row", column])}, rounds)
    return {"hits": wanted.count(), **found, **local}


def main() -> None:
    particles, steps = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    thresholds, rounds = json.loads(sys.argv[3]), int(sys.argv[4])
    spark = hs.spark.session("local[2]", spark_ui_enabled="false", spark_driver_memory="4g")
    spark.sparkContext.setLogLevel("ERROR")
    found: dict[str, Any] = {"version": spark.version, "build": {}}
    for name, path, datasets in (("particles", particles, "shuffled"), ("steps", steps, "/Step#*/energy")):
        found["build"][name] = builds(spark, path, datasets, min(rounds, 3))
    for selectivity, values in thresholds.items():
        for name, path, dataset, group, column in (("particles", particles, "/", "/", "shuffled"), ("steps", steps, "/Step#*", "/Step#*", "energy")):
            value = float(np.float32(values[name]))
            found[f"{name} {selectivity}"] = asked(spark, path, dataset, group, column, value, rounds)
    spark.stop()
    for path in (particles, steps):
        shutil.rmtree(f"{path}.hsidx", ignore_errors=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
