"""Natural order: file names sorted with numbers by value, `run2` before `run10`, and the files that a glob matches in it."""

from __future__ import annotations

import glob
import os
import re


def natural_key(name: str) -> list[tuple[str, int]]:
    """A sort key: alternating text and numbers of `name`."""
    return [(words, int(digits or 0)) for words, digits in re.findall(r"([^0-9]*)([0-9]*)", name)]


def matching_paths(pattern: str) -> list[str]:
    """What a glob matches, in natural order. `**` matches folders of any depth, and then only files are listed."""
    found = glob.iglob(pattern, recursive=True)
    # `a/**` matches the folders as well, which cannot be opened as files.
    return sorted((path for path in found if "**" not in pattern or os.path.isfile(path)), key=natural_key)
