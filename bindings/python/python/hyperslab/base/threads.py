"""Threads: jobs that run side by side, whose results come in order. Ctrl-C may come at any time.

`concurrent.futures` waits with locks that are written in Python: an interrupt between two of their lines leaves them locked, and the
thread that wants one next, or the end of the process, then waits forever. A `SimpleQueue` is one step of C.
"""

from __future__ import annotations

import _thread
import atexit
import collections
import os
import queue
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

Result = TypeVar("Result")


class _Answer(NamedTuple, Generic[Result]):
    """What a job returned, or its error."""

    results: tuple[Result, ...]
    error: BaseException | None


def in_order(
    jobs: Iterable[Callable[[], Result]], threads: int, depth: int, *, is_awaited: bool = True, stop: Callable[[], object] | None = None
) -> Iterator[Result]:
    """The results of jobs in their order.

    Args:
        jobs: What runs. They are taken by the caller's thread, when their turn comes.
        threads: Number of threads; with 0, jobs run in the caller's.
        depth: Jobs that are begun and not handed out, at most.
        is_awaited: Whether the end waits for jobs that run. Jobs that have not begun never run after it.
        stop: Called if the end comes before the last result: it may make running jobs end early.

    Raises:
        BaseException: The error of a job, in its turn.
    """
    if threads < 1:
        for job in jobs:
            yield job()
        return
    crew: _Crew[Result] = _Crew(threads)
    waiting: collections.deque[queue.SimpleQueue[_Answer[Result]]] = collections.deque()
    has_ended = False
    try:
        for job in jobs:
            answer = crew.ask(job)
            if answer is None:
                # The interpreter is about to end. A daemon thread gets here.
                while waiting:
                    yield _taken(waiting.popleft())
                yield job()
                continue
            waiting.append(answer)
            if len(waiting) >= depth:
                yield _taken(waiting.popleft())
        while waiting:
            yield _taken(waiting.popleft())
        has_ended = True
    finally:
        if stop is not None and not has_ended:
            stop()
        crew.dismiss(is_awaited)


def _taken(answer: queue.SimpleQueue[_Answer[Result]]) -> Result:
    results, error = answer.get()
    if error is not None:
        try:
            raise error
        finally:
            del error  # its traceback has this frame
    return results[0]


class _Crew(Generic[Result]):
    """The threads of one `in_order`. None can keep the process; its end waits for what they read."""

    def __init__(self, threads: int) -> None:
        self._most, self._started = threads, 0
        self._asked: queue.SimpleQueue[tuple[Callable[[], Result], queue.SimpleQueue[_Answer[Result]]] | None] = queue.SimpleQueue()
        self._left: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ask(self, job: Callable[[], Result]) -> queue.SimpleQueue[_Answer[Result]] | None:
        """Where the result of a job will be; `None` if no thread can start any more."""
        if self._started < self._most and not _has_ended:
            try:
                # `Thread.start` waits with a lock that is written in Python, too.
                _thread.start_new_thread(self._work, ())
            except RuntimeError:
                return None
            self._started += 1
            _crews.add(self)
        if _has_ended:
            return None
        answer: queue.SimpleQueue[_Answer[Result]] = queue.SimpleQueue()
        self._asked.put((job, answer))
        return answer

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            job, answer = asked
            try:
                answer.put(_Answer((job(),), None))
            except BaseException as error:
                answer.put(_Answer((), error))
            del asked, job, answer  # a result is as large as a unit
        self._asked.put(None)  # for the others, however many have started
        self._left.put(None)

    def dismiss(self, is_awaited: bool) -> None:
        """Drops jobs that have not begun, and ends the threads."""
        _crews.discard(self)
        while not self._asked.empty():
            try:
                self._asked.get_nowait()
            except queue.Empty:
                break
        self.end(is_awaited)

    def end(self, is_awaited: bool) -> None:
        """Ends the threads once they have done what they were asked for."""
        self._asked.put(None)
        while is_awaited and self._started:
            self._left.get()
            self._started -= 1


_crews: set[_Crew[Any]] = set()
_has_ended = False


@atexit.register
def _end() -> None:
    """Lets threads end before the interpreter does."""
    global _has_ended
    _has_ended = True
    for crew in tuple(_crews):
        crew.end(is_awaited=True)


# The child has none of the threads.
os.register_at_fork(after_in_child=_crews.clear)
