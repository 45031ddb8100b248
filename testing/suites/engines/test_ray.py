"""`hyperslab.ray.read_hdf5` in a real local Ray: the rows that h5py and numpy read, what is not read, and errors by name."""

from __future__ import annotations

import os
import pathlib
import pickle
import time
from collections.abc import Iterator

import h5py
import hyperslab as hs
import numpy as np
import pytest
import ray
from hyperslab.engines.ray_datasource import DatasetsDatasource, TableDatasource
from range_server import serving


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    yield
    ray.shutdown()


ROWS = 1000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Three files of images with labels, names, records and a scaled array."""
    folder = tmp_path_factory.mktemp("ray")
    for run in range(3):
        generator = np.random.default_rng(run)
        with h5py.File(folder / f"run{run}.h5", "w") as f:
            f.create_dataset("images", data=generator.integers(0, 255, (ROWS, 6, 4), "u1"), chunks=(100, 6, 4), compression="gzip")
            f.create_dataset("labels", data=generator.integers(0, 10, ROWS), chunks=(128,))
            f.create_dataset("scores", data=generator.random((ROWS, 3)), chunks=(70, 2), compression="lzf")
            f["names"] = np.array([f"row {i} of {run}" for i in range(ROWS)], h5py.string_dtype())
            f["records"] = np.array([(i, i / 2) for i in range(ROWS)], [("n", "<i4"), ("w", "<f8")])
            f["packed"] = generator.integers(-99, 99, (ROWS, 5), "i2")
            f["packed"].attrs.update(scale_factor=np.float32(0.5), add_offset=np.float32(3), _FillValue=np.int16(7))
            f["g/a"], f["g/b"] = np.arange(ROWS), np.arange(ROWS) * 0.5
    return folder


def expected(folder: pathlib.Path, name: str) -> np.ndarray:
    """The rows of all files by h5py."""
    parts = []
    for path in sorted(folder.glob("run*.h5")):
        with h5py.File(path) as f:
            dataset = f[name]
            parts.append(dataset.asstr()[...] if h5py.check_string_dtype(dataset.dtype) else dataset[...])
    return np.concatenate(parts)


def columns_of(dataset: ray.data.Dataset) -> dict[str, np.ndarray]:
    batches = list(dataset.iter_batches(batch_size=None, batch_format="numpy"))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


@pytest.mark.parametrize("name", ["images", "scores", "labels", "names"])
def test_the_rows_of_a_dataset_of_several_files_are_those_of_h5py(folder: pathlib.Path, name: str) -> None:
    found = hs.ray.read_hdf5([folder / f"run{run}.h5" for run in range(3)], name)
    assert found.count() == 3 * ROWS
    np.testing.assert_array_equal(columns_of(found)[name], expected(folder, name))


@pytest.mark.parametrize("blocks", [1, 2, 7, 40])
def test_datasets_side_by_side_of_a_glob_and_any_number_of_blocks(folder: pathlib.Path, blocks: int) -> None:
    found = hs.ray.read_hdf5(folder / "run*.h5", ["/images", "/labels", "/names", "/scores"], override_num_blocks=blocks, concurrency=2)
    assert found.count() == 3 * ROWS
    columns = columns_of(found)
    assert list(columns) == ["images", "labels", "names", "scores"]
    for name, values in columns.items():
        np.testing.assert_array_equal(values, expected(folder, name))


def test_a_mapping_names_the_columns(folder: pathlib.Path) -> None:
    columns = columns_of(hs.ray.read_hdf5(folder / "run1.h5", {"x": "/images", "y": "/g/a"}))
    assert columns["x"].shape == (ROWS, 6, 4) and columns["y"].tolist() == list(range(ROWS))


def test_conditions_and_columns_are_pushed_down(folder: pathlib.Path) -> None:
    found = hs.ray.read_hdf5(folder / "run*.h5", "/g", "a < 10 and b > 2", columns=["b"])
    assert found.schema().names == ["b"] and columns_of(found)["b"].tolist() == [2.5, 3.0, 3.5, 4.0, 4.5] * 3
    assert found.count() == 15
    records = columns_of(hs.ray.read_hdf5(folder / "run0.h5", "records", "n in (3, 5)"))
    assert records["n"].tolist() == [3, 5] and records["w"].tolist() == [1.5, 2.5]
    some = columns_of(hs.ray.read_hdf5(folder / "run0.h5", "images", "dim_0 >= 990"))
    np.testing.assert_array_equal(some["images"], expected(folder, "images")[990:ROWS])


def test_a_selection_of_columns_in_ray_is_what_is_read(folder: pathlib.Path) -> None:
    found = hs.ray.read_hdf5(folder / "run*.h5", "/g")
    assert columns_of(found.select_columns(["b"]))["b"].tolist() == (np.arange(ROWS) * 0.5).tolist() * 3
    source = TableDatasource(hs.open(folder / "run0.h5"), "/g", None, None, {})
    (task,) = source.apply_projection({"b": "b"}).get_read_tasks(1)
    before = hs.counters()
    assert all(block.column_names == ["b"] for block in task()) and hs.counters().since(before).bytes_read < 1.5 * 8 * ROWS


def test_cells_of_an_array(folder: pathlib.Path) -> None:
    cells = columns_of(hs.ray.read_hdf5(folder / "run0.h5", "scores", "scores > 0.5", layout="cells"))
    with h5py.File(folder / "run0.h5") as f:
        values = f["scores"][...]
    np.testing.assert_array_equal(cells["scores"], values[values > 0.5])
    np.testing.assert_array_equal(cells["dim_0"], np.argwhere(values > 0.5)[:, 0])


@pytest.mark.parametrize("datasets", ["packed", ["packed"]])
def test_values_are_decoded_unless_raw(folder: pathlib.Path, datasets: str | list[str]) -> None:
    stored = expected(folder, "packed")[:ROWS]
    decoded = columns_of(hs.ray.read_hdf5(folder / "run0.h5", datasets))["packed"]
    np.testing.assert_array_equal(decoded, np.where(stored == 7, np.nan, stored * np.float32(0.5) + np.float32(3)))
    np.testing.assert_array_equal(columns_of(hs.ray.read_hdf5(folder / "run0.h5", datasets, raw=True))["packed"], stored)


def test_limit_map_batches_and_groups(folder: pathlib.Path) -> None:
    found = hs.ray.read_hdf5(folder / "run*.h5", ["/images", "/labels"])
    assert [row["labels"] for row in found.limit(7).iter_rows()] == expected(folder, "labels")[:7].tolist()
    sums = found.map_batches(lambda batch: {"sum": batch["images"].sum(axis=(1, 2), dtype="i8"), "label": batch["labels"]})
    assert sums.sum("sum") == int(expected(folder, "images").sum(dtype="i8"))
    counts = {row["label"]: row["count()"] for row in sums.groupby("label").count().take_all()}
    assert counts == dict(enumerate(np.bincount(expected(folder, "labels")).tolist()))


def test_batches_of_torch(folder: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    batches = list(hs.ray.read_hdf5(folder / "run0.h5", ["/images"]).iter_torch_batches(batch_size=100))
    assert all(batch["images"].dtype == torch.uint8 for batch in batches)
    np.testing.assert_array_equal(torch.cat([batch["images"] for batch in batches]).numpy(), expected(folder, "images")[:ROWS])


@pytest.mark.parametrize("datasets", ["images", ["images", "labels"]])
def test_objects_of_a_store_are_read_by_workers(folder: pathlib.Path, datasets: str | list[str]) -> None:
    with serving() as server:
        for path in folder.glob("run*.h5"):
            server.put(f"bucket/runs/{path.name}", path)
        found = hs.ray.read_hdf5("s3://bucket/runs/run*.h5", datasets, storage_options=server.s3_options(), override_num_blocks=6)
        np.testing.assert_array_equal(columns_of(found)["images"], expected(folder, "images"))
        server.put("bucket/runs/run1.h5", folder / "run2.h5")
        with pytest.raises(hs.ConflictError, match=r"run1\.h5"):
            found.materialize()


def test_relative_paths_are_found_by_workers(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert hs.ray.read_hdf5("run?.h5", "labels").sum("labels") == int(expected(folder, "labels").sum())


def test_empty_datasets_have_a_schema(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "empty.h5", "w") as f:
        f.create_dataset("x", (0, 3), "f4")
    for datasets in ("x", ["x"]):
        found = hs.ray.read_hdf5(tmp_path / "empty.h5", datasets)
        assert found.count() == 0 and "x" in found.schema().names


@pytest.mark.parametrize("datasets", ["x", ["x"]])
def test_tasks_are_small_pickles(tmp_path: pathlib.Path, datasets: str | list[str]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(300_000.0).reshape(-1, 3), chunks=(1000, 3), compression="gzip")
    tasks = _tasks(tmp_path / "a.h5", datasets)
    assert len(tasks) == 4
    pickles = [pickle.dumps(task.read_fn) for task in tasks]
    assert max(map(len, pickles)) < 20_000
    assert [sum(block.num_rows for block in pickle.loads(data)()) for data in pickles] == [task.metadata.num_rows for task in tasks]
    assert sum(task.metadata.num_rows for task in tasks) == 100_000


def _tasks(path: pathlib.Path, datasets: str | list[str]) -> list[ray.data.datasource.ReadTask]:
    f = hs.open(path)
    if isinstance(datasets, str):
        return TableDatasource(f, datasets, None, None, {}).get_read_tasks(4)
    return DatasetsDatasource(f, {name: name for name in datasets}, False).get_read_tasks(4)


@pytest.mark.parametrize("datasets", ["x", ["x"]])
def test_a_file_that_changes_after_planning_is_a_conflict(tmp_path: pathlib.Path, datasets: str | list[str]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(10.0).reshape(5, 2)
    found = hs.ray.read_hdf5(tmp_path / "a.h5", datasets)
    time.sleep(0.02)
    with h5py.File(tmp_path / "a.h5", "r+") as f:
        f["y"] = 1
    with pytest.raises(hs.ConflictError, match=r"a\.h5"):
        found.materialize()


@pytest.mark.parametrize("datasets", ["x", ["x"]])
def test_a_damaged_chunk_is_an_error_by_name_and_not_tried_again_and_again(tmp_path: pathlib.Path, datasets: str | list[str]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4000.0).reshape(-1, 4), chunks=(100, 4), compression="gzip")
        place = f["x"].id.get_chunk_info(2)
    with open(tmp_path / "a.h5", "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    begun = time.monotonic()
    with pytest.raises(hs.CorruptError, match="/x"):
        hs.ray.read_hdf5(tmp_path / "a.h5", datasets).materialize()
    assert time.monotonic() - begun < 60


def test_what_does_not_fit_is_refused_by_name(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(hs.NotFoundError, match="no file|nothing"):
        hs.ray.read_hdf5(tmp_path / "*.h5", "x")
    with pytest.raises(hs.NotFoundError, match="nope"):
        hs.ray.read_hdf5(folder / "run0.h5", ["labels", "nope"])
    with pytest.raises(hs.UnsupportedError, match="where with several datasets"):
        hs.ray.read_hdf5(folder / "run0.h5", ["labels"], "labels > 3")
    with pytest.raises(hs.InvalidInputError, match="'/g' is not a dataset"):
        hs.ray.read_hdf5(folder / "run0.h5", ["/g"])
    with pytest.raises(hs.InvalidInputError, match="same name"):
        hs.ray.read_hdf5(folder / "run0.h5", ["/g/a", "/labels/../a", "/h/a"])
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["labels"], f["short"] = np.zeros(ROWS, "f4"), np.zeros(3)
    with pytest.raises(hs.InvalidInputError, match=r"other\.h5"):
        hs.ray.read_hdf5([folder / "run0.h5", tmp_path / "other.h5"], ["labels"])
    with pytest.raises(hs.InvalidInputError, match="numbers of rows"):
        hs.ray.read_hdf5(tmp_path / "other.h5", ["labels", "short"])
