"""A prompt as one HTML file to share: no script, nothing to fetch, and secrets masked.

What is masked is shown before anything is saved. The file opens from disk; every text in it is escaped, and its policy
forbids scripts and the network, so a prompt that holds a page stays text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from html import escape
from typing import Any

from brim.errors import BrimError
from brim.files.json_strings import map_strings
from brim.flows.curator import KEY
from brim.history.compact.secrets import REMOVED, SHORTEST, masked_in, redact
from brim.studio.prompt_rows import taken
from brim.studio.views.prompt import prompt
from brim.studio.workspace import Workspace

COLOURS = {
    "system": "#8fa8ff",
    "tools": "#e69f00",
    "memory": "#f0e442",
    "pinned": "#f0e442",
    "summary": "#cc79a7",
    "user": "#56b4e9",
    "assistant": "#009e73",
    "tool results": "#d55e00",
    "section": "#56b4e9",
    "framing": "#c0c0c0",
}
"""One colour for one category, the same as on the page and in the terminal."""
_AROUND = 24
"""Characters around a masked secret in the preview."""
_MOST_SHOWN = 200
_MOST_KNOWN = 500
"""Secrets that are masked wherever they stand, beside the keys of the settings."""
_KEYS = ("gateway.keys", "gateway.upstream_key", "gateway.upstream_messages_key")
"""Settings that name variables with keys."""
_OTHERS = re.compile(r"[^A-Za-z0-9.-]+")
"""What a file name does not have."""
_STYLE = """
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 .3rem}
p{margin:.2rem 0}
.soft{opacity:.75}
table{border-collapse:collapse;width:100%;margin:1rem 0}
th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #8886}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
details{border-left:6px solid var(--c,#999);margin:.5rem 0;padding:.2rem .7rem;background:#8881}
summary{cursor:pointer;display:flex;gap:.7rem;align-items:baseline}
summary b{min-width:7rem}
summary .n{margin-left:auto;font-variant-numeric:tabular-nums}
.out summary b,.out pre{text-decoration:line-through}
.out{border-left-style:dashed}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;margin:.4rem 0}
del{opacity:.6}ins{text-decoration:none;font-weight:600}
"""


def prompt_export(workspace: Workspace, session: str | None, step: str | None, id: str | None) -> dict[str, Any]:
    """Return a prompt as an HTML file with its secrets masked, and a preview of what is masked.

    Raises:
        UnknownName: there is no such prompt.
    """
    values = prompt(workspace, session, step, id)
    found = (value for row in values["rows"] for text in _texts(row) for value in masked_in(text))
    mask = _mask(found, _own_keys(workspace))
    masked: list[dict[str, Any]] = []
    for row in values["rows"]:
        for text in (row["text"], *(each[1] for each in row["taken"] or ())):
            masked += [{"part": row["role"], "category": row["category"], **each} for each in _masked(text, mask)]
    if values["answer"]:
        answer = _masked(values["answer"]["text"], mask)
        masked += [{"part": "answer", "category": "assistant", **each} for each in answer]
    rows = [{**row, "taken": without_secrets(row["taken"], mask)} for row in values["rows"]]
    shown = map_strings({**values, "rows": rows}, mask)
    name = _OTHERS.sub("-", f"{values['session'] or values['id']}-step-{values['step'] or 1}").strip("-")
    unique = {(each["part"], each["around"]): each for each in masked}
    return {
        "name": f"{name}.html",
        "html": _page(shown),
        "masked": list(unique.values())[:_MOST_SHOWN],
        "count": len(unique),
    }


def without_secrets(pieces: list[list[str]] | None, mask: Callable[[str], str] = redact) -> list[list[str]] | None:
    """Return the pieces of a text, masked as a whole: a cut may run through a secret, whose halves look like none."""
    if not pieces:
        return pieces
    return taken(*map(mask, _sides(pieces)))


def _sides(pieces: list[list[str]]) -> list[str]:
    """Return a text as it came and as it was sent."""
    return ["".join(text for sign, text in pieces if sign != without) for without in "+-"]


def _texts(row: Mapping[str, Any]) -> list[str]:
    return [row["text"], *(_sides(row["taken"]) if row["taken"] else ())]


def _own_keys(workspace: Workspace) -> list[str]:
    """Return the keys that the settings name, as far as this process has their variables."""
    names = [KEY]
    with suppress(BrimError):  # Those of a folder that nobody trusts name nothing.
        settings = workspace.settings().resolve()
        for named in map(settings.value, _KEYS):
            names += [named] if isinstance(named, str) else named or ()
    return [key for name in names if len(key := os.environ.get(name, "").strip()) >= SHORTEST]


def _mask(secrets: Iterable[str], own: Iterable[str]) -> Callable[[str], str]:
    """Return what masks the secrets of a text, and known ones: a cut may leave a password and take away its name."""
    known = [*own, *sorted(dict.fromkeys(secrets), key=len, reverse=True)[:_MOST_KNOWN]]

    def masked(text: str) -> str:
        text = redact(text)
        for secret in known:
            text = text.replace(secret, REMOVED)
        return text

    return masked


def _masked(text: str, mask: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return where a text is masked, with a few characters around each place."""
    changed = mask(text)
    if changed == text:
        return []
    found, at = [], 0
    while (at := changed.find(REMOVED, at)) >= 0:
        start, end = max(0, at - _AROUND), at + len(REMOVED) + _AROUND
        found.append({"around": " ".join(changed[start:end].split())})
        at += len(REMOVED)
    return found


def _page(values: Mapping[str, Any]) -> str:
    unit = str(values["unit"] or "tokens")
    title = f"{values['session'] or values['id']}" + (
        f", step {values['step']} of {values['steps']}" if values["step"] else ""
    )
    of = f" of {values['budget']:,}" if values["budget"] else ""
    head = (
        f"<h1>{escape(title)}</h1><p>{escape(str(values['model'] or 'no model named'))} · "
        f"<b>{values['used'] or 0:,}</b>{of} {escape(unit)} · {'exact' if values['exact'] else 'estimated'}</p>"
    )
    sums: dict[str, int] = {}
    for row in values["rows"]:
        if row["sent"]:
            name = row["role"] if row["category"] == "section" else row["category"]
            sums[name] = sums.get(name, 0) + row["units"]
    table = "".join(f"<tr><td>{escape(name)}</td><td class=n>{units:,}</td></tr>" for name, units in sums.items())
    total = f"<tr><th>sum</th><th class=n>{sum(sums.values()):,}</th></tr>"
    rows = "".join(_row(row) for row in values["rows"])
    answer = ""
    if values["answer"]:
        text = escape(values["answer"]["text"])
        colour = COLOURS["assistant"]
        head_of = f'<h2>The answer</h2><details open style="--c:{colour}"><summary><b>assistant</b></summary>'
        answer = f"{head_of}<pre>{text}</pre></details>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"{head}<p class=soft>Written by brim studio; secrets are masked. What is struck through was not sent.</p>"
        f"<table><thead><tr><th>part</th><th class=n>{escape(unit)}</th></tr></thead>"
        f"<tbody>{table}{total}</tbody></table>"
        f"{rows}{answer}</body></html>\n"
    )


def _row(row: Mapping[str, Any]) -> str:
    colour = COLOURS.get(row["category"], "#999999")
    text = escape(row["text"])
    if row["taken"]:
        tags = {"=": ("", ""), "-": ("<del>", "</del>"), "+": ("<ins>", "</ins>")}
        text = "".join(f"{tags[sign][0]}{escape(part)}{tags[sign][1]}" for sign, part in row["taken"])
    state = "" if row["state"] == "whole" else f" <i>{escape(row['state'])}</i>"
    why = f"<p class=soft>{escape(row['why'])}</p>" if row["why"] else ""
    name = f" <span class=soft>{escape(row['name'][:80])}</span>" if row["name"] else ""
    body = f"<pre>{text}</pre>" if text else ""
    left, opened = (" class=out", "") if not row["sent"] else ("", " open" if len(text) < 2_000 else "")
    return (
        f'<details{left}{opened} style="--c:{colour}"><summary><b>{escape(row["role"])}</b>{state}{name}'
        f"<span class=n>{row['units']:,}</span></summary>{why}{body}</details>"
    )
