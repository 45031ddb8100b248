"""Jobs on threads: in order, errors in their turn, and Ctrl-C at any moment."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from hyperslab.base.threads import in_order

#: What was found with `concurrent.futures`: an error of the interpreter's own locks, or a process that never ends.
INTERRUPTED = """
    import random, signal, threading
    from hyperslab.base.threads import in_order

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    caught = 0
    for turn in range(1500):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0002 + random.random() * 0.002)
            for result in in_order((lambda: sum(range(200)) for _ in range(100_000)), 3, 4, is_awaited=bool(turn % 2)):
                assert result == 19900
        except KeyboardInterrupt:
            caught += 1
    print(caught)
"""


def test_an_interrupt_at_any_moment_ends_the_jobs_and_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(INTERRUPTED)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == 1500


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_results_are_in_the_order_of_the_jobs(threads: int) -> None:
    def job(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return number

    assert list(in_order((partial(job, number) for number in range(40)), threads, 5)) == list(range(40))


def test_few_jobs_are_begun_ahead() -> None:
    begun: list[int] = []
    results = in_order((partial(begun.append, number) for number in range(100)), 2, 4)
    for _ in range(10):
        next(results)
    assert len(begun) <= 14
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 14


def test_an_error_is_raised_in_its_turn_and_the_end_waits_for_what_runs() -> None:
    running, stopped = threading.Event(), threading.Event()
    ended: list[str] = []

    def slow() -> str:
        running.set()
        assert stopped.wait(30)
        ended.append("slow")
        return "slow"

    def failing() -> str:
        assert running.wait(30)
        raise ValueError("mine")

    jobs: list[Callable[[], str]] = [lambda: "first", failing, slow]
    results = in_order(jobs, 3, 3, stop=stopped.set)
    assert next(results) == "first"
    with pytest.raises(ValueError, match="mine"):
        next(results)
    assert ended == ["slow"]
