"""Notes: what commands say on standard error, in lines that fit the terminal."""

from __future__ import annotations

import os
import sys
import textwrap


def note(text: str) -> None:
    """Prints a note, a warning or an error. On a terminal, lines end between words; elsewhere it is one line."""
    line = f"hyperslab: {text}"
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):  # not a terminal, or no file at all
        columns = 0
    lines = textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False) if columns else [line]
    print("\n".join(lines), file=sys.stderr)
