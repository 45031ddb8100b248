"""Application: the routes of h5grove's interface, and the pages, below a token that only the user's browser knows."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

import numpy as np
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import h5py
from ..base.errors import NotFoundError
from ..base.type_aliases import Elements
from ..files.file import File
from .analyses import Analyses
from .answering import json, quick
from .budget import Budget
from .encoding import FORMATS, encode, safe, statistics
from .entities import RESOLUTIONS, describe, find, paths
from .meaning import Meaning, meaning_of, variable_of
from .pages import UNBUILT, pages
from .paging import split
from .requests import Refused, choice, count, number, parse_selection, truth
from .shown import Shown

Kind = TypeVar("Kind", bound=h5py.HLObject)
#: About how many bytes JSON and CSV need for a number.
_JSON_BYTES_OF_ELEMENT = 32
#: Bytes of an answer that are given to the socket at a time.
_PIECE_BYTES = 1 << 20
#: Seconds that an analysis may take.
SECONDS = 30.0
#: What H5Web needs: its scripts and styles come from here (one of its libraries compiles loops from text), and it draws with data URLs
#: and blobs. Nothing is asked of another server.
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def application(
    shown: Shown, token: str, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost"), budget: Budget | None = None, seconds: float = SECONDS
) -> Starlette:
    """The application of ASGI that shows files.

    Args:
        shown: The files.
        token: The first part of all addresses; others get nothing.
        hosts: Names of this server that a browser may use; another one in the request's header is refused.
        budget: Memory of answers, 256 MiB each and 1 GiB together by default.
        seconds: Time of an overview, a histogram, a query or a picture.

    Returns:
        The application, for uvicorn or another server of ASGI.
    """
    spent = budget or Budget(256 << 20, 1 << 30)
    answers, analyses = _Answers(shown, spent), Analyses(shown, spent, seconds)
    routes: list[Route | Mount] = [
        Route(f"/{name}{end}", quick(shown, answer), methods=["GET"])
        for end in ("", "/")
        for name, answer in {
            "attr": answers.attributes,
            "data": answers.data,
            "meta": answers.metadata,
            "paths": answers.paths,
            "stats": answers.statistics,
            "files": answers.files,
        }.items()
    ]
    for end in ("", "/"):
        routes += analyses.routes(end)
    try:
        routes.append(Mount("/", StaticFiles(directory=pages(), html=True)))
    except NotFoundError:
        routes.append(Route("/", _unbuilt))  # other clients, such as jupyterlab-h5web, have pages of their own

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        yield
        analyses.close()

    app = Starlette(
        routes=[Mount("/{token}", routes=routes)],
        lifespan=running,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)), Middleware(_Guard, token=token)],
    )
    app.state.close = analyses.close  # for servers that do not tell an application when they end
    app.add_exception_handler(Exception, _unexpected)
    return app


class _Guard:
    """Lets requests with the token through, and gives every answer its headers."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        given = scope["path"].split("/", 2)[1].encode()
        if not hmac.compare_digest(given, self._token):
            return await PlainTextResponse("open the whole address that the command printed", 403)(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
            await send(message)

        await self._app(scope, receive, send_with_headers)


async def _unexpected(_: Request, error: Exception) -> Response:
    return json({"message": f"the server failed: {type(error).__name__}: {error}"}, 500)


async def _unbuilt(_: Request) -> Response:
    return PlainTextResponse(UNBUILT, 501)


class _Answers:
    """The answers of the interface."""

    def __init__(self, shown: Shown, budget: Budget) -> None:
        self._shown, self._budget = shown, budget

    def _file(self, request: Request) -> h5py.File:
        name = request.query_params.get("file")
        if name is None:
            raise Refused(422, "say which file: file=NAME")
        return self._shown.open(name)

    def _decoded(self, request: Request) -> File | None:
        """The file with the conventions of netCDF if decoded values are asked for. h5grove, and its other clients, know stored ones."""
        values = choice(request.query_params.get("values"), "values", ("stored", "decoded"))
        return self._shown.file(request.query_params["file"]) if values == "decoded" else None

    def _entity(self, request: Request, kind: type[Kind], what: str) -> Kind:
        path, _ = split(request.query_params.get("path", "/"))
        found = find(self._file(request), path, "only_valid")
        if not isinstance(found, kind):
            raise Refused(422, f"'{path}' is no {what}")
        return found

    def _check_drawable(self, request: Request, values: int) -> None:
        """Refuses more values than the client says that it can draw."""
        limit = number(request.query_params.get("max_values"), "max_values", values, 1, 1 << 50)
        if values > limit:
            raise Refused(413, f"these are {values:,} values, and the page draws at most {limit:,} at once: the tab Overview shows all of them, thinned out")

    def files(self, _: Request) -> Response:
        return json(self._shown.names())

    def metadata(self, request: Request) -> Response:
        page = request.query_params.get("page_members")
        if page is not None and not (page.isdecimal() and 0 < int(page) < 1 << 31):
            raise Refused(422, f"page_members is '{page}': give a positive number")
        file, path = self._file(request), request.query_params.get("path", "/")
        found = describe(file, path, _resolution(request), int(page) if page else None, self._decoded(request))
        return json(found)

    def paths(self, request: Request) -> Response:
        return json(list(paths(self._file(request), request.query_params.get("path", "/"), _resolution(request))))

    def attributes(self, request: Request) -> Response:
        entity = self._entity(request, h5py.HLObject, "object with attributes")
        decoded = self._decoded(request)
        meaning = meaning_of(entity, variable_of(decoded, entity)) if decoded is not None and isinstance(entity, h5py.Dataset) else None
        applied = [] if meaning is None else meaning.applied
        keys = request.query_params.getlist("attr_keys") or [key for key in entity.attrs if key not in applied]
        missing = [key for key in keys if key not in entity.attrs]
        if missing:
            raise Refused(404, f"there is no attribute '{missing[0]}'")
        return json({key: entity.attrs[key] for key in keys})

    def data(self, request: Request) -> Response:
        query = request.query_params
        form = choice(query.get("format"), "format", tuple(FORMATS))
        conversion = choice(query.get("dtype"), "dtype", ("origin", "safe"))
        media_type, saved_as = FORMATS[form]
        dataset = self._entity(request, h5py.Dataset, "dataset")
        with ExitStack() as spent:
            values = self._selected(request, dataset, form, spent)
            values = safe(values) if conversion == "safe" else values
            if truth(query.get("flatten")) and isinstance(values, np.ndarray):
                values = values.ravel()
            content = encode(values, form)
            headers = {"Content-Disposition": f'attachment; filename="{saved_as}"'} if saved_as else {}
            return _Paid(content, media_type, headers, spent.pop_all())

    def statistics(self, request: Request) -> Response:
        dataset = self._entity(request, h5py.Dataset, "dataset")
        with ExitStack() as spent:
            return json(statistics(self._selected(request, dataset, "bin", spent)))

    def _selected(self, request: Request, dataset: h5py.Dataset, form: str, spent: ExitStack) -> Elements:
        """Values of a selection. Waits until the budget has room for them and for their encoded form."""
        decoded = self._decoded(request)
        meaning = None if decoded is None else Meaning(dataset, variable_of(decoded, dataset))
        shape = dataset.shape if meaning is None else meaning.shape
        if shape is None:
            return dataset[()]
        selection = request.query_params.get("selection")
        key = parse_selection(selection, len(shape)) if selection else ()
        self._check_drawable(request, count(key, shape))
        itemsize = max(dataset.dtype.itemsize, 0 if meaning is None else meaning.dtype.itemsize)
        more = _JSON_BYTES_OF_ELEMENT if form in ("json", "csv") else itemsize
        spent.enter_context(self._budget.spend(count(key, shape) * (itemsize + more)))
        return dataset[key] if meaning is None else meaning.read(key)


class _Paid(Response):
    """An answer that returns its bytes to the budget when it was sent, or when the client has gone."""

    def __init__(self, content: bytes, media_type: str, headers: dict[str, str], spent: ExitStack) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._spent = spent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # In pieces: each write makes the event loop copy all that is not sent yet.
        pieces = range(0, len(self.body), _PIECE_BYTES) or range(1)
        with self._spent:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for start in pieces:
                # So that the server learns of a client that has gone: each piece after that would be a line on the terminal.
                await asyncio.sleep(0)
                await send({"type": "http.response.body", "body": self.body[start : start + _PIECE_BYTES], "more_body": start != pieces[-1]})


def _resolution(request: Request) -> str:
    given = request.query_params.get("resolve_links")
    by_truth = {"true": "all", "false": "none"}
    return choice(None if given is None else by_truth.get(given.lower(), given.lower()), "resolve_links", RESOLUTIONS)
