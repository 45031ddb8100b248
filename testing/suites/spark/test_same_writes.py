"""same(hdf5, parquet): every write, statement and change of files once with HDF5 and once with Spark's Parquet in the same session.
`make test` runs the first part, `make test-spark-whole` all. What may differ is in `same_writes.py` and in docs/spark.md."""

from __future__ import annotations

import itertools
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from same_queries import quick
from same_writes import COMPARISONS, FIRST, ONLY_OURS, PARTITIONED_STATEMENTS, SECOND, STATEMENTS, Paths, outcome, refused_by_design, saves, state

PARTS = 24


class Ran:
    """Counts, which the run prints."""

    def __init__(self) -> None:
        self.cases = self.by_design = 0

    def same(self, what: str, ours: Any, theirs: Any) -> None:
        self.cases += COMPARISONS
        assert (ours.error is None) == (theirs.error is None), (what, ours, theirs)
        assert ours.error is not None or ours.rows == theirs.rows, (what, ours, theirs)

    def compared(self, what: str, before: Any, ours: Any, theirs: Any, after: Any, refusal: str | None) -> None:
        """Compares the outcomes of a step. A step that only we refuse must be one that we refuse by design, and change nothing."""
        if refusal == ONLY_OURS:
            assert ours.error is None and "overwrite" in theirs.error, (what, ours, theirs)
            self.cases += 1
            self.by_design += 1
            return
        if refusal is None or ours.error is None:
            self.same(what, ours, theirs)
            return
        self.cases += COMPARISONS
        self.by_design += 1
        assert re.search(refusal, ours.error), (what, refusal, ours.error)
        assert after == before, (what, "changed the table")


@pytest.fixture(scope="module")
def ran(spark: Any) -> Iterator[Ran]:
    counts = Ran()
    with quick(spark):
        yield counts
    print(f"\nsame(hdf5, parquet): {counts.cases} comparisons of writes, statements and changes of files, {counts.by_design} steps refused by design")


@pytest.mark.parametrize("part", range(PARTS))
def test_saves(spark: Any, tmp_path: pathlib.Path, ran: Ran, part: int, capsys: pytest.CaptureFixture[str]) -> None:
    cases = list(saves())
    assert len(cases) >= 70
    for number, (name, mode, by, rows) in enumerate(cases[part::PARTS]):
        outcomes = {}
        before: Any = None
        for format in ("hdf5", "parquet"):
            paths = Paths(spark, tmp_path / str(number), format, by)
            paths.save(FIRST, range(3), "overwrite")
            if format == "hdf5":
                before = state(paths.read())

            def step() -> Any:
                paths.save(SECOND[name], rows, mode)
                return state(paths.read())

            outcomes[format] = outcome(step)
            if format == "hdf5":
                after = outcome(lambda: state(paths.read())).rows
        ran.compared(f"{mode} of {name}, {len(rows)} rows, by {by}", before, outcomes["hdf5"], outcomes["parquet"], after, refused_by_design(name, mode))
        shutil.rmtree(tmp_path / str(number))
    with capsys.disabled():
        print(f" [{ran.cases} comparisons of writes, {ran.by_design} refused by design]", end="")


@pytest.mark.parametrize("part", range(PARTS))
def test_statements(spark: Any, ran: Ran, part: int, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [(text, refusal, by) for by in ("", " partitioned by (k)") for text, refusal in (*STATEMENTS, *(PARTITIONED_STATEMENTS if by else ()))]
    for text, refusal, by in cases[part::PARTS]:
        outcomes = {}
        before: Any = None
        for format in ("hdf5", "parquet"):
            table = f"same_{format}"
            spark.sql(f"drop table if exists {table}")
            spark.sql(f"create table {table} using {format}{by} as select {', '.join(FIRST)} from range(3)")
            held = spark.table(table)
            if format == "hdf5":
                before = state(spark.table(table))

            def step() -> Any:
                spark.sql(text.format(t=table))
                return [state(spark.table(table)), held.count()]

            outcomes[format] = outcome(step)
            if format == "hdf5":
                after = outcome(lambda: state(spark.table(table))).rows
            spark.sql(f"uncache table if exists {table}")
            spark.sql(f"drop table {table}")
        ran.compared(text + by, before, outcomes["hdf5"], outcomes["parquet"], after, refusal)
    with capsys.disabled():
        print(f" [{ran.cases} comparisons of writes, {ran.by_design} refused by design]", end="")


EVENTS = ("nothing", "one vanishes", "all vanish", "one appears", "overwritten by the session", "appended by the session")
QUERIES = ("count(*)", "count(a)", "sum(a)", "max(a)", "count(*) filter (where a > 2)")


@pytest.mark.parametrize("part", range(PARTS))
def test_files_that_change_after_load(spark: Any, tmp_path: pathlib.Path, ran: Ran, part: int, capsys: pytest.CaptureFixture[str]) -> None:
    cases = list(itertools.product(EVENTS, (False, True), (False, True)))
    for number, (event, ignored, cached) in enumerate(cases[part::PARTS]):
        if cached and event not in ("nothing", "overwritten by the session", "appended by the session"):
            continue
        outcomes = {}
        for format in ("hdf5", "parquet"):
            folder = tmp_path / f"{number}.{format}"
            _files(spark, folder, format, 3)
            frame = spark.read.format(format).option("ignoreMissingFiles", str(ignored).lower()).load(str(folder))
            if cached:
                frame.cache().count()
            _change(spark, folder, format, event)
            outcomes[format] = [
                outcome(lambda: frame.count()),
                outcome(lambda: sorted(row.a for row in frame.collect())),
                *(outcome(lambda query=query: [tuple(row) for row in frame.selectExpr(query).collect()]) for query in QUERIES),
                *(outcome(lambda query=query: [tuple(row) for row in frame.where("a > 1000").selectExpr(query).collect()]) for query in QUERIES),
            ]
            frame.unpersist()
        for ours, theirs in zip(outcomes["hdf5"], outcomes["parquet"]):
            ran.same(f"{event}, ignored {ignored}, cached {cached}", ours, theirs)
            ran.cases += 1 - COMPARISONS
    with capsys.disabled():
        print(f" [{ran.cases} comparisons of writes, {ran.by_design} refused by design]", end="")


def _files(spark: Any, folder: pathlib.Path, format: str, count: int) -> None:
    """Folders of partitions, so that both formats have several files and are overwritten as a folder."""
    spark.range(4 * count).selectExpr("id as a", f"id % {count} as k").write.format(format).partitionBy("k").mode("overwrite").save(str(folder))


def _change(spark: Any, folder: pathlib.Path, format: str, event: str) -> None:
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".h5", ".parquet"))
    if event == "one vanishes":
        files[0].unlink()
    elif event == "all vanish":
        for file in files:
            file.unlink()
    elif event == "one appears":
        shutil.copy(files[0], files[0].with_name("new" + files[0].suffix))
    elif event == "overwritten by the session":
        _files(spark, folder, format, 2)
    elif event == "appended by the session":
        spark.range(5).selectExpr("id as a", "id % 2 as k").write.format(format).partitionBy("k").mode("append").save(str(folder))
