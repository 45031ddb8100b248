"""Machines: the parameters of a file system, a network, the nodes, and of Spark and MPI on them. Units are in the names."""

from __future__ import annotations

import dataclasses
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.errors import InvalidInputError
from .documents import build, quantity, read

if TYPE_CHECKING:
    from ..base.type_aliases import Json, JsonObject

_FOLDER = pathlib.Path(__file__).resolve().parent / "machines"


@dataclass(frozen=True)
class StorageTargets:
    """Object storage targets (OSTs) and the servers in front of them."""

    count: int = quantity("number of targets", least=1)
    read_bytes_per_second: float = quantity("of one target, without positioning", above=0)
    write_bytes_per_second: float = quantity("of one target, without positioning", above=0)
    positioning_seconds: float = quantity("before a request that does not follow the one before it", least=0)
    noise: float = quantity("standard deviation of the logarithm of service times", least=0, most=3)
    lock_move_seconds: float = quantity("to take the extent lock of an object from another client", least=0)
    server_cache_bytes: float = quantity("read cache of one server", least=0)


@dataclass(frozen=True)
class Network:
    """What lies between nodes and targets."""

    path_bytes_per_second: float = quantity("of all routers or switches together", above=0)
    latency_seconds: float = quantity("of a request and its answer", least=0)


@dataclass(frozen=True)
class Nodes:
    """Compute nodes: clients of the file system."""

    count: int = quantity("number of nodes", least=1)
    cores: int = quantity("cores of a node", least=1)
    link_bytes_per_second: float = quantity("of the file system's client of a node", above=0)


@dataclass(frozen=True)
class MetadataServers:
    """The servers of the file system's names."""

    count: int = quantity("number of servers", least=1)
    create_seconds: float = quantity("to create a file", least=0)
    create_object_seconds: float = quantity("for each object (stripe) of a new file", least=0)
    open_seconds: float = quantity("to open a file", least=0)


@dataclass(frozen=True)
class Collectives:
    """MPI's collective calls."""

    seconds_per_process: float = quantity("of one round of a collective write, for each process in it", least=0)
    latency_seconds: float = quantity("of a message", least=0)


@dataclass(frozen=True)
class Spark:
    """Spark's driver and executors."""

    tasks_per_second: float = quantity("that the driver launches", above=0)
    start_seconds: float = quantity("until the first task of a job can start", least=0)
    core_bytes_per_second: float = quantity("that a core reads, converts and caches in the JVM", above=0)
    python_core_bytes_per_second: float = quantity("the same in Python", above=0)
    noise: float = quantity("standard deviation of the logarithm of a task's own time", least=0, most=3)
    late_fraction: float = quantity("of the tasks that are launched late", least=0, most=1)
    late_target_seconds: float = quantity("delay of a late task times the number of targets of its file", least=0)
    task_timeout_seconds: float = quantity("after which a task is launched again", above=0)
    task_attempts: int = quantity("after which the job fails", least=1)
    cached_partition_bytes: float = quantity("maximum of a cached partition", above=0)


@dataclass(frozen=True)
class ObjectMetadata:
    """Operations on the metadata inside of one HDF5 file, by way."""

    collective_seconds_per_process: float = quantity("of one collective operation, for each process", least=0)
    collective_seconds: float = quantity("of a job's first collective operation, besides", least=0)
    server_seconds: float = quantity("of a request at a metadata server", least=0)
    server_first_seconds: float = quantity("of a process's first request, besides", least=0)
    lock_seconds: float = quantity("of an operation under a lock manager", least=0)
    lock_first_seconds: float = quantity("of a process's first operation under a lock manager, besides", least=0)


@dataclass(frozen=True)
class Hyperslab:
    """What Hyperslab itself costs."""

    core_bytes_per_second: float = quantity("that a core reads into Arrow, without filters", above=0)
    task_seconds: float = quantity("of a write task besides its values", least=0)
    object_seconds: float = quantity("for each object that a task defines", least=0)
    commit_task_seconds: float = quantity("of the commit, for each task", least=0)
    commit_object_seconds: float = quantity("of the commit, for each task's object", least=0)
    plan_file_seconds: float = quantity("of the plan, for each file", least=0)
    plan_split_seconds: float = quantity("of the plan, for each split", least=0)
    locate_chunk_seconds: float = quantity("to find a chunk", least=0)
    chunk_entry_bytes: float = quantity("of a chunk's entry in its index in the file", least=0)
    index_fraction: float = quantity("of a column's bytes that an index of level P has", least=0)
    index_read_fraction: float = quantity("of an index's bytes that a query reads", least=0, most=1)
    index_column_seconds: float = quantity("of a core for the bitmap of 64 million values", least=0)


@dataclass(frozen=True)
class Machine:
    """A machine. `sources` says where each figure is from: a paper, a vendor's page, "fitted", "assumed" or "measured"."""

    name: str
    targets: StorageTargets
    network: Network
    nodes: Nodes
    metadata: MetadataServers
    collectives: Collectives
    spark: Spark
    objects: ObjectMetadata
    hyperslab: Hyperslab
    sources: dict[str, str] = dataclasses.field(default_factory=dict)

    def with_changes(self, **changes: object) -> Machine:
        """The machine with other figures.

        Args:
            changes: Figures by section and name, joined with two underscores: `targets__count=16`.

        Returns:
            A new machine.

        Raises:
            InvalidInputError: A figure is unknown or out of range.
        """
        tables = _tables(self)
        for key, value in changes.items():
            section, _, name = key.partition("__")
            tables.setdefault(section, {})[name] = value
        return _built({**tables, "name": self.name}, self.name, self.sources)


def names() -> list[str]:
    """Names of the machines that come with the package.

    Returns:
        The names, in order.
    """
    return sorted(path.stem for path in _FOLDER.glob("*.toml") if not path.stem.startswith("_"))


def load_machine(name: str) -> Machine:
    """Reads the description of a machine.

    Args:
        name: A name of `names()`, or the path of a TOML file. A file may name another machine as its `base` and
            give only what differs.

    Returns:
        The machine.

    Raises:
        InvalidInputError: There is no such machine, or its description is wrong: the message names file and key.

    Example:
        >>> hyperslab.simulation.load_machine("lustre-248").targets.count
        248
    """
    return _load(name, ())


def _load(name: str, above: tuple[str, ...]) -> Machine:
    path = _FOLDER / f"{name}.toml"
    is_file = name.endswith(".toml") or "/" in name
    if not is_file and (name.startswith("_") or not path.exists()):
        raise InvalidInputError(f"there is no machine '{name}'; known: {', '.join(names())}, or give the path of a .toml file")
    file = name if is_file else str(path)
    if file in above:
        raise InvalidInputError(f"{file}: 'base' leads back to the file itself")
    given = read(file)
    tables: JsonObject = {}
    sources: dict[str, str] = {}
    base = given.pop("base", None)
    if base is not None:
        if not isinstance(base, str):
            raise InvalidInputError(f"{file}: 'base' is {base!r}; give the name of a machine")
        if base.endswith(".toml") and not pathlib.PurePath(base).is_absolute():
            base = str(pathlib.Path(file).parent / base)
        below = _load(base, (*above, file))
        tables, sources = _tables(below), dict(below.sources)
    else:
        defaults = read(str(_FOLDER / "_defaults.toml"))
        sources = _flat(defaults.pop("sources"))
        tables = defaults
    own = _flat(given.pop("sources", {}), file)
    for key, value in given.items():
        if isinstance(value, dict):
            if not isinstance(tables.setdefault(key, {}), dict):
                raise InvalidInputError(f"{file}: '{key}' is a table; give a value")
            tables[key].update(value)
            sources.update({f"{key}.{name}": own.get(f"{key}.{name}", file) for name in value})
        else:
            tables[key] = value
    tables["name"] = given.get("name", pathlib.PurePath(file).stem)
    machine = _built(tables, file, sources)
    known = _flat(_tables(machine))
    for key in own:
        if key not in known:
            raise InvalidInputError(f"{file}: 'sources.{key}' belongs to no figure")
    return machine


def _tables(machine: Machine) -> JsonObject:
    return {key: value for key, value in dataclasses.asdict(machine).items() if key not in ("sources", "name")}


def _flat(tables: Json, file: str = "") -> JsonObject:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    if not isinstance(tables, dict):
        raise InvalidInputError(f"{file}: 'sources' is not a table")
    return {f"{section}.{name}": value for section, table in tables.items() if isinstance(table, dict) for name, value in table.items()}


def _built(tables: JsonObject, file: str, sources: dict[str, str]) -> Machine:
    made = build(Machine, {"name": file, **tables}, file)
    return dataclasses.replace(made, sources=sources)
