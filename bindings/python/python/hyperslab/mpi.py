"""MPI: one plan, made on one process; every process writes, or indexes; one commits. Needs mpi4py.

Processes wait for each other when a write begins and when it ends, and nowhere between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import indexes
from .errors import CancelledError, Error
from .indexes import Indexed
from .netcdf_plan import NetcdfPlan
from .parallel import Committed, Task, WritePlan


def _shared(comm: Any, root: int, make: Callable[[], Any]) -> Any:
    """What `make` gives on `root`, on every process; its exception on every process too."""
    outcome: tuple[Any, BaseException | None] = (None, None)
    if comm.Get_rank() == root:
        try:
            outcome = make(), None
        except Exception as error:  # every process must hear of it, or the others wait for ever
            outcome = None, error
    made, failure = comm.bcast(outcome, root)
    if failure is not None:
        raise failure
    return made


def plan(comm: Any, path: Any, mode: str = "create", *, define: Callable[[Any], object] | None = None, root: int = 0,
         netcdf: bool = False, **options: Any) -> WritePlan:
    """A plan for all processes of `comm`, as `WritePlan(path, mode, writers=comm.size, **options)`, or with `netcdf=True`
    as `NetcdfPlan`. `define` is called with it on process `root`, and creates what all write together. Every process calls
    this."""
    options.setdefault("writers", comm.Get_size())

    def make() -> bytes:
        made = (NetcdfPlan if netcdf else WritePlan)(path, mode, **options)
        if define is not None:
            define(made)
        return bytes(made)

    return WritePlan.from_bytes(_shared(comm, root, make))


def commit(comm: Any, plan: WritePlan, fragment: bytes | None, *, root: int = 0) -> Committed:
    """Makes what all processes wrote visible: process `root` commits their fragments, and all hear how it ended. Where
    one process gives `None`, nothing becomes visible and what was written is removed. Every process calls this."""
    fragments = comm.gather(fragment, root)

    def make() -> Committed:
        missing = [number for number, one in enumerate(fragments) if one is None]
        if missing:
            plan.abort()
            raise CancelledError(f"processes {missing} did not finish their part: nothing was written")
        return plan.commit(fragments)

    done: Committed = _shared(comm, root, make)
    return done


@contextmanager
def write(comm: Any, path: Any, mode: str = "create", *, define: Callable[[Any], object] | None = None, root: int = 0,
          threads: int | None = None, **options: Any) -> Iterator[Any]:
    """Plan, write, commit: `with hyperslab.mpi.write(comm, "out.h5", define=...) as task: task.write("x", values)`.

    With `netcdf=True` the plan and the task are those of netCDF. The file becomes visible when every process has left the `with`; an exception in one of them gives the whole write
    up. Every process enters."""
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


def index(comm: Any, files: Any, datasets: str | Iterable[str], level: str | None = None, *, root: int = 0, threads: int | None = 1,
          **options: Any) -> Indexed:
    """Builds value indexes as `hyperslab.index` does, the processes of `comm` a part of the blocks each. Nothing is
    visible before all is built; an exception in one of them gives the whole up. Every process calls this."""
    size = comm.Get_size()
    tasks = _shared(comm, root, lambda: indexes.plan(files, datasets, level, **options).tasks(4 * size))
    fragments: list[bytes] = []
    failure: Exception | None = None
    try:
        fragments = [indexes.build(task, threads=threads) for task in tasks[comm.Get_rank()::size]]
    except Exception as error:  # the others must hear of it
        failure = error
    built = comm.gather((fragments, failure is None), root)

    def make() -> Indexed:
        missing = [number for number, (_, finished) in enumerate(built) if not finished]
        if missing:
            raise CancelledError(f"processes {missing} did not finish their part: no index was changed")
        return indexes.commit([fragment for mine, _ in built for fragment in mine])

    try:
        done: Indexed = _shared(comm, root, make)
    except Error:
        if failure is not None:
            raise failure from None
        raise
    return done
