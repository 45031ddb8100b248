"""Chombo: adaptive meshes, as Chombo, PLUTO and BoxLib or AMReX write them in HDF5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError, NotFoundError
from ..base.type_aliases import AnyArray, AnyDtype, FileOptions, JsonObject, Paths, ScanOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..tables.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Chombo", "open"]


class Chombo(ModelView):
    """A file of an adaptive mesh. `hyperslab.models.chombo.open` makes one."""

    @property
    def components(self) -> list[str]:
        """The names of the components."""
        return list(self.facts["components"])

    @property
    def levels(self) -> list[JsonObject]:
        """What the file says of each level, the coarsest first.

        Number of `boxes` and `cells`, and for each direction `dx`, `origin`, `ratio` to the next level (`None` for the finest) and `ghosts` in the
        data; `domain` with the lowest and the highest cell, if the file has it; `time` and `dt`, too.
        """
        return list(self.facts["levels"])

    def cells(self, where: str | None = None, columns: Sequence[str] | None = None, *, level: int | None = None, **options: Unpack[ScanOptions]) -> Table:
        """Plans a scan of the cells of all levels, without ghost cells.

        Args:
            where: A condition on the columns; `not covered` leaves the finest cell at each place.
            columns: Names of the columns; by default all.
            level: Number of a level; by default all levels.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan. Metadata and boxes have been read, no data.

        Raises:
            NotFoundError: There is no such column.
            CorruptError: The file contradicts the format; the message names the object.

        Example:
            >>> hs.models.chombo.open("plot.hdf5").cells("density > 10 and not covered", ["level", "x", "y", "density"]).to_pandas()
        """
        conditions = [] if where is None else [f"({where})"]
        if level is not None:
            conditions.append(f"level = {int(level)}")
        return self.table("cells", " and ".join(conditions) or None, columns=columns, **options)

    @property
    def boxes(self) -> Table:
        """The table of boxes: level, number, lowest and highest cell, number of cells."""
        return self.table("boxes")

    def level(self, number: int, component: str) -> np.ma.MaskedArray[tuple[int, ...], AnyDtype]:
        """Reads a component of a level as a dense array over the level's domain. It takes memory for the whole domain: of a fine level with few
        boxes, `cells` takes less.

        Args:
            number: Number of the level.
            component: Name of the component, a column of `cells`.

        Returns:
            An array in the order (k, j, i), in two dimensions (j, i), masked where the level has no boxes. Its first element is the lowest cell of the
            domain. Without an attribute `prob_domain`, the domain is the least box around all boxes.

        Raises:
            NotFoundError: There is no such level or component.
            InvalidInputError: A box is not within the domain.

        Example:
            >>> hs.models.chombo.open("plot.hdf5").level(0, "density").shape
        """
        levels = self.levels
        if not 0 <= number < len(levels):
            raise NotFoundError(f"there is no level {number}; there are {len(levels)}", self.file.filename)
        names = ["i", "j", "k"][: int(self.facts["dimensions"])]
        cells = self.cells(None, [*names, component], level=number).to_arrow()
        indexes = np.stack([np.asarray(cells[name]) for name in reversed(names)])
        domain = levels[number]["domain"]
        if domain is not None:
            low, high = np.array(domain["low"][::-1], "i8"), np.array(domain["high"][::-1], "i8")
        elif cells.num_rows:
            low, high = indexes.min(axis=1), indexes.max(axis=1)
        else:
            low, high = np.zeros(len(names), "i8"), np.full(len(names), -1, "i8")
        if ((indexes < low[:, None]) | (indexes > high[:, None])).any():
            raise InvalidInputError(f"level {number} has boxes that are not within its prob_domain", self.file.filename)
        values: AnyArray = np.asarray(cells[component])
        shape = tuple(int(extent) for extent in high - low + 1)
        places = tuple(indexes - low[:, None])
        dense, missing = np.zeros(shape, values.dtype), np.ones(shape, bool)
        dense[places], missing[places] = values, False
        return np.ma.MaskedArray(dense, missing)


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Chombo:
    """Opens a file of an adaptive mesh.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It has no group `Chombo_global`.

    Example:
        >>> hs.models.chombo.open("plot.hdf5").cells("not covered").count()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "chombo")
    return Chombo(opened, view.name, view.certainty, view.reason)
