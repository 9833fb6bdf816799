"""Compares two prompts: which parts only one of them has, and which lines of a part differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from brim.studio.prompt_rows import PromptRows, taken
from brim.studio.prompt_source import opened_prompt
from brim.studio.workspace import Workspace

_NEAR = 0.3
"""The similarity from which one text is shown as a change of the other."""
_MOST = 20_000
"""Characters of each text that are compared for this."""


def prompt_diff(workspace: Workspace, session: str, step: str, other: str) -> dict[str, Any]:
    """Return the differences from another prompt of a session, usually an earlier one, to a prompt.

    Args:
        workspace: where they are.
        session: the session of the prompt.
        step: its number.
        other: the number of the prompt that it is compared with.

    Raises:
        UnknownName: one of them does not exist.
    """
    before, after = opened_prompt(workspace, session, other), opened_prompt(workspace, session, step)
    old, new = ([row for row in PromptRows(each).rows() if row["sent"]] for each in (before, after))
    had, has = ([(row["role"], row["name"], row["text"]) for row in rows] for rows in (old, new))
    changes: list[dict[str, Any]] = []
    for tag, i, j, k, m in SequenceMatcher(None, had, has, autojunk=False).get_opcodes():
        if tag == "equal":
            changes.append({"kind": "same", "parts": j - i, "units": sum(row["units"] for row in new[k:m])})
        else:
            changes += _paired(old[i:j], new[k:m])
    kinds = [each["kind"] for each in changes]
    return {
        "before": {"session": before.session, "step": before.step, "used": before.body["used"]},
        "after": {"session": after.session, "step": after.step, "used": after.body["used"]},
        "unit": after.body.get("unit"),
        "changes": changes,
        "counts": {kind: kinds.count(kind) for kind in ("added", "removed", "changed")},
    }


def _paired(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the changes in a run of parts; a part similar to one of the same role is shown as its change."""
    found: list[dict[str, Any]] = []
    at = 0
    for row in new:
        match = next((i for i in range(at, len(old)) if _alike(old[i], row)), None)
        if match is None:
            found.append(_change("added", row, [["+", row["text"]]]))
            continue
        found += [_change("removed", each, [["-", each["text"]]]) for each in old[at:match]]
        lines = taken(old[match]["text"], row["text"])
        found.append({**_change("changed", row, lines), "was": old[match]["units"]})
        at = match + 1
    return found + [_change("removed", each, [["-", each["text"]]]) for each in old[at:]]


def _change(kind: str, row: Mapping[str, Any], lines: list[list[str]]) -> dict[str, Any]:
    values = {name: row[name] for name in ("category", "role", "name", "units")}
    return {"kind": kind, **values, "lines": [line for line in lines if line[1]]}


def _alike(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    if (one["role"], one["category"]) != (two["role"], two["category"]):
        return False
    if one["category"] in ("tools", "system", "framing", "correction", "summary", "memory"):
        return True
    texts = one["text"][:_MOST], two["text"][:_MOST]
    if texts[0] == texts[1]:
        return True
    lines = SequenceMatcher(None, texts[0].split("\n"), texts[1].split("\n"), autojunk=False)
    return lines.ratio() >= _NEAR or SequenceMatcher(None, texts[0][:400], texts[1][:400]).ratio() >= 1 - _NEAR
