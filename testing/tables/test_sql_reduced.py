"""SQL whose aggregates are computed on arrays gives the rows of SQL over rows."""

from __future__ import annotations

import pathlib

import duckdb
import numpy as np
import pytest
from lib.reductions import judge, make_field, make_query

import hyperslab as hs
from hyperslab.engines.reducing import selection


@pytest.mark.parametrize("seed", range(40))
def test_random_queries_give_what_duckdb_gives_over_rows(tmp_path: pathlib.Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MIN_ROWS", 0)
    field = make_field(tmp_path, seed)
    table = hs.open(field.files).table("/")
    with duckdb.connect() as memory:
        memory.register("fields", table.to_arrow())
        rng = np.random.default_rng(seed)
        for _ in range(20):
            judge(field, table, memory, make_query(field, rng))
