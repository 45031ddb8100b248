"""Report: what a check has found in a file, as values, as text, as JSON and as a page."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..base.visible import visible

if TYPE_CHECKING:
    from ..base.type_aliases import JsonObject

#: Findings that a page shows.
_SHOWN = 1000
_COLORS = {"error": "#b3261e", "warning": "#8a6100", "info": "#555"}


class Finding(NamedTuple):
    """One thing that is wrong with a file, or worth knowing.

    Attributes:
        severity: `error` (something is lost, wrong or cannot be read), `warning` (nothing is lost yet, or it cannot be told) or `info`.
        kind: `damaged`, `truncated`, `undecodable`, `overlap` and others: docs/check.md lists them.
        path: Path of the object, if it belongs to one.
        offset: Where in the file, in bytes.
        length: How many bytes from there, if known.
        message: What is wrong.
        cost: What it costs.
        advice: What to do.
    """

    severity: str
    kind: str
    path: str | None
    offset: int | None
    length: int | None
    message: str
    cost: str
    advice: str

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}" + ("" if self.length is None else f" ({self.length} bytes)")
        text = f"{self.severity}: {self.kind}: {'' if self.path is None else self.path + ': '}{self.message}{place}"
        return visible(text + "".join(f"; {part}" for part in (self.cost, self.advice) if part))


@dataclass(frozen=True)
class CheckReport:
    """What `hyperslab.check` found.

    Attributes:
        file: Path of the file.
        format: `HDF5` or `netCDF-3`.
        file_bytes: Bytes of the file.
        superblock_version: Of HDF5.
        findings: What was found, errors first; at most 1,000 of a kind are listed.
        errors: Number of errors, listed or not.
        warnings: Number of warnings, listed or not.
        objects: Groups, datasets and committed datatypes that were walked.
        structures: Headers, heaps, nodes and blocks that were walked.
        chunks: Chunks that were decoded, and blocks of contiguous values that were read.
        data_bytes: Bytes of values that were read.
        unaccounted_bytes: Bytes that nothing leads to.
        with_data: Whether values were read and decoded.
    """

    file: str
    format: str
    file_bytes: int
    superblock_version: int | None
    findings: tuple[Finding, ...]
    errors: int
    warnings: int
    objects: int
    structures: int
    chunks: int
    data_bytes: int
    unaccounted_bytes: int
    with_data: bool

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return self.errors == 0

    @property
    def summary(self) -> str:
        """One line."""
        state = "no errors" if self.ok else f"{self.errors:,} error{'' if self.errors == 1 else 's'}"
        data = f"{self.chunks:,} chunks and blocks of {self.data_bytes:,} bytes decoded" if self.with_data else "values not read"
        return (
            f"{self.file}: {state}, {self.warnings:,} warning{'' if self.warnings == 1 else 's'}; {self.objects:,} objects, "
            f"{self.structures:,} structures, {data}"
        )

    def to_dict(self) -> JsonObject:
        """All of it as plain values, for JSON.

        Returns:
            The attributes, with a list of dictionaries for `findings`.

        Example:
            >>> json.dumps(hs.check("a.h5").to_dict())
        """
        return {
            **{name: value for name, value in asdict(self).items() if name != "findings"},
            "ok": self.ok,
            "findings": [one._asdict() for one in self.findings],
        }

    def lines(self, *, info: bool = False) -> list[str]:
        """The report as text, whose control characters are made visible.

        Args:
            info: Whether findings that are only worth knowing are among them.

        Returns:
            A line for each finding, and the sum of it.

        Example:
            >>> print(*hs.check("a.h5").lines(), sep="\\n")
        """
        return [*(str(one) for one in self.findings if info or one.severity != "info"), visible(self.summary)]

    def __repr__(self) -> str:
        return f"<CheckReport: {visible(self.summary)}>"

    def to_html(self) -> str:
        """The report as HTML, for notebooks and reports.

        Returns:
            A table of the first 1,000 findings, under a line that sums them up.

        Example:
            >>> pathlib.Path("report.html").write_text(hs.check("a.h5").to_html())
        """

        def row(one: Finding) -> str:
            place = "" if one.offset is None else f"{one.offset:,}" + ("" if one.length is None else f" + {one.length:,}")
            cells = [one.kind, one.path or "", place, one.message, one.cost, one.advice]
            first = f"<td style='text-align:left;color:{_COLORS.get(one.severity, '#555')}'>{html.escape(one.severity)}</td>"
            others = "".join(f"<td style='text-align:left'>{html.escape(visible(cell))}</td>" for cell in cells)
            return f"<tr>{first}{others}</tr>"

        heads = ("severity", "kind", "object", "bytes", "what", "what it costs", "what to do")
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in heads)
        body = "".join(row(one) for one in self.findings[:_SHOWN])
        more = f"<p>{len(self.findings) - _SHOWN:,} more</p>" if len(self.findings) > _SHOWN else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.findings else ""
        return f"<div><p>{html.escape(visible(self.summary))}</p>{table}{more}</div>"

    def _repr_html_(self) -> str:
        return self.to_html()
