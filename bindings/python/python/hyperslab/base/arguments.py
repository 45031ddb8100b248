"""Arguments: checks that several public functions share."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import Error, InvalidInputError, UnsupportedError

#: Words of other libraries for a mode, and h5py's second word for `x`.
_OTHER_WORDS = {"create": "x", "overwrite": "w", "append": "a", "w-": "x"}

#: What to call for a mode that a function does not have.
_INSTEAD = {
    "r": "hyperslab.open(path) reads a file",
    "r+": "hyperslab.open(path, 'r+') changes an existing file",
    "a": "hyperslab.open(path, 'a') opens a file to change it, or creates it",
}


def check_count(name: str, value: int | None) -> None:
    """Raises `InvalidInputError` if a count was given and is negative."""
    if value is not None and value < 0:
        raise InvalidInputError(f"{name} is {value}: give 0 or more")


def check_choice(name: str, value: object, allowed: Iterable[object], error: type[Error] = InvalidInputError) -> None:
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


def not_a_choice(name: str, value: object, allowed: Iterable[object], error: type[Error] = InvalidInputError) -> Error:
    """The error of `check_choice`. `None` among the values means that the argument may be left out, which the message does not list."""
    return error(unknown_choice(name, value, allowed))


def check_mode(mode: object, allowed: Iterable[str], instead: str | None = None) -> None:
    """Raises an error if the mode of a file is not one that a function has.

    Args:
        mode: What the caller gave.
        allowed: The modes of the function, in the order in which the message lists them.
        instead: What to call for a mode that only other functions have; by default the call of `hyperslab.open` with it.

    Raises:
        UnsupportedError: Another function has this mode.
        InvalidInputError: There is no such mode. The message names the mode that a word of another library stands for.
    """
    choices = tuple(allowed)
    if not isinstance(mode, str) or mode not in choices:
        raise wrong_mode(mode, choices, instead)


def wrong_mode(mode: object, allowed: Iterable[str], instead: str | None = None) -> Error:
    """The error of `check_mode`."""
    choices = tuple(allowed)
    if isinstance(mode, str) and mode in _INSTEAD:
        return UnsupportedError(f"mode {mode!r} is not possible here; expected {_listed(choices)}; {instead or _INSTEAD[mode]}")
    word = _OTHER_WORDS.get(mode) if isinstance(mode, str) else None
    return InvalidInputError(unknown_choice("mode", mode, choices) + (f" ({mode!r} is {word!r})" if word in choices else ""))


def unknown_choice(name: str, value: object, allowed: Iterable[object]) -> str:
    """The message of `check_choice`."""
    return f"unknown {name} {_shown(value)}; expected {_listed(allowed)}"


def _listed(choices: Iterable[object]) -> str:
    *most, last = (repr(choice) for choice in choices if choice is not None)
    return " or ".join([", ".join(most), last] if most else [last])


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
