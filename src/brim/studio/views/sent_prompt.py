"""A prompt as it was sent: its body, and what happened to each message of the session on the way.

Only a session with capture=True keeps the prompts that it sent. Secrets never leave this machine by way of the page:
the command to copy has them redacted, and names a variable in place of the key.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

from brim.errors import InvalidType
from brim.files.json_strings import map_strings
from brim.history.compact import mark, secrets
from brim.history.history import History
from brim.history.note import is_note
from brim.meter import catalogue, meter_for
from brim.receipts.history_input import HistoryInput
from brim.receipts.receipt import Part
from brim.replay import replay
from brim.sessions.fixed_parts import HEAD
from brim.sessions.sent_messages import unfolded
from brim.studio.views.receipts import captured, receipt, receipts
from brim.studio.views.sessions import session_row
from brim.studio.workspace import Workspace
from brim.wire import Format
from brim.wire.message import Message

_MOST_TEXT = 4_000
_MOST_PROMPTS = 200
_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")
_PATHS = {"openai": "/chat/completions", "responses": "/responses", "anthropic": "/v1/messages"}
_ANSWER = 1_024
"""Tokens of the answer in the command to copy, where the format requires a number."""


def sent_prompt(workspace: Workspace, session: str, number: str | None = None) -> dict[str, Any]:
    """Return one prompt of a session: its body, and what happened to each message.

    Args:
        workspace: where the session is.
        session: its id.
        number: the prompt; `None` for the last that was captured.

    Raises:
        UnknownName: there is no such session or prompt.
        InvalidType: the prompt was not captured.
    """
    row = session_row(workspace.store(), session)
    prefix = f"prompt:{session}:"
    found = receipts(workspace, text=session, kind="prompt")["receipts"]
    prompts = [each for each in found if each["whole"] and each["id"].startswith(prefix)][:_MOST_PROMPTS]
    if not prompts and number is None:
        return {**row.to_dict(), "prompts": [], "format": None}
    chosen = f"{prefix}{number}" if number is not None else prompts[0]["id"]
    values = receipt(workspace, chosen)["values"]
    recorded = captured(workspace, chosen)
    if not isinstance(recorded.capture, HistoryInput):
        raise InvalidType("receipt.capture", None, "the messages of a prompt: a session with capture=True keeps them")
    return {
        **row.to_dict(),
        "prompts": [
            {"number": int(each["id"].removeprefix(prefix)), "at": each["at"], "used": each["used"]} for each in prompts
        ],
        "number": int(chosen.rpartition(":")[2]),
        **{name: values[name] for name in ("used", "budget", "unit")},
        "exact": recorded.exact,
        **_Sent(recorded.capture, values, row.status.get("model")).shown(_reasons(recorded.parts)),
    }


def _reasons(parts: Sequence[Part]) -> dict[int, str]:
    """Return why a message was shortened or dropped, by its index."""
    found: dict[int, str] = {}
    for part in parts:
        match = _RANGE.match(part.name)
        if match and part.state != "whole":
            start, stop = int(match[1]), int(match[2] or int(match[1]) + 1)
            found |= dict.fromkeys(range(start, stop), part.reason)
    return found


class _Sent:
    """One prompt that was sent, and its input."""

    def __init__(self, given: HistoryInput, values: Mapping[str, Any], model: str | None) -> None:
        self._given, self._model = given, model
        self._format = str(given.options["format"])
        self._history = History(meter=meter_for(given.meter, given.model), format=cast("Format", self._format))
        self._kept = isinstance(values.get("sent"), list)
        if self._kept:
            self._sent = unfolded(values["sent"], given.messages)
        else:  # Recorded before prompts were kept as sent: it is fitted again, without memory.
            again = replay(given, budget=given.budget).messages
            places = {id(raw): at for at, raw in enumerate(given.messages)}
            head = [{"role": "system", "content": given.system}] if given.system and self._format == "openai" else []
            self._sent = [(places.get(id(raw)), raw) for raw in [*head, *again]]
        self._stable = values.get("stable_prefix")

    def shown(self, reasons: Mapping[int, str]) -> dict[str, Any]:
        """Return the JSON of the prompt."""
        extra, _ = self._history.extra_units(self._given.tools, self._given.system)
        if self._format == "openai":  # The system prompt is a message there, and counted with them.
            extra["system"] = 0
        rows = list(self._rows(reasons, extra["tools"] + extra["system"]))
        body = self._body()
        return {
            "format": self._format,
            "kept": self._kept,
            "before": {name: units for name, units in extra.items() if units and name != "reply"},
            "rows": rows,
            "rulers": self._rulers(rows, extra),
            "body": json.dumps(body, indent=2, ensure_ascii=False),
            "curl": _curl(self._format, body),
        }

    def _body(self) -> dict[str, Any]:
        """Return the body of the request, as far as brim knows it."""
        given = self._given
        body: dict[str, Any] = {} if self._model is None else {"model": self._model}
        field = {"anthropic": "system", "responses": "instructions"}.get(self._format)
        if field is not None and given.system is not None:
            body[field] = given.system
        body["input" if self._format == "responses" else "messages"] = [raw for _, raw in self._sent]
        return body if given.tools is None else {**body, "tools": list(given.tools)}

    def _rows(self, reasons: Mapping[int, str], before: int) -> Iterator[dict[str, Any]]:
        """Yield every message that was sent or dropped, in order, with the size of the prompt up to it."""
        prefix, after = before, 0
        for place, (at, raw) in enumerate(self._sent):
            message = self._read(raw)
            source, state = self._origin(place, at, message, after)
            if source is not None:
                yield from self._dropped(range(after, source), reasons)
                after = source + 1
            why = reasons.get(source, "") if state == "shortened" and source is not None else ""
            row = self._row(message, state, source, why)
            prefix += row["units"]
            yield {**row, "sent": place, "prefix": prefix}
        yield from self._dropped(range(after, len(self._given.messages)), reasons)

    def _origin(self, place: int, at: int | None, message: Message, after: int) -> tuple[int | None, str]:
        """Return the index of the message that a sent one is or comes from, and how it was changed."""
        if at is not None:
            return at, "unchanged"
        kind = _kind(message)
        if kind != "added":
            return None, kind
        until = next((known for known, _ in self._sent[place + 1 :] if known is not None), len(self._given.messages))
        text, best = message.text(), (0, -1, "")
        for source in range(after, until):
            original = self._read(self._given.messages[source])
            if original.role == message.role and _ids(original) == _ids(message):
                best = max(best, (_alike(original.text(), text), source, original.text()))
        if best[1] < 0:
            return None, kind
        return best[1], "extended" if text.startswith(best[2]) else "shortened"

    def _dropped(self, places: range, reasons: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for source in places:
            message = self._read(self._given.messages[source])
            row = self._row(message, "dropped", source, reasons.get(source, "it was dropped"))
            yield {**row, "sent": None, "prefix": None}

    def _row(self, message: Message, state: str, source: int | None, why: str) -> dict[str, Any]:
        text, units = message.text(), self._history.turns.chat.units(message)
        row = {"role": message.role, "state": state, "units": units, "from": source, "why": why}
        return {**row, "text": text[:_MOST_TEXT], "chars": len(text), "summary": mark.piece_of(message) is not None}

    def _read(self, raw: Any) -> Message:
        return self._history.turns.wire.read(raw, 0)

    def _rulers(self, rows: Sequence[Mapping[str, Any]], extra: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return the places where a cached prefix may end: cache marks, the last prompt, and the provider's minimum."""
        found: list[tuple[int, int, str]] = []
        if _marked(self._given.tools):
            found.append((-1, extra["tools"], "cache mark after the tools"))
        if self._format != "openai" and _marked(self._given.system):
            found.append((-1, extra["tools"] + extra["system"], "cache mark"))
        sent = [row for row in rows if row["sent"] is not None]
        marked = [row for row in sent if _marked(self._sent[row["sent"]][1])]
        found += [(row["sent"], row["prefix"], "cache mark") for row in marked]
        if self._stable:
            same = [row["sent"] for row in sent if row["prefix"] <= self._stable]
            found.append((same[-1] if same else -1, self._stable, "byte-identical to the last prompt up to here"))
        model = catalogue.lookup(self._model)
        least = model.cache.minimum if model is not None and model.cache is not None else None
        over = next((row for row in sent if least and row["prefix"] >= least), None)
        if over is not None:
            found.append((over["sent"], over["prefix"], f"the provider caches from {least:,} tokens"))
        return [{"after": after, "units": units, "text": text} for after, units, text in found]


def _alike(one: str, two: str) -> int:
    """Return how many characters two texts share at their start and end, up to a hundred each."""
    ends = ((one[:100], two[:100]), (one[:-101:-1], two[:-101:-1]))
    return sum(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))) for texts in ends)


def _ids(message: Message) -> tuple[Any, ...]:
    return tuple(piece.id for piece in message.pieces if piece.id)


def _kind(message: Message) -> str:
    """Return the kind of a message that is not part of the session's history."""
    if message.role == "system":
        return "system prompt"
    if is_note(message):
        return "note"
    return "memory" if message.text().startswith(HEAD) else "added"


def _marked(value: Any) -> bool:
    """Return whether a part of a body has a cache mark."""
    if isinstance(value, Mapping):
        marks = [key for key in value if key == "cache_control" or "cache_breakpoint" in str(key)]
        return bool(marks) or any(map(_marked, value.values()))
    return isinstance(value, list | tuple) and any(map(_marked, value))


def _curl(format: str, body: Mapping[str, Any]) -> str:
    """Return the command that sends a body again, with its secrets redacted and the key in a variable."""
    key = '-H "Authorization: Bearer $API_KEY"'
    if format == "anthropic":
        key = '-H "x-api-key: $API_KEY" -H "anthropic-version: 2023-06-01"'
        body = {**body, "max_tokens": _ANSWER}
    text = json.dumps(map_strings(body, secrets.redact), ensure_ascii=False)
    return (
        f'curl "$BASE_URL{_PATHS[format]}" {key} \\\n  -H "Content-Type: application/json" \\\n  -d {shlex.quote(text)}'
    )
