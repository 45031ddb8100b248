"""Element ranges: values of some nodes, edges or faces, written along the dimension of these elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import Elements
from ..netcdf.plan import NetcdfTask
from ..netcdf.planning import PlannedView
from ..netcdf.writing import view_of
from ..objects.dataset import Dataset
from ..objects.group import Group

#: What ranges are written into: a file, or a task of a plan.
Target = Group | NetcdfTask


def checked_range(part: slice, count: int) -> tuple[int, int]:
    """Start and stop of a range of elements. `InvalidInputError` for a range with a step."""
    start, stop, step = part.indices(count)
    if step != 1:
        raise InvalidInputError(f"a range with a step of {step}")
    return start, max(start, stop)


def write_range(target: Target, name: str, elements: str, part: tuple[int, int], values: Elements, at: Mapping[str, int | slice]) -> None:
    """Writes values of a range of elements.

    Args:
        target: A task of a plan, or a file.
        name: Name of the variable.
        elements: The dimension of the elements.
        part: Start and stop of the range.
        values: An array over all dimensions of the variable in their order, except those for which `at` has a single index, or one number for all elements.
        at: Indexes or slices of the other dimensions, by name.

    Raises:
        InvalidInputError: The variable does not have the dimension of the elements exactly once, or `values` have another shape.
        UnsupportedError: Tasks append whole rows of the variable.
    """
    variable = target.variable(name) if hasattr(target, "variable") else target.variables[name]
    dims = tuple(variable.dims)
    if dims.count(elements) != 1:
        how_often = "does not have" if elements not in dims else "has more than once"
        raise InvalidInputError(f"variable {name!r} over {_listed(dims)} {how_often} the dimension {elements!r}: write it without the mesh")
    if unknown := [dim for dim in at if dim not in dims or dim == elements]:
        raise InvalidInputError(f"at={dict(at)}: variable {name!r} has no other dimension {unknown[0]!r}; its dimensions are {_listed(dims)}")
    free = _unlimited(target, variable, name)
    given = _shape(variable, values, name)
    over = [dim for dim in dims if dim == elements or isinstance(at.get(dim, slice(None)), slice)]
    if given and len(given) != len(over):
        raise _misfit(name, given, over, "")
    keys: list[int | slice] = []
    axis = 0
    for dim, extent, is_free in zip(dims, variable.shape, free, strict=True):
        chosen = slice(*part) if dim == elements else at.get(dim, slice(None))
        along = given[axis] if axis < len(given) else None
        key = _key(chosen, extent, is_free, along, name, dim)
        axis += isinstance(key, slice)
        keys.append(key)
    needed = tuple(key.stop - key.start for key in keys if isinstance(key, slice))
    if given and given != needed:
        raise _misfit(name, given, over, f" of {needed}")
    variable[tuple(keys)] = values


def task_regions(target: Group, dims: Sequence[str], elements: str, like: str, options: Mapping[str, object]) -> dict[str, list[tuple[slice, ...]]]:
    """The regions of the tasks of a plan in data whose elements are not its first dimension: all of the other dimensions.

    Args:
        target: A file, or a plan, which divides the first dimension of a variable among its tasks if it knows their number.
        dims: The dimensions of the data.
        elements: The dimension of the elements.
        like: A variable of the mesh whose first dimension is `elements`.
        options: The other arguments of `create_variable`.

    Returns:
        The argument `regions` of `create_variable`; nothing if the plan does not divide the variable, or divides it along the elements.
    """
    view = view_of(target)
    along = view.task_regions(like) if isinstance(view, PlannedView) else None
    if along is None or dims[0] == elements or "regions" in options or options.get("data") is not None:
        return {}
    if "shape" not in options and any(view.dimension(dim).size is None for dim in dims):
        return {}
    return {"regions": [tuple(part if dim == elements else slice(None) for dim in dims) for part, *_ in along]}


def _misfit(name: str, given: tuple[int, ...], over: Sequence[str], needed: str) -> InvalidInputError:
    hint = " or the index of a dimension, as at={name: index}" if len(over) > 1 else ""
    return InvalidInputError(f"values of {name!r} have the shape {given}, and it is written over {_listed(over)}{needed}: give all of these{hint}")


def _listed(names: Iterable[object]) -> str:
    return f"({', '.join(map(str, names))})"


def _unlimited(target: Target, variable: Dataset, name: str) -> list[bool]:
    """Whether each dimension of a variable grows with what is written."""
    if hasattr(target, "variable"):
        # A plan has no length of an unlimited dimension: the rows of its tasks follow each other.
        if 0 in variable.shape:
            dim = variable.dims[variable.shape.index(0)]
            raise UnsupportedError(f"a range of elements of {name!r} along {dim!r}, to which tasks append rows: define {dim!r} with its size")
        return [False] * len(variable.shape)
    found = getattr(variable, "found", None)
    if found is not None:
        return [dim.size is None for dim in found]
    return [extent is None for extent in variable.maxshape]


def _shape(variable: Dataset, values: Elements, name: str) -> tuple[int, ...]:
    """The shape of the given values; `()` of one value for all elements."""
    own_type = getattr(variable, "type", None)
    if own_type is not None and not isinstance(values, np.ndarray):
        # Lists of records and of sequences are not lists of dimensions.
        return np.shape(own_type.checked(values, f"variable {name!r}")) if own_type.dtype.names else (len(values),)
    try:
        return np.shape(values)
    except ValueError:
        raise InvalidInputError(f"values of {name!r} have no shape: they are lists of different lengths") from None


def _key(chosen: int | slice, extent: int, is_free: bool, along: int | None, name: str, dim: str) -> int | slice:
    """An index, or a slice with both ends."""
    if not isinstance(chosen, slice):
        index = int(chosen)
        if index < 0 and not is_free:
            index += extent
        if index < 0 or (index >= extent and not is_free):
            raise InvalidInputError(f"index {chosen} of the dimension {dim!r} of {name!r}, which has the length {extent}")
        return index
    if not is_free:
        start, stop, step = chosen.indices(extent)
    else:
        start, step = chosen.start or 0, 1 if chosen.step is None else chosen.step
        if chosen.stop is None and along is None:
            raise InvalidInputError(f"one value for {name!r}, whose dimension {dim!r} is unlimited: give at={{{dim!r}: index}}, or an array over {dim!r}, too")
        stop = start + (along or 0) if chosen.stop is None else chosen.stop
    if step != 1 or start < 0 or stop < 0:
        raise InvalidInputError(f"{chosen} of the dimension {dim!r} of {name!r}: give a slice without a step, from 0")
    return slice(start, max(start, stop))
