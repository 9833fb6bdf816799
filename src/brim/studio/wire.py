"""The wire: the body of a prompt as it was sent, beside what the session held, message by message.

Only a session with capture=True keeps what it sent. What a key opens never leaves this machine by way of the page: in
the command to copy, secrets are taken out of the body, and the key is the name of a variable.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from brim.errors import InvalidType, UnknownName
from brim.history.compact import mark, secrets
from brim.history.history import History
from brim.history.note import is_note
from brim.meter import meter_for
from brim.receipts.transcript import Transcript
from brim.replay import replay
from brim.sessions.aside import HEAD
from brim.sessions.sending import unfolded
from brim.studio import receipts
from brim.studio.desk import Desk
from brim.studio.sessions import row_of
from brim.wire.message import Message

_MOST_TEXT = 4_000
_MOST_PROMPTS = 200
_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")
_PATHS = {"openai": "/chat/completions", "responses": "/responses", "anthropic": "/v1/messages"}
_ANSWER = 1_024
"""Tokens of the answer in the command to copy, where the shape does not do without a number."""


def wire(desk: Desk, session: str, number: str | None = None) -> dict[str, Any]:
    """Return one prompt of a session as it went out: its body, and what became of each message.

    Without a number it is the last that was kept.

    Raises:
        UnknownName: no such session or prompt.
        InvalidType: the prompt was not kept.
    """
    row = row_of(desk.needed(), session)
    found = [each for each in receipts.listed(desk, {"kind": "prompt", "text": session})["receipts"] if each["whole"]]
    prefix = f"prompt:{session}:"
    prompts = [each for each in found if each["id"].startswith(prefix)][:_MOST_PROMPTS]
    told = [
        {"number": int(each["id"].removeprefix(prefix)), "at": each["at"], "used": each["used"]} for each in prompts
    ]
    if not prompts and number is None:
        return {**row.to_dict(), "prompts": [], "format": None}
    chosen = f"{prefix}{number}" if number is not None else prompts[0]["id"]
    values = receipts.one(desk, chosen)["values"]
    receipt = receipts.captured(desk, chosen)
    given = receipt.capture
    if not isinstance(given, Transcript):
        raise InvalidType("receipt.capture", None, "the messages of a prompt: a session with capture=True keeps them")
    shown = _Sent(given, values, row.status.get("model"))
    return {
        **row.to_dict(),
        "prompts": told,
        "number": int(chosen.rpartition(":")[2]),
        "used": values["used"],
        "budget": values["budget"],
        "unit": values["unit"],
        "exact": receipt.exact,
        **shown.told(_reasons(receipt.parts)),
    }


def _reasons(parts: Sequence[Any]) -> dict[int, str]:
    """Return why a message is not as it came, by its place."""
    found: dict[int, str] = {}
    for part in parts:
        match = _RANGE.match(part.name)
        if match and part.state != "whole":
            start, stop = int(match[1]), int(match[2] or int(match[1]) + 1)
            found |= dict.fromkeys(range(start, stop), part.reason)
    return found


class _Sent:
    """One prompt that was sent, and what it was made of."""

    def __init__(self, given: Transcript, values: Mapping[str, Any], model: str | None) -> None:
        self._given, self._model = given, model
        self._format = str(given.options["format"])
        self._history = History(meter=meter_for(given.meter, given.model), format=self._format)
        self.kept = isinstance(values.get("sent"), list)
        if self.kept:
            self._sent = unfolded(values["sent"], given.messages)
        else:  # Written before prompts were kept as sent: worked out again, without memory.
            again = replay(given, budget=given.budget).messages
            places = {id(raw): at for at, raw in enumerate(given.messages)}
            head = [{"role": "system", "content": given.system}] if given.system and self._format == "openai" else []
            self._sent = [(places.get(id(raw)), raw) for raw in [*head, *again]]
        self._stable = values.get("stable_prefix")

    @property
    def body(self) -> dict[str, Any]:
        """The body of the request, as far as brim knows it."""
        given, messages = self._given, [raw for _, raw in self._sent]
        body: dict[str, Any] = {} if self._model is None else {"model": self._model}
        if self._format == "anthropic" and given.system is not None:
            body["system"] = given.system
        if self._format == "responses" and given.system is not None:
            body["instructions"] = given.system
        body["input" if self._format == "responses" else "messages"] = messages
        return body if given.tools is None else {**body, "tools": list(given.tools)}

    def told(self, reasons: Mapping[int, str]) -> dict[str, Any]:
        """Return what the page shows of it."""
        beside, _ = self._history.beside(self._given.tools, self._given.system)
        if self._format == "openai":  # There it is a message, and counted with them.
            beside["system"] = 0
        rows = list(self._rows(reasons, beside["tools"] + beside["system"]))
        body = self.body
        return {
            "format": self._format,
            "kept": self.kept,
            "before": {name: units for name, units in beside.items() if units and name != "reply"},
            "rows": rows,
            "rulers": self._rulers(rows, beside),
            "body": json.dumps(body, indent=2, ensure_ascii=False),
            "curl": _curl(self._format, body),
        }

    def _rows(self, reasons: Mapping[int, str], before: int) -> Iterator[dict[str, Any]]:
        """Yield every message that was sent or left out, in the order of the conversation, with the prefix up to it."""
        conversation, prefix, after = self._given.messages, before, 0
        for place, (at, raw) in enumerate(self._sent):
            message = self._read(raw)
            source, state = self._came_from(place, at, message, after)
            if source is not None:
                yield from self._left(range(after, source), reasons)
                after = source + 1
            units = self._units(message)
            prefix += units
            why = reasons.get(source, "") if state == "cut" and source is not None else ""
            row = self._row(message, state, units, source, why)
            yield {**row, "sent": place, "prefix": prefix}
        yield from self._left(range(after, len(conversation)), reasons)

    def _came_from(self, place: int, at: int | None, message: Message, after: int) -> tuple[int | None, str]:
        """Return the message of the conversation that a sent one is or was made of, and what became of it."""
        if at is not None:
            return at, "as it came"
        if message.role == "system" or is_note(message) or message.text().startswith(HEAD):
            return None, _kind(message)
        until = next((known for known, _ in self._sent[place + 1 :] if known is not None), len(self._given.messages))
        text, best = message.text(), (0, -1)
        for source in range(after, until):
            original = self._read(self._given.messages[source])
            if original.role == message.role and _ids(original) == _ids(message):
                best = max(best, (_alike(original.text(), text), source))
        if best[1] < 0:
            return None, _kind(message)
        grown = text.startswith(self._read(self._given.messages[best[1]]).text())
        return best[1], "added to" if grown else "cut"

    def _left(self, places: range, reasons: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for source in places:
            message = self._read(self._given.messages[source])
            why = reasons.get(source, "it was left out")
            row = self._row(message, "left out", self._units(message), source, why)
            yield {**row, "sent": None, "prefix": None}

    def _row(self, message: Message, state: str, units: int, source: int | None, why: str) -> dict[str, Any]:
        text = message.text()
        told = {"role": message.role, "state": state, "units": units, "from": source, "why": why}
        return {**told, "text": text[:_MOST_TEXT], "chars": len(text), "summary": mark.piece_of(message) is not None}

    def _read(self, raw: Any) -> Message:
        return self._history.book.wire.read(raw, 0)

    def _units(self, message: Message) -> int:
        return self._history.book.chat.units(message)

    def _rulers(self, rows: Sequence[Mapping[str, Any]], beside: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return where a cache may begin and end: marks in the body, and what the last prompt began with too."""
        given, found = self._given, []
        if _marked(given.tools):
            found.append({"after": -1, "units": beside["tools"], "told": "a cache mark after the tools"})
        if self._format != "openai" and _marked(given.system):
            found.append({"after": -1, "units": beside["tools"] + beside["system"], "told": "a cache mark"})
        sent = [row for row in rows if row["sent"] is not None]
        marked = [row for row in sent if _marked(self._sent[row["sent"]][1])]
        found += [{"after": row["sent"], "units": row["prefix"], "told": "a cache mark"} for row in marked]
        if self._stable:
            under = [row for row in sent if row["prefix"] <= self._stable]
            told = "up to here it is the last prompt, byte for byte"
            found.append({"after": under[-1]["sent"] if under else -1, "units": self._stable, "told": told})
        least = _minimum(self._model)
        over = next((row for row in sent if least and row["prefix"] >= least), None)
        if over is not None:
            told = f"a cache begins to keep at {least:,}"
            found.append({"after": over["sent"], "units": over["prefix"], "told": told})
        return found


def _minimum(model: str | None) -> int | None:
    """Return the tokens from which a model's maker keeps a prompt; nothing where that is not known."""
    from brim.meter import catalogue

    try:
        cache = catalogue.find(model).cache if model else None
    except UnknownName:
        return None
    return None if cache is None else cache.minimum


def _alike(one: str, two: str) -> int:
    """Return how many characters two texts begin and end with alike, among the first and the last hundred."""
    ends = ((one[:100], two[:100]), (one[:-101:-1], two[:-101:-1]))
    return sum(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))) for texts in ends)


def _ids(message: Message) -> tuple[Any, ...]:
    return tuple(piece.id for piece in message.pieces if piece.id)


def _kind(message: Message) -> str:
    """Return what a message is that is none of the conversation's."""
    if message.role == "system":
        return "system prompt"
    if is_note(message):
        return "note"
    return "memory" if message.text().startswith(HEAD) else "added"


def _marked(value: Any) -> bool:
    """Return whether a part of a body carries a mark for the cache."""
    if isinstance(value, Mapping):
        marks = [key for key in value if key == "cache_control" or "cache_breakpoint" in str(key)]
        return bool(marks) or any(map(_marked, value.values()))
    return isinstance(value, list | tuple) and any(map(_marked, value))


def _masked(value: Any) -> Any:
    """Return JSON values without the secrets in their texts."""
    if isinstance(value, str):
        return secrets.redact(value)
    if isinstance(value, Mapping):
        return {key: _masked(each) for key, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list | tuple) else value


def _curl(format: str, body: Mapping[str, Any]) -> str:
    """Return the command that sends a body again, with its secrets taken out and the key left to a variable."""
    anthropic = format == "anthropic"
    key = (
        '-H "x-api-key: $API_KEY" -H "anthropic-version: 2023-06-01"'
        if anthropic
        else '-H "Authorization: Bearer $API_KEY"'
    )
    asked = {**body, "max_tokens": _ANSWER} if anthropic else body
    text = json.dumps(_masked(asked), ensure_ascii=False)
    return (
        f'curl "$BASE_URL{_PATHS[format]}" {key} \\\n  -H "Content-Type: application/json" \\\n  -d {shlex.quote(text)}'
    )
