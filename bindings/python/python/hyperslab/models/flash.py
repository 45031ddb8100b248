"""FLASH: adaptive meshes of blocks, as FLASH writes them in its plot files and checkpoints."""

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

__all__ = ["Flash", "open"]


class Flash(ModelView):
    """A file of FLASH. `hyperslab.models.flash.open` makes one."""

    @property
    def variables(self) -> list[str]:
        """The names of the variables."""
        return list(self.facts["variables"])

    @property
    def scalars(self) -> JsonObject:
        """What the run was at: `time`, `nstep` and so on, by name."""
        return dict(self.facts["scalars"])

    @property
    def levels(self) -> list[JsonObject]:
        """The levels, the coarsest first: number of the `level`, of `boxes` and of `cells`, and for each direction `dx` and `origin`."""
        return list(self.facts["levels"])

    def cells(self, where: str | None = None, columns: Sequence[str] | None = None, *, level: int | None = None, **options: Unpack[ScanOptions]) -> Table:
        """Plans a scan of the cells of all blocks, level by level.

        Args:
            where: A condition on the columns; `not covered` leaves the cells of leaves.
            columns: Names of the columns; by default all.
            level: Number of a level, from 1 on as in the file; by default all levels.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan. Metadata and the places of blocks have been read, no variables.

        Raises:
            NotFoundError: There is no such column.
            CorruptError: The file contradicts the format; the message names the object.

        Example:
            >>> hs.models.flash.open("run_hdf5_chk_0001").cells("not covered and dens > 1e7", ["x", "y", "dens", "temp"]).to_pandas()
        """
        conditions = [] if where is None else [f"({where})"]
        if level is not None:
            conditions.append(f"level = {int(level)}")
        return self.table("cells", " and ".join(conditions) or None, columns=columns, **options)

    @property
    def boxes(self) -> Table:
        """The table of blocks: level, number in the file, lowest and highest cell, number of cells, type of the node (1 for leaves)."""
        return self.table("boxes")


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Flash:
    """Opens a file of FLASH.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It has no datasets `bounding box`, `refine level`, `node type` and `unknown names`.

    Example:
        >>> hs.models.flash.open("run_hdf5_plt_cnt_0001").cells("not covered").count()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "flash")
    return Flash(opened, view.name, view.certainty, view.reason)
