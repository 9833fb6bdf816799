"""Every key of the table does what it says: it is changed in YAML, and its effect is seen in what comes out.

A probe is a file without the key, the same file with it, a look at what the settings make, and the effect: a statement
about both looks that is false if the key does nothing, or the opposite. A key that has no probe fails by name.
"""

import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

import brim
from brim.gateway.settings import RequestRule, settings_of
from brim.settings.keys import SETTINGS, name_of
from brim.testing import Scripted
from settings.pack_probes import PACK_PROBES
from settings.session_probes import RUNNING

ENGLISH = "The build was green and the tests ran for a while. "
LINES = "\n".join(f"line {i} of the log" for i in range(60))
CUT = "\n[remainder omitted]"
NOTE = "[CONTEXT_TRUNCATED]"


@dataclass(frozen=True)
class Probe:
    look: Any
    """What is seen, given the settings."""
    value: Any
    """What the key is changed to."""
    effect: Any
    """Whether two looks, before and after the change, show what the key promises."""
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


def becomes(was, now):
    """An effect that is known to the letter."""
    return lambda before, after: (before, after) == (was, now)


def tokens(was, now):
    """The effect of a limit on text: it is filled, and not exceeded, before and after."""
    count = brim.meter("o200k_base").count
    return lambda before, after: was - 3 <= count(before) <= was and now - 3 <= count(after) <= now


def characters(messages):
    """Return the characters of messages, which keep the task and the question."""
    assert (messages[0]["content"][:8], messages[-1]["content"]) == ("Ship it.", "Go on.")
    return sum(len(message["content"]) for message in messages)


def sizes(messages):
    """Return the characters of each step."""
    return [len(message["content"]) for message in messages if message["role"] == "assistant"]


def numbers(messages):
    """Return which steps stayed."""
    return [int(message["content"].split()[0]) for message in messages if message["role"] == "assistant"]


def names(messages):
    """Return the agents of the steps that stayed, in order."""
    return [message["name"] for message in messages if message["role"] == "assistant"]


def noted(messages):
    return [message for message in messages if message["content"].startswith(NOTE)]


def kept_instead(agent):
    """The effect of a higher class: the oldest step stays, at the cost of the oldest of the others."""

    def effect(before, after):
        first, *rest = numbers(before)
        return agent not in names(before) and numbers(after) == [0, *rest] and names(after)[0] == agent and first > 1

    return effect


def is_short(messages, most):
    """Whether each step was cut to a size; the oldest that stays takes what is left."""
    last, *rest = sizes(messages)
    return last <= most and rest != [] and all(7 * most <= 8 * size <= 8 * most for size in rest)


def is_whole(messages):
    return sizes(messages) != [] and all(size > 20 * len(ENGLISH) for size in sizes(messages))


P, L = "p" * 300, "l" * 300
TWO = {"plan": P, "log": L}
SMALL_LOG = {"plan": P, "log": "all is well"}
CUT_P, CUT_L = P[:180] + CUT, L[:180] + CUT
CHARS = "meter: chars\n"
TIGHT = "meter: chars\nprompt: {total: 200}\n"
FAIR = "meter: chars\nprompt: {total: 200, fill: fair}\n"
SMALL = "budgets: {context_budget_chars: 10000}\n"
OLDER = "budgets: {history_max_older_chars: 600}\n"
PRIORITY = "history: {selection: priority}\n" + SMALL
CRITICAL = "history: {selection: priority, classes: {high: [fixer]}}\n" + SMALL
KNOWN = "history: {selection: priority, agents: flow}\n" + SMALL
MANY = [f"entry {i}" for i in range(30)]
LONG = ENGLISH * 99


def unstable(settings):
    """Return whether a cut is held, and whether the next prompt of a conversation that grows starts with the last."""
    history = steps(*(["fixer"] * 40))
    first = settings.fit_messages(history)
    history += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "and"}]
    again = settings.fit_messages(history, **({} if first.stable is None else {"stable": first.stable}))
    return first.stable is not None, first.messages == again.messages[: len(first.messages)]


def long_task(settings):
    """Return how much is left of a task that is bigger than the budget, or that it is refused."""
    history = steps("a")
    history[0] = {"role": "user", "content": "t" * 12_000}
    try:
        return settings.fit_messages(history).messages[0]["content"].count("t")
    except brim.DoesNotFit as error:
        return error.needed > error.available


def newest(settings):
    """Return the characters of the newest step."""
    return len(settings.fit_messages(steps("a", text=ENGLISH * 90)[:-1]).messages[-1]["content"])


def shares(text):
    """Return the characters of both sections, with their markers."""
    return [len(part) for part in text.split("\n\n")]


PROBES = {
    "profile": Probe(
        messages(*["fixer"] * 20, *["doc-writer"] * 20),
        "flow",
        lambda before, after: (set(names(before)), set(names(after))) == ({"doc-writer"}, {"fixer"}),
        SMALL,
    ),
    "model": Probe(
        lambda settings: (settings.window() and settings.window().size, settings.fit({"a": "x"}).receipt.meter),
        "gpt-5",
        becomes((None, "chars"), (400_000, "o200k_base")),
    ),
    "meter": Probe(
        prompt(plan=LONG),
        "chars",
        lambda before, after: tokens(200, 200)(before, before) and len(before) > 800 and len(after) == 200,
        "prompt: {total: 200}\n",
    ),
    "unknown_model": Probe(
        refusal(plan="x" * 40),
        "chars/4",
        becomes(brim.SourceError, "x" * 40),
        "model: nobody/knows\nprompt: {total: 10}\n",
    ),
    "safety_margin": Probe(
        prompt(plan=LONG),
        "10%",
        lambda before, after: 796 <= len(before) <= 803 and 716 <= len(after) <= 723,
        "meter: chars/4\nprompt: {total: 200}\n",
    ),
    "bounds": Probe(
        messages(*["fixer"] * 9), "strict_seed", lambda before, after: is_short(before, 600) and is_whole(after), OLDER
    ),
    "override_mode": Probe(
        messages(),
        "replace",
        lambda before, after: (
            is_short(before, 600)
            and is_whole(after)
            and characters(before) > 9_900
            and 9_900 < characters(after) <= 11_000
        ),
        OLDER + "profile: p\nprofiles: {p: {budgets: {context_budget_chars: 11000}}}\n",
    ),
    "window.size": Probe(
        prompt(plan=LONG),
        200,
        lambda before, after: before == LONG and tokens(200, 200)(after, after),
        "model: gpt-5\n",
    ),
    "window.reserve": Probe(prompt(plan=LONG), 100, tokens(300, 200), "window: {size: 300}\n"),
    "window.cap": Probe(prompt(plan=LONG), 0.5, tokens(300, 150), "window: {size: 300}\n"),
    "window.warn": Probe(lambda settings: settings.window().warning, 0.1, becomes(255, 30), "window: {size: 300}\n"),
    "window.limit": Probe(prompt(plan=LONG), 100, tokens(300, 100), "window: {size: 300}\n"),
    "budgets.preset": Probe(
        messages(*["fixer"] * 200),
        "lean",
        lambda before, after: 195_000 < characters(before) <= 200_000 and 97_000 < characters(after) <= 100_000,
    ),
    "budgets.context_budget_chars": Probe(
        messages(),
        12_000,
        lambda before, after: (
            numbers(before) == [*range(40)]
            and numbers(after) == [*range(29, 40)]
            and 10_900 < characters(after) <= 12_000
        ),
    ),
    "budgets.history_max_recent_chars": Probe(
        newest, 1_100, lambda before, after: before == 2 + 90 * len(ENGLISH) and 1_000 <= after <= 1_100
    ),
    "budgets.history_max_older_chars": Probe(
        messages(),
        600,
        lambda before, after: (
            is_whole(before) and is_short(after, 600) and numbers(before) == numbers(after) == [*range(40)]
        ),
    ),
    "prompt.enabled": Probe(prompt(**TWO), False, becomes(CUT_P, f"{P}\n\n{L}"), TIGHT),
    "prompt.total": Probe(prompt(**TWO), 250, becomes(f"{P}\n\n{L}", P[:230] + CUT), CHARS),
    "prompt.reserve": Probe(prompt(**TWO), 50, becomes(CUT_P, P[:130] + CUT), TIGHT),
    "prompt.overflow": Probe(prompt(**SMALL_LOG), "drop", becomes(CUT_P, "all is well"), TIGHT),
    "prompt.own_budget": Probe(
        prompt(plan="context_budget: {sections: {log: 50}}\n", log="l" * 99),
        "plan",
        lambda before, after: before.endswith("\n" + "l" * 99) and after.endswith("\n" + "l" * 30 + CUT),
        TIGHT,
    ),
    "prompt.policy": Probe(prompt(**SMALL_LOG), "skip", becomes(CUT_P, "all is well"), TIGHT),
    "prompt.fill": Probe(
        prompt(**TWO),
        "fair",
        lambda before, after: before == CUT_P and len(after) == 200 and set(shares(after)) <= {98, 99, 100},
        TIGHT,
    ),
    "prompt.order": Probe(
        prompt(log="l", plan="p"), "priority", becomes("l\n\np", "p\n\nl"), "sections: {plan: {priority: high}}\n"
    ),
    "prompt.separator": Probe(prompt(**TWO), "\n---\n", becomes(f"{P}\n\n{L}", f"{P}\n---\n{L}")),
    "prompt.template": Probe(prompt(**TWO), "<{plan}|{log}>", becomes(f"{P}\n\n{L}", f"<{P}|{L}>")),
    "prompt.missing": Probe(
        refusal(plan="p", log="l"),
        "[N/A]",
        becomes(brim.InvalidValue, "p: [N/A]"),
        'prompt: {template: "{plan}: {x}"}\n',
    ),
    "prompt.show_budget": Probe(
        prompt(**TWO),
        True,
        lambda before, after: (
            after.startswith(before + "\n\n## Context Budget\n")
            and f"Using {brim.meter('o200k_base').count(after)}/2000 tokens" in after
        ),
        "prompt: {total: 2000}\n",
    ),
    "prompt.direction": Probe(
        prompt(**TWO), "higher", becomes(CUT_P, CUT_L), TIGHT + "sections: {plan: {priority: 1}, log: {priority: 9}}\n"
    ),
    "prompt.unknown_section": Probe(refusal(plan="x"), "error", becomes("x", brim.UnknownName)),
    "prompt.required_overflow": Probe(
        refusal(**TWO), "shrink", becomes(brim.DoesNotFit, CUT_P), TIGHT + "sections: {plan: {required: true}}\n"
    ),
    "prompt.stages": Probe(
        prompt(plan=LINES, log="l"),
        [{"section": "plan", "last": 3}],
        lambda before, after: LINES.startswith(before[:170]) and after == LINES[-56:] + "\n\nl",
        TIGHT,
    ),
    "prompt.hard_marker": Probe(prompt(**TWO), "<<", becomes(CUT_P, P[:198] + "<<"), TIGHT),
    "prompt.log": Probe(
        logged(**TWO),
        True,
        becomes([], ["[Context:Budget] Prompt over budget for a1: ~602 chars (limit 200). Hard truncating."]),
        TIGHT,
    ),
    "sections.*.priority": Probe(prompt(log=L, plan=P), "high", becomes(CUT_L, CUT_P), TIGHT),
    "sections.*.required": Probe(
        refusal(log=L[:150], plan=P[:150]),
        True,
        becomes(f"{L[:150]}\n\n{P[:28]}{CUT}", f"{L[:28]}{CUT}\n\n{P[:150]}"),
        TIGHT,
    ),
    "sections.*.floor": Probe(
        prompt(log=L[:150], plan=P),
        100,
        becomes(f"{L[:150]}\n\n{P[:28]}{CUT}", f"{L[:78]}{CUT}\n\n{P[:80]}{CUT}"),
        TIGHT,
    ),
    "sections.*.ceiling": Probe(prompt(plan=P), "50%", becomes(CUT_P, P[:80] + CUT), TIGHT),
    "sections.*.keep": Probe(
        prompt(plan=LINES),
        "tail",
        lambda before, after: LINES.startswith(before[:170]) and LINES.endswith(after[-170:]) and len(after) == 200,
        TIGHT,
    ),
    "sections.*.overflow": Probe(prompt(**TWO), "drop", becomes(CUT_P, CUT_L), TIGHT),
    "sections.*.weight": Probe(
        prompt(**TWO),
        3,
        lambda before, after: set(shares(before)) == {99} and [147, 49] <= shares(after) <= [150, 51],
        FAIR,
    ),
    "sections.*.stable": Probe(prompt(**TWO), True, becomes(CUT_P, CUT_L), TIGHT),
    "sections.*.enabled": Probe(prompt(**TWO), False, becomes(f"{P}\n\n{L}", L)),
    "sections.*.marker": Probe(prompt(plan=P), "<<", becomes(CUT_P, P[:198] + "<<"), TIGHT),
    "sections.*.joiner": Probe(prompt(plan=MANY), "; ", becomes("\n".join(MANY), "; ".join(MANY))),
    "sections.*.most": Probe(prompt(plan=MANY), 3, becomes("\n".join(MANY), "\n".join(MANY[:3]))),
    "history.selection": Probe(
        messages(*["code-critic"] * 20, *["doc-writer"] * 20),
        "priority",
        lambda before, after: (numbers(before), numbers(after)) == ([*range(31, 40)], [*range(11, 20)]),
        SMALL,
    ),
    "history.within": Probe(
        messages(*["code-critic"] * 40),
        "oldest_first",
        lambda before, after: (numbers(before), numbers(after)) == ([*range(31, 40)], [*range(9)]),
        PRIORITY,
    ),
    "history.pin_first_user": Probe(
        long_task, True, lambda before, after: 8_000 < before < 10_000 and after is True, SMALL
    ),
    "history.pin": Probe(
        messages(),
        ["5 the build"],
        lambda before, after: 5 not in numbers(before) and {5, 15, 25, 35} <= {*numbers(after)},
        SMALL,
    ),
    "history.excerpts": Probe(
        messages(), True, lambda before, after: len(after) > len(before) and "omitted]" in str(after), SMALL
    ),
    "history.note": Probe(
        messages(),
        False,
        lambda before, after: len(noted(before)) == 1 and after == [m for m in before if m not in noted(before)],
        SMALL,
    ),
    "history.stable": Probe(unstable, True, becomes((False, False), (True, True)), SMALL),
    "history.strategy": Probe(calls, "B", becomes(1, 2), TIGHT),
    "history.agents": Probe(
        messages("self-reviewer", *["fixer"] * 40), "flow", kept_instead("self-reviewer"), PRIORITY
    ),
    "history.classes.critical": Probe(messages("mine", *["fixer"] * 40), ["mine"], kept_instead("mine"), CRITICAL),
    "history.classes.high": Probe(messages("mine", *["fixer"] * 40), ["mine"], kept_instead("mine"), PRIORITY),
    "history.classes.medium": Probe(
        messages("doc-writer", *["gh-reporter"] * 40), ["doc-writer"], kept_instead("doc-writer"), KNOWN
    ),
    "history.classes.low": Probe(
        messages(*["fixer"] * 40, "mine", "mine"),
        ["mine"],
        lambda before, after: (numbers(before), numbers(after)) == ([*range(33, 42)], [*range(31, 40)]),
        PRIORITY,
    ),
}
"""A probe for every key that `fit` and `fit_messages` read."""

PROBES |= {key: Probe(*row) for key, row in RUNNING.items()}

HERE = "http://127.0.0.1:7/v1"
GATEWAY = {
    "upstream": HERE,
    "upstream_messages": HERE,
    "upstream_key": "MODEL_KEY",
    "upstream_messages_key": "MODEL_KEY",
    "paths": ["GET /v1/a"],
    "keys": ["TEAM_KEY"],
    "host": "127.0.0.2",
    "port": 9_000,
    "hosts": ["brim.internal"],
    "policy": "warn",
    "rules": [{"model": "gpt-*", "policy": "refuse"}],
    "most_bytes": 100,
    "most_connections": 3,
    "timeout": 0.5,
    "drain": 5,
    "memory": 5,
}
"""Another value for each key of the gateway, whose own tests show what it does with them."""

PACKS = {
    "budgets.timeout_seconds",
    "history.pin_most_recent",
    *(key for key in SETTINGS if key.startswith(("curator.", "models."))),
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


@pytest.mark.requirement("X9", "C7", "C15")
@pytest.mark.parametrize("key", sorted(key for key in set(SETTINGS) - PACKS if not key.startswith("gateway.")))
def test_every_key_has_its_effect_on_what_comes_out(project, key):
    probe = PROBES.get(key)
    assert probe is not None, f"{key} has no probe: nothing shows that it does anything"
    before = yaml.safe_load(probe.beside) or {}
    after = merged(before, written(key, probe.value, probe.name))
    old = project(json.dumps(before)).resolve()
    new = project(json.dumps(after)).resolve()
    named = name_of(key.replace("*", probe.name))
    assert new[named].value == probe.value
    assert new[named].origin == "project"
    seen, changed = probe.look(old), probe.look(new)
    assert seen == probe.look(project(json.dumps(before)).resolve()), "a look that is never the same"
    assert probe.effect(seen, changed), f"{key} has not its effect:\n{seen}\n{changed}"
    assert not probe.effect(seen, seen), f"the probe of {key} would not see that it has no effect"
    assert not probe.effect(changed, seen), f"the probe of {key} would not see the opposite effect"


@pytest.mark.parametrize("name", sorted(key.partition(".")[2] for key in SETTINGS if key.startswith("gateway.")))
def test_every_key_of_the_gateway_reaches_it(project, name):
    def told(values):
        made = settings_of(project(json.dumps({"gateway": values})).resolve(), {})
        return made.default.policy if name == "policy" else getattr(made, name)

    others = {"upstream": "http://127.0.0.1:9/v1", "upstream_messages": "http://127.0.0.1:8/v1"}
    value = GATEWAY[name]
    wanted = (RequestRule(**value[0]),) if name == "rules" else tuple(value) if isinstance(value, list) else value
    assert told({**others, "upstream_messages_key": "OWN_KEY", name: value}) == wanted != told(others)


@pytest.mark.parametrize("key", sorted(PACKS))
def test_every_key_of_the_curator_changes_a_pack(project, key):
    assert key in PACK_PROBES, f"{key} has no probe: nothing shows that it does anything"
    PACK_PROBES[key](project)


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_every_key_can_be_set_in_every_layer_and_by_its_variable(project, key):
    setting = SETTINGS[key]
    value = (
        GATEWAY[key.removeprefix("gateway.")]
        if key.startswith("gateway.")
        else PROBES[key].value
        if key in PROBES
        else {"enabled": False, "artifacts": False, "pin_most_recent": False}.get(key.split(".")[-1], 7)
    )
    if key in ("curator.model", "curator.url") or key.startswith("models."):
        value = "x"
    if key == "curator.api":
        value = "anthropic"
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
