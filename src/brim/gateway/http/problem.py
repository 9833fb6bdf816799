"""Errors as HTTP answers, in the format that a client of the route expects."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

CHAT, RESPONSES, MESSAGES, GEMINI, BEDROCK = "chat", "responses", "messages", "gemini", "bedrock"
"""Routes whose requests are fitted."""
OTHER = "other"
"""The route of any other path; its errors have the format of OpenAI."""

PATH = "path_not_allowed"
"""The code of a refused path."""

_CLIENT = ("invalid_request_error", "INVALID_ARGUMENT", "ValidationException")
_SERVER = ("api_error", "INTERNAL", "InternalServerException")
_KINDS = {
    401: ("key", "authentication_error", "UNAUTHENTICATED", "AccessDeniedException"),
    403: ("origin", "permission_error", "PERMISSION_DENIED", "AccessDeniedException"),
    405: ("method", *_CLIENT),
    408: ("slow", *_CLIENT),
    413: ("size", "request_too_large", *_CLIENT[1:]),
    415: ("encoding", *_CLIENT),
    421: ("host", *_CLIENT),
    426: ("upgrade", *_CLIENT),
    502: ("upstream", "api_error", "UNAVAILABLE", "ServiceUnavailableException"),
    503: ("fault", "overloaded_error", "UNAVAILABLE", "ServiceUnavailableException"),
    504: ("timeout", "api_error", "DEADLINE_EXCEEDED", "ModelTimeoutException"),
}
"""By status: the reason in metrics, and the type of error for Anthropic and OpenAI, for Google and for Amazon."""


@dataclass(eq=False)
class HttpProblem(Exception):
    """A request that ends with an error."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """For a request that is too long: the tokens that it needs, and its budget."""

    @property
    def reason(self) -> str:
        """Why the request failed, as a word for metrics."""
        if self.code == PATH:
            return "path"
        return "too_long" if self.numbers else self._kinds[0]

    @property
    def _kinds(self) -> tuple[str, str, str, str]:
        return _KINDS.get(self.status) or (("invalid", *_CLIENT) if self.status < 500 else ("fault", *_SERVER))

    def __str__(self) -> str:
        return self.message

    def body(self, route: str, request_id: str) -> bytes:
        """Return the body of the answer, in the format of a route."""
        return json.dumps(self._values(route, request_id)).encode()

    def _values(self, route: str, request_id: str) -> dict[str, Any]:
        _, kind, status, _ = self._kinds
        if route == MESSAGES:
            return {"type": "error", "error": {"type": kind, "message": self.message}, "request_id": request_id}
        if route == GEMINI:
            return {"error": {"code": self.status, "message": self.message, "status": status}}
        if route == BEDROCK:
            return {"message": self.message}
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def headers_of(self, route: str) -> dict[str, str]:
        """Return the headers of the answer; Amazon's clients read the error type from one."""
        if route != BEDROCK:
            return self.headers
        return {**self.headers, "x-amzn-errortype": self._kinds[3]}


def overflow(route: str, needed: int, most: int, answer: int | None, why: str) -> HttpProblem:
    """Return the rejection of a request that is too long: the words of the provider, by which clients know it, and why.

    Args:
        route: the route.
        needed: tokens of the prompt.
        most: the maximum tokens of the prompt; with `answer`, of the prompt and the answer together.
        answer: the requested tokens of the answer, if the prompt alone would fit.
        why: the gateway's own sentences, after those of the provider.
    """
    numbers = {"needed_tokens": needed, "budget_tokens": most, **({} if answer is None else {"answer_tokens": answer})}
    param = {CHAT: "messages", RESPONSES: "input"}.get(route)
    return HttpProblem(
        400,
        f"{_too_long(route, needed, most, answer)} {why}",
        None if param is None else "context_length_exceeded",
        param,
        {"x-should-retry": "false"},
        numbers,
    )


def _too_long(route: str, needed: int, most: int, answer: int | None) -> str:
    """Return how the provider of a route says that a request is too long."""
    if route == GEMINI:
        return f"The input token count ({needed}) exceeds the maximum number of tokens allowed ({most})."
    if route == RESPONSES:
        return "Your input exceeds the context window of this model. Please adjust your input and try again."
    if route in (MESSAGES, BEDROCK):
        start = "The model returned the following errors: " if route == BEDROCK else ""
        if answer is None:
            return f"{start}prompt is too long: {needed} tokens > {most} maximum."
        advice = "decrease input length or `max_tokens` and try again."
        return f"{start}input length and `max_tokens` exceed context limit: {needed} + {answer} > {most}, {advice}"
    text = f"This model's maximum context length is {most} tokens. However, "
    if answer is None:
        return f"{text}your messages resulted in {needed} tokens. Please reduce the length of the messages."
    parts = f"{needed} in the messages, {answer} in the completion"
    return (
        f"{text}you requested {needed + answer} tokens ({parts}). "
        "Please reduce the length of the messages or completion."
    )


def ending(status: int, *, refused: bool = False) -> str:
    """Return how a request ended: `ok`, refused by the gateway, or refused by upstream."""
    if refused:
        return f"refused_{status}"
    return "ok" if status < 400 else f"upstream_{status // 100}xx"
