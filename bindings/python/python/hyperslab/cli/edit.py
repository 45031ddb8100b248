"""Commands that change existing files: attr, rm, mv, cp."""

from __future__ import annotations

import enum
import json
from typing import Annotated

import numpy as np
import typer

import hyperslab as hs

from ..base.type_aliases import Json
from ..base.visible import visible
from ..exporting.plain_values import plain
from .app import AsJson, command

EditedName = Annotated[str, typer.Argument(metavar="FILE", help="The HDF5 or netCDF-4 file.")]


class Action(str, enum.Enum):
    """What `attr` does."""

    LS = "ls"
    SET = "set"
    RM = "rm"


def _edited(file: str) -> hs.File:
    return hs.open(file, "r+", format="hdf5")


def _value(text: str, dtype: str | None, as_text: bool) -> Json:
    """A value from the command line: JSON, or text."""
    value: Json = text
    if not as_text:
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        if value is None or isinstance(value, dict):
            value = text
    if dtype is None:
        return value
    try:
        return np.asarray(value).astype(np.dtype(dtype), casting="safe" if isinstance(value, str) else "unsafe")
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"{text!r} as {dtype}: {error}") from None


@command(
    "hyperslab attr ls profiles.nc /theta",
    'hyperslab attr set flow.h5 /wind units "m s-1"',
    "hyperslab attr set flow.h5 / version 3 --dtype u2",
    "hyperslab attr rm flow.h5 /wind history",
)
def attr(
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="ls, set or rm.")],
    file: EditedName,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The group or dataset; / is the root group.")],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The attribute; ls shows all without it.")] = None,
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="Its value: a number, text, or a list as in JSON, for set.")] = None,
    dtype: Annotated[str | None, typer.Option(metavar="NAME", help="Type of the value, as numpy calls it: f4, u2, S5.")] = None,
    text: Annotated[bool, typer.Option("--text", help="VALUE is text, even if it looks like a number.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the attributes of an object, set one, or remove one. A change is there whole or not at all."""
    if action is Action.LS:
        found = hs.open(file)[path].attrs if path != "/" else hs.open(file).attrs
        names = list(found) if name is None else [name]
        if as_json:
            print(json.dumps({one: plain(np.asarray(found[one]).tolist()) for one in names}, ensure_ascii=False))
            return
        for one in names:
            print(f"{visible(one)} = {visible(str(plain(np.asarray(found[one]).tolist())))}")
        return
    if name is None:
        raise typer.BadParameter(f"give the NAME of the attribute to {action.value}")
    if action is Action.SET and value is None:
        raise typer.BadParameter("give the VALUE of the attribute")
    with _edited(file) as f:
        attributes = f.attrs if path == "/" else f[path].attrs
        if action is Action.SET:
            attributes[name] = _value(value or "", dtype, text)
            shown = str(plain(np.asarray(attributes[name]).tolist()))
        else:
            del attributes[name]
    print(f"set {visible(path)} {visible(name)} = {visible(shown)}" if action is Action.SET else f"removed {visible(path)} {visible(name)}")


@command("hyperslab rm flow.h5 /old", "hyperslab rm flow.h5 /run/1 /run/2 --recursive")
def rm(
    file: EditedName,
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Datasets, groups or links.")],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Also groups that have members.")] = False,
) -> None:
    """Remove names from a file: all of them or, after an error, none. An object without another name is gone; its space is used again."""
    with _edited(file) as f:
        for path in paths:
            link = f.get(path, getlink=True)
            if not recursive and isinstance(link, hs.HardLink):
                found = f[path]
                if isinstance(found, hs.Group) and len(found):
                    raise hs.InvalidInputError(f"the group has {len(found)} members: give --recursive to remove them, too", file, found.name)
            del f[path]
    for path in paths:
        print(f"removed {visible(path)}")


@command("hyperslab mv flow.h5 /u /velocity/u")
def mv(
    file: EditedName,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The object.")],
    dest: Annotated[str, typer.Argument(metavar="DEST", help="Its new path; groups above it are created.")],
) -> None:
    """Rename a dataset, group or link. Groups above the new name are created."""
    with _edited(file) as f:
        f.move(source, dest)
    print(f"{visible(source)} is {visible(dest)} now")


@command("hyperslab cp flow.h5 /wind /backup/wind", "hyperslab cp flow.h5 /wind /wind --to other.h5")
def cp(
    file: EditedName,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The object.")],
    dest: Annotated[str, typer.Argument(metavar="DEST", help="Path of the copy; groups above it are created.")],
    to: Annotated[str | None, typer.Option(metavar="FILE", help="The file that gets the copy; by default the same. It is created if it is not there.")] = None,
) -> None:
    """Copy a dataset or group with its attributes and members. Chunks are copied as they are stored, without decoding."""
    if to is None:
        with _edited(file) as f:
            f.copy(source, dest)
        print(f"copied {visible(source)} to {visible(dest)}")
        return
    with hs.open(file, format="hdf5") as found:
        node = found[source]
        try:
            target = _edited(to)
        except hs.NotFoundError:
            hs.create(to, "x").close()
            target = _edited(to)
        with target as f:
            f.copy(node, dest)
    print(f"copied {visible(source)} to {visible(dest)} in {visible(to)}")
