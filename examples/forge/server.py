"""A model on the loopback that counts what it is sent, and refuses what is over its window.

It counts by itself and not with brim: a count that is wrong on both sides would pass unseen.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from brim.errors import ModelError
from brim.llm import Reply
from brim.testing import Scripted

WINDOW = 16_384
_PIECES = re.compile(r" ?[A-Za-z]{1,9}|\d{1,3}|\s+|[^\sA-Za-z\d]{1,3}")
_FRAME = 6
"""Tokens around each message."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{does} " + "Returns the exit status and the output of the command. " * 6,
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "string", "description": "What to run. " * 12}},
                "required": ["command"],
            },
        },
    }
    for name, does in (("apply_fix", "Apply a fix."), ("run_check", "Check a rule."), ("read_file", "Read a file."))
]


def tokens(messages: list[dict[str, Any]], tools: Any = None) -> int:
    """Return the tokens of a request as this server counts them: words, numbers and signs in short pieces."""
    texts = [json.dumps(tool) for tool in tools or ()]
    for message in messages:
        texts += [message.get("content") or "", *(json.dumps(call) for call in message.get("tool_calls") or ())]
    return sum(len(_PIECES.findall(text)) for text in texts) + _FRAME * len(messages)


class Server:
    """Answers as a script says, in a thread of its own; `refused` counts the requests that were too long."""

    def __init__(self, script: Scripted) -> None:
        outer, self.largest, self.answered, self.refused = self, 0, 0, 0

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer.answer(body, script)
                sent = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1/chat/completions"

    def __enter__(self) -> Server:
        Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, body: dict[str, Any], script: Scripted) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to a request."""
        size = tokens(body["messages"], body.get("tools"))
        self.largest = max(self.largest, size)
        if size > WINDOW:
            self.refused += 1
            return 400, {"error": {"message": f"maximum context length is {WINDOW} tokens, and this has {size}"}}
        self.answered += 1
        said = [{"content": message.get("content") or ""} for message in body["messages"]]
        return 200, {"text": script.complete(said).text}


class Client:
    """Asks the server, and logs the status of each answer."""

    def __init__(self, url: str, log: list[dict[str, Any]]) -> None:
        self._url, self._log = url, log

    def complete(self, messages: Any, system: str | None = None, tools: Any = None) -> Reply:
        """Return what the server answers.

        Raises:
            ModelError: it refuses.
        """
        spoken = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        body = {"messages": [*([{"role": "system", "content": system}] if system else []), *spoken]}
        sent = json.dumps({**body, "tools": tools} if tools else body).encode()
        try:
            with urlopen(Request(self._url, sent, {"Content-Type": "application/json"}), timeout=30) as answer:
                self._log.append({"event": "model_called", "http_status": answer.status})
                return Reply(text=json.loads(answer.read())["text"])
        except HTTPError as error:
            with error:
                self._log.append({"event": "model_called", "http_status": error.code})
                raise ModelError("the request was refused", status=error.code, excerpt=error.read().decode()) from None
