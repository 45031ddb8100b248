"""Random conditions on random arrays: the rows that Python's own numbers choose, one row at a time.

Python's integers are exact and compare with floats without rounding, so they are the naive judge."""

from __future__ import annotations

import math
import pathlib
import tempfile
from fractions import Fraction
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

ROWS = 137
CHUNKS = {"f4": 10, "f8": 137, "i8": 64, "u8": 1, "i4": 50, "u1": 136, "i2": 7, "f2": 33, "flag": 20, "filled": 9}
SPECIAL = {
    "f": [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.5, -2.0, 100.0256, 2.0**53, 3.0e38],
    "i8": [-(2**63), 2**63 - 1, -1, 0, 2**53 + 1, 7],
    "u8": [2**64 - 1, 2**63, 0, 2**53 + 1, 7],
}


def columns(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}
    for name in ("f2", "f4", "f8"):
        values = (random.normal(size=ROWS) * 10.0 ** random.integers(-2, 3)).astype(f"<{name}")
        with np.errstate(over="ignore"):
            special = np.array(SPECIAL["f"]).astype(values.dtype)
        places = random.integers(0, ROWS, ROWS // 3)
        values[places] = random.choice(special, len(places))
        made[name] = values
    for name in ("i2", "i4", "i8", "u1", "u8"):
        info = np.iinfo(f"{name[0]}{name[1]}")
        values = random.integers(-3 if info.min else 0, 9, ROWS).astype(info.dtype)
        wide = random.integers(info.min, info.max, ROWS, dtype=info.dtype, endpoint=True)
        values = np.where(random.random(ROWS) < 0.3, wide, values)
        special = np.array([v for v in SPECIAL["u8" if info.min == 0 else "i8"] if info.min <= v <= info.max], info.dtype)
        places = random.integers(0, ROWS, ROWS // 4)
        values[places] = random.choice(special, len(places))
        made[name] = values
    made["flag"] = random.random(ROWS) < 0.5
    made["filled"] = random.integers(-2, 3, ROWS).astype("i4")
    return made


def python_values(name: str, values: np.ndarray) -> list[Any]:
    """As Python's numbers; the fill value is null."""
    return [None if name == "filled" and v == -2 else v for v in values.tolist()]


class Number:
    """A value as text, and as a function of a row. `kind` is int, float, or const for a literal as it is written."""

    def __init__(self, text: str, of: Any, kind: str, literal: str | None = None) -> None:
        self.text, self.of, self.kind, self.literal = text, of, kind, literal


def literals() -> st.SearchStrategy[Number]:
    whole = st.one_of(st.integers(-5, 9), st.sampled_from([2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**40]))
    parts = st.one_of(
        st.sampled_from(["100.0256", "0.5", "-2.5", "1e3", "1e-5", "9007199254740993.5", "3e38", "1e300", "-0.0", "0.1"]),
        st.floats(-10, 10).map(lambda v: repr(round(v, 3))),
    )

    def of_text(text: str) -> Number:
        digits = text.lstrip("-").isdigit()
        exact: Any = int(text) if digits and abs(int(text)) < 2**127 else float(text)
        return Number(f"({text})" if text.startswith("-") else text, lambda row: exact, "int" if isinstance(exact, int) else "float", text)

    return st.one_of(whole.map(str), parts).map(of_text)


def column_numbers() -> st.SearchStrategy[Number]:
    floats = {"f2", "f4", "f8"}
    names = ["f2", "f4", "f8", "i2", "i4", "i8", "u1", "u8", "filled"]
    return st.sampled_from(names).map(lambda name: Number(name, lambda row: row[name], "float" if name in floats else "int"))


def lifted(function: Any) -> Any:
    def of(*arguments: Any) -> Any:
        return None if any(a is None for a in arguments) else function(*arguments)

    return of


def as_float(value: Any) -> float:
    return float(value)


def arithmetic(operator: str, a: Any, b: Any) -> Any:
    if operator == "/" or isinstance(a, float) or isinstance(b, float):
        with np.errstate(all="ignore"):
            x, y = np.float64(as_float(a)), np.float64(as_float(b))
            return float({"+": x + y, "-": x - y, "*": x * y, "/": x / y}[operator])
    return {"+": a + b, "-": a - b, "*": a * b}[operator]


def computed(inner: st.SearchStrategy[Number]) -> st.SearchStrategy[Number]:
    def binary(operator: str, left: Number, right: Number) -> Number:
        kind = "float" if operator == "/" or "float" in (left.kind, right.kind) else "int"
        return Number(f"({left.text} {operator} {right.text})", lambda row: lifted(lambda a, b: arithmetic(operator, a, b))(left.of(row), right.of(row)), kind)

    def unary(name: str, part: Number) -> Number:
        def apply(value: Any) -> Any:
            if name == "-":
                return -value
            if name == "abs":
                return abs(value)
            if isinstance(value, int) and name == "floor":
                return value
            with np.errstate(all="ignore"):
                return float({"sqrt": np.sqrt, "floor": np.floor}[name](np.float64(as_float(value))))

        text = f"(-{part.text})" if name == "-" else f"{name}({part.text})"
        return Number(text, lambda row: lifted(apply)(part.of(row)), "float" if name == "sqrt" else part.kind)

    # Products of 64-bit integers twice over leave 127 bits; that is another test's.
    sums = st.builds(binary, st.sampled_from("+-"), inner, inner)
    quotients = st.builds(binary, st.sampled_from("/"), inner, inner)
    products = st.builds(
        binary, st.just("*"), column_numbers().filter(lambda n: n.text not in ("u8", "i8")), column_numbers().filter(lambda n: n.text not in ("u8", "i8"))
    )
    return st.one_of(sums, quotients, products, st.builds(unary, st.sampled_from(["-", "abs", "sqrt", "floor"]), inner))


def big(number: Number) -> bool:
    return number.literal is not None and number.kind == "float" and number.literal.lstrip("-").isdigit()


NUMBERS = st.recursive(st.one_of(column_numbers(), column_numbers(), literals().filter(lambda n: not big(n))), computed, max_leaves=4)
COLUMNED = NUMBERS.filter(lambda n: n.literal is None and any(c in n.text for c in ("f2", "f4", "f8", "i2", "i4", "i8", "u1", "u8", "filled")))
COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class Condition:
    def __init__(self, text: str, of: Any) -> None:
        self.text, self.of = text, of


def compared(operator: str, a: Any, b: Any, literal: str | None, kind: str) -> Any:
    if a is None or b is None:
        return None
    if literal is not None and kind == "int":
        b = Fraction(literal)  # integers compare with the decimal as it is written
    return COMPARE[operator](a, b)


def one_test() -> st.SearchStrategy[Condition]:
    def one(operator: str, left: Number, right: Number, mirrored: bool) -> Condition:
        def of(row: Any) -> Any:
            return compared(operator, left.of(row), right.of(row), right.literal, left.kind)

        turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        text = f"{right.text} {turned} {left.text}" if mirrored and right.literal is not None else f"{left.text} {operator} {right.text}"
        return Condition(text, of)

    def chain(low: Number, part: Number, high: Number) -> Condition:
        def of(row: Any) -> Any:
            value = part.of(row)
            first = compared(">=", value, low.of(row), low.literal, part.kind)
            second = compared("<", value, high.of(row), high.literal, part.kind)
            return None if first is None else first and second

        return Condition(f"{low.text} <= {part.text} < {high.text}", of)

    def listed(part: Number, members: list[Number], negated: bool) -> Condition:
        def of(row: Any) -> Any:
            value = part.of(row)
            if value is None:
                return None
            return any(compared("==", value, member.of(row), member.literal, part.kind) for member in members) != negated

        return Condition(f"{part.text} {'not ' if negated else ''}in ({', '.join(m.text for m in members)})", of)

    def null(name: str, negated: bool) -> Condition:
        return Condition(f"{name} is {'not ' if negated else ''}null", lambda row: (row[name] is None) != negated)

    operators = st.sampled_from(list(COMPARE))
    return st.one_of(
        st.builds(one, operators, column_numbers(), literals(), st.booleans()),
        st.builds(one, operators, COLUMNED, st.one_of(COLUMNED, literals()), st.booleans()),
        st.builds(chain, literals(), COLUMNED, literals()),
        st.builds(listed, column_numbers(), st.lists(literals(), min_size=1, max_size=4), st.booleans()),
        st.builds(null, st.sampled_from(["filled", "f4"]), st.booleans()),
        st.just(Condition("flag", lambda row: row["flag"])),
        st.sampled_from(["f2", "f4", "f8"]).flatmap(
            lambda name: st.sampled_from(
                [
                    Condition(f"isnan({name})", lambda row: math.isnan(row[name])),
                    Condition(f"isfinite({name})", lambda row: math.isfinite(row[name])),
                    Condition(f"{name} is not nan", lambda row: not math.isnan(row[name])),
                    Condition(f"isinf({name})", lambda row: math.isinf(row[name])),
                ]
            )
        ),
    )


def joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def logic(word: str, a: Any, b: Any) -> Any:
        if word in ("&&", "and"):
            return False if a is False or b is False else None if None in (a, b) else True
        if word in ("||", "or"):
            return True if a is True or b is True else None if None in (a, b) else False
        return None if None in (a, b) else a != b

    def both(word: str, left: Condition, right: Condition) -> Condition:
        return Condition(f"({left.text}) {word} ({right.text})", lambda row: logic(word, left.of(row), right.of(row)))

    def turned(word: str, part: Condition) -> Condition:
        return Condition(f"{word} ({part.text})", lambda row: None if part.of(row) is None else not part.of(row))

    words = st.sampled_from(["&&", "and", "||", "or", "xor"])
    return st.one_of(st.builds(both, words, inner, inner), st.builds(turned, st.sampled_from(["not", "!"]), inner))


CONDITIONS = st.recursive(one_test(), joined, max_leaves=4)


class Arrays:
    """A file of the same columns in one dimension and in two, with indexes of a level or without."""

    def __init__(self, seed: int, level: str | None) -> None:
        self.columns = columns(seed)
        values = {name: python_values(name, v) for name, v in self.columns.items()}
        self.rows = [{name: values[name][row] for name in values} for row in range(ROWS)]
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "a.h5"
        with h5py.File(self.path, "w") as f:
            for name, v in self.columns.items():
                f.create_dataset(f"g/{name}", data=v, chunks=(CHUNKS[name],), compression="gzip" if CHUNKS[name] % 2 else None)
                f.create_dataset(f"deep/{name}", data=v[:130].reshape(10, 13), chunks=(3, 5))
            for group in ("g", "deep"):
                f[f"{group}/filled"].attrs["_FillValue"] = np.int32(-2)
        if level is not None:
            indexed = [f"/{group}/{name}" for group in ("g", "deep") for name in CHUNKS]
            hs.index(self.path, indexed, level=level)
        self.file = hs.open(self.path)


MADE = [Arrays(seed, level) for seed, level in enumerate([None, None, "Z", "K", "P", "X", "B"])]


@given(CONDITIONS, st.sampled_from(MADE))
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_a_condition_keeps_the_rows_that_python_keeps(condition: Condition, made: Arrays) -> None:
    passes = [condition.of(row) is True for row in made.rows]
    wanted = np.flatnonzero(passes)
    query = hs.query(made.file, "/g", condition.text, rows="f8")
    np.testing.assert_array_equal(query.positions(), wanted, err_msg=condition.text)
    assert query.count() == len(wanted)
    np.testing.assert_array_equal(query.values("u8"), made.columns["u8"][wanted])
    deep = hs.query(made.file, "/deep", condition.text, rows="f8")
    wanted = np.flatnonzero(passes[:130])
    np.testing.assert_array_equal(deep.coordinates(), np.stack(np.unravel_index(wanted, (10, 13)), axis=1))


@given(CONDITIONS, st.sampled_from(MADE), st.sampled_from(["f4", "f8", "i8", "u8", "i2"]), st.lists(st.floats(0, 1), min_size=1, max_size=3))
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_what_is_known_of_the_rows_is_what_numpy_says(condition: Condition, made: Arrays, name: str, q: list[float]) -> None:
    kept = made.columns[name][[condition.of(row) is True for row in made.rows]]
    numbers = kept[~np.isnan(kept)] if kept.dtype.kind == "f" else kept
    query = hs.query(made.file, "/g", condition.text, rows=name)
    if len(numbers) == 0:
        assert query.minmax(name) is None and np.isnan(query.quantile(name, 0.5))
    else:
        assert query.minmax(name) == (numbers.min(), numbers.max())
        for method in ("lower", "higher", "nearest"):
            np.testing.assert_array_equal(query.quantile(name, q, method), np.quantile(numbers, q, method=method))
    edges = np.array([-3.0, -1.0, 0.0, 2.0, 2.5, 1e3])
    np.testing.assert_array_equal(query.histogram(name, edges).values, np.histogram(numbers.astype("f8"), edges)[0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", [None, "Z", "K", "P", "X"])
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_every_selectivity_is_exact(tmp_path: pathlib.Path, level: str | None, compression: str | None) -> None:
    size = 150_000
    random = np.random.default_rng(3)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for step in range(3):
            f.create_dataset(f"Step#{step}/x", data=random.permutation(size).astype("f4"), chunks=(33_333,), compression=compression)
            f.create_dataset(f"Step#{step}/y", data=random.normal(size=size), chunks=(50_000,), compression=compression)
            f.create_dataset(f"Step#{step}/cube", data=random.normal(size=(30, 50, 100)).astype("f4"), chunks=(7, 50, 30), compression=compression)
    if level is not None:
        hs.index(tmp_path / "a.h5", "/Step#*/*", level=level)
    with h5py.File(tmp_path / "a.h5") as f:
        x, y, cube = ([f[f"Step#{step}/{name}"][:] for step in range(3)] for name in ("x", "y", "cube"))

    def positions(masks: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.flatnonzero(mask) for mask in masks])

    file = hs.open(tmp_path / "a.h5")
    for bound in (-1, 0, 1, 149, 15_000, 75_000, 149_998, 149_999, 150_000):
        query = hs.query(file, "/Step#*", f"x >= {bound}")
        masks = [a >= bound for a in x]
        assert query.count() == sum(m.sum() for m in masks)
        np.testing.assert_array_equal(query.positions(), positions(masks))
        both = hs.query(file, "/Step#*", f"x < {bound} and y > 1.5")
        masks = [(a < bound) & (b > 1.5) for a, b in zip(x, y)]
        np.testing.assert_array_equal(both.positions(), positions(masks))
        np.testing.assert_array_equal(both.values("y"), np.concatenate([b[m] for b, m in zip(y, masks)]))
        np.testing.assert_array_equal(
            both.histogram("x", 16, range=(0, size)).values, np.histogram(np.concatenate([a[m] for a, m in zip(x, masks)]), 16, (0, size))[0]
        )
    part = hs.query(file, "/Step#*", "cube[3:25:2, :, 7] > 2 && cube[0:22:2,:,-1] < 0")
    masks = [(c[3:25:2, :, 7] > 2) & (c[0:22:2, :, -1] < 0) for c in cube]
    np.testing.assert_array_equal(part.positions(), positions(masks))
    assert hs.query(file, "/Step#*", "cube[3:25:2, :, 7] > 2").count() == sum((c[3:25:2, :, 7] > 2).sum() for c in cube)
    np.testing.assert_array_equal(
        hs.query(file, "/Step#*", "cube > 2.5 and dim_1 < 3").positions(), positions([(c > 2.5) & (np.arange(50)[None, :, None] < 3) for c in cube])
    )
    whole = hs.query(file, "/Step#*", rows="y")
    every = np.concatenate(y)
    assert whole.minmax("y") == (every.min(), every.max())
    np.testing.assert_array_equal(whole.quantile("y", [0, 0.001, 0.5, 0.77, 1], "lower"), np.quantile(every, [0, 0.001, 0.5, 0.77, 1], method="lower"))
    np.testing.assert_array_equal(whole.step(1).quantile("y", [0.25, 0.5], "higher"), np.quantile(y[1], [0.25, 0.5], method="higher"))
    for edges in (np.linspace(-5, 5, 64), np.array([-0.5, 0.0, 0.1, every.max()])):
        np.testing.assert_array_equal(whole.histogram("y", edges).values, np.histogram(every, edges)[0])
    np.testing.assert_array_equal(
        hs.query(file, "/Step#*", rows="x").histogram("x", [0, 1, 2.5, 74_999, 149_999]).values,
        np.histogram(np.concatenate(x).astype("f8"), [0, 1, 2.5, 74_999, 149_999])[0],
    )
