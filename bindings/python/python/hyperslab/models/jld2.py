"""JLD2: the values that programs in Julia saved, as Python values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..base.errors import ObjectNotFoundError
from ..base.type_aliases import FileOptions, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from ..objects.group import Group
from .jld2_types import JuliaStruct, JuliaType, JuliaValue, Symbol, missing, undef
from .jld2_values import Reader

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Jld2", "JuliaStruct", "JuliaType", "Symbol", "missing", "open", "undef"]

#: The group of committed datatypes, which is no value.
_TYPES = "_types"


class Jld2(ModelView, Mapping[str, JuliaValue]):
    """The values of a file by their paths: `j["x"]`, `j["group/x"]`. `hyperslab.models.jld2.open` makes one.

    Values are read when they are asked for, each time. Arrays have the shape that they have in Julia.
    """

    def __iter__(self) -> Iterator[str]:
        return self._paths(self.file, "")

    def _paths(self, group: Group, above: str) -> Iterator[str]:
        for name in group:
            if not above and name == _TYPES:
                continue
            member = group.get(name)
            if isinstance(member, Group):
                yield from self._paths(member, f"{above}{name}/")
            elif member is not None:
                yield above + name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.split("/")[0] != _TYPES and name in self.file and not isinstance(self.file[name], Group)

    def __getitem__(self, name: str) -> JuliaValue:
        """The value at a path."""
        if name not in self:
            raise ObjectNotFoundError(f"there is no value {name!r}; there are {', '.join(self) or 'none'}", self.file.filename)
        return Reader(self.file).read(self.file[name])

    def load(self) -> dict[str, JuliaValue]:
        """Reads all values at once. What several of them contain is one object.

        Returns:
            The values by their paths.

        Raises:
            CorruptError: A value contradicts its type; the message names the object.

        Example:
            >>> hs.models.jld2.open("run.jld2").load()
        """
        reader = Reader(self.file)
        return {name: reader.read(self.file[name]) for name in self}


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Jld2:
    """Opens a file of JLD2.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: The file is not one of JLD2.

    Example:
        >>> hs.models.jld2.open("run.jld2")["x"]
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "jld2")
    return Jld2(opened, view.name, view.certainty, view.reason)
