"""VTKHDF: the HDF5 files of VTK and ParaView: adaptive meshes (OverlappingAMR), images (ImageData), and grids (UnstructuredGrid, PolyData)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..base.type_aliases import FileOptions, JsonObject, Paths, ScanOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..tables.table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["VtkHdf", "open"]


class VtkHdf(ModelView):
    """A file of VTKHDF. `hyperslab.models.vtkhdf.open` makes one."""

    @property
    def type(self) -> str:
        """The type that the file says: `OverlappingAMR`, `ImageData`, `UnstructuredGrid`, `PolyData`, or another, which has no tables."""
        return str(self.facts["type"])

    @property
    def times(self) -> list[float] | None:
        """The times of the steps, or `None` for a file without steps."""
        times = self.facts.get("times")
        return None if times is None else [float(time) for time in times]

    @property
    def levels(self) -> list[JsonObject]:
        """What an adaptive mesh says of each level in its first step, the coarsest first: number of `boxes` and `cells`, and for each direction
        `dx`, `origin`, and `ratio` to the next level (`None` for the finest). Empty for other types.
        """
        return list(self.facts.get("levels", []))

    def cells(self, where: str | None = None, columns: Sequence[str] | None = None, *, level: int | None = None, **options: Unpack[ScanOptions]) -> Table:
        """Plans a scan of the cells: all levels of an adaptive mesh, the cells between the points of an image, all parts of a grid.

        Args:
            where: A condition on the columns; `not covered` leaves the finest cell at each place of an adaptive mesh.
            columns: Names of the columns; by default all.
            level: Number of a level of an adaptive mesh; by default all levels.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan. Metadata and boxes have been read, no data.

        Raises:
            NotFoundError: There is no such column.
            CorruptError: The file contradicts the format; the message names the object.
            UnsupportedError: The file is of another type; the message names it.

        Example:
            >>> hs.models.vtkhdf.open("mesh.vtkhdf").cells("not covered and rho > 1", ["x", "y", "z", "rho"]).to_pandas()
        """
        conditions = [] if where is None else [f"({where})"]
        if level is not None:
            conditions.append(f"level = {int(level)}")
        return self.table("cells", " and ".join(conditions) or None, columns=columns, **options)

    def points(self, where: str | None = None, columns: Sequence[str] | None = None, **options: Unpack[ScanOptions]) -> Table:
        """Plans a scan of the points of an image or a grid.

        Args:
            where: A condition on the columns. Those on indexes and coordinates of an image become a block: only that is read.
            columns: Names of the columns; by default all.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan. Metadata has been read, no data.

        Raises:
            NotFoundError: There is no such column, or the file is of another type.

        Example:
            >>> hs.models.vtkhdf.open("image.vtkhdf").points("z = 0.5", ["x", "y", "temperature"]).to_pandas()
        """
        return self.table("points", where, columns=columns, **options)

    @property
    def boxes(self) -> Table:
        """The table of boxes of an adaptive mesh: level, number, lowest and highest cell, number of cells."""
        return self.table("boxes")


def open(file: File | Paths, **options: Unpack[FileOptions]) -> VtkHdf:
    """Opens a file of VTKHDF.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It has no group `VTKHDF` with an attribute `Type`.

    Example:
        >>> hs.models.vtkhdf.open("mesh.vtkhdf").type
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "vtkhdf")
    return VtkHdf(opened, view.name, view.certainty, view.reason)
