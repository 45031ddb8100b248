"""Flight: the calls of Arrow Flight SQL."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.flight as flight
from google.protobuf.message import Message

from . import parameters
from .authentication import Handshake, TokenFactory
from .calls import CallFactory
from .database import Database, schema_of
from .failures import forbidden, invalid, of_error, unimplemented, without_path
from .files import Files
from .limits import Limits
from .messages import make, pack, parse, unpack
from .metadata import Metadata
from .metrics import Metrics
from .prepared import Prepared, PreparedStatements
from .queries import Queries
from .query import Query
from .statements import ParameterValues, Statement

if TYPE_CHECKING:
    import duckdb

_CANCELLED = _CLOSED = 1
_ACTIONS = {
    "CreatePreparedStatement": "prepares a query with parameters",
    "ClosePreparedStatement": "forgets a prepared query",
    "CancelFlightInfo": "stops a query",
    "CancelQuery": "stops a query",
    "CloseSession": "does nothing: there are no sessions",
    "Metrics": "counters in Prometheus' text format",
}
P = ParamSpec("P")
T = TypeVar("T")


def _answered(call: Callable[Concatenate[FlightSqlServer, P], T]) -> Callable[Concatenate[FlightSqlServer, P], T]:
    """A call whose errors are converted to Flight errors, without paths of the server."""

    @wraps(call)
    def answered(self: FlightSqlServer, /, *arguments: P.args, **named: P.kwargs) -> T:
        try:
            return call(self, *arguments, **named)
        except Exception as error:
            raise self._shown(error) from None

    return answered


class FlightSqlServer(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no stubs
    """A server of Arrow Flight SQL over the files of a folder. It listens as soon as it is made.

    Args:
        folder: The folder. Each file of HDF5 or netCDF in it or below is a schema, and its datasets, groups and the tables of its data models are tables.
        token: What clients need: as a bearer token, or as the password of any user.
        host: The address to listen at. Without TLS only this machine's own should be given.
        port: The port; a free one by default.
        tls: The certificate and its key, both as PEM, for connections over TLS.
        limits: What queries may cost.

    Attributes:
        port: The port that it listens at.

    Raises:
        MissingFileError: There is no such folder.
        MissingExtraError: DuckDB is not installed: `pip install 'hyperslab[serve]'`.

    Example:
        >>> server = FlightSqlServer("measurements", "a-long-secret")
        >>> server.port
        43210
        >>> server.close()
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        token: str,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: tuple[bytes, bytes] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._files = Files(folder)
        self._database = Database(self._files, self._limits.memory)
        self._metrics = Metrics()
        self._queries = Queries(self._database, self._limits, self._metrics)
        self._prepared = PreparedStatements(self._limits.statements)
        self._metadata = Metadata(self._files, self._limits, self._metrics)
        place = f"[{host}]" if ":" in host else host
        super().__init__(
            f"grpc{'+tls' if tls else '+tcp'}://{place}:{port}",
            auth_handler=Handshake(),
            tls_certificates=[tls] if tls else None,
            middleware={"token": TokenFactory(token, self._metrics), "call": CallFactory()},
        )

    def _shown(self, error: Exception) -> flight.FlightError | pa.ArrowNotImplementedError:
        known = of_error(error)
        text = str(known)
        shown = without_path(text, self._files.folder)
        return known if shown == text else type(known)(shown)

    # Queries

    @_answered
    def get_flight_info(self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor) -> flight.FlightInfo:
        command = unpack(descriptor.command)
        answer = self._metadata.answer(command)
        if answer is not None:
            return _info(answer[0], descriptor, descriptor.command)
        query = self._run(context, command)
        until = pa.scalar(time.time_ns() + int(self._limits.unfetched_seconds * 1e9), pa.timestamp("ns", "UTC"))
        return _info(query.schema, descriptor, pack(make("TicketStatementQuery", statement_handle=query.handle)), until)

    @_answered
    def get_schema(self, context: flight.ServerCallContext, descriptor: flight.FlightDescriptor) -> flight.SchemaResult:
        command = unpack(descriptor.command)
        answer = self._metadata.answer(command)
        if answer is not None:
            return flight.SchemaResult(answer[0])
        statement, sets = self._statement(command)
        return flight.SchemaResult(self._queries.plan(context, lambda connection: schema_of(self._database.relation(connection, statement, sets[0]))))

    @_answered
    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.GeneratorStream:
        command = unpack(ticket.ticket)
        answer = self._metadata.answer(command)
        if answer is not None:
            return flight.GeneratorStream(answer[0], self._rows(answer[1]))
        if command.DESCRIPTOR.name != "TicketStatementQuery":
            raise invalid("the ticket is none of this server's")
        query = self._queries.find(command.statement_handle)
        context.get_middleware("call").watch(query, context)
        return flight.GeneratorStream(query.schema, self._rows(query.batches()))

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except Exception as error:
            raise self._shown(error) from None

    def _run(self, context: flight.ServerCallContext, command: Message) -> Query:
        statement, sets = self._statement(command)

        def made(one: ParameterValues) -> Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation]:
            return lambda connection: self._database.relation(connection, statement, one)

        return self._queries.start(context, [made(one) for one in sets])

    def _statement(self, command: Message) -> tuple[Statement, list[ParameterValues]]:
        """The query of a command, and the sets of parameters that it runs with."""
        name = command.DESCRIPTOR.name
        if name == "CommandStatementQuery":
            if command.transaction_id:
                raise unimplemented("there are no transactions: the server is read-only")
            statement = self._database.statement(command.query)
            return statement, Prepared(statement).bound()
        if name == "CommandPreparedStatementQuery":
            prepared = self._prepared.find(command.prepared_statement_handle)
            return prepared.statement, prepared.bound()
        raise invalid(f"{name} asks for no rows")

    # Parameters

    @_answered
    def do_put(
        self,
        context: flight.ServerCallContext,
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.FlightMetadataWriter,
    ) -> None:
        command = unpack(descriptor.command)
        if command.DESCRIPTOR.name in ("CommandStatementUpdate", "CommandPreparedStatementUpdate"):
            raise forbidden("the server is read-only")
        if command.DESCRIPTOR.name != "CommandPreparedStatementQuery":
            raise invalid(f"{command.DESCRIPTOR.name} takes no rows")
        prepared = self._prepared.find(command.prepared_statement_handle)
        kept, rows = [], 0
        for chunk in reader:
            rows += chunk.data.num_rows
            if rows > self._limits.parameter_rows:
                raise invalid(f"more than {self._limits.parameter_rows} sets of parameters were sent, the limit of the server")
            kept.append(chunk.data)
        prepared.bind(pa.Table.from_batches(kept, reader.schema))

    # Actions

    def list_actions(self, context: flight.ServerCallContext) -> list[flight.ActionType]:
        return [flight.ActionType(name, meaning) for name, meaning in _ACTIONS.items()]

    @_answered
    def do_action(self, context: flight.ServerCallContext, action: flight.Action) -> list[bytes]:
        body = action.body.to_pybytes()
        if action.type == "CreatePreparedStatement":
            return [self._prepare(context, unpack(body, "ActionCreatePreparedStatementRequest"))]
        if action.type == "ClosePreparedStatement":
            self._prepared.close(unpack(body, "ActionClosePreparedStatementRequest").prepared_statement_handle)
            return []
        if action.type == "CancelFlightInfo":
            self._cancel(parse("CancelFlightInfoRequest", body).info)
            return [make("CancelFlightInfoResult", status=_CANCELLED).SerializeToString()]
        if action.type == "CancelQuery":
            self._cancel(parse("FlightInfo", unpack(body, "ActionCancelQueryRequest").info))
            return [pack(make("ActionCancelQueryResult", result=_CANCELLED))]
        if action.type == "CloseSession":
            return [make("CloseSessionResult", status=_CLOSED).SerializeToString()]
        if action.type == "Metrics":
            return [self.metrics().encode()]
        raise unimplemented(f"the action {action.type} is not supported here")

    def _prepare(self, context: flight.ServerCallContext, request: Message) -> bytes:
        if request.transaction_id:
            raise unimplemented("there are no transactions: the server is read-only")
        statement = self._database.statement(request.query)
        # Types that depend on parameters are known when the parameters are; until then they are the types for NULL.
        unknown: ParameterValues = (
            dict.fromkeys(statement.parameters) if any(not name.isdecimal() for name in statement.parameters) else [None] * len(statement.parameters)
        )

        def planned(connection: duckdb.DuckDBPyConnection) -> tuple[pa.Schema, list[pa.DataType]]:
            return schema_of(self._database.relation(connection, statement, unknown)), parameters.types(connection, statement)

        schema, given = self._queries.plan(context, planned)
        handle = self._prepared.add(statement)
        made = make("ActionCreatePreparedStatementResult", prepared_statement_handle=handle, dataset_schema=bytes(schema.serialize()))
        if statement.parameters:
            made.parameter_schema = bytes(pa.schema(list(zip(statement.parameters, given, strict=True))).serialize())
        return pack(made)

    def _cancel(self, info: Message) -> None:
        for endpoint in info.endpoint:
            ticket = unpack(endpoint.ticket.ticket, "TicketStatementQuery")
            self._queries.find(ticket.statement_handle).stop(flight.FlightCancelledError("the query was cancelled"))

    def metrics(self) -> str:
        """Counters since the server began, and how many queries run, in Prometheus' text format."""
        return self._metrics.text(running_queries=self._queries.count(), prepared_statements=self._prepared.count())

    def close(self) -> None:
        """Stops all queries, and then the server."""
        self._queries.close()
        self.shutdown()
        self._database.close()


def _info(schema: pa.Schema, descriptor: flight.FlightDescriptor, ticket: bytes, until: pa.Scalar | None = None) -> flight.FlightInfo:
    # Without a place, a ticket is for the server that gave it.
    return flight.FlightInfo(schema, descriptor, [flight.FlightEndpoint(ticket, [], expiration_time=until)], -1, -1)
