"""The command line as people meet it: help with examples that run, the manual, completions, the doctor, narrow and colorless terminals."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

import hyperslab as hs
import numpy as np
import plot_files
import pytest
from command_server import CommandServer
from hyperslab.cli import doctor, manual
from hyperslab.cli.menu import MENU

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
PROFILES = str(DATA / "atlantic_profiles.nc")
CELLS = str(DATA / "10x_pbmc68k_reduced.h5ad")
INSTALLED = pathlib.Path(sys.executable).parent / "hyperslab"
#: What the tests call: `served` replaces it.
COMMAND = INSTALLED
PAGES = manual.pages()
#: Examples that measure for minutes or serve until they are stopped, need what is not here, or change the user's home.
NOT_RUN = ("hyperslab tune ", "hyperslab view ", "hyperslab serve ", "hyperslab man | man", "hyperslab man >", "hyperslab chunk-index s3:", "spark-submit ")


@pytest.fixture(scope="module", autouse=True)
def served(command_server: CommandServer) -> None:
    """All calls go to the command server, except in `test_the_list_of_commands_is_not_cut`."""
    global COMMAND
    COMMAND = command_server.folder / "hyperslab"


@pytest.fixture(autouse=True)
def pages(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of the viewer, which npm may not have built, so that nothing is broken."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "index.html").touch()
    monkeypatch.setenv("HYPERSLAB_VIEWER_PAGES", str(folder))


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": "80", **environment})


def on_a_terminal(columns: int, *words: str, **environment: str) -> str:
    """What the command prints on a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen([COMMAND, *words], stdout=follower, stderr=follower, env={**kept, "TERM": "xterm-256color", **environment})
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait() == 0, shown
    return shown.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_every_command_has_examples_and_describes_all_its_arguments() -> None:
    assert len(PAGES) == len(MENU) + 1
    for page in PAGES[1:]:
        assert page.examples or page.name == "hyperslab profile", page.name
        assert len(page.summary) <= 50 and page.summary.endswith((".", "…")), page.name
        for item in [*page.arguments, *page.options]:
            assert item.help, f"{page.name} {item.names} is not described"


def test_the_list_of_commands_is_not_cut() -> None:
    listed = subprocess.run([INSTALLED, "--help"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}).stdout
    assert listed == run("--help").stdout
    for page in PAGES[1:]:
        assert page.summary in listed, page.summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the files that the examples name."""
    made = tmp_path_factory.mktemp("examples")
    for source, name in ((PROFILES, "profiles.nc"), (CELLS, "cells.h5ad"), (DATA / "rotated_pole.nc", "pressure.nc")):
        shutil.copy(source, made / name)
    for number, name in enumerate(("day1.nc", "day2.nc", "day3.nc")):
        with hs.create_netcdf(made / name) as day:
            day.create_dimension("time", None)
            day.create_variable("time", ["time"], data=np.arange(number * 2, number * 2 + 2))
    with hs.create(made / "flow.h5") as flow:
        for path in ("wind", "u", "old", "run/1/x", "run/2/x"):
            flow[path] = np.arange(3)
        flow["wind"].attrs["history"] = "as it was"
    # Only the superblock's checksum is wrong: all is saved, and the exit status is 0.
    whole = (made / "flow.h5").read_bytes()
    (made / "broken.h5").write_bytes(whole[:44] + bytes(4) + whole[48:])
    plot_files.nexus(made / "scan.nxs")
    hs.convert(made / "profiles.nc", made / "container.arrow")
    plan = hs.WritePlan(made / "run.h5")
    task = plan.task(0)
    task.create_dataset("x", data=np.arange(10.0))
    plan.commit([task.finish()])
    return made


EXAMPLES = [line for page in PAGES[1:] for line in page.examples if not line.startswith(NOT_RUN)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_help_runs(line: str, folder: pathlib.Path) -> None:
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True, cwd=folder, env={**os.environ, "PATH": path})
    assert done.returncode == 0 and done.stdout, done.stderr


def test_help_shows_the_examples() -> None:
    shown = run("export", "--help").stdout
    assert all(f"\n    {line}\n" in shown for page in PAGES if page.name == "hyperslab export" for line in page.examples)


def test_the_manual_is_a_page_for_man(tmp_path: pathlib.Path) -> None:
    text = run("man").stdout
    assert text.isascii() and text.startswith('.TH HYPERSLAB 1 "" "hyperslab ')
    for page in PAGES[1:]:
        assert f".SS {manual._escaped(page.usage)}" in text
    for word in ("EXIT STATUS", "130", "NO_COLOR", "\\-\\-where"):
        assert word in text
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z"], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("hyperslab ex", {"export"}),
        ("hyperslab head FILE /th", {"/theta"}),
        ("hyperslab head FILE /theta --col", {"--columns"}),
        ("hyperslab ls CELLS /uns/ph", {"/uns/phase_categories"}),
        ("hyperslab ls CELLS /un", {"/uns/"}),
        ("hyperslab ls nowhere.nc /", set()),
        ("hyperslab query FILE the", {"theta"}),
    ],
)
def test_shells_complete_commands_options_and_paths(words: str, found: set[str]) -> None:
    given = words.replace("FILE", PROFILES).replace("CELLS", CELLS)
    done = run(_HYPERSLAB_COMPLETE="complete_bash", COMP_WORDS=given, COMP_CWORD=str(len(given.split()) - 1))
    assert (set(done.stdout.split()), done.stderr) == (found, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_valid(shell: str) -> None:
    script = run(_HYPERSLAB_COMPLETE=f"source_{shell}").stdout
    assert "_HYPERSLAB_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_with_the_script(tmp_path: pathlib.Path) -> None:
    """The function that bash calls: what a person gets by pressing the tabulator."""
    script = run(_HYPERSLAB_COMPLETE="source_bash").stdout
    (tmp_path / "c.sh").write_text(
        f'{script}\nCOMP_WORDS=(hyperslab head {PROFILES} /th); COMP_CWORD=3\n_hyperslab_completion hyperslab\necho "${{COMPREPLY[@]}}"\n'
    )
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", str(tmp_path / "c.sh")], capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.stdout.strip() == "/theta", done.stderr


def test_the_doctor_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    done = run("doctor", "--json", HYPERSLAB_PROFILE="", HYPERSLAB_SPARK_JAR="", HDF5_PLUGIN_PATH=str(tmp_path), HDF5_VOL_CONNECTOR="")
    checks = {(check["topic"], check["name"]): check for check in json.loads(done.stdout)}
    assert done.returncode == 0
    assert checks["hyperslab", "version"]["found"].startswith(hs.__version__)
    assert hs._native.__file__ in checks["hyperslab", "native library"]["found"]
    assert checks["extras", "sql"]["state"] == "ok" and "duckdb" in checks["extras", "sql"]["found"]
    assert checks["VOL connector", "plug-in"]["state"] == "missing" and "make vol" in checks["VOL connector", "plug-in"]["advice"]
    assert {topic for topic, _ in checks} == {"hyperslab", "extras", "MPI", "Spark", "VOL connector", "profile"}
    (tmp_path / "libhyperslab_vol.so").touch()
    assert "✓ plug-in" in run("doctor", HDF5_PLUGIN_PATH=str(tmp_path)).stdout


@pytest.mark.parametrize("wrong", ["HYPERSLAB_SPARK_JAR", "HYPERSLAB_PROFILE", "HDF5_VOL_CONNECTOR"])
def test_the_doctor_ends_with_1_if_something_is_broken(tmp_path: pathlib.Path, wrong: str) -> None:
    (tmp_path / "bad.json").write_text("{")
    value = "arrow" if wrong == "HDF5_VOL_CONNECTOR" else str(tmp_path / ("bad.json" if wrong == "HYPERSLAB_PROFILE" else "no.jar"))
    done = run("doctor", **{"HYPERSLAB_PROFILE": "", "HDF5_PLUGIN_PATH": "", wrong: value})
    assert done.returncode == 1 and "✗" in done.stdout and "1 broken" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_doctor_names_an_extra_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor._version_of
    monkeypatch.setattr(doctor, "_version_of", lambda package: None if package == "duckdb" else known(package))
    (check,) = [check for check in doctor._extras() if check.name == "sql"]
    assert check.state == "missing" and check.advice == "duckdb is not installed: pip install 'hyperslab[sql]'"


@pytest.mark.parametrize("words", [("ls", PROFILES), ("head", PROFILES, "/theta"), ("doctor",)])
def test_no_color_means_no_styles(words: tuple[str, ...]) -> None:
    assert "\x1b" not in on_a_terminal(80, *words, NO_COLOR="1", HYPERSLAB_PROFILE="")
    assert "\x1b" in on_a_terminal(80, *words, NO_COLOR="", HYPERSLAB_PROFILE="")


@pytest.mark.parametrize("columns", [60, 40, 12])
def test_numbers_are_not_broken_on_narrow_terminals(columns: int) -> None:
    lines = plain(on_a_terminal(columns, "head", CELLS, "/obs", "-n", "3")).splitlines()
    rows, notes = lines[: 2 + 3], lines[2 + 3 :]
    assert max(map(len, rows)) <= columns and notes[0].startswith("hyperslab:")
    # Notes end between words.
    assert "of 9 columns fit the terminal" in " ".join(notes) and max(map(len, notes)) <= max(columns, len("percent_mito,"))
    if columns == 60:
        wanted = hs.open(CELLS).table("/obs").head(3)
        for row, index, number in zip(rows[2:], wanted["index"].to_pylist(), wanted["percent_mito"].to_pylist(), strict=True):
            assert row.split()[0] == index and row.split()[-1] == str(np.float32(number))


def test_pipes_get_whole_lines() -> None:
    done = run("head", CELLS, "/obs", "-n", "2", COLUMNS="20")
    assert len(done.stdout.splitlines()) == 4 and done.stderr == ""


def test_help_fits_sixty_columns() -> None:
    shown = plain(on_a_terminal(60, "head", "--help"))
    examples = shown.index("Examples:")
    assert max(map(len, shown[:examples].splitlines())) <= 60


def test_the_manual_of_a_process_of_its_own_is_that_of_all_commands() -> None:
    """The command line `man` imports the module of that command first."""
    done = subprocess.run([INSTALLED, "man", "--markdown"], capture_output=True, text=True, check=True)
    assert done.stdout == manual.as_markdown(PAGES)


def test_a_wrong_command_next_to_the_name_of_another_has_the_nearest_of_all() -> None:
    done = subprocess.run([INSTALLED, "lss", "head"], capture_output=True, text=True)
    assert done.returncode == 2 and "Did you mean 'ls'?" in done.stderr
