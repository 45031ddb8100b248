"""Rows as netCDF-4: a variable for each column along one dimension, which grows."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import DtypeLike, Elements, Path
from ..files.file import File
from ..values.batch_reader import BatchReader
from ..values.netcdf_types import DEFAULT_FILLS
from .writing import create_netcdf, view_of

#: The dimension of the rows.
DIMENSION = "row"


def write_rows(
    source: pa.RecordBatchReader | BatchReader,
    path: Path,
    advance: Callable[[int], None] = lambda rows: None,
    storage_options: Mapping[str, object] | None = None,
) -> int:
    """Writes a stream of batches as a netCDF-4 file, which replaces an existing one when it is complete.

    Columns are numbers, booleans (`i1` with the attribute `dtype`), text, dates, times and durations (CF's `units`). Nulls of numbers and times become the attribute `_FillValue`.

    Args:
        source: The batches.
        path: Path of the file, or its address in an object store.
        advance: Called with the number of rows written since the last call.
        storage_options: Options of the store of an address.

    Returns:
        The number of rows written.

    Raises:
        UnsupportedError: netCDF has no type for a column, or a column of text has nulls.
        InvalidInputError: A value equals netCDF's fill value, so readers would take it for a missing one.

    Example:
        >>> write_rows(table.batches(), "out.nc")
        1920
    """
    rows = 0
    with create_netcdf(path, storage_options=storage_options) as file:
        if any(field.name == DIMENSION for field in source.schema):
            raise InvalidInputError(f"a column is called {DIMENSION!r}, as the dimension of the rows: rename it")
        file.create_dimension(DIMENSION)
        columns = [_Column(file, field) for field in source.schema]
        for batch in source:
            for column, values in zip(columns, batch.columns, strict=True):
                column.append(values)
            rows += batch.num_rows
            advance(batch.num_rows)
    return rows


class _Column:
    """A column and its variable."""

    def __init__(self, file: File, field: pa.Field) -> None:
        self._name, self._type = field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        self._is_text = pa.types.is_string(self._type) or pa.types.is_large_string(self._type) or pa.types.is_string_view(self._type)
        self._is_time = pa.types.is_timestamp(self._type) or pa.types.is_date(self._type) or pa.types.is_duration(self._type)
        dtype: DtypeLike | None
        if self._is_text:
            dtype = str
        elif pa.types.is_date(self._type):
            dtype = "datetime64[D]" if pa.types.is_date32(self._type) else "datetime64[ms]"
        elif self._is_time:
            dtype = f"{'timedelta64' if pa.types.is_duration(self._type) else 'datetime64'}[{self._type.unit}]"
        elif pa.types.is_boolean(self._type):
            dtype = "bool"
        elif pa.types.is_decimal(self._type):
            dtype = "f8"
        elif pa.types.is_float16(self._type):
            dtype = "f4"
        elif pa.types.is_integer(self._type) or pa.types.is_floating(self._type):
            dtype = self._type.to_pandas_dtype()
        else:
            raise UnsupportedError(f"column {self._name!r} of Arrow type {self._type} in netCDF")
        self._dtype = None if self._is_text or self._is_time else np.dtype(dtype)
        # Without a fill value, as long as there are no nulls: 255 of `u1` is a value.
        self._variable = file.create_variable(self._name, (DIMENSION,), dtype, fill_value=None if self._is_text or self._is_time else False)
        self._definition = view_of(file).variables[self._name]
        if pa.types.is_timestamp(self._type) and self._type.tz is not None:
            self._variable.attrs["time_zone"] = self._type.tz  # the counts are in UTC in any zone
        self._has_nulls = self._has_fill = False

    def append(self, values: pa.Array) -> None:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if self._is_text:
            if values.null_count:
                raise UnsupportedError(f"column {self._name!r} has {values.null_count} nulls, which text of netCDF cannot store: fill them first")
            self._variable.append(np.array([*values.to_pylist(), None], dtype=object)[:-1])
        elif self._is_time:
            self._variable.append(values.to_numpy(zero_copy_only=False).astype(f"{'m' if pa.types.is_duration(self._type) else 'M'}8[{self._unit()}]"))
        else:
            self._variable.append(self._numbers(values))

    def _unit(self) -> str:
        if pa.types.is_date(self._type):
            return "D" if pa.types.is_date32(self._type) else "ms"
        return str(self._type.unit)

    def _numbers(self, values: pa.Array) -> Elements:
        """The values with nulls masked. A value that readers would take for a null is an error."""
        assert self._dtype is not None
        if pa.types.is_decimal(self._type):
            values = pa.array([None if given is None else self._float(given) for given in values.to_pylist()], pa.float64())
        missing = np.asarray(values.is_null()) if values.null_count else None
        numbers = values.fill_null(False if pa.types.is_boolean(values.type) else 0).to_numpy(zero_copy_only=False).astype(self._dtype, copy=False)
        if self._dtype.kind == "b":
            numbers = numbers.astype("i1")
        fill = DEFAULT_FILLS[numbers.dtype.str[1:]]
        is_fill = numbers == np.array(fill, numbers.dtype)
        self._has_nulls |= missing is not None
        self._has_fill |= bool((is_fill if missing is None else is_fill & ~missing).any())
        # Some readers take the default fill value of all types but bytes for a missing value, also without the attribute.
        if self._has_fill and (self._has_nulls or numbers.dtype.itemsize > 1):
            raise InvalidInputError(f"column {self._name!r} contains {fill}, which readers of netCDF take for a missing value: change it, or export as h5")
        if missing is None:
            return numbers
        self._definition.declare_fill(fill)
        return np.ma.masked_array(numbers, missing)

    def _float(self, given: decimal.Decimal) -> float:
        near = float(given)
        if not math.isfinite(near) or decimal.Decimal(repr(near)) != given:
            raise InvalidInputError(f"column {self._name!r} has values of {self._type} that a float of 8 bytes cannot hold: cast them first")
        return near
