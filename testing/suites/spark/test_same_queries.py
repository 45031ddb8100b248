"""same(hdf5, parquet): generated queries give what Spark's own Parquet gives in the same session, over no rows, nulls, NaN and other
capitals. `make test` runs the first part, `make test-spark-whole` all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from same_queries import Table, answers, queries, quick, tables

PARTS, ROUNDS, AT_ONCE = 24, 1, 18

#: How many cases each part has compared.
ran: dict[int, int] = {}


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Table]]:
    with quick(spark):
        yield tables(spark, tmp_path_factory.mktemp("same"))
    print(f"\nsame(hdf5, parquet): {sum(ran.values())} generated queries")


@pytest.mark.parametrize("part", range(PARTS))
def test_queries(spark: Any, made: list[Table], part: int, capsys: pytest.CaptureFixture[str]) -> None:
    compared, different = 0, []
    for table in made:
        source = queries(table, part)
        for _ in range(ROUNDS):
            asked = list(itertools.islice(source, AT_ONCE))
            ours, theirs = (answers(spark, table, format, asked) for format in ("hdf5", "parquet"))
            compared += len(asked)
            different += [(query.format(table=table.name), a, b) for query, a, b in zip(asked, ours, theirs) if a != b]
    ran[part] = compared
    with capsys.disabled():
        print(f" [{compared} queries, {len(different)} differences]", end="")
    assert compared == len(made) * ROUNDS * AT_ONCE and different == [], different[:3]


def test_aggregates_of_no_rows_are_pushed_down(spark: Any, made: list[Table]) -> None:
    """Otherwise the queries above would compare Spark with itself."""
    plan = spark.sql("select count(*), max(x) from same_hdf5_array where dim_0 > 1000000")._jdf.queryExecution().executedPlan().toString()
    assert "PushedAggregates: [{" in plan
