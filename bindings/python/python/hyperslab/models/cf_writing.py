"""CF netCDF written: a file with its conventions, and tables of observations as discrete sampling geometries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base.arguments import check_choice
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AttributeValue, Option, Path
from ..files.file import File
from ..netcdf.writing import create_netcdf
from ..objects.group import Group
from ..values.netcdf_types import checked_name

if TYPE_CHECKING:
    import pyarrow as pa

#: The version of CF that files state.
CONVENTIONS = "CF-1.11"
#: The instances of each geometry, and the role of the variable that identifies one (CF 9.5).
_INSTANCES = {"profile": ("profile", "profile_id"), "timeSeries": ("station", "timeseries_id"), "trajectory": ("trajectory", "trajectory_id")}
#: Geometries of profiles that belong to instances, and what these are without the profiles.
_OF_PROFILES = {"timeSeriesProfile": "timeSeries", "trajectoryProfile": "trajectory"}
_FEATURES = ("point", *_INSTANCES, *_OF_PROFILES)
_REPRESENTATIONS = ("contiguous", "indexed")


def create(path: Path, mode: str = "w", **options: Option) -> File:
    """Creates a netCDF-4 file that states CF's conventions.

    Args:
        path: Path of the file.
        mode: `w` replaces an existing file, `x` refuses to.
        options: Other arguments of `hyperslab.create_netcdf`.

    Returns:
        The file, with `Conventions`; `bounds`, `coordinates`, `cell_methods` and `grid_mapping` are arguments of its `create_variable`.

    Raises:
        ConflictError: `mode` is `x` and the file exists.

    Example:
        >>> with hs.models.cf.create("tas.nc") as f:
        ...     f.create_dimension("time")
        ...     f.create_variable("time", ["time"], data=[0.5, 1.5], units="days since 2001-01-01", bounds=[[0, 1], [1, 2]])
        ...     f.create_variable("tas", ["time"], data=[280.0, 281.0], units="K", cell_methods="time: mean")
    """
    made = create_netcdf(path, mode, **options)
    made.attrs["Conventions"] = CONVENTIONS
    return made


def write_observations(
    target: Group | Path,
    table: pa.Table,
    feature_type: str,
    *,
    instance: str | None = None,
    instance_columns: Sequence[str] = (),
    profile: str | None = None,
    profile_columns: Sequence[str] = (),
    coordinates: Sequence[str] = (),
    attrs: Mapping[str, Mapping[str, AttributeValue]] | None = None,
    representation: str = "contiguous",
    sample_dimension: str = "obs",
    **options: Option,
) -> None:
    """Writes a table with a row for each observation as a discrete sampling geometry (CF chapter 9).

    Args:
        target: Path of a new file, or a group that is being written.
        table: The observations: an Arrow table of numbers, times and text, with names that netCDF allows.
        feature_type: `point`, `profile`, `timeSeries`, `trajectory`, or `timeSeriesProfile` and `trajectoryProfile` for profiles of stations and trajectories.
        instance: The column whose values tell the profile, station or trajectory of an observation; not for points. Its value and the
            `instance_columns` are stored once for each instance.
        instance_columns: Columns that have one value in each instance, such as the position of a station.
        profile: Of `timeSeriesProfile` and `trajectoryProfile` the column whose values tell the profile of an observation. A profile belongs to one
            instance, so its values differ between instances.
        profile_columns: Columns that have one value in each profile, such as its time.
        coordinates: Columns that are coordinates of the others: time, position, depth.
        attrs: Attributes of columns by name, such as `units` and `standard_name`.
        representation: `contiguous` stores the observations of each instance together, in the order of the instances' first rows, with the
            number of each (`row_size`). `indexed` keeps the order of the rows and stores the instance of each. Profiles of stations and trajectories
            have one form, ragged in both ways: the observations of each profile together, and the instance of each profile.
        sample_dimension: Name of the dimension of the observations.
        options: How variables are stored, as in `create_variable`, such as `compression`.

    Raises:
        InvalidInputError: A column does not exist, a column of instances or profiles has several values in one of them, or a column cannot be
            stored; the message names it.
        UnsupportedError: netCDF has no type for a column.

    Example:
        >>> hs.models.cf.write_observations("casts.nc", table, "profile", instance="cast", instance_columns=["lat", "lon"],
        ...     coordinates=["depth"], attrs={"depth": {"units": "m", "positive": "down"}})
    """
    given = _Sampling(feature_type, instance, instance_columns, profile, profile_columns, coordinates, attrs or {}, representation, sample_dimension)
    given.check(table.column_names)
    columns = {name: _values(table[name], name) for name in table.column_names}
    if isinstance(target, Group):
        _write(target, columns, given, options)
        return
    with create(target) as made:
        _write(made, columns, given, options)


@dataclass(frozen=True)
class _Sampling:
    """What the columns of a table are in a geometry, as in `write_observations`."""

    feature_type: str
    instance: str | None
    instance_columns: Sequence[str]
    profile: str | None
    profile_columns: Sequence[str]
    coordinates: Sequence[str]
    attrs: Mapping[str, Mapping[str, AttributeValue]]
    representation: str
    sample_dimension: str

    def check(self, names: Sequence[str]) -> None:
        """`InvalidInputError` if the arguments contradict each other, or name columns that the table does not have."""
        check_choice("feature_type", self.feature_type, _FEATURES)
        check_choice("representation", self.representation, _REPRESENTATIONS)
        if (self.instance is None) != (self.feature_type == "point"):
            raise InvalidInputError("instance= names the column of the instances" if self.instance is None else "points have no instances: leave out instance=")
        if self.instance is None and self.instance_columns:
            raise InvalidInputError("points have no instances: leave out instance_columns=")
        if (self.profile is not None) != (self.feature_type in _OF_PROFILES):
            few = "profile= names the column of the profiles"
            raise InvalidInputError(few if self.profile is None else f"profile= is for {' and '.join(_OF_PROFILES)}, not for {self.feature_type}")
        if self.profile is None and self.profile_columns:
            raise InvalidInputError(f"profile_columns= are for {' and '.join(_OF_PROFILES)}, not for {self.feature_type}")
        if self.profile is not None and self.representation != "contiguous":
            raise InvalidInputError(f"{self.feature_type} is written ragged in both ways only: leave out representation=")
        if both := set(self.of_instances) & set(self.of_profiles):
            raise InvalidInputError(f"{', '.join(sorted(both))}: a column of instances is not one of profiles, too")
        for name in names:
            checked_name(name, "variable")  # a slash would make a group
        for name in [*self.of_instances, *self.of_profiles, *self.coordinates, *self.attrs]:
            if names.count(name) != 1:
                raise InvalidInputError(f"the table has {names.count(name)} columns {name!r}: its columns are {', '.join(names)}")

    @property
    def of_instances(self) -> list[str]:
        """The columns with one value in each instance, its identifier first."""
        return _first(self.instance, self.instance_columns)

    @property
    def of_profiles(self) -> list[str]:
        """The columns with one value in each profile, its identifier first."""
        return _first(self.profile, self.profile_columns)


def _first(key: str | None, others: Sequence[str]) -> list[str]:
    return [] if key is None else [key, *(name for name in others if name != key)]


@dataclass(frozen=True)
class _Level:
    """Instances or profiles: the dimension, the first row of each, and which one each row belongs to."""

    dimension: str
    first: AnyArray
    owner: AnyArray

    def write_index(self, group: Group, columns: Mapping[str, AnyArray], dimension: str, owner: AnyArray) -> None:
        """The number of the instance of each element along a dimension."""
        name = _free(f"{self.dimension}_index", columns)
        group.create_variable(name, [dimension], data=owner.astype("i8"), attrs={"instance_dimension": self.dimension}, fill_value=False)

    def write_counts(self, group: Group, columns: Mapping[str, AnyArray], sample_dimension: str) -> None:
        """The number of observations of each."""
        sizes = np.bincount(self.owner, minlength=len(self.first)).astype("i8")
        group.create_variable(_free("row_size", columns), [self.dimension], data=sizes, attrs={"sample_dimension": sample_dimension}, fill_value=False)


def _write(group: Group, columns: dict[str, AnyArray], given: _Sampling, options: dict[str, Option]) -> None:
    group.attrs["featureType"] = given.feature_type
    group.create_dimension(given.sample_dimension, len(next(iter(columns.values()), ())))
    once = [*given.of_instances, *given.of_profiles]
    if given.instance is not None:
        instances = _level(group, columns, given.of_instances, _OF_PROFILES.get(given.feature_type, given.feature_type), given.attrs, options)
        together = instances
        if given.profile is not None:
            together = _level(group, columns, given.of_profiles, "profile", given.attrs, options)
            _check_constant(columns[given.instance], columns[given.instance][together.first][together.owner], given.instance, given.profile)
            instances.write_index(group, columns, together.dimension, instances.owner[together.first])
        if given.representation == "contiguous":
            together.write_counts(group, columns, given.sample_dimension)
            order = np.argsort(together.owner, kind="stable")
            columns = {name: values if name in once else values[order] for name, values in columns.items()}
        else:
            instances.write_index(group, columns, given.sample_dimension, instances.owner)
    named = [name for name in [*given.of_instances[1:], *given.of_profiles[1:], *given.coordinates] if name not in (given.instance, given.profile)]
    samples = [name for name in columns if name not in once]
    for name in [*(name for name in samples if name in given.coordinates), *(name for name in samples if name not in given.coordinates)]:
        found = None if name in given.coordinates or not named else named
        group.create_variable(name, [given.sample_dimension], data=columns[name], attrs=given.attrs.get(name, {}), coordinates=found, **options)


def _level(
    group: Group,
    columns: Mapping[str, AnyArray],
    names: Sequence[str],
    feature: str,
    attrs: Mapping[str, Mapping[str, AttributeValue]],
    options: dict[str, Option],
) -> _Level:
    """Writes the columns `names`, whose first identifies the instances of a feature, once for each instance."""
    key = names[0]
    dimension, role = _INSTANCES[feature]
    dimension = f"{dimension}_instance" if dimension in columns else dimension
    first, owner = _instances(columns[key], key)
    group.create_dimension(dimension, len(first))
    for name in names:
        once = columns[name][first]
        _check_constant(columns[name], once[owner], name, key)
        about = {**attrs.get(name, {}), **({"cf_role": role} if name == key else {})}
        group.create_variable(name, [dimension], data=once, attrs=about, **options)
    return _Level(dimension, first, owner)


def _values(column: pa.ChunkedArray, name: str) -> AnyArray:
    """The values of a column; missing ones are masked, NaN or NaT."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if column.null_count:
            raise InvalidInputError(f"column {name!r} has {column.null_count} missing texts, for which netCDF has no value: fill them first")
        return np.array(column.to_pylist(), dtype=object)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind)):
        raise InvalidInputError(f"column {name!r} of type {kind}: give numbers, times or text")
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
    if column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        mask = column.is_null().to_numpy()
        return np.ma.MaskedArray(column.fill_null(0 if pa.types.is_integer(kind) else False).to_numpy(), mask)
    return np.asarray(column.to_numpy())


def _instances(values: AnyArray, name: str) -> tuple[AnyArray, AnyArray]:
    """The first row of each instance in the order of the rows, and the instance of each row."""
    if np.ma.is_masked(values) or (values.dtype.kind == "f" and np.isnan(values).any()) or (values.dtype.kind in "mM" and np.isnat(values).any()):
        raise InvalidInputError(f"column {name!r} tells the instance of each row, and has missing values")
    _, first, owner = np.unique(values.astype(str) if values.dtype.kind == "O" else np.asarray(values), return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[owner]


def _check_constant(values: AnyArray, expected: AnyArray, name: str, instance: str) -> None:
    # A missing value equals a missing value.
    same = np.ma.filled(np.ma.asarray(values) == np.ma.asarray(expected), False) | (_missing(values) & _missing(expected))
    if not np.all(same):
        row = int(np.argmin(same))
        raise InvalidInputError(f"column {name!r} has several values in one {instance}: {expected[row]!r} and, in row {row}, {values[row]!r}")


def _missing(values: AnyArray) -> AnyArray:
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(np.asarray(values)))
    return np.asarray(np.isnat(values) if values.dtype.kind in "mM" else np.ma.getmaskarray(values))


def _free(name: str, columns: Mapping[str, AnyArray]) -> str:
    while name in columns:
        name += "_"
    return name
