"""Every key of the table does something: it is changed in YAML, and seen in what comes out.

A probe is a file without the key, the same file with it, and a look at what the settings make. A key that has no probe,
and a probe whose looks are the same, fail by name.
"""

import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

import brim
from brim.settings.keys import SETTINGS, name_of
from brim.testing import Scripted
from gateway_probes import GATEWAY
from pack_probes import PACK_PROBES
from session_probes import RUNNING

ENGLISH = "The build was green and the tests ran for a while. "
LINES = "\n".join(f"line {i} of the log" for i in range(60))


@dataclass(frozen=True)
class Probe:
    look: Any
    """What is seen, given the settings."""
    value: Any
    """What the key is changed to."""
    beside: str = ""
    """The rest of the file."""
    name: str = "plan"
    """The section, where the key is one of sections."""


def steps(*agents, text=ENGLISH * 20):
    task = {"role": "user", "content": "Ship it. " * 50}
    made = [{"role": "assistant", "name": agent, "content": f"{i} {text}"} for i, agent in enumerate(agents)]
    return [task, *made, {"role": "user", "content": "Go on."}]


def prompt(**contents):
    return lambda settings: settings.fit(contents).text


def refusal(**contents):
    def look(settings):
        try:
            return settings.fit(contents).text
        except brim.BrimError as error:
            return type(error)

    return look


def messages(*agents, **asked):
    history = steps(*(agents or ["fixer"] * 40))
    return lambda settings: settings.fit_messages(history, **asked).messages


def logged(**contents):
    """Look at what is logged while a prompt is made."""

    def look(settings):
        told, log = [], logging.getLogger("brim")
        seen = logging.Handler(logging.WARNING)
        seen.emit = lambda record: told.append(record.getMessage())
        log.addHandler(seen)
        try:
            settings.fit(contents, agent="a1")
        finally:
            log.removeHandler(seen)
        return told

    return look


def calls(settings):
    """Return how often a model is asked for one answer."""
    return settings.exchange({"history": LINES}, Scripted(lambda _: "short")).calls


TWO = {"plan": "p" * 300, "log": "l" * 300}
CHARS = "meter: chars\n"
TIGHT = "meter: chars\nprompt: {total: 200}\n"
SMALL = "budgets: {context_budget_chars: 10000}\n"
PRIORITY = "history: {selection: priority}\n" + SMALL
KNOWN = "history: {selection: priority, agents: flow}\n" + SMALL
MANY = [f"entry {i}" for i in range(30)]


def unstable(settings):
    """Return two prompts of a conversation that grows: a held cut keeps the start of the second."""
    history = steps(*(["fixer"] * 40))
    first = settings.fit_messages(history)
    again = settings.fit_messages(
        [*history, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "and"}]
    )
    return first.stable is None, first.messages == again.messages[: len(first.messages)]


def long_task(settings):
    """Return what becomes of a task that is bigger than the budget."""
    history = steps("a")
    history[0] = {"role": "user", "content": "t" * 12_000}
    try:
        return settings.fit_messages(history).messages
    except brim.DoesNotFit as error:
        return error.needed > error.available


PROBES = {
    "profile": Probe(messages(*["fixer"] * 20, *["doc-writer"] * 20), "flow", SMALL),
    "model": Probe(lambda settings: (settings.window(), settings.fit({"a": "x"}).receipt.meter), "gpt-5"),
    "meter": Probe(prompt(plan=ENGLISH * 99), "chars", "prompt: {total: 200}\n"),
    "safety_margin": Probe(prompt(plan=ENGLISH * 99), "10%", "meter: chars/4\nprompt: {total: 200}\n"),
    "bounds": Probe(messages(*["fixer"] * 9), "strict_seed", "budgets: {history_max_older_chars: 600}\n"),
    "override_mode": Probe(
        messages(),
        "replace",
        "budgets: {history_max_older_chars: 600}\nprofile: p\nprofiles: {p: {budgets: {context_budget_chars: 11000}}}\n",
    ),
    "window.size": Probe(prompt(plan=ENGLISH * 99), 200, "model: gpt-5\n"),
    "window.reserve": Probe(prompt(plan=ENGLISH * 99), 100, "window: {size: 300}\n"),
    "window.cap": Probe(prompt(plan=ENGLISH * 99), 0.5, "window: {size: 300}\n"),
    "window.warn": Probe(lambda settings: settings.window().warning, 0.1, "window: {size: 300}\n"),
    "window.limit": Probe(prompt(plan=ENGLISH * 99), 100, "window: {size: 300}\n"),
    "budgets.preset": Probe(messages(*["fixer"] * 200), "lean"),
    "budgets.context_budget_chars": Probe(messages(), 12_000),
    "budgets.history_max_recent_chars": Probe(
        lambda settings: settings.fit_messages(steps("a", text=ENGLISH * 90)[:-1]).messages, 1_100
    ),
    "budgets.history_max_older_chars": Probe(messages(), 600),
    "prompt.enabled": Probe(prompt(**TWO), False, TIGHT),
    "prompt.total": Probe(prompt(**TWO), 250, CHARS),
    "prompt.reserve": Probe(prompt(**TWO), 50, TIGHT),
    "prompt.overflow": Probe(prompt(**TWO), "drop", TIGHT),
    "prompt.own_budget": Probe(prompt(plan="context_budget: {sections: {log: 9}}\n", log="l" * 99), "plan", TIGHT),
    "prompt.policy": Probe(prompt(**TWO), "skip", TIGHT),
    "prompt.fill": Probe(prompt(**TWO), "fair", TIGHT),
    "prompt.order": Probe(prompt(log="l", plan="p"), "priority", "sections: {plan: {priority: high}}\n"),
    "prompt.separator": Probe(prompt(**TWO), "\n---\n"),
    "prompt.template": Probe(prompt(**TWO), "<{plan}|{log}>"),
    "prompt.show_budget": Probe(prompt(**TWO), True, "prompt: {total: 2000}\n"),
    "prompt.direction": Probe(prompt(**TWO), "higher", TIGHT + "sections: {plan: {priority: 1}, log: {priority: 9}}\n"),
    "prompt.unknown_section": Probe(refusal(plan="x"), "error"),
    "prompt.required_overflow": Probe(refusal(**TWO), "shrink", TIGHT + "sections: {plan: {required: true}}\n"),
    "prompt.stages": Probe(prompt(plan=LINES, log="l"), [{"section": "plan", "last": 3}], TIGHT),
    "prompt.hard_marker": Probe(prompt(**TWO), "<<", TIGHT),
    "prompt.log": Probe(logged(**TWO), True, TIGHT),
    "sections.*.priority": Probe(prompt(log="l" * 300, plan="p" * 300), "high", TIGHT),
    "sections.*.required": Probe(refusal(log="l" * 150, plan="p" * 150), True, TIGHT),
    "sections.*.floor": Probe(prompt(log="l" * 150, plan="p" * 300), 100, TIGHT),
    "sections.*.ceiling": Probe(prompt(plan="p" * 300), "10%", TIGHT),
    "sections.*.keep": Probe(prompt(plan=LINES), "tail", TIGHT),
    "sections.*.overflow": Probe(prompt(**TWO), "drop", TIGHT),
    "sections.*.weight": Probe(prompt(**TWO), 3, "meter: chars\nprompt: {total: 200, fill: fair}\n"),
    "sections.*.stable": Probe(prompt(**TWO), True, TIGHT),
    "sections.*.enabled": Probe(prompt(**TWO), False),
    "sections.*.marker": Probe(prompt(plan="p" * 300), "<<", TIGHT),
    "sections.*.joiner": Probe(prompt(plan=MANY), "; "),
    "sections.*.most": Probe(prompt(plan=MANY), 3),
    "history.selection": Probe(messages(*["code-critic"] * 20, *["doc-writer"] * 20), "priority", SMALL),
    "history.within": Probe(messages(*["code-critic"] * 40), "oldest_first", PRIORITY),
    "history.pin_first_user": Probe(long_task, True, SMALL),
    "history.note": Probe(messages(), False, SMALL),
    "history.stable": Probe(unstable, True, SMALL),
    "history.strategy": Probe(calls, "B", TIGHT),
    "history.agents": Probe(messages("self-reviewer", *["fixer"] * 40), "flow", PRIORITY),
    "history.classes.critical": Probe(messages("mine", *["fixer"] * 40), ["mine"], PRIORITY),
    "history.classes.high": Probe(messages("mine", *["fixer"] * 40), ["mine"], PRIORITY),
    "history.classes.medium": Probe(messages("doc-writer", *["gh-reporter"] * 40), ["doc-writer"], KNOWN),
    "history.classes.low": Probe(messages(*["fixer"] * 40, "mine", "mine"), ["mine"], PRIORITY),
}
"""A probe for every key that `fit` and `fit_messages` read."""

PROBES |= {key: Probe(*row) for key, row in RUNNING.items()}
PROBES |= {key: Probe(*row) for key, row in GATEWAY.items()}

PACKS = {
    "budgets.timeout_seconds",
    "history.pin_most_recent",
    *(key for key in SETTINGS if key.startswith("curator.")),
}
"""Keys that the curator reads."""


def written(key, value, name):
    """Return a file that sets one key."""
    *groups, last = key.replace("*", name).split(".")
    inner = {last: value}
    for group in reversed(groups):
        inner = {group: inner}
    return inner


def merged(one, other):
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    return {**one, **{key: merged(one[key], other[key]) if key in one else other[key] for key in other}}


@pytest.mark.requirement("X9")
@pytest.mark.parametrize("key", sorted(set(SETTINGS) - PACKS))
def test_every_key_changes_what_comes_out(project, key):
    probe = PROBES.get(key)
    assert probe is not None, f"{key} has no probe: nothing shows that it does anything"
    before = yaml.safe_load(probe.beside) or {}
    after = merged(before, written(key, probe.value, probe.name))
    old = project(json.dumps(before)).resolve()
    new = project(json.dumps(after)).resolve()
    named = name_of(key.replace("*", probe.name))
    assert new[named].value == probe.value
    assert new[named].origin == "project"
    assert probe.look(old) == probe.look(project(json.dumps(before)).resolve()), "a look that is never the same"
    assert probe.look(old) != probe.look(new), f"{key} has no effect"


@pytest.mark.parametrize("key", sorted(PACKS))
def test_every_key_of_the_curator_changes_a_pack(project, key):
    assert key in PACK_PROBES, f"{key} has no probe: nothing shows that it does anything"
    PACK_PROBES[key](project)


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_every_key_can_be_set_in_every_layer_and_by_its_variable(project, key):
    setting = SETTINGS[key]
    value = (
        PROBES[key].value
        if key in PROBES
        else {"enabled": False, "artifacts": False, "pin_most_recent": False}.get(key.split(".")[-1], 7)
    )
    if key in ("curator.model", "curator.url"):
        value = "x"
    own = written(key, value, "plan")
    named = name_of(key.replace("*", "plan"))
    layers = {"project": own}
    if not setting.top:
        layers["profile"] = {"profiles": {"p": own}}
        layers["flow"] = {"flows": {"f": own}}
        layers["step"] = {"flows": {"f": {"steps": [{"id": "s", **own}]}}}
    for layer, text in layers.items():
        asked = {"profile": "p"} if layer == "profile" else {"flow": "f"} if layer == "flow" else {}
        asked = {"flow": "f", "step": "s"} if layer == "step" else asked
        found = project(json.dumps(text)).resolve(**asked)[named]
        assert (found.value, found.origin) == (value, layer)
        assert found.where.endswith("brim.yaml:1")
    variable = setting.variable.replace("*", "PLAN")
    text = value if isinstance(value, str) and not isinstance(setting.default, int) else json.dumps(value)
    found = project(environ={variable: text}).resolve()[named]
    assert (found.value, found.origin, found.where) == (value, "env", variable)


def test_a_key_without_effect_would_be_seen(project):
    look = PROBES["prompt.total"].look
    assert look(project("curator: {artifacts: false}\n").resolve()) == look(project().resolve())
