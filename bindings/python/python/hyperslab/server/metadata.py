"""Metadata: the catalog, its schemas (the files), their tables, and what else Flight SQL's commands ask about a database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from google.protobuf.message import Message

from ..base.errors import Error
from . import sql_info
from .files import Files
from .limits import Limits
from .metrics import Metrics
from .statements import CATALOG

_TABLE_TYPE = "TABLE"
#: Tables in a batch of the list of tables.
_TABLES = 200
#: Names of DuckDB's types, the numbers that JDBC and ODBC have for them, and their sizes.
_TYPES = (
    ("TINYINT", -6, 3), ("BIGINT", -5, 19), ("BLOB", -3, None), ("INTEGER", 4, 10), ("SMALLINT", 5, 5), ("REAL", 7, 24), ("DOUBLE", 8, 53),
    ("VARCHAR", 12, None), ("BOOLEAN", -7, 1), ("DATE", 91, 10), ("TIME", 92, 15), ("TIMESTAMP", 93, 26),
)  # fmt: skip


def _schema(*fields: str) -> pa.Schema:
    """A schema from names and types; `!` is not null."""
    kinds = {"text": pa.utf8(), "int32": pa.int32(), "uint8": pa.uint8(), "bool": pa.bool_(), "bytes": pa.binary(), "texts": pa.list_(pa.utf8())}
    split = [field.split() for field in fields]
    return pa.schema([pa.field(name, kinds[kind.rstrip("!")], nullable=not kind.endswith("!")) for name, kind in split])


CATALOGS = _schema("catalog_name text!")
DB_SCHEMAS = _schema("catalog_name text", "db_schema_name text!")
TABLES = _schema("catalog_name text", "db_schema_name text", "table_name text!", "table_type text!")
TABLES_WITH_SCHEMA = _schema("catalog_name text", "db_schema_name text", "table_name text!", "table_type text!", "table_schema bytes!")
TABLE_TYPES = _schema("table_type text!")
PRIMARY_KEYS = _schema("catalog_name text", "db_schema_name text", "table_name text!", "column_name text!", "key_name text", "key_sequence int32!")
FOREIGN_KEYS = _schema(
    *(f"{side}_{name}" for side in ("pk", "fk") for name in ("catalog_name text", "db_schema_name text", "table_name text!", "column_name text!")),
    "key_sequence int32!", "fk_key_name text", "pk_key_name text", "update_rule uint8!", "delete_rule uint8!",
)  # fmt: skip
TYPE_INFO = _schema(
    "type_name text!", "data_type int32!", "column_size int32", "literal_prefix text", "literal_suffix text", "create_params texts", "nullable int32!",
    "case_sensitive bool!", "searchable int32!", "unsigned_attribute bool", "fixed_prec_scale bool!", "auto_increment bool", "local_type_name text",
    "minimum_scale int32", "maximum_scale int32", "sql_data_type int32!", "datetime_subcode int32", "num_prec_radix int32", "interval_precision int32",
)  # fmt: skip


class Metadata:
    """Answers to the commands about the database.

    Args:
        files: The files.
        limits: What the server says of its limits.
        metrics: Counts files that cannot be listed.
    """

    def __init__(self, files: Files, limits: Limits, metrics: Metrics) -> None:
        self._files, self._limits, self._metrics = files, limits, metrics

    def answer(self, command: Message) -> tuple[pa.Schema, Iterator[pa.RecordBatch]] | None:
        """The schema and the rows of a command's answer, made while they are fetched; `None` for other commands."""
        kinds: dict[str, tuple[pa.Schema, Callable[[Message], Iterator[pa.RecordBatch]]]] = {
            "CommandGetCatalogs": (CATALOGS, lambda _: _batches(CATALOGS, [[CATALOG]])),
            "CommandGetDbSchemas": (DB_SCHEMAS, self._db_schemas),
            "CommandGetTables": (TABLES, self._tables),
            "CommandGetTableTypes": (TABLE_TYPES, lambda _: _batches(TABLE_TYPES, [[_TABLE_TYPE]])),
            "CommandGetSqlInfo": (sql_info.SCHEMA, self._sql_info),
            "CommandGetXdbcTypeInfo": (TYPE_INFO, _types),
            "CommandGetPrimaryKeys": (PRIMARY_KEYS, lambda _: iter(())),
            "CommandGetExportedKeys": (FOREIGN_KEYS, lambda _: iter(())),
            "CommandGetImportedKeys": (FOREIGN_KEYS, lambda _: iter(())),
            "CommandGetCrossReference": (FOREIGN_KEYS, lambda _: iter(())),
        }
        name = command.DESCRIPTOR.name
        if name not in kinds:
            return None
        schema, rows = kinds[name]
        if name == "CommandGetTables" and command.include_schema:
            schema = TABLES_WITH_SCHEMA
        return schema, rows(command)

    def _names(self, command: Message) -> Iterator[str]:
        if command.HasField("catalog") and command.catalog != CATALOG:
            return iter(())
        wanted = _pattern(command, "db_schema_filter_pattern")
        return (name for name in self._files.names() if wanted(name))

    def _db_schemas(self, command: Message) -> Iterator[pa.RecordBatch]:
        return _batches(DB_SCHEMAS, ([CATALOG, name] for name in self._names(command)))

    def _tables(self, command: Message) -> Iterator[pa.RecordBatch]:
        if command.table_types and _TABLE_TYPE not in command.table_types:
            return iter(())
        schema = TABLES_WITH_SCHEMA if command.include_schema else TABLES
        return _batches(schema, self._table_rows(command))

    def _table_rows(self, command: Message) -> Iterator[list[str | bytes]]:
        wanted = _pattern(command, "table_name_filter_pattern")
        for name in self._names(command):
            try:
                rows = []
                for found in self._files.open(name).tables():
                    if wanted(found.name):
                        row: list[str | bytes] = [CATALOG, name, found.name, _TABLE_TYPE]
                        rows.append([*row, _described(found.view.schema, name, found.name)] if command.include_schema else row)
            except (Error, OSError):
                # One damaged file must not hide the others; a query that names it has the error.
                self._metrics.add("unreadable_files")
                continue
            yield from sorted(rows, key=lambda row: row[2])

    def _sql_info(self, command: Message) -> Iterator[pa.RecordBatch]:
        return iter(sql_info.table(command.info, self._limits).to_batches())


def _described(schema: pa.Schema, file: str, table: str) -> bytes:
    """A table's schema as bytes; without our metadata, which can hold values of the file."""
    about = {"ARROW:FLIGHT:SQL:CATALOG_NAME": CATALOG, "ARROW:FLIGHT:SQL:DB_SCHEMA_NAME": file, "ARROW:FLIGHT:SQL:TABLE_NAME": table}
    about |= {"ARROW:FLIGHT:SQL:IS_READ_ONLY": "1", "ARROW:FLIGHT:SQL:IS_SEARCHABLE": "1", "ARROW:FLIGHT:SQL:IS_AUTO_INCREMENT": "0"}
    return bytes(pa.schema([pa.field(field.name, field.type, field.nullable, about) for field in schema]).serialize())


def _types(command: Message) -> Iterator[pa.RecordBatch]:
    rows = []
    for name, number, size in sorted(_TYPES, key=lambda row: row[1]):
        if command.HasField("data_type") and command.data_type != number:
            continue
        is_text, is_number = name == "VARCHAR", number in (-6, -5, 4, 5, 7, 8)
        quote = None if is_number or name == "BOOLEAN" else "'"
        radix = (2 if number in (7, 8) else 10) if is_number else None
        moment = {91: 1, 92: 2, 93: 3}.get(number)
        kind = 9 if moment else number
        rows.append(
            [name, number, size, quote, quote, None, 1, is_text, 3, False if is_number else None, False, False, name, None, None, kind, moment, radix, None]
        )
    return _batches(TYPE_INFO, rows)


def _pattern(command: Message, field: str) -> Callable[[str], bool]:
    """A pattern of SQL's LIKE, with `\\` before a character that means itself; everything matches if none is given."""
    if not command.HasField(field):
        return lambda _: True
    parts = re.findall(r"\\.|.", getattr(command, field), re.DOTALL)
    meaning = {"%": ".*", "_": "."}
    compiled = re.compile("".join(meaning.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None


def _batches(schema: pa.Schema, rows: Iterable[Sequence[object]]) -> Iterator[pa.RecordBatch]:
    kept: list[Sequence[object]] = []
    for row in rows:
        kept.append(row)
        if len(kept) == _TABLES:
            yield _batch(schema, kept)
            kept = []
    if kept:
        yield _batch(schema, kept)


def _batch(schema: pa.Schema, rows: list[Sequence[object]]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)], schema=schema)
