"""Records of openPMD: what a program has of particles and meshes, checked, as the parts of a step that are written."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..backends.tasking import box
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AttributeValue
from .step_parts import Box, Part, numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Names that the standard allows for records, components and species.
_NAME = re.compile(r"[A-Za-z0-9_]+")
_LENGTH = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_NUMBER = (0.0,) * 7


@dataclasses.dataclass(frozen=True, kw_only=True)
class Record:
    """A physical quantity of particles.

    Attributes:
        values: Arrays by component (`{"x": …, "y": …}`), or one array for a quantity without components. A number instead of an array is
            a component that is constant, and stored once.
        dimension: The powers of length, mass, time, current, temperature, amount and luminous intensity in its unit, seven numbers.
        unit_si: What values are multiplied by to be in SI units; a mapping if it differs between components.
        time_offset: When the values are from, relative to the time of the iteration, in its unit.
        attrs: More attributes of the record.
    """

    values: ArrayLike | Mapping[str, ArrayLike]
    dimension: Sequence[float]
    unit_si: float | Mapping[str, float] = 1.0
    time_offset: float = 0.0
    attrs: Mapping[str, AttributeValue] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh(Record):
    """A physical quantity on a regular grid. Its arrays have the same shape.

    Attributes:
        axes: Names of the dimensions of the arrays, in their order: `("z", "y", "x")`.
        spacing: Distance of cells along each dimension, in units of the grid.
        offset: Where the grid begins along each dimension, in units of the grid.
        grid_unit_si: Meters of a unit of the grid; with openPMD 2.0 also one factor to SI units for each dimension.
        position: Where in the cell values are, from 0 to 1 along each dimension; a mapping if it differs between components.
        geometry: `cartesian`, or another geometry of the standard.
        grid_dimension: With openPMD 2.0: seven powers as in `dimension` for each dimension of the grid; by default they are lengths.
        partition: Of several writers: slices of the whole grid that the arrays are, such as `np.s_[0:8, :]`.
        shape: Of several writers: the shape of the whole grid.
    """

    axes: Sequence[str]
    spacing: Sequence[float]
    offset: Sequence[float]
    grid_unit_si: float | Sequence[float]
    position: Sequence[float] | Mapping[str, Sequence[float]]
    geometry: str = "cartesian"
    grid_dimension: Sequence[Sequence[float]] | None = None
    partition: slice | EllipsisType | tuple[slice | int | EllipsisType, ...] | None = None
    shape: Sequence[int] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patch:
    """Particles of a species that follow each other and are in one box.

    Attributes:
        particles: Number of particles. The patches of a writer follow each other, and have all of its particles.
        offset: Where the box begins, by component, in the unit of `position`.
        extent: Lengths of the box. Its end is not part of it.
    """

    particles: int
    offset: Mapping[str, float]
    extent: Mapping[str, float]


class Rows(NamedTuple):
    """The position of a writer's particles among the particles of all writers."""

    first: int
    total: int


#: Components of a record by name, each an array or a constant.
Components = dict[str, AnyArray | np.number | float]


class Parts:
    """Groups with their attributes, and parts of arrays."""

    def __init__(self) -> None:
        self.groups: dict[str, Components] = {}
        self.arrays: list[Part] = []

    def group(self, path: str, attributes: Mapping[str, AttributeValue]) -> None:
        self.groups[path] = dict(attributes)

    def array(self, path: str, values: AnyArray, where: Box | None, shape: tuple[int, ...] | None, attributes: Mapping[str, AttributeValue]) -> None:
        self.arrays.append(Part(path, values, where, shape, attributes))


def checked(name: str, place: str) -> str:
    """A name that the standard allows. `InvalidInputError` for others."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(f"{name!r}: names of openPMD have letters, digits and underscores", object=place)
    return name


def _floats(values: ArrayLike, count: int, what: str, place: str) -> AnyArray:
    found = np.asarray(values, "f8")
    if found.shape != (count,) or not np.isfinite(found).all():
        raise InvalidInputError(f"{what} is {values!r}: give {count} finite numbers", object=place)
    return found


def _components(place: str, record: Record) -> Components:
    """The components by their names; of a scalar record one without a name. Each is an array or a number."""
    if not isinstance(record, Record):
        raise InvalidInputError(f"a {type(record).__name__}: give a Record or a Mesh", object=place)
    given = record.values if isinstance(record.values, Mapping) else {"": record.values}
    if not given:
        raise InvalidInputError("a record without components", object=place)
    found: Components = {}
    for name, values in given.items():
        where = f"{place}/{checked(name, place)}" if name else place
        found[name] = values if isinstance(values, (int, float, np.number)) else numbers(name or place.rpartition("/")[2], values, where)
    return found


def _unit(record: Record, name: str, place: str) -> float:
    unit = record.unit_si.get(name) if isinstance(record.unit_si, Mapping) else record.unit_si
    if unit is None:
        raise InvalidInputError(f"unit_si has nothing for the component {name}", object=place)
    return float(unit)


def _put(
    parts: Parts,
    place: str,
    record: Record,
    components: Components,
    where: Box | None,
    shape: tuple[int, ...],
    about: dict[str, AttributeValue],
    extra: Mapping[str, dict[str, AttributeValue]],
) -> None:
    """Adds a record whose whole arrays have this shape. Constant components have attributes alone."""
    about = {"unitDimension": _floats(record.dimension, 7, "dimension", place), "timeOffset": float(record.time_offset), **about, **record.attrs}
    if "" not in components:
        parts.group(place, about)
    for name, values in components.items():
        attributes = {"unitSI": _unit(record, name, place), **extra.get(name, {})} | (about if not name else {})
        path = f"{place}/{name}".rstrip("/")
        if isinstance(values, np.ndarray) and values.ndim:
            parts.array(path, values, where, None if where is None else shape, attributes)
        else:
            parts.group(path, attributes | {"value": np.asarray(values)[()], "shape": np.array(shape, "u8")})


def _shape(place: str, components: Components, known: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
    """The shape that all arrays have; `known` if there are none."""
    for name, values in components.items():
        if isinstance(values, np.ndarray) and values.ndim:
            if known is not None and values.shape != known:
                raise InvalidInputError(f"an array of shape {values.shape} next to others of shape {known}", object=f"{place}/{name}".rstrip("/"))
            known = values.shape
    return known


def _records(place: str, records: Mapping[str, Record]) -> tuple[dict[str, Components], int]:
    """The components of the records of a species, and the number of its particles."""
    if "position" not in records:
        raise InvalidInputError("a species without the record position", object=place)
    given = {checked(name, place): _components(f"{place}/{name}", record) for name, record in records.items()}
    shape: tuple[int, ...] | None = None
    for name, components in given.items():
        shape = _shape(f"{place}/{name}", components, shape)
    if shape is None or len(shape) != 1:
        raise InvalidInputError(f"arrays of particles have shape {shape}: give at least one, with a value for each particle", object=place)
    return given, shape[0]


def count(place: str, records: Mapping[str, Record]) -> int:
    """The number of particles in the records of a species."""
    return _records(place, records)[1]


def put_species(parts: Parts, place: str, records: Mapping[str, Record], patches: Sequence[Patch] | None, rows: Rows | None) -> None:
    """Adds a species: all of its particles, or those that one of several writers has."""
    given, own = _records(place, records)
    records = dict(records)
    if "positionOffset" not in records:
        zeros = Record(values=dict.fromkeys(given["position"], 0.0), dimension=_LENGTH)
        records["positionOffset"], given["positionOffset"] = zeros, dict.fromkeys(given["position"], 0.0)
    if list(given["positionOffset"]) != list(given["position"]) or "" in given["position"]:
        raise InvalidInputError("position and positionOffset do not have the same components", object=place)
    if rows is not None and not 0 <= rows.first <= rows.first + own <= rows.total:
        raise InvalidInputError(f"{own} particles from the {rows.first}th of {rows.total} on", object=place)
    where: Box | None = None if rows is None else ((rows.first,), (own,))
    parts.group(place, {})
    for name, components in given.items():
        _put(parts, f"{place}/{name}", records[name], components, where, (own if rows is None else rows.total,), {}, {})
    if patches is not None:
        _put_patches(parts, place, patches, records["position"], list(given["position"]), own, 0 if rows is None else rows.first)


def _put_patches(parts: Parts, place: str, patches: Sequence[Patch], position: Record, names: list[str], own: int, first: int) -> None:
    below = f"{place}/particlePatches"
    sizes = [int(patch.particles) for patch in patches]
    if min(sizes, default=0) < 0 or sum(sizes) != own:
        raise InvalidInputError(f"patches of {sizes} particles for {own} particles: give each particle one", object=below)
    starts = first + np.concatenate([[0], np.cumsum(sizes)])[: len(sizes)]
    parts.group(below, {})
    for name, values in (("numParticles", sizes), ("numParticlesOffset", starts)):
        parts.array(f"{below}/{name}", np.array(values, "u8"), None, None, {"unitDimension": np.array(_NUMBER), "timeOffset": 0.0, "unitSI": 1.0})
    for name in ("offset", "extent"):
        parts.group(f"{below}/{name}", {"unitDimension": np.array(_LENGTH), "timeOffset": 0.0})
        given = [getattr(patch, name) for patch in patches]
        if any(set(one) != set(names) for one in given):
            raise InvalidInputError(f"a patch whose {name} does not have the components {names}", object=f"{below}/{name}")
        for component in names:
            values = _floats([one[component] for one in given], len(given), f"{name} along {component}", below)
            parts.array(f"{below}/{name}/{component}", values, None, None, {"unitSI": _unit(position, component, place)})


def put_mesh(parts: Parts, place: str, mesh: Mesh, version: int, in_parts: bool) -> None:
    """Adds a mesh, or with `in_parts` what one of several writers has of it."""
    components = _components(place, mesh)
    if not isinstance(mesh, Mesh):
        raise InvalidInputError("a Record: give a Mesh, which says where its cells are", object=place)
    own = _shape(place, components)
    if own is None:
        raise InvalidInputError("a mesh whose components are all constant: give one as an array", object=place)
    shape, where = own, None
    if in_parts:
        shape, where = _partition(place, mesh, own)
    elif mesh.partition is not None or mesh.shape is not None:
        raise InvalidInputError("partition and shape are for several writers: give the whole mesh", object=place)
    ndim = len(shape)
    if len(mesh.axes) != ndim or len(set(mesh.axes)) != ndim:
        raise InvalidInputError(f"axes are {tuple(mesh.axes)}: give {ndim} different names", object=place)
    positions = mesh.position if isinstance(mesh.position, Mapping) else dict.fromkeys(components, mesh.position)
    if set(positions) != set(components):
        raise InvalidInputError(f"position is given for {sorted(positions)}, but the components are {sorted(components)}", object=place)
    about = {
        "geometry": mesh.geometry,
        "axisLabels": np.array([str(axis).encode() for axis in mesh.axes]),
        "gridSpacing": _floats(mesh.spacing, ndim, "spacing", place),
        "gridGlobalOffset": _floats(mesh.offset, ndim, "offset", place),
        **_grid_units(place, mesh, ndim, version),
    }
    if version < 2:
        about["dataOrder"] = "C"
    extra = {name: {"position": _floats(position, ndim, "position", place)} for name, position in positions.items()}
    _put(parts, place, mesh, components, where, shape, about, extra)


def _partition(place: str, mesh: Mesh, own: tuple[int, ...]) -> tuple[tuple[int, ...], Box]:
    """The shape of the whole mesh, and which part of it the arrays are."""
    if mesh.shape is None:
        raise InvalidInputError("one of several writers gives the shape of the whole mesh, and its partition: shape=, partition=", object=place)
    shape = tuple(int(extent) for extent in mesh.shape)
    start, extents = box(... if mesh.partition is None else mesh.partition, shape)
    if tuple(extents) != own:
        raise InvalidInputError(f"arrays of shape {own} for a partition of shape {tuple(extents)}", object=place)
    return shape, (tuple(start), own)


def _grid_units(place: str, mesh: Mesh, ndim: int, version: int) -> Components:
    is_one = np.ndim(mesh.grid_unit_si) == 0
    if version < 2:
        if not is_one or mesh.grid_dimension is not None:
            raise InvalidInputError("openPMD 1.1 has one unit for all axes, a length: give one number, or create(…, version='2.0.0')", object=place)
        return {"gridUnitSI": float(np.asarray(mesh.grid_unit_si))}
    units = _floats([mesh.grid_unit_si] * ndim if is_one else mesh.grid_unit_si, ndim, "grid_unit_si", place)
    dimensions = [_LENGTH] * ndim if mesh.grid_dimension is None else mesh.grid_dimension
    if len(dimensions) != ndim:
        raise InvalidInputError(f"grid_dimension has {len(dimensions)} entries for {ndim} axes", object=place)
    powers = [_floats(seven, 7, "grid_dimension", place) for seven in dimensions]
    return {"gridUnitSI": units, "gridUnitDimension": np.concatenate(powers)}
