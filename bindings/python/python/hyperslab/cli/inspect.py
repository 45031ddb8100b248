"""Commands that show what a file contains: ls, info."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len, set_cell_size
from rich.markup import escape
from rich.table import Table as Grid

import hyperslab as hs

from ..base.visible import visible
from ..exporting.plain_values import plain
from ..files import model_contents
from ..models.frames import frame_names
from ..objects import tree
from ..objects.native_objects import native_of
from ..sources.addresses import is_address
from .app import AsJson, FileName, ObjectPath, command, only_file, open_file
from .progress import waiting
from .terminal import has_style, say, width

if TYPE_CHECKING:
    from ..base.type_aliases import Json, JsonObject

#: What people call the formats that `File.format` tells.
_FORMATS = {
    "hdf5": "HDF5",
    "netcdf3": "netCDF classic",
    "netcdf4": "netCDF-4",
    "references": "chunk references",
    "container": "HDF5 in Arrow files",
    "netcdf_container": "netCDF-4 in Arrow files",
}


@command(
    "hyperslab ls profiles.nc",
    "hyperslab ls cells.h5ad /uns --depth 1",
    "hyperslab ls --attributes profiles.nc /theta",
)
def ls(
    file: FileName,
    path: ObjectPath = "/",
    depth: Annotated[int | None, typer.Option("-d", "--depth", min=1, metavar="N", help="Only N levels of groups.")] = None,
    attributes: Annotated[bool, typer.Option("--attributes", "-a", help="Also show attributes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the tree: shape, type, chunks, filters, compression ratio. With several files, that of the first (JSON: all)."""
    files = open_file(file).files
    if as_json:
        with waiting("reading the tree"):
            facts = [{"file": one.filename, **fact} if len(files) > 1 else fact for one in files for fact in _tree_facts(one, path, attributes, depth)]
        print(json.dumps(plain(facts), ensure_ascii=False))
        return
    if len(files) > 1:
        say(escape(f"{len(files)} files; this is the first"))
    found = files[0] if path == "/" else files[0][path]
    bold, dim, end = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if has_style() else ("", "", "")
    itself = tree.line(_itself(found))
    print(f"{bold}{visible(files[0].filename)}{end} {visible('' if path == '/' else found.name)}  {visible(itself)}".rstrip())
    # Line by line as they are made: the first screen of a file of many objects comes at once.
    available = width()
    for prefix, name, rest, entry in tree.branches(found, attributes, depth):
        if entry is None:
            print(f"{prefix}{dim}{visible(rest)}{end}")
        else:
            print(f"{prefix}{bold}{visible(name)}{end}{_fitted(visible(rest), available, prefix + visible(name))}")


def _fitted(rest: str, available: int | None, before: str) -> str:
    """The rest of a line, cut where the terminal ends; `info` has all of it."""
    if available is None or cell_len(before) + cell_len(rest) <= available:
        return rest
    return set_cell_size(rest, max(0, available - cell_len(before) - 1)).rstrip() + "…"


def _itself(node: tree.Shown) -> tree.Entry:
    return tree.Entry(node.name, node.name, node.kind, node, "")


def _tree_facts(file: hs.File, path: str, attributes: bool, depth: int | None) -> list[JsonObject]:
    """The facts of what is at and below `path`."""
    found: tree.Shown = file if path == "/" else file[path]
    facts = [] if isinstance(found, hs.Group) else [_facts(_itself(found), attributes)]
    return facts + [_facts(branch.entry, attributes) for branch in tree.branches(found, False, depth) if branch.entry is not None]


@command("hyperslab info profiles.nc", "hyperslab info profiles.nc /theta --json")
def info(file: FileName, path: Annotated[str | None, typer.Argument(metavar="PATH", help="An object of the file.")] = None, as_json: AsJson = False) -> None:
    """Show the format and sizes of a file (of several files their sums), or all properties of one object."""
    opened = open_file(file)
    if path is not None:
        found = only_file(opened, file)[path]
        facts = _facts(_itself(found), True)
        if isinstance(found, hs.Dataset):
            facts |= {"maxshape": list(found.maxshape), "bytes": found.nbytes, "stored_bytes": None if found.refusal else found.stored_bytes}
    elif len(opened.files) == 1:
        facts = {
            "file": opened.filename,
            "format": opened.format,
            **_models(opened, as_json),
            **_sizes(opened),
            **_storage(opened),
            "attributes": dict(tree.attribute_lines(opened)),
        }
    else:
        sizes = [_sizes(one) for one in opened.files]
        facts = {
            "files": len(sizes),
            "first": opened.files[0].filename,
            "last": opened.files[-1].filename,
            "format": ", ".join(dict.fromkeys(one.format for one in opened.files)),
            **_models(opened, as_json),
            **{name: sum(size[name] for size in sizes) for name in sizes[0]},
        }
    if as_json:
        print(json.dumps(plain(facts), ensure_ascii=False))
        return
    grid = Grid(box=None, show_header=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, given in facts.items():
        if (value := _for_people(name, given)) is None:
            continue
        for row, (key, shown) in enumerate(value.items() if isinstance(value, dict) else [("", value)]):
            grid.add_row(f"[bold]{name if row == 0 else ''}[/bold]", escape(f"{key} = {shown}" if key else str(shown)))
    say(grid)


def _for_people(name: str, value: Json) -> Json:
    """A fact as `info` prints it; `None` if there is nothing to say."""
    if name in ("shape", "chunks", "maxshape") and value is not None:
        return " × ".join("unlimited" if extent is None else f"{extent:,}" for extent in value) or "scalar"
    if name == "format":
        return ", ".join(_FORMATS.get(one, one) for one in value.split(", "))
    if isinstance(value, list) and name in ("dims", "filters"):
        return ", ".join(part or "-" for part in value) or None
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if value != {} else None


def _facts(entry: tree.Entry, attributes: bool) -> JsonObject:
    found = entry.object
    facts: JsonObject = {"path": entry.path, "kind": entry.kind}
    if found is None:
        return facts | {"target": entry.target}
    if isinstance(found, hs.Dataset):
        facts |= {
            "shape": list(found.shape),
            "type": hs.dtypes.describe(found.datatype),
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


def _models(file: hs.File, as_json: bool) -> JsonObject:
    """The recognized data models with their reasons, and what those have that are likely; nothing if there is none."""
    views = file.models
    found: JsonObject = {"models": {view.name: f"{view.certainty}: {view.reason}" for view in views}} if views else {}
    if frames := frame_names(file):
        found["models"] = {"pandas": f"certain: it has {len(frames)} objects of pandas", **found["models"]}
        if not as_json:
            found["pandas"] = {f"table {visible(name)}": kind for name, kind in frames.items()}
        else:
            found["contents"] = {"pandas": [{"kind": "table", "name": name, "path": name} for name in frames]}
    for view in views:
        if view.certainty == "possible":
            continue
        try:
            if as_json:
                found.setdefault("contents", {})[view.name] = view.contents().to_pylist()
            else:
                found[view.name] = model_contents.lines(*model_contents.rows(view, model_contents.MAX_SHOWN))
        except hs.Error as error:
            # The file itself can be shown, and says why the model's part cannot.
            found.setdefault("contents", {})[view.name] = f"cannot be listed: {error}"
    return found


def _storage(file: hs.File) -> JsonObject:
    """Where the file's bytes lie; nothing for a file in memory."""
    if not (is_address(file.filename) or os.path.exists(file.filename)):
        return {}
    layout = hs.storage_layout(file.filename)
    facts: JsonObject = {"file system": layout.file_system or "not known", "block_bytes": layout.block_bytes}
    stripes = [f"{part.stripe_count or 'all'} of {part.stripe_bytes} bytes from byte {part.start} on" for part in layout.parts]
    return {"storage": facts | ({"stripes": "; ".join(stripes)} if stripes else {})}


def _sizes(file: hs.File) -> dict[str, int]:
    nodes = list(tree.each_object(file))
    datasets = [node for node in nodes if isinstance(node, hs.Dataset)]
    readable = [dataset for dataset in datasets if not dataset.refusal]
    return {
        "file_bytes": native_of(file)[0].origin()[2],
        "groups": sum(isinstance(node, hs.Group) for node in nodes),
        "datasets": len(datasets),
        "refused": sum(1 for node in nodes if node.refusal),
        "bytes": sum(d.nbytes for d in readable),
        "stored_bytes": sum(d.stored_bytes for d in readable),
    }
