"""Difference: what differs between two files, as values, as text, as JSON and as a page."""

from __future__ import annotations

import contextlib
import html
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.type_aliases import ColumnValue, JsonObject
from ..base.visible import visible
from .values import ValueDifference

#: Differences that a page shows.
_SHOWN = 1000


class Difference(NamedTuple):
    """One difference.

    Attributes:
        path: Path of the object.
        kind: `only_first`, `only_second`, `object` (a group and a dataset, for example), `link`, `type`, `shape`, `maxshape`, `fill`,
            `storage`, `attribute` or `values`; of structures also `committed`, `order`, `comment`, `times`, `fill_status`, `attribute_type` or
            `character_set`.
        text: What differs, in words.
        values: For `values`, how many and by how much.
    """

    path: str
    kind: str
    text: str
    values: ValueDifference | None = None

    def to_dict(self) -> JsonObject:
        """The difference as plain values, for JSON.

        Returns:
            The attributes; `values` is a dictionary of its own, if there is one.

        Example:
            >>> hs.diff("a.h5", "b.h5").differences[0].to_dict()
        """
        facts: JsonObject = {"path": self.path, "kind": self.kind, "text": self.text}
        if self.values is not None:
            found = self.values
            facts["values"] = {
                "count": found.count,
                "total": found.total,
                "index": None if found.index is None else list(found.index),
                "first": None if found.values is None else [shown(value) for value in found.values],
                "absolute": found.absolute,
                "relative": found.relative,
            }
        return facts


@dataclass(frozen=True)
class Comparison:
    """What `hyperslab.diff` found.

    Attributes:
        first: Path of the first file.
        second: Path of the second file.
        differences: What differs, in the order of the first file, then what only the second has.
        not_compared: Paths of objects that could not be compared, and why.
        objects: How many objects were compared.
        stored_bytes: Bytes of values in each file that were compared as they are stored, without decoding them.
        compared: What was compared, in words.
    """

    first: str
    second: str
    differences: tuple[Difference, ...]
    not_compared: tuple[tuple[str, str], ...]
    objects: int
    stored_bytes: int
    compared: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether all was compared, and nothing differs."""
        return not self.differences and not self.not_compared

    def to_dict(self) -> JsonObject:
        """All of it as plain values, for JSON.

        Returns:
            The attributes, with lists of dictionaries for `differences` and `not_compared`.

        Example:
            >>> json.dumps(hs.diff("a.h5", "b.h5").to_dict())
        """
        return {
            "first": self.first,
            "second": self.second,
            "equal": self.equal,
            "objects": self.objects,
            "stored_bytes": self.stored_bytes,
            "compared": list(self.compared),
            "differences": [one.to_dict() for one in self.differences],
            "not_compared": [{"path": path, "reason": reason} for path, reason in self.not_compared],
        }

    def lines(self) -> list[str]:
        """The comparison as text, whose control characters are made visible.

        Returns:
            A line for each difference, one for each object that could not be compared, and the sum of it.

        Example:
            >>> print(*hs.diff("a.h5", "b.h5").lines(), sep="\\n")
        """
        found = [visible(f"{one.path}: {one.text}") for one in self.differences]
        found += [visible(f"{path}: not compared: {reason}") for path, reason in self.not_compared]
        return [*found, *([f"compared: {', '.join(self.compared)}"] if self.compared else []), visible(self.summary)]

    @property
    def summary(self) -> str:
        """One line."""
        objects = f"{self.objects:,} object{'' if self.objects == 1 else 's'}"
        if self.equal:
            return f"{self.first} and {self.second} are equal: {objects}"
        parts = [f"{number:,} {kind.replace('_', ' ')}" for kind, number in Counter(one.kind for one in self.differences).items()]
        parts += [f"{len(self.not_compared):,} not compared"] if self.not_compared else []
        return f"{self.first} and {self.second} differ: {', '.join(parts)} ({objects})"

    def __repr__(self) -> str:
        return f"<Comparison: {visible(self.summary)}>"

    def to_html(self) -> str:
        """The comparison as HTML, for reports.

        Returns:
            A table of the first 1,000 differences, under a line that says how many there are.

        Example:
            >>> pathlib.Path("differences.html").write_text(hs.diff("a.h5", "b.h5").to_html())
        """
        rows = [(one.path, one.kind.replace("_", " "), one.text) for one in self.differences]
        rows += [(path, "not compared", reason) for path, reason in self.not_compared]
        body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{html.escape(visible(cell))}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN])
        more = f"<p>{len(rows) - _SHOWN:,} more</p>" if len(rows) > _SHOWN else ""
        head = "<tr><th style='text-align:left'>object</th><th style='text-align:left'>kind</th><th style='text-align:left'>difference</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>" if rows else ""
        return f"<div><p>{html.escape(visible(self.summary))}</p>{table}{more}</div>"

    def _repr_html_(self) -> str:
        return self.to_html()


def shown(value: ColumnValue, limit: int = 60) -> str:
    """A value in few characters; text of bytes as text if it is UTF-8."""
    if isinstance(value, bytes):
        value = bytes(value)
        with contextlib.suppress(UnicodeDecodeError):
            value = value.decode()
    elif isinstance(value, str):
        value = str(value)
    with np.printoptions(threshold=6, edgeitems=2, linewidth=10**6):
        text = str(value) if isinstance(value, (np.generic, np.ndarray)) and not isinstance(value, (str, bytes)) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def value_text(found: ValueDifference) -> str:
    """How values differ, in words."""
    text = f"{found.count:,} of {found.total:,} {'rows' if found.index is None else 'values'} differ{'s' if found.count == 1 else ''}"
    if found.absolute is not None:
        text += f", by up to {found.absolute:g}"
        text += f" (relative {found.relative:.3g})" if found.relative is not None else ""
    if found.index is not None and found.values is not None:
        place = f" at [{', '.join(map(str, found.index))}]" if found.index else ""
        text += f"; the first{place}: {shown(found.values[0])} and {shown(found.values[1])}"
    return text
