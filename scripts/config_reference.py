"""Write docs/reference/config.md from the table of settings.

python scripts/config_reference.py            write the page
python scripts/config_reference.py --check    fail if the page is not what would be written
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brim.settings.authors import SAME, WORDS
from brim.settings.budgets import PRESETS, WINDOWS, Budgets
from brim.settings.keys import FLOW_KEYS, GROUPS, PROFILE_KEYS, SETTINGS, STEP_KEYS, TOP_KEYS, OwnKey
from brim.settings.project import SHIPPED
from generated import run, safe

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "config.md"

_HEAD = """\
# Settings

<!-- Written by scripts/config_reference.py from the table of settings; do not edit. -->

Every key of `brim.yaml`. Profiles, flows and steps take the same keys, unless the table says "top of the file". The
variable of a key is `BRIM_` and its parts in capitals, joined by two underscores. [The guide](../configuration.md)
explains which layer overrides which.
"""


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD, _table("At the top", "", [key for key in SETTINGS if "." not in key])]
    for group, sentence in GROUPS.items():
        keys = [key for key in SETTINGS if key.startswith(f"{group}.")]
        parts.append(_table(f"`{group}`", sentence + _more(group), keys))
    parts.append(_presets())
    others = {"file": TOP_KEYS, "profile": PROFILE_KEYS, "flow": FLOW_KEYS, "step": STEP_KEYS}
    parts += [_other_keys(title, keys) for title, keys in others.items()]
    parts.append(_words())
    return "\n".join(parts)


def _more(group: str) -> str:
    if group == "budgets":
        return " In profiles, flows and steps also written `budget_overrides`. A program reads them by the short name."
    if group == "sections":
        return ' Each name is a section; `"*"` has the defaults of all others.'
    return ""


def _table(title: str, sentence: str, keys: list[str]) -> str:
    rows = "\n".join(_rows(keys))
    intro = f"{sentence}\n\n" if sentence else ""
    return f"## {title}\n\n{intro}| key | takes | default | what it does | variable |\n|---|---|---|---|---|\n{rows}\n"


def _rows(keys: list[str]) -> Iterator[str]:
    for key in keys:
        setting = SETTINGS[key]
        place = " At the top of the file." if setting.top else ""
        cells = (
            f"`{key}`",
            safe(setting.expected),
            f"`{_default(setting.default)}`",
            safe(setting.doc + place),
            f"`{setting.variable}`",
        )
        yield f"| {' | '.join(cells)} |"


def _default(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _presets() -> str:
    rows = [*(_budgets(f"`{name}`", values) for name, values in PRESETS.items())]
    rows += [_budgets(f"a window of {window:,} tokens", values) for window, values in WINDOWS.items()]
    rows.append("| any other window | 25 % | 7.5 % | 1.25 % |")
    head = "| | `context_budget_chars` | `history_max_recent_chars` | `history_max_older_chars` |\n|---|---|---|---|\n"
    intro = (
        "Presets by name, and the budgets of `brim.settings.budgets.scaled` for a window: percent of its characters,"
        " four to a token."
    )
    return f"## Presets\n\n{intro}\n\n{head}" + "\n".join(rows) + "\n"


def _budgets(title: str, values: Budgets) -> str:
    return f"| {title} | " + " | ".join(f"{number:,}" for _, number in values.items()) + " |"


def _other_keys(title: str, keys: Mapping[str, OwnKey]) -> str:
    rows = "\n".join(f"| `{key}` | {safe(doc)} |" for key, (_, doc) in keys.items())
    more = f"Shipped profiles: {', '.join(f'`{name}`' for name in SHIPPED)}.\n\n" if title == "profile" else ""
    return f"## Other keys of a {title}\n\n{more}| | |\n|---|---|\n{rows}\n"


def _words() -> str:
    same = ", ".join(f"`{alias}` is `{group}`" for alias, group in SAME.items())
    rows = "\n".join(f"| `{word.place}` | {safe(word.expected)} | `{word.key}` | {safe(word.doc)} |" for word in WORDS)
    intro = f"Other names of settings, in the words of those whose profiles come with brim. Of groups: {same}."
    return f"## Words\n\n{intro}\n\n| word | takes | setting | what it does |\n|---|---|---|---|\n{rows}\n"


if __name__ == "__main__":
    sys.exit(run(PAGE, page))
