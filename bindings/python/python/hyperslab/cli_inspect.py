"""Commands that show what a file contains: ls, info."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Grid
from rich.tree import Tree

import hyperslab as hs

from . import tree
from .cli_app import AsJson, app, only_file, open_file
from .cli_output import plain, say
from .progress import waiting


@app.command()
def ls(
    file: str,
    path: Annotated[str, typer.Argument()] = "/",
    attributes: Annotated[bool, typer.Option("--attributes", "-a", help="Also show attributes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the tree: shape, type, chunks, filters, compression ratio. With several files, that of the first (JSON: all)."""
    files = open_file(file).files
    facts: list[dict[str, Any]] = []
    with waiting("reading the tree"):
        for one in files if as_json else files[:1]:
            root, found = _tree(one, path, attributes)
            facts += [{"file": one.filename, **fact} if len(files) > 1 else fact for fact in found]
    if as_json:
        print(json.dumps(plain(facts), ensure_ascii=False))
        return
    if len(files) > 1:
        say(escape(f"{len(files)} files; this is the first"))
    say(root)


def _tree(file: hs.File, path: str, attributes: bool) -> tuple[Tree, list[dict[str, Any]]]:
    """The tree at and below `path` to print, and its facts for JSON."""
    found: tree.Shown = file if path == "/" else file[path]
    facts: list[dict[str, Any]] = []

    def add(entry: tree.Entry, below: Tree, seen: frozenset[int]) -> None:
        facts.append(_facts(entry, attributes))
        group = isinstance(entry.object, hs.Group)
        branch = below.add(f"[bold]{escape(entry.name)}[/bold]{'/' if group else ''}  {escape(tree.line(entry))}".rstrip())
        if entry.object is not None:
            inside(entry.object, branch, seen, entry.repeated)

    def inside(node: tree.Shown, branch: Tree, seen: frozenset[int], repeated: bool = False) -> None:
        for name, value in tree.attribute_lines(node) if attributes else ():
            branch.add(f"[dim]@{escape(name)} = {escape(value)}[/dim]")
        if not repeated:
            for entry in node._entries(seen):
                add(entry, branch, seen | {node._number})

    itself = tree.Entry(found.name, found.name, found.kind, found, "", False)
    root = Tree(f"[bold]{escape(file.filename)}[/bold] {escape('' if path == '/' else found.name)}  {escape(tree.line(itself))}".rstrip())
    if not isinstance(found, hs.Group):
        facts.append(_facts(itself, attributes))
    inside(found, root, frozenset({found._number}))
    return root, facts


@app.command()
def info(file: str, path: Annotated[str | None, typer.Argument()] = None, as_json: AsJson = False) -> None:
    """Show the format and sizes of a file (of several files their sums), or all properties of one object."""
    opened = open_file(file)
    if path is not None:
        found = only_file(opened, file)[path]
        facts = _facts(tree.Entry(found.name, found.name, found.kind, found, "", False), True)
        if isinstance(found, hs.Dataset):
            facts |= {"maxshape": list(found.maxshape), "bytes": found.nbytes, "stored_bytes": None if found.refusal else found.stored_bytes}
    elif len(opened.files) == 1:
        facts = {"file": opened.filename, "format": opened.format, **_sizes(opened), "attributes": dict(tree.attribute_lines(opened))}
    else:
        sizes = [_sizes(one) for one in opened.files]
        facts = {
            "files": len(sizes),
            "first": opened.files[0].filename,
            "last": opened.files[-1].filename,
            "format": ", ".join(dict.fromkeys(one.format for one in opened.files)),
            **{name: sum(size[name] for size in sizes) for name in sizes[0]},
        }
    if as_json:
        print(json.dumps(plain(facts), ensure_ascii=False))
        return
    grid = Grid(box=None, show_header=False)
    for name, value in facts.items():
        for row, (key, shown) in enumerate(value.items() if isinstance(value, dict) else [("", value)]):
            grid.add_row(f"[bold]{name if row == 0 else ''}[/bold]", escape(f"{key} = {shown}" if key else str(shown)))
    say(grid)


def _facts(entry: tree.Entry, attributes: bool) -> dict[str, Any]:
    found = entry.object
    facts: dict[str, Any] = {"path": entry.path, "kind": entry.kind}
    if found is None:
        return facts | {"target": entry.target}
    if isinstance(found, hs.Dataset):
        facts |= {
            "shape": list(found.shape),
            "type": hs.dtypes.describe(found._about["datatype"]),
            "dims": list(found.dims),
            "chunks": list(found.chunks) if found.chunks else None,
            "filters": found.filters,
            "ratio": found.compression_ratio and round(found.compression_ratio, 2),
        }
    if found.refusal:
        facts["refused"] = found.refusal
    if attributes:
        facts["attributes"] = dict(tree.attribute_lines(found))
    return facts


def _sizes(file: hs.File) -> dict[str, int]:
    nodes = list(_nodes(file))
    datasets = [node for node in nodes if isinstance(node, hs.Dataset)]
    readable = [dataset for dataset in datasets if not dataset.refusal]
    return {
        "file_bytes": os.path.getsize(file.filename),
        "groups": sum(isinstance(node, hs.Group) for node in nodes),
        "datasets": len(datasets),
        "refused": sum(1 for node in nodes if node.refusal),
        "bytes": sum(d.nbytes for d in readable),
        "stored_bytes": sum(d.stored_bytes for d in readable),
    }


def _nodes(group: hs.Group) -> Iterator[tree.Shown]:
    """Each object once, even if several links lead to it."""
    pending: list[tree.Shown] = [group]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if node._number in seen:
            continue
        seen.add(node._number)
        yield node
        pending += [entry.object for entry in node._entries(frozenset(seen)) if entry.object is not None]
