"""Arguments: checks that several public functions share."""

from __future__ import annotations

from .errors import InvalidInputError


def check_count(name: str, value: int | None) -> None:
    """Raises `InvalidInputError` if a count was given and is negative."""
    if value is not None and value < 0:
        raise InvalidInputError(f"{name} is {value}: give 0 or more")
