"""Recovery: what was saved of a damaged file and what was lost, as values, as text, as JSON and as a page."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..base.change import Change
from ..base.visible import visible

if TYPE_CHECKING:
    from ..base.type_aliases import JsonObject

#: Rows that a page shows.
_SHOWN = 1000

Box = tuple[tuple[int, ...], tuple[int, ...]]


class RecoveredValues(NamedTuple):
    """What of a dataset's values was saved. Elements in no stored chunk are the fill value.

    Attributes:
        certainty: The least certainty of the values that are in neither `doubtful` nor `lost`: `certain` (checksums cover them and all
            that leads to them), `plausible` or `guessed`.
        has_all_chunks: Whether it is known which chunks were stored; if not, chunks that are not there may have been lost.
        found: Chunks that were found; contiguous values count as one.
        saved: Chunks that were saved.
        certain: Saved chunks that are certain.
        plausible: Saved chunks that make sense, without a checksum that covers all of it.
        guessed: Saved chunks that were found where nothing leads, or that may have been overwritten.
        saved_bytes: Bytes of saved values, before filters.
        lost_bytes: Bytes of lost values, as far as it is known, before filters.
        lost: Boxes of lost elements, start and count along each dimension, whose place the fill value took; the first 10,000.
        doubtful: Boxes of saved elements that may be wrong, such as blocks of zeros; the first 10,000.
        lost_heap_values: Values of variable length that are lost; empty values took their place.
    """

    certainty: str
    has_all_chunks: bool
    found: int
    saved: int
    certain: int
    plausible: int
    guessed: int
    saved_bytes: int
    lost_bytes: int
    lost: tuple[Box, ...]
    doubtful: tuple[Box, ...]
    lost_heap_values: int


class RecoveredObject(NamedTuple):
    """An object in the new file.

    Attributes:
        path: Its path in the new file; below `/lost+found` if its name is lost.
        kind: `group`, `dataset` or `datatype`.
        offset: Offset of its header in the damaged file, in bytes.
        has_name: Whether its name was found, too.
        certainty: `certain`, `plausible` or `guessed`: of its description, attributes and links.
        reason: Why.
        attributes: Number of attributes that were found.
        values: What of a dataset's values was saved.
    """

    path: str
    kind: str
    offset: int
    has_name: bool
    certainty: str
    reason: str
    attributes: int
    values: RecoveredValues | None


class LostPart(NamedTuple):
    """Something that is not in the new file, or not complete.

    Attributes:
        what: `object`, `link`, `attribute`, `chunk` or `values`.
        path: Path of the object, if known.
        name: Name of the attribute or link.
        offset: Offset in the damaged file, in bytes.
        reason: Why.
    """

    what: str
    path: str | None
    name: str | None
    offset: int | None
    reason: str

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        name = "" if self.name is None else f" {self.name!r}"
        return visible(f"lost: {self.what}{name} of {self.path or 'an unknown object'}{place}: {self.reason}")


class DeletedObject(NamedTuple):
    """What is left of an object that was deleted from a file without damage.

    Attributes:
        path: Its path in the new file, if it was copied.
        kind: `group`, `dataset` or `datatype`.
        offset: Offset of its header in the file, in bytes.
        losses: What of it was not copied.
    """

    path: str | None
    kind: str
    offset: int
    losses: tuple[str, ...]

    def __str__(self) -> str:
        place = "not copied" if self.path is None else f"copied to {self.path}"
        return visible("; ".join([f"deleted: a {self.kind} at byte {self.offset}, {place}", *self.losses]))


@dataclass(frozen=True)
class Recovery:
    """What `hyperslab.recover` saved and lost.

    Attributes:
        file: The damaged file.
        out: The new file.
        file_bytes: Bytes of the damaged file.
        out_bytes: Bytes of the new file.
        stated_bytes: Bytes that the superblock says the file has; `None` if it cannot be read.
        is_open_for_writing: Whether the superblock says that a program has the file open for writing.
        bad_ranges: Start and length of the ranges that the operating system could not read; zeros took their place.
        damages: Damaged structures, in words.
        objects: The objects in the new file.
        lost: What is not in the new file, or not complete.
        copied_chunks: Chunks that were copied without decoding.
        changes: What of the objects is not as it was, such as values of external files, which are in the new file.
        deleted: What is left of objects that were deleted from a file without damage; `deleted=True` copies them. They are no loss.
    """

    file: str
    out: str
    file_bytes: int
    out_bytes: int
    stated_bytes: int | None
    is_open_for_writing: bool
    bad_ranges: tuple[tuple[int, int], ...]
    damages: tuple[str, ...]
    objects: tuple[RecoveredObject, ...]
    lost: tuple[LostPart, ...]
    copied_chunks: int
    changes: tuple[Change, ...] = ()
    deleted: tuple[DeletedObject, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is known to be lost: neither values nor names."""
        return not self.lost and not self.bad_ranges

    @property
    def summary(self) -> str:
        """One line."""
        kinds = Counter(one.kind for one in self.objects)
        sure = Counter(one.certainty for one in self.objects)
        saved = sum(one.values.saved_bytes for one in self.objects if one.values)
        lost = sum(one.values.lost_bytes for one in self.objects if one.values)
        nameless = sum(not one.has_name for one in self.objects)
        deleted = f", {len(self.deleted):,} deleted objects" if self.deleted else ""
        return (
            f"{self.out}: {kinds['group']:,} groups, {kinds['dataset']:,} datasets, {saved:,} bytes of values saved, {lost:,} lost; "
            f"{sure['certain']:,} objects certain, {sure['plausible']:,} plausible, {sure['guessed']:,} guessed, {nameless:,} without a name; {len(self.lost):,} losses{deleted}"
        )

    def to_dict(self) -> JsonObject:
        """All of it as plain values, for JSON.

        Returns:
            The attributes, with lists of dictionaries.

        Example:
            >>> json.dumps(hs.recover("broken.h5", "out.h5").to_dict())
        """
        plain = {name: value for name, value in asdict(self).items() if name not in ("objects", "lost", "changes", "deleted")}
        objects = [{**one._asdict(), "values": None if one.values is None else one.values._asdict()} for one in self.objects]
        return {
            **plain,
            "complete": self.complete,
            "objects": objects,
            "lost": [one._asdict() for one in self.lost],
            "changes": [one._asdict() for one in self.changes],
            "deleted": [one._asdict() for one in self.deleted],
        }

    def lines(self) -> list[str]:
        """The report as text, whose control characters are made visible.

        Returns:
            A line for each damage, each object and each loss, and the sum of it.

        Example:
            >>> print(*hs.recover("broken.h5", "out.h5").lines(), sep="\\n")
        """
        found = [visible(f"damaged: {text}") for text in self.damages]
        found += [f"unreadable: {length} bytes at byte {start}" for start, length in self.bad_ranges]
        found += [visible(_line(one)) for one in self.objects]
        return [*found, *map(str, self.lost), *map(str, self.changes), *map(str, self.deleted), visible(self.summary)]

    def __repr__(self) -> str:
        return f"<Recovery: {visible(self.summary)}>"

    def to_html(self) -> str:
        """The report as HTML, for notebooks and reports.

        Returns:
            Tables of the first 1,000 losses and objects, under a line that sums them up.

        Example:
            >>> pathlib.Path("report.html").write_text(hs.recover("broken.h5", "out.h5").to_html())
        """

        def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
            head = "".join(f"<th style='text-align:left'>{name}</th>" for name in heads)
            body = "".join(
                "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(visible(cell))}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN]
            )
            more = f"<p>{len(rows) - _SHOWN:,} more</p>" if len(rows) > _SHOWN else ""
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}" if rows else ""

        lost = [(one.what, one.path or "", one.name or "", "" if one.offset is None else f"{one.offset:,}", one.reason) for one in self.lost]
        objects = [(one.path, one.kind, one.certainty, _values(one), one.reason) for one in self.objects]
        return (
            f"<div><p>{html.escape(visible(self.summary))}</p>{table(('lost', 'object', 'name', 'byte', 'why'), lost)}"
            f"{table(('saved', 'kind', 'certainty', 'values', 'why'), objects)}</div>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()


def _values(one: RecoveredObject) -> str:
    if one.values is None:
        return ""
    found = one.values
    parts = [f"{found.saved:,} of {found.found:,} chunks saved, {found.certainty}"] if found.found else ["no chunks"]
    parts += [f"{found.lost_bytes:,} bytes lost"] if found.lost_bytes else []
    parts += [f"{len(found.doubtful):,} doubtful boxes"] if found.doubtful else []
    parts += [f"{found.lost_heap_values:,} values of variable length lost"] if found.lost_heap_values else []
    return ", ".join(parts)


def _line(one: RecoveredObject) -> str:
    values = _values(one)
    return f"{one.certainty}: {one.kind} {one.path}" + (f": {values}" if values else "")
