"""The yardstick: every HDF5 and netCDF file that Debian's hdf5 1.14.6 source package ships.

Fetches the package with private apt folders (the system's lists stay as they are), compares each
file in a process of its own (so that a crash or a hang is a result, not the end), and prints one
table. Reasons go to build/yardstick.tsv. Needs apt; exits with 1 if anything is different, an
error, a crash or a hang.
"""

from __future__ import annotations

import collections
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "1.14.6"
CACHE = pathlib.Path.home() / ".cache" / "hyperslab" / f"hdf5-{VERSION}"
TIMEOUT_SECONDS = 60


def mirror() -> str:
    """The machine's own Debian mirror."""
    places = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
    for place in places:
        if place.is_file():
            found = re.search(r"(?:deb\s+(?:\[[^\]]*\]\s*)?|URIs:\s*)(\S+/debian/?)(?:\s|$)", place.read_text())
            if found:
                return found[1]
    sys.exit("no Debian mirror in /etc/apt: the yardstick needs one")


def fetch() -> pathlib.Path:
    """The unpacked source package."""
    done = CACHE / "unpacked"
    if done.exists():
        return done
    for folder in ("lists/partial", "cache/archives/partial", "download"):
        (CACHE / folder).mkdir(parents=True, exist_ok=True)
    sources = CACHE / "sources.list"
    sources.write_text(f"deb-src [trusted=yes] {mirror()} sid main\n")
    options = [
        "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={CACHE}/lists",
        "-o", f"Dir::Cache={CACHE}/cache", "-o", "APT::Get::List-Cleanup=0", "-o", "APT::Sandbox::User=root",
    ]
    subprocess.run(["apt-get", *options, "update"], check=True, stdout=subprocess.DEVNULL)
    listed = subprocess.run(["apt-cache", *options, "showsrc", "hdf5"], check=True, capture_output=True, text=True).stdout
    versions = [v for v in re.findall(r"^Version: (\S+)", listed, re.M) if v.startswith(VERSION)]
    if not versions:
        sys.exit(f"hdf5 {VERSION} is not in the package lists any more")
    subprocess.run(
        ["apt-get", *options, "source", "--download-only", f"hdf5={versions[-1]}"],
        check=True, cwd=CACHE / "download", stdout=subprocess.DEVNULL,
    )
    archive = next((CACHE / "download").glob("hdf5_*.orig.tar.*"))
    target = CACHE / "unpacking"
    target.mkdir(exist_ok=True)
    subprocess.run(["tar", "xf", archive, "-C", target], check=True)
    target.rename(done)
    return done


def is_ours(path: pathlib.Path) -> bool:
    """HDF5 at 0, 512, 1024 … or netCDF classic, by content."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size < 8:
        return False
    with path.open("rb") as file:
        offset = 0
        while offset < path.stat().st_size:
            file.seek(offset)
            start = file.read(8)
            if start == b"\x89HDF\r\n\x1a\n":
                return True
            offset = offset * 2 or 512
    return False


def compare(path: pathlib.Path) -> dict[str, object]:
    """What became of one file."""
    program = (
        "import json, sys, dataclasses; sys.path.insert(0, sys.argv[1]); import compare, h5py\n"
        "try:\n  h5py.File(sys.argv[2], 'r').close()\n"
        "except Exception as e:\n  print(json.dumps({'unreadable': str(e)})); sys.exit()\n"
        "print(json.dumps({'results': [dataclasses.asdict(r) for r in compare.compare(sys.argv[2])]}))"
    )
    try:
        run = subprocess.run(
            [sys.executable, "-c", program, str(HERE), str(path)], capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"outcome": "hang"}
    if run.returncode != 0:
        return {"outcome": "crash", "detail": run.stderr.strip().splitlines()[-1:] or [str(run.returncode)]}
    answer = json.loads(run.stdout.strip().splitlines()[-1])
    if "unreadable" in answer:
        return {"outcome": "unreadable", "detail": answer["unreadable"]}
    worst = "equal"
    order = ["equal", "refused", "error", "different"]
    for result in answer["results"]:
        if result["outcome"] in order and order.index(result["outcome"]) > order.index(worst):
            worst = result["outcome"]
    return {"outcome": worst, "results": answer["results"]}


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else fetch()
    files = sorted(path for path in root.rglob("*") if is_ours(path))
    build = HERE.parent / "build"
    build.mkdir(exist_ok=True)
    outcomes: collections.Counter[str] = collections.Counter()
    objects: collections.Counter[str] = collections.Counter()
    with (build / "yardstick.tsv").open("w") as table:
        for path in files:
            answer = compare(path)
            outcomes[str(answer["outcome"])] += 1
            name = path.relative_to(root)
            for result in answer.get("results", []):
                objects[result["outcome"]] += 1
                if result["outcome"] not in ("equal", "unreadable"):
                    print(name, result["path"], result["outcome"], result["detail"], sep="\t", file=table)
            if "detail" in answer:
                print(name, "/", answer["outcome"], answer["detail"], sep="\t", file=table)
    read = sum(outcomes.values()) - outcomes["unreadable"]
    print(f"{len(files)} files, of which h5py opens {read}; {sum(objects.values())} objects and attributes")
    for outcome in ("equal", "refused", "different", "error", "crash", "hang"):
        share = 100 * outcomes[outcome] / max(read, 1)
        print(f"  {outcome:10} {outcomes[outcome]:5} files {share:6.1f} %   {objects[outcome]:7} objects")
    print("reasons: build/yardstick.tsv")
    return int(any(outcomes[o] for o in ("different", "error", "crash", "hang")))


if __name__ == "__main__":
    sys.exit(main())
