"""Names of xarray, netCDF4 and numpy that datasets and files do not have: what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeVar

import numpy as np

Kind = TypeVar("Kind")
_REDUCTIONS = {"histogram": "numpy.histogram(d[...]) computes it; file.table(d.name).histogram(column) without all values in memory"} | {
    name: f"numpy.{name}(d[...]) computes it, numpy.nan{name}(d.decoded[...]) without missing values" for name in ("var", "median")
}
_XARRAY = "xarray.open_dataset(path, engine='hyperslab') has it"
#: What to write instead of each name that a dataset does not have.
DATASET_HINTS = {
    "values": "d[...] reads all values",
    "value": "d[...] reads all values",
    "read": "d[...] reads all values",
    "data": "d[...] reads all values",
    "to_numpy": "d[...] reads all values",
    "to_pandas": "file.table(d.name).to_pandas() has a column for each coordinate",
    "to_xarray": _XARRAY,
    "sel": f"file.table(d.name, where=...) selects by coordinates; {_XARRAY}",
    "isel": f"d[...] takes indexes in the order of d.dims; {_XARRAY}",
    "coords": f"d.parent has the datasets that d.dims name; {_XARRAY}",
    "dimensions": "d.dims has the names",
    "units": "d.attrs['units']",
    "long_name": "d.attrs['long_name']",
    "standard_name": "d.attrs['standard_name']",
    "ncattrs": "d.attrs has them",
    **_REDUCTIONS,
}
#: What to write instead of each name that a file or group does not have.
GROUP_HINTS = {
    "variables": "iterate over the group, or index it by name: f['theta']",
    "dimensions": "datasets have the names: f['theta'].dims",
    "groups": "index it by name: f['group']",
    "ncattrs": "f.attrs has them",
    "to_xarray": _XARRAY,
    "sel": _XARRAY,
    "to_pandas": "f.table(path).to_pandas()",
    "root": "f['/'], and f['group/x'] for what is below",
}


#: Operators that numpy has and a dataset does not: reading all values for one would not be seen.
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}


def without_operators(kind: type[Kind]) -> type[Kind]:
    """A class decorator: `d + 1` raises a `TypeError` that says what to write instead."""
    for name, symbol in _OPERATORS.items():
        setattr(kind, f"__{name}__", _refused(symbol))
    return kind


def _refused(symbol: str) -> Callable[[object, object], object]:
    def refuse(self: object, other: object) -> object:
        if isinstance(other, (np.ndarray, np.generic)):
            return NotImplemented  # numpy's own operators take a dataset as an array
        of = f"unsupported operand type(s) for {symbol}: {type(self).__name__!r} and {type(other).__name__!r}"
        raise TypeError(f"{of}: d[...] {symbol} … computes with all values as stored, d.decoded[...] {symbol} … with decoded ones")

    return refuse


def with_hints(hints: dict[str, str]) -> Callable[[type[Kind]], type[Kind]]:
    """A class decorator: an attribute of these names that is missing raises an `AttributeError` that says what to write instead."""

    def missing(self: object, name: str) -> object:
        if name not in hints and not name.startswith("_") and isinstance(self, Container) and name in self:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: its member is f[{name!r}]", name=name, obj=self)
        if name in hints:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: {hints[name]}", name=name, obj=self)
        # Raises the error again, which may come from a property.
        return object.__getattribute__(self, name)

    def decorate(kind: type[Kind]) -> type[Kind]:
        kind.__getattr__ = missing  # type: ignore[attr-defined]  # not in the class: type checkers would take any name
        return kind

    return decorate
