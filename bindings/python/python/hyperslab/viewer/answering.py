"""Answering: endpoints that work in threads, and errors as a status and a message in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from ..base.errors import Error
from .encoding import json_bytes
from .requests import Refused
from .shown import Shown, status_of
from .watching import Gone, Watch

Answer = Callable[[Request], Response]
Analysis = Callable[[Request, bytes, Watch], Response]
#: How often is looked whether the client of an analysis still waits.
_SECONDS_BETWEEN_LOOKS = 0.1
#: The status that some servers log for a client that disconnected; no client receives it.
_GONE = 499


def json(content: object, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(json_bytes(content), status, media_type="application/json")


def _answered(shown: Shown, request: Request, make: Callable[[], Response]) -> Response:
    try:
        return make()
    except Refused as refused:
        return json({"message": refused.message}, refused.status)
    except Gone:
        return Response(status_code=_GONE)
    except Error as error:
        if status_of(error) == 409 and "file" in request.query_params:
            shown.forget(request.query_params["file"])
        return json({"message": str(error)}, status_of(error))


def quick(shown: Shown, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that reads in a thread; what cannot be answered has a status and a message in JSON."""

    async def endpoint(request: Request) -> Response:
        return await anyio.to_thread.run_sync(_answered, shown, request, partial(answer, request))

    return endpoint


def watched(shown: Shown, answer: Analysis, seconds: float, limiter: anyio.CapacityLimiter) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that may take long: it is stopped if its client goes away or its time is over, and only some run at once.

    Args:
        shown: The files.
        answer: Makes the answer from the request, its body, and the watch that ends it.
        seconds: Time that an answer may take, from the moment at which it is its turn.
        limiter: Bounds how many run at once; others wait.
    """

    async def endpoint(request: Request) -> Response:
        body = await request.body()
        left = asyncio.Event()
        watches: list[Watch] = []

        def run() -> Response:
            watch = Watch(seconds)
            watches.append(watch)
            if left.is_set():
                watch.leave()
            return _answered(shown, request, partial(answer, request, body, watch))

        async def look() -> None:
            while not await request.is_disconnected():
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            left.set()
            for watch in watches:
                watch.leave()

        looking = asyncio.ensure_future(look())
        try:
            return await anyio.to_thread.run_sync(run, limiter=limiter)
        finally:
            looking.cancel()

    return endpoint
