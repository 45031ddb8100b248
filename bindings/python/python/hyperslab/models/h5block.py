"""H5Block: fields on regular grids of the steps of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError, NotFoundError
from ..base.type_aliases import AnyArray, FileOptions, Paths, ScanOptions
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects.dataset import Dataset
from ..tables.table import Table
from .h5block_writing import H5BlockWriter, create, plan, writer

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["H5Block", "H5BlockWriter", "create", "open", "plan", "writer"]

#: An interval along a direction: from the first value up to the second.
Interval = tuple[float, float]


class H5Block(ModelView):
    """A file of fields. `hyperslab.models.h5block.open` makes one."""

    @property
    def fields(self) -> dict[str, int]:
        """The names of the fields, each with its number of components in the first step that has it."""
        found: dict[str, tuple[int | None, int]] = {}
        for array in self.arrays:
            name = array.name.rpartition("/")[0]
            step, count = found.get(name, (array.step, 0))
            if step == array.step:
                found[name] = (step, count + 1)
        return {name: count for name, (_, count) in found.items()}

    def components(self, field: str, step: int) -> list[Dataset]:
        """The components of a field in one step, as datasets in the order (k, j, i).

        Args:
            field: Name of the field.
            step: Number of the step.

        Returns:
            One dataset for a scalar field, three for a vector field.

        Raises:
            NotFoundError: The step has no such field.

        Example:
            >>> hs.models.h5block.open("fields.h5").components("E", 0)[2][4, :, :]
        """
        paths = [array.path for array in self.arrays if array.step == step and array.name.rpartition("/")[0] == field]
        if not paths:
            raise NotFoundError(f"step {step} has no field {field!r}; there are: {', '.join(self.fields)}", self.file.filename)
        datasets = [self.file[path] for path in paths]
        return [dataset for dataset in datasets if isinstance(dataset, Dataset)]

    def cells(
        self,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        steps: int | None = None,
        i: tuple[int, int] | None = None,
        j: tuple[int, int] | None = None,
        k: tuple[int, int] | None = None,
        x: Interval | None = None,
        y: Interval | None = None,
        z: Interval | None = None,
        name: str = "cells",
        **options: Unpack[ScanOptions],
    ) -> Table:
        """Plans a scan of the cells of all steps, with indexes and physical coordinates. Only the block that is asked for is read.

        Args:
            where: A condition on the columns.
            columns: Names of the columns; by default all.
            steps: Number of a step; by default all steps.
            i, j, k: The first index along a direction, and the one after the last.
            x, y, z: The least and the greatest coordinate along a direction, both included.
            name: Name of the table, for files with fields on several grids (`tables`).
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There is no such table or column: fields without origin and spacing have no coordinates.

        Example:
            >>> hs.models.h5block.open("fields.h5").cells("E_2 > 0", ["x", "y", "z", "E_2"], steps=0, x=(-1, 1)).to_pandas()
        """
        conditions = [] if where is None else [f"({where})"]
        if steps is not None:
            conditions.append(f"step = {int(steps)}")
        for direction, indexes in (("i", i), ("j", j), ("k", k)):
            if indexes is not None:
                conditions.append(f"{direction} >= {int(indexes[0])} and {direction} < {int(indexes[1])}")
        for direction, interval in (("x", x), ("y", y), ("z", z)):
            if interval is not None:
                low, high = float(interval[0]), float(interval[1])
                if not np.isfinite([low, high]).all():
                    raise InvalidInputError(f"{direction} is {interval}: give two finite numbers")
                conditions.append(f"{direction} >= {low!r} and {direction} <= {high!r}")
        return self.table(name, " and ".join(conditions) or None, columns=columns, **options)

    def block(self, field: str, step: int, i: slice = slice(None), j: slice = slice(None), k: slice = slice(None)) -> AnyArray:
        """Reads a block of a field.

        Args:
            field: Name of the field.
            step: Number of the step.
            i, j, k: Slices along the directions.

        Returns:
            For a scalar field an array (k, j, i), for a vector field (component, k, j, i).

        Raises:
            NotFoundError: The step has no such field.

        Example:
            >>> hs.models.h5block.open("fields.h5").block("E", 0, i=slice(0, 8)).shape
        """
        read = [np.asarray(component[k, j, i]) for component in self.components(field, step)]
        return read[0] if len(read) == 1 else np.stack(read)


def open(file: File | Paths, **options: Unpack[FileOptions]) -> H5Block:
    """Opens a file of fields.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It has no steps with fields.

    Example:
        >>> hs.models.h5block.open("fields.h5").fields
        {'E': 3, 'phi': 1}
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "h5block")
    return H5Block(opened, view.name, view.certainty, view.reason)
