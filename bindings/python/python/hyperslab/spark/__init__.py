"""Spark: sessions that read the formats `hdf5` and `netcdf`, and indexes and queries that run as Spark tasks. Only functions
that need a session import pyspark."""

from __future__ import annotations

import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from .. import indexes
from ..base.errors import InvalidInputError, NotFoundError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import Path
from ..indexes import Indexed
from ..querying.query import Query, query_of_absolute_paths
from ..querying.sources import Files
from ..tables.packing import packed, value_bytes
from ..tables.table import Split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

__all__ = ["configure", "index", "jar", "query", "session"]

#: The class that sets the catalogs.
EXTENSIONS = "io.hyperslab.spark.Hdf5Extensions"

#: Minimum and maximum bytes of values that a task reads, unless the number of tasks is given.
TASK_BYTES = 4 << 20, 64 << 20


def jar() -> pathlib.Path:
    """Returns the path of the jar for Spark: the one in `HYPERSLAB_SPARK_JAR`, or the one in this package.

    Returns:
        The path of an existing file.

    Raises:
        NotFoundError: There is no jar.

    Example:
        >>> hs.spark.jar()
    """
    named = os.environ.get("HYPERSLAB_SPARK_JAR")
    path = pathlib.Path(named) if named else pathlib.Path(__file__).parents[1] / "jars" / "hyperslab-spark.jar"
    if not path.is_file():
        raise NotFoundError(f"there is no jar for Spark at {path}: build it with `make jar`, or name one in HYPERSLAB_SPARK_JAR")
    return path


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds the jar and its extensions, which set the catalogs `hdf5`, `h5`, `netcdf`, `netcdf4` and `nc`, to a `SparkSession.builder`, and keeps its other settings.

    Args:
        builder: `SparkSession.builder`, perhaps with settings.

    Returns:
        The builder.

    Raises:
        InvalidInputError: A session is running already; jars cannot be added to it.

    Example:
        >>> spark = hs.spark.configure(SparkSession.builder.appName("mine")).getOrCreate()
    """
    require("Spark", "spark", "pyspark")
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise InvalidInputError("a Spark session is running, and jars cannot be added to it: stop it first")
    jars = [part for part in str(builder._options.get("spark.jars", "")).split(",") if part]
    if str(jar()) not in jars:
        jars.append(str(jar()))
    builder = builder.config("spark.jars", ",".join(jars))
    # Otherwise the Python workers of a local session use the first `python3` on the path.
    if str(builder._options.get("spark.master", "local")).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    extensions = [part for part in str(builder._options.get("spark.sql.extensions", "")).split(",") if part]
    if EXTENSIONS not in extensions:
        extensions.append(EXTENSIONS)
    return builder.config("spark.sql.extensions", ",".join(extensions))


def session(master: str = "local[*]", **config: object) -> SparkSession:
    """Starts a `SparkSession` that reads HDF5 and netCDF.

    Args:
        master: The master, such as `local[2]`.
        config: Settings, with `_` for `.`. Use `configure` for settings whose names contain `_`.

    Returns:
        The session.

    Example:
        >>> spark = hs.spark.session("local[2]", spark_driver_memory="4g")
        >>> spark.read.format("hdf5").load("run.h5")
    """
    require("Spark", "spark", "pyspark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("hyperslab")
    for name, value in config.items():
        builder = builder.config(name.replace("_", "."), value)
    return configure(builder).getOrCreate()


def index(
    spark: SparkSession,
    files: Files,
    datasets: str | Iterable[str | tuple[str, ...]],
    level: str | None = None,
    *,
    tasks: int | None = None,
    raw: bool = False,
    together: bool = False,
    rebuild: bool = False,
    index_folder: Path | None = None,
) -> Indexed:
    """Builds value indexes as `hyperslab.index` does, in Spark tasks. Publishes them when all tasks have succeeded.

    Every executor must see the files under the same paths, and have this package.

    Args:
        spark: The session.
        tasks: Maximum number of Spark tasks; four per core by default.
        files, datasets, level, raw, together, rebuild, index_folder: As in `hyperslab.index`.

    Returns:
        What was built.

    Example:
        >>> hs.spark.index(spark, "/data/run*.h5", "/Step#*/energy")
    """
    named = [files] if isinstance(files, (str, os.PathLike)) else files
    if isinstance(named, list):
        # Executors have other working folders.
        files = [os.path.abspath(os.fspath(one)) for one in named]
    plan = indexes.plan(files, datasets, level, raw=raw, together=together, rebuild=rebuild, index_folder=index_folder)
    context = spark.sparkContext
    wanted = tasks or 4 * context.defaultParallelism
    parts = plan.tasks(wanted)
    if not parts:
        return indexes.commit([])
    # Each array has its own parts, but a task costs more than building a small one. Spark runs tasks side by side, so each
    # has one thread.
    fragments = context.parallelize(parts, min(wanted, len(parts))).map(lambda part: indexes.build(bytes(part), threads=1)).collect()
    return indexes.commit(fragments)


def query(
    spark: SparkSession,
    files: Files,
    group: str | re.Pattern[str] = "/",
    where: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    rows: str | None = None,
    variables: Mapping[str, object] | None = None,
    raw: bool = False,
    tasks: int | None = None,
) -> DataFrame:
    """Returns the rows of `hyperslab.query(files, group, where, …).table(columns)` as a DataFrame, in the same order.

    The query is planned immediately, from metadata; Spark tasks read its rows later. Every executor must see the files under
    the same paths, and have this package. Types are the same as in the reader `hdf5`.

    Args:
        spark: The session.
        columns: As in `Query.table`.
        tasks: About how many Spark tasks; by default one per core if each then has 4 to 64 MiB of values.
        files, group, where, rows, variables, raw: As in `hyperslab.query`.

    Returns:
        A DataFrame that reads the rows when it is used.

    Raises:
        UnsupportedError: Spark has no type for a column.

    Example:
        >>> hs.spark.query(spark, "/data/run*.h5", "/Step#*", "energy > 1.3", columns=["step", "energy"])
    """
    asked = query_of_absolute_paths(files, group, where, rows, variables, raw)
    schema = pa.schema(asked.batches(columns).schema)
    if not schema.names:
        raise InvalidInputError("a DataFrame without columns: name some")
    shown = pa.schema([pa.field(field.name, _arrow_type(field.name, field.type)) for field in schema])
    if tasks is not None and tasks < 1:
        raise InvalidInputError(f"tasks is {tasks}: give 1 or more")
    splits = asked.splits(columns, count=tasks, target_bytes=TASK_BYTES[1])
    wanted = tasks or _tasks(_cores(spark), sum(split.rows for split in splits), asked, schema)
    if tasks is None and len(splits) < 2 * wanted:
        splits = asked.splits(columns, count=wanted)
    tasks_of = [[bytes(split) for split in group] for group in packed(splits, wanted)]
    numbers = spark.range(0, len(tasks_of), 1, max(len(tasks_of), 1))
    return numbers.mapInArrow(_reader(tasks_of, schema, shown), _struct_type(shown))


def _tasks(cores: int, rows: int, asked: Query, schema: pa.Schema) -> int:
    """The number of tasks: one per core, more if each would have too many values, fewer if too few."""
    widths = dict.fromkeys(asked.names, 8)
    widths.update({field.name: value_bytes(field.type) for field in schema})
    min_bytes, max_bytes = TASK_BYTES
    total_bytes = rows * sum(widths.values())
    return max(-(-total_bytes // max_bytes), min(cores, -(-total_bytes // min_bytes)), 1)


def _cores(spark: SparkSession) -> int:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return os.cpu_count() or 1  # a client does not know the number
    return int(spark.sparkContext.defaultParallelism)


def _reader(groups: list[list[bytes]], schema: pa.Schema, shown: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that a task calls with the numbers of its groups of splits."""

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for data in (data for number in batch.column(0).to_pylist() for data in groups[number]):
                # Spark runs tasks side by side, so each has one thread.
                for rows in Split(data, schema).batches(threads=1):
                    yield pa.RecordBatch.from_arrays([column.cast(field.type) for column, field in zip(rows.columns, shown, strict=True)], schema=shown)

    return read


def _arrow_type(name: str, kind: pa.DataType) -> pa.DataType:
    """The type of this column in Spark, which has no unsigned integers, half floats or dictionaries."""
    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.dictionary(pa.int32(), pa.string()): pa.string(),
    }
    same = {pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.timestamp("us")}
    if kind in wider:
        return wider[kind]
    if kind in same:
        return kind
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_arrow_type(name, kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _arrow_type(name, field.type)) for field in kind])
    raise UnsupportedError(f"column {name}: Arrow type {kind} in Spark")


def _struct_type(schema: Iterable[pa.Field]) -> StructType:
    """The same columns as a type of Spark."""
    from pyspark.sql import types

    plain = {
        pa.bool_(): types.BooleanType,
        pa.int8(): types.ByteType,
        pa.int16(): types.ShortType,
        pa.int32(): types.IntegerType,
        pa.int64(): types.LongType,
        pa.float32(): types.FloatType,
        pa.float64(): types.DoubleType,
        pa.string(): types.StringType,
        pa.binary(): types.BinaryType,
        pa.timestamp("us"): types.TimestampNTZType,
    }

    def of(kind: pa.DataType) -> DataType:
        if pa.types.is_decimal(kind):
            return types.DecimalType(kind.precision, kind.scale)
        if pa.types.is_list(kind):
            return types.ArrayType(of(kind.value_type))
        if pa.types.is_struct(kind):
            return _struct_type(kind)
        return plain[kind]()

    return types.StructType([types.StructField(field.name, of(field.type)) for field in schema])
