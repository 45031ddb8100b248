"""SQL: DuckDB over the datasets and groups of files, each a view."""

from __future__ import annotations

from typing import Any

import duckdb

from .errors import Error, InvalidInputError, UnsupportedError
from .file import File, open
from .objects import Dataset, Group


def _paths(group: Group, prefix: str, seen: frozenset[int]) -> list[str]:
    found: list[str] = []
    for name, _, number, _ in group._links():
        if number is None:
            if _leads_to_a_dataset(group, name):
                found.append(prefix + name)
            continue
        if number in seen:
            continue
        about = group._file.describe(number)
        if about["kind"] in ("dataset", "group"):
            found.append(prefix + name)
        if about["kind"] == "group":
            found += _paths(Group(group._file, number, "/" + prefix + name), f"{prefix}{name}/", seen | {number})
    return found


def _leads_to_a_dataset(group: Group, name: str) -> bool:
    """Whether a soft or external link can be followed to a dataset; below other groups nothing is looked for."""
    try:
        return isinstance(group[name], Dataset)
    except Error:
        return False


def _views(paths: list[str]) -> tuple[dict[str, str], list[str]]:
    """The path behind each view, and the names that stand for several paths. A view is named by its
    path, and by its last part where no other has it. SQL takes upper and lower case for the same."""
    full: dict[str, set[str]] = {}
    short: dict[str, set[str]] = {}
    for path in paths:
        full.setdefault(path.lower(), set()).add(path)
        short.setdefault(path.rsplit("/", 1)[-1].lower(), set()).add(path)
    names = short | full  # a whole path comes before a last part
    views = {next(iter(found)) if name in full else next(iter(found)).rsplit("/", 1)[-1]: next(iter(found))
             for name, found in names.items() if len(found) == 1}
    return views, [f"{name} may be {' or '.join(sorted(found))}" for name, found in names.items() if len(found) > 1]


def sql(query: str, files: Any) -> duckdb.DuckDBPyRelation:
    """The rows of `query` as a DuckDB relation. A view is named by its path without the leading
    slash (`"a/b"`), and by its last part where that is unambiguous; only views that the query names are made."""
    file = files if isinstance(files, File) else open(files)
    paths = _paths(file.files[0], "", frozenset({0}))
    views, ambiguous = _views(paths)
    connection = duckdb.connect(config={"python_enable_replacements": False})
    asked = query.lower()
    refused = [what for what in ambiguous if what.split(" may be ")[0] in asked]
    for name, path in views.items():
        if name.lower() in asked:
            try:
                connection.register(name, file.table("/" + path).dataset())
            except (InvalidInputError, UnsupportedError) as error:
                refused.append(f"{name}: {error}")
    try:
        return connection.sql(query)
    except duckdb.Error as error:
        raise InvalidInputError(f"{' '.join(str(error).split())}; views: {', '.join(paths[:20])}{'; ' + '; '.join(refused) if refused else ''}", "InvalidInput") from None
