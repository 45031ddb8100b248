"""Builds the wheel for a free-threaded CPython: `python free_threaded.py MATURIN FOLDER`. Leaves the wheel in FOLDER, and
the path of the interpreter in FOLDER/interpreter.

The interpreter is FREE_THREADED_PYTHON, or one on PATH, or one that was built before, or it is built from Debian's source package, once, into
~/.cache/hyperslab, without installing anything. PyO3 needs CPython 3.14. If the registry has the source of 3.13 only, the extension is built for that
from a copy of this tree with the last PyO3 that knew it: the same code without the lock, but not the wheel that users get.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path.home() / ".cache" / "hyperslab"
#: Those that are looked for, in this order.
VERSIONS = ("3.14", "3.13")
SUITES = ("sid", "forky", "trixie")
#: PyO3 for interpreters that the one of Cargo.toml does not know.
OLDER_PYO3 = {"3.13": "0.28.3"}
HEADERS = {"openssl/ssl.h": "libssl-dev", "ffi.h": "libffi-dev", "zlib.h": "zlib1g-dev"}


class Unavailable(Exception):
    """What is missing, and how to get it."""


def run(*command: str | pathlib.Path, folder: pathlib.Path | None = None, log: pathlib.Path | None = None) -> str:
    """Runs a command to its end. Its output goes to the file `log` if it is given, else it is returned."""
    if log is None:
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    with log.open("ab") as out:
        if subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode:
            raise Unavailable(f"{' '.join(map(str, command[:2]))} failed:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]))
    return ""


def version_of(python: str | pathlib.Path) -> str | None:
    """`3.14` of a free-threaded interpreter; `None` if it is not one."""
    question = "import sys, sysconfig; print(f'{sys.version_info.major}.{sys.version_info.minor}' if sysconfig.get_config_var('Py_GIL_DISABLED') else '')"
    try:
        return run(python, "-c", question).strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None


def present() -> pathlib.Path | None:
    """An interpreter that is there."""
    if given := os.environ.get("FREE_THREADED_PYTHON"):
        if version_of(given) is None:
            raise Unavailable(f"FREE_THREADED_PYTHON={given} is not a free-threaded Python")
        return pathlib.Path(given)
    for version in VERSIONS:
        for found in (shutil.which(f"python{version}t"), CACHE / f"python{version}t" / "bin" / f"python{version}t"):
            if found is not None and version_of(found) == version:
                return pathlib.Path(found)
    return None


def check_tools() -> None:
    """The programs and headers that the build of CPython needs."""
    missing = [f"{tool} ({package})" for tool, package in {"cc": "gcc", "make": "make", "tar": "tar", "xz": "xz-utils"}.items() if shutil.which(tool) is None]
    if not missing:
        for header, package in HEADERS.items():
            if subprocess.run(["cc", "-E", "-include", header, "-x", "c", os.devnull], capture_output=True).returncode:
                missing.append(f"{header} ({package})")
    if missing:
        raise Unavailable(f"to build CPython, install what is missing, by Debian's names in brackets: {', '.join(missing)}")


def mirror() -> str:
    """The machine's own Debian mirror."""
    for place in [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]:
        if place.is_file() and (found := re.search(r"(?:deb\s+(?:\[[^\]]*\]\s*)?|URIs:\s*)(\S+/debian/?)(?:\s|$)", place.read_text())):
            return found[1]
    raise Unavailable("no Debian mirror in /etc/apt: set FREE_THREADED_PYTHON to a python3.14t")


def apt(root: pathlib.Path) -> list[str]:
    """Options for apt with folders of its own below `root`; the lists of source packages are fetched."""
    for folder in ("lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True)
    sources = root / "sources.list"
    sources.write_text("".join(f"deb-src [trusted=yes] {mirror()} {suite} main\n" for suite in SUITES))
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "APT::Sandbox::User": "root",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    run("apt-get", *options, "update", folder=root, log=root / "log")
    return options


def source(folder: pathlib.Path) -> tuple[str, pathlib.Path]:
    """The version and the unpacked source of the first of VERSIONS that Debian's registry gives. apt checks its hash."""
    if shutil.which("apt-get") is None:
        raise Unavailable("no free-threaded Python and no apt-get to fetch its source: set FREE_THREADED_PYTHON to a python3.14t")
    options = apt(folder / "apt")
    tried = []
    for version in VERSIONS:
        listed = subprocess.run(["apt-cache", *options, "showsrc", f"python{version}"], capture_output=True, text=True).stdout
        releases = set(re.findall(r"^Version: (\S+)$", listed, re.MULTILINE))
        for release in sorted(releases, key=lambda text: [int(part) for part in re.findall(r"\d+", text)], reverse=True):
            tried.append(f"python{version}={release}")
            command = ["apt-get", *options, "source", "--download-only", "--tar-only", tried[-1]]
            if subprocess.run(command, cwd=folder, capture_output=True).returncode == 0:
                run("tar", "--no-same-owner", "-xf", next(folder.glob(f"python{version}_*.orig.tar.xz")), folder=folder)
                return version, next(path for path in folder.glob("Python-*") if path.is_dir())
    raise Unavailable(f"the registry gives none of these sources: {', '.join(tried)}. Set FREE_THREADED_PYTHON to a python3.14t")


def build() -> pathlib.Path:
    """CPython without the lock, from Debian's source, in the cache."""
    check_tools()
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        folder = pathlib.Path(temporary)
        version, tree = source(folder)
        log = folder / "log"
        prefix = CACHE / f"python{version}t"
        print(f"Compiling {tree.name} without the lock (minutes, once) ...", flush=True)
        run("./configure", f"--prefix={prefix}", "--disable-gil", "--disable-test-modules", "--with-ensurepip=install", folder=tree, log=log)
        run("make", "-j2", folder=tree, log=log)
        run("make", "install", folder=tree, log=log)
    python = prefix / "bin" / f"python{version}t"
    if version_of(python) != version:
        raise Unavailable(f"{python} was built, but is not a free-threaded Python {version}")
    return python


def tree_for(version: str, folder: pathlib.Path) -> pathlib.Path:
    """The tree to build from: this one, or a copy with an older PyO3."""
    older = OLDER_PYO3.get(version)
    if older is None:
        return ROOT
    copy = folder / "tree"
    shutil.rmtree(copy, ignore_errors=True)
    for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", folder=ROOT).split("\0"):
        path = ROOT / name
        if name and path.is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy / name)
    manifest = copy / "bindings" / "python" / "Cargo.toml"
    text, count = re.subn(r"^pyo3 = .*$", f'pyo3 = "{older.rpartition(".")[0]}"', manifest.read_text(), flags=re.MULTILINE)
    if count != 1:
        raise Unavailable(f"{manifest} does not name PyO3 in one line")
    manifest.write_text(text)
    for file in (copy / "bindings" / "python" / "src").glob("*.rs"):
        # A constructor that the older PyO3 has under another name.
        file.write_text(re.sub(r'PyCapsule::new_with_value\((.*?), (c"\w+")\)', r"PyCapsule::new(\1, Some(\2.to_owned()))", file.read_text()))
    run("cargo", "update", "--quiet", "-p", "pyo3", "--precise", older, folder=copy)
    return copy


def main() -> None:
    maturin, folder = pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    python = present() or build()
    version = version_of(python)
    if version is None:
        raise Unavailable(f"{python} is not a free-threaded Python")
    for wheel in folder.glob("*.whl"):
        wheel.unlink()
    tree = tree_for(version, folder)
    command = ["bash", ROOT / "packaging/quietly.sh", f"Compiling the wheel for {python.name}"]
    build_wheel = [maturin, "build", "--release", "--locked", "--strip", "--interpreter", python, "--out", folder]
    if subprocess.run([*command, *build_wheel], cwd=tree).returncode:
        raise SystemExit(1)
    made = next(folder.glob("*.whl"))
    print(f"{made.name}: {made.stat().st_size / (1 << 20):.1f} MiB")
    (folder / "interpreter").write_text(f"{python}\n")


if __name__ == "__main__":
    try:
        main()
    except Unavailable as error:
        raise SystemExit(f"free-threaded Python: {error}") from None
