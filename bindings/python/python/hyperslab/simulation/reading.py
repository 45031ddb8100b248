"""Reading one large array by the tasks of a Spark job or the processes of an MPI program."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..base.errors import InvalidInputError
from .documents import choice, quantity
from .machine import Machine
from .outcome import Outcome
from .queueing import Engine, Steps
from .spark_driver import SparkDriver, quantile
from .storage import FileSystem

#: Hyperslab's default in Spark: partitions of at most this many bytes, so that each core gets one.
MAX_PARTITION_BYTES = 64 << 20
HEADER_BYTES = 16 << 10


@dataclass(frozen=True)
class ReadScenario:
    """Reads `total_bytes` of an array in a striped file."""

    way: str = choice("who reads", "spark", "pyspark", "hyperslab", "mpi", default="hyperslab")
    nodes: int = quantity("number of nodes", least=1, default=1)
    processes_per_node: int = quantity("cores that read on each node; 0: all", least=0, default=0)
    total_bytes: float = quantity("bytes of values", above=0, default=2.0**40)
    partitions: int = quantity("tasks of Spark; 0: the default of the reader", least=0, default=0)
    stripe_count: int = quantity("targets of the file; 0: all", least=0, default=0)
    stripe_bytes: float = quantity("bytes of a stripe", above=0, default=float(1 << 20))
    order: str = choice("tasks as they lie in the file, or so that neighbors begin on different targets", "file", "stripes", default="file")
    chunks: float = quantity("chunks to be located; 0: contiguous", least=0, default=0.0)
    locate: str = choice("who finds the chunks", "tasks", "driver", default="tasks")
    caches: bool = quantity("whether partitions are kept in Spark's memory, as in H5Spark", default=False)
    requests_per_task: int = quantity("how finely a task's read is simulated", least=1, most=4096, default=8)

    def run(self, machine: Machine, seed: int) -> Outcome:
        """Simulates the read."""
        return _Read(self, machine, seed).run()


class _Read:
    def __init__(self, scenario: ReadScenario, machine: Machine, seed: int) -> None:
        self.about = scenario
        self.machine = machine
        self.engine = Engine(seed)
        self.files = FileSystem(self.engine, machine, scenario.nodes)
        self.cores_per_node = scenario.processes_per_node or machine.nodes.cores
        self.cores = scenario.nodes * self.cores_per_node
        self.stripe_count = scenario.stripe_count or machine.targets.count
        if self.stripe_count > machine.targets.count:
            raise InvalidInputError(f"a file of {self.stripe_count} stripes does not fit on {machine.name}, which has {machine.targets.count} targets")
        self.tasks = self._task_count()
        self.task_bytes = scenario.total_bytes / self.tasks
        self.pieces = min(scenario.requests_per_task, max(1, math.ceil(self.task_bytes / scenario.stripe_bytes)))
        self.spread = self._spread()
        self.core_seconds = self._core_seconds()
        self.random = self.engine.random("tasks")
        self.moved = 0.0
        self.order = self._order()

    def _task_count(self) -> int:
        about = self.about
        if about.way == "mpi":
            return self.cores
        if about.partitions:
            return about.partitions
        if about.way == "hyperslab":
            return max(self.cores, math.ceil(about.total_bytes / MAX_PARTITION_BYTES))
        return self.cores

    def _core_seconds(self) -> float:
        """Seconds of a core for a task's values after they have arrived."""
        spark, ours = self.machine.spark, self.machine.hyperslab
        rate = {"spark": spark.core_bytes_per_second, "pyspark": spark.python_core_bytes_per_second, "hyperslab": ours.core_bytes_per_second, "mpi": math.inf}
        located = 0.0 if self.about.locate == "driver" else self.about.chunks / self.tasks * ours.locate_chunk_seconds
        return self.task_bytes / rate[self.about.way] + located

    def _first_target(self, task: int) -> int:
        return int(task * self.task_bytes // self.about.stripe_bytes) % self.stripe_count

    def _spread(self) -> int:
        """Targets over which tasks are shifted. If all begin on the same few targets, their few simulated requests, which stand for
        stripes on all targets, would leave the others idle."""
        stripes = self.task_bytes / self.about.stripe_bytes
        between = math.gcd(int(stripes), self.stripe_count) if stripes.is_integer() else 1
        return between if self.pieces < min(between, stripes) else 1

    def _order(self) -> list[int]:
        """The tasks in the order in which they are launched."""
        tasks = list(range(self.tasks))
        if self.about.order == "file":
            return tasks
        seen: dict[int, int] = {}
        places = []
        for task in tasks:
            target = self._first_target(task)
            places.append((seen.get(target, 0), target, task))
            seen[target] = seen.get(target, 0) + 1
        return [task for _, _, task in sorted(places)]

    def task(self, index: int, core: int) -> Steps:
        """The steps of one task: open, then read its part target by target, then convert."""
        about, files, node = self.about, self.files, core // self.cores_per_node
        yield files.open()
        yield from files.read(node, 0, HEADER_BYTES, "header", block="header")
        task = self.order[index] if self.about.way != "mpi" else index
        pieces = self.pieces
        first = self._first_target(task) + task * pieces % self.spread
        # With the order of stripes a task begins with another of its pieces than its neighbor.
        turn = index % pieces if about.order == "stripes" else 0
        entries = about.chunks / self.tasks * self.machine.hyperslab.chunk_entry_bytes
        if entries and about.locate == "tasks":
            yield from files.read(node, first, entries, ("index", task))
        for piece in range(pieces):
            yield from files.read(node, (first + (piece + turn) % pieces) % self.stripe_count, self.task_bytes / pieces, task)
            self.moved += self.task_bytes / pieces
        if self.core_seconds:
            noise = self.machine.spark.noise if about.way != "mpi" else 0.0
            yield self.engine.wait(self.core_seconds * (self.random.lognormvariate(0.0, noise) if noise else 1.0))

    def job(self) -> Steps:
        """The whole program."""
        ours = self.machine.hyperslab
        self.driver = SparkDriver(self.engine, self.machine.spark, self.stripe_count)
        planned = 0.0
        if self.about.way != "mpi":
            yield self.files.open()
            yield from self.files.read(0, 0, HEADER_BYTES, "header", block="header")
            planned = ours.plan_file_seconds + self.tasks * ours.plan_split_seconds
            if self.about.locate == "driver":
                planned += self.about.chunks * ours.locate_chunk_seconds
                yield from self.files.read(0, 0, self.about.chunks * ours.chunk_entry_bytes, "index")
            yield self.engine.wait(planned)
        self.planned = self.engine.now
        if self.about.way == "mpi":
            yield self.engine.env.all_of([self.engine.start(self.task(index, index)) for index in range(self.tasks)])
        else:
            yield from self.driver.run(self.tasks, self.cores, self.task)

    def run(self) -> Outcome:
        spark, about = self.machine.spark, self.about
        if about.way != "mpi" and about.caches and self.task_bytes > spark.cached_partition_bytes:
            failed = f"partitions of {self.task_bytes / 2**30:.2f} GiB cannot be cached: at most {spark.cached_partition_bytes / 2**30:.2f} GiB"
            return Outcome("read", about.way, self.machine.name, 0.0, 0.0, failed)
        done = self.engine.start(self.job())
        self.engine.env.run(done)
        seconds = self.engine.now
        driver = self.driver
        return Outcome(
            "read",
            about.way,
            self.machine.name,
            seconds,
            self.moved,
            driver.failed,
            {"planning": self.planned, "launching the last task": self.tasks / spark.tasks_per_second if about.way != "mpi" else 0.0},
            self.files.utilization(seconds),
            {
                "tasks": self.tasks,
                "cores": self.cores,
                "task, median seconds": quantile(driver.task_seconds, 0.5),
                "task, longest seconds": quantile(driver.task_seconds, 1.0),
                "launch delay, 95 % of tasks, seconds": quantile(driver.launch_delays, 0.95),
                "launch delay, longest seconds": quantile(driver.launch_delays, 1.0),
                "tasks launched again": driver.relaunched,
            },
            self.engine.requests,
        )
