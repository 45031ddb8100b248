"""Parallel: many writers, a few subfiles, one file to the reader; plan, tasks, fragments, commit."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from . import _native, dtype_encoding, indexing_keys, new_references, unclosed
from .errors import InvalidInputError, UnsupportedError
from .writing import NewAttributes, NewDataset, NewGroup, extents, fill_of, filters_of


class Subfile(NamedTuple):
    """A subfile of a commit, with the task that wrote it or the first of several."""

    name: str
    bytes: int
    task: int


class ManySubfilesWarning(UserWarning):
    """A file has about as many subfiles as programs can have open: they would show fill values in place of the rest."""


class Committed(NamedTuple):
    """What a commit did: its subfiles, whether an earlier call had done it already, leftovers that could not be removed, and
    what makes the file hard to read for other programs."""

    subfiles: list[Subfile]
    repeated: bool
    left: list[str]
    remarks: list[str] = []


class Verification(NamedTuple):
    """What there is to say of a container; it is whole if there are no problems. Remarks say what leaves its values right."""

    problems: list[str]
    commits: int
    subfiles: int
    subfile_bytes: int
    remarks: list[str] = []


def verify(path: Any, *, values: bool = False) -> Verification:
    """Whether all subfiles of a master are there, whole, and belong together. `values=True` reads all bytes too: those
    of plans with `checksums=True` must be those that were written, the others' chunks must decode."""
    return Verification(*_native.verify(os.fspath(path), values))


class VacuumResult(NamedTuple):
    """What `vacuum` removed, or with `dry_run` would remove.

    `removed` are writes whose subfiles were removed, `young` those that another process may still write or read, `indexes`
    leftovers of index builds that were removed, `orphans` commits that were kept although no master in the folder uses them,
    and `files` leftover files of killed writers that were removed."""

    removed: list[str]
    young: list[str]
    indexes: list[str]
    orphans: list[str] = []
    files: list[str] = []


def vacuum(path: Any, *, hours: float = 24, index_folder: Any = None, orphans: bool = False, dry_run: bool = False) -> VacuumResult:
    """Removes what was left by writers and by builds of indexes of this file that were killed: of plans and of tasks what
    was not committed, and not touched for that many hours; and what was overwritten that many hours ago. What a master in
    the same folder uses stays, also of one that was renamed or copied. Commits that none uses go with `orphans=True`. Cuts
    off indexes at the end of the file that are not used any more: no program may have the file open without locks. The file
    may be of any kind; what killed writers of it have left next to it goes, too. `dry_run=True` removes nothing."""
    removed, young, left, files = _native.tidy(os.fspath(path), hours * 3600, orphans, dry_run)
    elsewhere = None if index_folder is None else os.path.abspath(index_folder)
    return VacuumResult(removed, young, _native.index_tidy(os.fspath(path), hours * 3600, elsewhere, dry_run), left, files)


class Fused(NamedTuple):
    """What fusing did: the file's length, chunks copied as they were stored, bytes of values that were encoded again."""

    bytes: int
    copied_chunks: int
    reencoded_bytes: int


def fuse(master: Any, target: Any, mode: str = "x", *, progress: Callable[[int, int], object] | None = None) -> Fused:
    """Makes one ordinary file out of a master and its subfiles. Chunks that are the same in both are copied without
    decoding. `mode="w"` takes the place of a file that is there; `progress` hears bytes of values done and in all."""
    if mode not in ("w", "x"):
        raise InvalidInputError(f"mode {mode!r} is not known: give w (replace) or x (there must be none)")
    return Fused(*_native.fuse(os.fspath(master), os.fspath(target), mode == "w", progress))


class TaskGroup(NewGroup):
    """A group in a task."""

    _is_whole = False

    def _member_type(self) -> type[NewGroup]:
        return TaskGroup

    def _more(self, given: dict[str, Any], shape: list[int] | None) -> dict[str, Any]:
        unknown = given.keys() - {"region", "rows"}
        if unknown:
            raise TypeError(f"create_dataset() got an unexpected keyword argument {unknown.pop()!r}")
        options: dict[str, Any] = {"rows": bool(given.get("rows"))}
        if given.get("region") is not None:
            options["region"] = box(given["region"], tuple(shape or ()))
        return options

    def create_dataset(self, name: str, shape: Any = None, dtype: Any = None, data: Any = None, **options: Any) -> NewDataset:
        """A dataset of the whole container, defined alike by every task that writes to it: `shape` is the whole.

        `region=np.s_[100:200]` says which part this task writes; its subfile then holds just that. Without, it may
        write any part. `rows=True` (of a shape that begins with 0) makes rows of the task's own, to be added with
        `append`; the commit puts them behind those of the tasks before."""
        if options.get("rows") and data is not None:
            made = super().create_dataset(name, (0, *_shape(data)[1:]), dtype if dtype is not None else _dtype(data), **options)
            made.append(data)
            return made
        if options.get("region") is not None and data is not None:
            if shape is None:
                raise InvalidInputError("a region needs the shape of the whole dataset")
            made = super().create_dataset(name, shape, dtype if dtype is not None else _dtype(data), **options)
            made[options["region"]] = data
            return made
        return super().create_dataset(name, shape, dtype, data, **options)


def box(key: Any, shape: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Start and count of what a key selects without steps."""
    selected = indexing_keys.select(key, shape)
    if any(not isinstance(axis, tuple) or axis[2] != 1 for axis in selected.axes):
        raise UnsupportedError("regions of masks, lists or steps: give slices without")
    return [axis[0] for axis in selected.axes], list(selected.box)


def _slices(box: tuple[list[int], list[int]]) -> tuple[slice, ...]:
    return tuple(slice(start, start + count) for start, count in zip(*box))


def _dtype(data: Any) -> Any:
    array = np.asarray(data)
    return str if array.dtype.kind in "UO" else array.dtype


def _shape(data: Any) -> tuple[int, ...]:
    return np.shape(data)


#: Classes of plans that leave a note for their tasks.
_kinds: dict[str, type[WritePlan]] = {}


class PlanWriter:
    """A plan as what groups and attributes are written to: it defines them, until it goes to its tasks."""

    _NAMES = {"create_link": "define_link", "create_datatype": "define_datatype"}

    def __init__(self, native: _native.WritePlan) -> None:
        self._native, self.sealed = native, False
        #: Kind, number and shape of what was defined, by absolute path.
        self._defined: dict[str, tuple[str, int, list[int] | None]] = {"/": ("group", 0, None)}

    def __getattr__(self, name: str) -> Any:
        self.check()
        return getattr(self._native, self._NAMES.get(name, name))

    def check(self) -> None:
        """Refuses definitions that come too late."""
        if self.sealed:
            raise InvalidInputError("this plan has gone to its tasks: it defines no more")

    def note(self, path: str, kind: str, shape: Iterable[int] | None = None) -> None:
        """Notes a group or dataset that was defined, and the groups above it."""
        parts = [part for part in path.split("/") if part]
        for depth in range(1, len(parts) + 1):
            above = "/" + "/".join(parts[:depth])
            if above not in self._defined:
                self._defined[above] = ("group", len(self._defined), None)
        if kind == "dataset":
            name = "/" + "/".join(parts)
            self._defined[name] = (kind, self._defined[name][1], None if shape is None else list(shape))

    def look_up(self, path: str) -> tuple[str, int, str] | None:
        """As of a file that is written: kind, number and path of what the plan has defined."""
        found = self._defined.get("/" + path.strip("/"))
        return None if found is None else (found[0], found[1], "/" + path.strip("/"))

    def members(self, path: str) -> list[tuple[str, None]]:
        """Names of what the plan has defined in a group."""
        above = f"/{path.strip('/')}/".replace("//", "/")
        return [(name[len(above):], None) for name in self._defined if name.startswith(above) and name != above and "/" not in name[len(above):]]

    def shape(self, path: str) -> list[int] | None:
        """The extent of a dataset of the plan."""
        return self._defined["/" + path.strip("/")][2]

    def create_group(self, path: str) -> None:
        self.check()
        self._native.define_group(path)
        self.note(path, "group")

    def create_dataset(self, path: str, datatype: dict[str, Any], shape: list[int], maxshape: list[Any] | None, chunks: Any, filters: Any, fill: bytes | None) -> None:
        self.check()
        self._native.define_dataset(path, datatype, shape, maxshape, chunks, filters, fill)
        self.note(path, "dataset", shape)


class PlanGroup(NewGroup):
    """The root of the file of a plan, or a group in it: what all tasks have in common."""

    _is_whole = False

    def create_dataset(self, name: str, *_: Any, **options: Any) -> NewDataset:
        """Refused but for references to objects: datasets are a matter of tasks, or of `WritePlan.create_dataset`."""
        data = options.get("data")
        kind = new_references.kind_of(data, options.get("dtype"))
        if kind is None or data is None:
            raise UnsupportedError(f"values of dataset {name!r} in a plan: let tasks write them")
        made = self._given_references(self._below(name), kind, data, options.get("shape"), None)
        self._writer.note(made.name, "dataset", np.shape(np.asarray(data, dtype=object)))
        return made


class Task(TaskGroup):
    """One writer's part. `finish()` gives the fragment to hand to `WritePlan.commit`; a task that is not finished
    leaves nothing."""

    def __init__(self, native: _native.Writer, number: int, plan: WritePlan) -> None:
        super().__init__(native, "/")
        self.number, self._plan = number, plan
        self._unclosed = unclosed.watch(self, f"task {number} of '{plan.path}' was not finished, so nothing of it was written: call finish()")

    def dataset(self, path: str) -> NewDataset:
        """A dataset of the plan, or one that this task has defined."""
        if self._writer.is_planned(path):
            self._writer.open_dataset(path)
        shape, datatype, chunks, _ = self._writer.definition(path)
        return NewDataset(self._writer, path, tuple(shape), datatype, None if chunks is None else tuple(chunks))

    def region(self, path: str) -> tuple[slice, ...]:
        """What this task writes of a dataset of the plan."""
        box = self._writer.definition(path)[3]
        if box is None:
            raise InvalidInputError(f"{path} has no region: this task may write any part of it")
        return _slices(box)

    def write(self, path: str, values: Any) -> None:
        """Writes all that this task has to write of a dataset of the plan."""
        self.dataset(path)[self.region(path)] = values

    def finish(self) -> bytes:
        """Ends the subfile and gives the fragment; nothing of it is visible yet."""
        self._unclosed.detach()
        fragment: bytes = self._writer.finish()
        self._plan._wrote()
        return fragment

    def abort(self) -> None:
        """Gives the task up."""
        self._unclosed.detach()
        self._writer.abort()

    def __enter__(self) -> Task:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Gives up what was not finished."""
        if kind is None:
            self._unclosed()  # dropped without close: warns unless it was finished
        self.abort()

    def __repr__(self) -> str:
        return f"<task {self.number}>"


class WritePlan:
    """A parallel write of one file. Made once; goes to writers by pickle or as `bytes(plan)`."""

    def __init__(self, path: Any, mode: str = "create", *, alignment: int | None = None, writers: int | None = None,
                 factor: int | None = None, durable: bool = True, checksums: bool = False, track_order: bool = False) -> None:
        """`mode` is "create" (there must be no file), "overwrite" (takes the place of the whole file) or "append". With `writers` (how many tasks there will
        be), `factor` of them share each subfile for the datasets of the plan; the default goes by the file system.
        `durable=False` does not wait for the disk, `checksums=True` records checksums for `verify(values=True)`,
        `track_order=True` the order in which tasks create groups, datasets and attributes."""
        self._uncommitted: weakref.finalize[Any, Any] | None = None
        self._is_mine = True
        self._native = _native.WritePlan(os.fsdecode(path), mode, alignment, writers, factor, durable, checksums, track_order)

    def create_dataset(self, path: str, shape: Any, dtype: Any = "f4", *, regions: Iterable[Any] | None = None, chunks: Any = None,
                       fillvalue: Any = None, compression: Any = None, compression_opts: Any = None, shuffle: bool = False,
                       fletcher32: bool = False, fill_time: str | None = None) -> None:
        """A dataset that all tasks write together, in subfiles that `factor` of them share. Task `n` writes
        `regions[n]`, or as many rows as the others (`region(path, n)` tells). Every task has it from its beginning:
        `task.dataset(path)`. The plan must know how many tasks there are (`writers=`)."""
        extent = extents("shape", shape)
        datatype = dtype_encoding.of_dtype(dtype)
        given = None if chunks is None or chunks is True else extents("chunks", chunks)
        if chunks is True and not compression and not shuffle and not fletcher32:
            raise InvalidInputError("chunks=True without a filter: give their shape")
        filters = filters_of(compression, compression_opts, shuffle, fletcher32)
        boxes = None if regions is None else [box(region, tuple(extent)) for region in regions]
        self._native.create_dataset(path, datatype, extent, given, filters, fill_of(fillvalue, datatype), boxes, fill_time)

    @property
    def root(self) -> PlanGroup:
        """The root group of the file, for what the plan itself defines: groups, attributes, links and references
        (`plan.root["latest"] = hs.SoftLink("/run")`). Tasks may define the same, and add to it."""
        return PlanGroup(PlanWriter(self._native), "/")

    @property
    def attrs(self) -> NewAttributes:
        """Attributes of the root group that the plan itself sets."""
        return self.root.attrs

    def region(self, path: str, task: int) -> tuple[slice, ...]:
        """What a task writes of a dataset of the plan."""
        return _slices(self._native.region(path, task))

    @property
    def factor(self) -> int:
        """How many tasks write a subfile together."""
        return self._native.factor

    @classmethod
    def from_bytes(cls, data: bytes) -> WritePlan:
        """The plan of `bytes(plan)`."""
        native = _native.WritePlan.decode(data)
        if native.note and not issubclass(cls, _kinds["netcdf"]):
            cls = _kinds["netcdf"]
        plan = cls.__new__(cls)
        plan._native, plan._uncommitted, plan._is_mine = native, None, False
        plan._decoded()
        return plan

    def _decoded(self) -> None:
        """Reads the note that goes with the plan."""

    def _wrote(self) -> None:
        """A task has finished: the plan is to be committed, here unless other processes know the plan."""
        if self._is_mine and self._uncommitted is None:
            message = f"the write of '{self.path}' was not committed, so nothing of it is visible: call commit() or abort()"
            self._uncommitted = unclosed.watch(self, message)

    def _ends(self) -> None:
        self._is_mine = False
        if self._uncommitted is not None:
            self._uncommitted.detach()

    def __bytes__(self) -> bytes:
        self._ends()
        return self._native.encode()

    def __reduce__(self) -> tuple[Any, ...]:
        return WritePlan.from_bytes, (bytes(self),)

    @property
    def path(self) -> str:
        """The file that readers will open."""
        return self._native.path

    @property
    def id(self) -> str:
        """What identifies this write."""
        return self._native.id

    def task(self, number: int, *, threads: int | None = None) -> Task:
        """Begins the task with this number, or another attempt at it. Rows that tasks append follow each other in
        the order of the numbers."""
        return Task(self._native.task(number, threads), number, self)

    def commit(self, fragments: Iterable[bytes]) -> Committed:
        """Makes what the tasks wrote visible, all at once. Two tasks that contradict each other, or a file that was
        changed since the plan was made, are a `ConflictError`, and nothing has changed. A commit that was done
        already, by a call that was killed say, recognises itself."""
        self._ends()
        subfiles, repeated, left, remarks = self._native.commit([bytes(fragment) for fragment in fragments])
        for remark in remarks:
            warnings.warn(remark, ManySubfilesWarning, stacklevel=2)
        return Committed([Subfile(*subfile) for subfile in subfiles], repeated, left, remarks)

    def begin(self) -> None:
        """Makes the folder of the subfiles now, before the plan goes to tasks: none of them makes it from then on, so
        `abort` may be called while some are at work. They fail, and those that come late with a `CancelledError`."""
        self._native.begin()

    def abort(self) -> None:
        """Gives the write up and removes what its tasks have written. May be called again. Tasks must have ended, but
        for plans that have begun (`begin`)."""
        self._ends()
        self._native.abort()

    def __repr__(self) -> str:
        return f"<write plan {self.id} of {self.path}>"
