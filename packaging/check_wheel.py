"""Checks an installed wheel, in an environment without the clone: `python check_wheel.py bare` without extras, `... extras` with them, and
`... pages` that the viewer shows its pages."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request

import hyperslab as hs
import numpy as np

PROFILES = pathlib.Path(sys.argv[2])
COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True)


def bare() -> None:
    """Reading and writing work, and what needs an extra says so."""
    assert "site-packages" in hs.__file__, hs.__file__
    tags = (importlib.metadata.distribution("hyperslab").read_text("WHEEL") or "").splitlines()
    assert any(tag.startswith("Tag: cp310-abi3-") for tag in tags), tags
    f = hs.open(PROFILES)
    assert f["theta"].shape == (40, 6, 8) and f.table("/theta").to_arrow().num_rows == 1920
    with tempfile.TemporaryDirectory() as folder:
        with hs.create(f"{folder}/a.h5") as made:
            made.create_dataset("x", data=np.arange(1000.0), compression="zstd")
        assert hs.query(f"{folder}/a.h5", "/", "x > 990").count() == 9
    for feature, extra in ((lambda: hs.sql("select 1", f), "sql"), (lambda: f["theta"].plot(), "plot"), (lambda: f.table("/theta").to_polars(), "polars")):
        try:
            feature()
        except hs.MissingExtraError as error:
            assert f"pip install 'hyperslab[{extra}]'" in str(error)
        else:
            raise AssertionError(f"{extra} is installed: this check is for an environment without extras")
    done = command("ls", str(PROFILES))
    assert (
        done.returncode == 1
        and done.stderr == "hyperslab: the command hyperslab needs the package typer, which is not installed: pip install 'hyperslab[cli]'\n"
    ), done
    distribution = importlib.metadata.distribution("hyperslab")
    assert "zstd-sys" in (pathlib.Path(hs.__file__).parent / "licenses" / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    bill = json.loads(distribution.read_text("sboms/hyperslab-python.cyclonedx.json") or "{}")
    assert bill["bomFormat"] == "CycloneDX" and {"zstd-sys", "pyo3"} <= {component["name"] for component in bill["components"]}


def extras() -> None:
    """The command and the features of its extras work."""
    done = command("doctor", "--json")
    assert done.returncode == 0, done
    assert "1920" in command("sql", str(PROFILES), "select count(*) as n from theta").stdout
    with tempfile.TemporaryDirectory() as folder:
        assert command("plot", str(PROFILES), "/theta", f"{folder}/a.png").returncode == 0
        assert command("export", str(PROFILES), "/theta", f"{folder}/a.nc").returncode == 0
    assert command("--version").stdout.strip() == importlib.metadata.version("hyperslab")


def pages() -> None:
    """The viewer's pages are in the wheel, and `hyperslab view` shows them: the page, each of its scripts and styles, and a file."""
    listed = {str(path) for path in importlib.metadata.files("hyperslab") or []}
    server = subprocess.Popen([COMMAND, "view", "--no-browser", PROFILES], stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    assert server.stdout is not None
    try:
        address = server.stdout.readline().split()[0]
        page = urllib.request.urlopen(address).read().decode()
        parts = re.findall(r'(?:src|href)="\./([^"]+)"', page)
        assert parts and {"hyperslab/viewer/static/index.html", *(f"hyperslab/viewer/static/{part}" for part in parts)} <= listed, (parts, sorted(listed))
        for part in parts:
            assert len(urllib.request.urlopen(address + part).read()) > 1000, part
        assert json.load(urllib.request.urlopen(f"{address}meta/?file={PROFILES.name}&path=/theta"))["shape"] == [40, 6, 8]
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 130


if __name__ == "__main__":
    {"bare": bare, "extras": extras, "pages": pages}[sys.argv[1]]()
    print(f"{sys.argv[1]}: all is well")
