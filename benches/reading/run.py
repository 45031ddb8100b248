"""`make bench`: one table, ratios in one run.

Every contestant is a separate process that answers requests (see `contestants/`). The repeats are interleaved, so that other
load on the machine affects all contestants equally. A figure is the median, with the quartiles next to it; a ratio is the
median of the ratios within a round.

A race ends after `--repeats` rounds, or after `--seconds` once it has three rounds. Its results are saved to the file of `--json`
immediately. With `--resume`, races that the file contains are not run again, so a run that was stopped continues where it
ended.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import version

import data
import small
from rich.console import Console
from rich.table import Table

HERE = pathlib.Path(__file__).parent
CACHE = pathlib.Path.home() / ".cache/hyperslab"
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", CACHE / "target")) / "release"
PROGRAMS = {"limit": [BUILT / "hyperslab-limit"], "ours (Rust)": [BUILT / "hyperslab-bench"], "peers": [BUILT / "hyperslab-peers"]}


#: Ends the names of processes that have the profile of `--profile` in force.
PROFILED = " with a profile"


@dataclass
class Contestant:
    """A contestant: its process, its name for the work, and its number of threads."""

    process: str
    work: str
    threads: int = 2
    reuse: str = "reused"
    label: str = ""
    #: If it differs from that of the race.
    path: str = ""
    seconds: list[float] = field(default_factory=list)
    checks: set[str] = field(default_factory=set)
    peak_bytes: int = 0

    def name(self) -> str:
        return self.label or self.process

    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Race:
    """One row of the table: the same work by several contestants, `amount` of `unit` each."""

    name: str
    path: str
    amount: float
    unit: str
    contestants: list[Contestant]


GB = "GB/s"
#: Microseconds of one operation: less is faster. The other units are amounts per second.
MICROSECONDS = "µs"


def whole(name: str, path: str, amount: float, limit: str | None, extra: list[Contestant] | None = None) -> Race:
    runners = [Contestant("limit", limit, label="limit")] if limit else []
    runners += [
        Contestant("ours (Rust)", "dataset"),
        Contestant("ours", "dataset", label="ours"),
        Contestant("ours", "dataset", 1, label="ours, 1 thread"),
        Contestant("ours", "dataset", reuse="fresh", label="ours, fresh memory"),
        Contestant("h5py", "dataset"),
        Contestant("h5py", "dataset", reuse="fresh", label="h5py, fresh memory"),
        Contestant("h5py-processes", "dataset", label="h5py, 2 processes"),
    ]
    return Race(name, path, amount, GB, runners + (extra or []))


#: The small operations that hdf5-reader has a call for.
RUST_PEER_CAN = (
    "open ",
    "row by row",
    "a random",
    "a slice",
    "a scalar",
    "20,000 variable",
    "one attribute",
    "a group by path",
    "a dataset by path",
    "one of 15,000",
    "iteration over",
)


def races() -> dict[str, list[Race]]:
    """All races by group."""
    gigabyte = data.GIB / 1e9
    quarter = data.QUARTER[0] * data.QUARTER[1] * 4 / 1e9

    def pair(name: str, path: str, amount: float, unit: str, work: str, extra: list[Contestant] | None = None) -> Race:
        runners = [Contestant("ours", work), Contestant("ours", work, 1, label="ours, 1 thread"), Contestant("h5py", work), *(extra or [])]
        return Race(name, path, amount, unit, runners)

    def peers() -> list[Contestant]:
        return [Contestant("netCDF4", "dataset"), Contestant("jhdf", "dataset"), Contestant("peers", "hdf5-reader", label="hdf5-reader (Rust)")]

    def small_race(case: small.Case) -> Race:
        runners = [Contestant(reader, case.name) for reader in ("ours", "h5py", "netCDF4", "pyfive") if reader not in case.without]
        if case.name.startswith(RUST_PEER_CAN):
            runners.append(Contestant("peers", f"small {case.name}", 1, label="hdf5-reader (Rust)"))
        return Race(case.name, case.path, case.count, MICROSECONDS, runners)

    return {
        "small": [small_race(case) for case in small.cases()],
        "codec": [
            Race(
                "inflate alone: the chunks of gzip.h5 in memory, one thread",
                "gzip.h5",
                gigabyte,
                GB,
                [
                    Contestant("limit", "inflate libdeflate", 1, label="libdeflate (C)"),
                    Contestant("limit", "inflate zlib-rs", 1, label="zlib-rs (Rust, ours)"),
                ],
            ),
        ],
        "main": [
            whole("contiguous f64, 1 GiB", "contiguous.h5", gigabyte, "plain", [Contestant("limit", "mapped", label="limit, mapped"), *peers()]),
            whole("gzip-4 + shuffle f32, 2 MiB chunks", "gzip.h5", gigabyte, "chunks", peers()),
            whole("chunked f32, no filter", "chunked.h5", gigabyte, "chunks", peers()),
            whole("compound table, 41-byte records", "records.h5", gigabyte, "plain", peers()),
            Race(
                "5,000 small files, open and read",
                "small",
                data.SMALL_FILES,
                "files/s",
                [
                    Contestant("limit", "files"),
                    Contestant("ours (Rust)", "files"),
                    Contestant("ours (Rust)", "files", 1, label="ours (Rust), 1 thread"),
                    Contestant("ours", "files"),
                    Contestant("h5py", "files"),
                    Contestant("peers", "files", label="hdf5-reader (Rust)"),
                ],
            ),
        ],
        "filters": [pair(name, f"filter-{name}.h5", quarter, GB, "dataset") for name in data.FILTERS],
        "chunk sizes": [pair(f"gzip + shuffle, chunks of {name}", f"size-{name}.h5", quarter, GB, "dataset") for name in data.CHUNK_SIZES],
        "selections": [
            pair("strided hyperslab [::4, ::3]", "chunked.h5", 1, "a second", "strided"),
            pair("strided hyperslab of gzip [::4, ::3]", "gzip.h5", 1, "a second", "strided"),
            pair("time series through a 3-D chunked field", "cube.h5", 1, "a second", "series"),
            pair("one member of a table", "records.h5", gigabyte, GB, "member"),
            pair("the greatest value", "gzip.h5", gigabyte, GB, "minmax"),
            *(pair(f"where, selectivity {s}", "gzip.h5", gigabyte, GB, f"where {s}") for s in ("1e-4", "1e-2", "0.5")),
        ],
        "tables": [
            Race(
                "one column of 1 GiB, as a table",
                "tables",
                gigabyte,
                GB,
                [
                    *(
                        Contestant("ours", "column", label=f"ours, HDF5 {what}", path=path)
                        for what, path in (("chunked", "chunked.h5"), ("gzip + shuffle", "gzip.h5"))
                    ),
                    *(
                        Contestant("ours", "column", 1, label=f"ours, HDF5 {what}, 1 thread", path=path)
                        for what, path in (("chunked", "chunked.h5"), ("gzip + shuffle", "gzip.h5"))
                    ),
                    *(Contestant("pyarrow", f"parquet {codec}", label=f"pyarrow, Parquet {codec}") for codec in ("none", "snappy", "zstd")),
                    Contestant("pyarrow", "ipc", label="pyarrow, Arrow IPC"),
                ],
            ),
            Race(
                "three columns of cells: value and two coordinates",
                "cube.h5",
                512 * 256 * 256 / 1e6,
                "M cells/s",
                [
                    Contestant("ours", "cells"),
                    Contestant("ours", "cells", 1, label="ours, 1 thread"),
                ],
            ),
            Race(
                "SQL: mean by latitude over cells",
                "cube.h5",
                512 * 256 * 256 / 1e6,
                "M cells/s",
                [
                    Contestant("ours", "group-by", label="ours, DuckDB"),
                    Contestant("ours", "group-by", 1, label="ours, DuckDB, 1 thread"),
                    Contestant("xarray-sql", "group-by"),
                ],
            ),
        ],
        "threads": [
            Race(
                "gzip + shuffle, threads of one Python interpreter",
                "gzip.h5",
                gigabyte,
                GB,
                [
                    *(
                        Contestant(reader, "python threads", threads, label=f"{reader}, {threads} Python thread{'s' * (threads > 1)}")
                        for reader in ("ours", "h5py")
                        for threads in (1, 2)
                    ),
                ],
            ),
        ],
        "metadata": [
            *(pair(f"{count:,} links listed", f"links-{count}.h5", count, "links/s", "links") for count in data.LINKS),
            *(pair(f"{count:,} chunks located", f"chunks-{count}.h5", count, "chunks/s", "locate") for count in data.CHUNKS),
        ],
    }


class Processes:
    """The processes of the contestants, started at their first request."""

    def __init__(self, profile: pathlib.Path | None = None) -> None:
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.profile = profile

    def start(self, process: str) -> subprocess.Popen[str]:
        name = process.removesuffix(PROFILED)
        # Otherwise the user's own profile would be in force, and nothing would say so.
        profile = str(self.profile.absolute()) if self.profile and process != name else ""
        if name == "jhdf":
            command = ["java", "-Xmx8g", "-cp", f"{CACHE / 'bench-jars'}/*", str(HERE / "contestants/Jhdf.java")]
        else:
            python = CACHE / "venvs/xarray-sql/bin/python" if name == "xarray-sql" else sys.executable
            command = list(map(str, PROGRAMS.get(name) or [python, HERE / "contestants/python.py", name]))
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, "HYPERSLAB_PROFILE": profile}
        )

    def ask(self, contestant: Contestant, path: pathlib.Path) -> tuple[float, str, int]:
        process = self.running.get(contestant.process) or self.running.setdefault(contestant.process, self.start(contestant.process))
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{contestant.work}\t{path}\t{contestant.threads}\t{contestant.reuse}\n")
        process.stdin.flush()
        answer = process.stdout.readline().rstrip("\n").split("\t")
        if len(answer) != 3:
            raise SystemExit(f"{contestant.process} gave no answer to {contestant.work} of {path.name}")
        return float(answer[0]), answer[1], int(answer[2])

    def stop(self) -> None:
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started itself
            process.wait()
        self.running.clear()


#: Minimum number of rounds of a race, so that there is a median.
LEAST_ROUNDS = 3


def with_profile(race: Race) -> None:
    """Adds each contestant of ours once more, with a profile in force."""
    race.contestants = [
        two
        for one in race.contestants
        for two in (
            [one, replace(one, process=one.process + PROFILED, label=f"{one.name()}, profile", seconds=[], checks=set())]
            if one.process in ("ours", "ours (Rust)")
            else [one]
        )
    ]


def profile_ratios(race: Race) -> list[float]:
    """For each contestant with a profile: its speed next to that of the same without one, the median of the rounds."""
    plain = {(c.process, c.work, c.threads, c.reuse, c.path): c for c in race.contestants}
    pairs = [(c, plain[c.process.removesuffix(PROFILED), c.work, c.threads, c.reuse, c.path]) for c in race.contestants if c.process.endswith(PROFILED)]
    return [statistics.median(b / a for a, b in zip(with_it.seconds, without.seconds)) for with_it, without in pairs]


def run(race: Race, folder: pathlib.Path, repeats: int, budget_seconds: float, profile: pathlib.Path | None = None) -> None:
    """Interleaved rounds. The first one fills the page cache and the reused memory, and is not counted."""
    processes = Processes(profile)
    start = time.monotonic()
    try:
        for number in range(repeats + 1):
            if number > LEAST_ROUNDS and time.monotonic() - start > budget_seconds:
                break
            # With a profile next to the defaults, the order must favor neither.
            for contestant in race.contestants if number % 2 or not profile else reversed(race.contestants):
                seconds, check, peak = processes.ask(contestant, folder / (contestant.path or race.path))
                contestant.checks.add(check)
                contestant.peak_bytes = peak
                if number:
                    contestant.seconds.append(seconds)
    finally:
        processes.stop()
    # The programs in Rust return a byte of what they read; these return a value.
    said = [c.checks for c in race.contestants if c.process.removesuffix(PROFILED) not in ("limit", "ours (Rust)") and c.work != "files"]
    checks = {float(check) for checks in said for check in checks}
    if len(checks) > 1:
        raise SystemExit(f"{race.name}: the contestants did not read the same: {', '.join(map(str, sorted(checks)))}")


def report(race: Race, console: Console) -> dict[str, object]:
    """Prints the table of a race and returns its data."""
    basis = next((c for c in race.contestants if c.process == "h5py"), race.contestants[0])
    limit = next((c for c in race.contestants if c.process == "limit"), None)
    table = Table(title=race.name, title_justify="left")
    for heading in ("who", race.unit, "quartiles", f"× {basis.name()}", "of the limit", "peak MiB"):
        table.add_column(heading, justify="left" if heading == "who" else "right")
    rows = []
    for contestant in race.contestants:
        quartiles = statistics.quantiles(contestant.seconds, n=4) if len(contestant.seconds) > 1 else [contestant.seconds[0]] * 3
        ratio = statistics.median(b / s for b, s in zip(basis.seconds, contestant.seconds))
        of_limit = statistics.median(b / s for b, s in zip(limit.seconds, contestant.seconds)) if limit else None
        speed = [race.amount / seconds for seconds in (contestant.median(), quartiles[2], quartiles[0])]
        if race.unit == MICROSECONDS:
            speed = [seconds / race.amount * 1e6 for seconds in (contestant.median(), quartiles[0], quartiles[2])]
        rows.append(
            {
                "who": contestant.name(),
                "threads": contestant.threads,
                "median": speed[0],
                "low": speed[1],
                "high": speed[2],
                "ratio": ratio,
                "of_limit": of_limit,
                "peak_bytes": contestant.peak_bytes,
            }
        )
        number = "{:,.0f}" if speed[0] >= 1000 else "{:.2f}"
        table.add_row(
            contestant.name(),
            number.format(speed[0]),
            f"{number.format(speed[1])} to {number.format(speed[2])}",
            f"{ratio:.2f}",
            f"{of_limit:.2f}" if of_limit else "",
            f"{contestant.peak_bytes / 2**20:,.0f}",
        )
    console.print(table)
    return {"race": race.name, "unit": race.unit, "basis": basis.name(), "rounds": len(basis.seconds), "rows": rows}


def machine() -> dict[str, object]:
    model = next(
        (line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.processor()
    )
    packages = ("h5py", "netCDF4", "pyarrow", "duckdb", "numpy", "hdf5plugin")
    return {
        "date": f"{datetime.date.today()}",
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        **{name: version(name) for name in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"some of {', '.join(races())}; all when none is named")
    parser.add_argument("--data", type=pathlib.Path, default=CACHE / "bench")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=30, help="what a race may take after its first rounds")
    parser.add_argument("--json", type=pathlib.Path, help="where the figures go as data, and come from that are there")
    parser.add_argument("--resume", action="store_true", help="leave out the races that the file has already")
    parser.add_argument("--list", action="store_true", help="name the races and run none")
    parser.add_argument("--without", nargs="*", default=[], help="contestants to leave out")
    parser.add_argument("--only", help="races whose name has this text")
    parser.add_argument("--profile", type=pathlib.Path, help="run our contestants with this profile of `hyperslab tune`, too, next to the defaults")
    options = parser.parse_args()
    console = Console(width=120)
    earlier = json.loads(options.json.read_text())["races"] if options.json and options.json.exists() else []
    results = {race["race"]: race for race in earlier}
    of_profile: list[float] = []
    for group, members in races().items():
        if options.groups and group not in options.groups:
            continue
        for race in members:
            if options.only and options.only not in race.name:
                continue
            if options.list:
                console.print(f"{group}: {race.name}{' (done)' * (race.name in results)}")
                continue
            if race.name in results and options.resume:
                continue
            race.contestants = [c for c in race.contestants if c.process not in options.without]
            data.make(options.data, sorted({race.path, *(c.path for c in race.contestants if c.path)}))
            if options.profile:
                with_profile(race)
            run(race, options.data, options.repeats, options.seconds, options.profile)
            of_profile += profile_ratios(race)
            results[race.name] = {"group": group, **report(race, console)}
            # After each race, so that a stopped run keeps its results.
            if options.json:
                options.json.parent.mkdir(parents=True, exist_ok=True)
                ordered = [results[race.name] for members in races().values() for race in members if race.name in results]
                options.json.write_text(json.dumps({"machine": machine(), "races": ordered}, indent=1) + "\n")
    if of_profile:
        mean = statistics.geometric_mean(of_profile)
        console.print(
            f"with the profile: speed {mean:.3f} of the defaults' (geometric mean of {len(of_profile)} rows, {min(of_profile):.2f} to {max(of_profile):.2f})"
        )


if __name__ == "__main__":
    main()
