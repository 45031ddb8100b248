"""Spark on real files, and on a larger one that is made here. `make demo-spark` runs it."""

from __future__ import annotations

import pathlib
import tempfile
import time

import h5py
import hyperslab as hs
import numpy as np
from hyperslab.spark import mllib

DATA = pathlib.Path(__file__).resolve().parent / "data"


def say(what: str) -> None:
    print(f"\n== {what}", flush=True)


def main() -> None:
    spark = hs.spark.session("local[2]", spark_ui_enabled="false", spark_ui_showConsoleProgress="false")
    spark.sparkContext.setLogLevel("ERROR")

    say("A netCDF-4 variable as a DataFrame: mean temperature by depth, 100 m and above")
    theta = spark.read.format("netcdf").option("dataset", "/theta").load(str(DATA / "atlantic_profiles.nc"))
    theta.where("depth <= 100").groupBy("depth").avg("theta").orderBy("depth").show(3)

    say("Files as a catalog, in SQL: electron density by height of a netCDF-3 file")
    spark.conf.set("spark.sql.catalog.files", "io.hyperslab.spark.Hdf5Catalog")
    spark.conf.set("spark.sql.catalog.files.root", str(DATA))
    spark.sql("show namespaces in files").show(truncate=False)
    spark.sql("select height, max(Ne) as densest from files.`space_weather.nc`.Ne group by height order by densest desc limit 3").show()

    with tempfile.TemporaryDirectory() as folder:
        path, cells = f"{folder}/large.h5", (2000, 100, 100)
        with h5py.File(path, "w") as f:
            x = f.create_dataset("x", cells, "f4", chunks=(20, 100, 100), compression="gzip", compression_opts=1, shuffle=True)
            for start in range(0, cells[0], 200):
                x[start : start + 200] = np.random.default_rng(start).integers(0, 500, (200, 100, 100)) / 4
        say(f"A generated file of {np.prod(cells):,} cells: a count from shapes, a hyperslab, a full scan")
        large = spark.read.format("hdf5").option("dataset", "/x").load(path)
        for name, frame in {
            "count": large.groupBy().count(),
            "where dim_0 = 7": large.where("dim_0 = 7").selectExpr("sum(x)"),
            "sum of all": large.selectExpr("sum(x)"),
        }.items():
            start = time.perf_counter()
            answer = frame.collect()[0][0]
            print(f"{name}: {answer:,.1f} in {time.perf_counter() - start:.2f} s")
        say("The same file as a matrix of MLlib: principal components of 2,000 rows")
        with h5py.File(path, "a") as f:
            f["m"] = f["x"][:, 0, :8]
        matrix = mllib.h5read_rowmat(spark, path, "/m")
        print(matrix.computePrincipalComponents(2))
    spark.stop()


if __name__ == "__main__":
    main()
