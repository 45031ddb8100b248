"""Writing by many processes: into one shared file, into subfiles by collective calls, or by Hyperslab's tasks and a commit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..base.errors import InvalidInputError
from .documents import choice, quantity
from .machine import Machine
from .outcome import Outcome
from .queueing import Barrier, Engine, Queue, Steps
from .storage import FileSystem


@dataclass(frozen=True)
class WriteScenario:
    """Each of `nodes * processes_per_node` processes writes `process_bytes`."""

    way: str = choice("who writes", "shared", "independent", "subfiles", "hyperslab", default="hyperslab")
    nodes: int = quantity("number of nodes", least=1, default=1)
    processes_per_node: int = quantity("processes on each node; 0: one for each core", least=0, default=0)
    process_bytes: float = quantity("bytes that a process writes", above=0, default=float(256 << 20))
    factor: int = quantity("processes that share a subfile", least=1, default=32)
    stripe_count: int = quantity("targets of each file; 0: all", least=0, default=0)
    stripe_bytes: float = quantity("bytes of a stripe", above=0, default=float(32 << 20))
    aggregators_per_target: int = quantity("processes of a collective write that access one target", least=1, default=2)
    objects: int = quantity("datasets that each process writes", least=1, default=8)
    requests_per_process: int = quantity("how finely independent writes are simulated", least=1, most=4096, default=16)

    def run(self, machine: Machine, seed: int) -> Outcome:
        """Simulates the write."""
        return _Write(self, machine, seed).run()


class _Write:
    def __init__(self, scenario: WriteScenario, machine: Machine, seed: int) -> None:
        self.about = scenario
        self.machine = machine
        self.engine = Engine(seed)
        self.files = FileSystem(self.engine, machine, scenario.nodes)
        self.per_node = scenario.processes_per_node or machine.nodes.cores
        self.processes = scenario.nodes * self.per_node
        self.stripe_count = scenario.stripe_count or machine.targets.count
        if self.stripe_count > machine.targets.count:
            raise InvalidInputError(f"a file of {self.stripe_count} stripes does not fit on {machine.name}, which has {machine.targets.count} targets")
        self.factor = min(scenario.factor, self.processes) if scenario.way in ("subfiles", "hyperslab") else self.processes
        self.committed = 0.0

        self.random = self.engine.random("placement")
        self.starts: dict[int, int] = {}

    def first_target(self, subfile: int) -> int:
        """Lustre begins each file on another target; here on a random one."""
        if subfile not in self.starts:
            self.starts[subfile] = self.random.randrange(self.machine.targets.count)
        return self.starts[subfile]

    def node(self, process: int) -> int:
        return process // self.per_node

    def collective(self, subfile: int, first: int, count: int) -> Steps:
        """The processes of one file write it in rounds: an exchange with the aggregators, then each aggregator writes a stripe."""
        size = count * self.about.process_bytes
        yield self.files.create(self.stripe_count)
        aggregators = min(self.stripe_count * self.about.aggregators_per_target, count)
        rounds = max(1, math.ceil(size / aggregators / self.about.stripe_bytes))
        exchange = count * self.machine.collectives.seconds_per_process + math.log2(count + 1) * self.machine.collectives.latency_seconds
        barrier = Barrier(self.engine, aggregators)
        offset = self.first_target(subfile)

        def aggregator(index: int) -> Steps:
            node = self.node(first + index * count // aggregators)
            for turn in range(rounds):
                yield self.engine.wait(exchange)
                # Each aggregator has whole stripes, so that no lock moves.
                target = offset + (index + turn * aggregators) % self.stripe_count
                yield from self.files.write(node, target, size / aggregators / rounds, (subfile, index))
                yield barrier.arrive()

        yield self.engine.env.all_of([self.engine.start(aggregator(index)) for index in range(aggregators)])

    def independent(self, process: int, subfile: int, first: int) -> Steps:
        """A process writes its own part of a file. Clients that write one object take its lock from each other."""
        about = self.about
        size = about.process_bytes
        begin = (process - first) * size
        pieces = min(about.requests_per_process, max(1, math.ceil(size / about.stripe_bytes)))
        stripes = max(1.0, size / pieces / about.stripe_bytes)
        for piece in range(pieces):
            stripe = int((begin + piece * size / pieces) // about.stripe_bytes) % self.stripe_count
            target = self.first_target(subfile) + stripe
            lock = ((subfile, stripe), self.node(process))
            yield from self.files.write(self.node(process), target, size / pieces, process, lock, max(1, round(stripes)))

    def ours(self, process: int, subfile: int) -> Steps:
        """A task of Hyperslab: one small metadata operation, its bytes at places that follow from the plan, a fragment."""
        first = subfile * self.factor
        if process == first:
            yield self.files.create(self.stripe_count)
        elif self.factor > 1:
            yield self.files.open()
        yield self.engine.wait(self.machine.hyperslab.task_seconds + self.about.objects * self.machine.hyperslab.object_seconds)
        yield from self.independent(process, subfile, first)

    def job(self) -> Steps:
        engine, about = self.engine, self.about
        subfiles = math.ceil(self.processes / self.factor)
        if about.way in ("shared", "subfiles"):
            if about.way == "subfiles":
                yield self.files.create(1)  # the master
            counts = [min(self.factor, self.processes - subfile * self.factor) for subfile in range(subfiles)]
            yield engine.env.all_of([engine.start(self.collective(subfile, subfile * self.factor, counts[subfile])) for subfile in range(subfiles)])
        elif about.way == "independent":
            yield self.files.create(self.stripe_count)
            yield engine.env.all_of([engine.start(self.independent(process, 0, 0)) for process in range(self.processes)])
        else:
            yield engine.env.all_of([engine.start(self.ours(process, process // self.factor)) for process in range(self.processes)])
            begun = engine.now
            hyperslab = self.machine.hyperslab
            committer = Queue(engine)
            yield self.files.create(1)
            yield committer.serve(self.processes * (hyperslab.commit_task_seconds + about.objects * hyperslab.commit_object_seconds))
            self.committed = engine.now - begun

    def run(self) -> Outcome:
        done = self.engine.start(self.job())
        self.engine.env.run(done)
        seconds = self.engine.now
        subfiles = math.ceil(self.processes / self.factor)
        return Outcome(
            "write",
            self.about.way,
            self.machine.name,
            seconds,
            self.files.moved_bytes,
            None,
            {"commit": self.committed},
            self.files.utilization(seconds),
            {
                "processes": self.processes,
                "files": subfiles,
                "stripes of a file": self.stripe_count,
                "moves of locks": sum(target.lock_moves for target in self.files.targets),
            },
            self.engine.requests,
        )
