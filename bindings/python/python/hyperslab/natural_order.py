"""Natural order: file names sorted with numbers by value, `run2` before `run10`."""

from __future__ import annotations

import re


def natural_key(name: str) -> list[tuple[str, int]]:
    """A sort key: alternating text and numbers of `name`."""
    return [(words, int(digits or 0)) for words, digits in re.findall(r"([^0-9]*)([0-9]*)", name)]
