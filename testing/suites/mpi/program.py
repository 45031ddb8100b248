"""What the tests run under mpiexec: `program.py CASE FOLDER`."""

from __future__ import annotations

import os
import pathlib
import signal
import sys

import hyperslab as hs
import hyperslab.mpi
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
case, path = sys.argv[1], pathlib.Path(sys.argv[2]) / "out.h5"
ROWS = 1000


def define(plan: hs.WritePlan) -> None:
    plan.create_dataset("run", (ROWS * size, 3), "f8")
    plan.create_dataset("packed", (ROWS * size,), "i4", chunks=(100,), compression="gzip", shuffle=True)
    plan.create_dataset(
        "odd", (sum(7 + n for n in range(size)),), "i2", regions=[np.s_[7 * n + n * (n - 1) // 2 : 7 * (n + 1) + n * (n + 1) // 2] for n in range(size)]
    )


def body(task: hs.Task) -> None:
    for name in ("run", "packed", "odd"):
        task.write(name, rank + 1)
    task.create_dataset("rows", data=np.full(rank + 1, rank), rows=True)
    task.attrs["processes"] = size


def refused(error: type[Exception], words: str, work) -> None:
    try:
        work()
    except error as caught:
        assert words in str(caught), caught
        return
    raise AssertionError(f"no {error.__name__} on process {rank}")


if case == "write":
    with hyperslab.mpi.write(comm, path, define=define, factor=2) as task:
        body(task)
    assert path.exists() or comm.Get_rank() != 0
elif case == "mesh":
    # Each process has some faces of all times; `plan` divides them, or the process does.
    made: dict[str, object] = {}

    def define_mesh(plan: hs.NetcdfPlan) -> None:
        plan.create_dimension("time", 4)
        made["mesh"] = hs.models.ugrid.define(plan, nodes=8, faces=100)
        made["mesh"].create_data(plan, "t", "face", "f4", dims=["time"])

    for name, writers in (("divided", {}), ("own", {"writers": None})):
        with hyperslab.mpi.write(comm, path.with_name(f"{name}.nc"), define=define_mesh, netcdf=True, **writers) as task:
            mesh = comm.bcast(made.get("mesh"))
            own = slice(100 * rank // size, 100 * (rank + 1) // size) if writers else task.region("/t")[1]
            values = np.arange(4)[:, None] * 1000.0 + np.arange(own.start, own.stop)
            if rank % 2:
                mesh.write(task, "face", own, t=values)
            else:
                for time in range(4):
                    mesh.write(task, "face", own, at={"time": time}, t=values[time])
            refused(hs.InvalidInputError, "is written over", lambda task=task, own=own: mesh.write(task, "face", own, t=np.zeros(own.stop - own.start)))
elif case == "netcdf":

    def define_netcdf(plan: hs.NetcdfPlan) -> None:
        plan.create_dimension("time", None)
        plan.create_dimension("x", ROWS * size)
        plan.create_variable("x", ["x"], data=np.arange(ROWS * size), attrs={"units": "m"})
        plan.create_variable("time", ["time"], "M8[h]")
        plan.create_variable("field", ["x"], "f4", attrs={"units": "K"})
        plan.create_variable("series", ["time"], "i4")

    for mode in ("x", "a"):
        with hyperslab.mpi.write(comm, path, mode, define=define_netcdf, netcdf=True, **({"factor": 2} if mode == "x" else {})) as task:
            if mode == "x":
                task.write("field", rank)
            task.write("time", np.array([f"2000-01-01T{rank:02d}"], "M8[h]"))
            task.write("series", [rank])
elif case == "append":
    with hyperslab.mpi.write(comm, path, "a") as task:
        task.create_dataset("rows", data=np.full(2, 100 + rank), rows=True)
elif case == "one fails":

    def work() -> None:
        with hyperslab.mpi.write(comm, path, "w", define=define) as task:
            body(task)
            if rank == size - 1:
                raise ZeroDivisionError("mine")

    refused(ZeroDivisionError if rank == size - 1 else hs.Error, "mine" if rank == size - 1 else f"[{size - 1}]", work)
elif case == "plan fails":

    def work() -> None:
        with hyperslab.mpi.write(comm, path, "x", define=define):
            raise AssertionError("a plan for a file that is there")

    refused(hs.ConflictError, "already", work)
elif case == "conflict":

    def work() -> None:
        with hyperslab.mpi.write(comm, path, "w") as task:
            task.attrs["whose"] = rank

    refused(hs.ConflictError, "different values", work)
elif case == "killed":
    plan = hyperslab.mpi.plan(comm, path, "w", define=define)
    task = plan.task(rank)
    body(task)
    if rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    hyperslab.mpi.commit(comm, plan, task.finish())
elif case == "index":
    built = hyperslab.mpi.index(comm, path, ["/x", "/y"], "X")
    assert built.datasets == 2 and built.built_blocks == 2 * 8, built
    assert hs.query(path, "/", "x > 0.999").count() == hs.query(path, "/", "x > 0.999 && y < 2").count()
elif case == "index fails":
    build = hs.indexes.build

    def task(one: bytes, *, threads: int | None = None) -> bytes:
        if rank == size - 1:
            raise ZeroDivisionError("mine")
        return build(one, threads=threads)

    hs.indexes.build = task
    refused(
        ZeroDivisionError if rank == size - 1 else hs.Error, "mine" if rank == size - 1 else f"[{size - 1}]", lambda: hyperslab.mpi.index(comm, path, "/x", "X")
    )
    refused(hs.NotFoundError, "nothing", lambda: hyperslab.mpi.index(comm, path, "/nothing", "X"))
elif case == "openpmd":
    openpmd = hs.models.openpmd
    length = (1, 0, 0, 0, 0, 0, 0)
    for name in ("out.h5", "out_%T.h5"):
        with openpmd.create(path.with_name(name), comm=comm, attrs={"author": "processes"}) as series:
            for number in (0, 10):
                x = np.arange(float(rank + number)) + 100 * rank  # process 0 has no particles in iteration 0
                y = np.full(len(x), rank, "f4")
                mesh = openpmd.Mesh(
                    values={"x": np.full((3, 4), rank, "f4"), "y": 2.0}, dimension=length, axes=("y", "x"), spacing=(1, 1), offset=(0, 0),
                    grid_unit_si=1.0, position=(0, 0), shape=(3 * size, 4), partition=np.s_[3 * rank : 3 * rank + 3],
                )  # fmt: skip
                patch = openpmd.Patch(particles=len(x), offset={"x": 100.0 * rank, "y": rank}, extent={"x": 100.0, "y": 1})
                records = {"position": openpmd.Record(values={"x": x, "y": y}, dimension=length, unit_si=1e-6)}
                given = {"particles": {"e": records}, "meshes": {"E": mesh}, "patches": {"e": [patch]}}
                if number == 10:
                    wrong = given | ({"particles": {"a b": records}} if rank == size - 1 else {})
                    last = rank == size - 1
                    refused(hs.InvalidInputError if last else hs.CancelledError, "letters" if last else f"process {size - 1}", lambda given=wrong: series.write_iteration(10, time=5.0, dt=0.5, **given))  # fmt: skip
                    wrong = given | ({"patches": {"e": []}} if rank == size - 1 else {})
                    refused(hs.InvalidInputError if last else hs.CancelledError, "patches" if last else f"process {size - 1}", lambda given=wrong: series.write_iteration(10, time=5.0, dt=0.5, **given))  # fmt: skip
                series.write_iteration(number, time=number * 0.5, dt=0.5, **given)
elif case == "particles":
    with hs.models.h5part.create(path, comm=comm, attrs={"processes": size}) as run:
        for step in range(3):
            if step == 2 and sys.argv[3:] == ["killed"] and rank == size - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            if step == 1:
                refused(
                    hs.InvalidInputError if rank == 0 else hs.CancelledError,
                    "give equally many" if rank == 0 else "process 0",
                    lambda: run.write_step({"x": np.zeros(2), "id": np.zeros(3 if rank == 0 else 2, int)}),
                )
            count = 100 * rank + step
            run.write_step({"x": np.full(count, rank + step / 2), "id": np.arange(count)}, time=step / 2)
elif case == "fields":
    with hs.models.h5block.create(path, (4 * size, 3, 5), origin=(0, 0, 0), spacing=(1, 1, 1), comm=comm, commit=sys.argv[3]) as run:
        for step in range(2):
            padded = np.full((6, 3, 5), rank + step * 10)
            padded[0], padded[-1] = -1, -1
            run.write_step({"phi": padded}, time=step / 2, partition=np.s_[4 * rank : 4 * rank + 4, :, :], ghosts=((1, 1), (0, 0), (0, 0)))
elif case.startswith("collect"):

    class Nodes:
        """Processes of this machine as if they were on two nodes."""

        def __getattr__(self, name: str):
            return getattr(comm, name)

        def Split_type(self, kind: int) -> MPI.Comm:
            return comm.Split(rank % 2, rank)

    given = Nodes() if "nodes" in case else comm
    total, data = 1003, np.arange(1003 * 4).reshape(1003, 4)

    def create(task: hs.Task) -> None:
        if "create fails" in case:
            raise ZeroDivisionError("create")
        task.create_dataset("x", (total, 4), "i8", chunks=(50, 4), compression="gzip")
        task.create_dataset("y", (total,), "f4")

    def collect() -> None:
        mode = "x" if "plan fails" in case else "w"
        with hyperslab.mpi.collect(given, path, mode, create=create, datasets=["x", "y"], buffer_bytes=8000) as rows:
            # Pieces of 3 rows in turns; the last process has no rows of y, so it calls write less often.
            for first in range(3 * rank, total, 3 * size):
                rows.write("x", first, data[first : first + 3])
            if "one fails" in case and rank == size - 1:
                raise ZeroDivisionError("mine")
            if "twice" in case:
                rows.write("x", 0, data[0])
            others = max(size - 1, 1)
            for row in range(rank, total, others) if rank < others else ():
                rows.write("y", row, row)
            if "late" in case and rank == 0:
                rows.write("x", 0, np.zeros(7))

    if "one fails" in case:
        refused(ZeroDivisionError if rank == size - 1 else hs.CancelledError, "mine" if rank == size - 1 else "", collect)
    elif "create fails" in case:
        refused(ZeroDivisionError, "create", collect)
    elif "plan fails" in case:
        refused(hs.ConflictError, "already", collect)
    elif "late" in case:
        # The rows have another shape: only the process that made the mistake says so.
        refused(hs.InvalidInputError if rank == 0 else hs.CancelledError, "shape" if rank == 0 else "", collect)
    elif "twice" in case:
        refused(hs.InvalidInputError, "twice", collect)
    else:
        collect()
else:
    raise SystemExit(case)
