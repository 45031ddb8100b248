"""Encoding: values in the forms that h5grove gives."""

from __future__ import annotations

import io
import numbers

import numpy as np
import orjson

from .. import h5py
from ..base.type_aliases import Elements, Json, JsonObject
from .requests import Refused

#: Forms by their name in a query, with the type of the content and the name of a file that is saved.
FORMATS: dict[str, tuple[str, str | None]] = {
    "json": ("application/json", None),
    "bin": ("application/octet-stream", None),
    "npy": ("application/octet-stream", "data.npy"),
    "csv": ("text/csv", "data.csv"),
    "tiff": ("image/tiff", "data.tiff"),
}


def json_bytes(content: Json) -> bytes:
    """JSON. NaN and infinity are null, a complex number is a pair, an empty dataspace null."""
    found = {key: _native(value) for key, value in content.items()} if isinstance(content, dict) else _native(content)
    return orjson.dumps(found, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _native(value: Json) -> Json:
    """Numbers in this machine's order of bytes, which orjson needs."""
    is_foreign = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iufc" and not value.dtype.isnative
    return value.astype(value.dtype.newbyteorder("=")) if is_foreign else value


def _plain(value: object) -> Json:
    if isinstance(value, np.floating) and value.dtype.itemsize > 8:
        return float(value)
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        return [value.real, value.imag]
    if isinstance(value, (np.generic, np.ndarray)):
        return _members(value.tolist()) if value.dtype.kind in "VO" else value.tolist()
    if isinstance(value, h5py.Empty):
        return None
    if isinstance(value, bytes):
        # Text that is not UTF-8 is shown, not refused: a viewer is for looking.
        return value.decode("utf-8", "replace")
    if isinstance(value, (h5py.Reference, h5py.RegionReference)):
        # In h5py's words; what it points to may be missing or damaged, and is not looked for.
        kind = "region" if isinstance(value, h5py.RegionReference) else "object"
        return f"<HDF5 {kind} reference>" if value else f"<HDF5 {kind} reference (null)>"
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _members(found: Json) -> Json:
    """The same values, with arrays inside of compounds in this machine's order of bytes."""
    return [_members(one) for one in found] if isinstance(found, (list, tuple)) else _native(found)


def is_number(values: object) -> bool:
    """Whether these are numbers or truth values."""
    return isinstance(values, (np.ndarray, np.generic)) and values.dtype.kind in "biufc"


def safe(values: Elements) -> Elements:
    """The same numbers in a type that JavaScript has an array for.

    Raises:
        Refused: They are not numbers.
    """
    if not is_number(values):
        raise Refused(422, "only numbers have a type that is safe: leave out dtype=safe")
    dtype = values.dtype
    if dtype.kind == "f" and dtype.itemsize < 4:
        dtype = np.dtype("<f4")
    elif dtype.kind == "f" and dtype.itemsize > 8:
        dtype = np.dtype("<f8")
    return values.astype(dtype.newbyteorder("<"), order="C", copy=False)


def encode(values: Elements, form: str) -> bytes:
    """Values in a form.

    Raises:
        Refused: The form cannot hold them.
    """
    if form == "json":
        return json_bytes(values)
    array = np.asarray(values)
    if form == "bin":
        if array.dtype.hasobject:
            # Its bytes would be addresses of this process.
            raise Refused(422, "format=bin is for elements of a fixed size: use json")
        return array.tobytes()
    if not is_number(array):
        raise Refused(422, f"format={form} is for numbers: use json")
    buffer = io.BytesIO()
    if form == "npy":
        np.save(buffer, array)
    elif array.ndim == 0:
        raise Refused(422, f"format={form} is for arrays, and this is one value: use json")
    elif form == "csv":
        if array.ndim > 2:
            raise Refused(422, f"format=csv is for arrays of one or two dimensions, not of {array.ndim}: select some of it")
        np.savetxt(buffer, array, delimiter=",")
    else:
        import tifffile

        try:
            tifffile.imwrite(buffer, array, photometric="minisblack")
        except (ValueError, IndexError, KeyError) as error:
            raise Refused(422, f"TIFF has no form for {array.dtype} of shape {array.shape}: {error}") from None
    return buffer.getvalue()


def statistics(values: Elements) -> JsonObject:
    """Extremes, mean and standard deviation of finite numbers; nothing of none."""
    array = np.asarray(values)
    if not is_number(array):
        raise Refused(422, "only numbers have statistics")
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
    names = ("strict_positive_min", "positive_min", "min", "max", "mean", "std")
    if array.size == 0:
        return dict.fromkeys(names)
    number = float if array.dtype.kind == "f" else int
    above = [array[array > 0], array[array >= 0]]
    least = [number(some.min()) if some.size else None for some in above]
    return dict(zip(names, (*least, number(array.min()), number(array.max()), number(array.mean()), number(array.std())), strict=True))
