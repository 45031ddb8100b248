"""Agreement: what one process finds, and all processes of a communicator know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .type_aliases import Communicator

_Made = TypeVar("_Made")


def made_once(comm: Communicator, root: int, make: Callable[[], _Made]) -> _Made:
    """Calls `make` on process `root`, and returns its result, or raises its exception, on every process."""
    outcome: tuple[_Made | None, BaseException | None] = (None, None)
    if comm.Get_rank() == root:
        try:
            outcome = make(), None
        except Exception as error:  # every process must learn of it, or the others wait forever
            outcome = None, error
    made: _Made
    made, failure = comm.bcast(outcome, root)
    if failure is not None:
        raise failure
    return made
