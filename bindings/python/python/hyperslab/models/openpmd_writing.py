"""Writing openPMD: iterations of particles and meshes, into one file or a file for each."""

from __future__ import annotations

import dataclasses
import datetime
import os
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from .._native import __version__
from ..errors import InvalidInputError
from ..type_aliases import AnyArray, Path
from ..writing.new_file import NewFile
from ..writing.new_file import create as create_file
from .step_parts import numbers
from .step_writer import storage_of

#: Names that the standard allows for records, components and species.
_NAME = re.compile(r"[A-Za-z0-9_]+")
_PATTERN = re.compile(r"%(0\d+)?T")
_LENGTH = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


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

    values: Any
    dimension: Sequence[float]
    unit_si: float | Mapping[str, float] = 1.0
    time_offset: float = 0.0
    attrs: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mesh(Record):
    """A physical quantity on a regular grid. Its arrays have the same shape.

    Attributes:
        axes: Names of the dimensions of the arrays, in their order: `("z", "y", "x")`.
        spacing: Distance of cells along each dimension, in units of the grid.
        offset: Where the grid begins along each dimension, in units of the grid.
        grid_unit_si: Meters of a unit of the grid.
        position: Where in the cell values are, from 0 to 1 along each dimension; a mapping if it differs between components.
        geometry: `cartesian`, or another geometry of the standard.
    """

    axes: Sequence[str]
    spacing: Sequence[float]
    offset: Sequence[float]
    grid_unit_si: float
    position: Sequence[float] | Mapping[str, Sequence[float]]
    geometry: str = "cartesian"


class OpenPmdWriter:
    """Writes iterations. `hyperslab.models.openpmd.create` makes one."""

    def __init__(self, path: str, mode: str, attrs: Mapping[str, Any], storage: dict[str, Any], options: dict[str, Any]) -> None:
        self._path, self._mode, self._attrs, self._storage, self._options = path, mode, attrs, storage, options
        #: Whether each iteration is a file of its own.
        self._is_by_file = _PATTERN.search(os.path.basename(path)) is not None
        self._file: NewFile | None = None if self._is_by_file else self._new(path)
        self._is_open = True
        #: Numbers of the iterations that were written.
        self.iterations: list[int] = []

    def write_iteration(
        self,
        number: int,
        *,
        time: float,
        dt: float,
        time_unit_si: float = 1.0,
        particles: Mapping[str, Mapping[str, Record]] | None = None,
        meshes: Mapping[str, Mesh] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes an iteration. In a series of files, its file appears when this returns.

        Args:
            number: Number of the iteration.
            time: Its time.
            dt: Length of its time step.
            time_unit_si: Seconds of a unit of both.
            particles: Records by their names, by species. Each species has the record `position`; `positionOffset` is 0 unless it is given.
            meshes: Meshes by their names.
            attrs: More attributes of the iteration.

        Raises:
            InvalidInputError: Names, lengths or shapes contradict each other or the standard, or the iteration was written.
            ConflictError: The iteration's file exists.

        Example:
            >>> series.write_iteration(100, time=5.0, dt=0.05, time_unit_si=1e-15, particles={"electrons": {"position": position}})
        """
        base = f"/data/{number}"
        if not self._is_open:
            raise InvalidInputError(f"the writer of '{self._path}' is closed")
        if isinstance(number, bool) or int(number) != number or number < 0:
            raise InvalidInputError(f"iteration {number}: give a number from 0 on")
        if number in self.iterations:
            raise InvalidInputError(f"iteration {number} is written already", object=base)
        parts = [part for species, records in (particles or {}).items() for part in _species(f"{base}/particles/{_checked(species, base)}", records)]
        for name, mesh in (meshes or {}).items():
            parts += _mesh(f"{base}/meshes/{_checked(name, base)}", mesh)
        about = {"time": float(time), "dt": float(dt), "timeUnitSI": float(time_unit_si), **(attrs or {})}
        if self._file is not None:
            self._put(self._file, base, about, parts)
        else:
            path = os.path.join(os.path.dirname(self._path), _PATTERN.sub(lambda found: f"{number:{found[1] or ''}d}", os.path.basename(self._path)))
            with self._new(path) as file:
                self._put(file, base, about, parts)
        self.iterations.append(int(number))

    def _new(self, path: str) -> NewFile:
        file = create_file(path, "x" if self._mode == "create" else "w", **self._options)
        encoding = "fileBased" if self._is_by_file else "groupBased"
        pattern = os.path.basename(self._path) if self._is_by_file else "/data/%T/"
        given = {
            "openPMD": "1.1.0",
            "openPMDextension": np.uint32(0),
            "basePath": "/data/%T/",
            "meshesPath": "meshes/",
            "particlesPath": "particles/",
            "iterationEncoding": encoding,
            "iterationFormat": pattern,
            "software": "hyperslab",
            "softwareVersion": __version__,
            "date": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z"),
        }
        _annotate(file, given | dict(self._attrs))
        file.create_group("data")
        return file

    def _put(self, file: NewFile, base: str, about: dict[str, Any], parts: list[tuple[str, dict[str, Any], AnyArray | None]]) -> None:
        _annotate(file.create_group(base), about)
        for path, attributes, values in parts:
            _annotate(file.require_group(path) if values is None else file.create_dataset(path, data=values, **self._storage), attributes)

    def close(self) -> None:
        """Completes the file, which then appears.

        Example:
            >>> series.close()
        """
        if self._is_open and self._file is not None:
            self._file.close()
        self._is_open = False

    def abort(self) -> None:
        """Discards a file that is not complete. Files of iterations that were written stay.

        Example:
            >>> series.abort()
        """
        if self._is_open and self._file is not None:
            self._file.abort()
        self._is_open = False

    def __enter__(self) -> OpenPmdWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<OpenPmdWriter of {self._path}, {len(self.iterations)} iterations>"


def _annotate(node: Any, attributes: Mapping[str, Any]) -> None:
    """Attributes as the standard wants them: text of fixed length, arrays of doubles."""
    for name, value in attributes.items():
        node.attrs[name] = np.bytes_(value.encode()) if isinstance(value, str) else value


def _checked(name: str, place: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(f"{name!r}: names of openPMD have letters, digits and underscores", object=place)
    return name


def _floats(values: Any, count: int, what: str, place: str) -> AnyArray:
    found = np.asarray(values, "f8")
    if found.shape != (count,) or not np.isfinite(found).all():
        raise InvalidInputError(f"{what} is {values!r}: give {count} finite numbers", object=place)
    return found


def _components(place: str, record: Record) -> dict[str, Any]:
    """The components by their names; of a scalar record one without a name. Each is an array or a number."""
    if not isinstance(record, Record):
        raise InvalidInputError(f"a {type(record).__name__}: give a Record or a Mesh", object=place)
    given = record.values if isinstance(record.values, Mapping) else {"": record.values}
    if not given:
        raise InvalidInputError("a record without components", object=place)
    found = {}
    for name, values in given.items():
        where = f"{place}/{_checked(name, place)}" if name else place
        found[name] = values if isinstance(values, (int, float, np.number)) else numbers(name or place.rpartition("/")[2], values, where)
    return found


def _stored(
    place: str, record: Record, components: dict[str, Any], shape: tuple[int, ...], about: dict[str, Any], extra: Mapping[str, dict[str, Any]]
) -> list[tuple[str, dict[str, Any], AnyArray | None]]:
    """Paths with attributes and values of a record. Constant components have attributes alone."""
    about = {"unitDimension": _floats(record.dimension, 7, "dimension", place), "timeOffset": float(record.time_offset), **about, **record.attrs}
    found: list[tuple[str, dict[str, Any], AnyArray | None]] = [] if "" in components else [(place, about, None)]
    for name, values in components.items():
        unit = record.unit_si.get(name) if isinstance(record.unit_si, Mapping) else record.unit_si
        if unit is None:
            raise InvalidInputError(f"unit_si has nothing for the component {name}", object=place)
        attributes = {"unitSI": float(unit), **extra.get(name, {})} | (about if not name else {})
        if isinstance(values, np.ndarray) and values.ndim:
            found.append((f"{place}/{name}".rstrip("/"), attributes, values))
        else:
            found.append((f"{place}/{name}".rstrip("/"), attributes | {"value": np.asarray(values)[()], "shape": np.array(shape, "u8")}, None))
    return found


def _shape(place: str, components: Mapping[str, Any], known: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
    """The shape that all arrays have; `known` if there are none."""
    for name, values in components.items():
        if isinstance(values, np.ndarray) and values.ndim:
            if known is not None and values.shape != known:
                raise InvalidInputError(f"an array of shape {values.shape} next to others of shape {known}", object=f"{place}/{name}".rstrip("/"))
            known = values.shape
    return known


def _species(place: str, records: Mapping[str, Record]) -> list[tuple[str, dict[str, Any], AnyArray | None]]:
    if "position" not in records:
        raise InvalidInputError("a species without the record position", object=place)
    given = {_checked(name, place): _components(f"{place}/{name}", record) for name, record in records.items()}
    shape: tuple[int, ...] | None = None
    for name, components in given.items():
        shape = _shape(f"{place}/{name}", components, shape)
    if shape is None or len(shape) != 1:
        raise InvalidInputError(f"arrays of particles have shape {shape}: give at least one, with a value for each particle", object=place)
    records = dict(records)
    if "positionOffset" not in records:
        zeros = Record(values=dict.fromkeys(given["position"], 0.0), dimension=_LENGTH)
        records["positionOffset"], given["positionOffset"] = zeros, dict.fromkeys(given["position"], 0.0)
    if list(given["positionOffset"]) != list(given["position"]) or "" in given["position"]:
        raise InvalidInputError("position and positionOffset do not have the same components", object=place)
    found: list[tuple[str, dict[str, Any], AnyArray | None]] = [(place, {}, None)]
    for name, components in given.items():
        found += _stored(f"{place}/{name}", records[name], components, shape, {}, {})
    return found


def _mesh(place: str, mesh: Mesh) -> list[tuple[str, dict[str, Any], AnyArray | None]]:
    components = _components(place, mesh)
    if not isinstance(mesh, Mesh):
        raise InvalidInputError("a Record: give a Mesh, which says where its cells are", object=place)
    shape = _shape(place, components)
    if shape is None:
        raise InvalidInputError("a mesh whose components are all constant: give one as an array", object=place)
    ndim = len(shape)
    if len(mesh.axes) != ndim or len(set(mesh.axes)) != ndim:
        raise InvalidInputError(f"axes are {tuple(mesh.axes)}: give {ndim} different names", object=place)
    positions = mesh.position if isinstance(mesh.position, Mapping) else dict.fromkeys(components, mesh.position)
    if set(positions) != set(components):
        raise InvalidInputError(f"position is given for {sorted(positions)}, but the components are {sorted(components)}", object=place)
    about = {
        "geometry": mesh.geometry,
        "dataOrder": "C",
        "axisLabels": np.array([str(axis).encode() for axis in mesh.axes]),
        "gridSpacing": _floats(mesh.spacing, ndim, "spacing", place),
        "gridGlobalOffset": _floats(mesh.offset, ndim, "offset", place),
        "gridUnitSI": float(mesh.grid_unit_si),
    }
    extra = {name: {"position": _floats(position, ndim, "position", place)} for name, position in positions.items()}
    return _stored(place, mesh, components, shape, about, extra)


def create(path: Path, mode: str = "create", *, attrs: Mapping[str, Any] | None = None, **options: Any) -> OpenPmdWriter:
    """Begins a series of openPMD 1.1.0, written by this process.

    Args:
        path: The file, which has all iterations and appears at the end of the `with` block. With `%T` in its name (`run_%T.h5`, or `run_%06T.h5`
            for numbers of six digits) each iteration is a file.
        mode: `create` (refuses to replace an existing file) or `overwrite`.
        attrs: Attributes of the file: `{"author": "…"}`.
        options: `chunks`, `compression`, `compression_opts`, `shuffle`, `fletcher32` of all arrays, as in `NewGroup.create_dataset`;
            `durable`, `alignment`, `threads` of `hyperslab.create`.

    Returns:
        The writer, for a `with` block.

    Raises:
        ConflictError: The file exists.
        InvalidInputError: The mode is unknown.

    Example:
        >>> with hs.models.openpmd.create("run.h5") as series:
        ...     series.write_iteration(0, time=0.0, dt=1.0, particles={"e": {"position": position}}, meshes={"rho": rho})
    """
    if mode not in ("create", "overwrite"):
        raise InvalidInputError(f"mode {mode!r} is none of create, overwrite")
    storage = storage_of(options)
    return OpenPmdWriter(os.fsdecode(path), mode, dict(attrs or {}), storage, options)
