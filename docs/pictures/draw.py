"""Draws the pictures of docs/concepts.md as SVG, which follow the reader's light or dark colors: `python docs/pictures/draw.py`."""

from __future__ import annotations

import html
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
STYLE = """
text { font: 14px sans-serif; fill: #1f2328 } .small { font-size: 12px; fill: #59636e } .middle { text-anchor: middle }
.plain { fill: #f6f8fa; stroke: #818b98 } .blue { fill: #cfe4ff; stroke: #0969da } .green { fill: #d2f0d8; stroke: #1a7f37 }
.red { fill: #ffe1de; stroke: #cf222e } .empty { fill: none; stroke: #818b98; stroke-dasharray: 5 4 }
.line { fill: none; stroke: #59636e; stroke-width: 1.5 } .head { fill: #59636e }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .plain { fill: #212830; stroke: #656c76 } .blue { fill: #123a66; stroke: #4493f8 }
.green { fill: #14411f; stroke: #3fb950 } .red { fill: #5d1b1b; stroke: #f85149 } .empty { stroke: #656c76 } .line { stroke: #9198a1 } .head { fill: #9198a1 }
}
"""


class Drawing:
    """Shapes of one picture, which become an SVG file."""

    def __init__(self, name: str, title: str, width: int, height: int) -> None:
        self.name, self.title, self.width, self.height = name, title, width, height
        self.shapes: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, kind: str = "plain", label: str = "") -> None:
        self.shapes.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/>')
        if label:
            self.text(x + width / 2, y + height / 2 + 5, label, "middle")

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        self.shapes.append(f'<text class="{kind}" x="{x}" y="{y}">{html.escape(words)}</text>')

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """From a place to another one, by a curve that begins and ends level."""
        middle = (x + to_x) / 2
        self.shapes.append(f'<path class="line" d="M {x} {y} C {middle} {y} {middle} {to_y} {to_x - 8} {to_y}"/>')
        self.shapes.append(f'<path class="head" d="M {to_x} {to_y} l -9 -5 v 10 z"/>')

    def write(self) -> None:
        opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" role="img">'
        lines = [opening, f"<title>{html.escape(self.title)}</title>", f"<style>{STYLE}</style>", *self.shapes, "</svg>\n"]
        (HERE / f"{self.name}.svg").write_text("\n".join(lines), encoding="utf-8")


def chunk_and_window() -> None:
    drawing = Drawing("concept-window", "An array of 8 by 8 values, stored in four chunks, read in two windows by two threads", 680, 220)
    drawing.text(90, 20, "array, 8 × 8 values", "middle")
    for row in range(8):
        for column in range(8):
            drawing.box(10 + 20 * column, 35 + 20 * row, 20, 20)
    drawing.arrow(180, 115, 240, 115)
    drawing.text(330, 20, "4 chunks, each compressed", "middle")
    for row, kind in enumerate(("blue", "green")):
        for column in range(2):
            drawing.box(250 + 82 * column, 35 + 82 * row, 78, 78, kind, "chunk")
        drawing.arrow(415, 74 + 82 * row, 475, 74 + 82 * row)
        drawing.box(480, 49 + 82 * row, 90, 50, kind, f"window {row + 1}")
        drawing.text(582, 79 + 82 * row, f"thread {'AB'[row]}")
    drawing.text(480, 212, "each chunk is decoded once", "small")
    drawing.write()


def plan_and_split() -> None:
    drawing = Drawing("concept-split", "A plan keeps the rows that a condition may match and cuts them into splits, which processes read", 680, 250)
    drawing.text(10, 20, 'where="depth <= 100 and theta > 298"')
    drawing.box(10, 40, 150, 60, "blue", "depth 5 to 50")
    drawing.box(10, 100, 150, 60, "green", "depth 55 to 100")
    drawing.box(10, 160, 150, 80, "empty", "depth 105 to 500")
    drawing.text(172, 205, "never read: the plan knows it from metadata", "small")
    for number, kind in enumerate(("blue", "green")):
        y = 70 + 60 * number
        drawing.arrow(165, y, 225, y)
        drawing.box(230, y - 20, 100, 40, kind, f"split {number + 1}")
        drawing.arrow(335, y, 395, y)
        drawing.box(400, y - 20, 110, 40, "plain", f"process {number + 1}")
        drawing.arrow(515, y, 565, 100)
    drawing.box(570, 70, 100, 60, "plain", "rows")
    drawing.text(620, 152, "in the same order", "small middle")
    drawing.write()


def index_levels() -> None:
    drawing = Drawing("concept-index", "What each level of an index keeps of a block of values", 680, 260)
    drawing.text(10, 20, "a block of 65,536 values")
    for i, value in enumerate((7, 2, 9, 4, 1, 8, 3, 6)):
        drawing.box(190 + 40 * i, 4, 40, 26, "plain", str(value))
    drawing.text(520, 22, "…", "")
    levels = (
        ("Z", "minimum and maximum", ("1", "9"), "no match here?"),
        ("K", "Z, and every 64th value in order", ("1", "3", "6", "9"), "how many, within bounds"),
        ("P", "positions in the order of values", ("4", "1", "6", "3", "7", "0", "5", "2"), "which rows"),
        ("X", "all values in order, with positions", ("1", "2", "3", "4", "6", "7", "8", "9"), "which rows, without the data"),
        ("B", "a bitmap for each bin of values", ("0", "1", "0", "1", "1", "0", "1", "0"), "few different values"),
    )
    for i, (name, keeps, cells, answers) in enumerate(levels):
        y = 48 + 42 * i
        drawing.box(10, y, 30, 28, "blue", name)
        drawing.text(50, y + 14, keeps, "small")
        for j, cell in enumerate(cells):
            drawing.box(260 + 27 * j, y, 27, 28, "green", cell)
        drawing.text(490, y + 19, answers, "small")
    drawing.write()


def commit() -> None:
    drawing = Drawing("concept-commit", "Tasks write subfiles; a commit writes a master file and renames it, and readers see all or nothing", 680, 230)
    for number in range(3):
        y = 20 + 60 * number
        drawing.box(10, y, 80, 40, "plain", f"task {number}")
        drawing.arrow(95, y + 20, 145, y + 20)
        drawing.box(150, y, 90, 40, "blue", f"subfile {number}")
        drawing.arrow(245, y + 20, 305, 100)
    drawing.box(310, 75, 100, 50, "plain", "commit")
    drawing.arrow(415, 100, 485, 100)
    drawing.text(450, 90, "rename", "small middle")
    drawing.box(490, 75, 120, 50, "green", "out.h5")
    drawing.text(550, 145, "refers to the subfiles", "small middle")
    drawing.text(10, 218, "readers see the old file, or none", "small")
    drawing.text(490, 218, "readers see the whole write", "small")
    drawing.shapes.append('<path class="empty" d="M 450 110 V 225"/>')
    drawing.write()


def budget() -> None:
    drawing = Drawing("concept-budget", "What a file claims is paid from a budget before memory is taken; a claim that exceeds it is an error", 680, 190)
    drawing.text(10, 20, "what the file claims")
    for i, (claim, kind, answer) in enumerate((("a chunk of 4 MiB", "green", "memory is taken"), ("a chunk of 1 TiB", "red", "LimitExceededError"))):
        y = 40 + 75 * i
        drawing.box(10, y, 150, 45, kind, claim)
        drawing.arrow(165, y + 22, 245, 100)
        drawing.arrow(415, 100, 485, y + 22)
        drawing.box(490, y, 180, 45, kind, answer)
    drawing.box(250, 60, 160, 80, "plain")
    drawing.text(330, 85, "budget", "middle")
    drawing.text(330, 106, "limit − paid so far", "small middle")
    drawing.text(330, 126, "is it enough?", "small middle")
    drawing.text(490, 180, "before any memory is taken", "small")
    drawing.write()


for draw in (chunk_and_window, plan_and_split, index_levels, commit, budget):
    draw()
