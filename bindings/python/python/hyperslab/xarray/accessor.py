"""Accessor of xarray's datasets: `dataset.hyperslab`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import xarray

from ..base.errors import InvalidInputError
from ..base.extras import importing
from ..base.threads import in_order
from ..base.type_aliases import FileTableOptions, Path
from ..files.file import File
from ..files.file import open as open_files
from ..sources.file_objects import CONTENT_NAME
from ..tables.table import Table
from .reducing import Dimensions, reduced
from .writing import to_netcdf

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Variables that `load` reads side by side. Each read uses all cores, too.
_LOADED_TOGETHER = 4


T = TypeVar("T")
#: xarray's decorator, which has no types.
_register: Callable[[str], Callable[[type[T]], type[T]]] = xarray.register_dataset_accessor


@_register("hyperslab")
class HyperslabAccessor:
    """What Hyperslab adds to a dataset of xarray: `dataset.hyperslab`."""

    def __init__(self, dataset: xarray.Dataset) -> None:
        self._dataset = dataset

    @property
    def sources(self) -> list[str]:
        """The paths of the files that the dataset was opened from."""
        found = self._dataset.encoding.get("sources") or self._dataset.encoding.get("source")
        paths = [found] if isinstance(found, str) else list(found or ())
        return [path for path in paths if path != CONTENT_NAME]

    @property
    def file(self) -> File:
        """The files that the dataset was opened from, as `hyperslab.open` opens them. They are what is on the disk: selections and
        changes of the dataset are not in them."""
        paths = self.sources
        if not paths:
            raise InvalidInputError("the dataset was not opened from files: write it first, dataset.hyperslab.to_netcdf(path)")
        return open_files(paths if len(paths) > 1 else paths[0])

    def to_table(self, path: str | None = None, **options: Unpack[FileTableOptions]) -> Table:
        """Plans a scan of the files that the dataset was opened from, as Arrow.

        Args:
            path, options: As in `File.table`.

        Returns:
            A planned scan.

        Example:
            >>> dataset.hyperslab.to_table(where="theta > 290").to_pandas()
        """
        return self.file.table(path, **options)

    def sql(self, query: str, **options: Any) -> Any:
        """Runs SQL on the arrays of the files that the dataset was opened from.

        Args:
            query, options: As in `hyperslab.sql`.

        Returns:
            What `hyperslab.sql` returns.

        Example:
            >>> dataset.hyperslab.sql("select avg(theta) from theta")
        """
        with importing():
            from ..engines.sql import sql
        return sql(query, self.file, **options)

    def reduce(self, how: str, dim: Dimensions = None) -> xarray.Dataset:
        """Reduces variables along dimensions without loading them: blocks are read and reduced side by side, of all files of a dataset
        that `hyperslab.open_mfdataset` opened, and of selections. Values and attributes are those of xarray's method of the same name;
        NaN is skipped, and floats are summed in double precision. Variables in memory, of Dask and of other types are left to xarray.

        Args:
            how: `count`, `sum`, `mean`, `min`, `max`, `std` or `var`.
            dim: The dimensions; by default all.

        Returns:
            A dataset in memory.

        Raises:
            InvalidInputError: `how` or a dimension is unknown.

        Example:
            >>> xr.open_dataset("field.nc", engine="hyperslab").hyperslab.reduce("mean", "time")
        """
        return reduced(self._dataset, how, dim)

    def load(self) -> xarray.Dataset:
        """Loads all variables side by side, where `Dataset.load` reads one after the other.

        Returns:
            The dataset, with all values in memory.

        Example:
            >>> xr.open_dataset("profiles.nc", engine="hyperslab").hyperslab.load()
        """
        for _ in in_order((variable.load for variable in self._dataset.variables.values()), _LOADED_TOGETHER, 2 * _LOADED_TOGETHER):
            pass
        return self._dataset

    def to_netcdf(self, path: Path, mode: str = "w", **options: Any) -> None:
        """Writes the dataset as netCDF-4.

        Args:
            path, mode, options: As in `hyperslab.to_netcdf`.

        Example:
            >>> dataset.hyperslab.to_netcdf("out.nc", compression="zstd")
        """
        to_netcdf(self._dataset, path, mode, **options)
