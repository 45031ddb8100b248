"""Processes of Dask's own cluster read tables, arrays and queries that were opened elsewhere."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import dask
import distributed
import h5py
import hyperslab as hs
import numpy as np
import pytest

VALUES = np.random.default_rng(3).random((400, 50))


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("distributed") / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=VALUES, chunks=(20, 50), compression="gzip")
        f["g/a"], f["g/b"] = np.arange(5000), np.arange(5000) % 7
    return path


def test_frames_and_arrays_are_computed_by_its_processes(client: distributed.Client, path: pathlib.Path) -> None:
    f = hs.open(path)
    frame = f.table("/g", "a >= 100").to_dask(6)
    sums = frame.groupby("b")["a"].sum().compute()
    assert sums.to_dict() == {b: int(sum(a for a in range(100, 5000) if a % 7 == b)) for b in range(7)}
    array = f["x"].to_dask(chunks=(40, 50))
    np.testing.assert_array_equal(array.compute(), VALUES)
    np.testing.assert_allclose(array.mean(axis=0).compute(), VALUES.mean(axis=0))
    assert len({worker["id"] for worker in client.scheduler_info()["workers"].values()}) == 2


def rows_of(split: hs.Split) -> int:
    return split.read(threads=1).num_rows


def test_splits_tables_and_queries_travel(client: distributed.Client, path: pathlib.Path) -> None:
    table, query = hs.open(path).table("/x", "x > 0.5"), hs.query(path, "/", "x > 0.5")
    wanted = int((VALUES > 0.5).sum())
    assert sum(client.gather(client.map(rows_of, table.splits(8), pure=False))) == wanted
    assert client.submit(lambda: table.count()).result() == wanted
    assert client.submit(lambda: query.count()).result() == wanted


def test_an_error_in_a_process_is_the_error_of_the_package(client: distributed.Client, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "d.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4000.0), chunks=(1000,), compression="gzip")
        place = f["x"].id.get_chunk_info(2)
    with open(tmp_path / "d.h5", "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    with pytest.raises(hs.CorruptError, match="/x"), dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        hs.open(tmp_path / "d.h5").table("/x").to_dask(4)["x"].sum().compute()
