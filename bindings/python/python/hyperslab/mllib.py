"""Datasets as RDDs and matrices of MLlib, under the names that H5Spark gave them.

A row is an index of the first dimension, with the other dimensions flat in it. Rows are read by the
same reader in the JVM as tables are, and have their true numbers whatever the partitions. Every
function takes a Spark session (or context), a path (a file, a glob, a folder), a dataset's path, and
how many partitions to make at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import UnsupportedError

__all__ = ["h5read", "h5read_array", "h5read_blockmat", "h5read_coordmat", "h5read_imat", "h5read_irow", "h5read_labeled",
           "h5read_point", "h5read_rowmat", "h5read_vec"]


_NUMPY = {"tinyint": "i1", "smallint": "i2", "int": "i4", "bigint": "i8", "float": "f4", "double": "f8"}


def _java(spark: Any, name: str, path: str, dataset: str, *more: Any, session: bool = True) -> tuple[Any, Any]:
    """What the Java function of this name returns, with the session's context."""
    from pyspark.sql import SparkSession

    ours = spark if isinstance(spark, SparkSession) else SparkSession(spark)
    function = getattr(ours._jvm.io.hyperslab.spark.mllib.H5Read, name)
    return ours.sparkContext, function(*((ours._jsparkSession,) if session else ()), str(path), dataset, *more)


def _rdd(spark: Any, name: str, path: str, dataset: str, *more: Any) -> Any:
    from pyspark.mllib.common import _java2py

    return _java2py(*_java(spark, name, path, dataset, *more))


def h5read(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """Rows as numpy arrays of the dataset's own type (unsigned integers in the next wider one)."""
    context, element = _java(spark, "element_type", path, dataset, session=False)
    if element not in _NUMPY:
        raise UnsupportedError(f"{dataset} has elements of type {element}, which are no numbers of an array")
    dtype = np.dtype(_NUMPY[element])
    return _rdd(spark, "h5read_bytes", path, dataset, partitions).map(lambda row: np.frombuffer(row, dtype))


h5read_array = h5read


def h5read_point(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """`(value, key)` for each element; the key is its number in the dataset."""
    return _rdd(spark, "h5read_point_pairs", path, dataset, partitions)


def h5read_vec(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """Rows as dense vectors."""
    return _rdd(spark, "h5read_vec", path, dataset, partitions)


def h5read_labeled(spark: Any, path: str, dataset: str, label: int = 0, partitions: int | None = None) -> Any:
    """Rows as `LabeledPoint`; `label` is the number of the column that is the label."""
    return _rdd(spark, "h5read_labeled", path, dataset, label, partitions)


def h5read_irow(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """Rows as `IndexedRow`."""
    return h5read_imat(spark, path, dataset, partitions).rows


def h5read_imat(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """An `IndexedRowMatrix`."""
    from pyspark.mllib.linalg.distributed import IndexedRowMatrix

    return IndexedRowMatrix(_java(spark, "h5read_imat", path, dataset, partitions)[1])


def h5read_rowmat(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """A `RowMatrix`."""
    from pyspark.mllib.linalg.distributed import RowMatrix

    return RowMatrix(_java(spark, "h5read_rowmat", path, dataset, partitions)[1])


def h5read_coordmat(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """A `CoordinateMatrix` of the elements that are not zero."""
    from pyspark.mllib.linalg.distributed import CoordinateMatrix

    return CoordinateMatrix(_java(spark, "h5read_coordmat", path, dataset, partitions)[1])


def h5read_blockmat(spark: Any, path: str, dataset: str, partitions: int | None = None) -> Any:
    """A `BlockMatrix` of blocks of 1024 by 1024."""
    from pyspark.mllib.linalg.distributed import BlockMatrix

    return BlockMatrix(_java(spark, "h5read_blockmat", path, dataset, partitions)[1], 1024, 1024)
