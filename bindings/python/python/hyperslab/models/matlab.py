"""MATLAB v7.3 (`.mat`): variables as Python values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .. import _native
from ..base.errors import ObjectNotFoundError
from ..base.type_aliases import FileOptions, Option, Path, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects.filters import check_filters
from ..writing.new_file import begin
from . import matlab_writing
from .matlab_objects import Reader
from .matlab_values import MatlabObject, MatlabValue, Named

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Matlab", "MatlabObject", "open", "write"]

#: Groups of the root that are not variables: what references and objects point at.
_HIDDEN = ("#refs#", "#subsystem#")


class Matlab(ModelView, Mapping[str, MatlabValue]):
    """The variables of a file by their names. `hyperslab.models.matlab.open` makes one.

    Values are read when they are asked for, each time. Arrays have the shape that they have in MATLAB.
    """

    def __init__(self, file: File | _native.File, name: str, certainty: str, reason: str, squeeze: bool) -> None:
        super().__init__(file, name, certainty, reason)
        self._squeeze = squeeze

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.file if name not in _HIDDEN)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name not in _HIDDEN and "/" not in name and name in self.file

    def __getitem__(self, name: str) -> MatlabValue:
        """The value of a variable: `m["x"]`."""
        if name not in self:
            raise ObjectNotFoundError(f"there is no variable {name!r}; there are {', '.join(self) or 'none'}", self.file.filename)
        return self._read([name])[0]

    def load(self) -> Named:
        """Reads all variables at once.

        Returns:
            The variables by their names.

        Raises:
            CorruptError: A value is damaged, or contains itself; the message names the object.

        Example:
            >>> hs.models.matlab.open("data.mat").load()
        """
        names = list(self)
        return dict(zip(names, self._read(names), strict=True))

    def _read(self, names: list[str]) -> list[MatlabValue]:
        found = [self._native.find(f"/{name}") for name in names]
        reader = Reader(self._native, self._squeeze)
        return [value for name, (_, number) in zip(names, found, strict=True) for value in reader.read([number], f"/{name}")]


def write(path: Path, variables: Mapping[str, object], *, compression: Option = None, durable: bool = True) -> None:
    """Writes variables into a file of MATLAB v7.3, which appears when it is complete.

    Numbers and booleans become matrices: scalars 1 × 1, vectors 1 × n. Text becomes a row of characters, a dictionary a struct,
    a list a cell array, a list of dictionaries with the same keys a struct array, an array of objects a cell array, a matrix of
    SciPy a sparse matrix.

    Args:
        path: The file. An existing one is replaced.
        variables: The values by the names of the variables.
        compression: As in `create_dataset`, for arrays above 16 KiB; MATLAB reads `gzip`.
        durable: Wait until the file is on the disk.

    Raises:
        InvalidInputError: A value has no counterpart in MATLAB, or a name is none of MATLAB's; the message has its path.

    Example:
        >>> hs.models.matlab.write("data.mat", {"x": np.eye(3), "names": ["a", "b"], "run": {"id": 7}})
    """
    options = {} if compression is None else {"compression": compression}
    check_filters(options)
    creating = begin(os.fsdecode(path), True, durable=durable, userblock_size=512, userblock=matlab_writing.header())
    with File(creating) as file:
        writer = matlab_writing.Writer(file, creating.writer, options)
        for place, value in matlab_writing.variables(variables):
            writer.write(place, value)


def open(file: File | Paths, *, squeeze: bool = True, **options: Unpack[FileOptions]) -> Matlab:
    """Opens a file of MATLAB v7.3.

    Args:
        file: A path or an open file.
        squeeze: Drop the extents of 1 that make vectors and scalars matrices. With `False`, all arrays have at least two
            dimensions, as in MATLAB.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: The file is not one of MATLAB v7.3.

    Example:
        >>> hs.models.matlab.open("data.mat")["x"]
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "matlab")
    return Matlab(opened, view.name, view.certainty, view.reason, squeeze)
