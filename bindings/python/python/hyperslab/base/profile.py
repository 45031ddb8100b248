"""Profile: settings that `hyperslab tune` measured on this machine, in force where a call gives none."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, NamedTuple

from .. import _native

if TYPE_CHECKING:
    from .type_aliases import Path


class ProfileWarning(UserWarning):
    """A profile cannot be used: it is damaged, or of another machine or version. The defaults are in force."""


class Profile(NamedTuple):
    """What is in force, and where it comes from.

    Attributes:
        path: The file that was looked for; `None` if `HYPERSLAB_PROFILE` is empty.
        is_used: Whether its settings are in force.
        problem: Why they are not, if there is a file.
        settings: The settings that differ from the defaults: `threads`, `transfer_bytes`, `chunk_bytes`, `alignment_bytes`,
            `subfile_factor`.
    """

    path: str | None
    is_used: bool
    problem: str | None
    settings: dict[str, int]


def profile(path: Path | None = None) -> Profile:
    """The profile of this process: the file that `HYPERSLAB_PROFILE` names, or else `hyperslab/profile.json` in the folder of
    the user's configuration. It is read once, when it is first needed.

    Args:
        path: A file to examine instead; nothing of it comes into force.

    Returns:
        What is in force.

    Example:
        >>> hs.profile().settings
        {}
    """
    return _of(None if path is None else os.fsdecode(path))


def _of(path: str | None) -> Profile:
    found, is_used, problem, settings = _native.profile(path)
    return Profile(None if found is None else os.fspath(found), is_used, problem, dict(settings))


def warn_of_problem() -> None:
    """Warns if there is a profile that cannot be used. The command `hyperslab` says it in its own form."""
    if os.path.basename(sys.argv[0] if sys.argv else "") == "hyperslab":
        return
    if (problem := _of(None).problem) is not None:
        warnings.warn(problem, ProfileWarning, stacklevel=3)
