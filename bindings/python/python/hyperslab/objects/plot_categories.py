"""Categories in pictures: enumerations, booleans and flags of CF have a color and a name for each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from .decoding import decoding_of
from .plot_axes import base_name, label_of
from .plot_cells import Array, Dataset
from .plot_look import Look, add_bar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of categories with colors and names; more cannot be told apart.
MAX_CATEGORIES = 40
_MAX_EXACT = 2.0**53
#: Characters of a name.
_MAX_NAME_CHARS = 40


class Categories(NamedTuple):
    """Values in order, and the name of each."""

    values: Array
    names: list[str]

    def numbers(self, values: Array) -> Array:
        """The number of the category of each value; NaN of missing ones."""
        known = np.isfinite(values)
        return np.where(known, np.searchsorted(self.values, np.where(known, values, self.values[0])), np.nan)


def has_categories(dataset: Dataset) -> bool:
    """Whether the values of a dataset have names."""
    return bool(_names(dataset) or _flags(dataset))


def categories_of(dataset: Dataset, shown: Array) -> Categories | None:
    """The categories of the values in a picture: all that have a name, so that pictures of parts have the same colors, and those values
    that are shown without one. Of many named ones, and of combinations of flags, those that are shown. `None` if values have no names, or
    there are too many."""
    present = np.unique(shown[np.isfinite(shown)])
    flags = _flags(dataset)
    named = _names(dataset) or {flag.value: flag.meaning for flag in flags if flag.mask is None and flag.value is not None}
    if not named and not flags:
        return None
    values = np.union1d(present, np.array(sorted(named), float))
    if len(values) > MAX_CATEGORIES:
        values = present
    # Larger integers are not exact as the floats that pictures have.
    if not 0 < len(values) <= MAX_CATEGORIES or np.abs(values).max() > _MAX_EXACT:
        return None
    return Categories(values, [_shortened(named.get(int(value)) or _combination(flags, int(value))) for value in values])


def names_of(dataset: Dataset) -> Callable[[int], str] | None:
    """What the values of an enumeration are called, and which flags a number has after it; `None` of other values."""
    names, flags = _names(dataset), _flags(dataset)
    if names:
        return lambda value: _shortened(names.get(value) or _combination([], value))
    return (lambda value: _shortened(f"{value} {_combination(flags, value)}")) if flags else None


def _names(dataset: Dataset) -> dict[int, str]:
    """Names of the values of an enumeration, or of a boolean."""
    datatype = dataset._about["datatype"]
    return {value: name for name, value in datatype.values} if datatype.class_name == "enum" else {}


def _flags(dataset: Dataset) -> list[Any]:
    if dataset.dtype.kind not in "iu" or _names(dataset):
        return []
    decoding = decoding_of(cast(Any, dataset))
    return [] if decoding is None else list(decoding.flags)


def _combination(flags: list[Any], value: int) -> str:
    """The names of the flags that a value has."""
    meanings = [flag.meaning for flag in flags if flag.is_of(value)]
    return " + ".join(meanings) if meanings else f"{value} (no name)" if value or not flags else "none"


def _shortened(name: str) -> str:
    return name if len(name) <= _MAX_NAME_CHARS else name[: _MAX_NAME_CHARS - 1] + "…"


def colors_of(categories: Categories, look: Look) -> dict[str, Any]:
    """Arguments of matplotlib's drawing functions for the numbers of categories."""
    import matplotlib as mpl
    from matplotlib.colors import BoundaryNorm, ListedColormap

    count = len(categories.values)
    palette = look.cmap or ("tab10" if count <= 10 else "tab20" if count <= 20 else "turbo")
    chosen = mpl.colormaps[palette] if isinstance(palette, str) else palette
    is_listed = isinstance(chosen, ListedColormap) and count <= chosen.N <= 20
    colors = chosen(np.arange(count)) if is_listed else chosen(np.linspace(0, 1, count))
    return {"cmap": ListedColormap(colors), "norm": BoundaryNorm(np.arange(count + 1) - 0.5, count)}


def category_bar(dataset: Dataset, drawn: Any, categories: Categories, axes: Axes) -> None:
    """Adds a color bar with the name of each category."""
    bar = add_bar(drawn, axes, label_of(dataset, base_name(dataset)))
    bar.set_ticks(list(range(len(categories.names))), labels=categories.names)
    bar.ax.minorticks_off()
