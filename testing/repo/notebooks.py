"""Notebooks of the examples: `python testing/repo/notebooks.py` makes `examples/*.ipynb` of the programs whose cells begin with `# %%`."""

from __future__ import annotations

import json
import pathlib

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def programs() -> list[pathlib.Path]:
    """The programs that are notebooks, too."""
    return [path for path in sorted(EXAMPLES.glob("*.py")) if path.read_text(encoding="utf-8").startswith("# %%")]


def notebook(program: pathlib.Path) -> str:
    """The notebook of a program, without outputs."""
    cells = []
    for number, cell in enumerate(program.read_text(encoding="utf-8").split("# %%")[1:]):
        head, _, source = cell.partition("\n")
        text = source.strip("\n")
        is_text = head.strip() == "[markdown]"
        if is_text:
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())
        made = {"cell_type": "markdown" if is_text else "code", "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        cells.append(made if is_text else made | {"execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


if __name__ == "__main__":
    for program in programs():
        program.with_suffix(".ipynb").write_text(notebook(program), encoding="utf-8")
