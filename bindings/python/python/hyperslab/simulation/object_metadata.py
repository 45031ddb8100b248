"""Operations on the metadata of one HDF5 file by many processes: collective, by a server, under locks, and by Hyperslab."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .documents import choice, quantity
from .machine import Machine
from .outcome import Outcome
from .queueing import Engine, Queue, Steps

#: More processes than this are simulated in groups that act as one.
MAX_ACTORS = 512


@dataclass(frozen=True)
class MetadataScenario:
    """Each process takes part in making the same `operations` objects."""

    way: str = choice("who changes the metadata", "collective", "server", "locks", "hyperslab", default="hyperslab")
    processes: int = quantity("number of processes", least=1, default=128)
    operations: int = quantity("number of objects", least=1, default=1)
    max_actors: int = quantity("processes that are simulated one by one; more act in groups", least=1, default=MAX_ACTORS)

    def run(self, machine: Machine, seed: int) -> Outcome:
        """Simulates the operations."""
        engine = Engine(seed)
        job = {"collective": _collective, "server": _served, "locks": _locked, "hyperslab": _ours}[self.way]
        done = engine.start(job(self, machine, engine))
        engine.env.run(done)
        details = {"processes": float(self.processes), "operations": float(self.operations)}
        return Outcome("metadata", self.way, machine.name, engine.now, 0.0, details=details, requests=engine.requests)


def _collective(about: MetadataScenario, machine: Machine, engine: Engine) -> Steps:
    """All processes take part in each operation, and meet at its end."""
    yield engine.wait(machine.objects.collective_seconds)
    for _ in range(about.operations):
        yield engine.wait(about.processes * machine.objects.collective_seconds_per_process)


def _served(about: MetadataScenario, machine: Machine, engine: Engine) -> Steps:
    """One server does all operations; a process sends its next request after the answer."""
    objects = machine.objects
    yield from _queued(about, machine, engine, objects.server_seconds, objects.server_first_seconds)


def _locked(about: MetadataScenario, machine: Machine, engine: Engine) -> Steps:
    """Each process does each operation itself while it has the lock, which one manager grants."""
    objects = machine.objects
    yield from _queued(about, machine, engine, objects.lock_seconds, objects.lock_first_seconds)


def _queued(about: MetadataScenario, machine: Machine, engine: Engine, seconds: float, first_seconds: float) -> Steps:
    server = Queue(engine)
    actors = min(about.processes, about.max_actors)
    hop = machine.collectives.latency_seconds

    def actor(weight: int) -> Steps:
        for operation in range(about.operations):
            yield engine.wait(hop)
            yield server.serve(weight * (seconds + (first_seconds if operation == 0 else 0.0)))
            yield engine.wait(hop)

    weights = [about.processes // actors + (index < about.processes % actors) for index in range(actors)]
    yield engine.env.all_of([engine.start(actor(weight)) for weight in weights])


def _ours(about: MetadataScenario, machine: Machine, engine: Engine) -> Steps:
    """Tasks define objects in their own fragments; messages bring these to the committer, which merges them."""
    ours = machine.hyperslab
    yield engine.wait(ours.task_seconds + about.operations * ours.object_seconds)
    yield engine.wait(math.log2(about.processes + 1) * machine.collectives.latency_seconds)
    committer = Queue(engine)
    yield committer.serve(about.processes * (ours.commit_task_seconds + about.operations * ours.commit_object_seconds))
