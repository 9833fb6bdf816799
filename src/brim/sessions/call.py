"""One call of a model as the fields that a client sends, in the form of Chat Completions, Responses or Messages.

A call that needs nothing is sent as it came. What is kept of it are copies, since callers change their own messages:
marks for the provider's cache move from one to the next as a conversation grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from brim.history.request_body import ANSWERS
from brim.sessions.conversations import Conversations
from brim.sessions.request import FittedRequest
from brim.sessions.view import jsonable
from brim.wire import plain
from brim.wire.held import is_held

_LISTS = {"openai": "messages", "responses": "input", "anthropic": "messages"}
_SYSTEMS = {"responses": "instructions", "anthropic": "system"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientCall:
    """What a client is about to send."""

    format: str
    values: Mapping[str, Any]
    """The fields as the caller gave them, those that can be read but once as lists."""
    messages: list[Any]
    """The messages as the caller gave them."""

    @classmethod
    def of(cls, values: Any, format: str) -> ClientCall | None:
        """Return the call that these fields are; nothing where its messages are not to be seen.

        Args:
            values: the fields of the body.
            shape: `openai`, `responses` or `anthropic`.
        """
        if not isinstance(values, Mapping) or is_held(values):
            return None
        given = _given(values, _LISTS[format])
        if isinstance(given, str) and given and format == "responses":
            return cls(format=format, values=values, messages=[{"role": "user", "content": given}])
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            return None
        messages = list(given)
        listed = {_LISTS[format]: messages, **{key: each for key in ("tools",) if (each := _listed(values, key))}}
        return cls(format=format, values={**values, **listed}, messages=messages)

    def fit(self, conversations: Conversations, session: str | None = None) -> FittedRequest:
        """Return the request that fits.

        Args:
            conversations: those of the program.
            session: the name of the conversation; without it, the one whose messages these begin with.

        Raises:
            DoesNotFit: what has to stay is bigger than the budget.
            InvalidValue: a message or a tool that cannot be.
        """
        model = _given(self.values, "model")
        answers = [value for key in ANSWERS if isinstance(value := _given(self.values, key), int)]
        old = [{"type": "function", "function": plain(each)} for each in _listed(self.values, "functions")]
        return conversations.request(
            [jsonable(raw) for raw in self.messages],
            model=model if isinstance(model, str) else None,
            tools=[*map(plain, _listed(self.values, "tools")), *old] or None,
            system=jsonable(_given(self.values, _SYSTEMS.get(self.format, ""))),
            format=self.format,
            answer=max(answers, default=None),
            session=session,
        )

    def written(self, request: FittedRequest) -> Mapping[str, Any]:
        """Return the fields to send: those that came, with what fits in the place of the messages."""
        if not request.changed:
            return self.values
        return {**self.values, _LISTS[self.format]: request.written(self.messages, lambda raw: raw)}


def _given(values: Mapping[str, Any], key: str) -> Any:
    """Return a field; nothing where it is one of the objects by which a client says that it was not given."""
    value = values.get(key)
    return None if type(value).__name__ in ("NotGiven", "Omit") else value


def _listed(values: Mapping[str, Any], key: str) -> list[Any]:
    value = _given(values, key)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []
