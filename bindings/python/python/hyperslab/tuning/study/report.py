"""Report: the results as tables in the form of the study: MiB/s of each library, mean of the repetitions with the range."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from ..places import replace_text
from .cases import EXPERIMENTS, ROW_BYTES, Case


@dataclass(frozen=True)
class Result:
    """A case with the seconds of each repetition."""

    case: Case
    written: list[float]
    read: list[float]

    def rates(self, size: int, write: bool) -> list[float]:
        """MiB/s of each repetition."""
        return [size / 2**20 / seconds for seconds in (self.written if write else self.read)]


def stored_bytes(size: int) -> int:
    """Bytes of the dataset: whole rows."""
    return max(size // ROW_BYTES, 1) * ROW_BYTES


def size_text(count: int) -> str:
    """A number of bytes as people say it."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB" if count >= 1 << 10 else f"{count} B"


def setting(case: Case, rows_of_dataset: int) -> str:
    """What tells a case from the others of its experiment and library."""
    aligned = f"aligned at {size_text(case.alignment_bytes)}" if case.alignment_bytes else "not aligned"
    match case.experiment:
        case "patterns":
            return f"{case.pattern}, {aligned}" if case.library != "POSIX" else case.pattern
        case "transfer":
            return f"{case.pattern}, {size_text(case.transfer_bytes)} a transfer"
        case "chunks":
            rows, columns = case.chunks(rows_of_dataset) or (0, 0)
            return f"{case.chunk_form}, {size_text(case.chunk_bytes)} ({rows} x {columns})"
        case "fill":
            how = "written first" if case.fill else "not written"
            return f"{'chunked' if case.chunk_bytes else 'contiguous'}, fill values {how}"
        case "factor":
            return f"{case.factor} tasks a subfile"
        case "stripe":
            return f"{case.stripes[0]} stripes of {size_text(case.stripes[1])}"
        case _:
            return f"{aligned} from {size_text(case.threshold_bytes)} on"


def table(results: Sequence[Result], size: int) -> str:
    """The table of an experiment."""
    lines = ["| library | setting | write, MiB/s | read, MiB/s |", "|---|---|--:|--:|"]
    for result in results:
        lines.append(
            f"| {result.case.library} | {setting(result.case, size // ROW_BYTES)} | {_rate(result.rates(size, True))} | {_rate(result.rates(size, False))} |"
        )
    return "\n".join(lines)


def _rate(rates: Sequence[float]) -> str:
    mean = sum(rates) / len(rates)
    return f"{mean:.0f}" if len(rates) == 1 else f"{mean:.0f} ({min(rates):.0f} to {max(rates):.0f})"


class About(TypedDict):
    """What was measured, and where: results of another place, version or size do not belong to this study."""

    version: str
    machine: str
    folder: str
    file_system: str
    bytes: int
    clients: int


def write_report(folder: str, about: About, results: Sequence[Result], missing: dict[str, str], drawn: dict[str, str]) -> None:
    """Writes `study.md`. `drawn` has the names of the pictures, by experiment."""
    size = stored_bytes(about["bytes"])
    repeats = max((len(result.written) for result in results), default=0)
    lines = [
        "# HDF5 and netCDF-4 on this file system",
        "",
        f"{about['file_system'] or 'Unknown file system'}, {about['folder']}; {about['machine']}; Hyperslab {about['version']}. "
        f"{about['clients']} clients, files of {size_text(size)}, up to {repeats} repetitions: mean (lowest to highest). Written until "
        "the bytes are on the disk, and read after they were dropped from the page cache. The clients of POSIX and Hyperslab are threads; h5py "
        "and netCDF4 do one thing at a time, so one thread serves their clients in turns.",
    ]
    if missing:
        lines += ["", "Not measured: " + "; ".join(f"{name} ({reason})" for name, reason in missing.items()) + "."]
    for experiment, title in EXPERIMENTS.items():
        of_it = [result for result in results if result.case.experiment == experiment]
        if of_it:
            lines += ["", f"## {title}", ""]
            if experiment in drawn:
                lines += [f"![{title}]({drawn[experiment]})", ""]
            lines.append(table(of_it, size))
    replace_text(os.path.join(folder, "study.md"), "\n".join(lines) + "\n")
