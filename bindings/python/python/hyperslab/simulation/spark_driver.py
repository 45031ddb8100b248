"""Spark's driver in simulated time: it launches tasks one after the other, some of them late, and again if they take too long."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from .machine import Spark
from .queueing import Engine, Queue, Steps


class SparkDriver:
    """Runs a job's tasks on cores; each free core asks the driver for the next task."""

    def __init__(self, engine: Engine, about: Spark, stripe_count: int) -> None:
        self._engine = engine
        self._about = about
        self._late_seconds = about.late_target_seconds / stripe_count
        self._random = engine.random("spark driver")
        self._launches = Queue(engine)
        self._exceeded = engine.env.event()
        self.launch_delays: list[float] = []
        self.task_seconds: list[float] = []
        self.relaunched = 0
        self.failed: str | None = None

    def run(self, task_count: int, core_count: int, task: Callable[[int, int], Steps]) -> Steps:
        """Runs all tasks: `task(index, core)` makes the steps of one. A task that took too long is launched again at its end."""
        yield self._engine.wait(self._about.start_seconds)
        pending = iter(range(task_count))
        self._exceeded = self._engine.env.event()
        cores = [self._engine.start(self._core(core, pending, task)) for core in range(min(core_count, task_count))]
        yield self._engine.env.any_of([self._engine.env.all_of(cores), self._exceeded])

    def _core(self, core: int, pending: Iterator[int], task: Callable[[int, int], Steps]) -> Steps:
        about = self._about
        for index in pending:
            asked = self._engine.now
            yield self._launches.serve(1 / about.tasks_per_second)
            if self._late_seconds and self._random.random() < about.late_fraction:
                yield self._engine.wait(self._late_seconds)
            self.launch_delays.append(self._engine.now - asked)
            for attempt in range(about.task_attempts):
                if self.failed:
                    return
                begun = self._engine.now
                yield from task(index, core)
                seconds = self._engine.now - begun
                if seconds <= about.task_timeout_seconds:
                    break
                self.relaunched += 1
                if attempt + 1 == about.task_attempts and not self.failed:
                    self.failed = f"a task took {seconds:.0f} s, more than {about.task_timeout_seconds:g} s, {about.task_attempts} times"
                    self._exceeded.succeed()
                    return
            self.task_seconds.append(seconds)


def quantile(values: list[float], fraction: float) -> float:
    """The smallest value that at least a fraction of the values do not exceed; 0 of nothing."""
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)] if values else 0.0
