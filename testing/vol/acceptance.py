"""HDF5 1.14.6's own API tests with the connector, beside native ones; its tools on a container.

The library is built once, from Debian's source package, outside of the clone.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

VERSION = "1.14.6"
ARCHIVE = f"https://deb.debian.org/debian/pool/main/h/hdf5/hdf5_{VERSION}+repack.orig.tar.gz"
HOME = pathlib.Path.home() / ".cache" / "hyperslab"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HOME / "target"))
PLUGIN = pathlib.Path(os.environ.get("HYPERSLAB_VOL", TARGET / "debug" / "libhyperslab_vol.so"))
BUILD = HOME / "vol" / f"hdf5-{VERSION}" / "build"
PROGRAMS = ["h5_api_test", "h5dump", "h5ls", "h5diff", "h5copy", "h5repack"]
#: What the API tests must reach; native HDF5 passes 1,074.
PASSES = 1000


def sources() -> pathlib.Path:
    """The unpacked sources: those of `make conformance` where they are, else Debian's archive."""
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


def main() -> int:
    programs = build()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "plugins").mkdir()
        (folder / "plugins" / PLUGIN.name).symlink_to(PLUGIN)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
        ours = plain | {"HDF5_PLUGIN_PATH": str(folder / "plugins"), "HDF5_VOL_CONNECTOR": "arrow"}
        rows = {}
        for name, environment in (("native", plain), ("arrow", ours)):
            work = folder / name
            work.mkdir()
            run = subprocess.run([programs / "h5_api_test"], cwd=work, env=environment, capture_output=True, text=True, check=False)
            rows[name] = table(run.stdout)
            for line in run.stdout.splitlines():
                if "*FAILED*" in line:
                    print(f"{name}: {line.strip()}")
        print(f"{'connector':10} {'passed':>7} {'failed':>7} {'skipped':>8}")
        for name, row in rows.items():
            print(f"{name:10} {row.get('passed', 0):7} {row.get('did not pass', -1):7} {row.get('were skipped', 0):8}")
        good = rows["arrow"].get("did not pass") == 0 and rows["arrow"].get("passed", 0) >= PASSES
        return 0 if tools(programs, folder, plain, ours) and good else 1


WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    x = f.create_dataset("a/x", data=np.arange(12.0).reshape(3, 4)); x.attrs["units"] = "m"
    f.create_dataset("c", data=np.array([(1, 2.5, b"ab"), (2, 3.5, b"c")], dtype=[("i", "i4"), ("f", ">f8"), ("s", "S3")]))
    f.create_dataset("s", data=["hello", "", "w"], dtype=h5py.string_dtype())
    f["soft"], f["hard"], f["t"] = h5py.SoftLink("/a/x"), f["a/x"], np.dtype("f8")
    f.create_dataset("e", (2, 3), maxshape=(None, 3), dtype="i2", fillvalue=7).resize((4, 3))
"""


def tools(programs: pathlib.Path, folder: pathlib.Path, plain: dict[str, str], ours: dict[str, str]) -> bool:
    """What h5dump says is what it says of a native file, but for the name; copies are equal to what was copied."""
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
        print(f"{name:10} {'works' if good else 'FAILED'}")
    return all(outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
