"""Parallel writes: a plan, tasks that write subfiles anywhere, fragments, and one commit. Readers see one file."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from .. import _native
from ..backends import unclosed
from ..backends.plan_writer import PlanWriter
from ..backends.tasking import Planning, Tasking, box, slices
from ..base.arguments import check_mode
from ..base.blocks import card, facts, text
from ..base.errors import Error, InvalidInputError, InvalidTypeError, OmittedColumnsWarning
from ..base.extras import late
from ..base.type_aliases import DtypeLike, Key, Path, ShapeLike
from ..objects.attributes import Attributes
from ..objects.dataset import Dataset
from ..objects.filters import filters_of
from ..objects.group import Group
from ..sources.addresses import options_of
from ..values import dtype_encoding
from ..values.dtype_encoding import extents, fill_of

if TYPE_CHECKING:
    from typing_extensions import Self


class Subfile(NamedTuple):
    """A subfile of a commit: its name, its size in bytes, and the task that wrote it (of several tasks, the first)."""

    name: str
    bytes: int
    task: int


class ManySubfilesWarning(UserWarning):
    """A file has about as many subfiles as programs can have open. Other programs show fill values for those that they cannot open."""


class Committed(NamedTuple):
    """What a commit did.

    Attributes:
        subfiles: The subfiles of the commit.
        repeated: Whether an earlier call had made this commit already.
        left: Leftover files that could not be removed; the file is complete all the same.
        remarks: What makes the file hard to read for other programs.
    """

    subfiles: list[Subfile]
    repeated: bool
    left: list[str]
    remarks: list[str]


#: Modules and names of the classes of plans that leave a note for their tasks, by the key of the note. The process of a task may not have
#: imported them.
_KINDS = {"netcdf": ("netcdf.plan", "NetcdfPlan"), "steps": ("models.step_plan", "StepPlan")}


class Task(Group):
    """One writer's part of a parallel write: a group, whose members are those that the task has defined. `finish()` returns the fragment to pass to `WritePlan.commit`. A task that is
    not finished leaves nothing."""

    _backend_class: type[Tasking] = Tasking

    def __init__(self, native: _native.Writer, number: int, plan: WritePlan) -> None:
        self._tasking = self._backend_class(native, plan.path, number)
        super().__init__(self._tasking, self._tasking.file.root, "/")
        self.number, self._plan = number, plan

    @property
    def plan(self) -> WritePlan:
        """The plan that it is a task of."""
        return self._plan

    def dataset(self, path: str) -> Dataset:
        """A dataset of the plan, or one that this task created.

        Args:
            path: Path of a dataset of the plan.

        Returns:
            The part of the dataset that this task writes.

        Example:
            >>> task.dataset("x")[...] = values
        """
        self._tasking.open_dataset(path)
        found = self[path]
        if not isinstance(found, Dataset):
            raise InvalidTypeError(f"{found.name} is not a dataset", self._plan.path, found.name)
        return found

    def region(self, path: str) -> tuple[slice, ...]:
        """The part of a dataset of the plan that this task writes.

        Args:
            path: Path of a dataset of the plan.

        Returns:
            The slices of the dataset that this task writes.

        Example:
            >>> task.region("x")
        """
        box = self._tasking.region(path)
        if box is None:
            raise InvalidInputError(f"{path} has no region: this task may write any part of it")
        return slices(box)

    def write(self, path: str, values: object) -> None:
        """Writes this task's region of a dataset of the plan.

        Args:
            path: Path of a dataset of the plan.
            values: The values of the region of this task.

        Example:
            >>> task.write("x", values)
        """
        self.dataset(path)[self.region(path)] = values

    def finish(self) -> bytes:
        """Completes the subfile. Readers see nothing of it before the commit.

        Returns:
            The fragment to pass to `WritePlan.commit`.

        Example:
            >>> fragment = task.finish()
        """
        fragment = self._tasking.finish()
        self._plan._wrote()
        return fragment

    def abort(self) -> None:
        """Discards the task.

        Example:
            >>> task.abort()
        """
        self._tasking.abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Discards the task unless it was finished."""
        self._tasking.end(kind is not None)

    def __repr__(self) -> str:
        return f"<task {self.number}>"


class PlanOptions(TypedDict, total=False):
    """Options of a plan besides path, mode, writers and the order of what it defines."""

    alignment: int | None
    factor: int | None
    durable: bool
    checksums: bool
    storage_options: Mapping[str, object] | None


class WritePlan:
    """A parallel write of one file. Make it once, and send it to writers by pickle or as `bytes(plan)`.

    Example:
        >>> plan = hs.WritePlan("big.h5", writers=4)
        >>> plan.create_dataset("x", (4000,), "f8")
        >>> fragments = []
        >>> for number in range(4):  # in other processes, or on other machines
        ...     with plan.task(number) as task:
        ...         task.write("x", values(task.region("x")))
        ...         fragments.append(task.finish())
        >>> plan.commit(fragments)
    """

    def __init__(
        self,
        path: Path,
        mode: str = "x",
        *,
        alignment: int | None = None,
        writers: int | None = None,
        factor: int | None = None,
        durable: bool = True,
        checksums: bool = False,
        track_order: bool = False,
        storage_options: Mapping[str, object] | None = None,
    ) -> None:
        """Plans a write.

        Args:
            path: The file that readers will open, or its address in an object store (`s3://`, `gs://`, `az://`).
            mode: `x` refuses to replace an existing file, `w` replaces the whole file. `a` adds to a file that a plan has written, or creates
                it (local files only).
            alignment: As in `hyperslab.create`.
            writers: Number of tasks. Needed for datasets of the plan.
            factor: Number of tasks that share a subfile for the datasets of the plan; by default chosen by file system, and 1 in an object store.
            durable: Wait until subfiles and the commit are on the disk.
            checksums: Record checksums for `verify(values=True)`; local files only.
            track_order: Record the order in which tasks create groups, datasets and attributes.
            storage_options: Options of the store of an address, as in `hyperslab.open`. They travel with the plan, except credentials: other
                processes take these from their environment, or from `set_storage_options`.
        """
        self._uncommitted: unclosed.Watch | None = None
        self._is_mine = True
        check_mode(mode, ("x", "w", "a"))
        self._native = _native.WritePlan(os.fsdecode(path), mode, alignment, writers, factor, durable, checksums, track_order, options_of(storage_options))

    def create_dataset(
        self,
        path: str,
        shape: ShapeLike,
        dtype: DtypeLike = "f4",
        *,
        regions: Iterable[Key] | None = None,
        chunks: ShapeLike | bool | None = None,
        fillvalue: object = None,
        compression: str | int | None = None,
        compression_opts: object = None,
        shuffle: bool = False,
        fletcher32: bool = False,
        fill_time: str | None = None,
    ) -> None:
        """Creates a dataset that all tasks write together, in subfiles that `factor` of them share. Every task has it from
        the beginning: `task.dataset(path)`. The plan must know the number of tasks (`writers=`).

        Args:
            path: Path of the dataset.
            shape: Shape of the whole dataset.
            dtype: The dtype.
            regions: The part of each task, such as `np.s_[100:200]`; by default all tasks write equally many rows.
            chunks, fillvalue, compression, compression_opts, shuffle, fletcher32, fill_time: As in
                `Group.create_dataset`.

        Example:
            >>> plan.create_dataset("x", (1000, 1000), "f8", regions=[np.s_[:500], np.s_[500:]])
        """
        extent = extents("shape", shape)
        datatype = dtype_encoding.of_dtype(dtype)
        given = None if chunks is None or chunks is True else extents("chunks", chunks)
        if chunks is True and not compression and not shuffle and not fletcher32:
            raise InvalidInputError("chunks=True without a filter: give their shape")
        filters, fill = filters_of(compression, compression_opts, shuffle, fletcher32), fill_of(fillvalue, datatype)
        boxes = None if regions is None else [box(region, tuple(extent)) for region in regions]
        self._native.create_dataset(path, _native.DatasetDefinition(datatype, extent, chunks=given, filters=filters, fill=fill, fill_time=fill_time), boxes)

    @property
    def root(self) -> Group:
        """The root group of the file, for groups, attributes, links and references that the plan itself defines
        (`plan.root["latest"] = hs.SoftLink("/run")`). Tasks may define the same, and add to it."""
        return Group(Planning(PlanWriter(self._native), self.path), 0, "/")

    @property
    def attrs(self) -> Attributes:
        """Attributes of the root group."""
        return self.root.attrs

    def region(self, path: str, task: int) -> tuple[slice, ...]:
        """The part of a dataset of the plan that a task writes.

        Args:
            path: Path of a dataset of the plan.
            task: Number of the task.

        Returns:
            The slices of the dataset that the task writes.

        Example:
            >>> plan.region("x", 0)
        """
        return slices(self._native.region(path, task))

    @property
    def factor(self) -> int:
        """The number of tasks that share a subfile."""
        return self._native.factor

    @classmethod
    def from_bytes(cls, data: bytes) -> WritePlan:
        """Restores a plan from `bytes(plan)`.

        Args:
            data: What `bytes(plan)` returned.

        Returns:
            The same plan in another process.

        Example:
            >>> hs.WritePlan.from_bytes(bytes(plan))
        """
        native = _native.WritePlan.decode(data)
        try:
            if native.note:
                # The note has the kind of the plan as its only key.
                (kind,) = json.loads(native.note)
                module, name = _KINDS[kind]
                known = getattr(late(module), name)
                cls = cls if issubclass(cls, known) else known
            plan = cls.__new__(cls)
            plan._native, plan._uncommitted, plan._is_mine = native, None, False
            plan._decoded()
        except Error:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(f"these bytes are not a write plan: its note is damaged ({error})") from None
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

    def __reduce__(self) -> tuple[object, ...]:
        return WritePlan.from_bytes, (bytes(self),)

    @property
    def path(self) -> str:
        """The file that readers will open."""
        return self._native.path

    @property
    def id(self) -> str:
        """The identifier of this write."""
        return self._native.id

    def set_storage_options(self, storage_options: Mapping[str, object]) -> None:
        """Sets the options of the store in this process, with the credentials that do not travel with the plan.

        Args:
            storage_options: As in `hyperslab.open`.

        Raises:
            InvalidInputError: The plan writes local files.

        Example:
            >>> plan = hs.WritePlan.from_bytes(data)
            >>> plan.set_storage_options({"access_key_id": "...", "secret_access_key": "..."})
        """
        self._native.set_storage_options(options_of(storage_options))

    def task(self, number: int, *, threads: int | None = None) -> Task:
        """Begins a task, or another attempt at it.

        Args:
            number: Number of the task, from 0. Rows that tasks append come in the order of the numbers.
            threads: Number of threads that compress; one per core by default.

        Returns:
            The task; `with` aborts it if it was not finished.

        Example:
            >>> with plan.task(0) as task:
            ...     task["x"] = values
            ...     fragment = task.finish()
        """
        return Task(self._native.task(number, threads), number, self)

    def commit(self, fragments: Iterable[bytes]) -> Committed:
        """Publishes what the tasks wrote, atomically. Repeating a commit, for example after a killed call, is harmless.

        Args:
            fragments: The results of `Task.finish`.

        Returns:
            What the commit did.

        Raises:
            ConflictError: Tasks contradict each other, or the file changed since the plan was made. Nothing has changed.

        Warns:
            ManySubfilesWarning: Other programs may be unable to open all subfiles.
            OmittedColumnsWarning: Datasets of a group had equal numbers of rows, as the columns of a table, and this append leaves them with several.

        Example:
            >>> plan.commit(fragments)
        """
        self._ends()
        done = self._native.commit([bytes(fragment) for fragment in fragments])
        remarks = done.remarks
        for remark in remarks:
            warnings.warn(remark, ManySubfilesWarning, stacklevel=2)
        for group in done.unequal_rows:
            warnings.warn(group, OmittedColumnsWarning, stacklevel=2)
        subfiles = [Subfile(subfile.name, subfile.bytes, subfile.task) for subfile in done.subfiles]
        return Committed(subfiles, done.repeated, done.left, remarks)

    def begin(self) -> None:
        """Creates the folder of the subfiles now, before the plan goes to tasks. `abort` may then be called while tasks are
        running: they fail, and tasks that begin later raise `CancelledError`. In an object store this puts a small object, which each
        task looks for when it begins and when it ends.

        Example:
            >>> plan.begin()
        """
        self._native.begin()

    def abort(self) -> None:
        """Discards the write, and removes what its tasks wrote. May be repeated. Tasks must have ended, unless `begin` was
        called.

        Example:
            >>> plan.abort()
        """
        self._ends()
        self._native.abort()

    def __repr__(self) -> str:
        return f"<write plan {self.id} of {self.path}>"

    def _repr_html_(self) -> str:
        return card("WritePlan", str(self.path), str(self.id), facts([("next", text("give it to tasks: plan.task(number), then plan.commit(fragments)"))]))
