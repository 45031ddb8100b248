"""Messages: the messages of Flight SQL that the server reads and writes, by the field numbers of Arrow's FlightSql.proto and Flight.proto.

Arrow has no Python package of them. They are in a pool of their own, so that a program may load the generated ones, too."""

from __future__ import annotations

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

from .failures import invalid, unimplemented

_SQL, _FLIGHT = "arrow.flight.protocol.sql", "arrow.flight.protocol"

#: Fields of each message in the order of their numbers, from 1: name and type; `*` is repeated.
_CATALOG = ("catalog string", "db_schema_filter_pattern string")
_KEYS = ("catalog string", "db_schema string", "table string")
_MESSAGES: dict[str, dict[str, tuple[str, ...]]] = {
    _SQL: {
        "CommandGetSqlInfo": ("info uint32*",),
        "CommandGetXdbcTypeInfo": ("data_type int32",),
        "CommandGetCatalogs": (),
        "CommandGetDbSchemas": _CATALOG,
        "CommandGetTables": (*_CATALOG, "table_name_filter_pattern string", "table_types string*", "include_schema bool"),
        "CommandGetTableTypes": (),
        "CommandGetPrimaryKeys": _KEYS,
        "CommandGetExportedKeys": _KEYS,
        "CommandGetImportedKeys": _KEYS,
        "CommandGetCrossReference": (
            "pk_catalog string",
            "pk_db_schema string",
            "pk_table string",
            "fk_catalog string",
            "fk_db_schema string",
            "fk_table string",
        ),
        "CommandStatementQuery": ("query string", "transaction_id bytes"),
        "CommandStatementUpdate": ("query string", "transaction_id bytes"),
        "CommandPreparedStatementQuery": ("prepared_statement_handle bytes",),
        "CommandPreparedStatementUpdate": ("prepared_statement_handle bytes",),
        "TicketStatementQuery": ("statement_handle bytes",),
        "ActionCreatePreparedStatementRequest": ("query string", "transaction_id bytes"),
        "ActionCreatePreparedStatementResult": ("prepared_statement_handle bytes", "dataset_schema bytes", "parameter_schema bytes"),
        "ActionClosePreparedStatementRequest": ("prepared_statement_handle bytes",),
        "ActionCancelQueryRequest": ("info bytes",),
        "ActionCancelQueryResult": ("result int32",),
    },
    _FLIGHT: {
        "Ticket": ("ticket bytes",),
        "FlightEndpoint": ("ticket .Ticket",),
        "FlightInfo": ("schema bytes", "flight_descriptor bytes", "endpoint .FlightEndpoint*"),
        "CancelFlightInfoRequest": ("info .FlightInfo",),
        "CancelFlightInfoResult": ("status int32",),
        "CloseSessionResult": ("status int32",),
    },
}
_TYPES = {"string": 9, "bytes": 12, "bool": 8, "int32": 5, "uint32": 13}
_MESSAGE_TYPE, _OPTIONAL, _REPEATED = 11, 1, 3


def _classes() -> dict[str, type[Message]]:
    pool = descriptor_pool.DescriptorPool()
    for package, messages in _MESSAGES.items():
        # The syntax of version 2 keeps apart what is not given and what is empty; the bytes are the same.
        file = descriptor_pb2.FileDescriptorProto(name=f"hyperslab/{package}.proto", package=package, syntax="proto2")
        for name, fields in messages.items():
            message = file.message_type.add(name=name)
            for number, field in enumerate(fields, 1):
                field_name, _, kind = field.partition(" ")
                label = _REPEATED if kind.endswith("*") else _OPTIONAL
                kind = kind.rstrip("*")
                if kind.startswith("."):
                    message.field.add(name=field_name, number=number, label=label, type=_MESSAGE_TYPE, type_name=f".{package}{kind}")
                else:
                    message.field.add(name=field_name, number=number, label=label, type=_TYPES[kind])
        pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for package, messages in _MESSAGES.items() for name in messages
    }


_CLASSES = _classes()


def make(name: str, **fields: object) -> Message:
    """A message.

    Example:
        >>> make("TicketStatementQuery", statement_handle=b"1")
    """
    return _CLASSES[name](**fields)


def pack(message: Message) -> bytes:
    """A message as `google.protobuf.Any`, as commands, tickets and results of Flight SQL are."""
    packed = any_pb2.Any()
    packed.Pack(message)
    return bytes(packed.SerializeToString())


def unpack(data: bytes, expected: str | None = None) -> Message:
    """The message in an `Any`.

    Args:
        data: The bytes of a request.
        expected: Name of the message, if only one is possible.

    Raises:
        FlightServerError: The bytes are no message, or another one.
        pyarrow.ArrowNotImplementedError: A message that the server does not know.
    """
    packed = any_pb2.Any()
    try:
        packed.ParseFromString(data)
        package, _, name = packed.type_url.rpartition("/")[2].rpartition(".")
        if package != _SQL:
            raise invalid("the request is no message of Flight SQL")
        if name not in _CLASSES:
            raise unimplemented(f"Flight SQL's {name} is not supported here")
        if expected not in (None, name):
            raise invalid(f"the request has {name} where {expected} belongs")
        message = _CLASSES[name]()
        message.ParseFromString(packed.value)
    except DecodeError:
        raise invalid("the request is damaged: its message cannot be decoded") from None
    return message


def parse(name: str, data: bytes) -> Message:
    """A message of Flight itself, which is not in an `Any`.

    Raises:
        FlightServerError: The bytes are no such message.
    """
    message = _CLASSES[name]()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise invalid(f"the request is damaged: {name} cannot be decoded") from None
    return message
