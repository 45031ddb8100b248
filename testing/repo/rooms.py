"""Who imports whom: crates by `cargo metadata`, the modules of each crate by their `use` lines and paths.

`python testing/repo/rooms.py` writes the drawing into docs/architecture.md; test_rooms.py checks it, and that no arrow points upward.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: written by testing/repo/rooms.py -->\n", "<!-- end of rooms -->\n"

Path = tuple[str, ...]
Graph = Mapping[Path, set[Path]]

_USE = re.compile(r"^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]*);", re.M)
_TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.M)
_INLINE = re.compile(r"(?<![\w:])((?:super::)+|crate::)([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)")


@functools.cache
def packages() -> dict[str, dict]:
    run = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {package["name"]: package for package in json.loads(run.stdout)["packages"]}


def ours() -> dict[str, set[str]]:
    """The crates of this project but for benchmarks, and which of them each one depends on."""

    def is_ours(package: dict) -> bool:
        path = pathlib.Path(package["manifest_path"])
        return path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "benches")

    names = {name for name, package in packages().items() if is_ours(package)}
    return {name: {d["name"] for d in packages()[name]["dependencies"] if d["kind"] is None and d["name"] in names} for name in names}


def levels(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The nodes from the bottom up: each is above all that it depends on. Needs a graph without circles."""
    level: dict[str, int] = {}

    def of(node: str) -> int:
        if node not in level:
            level[node] = 1 + max((of(other) for other in graph[node]), default=-1)
        return level[node]

    for node in graph:
        of(node)
    return [sorted(node for node in graph if level[node] == at) for at in range(max(level.values()) + 1)]


def imports(crate: pathlib.Path) -> dict[Path, set[Path]]:
    """Which modules of a crate each of its modules names, tests left out. `()` is lib.rs."""
    source = crate / "src"
    files = {_module(file.relative_to(source)): file for file in source.rglob("*.rs")}
    texts = {module: re.sub(r"//[^\n]*", "", _TESTS.split(file.read_text())[0]) for module, file in files.items()}
    exported = {
        (*module, alias or path[-1]): _absolute(path, module)
        for module, text in texts.items()
        for is_public, tree in _USE.findall(text)
        if is_public
        for path, alias in _leaves(tree)
    }

    def home(path: Path) -> Path:
        """The module that an item lies in, through names that other modules export again."""
        for _ in range(8):
            if path not in exported:
                break
            path = exported[path]
        return next(path[:length] for length in range(len(path), -1, -1) if path[:length] in files)

    graph: dict[Path, set[Path]] = {}
    for module, text in texts.items():
        named = {path for is_public, tree in _USE.findall(text) if not is_public for path, _ in _leaves(tree) if path[0] in ("crate", "super", "self")}
        named |= {tuple((head + rest).split("::")) for head, rest in _INLINE.findall(text)}
        graph[module] = {home(_absolute(path, module)) for path in named} - {module, ()}
    return graph


def rooms(graph: Graph) -> dict[Path, set[Path]]:
    """The same between the folders (or single files) directly in `src`."""
    found: dict[Path, set[Path]] = {module[:1]: set() for module in graph if module}
    for module, others in graph.items():
        if module:
            found[module[:1]] |= {other[:1] for other in others} - {module[:1]}
    return found


def circles(graph: Graph) -> list[list[Path]]:
    """Groups of modules that import each other, by Tarjan's algorithm for strongly connected components."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(node: Path) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return found


def drawing() -> str:
    """The crates level by level, each with what it depends on directly."""
    graph = ours()

    def short(name: str) -> str:
        return name.removeprefix("hyperslab-")

    # An arrow that another path implies is left out.
    reach = {name: set[str]() for name in graph}
    for level in levels(graph):
        for name in level:
            reach[name] = set().union(*({other} | reach[other] for other in graph[name]))
    direct = {name: {other for other in graph[name] if not any(other in reach[third] for third in graph[name])} for name in graph}
    lines = [
        f"{number}  {', '.join(short(name) + (' -> ' + ' '.join(short(other) for other in sorted(direct[name])) if direct[name] else '') for name in level)}"
        for number, level in reversed(list(enumerate(levels(graph))))
    ]
    arrows = sum(len(others) for others in graph.values())
    return "\n".join(["```text", *lines, "```", "", f"{len(graph)} crates on {len(lines)} levels, {arrows} dependencies, none upward and no circle."]) + "\n"


def _module(file: pathlib.Path) -> Path:
    parts = file.with_suffix("").parts
    return () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts


def _absolute(path: Path, module: Path) -> Path:
    base: Path = module
    if path[0] == "crate":
        base, path = (), path[1:]
    while path and path[0] in ("super", "self"):
        base, path = (base[:-1] if path[0] == "super" else base), path[1:]
    return base + tuple(part for part in path if part not in ("self", "*"))


def _leaves(tree: str) -> Iterator[tuple[Path, str | None]]:
    """The paths of a `use` tree, each with its alias."""
    tree = tree.strip()
    if "{" not in tree:
        path, _, alias = tree.partition(" as ")
        yield tuple(part.strip() for part in path.split("::")), alias.strip() or None
        return
    head, _, rest = tree.partition("{")
    prefix = tuple(part.strip() for part in head.strip().removesuffix("::").split("::")) if head.strip() else ()
    for piece in _pieces(rest[: rest.rindex("}")]):
        for path, alias in _leaves(piece):
            yield prefix + path, alias


def _pieces(text: str) -> Iterable[str]:
    """The parts between commas that are in no inner braces."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]


if __name__ == "__main__":
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + drawing() + END + rest.split(END)[1])
