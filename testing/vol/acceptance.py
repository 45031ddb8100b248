"""HDF5 1.14.6's own API tests with the connector compared with native runs, and why a test is skipped; HDF5's tools on a
container; a C program on three HDF5 libraries; h5py's own tests.

The libraries are built or downloaded once, outside of the clone.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

import h5py_suite

VERSION = "1.14.6"
ARCHIVE = f"https://deb.debian.org/debian/pool/main/h/hdf5/hdf5_{VERSION}+repack.orig.tar.gz"
BYTEDECO = "org.bytedeco:hdf5:1.14.3-1.5.10:jar:linux-x86_64"
HERE = pathlib.Path(__file__).parent
HOME = pathlib.Path.home() / ".cache" / "hyperslab"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HOME / "target"))
PLUGIN = pathlib.Path(os.environ.get("HYPERSLAB_VOL", TARGET / "debug" / "libhyperslab_vol.so"))
BUILD = HOME / "vol" / f"hdf5-{VERSION}" / "build"
PROGRAMS = ["h5_api_test", "h5dump", "h5ls", "h5diff", "h5copy", "h5repack"]
#: What the API tests must reach; native HDF5 passes 1,074.
PASSES = 1072
#: The capabilities that a container cannot have, in the words of the API tests.
IMPOSSIBLE = {"file mount": "mounts are of native files", "dataset filters": "filters are kept in the property list, not applied"}


def sources() -> pathlib.Path:
    """The unpacked sources: from `make conformance` if it fetched them, else Debian's archive."""
    for folder in (HOME / f"hdf5-{VERSION}" / "unpacked", HOME / "vol" / "unpacked"):
        found = sorted(folder.glob(f"hdf5-{VERSION}*"))
        if found:
            return found[0]
    folder = HOME / "vol" / "unpacked"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "hdf5.tar.gz"
    urllib.request.urlretrieve(ARCHIVE, archive)
    subprocess.run(["tar", "xf", archive, "-C", folder], check=True)
    return next(path for path in folder.iterdir() if path.is_dir())


def build() -> pathlib.Path:
    programs = BUILD / "bin"
    if not all((programs / name).exists() for name in PROGRAMS):
        off = ["EXAMPLES=OFF", "FORTRAN=OFF", "JAVA=OFF", "HL_LIB=OFF"]
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DBUILD_STATIC_LIBS=OFF", "-DHDF5_TEST_API=ON", "-DBUILD_TESTING=ON"]
        options += [f"-DHDF5_BUILD_{word}" for word in off] + ["-DHDF5_ENABLE_SZIP_SUPPORT=OFF", "-DHDF5_ENABLE_Z_LIB_SUPPORT=OFF"]
        subprocess.run(["cmake", "-S", sources(), "-B", BUILD, *options], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", BUILD, "-j", "2", "--target", *PROGRAMS], check=True, stdout=subprocess.DEVNULL)
    return programs


def table(output: str) -> dict[str, int]:
    found = re.findall(r"^(\d+)/(\d+) \S+ API tests (passed|did not pass|were skipped)", output, re.MULTILINE)
    return {word: int(number) for number, _, word in found}


def skips(output: str) -> list[tuple[str, str]]:
    """The tests that were skipped, and the reason where the suite gives one: where it gives none it has no test."""
    lines = output.splitlines()
    found = []
    for at, line in enumerate(lines):
        if "-SKIP-" in line:
            name = line.split("-SKIP-")[0].strip() or next(above.strip() for above in reversed(lines[:at]) if above.strip())
            reason = lines[at + 1].strip() if at + 1 < len(lines) and "supported" in lines[at + 1] else ""
            found.append((name, reason))
    return found


def api_tests(programs: pathlib.Path, folder: pathlib.Path, plain: dict[str, str], ours: dict[str, str]) -> bool:
    rows, skipped = {}, {}
    runs = [("native", plain), ("arrow", ours), ("one file", ours | {"HDF5_VOL_CONNECTOR": "arrow form=file"})]
    for name, environment in runs:
        work = folder / name
        work.mkdir()
        run = subprocess.run([programs / "h5_api_test"], cwd=work, env=environment, capture_output=True, text=True, check=False)
        rows[name], skipped[name] = table(run.stdout), skips(run.stdout)
        for line in run.stdout.splitlines():
            if "*FAILED*" in line:
                print(f"{name}: {line.strip()}")
    print(f"{'connector':10} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for name, row in rows.items():
        print(f"{name:10} {row.get('passed', 0):7} {row.get('did not pass', -1):7} {row.get('were skipped', 0):8}")
    everywhere = {name for name, reason in skipped["native"] if not reason}
    own = [(name, reason) for name, reason in skipped["arrow"] if name not in everywhere]
    print(f"skipped with every connector, for the suite has no test there: {len(skipped['arrow']) - len(own)}")
    explained = True
    for name, reason in own:
        why = next((why for word, why in IMPOSSIBLE.items() if word in reason), None)
        explained &= why is not None
        print(f"skipped: {name}: {why or 'UNEXPLAINED: ' + reason}")
    good = all(rows[name].get("did not pass") == 0 and rows[name].get("passed", 0) >= PASSES for name in ("arrow", "one file"))
    return good and explained


WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    x = f.create_dataset("a/x", data=np.arange(12.0).reshape(3, 4)); x.attrs["units"] = "m"
    f.create_dataset("c", data=np.array([(1, 2.5, b"ab"), (2, 3.5, b"c")], dtype=[("i", "i4"), ("f", ">f8"), ("s", "S3")]))
    f.create_dataset("s", data=["hello", "", "w"], dtype=h5py.string_dtype())
    f["soft"], f["hard"], f["t"] = h5py.SoftLink("/a/x"), f["a/x"], np.dtype("f8")
    f.create_dataset("e", (2, 3), maxshape=(None, 3), dtype="i2", fillvalue=7).resize((4, 3))
"""


def tools(programs: pathlib.Path, folder: pathlib.Path, plain: dict[str, str], ours: dict[str, str], form: str) -> bool:
    """What h5dump says is what it says of a native file, but for the name; copies are equal to what was copied."""
    folder = folder / f"tools-{form}"
    folder.mkdir()
    ours = ours | {"HDF5_VOL_CONNECTOR": f"arrow form={form}"}
    native, made = folder / "n.h5", folder / "a.h5"
    subprocess.run([sys.executable, "-c", WRITE, native], env=plain, check=True)
    subprocess.run([sys.executable, "-c", WRITE, made], env=ours, check=True)

    def told(program: str, *arguments: object, environment: dict[str, str] = ours) -> tuple[int, str]:
        run = subprocess.run([programs / program, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False)
        return run.returncode, run.stdout

    without_name = [text.splitlines()[1:] for _, text in (told("h5dump", native, environment=plain), told("h5dump", made))]
    outcomes = {
        "h5dump": without_name[0] == without_name[1] and len(without_name[0]) > 40,
        "h5ls -rv": (lambda run: run[0] == 0 and "/a/x" in run[1] and "/soft" in run[1])(told("h5ls", "-rv", made)),
        "h5copy": told("h5copy", "-i", made, "-o", folder / "copied.h5", "-s", "/a", "-d", "/b")[0] == 0,
        "h5diff": told("h5diff", made, folder / "copied.h5", "/a", "/b")[0] == 0 and told("h5diff", made, made, "/a/x", "/e")[0] == 1,
        "h5repack": told("h5repack", made, folder / "repacked.h5")[0] == 0 and told("h5diff", made, folder / "repacked.h5")[0] == 0,
    }
    for name, good in outcomes.items():
        print(f"{name:10} {form:8} {'works' if good else 'FAILED'}")
    return all(outcomes.values())


def hosts() -> list[tuple[str, list[str], dict[str, str]]]:
    """Libraries to build the C program with, as (name, options of the compiler, environment)."""
    source = sources() / "src"
    found = [("1.14.6", [f"-I{source}", f"-I{source / 'H5FDsubfiling'}", f"-I{BUILD / 'src'}", f"-L{BUILD / 'bin'}", f"-Wl,-rpath,{BUILD / 'bin'}"], {})]
    place = HOME / "vol" / "bytedeco-1.14.3"
    if not place.exists():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={BYTEDECO}", f"-DoutputDirectory={folder}"], check=True)
            with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.jar"))) as archive:
                archive.extractall(place)
    inside = place / "org" / "bytedeco" / "hdf5" / "linux-x86_64"
    if not (inside / "libhdf5.so").exists():
        (inside / "libhdf5.so").symlink_to("libhdf5.so.310")
    found.append(("1.14.3", [f"-I{inside / 'include'}", f"-L{inside}", f"-Wl,-rpath,{inside}"], {}))
    installed, mpi = HOME / "hdf5-parallel" / "installed", HOME / "venvs" / "mpi"
    if installed.exists():
        options = [f"-I{installed / 'include'}", f"-I{mpi / 'include'}", f"-L{installed / 'lib'}", f"-Wl,-rpath,{installed / 'lib'}"]
        found.append(("2.2.0", [*options, f"-L{mpi / 'lib'}", "-lmpi"], {"LD_LIBRARY_PATH": str(mpi / "lib")}))
    else:
        print("*** NOT TESTED: the C program on HDF5 2.2.0, which `make bench-write` builds. ***")
    return found


def program(folder: pathlib.Path, plain: dict[str, str], ours: dict[str, str]) -> bool:
    """The C program says on the connector what it says natively, on each library."""
    every = True
    for name, options, more in hosts():
        work = folder / f"program-{name}"
        work.mkdir()
        subprocess.run(["cc", "-O1", HERE / "program.c", "-o", work / "program", *options, "-lhdf5"], check=True)
        said = []
        for connector in (None, "arrow", "arrow form=file"):
            environment = plain | more if connector is None else ours | more | {"HDF5_VOL_CONNECTOR": connector}
            run = subprocess.run([work / "program", f"{connector}.h5"], cwd=work, env=environment, capture_output=True, text=True, check=False)
            said.append((run.returncode, [line for line in run.stdout.splitlines() if not line.startswith("own:")]))
            version = f"own: HDF5 {name}" in run.stdout
        good = version and said[0][0] == 0 and len(said[0][1]) > 25 and said[0] == said[1] == said[2]
        every &= good
        print(f"a C program on HDF5 {name}: {len(said[0][1])} lines, {'the same natively and in both forms' if good else 'FAILED'}")
    return every


def main() -> int:
    programs = build()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "plugins").mkdir()
        (folder / "plugins" / PLUGIN.name).symlink_to(PLUGIN)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
        ours = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins"), "HDF5_VOL_CONNECTOR": "arrow"}
        outcomes = [api_tests(programs, folder, plain, ours)]
        outcomes += [tools(programs, folder, plain, ours, form) for form in ("folder", "file")]
        outcomes += [program(folder, plain, ours)]
        outcomes += [h5py_suite.run(folder, ours, form) for form in ("folder", "file")]
        return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
