"""Decoded view: the values of a netCDF variable as its attributes mean them, in numpy. The rules are the same as in xarray's `decode_cf`."""

from __future__ import annotations

from typing import cast

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, Elements, Key
from ..values.decoded_times import times_of
from .attributes import Attributes
from .inherited import text_of
from .node import Node
from .value_views import View, Viewed


class DecodedView(View):
    """A dataset with decoded values: `d.decoded[3:5]`."""

    def __init__(self, dataset: Viewed) -> None:
        self._rules = Rules(dataset)
        super().__init__(dataset, self._rules.dtype)

    def __getitem__(self, key: Key) -> Elements:
        return self._rules.decoded(self._dataset[key])


class Rules:
    """What the attributes of a variable say of its values.

    Attributes:
        dtype: numpy's dtype of decoded values; times of a calendar that numpy lacks are objects of cftime.
    """

    def __init__(self, dataset: Viewed) -> None:
        self._name, self._file = dataset.name, dataset.file.filename
        self._stored = np.dtype(dataset.dtype).newbyteorder("=")
        if self._stored.kind not in "iuf" or (self._stored.metadata or {}).get("enum"):
            self._decodes, self.dtype = False, dataset.dtype
            return
        self._decodes = True
        attrs = dataset.attrs
        unsigned = _text(attrs.get("_Unsigned")).lower()
        self._kind = self._stored
        if unsigned == "true" and self._stored.kind == "i":
            self._kind = np.dtype(f"u{self._stored.itemsize}")
        elif unsigned == "false" and self._stored.kind == "u":
            self._kind = np.dtype(f"i{self._stored.itemsize}")
        self._fills = np.unique(np.concatenate([np.empty(0, self._kind), *(self._fill(attrs[key]) for key in ("_FillValue", "missing_value") if key in attrs)]))
        # xarray keeps the width of integers if a fill value is not a number of the variable, and so matches nothing.
        has_fill = any(key in attrs and self._is_fill(attrs[key]) for key in ("_FillValue", "missing_value"))
        self._scale, self._offset = (self._factor(attrs, key) for key in ("scale_factor", "add_offset"))
        node = cast(Node, dataset)
        units = text_of(node, "units")
        self._time = times_of(units, text_of(node, "calendar") or "standard") if units else None
        is_packed = self._scale is not None or self._offset is not None
        if is_packed:
            self._number = self._unpacked()
        elif has_fill and not (self._time is not None and self._kind.kind in "iu"):
            self._number = _promoted(self._kind)
        else:
            self._number = self._kind
        self.dtype = self._number if self._time is None else self._time.dtype

    def _factor(self, attrs: Attributes, key: str) -> AttributeValue:
        if key not in attrs:
            return None
        value = np.ravel(attrs[key])
        if value.size != 1 or value.dtype.kind not in "iuf":
            raise InvalidInputError(f"its attribute {key} is {attrs[key]!r}, not a number", self._file, self._name)
        return value[0]

    def _is_fill(self, value: AttributeValue) -> bool:
        given = np.ravel(value)
        return bool(given.size) and given.dtype.kind in "iuf" and not np.isnan(given.astype("f8")).all()

    def _fill(self, value: AttributeValue) -> AnyArray:
        """Numbers that mean a missing value, as they are stored; those that the stored type lacks match nothing."""
        given = np.ravel(value)
        if given.dtype.kind not in "iuf":
            return np.empty(0, self._kind)
        if given.dtype.kind == "f":
            given = given[~np.isnan(given)]
        if self._kind.kind == "f":
            return given.astype(self._kind)
        if given.dtype.kind == self._stored.kind and given.dtype.itemsize == self._kind.itemsize:
            return given.astype(self._kind)
        held = [int(number) for number in given.tolist() if number == int(number)] if np.isfinite(given.astype("f8")).all() else []
        limits = np.iinfo(self._stored), np.iinfo(self._kind)
        fits = [number for number in held if any(limit.min <= number <= limit.max for limit in limits)]
        return np.array([number % (1 << 8 * self._kind.itemsize) for number in fits], f"u{self._kind.itemsize}").view(self._kind)

    def _unpacked(self) -> AnyDtype:
        """The dtype of unpacked values."""
        scale, offset = (None if one is None else one.dtype for one in (self._scale, self._offset))
        if offset is not None and scale is not None and scale == offset and scale.kind == "f" and scale.itemsize in (4, 8):
            return np.dtype("f8") if self._kind.kind in "iu" and self._kind.itemsize == 4 else scale
        if offset is not None:
            return np.dtype("f8")
        assert scale is not None  # one of the two is there
        # Whole factors would make whole numbers, which have no NaN.
        return scale if scale.kind == "f" else np.dtype("f8")

    def decoded(self, values: Elements) -> Elements:
        """Stored values as decoded ones."""
        if not self._decodes:
            return values
        stored = np.asarray(values).astype(self._stored, copy=False).view(self._kind)
        is_missing = np.isin(stored, self._fills) if self._fills.size else np.zeros(stored.shape, bool)
        numbers = stored.astype(self._number, copy=True)
        if self._number.kind == "f":
            numbers[is_missing] = np.nan
        if self._scale is not None:
            numbers *= self._scale.astype(self._number)
        if self._offset is not None:
            numbers += self._offset.astype(self._number)
        try:
            found = numbers if self._time is None else self._time.decoded(numbers, is_missing)
        except InvalidInputError as error:
            raise InvalidInputError(error.message, self._file, self._name) from None
        return found if isinstance(values, np.ndarray) else found[()]


def _promoted(dtype: AnyDtype) -> AnyDtype:
    """Floats that hold the numbers of a dtype and NaN."""
    if dtype.kind == "f":
        return dtype
    return np.dtype("f4") if dtype.itemsize <= 2 else np.dtype("f8")


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""
