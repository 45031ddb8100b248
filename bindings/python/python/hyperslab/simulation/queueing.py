"""Queues in simulated time: stations that serve requests in the order of their arrival."""

from __future__ import annotations

import heapq
import random
from collections.abc import Generator
from typing import TYPE_CHECKING, TypeAlias

from ..base.extras import require

if TYPE_CHECKING:
    import simpy


#: A process: it yields the events that it waits for.
Steps: TypeAlias = "Generator[simpy.Event, object, None]"


class Engine:
    """The clock, the events and the random numbers of one simulation.

    Each part draws from a stream of its own (`random`), so that a change of one part does not change the numbers of another.
    """

    def __init__(self, seed: int) -> None:
        require("simulating", "simulate", "simpy")
        import simpy

        self.env: simpy.Environment = simpy.Environment()
        self.seed = seed
        self.requests = 0

    @property
    def now(self) -> float:
        """Simulated seconds since the beginning."""
        return float(self.env.now)

    def random(self, name: str) -> random.Random:
        """A stream of random numbers that depends on the seed and the name only."""
        return random.Random(f"{self.seed}/{name}")

    def start(self, process: Steps) -> simpy.Event:
        """Starts a generator as a process; the event that is returned fires at its end."""
        return self.env.process(process)

    def wait(self, seconds: float) -> simpy.Event:
        """An event that fires after some simulated seconds."""
        return self.env.timeout(seconds)


class Queue:
    """A station of one or more servers. Requests wait for the first free server, first come, first served.

    The service time of a request is known when it arrives, so a request costs one event, not three.
    """

    __slots__ = ("_engine", "_free", "busy_seconds", "served", "waited_seconds")

    def __init__(self, engine: Engine, servers: int = 1) -> None:
        self._engine = engine
        self._free = [0.0] * servers
        self.busy_seconds = 0.0
        self.waited_seconds = 0.0
        self.served = 0

    def serve(self, seconds: float, after_seconds: float = 0.0) -> simpy.Event:
        """Queues a request; the event that is returned fires when it has been served, and `after_seconds` later, when its answer is there."""
        now = self._engine.env.now
        begin = max(now, self._free[0])
        end = begin + seconds
        heapq.heapreplace(self._free, end)
        self.busy_seconds += seconds
        self.waited_seconds += begin - now
        self.served += 1
        self._engine.requests += 1
        return self._engine.env.timeout(end - now + after_seconds)

    def backlog_seconds(self) -> float:
        """How long a request that arrives now would wait."""
        return max(0.0, self._free[0] - float(self._engine.env.now))


class Barrier:
    """Processes meet: the event of each fires when the last one has arrived. Can be used again and again."""

    __slots__ = ("_arrived", "_engine", "_gate", "count")

    def __init__(self, engine: Engine, count: int) -> None:
        self._engine = engine
        self.count = count
        self._arrived = 0
        self._gate = engine.env.event()

    def arrive(self) -> simpy.Event:
        """The event at which all have arrived."""
        gate = self._gate
        self._arrived += 1
        if self._arrived == self.count:
            self._arrived = 0
            self._gate = self._engine.env.event()
            gate.succeed()
        return gate
