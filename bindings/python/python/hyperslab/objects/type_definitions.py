"""The types that a netCDF file defines, with the same arguments in a file that is written and in one that is edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..base.type_aliases import DtypeLike
from ..values import netcdf_types
from ..values.netcdf_types import NetcdfType

Make = Callable[[str, Mapping[str, NetcdfType]], NetcdfType]


class TypeDefinitions:
    """What a group has that creates types."""

    if TYPE_CHECKING:

        def _create_type(self, name: str, make: Make) -> NetcdfType:
            """Creates the type that `make` makes of its path and the types of the file."""

    def create_compound_type(self, name: str, dtype: DtypeLike) -> NetcdfType:
        """Creates a type of named fields.

        Args:
            name: Name of the type, or its path.
            dtype: A structured dtype of numbers, `S` text of a length, and arrays of these.

        Returns:
            The type, for `create_variable`.

        Raises:
            UnsupportedError: netCDF has no type for a field.

        Example:
            >>> f.create_compound_type("point", [("x", "f8"), ("y", "f8")])
        """
        return self._create_type(name, lambda path, types: netcdf_types.compound(path, dtype, types))

    def create_enum_type(self, name: str, dtype: DtypeLike, members: Mapping[str, int]) -> NetcdfType:
        """Creates a type of named whole numbers.

        Args:
            name: Name of the type, or its path.
            dtype: An integer dtype.
            members: The values by name.

        Returns:
            The type, for `create_variable`.

        Raises:
            InvalidInputError: Two names have the same value, or a value does not fit.

        Example:
            >>> f.create_enum_type("cloud", "u1", {"clear": 0, "cloudy": 1})
        """
        return self._create_type(name, lambda path, _: netcdf_types.enumeration(path, dtype, members))

    def create_vlen_type(self, name: str, dtype: DtypeLike) -> NetcdfType:
        """Creates a type of one-dimensional arrays of any length.

        Args:
            name: Name of the type, or its path.
            dtype: The dtype of the elements, or a type that the file defines.

        Returns:
            The type, for `create_variable`.

        Example:
            >>> f.create_vlen_type("ragged", "f4")
        """
        return self._create_type(name, lambda path, types: netcdf_types.variable_length(path, dtype, types))

    def create_opaque_type(self, name: str, size: int) -> NetcdfType:
        """Creates a type of bytes without meaning (`ncdump` reads it, netCDF4-python does not).

        Args:
            name: Name of the type, or its path.
            size: Number of bytes.

        Returns:
            The type, for `create_variable`.

        Example:
            >>> f.create_opaque_type("digest", 16)
        """
        return self._create_type(name, lambda path, _: netcdf_types.opaque(path, size))
