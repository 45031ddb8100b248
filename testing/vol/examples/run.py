"""HDF5's own example programs in C, C++ and Fortran: what each prints, and what is in its files, natively and with the connector."""

from __future__ import annotations

import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import acceptance  # noqa: E402
from differences import EXPLAINED  # noqa: E402
from groups import DATA, SERIAL, Example, examples  # noqa: E402

PLACE = acceptance.HOME / "vol" / f"hdf5-{acceptance.VERSION}-threads"
INSTALLED = PLACE / "installed"
FORMS = {"native": None, "folder": "arrow form=folder", "file": "arrow form=file"}
#: Programs whose files h5dump takes minutes for: what is in them is listed instead.
MANY_OBJECTS = {"h5_shared_mesg"}
CRASHED = "CRASH of"
Outcome = tuple[int, str, dict[str, str]]


def build() -> str:
    """Builds HDF5 once; the Fortran compiler, if there is one."""
    found = subprocess.run([HERE / "fortran.sh", acceptance.HOME / "vol" / "fortran"], capture_output=True, text=True, check=True)
    fortran = found.stdout.strip()
    if not fortran:
        print("*** NOT TESTED: HDF5's examples in Fortran. Neither gfortran nor Debian's package is here. ***")
    subprocess.run([HERE / "build-hdf5.sh", acceptance.sources(), PLACE, fortran], check=True)
    return fortran


def headers() -> None:
    """The header with HDF5's version that CMake makes for the examples in Fortran."""
    text = (acceptance.sources() / "HDF5Examples/FORTRAN/H5D/h5_version.h.in").read_text()
    for word, number in zip(("MAJOR", "MINOR", "RELEASE"), acceptance.VERSION.split("."), strict=True):
        text = text.replace(f"@H5_VERS_{word}@", number)
    (INSTALLED / "include/h5_version.h").write_text(text)


def compiled(example: Example, fortran: str) -> pathlib.Path:
    """The program, which is compiled once."""
    program = PLACE / "programs" / example.name
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(example.command(INSTALLED, fortran, program), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{example.name} does not compile:\n{done.stderr}")
    return program


class Side:
    """A folder in which the examples of a group run, natively or with the connector."""

    def __init__(self, form: str, folder: pathlib.Path, environment: dict[str, str]) -> None:
        self.form, self.folder, self.environment = form, folder, environment
        self.seen: dict[str, int] = {}
        # Programs that do not look at errors may run forever.
        self.patience = 120 if form == "native" else 20
        folder.mkdir(parents=True)

    def bring(self, source: pathlib.Path) -> None:
        """Puts a file here that comes with an example: HDF5 files as containers, except natively."""
        target = self.folder / source.name
        if source.suffix != ".h5" or self.form == "native":
            shutil.copy(source, target)
            return
        tool = [INSTALLED / "bin/h5repack", "--src-vol-name=native", "--dst-vol-name=arrow", f"--dst-vol-info=form={self.form}", source, target]
        subprocess.run(tool, env=self.environment, check=True, capture_output=True)

    def told(self, command: list[pathlib.Path | str]) -> tuple[int, str]:
        try:
            done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, timeout=self.patience, check=False)
        except subprocess.TimeoutExpired as late:
            if self.form == "native":
                raise SystemExit(f"{command[0]} does not end") from late
            return 124, "does not end"
        return done.returncode, done.stdout.decode(errors="replace")

    def changed(self) -> list[str]:
        """The files that were written since the last call, by name."""
        now = {
            path.name: max(p.stat().st_mtime_ns for p in [path, *path.rglob("*")]) for path in sorted(self.folder.iterdir()) if not path.name.startswith(".")
        }
        fresh = [name for name, time in now.items() if self.seen.get(name) != time]
        self.seen = now
        return fresh

    def run(self, program: pathlib.Path) -> Outcome:
        status, output = self.told([program])
        files = {}
        for name in self.changed():
            if not name.endswith((".txt", ".dat", ".bin", ".data")):
                tool = [INSTALLED / "bin/h5ls", "-r"] if program.name in MANY_OBJECTS else [INSTALLED / "bin/h5dump"]
                told, text = self.told([*tool, name])
                files[name] = text if told == 0 else f"{CRASHED if told < 0 else 'error of'} {tool[0].name}\n{text}"
        # Following a reference, h5dump may write to a file that it reads.
        self.changed()
        return status, output, files


def lines(outcome: Outcome) -> list[str]:
    status, output, files = outcome
    return [f"exit status {status}", *output.splitlines(), *(line for name in sorted(files) for line in (f"file {name}", *files[name].splitlines()))]


def difference(native: Outcome, ours: Outcome) -> str:
    """What differs, first; empty if nothing does."""
    if native == ours:
        return ""
    wanted, told = lines(native), lines(ours)
    start = next((at for at, (a, b) in enumerate(zip(wanted, told, strict=False)) if a != b), min(len(wanted), len(told)))
    return "\n".join(list(difflib.unified_diff(wanted[start : start + 200], told[start : start + 200], lineterm="", n=0))[2:])


def group(name: str, folder: pathlib.Path, plain: dict[str, str], ours: dict[str, str], fortran: str) -> dict[str, dict[str, str]]:
    """The differences of each example of a folder, in each form."""
    sources = acceptance.sources()
    sides = []
    for form, connector in FORMS.items():
        side = Side(form, folder / form / name, plain if connector is None else ours | {"HDF5_VOL_CONNECTOR": connector})
        for path in sorted((sources / name).iterdir()):
            if path.suffix in DATA:
                side.bring(path)
        side.changed()
        sides.append(side)
    found = {}
    for example in examples(sources, name):
        if example.language == ".f90" and not fortran:
            continue
        program = compiled(example, fortran)
        native, *others = [side.run(program) for side in sides]
        found[example.name] = {side.form: difference(native, outcome) for side, outcome in zip(sides[1:], others, strict=True)}
    return found


def main() -> int:
    fortran = build()
    headers()
    chosen = sys.argv[1:] or SERIAL
    same, differs, faults = 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "plugins").mkdir()
        (folder / "plugins" / acceptance.PLUGIN.name).symlink_to(acceptance.PLUGIN)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
        ours = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins")}
        for name in chosen:
            outcomes = group(name, folder, plain, ours, fortran)
            equal = sum(not any(forms.values()) for forms in outcomes.values())
            print(f"{name.removeprefix('HDF5Examples/'):20} {equal:3} of {len(outcomes):3} tell the same natively and in both forms", flush=True)
            same, differs = same + equal, differs + len(outcomes) - equal
            for example, forms in outcomes.items():
                reason = EXPLAINED.get(example)
                crashed = {form for form, text in forms.items() if CRASHED in text}
                unexplained = {form: text for form, text in forms.items() if text and (reason is None or form in crashed)}
                if any(forms.values()) and reason:
                    print(f"    {example.rpartition('/')[2]}: {reason}")
                if reason and not any(forms.values()):
                    print(f"    {example.rpartition('/')[2]}: NO LONGER DIFFERS, but differences.py says: {reason}")
                    faults += 1
                for form, text in unexplained.items():
                    print(f"    {example.rpartition('/')[2]}, form={form}: UNEXPLAINED\n{text[:2000]}")
                    faults += 1
    print(f"{same} of {same + differs} programs tell the same natively and in both forms; {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
