"""Trajectories: the rows of all steps that belong to the same particles."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, overload

import numpy as np

from ..base.errors import InvalidInputError
from ..base.extras import LateModule, require
from ..objects.plot import picture

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    pa = LateModule("pyarrow")

#: Trajectories that a picture shows; more would be one area of color.
MAX_DRAWN = 1000


class Trajectories:
    """Particles followed through the steps of a query.

    Attributes:
        table: A row for each particle and step: `id`, `step` (its position in `q.steps`) and the columns, sorted by particle and step. A particle
            that a step lacks has no row there.
        id: The name of the variable that identifies particles.
    """

    def __init__(self, table: pa.Table, id: str) -> None:
        self.table, self.id = table, id

    def __len__(self) -> int:
        """Number of particles."""
        values = self.table[self.id].to_numpy()
        return int(1 + np.count_nonzero(values[1:] != values[:-1])) if len(values) else 0

    def __repr__(self) -> str:
        return f"<Trajectories of {len(self)} particles: {self.table.num_rows} rows, columns {', '.join(self.table.column_names)}>"

    @overload
    def plot(self, x: str, y: str, out: None = None, *, ax: Axes | None = None) -> Figure: ...

    @overload
    def plot(self, x: str, y: str, out: str, *, ax: Axes | None = None) -> str: ...

    def plot(self, x: str, y: str, out: str | None = None, *, ax: Axes | None = None) -> Figure | str:
        """Draws the trajectories as lines, colored by step. Needs matplotlib.

        Args:
            x: The column along the horizontal axis; `step` for the number of the step.
            y: The column along the vertical axis.
            out: Path of the picture.
            ax: The axes to draw into.

        Returns:
            `out` if it is a path, else the matplotlib figure.

        Raises:
            InvalidInputError: There are more than 1,000 trajectories, or a column is missing.
            MissingExtraError: Matplotlib is not installed.

        Example:
            >>> q.trajectories("id", ["x", "px"]).plot("x", "px", "paths.png")
        """
        require("plotting", "plot", "matplotlib")
        from matplotlib.collections import LineCollection

        for name in (x, y):
            if name not in self.table.column_names:
                raise InvalidInputError(f"column {name!r} not found; the columns are {', '.join(self.table.column_names)}")
        count = len(self)
        if count > MAX_DRAWN:
            raise InvalidInputError(f"{count} trajectories would be one area of color: narrow the condition to at most {MAX_DRAWN}")
        ids, steps = self.table[self.id].to_numpy(), self.table["step"].to_numpy()
        points = np.stack([self.table[x].to_numpy(), self.table[y].to_numpy()], axis=1).astype("f8")
        same = ids[1:] == ids[:-1]
        lines = np.stack([points[:-1][same], points[1:][same]], axis=1)
        figure = picture(layout="constrained") if ax is None else cast("Figure", ax.figure)
        axes = figure.subplots() if ax is None else ax
        drawn = LineCollection(list(lines), array=steps[1:][same].astype("f8"), cmap="viridis", linewidths=0.8)
        axes.add_collection(drawn)
        axes.autoscale()
        axes.set(xlabel=x, ylabel=y, title=f"{count} {'trajectory' if count == 1 else 'trajectories'}")
        figure.colorbar(drawn, ax=axes, label="step")
        if out is None:
            return figure
        figure.savefig(out)
        return out
