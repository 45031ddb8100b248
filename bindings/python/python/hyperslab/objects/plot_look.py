"""How values look in a picture: the limits, colors and scale that the caller asks for, and the color bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import InvalidInputError
from .plot_axes import NAMES, base_name, label_of, text_of
from .plot_cells import Array, Dataset, Extremes
from .plot_dates import STANDARD, calendar_of, label_dates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Colormap

#: Percentiles of what is shown between which colors and lines range with `robust`, as in xarray.
ROBUST = 2.0, 98.0


class Look(NamedTuple):
    """The options of a picture that say how values look."""

    cmap: str | Colormap | None = None
    vmin: float | None = None
    vmax: float | None = None
    robust: bool = False
    log: bool = False
    coastlines: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether the caller asks for something that only numbers have: flags are then drawn as numbers."""
        return self.vmin is not None or self.vmax is not None or self.robust or self.log

    def fitted(self, cells: Extremes) -> Look:
        """With `robust`, the limits that are not given."""
        if not self.robust:
            return self
        single = np.array_equal(cells.low, cells.high, equal_nan=True)  # one value a cell
        low, high = np.nanpercentile(cells.low if single else np.stack([cells.low, cells.high]), ROBUST)
        return self._replace(vmin=float(low) if self.vmin is None else self.vmin, vmax=float(high) if self.vmax is None else self.vmax)

    def colors(self) -> dict[str, Any]:
        """Arguments of matplotlib's drawing functions."""
        from matplotlib.colors import LogNorm

        limits: dict[str, Any] = {"norm": LogNorm(self.vmin, self.vmax)} if self.log else {"vmin": self.vmin, "vmax": self.vmax}
        return {"cmap": self.cmap, **limits}


def value_label(dataset: Dataset) -> str:
    """What the values of a dataset are: `long_name [units]`; of dates the calendar, if it is not the usual one."""
    calendar = calendar_of(dataset)
    if calendar is None:
        return label_of(dataset, base_name(dataset))
    name = text_of(dataset, *NAMES) or base_name(dataset)
    return name if calendar == STANDARD else f"{name} [{calendar}]"


def add_bar(drawn: ScalarMappable, axes: Axes, label: str, **options: Any) -> Any:
    """Adds a color bar that is as tall as the picture, also of a map that does not fill its place."""
    figure = axes.figure
    if figure.get_layout_engine() is not None:
        return figure.colorbar(drawn, cax=axes.inset_axes((1.02, 0, 0.035, 1)), label=label, **options)
    # Without a layout, an inset would cover what is next to it: the bar takes a part of the place of the axes.
    from mpl_toolkits.axes_grid1 import make_axes_locatable

    return figure.colorbar(drawn, cax=make_axes_locatable(axes).append_axes("right", size="4%", pad=0.08), label=label, **options)


def value_bar(dataset: Dataset, drawn: ScalarMappable, values: Array, axes: Axes, look: Look) -> None:
    """Adds a color bar of values, which says if some are beyond its ends."""
    shown = np.ma.masked_invalid(values)
    beyond = (look.vmin is not None and shown.min() < look.vmin and not look.log, look.vmax is not None and shown.max() > look.vmax)
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[(bool(beyond[0]), bool(beyond[1]))]
    bar = add_bar(drawn, axes, value_label(dataset), extend=extend)
    calendar = calendar_of(dataset)
    if calendar is not None:
        label_dates(bar.ax.yaxis, calendar)


def note(axes: Axes, text: str) -> None:
    """Says in a corner of a picture what it leaves out."""
    axes.text(0.99, 0.98, text, transform=axes.transAxes, ha="right", va="top")


def say_instead(axes: Axes, text: str) -> None:
    """Says why there is no picture."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")
    axes.set(xticks=[], yticks=[])


def is_drawn(dataset: Dataset, axes: Axes, values: Array, look: Look) -> bool:
    """Whether there are values to draw; if not, the picture says so.

    Raises:
        InvalidInputError: With `log`, no value is above 0.
    """
    if look.log and not np.nanmax(values, initial=0) > 0:
        raise InvalidInputError(f"{dataset.name} has no value above 0 to show with log")
    if np.isfinite(values).any():
        return True
    say_instead(axes, "all values are missing")
    return False
