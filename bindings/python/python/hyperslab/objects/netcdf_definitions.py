"""NetCDF definitions: dimensions, variables and types that are added to an existing netCDF-4 file, with the arguments of `create_netcdf`."""

from __future__ import annotations

from typing import Any

from ..base.extras import late
from ..values.netcdf_types import NetcdfType
from .netcdf4_names import Netcdf4Names
from .netcdf_dimension import NetcdfDimension
from .node import Node
from .type_definitions import Make, TypeDefinitions


class NetcdfDefinitions(Node, Netcdf4Names, TypeDefinitions):
    """What a group of a file that is edited has for netCDF: dimensions, variables and types, as `create_netcdf`."""

    def _netcdf(self) -> Any:
        """The group as netCDF sees it."""
        return late("netcdf.edits").EditedNetcdfGroup(self)

    def _check_edited(self) -> None:
        """Python asks for the hint of a name that is missing."""
        if self._backend.is_fixed:
            raise AttributeError("dimensions and variables of a file that is open for reading")

    @property
    def dimensions(self) -> dict[str, NetcdfDimension]:
        """The netCDF dimensions of this group by name; only of a file that is edited."""
        self._check_edited()
        with self._changes.lock:
            found: dict[str, NetcdfDimension] = self._netcdf().dimensions
            return found

    @property
    def variables(self) -> dict[str, Any]:
        """The netCDF variables of this group by name; only of a file that is edited."""
        self._check_edited()
        with self._changes.lock:
            netcdf = self._netcdf()
            return {name: netcdf._root[made._path] for name, made in netcdf.variables.items()}

    def create_dimension(self, name: str, size: int | None = None) -> NetcdfDimension:
        """Creates a netCDF dimension.

        Args:
            name: Name of the dimension, or its path in a group below.
            size: Its size; `None` for an unlimited dimension.

        Returns:
            The dimension.

        Raises:
            InvalidInputError: There is an object of this name, or the size is not valid.

        Example:
            >>> f.create_dimension("member", 10)
        """
        with self._changes.lock:
            netcdf = self._netcdf()
            made: NetcdfDimension = netcdf.create_dimension(name, size)
            netcdf.settled()
            return made

    def create_variable(self, name: str, dims: Any = (), dtype: Any = None, data: Any = None, **options: Any) -> Any:
        """Creates a netCDF variable over existing dimensions.

        Args:
            name: Name of the variable, or its path.
            dims: Names of the dimensions, of this group or of those above it.
            dtype: As in the files of `create_netcdf`.
            data: The values.
            options: As in the files of `create_netcdf`: `fill_value`, `attrs`, `units`, `calendar`, `bounds`, `coordinates`, `cell_methods`,
                `grid_mapping`, and those of `create_dataset`, such as `compression` and `chunks`.

        Returns:
            The dataset of the variable.

        Raises:
            InvalidInputError: A dimension does not exist, there is an object of this name, or `data` does not fit the dimensions.

        Example:
            >>> f.create_variable("t2m", ["time", "x"], "f4", units="K", compression="zstd")
        """
        with self._changes.lock:
            netcdf = self._netcdf()
            made = netcdf.create_variable(name, dims, dtype, data, **options)
            netcdf.settled()
            return netcdf._root[made._path]

    def create_grid_mapping(self, name: str, grid_mapping_name: str, **parameters: Any) -> Any:
        """Creates a grid mapping (CF 5.6), as in the files of `create_netcdf`.

        Args:
            name: Name of the variable, or its path.
            grid_mapping_name: CF's name of the projection.
            parameters: The parameters by CF's names.

        Returns:
            The dataset of the variable.

        Example:
            >>> f.create_grid_mapping("crs", "latitude_longitude", earth_radius=6371229.0)
        """
        with self._changes.lock:
            netcdf = self._netcdf()
            made = netcdf.create_grid_mapping(name, grid_mapping_name, **parameters)
            netcdf.settled()
            return netcdf._root[made._path]

    def _create_type(self, name: str, make: Make) -> NetcdfType:
        with self._changes.lock:
            netcdf = self._netcdf()
            made: NetcdfType = netcdf._create_type(name, make)
            netcdf.settled()
            return made
