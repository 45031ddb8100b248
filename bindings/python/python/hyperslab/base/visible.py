"""Visible text: names and values of files as terminals may print them."""

from __future__ import annotations

import unicodedata

#: Categories of characters that terminals act on, or that change the direction and look of what is around them: controls,
#: formats, surrogates, private use, separators of lines and paragraphs.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

#: The first of the private-use characters that reports and Arrow's names have for bytes.
_FIRST_BYTE = "\U0010ff00"

#: Begins the path of an object that has no name, before its address. No name in a file contains it.
ADDRESS = "\udc00"


def visible(text: str) -> str:
    """Text with control and format characters as escapes, such as `\\x1b`, and bytes that are not UTF-8 as `\\xff`; other text as it is.

    Args:
        text: Any text of a file.

    Returns:
        Text of one line that a terminal prints without acting on it.

    Example:
        >>> visible("a\\x1b[2Jb")
        'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(_escaped(char) if unicodedata.category(char) in _INVISIBLE or char >= _FIRST_BYTE else char for char in text)


def _escaped(char: str) -> str:
    # As Python has names (PEP 383), and as reports and Arrow's names have them.
    if char in (ADDRESS, _FIRST_BYTE):
        return "#"
    if "\udc80" <= char <= "\udcff" or char >= "\U0010ff80":
        return f"\\x{ord(char) & 0xFF:02x}"
    return char.encode("unicode_escape").decode("ascii")
