"""Jupyter: the viewer as an extension of a Jupyter server, at `hyperslab/` below its address, for the files of its folder.

`jupyter server extension enable hyperslab.viewer.jupyter` turns it on. It also answers the requests of jupyterlab-h5web (`h5web/`), whose
pages then read through it. Who may see what is up to Jupyter: each request needs its login."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from .app import application
from .pages import pages
from .shown import Shown

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp
    from starlette.types import Message

#: Headers that the Jupyter server sets itself.
_NOT_PASSED = {"content-length", "date", "server", "transfer-encoding"}
#: What jupyterlab-h5web asks for.
_H5WEB = "attr|data|meta|paths"
Method = TypeVar("Method", bound=Callable[..., Awaitable[None]])


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "hyperslab.viewer.jupyter"}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    """Adds the viewer to a Jupyter server.

    Raises:
        NotFoundError: The pages are not built; the server goes on without the viewer, and logs the message.
    """
    from jupyter_server.base.handlers import JupyterHandler
    from jupyter_server.utils import url_path_join
    from tornado.iostream import StreamClosedError
    from tornado.web import authenticated

    pages()
    checked: Callable[[Method], Method] = authenticated
    token = secrets.token_urlsafe(24)  # between this handler and the application only
    app = application(Shown([server.root_dir]), token, hosts=("*",))
    atexit.register(app.state.close)

    class Mounted(JupyterHandler):  # type: ignore[misc]  # without Jupyter, its classes are unknown
        """Passes requests to the application of ASGI."""

        def initialize(self) -> None:
            self._is_closed = asyncio.Event()

        def on_connection_close(self) -> None:
            self._is_closed.set()

        @checked
        async def get(self, path: str) -> None:
            await self._pass(path)

        post = get

        async def _pass(self, path: str) -> None:
            request, is_asked = self.request, False
            scope = {
                "type": "http",
                "asgi": {"version": "3.0"},
                "http_version": "1.1",
                "method": request.method,
                "scheme": request.protocol,
                "path": f"/{token}/{path}",
                "root_path": "",
                "query_string": request.query.encode(),
                "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers.get_all()],
                "client": None,
                "server": None,
            }

            async def receive() -> Message:
                nonlocal is_asked
                if not is_asked:
                    is_asked = True
                    return {"type": "http.request", "body": request.body, "more_body": False}
                await self._is_closed.wait()
                return {"type": "http.disconnect"}

            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self.set_status(message["status"], reason=None if message["status"] < 499 else "Error")
                    for name, value in message["headers"]:
                        if name.decode().lower() not in _NOT_PASSED:
                            self.set_header(name.decode(), value.decode("latin-1"))
                else:
                    self.write(message.get("body", b""))
                    await self.flush()

            with contextlib.suppress(StreamClosedError):  # the client went away
                await app(scope, receive, send)
                await self.finish()

    base = server.web_app.settings["base_url"]
    routes = [(url_path_join(base, "hyperslab", "(.*)"), Mounted), (url_path_join(base, "h5web", f"({_H5WEB})/?"), Mounted)]
    server.web_app.add_handlers(".*$", routes)
    server.log.info("hyperslab shows the files of %s at %s", server.root_dir, url_path_join(base, "hyperslab/"))
