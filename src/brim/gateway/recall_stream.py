"""A stream of events without the calls of `brim_recall`: its indexes and numbers have no gaps, and its end is legal.

Events that need no change keep their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brim.gateway import recall_answer
from brim.gateway.problem import CHAT, GEMINI, MESSAGES, RESPONSES
from brim.gateway.recall import index_of
from brim.gateway.recall_answer import EMPTY, is_content, is_recall, reason
from brim.gateway.server_event import EventReader, ServerEvent, event_bytes
from brim.sessions.recall.recall_tool import NAME

_ENDINGS = ("response.completed", "response.incomplete")


class RecallStream:
    """The stream of one answer, without calls of the tool."""

    def __init__(self, route: str) -> None:
        self._reader = EventReader()
        self._events = _EVENTS[route]()

    def passed(self, piece: bytes, *, last: bool = False) -> bytes:
        """Return the bytes that are passed on for those of upstream; the last event needs no blank line."""
        events = self._reader.feed(piece)
        if last:
            events.append(ServerEvent(self._reader.rest))
        values = [event.value for event in events]
        self._events.look([value for value in values if isinstance(value, dict)])
        return b"".join(part for pair in zip(events, values, strict=True) for part in self._passed(*pair))

    def _passed(self, event: ServerEvent, value: Any) -> Iterator[bytes]:
        if not isinstance(value, dict):
            ends = (event.data or b"").strip() == b"[DONE]"
            yield from (event_bytes(each) for each in (self._events.missing() if ends else ()))
            yield event.raw
            return
        added, made = self._events.changed(value)
        yield from (event_bytes(each) for each in added)
        if made is not None:
            yield event.raw if made is value else event.with_value(made)


class _FormatEvents:
    """The events of one format, without calls of the tool."""

    def look(self, values: Sequence[Mapping[str, Any]]) -> None:
        """Look at events before they are passed on."""

    def changed(self, value: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return the events that are added before one, and the one itself; `None` if it is not passed on."""
        raise NotImplementedError

    def missing(self) -> list[dict[str, Any]]:
        """Return the events that are missing at the end."""
        return []


class _ChatChoice:
    """One choice of a stream of Chat Completions."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], str] = {}
        """The names of the called tools, by index and id: some servers give one index to all calls."""
        self.kept: dict[tuple[int, str], int] = {}
        """The indexes of calls as they are passed on."""
        self.ids: dict[int, str] = {}
        """The id of the newest call of each index."""
        self.dropped = self.said = self.ended = False

    @property
    def empty(self) -> bool:
        """Whether nothing is left of it."""
        return self.dropped and not self.kept and not self.said


class _ChatEvents(_FormatEvents):
    def __init__(self) -> None:
        self._choices: dict[int, _ChatChoice] = {}
        self._looked: dict[int, dict[int, str]] = {}
        self._base: dict[str, Any] = {}

    def look(self, values: Sequence[Mapping[str, Any]]) -> None:
        for value in values:
            for choice, delta in _deltas(value):
                names, ids = self._choice(choice).names, self._looked.setdefault(index_of(choice), {})
                for part in _parts(delta):
                    function = part.get("function")
                    name = function.get("name") if isinstance(function, Mapping) else None
                    at = _place(part, ids)
                    names[at] = names.get(at, "") + (name if isinstance(name, str) else "")

    def changed(self, value: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        if not isinstance(value.get("choices"), list):
            return [], value
        self._base = {key: each for key, each in value.items() if key not in ("choices", "usage")}
        made = [self._made(choice) for choice in value["choices"]]
        if all(new is old for new, old in zip(made, value["choices"], strict=True)):
            return [], value
        kept = [each for each in made if each is not None]
        return [], {**value, "choices": kept} if kept or value.get("usage") else None

    def missing(self) -> list[dict[str, Any]]:
        unended = [at for at, state in self._choices.items() if state.empty and not state.ended]
        last = {"delta": {"content": EMPTY}, "finish_reason": "stop"}
        return [{**self._base, "choices": [{"index": at, **last}]} for at in unended]

    def _choice(self, choice: Mapping[str, Any]) -> _ChatChoice:
        return self._choices.setdefault(index_of(choice), _ChatChoice())

    def _made(self, choice: Any) -> Any:
        """Return a choice as it is passed on; `None` if nothing of it is left."""
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if not isinstance(delta, dict):
            return choice
        state = self._choice(choice)
        state.said = state.said or bool(delta.get("content"))
        made = dict(delta)
        if parts := _parts(delta):
            made["tool_calls"] = [each for part in parts if (each := _part(part, state)) is not None]
            if not made["tool_calls"]:
                del made["tool_calls"]
        ended = choice.get("finish_reason")
        if ended is not None:
            state.ended = True
            made |= {"content": EMPTY} if state.empty else {}
            ended = reason(ended, calls=bool(state.kept), ended="stop") if state.dropped else ended
        if made == delta and ended == choice.get("finish_reason"):
            return choice
        gone = ended is None and not any(made.values())
        return None if gone else {**choice, "delta": made, "finish_reason": ended}


def _deltas(value: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and isinstance(delta := choice.get("delta"), dict):
            yield choice, delta


def _parts(delta: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = delta.get("tool_calls")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _part(part: dict[str, Any], state: _ChatChoice) -> dict[str, Any] | None:
    """Return a part of a call with its new index; `None` if it is a call of the tool."""
    at = _place(part, state.ids)
    if state.names.get(at) == NAME:
        state.dropped = True
        return None
    new = state.kept.setdefault(at, len(state.kept))
    return {**part, "index": new} if state.dropped and new != at[0] else part


def _place(part: Mapping[str, Any], ids: dict[int, str]) -> tuple[int, str]:
    """Return the index and the id of the call of a part; only the first part of a call has its id."""
    at, id_ = index_of(part), part.get("id")
    if isinstance(id_, str) and id_:
        ids[at] = id_
    return at, ids.get(at, "")


class _MessageEvents(_FormatEvents):
    def __init__(self) -> None:
        self._dropped: set[int] = set()
        self._kept: dict[int, int] = {}
        self._said = self._calls = False

    def changed(self, value: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        kind, at, delta = value.get("type"), index_of(value), value.get("delta")
        if kind == "content_block_start":
            block = value.get("content_block")
            if is_recall(block):
                self._dropped.add(at)
            else:
                self._kept[at] = len(self._kept)
                self._said = self._said or is_content(block)
                self._calls = self._calls or (isinstance(block, dict) and block.get("type") == "tool_use")
        if kind in ("content_block_start", "content_block_delta", "content_block_stop"):
            self._said = self._said or (isinstance(delta, dict) and bool(delta.get("text")))
            if at in self._dropped:
                return [], None
            new = self._kept.get(at, at)
            return [], value if new == at else {**value, "index": new}
        if kind != "message_delta" or not self._dropped or not isinstance(delta, dict):
            return [], value
        ended = reason(delta.get("stop_reason"), calls=self._calls, ended="end_turn")
        return [] if self._said else self._empty(), {**value, "delta": {**delta, "stop_reason": ended}}

    def _empty(self) -> list[dict[str, Any]]:
        """Return the events of a text block that says that nothing is left."""
        self._said, at = True, len(self._kept)
        return [
            {"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": EMPTY}},
            {"type": "content_block_stop", "index": at},
        ]


class _ResponseEvents(_FormatEvents):
    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        """The items by their index, as far as events told."""
        self._passed: set[int] = set()
        self._dropped: set[int] = set()
        self._shift = 0
        """How much lower the numbers of events are than they came."""

    def look(self, values: Sequence[Mapping[str, Any]]) -> None:
        for value in values:
            if isinstance(value.get("item"), Mapping) and isinstance(at := value.get("output_index"), int):
                self._items[at] = value["item"]
        places = sorted(self._items)
        found = recall_answer.dropped_items([self._items[at] for at in places])
        self._dropped |= {places[each] for each in found} - self._passed

    def changed(self, value: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        at, response, changes = value.get("output_index"), value.get("response"), dict[str, Any]()
        if isinstance(at, int):
            if at in self._dropped:
                self._shift -= "sequence_number" in value
                return [], None
            self._passed.add(at)
            changes["output_index"] = at - sum(each < at for each in self._dropped)
        if isinstance(response, Mapping):
            changes["response"] = recall_answer.response(response)
        added: list[dict[str, Any]] = []
        number = value.get("sequence_number")
        if isinstance(number, int):
            if value.get("type") in _ENDINGS and self._dropped and not self._said:
                added = _empty_events(number + self._shift, len(self._passed))
                self._shift += len(added)
            changes["sequence_number"] = number + self._shift
        made = {**value, **changes}
        return added, value if made == value else made

    @property
    def _said(self) -> bool:
        """Whether something that was passed on is for the client."""
        return any(is_content(self._items.get(at)) for at in self._passed)


class _GeminiEvents(_FormatEvents):
    def __init__(self) -> None:
        self._signatures: dict[int, Any] = {}
        self._dropped: set[int] = set()
        self._said: set[int] = set()

    def changed(self, value: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        listed = value.get("candidates")
        if not isinstance(listed, list):
            return [], value
        made = [self._made(each) for each in listed]
        if all(new is old for new, old in zip(made, listed, strict=True)):
            return [], value
        kept = [each for each in made if each is not None]
        return [], {**value, "candidates": kept} if kept else None

    def _made(self, choice: Any) -> Any:
        """Return a candidate as it is passed on; `None` if nothing of it is left."""
        content = choice.get("content") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(content, dict | None):
            return choice
        at, parts = index_of(choice), (content or {}).get("parts")
        parts = parts if isinstance(parts, list) else []
        kept, self._signatures[at] = recall_answer.kept_parts(parts, self._signatures.get(at))
        if len(kept) < len(parts):
            self._dropped.add(at)
        if any(map(recall_answer.is_part, kept)):
            self._said.add(at)
        ends = bool(choice.get("finishReason"))
        if ends and at in self._dropped - self._said:
            kept = [*kept, {"text": EMPTY}]
        if kept == parts:
            return choice
        if not kept and not ends:
            return None
        # As Gemini's own: an event that only ends an answer has an empty text.
        return {**choice, "content": {**(content or {"role": "model"}), "parts": kept or [{"text": ""}]}}


def _empty_events(number: int, at: int) -> list[dict[str, Any]]:
    """Return the events of a message that says that nothing is left."""
    item = recall_answer.empty_item()
    (part,) = item["content"]
    place = {"item_id": item["id"], "output_index": at, "content_index": 0}
    events = [
        {
            "type": "response.output_item.added",
            "output_index": at,
            "item": {**item, "content": [], "status": "in_progress"},
        },
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **place, "delta": EMPTY, "logprobs": []},
        {"type": "response.output_text.done", **place, "text": EMPTY, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]
    return [{**event, "sequence_number": number + i} for i, event in enumerate(events)]


_EVENTS = {CHAT: _ChatEvents, MESSAGES: _MessageEvents, RESPONSES: _ResponseEvents, GEMINI: _GeminiEvents}
