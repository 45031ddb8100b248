"""Limits: what a query may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one query, and all together, may cost.

    Attributes:
        rows: Rows of a result.
        bytes: Bytes of a result, as Arrow has them in memory.
        seconds: Time from the request until the last row is fetched.
        queries: Queries that run at once. One more waits for `wait_seconds`, and is refused then.
        wait_seconds: How long a query waits for its turn.
        memory: Bytes that DuckDB may use for all queries together. Nothing is written to the disk.
        unfetched_seconds: How long a result that the client does not begin to fetch is kept.
        statements: Prepared statements that are kept; the one that was unused the longest goes first.
        parameter_rows: Sets of parameters that one execution may have.
    """

    rows: int = 100_000_000
    bytes: int = 16 << 30
    seconds: float = 300.0
    queries: int = 8
    wait_seconds: float = 10.0
    memory: int = 2 << 30
    unfetched_seconds: float = 30.0
    statements: int = 1000
    parameter_rows: int = 1000
