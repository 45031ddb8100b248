"""Compounds: values of structured dtypes, matched to the members of a compound datatype by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, Key, Values

#: Offset and length in bytes of each part of an element that is written; `None` is all of it.
Parts = list[tuple[int, int]] | None


def rows(values: Values, names: Iterable[str]) -> AnyArray:
    """`values` as a structured array. Tuples (rows) become elements whose members are Python objects, lists and arrays are
    dimensions, and a value that is not a tuple is the value of each member, as in numpy."""
    if isinstance(values, (np.ndarray, np.void)) and values.dtype.names is not None:
        return np.asarray(values)
    first = values
    while isinstance(first, list) and first:
        first = first[0]
    if isinstance(first, (np.ndarray, np.void)) and first.dtype.names is not None:
        return np.asarray(values)
    if isinstance(values, np.ndarray):
        # numpy takes the tuples in an array of objects for scalars; in a list they are rows.
        values = values.tolist()
    dtype = np.dtype([(name, object) for name in names])
    try:
        return np.array(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"rows of the fields {', '.join(dtype.names or ())}: {error}") from None


def check_names(given: Sequence[str], members: Sequence[str], *, complete: bool) -> None:
    """Checks that the fields of values are members of the datatype, and, if `complete`, all of them."""
    for name in given:
        if name not in members:
            raise InvalidInputError(f"there is no field {name!r}: the fields are {', '.join(members)}")
    for name in members if complete else ():
        if name not in given:
            raise InvalidInputError(f"the values have no field {name!r}, only {', '.join(given)}")


def selected(key: Key) -> tuple[Key, list[str]]:
    """A key without the names of fields, and those names, as in `d["a", 0:3]` or `d[["a", "b"]]`."""
    keys = key if isinstance(key, tuple) else (key,)
    names: list[str] = []
    rest = []
    for one in keys:
        if isinstance(one, str):
            names.append(one)
        elif isinstance(one, list) and one and all(isinstance(name, str) for name in one):
            names += one
        else:
            rest.append(one)
    if not names:
        return key, []
    if len(set(names)) != len(names):
        raise InvalidInputError(f"fields {', '.join(names)}: give each once")
    return tuple(rest), names
