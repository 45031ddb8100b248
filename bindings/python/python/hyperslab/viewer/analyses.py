"""Analyses: what h5grove's interface lacks. Overviews, histograms, conditions, SQL, and the pictures of data models."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import anyio
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .. import h5py
from ..files.file import File
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.group import Member as ObjectOfFile
from . import conditions, downsampling, histograms, pictures
from .answering import json, watched
from .budget import Budget
from .dimensions import dimensions
from .downsampling import block_bytes
from .fields import Field
from .legend import legend
from .paging import split
from .requests import Member, Refused, number, parse_selection, truth
from .shown import Shown
from .sql_box import SqlBox
from .start import start
from .watching import Watch

#: Analyses that run at once; others wait.
_TOGETHER = 4
#: Characters of a query.
_MAX_SQL_BYTES = 1 << 20
_BYTES_OF_CELL = 150
#: Tables of data models that are named.
_MAX_TABLES = 50


class Analyses:
    """Answers that may take long.

    Args:
        shown: The files.
        budget: Memory of answers.
        seconds: Time that an answer may take.
    """

    def __init__(self, shown: Shown, budget: Budget, seconds: float) -> None:
        self._shown, self._budget, self._seconds = shown, budget, seconds
        self._limiter = anyio.CapacityLimiter(_TOGETHER)
        self._lock = threading.Lock()
        self._box: SqlBox | None = None

    def routes(self, end: str) -> list[Route]:
        """The routes, with names that end in `end`."""
        found: dict[str, tuple[Callable[[Request, bytes, Watch], Response], str]] = {
            "start": (self.start, "GET"),
            "legend": (self.legend, "GET"),
            "tables": (self.tables, "GET"),
            "dimensions": (self.dimensions, "GET"),
            "overview": (self.overview, "GET"),
            "histogram": (self.histogram, "GET"),
            "query": (self.query, "GET"),
            "sql": (self.sql, "POST"),
            "pictures": (self.pictures, "GET"),
            "picture": (self.picture, "GET"),
        }
        return [
            Route(f"/{name}{end}", watched(self._shown, answer, self._seconds, self._limiter), methods=[method]) for name, (answer, method) in found.items()
        ]

    def close(self) -> None:
        """Ends what still runs when the server ends."""
        if self._box is not None:
            self._box.close()

    def _files(self, request: Request) -> tuple[h5py.File, File]:
        """The file of a request with h5py's interface, and with the conventions of netCDF."""
        name = request.query_params.get("file")
        if name is None:
            raise Refused(422, "say which file: file=NAME")
        return self._shown.open(name), self._shown.file(name)

    def _named(self, request: Request) -> tuple[File, ObjectOfFile]:
        """The file and the object of a request."""
        name = request.query_params.get("file")
        if name is None:
            raise Refused(422, "say which file: file=NAME")
        file = self._shown.file(name)
        path, _ = split(request.query_params.get("path", "/"))
        return file, file[path]

    def _dataset(self, request: Request) -> tuple[File, Dataset, tuple[Member, ...] | None]:
        file, found = self._named(request)
        if not isinstance(found, Dataset):
            raise Refused(422, f"'{found.name}' is not a dataset: choose one")
        field = request.query_params.get("field")
        if field is None and found.dtype.names:
            raise Refused(422, f"'{found.name}' has fields: say which, field={' or '.join(found.dtype.names[:5])}")
        dataset: Any = found if field is None else Field(found, field)
        selection = request.query_params.get("selection")
        return file, dataset, parse_selection(selection, found.ndim) if selection else None

    def start(self, request: Request, _: bytes, watch: Watch) -> Response:
        return json({"path": start(*self._files(request))})

    def legend(self, request: Request, _: bytes, watch: Watch) -> Response:
        path, _page = split(request.query_params.get("path", "/"))
        return json(legend(*self._files(request), path))

    def tables(self, request: Request, _: bytes, watch: Watch) -> Response:
        names = [name for model in self._files(request)[1].models if model.certainty != "possible" for name in model.tables]
        return json(list(dict.fromkeys(names))[:_MAX_TABLES])

    def dimensions(self, request: Request, _: bytes, watch: Watch) -> Response:
        found = self._named(request)[1]
        return json(dimensions(found) if isinstance(found, Dataset) else [])

    def overview(self, request: Request, _: bytes, watch: Watch) -> Response:
        dataset, members = self._dataset(request)[1:]
        chosen = downsampling.drawn_members(dataset, members)
        query = request.query_params
        if sum(isinstance(member, slice) for member in chosen) == 1:
            cells = [number(query.get("points"), "points", 1000, 1, downsampling.MAX_LINE_CELLS)]
        else:
            cells = [number(query.get(name), name, 700, 1, downsampling.MAX_IMAGE_CELLS) for name in ("height", "width")]
        needed = block_bytes(dataset) + math.prod(cells) * _BYTES_OF_CELL
        with self._budget.spend(needed):
            found = downsampling.overview(dataset, chosen, cells, watch)
            return json({**downsampling.described(dataset, chosen, found), "seconds": round(watch.elapsed, 3)})

    def histogram(self, request: Request, _: bytes, watch: Watch) -> Response:
        file, dataset, members = self._dataset(request)
        query = request.query_params
        bins = number(query.get("bins"), "bins", 100, 1, histograms.MAX_BINS)
        pair = _range(query.get("range"))
        with self._budget.spend(block_bytes(dataset)):
            return json(histograms.histogram(file, dataset, members, bins, pair, truth(query.get("exact")), watch))

    def query(self, request: Request, _body: bytes, watch: Watch) -> Response:
        file, found = self._named(request)
        group, rows_of = found.name, None
        if isinstance(found, Dataset):
            if found.dtype.names:  # a table: its fields are the arrays of a condition
                rows_of = found.dtype.names[0]
            else:
                parent, _slash, rows_of = found.name.rpartition("/")
                group = parent or "/"
        elif not isinstance(found, Group):
            raise Refused(422, f"'{found.name}' is neither a group nor a dataset")
        where = (request.query_params.get("where") or "").strip()
        limit = number(request.query_params.get("rows"), "rows", 100, 0, conditions.MAX_ROWS)
        columns = request.query_params.getlist("column")
        # A condition says itself what the rows are, unless it has the dataset's own name as a part only.
        return json(conditions.matching_rows(file, group, None if where else rows_of, where, columns, limit, watch))

    def sql(self, request: Request, body: bytes, watch: Watch) -> Response:
        if len(body) > _MAX_SQL_BYTES:
            raise Refused(413, f"the request has more than {_MAX_SQL_BYTES:,} bytes")
        try:
            asked = orjson.loads(body)
            text, file = str(asked["query"]), str(asked["file"])
            limit = int(asked.get("rows", conditions.MAX_ROWS))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refused(422, 'send JSON: {"file": "run.h5", "query": "select ...", "rows": 100}') from None
        self._shown.file(file)  # an unknown file is an error of its own, not one of SQL
        with self._lock:
            if self._box is None:
                self._box = SqlBox(self._shown, self._seconds)
        return json(self._box.run(text, file, limit, watch))

    def pictures(self, request: Request, _: bytes, watch: Watch) -> Response:
        file, _found = self._named(request)
        return json([choice._asdict() for choice in pictures.choices(file)])

    def picture(self, request: Request, _: bytes, watch: Watch) -> Response:
        file, _found = self._named(request)
        width = number(request.query_params.get("width"), "width", 900, 200, pictures.MAX_PIXELS)
        height = number(request.query_params.get("height"), "height", 600, 200, pictures.MAX_PIXELS)
        asked = request.query_params.get("index") or ""
        index = tuple(number(part.strip(), "index", 0, 0, 1 << 40) for part in asked.split(",")) if asked else ()
        with self._budget.spend(pictures.BYTES):
            content = pictures.drawn(file, request.query_params.get("name"), index, (width, height), watch, truth(request.query_params.get("dark")))
        return Response(content, media_type="image/png")


def _range(text: str | None) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise Refused(422, f"range is '{text}': give two numbers, such as '0,10'") from None
    return low, high
