"""Report: advice as plain values and as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ..base.type_aliases import JsonObject
from .dataset_advice import DatasetAdvice
from .hints import Hint
from .layouts import Filter, Layout

_STYLE = """body{font:15px/1.45 system-ui,sans-serif;color:#1c2733;max-width:62em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:.6em 0 1.4em}td,th{padding:.25em .8em .25em 0;text-align:left;vertical-align:top;border-bottom:1px solid #dde3ea}
th{font-weight:600;color:#526071}td.n,th.n{text-align:right;white-space:nowrap}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em}
.best td{font-weight:600}.dim{color:#6b7785}.scroll{overflow-x:auto}"""


class _Advice(Protocol):
    """What a report shows: `Advice`, which writes reports of itself."""

    @property
    def filename(self) -> str: ...

    @property
    def datasets(self) -> Sequence[DatasetAdvice]: ...

    @property
    def omitted(self) -> Mapping[str, str]: ...

    @property
    def hints(self) -> Sequence[Hint]: ...

    @property
    def gain(self) -> float: ...


def seconds(value: float) -> str:
    """Seconds for people."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    return ""


def size(count: float) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def times(gain: float) -> str:
    """A gain for people."""
    return f"{gain:,.0f}×" if gain >= 100 else f"{gain:.3g}×"


def to_dict(advice: _Advice) -> JsonObject:
    """Advice as plain values."""
    return {
        "file": advice.filename,
        "gain": advice.gain,
        "datasets": [
            {
                "path": one.path, "shape": list(one.shape), "dtype": one.dtype, "bytes": one.value_bytes,
                "stored_bytes": one.stored_bytes, "advised_bytes": one.advised_bytes,
                "current": _layout(one.current), "advised": _layout(one.advised), "kept": one.is_kept, "reason": one.reason, "basis": one.basis,
                "gain": one.gain,
                "accesses": [
                    {
                        "access": access.text, "weight": access.weight, "gain": access.gain,
                        "before_seconds": access.before_seconds, "after_seconds": access.after_seconds,
                        "before_bytes": round(access.before_bytes), "after_bytes": round(access.after_bytes),
                    }
                    for access in one.accesses
                ],
                "filters": [_filter(filter) for filter in one.filters],
            }
            for one in advice.datasets
        ],
        "omitted": advice.omitted,
        "hints": [{"topic": hint.topic, "advice": hint.advice, "reason": hint.reason, "basis": hint.basis} for hint in advice.hints],
    }  # fmt: skip


def _layout(layout: Layout) -> JsonObject:
    return {"chunks": None if layout.chunks is None else list(layout.chunks), "filter": layout.filter.name, "options": dict(layout.filter.options)}


def _filter(filter: Filter) -> JsonObject:
    return {
        "filter": filter.name, "ratio": filter.ratio, "encode_bytes_per_second": filter.encode_rate,
        "decode_bytes_per_second": filter.decode_rate, "lossy": filter.lossy, "needs_plugin": filter.needs_plugin, "current": filter.is_current,
    }  # fmt: skip


def to_html(advice: _Advice) -> str:
    """Advice as a page of its own."""
    title = html.escape(f"Advice for {advice.filename}")
    viewport = '<meta name="viewport" content="width=device-width">'
    return f'<!doctype html><html lang="en"><meta charset="utf-8">{viewport}<title>{title}</title><style>{_STYLE}</style><body>{body(advice)}</body></html>'


def body(advice: _Advice) -> str:
    """The content of the page."""
    parts = [f"<h1>Advice for {html.escape(advice.filename)}</h1>"]
    for one in advice.datasets:
        shape = "×".join(map(str, one.shape))
        parts.append(f"<h2>{html.escape(one.path)} <span class=dim>{shape} {html.escape(one.dtype)}, {size(one.stored_bytes)} stored</span></h2>")
        now, then = html.escape(one.current.describe()), html.escape(one.advised.describe())
        change = f"Keep {now}" if one.is_kept else f"{now} → <b>{then}</b>, {size(one.advised_bytes)}"
        basis = {"pilot": "timed on chunks of this dataset", "model": "computed, not timed", "none": "timed"}[one.basis]
        parts.append(f"<p>{change}. {html.escape(one.reason[:1].upper() + one.reason[1:])}. <span class=dim>({basis})</span></p>")
        parts.append(
            _table(
                ["access", "weight", "now", "then", "gain", "bytes now", "bytes then"],
                [
                    [a.text, f"{a.weight:g}", seconds(a.before_seconds), seconds(a.after_seconds), times(a.gain), size(a.before_bytes), size(a.after_bytes)]
                    for a in one.accesses
                ],
            )
        )
        parts.append("<p class=dim>Filters, measured on sampled chunks with one thread:</p>")
        rows = [[name(f), f"{f.ratio:.2f}:1", f"{f.encode_rate / 1e6:,.0f} MB/s", f"{f.decode_rate / 1e6:,.0f} MB/s"] for f in one.filters]
        best = [f.name == one.advised.filter.name for f in one.filters]
        parts.append(_table(["filter", "ratio", "encodes", "decodes"], rows, best))
    parts.append("<h2>Everything else</h2>")
    parts.append(_table(["about", "advice", "because", "from"], [[h.topic, h.advice, h.reason, h.basis] for h in advice.hints], numbers=False))
    if advice.omitted:
        parts.append("<h2>Left out</h2>" + _table(["dataset", "why"], [list(item) for item in advice.omitted.items()], numbers=False))
    return "".join(parts)


def name(filter: Filter) -> str:
    """A filter with what must be known of it."""
    return filter.name + (" (now)" if filter.is_current else "") + (" (lossy)" if filter.lossy else "") + (" (plugin)" if filter.needs_plugin else "")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], best: Sequence[bool] = (), numbers: bool = True) -> str:
    def cells(tag: str, texts: Sequence[str]) -> str:
        return "".join(f"<{tag}{' class=n' if i and numbers else ''}>{html.escape(text)}</{tag}>" for i, text in enumerate(texts))

    lines = [f"<tr>{cells('th', header)}</tr>"]
    for index, row in enumerate(rows):
        lines.append(f"<tr{' class=best' if index < len(best) and best[index] else ''}>{cells('td', row)}</tr>")
    return f"<div class=scroll><table>{''.join(lines)}</table></div>"
