"""Refusals in the shape that a client of the route expects: the only place where errors become HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

CHAT, RESPONSES, MESSAGES = "chat", "responses", "messages"
ROUTES = (CHAT, RESPONSES, MESSAGES)
"""Routes whose requests are fitted."""

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    421: "invalid_request_error",
    503: "overloaded_error",
}
"""Anthropic's words for what went wrong; OpenAI's clients read the same field."""


@dataclass(eq=False)
class Problem(Exception):
    """A request that ends here."""

    status: int
    told: str
    code: str | None = None
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.told

    def body(self, route: str, request: str) -> bytes:
        """Return the body as a client of this route expects it; `request` is the id of the request."""
        return json.dumps(self.values(route, request)).encode()

    def values(self, route: str, request: str) -> dict[str, Any]:
        """Return the same as JSON values."""
        kind = _TYPES.get(self.status, "api_error")
        if route == MESSAGES:
            return {"type": "error", "error": {"type": kind, "message": self.told}, "request_id": request}
        kind = "invalid_request_error" if self.status in (404, 413) else kind
        return {"error": {"message": self.told, "type": kind, "param": self.param, "code": self.code}}

    def event(self, route: str, request: str) -> bytes:
        """Return it as the event that ends a stream."""
        values = self.values(route, request)
        if route == RESPONSES:
            values = {"type": "error", "code": self.code or "server_error", "message": self.told, "param": self.param}
        named = b"" if route == CHAT else b"event: error\n"
        return named + b"data: " + json.dumps(values).encode() + b"\n\n"


def overflow(route: str, needed: int, window: int) -> Problem:
    """Return the refusal of a request that is too long, in the words of the provider whose route it is."""
    never = {"x-should-retry": "false"}
    if route == MESSAGES:
        return Problem(400, f"prompt is too long: {needed} tokens > {window} maximum", headers=never)
    if route == RESPONSES:
        told = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return Problem(400, told, "context_length_exceeded", "input", never)
    told = (
        f"This model's maximum context length is {window} tokens. However, your messages resulted in {needed} tokens. "
        "Please reduce the length of the messages."
    )
    return Problem(400, told, "context_length_exceeded", "messages", never)
