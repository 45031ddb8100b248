"""Writing with a profile of `hyperslab tune` next to the defaults: the races of `run.py`, ours alone, in turns.

    profile.py PROFILE ROUNDS [arguments of run.py]

A profile is read once in a process, so each turn is a process of its own. The ratio of a row is the median over the rounds."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

RUN = pathlib.Path(__file__).with_name("run.py")


def turn(profile: str, arguments: list[str], out: pathlib.Path) -> dict[tuple[str, str], float]:
    """Seconds of each row of one turn."""
    out.unlink(missing_ok=True)
    command = [sys.executable, RUN, *arguments, "--ours", "--repeats", "1", "--json", out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "HYPERSLAB_PROFILE": profile})
    rounds = json.loads(out.read_text())["rounds"]
    # A race may do a few rounds even if it is asked for one.
    return {(title, name): statistics.median(seconds) for title, by_name in rounds.items() for name, seconds in by_name.items()}


def main() -> None:
    profile, rounds, *arguments = sys.argv[1:]
    ratios: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rounds.json"
        for number in range(int(rounds)):
            order = ["", os.path.abspath(profile)]
            seconds = {which: turn(which, arguments, out) for which in (order if number % 2 else order[::-1])}
            for row, default in seconds[""].items():
                ratios.setdefault(row, []).append(default / seconds[order[1]][row])
    print("| work | who | speed with the profile next to the defaults | lowest and highest |\n|---|---|--:|---|")
    for (title, name), found in ratios.items():
        print(f"| {title} | {name} | {statistics.median(found):.2f} | {min(found):.2f} to {max(found):.2f} |")
    means = [statistics.median(found) for found in ratios.values()]
    print(f"\n{rounds} rounds, geometric mean {statistics.geometric_mean(means):.3f} of {len(means)} rows")


if __name__ == "__main__":
    main()
