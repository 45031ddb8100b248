"""Metrics: what the server has done since it began, as Prometheus reads it."""

from __future__ import annotations

import threading

_HELP = {
    "queries": "Queries that ended, by outcome.",
    "rows": "Rows that were sent.",
    "bytes": "Bytes of results that were sent, as Arrow has them in memory.",
    "seconds": "Seconds that queries took until their last row was sent.",
    "refused": "Calls that were refused, by reason.",
    "unreadable_files": "Times that a file of the folder could not be listed.",
}


class Metrics:
    """Counters that any thread may add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], float] = {}

    def add(self, name: str, amount: float = 1, label: str = "") -> None:
        """Adds to a counter.

        Args:
            name: `queries`, `rows`, `bytes`, `seconds`, `refused` or `unreadable_files`.
            amount: What is added.
            label: The outcome of a query or the reason of a refusal.
        """
        assert name in _HELP
        with self._lock:
            self._counts[name, label] = self._counts.get((name, label), 0) + amount

    def text(self, **gauges: float) -> str:
        """All counters, and gauges that the caller knows, in Prometheus' text format."""
        with self._lock:
            counts = dict(self._counts)
        lines = []
        for name, meaning in _HELP.items():
            full = f"hyperslab_{name}_total"
            lines += [f"# HELP {full} {meaning}", f"# TYPE {full} counter"]
            labelled = {label: value for (known, label), value in counts.items() if known == name}
            key = "outcome" if name == "queries" else "reason"
            lines += [f'{full}{{{key}="{label}"}} {value}' if label else f"{full} {value}" for label, value in sorted(labelled.items())]
        for name, value in gauges.items():
            lines += [f"# TYPE hyperslab_{name} gauge", f"hyperslab_{name} {value}"]
        return "\n".join(lines) + "\n"
