"""H5Part: particles of the steps of a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from ..base.errors import InvalidInputError
from ..base.type_aliases import FileOptions, Paths, ScanOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..tables.table import Table
from .h5part_writing import H5PartWriter, create, plan, writer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["H5Part", "H5PartWriter", "create", "open", "plan", "writer"]


class H5Part(ModelView):
    """A file of particles, or several that have the same arrays. `hyperslab.models.h5part.open` makes one."""

    @property
    def steps(self) -> pa.Table:
        """A row for each step: `step`, `time`, the number of `particles`, and the attributes of the step, of its arrays
        (`x_units`) and of the file (`file_author`)."""
        return self.table("steps", omitted="ignore").to_arrow()

    def particles(
        self,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        steps: int | range | Iterable[int] | None = None,
        rows: tuple[int, int] | None = None,
        attributes: bool = False,
        **options: Unpack[ScanOptions],
    ) -> Table:
        """Plans a scan of the particles of all steps, with the columns `step` and `time`.

        Args:
            where: A condition on the columns.
            columns: Names of the columns; by default all.
            steps: A number of a step, or several.
            rows: A view: the first particle of each step, and the one after the last.
            attributes: Whether the attributes of step, arrays and file are columns, too, named as in `steps`.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            CorruptError: The arrays of a step have different lengths.
            NotFoundError: There is no such column.

        Example:
            >>> hs.models.h5part.open("run.h5part").particles("energy > 2", ["id", "x"], steps=range(10), rows=(0, 1000)).to_pandas()
        """
        conditions = [] if where is None else [f"({where})"]
        if isinstance(steps, range) and steps.step == 1:
            conditions.append(f"step >= {steps.start} and step < {steps.stop}")
        elif steps is not None:
            numbers = [steps] if isinstance(steps, int) else [int(step) for step in steps]
            if not numbers:
                raise InvalidInputError("steps is empty: give the number of a step, or leave it out")
            conditions.append(f"step in ({', '.join(map(str, numbers))})")
        if rows is not None:
            conditions.append(f"_row >= {int(rows[0])} and _row < {int(rows[1])}")
        table = "particles_with_attributes" if attributes else "particles"
        return self.table(table, " and ".join(conditions) or None, columns=columns, **options)

    def trajectories(self, ids: Sequence[int], columns: Sequence[str] | None = None, *, id: str = "id") -> pa.Table:
        """Reads the paths of particles through the steps. A value index on the identifiers makes it fast (`hs.index`).

        Args:
            ids: The identifiers of the particles.
            columns: Names of the columns besides identifier, `step` and `time`; by default all.
            id: Name of the array with the identifiers.

        Returns:
            The rows of these particles, sorted by identifier and step.

        Raises:
            NotFoundError: There is no such array.

        Example:
            >>> hs.models.h5part.open("run.h5part").trajectories([17, 42], ["x", "y"])
        """
        chosen = None if columns is None else [id, "step", "time", *(name for name in columns if name not in (id, "step", "time"))]
        table = self.table("particles", f'"{id}" in ids', columns=chosen, variables={"ids": list(ids)}, omitted="ignore")
        return table.to_arrow().sort_by([(id, "ascending"), ("step", "ascending")])


def open(file: File | Paths, **options: Unpack[FileOptions]) -> H5Part:
    """Opens a file of particles.

    Args:
        file: A path, a glob, a list of paths, or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It has no steps with particles.

    Example:
        >>> hs.models.h5part.open("run.h5part").particles("step = 3").to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "h5part")
    return H5Part(opened, view.name, view.certainty, view.reason)
