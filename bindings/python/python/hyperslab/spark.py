"""Spark: sessions that read `hdf5` and `netcdf`, indexes that are built by tasks, and queries whose rows are read by
tasks. pyspark is imported only when a session is wanted."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from . import indexes
from .errors import InvalidInputError, NotFoundError, UnsupportedError
from .indexes import Indexed
from .query import Query, query_of_absolute_paths
from .table import Split

__all__ = ["configure", "index", "jar", "query", "session"]

#: Bytes of values that a task reads, at least and at most, where it is not said how many tasks there shall be.
TASK_BYTES = 4 << 20, 64 << 20


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
          together: bool = False, anew: bool = False, index_folder: Any = None) -> Indexed:
    """Builds value indexes as `hyperslab.index` does, subarray by subarray, in `tasks` Spark tasks at most, by default
    four a core. Files must be where every executor finds them, with this package. Nothing is visible before all is built."""
    named = [files] if isinstance(files, (str, os.PathLike)) else files
    if isinstance(named, list):
        # Executors have working folders of their own.
        files = [os.path.abspath(os.fspath(one)) for one in named]
    plan = indexes.plan(files, datasets, level, decode=decode, together=together, anew=anew, index_folder=index_folder)
    context = spark.sparkContext
    wanted = tasks or 4 * context.defaultParallelism
    parts = plan.tasks(wanted)
    if not parts:
        return indexes.commit([])
    # Each array has parts of its own, but a task costs more than to build a small one. Spark runs tasks side by side, so
    # each has one thread.
    fragments = context.parallelize(parts, min(wanted, len(parts))).map(lambda part: indexes.build(bytes(part), threads=1)).collect()
    return indexes.commit(fragments)


def query(spark: Any, files: Any, group: Any = "/", text: str | None = None, *, columns: Sequence[str] | None = None, rows: str | None = None,
          variables: Mapping[str, Any] | None = None, decode: bool = True, tasks: int | None = None) -> Any:
    """What `hyperslab.query(files, group, text, …).table(columns)` gives, as a DataFrame: the same rows in the same order.

    It is planned here and now, from metadata; its rows are read when Spark wants them, in about `tasks` tasks (by default one
    a core, if each then has 4 to 64 MiB of values). Files must be where every executor finds them, with this package. Types
    are those of the reader `hdf5`; a column that has none is refused by name."""
    asked = query_of_absolute_paths(files, group, text, rows, variables, decode)
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
    packed = _packed(splits, wanted)
    numbers = spark.range(0, len(packed), 1, max(len(packed), 1))
    return numbers.mapInArrow(_reader(packed, schema, shown), _struct_type(shown))


def _tasks(cores: int, rows: int, asked: Query, schema: pa.Schema) -> int:
    """As many as have work: one a core, more where each would have too much, fewer where it would have next to nothing."""
    widths = {name: 8 for name in asked._native.names()}
    widths.update({field.name: field.type.bit_width // 8 if pa.types.is_primitive(field.type) else 16 for field in schema})
    least, most = TASK_BYTES
    value_bytes = rows * sum(widths.values())
    return max(-(-value_bytes // most), min(cores, -(-value_bytes // least)), 1)


def _packed(splits: list[Split], tasks: int) -> list[list[bytes]]:
    """Splits beside each other in groups of about as many rows, for a task costs some milliseconds of its own."""
    whole = max(sum(split.rows for split in splits), 1)
    packed: list[list[bytes]] = []
    group, done = -1, 0
    for split in splits:
        middle = done + split.rows // 2
        if (of := middle * tasks // whole) != group:
            packed.append([])
            group = of
        packed[-1].append(bytes(split))
        done += split.rows
    return packed


def _cores(spark: Any) -> int:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return os.cpu_count() or 1  # a client does not hear how many there are
    return int(spark.sparkContext.defaultParallelism)


def _reader(packed: list[list[bytes]], schema: pa.Schema, shown: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with the numbers of its groups of splits."""

    def read(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for data in (data for number in batch.column(0).to_pylist() for data in packed[number]):
                # Spark runs tasks side by side, so each has one thread.
                for rows in Split(data, schema).batches(threads=1):
                    yield pa.RecordBatch.from_arrays([column.cast(field.type) for column, field in zip(rows.columns, shown)], schema=shown)

    return read


def _arrow_type(name: str, kind: pa.DataType) -> pa.DataType:
    """The type that Spark takes for this one: there are no unsigned integers, half floats, or dictionaries."""
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0), pa.float16(): pa.float32(),
             pa.dictionary(pa.int32(), pa.string()): pa.string()}
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


def _struct_type(schema: Iterable[pa.Field]) -> Any:
    """The same columns as Spark's own type."""
    from pyspark.sql import types

    plain = {pa.bool_(): types.BooleanType, pa.int8(): types.ByteType, pa.int16(): types.ShortType, pa.int32(): types.IntegerType,
             pa.int64(): types.LongType, pa.float32(): types.FloatType, pa.float64(): types.DoubleType, pa.string(): types.StringType,
             pa.binary(): types.BinaryType, pa.timestamp("us"): types.TimestampNTZType}

    def of(kind: pa.DataType) -> Any:
        if pa.types.is_decimal(kind):
            return types.DecimalType(kind.precision, kind.scale)
        if pa.types.is_list(kind):
            return types.ArrayType(of(kind.value_type))
        if pa.types.is_struct(kind):
            return _struct_type(kind)
        return plain[kind]()

    return types.StructType([types.StructField(field.name, of(field.type)) for field in schema])
