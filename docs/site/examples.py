"""Griffe reads a section `Examples:` as doctests, and `Example:` as plain Markdown. Ours are doctests under either name."""

from __future__ import annotations

import re
from typing import Any

import griffe


class DoctestExamples(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
