"""Choice: which datasets of a file can be drawn, and which one is drawn by default."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

from ..base.errors import InvalidInputError
from .inherited import coordinate_of as coordinate_of_bounds
from .plot_axes import base_name, role_of, text_of
from .plot_cells import has_numbers
from .plot_signal import default_signal

#: Names in a message, and objects that are looked through for them.
MAX_NAMES, MAX_OBJECTS = 10, 10_000
#: Kinds of numpy's datatypes that are drawn.
_KINDS = "iufbc"
#: Attributes with names of datasets that say where values are, and how sure they are.
_NAMING = ("coordinates", "bounds", "grid_mapping", "ancillary_variables", "cell_measures")


def check(dataset: Any) -> None:
    """Checks that a dataset can be drawn.

    Raises:
        InvalidInputError: It cannot; the message names some that can.
    """
    if dataset.dtype.kind in _KINDS and dataset.size and dataset.ndim:
        return
    if dataset.size is None or not dataset.size:
        what = "is empty"
    elif dataset.dtype.names:
        what = f"has the fields {', '.join(dataset.dtype.names[:5])}"
    elif dataset.dtype.kind not in _KINDS:
        what = "has other values than numbers"
    else:
        what = "is a single number"
    others = [one.name for one in itertools.islice(_datasets(dataset.file), MAX_NAMES + 1)]
    raise InvalidInputError(f"{dataset.name} {what}, not an array of numbers with something in it: {_choose(others)}", dataset.file.filename)


def default(file: Any) -> Any:
    """What a file shows if no dataset is named: the default of NeXus, or the only dataset that can be drawn and is no coordinate of others.

    Args:
        file: An open file.

    Returns:
        A dataset, with its axes.

    Raises:
        InvalidInputError: It is not clear; the message names what can be drawn.
        CorruptError: The defaults of NeXus lead nowhere.

    Example:
        >>> hyperslab.objects.plot_choice.default(f).plot()
    """
    found = default_signal(file)
    if found is not None:
        return found
    datasets = list(itertools.islice(_datasets(file), MAX_OBJECTS))
    named = {name.rsplit("/", 1)[-1] for one in datasets for key in _NAMING for name in text_of(one, key).split()}
    variables = [one for one in datasets if base_name(one) not in named and not _is_coordinate(one)]
    if len(variables) == 1:
        return variables[0]
    _refuse(file, [one.name for one in variables or datasets])


def of_table(file: Any, name: str, arrays: Collection[str]) -> Any:
    """The only array of a data model's table.

    Args:
        file: An open file.
        name: The name of the table.
        arrays: The paths of the arrays of the model.

    Returns:
        A dataset.

    Raises:
        InvalidInputError: There are several, or none; the message names what can be drawn.

    Example:
        >>> hyperslab.objects.plot_choice.of_table(f, "y_x", ["/bt"]).plot()
    """
    table = file.table(name, omitted="ignore")
    columns, rows = set(table.schema.names), table.count()
    found = [one for one in (file[path] for path in arrays) if base_name(one) in columns and one.size == rows and has_numbers(one, _KINDS)]
    if len(found) == 1:
        return found[0]
    names = sorted(one.name for one in found)
    raise InvalidInputError(f"{name} is a table{f' of {len(names)} arrays' if names else ''}: {_choose(names)}", file.filename)


def _refuse(file: Any, names: list[str]) -> NoReturn:
    raise InvalidInputError(f"several datasets can be drawn: {_choose(names)}" if names else _choose(names), file.filename)


def _choose(names: list[str]) -> str:
    if not names:
        return "no dataset of this file can be drawn"
    return f"choose {'one of ' if len(names) > 1 else ''}{', '.join(names[:MAX_NAMES])}{' …' if len(names) > MAX_NAMES else ''}"


def _is_coordinate(dataset: Any) -> bool:
    """Whether a dataset is where others are: the scale of its own dimension, or bounds of cells."""
    scale = dataset._scale(0) if dataset.ndim == 1 else None
    is_scale = scale is not None and scale._number == dataset._number
    return is_scale or coordinate_of_bounds(dataset) is not None or role_of(dataset, base_name(dataset)) in ("latitude", "longitude")


def _datasets(file: Any) -> Iterator[Any]:
    """The datasets that can be drawn, in the order of the file; of large files those among the first objects."""
    pending, seen = [file], set()
    for _ in range(MAX_OBJECTS):
        if not pending:
            return
        one = pending.pop()
        if one._number in seen:
            continue
        seen.add(one._number)
        if one.kind == "dataset" and has_numbers(one, _KINDS) and one.ndim:
            yield one
        elif one.kind == "group":
            members = itertools.islice((entry.object for entry in one._entries()), MAX_OBJECTS)
            pending += reversed([member for member in members if member is not None])
