"""The rows of one prompt: every part that was sent or left out, in order, with its tokens, its text and the reason.

The tokens of the rows that were sent add up to the tokens of the prompt. If a provider does not publish how it counts,
the size is an estimate corrected by the reported usage, and the row `correction` shows the difference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any

from brim.errors import BrimError
from brim.history.compact import mark
from brim.history.note import is_note
from brim.receipts.receipt import Part
from brim.sessions.context import Context
from brim.sessions.fixed_parts import HEAD
from brim.studio.prompt_source import PromptSource
from brim.studio.recorded_session import UNLOGGED, extra_in, scaled, size_in
from brim.wire.message import Message

_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")
_MOST_LINES = 4_000
"""Lines of a shortened text that are compared with the original."""
_WORDS = {
    "it fits whole": "It fits whole.",
    "it always stays": "It is always kept.",
}


class PromptRows:
    """The rows of one prompt."""

    def __init__(self, source: PromptSource) -> None:
        """Read and count the messages of a prompt."""
        self._source = source
        self._context = Context(source.meter, format=source.format)
        found = _reasons(source.receipt.parts if source.receipt is not None else ())
        moved = {source.places[i] if source.places else i: why for i, why in found.items()}
        self._reasons = moved | dict(source.reasons)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, with the correction."""
        source = self._source
        if source.kind == "sums":
            rows = list(self._sums())
        elif source.kind == "sections":
            rows = list(self._sections())
        else:
            extra = self._extra()
            rows = [*self._fixed(extra), *self._messages()]
            if extra["reply"]:
                why = "Tokens that the chat format adds before the answer."
                rows.append(self._row("framing", "", extra["reply"], role="start of the answer", why=why))
        if source.kind == "recorded":
            rows += self._scale(rows)
        total = sum(row["units"] for row in rows if row["sent"])
        used = source.body["used"]
        if total != used:
            rows.append(self._correction(used - total))
        return rows

    def _scale(self, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Scale the estimates of recorded parts to the reported size; yield a row for the parts that the log lacks."""
        body = self._source.body
        unlogged, sent = body.get("unlogged") or 0, [row for row in rows if row["sent"]]
        sizes = scaled([row["units"] for row in sent], body["used"] - unlogged)
        for row in rows:
            row["units"] = row["was"] = round(row["units"] * body["scale"])
        for row, units in zip(sent, sizes, strict=True):
            row["units"] = row["was"] = units
        if unlogged:
            why = "The provider counted these tokens, but the log lacks them: usually the system prompt and the tools."
            yield self._row(UNLOGGED, "", unlogged, role=UNLOGGED, why=why)

    def _row(self, category: str, text: str, units: int, **more: Any) -> dict[str, Any]:
        row = {"category": category, "role": category, "name": "", "state": "whole", "units": units, "was": units}
        row |= {"text": text, "why": "", "sent": True, "taken": None, "from": None}
        return {**row, **more}

    def _fixed(self, extra: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Yield the tools, and the system prompt where it is not one of the messages."""
        source = self._source
        if extra["tools"]:
            names = ", ".join(filter(None, map(tool_name, source.tools or ())))
            yield self._row("tools", _pretty(source.tools), extra["tools"], name=names, why="It is always kept.")
        if extra["system"]:
            text = source.system if isinstance(source.system, str) else _system_text(source.system)
            yield self._row("system", text, extra["system"], why="It is always kept.")

    def _extra(self) -> dict[str, int]:
        source = self._source
        first = [raw for _, raw in source.sent[:1]]
        extra, _ = extra_in(source.meter, source.format, first, source.tools, source.system)
        if source.format == "openai":  # The system prompt is a message there, and counted with them.
            extra["system"] = 0
        return extra

    def _messages(self) -> Iterator[dict[str, Any]]:
        """Yield every message that was sent or left out, in order."""
        after = 0
        for place, (at, raw) in enumerate(self._source.sent):
            message = self._read(raw)
            source, state = self._origin(place, at, message, after)
            if source is not None:
                yield from self._left_out(range(after, source))
                after = source + 1
            row = self._message(message, raw)
            yield {**row, **self._change(source, state, message, row["units"]), "from": source}
        yield from self._left_out(range(after, len(self._source.messages)))

    def _change(self, source: int | None, state: str, message: Message, units: int) -> dict[str, Any]:
        """Return how a message was changed: its state, the reason, its original size, and the removed text."""
        why = self._reasons.get(source, "") if source is not None else ""
        if source is None or state == "whole":
            return {"state": state, "why": _worded(why) or _BECAUSE.get(state, ""), "was": units}
        original = self._read(self._source.messages[source])
        size = self._context.history.turns.chat.units(original)
        return {"state": state, "why": _worded(why), "was": size, "taken": taken(original.text(), message.text())}

    def _message(self, message: Message, raw: Any) -> dict[str, Any]:
        units, category = size_in(self._context, self._source.meter, raw)
        if category not in ("summary", "framing") and message.text().startswith(HEAD):
            category = "memory"
        names = [piece.name for piece in message.pieces if piece.kind == "call" and piece.name]
        return self._row(category, _shown(message), units, role=message.role, name=", ".join(names))

    def _left_out(self, places: range) -> Iterator[dict[str, Any]]:
        for source in places:
            raw = self._source.messages[source]
            row = self._message(self._read(raw), raw)
            why = _worded(self._reasons.get(source, "It was left out."))
            yield {**row, "state": "left out", "sent": False, "from": source, "why": why, "units": row["units"]}

    def _origin(self, place: int, at: int | None, message: Message, after: int) -> tuple[int | None, str]:
        """Return the index of the original of a sent message, and how the message was changed."""
        if at is not None:
            return at, "whole"
        kind = _kind(message)
        if kind != "added":
            return None, kind
        sent, messages = self._source.sent, self._source.messages
        until = next((known for known, _ in sent[place + 1 :] if known is not None), len(messages))
        text, best = message.text(), (0, -1, "")
        for source in range(after, until):
            original = self._read(messages[source])
            if original.role == message.role and _ids(original) == _ids(message):
                best = max(best, (_alike(original.text(), text), source, original.text()))
        if best[1] < 0:
            return None, kind
        return best[1], "extended" if text.startswith(best[2]) else "shortened"

    def _sections(self) -> Iterator[dict[str, Any]]:
        """Yield the sections of a prompt, and the text between them."""
        source = self._source
        receipt = source.receipt
        assert receipt is not None
        given = receipt.capture
        assert given is not None
        whole = {section.name: section.text for section in given.sections}
        for part in receipt.parts:
            text = source.texts.get(part.name, "") if part.present else whole.get(part.name, "")
            more = _part(part)
            state = more["state"]
            if state in ("shortened", "summarised") and part.present:
                more["taken"] = taken(whole.get(part.name, ""), text)
            yield self._row("section", text, part.used if part.present else part.size, **more)
        if receipt.joins:
            why = "Separators, and tokens that merge where texts meet."
            yield self._row("framing", "", receipt.joins, role="between the sections", why=why)

    def _sums(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each category of a prompt whose texts were not kept."""
        receipt = self._source.receipt
        if receipt is not None:
            for part in receipt.parts:
                category = part.name if part.name in ("tools", "system", "memory") else "messages"
                yield self._row(category, "", part.used if part.present else part.size, **_part(part))
            return
        for name, units in (self._source.body.get("categories") or {}).items():
            yield self._row(name, "", units, why="")

    def _correction(self, units: int) -> dict[str, Any]:
        if self._source.kind == "sums" and not self._source.body.get("categories"):
            return self._row("messages", "", units, why="Only the sum was recorded.")
        why = "This provider does not publish how it counts: the parts are estimates, corrected by its reported usage."
        if self._source.body.get("exact"):
            why = "The prompt is counted as a whole: tokens merge where texts meet."
        return self._row("correction", "", units, role="correction of the estimate", why=why)

    def _read(self, raw: Any) -> Message:
        try:
            return self._context.history.turns.wire.read(raw, 0)
        except BrimError:
            return Message(role="other", pieces=(), raw=raw)


def _part(part: Part) -> dict[str, Any]:
    """Return what a row shows of a section or a turn of a receipt."""
    state = {"cut": "shortened", "form": "shortened", "dropped": "left out"}.get(part.state, part.state)
    about = {"role": part.name, "state": state, "why": _worded(part.reason)}
    return {**about, "was": part.size, "sent": part.present}


_BECAUSE = {
    "note": "brim's note about what was left out.",
    "memory": "The memory of the program, at the end of each prompt.",
    "system prompt": "It is always kept.",
    "summary": "It summarises earlier messages.",
    "added": "Added by brim.",
}


def _worded(reason: str) -> str:
    return _WORDS.get(reason, reason[:1].upper() + reason[1:])


def _reasons(parts: Sequence[Part]) -> dict[int, str]:
    """Return the reason for the state of each message, by index."""
    found: dict[int, str] = {}
    for part in parts:
        match = _RANGE.match(part.name)
        if match:
            start, stop = int(match[1]), int(match[2] or int(match[1]) + 1)
            found |= dict.fromkeys(range(start, stop), part.reason)
    return found


def _shown(message: Message) -> str:
    """Return the text to show for a message: its texts, calls, results and thinking; media by their kind."""
    lines = []
    for piece in message.pieces:
        if piece.kind in ("text", "output"):
            lines.append(piece.text)
        elif piece.kind == "call":
            lines.append(f"{piece.name} {piece.text}")
        elif piece.kind == "thinking":
            lines.append("[sealed thinking]" if piece.name == "sealed" else piece.text)
        elif piece.kind in ("image", "audio", "file"):
            lines.append(f"[{piece.kind}, {len(piece.text):,} characters of its source]")
        elif piece.kind == "opaque":
            lines.append(piece.text)
    return "\n".join(lines) if message.pieces else _pretty(message.raw)


def taken(original: str, text: str) -> list[list[str]]:
    """Return the difference between an original and the sent text in pieces: `=` in both, `-` removed, `+` added.

    Joined, the pieces of `=` and `-` give the original.
    """
    old, new = original.split("\n"), text.split("\n")
    if len(old) + len(new) > _MOST_LINES or (len(old) < 3 and len(new) < 3):
        start = len([*takewhile(lambda pair: pair[0] == pair[1], zip(original, text, strict=False))])
        room = min(len(original), len(text)) - start
        ends = zip(original[::-1][:room], text[::-1][:room], strict=False)
        end = len([*takewhile(lambda pair: pair[0] == pair[1], ends)])
        parts = [["=", text[:start]], ["-", original[start : len(original) - end]]]
        parts += [["+", text[start : len(text) - end]], ["=", text[len(text) - end :] if end else ""]]
        return [part for part in parts if part[1]]
    old, new = original.splitlines(keepends=True), text.splitlines(keepends=True)
    found: list[list[str]] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(["=", "".join(old[i:j])])
        else:
            found += [[sign, "".join(lines)] for sign, lines in (("-", old[i:j]), ("+", new[k:m])) if lines]
    return found


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _system_text(system: Any) -> str:
    if isinstance(system, Mapping):
        system = system.get("parts")
    blocks: list[Any] = [each.get("text") if isinstance(each, Mapping) else None for each in system or ()]
    return "\n".join(blocks) if blocks and all(isinstance(each, str) for each in blocks) else _pretty(system)


def tool_name(tool: Any) -> str:
    """Return the name of a tool definition; empty if it has none."""
    held = tool.get("function") if isinstance(tool, Mapping) and isinstance(tool.get("function"), Mapping) else tool
    name = held.get("name") or held.get("type") if isinstance(held, Mapping) else ""
    return name if isinstance(name, str) else ""


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
    if message.text().startswith(HEAD):
        return "memory"
    return "summary" if mark.piece_of(message) is not None else "added"
