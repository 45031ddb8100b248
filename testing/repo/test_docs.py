"""Docs: every snippet of README.md and docs/ runs, every relative link leads somewhere.

The blocks of a page share one namespace and run in order, in a copy of `examples/` in a temporary
folder, so that `examples/data/...` works as written and what they write stays there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import h5py
import hyperslab as hs
import pytest
from command_server import CommandServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CHANGELOG.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^()\s]+)\)")

# Runs the blocks (a JSON list of [line, source]) in one namespace; a traceback then names page and line.
# A printed line that is followed by a comment must print what the comment says.
RUNNER = r"""
import ast, contextlib, io, json, sys
page, blocks = sys.argv[1], json.loads(sys.stdin.read())
names = {"__name__": "__main__"}
for line, source in blocks:
    tree, lines = ast.parse(source, page), source.splitlines()
    for statement in tree.body:
        ast.increment_lineno(statement, line - 1)
        heard = io.StringIO()
        with contextlib.redirect_stdout(heard):
            exec(compile(ast.Module([statement], []), page, "exec"), names)
        after = lines[statement.end_lineno - line + 1:]
        promised = []
        for text in after:
            if not text.startswith("# -> "):
                break
            promised.append(text[5:])
        if promised and heard.getvalue().rstrip().splitlines() != promised:
            raise AssertionError(f"{page}, line {statement.lineno}: printed {heard.getvalue()!r}, the page says {promised}")
"""


def blocks(page: pathlib.Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language with the line where each begins."""
    text = page.read_text(encoding="utf-8")
    found = ((text.count("\n", 0, m.start()) + 2, m.group(1), m.group(2)) for m in FENCE.finditer(text))
    return [(line, source) for line, name, source in found if name == language]


def commands(page: pathlib.Path) -> list[tuple[int, str]]:
    """The lines that call `hyperslab`, with those that a backslash or an open quote joins to them."""
    found: list[tuple[int, str]] = []
    for start, source in blocks(page, "sh"):
        open_line = False
        for number, line in enumerate(source.splitlines(), start):
            if open_line:
                found[-1] = (found[-1][0], f"{found[-1][1]}\n{line}")
            elif line.startswith("hyperslab "):
                found.append((number, line))
            else:
                continue
            open_line = line.endswith("\\")
    return found


@pytest.fixture
def layout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder that looks like the project's to a reader of the docs."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def environment(home: pathlib.Path) -> dict[str, str]:
    scripts = pathlib.Path(sys.executable).parent
    kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    return kept | {"PATH": f"{scripts}:/usr/bin:/bin", "HOME": str(home), "MPLBACKEND": "Agg", "LC_ALL": "C.UTF-8", "COLUMNS": "200"}


def name_of(page: pathlib.Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_page(page: pathlib.Path, folder: pathlib.Path, server: CommandServer) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [server.folder / "python", "-c", RUNNER, page.name],
        input=json.dumps(blocks(page, "python")),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(folder),
        timeout=300,
    )


def run_command(line: str, folder: pathlib.Path, server: CommandServer) -> subprocess.CompletedProcess[str]:
    served = environment(folder)
    served["PATH"] = f"{server.folder}:{served['PATH']}"
    return subprocess.run(["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True, cwd=folder, env=served, timeout=300)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=name_of)
def test_the_python_of_a_page_runs(page: pathlib.Path, layout: pathlib.Path, command_server: CommandServer) -> None:
    run = run_page(page, layout, command_server)
    assert run.returncode == 0, f"{name_of(page)}\n{run.stderr}"


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=name_of)
def test_the_commands_of_a_page_run(page: pathlib.Path, layout: pathlib.Path, command_server: CommandServer) -> None:
    for line, command in commands(page):
        run = run_command(command, layout, command_server)
        assert run.returncode == 0, f"{name_of(page)}, line {line}: {command}\n{run.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: pathlib.Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "benches").rglob("*.md"))], ids=name_of)
def test_a_decision_is_linked_by_its_number(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    for label, target in re.findall(r"\[([^\]\n]+)\]\((?:[\w./]*/)?(\d{4}-[\w-]+\.md)\)", text):
        number = re.search(r"(?:[Dd]ecision |^)(\d+)\b", label)
        assert number is None or int(number[1]) == int(target[:4]), f"[{label}] leads to {target}"
    for number in re.findall(r"[Dd]ecision (\d+)", FENCE.sub("", text)):
        assert list((ROOT / "docs" / "decisions").glob(f"{int(number):04}-*.md")), f"there is no decision {number}"
    # A section is named by a link, which the test above follows: numbers of sections are those of other documents.
    assert not re.search(r"\b[Ss]ections? \d", FENCE.sub("", re.sub(r"\[[^\]]*\]\([^)]*\)", "", text))), "a section without a link"


def anchors(page: pathlib.Path) -> set[str]:
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def links(page: pathlib.Path) -> list[pathlib.Path]:
    return [(page.parent / target.partition("#")[0]).resolve() for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))]


def test_every_page_is_in_the_index() -> None:
    """The index links to each page, or to one that links to it; the index of a folder links to the folder's."""
    index, docs = ROOT / "docs" / "README.md", ROOT / "docs"
    listed = {page for page in links(index) if page.is_relative_to(docs)}
    assert len([page for page in links(index) if page in listed]) <= 40, "a page that belongs to another one is linked there"
    linked = listed | {other for page in listed if page.suffix == ".md" for other in links(page)}
    pages = {page.resolve() for page in docs.rglob("*.md")} - {index.resolve()}
    assert pages - linked == set()


@pytest.mark.parametrize("page", ["benchmarks.md", "advise.md"])
def test_the_tables_of_benchmarks_are_those_of_the_results(page: str) -> None:
    spec = importlib.util.spec_from_file_location("document", ROOT / "benches" / "document.py")
    assert spec is not None and spec.loader is not None
    document = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(document)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert document.filled(text) == text, "make bench-page"


def test_a_page_knows_no_machine() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp|usr)/", text), name_of(page)


def filters_of_the_page() -> dict[int, bool]:
    """Registered number to whether `docs/supported.md` says that it is read."""
    text = (ROOT / "docs" / "supported.md").read_text(encoding="utf-8")
    section = text[text.index("## Filters") : text.index("## Datatypes")]
    rows = re.findall(r"^\|[^|]*\| *(\d[\d, ]*)\|([^|]*)\|$", section, re.MULTILINE)
    return {int(number): verdict.strip().startswith("read") for numbers, verdict in rows for number in numbers.split(",")}


def test_the_page_of_what_is_supported_tells_the_filters_as_they_are(tmp_path: pathlib.Path) -> None:
    promised = filters_of_the_page()
    assert len(promised) > 10
    unregistered = 29_999
    with h5py.File(tmp_path / "template.h5", "w") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((4,))
        # An optional filter may be one that the library does not have; nothing is written.
        creation.set_filter(unregistered, h5py.h5z.FLAG_OPTIONAL, (0,) * 8)
        h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((4,)), creation)
    template = (tmp_path / "template.h5").read_bytes()
    place = unregistered.to_bytes(2, "little") + b"\0\0\1\0\x08\0"  # number, no name, optional, 8 parameters
    assert template.count(place) == 1
    read = {}
    for number in promised:
        (tmp_path / "filter.h5").write_bytes(template.replace(place, number.to_bytes(2, "little") + place[2:]))
        read[number] = hs.open(tmp_path / "filter.h5")["x"].refusal is None
    assert read == promised


@pytest.mark.parametrize(
    "snippet",
    ["assert 1 == 2", "x = 1\n\nprint(x)\n# -> 2", "open('nowhere')", "y ="],
)
def test_a_broken_snippet_fails(snippet: str, layout: pathlib.Path, command_server: CommandServer) -> None:
    page = layout / "page.md"
    page.write_text(f"text\n\n```python\nx = 0\n```\n\n```python\n{snippet}\n```\n")
    assert run_page(page, layout, command_server).returncode != 0


def test_a_good_snippet_passes(layout: pathlib.Path, command_server: CommandServer) -> None:
    page = layout / "page.md"
    page.write_text("```python\nx = 1\n```\n\n```python\nprint(x)\n# -> 1\nassert x == 1\n```\n")
    run = run_page(page, layout, command_server)
    assert run.returncode == 0, run.stderr


def test_a_broken_command_fails(layout: pathlib.Path, command_server: CommandServer) -> None:
    page = layout / "page.md"
    page.write_text("```sh\nmake nothing\nhyperslab ls nowhere.nc\nhyperslab \\\n  --version\n```\n")
    (_, bad), (_, good) = commands(page)
    assert run_command(bad, layout, command_server).returncode != 0
    assert run_command(good, layout, command_server).returncode == 0
    assert os.listdir(layout)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_of_prose_fit_a_screen(page: pathlib.Path) -> None:
    """At most 120 characters; tables, code, headings, links and generated pages may have more."""
    if page.name == "commands.md":
        return
    text = FENCE.sub(lambda match: "\n" * match.group().count("\n"), page.read_text(encoding="utf-8"))
    prose = [(number, line) for number, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith(("|", "#", "<", "```", "![", "["))]
    long = [number for number, line in prose if len(line) > 120 and len(re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)) > 120]
    assert not long, f"{name_of(page)}: lines {long}"
