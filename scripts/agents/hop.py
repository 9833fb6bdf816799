"""A recording hop between a client and what it talks to: what the client was answered.

It stands before the gateway, and before the upstream where an agent talks to it directly, so both are measured alike.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from scripts.agents.request_log import RequestLog
from scripts.agents.server import read_body, serving

OVERFLOW = re.compile(
    rb"prompt is too long|maximum context length|context_length_exceeded|exceed context limit"
    rb"|exceeds the (context|maximum number)"
)
"""How an overflow is called in the answers of the upstreams, and in those of the gateway in their name."""
_OWN = ("connection", "transfer-encoding", "keep-alive", "content-length", "host", "accept-encoding")
_TIMEOUT = 600


class _Hop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: str
    log: RequestLog

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._forward()

    def do_HEAD(self) -> None:
        self._forward()

    def do_POST(self) -> None:
        self._forward()

    def _forward(self) -> None:
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


@contextmanager
def recording(target: str, log: RequestLog) -> Iterator[str]:
    """Stand before a server, and yield the address for the client."""
    with serving(type("Hop", (_Hop,), {"target": target, "log": log})) as address:
        yield address
