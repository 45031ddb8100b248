"""Takes out one guard of the readers at a time, and looks whether a test file or a generated one shows it.

For each guard, a copy of the sources is changed and built, and reads the files of `testing/hostile/test_hostile_graphs.py` and generated
ones, each in a process with 1 GiB of address space and 5 seconds of processor time. A hang, an abort or too much memory shows that the
guard is missing. If there is none, another outcome than with all guards does: another count of objects or errors. A guard that nothing
misses is an error here: either the guard is not needed, or the files do not show what it is for. Guards of the Python package are taken
out of a copy of it, which opens, lists and shows the files of the tests (`run_graphs.py`).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import blocks as b  # noqa: E402
import graphs  # noqa: E402
import test_hostile_graphs as attacks  # noqa: E402
from guard_list import GUARDS, Guard  # noqa: E402

ADDRESS_SPACE, SECONDS = 1 << 30, 5
#: Memory that parsing may take: 64 MiB and 16 times the file, and the program itself.
BASE_BYTES, BYTES_PER_BYTE = 80 << 20, 16
PYTHON_PACKAGE = "bindings/python/python/"


class Outcome(NamedTuple):
    """How a program ended: what is wrong with that, and what it said."""

    finding: str | None
    said: str


def write_files(folder: pathlib.Path, count: int) -> list[pathlib.Path]:
    """The files of the tests, and `count` generated ones."""
    made = []
    for name, make in attacks.ATTACKS.items():
        image = b.Image()
        root = make(image)
        made.append(folder / f"{name}.h5")
        made[-1].write_bytes(image.finish(root, 2))
    for name, data in attacks.CLASSIC_ATTACKS.items():
        made.append(folder / f"{name}.nc")
        made[-1].write_bytes(data)
    # Larger ones, which only a parser is quick enough for.
    image = b.Image()
    root = attacks.cache_image_of_many_entries(image, 20_000, 200_000)
    for name, data in {"a cache image of 200,000 entries.h5": image.finish(root, 2), "20,000 variables.nc": attacks.classic(100_000, 20_000)}.items():
        made.append(folder / name)
        made[-1].write_bytes(data)
    for number in range(count):
        made.append(folder / f"generated {number}.h5")
        made[-1].write_bytes(graphs.graph(number))
    return made


def outcome(program: pathlib.Path, path: pathlib.Path, limits: tuple[str, ...] = ()) -> Outcome:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    done = subprocess.run([program, path, *limits], capture_output=True, text=True, errors="replace", preexec_fn=limit)
    said = f"{done.stdout.partition('peak_kib')[0]}{done.stderr}".strip()[:200]
    if done.returncode < 0:
        return Outcome("hang" if -done.returncode in (signal.SIGXCPU, signal.SIGKILL) else "abort", said)
    if "panicked" in done.stderr or "Internal" in done.stderr:
        return Outcome("fault", said)
    peak = re.search(r"^peak_kib (\d+)$", done.stdout, re.MULTILINE)
    if peak is None:
        return Outcome("ended without a word", said)
    peak_bytes = int(peak[1]) << 10
    return Outcome(f"{peak_bytes >> 20} MiB" if peak_bytes > BASE_BYTES + BYTES_PER_BYTE * path.stat().st_size else None, said)


class Sources:
    """A copy of the sources, and the programs that are built of it."""

    def __init__(self, scratch: pathlib.Path, target: pathlib.Path | None) -> None:
        self.folder, self.target = scratch / "sources", target or scratch / "target"
        folders = ["Cargo.toml", "Cargo.lock", "crates", "bindings", "benches"]
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
        # The extension is ignored by git, and belongs to the package.
        extensions = [str(path.relative_to(ROOT)) for path in (ROOT / PYTHON_PACKAGE / "hyperslab").glob("_native*")]
        for name in [*listed.stdout.splitlines(), *extensions]:
            if (ROOT / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                # Their times are now: cargo goes by them, and may have built these sources without a guard before.
                shutil.copyfile(ROOT / name, self.folder / name)

    def built(self) -> pathlib.Path:
        # Little optimization: a build takes seconds, and programs are quick enough for what they show.
        quick = {
            "CARGO_INCREMENTAL": "1",
            "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
            "CARGO_PROFILE_RELEASE_LTO": "off",
            "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        }
        environment = os.environ | quick | {"CARGO_TARGET_DIR": str(self.target)}
        command = ["cargo", "build", "--quiet", "--offline", "--locked", "--release", "-j", "2", "-p", "hyperslab-formats", "--example", "open_everything"]
        subprocess.run(command, cwd=self.folder, env=environment, check=True)
        return self.target / "release" / "examples" / "open_everything"

    def place(self, guard: Guard) -> pathlib.Path:
        return self.folder / (f"{PYTHON_PACKAGE}hyperslab" if guard.is_python else "crates") / guard.file

    def take_out(self, guards: list[Guard]) -> dict[pathlib.Path, str]:
        """Changes the sources; returns what they were."""
        originals: dict[pathlib.Path, str] = {}
        for guard in guards:
            text = self.place(guard).read_text()
            originals.setdefault(self.place(guard), text)
            if text.count(guard.old) != 1:
                raise SystemExit(f"{guard.file} has not one {guard.old!r}: say here what the guard is now")
            self.place(guard).write_text(text.replace(guard.old, guard.new))
        return originals

    def outcomes(self, guards: list[Guard], files: list[pathlib.Path], limits: tuple[str, ...], enough: int) -> dict[str, Outcome]:
        """What becomes of the files without these guards, until `enough` have findings."""
        originals = self.take_out(guards)
        try:
            program = self.built()
            found: dict[str, Outcome] = {}
            for path in files:
                found[path.name] = outcome(program, path, limits)
                enough -= found[path.name].finding is not None
                if not enough:
                    break
            return found
        finally:
            for place, text in originals.items():
                place.write_text(text)

    def shown_in_python(self, guards: list[Guard], files: list[pathlib.Path]) -> dict[str, str]:
        """The findings of `run_graphs.py` with a changed package."""
        originals = self.take_out(guards)
        try:
            shown: dict[str, str] = {}
            for path in files:
                environment = os.environ | {"PYTHONPATH": str(self.folder / PYTHON_PACKAGE)}
                command = [sys.executable, str(HERE / "run_graphs.py"), "--file", str(path)]
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
                found = re.search(r"finding=['\"]([^'\"]*)['\"]", done.stdout)
                if found is not None:
                    shown[path.name] = found[1]
            return shown
        finally:
            for place, text in originals.items():
                place.write_text(text)


def shown_by(sources: Sources, guard: Guard, files: list[pathlib.Path], known: dict[tuple[str, ...], dict[str, Outcome]]) -> dict[str, str]:
    """What shows that a guard is missing, by file. `known` are outcomes with all guards, by limits."""
    others = [other for other in GUARDS if other.what in guard.with_others]
    if guard.is_python:
        few = [path for path in files if path.stem in attacks.ATTACKS and "paths" in path.stem]
        without_others = sources.shown_in_python(others, few) if others else {}
        return sources.shown_in_python([guard, *others], [path for path in few if path.name not in without_others])
    if others:
        before = sources.outcomes(others, files, guard.limits, -1)
    else:
        if guard.limits not in known:
            known[guard.limits] = sources.outcomes([], files, guard.limits, -1)
        before = known[guard.limits]
    usable = [path for path in files if before[path.name].finding is None]
    after = sources.outcomes([guard, *others], usable, guard.limits, 3)
    findings = {name: found.finding for name, found in after.items() if found.finding is not None}
    if findings:
        return findings
    other = {
        name: f"another outcome ({before[name].said or 'nothing said'} → {found.said})" for name, found in after.items() if found.said != before[name].said
    }
    return dict(list(other.items())[:3])


def main() -> int:
    """The exit code: 1 if a guard can be taken out unnoticed, or if there are findings with all guards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="generated files")
    parser.add_argument("--target", type=pathlib.Path, help="folder for what cargo builds")
    parser.add_argument("--guard", action="append", help="only guards whose description has this text")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-guards-"))
    try:
        sources = Sources(scratch, options.target)
        (scratch / "files").mkdir()
        files = write_files(scratch / "files", options.count)
        known = {(): sources.outcomes([], files, (), -1)}
        findings = {name: found.finding for name, found in known[()].items() if found.finding}
        print(f"with all guards: {len(files)} files, findings: {findings or 'none'}", flush=True)
        unnoticed = 0
        for guard in GUARDS:
            if options.guard and not any(text in guard.what for text in options.guard):
                continue
            start = time.monotonic()
            seen = shown_by(sources, guard, files, known)
            unnoticed += not seen
            shown = "; ".join(f"{name}: {found}" for name, found in seen.items()) or "NOTHING NOTICES"
            also = "".join(f" and '{name}'" for name in guard.with_others)
            print(f"without '{guard.what}'{also}: {shown} ({time.monotonic() - start:.0f} s)", flush=True)
        print(f"{unnoticed} of {len(GUARDS)} guards can be taken out unnoticed")
        return int(bool(unnoticed or findings))
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
