"""Space: where the bytes of a file are, as values, as text, as JSON and as a picture."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..base.extras import require
from ..base.visible import visible
from ..objects.plot import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..base.type_aliases import JsonObject

#: Datasets and kinds that a picture and a page show.
_SHOWN = 12
_LISTED = 1000


class KindStat(NamedTuple):
    """Structures of one kind that are there for one purpose.

    Attributes:
        kind: What they are: `object header`, `chunk B-tree node`, `chunk` and others.
        purpose: What for: `links`, `attributes`, `chunk indexes`, `data` and others.
        number: How many.
        bytes: Their bytes.
    """

    kind: str
    purpose: str
    number: int
    bytes: int


class DatasetStat(NamedTuple):
    """One dataset.

    Attributes:
        path: Its path.
        storage: `compact`, `contiguous`, `chunked`, `external` or `virtual`.
        shape: Extent.
        element_bytes: Bytes of an element.
        value_bytes: Bytes of all values before filters; `None` beyond 64 bits.
        stored_bytes: Bytes in the file, after filters.
        ratio: Bytes of the stored chunks before filters for each stored byte.
        filters: Names of the filters, in the order in which they are applied.
        chunk_shape: Extent of a chunk.
        chunks: Number of stored chunks.
        chunk_bytes: Bytes of the smallest, the median and the largest stored chunk.
        unfiltered_chunk_bytes: Bytes of a chunk before filters.
        skipped_chunks: Stored chunks to which a filter was not applied.
        index_bytes: Bytes of the index of its chunks.
    """

    path: str
    storage: str
    shape: tuple[int, ...]
    element_bytes: int
    value_bytes: int | None
    stored_bytes: int
    ratio: float | None
    filters: tuple[str, ...]
    chunk_shape: tuple[int, ...] | None
    chunks: int
    chunk_bytes: tuple[int, int, int] | None
    unfiltered_chunk_bytes: int | None
    skipped_chunks: int
    index_bytes: int


class SpaceAdvice(NamedTuple):
    """Something inefficient.

    Attributes:
        path: The object; `None` for the file.
        message: What is inefficient.
        command: A command that helps.
    """

    path: str | None
    message: str
    command: str


@dataclass(frozen=True)
class Stat:
    """What `hyperslab.stat` found. Ranges that two structures share are counted once.

    Attributes:
        file: Path of the file.
        file_bytes: Its bytes.
        superblock_version: Version of its superblock.
        groups: Number of groups.
        datasets: Number of datasets.
        datatypes: Number of committed datatypes.
        attributes: Number of attributes of all objects.
        data_bytes: Bytes of chunks and contiguous values.
        metadata_bytes: Bytes of everything else that something leads to, without free space.
        free_bytes: Bytes that a free-space manager lists as free.
        unaccounted_bytes: Bytes that nothing leads to.
        damages: Number of damaged structures, whose bytes may be among those that nothing leads to.
        kinds: Bytes by kind and purpose, most first.
        dataset_list: The datasets, most bytes first.
        advice: What is inefficient, and which command helps.
    """

    file: str
    file_bytes: int
    superblock_version: int | None
    groups: int
    datasets: int
    datatypes: int
    attributes: int
    data_bytes: int
    metadata_bytes: int
    free_bytes: int
    unaccounted_bytes: int
    damages: int
    kinds: tuple[KindStat, ...]
    dataset_list: tuple[DatasetStat, ...]
    advice: tuple[SpaceAdvice, ...]

    @property
    def summary(self) -> str:
        """One line."""
        parts = [("values", self.data_bytes), ("metadata", self.metadata_bytes), ("free", self.free_bytes), ("in no structure", self.unaccounted_bytes)]
        shares = ", ".join(f"{name} {bytes:,} ({100 * bytes / max(self.file_bytes, 1):.1f} %)" for name, bytes in parts)
        return f"{self.file}: {self.file_bytes:,} bytes: {shares}"

    def to_dict(self) -> JsonObject:
        """All of it as plain values, for JSON.

        Returns:
            The attributes, with lists of dictionaries.

        Example:
            >>> json.dumps(hs.stat("a.h5").to_dict())
        """
        plain = {name: value for name, value in asdict(self).items() if name not in ("kinds", "dataset_list", "advice")}
        kinds, datasets = [one._asdict() for one in self.kinds], [one._asdict() for one in self.dataset_list]
        return {**plain, "kinds": kinds, "dataset_list": datasets, "advice": [one._asdict() for one in self.advice]}

    def __repr__(self) -> str:
        return f"<Stat: {visible(self.summary)}>"

    def to_html(self) -> str:
        """The sums as HTML, for notebooks and reports.

        Returns:
            Tables of the kinds, of the first 1,000 datasets and of the advice.

        Example:
            >>> pathlib.Path("space.html").write_text(hs.stat("a.h5").to_html())
        """

        def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
            head = "".join(f"<th style='text-align:left'>{name}</th>" for name in heads)
            body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{html.escape(visible(cell))}</td>" for cell in row) + "</tr>" for row in rows)
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""

        kinds = [(one.kind, one.purpose, f"{one.number:,}", f"{one.bytes:,}") for one in self.kinds]
        datasets = [
            (one.path, one.storage, f"{one.stored_bytes:,}", f"{one.chunks:,}", "" if one.ratio is None else f"{one.ratio:.2f}", " + ".join(one.filters))
            for one in self.dataset_list[:_LISTED]
        ]
        advice = [(one.path or "", one.message, one.command) for one in self.advice]
        return (
            f"<div><p>{html.escape(visible(self.summary))}</p>{table(('kind', 'purpose', 'number', 'bytes'), kinds)}"
            f"{table(('dataset', 'storage', 'bytes', 'chunks', 'ratio', 'filters'), datasets)}{table(('object', 'what is inefficient', 'command'), advice)}</div>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self, out: str | None = None) -> Figure | str:
        """Draws where the bytes are: the whole file as one bar, the largest datasets, and the kinds of metadata.

        Args:
            out: Path of a picture to write; its ending is the format.

        Returns:
            `out` if it is a path, else the matplotlib figure.

        Raises:
            MissingExtraError: Matplotlib is not installed: it comes with `pip install 'hyperslab[plot]'`.

        Example:
            >>> hs.stat("run.h5").plot("space.png")
        """
        require("plotting", "plot", "matplotlib")
        drawn = picture(figsize=(9, 6.5), layout="constrained")
        whole, datasets, kinds = drawn.subplots(3, 1, height_ratios=[1, 3, 3])
        parts = [
            ("values", self.data_bytes, "#2f6db3"),
            ("metadata", self.metadata_bytes, "#e08a2e"),
            ("free", self.free_bytes, "#9aa5ad"),
            ("in no structure", self.unaccounted_bytes, "#d0d5d9"),
        ]
        left = 0
        for name, count, color in parts:
            whole.barh([0], [count], left=left, color=color, label=f"{name}: {_short(count)} ({100 * count / max(self.file_bytes, 1):.1f} %)")
            left += count
        whole.set(yticks=[], xlim=(0, max(left, 1)), xticks=[])
        whole.set_title(visible(f"{self.file}: {_short(self.file_bytes)}"), fontsize=10, loc="left")
        whole.legend(loc="upper center", bbox_to_anchor=(0.5, -0.05), ncols=4, fontsize=7, frameon=False, columnspacing=1.0, handlelength=1.2)
        largest = [
            (one.path, one.stored_bytes, "" if one.ratio is None or not one.filters else f"  ratio {one.ratio:.1f}")
            for one in self.dataset_list
            if one.stored_bytes
        ]
        _bars(datasets, "values by dataset", largest, "#2f6db3")
        metadata = [(f"{one.kind} ({one.purpose})", one.bytes, f"  {one.number:,}") for one in self.kinds if one.purpose not in ("data", "free space")]
        _bars(kinds, "metadata by kind, with numbers", metadata, "#e08a2e")
        if out is None:
            return drawn
        drawn.savefig(out, dpi=120)
        return out


def _short(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return ""


def _bars(axes: Axes, title: str, rows: list[tuple[str, int, str]], color: str) -> None:
    shown = rows[:_SHOWN]
    if len(rows) > _SHOWN:
        shown = [*rows[: _SHOWN - 1], (f"{len(rows) - _SHOWN + 1:,} more", sum(count for _, count, _ in rows[_SHOWN - 1 :]), "")]
    names = [visible(name if len(name) <= 52 else "…" + name[-51:]) for name, _, _ in shown]
    bars = axes.barh(range(len(shown)), [count for _, count, _ in shown], color=color)
    axes.bar_label(bars, [_short(count) + more for _, count, more in shown], fontsize=7, padding=3)
    axes.set_yticks(range(len(shown)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_xlim(0, 1.25 * max((count for _, count, _ in shown), default=1))
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_title(title, fontsize=9, loc="left")
