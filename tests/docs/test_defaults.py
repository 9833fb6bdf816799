"""Every sentence of the pages about a default is true: each is listed here with what checks it against the code."""

import inspect
import re

import pytest

import brim
from brim.history.compact.plan import plan
from brim.integrations.calls import FittedCalls
from brim.sessions.conversations.remembered import _MOST_BYTES
from brim.sessions.loop.progress import Limits
from brim.sessions.settings import OPTIONS
from checkout import ROOT

GENERATED = ("reference", "design", "runs")
CALL = {"type": "function", "function": {"name": "read", "arguments": "{}"}}


def setting(key):
    return brim.load_config(environ={}).resolve().value(key)


def argument(called, name):
    return inspect.signature(called).parameters[name].default


def history(turns):
    messages = [{"role": "user", "content": "Find the fault."}]
    for i in range(turns):
        messages.append({"role": "assistant", "content": f"Step {i}.", "tool_calls": [{"id": f"c{i}", **CALL}]})
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"line {i} of the log is fine\n" * 30})
    return messages


def no_summary():
    """Return whether conversations and sessions are cut without a summary."""
    requests, messages = brim.Conversations(brim.Window(2_000), model="gpt-5"), history(40)
    sent = [requests.request(messages[: 1 + 2 * i]).messages for i in range(1, 41)]
    session = brim.Session(window=2_000, model="gpt-5")
    for message in messages:
        session.add(message)
        if message["role"] == "tool":
            sent.append(session.prompt().messages)
    assert session.status().compactions > 0
    assert "[CONTEXT_SUMMARY]" in str(_summarised(messages)), "the check would see a summary"
    return "[CONTEXT_SUMMARY]" not in str(sent)


def _summarised(messages):
    session = brim.Session(window=2_000, model="gpt-5", summarise="extract")
    session.add(messages)
    return session.prompt().messages


def fitted_by(**settings):
    """Return whether a fit of the newest turns is what these settings ask for."""
    given = history(40)
    usual = brim.fit_messages(given, 1_000, model="gpt-5").messages
    return usual == brim.fit_messages(given, 1_000, model="gpt-5", **settings).messages


def own_window(model="gpt-5"):
    """Return whether a request without a window is fitted to that of its model."""
    request = brim.Conversations().request(history(3), model=model)
    return request.room is not None and request.room.window == brim.Window.of(model).size


def recognised():
    """Return whether a request continues the conversation whose messages it begins with."""
    conversations, messages = brim.Conversations(brim.Window(2_000), model="gpt-5"), history(40)
    for i in range(30, 41):
        conversations.request(messages[: 1 + 2 * i])
    conversations.request([{"role": "user", "content": "Something else."}])
    return len(conversations) == 2


def by_priority():
    """Return whether a pack of a curator without settings selects by priority."""
    steps = [{"step_id": str(i), "agent": "gh-reporter", "output": "x " * 9_000} for i in range(40)]
    pack = brim.Curator(brim.load_config(environ={})).prepare({"id": "9", "agent": "fixer", "task": "x"}, steps)
    return pack.receipt["context_truncation"]["priority_aware"]


CLAIMS = {
    "by default there is none, and they are shortened in place": no_summary,
    "none by default": no_summary,
    "By default, nothing is summarised": no_summary,
    "none (the default)": no_summary,
    "by default the model's window from the catalogue": own_window,
    "by default the name that the framework has for it, or else it is recognised [by its messages](../sessions.md#whose-conversation-it-is)": recognised,
    "or an open store; by default memory": lambda: (
        argument(FittedCalls, "conversations") is None and argument(brim.Conversations, "store") is None
    ),
    "`tool_limit` (64 tokens or more); by default, there is no limit": lambda: (
        OPTIONS["tool_limit"].default is None and setting("session.tool_limit") is None
    ),
    '| `"cap"` (default) |': lambda: OPTIONS["compact_at"].default == "cap",
    "`stable=True` is the default in sessions and the gateway": lambda: (
        OPTIONS["stable"].default is True and setting("session.stable") is True
    ),
    "a cut leaves (default 0.8)": lambda: brim.Stable().low == 0.8,
    "is cut (default 1.0)": lambda: brim.Stable().high == 1.0,
    "By default, as many as fit": lambda: fitted_by(select="recency"),
    '`select="recency"`, the default': lambda: fitted_by(select="recency"),
    "By default a receipt contains no text": lambda: (
        "of the log" not in brim.fit_messages(history(9), 300, model="gpt-5").receipt.to_json()
    ),
    "a notice of each sub-tick; by default there is none": lambda: setting("loop.boundary") == "silent",
    "| `fit` | is fitted (default) |": lambda: setting("gateway.policy") == "fit",
    "| | `fit` (default) | `refuse` |": lambda: setting("gateway.policy") == "fit",
    "1,000 by default": lambda: setting("gateway.most_connections") == 1_000,
    "`priority` (the default of packs and flows)": by_priority,
    "the default of flows and packs; `history.selection": by_priority,
    "by default the newest of a tier stay": lambda: (
        (setting("history.within"), setting("history.pin_most_recent")) == ("newest_first", True)
    ),
    "by default budgets are merged value by value": lambda: setting("override_mode") == "merge",
    "by default older steps may be shorter": lambda: setting("bounds") != "strict_seed",
    "`wrap` is the default: what `brim.wrap`": lambda: _audit_default() == ["wrap"],
    # Numbers of defaults in other words.
    "`max_iterations` (20), `max_sub_ticks` (10 in one iteration), `max_steps` (1,000 in one iteration)": lambda: (
        [getattr(Limits(goal="x"), f"max_{name}") for name in ("iterations", "sub_ticks", "steps")] == [20, 10, 1_000]
    ),
    "`memory_limit` (50,000)": lambda: OPTIONS["memory_limit"].default == 50_000,
    "by default; `memory` sets another limit in bytes": lambda: _MOST_BYTES == 64 * 1024 * 1024,
    "the share of the window that a tick may use (15 % by default)": lambda: Limits(goal="x").tick_cap == 0.15,
    "`handoff_share` (a quarter)": lambda: Limits(goal="x").handoff_share == 0.25,
    "each text of a tool result takes at most a quarter of the tick's budget": lambda: (
        argument(brim.Loop, "tool_limit") == "25%"
    ),
    "Without a `reserve`, `Window.of` reserves an eighth of the window, 4,096 tokens at most": lambda: (
        [brim.Window.of(model).reserve for model in ("gpt-4", "gpt-5")] == [1_024, 4_096]
    ),
    "may take `timeout_seconds` (30)": lambda: setting("timeout_seconds") == 30,
    "the newest `keep_turns` turns (3 by default)": lambda: argument(plan, "keep_turns") == 3,
    "`summary_share` of `room` (a quarter by default)": lambda: argument(plan, "summary_share") == 0.25,
}
"""A sentence, or a part of one, and whether the code does what it says."""

OTHER = (
    "`gateway.policy` is the default. Rules override it",
    "budgets that it does not set have their defaults",
    "Without a file, the defaults apply",
    "| `defaults` | the table of settings |",
    "`defaults:` and `budget_overrides:`",
    "a source of settings: defaults, user, project",
    "defaultCompletionOptions",
    "from_defaults(",
)
"""Lines with the word that state no default of brim's."""


def _audit_default():
    from brim.audit.policy import policies_of

    return [each.name for each in policies_of([])]


def pages():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.parent.name not in GENERATED and path.name != "evidence.md":
            yield path, path.read_text(encoding="utf-8")


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_page_says_about_a_default_is_so(claim):
    assert CLAIMS[claim](), claim


def test_every_sentence_about_a_default_is_checked():
    lines = [(path.name, line) for path, text in pages() for line in text.splitlines()]
    found = [(name, line) for name, line in lines if re.search(r"default", line, re.IGNORECASE)]
    assert len(found) > 20
    assert [each for each in found if not any(known in each[1] for known in (*CLAIMS, *OTHER))] == []


def test_no_claim_is_left_that_no_page_makes():
    text = "\n".join(text for _, text in pages())
    assert [claim for claim in (*CLAIMS, *OTHER) if claim not in text] == []


def test_no_page_says_that_older_turns_become_a_summary_by_themselves():
    wrong = r"(turns|steps|messages) (have )?(become|became) a\s+summary|turns are summarised"
    assert [path.name for path, text in pages() if re.search(wrong, text)] == []


def test_the_readme_shows_the_text_that_its_example_prints(capsys):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## What the agent still sees")[2]
    code, shown = (re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL)[1] for kind in ("python", "text"))
    exec(compile(code, "README.md", "exec"), {"brim": brim})
    assert capsys.readouterr().out == shown
