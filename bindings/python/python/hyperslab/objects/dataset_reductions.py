"""Reductions of a dataset along its dimensions: numpy's results, computed in parallel while the array is read."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .. import _native
from ..base.errors import InvalidInputError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray, AnyDtype, DtypeLike
from .value_changes import ValueChanges

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

Axis = int | tuple[int, ...] | None

#: Elements below which numpy is quicker.
MIN_ELEMENTS = 1 << 16
#: Results of one pass: with more, the array is reduced in parts along a dimension that stays.
MAX_RESULTS = 1 << 20


class DatasetReductions(ValueChanges):
    """Sums, means, extremes and deviations of stored values, as numpy computes them of `dataset[...]`.

    Floats are summed in double precision, and the result is rounded to the dtype that numpy's has. It does not depend on the number of
    threads. NaN spreads as in numpy: values of netCDF files with missing ones are decoded by `decoded`, tables and xarray.
    """

    if TYPE_CHECKING:
        # Defined by the dataset class.
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> AnyDtype: ...
        def __getitem__(self, key: Any) -> Any: ...

    def sum(self, axis: Axis = None, dtype: DtypeLike | None = None, out: AnyArray | None = None, *, keepdims: bool = False) -> Any:
        """The sum along dimensions, as `numpy.sum`: integers in 8 bytes, floats in their own dtype.

        Args:
            axis: The dimension, or several; by default all.
            dtype: As for numpy. If it is given, numpy computes the result of all values, and so if `out` is.
            out: As for numpy.
            keepdims: Whether the dimensions stay, with an extent of 1.

        Returns:
            A number, or an array of the other dimensions.

        Raises:
            InvalidInputError: There is no such dimension.
            UnsupportedError: The values are not numbers.

        Example:
            >>> f["theta"].sum(axis=0)
        """
        return self._reduced("sum", axis, keepdims, dtype=dtype, out=out)

    def mean(self, axis: Axis = None, dtype: DtypeLike | None = None, out: AnyArray | None = None, *, keepdims: bool = False) -> Any:
        """The mean along dimensions, as `numpy.mean`: of integers a double, of floats their own dtype. Raises the errors of `sum`.

        Args:
            axis: The dimension, or several; by default all.
            dtype: As for `sum`.
            out: As for `sum`.
            keepdims: Whether the dimensions stay, with an extent of 1.

        Returns:
            A number, or an array of the other dimensions.

        Example:
            >>> f["theta"].mean(axis=(1, 2))
        """
        return self._reduced("mean", axis, keepdims, dtype=dtype, out=out)

    def min(self, axis: Axis = None, out: AnyArray | None = None, *, keepdims: bool = False) -> Any:
        """The least value along dimensions, as `numpy.min`; NaN if there is one. Raises the errors of `sum`.

        Args:
            axis: The dimension, or several; by default all.
            out: As for `sum`.
            keepdims: Whether the dimensions stay, with an extent of 1.

        Returns:
            A number, or an array of the other dimensions.

        Example:
            >>> f["theta"].min()
        """
        return self._reduced("min", axis, keepdims, out=out)

    def max(self, axis: Axis = None, out: AnyArray | None = None, *, keepdims: bool = False) -> Any:
        """The greatest value along dimensions, as `numpy.max`; NaN if there is one. Raises the errors of `sum`.

        Args:
            axis: The dimension, or several; by default all.
            out: As for `sum`.
            keepdims: Whether the dimensions stay, with an extent of 1.

        Returns:
            A number, or an array of the other dimensions.

        Example:
            >>> f["theta"].max(axis=-1)
        """
        return self._reduced("max", axis, keepdims, out=out)

    def std(self, axis: Axis = None, dtype: DtypeLike | None = None, out: AnyArray | None = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        """The standard deviation along dimensions, as `numpy.std`. Raises the errors of `sum`.

        Args:
            axis: The dimension, or several; by default all.
            dtype: As for `sum`.
            out: As for `sum`.
            ddof: What is subtracted from the number of values in the divisor.
            keepdims: Whether the dimensions stay, with an extent of 1.

        Returns:
            A number, or an array of the other dimensions.

        Example:
            >>> f["theta"].std(axis=0, ddof=1)
        """
        return self._reduced("std", axis, keepdims, dtype=dtype, out=out, ddof=ddof)

    def _reduced(self, name: str, axis: Axis, keepdims: bool, **options: Any) -> Any:
        shape, dtype = self.shape, self.dtype.newbyteorder("=")
        options = {option: value for option, value in options.items() if value is not None}
        try:
            gone = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape), "axis")
        except ValueError as error:  # numpy's own words, also for an axis that is given twice
            raise InvalidInputError(str(error), self.file.filename, self.path) from None
        is_core = _is_core(dtype) and "out" not in options and "dtype" not in options
        if not is_core or math.prod(shape) < MIN_ELEMENTS or self._notes is not None:
            values = self[...]
            if is_core and dtype.kind == "f" and values.size:
                with np.errstate(over="ignore"):
                    return getattr(np, name)(values.astype("f8"), axis=axis, keepdims=keepdims, **options).astype(dtype)
            return getattr(np, name)(values, axis=axis, keepdims=keepdims, **options)
        result = _result(name, _reduce(self._file, self.path, shape, gone, name), dtype, options.get("ddof", 0))
        kept = tuple(1 if place in gone else extent for place, extent in enumerate(shape) if keepdims or place not in gone)
        return result.reshape(kept) if kept else result.reshape(())[()]


def _is_core(dtype: AnyDtype) -> bool:
    """Whether the core computes values of this type."""
    return dtype.metadata is None and dtype.itemsize <= (4 if dtype.kind == "u" else 8) and dtype.kind in "iuf"


def _reduce(file: _native.File, path: str, shape: tuple[int, ...], gone: tuple[int, ...], name: str) -> pa.Table:
    """The measures of each element of the result, in its order."""
    schema = _native.Plan([file], path, model="none", layout="cells", decode=False)
    along = {column for names in schema.dimensions()[0][1] for column in names}
    (column,) = (column for column in pa.schema(schema).names if column not in along)
    plan = _native.Plan([file], path, model="none", layout="cells", decode=False, columns=[column])
    kept = [axis for axis in range(len(shape)) if axis not in gone]
    measure: dict[str, Any] = {"argument": {"is": "column", "column": 0}, "filter": None}
    measure |= {"sum": name in ("sum", "mean"), "extremes": name in ("min", "max"), "deviations": name == "std"}
    cut = max(kept, key=lambda axis: shape[axis], default=None)
    results = math.prod(shape[axis] for axis in kept)
    parts = 1 if cut is None else min(-(-results // MAX_RESULTS), shape[cut])
    tables = []
    for part in range(parts):
        classes: list[np.ndarray[Any, np.dtype[np.uint32]] | None] = [
            np.arange(extent, dtype=np.uint32) if axis in kept else None for axis, extent in enumerate(shape)
        ]
        counts = [extent if axis in kept else 1 for axis, extent in enumerate(shape)]
        if cut is not None and parts > 1:
            first, end = (shape[cut] * place // parts for place in (part, part + 1))
            own = np.full(shape[cut], 0xFFFF_FFFF, dtype=np.uint32)
            own[first:end] = np.arange(end - first)
            classes[cut], counts[cut] = own, end - first
        request = {"segment_classes": 1, "axis_classes": counts, "vector_axes": [], "condition": None, "measures": [measure]}
        given = [(0, [None if codes is None else codes.tobytes() for codes in classes], list[bytes]())]
        found = pa.table(pa.record_batch(plan.reduce(json.dumps(request), given)))
        tables.append((found, counts))
    if parts == 1:
        return tables[0][0]
    names = [one for one in tables[0][0].column_names if not one.startswith("axis")]
    joined = {one: np.concatenate([found[one].to_numpy().reshape(counts) for found, counts in tables], axis=cut).reshape(-1) for one in names}
    return pa.table(joined)


def _result(name: str, found: pa.Table, dtype: AnyDtype, ddof: float) -> Any:
    if name in ("min", "max"):
        most = found["most0"].to_numpy()
        # NaN is the greatest: whether there is one shows in the maximum.
        values = (
            np.where(np.isnan(most), most, found["least0"].to_numpy())
            if name == "min" and dtype.kind == "f"
            else found["least0" if name == "min" else "most0"].to_numpy()
        )
        return values.astype(dtype)
    float_type = dtype if dtype.kind == "f" else np.dtype("f8")
    counts = found["count0"].to_numpy()
    if name == "std":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(found["squares0"].to_numpy() / np.maximum(counts - ddof, 0)).astype(float_type)
    sums = found["sum0"]
    if dtype.kind == "f":
        doubles = sums.to_numpy()
        with np.errstate(over="ignore"):
            return (doubles / counts if name == "mean" else doubles).astype(dtype)
    whole = [int(value) for value in sums.to_pylist()]
    if name == "mean":
        return np.array([total / int(count) for total, count in zip(whole, counts, strict=True)], dtype="f8")
    # As numpy, sums of integers wrap around.
    wrapped = np.array([total & 0xFFFF_FFFF_FFFF_FFFF for total in whole], dtype=np.uint64)
    return wrapped if dtype.kind == "u" else wrapped.view(np.int64)
