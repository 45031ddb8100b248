"""Views: the names of a file's objects in SQL, and the message for a name without a table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from .. import _native
from ..base.errors import Error
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.native_objects import native_of
from ..tables.arrow_dataset import Columns, ScanDataset
from ..tables.table import Table

if TYPE_CHECKING:
    import duckdb

#: Characters of a message of DuckDB's that are shown.
MAX_MESSAGE = 300

#: Text, quoted names, and plain names of a query.
_WORDS = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|([^\W\d]\w*)""")

#: A query whose only result is a number of rows.
_COUNT = re.compile(
    r"""\s*select\s+count\s*\(\s*(?:\*|1)?\s*\)(?:\s+(?:as\s+)?([^\W\d]\w*))?\s+from\s+(?:"((?:[^"]|"")*)"|([^\W\d]\w*))\s*;?\s*""", re.IGNORECASE
)

#: Queries about the views themselves.
_CATALOG = re.compile(r"\s*show\s+(all\s+)?tables\b|\b(information_schema|duckdb_(views|tables|columns)|pg_catalog|sqlite_master)\b", re.IGNORECASE)


class Names(NamedTuple):
    """Names of views in lower case: the path of each, and the names that stand for several objects."""

    paths: dict[str, tuple[str, str]]
    ambiguous: dict[str, list[str]]


#: Objects of a file that have a view of their own, at most, and characters of their paths: views are found by names, and more of
#: them take longer to list than to name in a query with wildcards.
MAX_VIEWS = 100_000
MAX_PATH_CHARS = 1 << 16
#: Soft and external links that are followed to see whether they lead to a dataset.
MAX_LINKS = 10_000
#: Characters of a link's target, beyond which it is not followed.
MAX_TARGET_CHARS = 1000


def object_paths(group: Group) -> list[str]:
    """The paths of datasets and groups, without the leading slash. A group's members are listed at the first of its paths."""
    found: list[str] = []
    chars = followed = 0
    file, root = native_of(group)
    seen = {root}
    pending = [("", root)]
    while pending and len(found) < MAX_VIEWS and chars < MAX_VIEWS * 100:
        prefix, at = pending.pop()
        links = file.links(at)
        below: list[tuple[str, int]] = []
        for name, _, number, target in map(links.entry, range(len(links))):
            path = prefix + name
            if len(path) > MAX_PATH_CHARS:
                continue
            if number is None:
                followed += 1
                if followed <= MAX_LINKS and len(target) <= MAX_TARGET_CHARS and _leads_to_a_dataset(group, path):
                    found.append(path)
                    chars += len(path)
                continue
            kind = file.kind(number)
            if number in seen and kind == "group":
                continue
            if kind in ("dataset", "group"):
                found.append(path)
                chars += len(path)
            if kind == "group":
                seen.add(number)
                below.append((path + "/", number))
        pending += reversed(below)
    return found[:MAX_VIEWS]


def _leads_to_a_dataset(group: Group, path: str) -> bool:
    """Whether a soft or external link can be followed to a dataset; below other groups nothing is looked for."""
    try:
        # First whether there is anything: an error would look for names that are alike.
        return path in group and isinstance(group[path], Dataset)
    except Error:
        return False


def names_of(paths: list[str]) -> Names:
    """The names of views. A view is named by its path, and by its last part if no other path has it. SQL does not tell
    upper from lower case: paths that differ in case only get a number, `f_1` and `F_2`."""
    whole: dict[str, list[str]] = {}
    for path in paths:
        whole.setdefault(path.lower(), []).append(path)
    named: dict[str, tuple[str, str]] = {}
    ambiguous: dict[str, list[str]] = {}
    for lower, alike in whole.items():
        if len(alike) == 1:
            named[lower] = (alike[0], alike[0])
    for lower, alike in whole.items():
        if len(alike) > 1:
            number, ambiguous[lower] = 0, []
            for path in alike:
                number += 1
                while f"{lower}_{number}" in whole or f"{lower}_{number}" in named:
                    number += 1
                named[f"{lower}_{number}"] = (f"{path}_{number}", path)
                ambiguous[lower].append(f"{path}_{number}")
    last: dict[str, list[str]] = {}
    for name, _ in named.values():
        last.setdefault(name.rsplit("/", 1)[-1].lower(), []).append(name)
    for lower, alike in last.items():
        if lower in named:
            continue  # a whole path comes before a last part
        if len(alike) == 1 and lower not in ambiguous:
            named[lower] = (alike[0].rsplit("/", 1)[-1], named[alike[0].lower()][1])
        else:
            ambiguous[lower] = list(dict.fromkeys([*ambiguous.get(lower, ()), *alike]))
    return Names(named, ambiguous)


def words_of(query: str) -> list[str]:
    """The names in a query as it writes them, each once; SQL does not tell upper from lower case."""
    found = (inner.replace('""', '"') if inner else plain for inner, plain in _WORDS.findall(query))
    return list({word.lower(): word for word in found if word}.values())


def quoted(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def asks_for_views(query: str) -> bool:
    """Whether a query lists views."""
    return _CATALOG.search(query) is not None


def counted(query: str) -> tuple[str, str] | None:
    """The view and the name of the result of a query whose only result is a number of rows; `None` for other queries."""
    found = _COUNT.fullmatch(query)
    if found is None:
        return None
    alias, inner, plain = found.groups()
    return (inner.replace('""', '"') if inner else plain).lower(), alias or "count_star()"


class Counted(Protocol):
    """The part of a table that SQL asks for."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def omitted(self) -> dict[str, str]: ...
    def count(self) -> int: ...


class BatchStream:
    """What DuckDB asks of a scanner of Arrow, without Arrow's threads in between, which cost as much as a small query."""

    def __init__(self, scan: _native.Reader) -> None:
        self._scan = scan

    @property
    def projected_schema(self) -> pa.Schema:
        return pa.schema(self._scan)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(self._scan)


class View(ScanDataset):
    """A table for DuckDB. It has no 2-byte floats, so they are widened, and it does not distinguish names that differ only in
    case, so these get a number."""

    table: Counted
    #: Whether its rows are scanned from files, so that aggregates of them can be computed there.
    is_scanned: ClassVar[bool] = True

    def __init__(self, table: Table) -> None:
        super().__init__(table._request, table.schema)
        self.table, self._plan = table, table._plan
        self._own_names = distinct(table.schema.names)
        own = super().schema
        #: Whether DuckDB takes batches as they are read.
        self._is_plain = list(self._own_names) == own.names and widened(own).equals(own) and table._request.expression is None

    @property
    def schema(self) -> pa.Schema:
        return widened(pa.schema([field.with_name(name) for name, field in zip(self._own_names, super().schema, strict=True)]))

    def columns_in_sql(self) -> dict[str, tuple[str, pa.DataType]]:
        """For each name of a column in SQL, its own name and its own type; without columns that the table does not have."""
        types = self.table.schema
        return {name: (own, types.field(own).type) for name, own in self._own_names.items() if own in types.names}

    def narrow(self, condition: str) -> None:
        """Leaves out rows for which a condition does not hold, if that can be said of the table."""
        if self._request.limit is None and self._request.expression is None:
            self._request = self._request.narrowed(condition)

    def _tests_float16(self, filter: str) -> bool:
        """Whether the text of an expression has the name of a column of 2-byte floats."""
        return any(pa.types.is_float16(type) and name in filter for name, (_, type) in self.columns_in_sql().items())

    def scanner(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> ds.Scanner | BatchStream:
        if filter is None and self._is_plain and (columns is None or (isinstance(columns, list) and columns)):
            return BatchStream(self._begun(self._request.plan(columns=list(self._own_names) if columns is None else columns)))
        if filter is not None and self._tests_float16(str(filter)):
            # Arrow cannot compare them, so the expression is evaluated on wider ones.
            needed = [name for name in self._own_names if columns is None or name in columns or name in str(filter)]
            wide = self.scanner(needed, None, **options)
            return ds.Scanner.from_batches(wide.to_reader(), columns=columns, filter=filter)
        if all(name == own for name, own in self._own_names.items()):
            scanner = super().scanner(columns, filter, **options)
        else:
            # An expression cannot be renamed, so it is evaluated on renamed batches.
            chosen = list(self._own_names) if columns is None or filter is not None else columns
            own = super().scanner([self._own_names[name] for name in chosen], None, **options)
            renamed = ds.Scanner.from_batches(own.to_reader(), columns={name: ds.field(self._own_names[name]) for name in chosen})
            scanner = ds.Scanner.from_batches(renamed.to_reader(), columns=columns, filter=filter)
        wide = widened(scanner.projected_schema)
        if wide.equals(scanner.projected_schema):
            return scanner
        return ds.Scanner.from_batches(scanner.to_reader().cast(wide))


def distinct(names: list[str]) -> dict[str, str]:
    """The names that SQL can tell from each other, and the own name of each: those that differ in case only have a number."""
    lower = [name.lower() for name in names]
    taken, found = set(lower), {}
    for name in names:
        shown, number = name, 0
        while lower.count(name.lower()) > 1 and (number == 0 or shown.lower() in taken):
            number += 1
            shown = f"{name}_{number}"
        taken.add(shown.lower())
        found[shown] = name
    return found


def widened(schema: pa.Schema) -> pa.Schema:
    """The schema as DuckDB takes it, which has no 2-byte floats."""
    return pa.schema([field.with_type(_wide(field.type)) for field in schema], schema.metadata)


def _wide(type: pa.DataType) -> pa.DataType:
    """The type with `float32` for `float16`, at any depth."""
    if pa.types.is_float16(type):
        return pa.float32()
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_wide(field.type)) for field in type])
    if pa.types.is_fixed_size_list(type):
        return pa.list_(type.value_field.with_type(_wide(type.value_type)), type.list_size)
    if pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(_wide(type.value_type)))
    return type


def explained(error: duckdb.Error, names: Names, refused: dict[str, str], omitted: dict[str, str], views: Iterable[View], catalogs: Sequence[str] = ()) -> str:
    """One line on a query that DuckDB refuses: what it misses, why, and what there is. `catalogs` are prefixes of names."""
    alike: dict[str, list[str]] = {}
    for view in views:
        for shown, own in view._own_names.items():
            if shown != own:
                alike.setdefault(own.lower(), []).append(shown)
    text = " ".join(str(error).split())
    if missing := re.match(r"Catalog Error: Table with name (.*) does not exist!", text):
        name = missing[1]
        if name.lower() in refused:
            return f"there is no view {name!r}: {refused[name.lower()]}"
        if name.lower() in names.ambiguous:
            return f"{name!r} may be {_quoted(names.ambiguous[name.lower()])}"
        bare = {one: one.partition(".")[2] if one.partition(".")[0] in catalogs else one for one in names.paths}
        alike_names = difflib.get_close_matches(name.lower(), set(bare.values()), 3, 0.5)
        near = [one for like in alike_names for one in bare if bare[one] == like] or list(names.paths)[:5]
        return f"there is no view {name!r}" + (f"; nearest: {_quoted([names.paths[one][0] for one in near], catalogs)}" if near else ": the file has no arrays")
    if missing := re.match(r'Binder Error: (?:Referenced column|.* does not have a column named) "([^"]*)"', text):
        reasons = [reason for name, reason in omitted.items() if name.lower() == missing[1].lower()]
        if reasons:
            return f"there is no column {missing[1]!r}: {reasons[0]}"
        if missing[1].lower() in alike:
            return f"{missing[1]!r} may be {_quoted(alike[missing[1].lower()])}"
        text += f". If it is text, write '{missing[1]}'"
    text = re.sub(r' ?Did you mean "[^"]*"\?', "", text)
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"


def _quoted(names: list[str], catalogs: Sequence[str] = ()) -> str:
    """Names as a query writes them, the first few."""

    def written(name: str) -> str:
        catalog, dot, rest = name.partition(".")
        if dot and catalog in catalogs:
            return f"{written(catalog)}.{written(rest)}"
        return name if re.fullmatch(r"[^\W\d]\w*", name) else quoted(name)

    shown = [written(name) for name in names[:5]]
    return ", ".join(shown) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
