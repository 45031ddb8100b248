"""NetCDF definitions: dimensions, variables and types of a netCDF-4 file that is being created, planned or edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.extras import late
from ..base.type_aliases import AttributeValue, DtypeLike, VariableOptions
from ..values.netcdf_types import NetcdfType
from .dataset import Dataset
from .netcdf4_names import Netcdf4Names
from .netcdf_dimension import NetcdfDimension
from .node import Node
from .type_definitions import Make, TypeDefinitions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Variables(Mapping[str, Dataset]):
    """The datasets of the netCDF variables of a group, by name."""

    def __init__(self, view: Any) -> None:
        self._view, self._made = view, view.variables

    def __getitem__(self, name: str) -> Dataset:
        dataset: Dataset = self._view.dataset(self._made[name])
        return dataset

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"<Variables: {', '.join(self)}>"


class NetcdfDefinitions(Node, Netcdf4Names, TypeDefinitions):
    """What a group of a file that can be changed has for netCDF: dimensions, variables and types."""

    def _netcdf(self) -> Any:
        """The group as netCDF sees it."""
        return late("netcdf.writing").view_of(self)

    def _check_edited(self) -> None:
        """Python asks for the hint of a name that is missing."""
        if self._backend.is_fixed:
            raise AttributeError("dimensions and variables of a file that is open for reading")

    @property
    def dimensions(self) -> dict[str, NetcdfDimension]:
        """The netCDF dimensions of this group by name; not of a file that is open for reading."""
        self._check_edited()
        with self._changes.lock:
            found: dict[str, NetcdfDimension] = self._netcdf().dimensions
            return found

    @property
    def variables(self) -> Mapping[str, Dataset]:
        """The datasets of the netCDF variables of this group by name; not of a file that is open for reading."""
        self._check_edited()
        with self._changes.lock:
            return Variables(self._netcdf())

    def create_dimension(self, name: str, size: int | None = None) -> NetcdfDimension:
        """Creates a dimension.

        Args:
            name: Name of the dimension, or its path in a group below.
            size: Its size; `None` for an unlimited dimension.

        Returns:
            The dimension.

        Raises:
            InvalidInputError: There is a dimension or a variable of this name, or the size is not valid.

        Example:
            >>> f.create_dimension("time")
        """
        with self._changes.lock:
            netcdf = self._netcdf()
            made: NetcdfDimension = netcdf.create_dimension(name, size)
            netcdf.settled()
            return made

    def create_variable(
        self,
        name: str,
        dims: Sequence[str] = (),
        dtype: DtypeLike | None = None,
        data: object = None,
        *,
        fill_value: object = None,
        attrs: Mapping[str, AttributeValue] | None = None,
        units: str | None = None,
        calendar: str | None = None,
        bounds: object = None,
        coordinates: str | Sequence[str] | None = None,
        cell_methods: str | Iterable[object] | None = None,
        grid_mapping: str | None = None,
        **options: Unpack[VariableOptions],
    ) -> Dataset:
        """Creates a variable over existing dimensions.

        Args:
            name: Name of the variable, or its path.
            dims: Names of the dimensions. Along unlimited ones, the variable has as many rows as `data`, and grows.
            dtype: A numeric type, `str`, `S1` for characters, or a type that the file defines. Booleans are stored as xarray
                does, as `i1` with the attribute `dtype`. Dates and durations (of numpy, Python, cftime) become integer
                counts, `i8`, with CF's `units` and `calendar`.
            data: The values.
            fill_value: The attribute `_FillValue`, which also stands for masked values. By default, masked values are stored
                as the attribute `missing_value` or as netCDF's default, which is also the value of unwritten elements; with
                `fill_value=False` unwritten elements are 0.
            attrs: Attributes.
            units, calendar: How dates and durations are counted; by default units that represent them exactly.
            bounds: The bounds of the cells (CF 7.1), in the units of `data`, with one more dimension of 2 or more vertices. They become the variable
                `NAME_bnds`, or `NAME_vertices` if there are more than 2.
            coordinates: Names of auxiliary and scalar coordinates, which exist (CF 5).
            cell_methods: CF's text, or a list of `hyperslab.models.cf.CellMethod` (CF 7.3).
            grid_mapping: Name of a grid mapping that `create_grid_mapping` made (CF 5.6).
            options: Those of `create_dataset`, such as `compression` and `chunks`.

        Returns:
            The dataset of the variable.

        Raises:
            InvalidInputError: A dimension, coordinate or grid mapping does not exist, `data` or `bounds` do not fit the dimensions, or
                `cell_methods` does not parse.

        Example:
            >>> f.create_variable("t2m", ["time", "x"], "f4", units="K", compression="zstd")
            >>> f.create_variable("time", ["time"], data=[0.5, 1.5], units="days since 2001-01-01", bounds=[[0, 1], [1, 2]])
        """
        asked = {"fill_value": fill_value, "attrs": attrs, "units": units, "calendar": calendar}
        conventions = {"bounds": bounds, "coordinates": coordinates, "cell_methods": cell_methods, "grid_mapping": grid_mapping}
        with self._changes.lock:
            netcdf = self._netcdf()
            made = netcdf.create_variable(name, dims, dtype, data, **asked, **conventions, **options)
            netcdf.settled()
            dataset: Dataset = netcdf.dataset(made)
            return dataset

    def create_grid_mapping(self, name: str, grid_mapping_name: str, **parameters: object) -> Dataset:
        """Creates a grid mapping (CF 5.6): a variable without dimensions whose attributes are the parameters of a projection.

        Args:
            name: Name of the variable, or its path.
            grid_mapping_name: CF's name of the projection (CF appendix F).
            parameters: The parameters by CF's names: numbers, lists of numbers, texts.

        Returns:
            The variable; `create_variable(..., grid_mapping=name)` uses it.

        Raises:
            InvalidInputError: A parameter is neither numbers nor text, or there is a variable of this name.

        Example:
            >>> f.create_grid_mapping("crs", "latitude_longitude", earth_radius=6371229.0)
        """
        with self._changes.lock:
            netcdf = self._netcdf()
            made = netcdf.create_grid_mapping(name, grid_mapping_name, **parameters)
            netcdf.settled()
            dataset: Dataset = netcdf.dataset(made)
            return dataset

    def _create_type(self, name: str, make: Make) -> NetcdfType:
        with self._changes.lock:
            netcdf = self._netcdf()
            made: NetcdfType = netcdf.create_type(name, make)
            netcdf.settled()
            return made
