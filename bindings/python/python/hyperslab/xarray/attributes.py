"""Attributes for xarray: the values that the netCDF4 package gives."""

from __future__ import annotations

import numpy as np

from ..base.type_aliases import AttributeValue
from ..objects.attributes import Attributes, Empty


def read_attributes(attributes: Attributes) -> dict[str, AttributeValue]:
    """The attributes of an object as the netCDF4 package gives them: text as `str`, several texts as a list, one number as a
    numpy scalar, several as an array in native byte order.

    Args:
        attributes: Those of a dataset or a group.

    Returns:
        Names and values, in the order of the file.

    Example:
        >>> read_attributes(f["theta"].attrs)["units"]
        'K'
    """
    return {name: netcdf_value(value, name) for name, value in attributes.items()}


def netcdf_value(value: AttributeValue, name: str = "") -> AttributeValue:
    """One value; `_FillValue` of text stays `bytes`, since the values that it stands for do.

    Args:
        value: What `Attributes` gives.
        name: The attribute's name.

    Returns:
        A `str`, `bytes`, list, scalar or array.
    """
    if isinstance(value, Empty):
        return "" if value.dtype.kind in "SOU" else np.empty(0, dtype=value.dtype.newbyteorder("="))
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "")
    if isinstance(value, bytes):
        return bytes(value) if name == "_FillValue" else value.decode("utf-8", "replace").replace("\0", "")
    if not isinstance(value, np.ndarray):
        return value.astype(value.dtype.newbyteorder("=")) if isinstance(value, np.generic) and value.dtype.kind in "iufc" else value
    if value.dtype.kind in "SO" and all(isinstance(element, (str, bytes)) for element in value.reshape(-1)):
        texts = [netcdf_value(element, name) for element in value.reshape(-1)]
        return "" if not texts else texts[0] if len(texts) == 1 else texts
    if value.dtype.kind in "iufc":
        value = value.astype(value.dtype.newbyteorder("="), copy=False)
    return value.reshape(-1)[0] if value.size == 1 else value
