"""Functions that pyarrow, DuckDB and Polars push into a scan, next to the same engine on the same rows in memory: every type with null, NaN, zeros
of both signs and extremes; comparisons, lists, null tests and ranges; negated and joined."""

from __future__ import annotations

import contextlib
import datetime
import operator
import random
from collections.abc import Callable
from typing import Any

import duckdb
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sampling import one_in

ROWS = 60
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f4", "f8"]
NUMBERS = INTEGERS + FLOATS


def numbers(dtype: str, choose: random.Random) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype)
    special: list[Any] = [0, 1, 2, 3, 7]
    if kind.kind == "f":
        special += [
            0.0,
            -0.0,
            float("nan"),
            float("inf"),
            float("-inf"),
            0.1,
            -0.1,
            0.5,
            16777217.0,
            float(np.float32(0.1)),
            np.finfo(kind).max,
            np.finfo(kind).tiny,
        ]
    else:
        bounds = np.iinfo(kind)
        special += [int(bounds.min), int(bounds.max), int(bounds.max) - 1, min(int(bounds.max), 2**53 + 1), min(int(bounds.max), 16777217)]
    return np.array([choose.choice(special) for _ in range(ROWS)], dtype=kind)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> hs.File:
    """One group with an array of each type; 7 is missing, so that every column of numbers has nulls."""
    choose, path = random.Random(1), tmp_path_factory.mktemp("pushed") / "a.nc"
    with netCDF4.Dataset(path, "w") as root:
        f = root.createGroup("g")
        f.createDimension("n", ROWS)
        f.createVariable("k", "i4", ("n",))[:] = np.arange(ROWS)
        for dtype in NUMBERS:
            v = f.createVariable(dtype, dtype, ("n",), fill_value=np.dtype(dtype).type(7))
            v.set_auto_mask(False)
            v[:] = numbers(dtype, choose)
        f.createVariable("s", str, ("n",))[:] = np.array([choose.choice(["", "a", "A", "ab", "é", "1", "nan", "%"]) for _ in range(ROWS)], object)
        boolean = root.createEnumType("i1", "boolean", {"FALSE": 0, "TRUE": 1})
        f.createVariable("b", boolean, ("n",))[:] = np.array([choose.random() < 0.5 for _ in range(ROWS)], "i1")
        for name, units in (("t", "seconds since 1970-01-01"), ("c", "days since 2000-01-01")):
            v = f.createVariable(name, "f8", ("n",), fill_value=-1.0)
            v.units = units
            v[:] = [choose.choice([-1.0, 0.0, 1.0, 86400.0, 0.5]) for _ in range(ROWS)]
            if name == "c":
                v.calendar = "360_day"
    return hs.open(path)


@pytest.fixture(scope="module")
def table(file: hs.File) -> hs.Table:
    return file.table("/g")


# pyarrow


def pyarrow_terms(choose: random.Random) -> list[pc.Expression]:
    """One expression of each function on columns and constants by chance."""
    number, other = choose.choice(NUMBERS), choose.choice(NUMBERS)
    constants: list[Any] = [0, 1, 2, 7, -1, 255, 300, 0.0, -0.0, 0.1, 0.5, float("nan"), float("inf"), 2**53, 2**53 + 1, 2**40, 16777217, 2.0]
    scalars: list[Any] = [choose.choice(constants), pa.scalar(None, pa.int32())]
    for constant in (choose.choice(constants), choose.choice([0.1, float("nan"), 1.0])):
        with contextlib.suppress(pa.ArrowInvalid, OverflowError, pa.ArrowTypeError):
            scalars.append(pa.scalar(constant, pa.from_numpy_dtype(np.dtype(number))))
    lists: list[Any] = [[choose.choice(constants[:12]) for _ in range(choose.randint(0, 4))], [choose.choice([2**53 + 1, 2**40, -(2**63)]), 1]]
    lists += [[value for value in lists[0] if isinstance(value, float)] + choose.choice([[], [None], [float("nan")]]), [*lists[0], None], ["1", "nan"], [True]]
    column = pc.field(number)
    compare: list[Callable[[Any, Any], pc.Expression]] = [
        lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b,
    ]  # fmt: skip
    made = [choose.choice(compare)(column, choose.choice(scalars)), choose.choice(compare)(column, pc.field(other))]
    made += [choose.choice(compare)(pc.scalar(choose.choice(scalars)), column)]
    made += [column.isin(choose.choice(lists)), column.is_null(), column.is_valid(), column.is_null(nan_is_null=True)]
    made += [column.is_nan()] if number in FLOATS else []
    text = choose.choice(["s", "c"])
    made += [
        pc.field(text).isin(choose.choice([["a", "é"], ["1", None], [], ["2000-01-01", "2000-01-02"]])),
        choose.choice(compare)(pc.field(text), choose.choice(["a", "2000-01-02"])),
    ]
    moment = datetime.datetime(1970, 1, 1, 0, 0, choose.randint(0, 2))
    made += [
        choose.choice(compare)(pc.field("t"), pa.scalar(moment, pa.timestamp("us"))),
        pc.field("t").isin(pa.array([moment, None], pa.timestamp(choose.choice(["s", "us"])))),
    ]
    made += [pc.field("b"), pc.field("b") == choose.choice([True, False]), pc.field("b").isin([True]), pc.field("b").is_null(), pc.field("t").is_null()]
    return made


def joined(terms: list[Any], choose: random.Random, depth: int, both: Callable[[Any, Any], Any], either: Callable[[Any, Any], Any]) -> Any:
    term = choose.choice(terms)
    if depth:
        term = choose.choice([both, either])(term, joined(terms, choose, depth - 1, both, either))
    return ~term if choose.random() < 0.4 else term


def outcome(call: Callable[[], Any]) -> Any:
    """The rows, or the class of the engine's own error."""
    try:
        return call()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError) as error:
        return type(error).__name__


@one_in(3)
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(6))
def test_expressions_of_pyarrow(table: hs.Table, seed: int, step: int) -> None:
    choose, memory, pushed, compared = random.Random(seed), table.to_arrow(), 0, 0
    dataset = table.dataset()
    for _ in range(700 // step):
        expression = joined(pyarrow_terms(choose), choose, choose.choice([0, 0, 1, 2]), lambda a, b: a & b, lambda a, b: a | b)
        right = outcome(lambda e=expression: memory.filter(e)["k"].to_pylist())
        got = outcome(lambda e=expression: dataset.to_table(filter=e)["k"].to_pylist())
        # An error of the engine about a value comes only from rows that the engine sees.
        assert got == right or (isinstance(right, str) and right == "ArrowInvalid"), f"{expression}: {got} instead of {right}"
        if isinstance(right, str):
            continue
        compared += 1
        assert dataset.count_rows(filter=expression) == len(right), expression
        plan = dataset.pushed(["k"], expression).plan
        pushed += plan.count() < ROWS
    print(f"{compared} expressions of pyarrow, {pushed} of them pushed down")
    assert compared > 500 // step and pushed > 150 // step


@pytest.mark.sampled(4)
@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("column", [*NUMBERS, "s", "b", "t", "c"])
def test_each_list_of_isin(file: hs.File, table: hs.Table, column: str, negated: bool) -> None:
    """Every type of column with every kind of list: own values, none, null, NaN, zeros, other types, out of range."""
    memory, dataset = table.to_arrow(), table.dataset()
    lists: list[Any] = [
        memory[column].unique(),
        memory[column].unique()[:2],
        memory[column].unique().take([0, None, 1]),
        [],
        [None],
        [0],
        [0.0],
        [-0.0],
        [0.0, -0.0],
        [float("nan")],
        [float("nan"), 2.0],
        [float("nan"), None],
        [0.1],
        [1.5],
    ]
    lists += [[1.0, 2.0], [-1], [300], [2**40], [2**53 + 1], [16777217], [2**63 - 1], ["1"], ["a", ""], ["nan"], [True], [False, True], [float("inf")]]
    lists += [pa.array([1, 2, 0, None], pa.float32()), pa.array([1, 255], pa.uint8()), pa.array([2**64 - 1], pa.uint64()), pa.array([0.1], pa.float32())]
    lists += [pa.array([0, 1_000_000], pa.timestamp("us")), pa.array([0, 1], pa.timestamp("s"))]
    compared = 0
    for values in lists:
        expression = pc.field(column).isin(values)
        expression = ~expression if negated else expression
        right = outcome(lambda e=expression: memory.filter(e)["k"].to_pylist())
        if isinstance(right, str):
            continue
        assert dataset.to_table(filter=expression)["k"].to_pylist() == right, (column, values)
        assert file.table("/g", where=expression).to_arrow()["k"].to_pylist() == right, (column, values)
        assert file.table("/g", where=expression).count() == len(right), (column, values)
        compared += 1
    assert compared > 5


# DuckDB


def literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"'{value}'::double"
    return repr(value)


def duckdb_terms(choose: random.Random) -> list[str]:
    number, other = choose.choice(NUMBERS), choose.choice(NUMBERS)
    constants: list[Any] = [0, 1, 2, -1, 255, 300, -0.0, 0.1, 0.5, 1.5, float("nan"), float("inf"), float("-inf"), 2**53 + 1, 16777217, None]

    def one() -> str:
        constant = literal(choose.choice(constants))
        return choose.choice([constant, constant, f"{constant}::float"]) if number in FLOATS else constant

    compare = choose.choice(["=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"])
    members = ", ".join(one() for _ in range(choose.randint(1, 4)))
    moments = ["'1970-01-01 00:00:01'::timestamp", "'1970-01-02'::timestamp"]
    made = [
        f"{number} {compare} {one()}",
        f"{one()} {compare} {number}",
        f"{number} {compare} {other}",
        f"{number} in ({members})",
        f"{number} not in ({members})",
    ]
    made += [f"{number} between {one()} and {one()}", f"{number} is null", f"{number} is not null", "b", f"b = {choose.choice(['true', 'false'])}", "not b"]
    made += [f"isnan({number})"] if number in FLOATS else []
    made += [
        f"t {compare} {choose.choice(moments)}",
        f"t in ({', '.join(moments)})",
        f"s {compare} '{choose.choice(['a', 'A', '', 'é', 'nan'])}'",
        "s in ('a', 'é', '')",
        f"s like '{choose.choice(['a%', '%b', '%', 'A'])}'",
    ]
    made += [f"c {compare} '2000-01-02'", f"{number} + 1 {compare} 2" if number in FLOATS else f"{number} % 2 = 1", f"coalesce({number}, 0) {compare} 1"]
    return made


class Sql(str):
    """Text of SQL that can be negated and joined as expressions of the other engines are."""

    def __invert__(self) -> Sql:
        return Sql(f"not ({self})")


def rows_or_error(call: Callable[[], Any]) -> Any:
    try:
        return sorted(call())
    except duckdb.Error as error:
        return type(error).__name__
    except hs.Error as error:
        assert isinstance(error.__cause__, duckdb.Error), error
        return type(error.__cause__).__name__


@one_in(3)
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(4))
def test_conditions_of_duckdb(file: hs.File, table: hs.Table, seed: int, step: int) -> None:
    """Judge: DuckDB's own table of the same rows, not Arrow's memory, for which DuckDB pushes conditions down as well."""
    choose, compared = random.Random(seed), 0
    native, scanned = duckdb.connect(), duckdb.connect()
    memory, dataset = table.to_arrow(), table.dataset()
    native.execute("create table r as select * from memory")
    assert len(memory) == ROWS
    scanned.register("r", dataset)
    for number in range(350 // step):
        terms = [Sql(term) for term in duckdb_terms(choose)]
        condition = joined(terms, choose, choose.choice([0, 0, 1, 2]), lambda a, b: Sql(f"({a}) and ({b})"), lambda a, b: Sql(f"({a}) or ({b})"))
        query = f"select k from r where {condition}"
        right = rows_or_error(lambda: [k for (k,) in native.execute(query).fetchall()])
        got = rows_or_error(lambda: [k for (k,) in scanned.execute(query).fetchall()])
        assert got == right or isinstance(right, str), f"{query}: {got} instead of {right}"
        if number % 4 == 0 and not isinstance(right, str):
            assert rows_or_error(lambda: [k for (k,) in hs.sql(query.replace("from r", "from g"), file).fetchall()]) == right, query
        compared += not isinstance(right, str)
    print(f"{compared} conditions of DuckDB")
    assert compared > 200 // step


# Polars


def polars_terms(choose: random.Random) -> list[pl.Expr]:
    number, other = choose.choice(NUMBERS), choose.choice(NUMBERS)
    constants: list[Any] = [0, 1, 2, -1, 255, 300, 0.0, -0.0, 0.1, 0.5, 1.5, float("nan"), float("inf"), 2**53 + 1, 16777217]
    column = pl.col(number)
    compare: list[Callable[[Any, Any], pl.Expr]] = [
        lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b,
        lambda a, b: a.eq_missing(b), lambda a, b: a.ne_missing(b),
    ]  # fmt: skip
    made = [
        choose.choice(compare)(column, pl.lit(choose.choice(constants))),
        choose.choice(compare)(column, pl.col(other)),
        choose.choice(compare)(pl.lit(choose.choice(constants)), column),
    ]
    closed: Any = choose.choice(["both", "left", "right", "none"])
    made += [column.is_between(choose.choice(constants), choose.choice(constants), closed=closed), column.is_null(), column.is_not_null()]
    made += [column.is_in([choose.choice([0, 1, 2, 3]) for _ in range(2)]), ~column.is_in([0, 1])]
    made += [column.is_nan(), column.is_not_nan(), column.is_in([float("nan"), 0.5])] if number in FLOATS else []
    moment = datetime.datetime(1970, 1, 1, 0, 0, choose.randint(0, 2))
    made += [
        choose.choice(compare)(pl.col("s"), pl.lit(choose.choice(["a", "A", "é", ""]))),
        choose.choice(compare)(pl.col("t"), pl.lit(moment)),
        pl.col("b"),
        ~pl.col("b"),
    ]
    made += [
        choose.choice(compare)(pl.col("c"), pl.lit("2000-01-02")),
        pl.col("s").is_in(["a", ""]),
        pl.col("s").str.starts_with("a"),
        pl.col("b") == choose.choice([True, False]),
    ]
    return made


@one_in(3)
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(4))
def test_expressions_of_polars(table: hs.Table, seed: int, step: int) -> None:
    choose, compared = random.Random(seed), 0
    memory = pl.DataFrame(table.to_arrow())
    lazy = hs.scan_polars(table)
    for _ in range(300 // step):
        expression = joined(polars_terms(choose), choose, choose.choice([0, 0, 1, 2]), lambda a, b: a & b, lambda a, b: a | b)
        try:
            right = memory.filter(expression)["k"].to_list()
        except pl.exceptions.PolarsError:
            continue
        assert lazy.filter(expression).select("k").collect()["k"].to_list() == right, str(expression)
        compared += 1
    print(f"{compared} expressions of Polars")
    assert compared > 200 // step


# Types that netCDF does not have


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory: pytest.TempPathFactory) -> hs.File:
    """Halves, fixed-length texts, enumerations and numbers of more than 63 bits."""
    choose, path = random.Random(2), tmp_path_factory.mktemp("odd") / "a.h5"
    halves = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.1, 1.0, 65504.0, 6e-8]
    with h5py.File(path, "w") as f:
        g = f.create_group("g")
        g["k"] = np.arange(ROWS, dtype="i4")
        g["h"] = np.array([choose.choice(halves) for _ in range(ROWS)], "f2")
        g["s"] = np.array([choose.choice([b"", b"a", b"ab", b"A", b"1"]) for _ in range(ROWS)], "S3")
        g["u"] = np.array([choose.choice([0, 1, 2**63 - 1, 2**63, 2**64 - 1]) for _ in range(ROWS)], "u8")
        g.create_dataset("e", data=[choose.choice([0, 1, 2]) for _ in range(ROWS)], dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, "i1"))
    return hs.open(path)


@one_in(3)
def test_other_types(odd_file: hs.File, step: int) -> None:
    table = odd_file.table("/g")
    memory, dataset, compared = table.to_arrow(), table.dataset(), 0
    columns = ["h", "s", "u", "e"]
    constants: list[Any] = [0.1, -0.0, 1.0, 65504.0, 1e6, float("nan"), float("inf"), 0, 1, 2**63 - 1, 2**63, 2**64 - 1, -1, "a", "", "RED", True]
    half, wide = pa.float16(), pa.uint64()
    scalars = [constant for constant in constants if constant not in (2**63, 2**64 - 1)]
    scalars += [pa.scalar(0.1, half), pa.scalar(float("nan"), half), pa.scalar(2**64 - 1, wide)]
    lists: list[Any] = [
        [0.1, 1.0],
        [float("nan")],
        [0.0],
        ["a", ""],
        ["RED", None],
        [1, 0],
        pa.array([2**63, 2**64 - 1], wide),
        pa.array([0.1, float("nan")], half),
        [None],
        [],
    ]
    for column in columns:
        made = [comparison(pc.field(column), scalar) for scalar in scalars for comparison in (operator.eq, operator.ne, operator.lt, operator.ge)]
        made += [pc.field(column).isin(values) for values in lists] + [pc.field(column).is_null(), pc.field(column).is_nan()]
        for expression in [*made, *(~one for one in made)][::step]:
            right = outcome(lambda e=expression: memory.filter(e)["k"].to_pylist())
            if isinstance(right, str):
                continue
            assert dataset.to_table(filter=expression)["k"].to_pylist() == right, expression
            compared += 1
    # DuckDB has no halves in Arrow: `hs.sql` gives it single precision.
    single = memory.set_column(memory.column_names.index("h"), "h", memory["h"].cast(pa.float32()))
    native = duckdb.connect()
    native.execute("create table g as select * from single")
    assert len(single) == ROWS
    for column in columns:
        for constant in constants[::step]:
            shown = literal(constant) if not isinstance(constant, str) else f"'{constant}'"
            for condition in (
                f"{column} = {shown}",
                f"{column} < {shown}",
                f"{column} >= {shown}",
                f"{column} in ({shown}, {shown})",
                f"{column} not in ({shown})",
            ):
                query = f"select k from g where {condition}"
                right = rows_or_error(lambda q=query: [k for (k,) in native.execute(q).fetchall()])
                if not isinstance(right, str):
                    assert rows_or_error(lambda q=query: [k for (k,) in hs.sql(q, odd_file).fetchall()]) == right, query
                    compared += 1
    frame, lazy = pl.DataFrame(memory), hs.scan_polars(table)
    for column in columns:
        for constant in constants[::step]:
            for comparison in (operator.eq, operator.ne, operator.lt, operator.ge):
                expression = comparison(pl.col(column), pl.lit(constant))
                try:
                    right = frame.filter(expression)["k"].to_list()
                except (pl.exceptions.PolarsError, OverflowError):
                    continue
                assert lazy.filter(expression).select("k").collect()["k"].to_list() == right, str(expression)
                compared += 1
    print(f"{compared} conditions on other types")
    assert compared > 300 // step
