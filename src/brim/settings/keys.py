"""Every setting of `brim.yaml`, in one table.

Types, bounds, defaults, the names of environment variables, the reference page and the suggestions in error messages
come from this table. To add a setting, add a row and the code that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple, get_args

from brim.history.options import Way, Within
from brim.receipts.receipt import FILLS, ORDERS
from brim.receipts.receipt import POLICIES as FIT
from brim.receipts.section import OVERFLOWS
from brim.sessions.settings import OPTIONS
from brim.settings.authors import CLASSES, SAME, WORDS, Word
from brim.settings.budgets import DEFAULT, PRESETS
from brim.settings.values import (
    FLAG,
    KEEP,
    POLICIES,
    PRIORITY,
    TEXTS,
    Kind,
    amount,
    choice,
    choice_or_share,
    combination,
    number,
    rules,
    share,
    stages,
    text,
    whole,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One setting of the table."""

    key: str
    """Its path in the file, joined by dots; a star stands for any name."""
    kind: Kind
    default: Any
    doc: str
    null: bool = False
    """Whether it may be `null`."""
    top: bool = False
    """Whether it is allowed only at the top of the file, not in a profile, a flow or a step."""

    @property
    def expected(self) -> str:
        """What is accepted, as a phrase that follows "must be"."""
        return self.kind.expected + (" or null" if self.null else "")

    def takes(self, value: object) -> bool:
        """Return whether a value is accepted."""
        return self.null if value is None else self.kind.takes(value)

    def read(self, value: Any) -> Any:
        """Return the value to use: a percentage given as a whole number becomes a share."""
        percent = self.kind.percent and type(value) is int and value > 1
        return f"{value}%" if percent else value

    @property
    def variable(self) -> str:
        """The environment variable that sets it; a star stands for a name in capitals."""
        return "BRIM_" + self.key.upper().replace(".", "__")


def _row(key: str, kind: Kind, default: Any, doc: str, *, null: bool = False, top: bool = False) -> Setting:
    return Setting(key=key, kind=kind, default=default, doc=doc, null=null or default is None, top=top)


_BOUNDS = choice(("product", "strict_seed"))
_MODE = choice(("merge", "replace"))
_PRESET = choice(tuple(PRESETS))
_CUT = choice(("truncate", "drop"))
_NUMBER = choice(("lower", "higher"))
_UNKNOWN = choice(("default", "error"))
_OVER = choice(("error", "shrink"))
_LINE = choice_or_share(("cap", "warning", "never"))

_SETTINGS = (
    _row(
        "profile",
        text(),
        None,
        "The active profile: `forge` (agents under one hard window), `ecology` (agents with budgets of their own),"
        " `flow` (work in steps), `session` (a long-running assistant), `broker` (a simulation), or one of `profiles`.",
        top=True,
    ),
    _row("model", text(), None, "The model whose meter and window are used."),
    _row("meter", text(), None, "A meter instead of the model's: a unit, a vocabulary, an estimate, a tokenizer.json."),
    _row("unknown_model", text(), "error", "`error`, or the meter to use for a model that is not in the catalogue."),
    _row("safety_margin", share(zero=True), 0, "The share of the budget to leave free when counts are estimates."),
    _row("bounds", _BOUNDS, "product", "`product`: bounds for each budget; `strict_seed`: 10,000 to 600,000 for all."),
    _row("override_mode", _MODE, "merge", "Whether budgets of layers are merged, or the strongest layer replaces all."),
    _row("window.size", whole(1), None, "The context window in tokens; null: the model's, from the catalogue."),
    _row(
        "window.reserve",
        whole(),
        0,
        "Tokens reserved for the answer; unset, a history leaves an eighth of the window, at most 4,096.",
    ),
    _row("window.cap", share(percent=True), None, "The largest share of the window to use."),
    _row("window.warn", share(percent=True), None, "The share of the window at which to warn."),
    _row("window.limit", whole(1), None, "An absolute limit on the input, in tokens."),
    _row("prompt.enabled", FLAG, True, "Whether prompts are fitted; if not, the sections are joined as they are."),
    _row("prompt.total", whole(1), None, "Tokens for the prompt; null: the window, or else `context_budget_chars`."),
    _row("prompt.reserve", whole(), 0, "Tokens of `prompt.total` reserved for the answer and for further calls."),
    _row("prompt.policy", choice(FIT), "truncate_then_continue", "What happens after a section did not fit."),
    _row("prompt.overflow", _CUT, "truncate", "How sections of medium and low priority are shortened by default."),
    _row("prompt.fill", choice(FILLS), "order", "Whether sections of one priority are served in order or fairly."),
    _row("prompt.order", choice(ORDERS), "given", "The order of sections in the prompt: as given, or by priority."),
    _row("prompt.separator", text(empty=True), "\n\n", "The text between two sections."),
    _row("prompt.template", text(), None, "A text with a placeholder {name} for each section."),
    _row("prompt.missing", text(empty=True), None, "The text for a placeholder without a section; null: an error."),
    _row("prompt.show_budget", FLAG, False, "Whether the prompt states its own budget and use."),
    _row("prompt.own_budget", text(), None, "The section in which an agent may set its own budget."),
    _row("prompt.direction", _NUMBER, "lower", "Whether lower or higher numbers are the more important priorities."),
    _row("prompt.unknown_section", _UNKNOWN, "default", "Whether unlisted sections get the defaults or are an error."),
    _row("prompt.required_overflow", _OVER, "error", "Whether required sections that are too big are an error or cut."),
    _row("prompt.stages", stages(), (), "The steps that shorten a prompt over its budget, in order, until it fits."),
    _row("prompt.hard_marker", text(empty=True), None, "The marker of a cut after all stages; null: the section's."),
    _row("prompt.log", FLAG, False, "Whether to log a warning, with the agent, when a prompt is over its budget."),
    _row("budgets.preset", _PRESET, DEFAULT, "The three budgets by name; a single budget overrides it.", null=True),
    _row("budgets.context_budget_chars", whole(), 200_000, "Characters of a step's whole history, in a flow."),
    _row("budgets.history_max_recent_chars", whole(), 60_000, "Characters of the newest step, in a flow."),
    _row("budgets.history_max_older_chars", whole(), 10_000, "Characters of each older step, in a flow."),
    _row("budgets.timeout_seconds", number(86_400), 30, "The time limit of a step's model and curator, in seconds."),
    _row("sections.*.priority", PRIORITY, "medium", "How important it is."),
    _row("sections.*.required", FLAG, False, "Whether the prompt must contain it."),
    _row("sections.*.floor", amount(), 0, "The least that is worth including; it is dropped if it would get less."),
    _row("sections.*.ceiling", amount(), None, "The most that it gets."),
    _row("sections.*.keep", KEEP, "head", "What stays when it is truncated."),
    _row("sections.*.overflow", choice(OVERFLOWS), "truncate", "What happens when it does not fit its grant."),
    _row("sections.*.weight", number(1_000_000), 1, "Its weight when sections share the budget fairly."),
    _row("sections.*.stable", FLAG, False, "Whether it is kept whole or dropped, for the prompt cache."),
    _row("sections.*.enabled", FLAG, True, "Whether it is in the prompt."),
    _row("sections.*.marker", text(empty=True), None, "The text that marks a cut."),
    _row("sections.*.joiner", text(empty=True), "\n", "The text between its entries."),
    _row("sections.*.most", whole(), None, "The most entries, or lines of a text, to consider."),
    _row("history.selection", combination(get_args(Way)), "recency", "How turns are selected; + joins two ways."),
    _row("history.within", choice(get_args(Within)), "newest_first", "Which turns of a class are selected first."),
    _row("history.pin_most_recent", FLAG, True, "Whether the newest step of a pack always stays."),
    _row("history.pin_first_user", FLAG, False, "Whether the first user message must stay whole."),
    _row(
        "history.excerpts",
        FLAG,
        True,
        "Whether older turns may be shortened, rather than kept whole or dropped; unset, not in character budgets.",
    ),
    _row("history.note", FLAG, True, "Whether the prompt says that turns were left out."),
    _row("history.stable", FLAG, False, "Whether a cut is kept for later prompts, for the prompt cache."),
    _row("history.strategy", choice(("A", "B")), "A", "A long history is truncated (A) or summarised first (B)."),
    _row("history.agents", choice(tuple(CLASSES)), "none", "The list of agents with known classes to start from."),
    _row("history.classes.critical", TEXTS, (), "Agents whose steps are kept longest, in addition to that list."),
    _row("history.classes.high", TEXTS, (), "Agents whose steps are kept long."),
    _row("history.classes.medium", TEXTS, (), "Agents whose steps are treated like those of unknown agents."),
    _row("history.classes.low", TEXTS, (), "Agents whose steps are dropped first."),
    _row("compaction.summarise", choice(("extract",)), None, "Replaces older turns by a summary of their sentences."),
    *(
        _row(OPTIONS[name].key, kind, OPTIONS[name].default, OPTIONS[name].doc)
        for name, kind in {
            "compact_at": _LINE,
            "keep_turns": whole(1),
            "summary_share": share(),
            "pin": TEXTS,
            "stable": FLAG,
            "tool_limit": amount(),
            "memory_limit": whole(),
            "capture": FLAG,
        }.items()
    ),
    _row("loop.tick_cap", share(percent=True), 0.15, "The share of the window at which a tick gets a fresh context."),
    _row("loop.handoff_share", share(), 0.25, "The share of a tick's budget for the summary of the previous context."),
    _row("loop.handoff_tokens", whole(1), 5_000, "The most tokens of that summary."),
    _row("loop.max_iterations", whole(1), 20, "The most iterations of a loop."),
    _row("loop.max_sub_ticks", whole(), 10, "The most sub-ticks of one iteration."),
    _row("loop.max_steps", whole(1), 1_000, "The most steps of one iteration."),
    _row("loop.max_cost", number(1_000_000), None, "The most that a loop may cost, in US dollars."),
    _row("loop.max_seconds", number(31_536_000), None, "The most time for the steps of a loop, in seconds."),
    _row("loop.boundary", choice(("silent", "visible")), "silent", "Whether sub-ticks are visible to the user."),
    _row("store.url", text(), None, "Where sessions and loops are stored: `sqlite:///brim.db`, `postgresql://...`."),
    _row("models.cheap", text(), None, "The model of steps in the stage Prep, at the endpoint of the run."),
    _row("models.medium", text(), None, "The model of steps in the stage Verify."),
    _row("models.expensive", text(), None, "The model of steps in the stages Work and Route."),
    _row("curator.enabled", FLAG, True, "Whether a model chooses files and writes a summary for each step."),
    _row("curator.model", text(), None, "The model of the curator."),
    _row("curator.url", text(), None, "The base URL of that model's API."),
    _row("curator.api", choice(("openai", "anthropic")), "openai", "The API of that URL."),
    _row("curator.files_budget_chars", whole(), 20_000, "Characters of a pack for files of the codebase."),
    _row("curator.artifacts", FLAG, True, "Whether a pack lists the paths of artifacts of earlier steps."),
    _row("curator.scent_trail_chars", whole(), 2_000, "Characters of a pack for the trail of earlier decisions."),
    _row("gateway.upstream", text(), None, "The base URL of the API, such as `https://api.openai.com/v1`."),
    _row("gateway.upstream_messages", text(), None, "The base URL for Anthropic Messages, if it differs."),
    _row("gateway.upstream_key", text(), None, "The NAME of the variable with the upstream key; null: the client's."),
    _row("gateway.upstream_messages_key", text(), None, "The same for `upstream_messages`, if it is another host."),
    _row("gateway.paths", TEXTS, None, "Other allowed paths; null: all, or a few safe ones with an upstream key."),
    _row("gateway.keys", TEXTS, (), "NAMES of variables with client keys; if empty, clients need no key."),
    _row("gateway.host", text(), "127.0.0.1", "The address to listen on."),
    _row("gateway.port", whole(most=65_535), 8_088, "The port to listen on."),
    _row("gateway.hosts", TEXTS, (), "Host names that clients may use, in addition to those of this machine."),
    _row("gateway.policy", choice(POLICIES), "fit", "What happens to a request that is too long."),
    _row("gateway.rules", rules(), (), "Settings for some models, keys or routes; the first match applies."),
    _row("gateway.most_bytes", whole(1), 33_554_432, "The most bytes of a request body."),
    _row("gateway.most_connections", whole(1), 1_000, "The most client connections of a process."),
    _row("gateway.timeout", number(86_400), 600, "The most seconds to wait for upstream to answer, or for more data."),
    _row("gateway.drain", number(86_400), 30, "Seconds to wait for open streams at shutdown."),
    _row(
        "gateway.memory",
        whole(1),
        67_108_864,
        "About the most bytes of conversations in memory; others are read from the store.",
    ),
)

ANY = "*"
"""The section with the defaults of all others."""

SETTINGS: dict[str, Setting] = {setting.key: setting for setting in _SETTINGS}
"""Every setting by its key."""


def _tree() -> dict[str, Any]:
    root: dict[str, Any] = {}

    def put(place: str, node: Any) -> None:
        *path, last = place.split(".")
        at = root
        for part in path:
            at = at.setdefault(part, {})
        at[last] = node

    for place, leaf in (*SETTINGS.items(), *((word.place, word) for word in WORDS)):
        put(place, leaf)
    for alias, place in SAME.items():
        put(alias, reduce(getitem, place.split("."), root))
    return root


Leaf = Setting | Word

TREE = _tree()
"""Settings and words as nested mappings; alternative names of a group refer to the same mapping."""

GROUPS: dict[str, str] = {
    "window": "The model's context window, and how much of it a prompt may use.",
    "budgets": "How much of a step's history a prompt may contain.",
    "prompt": "How sections become a prompt.",
    "sections": "Sections by name.",
    "history": "Which steps or turns are kept.",
    "compaction": "When and how a session shortens its older turns.",
    "session": "How a session keeps within its window.",
    "loop": "The limits of a loop and of each of its contexts.",
    "store": "Where sessions and loops are stored.",
    "models": "The models of a flow's steps by stage; by default the model of the run.",
    "curator": "How the context of a step is prepared.",
    "gateway": "The proxy that makes every request to a model fit.",
}
"""The description of each group."""

NOTES = ("inputs", "outputs", "emphasizes", "constraints")
"""The teaching notes of a step, in the order of the prompt."""


class OwnKey(NamedTuple):
    """A key of a file, a profile, a flow or a step that is not a setting; its value may be null."""

    kind: Kind
    doc: str


_TEXT = text(empty=True)
_ID = Kind(
    "a string or a whole number",
    lambda value: type(value) is int or (isinstance(value, str) and bool(value)),
)
_TASK = Kind("a string or a mapping", lambda value: isinstance(value, str | dict))
NOTE = Kind("a string or a list of strings", lambda value: isinstance(value, str) or TEXTS.takes(value))
"""One teaching note."""
_MAPPING = Kind("a mapping", lambda value: isinstance(value, dict))
_STEPS = Kind("a list of steps", lambda value: isinstance(value, list))

STEP_KEYS = {
    "id": OwnKey(_ID, "The name of the step in its flow; by default its index from 0."),
    "agent": OwnKey(_TEXT, "The agent of the step."),
    "agents": OwnKey(TEXTS, "Several agents; without `agent`, the first is used."),
    "role": OwnKey(_TEXT, "The role of the agent in this step."),
    "description": OwnKey(_TEXT, "What the step is for."),
    "task": OwnKey(_TEXT, "The instruction to the agent."),
    "prompt": OwnKey(_TASK, "The same as `task`, if it is a string."),
    "stage": OwnKey(_TEXT, "Prep, Work, Verify, Route or Commit."),
    "artifacts": OwnKey(TEXTS, "Paths of the files that the step writes."),
    "teaching_note": OwnKey(_TEXT, "A note as one text, which comes before the history."),
    "teaching_notes": OwnKey(_MAPPING, f"Notes that come before the history: {', '.join(NOTES)}."),
}
"""The keys of a step in addition to settings."""

FLOW_KEYS = {
    "flow": OwnKey(_TEXT, "The name of the flow, if it has a separate file."),
    "description": OwnKey(_TEXT, "What the flow is for."),
    "steps": OwnKey(_STEPS, "Its steps, in order."),
}
"""The keys of a flow in addition to settings."""

PROFILE_KEYS = {
    "profile_id": OwnKey(_TEXT, "The name of the profile, if it has a separate file."),
    "description": OwnKey(_TEXT, "What the profile is for."),
    "extends": OwnKey(_TEXT, "The profile whose settings it inherits."),
}
"""The keys of a profile in addition to settings."""

TOP_KEYS = {
    "profiles": OwnKey(_MAPPING, "Profiles by name."),
    "flows": OwnKey(_MAPPING, "Flows by name."),
}
"""The keys of the file in addition to settings."""

BARE = {key.partition(".")[2]: key for key in SETTINGS if key.startswith("budgets.")}
"""The keys of budgets by their short names."""


def setting_of(key: str) -> Setting | None:
    """Return the setting of a full key, or `None` if there is none."""
    known = SETTINGS.get(BARE.get(key, key))
    if known is None and key.startswith("sections."):
        name, _, last = key.removeprefix("sections.").rpartition(".")
        return SETTINGS.get(f"sections.*.{last}") if name else None
    return known


def name_of(key: str) -> str:
    """Return the name of a setting in programs: the short name of a budget, the key of any other."""
    return key.removeprefix("budgets.")
