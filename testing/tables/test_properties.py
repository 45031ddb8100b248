"""The scan against nested loops: any shape, chunks, predicate, columns, split and batch size."""

from __future__ import annotations

import itertools
import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

OPERATORS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal, "!=": np.not_equal}


@st.composite
def grids(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...] | None, bool]:
    shape = tuple(draw(st.lists(st.integers(0, 7), min_size=1, max_size=3)))
    chunked = draw(st.booleans()) and all(shape)
    chunks = tuple(draw(st.integers(1, n)) for n in shape) if chunked else None
    return shape, chunks, draw(st.booleans())


@st.composite
def predicates(draw: st.DrawFn, names: list[str], depth: int = 2):
    """Text, and the same as a function of a row."""
    kind = draw(st.sampled_from(["compare", "between", "in", "not", "and", "or"] if depth else ["compare", "between", "in"]))
    if kind in ("and", "or"):
        left, right = draw(predicates(names, depth - 1)), draw(predicates(names, depth - 1))
        both = (lambda row: left[1](row) and right[1](row)) if kind == "and" else (lambda row: left[1](row) or right[1](row))
        word = draw(st.sampled_from({"and": ["and", "AND", "&&"], "or": ["or", "||"]}[kind]))
        return f"({left[0]}) {word} ({right[0]})", both
    if kind == "not":
        inner = draw(predicates(names, depth - 1))
        return f"{draw(st.sampled_from(['not ', '!']))}({inner[0]})", lambda row: not inner[1](row)
    name = draw(st.sampled_from(names))
    low, high = draw(st.integers(-1, 9)), draw(st.integers(-1, 9))
    if kind == "between":
        return f"{name} between {low} and {high}", lambda row: low <= row[name] <= high
    if kind == "in":
        return f"{name} in ({low}, {high})", lambda row: row[name] in (low, high)
    word = draw(st.sampled_from(sorted(OPERATORS)))
    if draw(st.booleans()):
        return f"{low} {word} {name}", lambda row: bool(OPERATORS[word](low, row[name]))
    return f"{name} {word} {low}", lambda row: bool(OPERATORS[word](row[name], low))


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), grid=grids(), batch_rows=st.integers(1, 50), splits=st.integers(1, 9), threads=st.sampled_from([1, 2, 3]))
def test_a_scan_keeps_the_rows_that_nested_loops_keep(tmp_path_factory: pytest.TempPathFactory, data, grid, batch_rows, splits, threads) -> None:
    shape, chunks, with_scales = grid
    path = tmp_path_factory.mktemp("property") / "a.h5"
    values = (np.arange(int(np.prod(shape))) * 7 % 10).astype("i4").reshape(shape)
    scales = [np.sort(np.arange(n) * 3 % 10)[:: -1 if i % 2 else 1].astype("i4") for i, n in enumerate(shape)]
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", data=values, chunks=chunks)
        for i, scale in enumerate(scales if with_scales else ()):
            f[f"c{i}"] = scale
            f[f"c{i}"].make_scale(f"c{i}")
            x.dims[i].attach_scale(f[f"c{i}"])
    table = hs.open(path, threads=threads).table("/x")
    names = table.schema.names
    assert len(names) == len(shape) + 1
    rows = []
    for at in itertools.product(*map(range, shape)):
        coordinates = [scales[i][k] if with_scales else k for i, k in enumerate(at)]
        rows.append(dict(zip(names, [*map(int, coordinates), int(values[at])])))
    text, keep = data.draw(predicates(names))
    columns = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    wanted = [{name: row[name] for name in columns} for row in rows if keep(row)]
    scan = hs.open(path, threads=threads).table("/x", where=text, columns=columns, batch_rows=batch_rows)
    assert scan.to_arrow().to_pylist() == wanted, text
    assert scan.count() == len(wanted)
    parts = [split.read() for split in scan.splits(splits)]
    assert list(itertools.chain.from_iterable(part.to_pylist() for part in parts)) == wanted
    limit = data.draw(st.integers(0, 20))
    assert scan.head(limit).to_pylist() == wanted[:limit]
    assert all(batch.num_rows <= batch_rows for batch in scan.batches())


def test_a_stream_goes_through_the_pycapsule_door(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(10)
    table = hs.open(tmp_path / "a.h5").table("/x", batch_rows=3)
    assert pa.table(table).to_pylist() == table.to_arrow().to_pylist()
    assert pa.schema(table) == table.schema
