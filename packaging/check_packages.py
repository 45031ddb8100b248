"""Starts Spark with the jar that `make jar-install` has put into a repository, by its Maven coordinates.

`python packaging/check_packages.py REPOSITORY VERSION FILE` reads FILE, an HDF5 or netCDF file with a dataset `/theta`.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

from pyspark.sql import SparkSession


def main() -> None:
    repository, version, path = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory() as ivy:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.jars.ivy", ivy)
            .config("spark.jars.packages", f"io.hyperslab:hyperslab-spark:{version}")
            .config("spark.jars.repositories", repository.as_uri())
            .getOrCreate()
        )
        rows = spark.read.format("hdf5").option("dataset", "/theta").load(path).count()
        jars = [jar for jar in spark.conf.get("spark.jars").split(",") if "hyperslab" in jar]
        spark.stop()
    if not rows or len(jars) != 1:
        raise SystemExit(f"{rows} rows, jars: {jars}")
    print(f"{pathlib.Path(jars[0]).name}: {rows} rows")


if __name__ == "__main__":
    main()
