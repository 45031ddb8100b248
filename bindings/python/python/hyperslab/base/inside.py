"""Names that requests give: paths in a folder that cannot lead out of it."""

from __future__ import annotations

import os


def path_inside(folder: str, name: str) -> str | None:
    """The path of a file by its relative name; `None` if there is no such file, or the name leads out of the folder.

    Args:
        folder: The real path of the folder.
        name: As requests write it, with `/` between its parts.
    """
    if "\0" in name or os.path.isabs(name) or ".." in name.split("/"):
        return None
    real = os.path.realpath(os.path.join(folder, name))
    # A link or `..` may lead out of the folder; whether there is something must not show.
    if os.path.commonpath([real, folder]) == folder and os.path.isfile(real):
        return real
    return None
