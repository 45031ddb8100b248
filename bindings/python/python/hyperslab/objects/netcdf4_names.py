"""netCDF4-python's names of what creates dimensions, groups, variables and types."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import UnsupportedError
from ..base.type_aliases import AttributeValue, DtypeLike, ShapeLike, VariableOptions
from ..values.netcdf_types import NetcdfType
from .netcdf_dimension import NetcdfDimension

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AttributeNames:
    """netCDF4-python's names of what sets attributes."""

    if TYPE_CHECKING:
        # Defined by the class of the object.
        @property
        def attrs(self) -> MutableMapping[str, AttributeValue]: ...

    def setncattr(self, name: str, value: object) -> None:
        """Sets an attribute, as in netCDF4-python.

        Args:
            name: Name of the attribute.
            value: Its value.

        Example:
            >>> f.setncattr("title", "a run")
        """
        self.attrs[name] = value

    def setncatts(self, values: Mapping[str, AttributeValue]) -> None:
        """Sets attributes, as in netCDF4-python.

        Args:
            values: Names and values.

        Example:
            >>> f.setncatts({"title": "a run"})
        """
        self.attrs.update(values)


class Netcdf4Names(AttributeNames):
    """What a group has whose methods can also be called as in netCDF4-python."""

    if TYPE_CHECKING:
        # Defined by the group class.
        def create_group(self, name: str, track_order: bool | None = None) -> Any: ...
        def create_dimension(self, name: str, size: int | None = None) -> NetcdfDimension: ...
        def create_variable(
            self,
            name: str,
            dims: Sequence[str] = (),
            dtype: DtypeLike | None = None,
            data: object = None,
            *,
            fill_value: object = None,
            **options: Unpack[VariableOptions],
        ) -> Any: ...
        def create_compound_type(self, name: str, dtype: DtypeLike) -> NetcdfType: ...
        def create_enum_type(self, name: str, dtype: DtypeLike, members: Mapping[str, int]) -> NetcdfType: ...
        def create_vlen_type(self, name: str, dtype: DtypeLike) -> NetcdfType: ...

    def createDimension(self, dimname: str, size: int | None = None) -> NetcdfDimension:
        """`create_dimension` by netCDF4-python's name; there, a size of 0 means unlimited, too.

        Args:
            dimname: As `name` in `create_dimension`.
            size: As in `create_dimension`.

        Returns:
            The dimension.
        """
        return self.create_dimension(dimname, size or None)

    def createGroup(self, groupname: str) -> Any:
        """`create_group` by netCDF4-python's name.

        Args:
            groupname: As `name` in `create_group`.

        Returns:
            The group.
        """
        return self.create_group(groupname)

    def createVariable(
        self,
        varname: str,
        datatype: Any,
        dimensions: str | NetcdfDimension | Sequence[str | NetcdfDimension] = (),
        compression: str | int | None = None,
        zlib: bool = False,
        complevel: int = 4,
        shuffle: bool = True,
        fletcher32: bool = False,
        contiguous: bool = False,
        chunksizes: ShapeLike | None = None,
        endian: str = "native",
        fill_value: object = None,
        **unsupported: object,
    ) -> Any:
        """`create_variable` with netCDF4-python's names and defaults.

        Args:
            varname: As `name` in `create_variable`.
            datatype: As `dtype`.
            dimensions: Names of the dimensions, or dimensions.
            compression, zlib, complevel, shuffle, fletcher32, contiguous, chunksizes, endian: As in netCDF4-python.
            fill_value: As in `create_variable`.
            unsupported: Other options of netCDF4-python, which must be `None`.

        Returns:
            The variable.

        Raises:
            UnsupportedError: An option asks for lossy compression, szip, bzip2 or blosc.
        """
        for option, value in unsupported.items():
            if value is not None and option not in ("chunk_cache", "szip_coding", "szip_pixels_per_block", "blosc_shuffle", "quantize_mode"):
                raise UnsupportedError(f"createVariable with {option}={value!r}: leave it out")
        if endian != "native" and not isinstance(datatype, NetcdfType) and datatype is not str:
            datatype = np.dtype(datatype).newbyteorder({"little": "<", "big": ">"}.get(endian, endian))
        compression = "gzip" if zlib or compression == "zlib" else compression
        dims = (dimensions,) if isinstance(dimensions, (str, NetcdfDimension)) else dimensions
        packed: VariableOptions = {"chunks": None if contiguous else chunksizes, "fletcher32": fletcher32}
        if compression is not None and len(dims):
            packed.update({"compression": compression, "compression_opts": complevel if compression in ("gzip", "zstd") else None, "shuffle": shuffle})
        return self.create_variable(
            varname,
            [dim.name if isinstance(dim, NetcdfDimension) else dim for dim in dims],
            datatype,
            fill_value=fill_value,
            **packed,
        )

    def createCompoundType(self, datatype: DtypeLike, datatype_name: str) -> NetcdfType:
        """`create_compound_type` by netCDF4-python's name.

        Args:
            datatype: As `dtype` in `create_compound_type`.
            datatype_name: As `name`.

        Returns:
            The type.
        """
        return self.create_compound_type(datatype_name, datatype)

    def createEnumType(self, datatype: DtypeLike, datatype_name: str, enum_dict: Mapping[str, int]) -> NetcdfType:
        """`create_enum_type` by netCDF4-python's name.

        Args:
            datatype: As `dtype` in `create_enum_type`.
            datatype_name: As `name`.
            enum_dict: As `members`.

        Returns:
            The type.
        """
        return self.create_enum_type(datatype_name, datatype, enum_dict)

    def createVLType(self, datatype: DtypeLike, datatype_name: str) -> NetcdfType:
        """`create_vlen_type` by netCDF4-python's name.

        Args:
            datatype: As `dtype` in `create_vlen_type`.
            datatype_name: As `name`.

        Returns:
            The type.
        """
        return self.create_vlen_type(datatype_name, datatype)
