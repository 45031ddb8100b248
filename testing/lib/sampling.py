"""Tests whose loop has many cases: a sample by default, all cases under the marker `slow`."""

from __future__ import annotations

import pytest


def one_in(n: int) -> pytest.MarkDecorator:
    """Gives a test the argument `step`: `n` by default, 1 in `make test-slow`. Take n without a common divisor with the loop's inner lengths."""
    return pytest.mark.parametrize("step", [pytest.param(n, id=f"one in {n}"), pytest.param(1, id="all", marks=pytest.mark.slow)])
