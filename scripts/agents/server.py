"""A small HTTP server on loopback for an upstream: JSON and event streams, keep-alive, a thread for each connection."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: Api

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

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
