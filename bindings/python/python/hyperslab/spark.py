"""Spark: sessions that read `hdf5` and `netcdf`, and indexes that are built by tasks. pyspark is imported only when a
session is wanted."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

from .errors import InvalidInputError, NotFoundError
from .indexing import Indexed, index_commit, index_task, plan_index

__all__ = ["configure", "index", "jar", "session"]


def jar() -> pathlib.Path:
    """The jar for Spark: the one that `HYPERSLAB_SPARK_JAR` names, else the one in this package."""
    named = os.environ.get("HYPERSLAB_SPARK_JAR")
    path = pathlib.Path(named) if named else pathlib.Path(__file__).parent / "jars" / "hyperslab-spark.jar"
    if not path.is_file():
        raise NotFoundError(f"there is no jar for Spark at {path}: build it with `make jar`, or name one in HYPERSLAB_SPARK_JAR")
    return path


def configure(builder: Any) -> Any:
    """Adds the jar, and a catalog `h5`, to a `SparkSession.builder`; keeps what it has."""
    import pyspark
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise InvalidInputError("a Spark session is running, and jars cannot be added to it: stop it first")
    jars = [part for part in str(builder._options.get("spark.jars", "")).split(",") if part]
    if str(jar()) not in jars:
        jars.append(str(jar()))
    builder = builder.config("spark.jars", ",".join(jars))
    # Else the Python workers of a local session are whatever `python3` is on the path.
    if str(builder._options.get("spark.master", "local")).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    if "spark.sql.catalog.h5" not in builder._options:
        builder = builder.config("spark.sql.catalog.h5", "io.hyperslab.spark.Hdf5Catalog")
    if pyspark.__version__.startswith("3.") and "spark.sql.catalog.spark_catalog" not in builder._options:
        # Spark 3.5 reads no tables of CREATE TABLE ... USING hdf5 by itself.
        builder = builder.config("spark.sql.catalog.spark_catalog", "io.hyperslab.spark.Hdf5SessionCatalog")
    return builder


def session(master: str = "local[*]", **config: Any) -> Any:
    """A new `SparkSession` on `master`. Keywords are configurations, with `_` for `.`:
    `session("local[2]", spark_driver_memory="4g")`; others go through `configure`."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("hyperslab")
    for name, value in config.items():
        builder = builder.config(name.replace("_", "."), value)
    return configure(builder).getOrCreate()


def index(spark: Any, files: Any, datasets: str | Iterable[str], level: str | None = None, *, tasks: int | None = None, decode: bool = True,
          together: bool = False, anew: bool = False) -> Indexed:
    """Builds value indexes as `hyperslab.index` does, a Spark task for each subarray: about `tasks` of them, by default
    four a core. Files must be where every executor finds them, with this package. Nothing is visible before all is built."""
    named = [files] if isinstance(files, (str, os.PathLike)) else files
    if isinstance(named, list):
        # Executors have working folders of their own.
        files = [os.path.abspath(os.fspath(one)) for one in named]
    plan = plan_index(files, datasets, level, decode=decode, together=together, anew=anew)
    context = spark.sparkContext
    parts = plan.tasks(tasks or 4 * context.defaultParallelism)
    if not parts:
        return index_commit([])
    # Spark runs tasks side by side, so each has one thread.
    fragments = context.parallelize(parts, len(parts)).map(lambda part: index_task(bytes(part), threads=1)).collect()
    return index_commit(fragments)
