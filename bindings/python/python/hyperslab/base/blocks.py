"""Blocks of HTML. Colors are shades of the text's own color, so that they suit light and dark notebooks without asking which it is."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from .visible import visible

#: Characters of a value, a name or a text that are shown.
MAX_CHARS = 200
#: Characters of a value in a table.
MAX_CELL_CHARS = 60
#: Rows of a table that are shown.
MAX_ROWS = 100

_STYLE = """<style>
.hyperslab{font-size:13px;line-height:1.45;max-width:60em;border:1px solid rgba(128,128,128,.35);border-radius:6px;overflow:hidden}
.hyperslab .hs-head{padding:.35em .8em;background:rgba(128,128,128,.13);overflow-wrap:anywhere}
.hyperslab .hs-body{padding:.4em .8em .6em}
.hyperslab .hs-kind{font-size:11px;padding:.05em .5em;margin-right:.6em;border-radius:3px;border:1px solid rgba(128,128,128,.6)}
.hyperslab .hs-dim{opacity:.65}
.hyperslab .hs-scroll{overflow-x:auto}
.hyperslab table{border-collapse:collapse;margin:.2em 0;font-size:12px;border:none;color:inherit;background:none}
.hyperslab td,.hyperslab th{padding:.12em .9em .12em 0;text-align:left;vertical-align:top;border:none;background:none;color:inherit;max-width:45em;overflow-wrap:anywhere;white-space:normal}
.hyperslab th{font-weight:600;opacity:.75;white-space:nowrap}
.hyperslab .hs-right{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.hyperslab tr:nth-child(even){background:none}
.hyperslab .hs-values td,.hyperslab .hs-values th{padding:.1em .7em;white-space:nowrap;border:1px solid rgba(128,128,128,.25)}
.hyperslab details{margin:.1em 0}
.hyperslab details details,.hyperslab details .hs-leaf{margin-left:1.1em}
.hyperslab summary{cursor:pointer;overflow-wrap:anywhere;padding-left:1.07em;text-indent:-1.07em}
.hyperslab .hs-c0,.hyperslab .hs-c1,.hyperslab .hs-c2{display:inline-block;vertical-align:top;max-width:100%;text-indent:0}
.hyperslab .hs-c0{min-width:8em}
.hyperslab .hs-c1{min-width:15em}
.hyperslab .hs-c2{min-width:4.5em}
.hyperslab .hs-c3,.hyperslab .hs-c4{margin-right:.6em}
.hyperslab .hs-c4{white-space:nowrap}
.hyperslab .hs-leaf{padding-left:1.07em;overflow-wrap:anywhere}
.hyperslab .hs-inner{margin-left:1.1em}
.hyperslab code,.hyperslab pre{font-size:12px;background:rgba(128,128,128,.13);color:inherit;padding:.05em .35em;border-radius:3px;white-space:pre-wrap;overflow-wrap:anywhere}
.hyperslab svg,.hyperslab img{display:block;max-width:100%}
.hyperslab .hs-beside{display:flex;flex-wrap:wrap;gap:.4em 2.5em;align-items:flex-start}
</style>"""


def text(given: object, limit: int = MAX_CHARS) -> str:
    """Escaped text of one line, cut to `limit` characters."""
    shown = str(given)
    return html.escape(visible(shown if len(shown) <= limit else shown[:limit] + "…"))


def dim(given: object) -> str:
    """Text that is less important."""
    return f"<span class='hs-dim'>{text(given)}</span>"


def code(given: object) -> str:
    """Text of a program, such as a condition."""
    return f"<code>{text(given)}</code>"


def card(kind: str, title: str, note: str, *parts: str) -> str:
    """An object: what it is, its name, a note on it, and blocks of HTML."""
    head = f"<div class='hs-head'><span class='hs-kind'>{text(kind)}</span><b>{text(title)}</b> {dim(note)}</div>"
    return f"{_STYLE}<div class='hyperslab'>{head}<div class='hs-body'>{''.join(parts)}</div></div>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, which are HTML; those without a value are left out."""
    lines = "".join(f"<tr><th>{text(name)}</th><td>{value}</td></tr>" for name, value in rows if value)
    return f"<table>{lines}</table>" if lines else ""


def fold(title: str, inner: str, *, opened: bool = False) -> str:
    """HTML that folds below its title, which is HTML."""
    return f"<details{' open' if opened else ''}><summary>{title}</summary><div class='hs-inner'>{inner}</div></details>"


def beside(left: str, right: str) -> str:
    """Two blocks next to each other, or below each other if there is no room."""
    return f"<div class='hs-beside'><div>{left}</div>{right}</div>" if right else left


def leaf(inner: str) -> str:
    """A line of a tree that has nothing below it."""
    return f"<div class='hs-leaf'>{inner}</div>"


def grid(
    headers: Sequence[object], rows: Sequence[Sequence[object]], *, numbers: Sequence[bool] = (), notes: Sequence[object] = (), total: int | None = None
) -> str:
    """A table of values; `numbers` are aligned to the right. At most `MAX_ROWS` are shown, and a line says if there are more."""
    right = [" class='hs-right'" if place < len(numbers) and numbers[place] else "" for place in range(len(headers))]
    below = [f"<br>{dim(notes[place])}" if place < len(notes) and notes[place] else "" for place in range(len(headers))]
    head = "".join(f"<th{side}>{text(name)}{note}</th>" for name, side, note in zip(headers, right, below, strict=True))
    lines = "".join(
        f"<tr>{''.join(f'<td{side}>{text(value, MAX_CELL_CHARS)}</td>' for value, side in zip(row, right, strict=True))}</tr>" for row in rows[:MAX_ROWS]
    )
    more = (len(rows) if total is None else total) - min(len(rows), MAX_ROWS)
    return f"<div class='hs-scroll'><table class='hs-values'><tr>{head}</tr>{lines}</table></div>" + (dim(f"… and {more:,} more") if more > 0 else "")


def size(count: float) -> str:
    """Bytes for people: `34.8 kB`, in powers of 1,000 as file managers have them."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"
