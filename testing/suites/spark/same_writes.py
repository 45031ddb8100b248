"""Writes, statements and changes of files that are made once with HDF5 and once with Spark's Parquet, and what may differ by design."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

FIRST = ("id as a", "id * 10 as b", "string(id) as s", "id % 2 as k")

#: The columns of the second write.
SECOND = {
    "same": FIRST,
    "order": (FIRST[2], FIRST[0], FIRST[1], FIRST[3]),
    "capitals": ("id as A", "id * 10 as B", "string(id) as S", "id % 2 as K"),
    "some capitals": ("id as a", "id * 10 as B", "string(id) as s", "id % 2 as k"),
    "fewer": ("id as a", "string(id) as s", "id % 2 as k"),
    "more": (*FIRST[:3], "id * 2 as d", FIRST[3]),
    "another": ("id as a", "id * 10 as z", "string(id) as s", "id % 2 as k"),
    "another type": ("id as a", "id / 4 as b", "string(id) as s", "id % 2 as k"),
    "nan": ("id as a", "id * 10 as b", "string(id) as s", "id % 2 as k"),
}

#: What is asked after each step.
ASKED = (
    "count(*)",
    "count(a)",
    "count(*) filter (where a > 1000)",
    "sum(b)",
    "max(s)",
    "min(a) is null",
    "count(distinct K)",
)


@dataclass
class Outcome:
    """The rows after a step, or the error that refused it."""

    rows: Any = None
    error: str | None = None


def outcome(step: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(step())
    except Exception as error:
        return Outcome(error=str(error))


def state(frame: Any) -> list[Any]:
    """What a table has: names of columns, rows, and aggregates in one query each."""
    order = sorted(frame.columns, key=str.lower)
    rows = sorted((tuple(row) for row in frame.select(order).collect()), key=str)
    wanted = [text for text in ASKED if all(name in {column.lower() for column in frame.columns} for name in _names(text))]
    return [
        [name.lower() for name in order],
        rows,
        [tuple(frame.selectExpr(text).collect()[0]) for text in wanted[:3]],
        tuple(frame.selectExpr(*wanted).collect()[0]),
        tuple(frame.where("a > 1000").selectExpr(*wanted).collect()[0]),
        frame.count(),
    ]


#: How many comparisons `state` is.
COMPARISONS = 8


def _names(text: str) -> set[str]:
    return {name for name in ("a", "b", "s", "k") if f"({name})" in text.lower() or f"({name} " in text.lower() or f" {name})" in text.lower()}


class Paths:
    """Saves a DataFrame twice to a path."""

    def __init__(self, spark: Any, folder: pathlib.Path, format: str, by: tuple[str, ...]) -> None:
        folder.mkdir(exist_ok=True)
        self.spark, self.format, self.by = spark, format, by
        self.path = str(folder / (f"out.{format}" if by or format == "parquet" else "out.h5"))

    def save(self, columns: tuple[str, ...], rows: range, mode: str) -> None:
        frame = self.spark.range(rows.start, rows.stop, 1, 2).selectExpr(*columns)
        writer = frame.write.format(self.format).mode(mode)
        (writer.partitionBy(*self.by) if self.by else writer).save(self.path)

    def read(self) -> Any:
        reader = self.spark.read.format(self.format)
        return (reader.option("mergeSchema", "true") if self.format == "parquet" else reader).load(self.path)


def saves() -> Iterator[tuple[str, str, tuple[str, ...], range]]:
    """Name, mode, partition columns and rows of a second write."""
    for (name, mode), by, rows in itertools.product(
        itertools.product(SECOND, ("append", "overwrite", "ignore", "errorifexists")), ((), ("k",)), (range(3, 6), range(0))
    ):
        if mode in ("append", "overwrite") or name in ("same", "more"):
            yield name, mode, by, rows


def refused_by_design(name: str, mode: str) -> str | None:
    """The text of our error where Parquet accepts a write."""
    if mode != "append":
        return None
    return {
        # Parquet has nulls in columns that a file lacks.
        "fewer": "missing in the rows to be written",
        "more": "missing in the file",
        "another": "missing in the rows to be written",
        # Parquet fails when the table is read.
        "another type": "define it differently",
    }.get(name)


#: In the place of a refusal: Parquet refuses a statement that overwrites what it reads, which is safe here.
ONLY_OURS = "only Parquet refuses it"

#: Statements on the table {t}, of the columns a, b, s and k, with what our error says if only Parquet accepts one.
STATEMENTS: tuple[tuple[str, str | None], ...] = (
    ("insert into {t} values (7, 70, 'x', 1)", None),
    ("insert into {t} select id, id * 10, string(id), id % 2 from range(5)", None),
    ("insert into {t} select id, id * 10, string(id), id % 2 from range(0)", None),
    ("insert into {t} (K, S, B, A) values (1, 'y', 3, 4)", None),
    ("insert into {t} by name select id % 2 as k, id as a, id as b, 'z' as s from range(2)", None),
    ("insert into {t} by name select id % 2 as K, id as A, id as B, 'z' as S from range(2)", None),
    ("insert into {t} values (7, 70)", None),
    ("insert into {t} values (7, 70, 'x', 1, 5)", None),
    ("insert into {t} (a, b) values (1, 2)", "null|Null|NULL|Cannot find data"),
    ("insert into {t} values (null, 70, 'x', 1)", "null|Null|NULL"),
    ("insert into {t} values (7, 2.5, 'x', 1)", None),
    ("insert into {t} values ('no number', 2, 'x', 1)", None),
    ("insert overwrite {t} values (7, 70, 'x', 1)", None),
    ("insert overwrite {t} select id, id * 10, string(id), id % 2 from range(0)", None),
    ("insert overwrite {t} select a + 1, b, s, k from {t}", ONLY_OURS),
    ("insert into {t} select a + 100, b, s, k from {t}", None),
    ("alter table {t} add columns (z int)", "ALTER TABLE.*not supported"),
    ("alter table {t} add columns (A int)", "ALTER TABLE.*not supported|already exist"),
    ("alter table {t} drop column b", "ALTER TABLE.*not supported"),
    ("alter table {t} rename column b to c", "ALTER TABLE.*not supported"),
    ("alter table {t} alter column b comment 'changed'", None),
    ("alter table {t} set tblproperties ('note' = '1')", None),
    ("alter table {t} unset tblproperties if exists ('note')", None),
    ("truncate table {t}", "TRUNCATE|truncate"),
    ("delete from {t} where a = 1", None),
    ("update {t} set a = 1", None),
    ("refresh table {t}", None),
    ("cache table {t}", None),
)

PARTITIONED_STATEMENTS: tuple[tuple[str, str | None], ...] = (
    ("insert into {t} partition (k = 1) values (8, 80, 'p')", None),
    ("insert into {t} partition (K = 5) values (8, 80, 'p')", None),
    ("insert into {t} partition (k) values (8, 80, 'p', 9)", None),
    ("insert overwrite {t} partition (k = 1) values (8, 80, 'p')", None),
    ("insert overwrite {t} partition (k = 77) values (8, 80, 'p')", None),
    ("insert overwrite {t} partition (k = 1) select a, b, s from {t} where k = 1", ONLY_OURS),
    ("insert into {t} values (8, 80, 'p', null)", None),
)
