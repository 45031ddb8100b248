"""Ray Data: rows of HDF5 and netCDF files as a `ray.data.Dataset`. Only the function imports Ray."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .base.errors import InvalidInputError, UnsupportedError
from .base.extras import late, require
from .base.type_aliases import Paths
from .files.file import open
from .sources.addresses import absolute

if TYPE_CHECKING:
    import ray.data
    from typing_extensions import Unpack

    from .base.type_aliases import ScanOptions

__all__ = ["read_hdf5"]


def read_hdf5(
    paths: Paths,
    datasets: str | Sequence[str] | Mapping[str, str] = "/",
    where: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    storage_options: Mapping[str, object] | None = None,
    concurrency: int | None = None,
    override_num_blocks: int | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
    **options: Unpack[ScanOptions],
) -> ray.data.Dataset:
    """Reads datasets or tables as a dataset of Ray. Planning reads metadata only; Ray tasks read the rows, each some splits.

    A row is an index of the first dimension, and an array with more dimensions is a column of tensors. `layout="cells"` makes a row of each
    element, with its coordinates. Every node must see the files under the same paths, and have this package.

    Args:
        paths: A path, an address, a glob, or a list of these. All files must have the same columns.
        datasets: The path of a dataset, group or table, as in `File.table`; or several datasets of equal length as a list, or by the names of
            their columns, which are read side by side.
        where: A condition such as `"depth < 100"`: what it rules out is not read. Not with several datasets.
        columns: Names of the columns; by default all. `_row` and `_file` are columns, too. Not with several datasets.
        storage_options: Options of the store of addresses, as in `hyperslab.open`.
        concurrency, override_num_blocks: As in `ray.data.read_datasource`.
        ray_remote_args: Further arguments of `ray.data.read_datasource` for tasks, such as `{"num_cpus": 2}`.
        options: Other options of `File.table` but `limit`; of several datasets only `raw`.

    Returns:
        A lazy dataset. A task fails with the error of this package: `ConflictError` if a file changed since it was planned.

    Raises:
        MissingExtraError: Ray is not installed.
        NotFoundError: There is no such file, object or column.
        InvalidInputError: The files or datasets do not fit together.

    Example:
        >>> hs.ray.read_hdf5("runs/*.h5", ["/images", "/labels"]).map_batches(train)
        >>> hs.ray.read_hdf5("s3://bucket/profiles.nc", "/theta", "depth < 100", layout="cells")
    """
    require("hyperslab.ray", "ray", "ray")
    if options.get("limit") is not None:
        raise UnsupportedError("limit: use the dataset's own limit")
    files = open(_absolute(paths), storage_options=storage_options)
    classes = late("engines.ray_datasource")
    if isinstance(datasets, str):
        source = classes.TableDatasource(files, datasets, where, columns, dict(options))
    else:
        named = datasets if isinstance(datasets, Mapping) else {path.rpartition("/")[2]: path for path in datasets}
        if len(named) < len(datasets):
            raise InvalidInputError(f"datasets: two have the same name in {list(datasets)}; give a mapping of names to paths")
        refused = {name for name, value in {**options, "where": where, "columns": columns}.items() if value is not None} - {"raw"}
        if refused:
            raise UnsupportedError(f"{sorted(refused)[0]} with several datasets: give one, or use the dataset's own filter and select_columns")
        source = classes.DatasetsDatasource(files, named, bool(options.get("raw")))
    import ray.data

    return ray.data.read_datasource(source, concurrency=concurrency, override_num_blocks=override_num_blocks, **(ray_remote_args or {}))


def _absolute(paths: Paths) -> Paths:
    """Paths that workers find, which have other working folders."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        return absolute(os.fsdecode(paths))
    return [absolute(os.fsdecode(path)) for path in paths]
