"""The structures of MLlib against numpy on the same data, with H5Spark's known faults as tests."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.spark import mllib

SHAPE = (37, 4, 3)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("mllib") / "a.h5"
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=rng.standard_normal(SHAPE), chunks=(5, 4, 3), compression="gzip")
        f["line"] = rng.standard_normal(20)
        f["sparse"] = np.where(rng.random((30, 12)) < 0.2, rng.integers(1, 9, (30, 12)), 0).astype("i2")
        f["big"] = np.array([[2**62, 1], [3, 4]])
        f["huge"] = np.array([[2**53 + 1, 1]])
    return str(path)


def values(path: str, dataset: str) -> np.ndarray:
    with h5py.File(path) as f:
        data = f[dataset][...]
    return data.reshape(len(data), int(np.prod(data.shape[1:])))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Files of 7, 0, 1, 20 and 3 rows, in natural order of their names, and one file with several steps."""
    folder = tmp_path_factory.mktemp("several")
    rng = np.random.default_rng(3)
    for number, rows in ((1, 7), (2, 0), (3, 1), (10, 20), (100, 3)):
        with h5py.File(folder / f"run_{number}.h5", "w") as f:
            data = np.where(rng.random((rows, 3, 2)) < 0.3, 0, rng.standard_normal((rows, 3, 2)))
            f.create_dataset("x", data=data, chunks=(4, 3, 2), maxshape=(None, 3, 2))
    with h5py.File(folder / "_steps.h5", "w") as f:
        for step in (2, 1, 10):
            f[f"Step#{step}/x"] = rng.standard_normal((step, 2))
    names = ["run_1.h5", "run_2.h5", "run_3.h5", "run_10.h5", "run_100.h5"]
    (folder / "_files").write_text("file,dataset\n" + "".join(f"{name},/x\n" for name in names))
    return folder


def together(folder: pathlib.Path, numbers: tuple[int, ...] = (1, 2, 3, 10, 100)) -> np.ndarray:
    return np.concatenate([values(str(folder / f"run_{number}.h5"), "/x") for number in numbers])


PARTITIONS = [None, 1, 3, 1000]


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("dataset", ["/x", "/line", "/sparse"])
def test_rows_and_points_have_the_keys_of_the_file_in_every_partition(spark: Any, path: str, dataset: str, partitions: int | None) -> None:
    data = values(path, dataset)
    points = mllib.h5read_point(spark, path, dataset, partitions)
    assert [key for _, key in points.collect()] == list(range(data.size)), "H5Spark shifted the keys of all partitions but the first"
    assert [value for value, _ in points.collect()] == data.reshape(-1).tolist()
    rows = mllib.h5read_irow(spark, path, dataset, partitions)
    assert [row.index for row in rows.collect()] == list(range(len(data)))
    np.testing.assert_array_equal([row.vector.toArray() for row in rows.collect()], data)


def test_arrays_keep_their_type(spark: Any, path: str) -> None:
    rows = mllib.h5read(spark, path, "/big").collect()
    assert [list(row) for row in rows] == [[2**62, 1], [3, 4]], "H5Spark forced integers to double"
    np.testing.assert_array_equal([list(row) for row in mllib.h5read_array(spark, path, "/x", 2).collect()], values(path, "/x"))
    with pytest.raises(Exception, match="9007199254740993 in row 0 cannot be represented exactly as a double"):
        mllib.h5read_vec(spark, path, "/huge").collect()


def test_vectors_and_labelled_points(spark: Any, path: str) -> None:
    data = values(path, "/x")
    np.testing.assert_array_equal([v.toArray() for v in mllib.h5read_vec(spark, path, "/x").collect()], data)
    for label in (0, 5, 11):
        points = mllib.h5read_labeled(spark, path, "/x", label, 3).collect()
        assert [point.label for point in points] == data[:, label].tolist()
        np.testing.assert_array_equal([point.features.toArray() for point in points], np.delete(data, label, axis=1))


def test_matrices(spark: Any, path: str) -> None:
    data = values(path, "/sparse")
    for matrix in (
        mllib.h5read_imat(spark, path, "/sparse", 4),
        mllib.h5read_rowmat(spark, path, "/sparse"),
        mllib.h5read_coordmat(spark, path, "/sparse"),
        mllib.h5read_blockmat(spark, path, "/sparse"),
    ):
        assert (matrix.numRows(), matrix.numCols()) == data.shape
    entries = mllib.h5read_coordmat(spark, path, "/sparse").entries.collect()
    dense = np.zeros(data.shape)
    for entry in entries:
        dense[entry.i, entry.j] = entry.value
    np.testing.assert_array_equal(dense, data)
    assert len(entries) == np.count_nonzero(data)
    np.testing.assert_array_equal(mllib.h5read_blockmat(spark, path, "/sparse").toLocalMatrix().toArray(), data)


def test_the_names_are_the_same_from_the_jvm(spark: Any, path: str) -> None:
    from py4j.java_gateway import is_instance_of

    java, session = spark._jvm.io.hyperslab.spark.mllib.H5Read, spark._jsparkSession
    data = values(path, "/sparse")
    shapes = {
        "h5read": None,
        "h5read_array": None,
        "h5read_point": None,
        "h5read_vec": None,
        "h5read_labeled": None,
        "h5read_irow": None,
        "h5read_imat": "IndexedRowMatrix",
        "h5read_rowmat": "RowMatrix",
        "h5read_coordmat": "CoordinateMatrix",
        "h5read_blockmat": "BlockMatrix",
    }
    assert set(shapes) == set(mllib.__all__)
    for name, matrix in shapes.items():
        made = getattr(java, name)(session, path, "/sparse", *([2] if name == "h5read_labeled" else []), 3)
        if matrix:
            assert is_instance_of(spark.sparkContext._gateway, made, f"org.apache.spark.mllib.linalg.distributed.{matrix}")
        else:
            assert made.count() == (data.size if name == "h5read_point" else len(data)), name
    arrays = java.h5read(session, path, "/sparse", 3).collect()
    assert [list(arrays[n]) for n in range(len(arrays))] == data.tolist() and is_instance_of(spark.sparkContext._gateway, arrays[0], "[S")
    points = java.h5read_point(session, path, "/sparse", 3).collect()
    assert [(points[n]._1(), points[n]._2()) for n in range(0, data.size, 7)] == [(data.reshape(-1)[n], n) for n in range(0, data.size, 7)]
    row = java.h5read_irow(session, path, "/sparse", 3).collect()[20]
    assert row.index() == 20 and list(row.vector().toArray()) == data[20].tolist()
    point = java.h5read_labeled(session, path, "/sparse", 2, 3).collect()[20]
    assert point.label() == data[20, 2] and list(point.features().toArray()) == np.delete(data[20], 2).tolist()


def test_rows_with_their_numbers_take_one_job(spark: Any, path: str) -> None:
    rows = mllib.h5read_irow(spark, path, "/x", 3)
    spark.sparkContext.setJobGroup("numbers", "numbers")
    try:
        assert [row.index for row in rows.collect()] == list(range(SHAPE[0]))
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("numbers")) == 1, "H5Spark's zipWithIndex read the file twice"


def test_a_folder_is_read_and_errors_are_raised(spark: Any, path: str, tmp_path: pathlib.Path) -> None:
    for n in range(3):
        with h5py.File(tmp_path / f"part_{n}.h5", "w") as f:
            f["x"] = np.arange(4.0).reshape(2, 2) + 10 * n
    rows = [v.toArray().tolist() for v in mllib.h5read_vec(spark, str(tmp_path), "/x").collect()]
    assert rows == [[10 * n + k, 10 * n + k + 1] for n in range(3) for k in (0, 2)], "H5Spark opened the folder as a file"
    with pytest.raises(Exception, match="NotFound"):
        mllib.h5read_vec(spark, path, "/nothing")
    with pytest.raises(Exception, match="label column 12 is out of range"):
        mllib.h5read_labeled(spark, path, "/x", 12).collect()


def test_rows_of_several_files_are_numbered_through(spark: Any, folder: pathlib.Path) -> None:
    data = together(folder)
    names = [str(folder / f"run_{number}.h5") for number in (1, 2, 3, 10, 100)]
    ways: list[tuple[Any, str | None]] = [
        (folder, "/x"),
        (f"{folder}/run_*.h5", "/x"),
        (names, "/x"),
        ((str(folder), "/x"), None),
        ([(name, "/x") for name in names], None),
        (str(folder / "_files"), None),
    ]
    for files, dataset in ways:
        for partitions in (None, 3, 1000):
            rows = mllib.h5read_irow(spark, files, dataset, partitions).collect()
            assert [row.index for row in rows] == list(range(len(data))), (files, partitions)
            np.testing.assert_array_equal([row.vector.toArray() for row in rows], data)
        points = mllib.h5read_point(spark, files, dataset, 3).collect()
        assert [key for _, key in points] == list(range(data.size)) and [value for value, _ in points] == data.reshape(-1).tolist(), files
    # Rows are in the order of the list, and a file that is listed twice is read twice.
    backwards = mllib.h5read_irow(spark, [names[3], names[0], names[0]], "/x", 2).collect()
    assert [row.index for row in backwards] == list(range(34))
    np.testing.assert_array_equal([row.vector.toArray() for row in backwards], together(folder, (10, 1, 1)))


def test_matrices_of_several_files(spark: Any, folder: pathlib.Path) -> None:
    data = together(folder)
    for partitions in (None, 4):
        imat, rowmat = mllib.h5read_imat(spark, folder, "/x", partitions), mllib.h5read_rowmat(spark, folder, "/x", partitions)
        coordmat, blockmat = mllib.h5read_coordmat(spark, folder, "/x", partitions), mllib.h5read_blockmat(spark, folder, "/x", partitions)
        for matrix in (imat, rowmat, coordmat, blockmat, coordmat.toRowMatrix()):
            assert (matrix.numRows(), matrix.numCols()) == data.shape, matrix
        np.testing.assert_array_equal(blockmat.toLocalMatrix().toArray(), data)
        np.testing.assert_array_equal(coordmat.toBlockMatrix().toLocalMatrix().toArray(), data)
        decomposed = imat.computeSVD(4, computeU=True)
        np.testing.assert_allclose(decomposed.s.toArray(), np.linalg.svd(data, compute_uv=False)[:4], rtol=1e-9)
        assert decomposed.U.numRows() == len(data)
        points = mllib.h5read_labeled(spark, folder, "/x", 2, partitions).collect()
        assert [point.label for point in points] == data[:, 2].tolist()
        np.testing.assert_array_equal([point.features.toArray() for point in points], np.delete(data, 2, axis=1))
        np.testing.assert_array_equal(mllib.h5read(spark, folder, "/x", partitions).collect(), data)
    # The example of the bug report.
    small = folder.parent / "small"
    small.mkdir(exist_ok=True)
    for number in range(3):
        with h5py.File(small / f"{number}.h5", "w") as f:
            f["m"] = np.full((2, 2), number + 1.0)
    assert mllib.h5read_blockmat(spark, small, "/m").toLocalMatrix().toArray().tolist() == [[n, n] for n in (1, 1, 2, 2, 3, 3)]
    assert mllib.h5read_imat(spark, small, "/m").numRows() == 6


def test_rows_of_wildcards_are_numbered_through(spark: Any, folder: pathlib.Path) -> None:
    path = str(folder / "_steps.h5")
    data = np.concatenate([values(path, f"/Step#{step}/x") for step in (1, 2, 10)])
    for files, whole in ((path, data), ([path, path], np.concatenate([data, data]))):
        for partitions in (None, 5):
            rows = mllib.h5read_irow(spark, files, "/Step#*/x", partitions).collect()
            assert [row.index for row in rows] == list(range(len(whole)))
            np.testing.assert_array_equal([row.vector.toArray() for row in rows], whole)
            assert [key for _, key in mllib.h5read_point(spark, files, "/Step#*/x", partitions).collect()] == list(range(whole.size))


def test_several_files_from_the_jvm(spark: Any, folder: pathlib.Path) -> None:
    java, session, data = spark._jvm.io.hyperslab.spark.mllib.H5Read, spark._jsparkSession, together(folder)
    paths = spark._jvm.java.util.ArrayList()
    for number in (1, 2, 3, 10, 100):
        paths.add(str(folder / f"run_{number}.h5"))
    for files in (str(folder), f"{folder}/run_*.h5", paths):
        rows = java.h5read_irow(session, files, "/x", 3).collect()
        assert [rows[n].index() for n in range(len(data))] == list(range(len(data))) and len(rows) == len(data)
        points = java.h5read_point(session, files, "/x", 3).collect()
        assert [points[n]._2() for n in range(data.size)] == list(range(data.size)) and points[data.size - 1]._1() == data[-1, -1]
        assert (java.h5read_imat(session, files, "/x", None).numRows(), java.h5read_blockmat(session, files, "/x", 2).numRows()) == data.shape[:1] * 2
    pair = spark._jvm.scala.Tuple2(str(folder / "run_10.h5"), "/x")
    assert java.h5read(session, pair, None, None).count() == 20


def test_invalid_files_and_partitions_are_errors(spark: Any, folder: pathlib.Path, path: str) -> None:
    for partitions in (0, -3):
        with pytest.raises(Exception, match=f'InvalidInput: option partitions must be an integer of at least 1, not "{partitions}"'):
            mllib.h5read_irow(spark, path, "/x", partitions)
    for files, words in (([], "list of files is empty"), ([3], "given as 3"), ((path,), "given as"), ((path, "/x", "/y"), "given as"), ("", "path is empty")):
        with pytest.raises(Exception, match=words):
            mllib.h5read(spark, files, "/x")
    assert mllib.h5read(spark.sparkContext, (path, "/x"), mode="single", partitions=2).count() == SHAPE[0]
    with pytest.raises(Exception, match="mode is 'double'"):
        mllib.h5read(spark, path, "/x", mode="double")
    with pytest.raises(Exception, match='column "x" is .*2.* in the first and .*6'):
        mllib.h5read_irow(spark, [(str(folder / "_steps.h5"), "/Step#1/x"), (str(folder / "run_1.h5"), "/x")])


def test_spark_connect_is_an_error() -> None:
    class Session:
        """A stand-in with the class name of a Spark Connect session."""

    Session.__module__ = "pyspark.sql.connect.session"
    with pytest.raises(hs.UnsupportedError, match="MLlib's RDDs over Spark Connect"):
        mllib.h5read_imat(Session(), "a.h5", "/x")


def test_principal_components_are_those_of_numpy(spark: Any, path: str) -> None:
    data = values(path, "/x")
    components = mllib.h5read_rowmat(spark, path, "/x", 3).computePrincipalComponents(3).toArray()
    _, vectors = np.linalg.eigh(np.cov(data, rowvar=False))
    wanted = vectors[:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(np.sum(components * wanted, axis=0)), 1, atol=1e-9)


def test_a_nonnegative_factorisation_converges_as_in_numpy(spark: Any, tmp_path: pathlib.Path) -> None:
    """Lee and Seung's update rule on rows of the file: the small factor H on the driver, W row by row."""
    rng = np.random.default_rng(2)
    data = rng.random((60, 4)) @ rng.random((4, 9))
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = data
    rows = mllib.h5read_irow(spark, str(tmp_path / "a.h5"), "/x", 3).cache()
    w, h = rng.random((60, 3)) + 0.1, rng.random((3, 9)) + 0.1
    ours, theirs = (w.copy(), h.copy()), (w.copy(), h.copy())
    for _ in range(5):
        w, h = ours

        def step(row: Any, w: np.ndarray = w, h: np.ndarray = h) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
            x, mine = row.vector.toArray(), w[row.index]
            new = mine * (x @ h.T) / (mine @ h @ h.T)
            return row.index, new, np.outer(new, x), np.outer(new, new)

        parts = rows.map(step).collect()
        new_w = np.empty_like(w)
        for index, new, _, _ in parts:
            new_w[index] = new
        ours = new_w, h * sum(p[2] for p in parts) / (sum(p[3] for p in parts) @ h)
        w, h = theirs
        w = w * (data @ h.T) / (w @ h @ h.T)
        theirs = w, h * (w.T @ data) / (w.T @ w @ h)
    np.testing.assert_allclose(ours[0] @ ours[1], theirs[0] @ theirs[1], rtol=1e-9)


@pytest.mark.once
def test_keys_beyond_31_bits(spark: Any, tmp_path: pathlib.Path) -> None:
    rows = 3 << 30
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", shape=(rows,), dtype="u1", chunks=(1 << 20,))[rows - 1 :] = 9
    points = mllib.h5read_point(spark, str(tmp_path / "a.h5"), "/x", 3000)
    last = points.getNumPartitions() - 1
    key_and_value = spark.sparkContext.runJob(points, lambda part: [list(part)[-1]], [last])
    assert key_and_value == [(9, rows - 1)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """H5Spark's case: rows of many chunks. The last chunks of rows and columns are not whole."""
    path = tmp_path_factory.mktemp("wide") / "wide.h5"
    rng = np.random.default_rng(5)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.where(rng.random((25, 9_100)) < 0.9, 0, rng.integers(1, 99, (25, 9_100))).astype("f4"), chunks=(10, 500), compression=1)
        f.create_dataset("cube", data=rng.integers(-9, 9, (7, 300, 11)), chunks=(3, 40, 4))
        f["x"].attrs["_FillValue"] = np.float32(98)
    return str(path)


def as_numpy(path: str, dataset: str) -> np.ndarray:
    data = values(path, dataset).astype("f8")
    return np.where(data == 98, np.nan, data) if dataset == "/x" else data


@pytest.mark.parametrize("dataset", ["/x", "/cube"])
def test_wide_rows_are_cut_along_columns_too(spark: Any, wide: str, dataset: str) -> None:
    data = as_numpy(wide, dataset)
    boxes = {"/x": 3 * 19, "/cube": 3 * 8}[dataset]
    points = mllib.h5read_point(spark, wide, dataset, 1000)
    assert points.getNumPartitions() == boxes
    found = np.full(data.size, 1e9)
    for value, key in points.collect():
        assert found[key] == 1e9
        found[key] = value
    np.testing.assert_array_equal(found, data.reshape(-1))
    for partitions in (1000, 20):
        rows = mllib.h5read_irow(spark, wide, dataset, partitions).collect()
        assert [row.index for row in rows] == list(range(len(data))), "in order"
        np.testing.assert_array_equal([row.vector.toArray() for row in rows], data)


def test_other_structures_of_wide_rows(spark: Any, wide: str) -> None:
    data = as_numpy(wide, "/cube")
    stored = values(wide, "/cube")
    read = mllib.h5read(spark, wide, "/cube", 1000).collect()
    assert read[0].dtype == stored.dtype
    np.testing.assert_array_equal(read, stored)
    np.testing.assert_array_equal([vector.toArray() for vector in mllib.h5read_vec(spark, wide, "/cube", 1000).collect()], data)
    labeled = mllib.h5read_labeled(spark, wide, "/cube", 2, 1000).collect()
    np.testing.assert_array_equal([point.label for point in labeled], data[:, 2])
    entries = mllib.h5read_coordmat(spark, wide, "/cube", 1000)
    assert (entries.numRows(), entries.numCols()) == data.shape
    found = np.zeros(data.shape)
    for entry in entries.entries.collect():
        found[entry.i, entry.j] = entry.value
    np.testing.assert_array_equal(found, data)
    np.testing.assert_array_equal(mllib.h5read_blockmat(spark, wide, "/cube", 1000).toLocalMatrix().toArray(), data)
    matrix = mllib.h5read_rowmat(spark, wide, "/cube", 1000)
    assert (matrix.numRows(), matrix.numCols()) == data.shape


def test_wide_rows_of_several_files(spark: Any, wide: str, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(6)
    with h5py.File(tmp_path / "b.h5", "w") as f:
        f.create_dataset("cube", data=rng.integers(-9, 9, (4, 300, 11)), chunks=(4, 300, 11))
    data = np.concatenate([values(wide, "/cube"), values(str(tmp_path / "b.h5"), "/cube")])
    rows = mllib.h5read_irow(spark, [wide, str(tmp_path / "b.h5")], "/cube", 500).collect()
    assert [row.index for row in rows] == list(range(11))
    np.testing.assert_array_equal([row.vector.toArray() for row in rows], data)


def test_the_partitions_of_h5sparks_wide_array(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", shape=(10, 500_000), dtype="f8", chunks=(10, 5_000), fillvalue=1.5)
    entries = mllib.h5read_coordmat(spark, str(tmp_path / "a.h5"), "/x", 100).entries
    assert (entries.getNumPartitions(), entries.count()) == (100, 5_000_000)
    assert mllib.h5read_irow(spark, str(tmp_path / "a.h5"), "/x", 5).getNumPartitions() == 5
