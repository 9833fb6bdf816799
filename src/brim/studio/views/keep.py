"""Finds the setting that would keep a dropped or shortened message whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from brim.errors import InvalidType
from brim.redaction import redact
from brim.studio.prompt_rows import PromptRows
from brim.studio.prompt_source import opened_prompt
from brim.studio.views.sessions import role_and_text
from brim.studio.workspace import Workspace
from brim.truncate.failure import is_code, reports_failure

KEY = "history.pin"
LONGEST = 80
"""Characters of a phrase."""
_SHORTEST = 12
_FEW = 2
"""How many other messages may contain the phrase."""


def keep(workspace: Workspace, session: str, step: str, at: str) -> dict[str, Any]:
    """Return the setting that keeps a message of a prompt whole next time.

    Args:
        workspace: where the prompt is.
        session: its session.
        step: its number in the session.
        at: the number of a row of the view `prompt` that was left out or shortened.

    Raises:
        UnknownName: there is no such prompt.
        InvalidType: there is no such row, it was not changed, or its text was not kept.
    """
    source = opened_prompt(workspace, session, step)
    rows = PromptRows(source).rows()
    row = rows[int(at)] if at.isdigit() and len(at) < 8 and int(at) < len(rows) else None
    if row is None or row["from"] is None or row["state"] not in ("left out", "shortened"):
        raise InvalidType("at", at, "the number of a message that was left out or shortened, with its text")
    texts = [role_and_text(raw, source.format)[1].casefold() for raw in source.messages]
    phrase = _phrase(role_and_text(source.messages[row["from"]], source.format)[1], texts)
    if not phrase:
        raise InvalidType("at", at, "the index of a message that has text")
    known = [each for each in workspace.settings().resolve().value(KEY) if each != phrase]
    having = sum(phrase.casefold() in text for text in texts)
    return {
        "key": KEY,
        "text": phrase,
        "value": json.dumps([*known, phrase], ensure_ascii=False),
        "would": f"Messages with this text ({having:,} of {len(texts):,} here) stay whole in later prompts, also after"
        " cuts and summaries, as long as they take at most half of the history's budget; the newest come first.",
    }


def _phrase(text: str, texts: list[str]) -> str:
    """Return a line of a message that few other messages contain: an error, or else the first one."""
    lines = [*dict.fromkeys(clipped(line) for line in _telling(text))]
    counts = [(sum(line.casefold() in each for each in texts), i, line) for i, line in enumerate(lines)]
    few = next((line for count, _, line in counts if count <= _FEW + 1), None)
    return few or min(counts, default=(0, 0, ""))[2]


def _telling(text: str) -> Iterator[str]:
    """Yield the lines of a text: reported failures first, starting with the last, then long lines, then all.

    Lines with secrets are left out, since a settings file must not contain secrets.
    """
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line)) and redact(line) == line]
    yield from (line for line in reversed(lines) if reports_failure(line) and not is_code(line))
    yield from (line for line in lines if len(line) >= _SHORTEST)
    yield from lines


def clipped(words: str) -> str:
    """Return the start of a line, up to the end of a word."""
    if len(words) <= LONGEST:
        return words
    cut = words[:LONGEST]
    return cut.rpartition(" ")[0] if " " in cut[_SHORTEST:] else cut
