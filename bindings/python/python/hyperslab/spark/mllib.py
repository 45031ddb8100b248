"""Datasets as RDDs and matrices of MLlib, with the function names of H5Spark.

A row is an index of the first dimension, with the other dimensions flattened. The JVM reads rows with the reader of tables, and
numbers them from 0 through all files, in the order of files and rows, independently of partitions.

Every function takes a Spark session or context, a path (a file, a glob, a folder, a list of files) or a list of paths, the path
of a dataset, and the maximum number of partitions. As in H5Spark, a tuple `(path, dataset)` may replace the two paths, alone or
in a list. H5Spark's `mode="single"` and `mode="multi"` are accepted, but not needed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark import RDD, SparkContext
    from pyspark.mllib.linalg import DenseVector
    from pyspark.mllib.linalg.distributed import BlockMatrix, CoordinateMatrix, IndexedRow, IndexedRowMatrix, RowMatrix
    from pyspark.mllib.regression import LabeledPoint
    from pyspark.sql import SparkSession

__all__ = [
    "h5read",
    "h5read_array",
    "h5read_blockmat",
    "h5read_coordmat",
    "h5read_imat",
    "h5read_irow",
    "h5read_labeled",
    "h5read_point",
    "h5read_rowmat",
    "h5read_vec",
]

#: A path, `(path, dataset)`, or a list of them.
OneFile = str | os.PathLike[str] | tuple[str | os.PathLike[str], str]
Files = OneFile | Sequence[OneFile]

_NUMPY = {"tinyint": "i1", "smallint": "i2", "int": "i4", "bigint": "i8", "float": "f4", "double": "f8"}


def _session(spark: SparkSession | SparkContext) -> SparkSession:
    from pyspark.sql import SparkSession

    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedError("MLlib's RDDs over Spark Connect, which has none: use a session in the driver's process, or spark.read with layout \"rows\"")
    return spark if isinstance(spark, SparkSession) else SparkSession(spark)


def _one(path: object) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInputError(f"a file is given as {path!r}: give a path, or (path, dataset)")
    return os.fspath(path)


def _files(session: SparkSession, files: Files) -> str | JavaObject:
    """What the Java functions take: a text, or a list of texts and of pairs."""
    if isinstance(files, (str, os.PathLike)):
        return os.fspath(files)
    make = session._jvm.java.util.ArrayList
    paths = make()
    for one in [files] if isinstance(files, tuple) else files:
        if isinstance(one, tuple):
            if len(one) != 2 or not isinstance(one[1], str):
                raise InvalidInputError(f"a file is given as {one!r}: give a path, or (path, dataset)")
            pair = make()
            pair.add(_one(one[0]))
            pair.add(one[1])
            paths.add(pair)
        else:
            paths.add(_one(one))
    return paths


def _java(
    spark: SparkSession | SparkContext, name: str, files: Files, dataset: str | None, *more: object, mode: str | None, session: bool = True
) -> tuple[SparkContext, JavaObject]:
    """What the Java function of this name returns, with the session's context."""
    if mode not in (None, "single", "multi"):
        raise InvalidInputError(f'mode is {mode!r}: give "single" or "multi", or leave it out')
    ours = _session(spark)
    function = getattr(ours._jvm.io.hyperslab.spark.mllib.H5Read, name)
    return ours.sparkContext, function(*((ours._jsparkSession,) if session else ()), _files(ours, files), dataset, *more)


def _rdd(spark: SparkSession | SparkContext, name: str, files: Files, dataset: str | None, *more: object, mode: str | None) -> RDD:
    from pyspark.mllib.common import _java2py

    return _java2py(*_java(spark, name, files, dataset, *more, mode=mode))


def h5read(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> RDD[AnyArray]:
    """Reads rows as numpy arrays of the dataset's dtype; unsigned integers become the next wider signed type.

    Args:
        spark: A session or a context.
        path: A path (a file, a glob, a folder), `(path, dataset)`, or a list of them.
        dataset: Path of the dataset, unless it is part of `path`.
        partitions: Maximum number of partitions; by default as many as Spark's reader of tables makes.
        mode: `single` or `multi`, as in H5Spark; makes no difference.

    Returns:
        An RDD with one array per row.

    Raises:
        UnsupportedError: The session is a client of Spark Connect, or the dataset is not numeric.
        InvalidInputError: A path is not a path, or `mode` is not known.

    Example:
        >>> mllib.h5read(spark, "run.h5", "/features").count()
    """
    _, element = _java(spark, "element_type", path, dataset, mode=mode, session=False)
    if element not in _NUMPY:
        raise UnsupportedError(f"{dataset or path} has elements of type {element}, which are not numbers of an array")
    dtype = np.dtype(_NUMPY[element])
    return _rdd(spark, "h5read_bytes", path, dataset, partitions, mode=mode).map(lambda row: np.frombuffer(row, dtype))


h5read_array = h5read


def h5read_point(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> RDD[tuple[float, int]]:
    """Reads elements as `(value, key)`; the key is the position of the element among the elements of all files.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        An RDD with one pair per element.

    Example:
        >>> mllib.h5read_point(spark, "run.h5", "/features").first()
    """
    return _rdd(spark, "h5read_point_pairs", path, dataset, partitions, mode=mode)


def h5read_vec(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> RDD[DenseVector]:
    """Reads rows as dense vectors.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        An RDD with one vector per row.

    Example:
        >>> KMeans.train(mllib.h5read_vec(spark, "run.h5", "/features"), 3)
    """
    return _rdd(spark, "h5read_vec", path, dataset, partitions, mode=mode)


def h5read_labeled(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, label: int = 0, partitions: int | None = None, *, mode: str | None = None
) -> RDD[LabeledPoint]:
    """Reads rows as `LabeledPoint`.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.
        label: Index of the column that is the label.

    Returns:
        An RDD with one point per row; its features are the other columns.

    Example:
        >>> mllib.h5read_labeled(spark, "run.h5", "/features", label=4)
    """
    return _rdd(spark, "h5read_labeled", path, dataset, label, partitions, mode=mode)


def h5read_irow(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> RDD[IndexedRow]:
    """Reads rows as `IndexedRow`.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        An RDD with one indexed row per row.

    Example:
        >>> mllib.h5read_irow(spark, "run.h5", "/features").first().index
    """
    return h5read_imat(spark, path, dataset, partitions, mode=mode).rows


def h5read_imat(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> IndexedRowMatrix:
    """Reads an `IndexedRowMatrix`.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        The matrix with the rows of all files.

    Example:
        >>> mllib.h5read_imat(spark, "run.h5", "/features").computeSVD(3)
    """
    from pyspark.mllib.linalg.distributed import IndexedRowMatrix

    return IndexedRowMatrix(_java(spark, "h5read_imat", path, dataset, partitions, mode=mode)[1])


def h5read_rowmat(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> RowMatrix:
    """Reads a `RowMatrix`.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        The matrix with the rows of all files.

    Example:
        >>> mllib.h5read_rowmat(spark, "run.h5", "/features").computePrincipalComponents(3)
    """
    from pyspark.mllib.linalg.distributed import RowMatrix

    return RowMatrix(_java(spark, "h5read_rowmat", path, dataset, partitions, mode=mode)[1])


def h5read_coordmat(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> CoordinateMatrix:
    """Reads a `CoordinateMatrix` of the nonzero elements, with the numbers of rows and columns of the files.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        The matrix.

    Example:
        >>> mllib.h5read_coordmat(spark, "run.h5", "/features").entries.count()
    """
    from pyspark.mllib.linalg.distributed import CoordinateMatrix

    return CoordinateMatrix(_java(spark, "h5read_coordmat", path, dataset, partitions, mode=mode)[1])


def h5read_blockmat(
    spark: SparkSession | SparkContext, path: Files, dataset: str | None = None, partitions: int | None = None, *, mode: str | None = None
) -> BlockMatrix:
    """Reads a `BlockMatrix` with blocks of 1024 by 1024.

    Args:
        spark, path, dataset, partitions, mode: As in `h5read`.

    Returns:
        The matrix.

    Example:
        >>> mllib.h5read_blockmat(spark, "run.h5", "/features").numRows()
    """
    from pyspark.mllib.linalg.distributed import BlockMatrix

    return BlockMatrix(_java(spark, "h5read_blockmat", path, dataset, partitions, mode=mode)[1], 1024, 1024)
