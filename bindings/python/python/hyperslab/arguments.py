"""Arguments: checks that several public functions share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .errors import Error, InvalidInputError


def check_count(name: str, value: int | None) -> None:
    """Raises `InvalidInputError` if a count was given and is negative."""
    if value is not None and value < 0:
        raise InvalidInputError(f"{name} is {value}: give 0 or more")


def check_choice(name: str, value: Any, allowed: Iterable[Any], error: type[Error] = InvalidInputError) -> None:
    """Raises `error` if an argument is not one of the values that it may have.

    Args:
        name: Name of the argument.
        value: What the caller gave.
        allowed: The values, in the order in which the message lists them.
        error: Class of the error.
    """
    choices = tuple(allowed)
    # Arrays and other objects that compare element by element are none of the choices.
    if not any(value is choice or (isinstance(value, type(choice)) and value == choice) for choice in choices):
        raise not_a_choice(name, value, choices, error)


def not_a_choice(name: str, value: Any, allowed: Iterable[Any], error: type[Error] = InvalidInputError) -> Error:
    """The error of `check_choice`. `None` among the values means that the argument may be left out, which the message does not list."""
    return error(unknown_choice(name, value, allowed))


def unknown_choice(name: str, value: Any, allowed: Iterable[Any]) -> str:
    """The message of `check_choice`."""
    *most, last = (repr(choice) for choice in allowed if choice is not None)
    return f"unknown {name} {_shown(value)}; expected {' or '.join([', '.join(most), last] if most else [last])}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
