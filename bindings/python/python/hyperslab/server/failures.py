"""Failures: errors of ours and of DuckDB's as those that Flight carries to the client."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.flight as flight

from ..base.errors import CancelledError, Error, ErrorKind
from ..base.visible import visible

#: Characters of a message that are sent: headers of HTTP/2 have limits.
_MAX_MESSAGE = 1000


def invalid(message: str) -> flight.FlightServerError:
    """The error of a request that is wrong. Errors of Arrow have codes that say so, and bring the server's traceback to the client."""
    return flight.FlightServerError(message)


def forbidden(message: str) -> flight.FlightUnauthorizedError:
    """The error of a request that would change something, or get at what is not served."""
    return flight.FlightUnauthorizedError(message)


def unimplemented(message: str) -> pa.ArrowNotImplementedError:
    """The error of a part of the protocol that is left out: clients look for its code."""
    return pa.ArrowNotImplementedError(message)


def of_error(error: Exception) -> flight.FlightError | pa.ArrowNotImplementedError:
    """What Flight sends for an error: its status, and one line. Paths of the server are not in it."""
    if isinstance(error, (flight.FlightError, pa.ArrowNotImplementedError)):
        return error
    if isinstance(error, Error):
        return _of_ours(error)
    text = " ".join(str(error).split())[:_MAX_MESSAGE]
    if type(error).__module__.partition(".")[0] in ("duckdb", "_duckdb") or isinstance(error, (OSError, pa.ArrowException)):
        return invalid(text)
    return flight.FlightInternalError(f"the server failed: {type(error).__name__}: {text}")


def _of_ours(error: Error) -> flight.FlightError:
    # Clients do not learn the paths of files on the server: the object says where.
    place = f" (object {error.object})" if error.object else ""
    text = visible(f"{error.message}{place}")[:_MAX_MESSAGE]
    if isinstance(error, CancelledError):
        return flight.FlightCancelledError(text)
    if error.kind in (ErrorKind.INTERNAL, ErrorKind.IO):
        return flight.FlightInternalError(text)
    return invalid(text)


def without_path(text: str, folder: str) -> str:
    """A message without the folder's place on the server."""
    return re.sub(re.escape(folder) + r"/?", "", text)
