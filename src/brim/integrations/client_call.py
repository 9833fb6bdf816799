"""A call of a model as the fields that a client sends, in the format of Chat Completions, Responses or Messages.

A call that fits is sent as it came. The messages are recorded as copies, since callers change their own: marks for the
provider's cache move from message to message as a conversation grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from brim.integrations.calls import FittedCall
from brim.sessions.conversations import Conversations
from brim.wire import Format, plain
from brim.wire.base import ANSWER_LIMIT_KEYS, jsonable
from brim.wire.stateful import is_stateful

_LISTS = {"openai": "messages", "responses": "input", "anthropic": "messages"}
_SYSTEMS = {"responses": "instructions", "anthropic": "system"}


class ClientCall(FittedCall):
    """A call that a client is about to make."""

    @classmethod
    def of(cls, values: Any, format: Format, conversations: Conversations, session: str | None = None) -> Self | None:
        """Return a call that fits; `None` if its messages are not in its fields.

        Args:
            values: the fields of the body.
            format: `openai`, `responses` or `anthropic`.
            conversations: the conversations of the program.
            session: the name of the conversation; without it, the one whose messages these begin with.

        Raises:
            DoesNotFit: the required messages exceed the budget.
            InvalidValue: a message or a tool is invalid.
        """
        if not isinstance(values, Mapping) or is_stateful(values):
            return None
        given = _field(values, _LISTS[format])
        if isinstance(given, str) and given and format == "responses":
            return cls(values, [{"role": "user", "content": given}], format, conversations, session)
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            return None
        # An iterator can be read but once.
        messages, tools = list(given), _list(values, "tools")
        values = {**values, _LISTS[format]: messages, **({"tools": tools} if tools else {})}
        return cls(values, messages, format, conversations, session)

    def __init__(
        self,
        values: Mapping[str, Any],
        messages: list[Any],
        format: Format,
        conversations: Conversations,
        session: str | None,
    ) -> None:
        self._values, self._originals, self._list = values, messages, _LISTS[format]
        model = _field(values, "model")
        answers = [value for key in ANSWER_LIMIT_KEYS if isinstance(value := _field(values, key), int)]
        functions = [{"type": "function", "function": plain(each)} for each in _list(values, "functions")]
        request = conversations.request(
            [jsonable(raw) for raw in messages],
            model=model if isinstance(model, str) else None,
            tools=[*map(plain, _list(values, "tools")), *functions] or None,
            system=jsonable(_field(values, _SYSTEMS.get(format, ""))),
            format=format,
            answer=max(answers, default=None),
            session=session,
        )
        super().__init__(request)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields to send, with the messages that fit."""
        values, request = self._values, self.request
        if request.answer is not None:
            limits = {key for key in ANSWER_LIMIT_KEYS if isinstance(_field(values, key), int)}
            values = {**values, **{key: min(values[key], request.answer) for key in limits}}
        if not request.changed:
            return values
        return {**values, self._list: request.written(self._originals, lambda raw: raw)}


def _field(values: Mapping[str, Any], key: str) -> Any:
    """Return a field; `None` if its value is an object by which a client marks a field that was left out."""
    value = values.get(key)
    return None if type(value).__name__ in ("NotGiven", "Omit") else value


def _list(values: Mapping[str, Any], key: str) -> list[Any]:
    value = _field(values, key)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []
