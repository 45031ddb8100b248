"""The command that shows files in the browser."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import webbrowser
from typing import Annotated

import typer

from ..base.errors import InvalidInputError, IoError
from ..base.extras import require
from . import say_warning
from .app import command
from .terminal import say


@command(
    "hyperslab view profiles.nc",
    "hyperslab view . --port 8000 --no-browser",
    "hyperslab view s3://bucket/run.h5 https://example.org/map.nc",
)
def view(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Files, folders, and addresses such as s3://bucket/run.h5.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server; a free one by default.")] = 0,
    host: Annotated[
        str, typer.Option(help="Address that the server listens at. Another one than this machine's own needs --certificate and --key.")
    ] = "127.0.0.1",
    certificate: Annotated[str | None, typer.Option(help="Certificate of TLS, as PEM.")] = None,
    key: Annotated[str | None, typer.Option(help="Its key, as PEM.")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds that an overview, a histogram, a query or a picture may take.")] = 30.0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
) -> None:
    """Show files in the browser: tree, attributes, tables, lines, images, histograms, SQL. Ctrl-C ends it."""
    require("The viewer", "viewer", "starlette", "uvicorn", "orjson", "tifffile")
    import uvicorn

    from ..viewer import Shown, application
    from ..viewer.pages import pages

    pages()  # without them, the browser would have nothing to show
    is_local = host in ("127.0.0.1", "localhost", "::1")
    if (certificate is None) != (key is None):
        raise InvalidInputError("give --certificate and --key together")
    if not is_local and certificate is None:
        raise InvalidInputError(f"other machines can reach {host}: give --certificate and --key, so that nobody can read the token on the way")
    shown = Shown(files)
    for problem in shown.problems():
        say_warning(problem)
    # A browser that goes away ends an answer, not the server.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    token = secrets.token_urlsafe(24)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise IoError(f"cannot listen at {host}:{port}: {error.strerror or error}") from None
    with listener:
        # asyncio does this only for sockets whose protocol is named; otherwise a small answer waits 40 ms for the client's acknowledgment.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = listener.getsockname()[1]
        place = f"[{host}]" if ":" in host else host
        address = f"{'https' if certificate else 'http'}://{place}:{number}/{token}/"
        names = ("127.0.0.1", "localhost", "[::1]") if is_local else (host, socket.getfqdn(), socket.gethostname())
        say(f"{address}  (Ctrl-C ends it)")
        sys.stdout.flush()
        if browser and is_local and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32")):
            webbrowser.open(address)
        # The log of requests would have the token in it.
        settings = uvicorn.Config(
            application(shown, token, hosts=names, seconds=seconds),
            log_level="error",
            access_log=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        uvicorn.Server(settings).run(sockets=[listener])
