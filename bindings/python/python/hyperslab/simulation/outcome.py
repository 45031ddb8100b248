"""What a simulation found."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..base.type_aliases import JsonObject


@dataclass(frozen=True)
class Outcome:
    """The outcome of one simulated run. None of it was measured.

    Attributes:
        seconds: Simulated seconds from the beginning to the end.
        moved_bytes: Bytes of values that were read or written.
        failed: Why the simulated job failed, else `None`. The seconds are then those until it failed.
        phases: Seconds of parts of the run, by name.
        utilization: How busy parts of the machine were, 0 to 1, by name.
        details: Other figures, by name.
        requests: Number of simulated requests.
    """

    kind: str
    way: str
    machine: str
    seconds: float
    moved_bytes: float
    failed: str | None = None
    phases: dict[str, float] = field(default_factory=dict)
    utilization: dict[str, float] = field(default_factory=dict)
    details: dict[str, float] = field(default_factory=dict)
    requests: int = 0

    @property
    def bytes_per_second(self) -> float:
        """Bytes of values per simulated second; 0 if the job failed."""
        return self.moved_bytes / self.seconds if self.seconds > 0 and not self.failed else 0.0

    def to_dict(self) -> JsonObject:
        """All of it as plain values, for JSON.

        Returns:
            A dictionary, in which `simulated` is true.
        """
        return {"simulated": True, **dataclasses.asdict(self), "bytes_per_second": self.bytes_per_second}
