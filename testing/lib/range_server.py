"""A server of ranges on loopback, plain HTTP and the parts of S3 and of Google's XML interface that reading and writing need, with latency and
faults that tests choose."""

from __future__ import annotations

import email.utils
import hashlib
import html
import pathlib
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

#: 2020-01-01, of objects whose time no test sets.
MODIFIED = 1_577_836_800


class Asked(NamedTuple):
    """A request as the server saw it."""

    number: int
    method: str
    path: str
    query: str
    range: tuple[int, int] | None
    headers: dict[str, str]


class Server:
    """Objects by path, what was asked, and faults: a function of a request that names one, or `None`.

    Faults: a number is that status; `reset` closes the connection without an answer; `cut` breaks the body off; `short`, `long` and
    `shifted` answer with a wrong number of bytes or another range; `whole` answers 200 with everything; `expired` is S3's error;
    `stall` answers after `stall_seconds`; `lost` does what was asked, and then closes the connection without an answer.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes | pathlib.Path] = {}
        self.modified: dict[str, int] = {}
        #: Parts of uploads that are not complete, by the upload's number, and buckets that writers do not find.
        self.uploads: dict[str, dict[int, bytes]] = {}
        self._upload_count = 0
        self.missing_buckets: set[str] = set()
        self.asked: list[Asked] = []
        self.fault: Callable[[Asked], str | int | None] = lambda asked: None
        self.latency_seconds = 0.0
        self.bytes_per_second = 0.0
        self.stall_seconds = 30.0
        self.etags = "strong"
        #: Whether objects have generations, by which puts and copies may be conditional, as Google's XML interface says:
        #: https://cloud.google.com/storage/docs/xml-api/reference-headers
        self.has_generations = False
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        #: Held while an object changes, so that only one of two conditional puts succeeds.
        self.changing = threading.Lock()
        self._etags: dict[tuple[str, int], str] = {}
        handler = type("Handler", (_Handler,), {"server_": self})
        self._http = _Quiet(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def put(self, path: str, content: bytes | pathlib.Path) -> str:
        """Adds an object, and gives its address."""
        self.objects[path] = content
        return f"{self.url}/{urllib.parse.quote(path)}"

    def s3_options(self, **more: object) -> dict[str, object]:
        """The storage options by which a bucket of this server is an S3 bucket: the first part of each path."""
        return {"endpoint": self.url, "allow_http": True, "skip_signature": True, "max_retries": 2, **more}

    def google_options(self, **more: object) -> dict[str, object]:
        """The storage options by which a bucket of this server is one of Google: the first part of each path."""
        self.has_generations = True
        return {"google_base_url": self.url, "allow_http": True, "max_retries": 2, **more}

    def length(self, path: str) -> int:
        content = self.objects[path]
        return len(content) if isinstance(content, bytes) else content.stat().st_size

    def modified_text(self, path: str) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.modified.get(path, MODIFIED)))

    def part(self, path: str, start: int, end: int) -> bytes:
        content = self.objects[path]
        if isinstance(content, bytes):
            return content[start:end]
        with content.open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def etag(self, path: str) -> str | None:
        if self.etags == "none":
            return None
        content = self.objects[path]
        text = hashlib.md5(content if isinstance(content, bytes) else f"{content} {content.stat().st_mtime_ns}".encode()).hexdigest()
        return f'W/"{text}"' if self.etags == "weak" else f'"{text}"'

    def generation(self, path: str) -> str:
        """A number of the version of an object, "0" if there is none."""
        if path not in self.objects:
            return "0"
        return str(int(hashlib.md5(self.part(path, 0, self.length(path))).hexdigest()[:15], 16) + 1)

    def note(self, handler: BaseHTTPRequestHandler) -> Asked:
        parts = urllib.parse.urlsplit(handler.path)
        byte_range = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", ""))
        with self._lock:
            asked = Asked(
                len(self.asked),
                handler.command,
                urllib.parse.unquote(parts.path).lstrip("/"),
                parts.query,
                (int(byte_range[1]), int(byte_range[2]) + 1) if byte_range else None,
                {name.lower(): value for name, value in handler.headers.items()},
            )
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        return asked

    def new_upload(self) -> str:
        """The identifier of a new upload in parts."""
        self._upload_count += 1
        self.uploads[str(self._upload_count)] = {}
        return str(self._upload_count)

    def done(self) -> None:
        with self._lock:
            self._at_once -= 1

    def forget(self) -> None:
        """Begins to count anew."""
        with self._lock:
            self.asked, self.most_at_once = [], 0

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_: Server
    _is_lost = False
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at `asked`."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        server = self.server_
        asked = server.note(self)
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if server.latency_seconds:
                time.sleep(server.latency_seconds)
            fault = server.fault(asked)
            if fault == "reset":
                self.close_connection = True
                self.connection.close()
            elif isinstance(fault, int):
                self._status(fault, f"<Error><Code>Fault{fault}</Code><Message>made by the test</Message><StringToSign>secret</StringToSign></Error>")
            elif fault == "expired":
                self._status(400, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
            else:
                if fault == "stall":
                    time.sleep(server.stall_seconds)
                if self.command in ("GET", "HEAD"):
                    self._object(asked, fault)
                else:
                    with server.changing:
                        self._is_lost = fault == "lost"
                        self._change(asked)
        finally:
            server.done()

    def _change(self, asked: Asked) -> None:
        """S3's requests that write: objects, parts of uploads, copies of whole objects as a part, and deletions."""
        server, path, uploads = self.server_, asked.path, self.server_.uploads
        query = urllib.parse.parse_qs(asked.query, keep_blank_values=True)
        upload = query.get("uploadId", [""])[0]
        if path.split("/")[0] in server.missing_buckets:
            return self._status(404, "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>")
        if "delete" in query:
            names = re.findall(r"<Key>(.*?)</Key>", self._body.decode())
            for name in names:
                server.objects.pop(f"{path.rstrip('/')}/{name}", None)
            return self._status(200, "<DeleteResult>" + "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names) + "</DeleteResult>")
        generation, copied = asked.headers.get("x-goog-if-generation-match"), asked.headers.get("x-goog-copy-source")
        if generation is not None and ("uploads" in query or upload):
            return self._status(400, "<Error><Code>NotImplemented</Code><Message>Uploads in parts have no preconditions</Message></Error>")
        if generation is not None and generation != server.generation(path):
            return self._status(412, "<Error><Code>PreconditionFailed</Code><Message>it is of another generation</Message></Error>")
        if copied is not None:
            source = urllib.parse.unquote(copied)
            if source not in server.objects:
                return self._status(404, "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>")
            server.objects[path] = server.objects[source]
            return self._status(200, f"<CopyObjectResult><ETag>{server.etag(path)}</ETag></CopyObjectResult>")
        if "uploads" in query:
            return self._status(200, f"<InitiateMultipartUploadResult><UploadId>{server.new_upload()}</UploadId></InitiateMultipartUploadResult>")
        if self.command == "DELETE":
            uploads.pop(upload, None) if upload else server.objects.pop(path, None)
            return self._status(204)
        if upload and upload not in uploads:
            return self._status(404, "<Error><Code>NoSuchUpload</Code><Message>The specified upload does not exist</Message></Error>")
        if "partNumber" in query:
            source = urllib.parse.unquote(asked.headers.get("x-amz-copy-source", "")).lstrip("/")
            uploads[upload][int(query["partNumber"][0])] = server.part(source, 0, server.length(source)) if source else self._body
            return self._status(200, "<CopyPartResult><ETag>x</ETag></CopyPartResult>" if source else "", {"ETag": '"x"'})
        if asked.headers.get("if-none-match") == "*" and path in server.objects:
            return self._status(412, "<Error><Code>PreconditionFailed</Code><Message>it is there</Message></Error>")
        expected_etag = asked.headers.get("if-match")
        if expected_etag is not None and (path not in server.objects or expected_etag != server.etag(path)):
            return self._status(412, "<Error><Code>PreconditionFailed</Code><Message>it has changed</Message></Error>")
        whole = b"".join(part for _, part in sorted(uploads.pop(upload).items())) if upload else self._body
        server.objects[path] = whole
        done = f"<CompleteMultipartUploadResult><ETag>{server.etag(path)}</ETag></CompleteMultipartUploadResult>" if upload else ""
        return self._status(200, done, {"ETag": server.etag(path) or "", **self._generation(path)})

    def _generation(self, path: str) -> dict[str, str]:
        return {"x-goog-generation": self.server_.generation(path)} if self.server_.has_generations else {}

    def _status(self, status: int, body: str = "", headers: dict[str, str] | None = None) -> None:
        content = body.encode()
        if self._is_lost:
            self.close_connection = True
            return self.connection.close()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _object(self, asked: Asked, fault: str | int | None) -> None:
        server, path = self.server_, asked.path
        query = urllib.parse.parse_qs(asked.query)
        if "list-type" in query:
            return self._list(path, query.get("prefix", [""])[0], "delimiter" in query)
        if path not in server.objects:
            return self._status(404, "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>")
        etag, length, modified = server.etag(path), server.length(path), server.modified.get(path, MODIFIED)
        wanted_etag, since = asked.headers.get("if-match"), asked.headers.get("if-unmodified-since")
        if wanted_etag is not None and (wanted_etag != etag or etag.startswith("W/")):
            return self._status(412)
        if since is not None and email.utils.parsedate_to_datetime(since).timestamp() < modified:
            return self._status(412)
        start, end, status = 0, length, 200
        if asked.range is not None and fault != "whole":
            start, end, status = asked.range[0], min(asked.range[1], length), 206
            if start >= length:
                return self._status(416)
        said = (start, end)
        if fault == "shifted":
            said = (start, end) = (start + 1, end)
        body = server.part(path, start, end)
        if fault == "short":
            body = body[:-1]
        elif fault == "long":
            body += b"x"
        self.send_response(status)
        if etag is not None:
            self.send_header("ETag", etag)
        self.send_header("Last-Modified", email.utils.formatdate(modified, usegmt=True))
        self.send_header("Content-Length", str(len(body)))
        for name, value in self._generation(path).items():
            self.send_header(name, value)
        if status == 206:
            self.send_header("Content-Range", f"bytes {said[0]}-{said[1] - 1}/{length}")
        self.end_headers()
        if self.command == "HEAD":
            return None
        if fault == "cut":
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return None
        if server.bytes_per_second:
            time.sleep(len(body) / server.bytes_per_second)
        self.wfile.write(body)
        return None

    def _list(self, bucket: str, prefix: str, is_flat: bool) -> None:
        server, bucket = self.server_, bucket.rstrip("/")
        names = sorted(path[len(bucket) + 1 :] for path in list(server.objects) if path.startswith(f"{bucket}/{prefix}"))
        folders = {name[: name.index("/", len(prefix)) + 1] for name in names if is_flat and "/" in name[len(prefix) :]}
        entries = "".join(
            f"<Contents><Key>{name}</Key><LastModified>{server.modified_text(f'{bucket}/{name}')}</LastModified>"
            f"<ETag>{html.escape(server.etag(f'{bucket}/{name}') or '')}</ETag>"
            f"<Size>{server.length(f'{bucket}/{name}')}</Size></Contents>"
            for name in names
            if not is_flat or "/" not in name[len(prefix) :]
        ) + "".join(f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>" for folder in sorted(folders))
        self._status(
            200, f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{len(names)}</KeyCount><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        )
