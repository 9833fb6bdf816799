"""A call of a model as the fields that a client sends, in any format.

A call that fits is sent as it came. The messages are recorded as copies, since callers change their own: marks for the
provider's cache move from message to message as a conversation grows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Self

from brim.integrations.calls import FittedCall
from brim.meter.catalogue import with_long_window
from brim.sessions.conversations import Conversations
from brim.wire import Format, Wire, plain, wire
from brim.wire.base import (
    answer_limits,
    changed,
    is_stateful,
    jsonable,
    lowered_limits,
    other_fields,
    place_of,
    value_at,
)
from brim.wire.message import Path


class ClientCall(FittedCall):
    """A call that a client is about to make."""

    model_key = "model"
    """The field that names the model."""
    sent: ClassVar[Collection[str] | None] = None
    """The fields besides messages, system prompt and tools that reach the provider; `None` if all do."""

    @classmethod
    def of(cls, values: Any, format: Format, conversations: Conversations, session: str | None = None) -> Self | None:
        """Return a call that fits; `None` if its messages are not in its fields.

        Args:
            values: the fields of the body.
            format: the format of the messages.
            conversations: the conversations of the program.
            session: the name of the conversation; without it, the one whose messages these begin with.

        Raises:
            DoesNotFit: the required messages exceed the budget.
            InvalidValue: a message or a tool is invalid.
        """
        if not isinstance(values, Mapping) or is_stateful(values, format):
            return None
        key, at = wire(format).list_key, place_of(values, wire(format).tools_at)
        given = _field(values, key)
        if isinstance(given, str) and given and format == "responses":
            return cls(values, [{"role": "user", "content": given}], format, conversations, session)
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            return None
        # An iterator can be read but once.
        messages, tools = list(given), _listed(value_at(values, at)) if at else []
        values = changed(values, {(key,): messages, **({at: tools} if at and tools else {})})
        return cls(values, messages, format, conversations, session)

    def __init__(
        self,
        values: Mapping[str, Any],
        messages: list[Any],
        format: Format,
        conversations: Conversations,
        session: str | None,
    ) -> None:
        chosen = wire(format)
        self._values, self._originals, self._list = values, messages, chosen.list_key
        model = _field(values, self.model_key)
        functions = [{"type": "function", "function": plain(each)} for each in _listed(_field(values, "functions"))]
        system = value_at(values, (chosen.system_key,)) if chosen.system_key else None
        request = conversations.request(
            messages,
            model=with_long_window(model, str(values.get("betas"))) if isinstance(model, str) else None,
            tools=[*map(plain, _listed(value_at(values, chosen.tools_at))), *functions] or None,
            system=jsonable(_given(system)),
            fields=_other({key: values[key] for key in values if self.sent is None or key in self.sent}, chosen),
            format=format,
            answer=max(self._limits.values(), default=None),
            session=session,
            changes=True,
        )
        super().__init__(request)

    @property
    def _limits(self) -> dict[Path, int]:
        """The most tokens of the answer, by their places."""
        return {place: limit for place, limit in answer_limits(self._values).items() if isinstance(limit, int)}

    def made(self, raw: Any) -> Any:
        """Return a message that brim made as the client takes it."""
        return raw

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields to send, with the messages that fit."""
        values, request = self._values, self.request
        if request.answer is not None:
            values = changed(values, lowered_limits(values, request.answer))
        if not request.changed:
            return values
        return {**values, self._list: request.written(self._originals, self.made)}


def _given(value: Any) -> Any:
    """Return a value; `None` if it is an object by which a client marks a field that was left out."""
    return None if type(value).__name__ in ("NotGiven", "Omit") else value


def _other(values: Mapping[str, Any], format: Wire) -> dict[str, Any]:
    """Return the fields besides messages, system prompt and tools."""
    given = {key: value for key in values if (value := _field(values, key)) is not None}
    return {key: jsonable(value) for key, value in other_fields(given, format).items()}


def _field(values: Mapping[str, Any], key: str) -> Any:
    return _given(values.get(key))


def _listed(value: Any) -> list[Any]:
    value = _given(value)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []
