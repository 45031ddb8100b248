"""Fetches the packages of packages.toml and unpacks what in them is HDF5 or netCDF.

Debian's source packages come through apt with private folders (the system's lists stay as they are),
Python's through pip's own finder and session: `pip download` would run the build of an sdist for its
metadata. Single files of public repositories come through git, at a commit whose name is the hash of its
contents. Programs that are installed write files of their own. All use the machine's own configuration.
Every archive of a registry is checked by its sha256.
"""

from __future__ import annotations

import bz2
import dataclasses
import fnmatch
import gzip
import hashlib
import io
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib

import signature
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path.home() / ".cache" / "hyperslab" / "conformance"
SUITES = ("trixie", "sid")
COMPANION_BYTES = 64 << 20


class Unreachable(Exception):
    """The registry does not give this package, or gives another one."""


@dataclasses.dataclass
class Package:
    """One entry of packages.toml: `files` are names of archives and their sha256, `paths` patterns of the files of a repository: `!` leaves files out."""

    registry: str
    name: str
    version: str
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    paths: list[str] = dataclasses.field(default_factory=list)

    @property
    def folder(self) -> str:
        return f"{self.registry}-{self.name.replace('/', '+')}-{self.version.replace(':', '_')}"

    def has(self, path: str) -> bool:
        """Whether a path of the repository is one of `paths`."""
        wanted = any(fnmatch.fnmatchcase(path, pattern) for pattern in self.paths if not pattern.startswith("!"))
        return wanted and not any(fnmatch.fnmatchcase(path, pattern[1:]) for pattern in self.paths if pattern.startswith("!"))


def listed() -> list[Package]:
    """The packages of packages.toml."""
    with (HERE / "packages.toml").open("rb") as file:
        return [Package(**entry) for entry in tomllib.load(file)["package"]]


def sha256(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def apt_options() -> list[str]:
    """Private folders, with the lists of source packages."""
    root = CACHE / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    sources = root / "sources.list"
    options = [
        "-o",
        f"Dir::Etc::sourcelist={sources}",
        "-o",
        "Dir::Etc::sourceparts=-",
        "-o",
        f"Dir::State::lists={root}/lists",
        "-o",
        f"Dir::Cache={root}/cache",
        "-o",
        "APT::Get::List-Cleanup=0",
        "-o",
        "APT::Sandbox::User=root",
    ]
    done = root / "updated"
    if not done.exists():
        sources.write_text("".join(f"deb-src [trusted=yes] {mirror()} {suite} main\n" for suite in SUITES))
        run(["apt-get", *options, "update"], root)
        done.touch()
    return options


def mirror() -> str:
    """The machine's own Debian mirror."""
    places = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
    for place in places:
        if place.is_file():
            found = re.search(r"(?:deb\s+(?:\[[^\]]*\]\s*)?|URIs:\s*)(\S+/debian/?)(?:\s|$)", place.read_text())
            if found:
                return found[1]
    raise Unreachable("no Debian mirror in /etc/apt")


def run(command: list[str], folder: pathlib.Path) -> bytes:
    try:
        return subprocess.run(command, check=True, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True).stdout
    except FileNotFoundError as error:
        raise Unreachable(f"{command[0]} is not installed") from error
    except subprocess.CalledProcessError as error:
        raise Unreachable((error.stderr.decode(errors="replace").strip().splitlines() or [str(error)])[-1]) from error


def fetch_debian(package: Package, folder: pathlib.Path) -> None:
    run(["apt-get", *apt_options(), "source", "--download-only", "--tar-only", f"{package.name}={package.version}"], folder)


PIP = """
import shutil, sys
from pip._internal.commands.download import DownloadCommand
command = DownloadCommand('download', '')
name, version, folder, *wanted = sys.argv[1:]
options, _ = command.parse_args(['--no-deps', '--ignore-requires-python', '--pre', name])
with command.main_context():
    session = command.get_default_session(options)
    finder = command._build_package_finder(options, session, ignore_requires_python=True)
    links = {c.link.filename: c.link for c in finder.find_all_candidates(name) if str(c.version) == version}
    for file in wanted or [f for f in links if f.endswith(('.tar.gz', '.zip', '.tar.bz2'))] or list(links)[-1:]:
        if file not in links:
            sys.exit(f'no {file} among the candidates')
        with session.get(links[file].url_without_fragment, stream=True) as answer, open(f'{folder}/{file}', 'wb') as out:
            answer.raise_for_status()
            shutil.copyfileobj(answer.raw, out)
"""


def fetch_pypi(package: Package, folder: pathlib.Path) -> None:
    run([sys.executable, "-c", PIP, package.name, package.version, str(folder), *package.files], folder)


def fetch_github(package: Package, folder: pathlib.Path) -> None:
    """Packs the files at the commit whose paths match. Contents of others are not fetched."""
    with tempfile.TemporaryDirectory(dir=CACHE) as repository, tarfile.open(folder / "paths.tar", "w") as packed:
        git = ["git", "--git-dir", repository]
        run([*git, "init", "--quiet", "--bare"], folder)
        run([*git, "remote", "add", "origin", f"https://github.com/{package.name}"], folder)
        run([*git, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", package.version], folder)
        for path in run([*git, "ls-tree", "-r", "-z", "--name-only", package.version], folder).decode().split("\0"):
            if package.has(path):
                content = run([*git, "cat-file", "blob", f"{package.version}:{path}"], folder)
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                packed.addfile(entry, io.BytesIO(content))


def write_files(package: Package, folder: pathlib.Path) -> None:
    """Runs the script of a program in `writers/`, which writes files into the folder where it runs; then packs them."""
    script = next((HERE / "writers").glob(f"{package.name}.*"))
    with tempfile.TemporaryDirectory(dir=CACHE) as written:
        run([package.version, str(script)], pathlib.Path(written))
        run(["tar", "-cf", str(folder / "written.tar"), "-C", written, "."], folder)


REGISTRIES = {"debian": fetch_debian, "pypi": fetch_pypi, "github": fetch_github, "program": write_files}


def download(package: Package) -> list[pathlib.Path]:
    """The package's archives, checked; from the cache if they are there."""
    folder = CACHE / "archives" / package.folder
    files = [folder / name for name in package.files]
    if not files or not all(file.exists() for file in files):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as fresh:
            REGISTRIES[package.registry](package, pathlib.Path(fresh))
            for file in pathlib.Path(fresh).iterdir():
                if not package.files or file.name in package.files:
                    file.rename(folder / file.name)
    files = files or sorted(file for file in folder.iterdir() if file.is_file())
    for file in files:
        if not file.exists():
            raise Unreachable(f"{file.name} did not come")
        if package.files and sha256(file) != package.files[file.name]:
            file.unlink()
            raise Unreachable(f"{file.name} has another sha256 than packages.toml")
    return files


def unpack_archive(archive: pathlib.Path, target: pathlib.Path) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(target)
    else:
        subprocess.run(["tar", "--no-same-owner", "-xf", archive, "-C", target], check=True, capture_output=True)


def unpack_inner(root: pathlib.Path) -> None:
    """Unpacks compressed files and archives inside the package next to them."""
    openers = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > COMPANION_BYTES:
            continue
        target = path.with_name(path.name + ".unpacked")
        try:
            if path.suffix in (".zip", ".tgz") or path.name.endswith((".tar.gz", ".tar.bz2", ".tar.xz")):
                target.mkdir()
                unpack_archive(path, target)
            elif path.suffix in openers:
                with openers[path.suffix](path) as packed, target.open("wb") as out:
                    head = packed.read(4096)
                    if head[:4] in signature.NETCDF3 or signature.HDF5 in head:
                        out.write(head)
                        shutil.copyfileobj(packed, out)
        except (OSError, EOFError, zipfile.BadZipFile, subprocess.CalledProcessError, lzma.LZMAError, zlib.error, RuntimeError, NotImplementedError):
            continue  # made to be broken, for the package's own tests


def unpack(package: Package) -> pathlib.Path:
    """The folder with the package's HDF5 and netCDF files, and the files next to them (external links, raw data)."""
    done = CACHE / "files" / package.folder
    if done.exists():
        return done
    archives = download(package)
    done.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=done.parent) as fresh:
        root = pathlib.Path(fresh) / "all"
        kept = pathlib.Path(fresh) / "kept"
        root.mkdir()
        kept.mkdir()
        for archive in archives:
            unpack_archive(archive, root)
        subprocess.run(["chmod", "-R", "u+rwX", root], check=True)
        unpack_inner(root)
        hits = [path for path in root.rglob("*") if signature.kind(path)]
        for folder in {path.parent for path in hits}:
            for path in folder.iterdir():
                if path.is_file() and not path.is_symlink() and (path in hits or path.stat().st_size < COMPANION_BYTES):
                    target = kept / path.relative_to(root)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    path.rename(target)
        kept.rename(done)
    return done


def main() -> None:
    """`packages.py debian:NAME=VERSION pypi:NAME=VERSION[=FILE] …` looks into packages and prints entries for packages.toml."""
    for wanted in sys.argv[1:]:
        registry, _, rest = wanted.partition(":")
        name, version, *file = rest.split("=")
        package = Package(registry, name, version, dict.fromkeys(file, ""))
        try:
            if file:
                package.files = {}
                folder = CACHE / "archives" / package.folder
                folder.mkdir(parents=True, exist_ok=True)
                asked = Package(registry, name, version, dict.fromkeys(file, ""))
                REGISTRIES[registry](asked, folder)
            archives = download(package)
            root = unpack(package)
        except Exception as error:
            print(f"# {wanted}: {type(error).__name__} {error}", flush=True)
            continue
        kinds = [signature.kind(path) for path in root.rglob("*")]
        print(
            f"# {wanted}: {kinds.count('hdf5')} HDF5, {kinds.count('netcdf3')} netCDF classic, {sum(a.stat().st_size for a in archives) >> 20} MiB", flush=True
        )
        if any(kinds):
            print(
                f'[[package]]\nregistry = "{registry}"\nname = "{name}"\nversion = "{version}"\nfiles = {{ '
                + ", ".join(f'"{a.name}" = "{sha256(a)}"' for a in archives)
                + " }\n",
                flush=True,
            )
        else:
            for archive in archives:
                archive.unlink()


if __name__ == "__main__":
    main()
