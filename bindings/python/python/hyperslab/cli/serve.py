"""The command that serves files to SQL clients."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from typing import Annotated, Any

import typer

from ..base.errors import InvalidInputError, IoError
from ..base.extras import require
from .app import command
from .stopping import careful
from .terminal import say

_MINIMUM = 16


@command("hyperslab serve measurements", "hyperslab serve measurements --port 8815 --token-file token.txt")
def serve(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of the files; each is a schema.")],
    port: Annotated[int, typer.Option(help="Port of the server; a free one by default.")] = 0,
    host: Annotated[str, typer.Option(help="Address that the server listens at. Another one than this machine's own needs --tls and a token.")] = "127.0.0.1",
    tls: Annotated[tuple[str, str] | None, typer.Option(metavar="CERTIFICATE KEY", help="Certificate and its key, as PEM.")] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HYPERSLAB_TOKEN",
            help="What clients need, at least 16 characters; made and printed by default. Others see it in the list of processes: better in the environment.",
        ),
    ] = None,
    token_file: Annotated[str | None, typer.Option(help="File with the token.")] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows that a result may have.")] = None,
    megabytes: Annotated[int | None, typer.Option(min=1, help="MiB that a result may have.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.1, help="Seconds that a query may take.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Queries that run at once.")] = None,
    memory: Annotated[int | None, typer.Option(min=64, help="MiB that all queries together may use.")] = None,
) -> None:
    """Serve files to SQL clients over Arrow Flight SQL: ADBC, JDBC, ODBC. Ctrl-C ends it."""
    require("The server", "serve", "duckdb", "google.protobuf")
    from ..server import FlightSqlServer, Limits

    is_local = host in ("127.0.0.1", "localhost", "::1")
    given = token if token_file is None else _read(token_file).decode("utf-8", "replace").strip()
    if token is not None and token_file is not None:
        raise InvalidInputError("give --token or --token-file, not both")
    if given is not None and len(given) < _MINIMUM:
        raise InvalidInputError(f"the token has {len(given)} characters: give at least {_MINIMUM}, so that it cannot be guessed")
    if not is_local and (tls is None or given is None):
        raise InvalidInputError(f"other machines can reach {host}: give --tls CERTIFICATE KEY and a token, so that only those who know it read the files")
    chosen: dict[str, Any] = {
        "rows": rows,
        "bytes": None if megabytes is None else megabytes << 20,
        "seconds": seconds,
        "queries": queries,
        "memory": None if memory is None else memory << 20,
    }
    secret = given or secrets.token_urlsafe(24)
    pair = None if tls is None else (_read(tls[0]), _read(tls[1]))
    try:
        server = FlightSqlServer(
            folder, secret, host=host, port=port, tls=pair, limits=Limits(**{name: value for name, value in chosen.items() if value is not None})
        )
    except OSError as error:
        if isinstance(error, IoError) or type(error) is not OSError:
            raise
        raise IoError(f"cannot listen at {host}:{port}: {error}") from None
    place = f"[{host}]" if ":" in host else host
    say(f"grpc{'+tls' if tls else '+tcp'}://{place}:{server.port}  (Ctrl-C ends it)")
    if given is None:
        say(f"token: {secret}")
    sys.stdout.flush()
    # A client that goes away ends its query, not the server.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    with careful():
        try:
            threading.Event().wait()
        finally:
            server.close()


def _read(path: str) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read()
    except OSError as error:
        raise IoError(f"cannot read '{path}': {error.strerror}", os_error=error.errno) from None
