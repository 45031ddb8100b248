"""`%sql` and `%%sql`: SQL in notebooks. `%load_ext hyperslab` makes them known."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pyarrow as pa

from ..base.blocks import card, facts, grid, size
from ..base.counters import counters
from ..base.errors import InvalidInputError
from ..base.progress import Progress
from ..files.file import File
from ..tables.table import Table
from ..values.cells import cell
from .sql import sql

if TYPE_CHECKING:
    import duckdb
    from IPython.core.interactiveshell import InteractiveShell

#: Rows that are shown, unless `--rows` says otherwise.
SHOWN_ROWS = 20
T = TypeVar("T")
_WORD = re.compile(r"[A-Za-z_]\w*")


class Rows(NamedTuple):
    """What a query has found: its first rows, which notebooks show, and the relation with all of them.

    Attributes:
        relation: A DuckDB relation, which runs the query again when its rows are asked for: `.df()`, `.to_arrow_table()`.
        first: The first rows.
        are_all: Whether these are all rows.
    """

    relation: duckdb.DuckDBPyRelation
    first: pa.Table
    are_all: bool

    def to_arrow(self) -> pa.Table:
        """Reads all rows.

        Returns:
            The rows.

        Example:
            >>> rows.to_arrow()
        """
        return self.first if self.are_all else self.relation.to_arrow_table()

    def __repr__(self) -> str:
        return f"{self.first}\n{self._note()}"

    def _note(self) -> str:
        return f"{self.first.num_rows:,} row{'' if self.first.num_rows == 1 else 's'}" + ("" if self.are_all else ", and there are more: -o NAME keeps all")

    def _repr_html_(self) -> str:
        fields = list(self.first.schema)
        numbers = [pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in fields]
        columns = [[cell(value, field.type) for value in self.first.column(place).to_pylist()] for place, field in enumerate(fields)]
        shown = grid([field.name for field in fields], list(zip(*columns, strict=True)), numbers=numbers, notes=[field.type for field in fields])
        return card("SQL", "", self._note(), facts([]), shown)


def register(shell: InteractiveShell) -> None:
    """Makes the magics known to an IPython shell.

    Args:
        shell: The shell.

    Example:
        >>> hyperslab.engines.magic.register(get_ipython())
    """

    def magic(line: str, cell: str | None = None) -> Rows | None:
        return _run(shell, line, cell)

    shell.register_magic_function(magic, "line_cell", "sql")


def _run(shell: InteractiveShell, line: str, cell: str | None) -> Rows | None:
    """`%%sql [FILE] [-o NAME] [-n ROWS]` with the query in the cell, or `%sql [FILE] [-o NAME] QUERY`. FILE is a path or a variable."""
    names = shell.user_ns
    words = shlex.split(line) if cell is not None else line.split()
    file, out, rows = None, None, SHOWN_ROWS
    while words:
        if words[0] in ("-o", "--out", "-n", "--rows"):
            if len(words) < 2:
                raise InvalidInputError(f"{words[0]}: {'a variable' if words[0] in ('-o', '--out') else 'a number'} is missing")
            option, value, words = words[0], words[1], words[2:]
            if option in ("-o", "--out"):
                if not value.isidentifier():
                    raise InvalidInputError(f"-o {value}: give the name of a variable")
                out = value
            elif not value.isdecimal():
                raise InvalidInputError(f"-n {value}: give a whole number")
            else:
                rows = int(value)
        elif file is None and (cell is not None or isinstance(names.get(words[0]), File)):
            file, words = words[0], words[1:]
        else:
            break
    if cell is not None and words:
        raise InvalidInputError(f"{' '.join(words)}: the line of %%sql has a file and options only; the query is in the cell")
    query = cell if cell is not None else " ".join(words)
    if not query.strip():
        raise InvalidInputError("the query is missing: %%sql FILE, and the query below; or %sql f select …")
    source = names.get(file, file) if file is not None else _only_file(names)
    named = {name: names[name] for name in dict.fromkeys(_WORD.findall(query)) if _is_source(names.get(name)) and names[name] is not source}
    relation = _with_progress(lambda: sql(query, source, **named))
    if relation is None:
        return None
    if out is not None:
        names[out] = _with_progress(relation.to_arrow_table)
        return None
    found: pa.Table = _with_progress(lambda: relation.limit(rows + 1).to_arrow_table())
    return Rows(relation, found.slice(0, rows), found.num_rows <= rows)


def _is_source(value: object) -> bool:
    return isinstance(value, (File, Table, pa.Table)) or type(value).__name__ == "DataFrame"


def _only_file(names: dict[str, object]) -> File | None:
    """The file of the notebook, if it has a variable for only one."""
    found = {id(value): value for name, value in names.items() if isinstance(value, File) and value and not name.startswith("_")}
    if len(found) > 1:
        raise InvalidInputError("several files are open: name the variable of one, as in %%sql f, or use all as f.view")
    return next(iter(found.values()), None)


def _with_progress(run: Callable[[], T]) -> T:
    """Runs a query, and shows the bytes that were read if it takes a while."""
    before, done = counters(), threading.Event()
    with Progress("query") as progress:

        def watch() -> None:
            while not done.wait(0.5):
                progress.say(f"{size(counters().since(before).bytes_read)} read")

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            return run()
        finally:
            done.set()
            watcher.join()
