"""MPI: one process plans, all processes write or index, one process commits. Needs mpi4py.

Processes wait for each other when a write begins and when it ends, and nowhere in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from . import indexes
from .base.agreement import made_once
from .base.errors import CancelledError, Error
from .base.type_aliases import Communicator, Option, Path, UInt8Array
from .indexes import Indexed
from .netcdf.plan import NetcdfPlan
from .querying.sources import Files
from .writing.node_collecting import NodeCollector, body_of, forms_of, sleep_until_all
from .writing.parallel import Committed, Task, WritePlan

if TYPE_CHECKING:
    from mpi4py import MPI


def plan(
    comm: Communicator, path: Path, mode: str = "x", *, define: Callable[[Any], object] | None = None, root: int = 0, netcdf: bool = False, **options: Option
) -> WritePlan:
    """Makes a plan on one process and shares it with all processes of `comm`. Every process calls this.

    Args:
        comm: A communicator of mpi4py.
        path, mode, options: As in `WritePlan`; `writers` is the number of processes.
        define: Called with the plan on process `root`; creates the datasets that all processes write together.
        root: The process that plans.
        netcdf: Make a `NetcdfPlan`.

    Returns:
        The plan, the same on each rank.

    Example:
        >>> plan = hs.mpi.plan(MPI.COMM_WORLD, "big.h5")
    """
    options.setdefault("writers", comm.Get_size())

    def make() -> bytes:
        made = (NetcdfPlan if netcdf else WritePlan)(path, mode, **options)
        if define is not None:
            define(made)
        return bytes(made)

    shared = WritePlan.from_bytes(made_once(comm, root, make))
    if options.get("storage_options") is not None:
        # Credentials do not travel with the plan.
        shared.set_storage_options(options["storage_options"])
    return shared


def commit(comm: Communicator, plan: WritePlan, fragment: bytes | None, *, root: int = 0) -> Committed:
    """Publishes what all processes wrote. Every process calls this, and gets the same result or exception.

    Args:
        comm: A communicator of mpi4py.
        plan: The plan of `plan`.
        fragment: The result of this process's `Task.finish`, or `None` if it failed: then nothing is published, and what was
            written is removed.
        root: The process that commits.

    Returns:
        What the commit did, on each rank.

    Raises:
        CancelledError: A process passed `None`.
        ConflictError: As in `WritePlan.commit`.

    Example:
        >>> hs.mpi.commit(comm, plan, task.finish())
    """
    fragments = comm.gather(fragment, root)

    def make() -> Committed:
        missing = [number for number, one in enumerate(fragments) if one is None]
        if missing:
            plan.abort()
            raise CancelledError(f"processes {missing} did not finish their part: nothing was written")
        return plan.commit(fragments)

    return made_once(comm, root, make)


@contextmanager
def write(
    comm: Communicator,
    path: Path,
    mode: str = "x",
    *,
    define: Callable[[Any], object] | None = None,
    root: int = 0,
    threads: int | None = None,
    **options: Option,
) -> Iterator[Task]:
    """Plans, writes and commits. Every process enters the `with` block.

    The file appears when every process has left the block. An exception in one process discards the whole write.

    Args:
        comm, path, mode, define, root, options: As in `plan`; `netcdf=True` makes tasks of netCDF.
        threads: Number of threads that compress in each process; one per core by default.

    Yields:
        The task of this process.

    Raises:
        CancelledError: Another process failed.
        ConflictError: As in `WritePlan.commit`.

    Example:
        >>> def define(plan):
        ...     plan.create_dataset("x", (4000,), "f8")
        >>> with hyperslab.mpi.write(comm, "out.h5", define=define) as task:
        ...     task.write("x", values(task.region("x")))
    """
    made = plan(comm, path, mode, define=define, root=root, **options)
    task = fragment = None
    failure: BaseException | None = None
    try:
        task = made.task(comm.Get_rank(), threads=threads)
    except Exception as error:
        failure = error
    if task is not None:
        try:
            with task:
                yield task
                fragment = task.finish()
        except BaseException as error:
            failure = error
    try:
        commit(comm, made, fragment, root=root)
    except Error:
        if failure is None:
            raise
    if failure is not None:
        raise failure


def index(
    comm: Communicator,
    files: Files,
    datasets: str | Iterable[str | tuple[str, ...]],
    level: str | None = None,
    *,
    root: int = 0,
    threads: int | None = 1,
    **options: Option,
) -> Indexed:
    """Builds value indexes as `hyperslab.index` does; each process of `comm` builds a part. Every process calls this.

    Publishes the indexes when all processes have succeeded. An exception in one process discards the whole build.

    Args:
        comm: A communicator of mpi4py.
        files, datasets, level, options: As in `hyperslab.index`.
        root: The process that plans and commits.
        threads: Number of threads of each process.

    Returns:
        What was built, on each rank.

    Example:
        >>> hs.mpi.index(MPI.COMM_WORLD, "big.h5", "/x")
    """
    size = comm.Get_size()
    tasks = made_once(comm, root, lambda: indexes.plan(files, datasets, level, **options).tasks(4 * size))
    fragments: list[bytes] = []
    failure: Exception | None = None
    try:
        fragments = [indexes.build(task, threads=threads) for task in tasks[comm.Get_rank() :: size]]
    except Exception as error:  # the others must learn of it
        failure = error
    built = comm.gather((fragments, failure is None), root)

    def make() -> Indexed:
        missing = [number for number, (_, finished) in enumerate(built) if not finished]
        if missing:
            raise CancelledError(f"processes {missing} did not finish their part: no index was changed")
        return indexes.commit([fragment for mine, _ in built for fragment in mine])

    try:
        return made_once(comm, root, make)
    except Error:
        if failure is not None:
            raise failure from None
        raise


@contextmanager
def collect(
    comm: MPI.Comm,
    path: Path,
    mode: str = "x",
    *,
    create: Callable[[Task], object],
    datasets: list[str],
    buffer_bytes: int = 16 << 20,
    threads: int | None = None,
    **options: Option,
) -> Iterator[NodeCollector]:
    """Writes rows that the processes of each node hand to one of them through shared memory. Every process enters the `with` block.

    Processes that share the rows of a dataset in turns would each write many small pieces. The first process of each node writes
    runs of whole chunks instead. The file appears when every process has left the block; an exception in one process discards
    the whole write.

    Args:
        comm: A communicator of mpi4py.
        path, mode, options: As in `WritePlan`.
        create: Called with the task of the first process of each node; creates the datasets.
        datasets: Names of the datasets whose rows are collected; their elements have a fixed size.
        buffer_bytes: Shared memory of each node.
        threads: Number of threads that compress in each process that writes.

    Yields:
        What rows are handed to.

    Raises:
        CancelledError: Another process failed.

    Example:
        >>> def create(task):
        ...     task.create_dataset("x", (10000, 64), "f4", chunks=(1000, 64))
        >>> with hyperslab.mpi.collect(comm, "out.h5", create=create, datasets=["x"]) as rows:
        ...     for n in range(comm.Get_rank(), 10000, comm.Get_size()):
        ...         rows.write("x", n, values(n))
    """
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    is_first = node.Get_rank() == 0
    writers = comm.Split(0 if is_first else MPI.UNDEFINED, comm.Get_rank())
    window = MPI.Win.Allocate_shared(buffer_bytes if is_first else 0, 1, comm=node)
    failure: BaseException | None = None
    buffer: UInt8Array = np.frombuffer(window.Shared_query(0)[0], np.uint8)
    try:
        if is_first:
            has_begun = False
            try:
                with write(writers, path, mode, threads=threads, **options) as task:
                    has_begun = True
                    yield from body_of(node, task, node.bcast(forms_of(task, create, datasets, len(buffer)), 0), buffer)
            except Exception as error:
                if not has_begun:
                    node.bcast(error, 0)  # the others wait for the forms
                raise
        else:
            yield from body_of(node, None, node.bcast(None, 0), buffer)
    except BaseException as error:
        failure = error
    del buffer
    # The first process of each node still completes its subfile.
    sleep_until_all(comm)
    failures = comm.allgather(None if failure is None else f"{type(failure).__name__}: {failure}")
    window.Free()
    node.Free()
    if is_first:
        writers.Free()
    if failure is not None:
        raise failure
    if any(failures):
        raise CancelledError(f"another process failed, so nothing was written: {next(one for one in failures if one)}")
