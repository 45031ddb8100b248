"""Server: files of a folder as tables over Arrow Flight SQL, with DuckDB over our scans."""

from __future__ import annotations

from ..base.extras import require

require("The server", "serve", "duckdb", "google.protobuf", "pyarrow.flight")

from .flight import FlightSqlServer  # noqa: E402
from .limits import Limits  # noqa: E402

__all__ = ["FlightSqlServer", "Limits"]
