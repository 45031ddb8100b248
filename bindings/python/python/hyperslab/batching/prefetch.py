"""Batch prefetch: threads that read ahead, in order and a bounded number of reads."""

from __future__ import annotations

import collections
import concurrent.futures
from collections.abc import Callable, Iterator
from typing import TypeVar

Result = TypeVar("Result")


def read_ahead(jobs: Iterator[Callable[[], Result]], threads: int, depth: int) -> Iterator[Result]:
    """The results of jobs in their order. At most `depth` jobs are begun that were not handed out.

    The caller may stop at any time: the generator's end drops jobs that have not begun, and waits for none. An error of a job is
    raised in its turn."""
    if threads < 1:
        for job in jobs:
            yield job()
        return
    pool = concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="hyperslab-batches")
    waiting: collections.deque[concurrent.futures.Future[Result]] = collections.deque()
    try:
        for job in jobs:
            try:
                waiting.append(pool.submit(job))
            except RuntimeError:
                # The interpreter is about to end, and starts no more threads. A daemon thread gets here.
                while waiting:
                    yield waiting.popleft().result()
                yield job()
                continue
            if len(waiting) >= depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
