"""Files of Hadoop's file systems have the values of the same files read locally, under every feature of the reader; what cannot be read is named."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from conftest import Store

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples/data"


def local(spark: Any, where: pathlib.Path | list[str], **options: Any) -> Any:
    return spark.read.format("hdf5").options(**options).load(str(where) if isinstance(where, pathlib.Path) else where)


def rows(frame: Any) -> list[str]:
    return [str(row) for row in frame.collect()]


@pytest.fixture
def made(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file of several megabytes with chunks, two dimensions, compounds and text, most of it beyond the first megabyte."""
    random = np.random.default_rng(1)
    with h5py.File(tmp_path / "made.h5", "w") as f:
        f.create_dataset("x", data=random.integers(0, 1 << 40, 300_000), chunks=(7_000,), compression="gzip")
        f.create_dataset("grid", data=random.random((300, 700)), chunks=(50, 300), compression="gzip", shuffle=True)
        f.create_dataset("points", data=np.rec.fromarrays([np.arange(5000), random.random(5000)], names="id,value"), chunks=(999,))
        f.create_dataset("names", data=[f"name {n}" * (n % 7) for n in range(3000)], dtype=h5py.string_dtype(), chunks=(500,))
        f.create_dataset("plain", data=random.random(200_000))
    return tmp_path / "made.h5"


def test_examples_have_the_same_values(store: Store) -> None:
    compared = 0
    for file in sorted(EXAMPLES.rglob("*")):
        if file.suffix not in {".h5", ".nc", ".hdf5"} or file.stat().st_size > 8 << 20:
            continue
        with h5py.File(file) if h5py.is_hdf5(file) else netCDF4.Dataset(file) as f:
            members = f if isinstance(f, h5py.File) else f.variables
            names = [name for name in members if getattr(members[name], "shape", None) and not isinstance(members[name], h5py.Group)]
        address = store.put(file, file.name)
        for name in names[:3]:
            there, here = (read(where, dataset=f"/{name}") for read, where in [(store.read, address), (lambda w, **o: local(store.spark, w, **o), file)])
            assert there.schema == here.schema, (file, name)
            assert rows(there.limit(3000)) == rows(here.limit(3000)), (file, name)
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("dataset", ["x", "grid", "points", "names", "plain"])
def test_every_kind_of_dataset(store: Store, made: pathlib.Path, dataset: str) -> None:
    address = store.put(made, "a b%20c.h5")
    options = {"dataset": f"/{dataset}", "targetPartitionBytes": 1 << 20}
    there, here = store.read(address, **options), local(store.spark, made, **options)
    assert there.count() == here.count() and there.rdd.getNumPartitions() == here.rdd.getNumPartitions()
    assert there.exceptAll(here).count() == 0
    assert rows(there.selectExpr("_row", "*").orderBy("_row").limit(50)) == rows(here.selectExpr("_row", "*").orderBy("_row").limit(50))


def test_netcdf_classic(store: Store, tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as f:
        f.createDimension("time", None)
        f.createDimension("x", 500)
        f.createVariable("time", "f8", ("time",))[:] = np.arange(100.0)
        f.createVariable("v", "f4", ("time", "x"))[:] = np.arange(50_000).reshape(100, 500)
    frame = store.read(store.put(tmp_path / "a.nc", "a.nc"), dataset="/v")
    assert rows(frame.where("time = 31 and v > 15990")) == rows(local(store.spark, tmp_path / "a.nc", dataset="/v").where("time = 31 and v > 15990"))
    assert frame.where("time >= 98").count() == 1000


def test_filters_limits_orders_and_aggregates(store: Store, made: pathlib.Path) -> None:
    address = store.put(made, "a.h5")
    there, here = store.read(address, dataset="/x"), local(store.spark, made, dataset="/x")
    for ask in [
        lambda f: f.where("x > 1e12"),
        lambda f: f.where("_row between 70000 and 70010").select("_row", "x"),
        lambda f: f.orderBy("x").limit(7),
        lambda f: f.selectExpr("min(x)", "max(x)", "sum(x)", "count(x)", "count(*)"),
        lambda f: f.groupBy(f.x % 3).count().orderBy("count"),
        lambda f: f.limit(11),
        lambda f: f.offset(299_990),
    ]:
        assert rows(ask(there)) == rows(ask(here))
    assert there.join(here, "x").count() == here.count()


def set_of_files(store: Store, folder: pathlib.Path) -> None:
    for year in (2023, 2024):
        for part in (1, 2, 10):
            with h5py.File(folder / "f.h5", "w") as f:
                f["x"] = np.arange(5) + 1000 * year + 10 * part
            store.put(folder / "f.h5", f"flat/run_{year}_{part}.h5")
            store.put(folder / "f.h5", f"parts/year={year}/run_{part}.h5")
            store.put(folder / "f.h5", f"deep/{year}/in/run_{part}.h5")
    (folder / "hidden").write_bytes(b"")
    store.put(folder / "hidden", "flat/_SUCCESS")
    store.put(folder / "hidden", "deep/_hidden/x.h5")


def test_folders_globs_partitions_and_lists(store: Store, tmp_path: pathlib.Path) -> None:
    set_of_files(store, tmp_path)
    root = store.root
    flat = store.read(f"{root}/flat", dataset="/x")
    assert [row.x for row in flat.select("x").collect()] == [y * 1000 + p * 10 + n for y in (2023, 2024) for p in (1, 2, 10) for n in range(5)]
    globbed = store.read(f"{root}/flat/run_*_*.h5", dataset="/x")
    assert [name for name in globbed.columns if name.startswith("run")] and globbed.count() == 30
    assert store.read(f"{root}/flat/run_{{2023,2024}}_1.h5", dataset="/x").count() == 10
    assert store.read(f"{root}/fl*/run_2023_[12].h5", dataset="/x").count() == 10
    parts = store.read(f"{root}/parts", dataset="/x")
    assert parts.where("year = 2024").count() == 15 and parts.where("year = 2024 and x >= 2024100").count() == 5
    assert dict(parts.dtypes)["year"] == "int"
    assert store.read(f"{root}/deep", dataset="/x", recursiveFileLookup=True).count() == 30
    assert store.read(f"{root}/deep", dataset="/x", recursiveFileLookup=True, pathGlobFilter="*_10.h5").count() == 10
    assert store.read([f"{root}/flat/run_2023_1.h5", f"{root}/flat/run_2023_1.h5"], dataset="/x").count() == 10
    (tmp_path / "list.csv").write_text("file,dataset\nrun_2023_1.h5,/x\nrun_2024_10.h5,/x\n")
    assert store.read(store.put(tmp_path / "list.csv", "flat/list.csv"), dataset="/x").count() == 10
    (tmp_path / "list.txt").write_text(f"{root}/flat/run_2023_1.h5\n")
    assert local(store.spark, [str(tmp_path / "list.txt")], dataset="/x", **store.options).count() == 5
    for wrong, why in [
        (f"{root}/gone.h5", "no such file or folder"),
        (f"{root}/flat/gone_*.h5", "no file matches"),
        (f"{root}/deep", "recursiveFileLookup=true"),
        (f"{root}/**/gone.h5", "means \\* here"),
    ]:
        with pytest.raises(Exception, match=f"NotFound.*{why}"):
            store.read(wrong, dataset="/x").count()
    assert store.read([f"{root}/gone.h5", f"{root}/flat/run_2023_*.h5"], dataset="/x", ignoreMissingFiles=True).count() == 15


def test_metadata_columns_and_names_of_files(store: Store, made: pathlib.Path) -> None:
    address = store.put(made, "a b.h5")
    frame = store.read(address, dataset="/x")
    row = frame.selectExpr("_file", "_metadata.*", "input_file_name() uri").first()
    assert row._file == address and row.file_name == "a b.h5" and row.file_size == made.stat().st_size
    assert row.uri == row.file_path and row.uri.endswith("/a%20b.h5") and row.uri.split(":")[0] == address.split(":")[0]
    assert abs(row.file_modification_time.timestamp() - time.time()) < 3600


def test_damaged_files(store: Store, made: pathlib.Path, tmp_path: pathlib.Path) -> None:
    content = made.read_bytes()
    short = tmp_path / "short.h5"
    short.write_bytes(content[: len(content) // 2])
    address, good = store.put(short, "set/short.h5"), store.put(made, "set/whole.h5")
    with pytest.raises(Exception, match=r"Corrupt.*short\.h5"):
        store.read(address, dataset="/plain").collect()
    assert store.read([address, good], dataset="/plain", ignoreCorruptFiles=True).count() == 200_000
    bad = f"{store.root}/bad"
    assert store.read([address, good], dataset="/plain", badRecordsPath=bad).count() == 200_000
    named = store.spark.read.options(**store.options)
    if not address.startswith("slow"):  # Spark's own sources use the settings of the application
        for name, value in store.options.items():
            store.spark.sparkContext._jsc.hadoopConfiguration().set(name, value)
        try:
            assert [row.path for row in named.json(f"{bad}/bad_files").collect()] == [address]
        finally:
            for name in store.options:
                store.spark.sparkContext._jsc.hadoopConfiguration().unset(name)
    empty = tmp_path / "empty.h5"
    empty.write_bytes(b"")
    with pytest.raises(Exception, match=r"empty\.h5"):
        store.read(store.put(empty, "empty.h5"), dataset="/x")


def test_a_replaced_file_is_a_conflict(store: Store, made: pathlib.Path, tmp_path: pathlib.Path) -> None:
    address = store.put(made, "a.h5")
    frame = store.read(address, dataset="/x")
    reader = frame.rdd  # planned
    reader.getNumPartitions()
    time.sleep(1.1)  # a second is the unit of times in S3
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f.create_dataset("x", data=np.zeros(300_000, int), chunks=(7_000,), compression="gzip")
    store.put(tmp_path / "other.h5", "a.h5")
    with pytest.raises(Exception, match="Conflict"):
        reader.collect()
    assert store.read(address, dataset="/x").groupBy().max("x").first()[0] == 0


def test_linked_files(store: Store, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "part.h5", "w") as f:
        f["x"] = np.arange(1000)
    layout = h5py.VirtualLayout((1000,), "i8")
    layout[:] = h5py.VirtualSource("part.h5", "x", (1000,))
    with h5py.File(tmp_path / "main.h5", "w") as f:
        f.create_virtual_dataset("v", layout)
        f["link"] = h5py.ExternalLink("part.h5", "/x")
        f.create_dataset("raw", shape=(10,), dtype="i8", external=[("part.raw", 0, 80)])
        f["above"] = h5py.ExternalLink("../part.h5", "/x")
    np.arange(10).tofile(tmp_path / "part.raw")
    for name in ("part.h5", "part.raw"):
        store.put(tmp_path / name, name)
    address = store.put(tmp_path / "main.h5", "main.h5")
    for name, count in [("v", 1000), ("link", 1000), ("raw", 10)]:
        assert [row[name] if name != "link" else row[-1] for row in store.read(address, dataset=f"/{name}").collect()] == list(range(count)), name
    with pytest.raises(Exception, match="Unsupported.*leaves the folder"):
        store.read(address, dataset="/above").count()
    frame = store.read(address, dataset="/v").rdd
    frame.getNumPartitions()
    time.sleep(1.1)
    with h5py.File(tmp_path / "part.h5", "w") as f:
        f["x"] = np.zeros(1000, int)
    store.put(tmp_path / "part.h5", "part.h5")
    with pytest.raises(Exception, match="Conflict"):
        frame.collect()
    store.remove("part.h5")
    with pytest.raises(Exception, match=r"NotFound.*part\.h5"):
        store.read(address, dataset="/link").count()


def test_streams(store: Store, tmp_path: pathlib.Path) -> None:
    def add(number: int) -> None:
        with h5py.File(tmp_path / "f.h5", "w") as f:
            f["x"] = np.arange(10) + 10 * number
        store.put(tmp_path / "f.h5", f"in/{number}.h5")

    add(0)
    frame = store.spark.readStream.format("hdf5").options(**store.options, dataset="/x").schema(store.read(f"{store.root}/in", dataset="/x").schema)

    def run() -> None:
        query = (
            frame.load(f"{store.root}/in")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        query.awaitTermination(120)

    run()
    add(1)
    run()
    assert sorted(row.x for row in store.spark.read.parquet(str(tmp_path / "out")).collect()) == list(range(20))


def test_catalogs_and_sql(store: Store, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["g/x"] = np.arange(10)
    address = store.put(tmp_path / "f.h5", "shelf/f.h5")
    spark = store.spark
    name = f"remote_{store.root.split(':')[0]}_{tmp_path.name}"
    for option, value in {"": "io.hyperslab.spark.Hdf5Catalog", ".root": f"{store.root}/shelf", **{f".{o}": v for o, v in store.options.items()}}.items():
        spark.conf.set(f"spark.sql.catalog.{name}{option}", value)
    assert spark.sql(f"select max(x) from {name}.`f.h5`.g.x").first()[0] == 9
    assert [row[0] for row in spark.sql(f"show namespaces in {name}").collect()] == ["`f.h5`"]
    assert spark.sql(f"select count(*) from {name}.`f.h5`._objects").first()[0] == 3
    listed = spark.sql(f"select name, path, bytes from {name}._files").first()
    assert (listed.name, listed.path, listed.bytes) == ("f.h5", address, (tmp_path / "f.h5").stat().st_size)
    assert spark.sql(f"select count(*) from {name}.`{address}`.g.x").first()[0] == 10


def test_arrays_of_mllib(store: Store, made: pathlib.Path) -> None:
    conf = store.spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in store.options.items():
        conf.set(name, value)
    try:
        address = store.put(made, "a.h5")
        matrix = store.spark._jvm.io.hyperslab.spark.mllib.H5Read.h5read_imat(store.spark._jsparkSession, address, "/grid", None)
        assert (matrix.numRows(), matrix.numCols()) == (300, 700)
        with h5py.File(made) as f:
            total = f["grid"][:].sum()
        vectors = matrix.toRowMatrix().computeColumnSummaryStatistics().mean().toArray()
        np.testing.assert_allclose(sum(vectors) * 300, total, rtol=1e-9)
    finally:
        for name in store.options:
            conf.unset(name)


def test_metrics_count_requests_and_bytes(store: Store, made: pathlib.Path) -> None:
    frame = store.read(store.put(made, "a.h5"), dataset="/x")
    result = frame._jdf.queryExecution().executedPlan()
    result.executeCollect()
    metrics = {}
    leaf = result.collectLeaves().head()
    entries = leaf.metrics().iterator()
    while entries.hasNext():
        entry = entries.next()
        metrics[entry._1()] = entry._2().value()
    print(store.root.split(":")[0], metrics)
    assert metrics["remoteRequests"] >= 3 and 1_000_000 < metrics["remoteBytes"] < 2 * made.stat().st_size
    assert metrics["bytesRead"] > 0
