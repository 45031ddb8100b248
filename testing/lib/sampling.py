"""Tests with many cases: a sample by default, all cases in `make test-slow`."""

from __future__ import annotations

import os

import pytest


def one_in(n: int) -> pytest.MarkDecorator:
    """Gives a test the argument `step`: `n` by default, 1 under the marker `slow`. Take n without a common divisor with the loop's inner lengths."""
    return pytest.mark.parametrize("step", [pytest.param(n, id=f"one in {n}"), pytest.param(1, id="all", marks=pytest.mark.slow)])


def examples(count: int) -> int:
    """The examples that Hypothesis tries: a quarter of `count` by default."""
    return count if os.environ.get("HYPERSLAB_ALL_EXAMPLES") else max(count // 4, 10)
