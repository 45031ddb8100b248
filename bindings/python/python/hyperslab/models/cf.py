"""CF netCDF: tables by dimensions with coordinates and bounds, cell methods, grid mappings, discrete sampling geometries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _native
from ..base.errors import CorruptError, InvalidInputError, NotFoundError
from ..base.type_aliases import AnyArray, AttributeValue, FileOptions, JsonObject, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, Problem, required
from ..objects.dataset import Dataset
from .cf_writing import create, write_observations

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

__all__ = ["CellMethod", "Cf", "Flag", "Interval", "cell_methods", "create", "open", "write_observations"]


class Interval(NamedTuple):
    """The distance of the original values of a cell: a number with its units."""

    value: float
    units: str

    def __str__(self) -> str:
        return f"interval: {repr(self.value).removesuffix('.0')} {self.units}"


class CellMethod(NamedTuple):
    """How the values of cells were made.

    Attributes:
        names: Names of the dimensions or scalar coordinates, standard names, or `area`.
        method: The method: `mean`, `maximum`.
        where: The part of the cells that it was applied to: `land`.
        over: `days` or `years` of a climatology, or the part of the cells that `where` is in.
        within: `days` or `years` of a climatology.
        intervals: Distances of the original values: one for all names, or one for each.
        comment: What else the attribute says.
    """

    names: tuple[str, ...]
    method: str
    where: str | None = None
    over: str | None = None
    within: str | None = None
    intervals: tuple[Interval, ...] = ()
    comment: str | None = None

    def __str__(self) -> str:
        """The text of the attribute (CF 7.3)."""
        words = [*(f"{name}:" for name in self.names), self.method]
        for key in ("where", "over", "within"):
            value = getattr(self, key)
            words += [] if value is None else [key, value]
        about = [str(interval) for interval in self.intervals]
        if self.comment is not None:
            # Without an interval the comment needs no word before it.
            about += [f"comment: {self.comment}" if about else self.comment]
        return " ".join([*words, f"({' '.join(about)})"] if about else words)


class Flag(NamedTuple):
    """A meaning of flags: values whose bits of `mask` are `value` have it."""

    mask: int | None
    value: int

    def of(self, values: ArrayLike) -> AnyArray:
        """Finds the values that have this meaning.

        Args:
            values: Values of the variable, as they are stored.

        Returns:
            A boolean array.

        Example:
            >>> view.flags("quality")["good"].of(f["quality"][:])
        """
        given = np.asarray(values)
        found = given if self.mask is None else given & given.dtype.type(self.mask)
        return np.asarray(found == given.dtype.type(self.value))


def cell_methods(text: str) -> list[CellMethod]:
    """Parses the text of an attribute `cell_methods` (CF 7.3).

    Args:
        text: The text.

    Returns:
        The methods in the order in which they were applied.

    Raises:
        InvalidInputError: The text does not parse; the message says why.

    Example:
        >>> hs.models.cf.cell_methods("time: mean (interval: 6 hours)")[0].intervals
        (Interval(value=6.0, units='hours'),)
    """
    return [_method(one) for one in json.loads(_native.parse_cell_methods(text))]


def _method(one: JsonObject) -> CellMethod:
    intervals = tuple(Interval(interval["value"], interval["units"]) for interval in one.get("intervals", ()))
    return CellMethod(tuple(one["names"]), one["method"], one.get("where"), one.get("over"), one.get("within"), intervals, one.get("comment"))


class Cf(ModelView):
    """A netCDF file with the conventions of CF. `hyperslab.models.cf.open` makes one."""

    @property
    def feature_type(self) -> str | None:
        """The discrete sampling geometry of the file: `profile`, `timeSeries`; `None` if it has none."""
        attrs = self.file.attrs
        return _text(attrs.get("featureType", attrs.get("CF:featureType"))).strip() or None

    def _variable(self, name: str) -> Dataset:
        found = self.file.get(name)
        if not isinstance(found, Dataset):
            raise NotFoundError(f"there is no variable {name!r}", self.file.filename)
        return found

    def cell_methods(self, name: str) -> list[CellMethod]:
        """How the values of a variable were made.

        Args:
            name: Name or path of the variable.

        Returns:
            The methods of its attribute `cell_methods`, in order; none if it has none.

        Raises:
            NotFoundError: There is no such variable.
            CorruptError: The attribute does not parse; the message says why and names the variable.

        Example:
            >>> hs.models.cf.open("tas.nc").cell_methods("tas")
        """
        variable = self._variable(name)
        if "cell_methods" not in variable.attrs:
            return []
        try:
            return cell_methods(_text(variable.attrs["cell_methods"]))
        except InvalidInputError as error:
            raise CorruptError(error.message, self.file.filename, variable.name) from None

    def grid_mapping(self, name: str) -> JsonObject | None:
        """The projection of a variable.

        Args:
            name: Name or path of the variable.

        Returns:
            The attributes of its grid mapping by name, numbers as numbers, and in `variable` the name of the grid mapping; `None` if the variable
            has no grid mapping, or the file does not have it.

        Raises:
            NotFoundError: There is no such variable.
            CorruptError: An attribute is not of the type that it must have; the message names the grid mapping.

        Example:
            >>> hs.models.cf.open("rotated.nc").grid_mapping("tas")["grid_north_pole_latitude"]
        """
        variable = self._variable(name)
        words = _text(variable.attrs.get("grid_mapping")).split()
        if not words:
            return None
        field = self.table(variable.name, columns=[variable.name.rpartition("/")[2]], omitted="ignore").schema.field(0)
        found = (field.metadata or {}).get(b"hyperslab:grid_mapping")
        if found is not None:
            parsed: JsonObject = json.loads(found)
            return parsed
        mapping = self._near(variable.name, words[0].rstrip(":"))
        for problem in ModelView.validate(self):
            if problem.object == mapping:
                raise CorruptError(problem.message, self.file.filename, problem.object)
        return None

    def _near(self, path: str, name: str) -> str | None:
        """Path of the variable called `name` in the group of the object at `path`, or in one above it."""
        group = path
        while group:
            group = group.rpartition("/")[0]
            if f"{group}/{name}" in self.file:
                return f"{group}/{name}"
        return None

    def flags(self, name: str) -> Mapping[str, Flag]:
        """The meanings of a variable of flags (CF 3.5).

        Args:
            name: Name or path of the variable.

        Returns:
            The words of `flag_meanings`, each with the value and the bits that have this meaning; nothing if it has no flags.

        Raises:
            NotFoundError: There is no such variable.
            CorruptError: There are not as many values or masks as meanings.

        Example:
            >>> view.flags("quality")["good"].of(f["quality"][:])
        """
        variable = self._variable(name)
        attrs = variable.attrs
        meanings = _text(attrs.get("flag_meanings")).split()
        values, masks = (np.ravel(attrs[key]).tolist() if key in attrs else None for key in ("flag_values", "flag_masks"))
        for key, given in (("flag_values", values), ("flag_masks", masks)):
            if given is not None and (len(given) != len(meanings) or not all(isinstance(number, int) for number in given)):
                raise CorruptError(
                    f"its attribute {key} is {given}, not a whole number for each of its {len(meanings)} meanings", self.file.filename, variable.name
                )
        if values is None and masks is None:
            return {}
        if values is None:
            # Without values a meaning holds if all its bits are set.
            values = masks
        assert values is not None
        return {meaning: Flag(None if masks is None else masks[index], values[index]) for index, meaning in enumerate(meanings)}

    def validate(self) -> list[Problem]:
        """Finds what contradicts CF. Reads the counts and indexes of discrete sampling geometries, not the data.

        Returns:
            Each problem with the path of its object: bounds of another shape, cell methods that do not parse or name no dimension, names in
            attributes that are not variables of the file, counts that do not add up, indexes out of range.

        Example:
            >>> hs.models.cf.open("tas.nc").validate()
            []
        """
        problems = ModelView.validate(self)
        known = {problem.object for problem in problems}
        for table in self.tables:
            try:
                schema = self.table(table, omitted="ignore").schema
                owners = [field.name for field in schema if (field.metadata or {}).get(b"hyperslab:instance_of")]
                if owners:
                    for _ in self.table(table, columns=owners, omitted="ignore").batches():
                        pass
            except (CorruptError, InvalidInputError) as error:
                if error.object not in known:
                    problems.append(Problem(error.object or table, error.message))
        return problems


def _text(value: AttributeValue) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else "" if value is None else str(value)


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Cf:
    """Opens a netCDF file as CF means it.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a netCDF file.

    Example:
        >>> hs.models.cf.open("tas.nc").table("/").to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "cf")
    return Cf(opened, view.name, view.certainty, view.reason)
