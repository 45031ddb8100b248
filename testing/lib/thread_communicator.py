"""A communicator whose processes are threads: what `hyperslab` needs of mpi4py's, for tests without MPI."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class ThreadCommunicator:
    """One process of a communicator."""

    def __init__(self, rank: int, size: int, slots: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size, self._slots, self._barrier = rank, size, slots, barrier

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def allgather(self, value: Any) -> list[Any]:
        self._slots[self.rank] = value
        self._barrier.wait(timeout=60)
        everyone = list(self._slots)
        self._barrier.wait(timeout=60)
        return everyone

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        everyone = self.allgather(value)
        return everyone if self.rank == root else None

    def bcast(self, value: Any, root: int = 0) -> Any:
        return self.allgather(value)[root]


def everyone(size: int, work: Callable[[ThreadCommunicator], Any]) -> list[Any]:
    """What `work` returns, or raises, in each of `size` processes."""
    slots, barrier, outcomes = [None] * size, threading.Barrier(size), [None] * size

    def one(rank: int) -> None:
        try:
            outcomes[rank] = work(ThreadCommunicator(rank, size, slots, barrier))
        except Exception as error:
            outcomes[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
