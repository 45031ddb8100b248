"""openPMD: particles and meshes of the iterations of a simulation, in SI units. Series are written by `create`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..base.errors import InvalidInputError
from ..base.type_aliases import FileOptions, Paths, ScanOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..tables.table import Table
from .openpmd_records import Mesh, Patch, Record
from .openpmd_writing import OpenPmdWriter, create, plan, writer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Mesh", "OpenPmd", "OpenPmdWriter", "Patch", "Record", "create", "open", "plan", "writer"]


class OpenPmd(ModelView):
    """A series of openPMD: one file, or one for each iteration. `hyperslab.models.openpmd.open` makes one."""

    @property
    def iterations(self) -> list[int]:
        """The numbers of the iterations of the first file that have arrays."""
        return sorted({array.step for array in self.arrays if array.step is not None})

    def particles(
        self,
        species: str = "",
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        iterations: int | Iterable[int] | None = None,
        **options: Unpack[ScanOptions],
    ) -> Table:
        """Plans a scan of the particles of a species: `iteration`, `time` in seconds, and its records in SI units, with
        `positionOffset` added to `position`.

        Args:
            species: Name of the species; by default the particles that are in no species, as openPMD-beamphysics writes them.
            where: A condition on the columns.
            columns: Names of the columns; by default all.
            iterations: A number of an iteration, or several.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There is no such species or column.
            CorruptError: The file contradicts the standard; the message names the object.

        Example:
            >>> hs.models.openpmd.open("run.h5").particles("electrons", "position_x > 1e-6", iterations=100).to_pandas()
        """
        return self.table(f"particles_{species}" if species else "particles", _condition(where, iterations), columns=columns, **options)

    def cells(
        self,
        mesh: str,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        iterations: int | Iterable[int] | None = None,
        **options: Unpack[ScanOptions],
    ) -> Table:
        """Plans a scan of the cells of a mesh: `iteration`, `time` in seconds, indexes such as `i_x`, coordinates such as `x` in meters, and the
        components in SI units.

        Args:
            mesh: Name of the mesh; for components that lie at different places in the cell with the component: `E_x`.
            where: A condition on the columns. On indexes and coordinates, only that block is read.
            columns: Names of the columns; by default all.
            iterations: A number of an iteration, or several.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There is no such mesh or column.
            CorruptError: The file contradicts the standard; the message names the object.

        Example:
            >>> hs.models.openpmd.open("run.h5").cells("rho", "x > 0 and x < 1e-6", iterations=100).to_pandas()
        """
        return self.table(f"cells_{mesh}", _condition(where, iterations), columns=columns, **options)


def _condition(where: str | None, iterations: int | Iterable[int] | None) -> str | None:
    conditions = [] if where is None else [f"({where})"]
    if iterations is not None:
        numbers = [iterations] if isinstance(iterations, int) else [int(number) for number in iterations]
        if not numbers:
            raise InvalidInputError("iterations is empty: give the number of an iteration, or leave it out")
        conditions.append(f"iteration in ({', '.join(map(str, numbers))})")
    return " and ".join(conditions) or None


def open(file: File | Paths, **options: Unpack[FileOptions]) -> OpenPmd:
    """Opens a series of openPMD.

    Args:
        file: A path, an open file, or for a series of a file for each iteration a glob or a list of paths.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a file of openPMD.

    Example:
        >>> hs.models.openpmd.open("run.h5").tables
        ['particles_electrons', 'cells_E', 'cells_rho']
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "openpmd")
    return OpenPmd(opened, view.name, view.certainty, view.reason)
