"""What notebooks show of queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.blocks import card, code, dim, facts, fold, grid, text
from .results import Step

#: Characters of an explanation, and steps.
MAX_EXPLANATION, MAX_STEPS = 4000, 10


def of_query(condition: str | None, group: str, steps: Sequence[Step], variables: Sequence[str], explanation: str) -> str:
    """A query: its condition, steps, variables and how it would run. No values are read."""
    files = {step.file for step in steps}
    rows = sum(int(np.prod(step.shape, dtype=object)) for step in steps)
    about = [
        ("condition", code(condition) if condition else dim("none: every row matches")),
        ("rows", f"{rows:,} {dim('to be tested; count() counts those that match')}"),
        ("steps", text(f"{len(steps):,} in {len(files):,} file{'' if len(files) == 1 else 's'}")),
        ("variables", text(", ".join(variables))),
    ]
    listed = grid(["file", "group", "shape"], [(step.file, step.group, step.shape) for step in steps[:MAX_STEPS]], total=len(steps))
    cut = explanation[:MAX_EXPLANATION] + ("…" if len(explanation) > MAX_EXPLANATION else "")
    run = fold("<b>how it would run</b>", f"<pre>{'<br>'.join(text(line, MAX_EXPLANATION) for line in cut.splitlines())}</pre>")
    return card("Query", group, "", facts(about), fold("<b>steps</b>", listed), run)
