"""DataFusion and Ray Data on tables: the same rows, what is not read, and the examples."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"


def bytes_of(read: Callable[[], object]) -> int:
    before = hs.counters()
    read()
    return hs.counters().since(before).bytes_read


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("engines") / "cube.h5"
    values = np.arange(2_000_000.0).reshape(200, 10_000)
    values[3, 5] = np.nan
    with h5py.File(path, "w") as f:
        f.create_dataset("v", data=values, chunks=(1, 10_000))
        f["g/n"], f["g/w"] = np.arange(1 << 18), np.arange(1 << 18) * 0.5
    return path


def test_datafusion_has_the_rows_and_leaves_the_rest_unread(cube: pathlib.Path) -> None:
    from datafusion import SessionContext

    f = hs.open(cube)
    context = SessionContext()
    context.register_dataset("v", f.table("/v").dataset())
    context.register_dataset("g", f.table("/g").dataset())
    rows: list[dict] = []
    assert bytes_of(lambda: rows.append(context.sql("select dim_1, v from v where dim_0 = 7").to_pydict())) < 1_000_000
    np.testing.assert_array_equal(np.sort(rows[0]["v"]), f["v"][7])
    assert bytes_of(lambda: context.sql("select sum(n) from g").collect()) < 1.5 * (8 << 18)
    assert context.sql("select count(*) as c, sum(n) as s from g where w > 10 and n < 100").to_pydict() == {"c": [79], "s": [sum(range(21, 100))]}
    assert context.sql("select * from g limit 3").to_pydict()["n"] == [0, 1, 2]
    assert context.sql("select count(*) as c from v").to_pydict() == {"c": [2_000_000]}
    assert context.sql("select g.n from g join v on g.n = v.v where v.dim_0 = 1 and g.n < 10002").to_pydict() == {"n": [10_000, 10_001]}


def test_errors_of_a_scan_are_in_datafusions(tmp_path: pathlib.Path) -> None:
    from datafusion import SessionContext

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4000.0), chunks=(1000,), compression="gzip")
        place = f["x"].id.get_chunk_info(2)
    with open(tmp_path / "a.h5", "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    context = SessionContext()
    context.register_dataset("x", hs.open(tmp_path / "a.h5").table("/x").dataset())
    with pytest.raises(Exception, match="object /x"):
        context.sql("select sum(x) from x").collect()


@pytest.mark.parametrize("name", ["engine_datafusion.py", "engine_ray.py"])
def test_examples_run_and_end(name: str) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=240, env={**os.environ, "RAY_DEDUP_LOGS": "0"})
    assert done.returncode == 0, done.stderr[-2000:]
    if name == "engine_ray.py":
        ours, theirs = map(float, done.stdout.split()[-2:])
        assert ours == pytest.approx(theirs, rel=1e-12)
    else:
        f = hs.open(EXAMPLES / "data" / "atlantic_profiles.nc")
        first = done.stdout.splitlines()[1].split()
        kept = f["theta"][...][0]
        assert float(first[1]) == 5.0 and float(first[2]) == pytest.approx(float(np.mean(kept, dtype="f8")), rel=1e-6)
