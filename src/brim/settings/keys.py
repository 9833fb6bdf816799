"""Every setting of `brim.yaml`: the one table that all else is made of.

Types, bounds, defaults, the JSON Schema, the names of the environment variables, the reference page and the nearest
known key of an error come from here. A new group is a few rows more; a row without a reader has no place.
"""

from __future__ import annotations

from typing import Any

from brim.history.options import ORDERS as WITHIN
from brim.history.options import SELECTIONS
from brim.receipts.section import OVERFLOWS
from brim.sections.allocation import FILLS, POLICIES
from brim.sections.page import ORDERS
from brim.settings.kinds import (
    Amount,
    Choice,
    Flag,
    Keep,
    Kind,
    LineKind,
    Number,
    Rank,
    Setting,
    Share,
    Stages,
    Text,
    Texts,
    Ways,
    Whole,
    tree,
)
from brim.settings.presets import DEFAULT, PRESETS
from brim.settings.rules import POLICIES as RULED
from brim.settings.rules import Rules


def _row(key: str, kind: Kind, default: Any, doc: str, *, null: bool = False, top: bool = False) -> Setting:
    return Setting(key=key, kind=kind, default=default, doc=doc, null=null, top=top)


_SETTINGS = (
    _row("profile", Text(), None, "The active profile: a shipped one or one of `profiles`.", null=True, top=True),
    _row("model", Text(), None, "The model whose meter and window hold.", null=True),
    _row(
        "meter",
        Text(),
        None,
        "What measures instead of the model's meter: a unit, a vocabulary, an estimate, a tokenizer.json.",
        null=True,
    ),
    _row("safety_margin", Share(zero=True), 0, "The share of a budget that is left free where counts are estimates."),
    _row(
        "bounds",
        Choice(("product", "strict_seed")),
        "product",
        "Which bounds budgets are held to: `product` has one for each, `strict_seed` 10,000 to 600,000 for all.",
    ),
    _row(
        "override_mode",
        Choice(("merge", "replace")),
        "merge",
        "Whether budgets of several layers are merged value by value, or the strongest layer replaces them all.",
    ),
    _row("window.size", Whole(least=1), None, "Tokens that the model holds; null takes the model's own.", null=True),
    _row("window.reserve", Whole(), 0, "Tokens kept free for the answer."),
    _row("window.cap", Share(), None, "The largest share of the window to use.", null=True),
    _row("window.warn", Share(), None, "The share of the window from which to warn.", null=True),
    _row("window.limit", Whole(least=1), None, "An absolute ceiling on the input, in tokens.", null=True),
    _row(
        "budgets.preset",
        Choice(tuple(PRESETS)),
        DEFAULT,
        "The three budgets by name; a single key beside it stands above it.",
        null=True,
    ),
    _row("budgets.context_budget_chars", Whole(), 200_000, "Characters of a step's whole history."),
    _row("budgets.history_max_recent_chars", Whole(), 60_000, "Characters of the newest step."),
    _row("budgets.history_max_older_chars", Whole(), 10_000, "Characters of each older step."),
    _row("budgets.timeout_seconds", Number(most=86_400), 30, "Seconds that the curator may take for one step."),
    _row("prompt.enabled", Flag(), True, "Whether prompts are fitted at all; without it the sections are just joined."),
    _row("prompt.total", Whole(least=1), None, "Units of the prompt; null takes the window's budget.", null=True),
    _row("prompt.reserve", Whole(), 0, "Units of that total kept free for the answer and for calls within the turn."),
    _row("prompt.policy", Choice(POLICIES), "truncate_then_continue", "What follows a section that did not fit."),
    _row(
        "prompt.overflow",
        Choice(("truncate", "drop")),
        "truncate",
        "What happens to a section of medium or low priority that does not fit, unless it says so itself.",
    ),
    _row("prompt.fill", Choice(FILLS), "order", "Whether one priority is served in order or in fair shares."),
    _row("prompt.order", Choice(ORDERS), "given", "How sections stand on the page: as given, or by priority."),
    _row("prompt.separator", Text(empty=True), "\n\n", "The text between two sections."),
    _row("prompt.template", Text(), None, "A text with a place {name} for each section.", null=True),
    _row("prompt.show_budget", Flag(), False, "Whether the prompt tells its own budget and use."),
    _row(
        "prompt.own_budget",
        Text(),
        None,
        "The section whose text may hold a budget of the agent's own, which stands above these settings.",
        null=True,
    ),
    _row(
        "prompt.direction",
        Choice(("lower", "higher")),
        "lower",
        "Whether a lower or a higher number is the more essential priority.",
    ),
    _row(
        "prompt.unknown_section",
        Choice(("default", "error")),
        "default",
        "Whether a section that is not listed under `sections` has the usual settings or is refused.",
    ),
    _row(
        "prompt.required_overflow",
        Choice(("error", "shrink")),
        "error",
        "Whether required sections that are too big together are refused or cut.",
    ),
    _row("prompt.stages", Stages(), (), "What a prompt over its budget gives up first, in this order, until it fits."),
    _row(
        "prompt.hard_marker",
        Text(empty=True),
        None,
        "What stands where text was cut after all stages; null takes each section's own marker.",
        null=True,
    ),
    _row("prompt.log", Flag(), False, "Whether a prompt over its budget is logged as a warning, with its agent."),
    _row("sections.*.priority", Rank(), "medium", "How essential it is."),
    _row("sections.*.required", Flag(), False, "Whether the prompt is worth nothing without it."),
    _row("sections.*.floor", Amount(), 0, "Less than this is worth nothing."),
    _row("sections.*.ceiling", Amount(), None, "It never gets more than this.", null=True),
    _row("sections.*.keep", Keep(), "head", "What stays when it is cut."),
    _row("sections.*.overflow", Choice(OVERFLOWS), "truncate", "What happens when it does not fit its grant."),
    _row("sections.*.weight", Number(most=1_000_000), 1, "Its part of a fair share."),
    _row("sections.*.stable", Flag(), False, "Whether it is used whole or not at all, for the prompt cache."),
    _row("sections.*.enabled", Flag(), True, "A section that is not enabled uses nothing."),
    _row("sections.*.marker", Text(empty=True), None, "What stands where text was cut away.", null=True),
    _row("sections.*.joiner", Text(empty=True), "\n", "What stands between its entries."),
    _row("sections.*.most", Whole(), None, "Entries, or characters of a text, that are looked at at all.", null=True),
    _row("history.selection", Ways(SELECTIONS), "recency", "Which turns stay; two ways are joined by a plus sign."),
    _row(
        "history.within",
        Choice(WITHIN),
        "newest_first",
        "Which turns of one class are served first where they are selected by priority.",
    ),
    _row(
        "history.pin_most_recent",
        Flag(),
        True,
        "Whether the newest step of a pack stays whatever its class; of messages the newest turn always does.",
    ),
    _row("history.pin_first_user", Flag(), False, "Whether the user's first message may not even be cut."),
    _row("history.note", Flag(), True, "Whether the prompt says that turns were left out."),
    _row("history.stable", Flag(), False, "Whether a cut is held, so that the prompt keeps its prefix for the cache."),
    _row(
        "history.strategy",
        Choice(("A", "B")),
        "A",
        "What an exchange does about a history too long for its prompt: cut it (A), or have it summarised first (B).",
    ),
    _row("history.classes.critical", Texts(), (), "Agents whose steps are kept longest, beside those known."),
    _row("history.classes.high", Texts(), (), "Agents whose steps are kept long."),
    _row("history.classes.medium", Texts(), (), "Agents whose steps are kept as those of unknown agents."),
    _row("history.classes.low", Texts(), (), "Agents whose steps go first."),
    _row(
        "compaction.at",
        LineKind(("cap", "warning", "never")),
        "cap",
        "Where a session replaces older turns by a summary: over its budget, at the warning, or at a share of it.",
    ),
    _row("compaction.keep_turns", Whole(least=1), 3, "Newest turns that a compaction leaves as they are."),
    _row("compaction.summary_share", Share(), 0.25, "The share of the room that a summary may take."),
    _row("session.stable", Flag(), True, "Whether a session keeps the start of its prompts the same for the cache."),
    _row("session.tool_limit", Amount(), "25%", "The most units of one result of a tool, or a share of the budget."),
    _row("session.memory_limit", Whole(), 50_000, "The most units of memory in a session's prompt."),
    _row("session.capture", Flag(), False, "Whether the store keeps what is needed to replay each prompt."),
    _row("loop.tick_cap", Share(), 0.15, "The share of the window from which a tick goes on in a fresh context."),
    _row("loop.handoff_share", Share(), 0.25, "The share of a tick's budget that a continuation may take."),
    _row("loop.max_iterations", Whole(least=1), 20, "Iterations that a loop has at the most."),
    _row("loop.max_sub_ticks", Whole(), 10, "Sub-ticks that one iteration has at the most."),
    _row("loop.max_steps", Whole(least=1), 1_000, "Steps that one iteration has at the most."),
    _row("loop.max_cost", Number(most=1_000_000), None, "US dollars that a loop may cost.", null=True),
    _row("loop.max_seconds", Number(most=31_536_000), None, "Seconds that a loop's steps may take.", null=True),
    _row("loop.boundary", Choice(("silent", "visible")), "silent", "Whether the user is told of sub-ticks."),
    _row(
        "store.url",
        Text(),
        None,
        "Where sessions and loops are kept: `sqlite:///brim.db`, `postgresql://...`.",
        null=True,
    ),
    _row("curator.enabled", Flag(), True, "Whether a model may choose files and summarise for a step."),
    _row("curator.model", Text(), None, "The model that curates.", null=True),
    _row("curator.url", Text(), None, "Where that model is served.", null=True),
    _row("curator.files_budget_chars", Whole(), 20_000, "Characters of a pack for files of the codebase."),
    _row("curator.artifacts", Flag(), True, "Whether a pack names the artifacts of earlier steps by path."),
    _row("curator.scent_trail_chars", Whole(), 2_000, "Characters of a pack for the trail of earlier decisions."),
    _row("gateway.upstream", Text(), None, "Where requests go, such as `https://api.openai.com/v1`.", null=True),
    _row("gateway.upstream_messages", Text(), None, "Where Anthropic's messages go, if not there.", null=True),
    _row(
        "gateway.upstream_key",
        Text(),
        None,
        "The NAME of the variable with the key for upstream; null passes on the client's own.",
        null=True,
    ),
    _row(
        "gateway.keys", Texts(), (), "NAMES of variables with the keys of clients; without any, everybody may come in."
    ),
    _row("gateway.host", Text(), "127.0.0.1", "The address to listen on."),
    _row("gateway.port", Whole(most=65_535), 8_088, "The port to listen on."),
    _row("gateway.hosts", Texts(), (), "Host names by which clients may call, beside those of this machine."),
    _row("gateway.policy", Choice(RULED), "fit", "What is done with a request that is too long."),
    _row(
        "gateway.rules", Rules(), (), "What holds for some models, keys or routes; the first rule that matches counts."
    ),
    _row("gateway.recall", Flag(), False, "Whether models are offered `brim_recall`, which the gateway answers."),
    _row(
        "gateway.on_fault",
        Choice(("pass", "refuse")),
        "pass",
        "What becomes of a request after a fault of brim's: passed on as it came, or refused with 503.",
    ),
    _row("gateway.client_policy", Flag(), False, "Whether clients may choose a policy by the header `x-brim-policy`."),
    _row("gateway.most_bytes", Whole(least=1), 33_554_432, "Bytes of a request's body, unpacked."),
    _row("gateway.most_values", Whole(least=1), 250_000, "Values that the JSON of a body may have."),
    _row("gateway.keepalive", Number(most=3_600), 15, "Seconds of silence after which a stream gets a comment."),
    _row("gateway.timeout", Number(most=86_400), 600, "Seconds that upstream may be silent."),
    _row("gateway.drain", Number(most=86_400), 30, "Seconds that open streams have when the gateway ends."),
    _row("gateway.workers", Whole(least=1, most=64), 2, "Threads in which requests are counted and fitted."),
    _row("gateway.sessions", Whole(least=1), 500, "Conversations that were cut which are kept in memory."),
)

ANY = "*"
"""The section that stands for all that do not say otherwise."""

SETTINGS: dict[str, Setting] = {setting.key: setting for setting in _SETTINGS}
"""Every setting by its key."""

TREE = tree(SETTINGS)
"""The same by the parts of the keys."""

GROUPS: dict[str, str] = {
    "window": "What the model holds, and what of it a prompt may use.",
    "budgets": "How much of a step's history a prompt may hold.",
    "prompt": "How sections become a prompt.",
    "sections": "Sections by name.",
    "history": "Which steps or turns stay.",
    "compaction": "When a session summarises its older turns, and how.",
    "session": "How a conversation over time keeps to its window.",
    "loop": "Where a loop ends, and where its contexts do.",
    "store": "Where sessions and loops are kept.",
    "curator": "Who prepares the briefing of a step.",
    "gateway": "What stands between clients and a model, and makes every request fit.",
}
"""What each group is for."""

SPELLINGS = {"budget_overrides": "budgets"}
"""Groups under another name."""

NOTES = ("inputs", "outputs", "emphasizes", "constraints")
"""What a step may be taught."""

STEP_KEYS = {
    "id": "The name of the step within its flow; without it, its place from 0.",
    "agent": "Who does it.",
    "role": "What the agent is in this step.",
    "description": "What the step is for.",
    "task": "What the agent is told to do.",
    "prompt": "The same under another name, where it is a text.",
    "stage": "Prep, Work, Verify, Route or Commit.",
    "artifacts": "Paths of what the step leaves behind.",
    "teaching_notes": f"What the step is taught before its history: {', '.join(NOTES)}.",
    "curator_enabled": "Short for curator.enabled.",
}
"""What a step says beside its settings."""

FLOW_KEYS = {
    "flow": "Its name, in a file of its own.",
    "description": "What the flow is for.",
    "curator_enabled": "Short for curator.enabled.",
    "steps": "Its steps, in order.",
}
"""What a flow says beside its settings."""

PROFILE_KEYS = {
    "profile_id": "Its name, in a file of its own.",
    "description": "What the profile is for.",
    "extends": "The profile whose settings it takes where it has none of its own.",
    "curator_enabled": "Short for curator.enabled.",
}
"""What a profile says beside its settings."""

TOP_KEYS = {"profiles": "Profiles by name.", "flows": "Flows by name."}
"""What the file says beside its settings."""

BARE = {key.partition(".")[2]: key for key in SETTINGS if key.startswith("budgets.")}
"""Budgets by their own name, which is how a program asks for them."""


def setting_of(key: str) -> Setting | None:
    """Return the setting that a key with all its names stands for."""
    known = SETTINGS.get(BARE.get(key, key))
    if known is None and key.startswith("sections."):
        name, _, last = key.removeprefix("sections.").rpartition(".")
        return SETTINGS.get(f"sections.*.{last}") if name else None
    return known


def name_of(key: str) -> str:
    """Return how a program asks for a setting: budgets by their own name, all else by its key."""
    return key.removeprefix("budgets.") if key.startswith("budgets.") else key
