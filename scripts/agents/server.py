"""HTTP servers on loopback: an upstream, and a hop before it that records what a client was answered.

The hop stands before the gateway, and before the upstream where an agent talks to it directly, so both are measured
alike. The log of a run has a row for each request, and its body beside it.
"""

from __future__ import annotations

import gzip
import http.client
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

Row = dict[str, Any]
OVERFLOW = re.compile(
    rb"prompt is too long|maximum context length|context_length_exceeded|exceed context limit"
    rb"|exceeds the (context|maximum number)"
)
"""How an overflow is called in the answers of the upstreams, and in those of the gateway in their name."""
_OWN = ("connection", "transfer-encoding", "keep-alive", "content-length", "host", "accept-encoding")
_TIMEOUT = 600


class RequestLog:
    """Writes rows to `NAME.jsonl` of a folder as they come, and bodies to `NAME/0001.json` and so on."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file, self._bodies = folder / f"{name}.jsonl", folder / name
        self._bodies.mkdir(parents=True, exist_ok=True)
        self._file.write_text("")
        self._lock = threading.Lock()
        self.rows: list[Row] = []

    def write(self, row: Row, body: Any = None) -> Row:
        """Add a row; it is numbered, and returned."""
        with self._lock:
            row = {"n": len(self.rows) + 1, "time": round(time.time(), 3), **row}
            self.rows.append(row)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            if body is not None:
                self._path(row).write_text(json.dumps(body, ensure_ascii=False), encoding="utf-8")
        return row

    def body(self, row: Row) -> Any:
        """Return the body of a row; `None` if it has none."""
        path = self._path(row)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def _path(self, row: Row) -> Path:
        return self._bodies / f"{row['n']:04d}.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiReply:
    """An answer of an upstream: JSON, or the events of a stream."""

    status: int = 200
    value: Any = None
    events: Iterable[str] | None = None


class Api(Protocol):
    """What a server asks for its answers."""

    def post(self, path: str, request: dict[str, Any]) -> ApiReply:
        """Answer a request with a body."""

    def get(self, path: str, headers: Mapping[str, str]) -> ApiReply:
        """Answer a request without a body."""


def read_body(handler: BaseHTTPRequestHandler) -> bytes:
    """Return the body of a request, also of one that is sent in chunks."""
    if handler.headers.get("transfer-encoding") != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length") or 0))
    chunks = []
    while size := int(handler.rfile.readline().partition(b";")[0], 16):
        chunks.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(chunks)


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class _Handler(_Quiet):
    api: Api

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._send(self.api.get(self.path, {name.lower(): value for name, value in self.headers.items()}))

    def do_POST(self) -> None:
        raw = read_body(self)
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        try:
            request = json.loads(raw)
        except ValueError as error:
            self._send(ApiReply(status=400, value={"error": {"message": f"The body is not JSON: {error}"}}))
            return
        self._send(self.api.post(self.path, request))

    def _send(self, reply: ApiReply) -> None:
        self.send_response(reply.status)
        if reply.events is None:
            data = json.dumps(reply.value).encode()
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in reply.events:
            data = event.encode()
            self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class _Hop(_Quiet):
    target: str
    log: RequestLog

    def do_GET(self) -> None:
        body = read_body(self)
        host = urlsplit(self.target)
        connection = http.client.HTTPConnection(host.hostname or "", host.port, timeout=_TIMEOUT)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN or name == "Upgrade"}
        try:
            connection.request(self.command, self.path, body or None, {**headers, "content-length": str(len(body))})
            answer = connection.getresponse()
            row = {"method": self.command, "path": self.path, "status": answer.status}
            sent = json.loads(body) if body[:1] == b"{" else None
            self.log.write({**row, "overflow": self._relay(answer)}, sent)
            if self.command != "HEAD":  # The row is there before the client knows that the answer is complete.
                self.wfile.write(b"0\r\n\r\n")
                self.wfile.flush()
        finally:
            connection.close()

    do_HEAD = do_POST = do_GET  # noqa: N815 - the names of the base

    def _relay(self, answer: http.client.HTTPResponse) -> bool:
        """Pass the answer on as it comes, up to its end, and return whether it states an overflow."""
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in (*_OWN, "server", "date"):
                self.send_header(name, value)
        if self.command == "HEAD":
            self.send_header("content-length", "0")
            self.end_headers()
            return False
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        seen = b""
        overflow = False
        while data := answer.read1(65_536):
            self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
            self.wfile.flush()
            seen = seen[-100:] + data
            overflow = overflow or OVERFLOW.search(seen) is not None
        return overflow


_POLL = 0.02
"""Seconds within which a server notices that it is to end."""


class LoopbackServer(ThreadingHTTPServer):
    """A threaded server that does not wait for its clients when it is closed."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a client leaves in the middle of an answer."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve requests on a free port, and yield the address."""
    with LoopbackServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextmanager
def serving_api(api: Api) -> Iterator[str]:
    """Serve an upstream, and yield its address."""
    with serving(type("Handler", (_Handler,), {"api": api})) as address:
        yield address


@contextmanager
def recording(target: str, log: RequestLog) -> Iterator[str]:
    """Stand before a server, and yield the address for the client."""
    with serving(type("Hop", (_Hop,), {"target": target, "log": log})) as address:
        yield address
