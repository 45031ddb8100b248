"""FastBit for comparison: its partition of the same columns, its index, its answers."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from typing import Any

#: Bins of two significant digits, one bitmap each, compressed by words: FastBit's default, and FastQuery's choice.
INDEX = "<binning precision=2/><encoding equality/>"
#: Fewer bins, whose edges do not depend on the values.
FEW_BINS = "<binning nbins=256/><encoding equality/>"


def program() -> pathlib.Path | None:
    """FastBit with its measuring program, built if needed; `None` if it cannot be built."""
    folder = pathlib.Path(os.path.expanduser("~/.cache/hyperslab/fastbit-2.0.3"))
    made = folder / "fastbit"
    source = pathlib.Path(__file__).with_name("fastbit.cpp")
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        print("building FastBit (some minutes, once)", flush=True)
        done = subprocess.run([str(source.with_name("fastbit.sh")), str(folder)], capture_output=True, text=True)
        if done.returncode != 0:
            print("FastBit is not built:", done.stderr.strip()[-400:])
            return None
    return made


def partition(folder: pathlib.Path, columns: dict[str, Any]) -> pathlib.Path:
    """The columns in FastBit's format."""
    part = folder / "fastbit"
    if (part / "-part.txt").exists():
        return part
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    count = 0
    for name, values in columns.items():
        values.astype("<f4", copy=False).tofile(part / name)
        count = len(values)
    head = f"BEGIN HEADER\nName = particles\nNumber_of_rows = {count}\nNumber_of_columns = {len(columns)}\nEND HEADER\n"
    (part / "-part.txt").write_text(head + "".join(f"\nBegin Column\nname = {name}\ndata_type = FLOAT\nEnd Column\n" for name in columns))
    return part


def ask(
    built: pathlib.Path, part: pathlib.Path, column: str, other: str, thresholds: dict[float, float], spec: str = INDEX, rebuild: bool = True
) -> dict[str, Any]:
    """Build, if `rebuild`, and answers with the index of `spec`. A threshold is written as the shortest text that parses to the same
    double as the float32."""
    if rebuild:
        (part / f"{column}.idx").unlink(missing_ok=True)
    texts = [repr(threshold) for threshold in thresholds.values()]
    done = subprocess.run([str(built), str(part), column, other, spec, *texts], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    index = part / f"{column}.idx"
    found["bytes"] = index.stat().st_size if index.exists() else 0
    found["answers"] = {f"{selectivity:g}": answer for selectivity, answer in zip(thresholds, found["answers"])}
    return found
